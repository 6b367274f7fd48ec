/* How failures travel, stay, end and are accepted: promise 5 of the design, for arrays. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <pthread.h>

static bool holds4(hk_array *x, float a, float b, float c, float d)
{
    return test_holds(x, (const float[]){a, b, c, d}, 4);
}

static void write4(hk_array *x, float value)
{
    hk_write(x, ((const float[]){value, value, value, value}), 16);
}

static hk_array *copy_of(hk_array *in, atomic_bool *gate)
{
    hk_array *out = test_empty(hk_shape(hk_size(in)));
    test_issue((test_work){.kind = TEST_COPY, .out = out, .in = in, .gate = gate});
    return out;
}

/* The record says all there is to say, at each look the same. */
static void test_record(void)
{
    HK_SCOPE;
    hk_array *x = test_range(hk_shape(2, 3));
    hk_array *bad = hk_index(x, 0, 2);
    const int line = __LINE__ - 1;
    for (int look = 0; look < 3; look++) {
        const hk_status *status = hk_wait(bad);
        CHECK(hk_status_code(status) == HK_OUT_OF_RANGE);
        CHECK_STR(hk_status_message(status),
                  "index is 2, but along axis 0 of float32(2,3) it must be from -2 to 1");
        CHECK_STR(hk_status_operation(status), "index");
        CHECK_STR(hk_status_inputs(status), "float32(2,3)");
        CHECK_STR(hk_status_device(status), "cpu:0");
        CHECK(strstr(hk_status_file(status), "failed_test.c"));
        CHECK_EQ_I64(hk_status_line(status), line);
        CHECK_EQ_I64(hk_status_sequence(status), hki_last_sequence());
        CHECK_EQ_I64(hk_status_count(status), 1);
    }
    const hk_status *first = hk_status_retain(hk_wait(bad));
    CHECK(hk_wait(bad) == first);
    CHECK(hk_wait(hk_transpose(bad)) == first);      /* a view of it, */
    CHECK(hk_wait(hk_slice(bad, 7, 8, 9)) == first); /* whatever it would have been */
    CHECK(hk_wait(copy_of(bad, NULL)) == first);
    CHECK(hk_wait(hk_broadcast_to(copy_of(bad, NULL), hk_shape(-5))) == first);
    float out[1];
    CHECK(hk_to_host(bad, out, 4) == first);
    const hk_status *status;
    hk_item(bad, &status);
    CHECK(status == first);
    CHECK(hk_ndim(bad) == 0 && hk_size(bad) == 0);
    /* It has no dimensions to overwrite. */
    hk_write(bad, out, 4);
    hk_recover(bad);
    CHECK(hk_wait(bad) == first);
    CHECK(hk_ok(hk_wait(x)));
    hk_status_release(first);
}

static void test_counted(void)
{
    HK_SCOPE;
    hk_failures_clear();
    CHECK(hk_ok(hk_wait_all()));
    hk_array *x = test_range(hk_shape(4));
    for (int i = 0; i < 3; i++) { /* dropped at once */
        HK_SCOPE;
        hk_array *bad = hk_index(x, 1 + i, 0);
        copy_of(bad, NULL); /* no root */
        hk_slice(bad, 0, 0, 0);
    }
    hk_write(NULL, NULL, 0);
    hk_recover(NULL);
    for (int look = 0; look < 2; look++) {
        const hk_status *status = hk_wait_all();
        CHECK(strstr(hk_status_message(status), "axis is 1, but float32(4,) has axes -1 to 0"));
        CHECK_EQ_I64(hk_status_count(status), 5);
    }
    hk_failures_clear();
    CHECK(hk_ok(hk_wait_all()));
}

/* Failures that are still on their way. */
static void test_late(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(4));
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = x, .value = 1, .gate = &gate});
    hk_array *view = hk_slice(x, 0, 1, 3), *copy = copy_of(x, NULL);
    hk_array *refused = hk_slice(copy, 0, 0, 99); /* x's failure was first */
    hk_array *independent = copy_of(test_range(hk_shape(4)), NULL);
    CHECK_EQ_I64(hk_size(view), 2);
    atomic_store(&gate, true);
    CHECK(test_failed(x, HK_INJECTED, "writing 1"));
    const hk_status *first = hk_status_retain(hk_wait(x));
    CHECK_STR(hk_status_operation(first), "fail_writing");
    CHECK(hk_wait(view) == first);
    CHECK(hk_wait(copy) == first);
    CHECK(hk_wait(refused) == first);
    CHECK(hk_wait(hk_transpose(x)) == first);
    CHECK(hk_wait(x) == first);
    CHECK(holds4(independent, 0, 1, 2, 3));
    hk_status_release(first);
}

