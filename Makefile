# glim: make [TARGET] [config=release|debug|asan|ubsan|tsan|oom|shrink|fuzz] [CC=gcc|clang] [werror=1]
#   all (the libraries and build/glim), tests, fuzz, wgsl, headers, format, check-format, check-folders,
#   amalgamation, install, uninstall (PREFIX, DESTDIR), clean. ./dev test runs everything.
MAKEFLAGS += -r
VERSION := 0.1.0
SOVERSION := 0
config ?= release
PREFIX ?= /usr/local
OBJCOPY ?= objcopy
CC := $(if $(filter default undefined,$(origin CC)),$(if $(shell command -v gcc),gcc,cc),$(CC))
# clang has folders of its own, so that both compilers' builds stay warm side by side.
B := build/$(if $(findstring clang,$(notdir $(CC))),clang-)$(config)

WARN := -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wundef -Wvla -Wwrite-strings \
  -Wstrict-prototypes -Wmissing-prototypes -Wdouble-promotion -Wformat=2 -Wimplicit-fallthrough
CFLAGS ?=
LDFLAGS ?=
SANITIZE := -O1 -DGLIM_SANITIZED=1 -fno-omit-frame-pointer -fno-sanitize-recover=undefined
FLAGS.release := -O3 -DNDEBUG
FLAGS.debug := -O0
FLAGS.asan := $(SANITIZE) -fsanitize=address,undefined
FLAGS.ubsan := $(SANITIZE) -fsanitize=undefined
FLAGS.tsan := -O1 -DGLIM_SANITIZED=1 -fsanitize=thread
# oom: asan, and an allocation for every arena request, which guards its edges and lets tests make
# each fail. shrink: the same without asan, and tiny limits, so that edges are met early.
FLAGS.oom := $(FLAGS.asan) -DGLIM_OOM=1
FLAGS.shrink := -O1 -DGLIM_SHRINK=1
FLAGS.fuzz := $(SANITIZE) -fsanitize=fuzzer-no-link,address,undefined
$(if $(FLAGS.$(config)),,$(error config=$(config) is none of release debug asan ubsan tsan oom shrink fuzz))
FLAGS := -std=gnu11 -g -fPIC -fno-math-errno -ffp-contract=off -fvisibility=hidden -pthread \
  -Isrc -Iinclude -D_GNU_SOURCE $(FLAGS.$(config)) $(WARN)
COMPILE := $(CC) $(FLAGS) $(CFLAGS)
LIBS := -lm
TOOL_LIBS := -ledit -ljansson -lnettle

