/* Decompositions of several results: eigh, svd, qr. Gradients are composed of products. */
#include "op/call/call.h"
#include "op/linalg/panels.h"
#include "op/linalg/phases.h"
#include "op/linalg/qr.h"
#include "op/linalg/spectrum.h"
#include "op/linalg/tiles.h"
#include "op/reduce/line.h"
#include "op/shape/join.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- parts of gradients ------------------------------------------------------------------------------------ */

static hk_array *times(hk_array *x, hk_array *y)
{
    return hki_matrix_times(x, y);
}

static hk_array *turned(hk_array *x)
{
    return hki_matrix_adjoint(x);
}

static hk_array *plus(hk_array *x, hk_array *y)
{
    return !x ? y : !y ? x : hki_op_call2(&hki_op_add, x, y, NULL);
}

static hk_array *expanded(hk_array *x, int64_t axis)
{
    return hki_op_call1(&hki_op_expand_dims, x, &axis);
}

static hk_array *by(hk_array *x, hk_array *y)
{
    return hki_op_call2(&hki_op_multiply, x, y, NULL);
}

/* x times diag(values). */
static hk_array *columns_by(hk_array *x, hk_array *values)
{
    return by(x, expanded(values, -2));
}

/* Parts of x: of an axis from the last the entries [begin, end). */
static hk_array *part_of(hk_array *x, int64_t axis, int64_t begin, int64_t end)
{
    return hki_op_call1(&hki_op_slice_step, x, (const int64_t[]){axis, begin, end, 1});
}

static hk_array *identity(int64_t n, const hk_array *like)
{
    const struct {
        int64_t rows, columns, offset;
        hk_dtype dtype;
    } square = {n, n, 0, like->dtype};
    return hki_op_call(&hki_op_eye, NULL, 0, &square, (hk_device){like->storage->device}, NULL);
}

hk_array *hki_reciprocal_gaps(hk_array *values)
{
    hk_array *one = identity(values->shape.dims[values->shape.ndim - 1], values);
    hk_array *gaps = hki_matrix_less(expanded(values, -2), expanded(values, -1));
    return hki_matrix_less(hki_op_call1(&hki_op_reciprocal, plus(gaps, one), NULL), one);
}

static bool is_complex(const hk_array *x)
{
    return hki_dtype_is_complex(x->dtype);
}

/* Fails the gradient: what it would need is not there. */
static hk_array *no_gradient(const hki_grad_call *call, const char *why)
{
    return hki_array_create_failed(call->input_device[0], call->op->name, NULL, 0, HK_UNSUPPORTED,
                                   "%s", why);
}

static hki_stack stack_of_grad(const hki_grad_call *call)
{
    return hki_stack_of(call->input_shape[0].ndim, call->input_shape[0].dims);
}

/* ---- eigh --------------------------------------------------------------------------------------------------- */

static bool eigh_infer(hki_call *call)
{
    if (!hki_linalg_check_square(call) || !hki_linalg_check_small(call))
        return false;
    call->out_shape[1] = call->out_shape[0];
    call->out_dtype[1] = call->out_dtype[0];
    call->out_dtype[0] = hki_dtype_of_parts(call->out_dtype[1]);
    call->out_shape[0].ndim--;
    return true;
}

static void vectors_plan(const hki_call *call, hki_plan *plan)
{
    const hki_stack stack = hki_stack_of_call(call);
    hki_linalg_plan(plan, &stack,
                    25 * (double)stack.rows * (double)stack.columns *
                        (double)hki_stack_least(&stack));
}

static void eigh_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    hki_spectrum self;
    if (!hki_spectrum_begin(&self, call, piece, true, HKI_SVD_THIN))
        return;
    const int n = self.least;
    for (; begin < end && hki_spectrum_find_eigen(&self, begin); begin++) {
        memcpy(hki_matrix_at(&call->out[0], begin, n), self.work.part[HKI_SPECTRUM_VALUES],
               (size_t)n * self.work.of->real);
        self.work.of->transpose(n, n, self.work.part[HKI_SPECTRUM_A],
                                hki_matrix_at(&call->out[1], begin, (int64_t)n * n));
    }
    hki_linalg_end(&self.work);
}

