/* safetensors: what is written and read back, and each message for what is not. */
#include "tests/io_fixture.h"

#include "io/safetensors.h"

/* A file of that header and so many bytes 0, 1, 2, … of data. */
static const char *make(const char *header, size_t data_bytes)
{
    const char *path = fixture_path("made.safetensors");
    const size_t header_bytes = strlen(header), bytes = 8 + header_bytes + data_bytes;
    char *file = calloc(1, bytes);
    for (int i = 0; i < 8; i++)
        file[i] = (char)(header_bytes >> 8 * i);
    memcpy(file + 8, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        file[8 + header_bytes + i] = (char)i;
    fixture_write(path, file, bytes);
    free(file);
    return path;
}

static hk_archive *load(const char *path)
{
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    if (!hk_ok(hk_archive_status(archive)))
        hk_status_print(hk_archive_status(archive), stderr);
    CHECK(hk_ok(hk_archive_status(archive)));
    return archive;
}

enum { DTYPES = HK_DTYPE_COUNT - 1 };
static const size_t dtype_bytes[DTYPES] = {4, 8, 4, 8, 1, 1, 2, 2, 1, 2, 2, 4, 8, 8};

/* All dtypes but the last, complex128, which the format lacks; also without elements and without axes, from every device, loaded to every device. */
static void test_round(const char *device_name)
{
    HK_SCOPE;
    const hk_device device = hk_device_named(device_name);
    unsigned char values[96];
    hk_save_entry entries[DTYPES + 3];
    char names[DTYPES][32];
    const char *path = fixture_path("round.safetensors");
    for (int i = 0; i < 96; i++)
        values[i] = (unsigned char)(7 * i);
    const unsigned char bools[6] = {0, 1, 1, 0, 0, 1};
    for (int dtype = 0; dtype < DTYPES; dtype++) {
        snprintf(names[dtype], sizeof names[dtype], "layer.%d.%s", dtype,
                 hk_dtype_name((hk_dtype)dtype));
        entries[dtype] =
            (hk_save_entry){names[dtype], hk_from_host(dtype == HK_BOOL ? bools : values,
                                                       hk_shape(2, 3), (hk_dtype)dtype, device)};
    }
    hk_array *const x = entries[HK_I32].array;
    entries[DTYPES] = (hk_save_entry){"transposed", hk_transpose(x)};
    entries[DTYPES + 1] = (hk_save_entry){"none", hk_slice(x, 0, 1, 1)};
    entries[DTYPES + 2] = (hk_save_entry){"\"ä\\\n", hk_scalar(2.5, HK_F64, device)};
    const hk_metadata_entry metadata[] = {{"step", "12"}, {"format", "pt"}, {"", "\"\n\""}};
    const hk_save_options options = {.metadata = metadata, .metadata_count = 3};
    const hk_status *status = hk_save(path, entries, DTYPES + 3, &options);
    CHECK_STR(hk_status_message(status), "ok");
    const hk_save_entry lacking = {"z", hk_scalar(1, HK_C128, device)};
    const char *other = fixture_path("lacking.safetensors");
    fixture_check_message(hk_save(other, &lacking, 1, NULL), HK_UNSUPPORTED,
                          "entries[0].array is complex128, which safetensors lacks");

    hk_archive *archive = hk_load(path, device, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK_EQ_I64(hk_archive_count(archive), DTYPES + 3);
    CHECK(!hk_archive_name(archive, DTYPES + 3));
    for (size_t i = 0; i < DTYPES; i++) {
        CHECK_STR(hk_archive_name(archive, i), names[i]);
        hk_array *y = hk_archive_get(archive, names[i]);
        CHECK(hk_array_dtype(y) == (hk_dtype)i && hk_ndim(y) == 2 && hk_dim(y, 0) == 2);
        CHECK_STR(hk_device_name(hk_array_device(y)), device_name);
        CHECK(fixture_holds(y, i == HK_BOOL ? bools : values, 6 * dtype_bytes[i]));
    }
    hk_array *y = hk_archive_get(archive, "transposed");
    int32_t turned[6];
    for (int i = 0; i < 6; i++)
        memcpy(&turned[i], values + 4 * (i % 2 * 3 + i / 2), 4);
    CHECK(hk_dim(y, 0) == 3 && fixture_holds(y, turned, sizeof turned));
    y = hk_archive_get(archive, "none");
    CHECK(hk_dim(y, 0) == 0 && hk_dim(y, 1) == 3 && hk_ok(hk_wait(y)));
    y = hk_archive_get(archive, "\"ä\\\n");
    CHECK(hk_ndim(y) == 0 && hk_item(y, NULL) == 2.5);
    CHECK_EQ_I64(hk_archive_metadata_count(archive), 3);
    CHECK_STR(hk_archive_metadata(archive, "step"), "12");
    CHECK_STR(hk_archive_metadata(archive, ""), "\"\n\"");
    CHECK_STR(hk_archive_metadata_key(archive, 1), "format");
    CHECK(!hk_archive_metadata(archive, "st") && !hk_archive_metadata_key(archive, 3));
    CHECK(hk_archive_has(archive, "none") && !hk_archive_has(archive, "non"));
    hk_archive_release(archive);
}

/* Large arrays are mapped where asked for, else read: each get is an array of its own, which
 * outlives archive and name. */
static void test_mapped(bool map)
{
    HK_SCOPE;
    enum { COUNT = 100 * 1000 };
    float *values = malloc(COUNT * sizeof *values);
    for (int i = 0; i < COUNT; i++)
        values[i] = (float)i;
    const char *path = fixture_path("large.safetensors");
    const hk_save_entry entries[] = {
        {"byte", hk_scalar(1, HK_U8, (hk_device){0})},
        {"x", hk_from_host(values, hk_shape(COUNT), HK_F32, (hk_device){0})},
        {"wide", hk_scalar(3, HK_F64, (hk_device){0})}};
    CHECK(hk_ok(hk_save(path, entries, 3, NULL)));
    const uint64_t before = hk_device_get_memory(hk_device_default()).used_bytes;
    hk_archive *archive = hk_load(path, (hk_device){0}, &(hk_load_options){.map = map});
    hk_array *x = hk_archive_get(archive, "x"), *y = hk_archive_get(archive, "x");
    const uint64_t taken = hk_device_get_memory(hk_device_default()).used_bytes - before;
    CHECK(!map ? taken >= 2 * COUNT * sizeof *values : taken == 0);
    hk_archive_release(archive);
    unlink(path);
    CHECK(fixture_holds(x, values, COUNT * sizeof *values));
    hk_write(hk_slice(x, 0, 0, 1), &(float){-1}, sizeof(float));
    CHECK(fixture_holds(y, values, COUNT * sizeof *values));
    values[0] = -1;
    CHECK(fixture_holds(x, values, COUNT * sizeof *values));
    free(values);
}

/* The file may be replaced, and has not changed where an array was written to. */
static void test_replaced(void)
{
    HK_SCOPE;
    enum { COUNT = 40000 };
    const char *path = fixture_path("replaced.safetensors");
    hk_save_entry entry = {"x", hk_full(hk_shape(COUNT), 1, HK_F32, (hk_device){0})};
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    hk_archive *archive = load(path);
    hk_array *x = hk_archive_get(archive, "x");
    entry.array = hk_full(hk_shape(COUNT), 2, HK_F32, (hk_device){0});
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK(hk_item(hk_index(x, 0, COUNT - 1), NULL) == 1);
    CHECK(hk_item(hk_index(hk_archive_get(archive, "x"), 0, 5), NULL) == 1);
    hk_archive_release(archive);
    archive = load(path);
    CHECK(hk_item(hk_index(hk_archive_get(archive, "x"), 0, COUNT - 1), NULL) == 2);
    hk_archive_release(archive);
}

/* What others may write: any order in the file, badly aligned, bools of any value. */
static void test_others(void)
{
    HK_SCOPE;
    hk_archive *archive = load(make(
        "{\"b\" : {\"shape\":[2], \"dtype\":\"I32\", \"data_offsets\":[3,11], \"more\": 1.5},\n"
        "\"__metadata__\":{} , \"a\":{\"data_offsets\":[0,3],\"dtype\":\"BOOL\",\"shape\":[3]}, "
        "\"\":{\"data_offsets\":[3,3],\"dtype\":\"F16\",\"shape\":[0, 9]}}   ",
        11));
    CHECK_EQ_I64(hk_archive_count(archive), 3);
    CHECK_STR(hk_archive_name(archive, 0), "b");
    CHECK(fixture_holds(hk_archive_get(archive, "b"), (char[]){3, 4, 5, 6, 7, 8, 9, 10}, 8));
    CHECK(fixture_holds(hk_archive_get(archive, "a"), (char[]){0, 1, 1}, 3));
    CHECK(hk_dim(hk_archive_get(archive, ""), 1) == 9);
    CHECK(hk_archive_metadata_count(archive) == 0);
    hk_archive_release(archive);

    archive = load(make("{}", 0));
    CHECK(hk_archive_count(archive) == 0);
    fixture_check_message(hk_wait(hk_archive_get(archive, "x")), HK_NOT_FOUND,
                          "made.safetensors has no array \"x\": it has none at all");
    hk_archive_release(archive);
}

#define ARRAY(begin, end) "{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[" #begin "," #end "]}"

static void test_unsupported(void)
{
    HK_SCOPE;
    hk_archive *archive = load(
        make("{\"a\":{\"dtype\":\"F8_E4M3\",\"shape\":[4],\"data_offsets\":[0,4]},\"b\":" ARRAY(
                 4, 8) ",\"c\":{\"dtype\":\"F4\\n\",\"shape\":[2],\"data_offsets\":[8,9]},"
                       "\"d\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1,1,1,1,1],"
                       "\"data_offsets\":[9,10]}}",
             10));
    fixture_check_message(hk_wait(hk_archive_get(archive, "a")), HK_UNSUPPORTED,
                          "made.safetensors: array \"a\" has dtype F8_E4M3; F64 to F16");
    fixture_check_message(hk_wait(hk_archive_get(archive, "c")), HK_UNSUPPORTED,
                          "array \"c\" has dtype F4\\x0a;");
    fixture_check_message(hk_wait(hk_archive_get(archive, "d")), HK_UNSUPPORTED,
                          "array \"d\" has 9 axes; at most 8");
    CHECK(fixture_holds(hk_archive_get(archive, "b"), (char[]){4, 5, 6, 7}, 4));
    fixture_check_message(hk_wait(hk_archive_get(archive, "e")), HK_NOT_FOUND,
                          "has no array \"e\"; it has 4, the first of which is \"a\"");
    fixture_check_message(hk_wait(hk_archive_get(archive, NULL)), HK_INVALID_ARGUMENT,
                          "name is NULL, but");
    const hk_status *status = hk_wait(hk_archive_get(archive, "a"));
    CHECK(strstr(hk_status_file(status), "safetensors_test.c") && hk_status_line(status) > 0);
    CHECK_STR(hk_status_operation(status), "archive_get");
    hk_archive_release(archive);
    hk_failures_clear();
}

static void test_hostile(void)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *part;
    } cases[] = {
        {"", 0, "does not begin with '{'"},
        {" {}", 0, "does not begin with '{'"},
        {"[]", 0, "does not begin with '{'"},
        {"{", 0, "ends after 1 bytes, where a text in quotes should follow"},
        {"{}x", 0, "'x' at byte 2, where nothing but spaces should be"},
        {"{}", 1, "trailing data: its arrays take 0 bytes, and it holds 1"},
        {"{\"a\":" ARRAY(0, 4) "}", 3, "array \"a\" should end at byte 4 of the data"},
        {"{\"a\":" ARRAY(0, 4) "}", 5, "trailing data"},
        {"{\"a\":" ARRAY(1, 5) "}", 5, "begins at byte 1 of the data, behind a hole; 0"},
        {"{\"a\":" ARRAY(0, 4) ",\"b\":" ARRAY(2, 6) "}", 6, "within another array; 4 would"},
        {"{\"a\":" ARRAY(0, 4) ",\"b\":" ARRAY(0, 4) "}", 4, "within another array"},
        {"{\"a\":" ARRAY(0, 4) ",\"b\":" ARRAY(5, 9) "}", 9, "array \"b\" begins at byte 5"},
        {"{\"a\":" ARRAY(0, 4) ",\"a\":" ARRAY(4, 8) "}", 8, "has array \"a\" twice"},
        {"{\"a\":" ARRAY(0, 4) ",\"\\u0061\":" ARRAY(4, 8) "}", 8, "has array \"a\" twice"},
        {"{\"a\":" ARRAY(0, 5) "}", 5, "has 5 bytes, which is not what its shape and dtype U8"},
        {"{\"a\":" ARRAY(4, 0) "}", 4, "has no \"data_offsets\" of two whole numbers"},
        {"{\"a\":" ARRAY(-1, 3) "}", 4, "has no \"data_offsets\" of two whole numbers"},
        {"{\"a\":" ARRAY(0, 1e3) "}", 4, "has no \"data_offsets\""},
        {"{\"a\":" ARRAY(0, 99999999999999999999) "}", 4, "is no JSON"},
        {"{\"a\":" ARRAY(0, 9223372036854775807) "}", 4, "should end at byte 9223372036854775807"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]}}", 0,
         "not what its shape"},
        {"{\"a\":{\"dtype\":\"F64\",\"shape\":[4611686018427387904,4,0],\"data_offsets\":[0,0]}}",
         0, "not what its shape"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[-4,-1],\"data_offsets\":[0,4]}}", 4,
         "axis 0 is no whole number"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4,0.5],\"data_offsets\":[0,4]}}", 4, "axis 1 is no"},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":4,\"data_offsets\":[0,4]}}", 4, "no list \"shape\""},
        {"{\"a\":{\"dtype\":\"U8\",\"data_offsets\":[0,4]}}", 4, "no list \"shape\""},
        {"{\"a\":{\"dtype\":8,\"shape\":[4],\"data_offsets\":[0,4]}}", 4, "no text \"dtype\""},
        {"{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,2,4]}}", 4,
         "has no \"data_offsets\""},
        {"{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]}}", 4,
         "is no JSON"},
        {"{\"a\":[[[[[[[[[[[[]]]]]]]]]]]]}", 0, "with 12 objects and lists"},
        {"{\"a\":4}", 0, "array \"a\" has no list \"shape\""},
        {"{\"a\\u0000\":4}", 0, "is no JSON"},
        {"{\"a\xff\":4}", 0, "is no JSON"},
        {"{a:4}", 0, "where a text in quotes"},
        {"{\"a\"}", 0, "where a colon"},
        {"{\"a\":}", 0, "where a value"},
        {"{\"__metadata__\":4}", 0, "where an object of texts"},
        {"{\"__metadata__\":{\"a\":4}}", 0, "where a text in quotes"},
        {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0, "has metadata \"a\" twice"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "has \"__metadata__\" twice"},
        {"{\"__metadata__\":{\"a\":\"b\"]}", 0, "where a comma or the end of the metadata"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fixture_refused(make(cases[i].header, cases[i].data_bytes), HK_BAD_DATA, cases[i].part);

    const char *path = fixture_path("made.safetensors");
    fixture_write(path, "\x02\0\0\0\0\0\0", 7);
    fixture_refused(path, HK_BAD_DATA, "it has 7 bytes; 10 or more");
    fixture_write(path, "\x02\0\0\0\0\0\0\0{\0", 10);
    fixture_refused(path, HK_BAD_DATA, "has '?' at byte 1, where a text in quotes should be");
    fixture_write(path, "\x03\0\0\0\0\0\0\0{}", 10);
    fixture_refused(path, HK_BAD_DATA, "truncated: it promises a header of 3 bytes, and holds 2");
    fixture_write(path, "\xff\xff\xff\xff\xff\xff\xff\xff{}", 10);
    fixture_refused(path, HK_BAD_DATA, "promises a header of 18446744073709551615 bytes; at most");
    hk_failures_clear();
}

