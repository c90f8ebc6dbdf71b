# glim: make [config=release|debug|asan|ubsan|tsan|oom|shrink] [CC=gcc|clang] [werror=1]
MAKEFLAGS += -r
config ?= release
CC := $(if $(filter default undefined,$(origin CC)),cc,$(CC))
B := build/$(config)

WARN := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wundef -Wvla -Wwrite-strings \
  -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough
CFLAGS ?=
FLAGS := -std=gnu11 -g -fno-math-errno -ffp-contract=off -fvisibility=hidden -pthread -Isrc -Iinclude \
  -D_GNU_SOURCE $(WARN) $(if $(werror),-Werror)
FLAGS.release := -O3 -DNDEBUG
FLAGS.debug := -O0
FLAGS.asan := -O1 -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer
FLAGS.ubsan := -O1 -fsanitize=undefined -fno-sanitize-recover=undefined
FLAGS.tsan := -O1 -fsanitize=thread
FLAGS.oom := $(FLAGS.asan)
FLAGS.shrink := -O1 -DGLIM_SHRINK=1
FLAGS += $(FLAGS.$(config))
LIBS := -lm

LIB_SRC := $(filter-out src/tool/%,$(wildcard src/*/*.c src/*.c))
TOOL_SRC := $(wildcard src/tool/*.c)
TEST_SRC := $(wildcard test/test_*.c)
obj = $(patsubst %.c,$(B)/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
TESTS := $(patsubst test/%.c,$(B)/test/%,$(TEST_SRC))

all: $(if $(TOOL_SRC),$(B)/glim) $(B)/libglim_all.a
tests: $(TESTS)

$(B)/%.o: %.c Makefile
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(CFLAGS) -MMD -MP -c $< -o $@
$(B)/libglim_all.a: $(LIB_OBJ)
	@mkdir -p $(@D)
	rm -f $@ && ar rcs $@ $^
$(B)/glim: $(call obj,$(TOOL_SRC)) $(B)/libglim_all.a
	$(CC) $(FLAGS) $(CFLAGS) $^ $(LIBS) -o $@
$(B)/test/%: $(B)/test/%.o $(B)/libglim_all.a
	$(CC) $(FLAGS) $(CFLAGS) $^ -lcmocka $(LIBS) -o $@

clean:
	rm -rf build
.PHONY: all tests clean
.SECONDARY:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