/* Giles 2008, "Collected matrix derivative results", section 3.1, as that of a symmetric matrix. */
static void eigh_grad(hki_grad_call *call)
{
    hk_array *values = call->outputs[0], *vectors = call->outputs[1];
    hk_array *of_vectors = NULL, *of_values = NULL, *dy = call->dys[1];
    if (dy && is_complex(vectors))
        dy = hki_unturned(dy, hki_angles_of(dy, vectors), vectors);
    if (dy)
        of_vectors = times(vectors, by(hki_reciprocal_gaps(values), times(turned(vectors), dy)));
    if (call->dys[0])
        of_values = columns_by(vectors, call->dys[0]);
    hk_array *dx = times(plus(of_vectors, of_values), turned(vectors));
    call->dx[0] =
        of_vectors ? hki_op_call_number(&hki_op_multiply_scalar, plus(dx, turned(dx)), 0.5) : dx;
}

/* Of samples whose eigenvalues are positive: the singular values in reverse. */
static void eigh_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t n = stack.rows, items = n * n;
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_symmetric(in[0] + i * items, n),
               *room = calloc((size_t)(2 * items + n) + 1, sizeof *room);
        if (a && room)
            hki_reference_svd(n, n, a, room + 2 * items, room, room + items);
        for (int64_t j = 0; j < items && room; j++)
            out[1][i * items + j] = room[j / n * n + n - 1 - j % n];
        for (int64_t j = 0; j < n && room; j++)
            out[0][i * n + j] = room[2 * items + n - 1 - j];
        free(room);
        free(a);
    }
}

static const hki_sample eigh_samples[] = {
    {.inputs = {HKI_SHAPE(4, 4)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 2, 3, 3)}, .definite = true},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 5, 5)}, .definite = true},
    {.inputs = {HKI_SHAPE(1, 1)}, .definite = true},
    {.inputs = {HKI_SHAPE(2, 0, 0)}},
};

const hk_op hki_op_eigh = {
    HKI_OP_NAMED(eigh),
    .refuses = true,
    HKI_OP_SAMPLES(eigh_samples),
    .signature = "x",
    .outputs = "values, vectors",
    .output_count = 2,
    .doc = "Eigenvalues of symmetric matrices (..., n, n) in rising order, (..., n), and their "
           "vectors, the columns of (..., n, n), of length 1, whose largest element in size is "
           "positive. Of complex matrices Hermitian ones are meant, values are real, and x is "
           "vectors diag(values) vectors^H. One that is not symmetric counts as the mean of it and "
           "its transpose. The gradient "
           "by vectors of equal values is not finite. A NaN or an infinity fails the results.",
    .formula = "x = vectors diag(values) vectors^T",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = eigh_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = vectors_plan,
    .kernel = {[HKI_CPU] = eigh_kernel},
    .grad = eigh_grad,
    .grad_reads = {HKI_READS_OUTPUT | HKI_READS_OUTPUT_1},
    .reference = eigh_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- svd ----------------------------------------------------------------------------------------------------- */

#define SVD_OPTIONS(F, op)                                                                         \
    F(op, BOOL, full_matrices, "false", "u (m, m) and vh (n, n) in place of the first min(m, n)")
HKI_OPTIONS(svd, SVD_OPTIONS)

static bool is_full(const void *options)
{
    return ((const hki_svd_options *)options)->full_matrices;
}

static bool svd_infer(hki_call *call)
{
    if (!hki_linalg_check_small(call))
        return false;
    const hki_stack stack = hki_stack_of_call(call);
    const int ndim = call->out_shape[0].ndim;
    const int64_t least = hki_stack_least(&stack);
    const bool full = is_full(call->options);
    call->out_shape[1] = call->out_shape[2] = call->out_shape[0];
    call->out_shape[0].dims[ndim - 1] = full ? stack.rows : least;
    call->out_shape[1].ndim--;
    call->out_shape[1].dims[ndim - 2] = least;
    call->out_shape[2].dims[ndim - 2] = full ? stack.columns : least;
    call->out_dtype[2] = call->out_dtype[0];
    call->out_dtype[1] = hki_dtype_of_parts(call->out_dtype[0]);
    return true;
}

static void give_identities(const hki_tensor *out)
{
    const hki_stack stack = hki_stack_of(out->ndim, out->dims);
    for (int64_t i = 0; i < out->size; i++) {
        const int64_t at = i % (stack.rows * stack.columns);
        const bool is_one = at / stack.columns == at % stack.columns;
        hki_dtype_store(out->dtype, (char *)out->data + i * (int64_t)hki_dtype_bytes(out->dtype),
                        is_one);
    }
}

static void svd_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    static const int parts[] = {HKI_SPECTRUM_U, HKI_SPECTRUM_VALUES, HKI_SPECTRUM_VT};
    hki_spectrum self;
    if (call->in[0].size == 0) {
        if (begin == 0) {
            give_identities(&call->out[0]);
            give_identities(&call->out[2]);
        }
        return;
    }
    if (!hki_spectrum_begin(&self, call, piece, false,
                            is_full(call->options) ? HKI_SVD_FULL : HKI_SVD_THIN))
        return;
    for (; begin < end && hki_spectrum_find_singular(&self, begin); begin++) {
        for (int i = 0; i < 3; i++) {
            const int64_t items = call->out[i].size / self.stack.count;
            memcpy(hki_matrix_at(&call->out[i], begin, items), self.work.part[parts[i]],
                   (size_t)items * hki_dtype_bytes(call->out[i].dtype));
        }
    }
    hki_linalg_end(&self.work);
}

