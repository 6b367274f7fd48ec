/* det, with its gradient, the matrix of cofactors, which exists where the matrix is singular too; and slogdet. */
#include "op/linalg/linalg.h"
#include "op/reduce/reduce.h"

#include "op/complex/complex_math.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool det_infer(hki_call *call)
{
    if (!hki_linalg_check_square(call))
        return false;
    call->out_shape[0].ndim -= 2;
    return true;
}

static void det_plan(const hki_call *call, hki_plan *plan)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, n * n * n);
}

static void *item_at(const hki_tensor *out, int64_t at)
{
    return (char *)out->data + at * (int64_t)hki_dtype_bytes(out->dtype);
}

enum { DET_FACTORS, DET_PIVOTS, DET_PARTS };

static void det_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const int64_t n = hki_stack_of(x->ndim, x->dims).rows;
    const size_t matrix_bytes = (size_t)(n * n) * hk_dtype_bytes(x->dtype);
    const size_t bytes[DET_PARTS] = {matrix_bytes, (size_t)n * sizeof(int)};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, DET_PARTS))
        return;
    for (; begin < end; begin++) {
        void *factors = work.part[DET_FACTORS], *value = item_at(&call->out[0], begin);
        if (n > 0)
            memcpy(factors, (char *)x->data + begin * (int64_t)matrix_bytes, matrix_bytes);
        if (n > 0 && work.of->lu((int)n, factors, work.part[DET_PIVOTS]) != 0)
            hki_dtype_store(x->dtype, value, 0);
        else
            work.of->lu_determinant((int)n, factors, work.part[DET_PIVOTS], value);
    }
    hki_linalg_end(&work);
}

static void det_grad(hki_grad_call *call)
{
    hk_array *cofactors = hki_op_call1(&hki_op_cofactors, call->inputs[0], NULL);
    call->dx[0] = hki_op_call2(&hki_op_multiply, hki_matrix_spread(call->dy), cofactors, NULL);
}

static void det_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const int64_t n = stack.rows;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_copy(in[0] + i * n * n, n * n);
        if (a)
            out[0][i] = hki_reference_solve(n, a, 0, NULL);
        free(a);
    }
}

static const hki_sample det_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3)}},
    {.inputs = {HKI_SHAPE(2, 2, 4, 4)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(3, 2, 2)}},
    {.inputs = {HKI_SHAPE(2, 0, 0)}},
    {.inputs = {HKI_SHAPE(0, 2, 2)}},
};

const hk_op hki_op_det = {
    HKI_OP_NAMED(det),
    .refuses = true,
    HKI_OP_SAMPLES(det_samples),
    .signature = "x",
    .doc = "Determinants of square matrices, which lie along the last two axes; 1 of those without "
           "elements. The product of pivots is formed in double; hk_slogdet does not overflow.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = det_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = det_plan,
    .kernel = {[HKI_CPU] = det_kernel},
    .grad = det_grad,
    .grad_reads = {1},
    .reference = det_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- slogdet --------------------------------------------------------------------------------------------- */

static bool slogdet_infer(hki_call *call)
{
    if (!det_infer(call))
        return false;
    call->out_shape[1] = call->out_shape[0];
    call->out_dtype[1] = hki_dtype_of_parts(call->out_dtype[0]);
    return true;
}

static void slogdet_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const int64_t n = hki_stack_of(x->ndim, x->dims).rows;
    const size_t matrix_bytes = (size_t)(n * n) * hk_dtype_bytes(x->dtype);
    const size_t bytes[DET_PARTS] = {matrix_bytes, (size_t)n * sizeof(int)};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, DET_PARTS))
        return;
    for (; begin < end; begin++) {
        void *factors = work.part[DET_FACTORS];
        if (n > 0) {
            memcpy(factors, (char *)x->data + begin * (int64_t)matrix_bytes, matrix_bytes);
            work.of->lu((int)n, factors, work.part[DET_PIVOTS]);
        }
        work.of->lu_sign((int)n, factors, work.part[DET_PIVOTS], item_at(&call->out[0], begin));
        hki_dtype_store(call->out[1].dtype, item_at(&call->out[1], begin),
                        work.of->lu_log((int)n, factors));
    }
    hki_linalg_end(&work);
}

/* What the logarithm of the determinant is to become: by its real part, and, of complex numbers, by the angle of the sign. Of real ones
 * the sign does not vary smoothly. NULL: nothing. */
