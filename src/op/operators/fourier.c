#include "op/operators/fourier.h"

#include "op/call/scratch.h"
#include "op/kernels/convert/convert.h"
#include "op/kernels/fourier/fourier_kernel.h"
#include "op/operators/line.h"

#include <inttypes.h>
#include <math.h>

HKI_ARGUMENTS_TABLE(fourier, HKI_FOURIER_ARGUMENTS)

/* ---- the call ------------------------------------------------------------------------------------------ */

static hk_dtype result_dtype(hk_dtype x, bool is_real)
{
    const bool is_wide = hki_dtype_of_parts(x) == HK_F64;
    return is_real ? (is_wide ? HK_F64 : HK_F32) : is_wide ? HK_C128 : HK_C64;
}

static bool infer(hki_call *call)
{
    const hki_fourier_options *o = call->options;
    const hki_shape_view *x = call->inputs[0];
    int64_t axis = o->axis;
    if (!hki_call_take_axis(call, "axis", &axis, x->shape.ndim))
        return false;
    if (o->n < 1 || o->n > HKI_FOURIER_MOST || o->out < 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "n is %" PRId64 ", but must be from 1 to 2^48: so many elements of "
                               "each line are transformed",
                               o->n);
    call->out_shape[0] = x->shape;
    call->out_shape[0].dims[axis] = o->out;
    call->out_dtype[0] = result_dtype(x->dtype, o->is_real);
    return true;
}

/* Lines that are transformed side by side, while their memory stays in a cache. */
static int64_t lines_at_once(int64_t n, int64_t lines)
{
    const int64_t most = n < 4096 ? HKI_FOURIER_LINES : n < 16384 ? 2 : 1;
    return lines < most ? (lines > 0 ? lines : 1) : most;
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_fourier_options *o = call->options;
    const hk_dims *out = &call->out_shape[0];
    const hki_lines lines = hki_lines_of(out->ndim, out->dims, o->axis);
    const double steps = (double)o->n * (1 + log2((double)o->n));
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->grain = lines_at_once(o->n, HKI_FOURIER_LINES);
    plan->work_ns = (double)lines.count * (2 * steps + 10 * (double)o->n + 50);
    plan->flops = 5 * (double)lines.count * steps;
}

/* ---- the kernel ------------------------------------------------------------------------------------------ */

/* One piece: its options, and `side` lines in planes of real and imaginary parts. */
typedef struct transform {
    const hki_kernel_call *call;
    const hki_fourier_options *options;
    hki_fourier of;
    double *real, *imag, *line; /* line: double _Complex, of one */
    hki_lines lines;
    int64_t side;
} transform;

/* Elements from the first of x to that of a line of the result. */
static int64_t line_offset(const transform *self, int64_t line)
{
    const hki_tensor *x = &self->call->in[0];
    int64_t offset = 0;
    for (int axis = x->ndim - 1; axis >= 0; axis--) {
        if (axis == self->options->axis)
            continue;
        offset += line % x->dims[axis] * x->strides[axis];
        line /= x->dims[axis];
    }
    return offset;
}

static double weight(const transform *self, hki_fourier_weights side, int64_t at)
{
    const int64_t n = self->options->n;
    const bool is_own_mirror = at == 0 || 2 * at == n;
    return self->options->weights == (int64_t)side && !is_own_mirror ? 2 : 1;
}

/* Line `number` of the piece's at place `place`: what x has, and zeros. */
static void load(const transform *self, int64_t number, int64_t place)
{
    const hki_tensor *x = &self->call->in[0];
    const hki_fourier_options *o = self->options;
    const int64_t has = x->dims[o->axis], count = has < o->n ? has : o->n, side = self->side;
    const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype);
    const char *from = (const char *)x->data + line_offset(self, number) * bytes;
    hki_load_of(x->dtype, HK_C128)(count, from, x->strides[o->axis] * bytes, self->line);
    for (int64_t j = 0; j < count; j++) {
        const double w = weight(self, HKI_FOURIER_WEIGH_IN, j);
        self->real[j * side + place] = w * self->line[2 * j];
        self->imag[j * side + place] = w * self->line[2 * j + 1];
    }
    for (int64_t j = count; j < o->n; j++)
        self->real[j * side + place] = self->imag[j * side + place] = 0;
}

