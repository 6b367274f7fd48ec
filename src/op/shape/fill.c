/* full, zeros, ones and arange: arrays made from numbers. */
#include "op/shape/fill.h"

#include "base/integer.h"
#include "op/elementwise/elementwise.h"

#include <math.h>
#include <string.h>

/* ---- full, zeros, ones ------------------------------------------------------------------------------------ */

static bool infer_constant(hki_call *call, const hk_dims *shape, double value, hk_dtype dtype)
{
    int64_t stored;
    call->out_shape[0] = *shape;
    call->out_dtype[0] = dtype;
    if (!hki_call_check_dtype(call, dtype))
        return false;
    if (hki_dtype_is_integer(dtype) &&
        !(value == trunc(value) && hki_dtype_store(dtype, &stored, value)))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s does not have the value %g",
                               hk_dtype_name(dtype), value);
    return true;
}

static bool full_infer(hki_call *call)
{
    const hki_full_options *options = call->options;
    return infer_constant(call, &options->shape, options->value, options->dtype);
}

static bool zeros_infer(hki_call *call)
{
    const hki_zeros_options *options = call->options;
    return infer_constant(call, &options->shape, 0, options->dtype);
}

static bool ones_infer(hki_call *call)
{
    const hki_ones_options *options = call->options;
    return infer_constant(call, &options->shape, 1, options->dtype);
}

static void plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.2);
}

/* The first bytes of a row, which are filled, go on to its end: the C library copies by the machine's widest stores,
 * where compilers make memcpy of a few bytes one slow instruction. */
static void repeat(char *row, int64_t done, int64_t bytes)
{
    enum { AT_ONCE = 512 }; /* which stay in the first cache */
    while (done < bytes) {
        int64_t more = done < AT_ONCE ? done : AT_ONCE;
        more = more < bytes - done ? more : bytes - done;
        memmove(row + done, row, (size_t)more);
        done += more;
    }
}

/* Given one element of the output's dtype, for all. */
#define FILL_LOOP(type)                                                                            \
    static int64_t fill_##type(const hki_run *run)                                                 \
    {                                                                                              \
        const type value = *(const type *)run->given;                                              \
        if (run->out_step == (int64_t)sizeof(type)) {                                              \
            enum { BY_LOOP = 64 };                                                                 \
            type *out = (type *)run->out;                                                          \
            const int64_t first = run->n < BY_LOOP ? run->n : BY_LOOP;                             \
            for (int64_t i = 0; i < first; i++)                                                    \
                out[i] = value;                                                                    \
            repeat(run->out, first *(int64_t)sizeof(type), run->n *(int64_t)sizeof(type));         \
        } else {                                                                                   \
            char *out = run->out;                                                                  \
            for (int64_t i = 0; i < run->n; i++, out += run->out_step)                             \
                *(type *)out = value;                                                              \
        }                                                                                          \
        return -1;                                                                                 \
    }
FILL_LOOP(uint8_t)
FILL_LOOP(uint16_t)
FILL_LOOP(uint32_t)
FILL_LOOP(uint64_t)
FILL_LOOP(hk_complex)

void hki_fill(const hki_kernel_call *call, double value, int64_t begin, int64_t end)
{
    hk_dtype dtype = call->out[0].dtype;
    hk_complex element = {0};
    hki_dtype_store(dtype, &element, value);
    size_t bytes = hk_dtype_bytes(dtype);
    hki_walk(call, begin, end, &element,
             bytes == 1   ? fill_uint8_t
             : bytes == 2 ? fill_uint16_t
             : bytes == 4 ? fill_uint32_t
             : bytes == 8 ? fill_uint64_t
                          : fill_hk_complex);
}

static void full_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_fill(call, ((const hki_full_options *)call->options)->value, begin, end);
}

static void zeros_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_fill(call, 0, begin, end);
}

static void ones_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    hki_fill(call, 1, begin, end);
}