/* Of several failed inputs the earliest issued wins, whatever finished first. */
static void test_earliest(bool serial)
{
    HK_SCOPE;
    atomic_bool first_gate = serial, second_gate = serial;
    hk_array *a = test_empty(hk_shape(4)), *b = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = a, .value = 1, .gate = &first_gate});
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = b, .value = 2, .gate = &second_gate});
    hki_device *device = hk_device_default().handle;
    hk_array *none = NULL, *good = test_range(hk_shape(1));
    hk_array *ab = hki_array_create_failed(device, "join", (hk_array *[]){a, none, b, good}, 4,
                                           HK_INVALID_ARGUMENT, "not to be seen");
    hk_array *ba = hki_array_create_failed(device, "join", (hk_array *[]){b, a}, 2,
                                           HK_INVALID_ARGUMENT, "not to be seen");
    hk_array *goods = hki_array_create_failed(device, "join", (hk_array *[]){good, good}, 2,
                                              HK_INVALID_ARGUMENT, "seen: %d", 7);
    atomic_store(&second_gate, true);
    CHECK(test_failed(b, HK_INJECTED, "before 2"));
    atomic_store(&first_gate, true);
    CHECK(test_failed(ab, HK_INJECTED, "before 1"));
    CHECK(test_failed(ba, HK_INJECTED, "before 1"));
    CHECK(test_failed(goods, HK_INVALID_ARGUMENT, "seen: 7"));
    CHECK_STR(hk_status_operation(hk_wait(goods)), "join");
    CHECK_STR(hk_status_inputs(hk_wait(goods)), "float32(1,), float32(1,)");
}

static void test_heal(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(8));
    hk_array *front = hk_slice(x, 0, 0, 4), *back = hk_slice(x, 0, 4, 8);
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = front, .value = 1, .gate = &gate});
    atomic_store(&gate, true);
    CHECK(holds4(back, 4, 5, 6, 7)); /* disjoint: untouched */
    CHECK(test_failed(x, HK_INJECTED, "writing 1"));
    /* A part heals that part alone. */
    hk_array *part = hk_slice(x, 0, 1, 3);
    hk_write(part, ((const float[]){8, 9}), 8);
    CHECK(test_holds(part, (const float[]){8, 9}, 2));
    CHECK(test_failed(front, HK_INJECTED, "writing 1"));
    CHECK(test_failed(hk_slice(x, 0, 0, 1), HK_INJECTED, "writing 1"));
    CHECK(test_failed(hk_slice(x, 0, 3, 4), HK_INJECTED, "writing 1"));
    /* Reading and writing it is no overwrite. */
    test_issue((test_work){.kind = TEST_ADD, .out = front, .in = back});
    CHECK(test_failed(front, HK_INJECTED, "writing 1"));
    CHECK(test_failed(part, HK_INJECTED, "writing 1"));
    write4(front, 3);
    CHECK(holds4(front, 3, 3, 3, 3));
    CHECK(test_holds(x, (const float[]){3, 3, 3, 3, 4, 5, 6, 7}, 8));
    /* Every other element: what lies between is not overwritten. */
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = x, .value = 2});
    hk_array *even = hki_array_view(x, hk_shape(4), (const int64_t[]){2}, 0);
    hk_array *odd = hki_array_view(x, hk_shape(4), (const int64_t[]){2}, 1);
    write4(even, 1);
    CHECK(holds4(even, 1, 1, 1, 1));
    CHECK(test_failed(odd, HK_INJECTED, "writing 2"));
    CHECK(test_failed(x, HK_INJECTED, "writing 2"));
    write4(odd, 2);
    CHECK(test_holds(x, (const float[]){1, 2, 1, 2, 1, 2, 1, 2}, 8));
    /* Transposed, but whole. */
    hk_array *square = test_empty(hk_shape(2, 2));
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = square, .value = 3});
    CHECK(test_failed(square, HK_INJECTED, "writing 3"));
    hk_write(hk_transpose(square), ((const float[]){1, 2, 3, 4}), 16);
    CHECK(holds4(square, 1, 3, 2, 4));
    /* In program order: who reads before the overwrite sees the failure. */
    gate = serial;
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = square, .value = 4, .gate = &gate});
    hk_array *before = test_empty(hk_shape(4)), *after = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_COPY, .out = before, .in = square});
    write4(square, 6);
    test_issue((test_work){.kind = TEST_COPY, .out = after, .in = square});
    atomic_store(&gate, true);
    CHECK(test_failed(before, HK_INJECTED, "before 4"));
    CHECK(holds4(after, 6, 6, 6, 6));
}

