/* Files of arrays beside Python's packages: NumPy and safetensors read ours, and we theirs. Skipped where no Python has the
 * package.
 *
 *     python_files [numpy|safetensors]     HOCKET_TEST_PYTHON: the Python; else python3, then /usr/bin/python3 */
#include "array/array.h"
#include "tests/io_fixture.h"

#include <sys/wait.h>

static const hk_dtype npy_dtypes[] = {HK_F32, HK_F64, HK_I32, HK_I64, HK_U8,  HK_BOOL,
                                      HK_F16, HK_I8,  HK_I16, HK_U16, HK_U32, HK_U64};
enum { NPY_DTYPES = sizeof npy_dtypes / sizeof *npy_dtypes, COUNT = 24, BYTES = COUNT * 8 };

static const char scalar_name[] = "layer.0/ü", note[] = "ü\n\"\\";

/* The values that python_files.py expects, of shape (2, 3, 4). Returns their bytes. */
static size_t values_of(hk_dtype dtype, char values[BYTES])
{
    const size_t bytes = hk_dtype_bytes(dtype);
    for (int i = 0; i < COUNT; i++) {
        const double value = dtype == HK_BOOL               ? i % 3 == 0
                             : hki_dtype_is_unsigned(dtype) ? i * 3
                             : hki_dtype_is_integer(dtype)  ? i * 3 - 10
                                                            : (i * 3 - 10) / 4.0;
        hki_dtype_store(dtype, values + (size_t)i * bytes, value);
    }
    return COUNT * bytes;
}

static hk_array *array_of(hk_dtype dtype)
{
    char values[BYTES];
    values_of(dtype, values);
    return hk_from_host(values, hk_shape(2, 3, 4), dtype, (hk_device){0});
}

static void check_array(hk_array *x, hk_dtype dtype, const char *what)
{
    char values[BYTES];
    const size_t bytes = values_of(dtype, values);
    const hk_dims shape = hk_dims_get(x);
    const bool is_same = hk_array_dtype(x) == dtype && shape.ndim == 3 && shape.dims[0] == 2 &&
                         shape.dims[1] == 3 && shape.dims[2] == 4 &&
                         fixture_holds(x, values, bytes);
    CHECK(is_same);
    if (!is_same)
        fprintf(stderr, "  %s, %s: %s\n", what, hk_dtype_name(dtype),
                hk_status_message(hk_wait(x)));
}

static hk_archive *load(const char *path)
{
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK(hk_ok(hk_archive_status(archive)));
    if (!hk_ok(hk_archive_status(archive)))
        hk_status_print(hk_archive_status(archive), stderr);
    return archive;
}

/* All dtypes that NumPy has, a scalar, an array without elements; and bfloat16. Returns how many. */
static size_t all_entries(hk_save_entry entries[NPY_DTYPES + 3])
{
    for (int i = 0; i < NPY_DTYPES; i++)
        entries[i] = (hk_save_entry){hk_dtype_name(npy_dtypes[i]), array_of(npy_dtypes[i])};
    entries[NPY_DTYPES] = (hk_save_entry){scalar_name, hk_scalar(2.5, HK_F64, (hk_device){0})};
    entries[NPY_DTYPES + 1] =
        (hk_save_entry){"none", hk_zeros(hk_shape(3, 0), HK_I32, (hk_device){0})};
    entries[NPY_DTYPES + 2] = (hk_save_entry){"bfloat16", array_of(HK_BF16)};
    return NPY_DTYPES + 3;
}

static void check_all(const char *name)
{
    HK_SCOPE;
    hk_archive *archive = load(fixture_path(name));
    CHECK_EQ_I64(hk_archive_count(archive), NPY_DTYPES + 2);
    for (int i = 0; i < NPY_DTYPES; i++)
        check_array(hk_archive_get(archive, hk_dtype_name(npy_dtypes[i])), npy_dtypes[i], name);
    hk_array *x = hk_archive_get(archive, scalar_name);
    CHECK(hk_ndim(x) == 0 && hk_item(x, NULL) == 2.5);
    x = hk_archive_get(archive, "none");
    CHECK(hk_ndim(x) == 2 && hk_dim(x, 0) == 3 && hk_dim(x, 1) == 0 && hk_ok(hk_wait(x)));
    hk_archive_release(archive);
}