static void fill_reference(const hki_call *call, double value, double *out)
{
    int64_t size = 0;
    hki_dims_size(&call->out_shape[0], &size);
    for (int64_t i = 0; i < size; i++)
        out[i] = value;
}

static void full_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    fill_reference(call, ((const hki_full_options *)call->options)->value, out[0]);
}

static void zeros_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    fill_reference(call, 0, out[0]);
}

static void ones_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    fill_reference(call, 1, out[0]);
}

#define SHAPE_0D    .shape = HKI_SHAPE_0D
#define SHAPE(...)  .shape = HKI_SHAPE(__VA_ARGS__)
#define OPTIONS(op) .options = &(const hki_##op##_options)

static const hki_sample full_samples[] = {
    {OPTIONS(full){SHAPE(2, 3), 1.5, HK_F32}},
    {OPTIONS(full){SHAPE(7), -2, HK_F64}},
    {OPTIONS(full){SHAPE_0D, -7, HK_I32}},
    {OPTIONS(full){SHAPE(4, 0), 7, HK_I64}},
    {OPTIONS(full){SHAPE(3, 5), 1.0009765625, HK_F16}},
    {OPTIONS(full){SHAPE(33), 255, HK_U8}},
    {OPTIONS(full){SHAPE(3, 1, 2), 1, HK_BOOL}},
};
static const hki_sample zeros_samples[] = {
    {OPTIONS(zeros){SHAPE(2, 3), HK_F32}},
    {OPTIONS(zeros){SHAPE_0D, HK_F64}},
    {OPTIONS(zeros){SHAPE(0, 3), HK_I64}},
};
static const hki_sample ones_samples[] = {
    {OPTIONS(ones){SHAPE(2, 3), HK_F32}},
    {OPTIONS(ones){SHAPE_0D, HK_BOOL}},
    {OPTIONS(ones){SHAPE(3, 0), HK_I32}},
};