static hk_array *slogdet_slope(const hki_grad_call *call)
{
    hk_array *by_log = call->dys[1], *by_sign = call->dys[0];
    if (!by_sign || !hki_dtype_is_complex(call->input_dtype[0]))
        return by_log;
    hk_array *turned = hki_op_call2(&hki_op_complex_multiply_conj, by_sign, call->outputs[0], NULL);
    hk_array *angle = hki_op_call1(&hki_op_imag, turned, NULL);
    if (!by_log)
        by_log = hki_op_call1(&hki_op_zeros_like, angle, NULL);
    return hki_op_call2(&hki_op_complex_of, by_log, angle, NULL);
}

static void slogdet_grad(hki_grad_call *call)
{
    hk_array *slope = slogdet_slope(call);
    if (!slope) {
        call->dx[0] = hki_op_call1(&hki_op_zeros_like, call->inputs[0], NULL);
        return;
    }
    hk_array *inverse = hki_matrix_adjoint(hki_op_call1(&hki_op_inv, call->inputs[0], NULL));
    call->dx[0] = hki_op_call2(&hki_op_multiply, hki_matrix_spread(slope), inverse, NULL);
}

static void slogdet_reference(const hki_call *call, const double *const *in, double *const *out)
{
    int64_t count = 0;
    hki_dims_size(&call->out_shape[0], &count);
    det_reference(call, in, out);
    for (int64_t i = 0; i < count; i++) {
        out[1][i] = log(fabs(out[0][i]));
        out[0][i] = out[0][i] > 0 ? 1 : -1;
    }
}

const hk_op hki_op_slogdet = {
    HKI_OP_NAMED(slogdet),
    .refuses = true,
    HKI_OP_SAMPLES(det_samples),
    .signature = "x",
    .outputs = "sign, logabsdet",
    .output_count = 2,
    .doc =
        "Signs of determinants, and logarithms of their absolute values, which do not overflow: 0 "
        "and -infinity of singular matrices, whose gradient fails. The sign of a complex one is "
        "det / |det|.",
    .formula = "det = sign e ** logabsdet",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = slogdet_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = det_plan,
    .kernel = {[HKI_CPU] = slogdet_kernel},
    .grad = slogdet_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT},
    .reference = slogdet_reference,
    .tolerance_f32 = 1e-5,
};

/* ---- cofactors ------------------------------------------------------------------------------------------- */

enum { A, VALUES, U, VT, WORK, INTEGERS, PRODUCTS, PIVOTS, PARTS };

/* The determinant of vectors at right angles, which is of length 1, by factors in the room of a. */
static double _Complex side(const hki_linalg_work *work, int part, int n, size_t matrix_bytes)
{
    union {
        double _Complex c128;
        float _Complex c64;
    } sign;
    const hk_dtype dtype = work->call->in[0].dtype;
    memcpy(work->part[A], work->part[part], matrix_bytes);
    work->of->lu(n, work->part[A], work->part[PIVOTS]);
    work->of->lu_sign(n, work->part[A], work->part[PIVOTS], &sign);
    return dtype == HK_C128  ? sign.c128
           : dtype == HK_C64 ? (double _Complex)sign.c64
                             : hki_dtype_load(dtype, &sign);
}

/* Of each singular value the product of all others. */
#define PRODUCTS_OF_OTHERS(T, name)                                                                \
    static void products_##name(int n, const T *values, T *products)                               \
    {                                                                                              \
        double product = 1;                                                                        \
        for (int i = 0; i < n; i++) {                                                              \
            products[i] = (T)product;                                                              \
            product *= (double)values[i];                                                          \
        }                                                                                          \
        product = 1;                                                                               \
        for (int i = n - 1; i >= 0; i--) {                                                         \
            products[i] = (T)((double)products[i] * product);                                      \
            product *= (double)values[i];                                                          \
        }                                                                                          \
    }

PRODUCTS_OF_OTHERS(float, f32)
PRODUCTS_OF_OTHERS(double, f64)

/* Items of u times a number of length 1. */
static void turn(hk_dtype dtype, void *u, int64_t count, double _Complex by)
{
    for (int64_t i = 0; i < count; i++)
        switch (dtype) {
        case HK_F32:
            ((float *)u)[i] *= (float)creal(by);
            break;
        case HK_F64:
            ((double *)u)[i] *= creal(by);
            break;
        case HK_C64:
            ((float _Complex *)u)[i] *= (float _Complex)by;
            break;
        default:
            ((double _Complex *)u)[i] *= by;
        }
}

