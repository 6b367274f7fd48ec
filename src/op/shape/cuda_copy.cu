/* Copies, constants and conversions, by the kernel of cuda_elementwise.cuh. */
#include "op/cuda/cuda_calls.h"
#include "op/cuda/cuda_half.cuh"
#include "op/element_text.h"
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/shape/fill.h"

/* ---- copies and constants */
template <class Element, int Inputs> struct plain_row {
    static constexpr int inputs = Inputs;
    static constexpr bool is_checked = false;
    using first = Element;
    using value = Element;
    using result = Element;
    using number = Element;
};

template <class Element> struct copy_row : plain_row<Element, 1> {
    HKI_DEVICE Element apply(Element a, Element, Element, Element)
    {
        return a;
    }
};

template <class Element> struct fill_row : plain_row<Element, 0> {
    HKI_DEVICE Element apply(Element, Element, Element, Element s)
    {
        return s;
    }
};

template <template <class> class Row, class Element>
static void launch_plain(hki_cuda_stream *stream, const hki_cuda_path *path, Element s)
{
    launch_elementwise<Row<Element>, HKI_CUDA_PACK_BYTES / (int)sizeof(Element)>(stream, path, s,
                                                                                 nullptr);
}

template <template <class> class Row>
static void launch_by_size(hki_cuda_stream *stream, const hki_cuda_path *path, int item_bytes,
                           uint64_t bits)
{
    if (item_bytes == 1)
        launch_plain<Row, uint8_t>(stream, path, (uint8_t)bits);
    else if (item_bytes == 2)
        launch_plain<Row, uint16_t>(stream, path, (uint16_t)bits);
    else if (item_bytes == 4)
        launch_plain<Row, uint32_t>(stream, path, (uint32_t)bits);
    else
        launch_plain<Row, uint64_t>(stream, path, bits);
}

void hki_cuda_copy_tensor(hki_cuda_stream *stream, const hki_tensor *from, const hki_tensor *to)
{
    const int bytes = hki_cuda_item_bytes(to->dtype), item_bytes[] = {bytes, bytes};
    const hki_tensor *const operands[] = {to, from};
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, operands, 2);
    hki_cuda_walk_sort(&walk,
                       0); /* any order will do: the one in which memory is written forwards */
    for (int64_t begin = 0; begin < walk.size;) {
        hki_cuda_walk part;
        hki_cuda_path path;
        begin += hki_cuda_walk_part(&walk, begin, HKI_CUDA_MAX_INDEX, &part);
        if (hki_cuda_transpose(stream, &part, bytes))
            continue;
        hki_cuda_path_init(&path, &part, HKI_CUDA_PACK_BYTES / bytes, item_bytes);
        launch_by_size<copy_row>(stream, &path, bytes, 0);
    }
}

void hki_cuda_call_copy(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    hki_cuda_copy_tensor(stream, &call->in[0], &call->out[0]);
}

/* The output is contiguous, so that it may be walked as if it had x's shape. */
void hki_cuda_call_reshape(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    hki_tensor to = call->in[0];
    int64_t stride = 1;
    to.data = call->out[0].data;
    for (int axis = to.ndim - 1; axis >= 0; axis--) {
        to.strides[axis] = stride;
        stride *= to.dims[axis];
    }
    hki_cuda_copy_tensor(stream, &call->in[0], &to);
}

static void fill(const hki_kernel_call *call, hki_cuda_stream *stream, double value)
{
    const hki_tensor *const out = &call->out[0];
    const int bytes = hki_cuda_item_bytes(out->dtype);
    /* The call was refused where the dtype does not have the value. */
    const uint64_t bits = hki_cuda_element_bits(stream, out->dtype, value);
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, &out, 1);
    hki_cuda_launch_parts(
        stream, walk, HKI_CUDA_PACK_BYTES / bytes, &bytes,
        [&](const hki_cuda_path *path) { launch_by_size<fill_row>(stream, path, bytes, bits); });
}

void hki_cuda_call_full(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, hki_options_of<hki_full_options>(call)->value);
}

void hki_cuda_call_zeros(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, 0);
}

void hki_cuda_call_ones(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    fill(call, stream, 1);
}

/* ---- conversions: as in op/copy.c */

/* A float that may be rounded once more. */
HKI_DEVICE float narrowed(float x)
{
    return x;
}
HKI_DEVICE float narrowed(double x)
{
    return hki_float_to_odd(x);
}
HKI_DEVICE float narrowed(int64_t x)
{
    return hki_float_to_odd_i64(x);
}
HKI_DEVICE float narrowed(int32_t x)
{
    return hki_float_to_odd_i64(x);
}
HKI_DEVICE float narrowed(uint8_t x)
{
    return (float)x;
}