static void test_in_place(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(8));
    hk_array *front = hk_slice(x, 0, 0, 4), *back = hk_slice(x, 0, 4, 8);
    hk_array *early = copy_of(front, &gate);
    hk_write(front, &(float){1}, 4);
    hk_array *late = copy_of(front, NULL);
    atomic_store(&gate, true);
    CHECK(holds4(early, 0, 1, 2, 3)); /* program order */
    CHECK(test_failed(front, HK_INVALID_ARGUMENT, "bytes is 4, but float32(4,) has 16"));
    CHECK(test_failed(late, HK_INVALID_ARGUMENT, "bytes is 4, but float32(4,) has 16"));
    CHECK_STR(hk_status_operation(hk_wait(front)), "write");
    CHECK(holds4(back, 4, 5, 6, 7));
    /* The first error stays. */
    hk_write(front, NULL, 16);
    CHECK(test_failed(front, HK_INVALID_ARGUMENT, "bytes is 4"));
    hk_recover(front);
    CHECK(holds4(front, 0, 1, 2, 3));
    hk_write(front, NULL, 16);
    CHECK(test_failed(front, HK_INVALID_ARGUMENT,
                      "argument data is NULL, but float32(4,) has 16 bytes"));
    write4(front, 1);
    CHECK(holds4(front, 1, 1, 1, 1));
    /* An input's failure comes before the call's own. */
    hk_array *bad = hk_index(x, 3, 0);
    hki_array_fail_in_place(back, "add", (hk_array *[]){back, bad}, 2, HK_INVALID_ARGUMENT, "no");
    CHECK(test_failed(back, HK_OUT_OF_RANGE, "axis is 3"));
    hk_recover(x);
    CHECK(test_holds(x, (const float[]){1, 1, 1, 1, 4, 5, 6, 7}, 8));
}

static void test_recover(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(4)), *bad = hk_index(x, 3, 0);
    /* One bad batch: the kernel never started, and the old bytes are taken back in program order. */
    hk_array *before = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = before, .value = 1, .gate = &gate});
    test_issue((test_work){.kind = TEST_ADD, .out = x, .in = before});
    hk_array *failed = copy_of(x, NULL);
    hk_recover(x);
    test_issue((test_work){.kind = TEST_ADD, .out = x, .in = x});
    atomic_store(&gate, true);
    CHECK(holds4(x, 0, 2, 4, 6));
    CHECK(test_failed(failed, HK_INJECTED, "writing 1"));
    /* A part of it. */
    test_issue((test_work){.kind = TEST_ADD, .out = x, .in = before});
    hk_recover(hk_slice(x, 0, 1, 3));
    CHECK(test_holds(hk_slice(x, 0, 1, 3), (const float[]){2, 4}, 2));
    CHECK(test_failed(x, HK_INJECTED, "writing 1"));
    hk_recover(x);
    CHECK(holds4(x, 0, 2, 4, 6));
    /* Where a kernel has written, nothing is taken back, however often something fails after it. */
    test_issue((test_work){.kind = TEST_FAIL_WRITING, .out = hk_slice(x, 0, 0, 2), .value = 2});
    test_issue((test_work){.kind = TEST_ADD, .out = x, .in = bad});
    hk_recover(x);
    CHECK(test_failed(x, HK_OUT_OF_RANGE, "axis is 3")); /* of both, the one issued first */
    CHECK(!hk_ok(hk_wait(hk_slice(x, 0, 0, 2))));
    CHECK(test_holds(hk_slice(x, 0, 2, 4), (const float[]){4, 6}, 2));
    /* What never held a value has nothing to take back. */
    hk_array *fresh = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = fresh, .value = 3});
    hk_recover(fresh);
    CHECK(test_failed(fresh, HK_INJECTED, "before 3"));
    write4(fresh, 1);
    hk_recover(fresh); /* nothing failed: nothing to do */
    CHECK(holds4(fresh, 1, 1, 1, 1));
}

