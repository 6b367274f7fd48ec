/* Numbers are read and written with a point, in a program whose locale has a comma there. */
#include "check.h"

#include "base/sanitizer.h"

#include <hocket/hocket.h>

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#if HKI_ADDRESS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

/* The C library never frees the list that it makes of LOCPATH each time that it looks for a locale. */
static void ignore_leaks(bool begins)
{
#if HKI_ADDRESS_SANITIZER
    if (begins)
        __lsan_disable();
    else
        __lsan_enable();
#endif
    (void)begins;
}

static char folder[] = "/tmp/hocket_locale_XXXXXX";

/* The program's locale is German, made for this where the system has none. */
static bool set_german(void)
{
    char command[256];
    if (!mkdtemp(folder))
        return false;
    snprintf(command, sizeof command, "localedef -c -i de_DE -f UTF-8 '%s/de_DE.UTF-8' 2>&1",
             folder);
    if (system(command)) {
        fprintf(stderr, "\"%s\" failed: see scripts/packages.txt, locales\n", command);
        return false;
    }
    setenv("LOCPATH", folder, 1);
    ignore_leaks(true);
    const bool is_set = setlocale(LC_ALL, "de_DE.UTF-8") != NULL;
    ignore_leaks(false);
    return is_set && !strcmp(localeconv()->decimal_point, ",");
}

static bool says(const char *text, const char *part)
{
    if (text && strstr(text, part))
        return true;
    fprintf(stderr, "\"%s\" does not say \"%s\"\n", text ? text : "NULL", part);
    return false;
}

/* The text has a digit, a comma and a digit in a row. */
static bool has_comma(const char *text)
{
    static const char digits[] = "0123456789";
    for (const char *at = text; (at = strchr(at, ',')); at++)
        if (at > text && strchr(digits, at[-1]) && at[1] && strchr(digits, at[1]))
            return true;
    return false;
}

static void test_sim(void)
{
    setenv("HOCKET_SIM", "1:flops=1.5G,latency=2.5us", 1);
    const hk_status *status = hk_runtime_init(NULL);
    CHECK(hk_ok(status));
    hk_status_print(status, stderr);
    hk_device sim = hk_device_named("sim:0");
    CHECK(says(hk_device_description(sim), "simulated: 1.5 GFLOP/s"));
    CHECK(says(hk_device_description(sim), "+ 2.5 us"));
    CHECK(!has_comma(hk_device_description(sim)));
    hk_runtime_deinit();

    setenv("HOCKET_SIM", "1:flops=1,5G", 1);
    CHECK(hk_status_code(hk_runtime_init(NULL)) == HK_INVALID_ARGUMENT);
    unsetenv("HOCKET_SIM");
    hk_runtime_deinit();

    const hk_runtime_options options = {.sim = &(hk_sim_options){.count = 1, .flops = -0.5},
                                        .sim_count = 1};
    CHECK(says(hk_status_message(hk_runtime_init(&options)), "flops is -0.5;"));
}

static void test_messages(void)
{
    HK_SCOPE;
    const hk_device device = {NULL};
    hk_array *x = hk_ones(hk_shape(2), HK_I32, device);
    CHECK(says(hk_status_message(hk_wait(hk_scalar(3.5e9, HK_I32, device))), "value is 3.5e+09,"));
    CHECK(says(hk_status_message(hk_wait(hk_add(x, 1.5))), "y is 1.5,"));
    CHECK(says(hk_status_message(hk_wait(hk_full(hk_shape(2), 2.5, HK_I32, device))), "2.5"));
    hk_array *parameter = hk_ones(hk_shape(2), HK_F32, device);
    hk_attach_grad(parameter, HK_GRAD_WRITE);
    hk_sgd(&parameter, 1, &(hk_sgd_options){.lr = -0.5, .batch = 1});
    CHECK(says(hk_status_message(hk_wait(parameter)), "lr is -0.5,"));
    hk_failures_clear();
}

static void test_values(void)
{
    HK_SCOPE;
    const float values[] = {0.1f, 1.5f, -2.25f};
    hk_array *x = hk_from_host(values, hk_shape(3), HK_F32, (hk_device){NULL});
    char *text = hk_to_string(x), *one = hk_to_string(hk_scalar(1e-7, HK_F64, (hk_device){NULL}));
    CHECK_STR(text, "[ 0.1   1.5  -2.25] @cpu:0");
    CHECK_STR(one, "1e-07 float64 @cpu:0");
    free(text);
    free(one);
}

static void test_traces(void)
{
    HK_SCOPE;
    char path[64];
    CHECK(hk_ok(hk_trace_start(NULL)));
    for (int i = 0; i < 5; i++)
        hk_wait(hk_exp(hk_ones(hk_shape(300, 300), HK_F32, (hk_device){NULL})));
    hk_trace *trace = hk_trace_stop();
    CHECK(hk_ok(hk_trace_status(trace)));
    for (int format = HK_TRACE_SVG; format <= HK_TRACE_TEXT; format++) {
        char *text = hk_trace_text(trace, (hk_trace_format)format, NULL);
        CHECK(says(text, "."));
        CHECK(format != HK_TRACE_TEXT || !has_comma(text));
        free(text);
    }
    snprintf(path, sizeof path, "%s/trace.json", folder);
    CHECK(hk_ok(hk_trace_write(trace, HK_TRACE_CHROME, path)));
    hk_trace *again = hk_trace_read(path);
    CHECK(hk_ok(hk_trace_status(again)));
    const hk_trace_summary before = hk_trace_get_summary(trace),
                           after = hk_trace_get_summary(again);
    CHECK(after.call_count == before.call_count && before.call_count > 0);
    CHECK_EQ_I64(after.duration_ns, before.duration_ns);
    hk_trace_release(again);

    FILE *file = fopen(path, "w");
    CHECK(file && fputs("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":-1.5}]}", file) > 0);
    fclose(file);
    hk_trace *bad = hk_trace_read(path);
    CHECK(!hk_ok(hk_trace_status(bad)) && !has_comma(hk_status_message(hk_trace_status(bad))));
    hk_trace_release(bad);
    hk_trace_release(trace);
}

static void *test_all(void *unused)
{
    test_sim();
    test_messages();
    test_values();
    test_traces();
    hk_runtime_deinit();
    return unused;
}

/* A thread may have a locale of its own. */
static void *test_in_thread(void *locale)
{
    uselocale((locale_t)locale);
    test_all(NULL);
    CHECK(uselocale((locale_t)0) == (locale_t)locale);
    return NULL;
}

int main(void)
{
    pthread_t thread;
    char command[128], text[16];
    CHECK(set_german());
    test_all(NULL);
    snprintf(text, sizeof text, "%.1f", 0.5);
    CHECK_STR(text, "0,5"); /* the program's own is as it was */
    ignore_leaks(true);
    locale_t german = newlocale(LC_ALL_MASK, "de_DE.UTF-8", (locale_t)0);
    ignore_leaks(false);
    setlocale(LC_ALL, "C");
    CHECK(german && !pthread_create(&thread, NULL, test_in_thread, german) &&
          !pthread_join(thread, NULL));
    if (german)
        freelocale(german);
    snprintf(command, sizeof command, "rm -r '%s'", folder);
    CHECK(!system(command));
    return check_result();
}