/* Called with a value of the type that is wanted, to choose by. */
template <class From> HKI_DEVICE f16 converted(From x, f16)
{
    return {hki_f16_from_float(narrowed(x))};
}
template <class From> HKI_DEVICE bf16 converted(From x, bf16)
{
    return {hki_bf16_from_float(narrowed(x))};
}
template <class From, class To> HKI_DEVICE To converted(From x, To)
{
    return (To)x;
}

/* Whether To does not have the value; NaN is refused, and the bounds are exact in double. */
HKI_DEVICE bool refuse(double x, int32_t)
{
    return !(x > -2147483649.0 && x < 0x1p31);
}
HKI_DEVICE bool refuse(double x, int64_t)
{
    return !(x >= -0x1p63 && x < 0x1p63);
}
HKI_DEVICE bool refuse(double x, uint8_t)
{
    return !(x > -1 && x < 256);
}
HKI_DEVICE bool refuse(int64_t x, int32_t)
{
    return x < INT32_MIN || x > INT32_MAX;
}
HKI_DEVICE bool refuse(int64_t, int64_t)
{
    return false;
}
HKI_DEVICE bool refuse(int64_t x, uint8_t)
{
    return x < 0 || x > UINT8_MAX;
}

template <class Element> constexpr bool is_real = false;
template <> constexpr bool is_real<float> = true;
template <> constexpr bool is_real<double> = true;
template <> constexpr bool is_real<f16> = true;
template <> constexpr bool is_real<bf16> = true;
template <bool Real> struct widest;
template <> struct widest<true> {
    using type = double;
};
template <> struct widest<false> {
    using type = int64_t;
};

struct truth; /* in the place of To: bool */
template <class To> struct stored {
    using type = To;
};
template <> struct stored<truth> {
    using type = uint8_t;
};

template <class From, class To> struct cast_row {
    static constexpr int inputs = 1;
    using first = From;
    using value = From;
    using result = typename stored<To>::type;
    using number = int;
    static constexpr bool is_checked = !is_real<result>;
    HKI_DEVICE result apply(From a, From, From, int)
    {
        return converted(value_of(a), result());
    }
    HKI_DEVICE bool refuses(From a, From, int)
    {
        return refuse((typename widest<is_real<From>>::type)value_of(a), result());
    }
};

template <class From> struct cast_row<From, truth> {
    static constexpr int inputs = 1;
    using first = From;
    using value = From;
    using result = uint8_t;
    using number = int;
    static constexpr bool is_checked = false;
    HKI_DEVICE uint8_t apply(From a, From, From, int)
    {
        return value_of(a) != 0;
    }
};

template <class From, class To>
static void cast_to(hki_cuda_stream *stream, const hki_cuda_path *path, hki_cuda_fault *fault)
{
    typedef cast_row<From, To> row;
    constexpr int from_bytes = (int)sizeof(From), to_bytes = (int)sizeof(typename row::result);
    launch_elementwise<row, HKI_CUDA_PACK_BYTES / (from_bytes > to_bytes ? from_bytes : to_bytes)>(
        stream, path, 0, fault);
}

template <class From>
static void cast_from(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype to,
                      hki_cuda_fault *fault)
{
    switch (to) {
    case HK_F32:
        cast_to<From, float>(stream, path, fault);
        break;
    case HK_F64:
        cast_to<From, double>(stream, path, fault);
        break;
    case HK_I32:
        cast_to<From, int32_t>(stream, path, fault);
        break;
    case HK_I64:
        cast_to<From, int64_t>(stream, path, fault);
        break;
    case HK_U8:
        cast_to<From, uint8_t>(stream, path, fault);
        break;
    case HK_BOOL:
        cast_to<From, truth>(stream, path, fault);
        break;
    case HK_F16:
        cast_to<From, f16>(stream, path, fault);
        break;
    case HK_BF16:
        cast_to<From, bf16>(stream, path, fault);
        break;
    default: /* refused at the call */
        break;
    }
}

static void launch_cast(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype from,
                        hk_dtype to, hki_cuda_fault *fault)
{
    switch (from) {
    case HK_F32:
        cast_from<float>(stream, path, to, fault);
        break;
    case HK_F64:
        cast_from<double>(stream, path, to, fault);
        break;
    case HK_I32:
        cast_from<int32_t>(stream, path, to, fault);
        break;
    case HK_I64:
        cast_from<int64_t>(stream, path, to, fault);
        break;
    case HK_U8:
    case HK_BOOL:
        cast_from<uint8_t>(stream, path, to, fault);
        break;
    case HK_F16:
        cast_from<f16>(stream, path, to, fault);
        break;
    case HK_BF16:
        cast_from<bf16>(stream, path, to, fault);
        break;
    default: /* refused at the call */
        break;
    }
}