static void store(const transform *self, int64_t number, int64_t place)
{
    const hki_tensor *y = &self->call->out[0];
    const hki_fourier_options *o = self->options;
    const int64_t count = o->out < o->n ? o->out : o->n, side = self->side;
    const int64_t bytes = (int64_t)hki_dtype_bytes(y->dtype), step = o->is_real ? 1 : 2;
    char *to = (char *)y->data + hki_lines_at(&self->lines, number) * bytes;
    for (int64_t k = 0; k < count; k++) {
        const double v = weight(self, HKI_FOURIER_WEIGH_OUT, k) * o->scale;
        self->line[step * k] = v * self->real[k * side + place];
        if (!o->is_real)
            self->line[step * k + 1] = v * self->imag[k * side + place];
    }
    for (int64_t k = step * count; k < step * o->out; k++)
        self->line[k] = 0;
    hki_cast_of(o->is_real ? HK_F64 : HK_C128, y->dtype)(o->out, self->line, to,
                                                         self->lines.inner * bytes);
}

/* Lines [begin, begin + side). */
static void transform_lines(const transform *self, int64_t begin)
{
    for (int64_t i = 0; i < self->side; i++)
        load(self, begin + i, i);
    if (self->options->sign < 0)
        hki_fourier_run(&self->of, self->real, self->imag);
    else
        hki_fourier_run(&self->of, self->imag, self->real);
    for (int64_t i = 0; i < self->side; i++)
        store(self, begin + i, i);
}

static int64_t memory_doubles(const hki_fourier_options *o, int64_t side)
{
    const int64_t longer = o->out > o->n ? o->out : o->n;
    return hki_fourier_doubles(o->n, side) + 2 * o->n * side + 2 * longer;
}

static void transform_init(transform *self, double *memory, int64_t side)
{
    const int64_t n = self->options->n;
    self->side = side;
    self->real = memory;
    self->imag = memory + n * side;
    self->line = memory + 2 * n * side;
    const int64_t longer = self->options->out > n ? self->options->out : n;
    hki_fourier_init(&self->of, n, side, self->line + 2 * longer);
}

/* What is left over of a piece goes by itself, as one line: the same bytes. */
static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    transform self = {.call = call, .options = call->options};
    const hki_tensor *y = &call->out[0];
    self.lines = hki_lines_of(y->ndim, y->dims, self.options->axis);
    const int64_t side = lines_at_once(self.options->n, end - begin);
    const size_t bytes = (size_t)memory_doubles(self.options, side) * sizeof(double);
    double *memory = hki_scratch_allocate(call, piece, bytes);
    if (!memory)
        return;
    transform_init(&self, memory, side);
    for (; begin + side <= end; begin += side)
        transform_lines(&self, begin);
    if (begin < end)
        transform_init(&self, memory, end - begin);
    if (begin < end)
        transform_lines(&self, begin);
    hki_scratch_release(call, memory, bytes);
}

/* ---- the gradient ------------------------------------------------------------------------------------------ */

/* The adjoint: real parts of a real x, for what its imaginary ones would do cannot be. */
static void grad(hki_grad_call *call)
{
    static const hki_fourier_weights other[] = {HKI_FOURIER_PLAIN, HKI_FOURIER_WEIGH_OUT,
                                                HKI_FOURIER_WEIGH_IN};
    hki_fourier_options o = *(const hki_fourier_options *)call->options;
    o.out = call->input_shape[0].dims[o.axis];
    o.sign = -o.sign;
    o.weights = (int64_t)other[o.weights];
    o.is_real = !hki_dtype_is_complex(call->input_dtype[0]);
    call->dx[0] = hki_op_call1(&hki_op_fourier, call->dy, &o);
}

const hk_op hki_op_fourier = {
    HKI_OP_NAMED(fourier),
    HKI_OP_PARAMS(fourier),
    .signature = "x",
    .doc = "Fourier transforms of lines along an axis.",
    .dtypes = HKI_INEXACT,
    .internal = true,
    .host_only = true,
    .infer = infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = kernel},
    .grad = grad,
    .untested = "fourier_test.c tests it",
};
