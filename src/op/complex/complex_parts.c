/* Sums and products of complex numbers, made of those of their parts. */
#include "op/complex/complex.h"
#include "op/matmul/matrix.h"
#include "op/reduce/reduce.h"
#include "op/shape/copy.h"
#include "op/shape/fill.h"
#include "op/shape/reshape.h"

enum { COPIED_FROM = 1024 };

/* ---- by parts ---------------------------------------------------------------------------------------------- */

static hk_array *pair(hk_array *real, hk_array *imag)
{
    return hki_op_call2(&hki_op_complex_of, real, imag, NULL);
}

hk_array *hki_compose_by_parts(const hki_call *call)
{
    const hk_op *of = call->op->data;
    hk_array *parts[2];
    for (int i = 0; i < 2; i++) {
        hk_array *x = hki_array_part(call->arrays[0], i);
        /* Sums of what lies apart take longer than a copy. */
        parts[i] = hki_op_call1(of, x->size > COPIED_FROM ? hki_op_call1(&hki_op_copy, x, NULL) : x,
                                call->options);
    }
    return pair(parts[0], parts[1]);
}

/* As that operator does with an array of real numbers; what it infers does not depend on the dtype but by hki_sum_dtype. */
static bool infer_as(hki_call *call)
{
    const hk_op *of = call->op->data, *own = call->op;
    call->op = of;
    const bool ok = of->infer(call);
    call->op = own;
    return ok;
}

static void grad_as(hki_grad_call *call)
{
    const hk_op *of = call->op->data;
    of->grad(call);
}

HKI_OPTIONS_TABLE(sum, REDUCE_OPTIONS)
#define SUM_TO_ARGUMENTS(F, op) F(op, DIMS, shape, "", "one that broadcasts to x's shape")
HKI_ARGUMENTS(complex_sum_to, SUM_TO_ARGUMENTS)

/* Options are those of that operator. */
#define COMPLEX(op, of, options, how, inferred, ...)                                               \
    const hk_op hki_op_##op = {HKI_OP_NAMED(op),                                                   \
                               .params = options##_params,                                         \
                               .options_bytes = sizeof(hki_##options##_options),                   \
                               .signature = "x",                                                   \
                               .doc = "hk_" #of " of complex numbers.",                            \
                               .dtypes = HKI_COMPLEX,                                              \
                               .internal = true,                                                   \
                               .host_only = true,                                                  \
                               .infer = inferred,                                                  \
                               .compose = how,                                                     \
                               .untested = "complex_test.c tests it",                              \
                               .data = &hki_op_##of,                                               \
                               __VA_ARGS__}

COMPLEX(complex_sum, sum, sum, hki_compose_by_parts, infer_as, .grad = grad_as);
COMPLEX(complex_mean, mean, sum, hki_compose_by_parts, infer_as, .grad = grad_as);
COMPLEX(complex_sum_to, sum_to, complex_sum_to, hki_compose_by_parts, infer_as, .grad = grad_as);

/* ---- what is not 0 -------------------------------------------------------------------------------------------- */

static hk_array *truth_compose(const hki_call *call)
{
    const hki_cast_options to_bool = {.dtype = HK_BOOL};
    return hki_op_call1(call->op->data, hki_op_call1(&hki_op_cast, call->arrays[0], &to_bool),
                        call->options);
}

#define TRUTH(op, of)                                                                              \
    COMPLEX(op, of, sum, truth_compose, infer_as,                                                  \
            .no_grad_why = "its result does not vary smoothly")
TRUTH(complex_count_nonzero, count_nonzero);
TRUTH(complex_any, any);
TRUTH(complex_all, all);

/* ---- prod ------------------------------------------------------------------------------------------------------- */

