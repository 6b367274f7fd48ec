/* What nobody will look at again is worked on where it is: a chain of elementwise calls takes the memory of one array. What
 * somebody may still look at, or what does not fit, is left alone. */
#include "tests/check.h"

#include "array/test_tasks.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <unistd.h>

enum { ELEMENTS = 1 << 20, BYTES = ELEMENTS * 4 };

static atomic_bool gate, is_over;
static hk_device device;

static void start(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 1, .engine = HK_ENGINE_ASYNC})));
    device = hk_device_default();
    atomic_store(&gate, false);
}

static void note_over(void *argument)
{
    (void)argument;
    atomic_store(&is_over, true);
}

/* Opens the gate; returns how many arrays there were at a time, at most, until y was there. Nobody helps the one worker: a
 * thread that runs a call while another is still about to drop what that call reads takes memory of its own. */
static int64_t end(hk_array *y)
{
    atomic_store(&is_over, false);
    test_issue((test_work){TEST_CALL, .out = y, .call = note_over});
    atomic_store(&gate, true);
    while (!atomic_load(&is_over))
        usleep(100);
    return (int64_t)(hk_device_get_memory(device).peak_bytes / BYTES);
}

static void stop(void)
{
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64((int64_t)hk_device_get_memory(device).used_bytes, 0);
    hk_runtime_deinit();
}

/* -2 everywhere, when the gate opens: what reads it has been issued by then, and handles dropped. */
static hk_array *source(void)
{
    hk_array *x = test_empty(hk_shape(1024, ELEMENTS / 1024));
    test_issue((test_work){TEST_FILL, .out = x, .value = -2, .gate = &gate});
    return x;
}

static bool is_all(hk_array *x, float value)
{
    static float got[ELEMENTS];
    bool all = hk_ok(hk_to_host(x, got, sizeof got));
    for (int64_t i = 0; all && i < ELEMENTS; i++)
        all = got[i] == value;
    return all;
}

static hk_array *chain(hk_array *x)
{
    return hk_add(hk_square(hk_negative(x)), 1);
}

static void test_dropped(void)
{
    start();
    hk_array *y;
    {
        HK_SCOPE;
        y = hk_take(chain(source()));
    }
    CHECK_EQ_I64(end(y), 1);
    CHECK(is_all(y, 5));
    hk_array_release(y);
    stop();
}

static void test_kept(void)
{
    start();
    hk_array *x, *y, *view;
    {
        HK_SCOPE;
        x = hk_take(source());
        y = hk_take(hk_negative(x));
        view = hk_take(hk_reshape(hk_negative(y), hk_shape(ELEMENTS)));
    }
    hk_array *z = hk_take(hk_square(view)); /* -2 is still there for it when y is gone */
    CHECK_EQ_I64(end(z), 4);
    CHECK(is_all(x, -2) && is_all(y, 2) && is_all(view, -2) && is_all(z, 4));
    hk_array *const all[] = {x, y, view, z};
    for (int i = 0; i < 4; i++)
        hk_array_release(all[i]);
    stop();
}

/* Read twice by a call, at other places, by another call too, or of another type. */
static void test_unfit(void)
{
    start();
    hk_array *twice, *turned, *both[2], *cast, *wide;
    {
        HK_SCOPE;
        hk_array *x = source(), *z = source();
        twice = hk_take(hk_multiply(x, x));
        turned = hk_take(hk_negative(hk_transpose(source())));
        both[0] = hk_take(hk_negative(z));
        both[1] = hk_take(hk_square(z));
        cast = hk_take(hk_cast(source(), HK_I32));
        wide = hk_take(hk_add(hk_index(source(), 0, 3), source()));
    }
    end(wide);
    CHECK(is_all(twice, 4) && is_all(turned, 2) && is_all(both[0], 2) && is_all(both[1], 4));
    CHECK(is_all(hk_cast(cast, HK_F32), -2) && is_all(wide, -4));
    hk_array *const all[] = {twice, turned, both[0], both[1], cast, wide};
    for (int i = 0; i < 6; i++)
        hk_array_release(all[i]);
}

int main(void)
{
    test_dropped();
    test_kept();
    {
        HK_SCOPE;
        test_unfit();
    }
    stop();
    return check_result();
}
