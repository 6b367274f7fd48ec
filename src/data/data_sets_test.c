/* Data sets of arrays, tables and CIFAR's files: values, dtypes, shapes; refusals that name the place. */
#include "tests/io_fixture.h"

#include "data/loader_fixture.h"

#include <hocket/data_sets.h>
#include <math.h>

static hk_device device(int i)
{
    return hk_device_at(i);
}

static const char *write_text(const char *name, const char *text)
{
    const char *path = fixture_path(name);
    fixture_write(path, text, strlen(text));
    return path;
}

/* The values of field f of the whole set, in order, by a loader on two devices. */
static void read_field(hk_data_set *set, int f, void *to, size_t bytes)
{
    const hk_device devices[] = {device(0), device(1)};
    const int64_t size = hk_data_set_size(set);
    hk_loader *loader = hk_loader_create(
        set, &(hk_loader_options){.batch_size = size, .devices = devices, .device_count = 2});
    HK_SCOPE;
    hk_array *arrays[2 * HK_DATA_MOST_FIELDS];
    CHECK(hk_loader_next_fields(loader, arrays, f + 1));
    size_t used = 0;
    for (int d = 0; d < 2; d++) {
        hk_array *x = arrays[f * 2 + d];
        const size_t part = (size_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
        CHECK(used + part <= bytes);
        if (used + part <= bytes)
            CHECK(!hk_status_print(hk_to_host(x, (char *)to + used, part), stderr));
        used += part;
    }
    CHECK_EQ_I64(used, bytes);
    hk_loader_release(loader);
}

/* ---- arrays ---------------------------------------------------------------------------------------------- */

static void test_arrays(void)
{
    HK_SCOPE;
    int16_t x[7 * 6], found[7 * 6];
    double y[7], found_y[7];
    for (int i = 0; i < 42; i++)
        x[i] = (int16_t)(i * 37 - 500);
    for (int i = 0; i < 7; i++)
        y[i] = i / 3.0;
    hk_array *fields[] = {
        hk_from_host(x, hk_shape(7, 2, 3), HK_I16, device(1)),
        hk_from_host(y, hk_shape(7), HK_F64, device(0)),
        hk_transpose(hk_from_host(x, hk_shape(6, 7), HK_I16, device(0))), /* strided */
        hk_zeros(hk_shape(7, 0), HK_F32, device(0))};
    hk_data_set *set = hk_data_set_of_arrays(fields, 4);
    CHECK(!hk_status_print(hk_data_set_status(set), stderr));
    CHECK(hk_data_set_size(set) == 7 && hk_data_set_field_count(set) == 4);
    CHECK(hk_data_set_channels(set) == 0);
    hk_multiply_into(fields[1], fields[1], 0); /* the set has a copy */
    read_field(set, 0, found, sizeof found);
    CHECK(!memcmp(x, found, sizeof x));
    read_field(set, 1, found_y, sizeof found_y);
    CHECK(!memcmp(y, found_y, sizeof y));
    read_field(set, 2, found, sizeof found);
    for (int i = 0; i < 42; i++)
        CHECK(found[i] == x[i % 6 * 7 + i / 6]);
    read_field(set, 3, found, 0);
    hk_data_set_release(set);
}

static void check_set_fails(hk_data_set *set, hk_code code, const char *text)
{
    fixture_check_message(hk_data_set_status(set), code, text);
    CHECK(hk_data_set_size(set) == 0 && hk_data_set_field_count(set) == 0);
    hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 3});
    CHECK(hk_status_code(hk_loader_status(loader)) == code);
    hk_loader_release(loader);
    hk_data_set_release(set);
}

static void test_array_refusals(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(4, 2), HK_F32, device(0));
    hk_array *shorter = hk_zeros(hk_shape(3), HK_F32, device(0));
    hk_array *failed = hk_reshape(x, hk_shape(5));
    const hk_code bad = HK_INVALID_ARGUMENT;
    check_set_fails(hk_data_set_of_arrays(NULL, 1), bad, "1 to 8 arrays would be right");
    check_set_fails(hk_data_set_of_arrays(&x, 0), bad, "count is 0");
    check_set_fails(hk_data_set_of_arrays((hk_array *[]){x, NULL}, 2), bad, "arrays[1] is NULL");
    check_set_fails(hk_data_set_of_arrays((hk_array *[]){x, shorter}, 2), bad,
                    "arrays[1] is float32(3,)");
    check_set_fails(hk_data_set_of_arrays((hk_array *[]){x, failed}, 2), bad, "");
    hk_array *scalar = hk_zeros(hk_shape(), HK_F32, device(0));
    check_set_fails(hk_data_set_of_arrays(&scalar, 1), bad, "arrays[0] is float32()");
    hk_wait_all();
    hk_failures_clear();
}