/* The axes that go, last. */
static hk_array *gone_last(hk_array *x, unsigned mask)
{
    hk_dims axes = {.ndim = 0};
    for (unsigned goes = 0; goes < 2; goes++)
        for (int i = 0; i < x->shape.ndim; i++)
            if ((mask >> i & 1) == goes)
                axes.dims[axes.ndim++] = i;
    return hki_op_call1(&hki_op_permute_dims, x, &axes);
}

/* The last of the products up to each element, whose factors go one after the other in double. */
static hk_array *prod_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const hki_reshape_options shape = {call->out_shape[0]};
    int64_t kept = 0;
    hki_dims_size(&call->out_shape[0], &kept);
    if (x->size == 0) /* 1, which depends on x all the same */
        return hki_op_call_number(&hki_op_add_scalar, hki_op_call1(&hki_op_sum, x, call->options),
                                  1);
    const hki_reshape_options lines = {.shape = {.ndim = 2, .dims = {kept, x->size / kept}}};
    x = gone_last(x, hki_reduce_mask_of(call->options, x->shape.ndim));
    x = hki_op_call1(&hki_op_reshape, x, &lines);
    x = hki_op_call1(&hki_op_cumulative_prod, x, &(const int64_t){1});
    return hki_op_call1(&hki_op_reshape, (hk_index)(x, 1, -1), &shape);
}
COMPLEX(complex_prod, prod, sum, prod_compose, infer_as, .grad = NULL);

/* ---- matmul ------------------------------------------------------------------------------------------------------ */

/* A copy of a part, without gaps, of the dtype of the products; NULL: x has none, it is real. */
static hk_array *part(hk_array *x, bool is_imaginary, hk_dtype dtype)
{
    if (!hki_dtype_is_complex(x->dtype))
        return is_imaginary ? NULL
                            : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
    x = hki_array_part(x, is_imaginary);
    return x->dtype == dtype ? hki_op_call1(&hki_op_copy, x, NULL)
                             : hki_op_call1(&hki_op_cast, x, &(const hki_cast_options){dtype});
}

static hk_array *product(hk_array *a, hk_array *b)
{
    return a && b ? hki_op_call2(&hki_op_matmul, a, b, NULL) : NULL;
}

/* x + y, or x - y, where NULL is 0. */
static hk_array *gathered(const hk_op *op, hk_array *x, hk_array *y)
{
    return x && y ? hki_op_call2(op, x, y, NULL) : x ? x : y;
}

/* (a + i a') (b + i b') by four products of real matrices, or two where one is real. */
static hk_array *matmul_compose(const hki_call *call)
{
    const hk_dtype dtype = hki_dtype_of_parts(call->out_dtype[0]);
    hk_array *a[2], *b[2];
    for (int i = 0; i < 2; i++) {
        a[i] = part(call->arrays[0], i, dtype);
        b[i] = part(call->arrays[1], i, dtype);
    }
    return pair(gathered(&hki_op_subtract, product(a[0], b[0]), product(a[1], b[1])),
                gathered(&hki_op_add, product(a[0], b[1]), product(a[1], b[0])));
}

/* dy b^H and a^H dy. */
static void matmul_grad(hki_grad_call *call)
{
    hki_grad_call conjugate = *call;
    for (int i = 0; i < 2; i++)
        if (call->inputs[i])
            conjugate.inputs[i] = hki_op_call1(&hki_op_conj, call->inputs[i], NULL);
    hki_op_matmul.grad(&conjugate);
    call->dx[0] = conjugate.dx[0];
    call->dx[1] = conjugate.dx[1];
}

const hk_op hki_op_complex_matmul = {
    HKI_OP_NAMED(complex_matmul),
    .signature = "a, b",
    .doc = "hk_matmul of complex numbers.",
    .dtypes = HKI_FLOATS | HKI_COMPLEX,
    .internal = true,
    .host_only = true,
    .infer = hki_matmul_infer,
    .compose = matmul_compose,
    .grad = matmul_grad,
    .grad_reads = {2, 1},
    .untested = "complex_test.c tests it",
};
