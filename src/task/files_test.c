/* Files that are saved and read beside the calls: values of the moment, failures, the end of the
 * runtime. */
#include "tests/io_fixture.h"

#include <hocket/kernel.h>

enum { SIZE = 1000 };

static void start(hk_engine engine)
{
    const hk_sim_options sim = {.count = 1};
    CHECK(hk_ok(
        hk_runtime_init(&(hk_runtime_options){.engine = engine, .sim = &sim, .sim_count = 1})));
}

static hk_array *full(double value)
{
    return hk_full(hk_shape(SIZE), value, HK_F32, hk_device_default());
}

static void fails(hk_array *x, hk_code code, const char *message)
{
    const hk_status *status = hk_wait(x);
    CHECK_STR(hk_code_name(hk_status_code(status)), hk_code_name(code));
    if (!strstr(hk_status_message(status), message))
        CHECK_STR(hk_status_message(status), message);
    hk_wait_all();
    hk_failures_clear();
}

static void check_file(const char *path, const char *name, double value)
{
    HK_SCOPE;
    const hk_status *status;
    hk_archive *archive = hk_load(path, hk_device_default(), NULL);
    hk_array *x = hk_archive_get(archive, name);
    CHECK(hk_item(hk_min(x, NULL), &status) == value && hk_ok(status));
    CHECK(hk_item(hk_max(x, NULL), &status) == value && hk_dim(x, 0) == SIZE);
    hk_archive_release(archive);
}

/* Updates go on while the file is written; it has what was there at the call. */
static void test_snapshot(void)
{
    HK_SCOPE;
    const char *path = fixture_path("step.safetensors");
    hk_array *weight = full(1), *far = hk_to_device(full(2), hk_device_named("sim:0")), *saved[8];
    for (int i = 0; i < 8; i++) {
        char name[16], step[16];
        snprintf(name, sizeof name, "weight.%d", i);
        snprintf(step, sizeof step, "%d", i);
        const hk_metadata_entry metadata = {"step", step};
        saved[i] = hk_save_async(
            fixture_path(name), (const hk_save_entry[]){{"weight", weight}, {"far", far}}, 2,
            &(hk_save_options){
                .format = HK_FORMAT_SAFETENSORS, .metadata = &metadata, .metadata_count = 1});
        hk_add_into(weight, weight, full(1));
        name[0] = step[0] = '?'; /* the call has copies */
    }
    for (int i = 0; i < 8; i++) {
        char name[16];
        const hk_status *status;
        snprintf(name, sizeof name, "weight.%d", i);
        CHECK(hk_item(saved[i], &status) == 2 * SIZE * 4 && hk_ok(status));
        hk_archive *archive = hk_load(fixture_path(name), hk_device_default(),
                                      &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
        CHECK(hk_archive_metadata(archive, "step")[0] == '0' + i);
        hk_array *x = hk_archive_get_async(archive, "weight");
        hk_archive_release(archive);
        CHECK(hk_item(hk_max(hk_add(x, 1.0), NULL), &status) == i + 2 && hk_ok(status));
    }
    CHECK(hk_ok(hk_wait(hk_save_async(path, (const hk_save_entry[]){{"x", far}}, 1, NULL))));
    check_file(path, "x", 2);
}

static void test_reading(void)
{
    HK_SCOPE;
    const char *path = fixture_path("two.safetensors"), *packed = fixture_path("two.npz");
    const hk_save_entry entries[] = {{"a", full(3)}, {"b", hk_cast(full(1), HK_BOOL)}};
    const hk_status *status;
    CHECK(hk_ok(hk_save(path, entries, 2, NULL)) && hk_ok(hk_save(packed, entries, 2, NULL)));
    for (int i = 0; i < 2; i++) {
        hk_archive *archive = hk_load(i ? packed : path, hk_device_named("sim:0"), NULL);
        hk_array *a = hk_archive_get_async(archive, "a"), *b = hk_archive_get_async(archive, "b");
        CHECK(!strcmp(hk_device_name(hk_array_device(a)), "sim:0"));
        CHECK(hk_array_dtype(b) == HK_BOOL && hk_dim(a, 0) == SIZE);
        CHECK(hk_item(hk_max(a, NULL), &status) == 3 && hk_item(hk_sum(b, NULL), &status) == SIZE);
        fails(hk_archive_get_async(archive, "c"), HK_NOT_FOUND, "has no array \"c\"");
        hk_archive_release(archive);
    }
    fails(hk_archive_get_async(NULL, "c"), HK_INVALID_ARGUMENT, "archive is NULL");
    /* A file that is cut short after it was opened. */
    hk_archive *archive = hk_load(path, hk_device_default(), NULL);
    CHECK(truncate(path, 200) == 0);
    hk_array *sum = hk_add(hk_archive_get_async(archive, "a"), 1.0);
    fails(sum, HK_BAD_DATA, "array \"a\"");
    hk_archive_release(archive);
}

static void test_failures(void)
{
    HK_SCOPE;
    hk_array *x = full(1);
    const hk_save_entry entry = {"x", x};
    fails(hk_save_async(NULL, &entry, 1, NULL), HK_INVALID_ARGUMENT, "path is NULL");
    fails(hk_save_async("x.npy", NULL, 1, NULL), HK_INVALID_ARGUMENT, "entries is NULL");
    fails(hk_save_async("x.npy", &(const hk_save_entry){"x", NULL}, 1, NULL), HK_INVALID_ARGUMENT,
          "entries[0].array is NULL");
    fails(hk_save_async("/no/such/folder/x.npy", &entry, 1, NULL), HK_IO, "");
    fails(hk_save_async("x.unknown", &entry, 1, NULL), HK_INVALID_ARGUMENT, "x.unknown");
    /* What has failed fails the save, by its own record. */
    const hk_save_entry bad = {"x", hk_reshape(x, hk_shape(7))};
    fails(hk_save_async(fixture_path("bad.npy"), &bad, 1, NULL), HK_INVALID_ARGUMENT, "");
    CHECK(access(fixture_path("bad.npy"), F_OK) != 0);
}

/* The end of the runtime waits for files, and not for what nobody keeps. */
static void test_end(hk_engine engine)
{
    HK_SCOPE;
    start(engine);
    const char *path = fixture_path("last.safetensors");
    hk_array *x = full(4), *y = full(5);
    hk_promise *forgotten = hk_promise_create(HK_ACCESS(hk_writes(y)), NULL);
    for (int i = 0; i < 16; i++) {
        char name[16];
        snprintf(name, sizeof name, "many.%d", i);
        hk_save_async(fixture_path(name), &(const hk_save_entry){"x", x}, 1,
                      &(hk_save_options){.format = HK_FORMAT_SAFETENSORS});
    }
    hk_save_async(path, &(const hk_save_entry){"x", x}, 1, NULL);
    hk_loan loan;
    CHECK(hk_ok(hk_data_borrow(x, HK_BORROW_WRITE, &loan)));
    hk_save_async(fixture_path("lent.npy"), &(const hk_save_entry){"x", x}, 1, NULL);
    hk_runtime_deinit(); /* says that x is still lent */
    hk_promise_keep(forgotten);
    start(engine);
    check_file(path, "x", 4);
    hk_runtime_deinit();
}

int main(void)
{
    fixture_begin();
    for (int i = 0; i < 2; i++) {
        const hk_engine engine = i ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC;
        start(engine);
        test_snapshot();
        test_reading();
        test_failures();
        hk_runtime_deinit();
        test_end(engine);
    }
    fixture_end();
    return check_result();
}
