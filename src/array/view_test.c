/* Views: what they show, what they refuse, and that they share. */
#include "tests/check.h"

#include "array/test_tasks.h"

#include <string.h>

#define HOLDS(x, ...)                                                                              \
    CHECK(test_holds(x, (const float[]){__VA_ARGS__},                                              \
                     sizeof((const float[]){__VA_ARGS__}) / sizeof(float)))

static hk_array *matrix(void)
{
    return test_range(hk_shape(3, 4));
}

static void test_slice(void)
{
    HK_SCOPE;
    hk_array *x = matrix();
    HOLDS(hk_slice(x, 0, 1, 2), 4, 5, 6, 7);
    HOLDS(hk_slice(x, 1, 1, 3), 1, 2, 5, 6, 9, 10);
    HOLDS(hk_slice(x, -1, -2, 4), 2, 3, 6, 7, 10, 11);
    HOLDS(hk_slice(hk_slice(x, 0, 1, 3), 1, 3, 4), 7, 11);
    CHECK(hk_is_contiguous(hk_slice(x, 0, 1, 3)));
    CHECK(!hk_is_contiguous(hk_slice(x, 1, 1, 3)));
    hk_array *empty = hk_slice(x, 1, 4, 4);
    CHECK_EQ_I64(hk_ndim(empty), 2);
    CHECK_EQ_I64(hk_dim(empty, 0), 3);
    CHECK_EQ_I64(hk_dim(empty, 1), 0);
    CHECK_EQ_I64(hk_size(empty), 0);
    CHECK(hk_ok(hk_to_host(empty, NULL, 0)));

    CHECK(test_failed(hk_slice(x, 2, 0, 1), HK_OUT_OF_RANGE,
                      "axis is 2, but float32(3,4) has axes -2 to 1"));
    CHECK(test_failed(hk_slice(x, 0, 4, 4), HK_OUT_OF_RANGE,
                      "begin is 4, but along axis 0 of float32(3,4) it must be from -3 to 3"));
    CHECK(test_failed(hk_slice(x, -1, 0, 5), HK_OUT_OF_RANGE,
                      "end is 5, but along axis 1 of float32(3,4) it must be from -4 to 4"));
    CHECK(test_failed(hk_slice(x, 0, INT64_MIN, INT64_MAX), HK_OUT_OF_RANGE, "begin is -922"));
    CHECK(test_failed(hk_slice(x, 0, 2, 1), HK_OUT_OF_RANGE,
                      "begin is 2 and end 1 along axis 0 of float32(3,4): begin must not lie"));
    CHECK(test_failed(hk_slice(NULL, 0, 0, 1), HK_INVALID_ARGUMENT, "argument x is NULL"));
    CHECK(test_failed(hk_slice(hk_index(hk_index(x, 0, 0), 0, 0), 0, 0, 1), HK_OUT_OF_RANGE,
                      "axis is 0, but float32() has no axes"));
}

static void test_index(void)
{
    HK_SCOPE;
    hk_array *x = matrix();
    HOLDS(hk_index(x, 0, 1), 4, 5, 6, 7);
    HOLDS(hk_index(x, 1, -1), 3, 7, 11);
    hk_array *element = hk_index(hk_index(x, 0, 2), 0, 1);
    CHECK_EQ_I64(hk_ndim(element), 0);
    CHECK(hk_item(element, NULL) == 9);
    CHECK(test_failed(hk_index(x, 0, 3), HK_OUT_OF_RANGE,
                      "index is 3, but along axis 0 of float32(3,4) it must be from -3 to 2"));
    CHECK(test_failed(hk_index(hk_slice(x, 0, 0, 0), 0, 0), HK_OUT_OF_RANGE,
                      "index is 0, but axis 0 of float32(0,4) has no entries"));
    CHECK(test_failed(hk_index(x, -3, 0), HK_OUT_OF_RANGE, "axis is -3"));
    CHECK(test_failed(hk_index(NULL, 0, 0), HK_INVALID_ARGUMENT, "argument x is NULL"));
}

static void test_permute(void)
{
    HK_SCOPE;
    hk_array *x = matrix(), *y = test_range(hk_shape(2, 2, 3));
    HOLDS(hk_transpose(x), 0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11);
    CHECK(!hk_is_contiguous(hk_transpose(x)));
    CHECK(hk_is_contiguous(hk_transpose(hk_transpose(x))));
    CHECK_EQ_I64(hk_ndim(hk_transpose(hk_scalar(1, HK_F32, hk_device_default()))), 0);
    hk_array *z = hk_transpose(y);
    CHECK(hk_dim(z, 0) == 3 && hk_dim(z, 1) == 2 && hk_dim(z, 2) == 2);
    HOLDS(z, 0, 6, 3, 9, 1, 7, 4, 10, 2, 8, 5, 11);
    CHECK(test_failed(hk_transpose(NULL), HK_INVALID_ARGUMENT, "argument x is NULL"));
}

