/* Arrays whose calls are launched ahead, on devices whose tasks end when the test says so: memory is nobody else's before
 * its last task has ended; where there is none, launched tasks are waited for; reading waits for the end. */
#include "tests/check.h"

#include "op/op.h"
#include "tests/late_device.h"

#include <hocket/hocket.h>
#include <pthread.h>

enum { ELEMENTS = 4096, BYTES = ELEMENTS * 4, MANY = 12 };

static hk_device device;

static void start(uint64_t memory_bytes)
{
    late_start(HK_ENGINE_ASYNC, 64, memory_bytes);
    device = hk_device_at(1);
}

static void stop(void)
{
    late_run();
    hk_wait_all();
    late_check();
    CHECK_EQ_I64(hk_device_get_memory(device).used_bytes, 0);
    hk_failures_clear();
    hk_runtime_deinit();
}

static void await_data(hk_array *x)
{
    for (int i = 0; i < 50000 && !atomic_load(&x->storage->data); i++)
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    CHECK(atomic_load(&x->storage->data));
}

static atomic_bool is_over;

static void *device_main(void *argument)
{
    (void)argument;
    while (!atomic_load(&is_over)) {
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        late_step(0, HKI_QUEUE_COMPUTE);
        late_step(0, HKI_QUEUE_COPY_OUT);
    }
    return NULL;
}

/* A program drops each result as soon as the next call has it; all are launched, none has ended. */
static void test_dropped(void)
{
    HK_SCOPE;
    void *used[MANY];
    hk_array *x = hk_take(hk_full(hk_shape(ELEMENTS), 1, HK_F32, device));
    for (int i = 0; i < MANY; i++) {
        hk_array *y = hk_take(hk_add(x, x));
        hk_array_release(x);
        x = y;
        await_data(x);
        used[i] = atomic_load(&x->storage->data);
        for (int j = 0; j < i; j++)
            CHECK(used[i] != used[j]);
    }
    late_await(0, HKI_QUEUE_COMPUTE, MANY + 1);
    CHECK_EQ_I64(hk_device_get_memory(device).used_bytes, (MANY + 1) * BYTES);
    while (atomic_load(&late_queues[0][HKI_QUEUE_COMPUTE].ended) < MANY)
        CHECK(late_step(0, HKI_QUEUE_COMPUTE));
    /* The last one reads one array and writes the other. */
    for (int i = 0; i < 500 && hk_device_get_memory(device).used_bytes > 2 * BYTES; i++)
        late_pause();
    CHECK_EQ_I64(hk_device_get_memory(device).used_bytes, 2 * BYTES);
    late_run();
    hk_array_release(x);
}

/* Room for four arrays, and many one after another. Reading what comes out waits until it is there. */
static void test_room(void)
{
    HK_SCOPE;
    hk_array *x = hk_take(hk_full(hk_shape(ELEMENTS), 1, HK_F32, device));
    for (int i = 0; i < MANY; i++) {
        hk_array *y = hk_take(hk_add(x, x));
        hk_array_release(x);
        x = y;
    }
    CHECK(hk_item(hk_max(x, NULL), NULL) == 1 << MANY);
    CHECK(hk_ok(hk_wait_all()));
    hk_array_release(x);
    /* More than there is, whatever ends. */
    hk_array *large = hk_full(hk_shape(1 << 20), 1, HK_F32, device);
    CHECK_EQ_I64(hk_status_code(hk_wait(large)), HK_OUT_OF_MEMORY);
}

int main(void)
{
    pthread_t thread;
    start(0);
    test_dropped();
    stop();
    start(64 << 10);
    pthread_create(&thread, NULL, device_main, NULL);
    test_room();
    hk_wait_all();
    atomic_store(&is_over, true);
    pthread_join(thread, NULL);
    stop();
    return check_result();
}