/* `argument`: the call, which lives until its task has ended. */
static hk_code describe(const hki_cuda_fault *fault, int64_t argument, char *text, size_t bytes)
{
    const hki_tensor &out = reinterpret_cast<const hki_kernel_call *>((intptr_t)argument)->out[0];
    char where[HKI_ELEMENT_TEXT_BYTES];
    hki_element_describe(&out, (int64_t)fault->index, where, sizeof where);
    snprintf(text, bytes, "a value that %s does not have at element %s",
             out.dtype == HK_U8    ? "uint8"
             : out.dtype == HK_I32 ? "int32"
                                   : "int64",
             where);
    return HK_OUT_OF_RANGE;
}

bool hki_cuda_cast_reports(const hki_kernel_call *call)
{
    const hk_dtype to = call->out[0].dtype;
    return call->in[0].dtype != to && (to == HK_I32 || to == HK_I64 || to == HK_U8) &&
           call->out[0].size > 0;
}

void hki_cuda_call_cast(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hk_dtype from = call->in[0].dtype, to = call->out[0].dtype;
    hki_cuda_walk walk;
    int item_bytes[HKI_CUDA_OPERANDS];
    const int largest = hki_cuda_walk_call(&walk, call, item_bytes);
    hki_cuda_fault *fault = nullptr;
    if (walk.size == 0)
        return;
    if (from == to) {
        hki_cuda_call_copy(call, stream);
        return;
    }
    if (hki_cuda_cast_reports(call)) {
        fault = hki_cuda_fault_slot(stream, describe, (int64_t) reinterpret_cast<intptr_t>(call));
        if (!fault)
            return;
    }
    hki_cuda_launch_parts(
        stream, walk, HKI_CUDA_PACK_BYTES / largest, item_bytes,
        [&](const hki_cuda_path *path) { launch_cast(stream, path, from, to, fault); });
}

/* ---- arange */

/* Whole numbers are counted as integers, exactly. */
template <class Element> HKI_DEVICE Element counted(double start, double step, uint64_t i)
{
    if constexpr (is_real<Element>)
        return converted(start + (double)i * step, Element());
    else
        return (Element)((uint64_t)(int64_t)start + i * (uint64_t)(int64_t)step);
}

template <class Element>
HKI_KERNEL void HKI_BOUNDS(HKI_CUDA_BLOCK)
    arange(const hki_cuda_path path, const double start, const double step)
{
    for (uint32_t i = (uint32_t)HKI_THREAD_INDEX; i < path.count; i += (uint32_t)HKI_THREAD_COUNT)
        *reinterpret_cast<Element *>(path.data[0] + hki_path_offset(path, 0, i)) =
            counted<Element>(start, step, (uint64_t)path.first + i);
}

template <class Element>
static void launch_arange(hki_cuda_stream *stream, const hki_cuda_path *path, double start,
                          double step)
{
    const unsigned grid =
        hki_cuda_grid(path->count, HKI_CUDA_BLOCK, hki_cuda_stream_multiprocessors(stream));
    HKI_LAUNCH(stream, grid, HKI_CUDA_BLOCK, arange<Element>, *path, start, step);
}

static void launch_arange_of(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype,
                             double start, double step)
{
    switch (dtype) {
    case HK_F32:
        launch_arange<float>(stream, path, start, step);
        break;
    case HK_F64:
        launch_arange<double>(stream, path, start, step);
        break;
    case HK_I32:
        launch_arange<int32_t>(stream, path, start, step);
        break;
    case HK_I64:
        launch_arange<int64_t>(stream, path, start, step);
        break;
    case HK_U8:
    case HK_BOOL:
        launch_arange<uint8_t>(stream, path, start, step);
        break;
    case HK_F16:
        launch_arange<f16>(stream, path, start, step);
        break;
    case HK_BF16:
        launch_arange<bf16>(stream, path, start, step);
        break;
    default: /* refused at the call */
        break;
    }
}

void hki_cuda_call_arange(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_arange_options *options = hki_options_of<hki_arange_options>(call);
    const hki_tensor *const out = &call->out[0];
    const int bytes = hki_cuda_item_bytes(out->dtype);
    hki_cuda_walk walk;
    hki_cuda_walk_over(&walk, &out, 1);
    hki_cuda_launch_parts(stream, walk, 1, &bytes, [&](const hki_cuda_path *path) {
        launch_arange_of(stream, path, out->dtype, options->start, options->step);
    });
}
