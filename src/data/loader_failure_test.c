/* Loaders that cannot: wrong options, failed data sets and devices, no memory, a runtime that ends,
 * a fork. */
#include "tests/check.h"

#include "data/loader_fixture.h"
#include "tests/await_workers.h"

#include <sys/wait.h>

/* A failed loader gives one batch of failed arrays each epoch. */
static void check_failed(hk_data_set *set, const hk_loader_options *options, int count,
                         hk_code code, const char *text)
{
    hk_loader *loader = hk_loader_create(set, options);
    const hk_status *status = hk_loader_status(loader);
    CHECK(contains(status, code, text));
    CHECK(strstr(hk_status_file(status), "_test.c"));
    CHECK_EQ_I64(hk_loader_device_count(loader), count);
    CHECK_EQ_I64(hk_loader_batch_count(loader), 1);
    for (int epoch = 0; epoch < 2; epoch++) {
        HK_SCOPE;
        hk_array *images[MAX_DEVICES] = {NULL}, *labels[MAX_DEVICES] = {NULL};
        if (epoch)
            hk_loader_start_epoch(loader, epoch);
        CHECK_EQ_I64(hk_loader_next(loader, images, labels), count > 0);
        for (int i = 0; i < count; i++) {
            status = hk_wait(images[i]);
            CHECK_EQ_I64(hk_status_code(status), code);
            CHECK_STR(hk_status_operation(status), "loader_next");
            CHECK(contains(hk_wait(labels[i]), code, ""));
        }
        CHECK(count == MAX_DEVICES || !images[count]);
        CHECK_EQ_I64(hk_loader_batch_samples(loader), 0);
        CHECK(!hk_loader_next(loader, images, labels));
        CHECK_EQ_I64(hk_status_code(hk_wait_all()), code);
        hk_failures_clear();
    }
    CHECK_EQ_I64(hk_loader_next(loader, NULL, NULL), count > 0); /* still noted */
    CHECK_EQ_I64(hk_status_code(hk_wait_all()), code);
    hk_failures_clear();
    hk_loader_release(loader);
}

static void test_bad_options(hk_engine engine)
{
    start(2, engine, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:7")};
    const hk_code bad = HK_INVALID_ARGUMENT;
    check_failed(set, NULL, 1, bad, "option batch_size is 0; expected 1 or more");
    check_failed(set, &(hk_loader_options){.batch_size = -3}, 1, bad, "option batch_size is -3");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .ahead = -2}, 1, bad,
                 "option ahead is -2");
    check_failed(set, &(hk_loader_options){.batch_size = 104, .drop_last = true}, 1, bad,
                 "104, but the data set has 103 samples");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .device_count = -1}, 0, bad,
                 "option device_count is -1");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .device_count = 2}, 2, bad,
                 "devices is NULL, but device_count is 2");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .devices = devices}, 0, bad,
                 "device_count is 0");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .slice_count = -1}, 1, bad,
                 "option slice_count is -1");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .slice_count = 3, .first_slice = 3}, 1,
                 bad, "option first_slice is 3");
    check_failed(set, &(hk_loader_options){.batch_size = 1, .shares = (int64_t[]){1}}, 1, bad,
                 "option shares is given");
    hk_loader_options options = {.batch_size = 4, .devices = devices, .device_count = 2};
    check_failed(set, &options, 2, HK_NOT_FOUND, "devices[1], cpu:7, has failed");
    devices[1] = devices[0];
    options.shares = (int64_t[]){4, -1};
    check_failed(set, &options, 2, bad, "option shares[1] is -1");
    options.shares = (int64_t[]){((int64_t)1 << 30) + 1, 1};
    check_failed(set, &options, 2, bad, "option shares[0] is 1073741825");
    options.shares = (int64_t[]){0, 0};
    check_failed(set, &options, 2, bad, "one must be above 0");
    options.shares = NULL;
    check_failed(NULL, &options, 2, bad, "argument set is NULL");
    hk_data_set_release(set);

    set = hk_data_set_open("/nowhere", HK_DATA_TRAIN, NULL);
    check_failed(set, &options, 2, HK_NOT_FOUND, "/nowhere");
    check_failed(set, NULL, 1, HK_NOT_FOUND, "/nowhere"); /* what failed first */
    hk_data_set_release(set);

    CHECK(!hk_loader_next(NULL, NULL, NULL));
    CHECK(contains(hk_wait_all(), bad, "argument loader is NULL"));
    hk_failures_clear();
    CHECK(contains(hk_loader_status(NULL), bad, "argument loader is NULL"));
    hk_loader_start_epoch(NULL, 1);
    CHECK(!hk_loader_batch_count(NULL) && !hk_loader_device_count(NULL));
    CHECK(!hk_loader_batch_samples(NULL) && !hk_loader_retain(NULL));
    stop();
}