typedef struct svd_parts {
    hk_array *u, *s, *v, *vt;
} svd_parts;

/* What of dy lies outside the space of vectors, the columns of v, over the values. */
static hk_array *outside(hk_array *dy, hk_array *v, hk_array *values)
{
    hk_array *rest = hki_matrix_less(dy, times(v, times(turned(v), dy)));
    return columns_by(rest, hki_op_call1(&hki_op_reciprocal, values, NULL));
}

/* gaps times (v^T dy - dy^T v). */
static hk_array *rotation(hk_array *gaps, hk_array *dy, hk_array *v)
{
    hk_array *product = times(turned(v), dy);
    return by(gaps, hki_matrix_less(product, turned(product)));
}

static hk_array *diagonal(hk_array *values)
{
    return columns_by(identity(values->shape.dims[values->shape.ndim - 1], values), values);
}

/* Of the middle of u (…) v^T. What turns complex u against v is on its diagonal. */
static hk_array *svd_middle(const svd_parts *its, hk_array *du, hk_array *dv, hk_array *ds)
{
    hk_array *middle = NULL, *gaps = NULL;
    if (du || dv)
        gaps = hki_reciprocal_gaps(hki_op_call1(&hki_op_square, its->s, NULL));
    if (du)
        middle = columns_by(rotation(gaps, du, its->u), its->s);
    if (dv)
        middle = plus(middle, by(expanded(its->s, -1), rotation(gaps, dv, its->v)));
    if (ds)
        middle = plus(middle, diagonal(ds));
    if (du && is_complex(du)) {
        hk_array *angles =
            hki_op_call1(&hki_op_squeeze, hki_angles_of(its->u, du), &(const int64_t){-2});
        angles = hki_op_call2(&hki_op_divide, angles, its->s, NULL);
        middle = plus(middle, hki_imaginary(diagonal(angles)));
    }
    return middle;
}

