#include "op/fft/fourier.h"

#include "op/call/scratch.h"
#include "op/fft/fourier_kernel.h"
#include "op/reduce/line.h"
#include "op/shape/convert.h"

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

/* Real lines of an even length n go as half as many complex numbers, of neighbours: for the first half of a spectrum, or back from
 * one. See G. D. Bergland, "A fast Fourier transform algorithm for real-valued series", 1968. */
typedef enum transform_form { WHOLE, FROM_REAL, TO_REAL } transform_form;

/* One piece: its options, and `side` lines in planes of real and imaginary parts. */
typedef struct transform {
    const hki_kernel_call *call;
    const hki_fourier_options *options;
    transform_form form;
    int64_t length; /* of what is transformed: n, or half of it */
    hki_fourier of;
    double *real, *imag, *line; /* line: of one, as x or the result has it, in double */
    double *cosines, *sines;    /* exp(2 pi i k / n) up to half of n; unless WHOLE */
    hki_lines lines;
    int64_t side;
} transform;

static transform_form form_of(const hki_fourier_options *o, hk_dtype dtype, int64_t size)
{
    const int64_t half = o->n / 2 + 1;
    if (o->n % 2)
        return WHOLE;
    if (!hki_dtype_is_complex(dtype))
        return !o->is_real && o->out <= half ? FROM_REAL : WHOLE;
    return o->is_real && (size < o->n ? size : o->n) <= half ? TO_REAL : WHOLE;
}

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

/* Doubles the elements of a line, of `step` doubles each, that are not their own mirror images. */
static void weigh(const hki_fourier_options *o, hki_fourier_weights side, int64_t count,
                  int64_t step, double *line)
{
    if (o->weights != (int64_t)side)
        return;
    for (int64_t j = step; j < step * count; j++)
        line[j] *= 2 * (j / step) == o->n ? 1 : 2;
}

/* What x has of a line, `most` elements at most, and zeros up to that: double, or double _Complex. */
static void load_line(const transform *self, int64_t number, hk_dtype wide, int64_t most)
{
    const hki_tensor *x = &self->call->in[0];
    const hki_fourier_options *o = self->options;
    const int64_t has = x->dims[o->axis], count = has < most ? has : most;
    const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype), step = wide == HK_F64 ? 1 : 2;
    const char *from = (const char *)x->data + line_offset(self, number) * bytes;
    hki_load_of(x->dtype, wide)(count, from, x->strides[o->axis] * bytes, self->line);
    for (int64_t j = step * count; j < step * most; j++)
        self->line[j] = 0;
    weigh(o, HKI_FOURIER_WEIGH_IN, count, step, self->line);
}

/* Between pairs in the line and place `place` of the planes. */
static void put(const transform *self, int64_t place)
{
    const int64_t side = self->side, length = self->length;
    double *restrict real = self->real + place, *restrict imag = self->imag + place;
    const double *restrict line = self->line;
    for (int64_t j = 0; j < length; j++) {
        real[j * side] = line[2 * j];
        imag[j * side] = line[2 * j + 1];
    }
}

static void get(const transform *self, int64_t place, int64_t count)
{
    const int64_t side = self->side;
    const double *restrict real = self->real + place, *restrict imag = self->imag + place;
    double *restrict line = self->line;
    for (int64_t k = 0; k < count; k++) {
        line[2 * k] = real[k * side];
        line[2 * k + 1] = imag[k * side];
    }
}

/* Of the spectrum h of a real line, whose other half mirrors this one, elements k and k + n / 2 give those at even places, by their
 * sum, and at odd ones: both go as one complex number, to place k. A line holds 2 h, so that what has no mirror image counts once. */
static void put_halves(const transform *self, int64_t place)
{
    const int64_t half = self->length;
    const double sign = (double)self->options->sign, *h = self->line;
    for (int64_t k = 0; k < half; k++) {
        const double share = k == 0 ? 1 : 0.5, *mirror = &h[2 * (half - k)];
        const double ar = share * h[2 * k], ai = k == 0 ? 0 : share * h[2 * k + 1];
        const double br = share * mirror[0], bi = k == 0 ? 0 : -share * mirror[1];
        const double c = self->cosines[k], s = sign * self->sines[k];
        const double dr = ar - br, di = ai - bi;
        self->real[k * self->side + place] = ar + br - (dr * s + di * c);
        self->imag[k * self->side + place] = ai + bi + (dr * c - di * s);
    }
}

/* The first `count` elements of the spectrum, from that of neighbours as complex numbers; for the sign -1, of which +1 is the
 * conjugate. */
