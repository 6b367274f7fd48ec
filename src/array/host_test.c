/* Values in and out, in program order. */
#include "tests/check.h"

#include "array/test_tasks.h"
#include "base/sanitizer.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>

HKI_PLAIN_LOOPS static void fill(unsigned char *bytes, size_t count, bool is_bool)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] = (unsigned char)(is_bool ? i % 2 : i * 31 % 251);
}

HKI_PLAIN_LOOPS static void flip(unsigned char *bytes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes[i] ^= 1;
}

static void test_round_trip(void)
{
    static const size_t sizes[] = {1, 100, 20000, 3000000};
    for (int d = 0; d < HK_DTYPE_COUNT; d++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            HK_SCOPE;
            size_t count = sizes[i], bytes = count * hk_dtype_bytes((hk_dtype)d);
            unsigned char *in = malloc(bytes), *out = malloc(bytes);
            fill(in, bytes, d == HK_BOOL);
            hk_array *x =
                hk_from_host(in, hk_shape((int64_t)count), (hk_dtype)d, hk_device_default());
            CHECK(hk_array_dtype(x) == (hk_dtype)d);
            CHECK(hk_ok(hk_to_host(x, out, bytes)));
            CHECK(!memcmp(in, out, bytes));
            flip(in, bytes);
            hk_write(x, in, bytes);
            CHECK(hk_ok(hk_to_host(x, out, bytes)));
            CHECK(!memcmp(in, out, bytes));
            free(in);
            free(out);
        }
}

static void test_data_is_read_at_once(void)
{
    HK_SCOPE;
    atomic_bool gate = true;
    for (int size = 1; size <= 1 << 18; size *= 8) {
        float *values = malloc((size_t)size * sizeof *values);
        for (int i = 0; i < size; i++)
            values[i] = 1;
        hk_array *x = hk_from_host(values, hk_shape(size), HK_F32, (hk_device){0});
        for (int i = 0; i < size; i++)
            values[i] = 2;
        CHECK(hk_item(hk_index(x, 0, -1), NULL) == 1);
        hk_array *y = test_empty(hk_shape(size));
        test_issue((test_work){.kind = TEST_COPY, .out = y, .in = x, .gate = &gate});
        hk_write(x, values, (size_t)size * sizeof *values);
        for (int i = 0; i < size; i++)
            values[i] = 3;
        CHECK(hk_item(hk_index(x, 0, -1), NULL) == 2);
        CHECK(hk_item(hk_index(y, 0, -1), NULL) == 1);
        free(values);
    }
}

/* A write stands behind the readers of the old values, and its caller does not wait for them. */
static void test_write_order(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(4)), *y = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_COPY, .out = y, .in = x, .value = 1, .gate = &gate});
    hk_write(x, ((float[]){9, 9, 9, 9}), 16);
    hk_write(hk_slice(x, 0, 1, 2), &(float){7}, 4);
    atomic_store(&gate, true);
    CHECK(test_holds(y, (const float[]){1, 2, 3, 4}, 4));
    CHECK(test_holds(x, (const float[]){9, 7, 9, 9}, 4));
}

/* What a waiting call does not need does not hold it up. */
static void test_disjoint_slices(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = test_range(hk_shape(8));
    hk_array *front = hk_slice(x, 0, 0, 4), *back = hk_slice(x, 0, 4, 8);
    test_issue((test_work){.kind = TEST_FILL, .out = front, .value = 5, .gate = &gate});
    CHECK(test_holds(back, (const float[]){4, 5, 6, 7}, 4));
    hk_write(back, (float[]){1, 1, 1, 1}, 16);
    CHECK(test_holds(back, (const float[]){1, 1, 1, 1}, 4));
    atomic_store(&gate, true);
    CHECK(test_holds(x, (const float[]){5, 5, 5, 5, 1, 1, 1, 1}, 8));
}

static void test_released_early(bool serial)
{
    HK_SCOPE;
    atomic_bool gate = serial;
    hk_array *x = hk_take(test_range(hk_shape(4))), *y = test_empty(hk_shape(4));
    test_issue((test_work){.kind = TEST_COPY, .out = y, .in = x, .gate = &gate});
    hk_write(x, (float[]){9, 9, 9, 9}, 16);
    hk_array_release(x);
    atomic_store(&gate, true);
    CHECK(test_holds(y, (const float[]){0, 1, 2, 3}, 4));
}

