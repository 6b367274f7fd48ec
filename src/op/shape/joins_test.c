/* concat and stack of any number of arrays, by name and through gradients, and their refusals. */
#include "tests/check.h"

#include "op/operator_fixture.h"

#include <hocket/call.h>
#include <math.h>

enum { MANY = 45 }; /* more than two levels of groups */

static void test_many(hk_device device)
{
    HK_SCOPE;
    hk_array *parts[MANY], *loss;
    for (int i = 0; i < MANY; i++) {
        parts[i] = hk_full(hk_shape(2, 1), i, HK_F64, device);
        hk_attach_grad(parts[i], HK_GRAD_WRITE);
    }
    hk_record_begin();
    hk_array *joined = hk_concat(parts, MANY, -1), *stacked = hk_stack(parts, MANY, 0);
    loss = hk_multiply(joined, hk_arange(0, MANY, 1, HK_F64, device));
    hk_record_end();
    hk_dims shape = hk_dims_get(stacked);
    CHECK(shape.ndim == 3 && shape.dims[0] == MANY && shape.dims[1] == 2 && shape.dims[2] == 1);
    CHECK(hk_dim(joined, 1) == MANY && hk_dim(joined, 0) == 2);
    CHECK(hk_ok(hk_backward(loss)));
    double *values = read_doubles(joined), *other = read_doubles(stacked);
    for (int i = 0; i < MANY; i++) {
        CHECK(values[i] == i && values[MANY + i] == i);
        CHECK(other[2 * i] == i && other[2 * i + 1] == i);
        double *gradient = read_doubles(hk_grad(parts[i]));
        CHECK(gradient[0] == i && gradient[1] == i);
        free(gradient);
    }
    free(values);
    free(other);
    hk_array *out = hk_zeros(hk_shape(2, MANY), HK_F64, device);
    hk_call_into("concat", out, parts, MANY, &(hk_concat_arguments){.axis = 1});
    values = read_doubles(out);
    CHECK(values[MANY - 1] == MANY - 1);
    free(values);
}

/* Element (row, column) of `parts` arrays side by side, each of whose elements is its number in C order, plus that of the part. */
static double expected_at(const int64_t *widths, int64_t row, int64_t column)
{
    int part = 0;
    for (; column >= widths[part]; part++)
        column -= widths[part];
    return (double)(row * widths[part] + column) + part;
}

/* Long rows and short ones, of several pieces, of arrays that are contiguous or columns of one; called, and captured. */
static void test_rows(hk_device device, int64_t rows, const int64_t *widths, bool has_gaps)
{
    HK_SCOPE;
    enum { PARTS = 3 };
    hk_array *parts[PARTS];
    int64_t columns = 0;
    for (int i = 0; i < PARTS; columns += widths[i++]) {
        hk_array *x = hk_reshape(hk_arange(i, (double)(i + rows * widths[i]), 1, HK_F32, device),
                                 hk_shape(rows, widths[i]));
        parts[i] = has_gaps ? hk_transpose(hk_contiguous(hk_transpose(x))) : x;
    }
    hk_capture_begin(parts, PARTS);
    hk_array *joined = hk_concat(parts, PARTS, 1);
    hk_graph *graph = hk_capture_end(NULL);
    for (int replayed = 0; replayed < 2; replayed++) {
        double *values = read_doubles(joined);
        for (int64_t i = 0; i < rows * columns; i++)
            CHECK(values[i] == expected_at(widths, i / columns, i % columns));
        free(values);
        hk_assign(joined, hk_zeros(hk_shape(1), HK_F32, device));
        hk_replay(graph, parts, PARTS);
    }
    hk_graph_release(graph);
}

/* So many that no call takes all of them, along each axis of three, with nothing noted of it. */
static void test_many_parts(hk_device device)
{
    HK_SCOPE;
    enum { PARTS = 21 };
    hk_array *parts[PARTS];
    for (int axis = 0; axis < 3; axis++) {
        int64_t begin = 0;
        for (int i = 0; i < PARTS; i++) {
            hk_dims shape = hk_shape(7, 11, 130);
            shape.dims[axis] = i % 4 * 9;
            parts[i] = hk_add(hk_random_uniform(shape, HK_F32, device), i);
            if (i == 5)
                parts[i] = hk_transpose(hk_contiguous(hk_transpose(parts[i])));
        }
        hk_array *joined = hk_concat(parts, PARTS, axis - 3);
        for (int i = 0; i < PARTS; begin += hk_dim(parts[i++], axis)) {
            hk_array *part = hk_slice(joined, axis, begin, begin + hk_dim(parts[i], axis));
            CHECK(hk_item(hk_all(hk_equal(part, parts[i]), NULL), NULL) == 1);
        }
        CHECK(hk_dim(joined, axis) == begin);
    }
    parts[9] = hk_cast(hk_full(hk_dims_get(parts[9]), NAN, HK_F32, device), HK_I32);
    parts[9] = hk_cast(parts[9], HK_F32);
    CHECK(!hk_ok(hk_wait(hk_concat(parts, PARTS, 2)))); /* one that fails later */
    hk_failures_clear();
}