/* Townsend 2016, "Differentiating the singular value decomposition", equation 28. */
static void svd_grad(hki_grad_call *call)
{
    const hki_stack stack = stack_of_grad(call);
    const int64_t least = hki_stack_least(&stack);
    const bool full = is_full(call->options);
    if (full && ((call->dys[0] && stack.rows > least) || (call->dys[2] && stack.columns > least))) {
        call->dx[0] = no_gradient(call, "vectors that belong to no singular value have no "
                                        "gradient: full_matrices must be false for one");
        return;
    }
    svd_parts its = {.u = part_of(call->outputs[0], -1, 0, least),
                     .s = call->outputs[1],
                     .vt = part_of(call->outputs[2], -2, 0, least)};
    its.v = turned(its.vt);
    hk_array *du = call->dys[0], *dv = call->dys[2] ? turned(call->dys[2]) : NULL;
    if ((du || dv) && is_complex(its.u))
        du = hki_unturned(du, plus(hki_angles_of(du, its.u), hki_angles_of(dv, its.v)), its.u);
    hk_array *dx = times(times(its.u, svd_middle(&its, du, dv, call->dys[1])), its.vt);
    if (du && stack.rows > least)
        dx = plus(dx, times(outside(du, its.u, its.s), its.vt));
    if (dv && stack.columns > least)
        dx = plus(dx, times(its.u, turned(outside(dv, its.v, its.s))));
    call->dx[0] = dx;
}

/* Without vectors that belong to no value. */
static void svd_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t m = stack.rows, n = stack.columns, k = hki_stack_least(&stack);
    for (int64_t i = 0; i < stack.count; i++) {
        double *a = hki_reference_copy(in[0] + i * m * n, m * n);
        if (a)
            hki_reference_svd(m, n, a, out[1] + i * k, out[0] + i * m * k, out[2] + i * k * n);
        free(a);
    }
}

static const hki_sample svd_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3)}},
    {.inputs = {HKI_SHAPE(3, 3)}, .options = &(const hki_svd_options){.full_matrices = true}},
    {.inputs = {HKI_SHAPE(2, 4, 2)}},
    {.inputs = {HKI_SHAPE(2, 5)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 2)}},
    {.inputs = {HKI_SHAPE(2, 0, 3)}},
};

const hk_op hki_op_svd = {
    HKI_OP_NAMED(svd),
    .refuses = true,
    HKI_OP_PARAMS(svd),
    HKI_OP_SAMPLES(svd_samples),
    .signature = "x",
    .outputs = "u, s, vh",
    .output_count = 3,
    .doc =
        "Singular values s of matrices (..., m, n) in falling order, (..., k), k = min(m, n), and "
        "their vectors, the columns of u (..., m, k) and the rows of vh (..., k, n). The largest "
        "element in size of each column of u is positive, of complex ones, too. The gradient is "
        "not finite by vectors "
        "of equal values, or of 0. A NaN or an infinity fails the results.",
    .formula = "x = u diag(s) vh",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = svd_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = vectors_plan,
    .kernel = {[HKI_CPU] = svd_kernel},
    .grad = svd_grad,
    .grad_reads = {HKI_READS_OUTPUT | HKI_READS_OUTPUT_1 | HKI_READS_OUTPUT_2},
    .reference = svd_reference,
    .tolerance_f32 = 1e-4,
};

/* ---- qr ------------------------------------------------------------------------------------------------------- */

#define QR_OPTIONS(F, op)                                                                          \
    F(op, BOOL, complete, "false", "q (m, m) and r (m, n) in place of the first min(m, n)")
HKI_OPTIONS(qr, QR_OPTIONS)

static int64_t qr_columns(const void *options, const hki_stack *stack)
{
    return ((const hki_qr_options *)options)->complete ? stack->rows : hki_stack_least(stack);
}

static bool qr_infer(hki_call *call)
{
    if (!hki_linalg_check_small(call))
        return false;
    const hki_stack stack = hki_stack_of_call(call);
    const int ndim = call->out_shape[0].ndim;
    call->out_shape[1] = call->out_shape[0];
    call->out_shape[0].dims[ndim - 1] = call->out_shape[1].dims[ndim - 2] =
        qr_columns(call->options, &stack);
    call->out_dtype[1] = call->out_dtype[0];
    return true;
}

enum { QR_Q, QR_R, QR_WORK, QR_PARTS };