static void test_bool(void)
{
    HK_SCOPE;
    const unsigned char in[] = {0, 1, 2, 255};
    unsigned char out[4];
    hk_array *x = hk_from_host(in, hk_shape(4), HK_BOOL, hk_device_default());
    CHECK(hk_ok(hk_to_host(x, out, 4)));
    CHECK(!memcmp(out, "\0\1\1\1", 4));
    hk_write(x, "\7\0\0\0", 4);
    CHECK(hk_ok(hk_to_host(x, out, 4)));
    CHECK(!memcmp(out, "\1\0\0\0", 4));
}

static void test_scalar(void)
{
    HK_SCOPE;
    const hk_status *status;
    hk_device device = hk_device_default();
    CHECK(hk_item(hk_scalar(1.5, HK_F32, device), &status) == 1.5 && hk_ok(status));
    CHECK(hk_item(hk_scalar(0.1, HK_F64, device), NULL) == 0.1);
    CHECK(hk_item(hk_scalar(-2.9, HK_I32, device), NULL) == -2);
    CHECK(hk_item(hk_scalar(3e9, HK_I64, device), NULL) == 3e9);
    CHECK(hk_item(hk_scalar(255, HK_U8, device), NULL) == 255);
    CHECK(hk_item(hk_scalar(0.5, HK_BOOL, device), NULL) == 1);
    CHECK(test_failed(hk_scalar(3e9, HK_I32, device), HK_OUT_OF_RANGE,
                      "value is 3e+09, which does not fit int32"));
    CHECK(test_failed(hk_scalar(NAN, HK_U8, device), HK_OUT_OF_RANGE, "value is nan"));
    CHECK(test_failed(hk_scalar(1, (hk_dtype)99, device), HK_INVALID_ARGUMENT, "dtype is 99"));
}

static void test_refused(void)
{
    HK_SCOPE;
    float out[4] = {1, 1, 1, 1};
    const float in[4] = {2, 2, 2, 2};
    const hk_status *status;
    hk_device device = hk_device_default(), none = hk_device_named("gpu:7");
    hk_array *x = test_range(hk_shape(2, 2));
    status = hk_to_host(x, out, 8);
    CHECK(hk_status_code(status) == HK_INVALID_ARGUMENT);
    CHECK_STR(hk_status_message(status), "bytes is 8, but float32(2,2) has 16");
    CHECK_STR(hk_status_operation(status), "to_host");
    CHECK_STR(hk_status_inputs(status), "float32(2,2)");
    CHECK_STR(hk_status_device(status), "cpu:0");
    CHECK(strstr(hk_status_file(status), "host_test.c") && hk_status_line(status) > 0);
    status = hk_to_host(x, NULL, 16);
    CHECK_STR(hk_status_message(status), "argument out is NULL, but float32(2,2) has 16 bytes");
    CHECK(hk_status_code(hk_to_host(NULL, out, 16)) == HK_INVALID_ARGUMENT);
    CHECK(out[0] == 1);
    CHECK(isnan(hk_item(x, &status)));
    CHECK_STR(hk_status_message(status), "float32(2,2) has 4 elements, but must have one");
    CHECK(isnan(hk_item(NULL, &status)) && !hk_ok(status));
    CHECK(hk_status_code(hk_wait(NULL)) == HK_INVALID_ARGUMENT);
    CHECK(hk_ok(hk_wait(x)));
    CHECK(test_failed(hk_from_host(NULL, hk_shape(2), HK_F32, device), HK_INVALID_ARGUMENT,
                      "argument data is NULL, but float32(2,) takes 8 bytes"));
    CHECK(test_failed(hk_from_host(in, hk_shape(-2), HK_F32, device), HK_INVALID_ARGUMENT,
                      "axis 0 must have a size of 0 or more, not -2"));
    CHECK(test_failed(hk_from_host(in, hk_shape(1, 1, 1, 1, 1, 1, 1, 1, 1), HK_F32, device),
                      HK_INVALID_ARGUMENT, "shape has 9 axes, but may have 0 to 8"));
    CHECK(test_failed(hk_from_host(in, hk_shape(INT64_MAX, 2), HK_F32, device), HK_INVALID_ARGUMENT,
                      "2^62 bytes"));
    CHECK(test_failed(hk_from_host(in, hk_shape(4), (hk_dtype)-1, device), HK_INVALID_ARGUMENT,
                      "dtype is"));
    hk_array *lost = hk_from_host(in, hk_shape(4), HK_F32, none);
    CHECK(test_failed(lost, HK_NOT_FOUND, "there is no device \"gpu:7\""));
    CHECK_STR(hk_status_operation(hk_wait(lost)), "from_host");
    CHECK_STR(hk_status_device(hk_wait(lost)), "gpu:7");
    CHECK(hk_array_device(lost).handle == none.handle);
    CHECK(test_failed(hki_array_create(none.handle, hk_shape(1), HK_F32), HK_NOT_FOUND, "gpu:7"));
    CHECK(hk_ok(hk_to_host(hk_from_host(NULL, hk_shape(0, 3), HK_F32, device), NULL, 0)));
    hk_array *unset = test_empty(hk_shape(1));
    CHECK(hk_ok(hk_to_host(hk_slice(unset, 0, 1, 1), NULL, 0))); /* no element was never written */
    CHECK(isnan(hk_item(unset, &status)));
    CHECK_STR(hk_status_message(status), "the array was never written");
    hk_array_release(hk_array_retain(hki_array_no_memory()));
    CHECK(test_failed(hki_array_no_memory(), HK_OUT_OF_MEMORY, "out of host memory"));
    CHECK(test_failed(hk_transpose(hki_array_no_memory()), HK_OUT_OF_MEMORY, "out of host memory"));
    CHECK(hk_status_code(hk_device_status(hk_array_device(hki_array_no_memory()))) ==
          HK_OUT_OF_MEMORY);
    hk_failures_clear();
}