static void test_broadcast(void)
{
    HK_SCOPE;
    hk_array *x = test_range(hk_shape(3)), *column = test_range(hk_shape(2, 1));
    HOLDS(hk_broadcast_to(x, hk_shape(2, 3)), 0, 1, 2, 0, 1, 2);
    HOLDS(hk_broadcast_to(column, hk_shape(2, 3)), 0, 0, 0, 1, 1, 1);
    HOLDS(hk_transpose(hk_broadcast_to(column, hk_shape(2, 2))), 0, 1, 0, 1);
    CHECK_EQ_I64(hk_size(hk_broadcast_to(column, hk_shape(2, 0))), 0);
    CHECK(test_failed(hk_broadcast_to(x, hk_shape(3, 2)), HK_INVALID_ARGUMENT,
                      "shape is (3,2), but float32(3,) only stretches along axes of size 1"));
    CHECK(test_failed(hk_broadcast_to(column, hk_shape(2)), HK_INVALID_ARGUMENT, "shape is (2,)"));
    CHECK(test_failed(hk_broadcast_to(x, hk_shape(-1, 3)), HK_INVALID_ARGUMENT,
                      "axis 0 must have a size of 0 or more, not -1"));
    CHECK(test_failed(hk_broadcast_to(column, hk_shape(2, (int64_t)1 << 62)), HK_INVALID_ARGUMENT,
                      "2^62 bytes"));
    CHECK(
        test_failed(hk_broadcast_to(NULL, hk_shape(1)), HK_INVALID_ARGUMENT, "argument x is NULL"));
    hk_array *view = hk_broadcast_to(x, hk_shape(3));
    CHECK(view->read_only && hk_slice(view, 0, 0, 1)->read_only && !x->read_only);
    hk_write(hk_slice(view, 0, 0, 1), &(float){5}, sizeof(float));
    CHECK(test_failed(x, HK_INVALID_ARGUMENT,
                      "x is a broadcast view or memory for reading, float32(1,)"));
    HOLDS(hk_slice(x, 0, 1, 3), 1, 2);
    hk_recover(x);
    HOLDS(x, 0, 1, 2);
}

static hk_array *view(hk_array *x, hk_dims shape, int64_t first, int64_t second, int64_t offset)
{
    return hk_view(x, shape, (const int64_t[]){first, second}, offset);
}

static void test_any_view(void)
{
    HK_SCOPE;
    hk_array *x = matrix(), *line = test_range(hk_shape(6));
    HOLDS(view(x, hk_shape(2, 2), 4, 2, 1), 1, 3, 5, 7);
    HOLDS(hk_view(x, hk_shape(2, 6), NULL, 0), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11);
    HOLDS(hk_view(x, hk_shape(), NULL, 11), 11);
    HOLDS(view(hk_slice(x, 1, 1, 3), hk_shape(2, 3), 4, 1, 0), 1, 2, 3, 5, 6,
          7); /* its gaps, too */
    hk_array *windows = view(line, hk_shape(4, 3), 1, 1, 0);
    HOLDS(windows, 0, 1, 2, 1, 2, 3, 2, 3, 4, 3, 4, 5);
    CHECK(windows->read_only && !view(x, hk_shape(2, 2), 4, 2, 1)->read_only);
    CHECK(hk_view(windows, hk_shape(2), NULL, 0)->read_only);
    CHECK_EQ_I64(hk_size(hk_view(x, hk_shape(0), NULL, 12)), 0);
    const hk_dims strides = hk_strides_get(hk_transpose(x));
    CHECK(strides.ndim == 2 && strides.dims[0] == 1 && strides.dims[1] == 4);
    CHECK_EQ_I64(hk_strides_get(NULL).ndim, 0);
    CHECK(test_failed(view(x, hk_shape(2, 2), 4, 2, 6), HK_OUT_OF_RANGE,
                      "offset is 6 and the view spans 7 elements from there, but float32(3,4) "
                      "spans 12"));
    CHECK(test_failed(view(x, hk_shape(2, 2), 1, 1, -1), HK_OUT_OF_RANGE, "offset is -1"));
    CHECK(test_failed(view(x, hk_shape(2, 2), 1, 1, INT64_MAX), HK_OUT_OF_RANGE, "offset is"));
    CHECK(test_failed(view(x, hk_shape(9, 9), INT64_MAX / 4, 1, 0), HK_OUT_OF_RANGE, "more than"));
    hk_array *back = view(x, hk_shape(3, 4), -4, 1, 8);
    HOLDS(back, 8, 9, 10, 11, 4, 5, 6, 7, 0, 1, 2, 3);
    HOLDS(view(back, hk_shape(2, 2), 4, -2, -5), 3, 1, 7, 5);
    CHECK(!back->read_only && view(x, hk_shape(2, 2), 1, -1, 3)->read_only);
    CHECK(test_failed(view(x, hk_shape(2, 2), -4, 1, 3), HK_OUT_OF_RANGE,
                      "spans 6 elements from there in both directions"));
    CHECK(test_failed(view(x, hk_shape(9, 9), INT64_MIN / 4, -1, 0), HK_OUT_OF_RANGE, "more than"));
    CHECK(test_failed(view(back, hk_shape(2, 2), 1, 4, -9), HK_OUT_OF_RANGE, "offset is -9"));
    CHECK(test_failed(hk_view(x, hk_shape(-2), NULL, 0), HK_INVALID_ARGUMENT, "axis 0"));
    CHECK(test_failed(hk_view(hk_slice(x, 1, 1, 3), hk_shape(12), NULL, 0), HK_OUT_OF_RANGE,
                      "float32(3,2) spans 10"));
    CHECK(test_failed(hk_view(NULL, hk_shape(2), NULL, 0), HK_INVALID_ARGUMENT, "x is NULL"));
}