/* Arrays without elements fail and heal like others. */
static void test_empty_arrays(void)
{
    HK_SCOPE;
    hk_array *x = hk_from_host(NULL, hk_shape(0, 3), HK_F32, hk_device_default());
    hk_array *y = test_range(hk_shape(4));
    hk_write(x, &(float){1}, 4);
    CHECK(test_failed(x, HK_INVALID_ARGUMENT, "bytes is 4, but float32(0,3) has 0"));
    CHECK(test_failed(hk_transpose(x), HK_INVALID_ARGUMENT, "bytes is 4"));
    hk_write(x, NULL, 0);
    CHECK(hk_ok(hk_wait(x)));
    hk_write(hk_slice(y, 0, 2, 2), &(float){1}, 4); /* no element of y is touched */
    CHECK(holds4(y, 0, 1, 2, 3));
}

static void test_failed_device(void)
{
    HK_SCOPE;
    hk_device none = hk_device_named("cpu:77");
    hk_array *x = hk_from_host(NULL, hk_shape(4), HK_F32, none);
    CHECK(test_failed(x, HK_NOT_FOUND, "there is no device \"cpu:77\""));
    CHECK(test_failed(copy_of(x, NULL), HK_NOT_FOUND, "cpu:77"));
    hk_array *y = hki_array_create_failed(none.handle, "add", (hk_array *[]){x}, 1,
                                          HK_INVALID_ARGUMENT, "no");
    CHECK(hk_wait(y) == hk_wait(x));
    hk_wait_all(); /* what earlier tests left unfinished counts, too */
    hk_failures_clear();
}

/* Threads fail, heal and look at neighbouring slices; each sees its own failures alone. */
typedef struct lane {
    hk_array *x;
    int number;
    bool wrong;
} lane;

static void *run_lane(void *argument)
{
    lane *self = argument;
    for (int i = 0; i < 500; i++) {
        HK_SCOPE;
        hk_array *own = hk_slice(self->x, 0, 4 * self->number, 4 * self->number + 4);
        char message[32];
        float value = (float)(self->number * 1000 + i);
        snprintf(message, sizeof message, "before %g", (double)value);
        test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = own, .value = value});
        hk_array *copy = copy_of(own, NULL);
        if (i % 2)
            hk_recover(own);
        else
            write4(own, value);
        if (!test_failed(copy, HK_INJECTED, message) || !hk_ok(hk_wait(own)))
            self->wrong = true;
    }
    return NULL;
}

static void test_lanes(void)
{
    HK_SCOPE;
    enum { LANES = 4 };
    pthread_t threads[LANES];
    lane lanes[LANES];
    hk_array *x = test_range(hk_shape(4 * LANES));
    for (int i = 0; i < LANES; i++) {
        lanes[i] = (lane){x, i, false};
        CHECK(!pthread_create(&threads[i], NULL, run_lane, &lanes[i]));
    }
    for (int i = 0; i < LANES; i++) {
        pthread_join(threads[i], NULL);
        CHECK(!lanes[i].wrong);
    }
    CHECK(hk_ok(hk_wait(x)));
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), LANES * 500);
    hk_failures_clear();
}

/* A front end that raises what is refused at its call does not hear of it again; of all else it does. */
static void test_refusals_are_raised(void)
{
    HK_SCOPE;
    hk_array *x = test_range(hk_shape(3));
    hk_refusals_are_raised(true);
    hk_array *bad = hk_index(x, 0, 7);
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(hk_status_code(hk_wait(bad)), HK_OUT_OF_RANGE);
    CHECK_EQ_I64(hk_status_code(hk_wait(copy_of(bad, NULL))), HK_OUT_OF_RANGE);
    CHECK(hk_ok(hk_wait_all()));
    hk_write(x, "", 1); /* fails x, which was there before */
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    hk_refusals_are_raised(false);
    hk_index(x, 0, 7);
    hk_index(test_range(hk_shape(3)), 0, 7);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);
    hk_failures_clear();
}

static void test_all(bool serial)
{
    test_record();
    test_counted();
    test_late(serial);
    test_earliest(serial);
    test_heal(serial);
    test_in_place(serial);
    test_recover(serial);
    test_empty_arrays();
    test_failed_device();
    test_lanes();
    test_refusals_are_raised();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){0});
    test_engines(test_all, (hk_runtime_options){.cpu_devices = 3, .inline_ns = -1});
    return check_result();
}