static void qr_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *x = &call->in[0], *q = &call->out[0], *r = &call->out[1];
    const hki_stack stack = hki_stack_of(x->ndim, x->dims);
    const int64_t columns = qr_columns(call->options, &stack), m = stack.rows, n = stack.columns;
    if (x->size == 0) {
        if (begin == 0)
            give_identities(q);
        return;
    }
    const hki_linalg *of = hki_linalg_of(x->dtype);
    const hki_linalg_need need = of->qr_need((int)m, (int)n, (int)columns);
    const size_t bytes[QR_PARTS] = {(size_t)(m * (columns > n ? columns : n)) * of->item,
                                    (size_t)(columns * n) * of->item, need.work};
    hki_linalg_work work;
    if (!hki_linalg_begin(&work, call, piece, bytes, QR_PARTS))
        return;
    for (; begin < end; begin++) {
        of->qr((int)m, (int)n, (int)columns, hki_matrix_at(x, begin, m * n), work.part[QR_Q],
               work.part[QR_R], work.part[QR_WORK], need.work);
        memcpy(hki_matrix_at(q, begin, m * columns), work.part[QR_Q],
               (size_t)(m * columns) * of->item);
        memcpy(hki_matrix_at(r, begin, columns * n), work.part[QR_R], bytes[QR_R]);
    }
    hki_linalg_end(&work);
}

/* Of large matrices, in panels. */
static hk_array *qr_compose(const hki_call *call)
{
    hk_array *x = call->arrays[0];
    const hki_stack stack = hki_stack_of_call(call);
    if (!hki_is_in_panels(&x->shape))
        return NULL;
    hk_array *q = hki_made_in_parts(call, 0), *r = hki_made_in_parts(call, 1);
    call->more[0] = r;
    for (int64_t i = 0; i < stack.count && !q->failed && !r->failed; i++) {
        HK_SCOPE;
        hk_array *columns, *upper;
        hk_array *tau = hki_array_made(
            call->device, (hk_dims){.ndim = 1, .dims = {hki_stack_least(&stack)}}, x->dtype, "qr");
        hki_qr_tiled(hki_matrix_in_stack(x, i), tau, qr_columns(call->options, &stack), &columns,
                     &upper);
        columns = hki_op_call1(&hki_op_swapaxes, columns, (const int64_t[]){-1, -2});
        hki_call_into_unasked(&hki_op_copy, call->operation, columns, NULL,
                              hki_matrix_in_stack(q, i));
        hki_call_into_unasked(&hki_op_copy, call->operation, upper, NULL,
                              hki_matrix_in_stack(r, i));
    }
    return q;
}

/* The lower triangle, and its mirror above. Of complex numbers the diagonal of r, and so that of its gradient, is real. */
static hk_array *mirrored(hk_array *x)
{
    hk_array *below = hki_op_call1(&hki_op_tril, x, &(const int64_t){-1});
    hk_array *lower = hki_op_call1(&hki_op_tril, x, &(const int64_t){0});
    if (!is_complex(x))
        return plus(lower, turned(below));
    hk_array *twice = plus(lower, below);
    return hki_op_call_number(&hki_op_multiply_scalar, plus(twice, turned(twice)), 0.5);
}

/* Of square r: Walter 2018, "On the differentiation of matrix factorizations", section 4.1.2. */
static hk_array *qr_square_gradient(hk_array *q, hk_array *r, hk_array *dq, hk_array *dr)
{
    hk_array *inner = dr ? times(r, turned(dr)) : NULL;
    if (dq) {
        hk_array *less = times(turned(dq), q);
        inner = inner ? hki_matrix_less(inner, less)
                      : hki_op_call_number(&hki_op_multiply_scalar, less, -1);
    }
    hk_array *dx = plus(dq, times(q, mirrored(inner)));
    return turned(hki_op_call2(&hki_op_solve, r, turned(dx), NULL));
}

/* Of x = (a, b), r = (ra, rb) with square a and ra: b is q rb. */
static hk_array *qr_wide_gradient(const hki_grad_call *call, const hki_stack *stack)
{
    const int64_t m = stack->rows, n = stack->columns;
    hk_array *q = call->outputs[0], *dq = call->dys[0], *dr = call->dys[1];
    hk_array *square = part_of(call->outputs[1], -1, 0, m);
    if (!dr) {
        hk_array *da = qr_square_gradient(q, square, dq, NULL);
        hk_array *rest = hki_op_call1(&hki_op_zeros_like, part_of(call->inputs[0], -1, m, n), NULL);
        return hki_concat((hk_array *[]){da, rest}, 2, -1);
    }
    hk_array *drb = part_of(dr, -1, m, n), *b = part_of(call->inputs[0], -1, m, n);
    dq = plus(dq, times(b, turned(drb)));
    hk_array *da = qr_square_gradient(q, square, dq, part_of(dr, -1, 0, m));
    return hki_concat((hk_array *[]){da, times(q, drb)}, 2, -1);
}

