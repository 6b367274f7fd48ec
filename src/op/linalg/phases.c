#include "op/linalg/phases.h"

#include "op/linalg/linalg.h"
#include "op/reduce/reduce.h"

static hk_array *by(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

/* In one row. */
static hk_array *column_sums(hk_array *x)
{
    const hki_sum_options columns = {.axes = {.ndim = 1, .dims = {-2}}, .keepdims = true};
    return hki_op_call1(&hki_op_sum, x, &columns);
}

hk_array *hki_angles_of(hk_array *dy, hk_array *v)
{
    if (!dy)
        return NULL;
    hk_array *products = hki_op_call2(&hki_op_complex_multiply_conj, v, dy, NULL);
    return hki_op_call1(&hki_op_imag, column_sums(products), NULL);
}

hk_array *hki_imaginary(hk_array *x)
{
    return hki_op_call2(&hki_op_complex_of, hki_op_call1(&hki_op_zeros_like, x, NULL), x, NULL);
}

/* 1 where the largest elements are, else 0. */
static hk_array *places_of_largest(hk_array *v, hk_dtype dtype)
{
    const struct {
        int64_t classes;
        hk_dtype dtype;
    } each = {v->shape.dims[v->shape.ndim - 2], dtype};
    hk_array *largest =
        hki_op_call1(&hki_op_argmax, hki_op_call1(&hki_op_abs, v, NULL), &(const int64_t){-2});
    return hki_matrix_adjoint(hki_op_call1(&hki_op_one_hot, largest, &each));
}

hk_array *hki_unturned(hk_array *dy, hk_array *angles, hk_array *v)
{
    hk_array *place = places_of_largest(v, angles->dtype);
    hk_array *largest = column_sums(by(place, hki_op_call1(&hki_op_real, v, NULL)));
    hk_array *turned = by(place, hki_op_call2(&hki_op_divide, angles, largest, NULL));
    return dy ? hki_op_call2(&hki_op_add, dy, hki_imaginary(turned), NULL) : hki_imaginary(turned);
}