/* Every prefix of a good file, and each of its bits turned: a message, or arrays. */
static void test_damaged(void)
{
    HK_SCOPE;
    const float values[] = {1, 2, 3};
    const char *path = fixture_path("good.safetensors"), *bad = fixture_path("bad.safetensors");
    const hk_save_entry entries[] = {
        {"x", hk_from_host(values, hk_shape(3), HK_F32, (hk_device){0})}};
    const hk_metadata_entry metadata = {"k", "v"};
    CHECK(hk_ok(
        hk_save(path, entries, 1, &(hk_save_options){.metadata = &metadata, .metadata_count = 1})));
    size_t bytes;
    char *data = fixture_read(path, &bytes);
    CHECK(bytes > 20 && (bytes - sizeof values) % 64 == 0);
    for (size_t i = 0; i < bytes; i++) {
        fixture_write(bad, data, i);
        fixture_refused(bad, HK_BAD_DATA, "bad.safetensors");
    }
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        HK_SCOPE;
        data[bit / 8] ^= (char)(1 << bit % 8);
        fixture_write(bad, data, bytes);
        hk_archive *archive = hk_load(bad, (hk_device){0}, NULL);
        for (size_t i = 0; i < hk_archive_count(archive); i++)
            hk_wait(hk_archive_get(archive, hk_archive_name(archive, i)));
        CHECK(hk_ok(hk_archive_status(archive)) ||
              strlen(hk_status_message(hk_archive_status(archive))) > 30);
        hk_archive_release(archive);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    free(data);
    hk_failures_clear();
}

int main(void)
{
    setenv("HOCKET_SIM", "1", 1);
    fixture_begin();
    test_round("cpu:0");
    test_round("sim:0");
    test_mapped(false);
    test_mapped(true);
    test_replaced();
    test_others();
    test_unsupported();
    test_hostile();
    test_damaged();
    CHECK(fixture_files(false) > 0);
    fixture_end();
    return check_result();
}
