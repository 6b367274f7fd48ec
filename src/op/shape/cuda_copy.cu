/* Copies, constants and conversions, by the kernel of cuda_elementwise.cuh. */
#include "op/elementwise/cuda_elementwise.cuh"
#include "op/cuda/cuda_half.cuh"

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

void hki_cuda_launch_copy(hki_cuda_stream *stream, const hki_cuda_path *path, int item_bytes)
{
    launch_by_size<copy_row>(stream, path, item_bytes, 0);
}

void hki_cuda_launch_fill(hki_cuda_stream *stream, const hki_cuda_path *path, int item_bytes,
                          uint64_t bits)
{
    launch_by_size<fill_row>(stream, path, item_bytes, bits);
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

void hki_cuda_launch_cast(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype from,
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

void hki_cuda_launch_arange(hki_cuda_stream *stream, const hki_cuda_path *path, hk_dtype dtype,
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
