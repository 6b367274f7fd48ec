/* HOCKET_CHECK=1: a handle that is used after its release is told, and does no harm. */
#include "check.h"

#include <hocket/hocket.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MANY = 40000 };

static hk_array *ones(int64_t size)
{
    return hk_ones(hk_shape(size), HK_F32, hk_device_default());
}

/* What the library writes to stderr while it is caught. */
static char told[4096];
static int real_stderr, catching[2];

static void catch_begin(void)
{
    fflush(stderr);
    CHECK(pipe(catching) == 0);
    real_stderr = dup(STDERR_FILENO);
    dup2(catching[1], STDERR_FILENO);
}

static void catch_end(void)
{
    fflush(stderr);
    dup2(real_stderr, STDERR_FILENO);
    close(real_stderr);
    close(catching[1]);
    ssize_t count = read(catching[0], told, sizeof told - 1);
    told[count > 0 ? count : 0] = '\0';
    close(catching[0]);
}

static bool is_told_of(const hk_status *status, const char *what)
{
    return hk_status_code(status) == HK_INVALID_ARGUMENT &&
           strstr(hk_status_message(status), "after its release") &&
           strstr(hk_status_message(status), what);
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* Each use but the first is silent, and all fail. */
static void test_uses(int64_t size)
{
    HK_SCOPE;
    hk_array *y = ones(size);
    char what[32];
    snprintf(what, sizeof what, "float32(%d,)", (int)size);
    for (int use = 0; use < 8; use++) {
        float values[1000] = {0};
        hk_array *x = hk_take(ones(size)), *view = hk_take(hk_reshape(x, hk_shape(size, 1)));
        hk_array *result = NULL;
        hk_array_release(x);
        CHECK(hk_ok(hk_wait(view)));
        catch_begin();
        const int line = __LINE__ + 1;
        switch (use) {
        case 0:
            result = hk_add(x, y);
            break;
        case 1:
            result = hk_add(y, x);
            break;
        case 2:
            result = x;
            break;
        case 3:
            CHECK(is_told_of(hk_to_host(x, values, (size_t)size * sizeof *values), what));
            break;
        case 4:
            hk_write(x, values, (size_t)size * sizeof *values);
            break;
        case 5:
            hk_add_into(x, y, y);
            break;
        case 6:
            result = hk_slice(x, 0, 0, 1);
            break;
        default:
            hk_array_release(x);
            break;
        }
        if (result)
            CHECK(is_told_of(hk_wait(result), what));
        catch_end();
        CHECK(is_told_of(hk_wait_all(), what));
        const char *position = strstr(told, "released_handles.c:"), *rest = told;
        CHECK(position && strstr(told, "after its release"));
        int count = 0;
        while ((rest = strstr(rest, "after its release"))) {
            rest++;
            count++;
        }
        CHECK(count == 1);
        /* Waits and releases have no position of their own. */
        CHECK(use == 2 || use == 7 ||
              (position && atoi(position + strlen("released_handles.c:")) >= line));
        clear_failures();
        hk_array_release(view);
    }
    CHECK(hk_ok(hk_wait(y)));
}

static void test_scope(void)
{
    HK_SCOPE;
    hk_array *x;
    {
        HK_SCOPE;
        x = ones(3);
    }
    catch_begin();
    CHECK(!hk_ok(hk_wait(hk_negative(x))));
    catch_end();
    CHECK(strstr(told, "float32(3,)"));
    clear_failures();
}

/* Those released long ago give way; nothing that is used rightly is found. */
static void test_many(void)
{
    HK_SCOPE;
    hk_array *kept = ones(5);
    catch_begin();
    for (int i = 0; i < MANY; i++) {
        HK_SCOPE;
        hk_array *y = hk_add(kept, ones(5));
        hk_reshape(y, hk_shape(5, 1));
    }
    catch_end();
    CHECK(told[0] == '\0');
    CHECK(hk_ok(hk_wait_all()));
}

int main(void)
{
    setenv("HOCKET_CHECK", "2", 1);
    {
        HK_SCOPE;
        const hk_status *status = hk_wait(ones(1)); /* the value is none */
        CHECK(!hk_ok(status) && strstr(hk_status_message(status), "HOCKET_CHECK"));
    }
    hk_runtime_deinit();
    setenv("HOCKET_CHECK", "1", 1);
    for (int engine = 0; engine < 2; engine++) {
        CHECK(hk_ok(hk_runtime_init(
            &(hk_runtime_options){.engine = engine ? HK_ENGINE_ASYNC : HK_ENGINE_SERIAL})));
        test_uses(2);
        test_uses(1000);
        test_scope();
        test_many();
        hk_runtime_deinit();
    }
    return check_result();
}
