/* The whole of the test framework: a failed check prints where and what, and the program goes on. */
#ifndef HOCKET_TESTS_CHECK_H
#define HOCKET_TESTS_CHECK_H

#include <stdio.h>
#include <string.h>

static int check_count, check_failed_count;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        check_count++;                                                                             \
        if (!(condition)) {                                                                        \
            check_failed_count++;                                                                  \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition);                \
        }                                                                                          \
    } while (0)

#define CHECK_EQ_I64(actual, expected)                                                             \
    do {                                                                                           \
        long long check_actual = (long long)(actual), check_expected = (long long)(expected);      \
        check_count++;                                                                             \
        if (check_actual != check_expected) {                                                      \
            check_failed_count++;                                                                  \
            fprintf(stderr, "%s:%d: %s is %lld, expected %lld\n", __FILE__, __LINE__, #actual,     \
                    check_actual, check_expected);                                                 \
        }                                                                                          \
    } while (0)

#define CHECK_STR(actual, expected)                                                                \
    do {                                                                                           \
        const char *check_actual = (actual), *check_expected = (expected);                         \
        check_count++;                                                                             \
        if (strcmp(check_actual, check_expected)) {                                                \
            check_failed_count++;                                                                  \
            fprintf(stderr, "%s:%d: %s is\n  \"%s\"\nexpected\n  \"%s\"\n", __FILE__, __LINE__,    \
                    #actual, check_actual, check_expected);                                        \
        }                                                                                          \
    } while (0)

/* The exit status of a test program: 0 when all checks held. */
static inline int check_result(void)
{
    if (check_failed_count)
        fprintf(stderr, "%d of %d checks failed\n", check_failed_count, check_count);
    return check_failed_count != 0;
}

#endif