/* ---- tables ---------------------------------------------------------------------------------------------- */

static void test_csv(void)
{
    HK_SCOPE;
    const char *path = write_text("a.csv", "\xef\xbb\xbf\"area, m2\", rooms ,kind\r\n"
                                           "\r\n"
                                           " 1.5,2,0\r\n"
                                           "-3e2,\"4\" ,2\n"
                                           "  \n"
                                           ",inf,1");
    const double expected[] = {1.5, 2, 0, -300, 4, 2, NAN, INFINITY, 1};
    const hk_csv_options header = {.has_header = true};
    double found[9];
    hk_array *table = hk_csv_load(path, &header);
    CHECK(hk_dim(table, 0) == 3 && hk_dim(table, 1) == 3);
    CHECK(!hk_status_print(hk_to_host(table, found, sizeof found), stderr));
    for (int i = 0; i < 9; i++)
        CHECK(found[i] == expected[i] || (isnan(found[i]) && isnan(expected[i])));

    float x[6], y[6];
    int64_t classes[3];
    hk_data_set *set = hk_data_set_of_csv(path, -1, &header);
    CHECK(hk_data_set_class_count(set) == 3 && hk_data_set_field_shape(set, 1).ndim == 0);
    read_field(set, 0, x, sizeof x);
    read_field(set, 1, classes, sizeof classes);
    CHECK(x[0] == 1.5f && x[3] == 4 && isnan(x[4]) && classes[1] == 2 && classes[2] == 1);
    hk_data_set_release(set);
    set = hk_data_set_of_csv(path, 2, &header);
    read_field(set, 1, y, sizeof y);
    CHECK(y[0] == 2 && y[1] == 0 && y[4] == INFINITY);
    hk_data_set_release(set);
    set = hk_data_set_of_csv(path, 0, &header);
    CHECK(hk_data_set_field_count(set) == 1 && hk_data_set_field_shape(set, 0).dims[0] == 3);
    hk_data_set_release(set);

    path = write_text("na.csv", "1,NA,\"NA\"\n");
    table = hk_csv_load(path, NULL);
    CHECK(hk_item(hk_count_nonzero(hk_isnan(table), NULL), NULL) == 2);

    path = write_text("b.tsv", "1\t2\r3 \t\n");
    table = hk_csv_load(path, &(hk_csv_options){.delimiter = '\t'});
    CHECK(hk_dim(table, 0) == 2 && hk_item(hk_index(hk_index(table, 0, 1), 0, 0), NULL) == 3);
}

static void test_csv_refusals(void)
{
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"", "has no line of numbers"},
        {"\n \r\n\n", "has no line of numbers"},
        {"1,2\n3\n", "line 2 has 1 fields; 2, as in the first line"},
        {"1,2\n3,4,5\n", "line 2 has 3 fields"},
        {"1,2\n\n3,x7\n", "line 3, column 2: no number: \"x7\""},
        {"1,2 3\n",
         "line 1, column 2: no number; where the first line has names, the option has_header"},
        {"\"1", "a quote that is not closed"},
        {"\"1\"2,3", "text behind a quote: \"2,3\""},
        {"\"1\"\"2\"", "no number"},
        {"1,2\n1,0x1p\x01q", "no number: \"0x1p\\x01q\""},
        {"1,NAN1\n", "no number"},
    };
    HK_SCOPE;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *path = write_text("bad.csv", cases[i].text);
        fixture_check_message(hk_wait(hk_csv_load(path, NULL)), HK_BAD_DATA, cases[i].says);
        check_set_fails(hk_data_set_of_csv(path, 0, NULL), HK_BAD_DATA, "bad.csv");
    }
    const char *path = write_text("few.csv", "1,2\n3,4.5\n");
    fixture_check_message(hk_wait(hk_csv_load(path, &(hk_csv_options){.byte_limit = 24})),
                          HK_BAD_DATA, "has more than 3 numbers");
    fixture_check_message(hk_wait(hk_csv_load(path, &(hk_csv_options){.byte_limit = 4})),
                          HK_BAD_DATA, "has 10 bytes; at most 4");
    fixture_check_message(hk_wait(hk_csv_load(path, &(hk_csv_options){.delimiter = '"'})),
                          HK_INVALID_ARGUMENT, "option delimiter");
    fixture_check_message(hk_wait(hk_csv_load(NULL, NULL)), HK_INVALID_ARGUMENT, "path");
    fixture_check_message(hk_wait(hk_csv_load("/nowhere/x", NULL)), HK_NOT_FOUND, "/nowhere/x");
    fixture_check_message(hk_wait(hk_csv_load("/dev/null", NULL)), HK_IO, "/dev/null");
    check_set_fails(hk_data_set_of_csv(path, -1, NULL), HK_BAD_DATA,
                    "the class of sample 1 is 4.5");
    check_set_fails(hk_data_set_of_csv(path, 2, NULL), HK_INVALID_ARGUMENT, "targets is 2");
    check_set_fails(hk_data_set_of_csv(path, -2, NULL), HK_INVALID_ARGUMENT, "targets is -2");
    hk_wait_all();
    hk_failures_clear();
}

