/* Arrays over memory of the program's. */
#include "base/sanitizer.h"
#include "base/sync.h"
#include "tests/check.h"

#include "array/test_tasks.h"

#include <sys/wait.h>
#include <unistd.h>

static atomic_int freed;

static void note_free(void *context)
{
    atomic_fetch_add(&freed, context == &freed ? 1 : 1000);
}

static const hk_memory_options noted = {.free = note_free, .context = &freed};

static bool freed_soon(int count)
{
    for (int i = 0; i < 20000 && atomic_load(&freed) < count; i++)
        usleep(100);
    return atomic_load(&freed) == count;
}

static hk_array *floats(float *data, int64_t count, const hk_memory_options *options)
{
    return hk_from_memory(data, hk_shape(count), HK_F32, hk_device_default(), options);
}

static void test_sharing(bool serial)
{
    (void)serial;
    float data[100];
    atomic_store(&freed, 0);
    for (int i = 0; i < 100; i++)
        data[i] = (float)i;
    {
        HK_SCOPE;
        hk_array *x = floats(data, 3, &noted);
        CHECK(test_holds(x, (const float[]){0, 1, 2}, 3));
        hk_write(x, (const float[]){7, 8, 9}, 3 * sizeof(float));
        CHECK(hk_ok(hk_wait(x)) && data[1] == 8);
        hk_array *y = floats(data, 100, NULL); /* large: not in a handle */
        test_issue((test_work){.kind = TEST_FILL, .out = y, .value = 5});
        CHECK(hk_ok(hk_wait(y)) && data[99] == 5);
        const hk_memory_options columns = {.strides = (const int64_t[]){1, 10}};
        hk_array *z = hk_from_memory(data, hk_shape(2, 3), HK_F32, hk_device_default(), &columns);
        data[20] = 2, data[21] = 3;
        CHECK(test_holds(z, (const float[]){5, 5, 2, 5, 5, 3}, 6));
        CHECK(!z->read_only && !z->is_contiguous);
        CHECK_EQ_I64(hk_device_get_memory(hk_device_default()).used_bytes, 0);
        CHECK(atomic_load(&freed) == 0);
    }
    CHECK(freed_soon(1));
}

/* The last user is a task. */
static void test_free_by_task(bool serial)
{
    static atomic_bool gate;
    float data[4] = {0};
    atomic_store(&freed, 0);
    atomic_store(&gate, serial);
    {
        HK_SCOPE;
        test_issue((test_work){
            .kind = TEST_FILL, .out = floats(data, 4, &noted), .value = 2, .gate = &gate});
    }
    usleep(2000);
    CHECK(serial || atomic_load(&freed) == 0);
    atomic_store(&gate, true);
    CHECK(freed_soon(1));
    CHECK(data[3] == 2);
}

static void test_reading_only(bool serial)
{
    (void)serial;
    HK_SCOPE;
    float data[4] = {1, 2, 3, 4};
    hk_array *x = floats(data, 4, &(hk_memory_options){.is_read_only = true});
    CHECK(hk_is_read_only(x) && hk_is_read_only(hk_slice(x, 0, 0, 1)) && !hk_is_read_only(NULL));
    CHECK(hk_is_shared(x) && hk_is_shared(hk_slice(x, 0, 0, 1)) && !hk_is_shared(NULL));
    CHECK(!hk_is_shared(test_empty(hk_shape(2))));
    hk_write(x, data, sizeof data);
    CHECK(test_failed(x, HK_INVALID_ARGUMENT, "memory for reading"));
    const hk_memory_options overlapping = {.strides = (const int64_t[]){1, 1}};
    CHECK(
        hk_from_memory(data, hk_shape(2, 2), HK_F32, hk_device_default(), &overlapping)->read_only);
    hk_failures_clear();
}

static void test_refusals(bool serial)
{
    (void)serial;
    HK_SCOPE;
    char data[16];
    const hk_device cpu = hk_device_default();
    hk_memory_options options = noted;
    atomic_store(&freed, 0);
    CHECK(test_failed(hk_from_memory(data + 1, hk_shape(2), HK_I32, cpu, &options),
                      HK_INVALID_ARGUMENT, "must be a multiple of 4"));
    CHECK(test_failed(hk_from_memory(NULL, hk_shape(2), HK_I32, cpu, &options), HK_INVALID_ARGUMENT,
                      "data is NULL, but 2 elements"));
    CHECK(test_failed(hk_from_memory(data, hk_shape(2), HK_I32, hk_device_named("sim:0"), &options),
                      HK_UNSUPPORTED, "memory of its own"));
    CHECK(test_failed(hk_from_memory(data, hk_shape(2), HK_I32, hk_device_named("cpu:9"), &options),
                      HK_NOT_FOUND, "cpu:9"));
    options.strides = (const int64_t[]){-1};
    CHECK(test_failed(hk_from_memory(data, hk_shape(2), HK_I32, cpu, &options), HK_INVALID_ARGUMENT,
                      "strides[0] is -1"));
    options.strides = (const int64_t[]){INT64_MAX / 2};
    CHECK(test_failed(hk_from_memory(data, hk_shape(2), HK_I32, cpu, &options), HK_INVALID_ARGUMENT,
                      "2^62"));
    CHECK_EQ_I64(hk_size(hk_from_memory(NULL, hk_shape(0), HK_I32, cpu, &noted)), 0);
    CHECK_EQ_I64(atomic_load(&freed), 7); /* at once */
    hk_failures_clear();
}

/* A child may release what it has, but the memory is the parent's affair. It has a thread of its own. */
static void test_fork(bool serial)
{
    float data[4] = {0};
    (void)serial;
    atomic_store(&freed, 0);
    hk_array *x = hk_take(floats(data, 4, &noted));
    const pid_t child = fork();
    if (!child) {
        hk_array_release(x);
        bool right = atomic_load(&freed) == 0;
        if (!HKI_THREAD_SANITIZER) { /* it wants no threads here */
            HK_SCOPE;
            hk_runtime_deinit();
            test_issue((test_work){.kind = TEST_FILL, .out = floats(data, 4, &noted)});
        }
        right = right && (HKI_THREAD_SANITIZER || freed_soon(1));
        _exit(right ? 0 : 1);
    }
    int status = 1;
    waitpid(child, &status, 0);
    CHECK_EQ_I64(status, 0);
    hk_array_release(x);
    CHECK_EQ_I64(atomic_load(&freed), 1);
}

int main(void)
{
    const hk_sim_options sim = {.count = 1};
    const hk_runtime_options options = {
        .cpu_devices = 2, .cpu_cores = 2, .inline_ns = -1, .sim = &sim, .sim_count = 1};
    test_engines(test_sharing, options);
    test_engines(test_free_by_task, options);
    test_engines(test_reading_only, options);
    test_engines(test_refusals, options);
    test_engines(test_fork, options);
    return check_result();
}
