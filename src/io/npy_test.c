/* npy: what is written and read back, what NumPy writes, and each message for what is not. */
#include "tests/io_fixture.h"

/* A file of version 1 with that header and so many bytes 0, 1, 2, … of data. */
static const char *make(const char *header, size_t data_bytes)
{
    const char *path = fixture_path("made.npy");
    const size_t header_bytes = strlen(header), bytes = 10 + header_bytes + data_bytes;
    char *file = calloc(1, bytes);
    memcpy(file, "\x93NUMPY\1", 8);
    file[8] = (char)header_bytes;
    file[9] = (char)(header_bytes >> 8);
    memcpy(file + 10, header, header_bytes);
    for (size_t i = 0; i < data_bytes; i++)
        file[10 + header_bytes + i] = (char)i;
    fixture_write(path, file, bytes);
    free(file);
    return path;
}

/* The only array; belongs to the scope. */
static hk_array *loaded(const char *path)
{
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK(hk_archive_count(archive) == 1);
    CHECK_STR(hk_archive_name(archive, 0), "");
    hk_array *x = hk_archive_get(archive, NULL);
    hk_archive_release(archive);
    return x;
}

static void test_round(void)
{
    const int64_t sizes[] = {2, 1, 3, 1, 1, 1, 1, 1};
    unsigned char values[96];
    const char *path = fixture_path("round.npy");
    for (int i = 0; i < 96; i++)
        values[i] = (unsigned char)(7 * i);
    for (int i = 0; i < HK_DTYPE_COUNT; i++) {
        const hk_dtype dtype = (hk_dtype)i;
        for (int ndim = 3; ndim <= 8; ndim++) {
            HK_SCOPE;
            const unsigned char bools[6] = {0, 1, 1, 0, 0, 1};
            const void *given = dtype == HK_BOOL ? bools : values;
            const hk_save_entry entry = {
                NULL, hk_from_host(given, hk_dims_of(sizes, (size_t)ndim), dtype, (hk_device){0})};
            const hk_status *status = hk_save(path, &entry, 1, NULL);
            if (dtype == HK_BF16) {
                fixture_check_message(status, HK_UNSUPPORTED,
                                      "round.npy: entries[0].array is bfloat16, which npy");
                continue;
            }
            CHECK_STR(hk_status_message(status), "ok");
            hk_array *x = loaded(path);
            CHECK(hk_array_dtype(x) == dtype && hk_ndim(x) == ndim && hk_dim(x, 2) == 3);
            CHECK(fixture_holds(x, given, 6 * hk_dtype_bytes(dtype)));
        }
    }
    HK_SCOPE;
    hk_save_entry entry = {"", hk_full(hk_shape(100, 1000), 4, HK_F32, (hk_device){0})};
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK_EQ_I64(hk_item(hk_sum(loaded(path), NULL), NULL), 400000);
    const hk_save_entry two[] = {entry, entry};
    fixture_check_message(hk_save(path, two, 2, NULL), HK_INVALID_ARGUMENT,
                          "count is 2, but an npy file has one array");
    fixture_check_message(hk_save(path, &entry, 1,
                                  &(hk_save_options){.metadata = &(hk_metadata_entry){"a", "b"},
                                                     .metadata_count = 1}),
                          HK_INVALID_ARGUMENT, "only safetensors keeps metadata");
    CHECK_EQ_I64(fixture_files(false), 1);
}

#define HEADER(descr, order, shape)                                                                \
    "{'descr': '" descr "', 'fortran_order': " order ", 'shape': " shape ", }\n"

static void test_others(void)
{
    HK_SCOPE;
    hk_array *x = loaded(make(HEADER("<i4", "False", "(2,)"), 8));
    CHECK(fixture_holds(x, (char[]){0, 1, 2, 3, 4, 5, 6, 7}, 8));
    x = loaded(make(HEADER(">i4", "False", "(2,)"), 8));
    CHECK(fixture_holds(x, (char[]){3, 2, 1, 0, 7, 6, 5, 4}, 8));
    x = loaded(make(HEADER("|u1", "True", "(2, 3)"), 6));
    CHECK(hk_dim(x, 0) == 2 && hk_is_contiguous(x));
    CHECK(fixture_holds(x, (char[]){0, 2, 4, 1, 3, 5}, 6));
    x = loaded(make(HEADER("|b1", "True", "(1, 3,2)"), 6));
    CHECK(fixture_holds(x, (char[]){0, 1, 1, 1, 1, 1}, 6));
    x = loaded(make(HEADER(">f2", "True", "(2, 2)"), 8));
    CHECK(fixture_holds(x, (char[]){1, 0, 5, 4, 3, 2, 7, 6}, 8));
    x = loaded(make(HEADER("<f8", "True", "()"), 8));
    CHECK(hk_ndim(x) == 0 && hk_size(x) == 1);
    x = loaded(make(HEADER("<f8", "True", "(3, 0, 2)"), 0));
    CHECK(hk_ndim(x) == 3 && hk_dim(x, 1) == 0);
    /* Python 2's, keys in another order, other quotes */
    x = loaded(make("{\"shape\":(3L,),'fortran_order':False\t,\"descr\":'|u1'}", 3));
    CHECK(fixture_holds(x, (char[]){0, 1, 2}, 3));

    const char *path = fixture_path("made.npy");
    static const char version[][100] = {
        "\x93NUMPY\2\0\x37\0\0\0{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}*",
        "\x93NUMPY\3\0\x37\0\0\0{'descr': '|u1', 'fortran_order': False, 'shape': (1,)}*"};
    for (int i = 0; i < 2; i++) {
        fixture_write(path, version[i], 12 + 0x37 + 1);
        CHECK(fixture_holds(loaded(path), "*", 1));
    }
}