static void qr_grad(hki_grad_call *call)
{
    const hki_stack stack = stack_of_grad(call);
    if (qr_columns(call->options, &stack) > hki_stack_least(&stack))
        call->dx[0] = no_gradient(call, "the columns of q that x does not reach have no gradient: "
                                        "complete must be false for one");
    else if (stack.columns > stack.rows)
        call->dx[0] = qr_wide_gradient(call, &stack);
    else
        call->dx[0] =
            qr_square_gradient(call->outputs[0], call->outputs[1], call->dys[0], call->dys[1]);
}

/* Gram and Schmidt, twice. */
static void plain_qr(int64_t m, int64_t n, int64_t k, const double *a, double *q, double *r)
{
    for (int64_t i = 0; i < k * n; i++)
        r[i] = 0;
    for (int64_t j = 0; j < n; j++) {
        double *rest = calloc((size_t)m + 1, sizeof *rest), square = 0;
        for (int64_t i = 0; i < m && rest; i++)
            rest[i] = a[i * n + j];
        for (int64_t turn = 0; turn < 2 * (j < k ? j : k) && rest; turn++) {
            const int64_t of = turn % (j < k ? j : k);
            double dot = 0;
            for (int64_t i = 0; i < m; i++)
                dot += q[i * k + of] * rest[i];
            for (int64_t i = 0; i < m; i++)
                rest[i] -= dot * q[i * k + of];
            r[of * n + j] += dot;
        }
        for (int64_t i = 0; i < m && rest; i++)
            square += rest[i] * rest[i];
        if (j < k)
            r[j * n + j] = sqrt(square);
        for (int64_t i = 0; i < m && j < k && rest; i++)
            q[i * k + j] = rest[i] / sqrt(square);
        free(rest);
    }
}

static void qr_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_stack stack = hki_stack_of_call(call);
    const int64_t m = stack.rows, n = stack.columns, k = hki_stack_least(&stack);
    for (int64_t i = 0; i < stack.count; i++)
        plain_qr(m, n, k, in[0] + i * m * n, out[0] + i * m * k, out[1] + i * k * n);
}

static const hki_sample qr_samples[] = {
    {.inputs = {HKI_SHAPE(3, 3)}},
    {.inputs = {HKI_SHAPE(3, 3)}, .options = &(const hki_qr_options){.complete = true}},
    {.inputs = {HKI_SHAPE(2, 4, 2)}},
    {.inputs = {HKI_SHAPE(2, 5)}},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 2)}},
    {.inputs = {HKI_SHAPE(2, 0, 3)}},
};

const hk_op hki_op_qr = {
    HKI_OP_NAMED(qr),
    .refuses = true,
    HKI_OP_PARAMS(qr),
    HKI_OP_SAMPLES(qr_samples),
    .signature = "x",
    .outputs = "q, r",
    .output_count = 2,
    .doc = "Matrices (..., m, n) as products of q (..., m, k), k = min(m, n), whose columns are of "
           "length 1 and at right angles, and r (..., k, n), with zeros below the diagonal and "
           "nothing "
           "negative on it, where r is real, also of complex matrices. The gradient is that of "
           "full rank; another fails it.",
    .formula = "x = q r",
    .dtypes = HKI_INEXACT,
    .contiguous = true,
    .host_only = true,
    .infer = qr_infer,
    .compose = qr_compose,
    .split = HKI_SPLIT_PLAN,
    .plan = vectors_plan,
    .kernel = {[HKI_CPU] = qr_kernel},
    .grad = qr_grad,
    .grad_reads = {1 | HKI_READS_OUTPUT | HKI_READS_OUTPUT_1},
    .reference = qr_reference,
    .tolerance_f32 = 1e-4,
};
