/* Printing while memory is short: all of the text, or a record that says so, or nothing; never a part, never a crash. */
#include "check.h"
#include "failing_memory.h"

#include <hocket/hocket.h>

enum { MOST = 1000 }; /* allocations of one call */

static bool is_whole(const char *text, const char *whole)
{
    return !text || !strcmp(text, whole) || strstr(text, "memory");
}

/* What a function leaves unset is not 0 by chance. */
static __attribute__((noinline)) void dirty_stack(void)
{
    volatile char garbage[4096];
    for (size_t i = 0; i < sizeof garbage; i++)
        garbage[i] = 0x55;
}

/* x is printed again and again, each time with one more allocation that still succeeds. */
static void test_text(hk_array *x, bool all)
{
    char *whole = hk_to_string(x);
    CHECK(whole);
    int after = 0, failed = 1;
    for (; failed && after < MOST && whole; after++) {
        dirty_stack();
        failing_begin(after, all);
        char *text = hk_to_string(x);
        failed = failing_end();
        if (!is_whole(text, whole))
            fprintf(stderr, "%s\ninstead of\n%s\n", text, whole);
        CHECK(is_whole(text, whole));
        CHECK(failed || text);
        free(text);
    }
    CHECK(after < MOST);
    free(whole);
}

static void test_print(hk_array *x, bool all)
{
    char *whole = hk_to_string(x);
    int failed = 1;
    for (int after = 0; failed && after < MOST && whole; after++) {
        char text[20000] = "";
        FILE *stream = fmemopen(text, sizeof text, "w");
        setvbuf(stream, NULL, _IONBF, 0);
        dirty_stack();
        failing_begin(after, all);
        hk_print(x, stream);
        failed = failing_end();
        fclose(stream);
        const size_t length = strlen(text);
        CHECK(length > 0 && text[length - 1] == '\n');
        text[length ? length - 1 : 0] = '\0';
        CHECK(is_whole(text, whole));
    }
    free(whole);
}

static void test_all(hk_engine engine)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = engine})));
    HK_SCOPE;
    const int32_t zeros[4] = {0};
    const hk_device device = hk_device_default();
    hk_array *x = hk_from_host(zeros, hk_shape(4), HK_I32, device);
    hk_array *arrays[] = {
        NULL,
        hk_slice(x, 7, 0, 1), /* failed at its call, */
        hk_divide(x, x),      /* later */
        x,
        hk_reshape(hk_arange(0, 600, 1, HK_F32, device), hk_shape(3, 4, 50)),
        hk_random_uniform(hk_shape(80, 80), HK_F64, device),
        hk_random_uniform(hk_shape(10, 100), HK_F64, device), /* the text grows */
    };
    for (int i = 0; i < (int)(sizeof arrays / sizeof *arrays); i++)
        for (int all = 0; all < 2; all++) {
            hk_wait(arrays[i]);
            test_text(arrays[i], all);
            test_print(arrays[i], all);
        }
    hk_runtime_deinit();
}

int main(void)
{
    test_all(HK_ENGINE_ASYNC);
    test_all(HK_ENGINE_SERIAL);
    return check_result();
}
