/* Memory of arrays: when it is there, whom it counts for, when it goes. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <pthread.h>

enum { MIB = 1 << 20 };

static hk_device_memory memory(void)
{
    return hk_device_get_memory(hk_device_default());
}

static void test_life(void)
{
    hki_device *device = hk_device_default().handle;
    uint64_t before = memory().used_bytes;
    hki_storage *storage = hki_storage_create(device, 1000);
    CHECK(!atomic_load(&storage->data));
    CHECK(hki_storage_materialise(storage));
    void *data = atomic_load(&storage->data);
    CHECK(data && (uintptr_t)data % 64 == 0);
    CHECK(hki_storage_materialise(storage) && atomic_load(&storage->data) == data);
    CHECK(memory().used_bytes >= before + 1000);
    hki_storage_retain_handle(storage);
    hki_storage_release_handle(storage);
    hki_storage_retain_use(storage);
    hki_storage_release_use(storage);
    CHECK(memory().used_bytes >= before + 1000);
    hki_storage_retain_use(storage);
    hki_storage_release_handle(storage); /* a task still holds it */
    CHECK(memory().used_bytes >= before + 1000);
    hki_storage_release_use(storage);
    CHECK(memory().used_bytes == before);

    storage = hki_storage_create(device, 0);
    CHECK(atomic_load(&storage->data) && hki_storage_materialise(storage));
    hki_storage_release_handle(storage);
    CHECK(memory().used_bytes == before);
}

/* Small arrays have their memory beside their handles: it counts, is aligned, and stays as long as a view. */
static void test_small(void)
{
    enum { COUNT = 200 }; /* more than a thread keeps */
    static hk_array *x[COUNT], *view[COUNT];
    uint64_t before = memory().used_bytes;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < COUNT; i++) {
            float values[COUNT] = {0};
            int64_t size = i % 33 + 1; /* 4 to 132 bytes */
            for (int64_t j = 0; j < size; j++)
                values[j] = (float)(i + j);
            x[i] = hk_from_host(values, hk_shape(size), HK_F32, hk_device_default());
            CHECK((uintptr_t)atomic_load(&x[i]->storage->data) % 64 == 0);
            CHECK(memory().used_bytes >= before + (uint64_t)(i + 1) * 4);
            view[i] = hk_slice(x[i], 0, -1, size);
        }
        for (int i = 0; i < COUNT; i++)
            hk_array_release(x[i]);
        CHECK(memory().used_bytes >= before + COUNT * 4);
        for (int i = 0; i < COUNT; i++) {
            CHECK(hk_item(view[i], NULL) == i + i % 33);
            hk_array_release(view[i]);
        }
        CHECK_EQ_I64(memory().used_bytes, before);
    }
    hki_storage *small = hki_storage_create(hk_device_default().handle, 64);
    CHECK(!atomic_load(&small->data) && hki_storage_materialise(small) && small->is_small);
    hki_storage_release_handle(small);
    small = hki_storage_create(hk_device_default().handle, 65);
    CHECK(!small->is_small);
    hki_storage_release_handle(small);
}

/* Releases x and exits within a scope, whose arrays go then. Returns NULL when they held what they should. */
static void *release_last(void *x)
{
    hk_scope_begin();
    hk_array *own = test_range(hk_shape(2));
    bool right = hk_item(hk_index(own, 0, 1), NULL) == 1;
    hk_array_release(x);
    return right ? NULL : own;
}

/* Made here, released there, and after the runtime has ended. */
static void test_small_elsewhere(void)
{
    enum { THREADS = 8 };
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(NULL)));
    pthread_t thread[THREADS];
    hk_array *late = hk_take(test_range(hk_shape(2))), *later = hk_take(test_range(hk_shape(40)));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&thread[i], NULL, release_last, hk_take(test_range(hk_shape(2)))));
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        CHECK(!pthread_join(thread[i], &wrong) && !wrong);
    }
    CHECK_EQ_I64(memory().used_bytes, 64 + 160);
    hk_runtime_deinit();
    hk_array_release(late);
    hk_array_release(later);
    CHECK_EQ_I64(memory().used_bytes, 0); /* of a new one */
}

/* The window counts the bytes that only tasks hold: from the moment the last handle goes. */
static void test_window(bool serial)
{
    atomic_bool gate = false;
    uint64_t before = hk_runtime_get_stats().peak_run_ahead_bytes;
    CHECK_EQ_I64(before, 0);
    if (serial)
        return;
    hk_array *kept = test_empty(hk_shape(8 * MIB)), *dropped = test_empty(hk_shape(MIB));
    test_issue((test_work){.kind = TEST_FILL, .out = kept, .gate = &gate});
    test_issue((test_work){.kind = TEST_FILL, .out = dropped, .gate = &gate});
    hk_array *view = hk_slice(dropped, 0, 0, 1);
    hk_array_release(dropped);
    CHECK_EQ_I64(hk_runtime_get_stats().peak_run_ahead_bytes, 0); /* the view holds them */
    hk_array_release(view);
    CHECK_EQ_I64(hk_runtime_get_stats().peak_run_ahead_bytes, 4 * MIB);
    atomic_store(&gate, true);
    hk_wait_all();
    hk_array_release(kept);
    CHECK_EQ_I64(hk_runtime_get_stats().peak_run_ahead_bytes, 4 * MIB);
    CHECK_EQ_I64(memory().used_bytes, 0);
}

static void *materialise(void *storage)
{
    hki_storage_materialise(storage);
    return atomic_load(&((hki_storage *)storage)->data);
}

static void test_race(void)
{
    for (int round = 0; round < 50; round++) {
        pthread_t threads[4];
        hki_storage *storage = hki_storage_create(hk_device_default().handle, 4096);
        for (int i = 0; i < 4; i++)
            CHECK(!pthread_create(&threads[i], NULL, materialise, storage));
        for (int i = 0; i < 4; i++) {
            void *data;
            pthread_join(threads[i], &data);
            CHECK(data && data == atomic_load(&storage->data));
        }
        hki_storage_release_handle(storage);
        CHECK_EQ_I64(memory().used_bytes, 0);
    }
}

static void test_out_of_memory(void)
{
    HK_SCOPE;
    hki_storage *storage = hki_storage_create(hk_device_default().handle, 256 * MIB);
    CHECK(!hki_storage_materialise(storage));
    hki_storage_release_handle(storage);
    static char data[1];
    hk_array *x = hk_from_host(data, hk_shape((int64_t)1 << 40), HK_U8, hk_device_default());
    CHECK(test_failed(x, HK_OUT_OF_MEMORY, "cpu:0 has no 1099511627776 bytes left"));
    CHECK(test_failed(x, HK_OUT_OF_MEMORY, "for uint8(1099511627776,)"));
    /* An array whose memory comes with its first task. */
    hk_array *y = test_empty(hk_shape(64 * MIB));
    hk_array *part = hk_slice(y, 0, 0, 1);
    hk_write(part, &(float){1}, sizeof(float));
    CHECK(test_failed(part, HK_OUT_OF_MEMORY, "cpu:0 has no 268435456 bytes left"));
    CHECK(hk_ok(hk_wait(hk_slice(y, 0, 1, 2))));
    CHECK(test_failed(y, HK_OUT_OF_MEMORY, "cpu:0"));
}

static void test_all(bool serial)
{
    test_window(serial);
    test_life();
    test_race();
    test_out_of_memory();
    test_small();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){.memory_bytes = 128 * MIB});
    test_small_elsewhere();
    return check_result();
}