/* Whether a Python ran the other side; exits with 77 where none has the package. */
static void run_python(const char *kind)
{
    const char *given = getenv("HOCKET_TEST_PYTHON");
    const char *pythons[] = {given, "python3", "/usr/bin/python3"};
    for (int i = 0; i < 3; i++) {
        char command[1024];
        if (!pythons[i] || (i && given))
            continue;
        snprintf(command, sizeof command, "'%s' '%s/tests/python_files.py' %s '%s'", pythons[i],
                 HKI_TEST_SOURCE_DIR, kind, fixture_folder);
        const int outcome = system(command);
        const int code = WIFEXITED(outcome) ? WEXITSTATUS(outcome) : 1;
        if (code != 77 && code != 127) {
            CHECK(code == 0);
            return;
        }
    }
    printf("skipped: no Python with %s\n", kind);
    fixture_end();
    exit(77);
}

static void test_numpy(void)
{
    static const char *const variants[] = {"", ".fortran", ".swapped", ".2", ".3"};
    HK_SCOPE;
    hk_save_entry entries[NPY_DTYPES + 3];
    char name[64];
    all_entries(entries);
    for (int i = 0; i < NPY_DTYPES; i++) {
        snprintf(name, sizeof name, "ours.%s.npy", entries[i].name);
        CHECK(hk_ok(hk_save(fixture_path(name), &entries[i], 1, NULL)));
    }
    CHECK(hk_ok(hk_save(fixture_path("ours.npz"), entries, NPY_DTYPES + 2, NULL)));
    CHECK(hk_ok(hk_save(fixture_path("ours.packed.npz"), entries, NPY_DTYPES + 2,
                        &(hk_save_options){.compress = true})));
    run_python("numpy");
    for (int i = 0; i < NPY_DTYPES; i++)
        for (int j = 0; j < 5; j++) {
            snprintf(name, sizeof name, "theirs.%s%s.npy", entries[i].name, variants[j]);
            hk_archive *archive = load(fixture_path(name));
            check_array(hk_archive_get(archive, NULL), npy_dtypes[i], name);
            hk_archive_release(archive);
        }
    check_all("theirs.npz");
    check_all("theirs.packed.npz");
    hk_archive *archive = load(fixture_path("theirs.none.npz"));
    CHECK(hk_archive_count(archive) == 0);
    hk_archive_release(archive);
}

static void test_safetensors(void)
{
    HK_SCOPE;
    hk_save_entry entries[NPY_DTYPES + 3];
    const hk_metadata_entry metadata[] = {{"step", "12"}, {"note", note}};
    const size_t count = all_entries(entries);
    CHECK(hk_ok(hk_save(fixture_path("ours.safetensors"), entries, count,
                        &(hk_save_options){.metadata = metadata, .metadata_count = 2})));
    CHECK(hk_ok(hk_save(fixture_path("ours.none.safetensors"), NULL, 0, NULL)));
    run_python("safetensors");
    check_all("theirs.safetensors");
    hk_archive *archive = load(fixture_path("theirs.safetensors"));
    CHECK(hk_archive_metadata_count(archive) == 2);
    for (size_t i = 0; i < hk_archive_metadata_count(archive); i++) {
        const char *key = hk_archive_metadata_key(archive, i);
        CHECK_STR(hk_archive_metadata(archive, key), strcmp(key, "note") ? "12" : note);
    }
    hk_archive_release(archive);
}

int main(int argc, char **argv)
{
    fixture_begin();
    if (argc > 1 && !strcmp(argv[1], "safetensors"))
        test_safetensors();
    else
        test_numpy();
    fixture_end();
    return check_result();
}
