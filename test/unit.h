/* cmocka with the headers it wants before it. Its fail() and fail_msg() macros give way to the
 * engine's fail(); fail_test() is fail_msg(). */
#ifndef TEST_UNIT_H
#define TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#undef fail
#undef fail_msg
#define fail_test(...)                                                                             \
    do {                                                                                           \
        print_error("ERROR: " __VA_ARGS__);                                                        \
        print_error("\n");                                                                         \
        _fail(__FILE__, __LINE__);                                                                 \
    } while (0)

#endif