/* A batch for which the device has no room fails; the next one, when there is room, does not. */
static void test_out_of_memory(hk_engine engine)
{
    static int64_t order[WIDE_COUNT];
    start(1, engine, 1 << 20);
    hk_data_set *set = hk_data_set_open(wide_folder, HK_DATA_TRAIN, NULL);
    hk_loader_options options = {.batch_size = 120, .shuffle = true, .ahead = -1};
    order_of(&wide_set, &options, 0, order);
    hk_loader *loader = hk_loader_create(set, &options);
    {
        HK_SCOPE;
        hk_array *images[4], *labels[4];
        for (int i = 0; i < 4; i++) {
            CHECK(hk_loader_next(loader, &images[i], &labels[i]));
            CHECK_EQ_I64(hk_dim(images[i], 0), 120);
            hk_wait(images[i]);
        }
        check_slice(&wide_set, images[0], labels[0], order, 120);
        CHECK(contains(hk_wait(images[3]), HK_OUT_OF_MEMORY, "a batch of 120 samples"));
        CHECK_STR(hk_status_operation(hk_wait(labels[3])), "loader_next");
        CHECK_STR(hk_status_device(hk_wait(labels[3])), "cpu:0");
        CHECK(strstr(hk_status_file(hk_wait(labels[3])), "_test.c"));
    }
    {
        HK_SCOPE;
        hk_array *images, *labels;
        CHECK(hk_loader_next(loader, &images, &labels));
        check_slice(&wide_set, images, labels, order + 480, 120);
    }
    hk_loader_release(loader);
    hk_data_set_release(set);
    hk_failures_clear();
    stop();
}

/* The runtime ends first: what is left of the epoch is cancelled, and everything can be released. */
static void test_runtime_ends(hk_engine engine)
{
    start(2, engine, 0);
    hk_data_set *set = open_train();
    hk_device devices[] = {hk_device_named("cpu:0"), hk_device_named("cpu:1")};
    hk_loader_options options = {.batch_size = 10, .devices = devices, .device_count = 2};
    hk_loader *loader = hk_loader_create(set, &options);
    HK_SCOPE;
    hk_array *images[2], *labels[2];
    CHECK(hk_loader_next(loader, images, labels));
    hk_runtime_deinit();
    int64_t batches = 1;
    for (; batches < 100 && hk_loader_next(loader, images, labels); batches++)
        CHECK(contains(hk_wait(images[1]), HK_CANCELLED, "ended"));
    CHECK_EQ_I64(batches, 11);
    hk_loader_release(loader);

    /* The set is of no runtime. */
    start(1, engine, 0);
    devices[0] = hk_device_default();
    options.device_count = 1;
    check_epochs(&small_set, set, &options);
    hk_data_set_release(set);
    stop();
}

static void in_child(hk_loader *loader, hk_data_set *set)
{
    hk_array *images, *labels;
    check_failed_count = 0;
    start_in_child();
    for (int i = 0; i < 4; i++) {
        HK_SCOPE;
        CHECK(hk_loader_next(loader, &images, &labels));
        CHECK_EQ_I64(hk_status_code(hk_wait(images)), HK_FORKED);
        CHECK_EQ_I64(hk_status_code(hk_wait(labels)), HK_FORKED);
    }
    hk_loader_release(loader);
    const hk_device device = hk_device_default();
    check_epochs(&small_set, set,
                 &(hk_loader_options){.batch_size = 9, .devices = &device, .device_count = 1});
    hk_data_set_release(set);
}

static void test_fork(void)
{
    start(1, HK_ENGINE_ASYNC, 0);
    await_workers();
    hk_data_set *set = open_train();
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 10, .ahead = 3});
    hk_loader_start_epoch(loader, 0);
    CHECK(hk_ok(hk_wait_all()));
    pid_t child = fork();
    if (child == 0) {
        in_child(loader, set);
        hk_runtime_deinit();
        _exit(check_failed_count != 0);
    }
    int status = -1;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK_EQ_I64(status, 0);
    hk_loader_release(loader);
    hk_data_set_release(set);
    stop();
}

int main(void)
{
    unsetenv("HOCKET_DATA_DIR");
    files_write();
    test_bad_options(HK_ENGINE_ASYNC);
    test_bad_options(HK_ENGINE_SERIAL);
    test_out_of_memory(HK_ENGINE_ASYNC);
    test_out_of_memory(HK_ENGINE_SERIAL);
    test_runtime_ends(HK_ENGINE_ASYNC);
    test_runtime_ends(HK_ENGINE_SERIAL);
    test_fork();
    files_remove();
    return check_result();
}