static void test_unsupported(void)
{
    static const char *const descrs[][2] = {
        {HEADER("<c32", "False", "(2,)"), "made.npy: its array has dtype <c32; f2 to f8"},
        {HEADER("|f4", "False", "(1,)"), "has dtype |f4;"},
        {HEADER("f4", "False", "(1,)"), "has dtype f4;"},
        {HEADER("", "False", "(1,)"), "has dtype a structure;"},
        {HEADER("|O", "False", "(1,)"), "has dtype |O;"},
        {HEADER("<U7", "False", "(1,)"), "has dtype <U7;"},
        {"{'descr': [('a', '<f4'), (')]', '<i4', (2,))], 'fortran_order': False, 'shape': (2,), }",
         "has dtype a structure;"},
        {HEADER("|u1", "False", "(1,1,1,1,1,1,1,1,4)"), "has 9 axes; at most 8"},
    };
    for (size_t i = 0; i < sizeof descrs / sizeof *descrs; i++) {
        HK_SCOPE;
        fixture_check_message(hk_wait(loaded(make(descrs[i][0], 4))), HK_UNSUPPORTED, descrs[i][1]);
    }
    hk_failures_clear();
}

static void test_hostile(void)
{
    static const struct {
        const char *header;
        size_t data_bytes;
        const char *part;
    } cases[] = {
        {"", 0, "ends where a dictionary should follow"},
        {"[]", 0, "'[' where a dictionary"},
        {"{}", 0, "has no 'descr'"},
        {"{'descr': '<f4'}", 0, "has no 'fortran_order'"},
        {"{'descr': '<f4', 'fortran_order': True}", 0, "has no 'shape'"},
        {"{'descr': '<f4', 'descr': '<f4'}", 0, "the key 'descr' twice"},
        {"{'descr': '<f4', 'colour\n': '<f4'}", 0, "the key 'colour\\x0a'; 'descr'"},
        {"{'descr': '<f4' 'shape'", 0, "''' where a comma or the end"},
        {"{'descr': '<f4", 0, "ends where the quote that ends a text"},
        {"{'descr' '<f4'}", 0, "where a colon"},
        {"{'descr': [(((", 0, "ends where the end of a list"},
        {"{descr: 4}", 0, "'d' where a text in quotes"},
        {HEADER("<f4", "Maybe", "()"), 4, "'M' where True or False"},
        {HEADER("<f4", "False", "2"), 4, "'2' where a tuple"},
        {HEADER("<f4", "False", "(-2,)"), 4, "'-' where a size of an axis"},
        {HEADER("<f4", "False", "(2.5,)"), 4, "'.' where a comma or the end of the shape"},
        {HEADER("<f4", "False", "(,)"), 4, "',' where a size of an axis"},
        {HEADER("<f4", "False", "(9223372036854775808,)"), 4, "where a size below 2^63"},
        {HEADER("<f4", "False", "(4611686018427387904, 4)"), 4, "more than 2^62 bytes"},
        {HEADER("<f4", "False", "(4611686018427387904, 4, 0)"), 0, "more than 2^62 bytes"},
        {HEADER("<f4", "False", "(2,)"), 7,
         "is truncated: its shape and dtype take 8 bytes, it "
         "holds 7"},
        {HEADER("<f4", "False", "(2,)"), 9, "has trailing data"},
        {HEADER("<f4", "False", "(2,)") "x", 8, "'x' where nothing but spaces"},
        {HEADER("<f4", "False",
                "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,"
                "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"),
         4, "too many axes"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        fixture_refused(make(cases[i].header, cases[i].data_bytes), HK_BAD_DATA, cases[i].part);
    static const struct {
        const char *bytes;
        size_t count;
        const char *part;
    } files[] = {
        {"", 0, "is no npy file"},
        {"\x93NUMPY\1\0\0", 9, "is no npy file"},
        {"\x92NUMPY\1\0\0\0{}", 12, "is no npy file"},
        {"\x93NUMPY\0\0\0\0{}", 12, "has version 0.0; 1.0, 2.0 or 3.0"},
        {"\x93NUMPY\4\0\0\0{}", 12, "has version 4.0"},
        {"\x93NUMPY\1\1\0\0{}", 12, "has version 1.1"},
        {"\x93NUMPY\2\0\0\0\0", 11, "is truncated: it has 11 bytes"},
        {"\x93NUMPY\2\0\0\0\1\1{}", 14, "promises a header of 16842752 bytes; at most 65536"},
        {"\x93NUMPY\1\0\2\0{\0", 12, "has '?' where a text in quotes should be"},
        {"\x93NUMPY\1\0\5\0{}", 12, "is truncated: it has 12 bytes"},
    };
    const char *path = fixture_path("made.npy");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        fixture_write(path, files[i].bytes, files[i].count);
        fixture_refused(path, HK_BAD_DATA, files[i].part);
    }
    hk_failures_clear();
}

int main(void)
{
    fixture_begin();
    test_round();
    test_others();
    test_unsupported();
    test_hostile();
    fixture_end();
    return check_result();
}