/* Of x = U S V^T they are det(U) det(V) U C V^T, with those of S, which are on the diagonal C. */
static bool cofactors_of_one(const hki_linalg_work *work, int64_t matrix, int n,
                             hki_linalg_need need)
{
    const hki_kernel_call *call = work->call;
    const size_t matrix_bytes = (size_t)n * (size_t)n * work->of->item;
    const char *x = (const char *)call->in[0].data + matrix * (int64_t)matrix_bytes;
    char *out = (char *)call->out[0].data + matrix * (int64_t)matrix_bytes;
    memcpy(work->part[A], x, matrix_bytes);
    if (!hki_linalg_is_finite(work, matrix, x, (int64_t)n * n))
        return false;
    if (!work->of->svd(n, n, HKI_SVD_THIN, work->part[A], work->part[VALUES], work->part[U],
                       work->part[VT], work->part[WORK], work->part[INTEGERS], need)) {
        hki_linalg_fail(work, matrix, "has singular values that were not found");
        return false;
    }
    const double _Complex sign =
        conj(side(work, U, n, matrix_bytes) * side(work, VT, n, matrix_bytes));
    turn(call->in[0].dtype, work->part[U], (int64_t)n * n, sign);
    if (work->of->real == sizeof(float))
        products_f32(n, work->part[VALUES], work->part[PRODUCTS]);
    else
        products_f64(n, work->part[VALUES], work->part[PRODUCTS]);
    work->of->adjoint(n, n, work->part[U], work->part[A]);
    return work->of->scaled_product(n, n, n, work->part[A], work->part[PRODUCTS], work->part[VT],
                                    out);
}

static void cofactors_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0];
    const int n = (int)hki_stack_of(x->ndim, x->dims).rows;
    if (n == 0)
        return;
    const hki_linalg *of = hki_linalg_of(x->dtype);
    const hki_linalg_need need = of->svd_need(n, n, HKI_SVD_THIN);
    const size_t row = (size_t)n * of->item, square = row * (size_t)n;
    const size_t bytes[PARTS] = {[A] = square,       [VALUES] = row,
                                 [U] = square,       [VT] = square,
                                 [WORK] = need.work, [INTEGERS] = need.integers,
                                 [PRODUCTS] = row,   [PIVOTS] = (size_t)n * sizeof(int)};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, PARTS))
        return;
    while (begin < end && cofactors_of_one(&work, begin, n, need))
        begin++;
    hki_linalg_end(&work);
}

static bool cofactors_infer(hki_call *call)
{
    return hki_linalg_check_square(call) && hki_linalg_check_small(call);
}

static void cofactors_plan(const hki_call *call, hki_plan *plan)
{
    const hk_dims *x = &call->inputs[0]->shape;
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const double n = (double)stack.rows;
    hki_linalg_plan(plan, &stack, 30 * n * n * n);
}

/* Of c = det(x) b, b the transposed inverse, by dc: (sum of dc b) c - c dc^T b. Fails where x is singular. Of complex ones c and b are
 * conjugates, and it is conj(dc) that goes the same way. */
static void cofactors_grad(hki_grad_call *call)
{
    const hki_sum_options both = {.axes = {.ndim = 2, .dims = {-2, -1}}, .keepdims = true};
    hk_array *b = hki_matrix_adjoint(hki_op_call1(&hki_op_inv, call->inputs[0], NULL));
    const bool is_complex = hki_dtype_is_complex(call->dy->dtype);
    hk_array *products = is_complex ? hki_op_call2(&hki_op_complex_multiply_conj, b, call->dy, NULL)
                                    : hki_op_call2(&hki_op_multiply, call->dy, b, NULL);
    hk_array *sum = hki_op_call1(&hki_op_sum, products, &both);
    hk_array *product = hki_matrix_times(call->output, hki_matrix_adjoint(call->dy));
    call->dx[0] = hki_matrix_less(hki_op_call2(&hki_op_multiply, sum, call->output, NULL),
                                  hki_matrix_times(product, b));
}

const hk_op hki_op_cofactors = {
    HKI_OP_NAMED(cofactors),
    .refuses = true,
    .signature = "x",
    .doc = "Gradient of det: cofactors, or their conjugates.",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .internal = true,
    .host_only = true,
    .infer = cofactors_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = cofactors_plan,
    .kernel = {[HKI_CPU] = cofactors_kernel},
    .grad = cofactors_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT},
    .untested = "the gradient of det tests it",
};