static void test_sharing(void)
{
    HK_SCOPE;
    hk_array *x = matrix();
    hk_array *row = hk_take(hk_index(x, 0, 1)), *column = hk_index(x, 1, 0);
    hk_write(row, (const float[]){-1, -2, -3, -4}, 16);
    HOLDS(x, 0, 1, 2, 3, -1, -2, -3, -4, 8, 9, 10, 11);
    hk_write(column, (const float[]){20, 21, 22}, 12); /* with gaps */
    HOLDS(row, 21, -2, -3, -4);
    hk_write(hk_transpose(hk_slice(x, 1, 2, 4)), (const float[]){1, 2, 3, 4, 5, 6}, 24);
    HOLDS(x, 20, 1, 1, 4, 21, -2, 2, 5, 22, 9, 3, 6);
    hk_array_release(row);
}

/* What is told to the engine of what a view spans. */
static void test_accesses(void)
{
    HK_SCOPE;
    hk_array *x = matrix();
    struct {
        hk_array *x;
        uint64_t begin, end;
        bool heals;
        uint32_t pitch;
    } cases[] = {
        {x, 0, 48, true, 0},
        {hk_transpose(x), 0, 48, true, 0},
        {hk_slice(x, 0, 1, 3), 16, 48, true, 0},
        {hk_slice(x, 1, 1, 3), 4, 44, true, 16},
        {hk_transpose(hk_slice(x, 1, 1, 3)), 4, 44, true, 16},
        {hki_array_view(x, hk_shape(3, 2), (const int64_t[]){4, 2}, 0), 0, 44, false, 16},
        {hki_array_view(x, hk_shape(2, 4), (const int64_t[]){8, 1}, 0), 0, 48, true, 32},
        {hki_array_view(x, hk_shape(3, 2), (const int64_t[]){-4, 1}, 9), 4, 44, true, 16},
        {hk_index(x, 1, 2), 8, 44, true, 16},
        {hk_index(x, 0, 2), 32, 48, true, 0},
        {hk_slice(hk_slice(x, 1, 1, 2), 0, 1, 2), 20, 24, true, 0},
        {hk_broadcast_to(hk_slice(x, 1, 0, 1), hk_shape(3, 2)), 0, 36, false, 16},
        {hk_slice(x, 0, 3, 3), 48, 49, true, 0},
        {hk_slice(x, 1, 4, 4), 48, 49, true, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        hki_access access = hki_array_access(cases[i].x, HKI_WRITE | HKI_HEAL);
        CHECK_EQ_I64(access.begin, cases[i].begin);
        CHECK_EQ_I64(access.end, cases[i].end);
        CHECK_EQ_I64(access.pitch, cases[i].pitch);
        CHECK((access.mode & HKI_HEAL) == (cases[i].heals ? HKI_HEAL : 0));
        CHECK(access.mode & HKI_WRITE);
    }
    /* Overlapping, with gaps, and as many elements as its range has places. */
    hk_array *odd = hki_array_view(x, hk_shape(2, 2), (const int64_t[]){3, 0}, 0);
    CHECK(!(hki_array_access(odd, HKI_WRITE | HKI_HEAL).mode & HKI_HEAL));
    hk_array *reverse = hki_array_view(x, hk_shape(12), (const int64_t[]){-1}, 11);
    CHECK(hki_array_access(reverse, HKI_WRITE | HKI_HEAL).mode & HKI_HEAL);
    HOLDS(hk_slice(reverse, 0, 0, 3), 11, 10, 9);
}

static hk_array *recorded_source, *recorded_view;
static int recorded_count;

static void record(hk_array *source, hk_array *view)
{
    recorded_source = source;
    recorded_view = view;
    recorded_count++;
}

static void test_record(void)
{
    HK_SCOPE;
    hk_array *x = matrix();
    recorded_count = 0;
    hki_hooks.tape_record_view = record;
    hk_array *view = hk_slice(x, 0, 0, 1);
    CHECK(recorded_count == 1 && recorded_source == x && recorded_view == view);
    hk_array *stretched = hk_broadcast_to(view, hk_shape(2, 4));
    CHECK(recorded_count == 2 && recorded_source == view && recorded_view == stretched);
    CHECK(stretched->read_only);
    hk_slice(hk_slice(x, 5, 0, 1), 0, 0, 1);
    CHECK_EQ_I64(recorded_count, 4); /* refused views, and views of failed arrays, too */
    hki_hooks.tape_record_view = NULL;
}

static void test_facts(void)
{
    HK_SCOPE;
    char text[256];
    hk_array *x = matrix(), *failed = hk_slice(x, 9, 0, 0);
    CHECK(hk_ndim(x) == 2 && hk_dim(x, 0) == 3 && hk_dim(x, -1) == 4 && hk_dim(x, 2) == 0);
    CHECK(hk_dim(x, -3) == 0 && hk_size(x) == 12 && hk_array_dtype(x) == HK_F32);
    CHECK(hk_array_device(x).handle == hk_device_default().handle);
    CHECK(hk_dims_get(x).dims[1] == 4);
    CHECK(hk_ndim(failed) == 0 && hk_size(failed) == 0 && hk_array_dtype(failed) == HK_F32);
    CHECK(hk_dim(failed, 0) == 0);
    CHECK(hk_ndim(NULL) == 0 && hk_size(NULL) == 0 && hk_dim(NULL, 0) == 0);
    CHECK(hk_array_dtype(NULL) == HK_F32 && !hk_is_contiguous(NULL));
    CHECK(hk_array_device(NULL).handle == hk_device_default().handle);
    hki_arrays_describe((hk_array *const[]){x, NULL, failed}, 3, text, sizeof text);
    CHECK_STR(text, "float32(3,4), NULL, failed");
    hki_arrays_describe((hk_array *const[]){x, x, x, x}, 4, text, 40);
    CHECK_STR(text, "float32(3,4), float32(3,4), …");
}

enum { NOWHERE = -1000 };

/* Whether `view` lies within `of` from that element on; and is then made again. */
static bool lies_within(hk_array *view, hk_array *of, int64_t expected)
{
    int64_t offset = -1;
    if (!hk_is_within(view, of, &offset))
        return offset == -1 && expected == NOWHERE;
    const hk_dims strides = hk_strides_get(view);
    hk_array *again = hk_view(of, hk_dims_get(view), strides.dims, offset);
    return offset == expected && again->storage == view->storage && again->offset == view->offset;
}

static void test_within(void)
{
    HK_SCOPE;
    hk_array *x = matrix(), *rows = hk_slice(x, 0, 1, 3);
    CHECK(lies_within(x, x, 0) && lies_within(rows, x, 4) && lies_within(x, rows, NOWHERE));
    CHECK(lies_within(hk_index(rows, 0, 1), x, 8) && lies_within(hk_index(rows, 0, 1), rows, 4));
    CHECK(lies_within(hk_transpose(rows), x, 4) && lies_within(hk_transpose(x), x, 0));
    CHECK(lies_within(hk_slice(x, 0, 0, 2), rows, NOWHERE) &&
          lies_within(hk_index(x, 0, 0), rows, NOWHERE));
    hk_array *back = view(x, hk_shape(3, 4), -4, 1, 8), *both = view(x, hk_shape(3, 4), -4, -1, 11);
    CHECK(lies_within(back, x, 8) && lies_within(both, x, 11) && lies_within(x, both, -11));
    CHECK(lies_within(rows, both, -7) && lies_within(back, both, -3) &&
          lies_within(back, rows, NOWHERE));
    CHECK(lies_within(matrix(), x, NOWHERE) && lies_within(hk_slice(x, 0, 1, 1), x, NOWHERE));
    CHECK(lies_within(NULL, x, NOWHERE) && lies_within(x, NULL, NOWHERE));
    hk_array *failed = hk_slice(x, 3, 0, 1);
    CHECK(lies_within(failed, x, NOWHERE) && lies_within(x, failed, NOWHERE));
    hk_failures_clear();
}

static void test_all(bool serial)
{
    (void)serial;
    test_slice();
    test_index();
    test_permute();
    test_broadcast();
    test_any_view();
    test_sharing();
    test_accesses();
    test_record();
    test_facts();
    test_within();
}

int main(void)
{
    test_engines(test_all, (hk_runtime_options){0});
    return check_result();
}
