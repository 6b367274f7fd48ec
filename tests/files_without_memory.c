/* Files of arrays while memory is short: each allocation that fails in turn. A call that says it went well did; one that did not
 * leaves what there was. */
#include "failing_memory.h"
#include "tests/io_fixture.h"
#include "tests/torch_fixture.h"

enum { MOST = 2000 }; /* allocations of one call */

static const char *const names[] = {"x.safetensors", "x.npy", "x.npz"};
static const hk_metadata_entry metadata = {"step", "12"};

/* The sum of what the file's array holds; -1: it cannot be loaded. */
static double sum_of(const char *path)
{
    HK_SCOPE;
    float values[100];
    double sum = -1;
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    const bool has_metadata =
        !strstr(path, ".safetensors") || (hk_archive_metadata(archive, "step") &&
                                          !strcmp(hk_archive_metadata(archive, "step"), "12"));
    if (hk_ok(hk_archive_status(archive))) {
        CHECK(hk_archive_count(archive) == 1 && has_metadata);
        hk_array *x = hk_archive_get(archive, hk_archive_name(archive, 0));
        if (hk_ok(hk_to_host(x, values, sizeof values))) {
            sum = 0;
            for (int i = 0; i < 100; i++)
                sum += (double)values[i];
        }
    }
    hk_archive_release(archive);
    return sum;
}

static void test_loading(const char *path, bool all)
{
    int after = 0, failed = 1;
    for (; failed && after < MOST; after++) {
        failing_begin(after, all);
        const double sum = sum_of(path);
        failed = failing_end();
        CHECK(sum == 100 || (failed && sum == -1));
    }
    CHECK(after > 3 && after < MOST);
}

/* A tensor of 100 ones, which lie in another order. */
static void write_torch(const char *path)
{
    static torch_bytes pickle;
    static torch_zip zip;
    float ones[100];
    for (int i = 0; i < 100; i++)
        ones[i] = 1;
    torch_begin(&pickle);
    torch_ops(&pickle, "}");
    torch_text(&pickle, "0.weight");
    torch_tensor(&pickle, (torch_view){.class = "FloatStorage",
                                       .key = "0",
                                       .count = 100,
                                       .ndim = 2,
                                       .sizes = {10, 10},
                                       .strides = {1, 10}});
    torch_ops(&pickle, "s.");
    zip = (torch_zip){0};
    torch_member(&zip, "a/data.pkl", pickle.data, pickle.bytes);
    torch_member(&zip, "a/data/0", ones, sizeof ones);
    torch_finish(&zip);
    fixture_write(path, zip.file.data, zip.file.bytes);
}

/* What has been loaded is in the module, and where it could not be, nothing is. */
static void test_weights(const char *path, bool all)
{
    int after = 0, failed = 1;
    for (; failed && after < MOST; after++) {
        HK_SCOPE;
        hk_module *net =
            hk_sequential(hk_linear_layer(10, &(hk_linear_layer_options){.no_bias = true}));
        hk_array *x = hk_full(hk_shape(1, 10), 1, HK_F32, (hk_device){0});
        CHECK(hk_ok(hk_wait(x)));
        failing_begin(after, all);
        const bool is_good =
            hk_ok(hk_module_load(net, path, &(hk_module_load_options){.names = HK_NAMES_TORCH}));
        failed = failing_end();
        CHECK(failed || is_good);
        float sums[10];
        if (is_good && hk_ok(hk_to_host(hk_forward(net, x), sums, sizeof sums)))
            CHECK(sums[0] == 10);
        hk_module_release(net);
    }
    CHECK(after > 3 && after < MOST);
}

static void test_saving(const char *path, bool all)
{
    HK_SCOPE;
    const hk_save_options options = {.metadata = &metadata,
                                     .metadata_count = strstr(path, ".safetensors") != NULL};
    int after = 0, failed = 1;
    hk_save_entry entry = {"x", hk_full(hk_shape(10, 10), 1, HK_F32, (hk_device){0})};
    CHECK(hk_ok(hk_save(path, &entry, 1, &options)));
    entry.array = hk_full(hk_shape(10, 10), 2, HK_F32, (hk_device){0});
    CHECK(hk_ok(hk_wait(entry.array)));
    for (; failed && after < MOST; after++) {
        failing_begin(after, all);
        const bool is_good = hk_ok(hk_save(path, &entry, 1, &options));
        failed = failing_end();
        CHECK(failed || is_good);
        const double sum = sum_of(path);
        CHECK(sum == (is_good ? 200 : 100));
        if (sum != (is_good ? 200 : 100))
            fprintf(stderr, "  %s, allocation %d, %s: %g\n", path, after,
                    is_good ? "saved" : "failed", sum);
        CHECK(fixture_files(false) == 1);
        if (!is_good)
            continue;
        const hk_save_entry before = {"x", hk_full(hk_shape(10, 10), 1, HK_F32, (hk_device){0})};
        CHECK(hk_ok(hk_save(path, &before, 1, &options)));
    }
    CHECK(after > 3 && after < MOST);
}

int main(void)
{
    if (HKI_SANITIZED)
        return 77;
    fixture_begin();
    for (int i = 0; i < 3; i++) {
        char path[400];
        snprintf(path, sizeof path, "%s", fixture_path(names[i]));
        for (int all = 0; all < 2; all++) {
            test_saving(path, all);
            test_loading(path, all);
        }
        unlink(path);
    }
    const char *torch = fixture_path("x.pt"), *shards = fixture_path("x.index.json");
    static const char index[] = "{\"weight_map\": {\"0.weight\": \"x.pt\"}}";
    write_torch(torch);
    fixture_write(shards, index, sizeof index - 1);
    for (int all = 0; all < 2; all++) {
        test_loading(torch, all);
        test_loading(shards, all);
        test_weights(torch, all);
    }
    hk_failures_clear();
    fixture_end();
    return check_result();
}