#define CONSTANT(op, text)                                                                         \
    HKI_OP_NAMED(op), HKI_OP_PARAMS(op), HKI_OP_SAMPLES(op##_samples),                             \
        .signature = "", .doc = text, .gpu_dtypes = HKI_ALL_DTYPES, .infer = op##_infer,           \
        .elementwise = true, .infallible = true, .split = HKI_SPLIT_ELEMENTS, .plan = plan,        \
        .kernel = {[HKI_CPU] = op##_kernel}, .reference = op##_reference,                          \
        .no_grad_why = "it has no inputs"

HKI_ARGUMENTS_TABLE(full, HKI_FULL_ARGUMENTS)
HKI_ARGUMENTS_TABLE(zeros, HKI_ZEROS_ARGUMENTS)
HKI_ARGUMENTS_TABLE(ones, HKI_ZEROS_ARGUMENTS)

const hk_op hki_op_full = {CONSTANT(full, "An array of one number.")};
const hk_op hki_op_zeros = {CONSTANT(zeros, "An array of zeros.")};
const hk_op hki_op_ones = {CONSTANT(ones, "An array of ones.")};

/* ---- arange ------------------------------------------------------------------------------------------------- */

/* A range of whole numbers, as the bits of int64, or of uint64. */
typedef struct whole_range {
    uint64_t start, step, count;
    bool is_signed; /* start and stop are meant as int64 */
} whole_range;

static bool is_whole(double value, double least, double end)
{
    return value == trunc(value) && value >= least && value < end;
}

/* 2^64, which a range may end before, as 0. */
static uint64_t bits_of(double whole)
{
    return whole >= 0x1p64 ? 0 : whole < 0 ? (uint64_t)(int64_t)whole : (uint64_t)whole;
}

/* Doubles that are whole are exact, and so is what is counted by integers. False where they are
 * not, or reach too far. */
static bool whole_range_of(const hki_arange_options *options, whole_range *range)
{
    const double step = options->step, stop = step < 0 ? floor(options->stop) : ceil(options->stop);
    const double lower = fmin(options->start, stop), upper = fmax(options->start, stop);
    if (!is_whole(options->start, -0x1p63, 0x1p64) || !(stop >= -0x1p63 && stop <= 0x1p64) ||
        !is_whole(step, -0x1p63, 0x1p63) || step == 0 || (lower < 0 && upper > 0x1p63))
        return false;
    *range = (whole_range){bits_of(options->start), bits_of(step), 0, lower < 0};
    /* To the last number before the stop: the stop itself may be beyond. */
    const uint64_t distance =
        (step < 0 ? range->start - bits_of(stop) : bits_of(stop) - range->start) - 1;
    const uint64_t width = step < 0 ? -range->step : range->step;
    if (step < 0 ? stop < options->start : stop > options->start)
        range->count = distance / width + 1;
    return true;
}

static bool fits(uint64_t bits, bool is_signed, hk_dtype dtype)
{
    return hk_number_fits(is_signed ? hk_number_of_int((int64_t)bits) : hk_number_of_uint(bits),
                          dtype);
}

/* Of a dtype of integers. */
static bool infer_whole(hki_call *call, const whole_range *range)
{
    const hki_arange_options *options = call->options;
    const uint64_t last = range->start + (range->count - 1) * range->step;
    call->out_shape[0].dims[0] = (int64_t)range->count;
    return range->count == 0 ||
           (fits(range->start, range->is_signed, options->dtype) &&
            fits(last, range->is_signed, options->dtype)) ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "%s does not have all values from %.17g to %.17g by %.17g",
                           hk_dtype_name(options->dtype), options->start, options->stop,
                           options->step);
}

static bool arange_infer(hki_call *call)
{
    const hki_arange_options *options = call->options;
    double count = ceil((options->stop - options->start) / options->step);
    whole_range range;
    if (!isfinite(options->start) || !isfinite(options->step) || options->step == 0 ||
        !(count < 0x1p62))
        return hki_call_refuse(
            call, HK_INVALID_ARGUMENT,
            "no elements from %g to %g by %g: the step must not be 0, all finite", options->start,
            options->stop, options->step);
    call->out_shape[0] = (hk_dims){.ndim = 1, .dims = {count > 0 ? (int64_t)count : 0}};
    call->out_dtype[0] = options->dtype;
    if (options->dtype == HK_BOOL || hk_dtype_bytes(options->dtype) == 0 ||
        hki_dtype_is_complex(options->dtype))
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the dtype must be of real numbers");
    if (!hki_dtype_is_integer(options->dtype))
        return true;
    if (whole_range_of(options, &range) && range.count < UINT64_C(1) << 62)
        return infer_whole(call, &range);
    return count <= 0 || hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                         "%s does not have all values from %.17g to %.17g by %.17g",
                                         hk_dtype_name(options->dtype), options->start,
                                         options->stop, options->step);
}

/* Doubles have all whole numbers up to 2^53: then these are added up as the doubles that they are. */
static bool is_exact(const hki_arange_options *options, int64_t count)
{
    const double length = (double)count * options->step, last = options->start + length;
    return options->start == trunc(options->start) && options->step == trunc(options->step) &&
           fabs(options->start) < 0x1p53 && fabs(last) < 0x1p53 && fabs(options->step) < 0x1p53 &&
           fabs(length) < 0x1p53 && !(options->start == 0 && signbit(options->start));
}

enum { BLOCK = 1024 };

/* What a kernel counts: blocks of whole numbers, each the first of its block plus what all blocks have in common. */
typedef struct counting {
    uint64_t start, step; /* bits of int64 or uint64 */
    int64_t begin, end;
    char *out; /* of element 0 */
    int64_t bytes;
    hki_store_fn store; /* NULL: dense elements of the type that is counted in */
} counting;

