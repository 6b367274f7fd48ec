/* Loaders: every epoch is the permutation that hki_shuffle says, whatever the devices, the engine
 * and how far ahead; nothing leaks however it ends. */
#include "tests/check.h"

#include "data/loader_fixture.h"

#include <pthread.h>

static void test_epochs(hk_engine engine)
{
    const int64_t sizes[] = {1, 8, 25, 60, 103, 1000};
    const int aheads[] = {-1, 0, 1, 5, 1000};
    start(3, engine, 0);
    hk_data_set *small = open_train();
    hk_data_set *wide = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1"),
                           hk_device_named("cpu:2"), hk_device_named("cpu:1")};
    for (int n = 1; n <= 4; n++)
        for (int i = 0; i < 6; i++) {
            hk_loader_options options = {.batch_size = sizes[i],
                                         .ahead = aheads[(i + n) % 5],
                                         .seed = UINT64_C(0x123456789abcdef) * (uint64_t)n,
                                         .shuffle = true,
                                         .devices = devices,
                                         .device_count = n};
            check_epochs(&small_set, small, &options);
            options.drop_last = sizes[i] <= TRAIN;
            options.shuffle = n == 2;
            check_epochs(&small_set, small, &options);
        }
    hk_loader_options options = {
        .batch_size = 256, .shuffle = true, .seed = 5, .devices = devices, .device_count = 2};
    check_epochs(&wide_set, wide, &options);
    options.batch_size = WIDE_COUNT;
    check_epochs(&wide_set, wide, &options);
    hk_data_set_release(small);
    hk_data_set_release(wide);
    stop();
}

static void rows_by_3_0_1(int64_t samples, int64_t *rows)
{
    /* Of 5 rows: 3.75, 0, 1.25; of 6: 4.5, 0, 1.5. */
    rows[0] = samples * 3 / 4 + (samples % 4 == 1 || samples % 4 == 2);
    rows[1] = 0;
    rows[2] = samples - rows[0];
}

static void rows_of_65(int64_t samples, int64_t *rows)
{
    rows_by_runs(samples, 4, rows);
}

