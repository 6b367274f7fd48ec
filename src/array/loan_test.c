/* Elements that are lent to the program. */
#include "base/sync.h"
#include "tests/check.h"

#include "array/test_tasks.h"

#include <pthread.h>
#include <unistd.h>

static bool fails(const hk_status *status, hk_code code, const char *text)
{
    const bool right = hk_status_code(status) == code && strstr(hk_status_message(status), text);
    if (!right)
        hk_status_print(status, stderr);
    return right;
}

static void fill(hk_array *x, float value)
{
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = value});
}

static void test_reading(bool serial)
{
    HK_SCOPE;
    hk_loan loan, again;
    hk_array *x = test_range(hk_shape(6)), *part = hk_slice(x, 0, 2, 4);
    CHECK(hk_ok(hk_data_borrow(part, HK_BORROW_READ, &loan)));
    const float *values = loan.data;
    CHECK(values[0] == 2 && values[1] == 3 && loan.number);
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_READ, &again)) && again.number != loan.number);
    CHECK(hk_ok(hk_data_return(&again)));
    CHECK(test_holds(x, (const float[]){0, 1, 2, 3, 4, 5}, 6)); /* readers go on */
    hk_array *other = hk_slice(x, 0, 0, 2);
    fill(other, 9);
    CHECK(test_holds(other, (const float[]){9, 9}, 2)); /* and who writes elsewhere */
    if (!serial) {
        fill(part, 8);
        usleep(2000);
        CHECK(values[0] == 2 && !hk_is_ready(part));
        CHECK(fails(hk_wait(part), HK_WOULD_DEADLOCK, "this thread has borrowed"));
        CHECK_EQ_I64(hk_status_line(hk_wait(part)), __LINE__ - 14);
        CHECK(fails(hk_wait_all(), HK_WOULD_DEADLOCK, "hk_data_return"));
        CHECK(fails(hk_wait_device(hk_device_default()), HK_WOULD_DEADLOCK, "hk_data_return"));
        CHECK_EQ_I64(hk_status_code(hk_wait_for(part, 1000000)), HK_TIMEOUT);
    }
    CHECK(hk_ok(hk_data_return(&loan)));
    CHECK(test_holds(part, serial ? (const float[]){2, 3} : (const float[]){8, 8}, 2));
    CHECK(fails(hk_data_return(&loan), HK_INVALID_ARGUMENT, "is not out"));
    CHECK(fails(hk_data_return(NULL), HK_INVALID_ARGUMENT, "loan 0 is not out"));
    CHECK(hk_ok(hk_wait_all()));
}

static void test_writing(bool serial)
{
    HK_SCOPE;
    hk_loan loan;
    hk_array *x = test_empty(hk_shape(3)), *y = test_empty(hk_shape(3));
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_WRITE, &loan)));
    float *values = loan.data;
    CHECK(values[0] == 0 && values[2] == 0);
    if (!serial)
        test_issue((test_work){.kind = TEST_COPY, .out = y, .in = x, .value = 1});
    usleep(2000);
    for (int i = 0; i < 3; i++)
        values[i] = (float)i;
    if (!serial) {
        CHECK(fails(hk_wait(y), HK_WOULD_DEADLOCK, "borrowed"));
        hk_loan second;
        CHECK(fails(hk_data_borrow(x, HK_BORROW_READ, &second), HK_WOULD_DEADLOCK, "borrowed"));
        CHECK(!second.number && !second.data);
    }
    CHECK(hk_ok(hk_data_return(&loan)));
    if (serial)
        test_issue((test_work){.kind = TEST_COPY, .out = y, .in = x, .value = 1});
    CHECK(test_holds(y, (const float[]){1, 2, 3}, 3));
}

/* An unfinished writer comes first; the memory stays; other libraries keep their own order. */
static void test_external(bool serial)
{
    static atomic_bool gate;
    hk_loan loan;
    hk_array *x = test_empty(hk_shape(2));
    atomic_store(&gate, true);
    test_issue((test_work){.kind = TEST_FILL, .out = x, .value = 4, .gate = &gate});
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_EXTERNAL, &loan)));
    float *values = loan.data;
    CHECK(values[1] == 4);
    hk_array *view = hk_slice(x, 0, 0, 1);
    CHECK(hk_is_shared(x) && hk_is_shared(view));
    fill(x, 5);
    CHECK(hk_ok(hk_wait_all()));
    CHECK(values[1] == 5);
    hk_array_release(x);
    CHECK(values[1] == 5);
    CHECK(hk_ok(hk_data_return(&loan)));
    CHECK(!hk_is_shared(view));
    hk_array_release(view);
    (void)serial;
}

