/* Inverses and equations of complex matrices, by real ones of twice the size: a + i b is (a -b; b a), which are multiplied and
 * inverted as complex numbers are. All is made of operators that have gradients. */
#include "op/op.h"
#include "op/shape/join.h"

static hk_array *joined(hk_array *first, hk_array *second, int64_t axis)
{
    return hki_concat((hk_array *const[]){first, second}, 2, axis);
}

static hk_array *of_parts(hk_array *x)
{
    hk_array *real = hki_op_call1(&hki_op_real, x, NULL),
             *imag = hki_op_call1(&hki_op_imag, x, NULL);
    hk_array *above = joined(real, hki_op_call1(&hki_op_negative, imag, NULL), -1);
    return joined(above, joined(imag, real, -1), -2);
}

/* The first half along an axis is real, the second one imaginary. */
static hk_array *of_halves(hk_array *x, int axis, int64_t half)
{
    return hki_op_call2(&hki_op_complex_of, (hk_slice)(x, axis, 0, half),
                        (hk_slice)(x, axis, half, 2 * half), NULL);
}

static hk_array *inv_compose(const hki_call *call)
{
    const int64_t n = call->out_shape[0].dims[call->out_shape[0].ndim - 1];
    hk_array *inverse = hki_op_call1(&hki_op_inv, of_parts(call->arrays[0]), NULL);
    return of_halves((hk_slice)(inverse, -1, 0, n), -2, n);
}

static hk_array *solve_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0], *b = call->arrays[1];
    const int axis = b->shape.ndim == 1 ? -1 : -2;
    const int64_t n = x->shape.dims[x->shape.ndim - 1];
    hk_array *right =
        joined(hki_op_call1(&hki_op_real, b, NULL), hki_op_call1(&hki_op_imag, b, NULL), axis);
    return of_halves(hki_op_call2(&hki_op_solve, of_parts(x), right, NULL), axis, n);
}

static bool infer_as(hki_call *call)
{
    const hk_op *own = call->op;
    call->op = own->data;
    const bool ok = call->op->infer(call);
    call->op = own;
    return ok;
}

#define OF_MATRICES(op, inputs)                                                                    \
    const hk_op hki_op_complex_##op = {                                                            \
        HKI_OP_NAMED(complex_##op),                                                                \
        .signature = inputs,                                                                       \
        .doc = "hk_" #op " of complex numbers.",                                                   \
        .dtypes = HKI_COMPLEX,                                                                     \
        .internal = true,                                                                          \
        .host_only = true,                                                                         \
        .infer = infer_as,                                                                         \
        .compose = op##_compose,                                                                   \
        .untested = "complex_test.c tests it",                                                     \
        .data = &hki_op_##op,                                                                      \
    }
OF_MATRICES(inv, "x");
OF_MATRICES(solve, "x, b");