/* Of 103 samples the last 38 are three runs, for four devices. */
static void test_whole_runs(void)
{
    start(2, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1"),
                           hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    hk_loader_options options = {
        .batch_size = 65, .devices = devices, .device_count = 4, .whole_runs = true};
    hk_loader *loader = hk_loader_create(set, &options);
    check_batches(&small_set, loader, &options, 0, INT64_MAX, rows_of_65);
    hk_loader_release(loader);
    options.batch_size = 48; /* too few for one each, in a full batch */
    loader = hk_loader_create(set, &options);
    check_batches(&small_set, loader, &options, 0, INT64_MAX, NULL);
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

static void rows_of_20(int64_t samples, int64_t *rows)
{
    rows[0] = samples == 20 ? 11 : 2; /* of the last 3 samples: 1.65, 1.2, 0.15 */
    rows[1] = samples == 20 ? 8 : 1;
    rows[2] = samples == 20 ? 1 : 0;
}

/* Three processes with two devices each: what they get, one after the other, is what six devices of one get. */
static void test_slices(void)
{
    enum { RANKS = 3, OWN = 2, ALL = RANKS * OWN };
    const int64_t shares[ALL] = {1, 2, 3, 1, 0, 4};
    start(2, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_device devices[ALL];
    for (int i = 0; i < ALL; i++)
        devices[i] = hk_device_at(i % 2);
    for (int given = 0; given < 2; given++) {
        hk_loader_options options = {.batch_size = 25,
                                     .shuffle = true,
                                     .seed = 3,
                                     .devices = devices,
                                     .device_count = ALL,
                                     .shares = given ? shares : NULL};
        hk_loader *whole = hk_loader_create(set, &options), *ranks[RANKS];
        options.device_count = OWN;
        options.slice_count = ALL;
        for (int r = 0; r < RANKS; r++) {
            options.first_slice = r * OWN;
            ranks[r] = hk_loader_create(set, &options);
            CHECK(hk_ok(hk_loader_status(ranks[r])));
            CHECK_EQ_I64(hk_loader_batch_count(ranks[r]), hk_loader_batch_count(whole));
        }
        for (;;) {
            HK_SCOPE;
            hk_array *images[ALL], *labels[ALL], *own[OWN], *own_labels[OWN];
            const bool is_more = hk_loader_next(whole, images, labels);
            for (int r = 0; r < RANKS; r++) {
                CHECK(hk_loader_next(ranks[r], own, own_labels) == is_more);
                for (int d = 0; d < OWN && is_more; d++) {
                    float a[25 * PIXELS], b[25 * PIXELS];
                    const size_t size = (size_t)hk_size(images[r * OWN + d]);
                    CHECK_EQ_I64(hk_size(own[d]), size);
                    CHECK_EQ_I64(hk_loader_batch_samples(ranks[r]), hk_loader_batch_samples(whole));
                    CHECK(hk_ok(hk_to_host(own[d], a, size * sizeof *a)));
                    CHECK(hk_ok(hk_to_host(images[r * OWN + d], b, size * sizeof *b)));
                    CHECK(memcmp(a, b, size * sizeof *a) == 0);
                }
            }
            if (!is_more)
                break;
        }
        hk_loader_release(whole);
        for (int r = 0; r < RANKS; r++)
            hk_loader_release(ranks[r]);
    }
    hk_data_set_release(set);
    stop();
}

static void test_shares(void)
{
    start(3, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1"),
                           hk_device_named("cpu:2")};
    hk_loader_options options = {
        .batch_size = 20, .shuffle = true, .seed = 3, .devices = devices, .device_count = 3};
    options.shares = (const int64_t[]){11, 8, 1};
    hk_loader *loader = hk_loader_create(set, &options);
    CHECK(hk_ok(hk_loader_status(loader)));
    check_batches(&small_set, loader, &options, 0, INT64_MAX, rows_of_20);
    hk_loader_release(loader);

    options.shares = (const int64_t[]){3, 0, 1};
    for (options.batch_size = 1; options.batch_size < 12; options.batch_size++) {
        loader = hk_loader_create(set, &options);
        check_batches(&small_set, loader, &options, 0, INT64_MAX, rows_by_3_0_1);
        hk_loader_release(loader);
    }

    const int64_t most = (int64_t)1 << 30;
    options.shares = (const int64_t[]){most, most, most}; /* as three are without shares */
    for (options.batch_size = 1; options.batch_size < 12; options.batch_size++) {
        loader = hk_loader_create(set, &options);
        check_batches(&small_set, loader, &options, 0, INT64_MAX, NULL);
        hk_loader_release(loader);
    }
    hk_data_set_release(set);
    stop();
}

/* The labels of the next batches, over all devices, one after another; -1 for the end of an epoch. */
static int64_t collect(hk_loader *loader, int64_t *to, int64_t most)
{
    int64_t count = 0;
    while (count < most) {
        HK_SCOPE;
        hk_array *labels[MAX_DEVICES];
        if (!hk_loader_next(loader, NULL, labels)) {
            to[count++] = -1;
            continue;
        }
        for (int i = 0; i < hk_loader_device_count(loader) && count < most; i++) {
            const int64_t rows = hk_dim(labels[i], 0);
            int64_t classes[TRAIN];
            CHECK(hk_ok(hk_to_host(labels[i], classes, (size_t)rows * sizeof *classes)));
            for (int64_t row = 0; row < rows && count < most; row++)
                to[count++] = classes[row];
        }
    }
    return count;
}

/* From wherever it is, a loader goes on as another one, of another seed and on other devices, that is told where. */
static void test_positions(bool is_shuffled, bool drops_last)
{
    enum { BATCH = 20, MANY = 3 * TRAIN };
    start(3, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:2"), hk_device_named("cpu:0")};
    hk_loader_options options = {
        .batch_size = BATCH, .shuffle = is_shuffled, .drop_last = drops_last, .seed = 11};
    hk_loader *loader = hk_loader_create(set, &options);
    options.seed = 12;
    options.ahead = 5;
    options.devices = devices;
    options.device_count = 2;
    hk_loader *other = hk_loader_create(set, &options);
    const int64_t batches = hk_loader_batch_count(loader);
    for (int64_t step = 0; step <= 2 * (batches + 1); step++) {
        static int64_t expected[MANY], found[MANY];
        const hk_loader_position at = hk_loader_get_position(loader);
        CHECK_EQ_I64(at.epoch, step / (batches + 1));
        CHECK_EQ_I64(at.batch, step % (batches + 1));
        CHECK(at.seed == 11);
        CHECK(hk_ok(hk_loader_seek(other, at)));
        collect(other, found, MANY);
        CHECK(hk_ok(hk_loader_seek(other, at)));
        const hk_loader_position there = hk_loader_get_position(other);
        CHECK(there.epoch == at.epoch && there.batch == at.batch && there.seed == at.seed);
        collect(loader, expected, MANY);
        CHECK(!memcmp(expected, found, sizeof found));
        CHECK(hk_ok(hk_loader_seek(loader, at)));
        HK_SCOPE;
        hk_loader_next(loader, NULL, NULL);
    }
    hk_loader_release(loader);
    hk_loader_release(other);
    hk_data_set_release(set);
    stop();
}

static void test_position_refusals(void)
{
    start(1, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 20});
    hk_loader *failed = hk_loader_create(set, NULL);
    hk_loader_position at = hk_loader_get_position(loader);
    at.batch = 7;
    CHECK(contains(hk_loader_seek(loader, at), HK_INVALID_ARGUMENT, "batch is 7; an epoch has 6"));
    CHECK(hk_status_line(hk_loader_seek(loader, at)) == __LINE__);
    at = hk_loader_get_position(loader);
    CHECK(at.batch == 0);
    at.batch_size = 10;
    CHECK(contains(hk_loader_seek(loader, at), HK_INVALID_ARGUMENT,
                   "of a loader of 103 samples in batches of 10, not shuffled; this one has 103 "
                   "samples in batches of 20"));
    CHECK(hk_loader_get_position(failed).sample_count == 0);
    CHECK(contains(hk_loader_seek(failed, at), HK_INVALID_ARGUMENT, "batch_size is 0"));
    CHECK(contains(hk_loader_seek(NULL, at), HK_INVALID_ARGUMENT, "loader is NULL"));
    hk_loader_release(loader);
    hk_loader_release(failed);
    hk_data_set_release(set);
    stop();
}

/* Fields are rows of arrays; one that the samples do not have is failed, whatever is wanted. */
static void test_fields(void)
{
    start(2, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    hk_loader_options options = {.batch_size = 10, .devices = devices, .device_count = 2};
    hk_loader *loader = hk_loader_create(set, &options);
    int64_t order[TRAIN];
    order_of(&small_set, &options, 0, order);
    CHECK(hk_data_set_field_count(set) == 2 && hk_data_set_field_shape(set, 0).ndim == 3);
    CHECK(hk_data_set_field_dtype(set, 1) == HK_I64 && hk_data_set_field_shape(set, 2).ndim == 0);
    for (int count = 0; count <= 10; count += 5) {
        HK_SCOPE;
        hk_array *arrays[20];
        CHECK(hk_loader_next_fields(loader, arrays, count));
        for (int i = 0; i < 2 && count; i++)
            check_slice(&small_set, arrays[i], arrays[2 + i], order + 10 * (count / 5) + 5 * i, 5);
        for (int i = 4; i < 2 * count; i++)
            CHECK(contains(hk_wait(arrays[i]), HK_INVALID_ARGUMENT, "of the data set have 2"));
        hk_failures_clear();
    }
    CHECK(hk_loader_next_fields(loader, NULL, 2));
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

/* The default device; arrays not wanted; arrays that outlive the scope, the loader and the set. */
static void test_life(void)
{
    static int64_t order[TRAIN];
    start(1, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = open_train();
    hk_loader_options options = {.batch_size = 10, .shuffle = true, .seed = 9};
    order_of(&small_set, &options, 0, order);
    hk_loader *loader = hk_loader_create(set, &options);
    hk_data_set_release(set);
    hk_array *images = NULL, *labels = NULL, *kept;
    CHECK(!hk_loader_order(loader) && !hk_loader_order(NULL)); /* no epoch has begun */
    {
        HK_SCOPE;
        CHECK(hk_loader_next(loader, &images, NULL));
        CHECK(hk_loader_next(loader, NULL, &labels));
        CHECK_EQ_I64(hk_dim(images, 0) + hk_dim(labels, 0), 20);
        CHECK(hk_loader_next(loader, NULL, NULL));
        CHECK(hk_loader_next(loader, &images, &labels));
        CHECK(!memcmp(hk_loader_order(loader), order, sizeof order));
        kept = hk_take(images);
        hk_array_retain(labels);
    }
    hk_loader_retain(loader);
    hk_loader_release(loader);
    hk_loader_release(loader);
    hk_loader_release(NULL);
    check_slice(&small_set, kept, labels, order + 30, 10);
    hk_array_release(kept);
    hk_array_release(labels);

    /* Without a scope, results belong to the caller. */
    set = open_train();
    loader = hk_loader_create(set, &options);
    CHECK(hk_loader_next(loader, &images, &labels));
    check_slice(&small_set, images, labels, order, 10);
    hk_array_release(images);
    hk_array_release(labels);
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

/* Released while many tasks are in flight, over and over. */
static void test_release_in_flight(void)
{
    start(2, HK_ENGINE_ASYNC, 0);
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    for (int round = 0; round < 50; round++) {
        hk_data_set *set = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
        hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 100,
                                                                       .ahead = 7,
                                                                       .shuffle = true,
                                                                       .seed = (uint64_t)round,
                                                                       .devices = devices,
                                                                       .device_count = 2});
        hk_data_set_release(set);
        hk_loader_start_epoch(loader, 0);
        if (round % 3 == 1)
            hk_loader_start_epoch(loader, 1);
        if (round % 3 == 2) {
            HK_SCOPE;
            hk_array *images[2], *labels[2];
            CHECK(hk_loader_next(loader, images, labels));
        }
        hk_loader_release(loader);
    }
    stop();
}

/* No more batches are held than `ahead`, and the one in hand. */
static void test_memory(void)
{
    enum { BATCH = 50, AHEAD = 3 };
    start(1, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
    hk_loader *loader =
        hk_loader_create(set, &(hk_loader_options){.batch_size = BATCH, .ahead = AHEAD});
    uint64_t batch_bytes = BATCH * (WIDE_PIXELS * sizeof(float) + sizeof(int64_t)), peak = 0;
    for (int64_t batches = 0;; batches++) {
        HK_SCOPE;
        hk_array *images, *labels;
        if (!hk_loader_next(loader, &images, &labels)) {
            CHECK_EQ_I64(batches, WIDE_COUNT / BATCH);
            break;
        }
        CHECK(hk_ok(hk_wait_all()));
        uint64_t used = hk_device_get_memory(hk_device_default()).used_bytes;
        peak = used > peak ? used : peak;
    }
    CHECK(peak >= (AHEAD + 1) * batch_bytes && peak <= (AHEAD + 1) * batch_bytes * 5 / 4);
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

static void *load_in_thread(void *argument)
{
    hk_device devices[] = {hk_device_named("cpu:1"), hk_device_named("cpu:0")};
    int64_t sum = 0;
    hk_loader *loader = hk_loader_create(
        argument, &(hk_loader_options){
                      .batch_size = 30, .shuffle = true, .devices = devices, .device_count = 2});
    for (;;) {
        HK_SCOPE;
        hk_array *images[2], *labels[2];
        int64_t classes[30];
        if (!hk_loader_next(loader, images, labels))
            break;
        for (int i = 0; i < 2; i++) {
            int64_t rows = hk_dim(labels[i], 0);
            if (!hk_ok(hk_to_host(labels[i], classes, (size_t)rows * sizeof *classes)))
                sum = INT64_MIN / 2;
            while (rows > 0)
                sum += classes[--rows];
        }
    }
    hk_loader_release(loader);
    return sum == 0 ? NULL : (void *)(intptr_t)sum;
}

static void test_threads(void)
{
    enum { THREADS = 3 };
    pthread_t threads[THREADS];
    int64_t expected = 0;
    start(2, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
    for (int64_t i = 0; i < WIDE_COUNT; i++)
        expected += label_of(i, 3);
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, load_in_thread, set));
    for (int i = 0; i < THREADS; i++) {
        void *sum = NULL;
        pthread_join(threads[i], &sum);
        CHECK_EQ_I64((intptr_t)sum, expected);
    }
    hk_data_set_release(set);
    stop();
}

/* Accelerators get what CPU devices get, ahead of being asked, by way of pinned memory. */
static void test_accelerators(hk_engine engine)
{
    const hk_sim_options sim = {.count = 2, .launch_ns = 1, .link_latency_ns = 1};
    CHECK(hk_ok(hk_runtime_init(
        &(hk_runtime_options){.cpu_devices = 2, .sim = &sim, .sim_count = 1, .engine = engine})));
    hk_data_set *small = open_train();
    hk_data_set *wide = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
    hk_device devices[] = {hk_device_named("sim:0"), hk_device_named("sim:1"),
                           hk_device_named("cpu:1")};
    for (int n = 1; n <= 3; n++) {
        hk_loader_options options = {
            .batch_size = 25, .ahead = 3, .shuffle = true, .devices = devices, .device_count = n};
        check_epochs(&small_set, small, &options);
        options.batch_size = 256;
        check_epochs(&wide_set, wide, &options);
        options.shares = (const int64_t[]){1, 0, 0}; /* slices without samples */
        hk_loader *loader = hk_loader_create(wide, &options);
        HK_SCOPE;
        hk_array *images[3], *labels[3];
        CHECK(hk_loader_next(loader, images, labels));
        for (int i = 0; i < n; i++) {
            CHECK_EQ_I64(hk_dim(images[i], 0), i == 0 ? 256 : 0);
            CHECK(hk_ok(hk_wait(images[i])));
        }
        hk_loader_release(loader);
    }
    CHECK(hk_ok(hk_wait_all()));
    uint64_t before = hk_device_get_stats(devices[0], HK_QUEUE_COPY_IN).bytes;
    hk_loader *loader = hk_loader_create(
        wide, &(hk_loader_options){.batch_size = 10, .devices = devices, .device_count = 1});
    hk_loader_start_epoch(loader, 0); /* two batches ahead */
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(hk_device_get_stats(devices[0], HK_QUEUE_COPY_IN).bytes - before,
                 2 * 10 * (WIDE_PIXELS * sizeof(float) + sizeof(int64_t)));
    hk_loader_release(loader);
    hk_data_set_release(small);
    hk_data_set_release(wide);
    stop();
}

/* ---- the real one ---------------------------------------------------------------------------- */

static void test_fashion_mnist(void)
{
    if (!hk_ok(hk_data_set_find(NULL, NULL))) {
        fprintf(stderr, "loader_test: all but Fashion-MNIST itself was tested: %s\n",
                hk_status_message(hk_data_set_find(NULL, NULL)));
        return;
    }
    start(2, HK_ENGINE_ASYNC, 0);
    hk_data_set *set = hk_data_set_open(NULL, HK_DATA_TRAIN, NULL);
    CHECK_EQ_I64(hk_data_set_size(set), 60000);
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    hk_loader *loader = hk_loader_create(
        set, &(hk_loader_options){
                 .batch_size = 256, .shuffle = true, .devices = devices, .device_count = 2});
    int64_t batches = 0, of_class[10] = {0};
    double sum = 0;
    for (;; batches++) {
        static float values[128 * 784];
        static int64_t classes[128];
        HK_SCOPE;
        hk_array *images[2], *labels[2];
        if (!hk_loader_next(loader, images, labels))
            break;
        for (int i = 0; i < 2; i++) {
            int64_t rows = hk_dim(labels[i], 0), size = hk_size(images[i]);
            CHECK_EQ_I64(rows, batches < 234 ? 128 : 48);
            CHECK(hk_ok(hk_to_host(images[i], values, (size_t)size * sizeof *values)));
            CHECK(hk_ok(hk_to_host(labels[i], classes, (size_t)rows * sizeof *classes)));
            for (int64_t j = 0; j < rows; j++)
                of_class[classes[j]]++;
            for (int64_t j = 0; j < size; j++)
                sum += (double)values[j];
        }
    }
    CHECK_EQ_I64(batches, 235);
    for (int i = 0; i < 10; i++)
        CHECK_EQ_I64(of_class[i], 6000);
    CHECK(sum / (60000 * 784.0) > 0.28603 && sum / (60000 * 784.0) < 0.28605); /* the known mean */
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

int main(void)
{
    unsetenv("HOCKET_DATA_DIR");
    files_write();
    test_epochs(HK_ENGINE_ASYNC);
    test_epochs(HK_ENGINE_SERIAL);
    test_shares();
    test_whole_runs();
    test_slices();
    for (int i = 0; i < 4; i++)
        test_positions(i % 2, i / 2);
    test_position_refusals();
    test_fields();
    test_life();
    test_release_in_flight();
    test_memory();
    test_threads();
    test_accelerators(HK_ENGINE_ASYNC);
    test_accelerators(HK_ENGINE_SERIAL);
    test_fashion_mnist();
    files_remove();
    return check_result();
}