static const hk_status *deadlock_statuses[4];
static hk_array *deadlock_array;

static void wait_in_task(void *unused)
{
    float out;
    (void)unused;
    deadlock_statuses[0] = hk_status_retain(hk_wait(deadlock_array));
    deadlock_statuses[1] = hk_status_retain(hk_to_host(deadlock_array, &out, sizeof out));
    const hk_status *status;
    hk_item(deadlock_array, &status);
    deadlock_statuses[2] = hk_status_retain(status);
    /* Calls that do not block are fine. */
    HK_SCOPE;
    deadlock_statuses[3] = hk_status_retain(hk_wait(hk_slice(deadlock_array, 5, 0, 0)));
}

static void test_wait_in_task(void)
{
    HK_SCOPE;
    deadlock_array = test_range(hk_shape(1));
    hk_array *x = test_range(hk_shape(1));
    test_issue((test_work){.kind = TEST_CALL, .out = x, .call = wait_in_task});
    CHECK(hk_ok(hk_wait(x)));
    for (int i = 0; i < 4; i++) {
        CHECK(hk_status_code(deadlock_statuses[i]) == HK_WOULD_DEADLOCK);
        hk_status_release(deadlock_statuses[i]);
    }
    hk_failures_clear();
}

enum { WRITERS = 4, WRITES = HKI_SANITIZED ? 150 : 2000, SLOTS = 64 };

typedef struct writer {
    hk_array *x;
    int number;
} writer;

/* Each thread writes its own slots, and now and then reads back what it wrote. */
static void *write_slots(void *argument)
{
    writer *self = argument;
    unsigned state = (unsigned)self->number + 1;
    float own[SLOTS] = {0};
    void *wrong = NULL;
    for (int i = 0; i < WRITES; i++) {
        HK_SCOPE;
        state = state * 1664525u + 1013904223u;
        int slot = (int)(state >> 20) % SLOTS;
        float value = own[slot] = (float)(state >> 8);
        hk_array *place = hk_index(hk_index(self->x, 1, self->number), 0, slot);
        hk_write(place, &value, sizeof value);
        if (i % 50 == 0 && !test_holds(hk_index(self->x, 1, self->number), own, SLOTS))
            wrong = self;
    }
    return wrong;
}

static void test_threads(void)
{
    HK_SCOPE;
    pthread_t threads[WRITERS];
    writer writers[WRITERS];
    hk_array *x = test_empty(hk_shape(SLOTS, WRITERS));
    static const float zeros[SLOTS * WRITERS];
    hk_write(x, zeros, sizeof zeros);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = (writer){x, i};
        CHECK(!pthread_create(&threads[i], NULL, write_slots, &writers[i]));
    }
    for (int i = 0; i < WRITERS; i++) {
        void *wrong;
        pthread_join(threads[i], &wrong);
        CHECK(!wrong);
    }
}

static void test_all(bool serial)
{
    test_round_trip();
    test_data_is_read_at_once();
    test_write_order(serial);
    test_disjoint_slices(serial);
    test_released_early(serial);
    test_bool();
    test_scalar();
    test_refused();
    test_wait_in_task();
    test_threads();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){.cpu_devices = 1});
    test_engines(test_all, (hk_runtime_options){.cpu_devices = 3, .inline_ns = -1});
    test_engines(test_all, (hk_runtime_options){.run_ahead_calls = 4, .run_ahead_bytes = 100});
    return check_result();
}