LIB_SRC := $(filter-out src/tool/%,$(sort $(wildcard src/*/*.c src/*.c)))
TOOL_SRC := $(sort $(wildcard src/tool/*.c))
TEST_SRC := $(sort $(wildcard test/test_*.c))
MAKE_SRC := $(sort $(wildcard test/make_*.c))
FUZZ_SRC := $(sort $(wildcard test/fuzz_*.c))
HEADERS := $(sort $(wildcard include/*.h src/*/*.h test/*.h))
FORMATTED := $(sort $(wildcard include/*.h src/*.c src/*/*.[ch] test/*.[ch]))
obj = $(patsubst %.c,$(B)/%.o,$(1))
LIB_OBJ := $(call obj,$(LIB_SRC))
TESTS := $(patsubst test/%.c,$(B)/test/%,$(TEST_SRC))
MAKERS := $(patsubst test/%.c,$(B)/test/%,$(MAKE_SRC))
FUZZERS := $(patsubst test/%.c,$(B)/test/%,$(FUZZ_SRC))

# Instrumented configurations make what the tests need and no libraries to ship.
all: $(if $(TOOL_SRC),$(B)/glim) $(B)/libglim_all.a
ifneq ($(filter $(config),release debug),)
all: $(B)/libglim.a $(B)/libglim.so
endif
ifeq ($(B),build/release)
all: $(if $(TOOL_SRC),build/glim)
endif
tests: $(TESTS) $(MAKERS)
fuzzers: $(FUZZERS)
fuzz:
	$(MAKE) CC=clang config=fuzz fuzzers

# Rewritten when the compiler or its flags change, and then every object is made again.
$(B)/flags: FORCE
	@mkdir -p $(@D)
	@echo '$(COMPILE)' | cmp -s - $@ || echo '$(COMPILE)' > $@
# The bodies of the GPU's kernels as C strings.
WGSL := $(sort $(wildcard src/kern/*.wgsl))
build/inc/kern/wgsl_bodies.inc: $(WGSL) Makefile
	@mkdir -p $(@D)
	@for f in $(WGSL); do \
	  echo "{\"$$(basename $$f .wgsl)\","; \
	  sed 's/[\\"]/\\&/g; s/.*/"&\\n"/' $$f; echo '},'; \
	done > $@
$(B)/src/kern/wgsl.o: build/inc/kern/wgsl_bodies.inc
$(B)/src/kern/wgsl.o: private COMPILE += -Ibuild/inc
$(B)/%.o: %.c $(B)/flags
	@mkdir -p $(@D)
	$(COMPILE) $(if $(werror),-Werror) -MMD -MP -c $< -o $@

# The program tells its version.
$(B)/src/tool/main.o: private COMPILE += -DGLIM_VERSION='"$(VERSION)"'
$(B)/src/tool/main.o: Makefile

# Every symbol, for tests and the tool.
$(B)/libglim_all.a: $(LIB_OBJ)
	rm -f $@ && $(AR) rcs $@ $^
# The static library to ship is one object in which only glim_ symbols are global.
$(B)/libglim.a: $(LIB_OBJ)
	$(CC) -r -nostdlib $^ -o $(B)/libglim.o
	$(OBJCOPY) --localize-hidden $(B)/libglim.o
	rm -f $@ && $(AR) rcs $@ $(B)/libglim.o
$(B)/libglim.so.$(VERSION): $(LIB_OBJ)
	$(COMPILE) -shared -Wl,-z,defs -Wl,-soname,libglim.so.$(SOVERSION) $(LDFLAGS) $^ $(LIBS) -o $@
$(B)/libglim.so: $(B)/libglim.so.$(VERSION)
	ln -sf libglim.so.$(VERSION) $(B)/libglim.so.$(SOVERSION)
	ln -sf libglim.so.$(VERSION) $@
# The program's parts, for tests of them.
$(B)/libtool.a: $(call obj,$(filter-out src/tool/main.c,$(TOOL_SRC)))
	rm -f $@ && $(AR) rcs $@ $^
$(B)/glim: $(call obj,$(TOOL_SRC)) $(B)/libglim_all.a
	$(COMPILE) $(LDFLAGS) $^ $(TOOL_LIBS) $(LIBS) -o $@
build/glim: $(B)/glim
	cp -f $< $@
$(B)/test/test_%: $(B)/test/test_%.o $(B)/libglim_all.a
	$(COMPILE) $(LDFLAGS) $^ -lcmocka $(TOOL_LIBS) $(LIBS) -o $@
$(B)/test/bench_%: $(B)/test/bench_%.o $(B)/libglim_all.a
	$(COMPILE) $(LDFLAGS) $^ $(LIBS) -o $@
$(B)/test/make_%: $(B)/test/make_%.o $(B)/libglim_all.a
	$(COMPILE) $(LDFLAGS) $^ $(LIBS) -o $@
# Without libFuzzer a target replays the files and folders that it is given.
REPLAY := $(if $(filter fuzz,$(config)),,$(B)/test/replay_main.o)
$(B)/test/fuzz_%: $(B)/test/fuzz_%.o $(REPLAY) $(B)/libtool.a $(B)/libglim_all.a
	$(COMPILE) $(LDFLAGS) $(if $(REPLAY),,-fsanitize=fuzzer) $^ $(TOOL_LIBS) $(LIBS) -o $@

# Every kernel that the GPU may be given, in build/wgsl/, compiled by what is in deps/.
wgsl: $(B)/test/test_gpu_kernels
	@mkdir -p build/wgsl
	$(B)/test/test_gpu_kernels --wgsl build/wgsl
	$(B)/test/test_gpu_kernels

# Each header must compile alone.
headers: $(HEADERS:%=%.alone)
%.alone: FORCE
	@echo '#include "$*"' | $(COMPILE) -Werror -I. -fsyntax-only -x c -

format:
	clang-format -i $(FORMATTED)
check-format:
	clang-format --dry-run -Werror --ferror-limit=3 $(FORMATTED)
check-folders:
	python3 script/check_folders.py

# The whole library as one C file and one header, for programs that would rather compile it in.
amalgamation: build/glim_amalgamated.c
build/glim_amalgamated.c: script/amalgamate.py build/inc/kern/wgsl_bodies.inc $(LIB_SRC) $(HEADERS) $(wildcard src/*/*.def src/*/*.inc)
	@mkdir -p build
	python3 script/amalgamate.py $@ $(LIB_SRC)
	cp include/glim.h build/glim.h

D = $(DESTDIR)$(PREFIX)
define PC
prefix=$(PREFIX)
includedir=$${prefix}/include
libdir=$${prefix}/lib

Name: glim
Description: Local language-model engine
Version: $(VERSION)
Cflags: -I$${includedir}
Libs: -L$${libdir} -lglim
Libs.private: -lm -pthread
endef
export PC
install: all
	install -d $(D)/bin $(D)/include $(D)/lib/pkgconfig
	$(if $(TOOL_SRC),install $(B)/glim $(D)/bin/glim)
	install -m 644 include/glim.h $(D)/include/glim.h
	install -m 644 $(B)/libglim.a $(D)/lib/libglim.a
	install $(B)/libglim.so.$(VERSION) $(D)/lib/libglim.so.$(VERSION)
	ln -sf libglim.so.$(VERSION) $(D)/lib/libglim.so.$(SOVERSION)
	ln -sf libglim.so.$(VERSION) $(D)/lib/libglim.so
	echo "$$PC" > $(D)/lib/pkgconfig/glim.pc
uninstall:
	rm -f $(D)/bin/glim $(D)/include/glim.h $(D)/lib/libglim.a $(D)/lib/libglim.so* \
	  $(D)/lib/pkgconfig/glim.pc

clean:
	rm -rf build
FORCE:
.PHONY: all tests fuzzers fuzz wgsl headers format check-format check-folders amalgamation install \
  uninstall clean FORCE
.SECONDARY:
.DELETE_ON_ERROR:
-include $(shell find $(B) -name '*.d' 2>/dev/null)