#define COUNT_UP(T, U)                                                                             \
    static void count_up_##T(const counting *self)                                                 \
    {                                                                                              \
        T offsets[BLOCK], block[BLOCK];                                                            \
        const int64_t most = hki_min(self->end - self->begin, BLOCK);                              \
        for (int64_t i = 0; i < most; i++)                                                         \
            offsets[i] = (T)(int64_t)((uint64_t)i * self->step);                                   \
        for (int64_t i = self->begin; i < self->end; i += BLOCK) {                                 \
            const int64_t count = hki_min(self->end - i, BLOCK);                                   \
            const U first = (U)(int64_t)(self->start + (uint64_t)i * self->step);                  \
            char *to = self->out + i * self->bytes;                                                \
            T *values = self->store ? block : (T *)to;                                             \
            _Pragma("GCC unroll 4") for (int64_t j = 0; j < count; j++) values[j] =                \
                (T)(first + (U)offsets[j]);                                                        \
            if (self->store)                                                                       \
                self->store(count, values, to, self->bytes);                                       \
        }                                                                                          \
    }
COUNT_UP(int32_t, uint32_t)
COUNT_UP(int64_t, uint64_t)
COUNT_UP(double, double)

static void arange_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)piece;
    const hki_arange_options *options = call->options;
    const hki_tensor *out = &call->out[0];
    const int64_t bytes = out->strides[0] * (int64_t)hk_dtype_bytes(out->dtype);
    const bool is_real = hki_dtype_is_real(out->dtype);
    if (!is_real || is_exact(options, out->size)) {
        const hk_dtype cast = hki_cast_wide_of(out->dtype);
        const hk_dtype wide = is_real ? HK_F64 : cast == HK_I32 || cast == HK_U64 ? cast : HK_I64;
        const bool is_direct = wide == out->dtype && out->strides[0] == 1;
        const counting counted = {bits_of(options->start),
                                  bits_of(options->step),
                                  begin,
                                  end,
                                  out->data,
                                  bytes,
                                  is_direct ? NULL : hki_cast_of(wide, out->dtype)};
        (is_real          ? count_up_double
         : wide == HK_I32 ? count_up_int32_t
                          : count_up_int64_t)(&counted);
        return;
    }
    const hki_store_fn store = hki_cast_of(HK_F64, out->dtype);
    double values[256];
    for (int64_t count; begin < end; begin += count) {
        count = hki_min(end - begin, 256);
        for (int i = 0; i < count; i++) /* int: converted in vectors */
            values[i] = options->start + ((double)begin + (double)i) * options->step;
        store(count, values, (char *)out->data + begin * bytes, bytes);
    }
}

static void arange_plan(const hki_call *call, hki_plan *plan)
{
    hki_plan_elements(call, plan, 0.25);
}

static void arange_reference(const hki_call *call, const double *const *in, double *const *out)
{
    (void)in;
    const hki_arange_options *options = call->options;
    for (int64_t i = 0; i < call->out_shape[0].dims[0]; i++)
        out[0][i] = options->start + (double)i * options->step;
}

static const hki_sample arange_samples[] = {
    {OPTIONS(arange){0, 5, 1, HK_F32}},   {OPTIONS(arange){1, 2, 0.3, HK_F64}},
    {OPTIONS(arange){5, -5, -3, HK_I64}}, {OPTIONS(arange){0, 256, 1, HK_U8}},
    {OPTIONS(arange){3, 3, 1, HK_I32}},   {OPTIONS(arange){-300, 300, 1, HK_I16}},
};

HKI_ARGUMENTS_TABLE(arange, HKI_ARANGE_ARGUMENTS)
const hk_op hki_op_arange = {
    HKI_OP_NAMED(arange),
    HKI_OP_PARAMS(arange),
    HKI_OP_SAMPLES(arange_samples),
    .signature = "",
    .doc = "start, start + step, … up to stop, which is not included; shape (ceil((stop - start) / "
           "step),). Of integers beyond 2^53, which doubles round, hk_sequence is exact.",
    .gpu_dtypes = HKI_GPU_DTYPES | HKI_HALVES,
    .infer = arange_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = arange_plan,
    .kernel = {[HKI_CPU] = arange_kernel},
    .no_grad_why = "it has no inputs",
    .reference = arange_reference,
    .tolerance_f32 = 1e-6,
};