/* For reading it holds nothing back either, and takes what nobody may write into. */
static void test_external_read(bool serial)
{
    HK_SCOPE;
    hk_loan loan, another;
    hk_array *x = test_empty(hk_shape(2)), *wide = hk_broadcast_to(x, hk_shape(3, 2));
    fill(x, 4);
    CHECK(hk_ok(hk_data_borrow(wide, HK_BORROW_EXTERNAL_READ, &loan)));
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_EXTERNAL_READ, &another)));
    CHECK(hk_is_shared(x) && ((const float *)loan.data)[1] == 4 && loan.data == another.data);
    fill(x, 5);
    CHECK(hk_ok(hk_wait(x)) && ((const float *)loan.data)[1] == 5);
    CHECK(hk_ok(hk_data_return(&loan)) && hk_is_shared(x));
    CHECK(hk_ok(hk_data_return(&another)) && !hk_is_shared(x));
    CHECK(
        fails(hk_data_borrow(wide, HK_BORROW_EXTERNAL, &loan), HK_INVALID_ARGUMENT, "for writing"));
    CHECK(fails(hk_data_borrow(x, (hk_borrow_mode)4, &loan), HK_INVALID_ARGUMENT, "mode is 4"));
    (void)serial;
}

static void test_refusals(bool serial)
{
    HK_SCOPE;
    hk_loan loan;
    (void)serial;
    hk_array *x = test_range(hk_shape(2)), *wide = hk_broadcast_to(x, hk_shape(3, 2));
    hk_array *there =
        hk_from_host((const float[]){1}, hk_shape(1), HK_F32, hk_device_named("sim:0"));
    CHECK(fails(hk_data_borrow(NULL, HK_BORROW_READ, &loan), HK_INVALID_ARGUMENT, "x is NULL"));
    CHECK(fails(hk_data_borrow(x, HK_BORROW_READ, NULL), HK_INVALID_ARGUMENT, "loan is NULL"));
    CHECK(fails(hk_data_borrow(x, (hk_borrow_mode)5, &loan), HK_INVALID_ARGUMENT, "mode is 5"));
    CHECK(fails(hk_data_borrow(wide, HK_BORROW_WRITE, &loan), HK_INVALID_ARGUMENT, "for writing"));
    CHECK(hk_ok(hk_data_borrow(wide, HK_BORROW_READ, &loan)) && hk_ok(hk_data_return(&loan)));
    if (hk_ok(hk_device_status(hk_device_named("sim:0"))))
        CHECK(fails(hk_data_borrow(there, HK_BORROW_READ, &loan), HK_UNSUPPORTED, "hk_to_device"));
    CHECK(fails(hk_data_borrow(hk_slice(x, 4, 0, 0), HK_BORROW_READ, &loan), HK_OUT_OF_RANGE,
                "axis"));
    test_issue((test_work){.kind = TEST_FAIL_BEFORE, .out = x, .value = 1});
    CHECK(fails(hk_data_borrow(x, HK_BORROW_READ, &loan), HK_INJECTED, "before"));
    CHECK(!loan.data && !loan.number);
    CHECK(hk_ok(hk_data_borrow(test_empty(hk_shape(0)), HK_BORROW_WRITE, &loan)));
    CHECK(hk_ok(hk_data_return(&loan)));
    hk_failures_clear();
}

/* A loan that is never returned hangs nothing, nor does a full window. */
static void test_never_returned(bool serial)
{
    hk_loan loan;
    hk_array *x = test_range(hk_shape(2));
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_READ, &loan)));
    for (int i = 0; i < 6; i++)
        fill(x, (float)i);
    hk_runtime_deinit();
    CHECK(((const float *)loan.data)[1] == (serial ? 5 : 1));
    hk_array_release(x);
    CHECK(hk_ok(hk_data_return(&loan)));
}

/* ---- several threads ------------------------------------------------------------------------------------- */

enum { THREADS = 3, ROUNDS = 300 };
static hk_array *shared;
static atomic_int wrong;

/* All elements are alike, whoever writes. */
static void *lend_and_write(void *argument)
{
    for (int i = 0; i < ROUNDS; i++) {
        HK_SCOPE;
        hk_loan loan;
        fill(shared, (float)i);
        const bool writes = (i + (int)(intptr_t)argument) % 2;
        wrong += !hk_ok(hk_data_borrow(shared, writes ? HK_BORROW_WRITE : HK_BORROW_READ, &loan));
        float *values = loan.data;
        wrong += values[0] != values[63] || values[17] != values[63];
        for (int j = 0; writes && j < 64; j++)
            values[j] = (float)-i;
        if (i % 5 == 0)
            fill(shared, 1);
        wrong += !hk_ok(hk_data_return(&loan));
    }
    return NULL;
}

static void test_threads(bool serial)
{
    HK_SCOPE;
    pthread_t threads[THREADS];
    if (serial)
        return;
    shared = test_empty(hk_shape(64));
    for (int i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, lend_and_write, (void *)(intptr_t)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    CHECK_EQ_I64(atomic_load(&wrong), 0);
    CHECK(hk_ok(hk_wait_all()));
}

int main(void)
{
    const hk_sim_options sim = {.count = 1};
    hk_runtime_options options = {.cpu_devices = 2, .cpu_cores = 2, .sim = &sim, .sim_count = 1};
    for (int i = 0; i < 3; i++) {
        test_engines(test_reading, options);
        test_engines(test_writing, options);
        test_engines(test_external, options);
        test_engines(test_external_read, options);
        test_engines(test_refusals, options);
        test_engines(test_threads, options);
        options.inline_ns = i ? 0 : -1;
        options.sim_count = i == 0; /* then gates open once */
    }
    options.run_ahead_calls = 4;
    test_engines(test_never_returned, options);
    return check_result();
}