/* ---- CIFAR ----------------------------------------------------------------------------------------------- */

enum { CIFAR_PIXELS = 3072 };

static const char *write_cifar(const char *name, int labels, int count, int first)
{
    const char *path = fixture_path(name);
    FILE *file = fopen(path, "wb");
    for (int i = 0; i < count; i++) {
        if (labels == 2)
            putc(77, file);
        putc((first + i) % 10, file);
        for (int p = 0; p < CIFAR_PIXELS; p++)
            putc((first + i + p * 7) & 255, file);
    }
    fclose(file);
    return path;
}

static void test_cifar(void)
{
    static float images[5 * CIFAR_PIXELS];
    int64_t labels[5];
    for (int kind = 1; kind <= 2; kind++) {
        const char *paths[] = {write_cifar("one.bin", kind, 2, 3),
                               write_cifar("two.bin", kind, 3, 5)};
        hk_data_set *set = hk_data_set_of_cifar(paths, 2, kind == 1 ? 10 : 100);
        CHECK(!hk_status_print(hk_data_set_status(set), stderr));
        CHECK(hk_data_set_size(set) == 5 && hk_data_set_channels(set) == 3);
        CHECK(hk_data_set_height(set) == 32 && hk_data_set_width(set) == 32);
        read_field(set, 0, images, sizeof images);
        read_field(set, 1, labels, sizeof labels);
        int wrong = 0;
        for (int i = 0; i < 5; i++) {
            wrong += labels[i] != 3 + i;
            for (int p = 0; p < CIFAR_PIXELS; p++)
                wrong += images[i * CIFAR_PIXELS + p] != (float)((3 + i + p * 7) & 255) / 255.0f;
        }
        CHECK_EQ_I64(wrong, 0);
        hk_data_set_release(set);
    }
    const char *path = write_cifar("three.bin", 1, 2, 0);
    check_set_fails(hk_data_set_of_cifar(&path, 1, 100), HK_BAD_DATA,
                    "has 6146 bytes; records of 3074");
    check_set_fails(hk_data_set_of_cifar(&path, 1, 11), HK_INVALID_ARGUMENT, "class_count 11");
    FILE *file = fopen(path, "r+b");
    fseek(file, CIFAR_PIXELS + 1, SEEK_SET);
    putc(10, file);
    fclose(file);
    check_set_fails(hk_data_set_of_cifar(&path, 1, 10), HK_BAD_DATA, "label 1 is 10; 0 to 9");
    path = write_text("empty.bin", "");
    check_set_fails(hk_data_set_of_cifar(&path, 1, 10), HK_BAD_DATA, "has 0 bytes");
    path = "/nowhere/x";
    check_set_fails(hk_data_set_of_cifar(&path, 1, 10), HK_NOT_FOUND, "/nowhere/x");
}

int main(void)
{
    fixture_begin();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    test_arrays();
    test_array_refusals();
    test_csv();
    test_csv_refusals();
    test_cifar();
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    fixture_end();
    return check_result();
}