static void get_halves(const transform *self, int64_t place, int64_t count)
{
    const int64_t half = self->length, side = self->side;
    const double sign = (double)self->options->sign;
    for (int64_t k = 0; k < count; k++) {
        const int64_t at = k % half * side + place, mirror = (half - k) % half * side + place;
        const double ar = self->real[at], ai = self->imag[at];
        const double br = self->real[mirror], bi = -self->imag[mirror];
        const double c = self->cosines[k], s = -self->sines[k];
        const double dr = (ai - bi) / 2, di = (br - ar) / 2; /* of the odd places */
        self->line[2 * k] = (ar + br) / 2 + (dr * c - di * s);
        self->line[2 * k + 1] = -sign * ((ai + bi) / 2 + (dr * s + di * c));
    }
}

/* Line `number` of all at place `place` of the piece's. */
static void load(const transform *self, int64_t number, int64_t place)
{
    switch (self->form) {
    case WHOLE:
        load_line(self, number, HK_C128, self->length);
        put(self, place);
        break;
    case FROM_REAL:
        load_line(self, number, HK_F64, 2 * self->length);
        put(self, place);
        break;
    case TO_REAL:
        load_line(self, number, HK_C128, self->length + 1);
        put_halves(self, place);
        break;
    }
}

static void store(const transform *self, int64_t number, int64_t place)
{
    const hki_tensor *y = &self->call->out[0];
    const hki_fourier_options *o = self->options;
    const int64_t count = o->out < o->n ? o->out : o->n, step = o->is_real ? 1 : 2;
    const int64_t bytes = (int64_t)hki_dtype_bytes(y->dtype);
    char *to = (char *)y->data + hki_lines_at(&self->lines, number) * bytes;
    if (self->form == FROM_REAL)
        get_halves(self, place, count);
    else
        get(self, place, self->length < count ? self->length : count);
    if (self->form == WHOLE && o->is_real)
        for (int64_t k = 0; k < count; k++)
            self->line[k] = self->line[2 * k];
    weigh(o, HKI_FOURIER_WEIGH_OUT, count, step, self->line);
    for (int64_t k = 0; k < step * count && o->scale != 1; k++)
        self->line[k] *= o->scale;
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
    if (self->form == FROM_REAL || self->options->sign < 0)
        hki_fourier_run(&self->of, self->real, self->imag);
    else
        hki_fourier_run(&self->of, self->imag, self->real);
    for (int64_t i = 0; i < self->side; i++)
        store(self, begin + i, i);
}

/* What a piece has memory for: two planes, tables of transforms, a line, and two tables of roots. How many doubles each has. */
enum { PARTS = 6 };
static void measure(const transform *self, int64_t side, int64_t counts[PARTS])
{
    const hki_fourier_options *o = self->options;
    counts[0] = counts[1] = hki_fourier_spread(self->length * side);
    counts[2] = hki_fourier_doubles(self->length, side);
    counts[3] = 2 * (o->out > o->n ? o->out : o->n) + 2;
    counts[4] = counts[5] = self->form == WHOLE ? 0 : self->length + 1;
}

static size_t memory_bytes(const transform *self, int64_t side)
{
    int64_t counts[PARTS], all = 0;
    measure(self, side, counts);
    for (int i = 0; i < PARTS; i++)
        all += counts[i];
    return (size_t)all * sizeof(double);
}

static void transform_init(transform *self, double *memory, int64_t side)
{
    int64_t counts[PARTS];
    double *parts[PARTS];
    measure(self, side, counts);
    for (int i = 0; i < PARTS; i++, memory += counts[i - 1])
        parts[i] = memory;
    self->side = side;
    self->real = parts[0];
    self->imag = parts[1];
    self->line = parts[3];
    self->cosines = parts[4];
    self->sines = parts[5];
    hki_fourier_init(&self->of, self->length, side, parts[2]);
    if (self->form != WHOLE)
        hki_fourier_roots(self->options->n, self->length + 1, self->cosines, self->sines);
}

/* What is left over of a piece goes by itself: each line has the same bytes. */
static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    transform self = {.call = call, .options = call->options};
    const hki_tensor *x = &call->in[0], *y = &call->out[0];
    const hki_fourier_options *o = self.options;
    self.lines = hki_lines_of(y->ndim, y->dims, o->axis);
    self.form = form_of(o, x->dtype, x->dims[o->axis]);
    self.length = self.form == WHOLE ? o->n : o->n / 2;
    const int64_t side = lines_at_once(self.length, end - begin);
    const size_t bytes = memory_bytes(&self, side);
    double *memory = hki_scratch_allocate(call, piece, bytes);
    if (!memory)
        return;
    transform_init(&self, memory, side);
    for (; begin + side <= end; begin += side)
        transform_lines(&self, begin);
    if (begin < end) {
        transform_init(&self, memory, end - begin);
        transform_lines(&self, begin);
    }
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