static void test_refusals(hk_device device)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(2, 3), HK_F32, device);
    hk_array *y = hk_zeros(hk_shape(3, 3), HK_F32, device);
    CHECK(hk_ok(hk_wait(hk_concat((hk_array *[]){x, y}, 2, 0))));
    CHECK(is_refused(hk_concat((hk_array *[]){x, y}, 2, 1), "array 1 is float32(3,3)"));
    CHECK(is_refused(hk_concat((hk_array *[]){x, hk_cast(x, HK_F64)}, 2, 0), "array 1 is float64"));
    CHECK(is_refused(hk_concat((hk_array *[]){x, NULL}, 2, 0), "array 1 is NULL"));
    CHECK(is_refused(hk_concat(NULL, 0, 0), "count is 0"));
    CHECK(fails_with(hk_concat((hk_array *[]){x, x}, 2, 2), HK_OUT_OF_RANGE, "axis is 2"));
    CHECK(is_refused(hk_call("stack", NULL, 0, &(hk_stack_arguments){0}, device),
                     "takes 1 input at least"));

    /* A refused join fails the gradients of what it was to join. */
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *bad = hk_concat((hk_array *[]){x, y}, 2, 1);
    hk_record_end();
    hk_backward(bad);
    CHECK(is_refused(hk_grad(x), "array 1 is float32(3,3)"));

    hk_array *many[20];
    for (int i = 0; i < 20; i++)
        many[i] = i == 7 ? y : hk_zeros(hk_shape(2, 3), HK_F32, device);
    hk_attach_grad(many[0], HK_GRAD_WRITE);
    hk_attach_grad(many[19], HK_GRAD_WRITE);
    hk_record_begin();
    bad = hk_concat(many, 20, 1);
    hk_record_end();
    hk_backward(bad);
    CHECK(is_refused(hk_grad(many[0]), "array 7 is float32(3,3)"));
    CHECK(is_refused(hk_grad(many[19]), "array 7 is float32(3,3)"));
    hk_failures_clear();
}

/* Rows of each length that is copied in one or two parts, and of more; between others of a larger array. */
static void test_narrow_rows(void)
{
    static const hk_dtype dtypes[] = {HK_U8, HK_I16, HK_F32, HK_F64, HK_C128};
    for (int which = 0; which < 5; which++)
        for (int64_t n = 1; n <= 70; n++) {
            HK_SCOPE;
            const hk_device device = hk_device_default();
            hk_array *x =
                hk_cast(hk_random_int(0, 100, hk_shape(7, n), HK_I32, device), dtypes[which]);
            hk_array *whole = hk_concat((hk_array *[]){x, hk_add(x, 1), x}, 3, 1);
            hk_array *part = hk_copy(hk_slice(whole, 1, n, 2 * n));
            CHECK(hk_item(hk_all(hk_equal(hk_slice(whole, 1, 0, n), x), NULL), NULL) == 1);
            CHECK(hk_item(hk_all(hk_equal(hk_slice(whole, 1, 2 * n, 3 * n), x), NULL), NULL) == 1);
            CHECK(hk_item(hk_all(hk_equal(part, hk_add(x, 1)), NULL), NULL) == 1);
        }
}

int main(void)
{
    hk_device device = hk_device_default();
    test_narrow_rows();
    test_many(device);
    for (int has_gaps = 0; has_gaps < 2; has_gaps++) {
        test_rows(device, 301, (const int64_t[]){701, 0, 299}, has_gaps);
        test_rows(device, 30011, (const int64_t[]){5, 3, 1}, has_gaps);
        test_rows(device, 1, (const int64_t[]){100000, 7, 99999}, has_gaps);
    }
    test_many_parts(device);
    test_refusals(device);
    const hk_status *status = hk_wait_all();
    CHECK(hk_ok(status));
    return check_result();
}
