/* What converts dtypes, included once for each instruction set: CONVERT is the name of the functions found. They give the same
 * bytes on each. */

/* ---- loads --------------------------------------------------------------------------------------------- */

#define SELF(x) (x)

#define LOAD(name, From, Wide, value)                                                              \
    static void load_##name(int64_t n, const char *from, int64_t step, void *to)                   \
    {                                                                                              \
        const From *in = (const From *)from;                                                       \
        Wide *out = to;                                                                            \
        if (step == (int64_t)sizeof(From)) {                                                       \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = (Wide)value(in[i]);                                                       \
        } else if (step == 0) {                                                                    \
            const Wide one = (Wide)value(*in);                                                     \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = one;                                                                      \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = (Wide)value(*(const From *)(from + i * step));                            \
        }                                                                                          \
    }

LOAD(f32_f32, float, float, SELF)
LOAD(f16_f32, uint16_t, float, hki_f16_to_float)
LOAD(bf16_f32, uint16_t, float, hki_bf16_to_float)
LOAD(i8_f32, int8_t, float, SELF)
LOAD(i16_f32, int16_t, float, SELF)
LOAD(u8_f32, uint8_t, float, SELF)
LOAD(u16_f32, uint16_t, float, SELF)
LOAD(f64_f64, double, double, SELF)
LOAD(f32_f64, float, double, SELF)
LOAD(f16_f64, uint16_t, double, hki_f16_to_float)
LOAD(bf16_f64, uint16_t, double, hki_bf16_to_float)
LOAD(byte, uint8_t, uint8_t, SELF)
LOAD(bool_i32, uint8_t, int32_t, SELF)
#define LOAD_INTEGER(dtype, name, T, least, most) LOAD(name##_i64, T, int64_t, SELF)
HKI_EACH_INTEGER(LOAD_INTEGER)
LOAD(i8_i32, int8_t, int32_t, SELF)
LOAD(i16_i32, int16_t, int32_t, SELF)
LOAD(u8_i32, uint8_t, int32_t, SELF)
LOAD(u16_i32, uint16_t, int32_t, SELF)
LOAD(i32_i32, int32_t, int32_t, SELF)

LOAD(f32_c128, float, double _Complex, SELF)
LOAD(f64_c128, double, double _Complex, SELF)
LOAD(f16_c128, uint16_t, double _Complex, hki_f16_to_float)
LOAD(bf16_c128, uint16_t, double _Complex, hki_bf16_to_float)
LOAD(c64_c128, float _Complex, double _Complex, SELF)
LOAD(c128_c128, double _Complex, double _Complex, SELF)

static hki_load_fn load_of(hk_dtype from, hk_dtype wide)
{
    static const hki_load_fn to_f32[HK_DTYPE_COUNT] = {
        [HK_F32] = load_f32_f32, [HK_F16] = load_f16_f32, [HK_BF16] = load_bf16_f32,
        [HK_I8] = load_i8_f32,   [HK_I16] = load_i16_f32, [HK_U8] = load_u8_f32,
        [HK_U16] = load_u16_f32, [HK_BOOL] = load_u8_f32,
    };
    static const hki_load_fn to_f64[HK_DTYPE_COUNT] = {[HK_F64] = load_f64_f64,
                                                       [HK_F32] = load_f32_f64,
                                                       [HK_F16] = load_f16_f64,
                                                       [HK_BF16] = load_bf16_f64};
    static const hki_load_fn to_i32[HK_DTYPE_COUNT] = {
        [HK_I8] = load_i8_i32,   [HK_I16] = load_i16_i32, [HK_U8] = load_u8_i32,
        [HK_U16] = load_u16_i32, [HK_I32] = load_i32_i32, [HK_BOOL] = load_bool_i32,
    };
#define ENTRY(dtype, name, T, least, most) [dtype] = load_##name##_i64,
    static const hki_load_fn to_i64[HK_DTYPE_COUNT] = {HKI_EACH_INTEGER(ENTRY)};
    static const hki_load_fn to_c128[HK_DTYPE_COUNT] = {
        [HK_F32] = load_f32_c128,   [HK_F64] = load_f64_c128, [HK_F16] = load_f16_c128,
        [HK_BF16] = load_bf16_c128, [HK_C64] = load_c64_c128, [HK_C128] = load_c128_c128,
    };
    switch (wide) {
    case HK_C128:
        return to_c128[from];
    case HK_F32:
        return to_f32[from];
    case HK_F64:
        return to_f64[from];
    case HK_I32:
        return to_i32[from];
    case HK_I64:
        return from == HK_U64 ? NULL : to_i64[from];
    case HK_U64: /* what is not negative has the same bits */
        return hki_dtype_is_unsigned(from) ? to_i64[from] : NULL;
    default:
        return from == wide ? load_byte : NULL;
    }
}

/* ---- stores -------------------------------------------------------------------------------------------- */

#define STORE(name, Wide, To, value)                                                               \
    static int64_t name(int64_t n, const void *from, char *to, int64_t step)                       \
    {                                                                                              \
        const Wide *in = from;                                                                     \
        To *out = (To *)to;                                                                        \
        if (step == (int64_t)sizeof(To)) {                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = (To)value(in[i]);                                                         \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                *(To *)(to + i * step) = (To)value(in[i]);                                         \
        }                                                                                          \
        return -1;                                                                                 \
    }

STORE(store_f32, float, float, SELF)
STORE(store_f64, double, double, SELF)
#ifdef HAS_F16C
/* As hki_f16_from_float: the instruction would keep bits of a NaN. */
static int64_t store_f16(int64_t n, const void *from, char *to, int64_t step)
{
    const float *in = from;
    int64_t i = 0;
    for (; step == 2 && i + 8 <= n; i += 8) {
        const __m256 x = _mm256_loadu_ps(in + i);
        const __m256 sign = _mm256_and_ps(x, _mm256_set1_ps(-0.f));
        const __m256 nan = _mm256_or_ps(sign, _mm256_set1_ps(__builtin_nanf("")));
        const __m256 is_nan = _mm256_cmp_ps(x, x, _CMP_UNORD_Q);
        _mm_storeu_si128((__m128i *)(to + 2 * i),
                         _mm256_cvtps_ph(_mm256_blendv_ps(x, nan, is_nan),
                                         _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC));
    }
    for (; i < n; i++)
        *(uint16_t *)(to + i * step) = hki_f16_from_float(in[i]);
    return -1;
}
#else
STORE(store_f16, float, uint16_t, hki_f16_from_float)
#endif
STORE(store_bf16, float, uint16_t, hki_bf16_from_float)
STORE(store_byte, uint8_t, uint8_t, SELF)
STORE(store_i8, int32_t, int8_t, SELF)
STORE(store_i16, int32_t, int16_t, SELF)
STORE(store_i32, int32_t, int32_t, SELF)
STORE(store_i64, int64_t, int64_t, SELF)
STORE(store_u16, int32_t, uint16_t, SELF)
STORE(store_u32, int64_t, uint32_t, SELF)
STORE(store_u64, uint64_t, uint64_t, SELF)
STORE(store_c64, double _Complex, float _Complex, SELF)
STORE(store_c128, double _Complex, double _Complex, SELF)

static hki_store_fn store_of(hk_dtype to)
{
    static const hki_store_fn stores[HK_DTYPE_COUNT] = {
        [HK_F32] = store_f32,   [HK_F64] = store_f64,   [HK_F16] = store_f16,
        [HK_BF16] = store_bf16, [HK_BOOL] = store_byte, [HK_I8] = store_i8,
        [HK_I16] = store_i16,   [HK_I32] = store_i32,   [HK_I64] = store_i64,
        [HK_U8] = store_byte,   [HK_U16] = store_u16,   [HK_U32] = store_u32,
        [HK_U64] = store_u64,   [HK_C64] = store_c64,   [HK_C128] = store_c128,
    };
    return stores[to];
}

/* ---- casts --------------------------------------------------------------------------------------------- */

#define TRUTH(x) ((x) != 0)
/* Rounded once: what is on the way is rounded to odd. */
#define F64_TO_F16(x)  hki_f16_from_float(hki_float_to_odd(x))
#define F64_TO_BF16(x) hki_bf16_from_float(hki_float_to_odd(x))
#define I64_TO_F16(x)  hki_f16_from_float(hki_float_to_odd_i64(x))
#define I64_TO_BF16(x) hki_bf16_from_float(hki_float_to_odd_i64(x))
#define U64_TO_F16(x)  hki_f16_from_float(float_to_odd_u64(x))
#define U64_TO_BF16(x) hki_bf16_from_float(float_to_odd_u64(x))

static float float_to_odd_u64(uint64_t value)
{
    return value >> 63 ? 2 * hki_float_to_odd_i64((int64_t)(value >> 1 | (value & 1)))
                       : hki_float_to_odd_i64((int64_t)value);
}

/* Both loops are vectors: of four bytes at once, where what is refused becomes 0, but in place; else all are looked at before
 * any is stored. */
#define CHECKED(name, Wide, To, is_had)                                                            \
    static int64_t name(int64_t n, const void *from, char *to, int64_t step)                       \
    {                                                                                              \
        const Wide *in = from;                                                                     \
        To *out = (To *)to;                                                                        \
        int refused = 0;                                                                           \
        const bool at_once = step == (int64_t)sizeof(To) && sizeof(To) == 4 &&                     \
                             sizeof(Wide) == 4 && (const void *)to != from;                        \
        for (int64_t i = 0; i < n; i++) {                                                          \
            const Wide x = in[i];                                                                  \
            const bool had = (is_had);                                                             \
            refused |= !had;                                                                       \
            if (at_once)                                                                           \
                out[i] = (To)(had ? x : 0);                                                        \
        }                                                                                          \
        for (int64_t i = 0; refused && i < n; i++) {                                               \
            const Wide x = in[i];                                                                  \
            if (!(is_had))                                                                         \
                return i;                                                                          \
        }                                                                                          \
        if (at_once)                                                                               \
            return -1;                                                                             \
        if (step == (int64_t)sizeof(To)) {                                                         \
            for (int64_t i = 0; i < n; i++)                                                        \
                out[i] = (To)in[i];                                                                \
        } else {                                                                                   \
            for (int64_t i = 0; i < n; i++)                                                        \
                *(To *)(to + i * step) = (To)in[i];                                                \
        }                                                                                          \
        return -1;                                                                                 \
    }

/* A function: some bounds are those of int32 or beyond, which compilers find odd. */
static inline bool is_between(int32_t x, int64_t least, int64_t most)
{
    return (x >= least) & (x <= most);
}

/* Between the least value less one and the largest plus one, both left out; where a float type lacks the former, it has no number
 * between that and the least value. NaN is refused. */
#define IS_REAL_HAD(T, least, most)                                                                \
    (((T)(least)-1 < (T)(least) ? x > (T)(least)-1 : x >= (T)(least)) &                            \
     (x < (T)((most) / 2 + 1) * 2))
#define FROM_F32(dtype, name, T, least, most)                                                      \
    CHECKED(cast_f32_##name, float, T, IS_REAL_HAD(float, least, most))
#define FROM_F64(dtype, name, T, least, most)                                                      \
    CHECKED(cast_f64_##name, double, T, IS_REAL_HAD(double, least, most))
#define FROM_I32(dtype, name, T, least, most)                                                      \
    CHECKED(cast_i32_##name, int32_t, T, is_between(x, least, (int64_t)(most)))
#define FROM_I64(dtype, name, T, least, most)                                                      \
    CHECKED(cast_i64_##name, int64_t, T, ((x >= (least)) & (x <= (int64_t)(most))))
#define FROM_U64(dtype, name, T, least, most)                                                      \
    CHECKED(cast_u64_##name, uint64_t, T, (x <= (uint64_t)(most)))

HKI_EACH_INTEGER(FROM_F32)
HKI_EACH_INTEGER(FROM_F64)
HKI_EACH_SIGNED(FROM_I32)
FROM_I32(HK_U8, u8, uint8_t, 0, UINT8_MAX)
FROM_I32(HK_U16, u16, uint16_t, 0, UINT16_MAX)
FROM_I32(HK_U32, u32, uint32_t, 0, UINT32_MAX)
FROM_I32(HK_U64, u64, uint64_t, 0, INT64_MAX)
HKI_EACH_SIGNED(FROM_I64)
FROM_I64(HK_U8, u8, uint8_t, 0, UINT8_MAX)
FROM_I64(HK_U16, u16, uint16_t, 0, UINT16_MAX)
FROM_I64(HK_U32, u32, uint32_t, 0, UINT32_MAX)
FROM_I64(HK_U64, u64, uint64_t, 0, INT64_MAX)
HKI_EACH_INTEGER(FROM_U64)

STORE(cast_f32_f64, float, double, SELF)
STORE(cast_f32_bool, float, uint8_t, TRUTH)
STORE(cast_f64_f32, double, float, SELF)
STORE(cast_f64_f16, double, uint16_t, F64_TO_F16)
STORE(cast_f64_bf16, double, uint16_t, F64_TO_BF16)
STORE(cast_f64_bool, double, uint8_t, TRUTH)
STORE(cast_i32_f32, int32_t, float, SELF)
STORE(cast_i32_f64, int32_t, double, SELF)
STORE(cast_i32_f16, int32_t, uint16_t, I64_TO_F16)
STORE(cast_i32_bf16, int32_t, uint16_t, I64_TO_BF16)
STORE(cast_i32_bool, int32_t, uint8_t, TRUTH)
STORE(cast_i64_f32, int64_t, float, SELF)
STORE(cast_i64_f64, int64_t, double, SELF)
STORE(cast_i64_f16, int64_t, uint16_t, I64_TO_F16)
STORE(cast_i64_bf16, int64_t, uint16_t, I64_TO_BF16)
STORE(cast_i64_bool, int64_t, uint8_t, TRUTH)
STORE(cast_u64_f32, uint64_t, float, SELF)
STORE(cast_u64_f64, uint64_t, double, SELF)
STORE(cast_u64_f16, uint64_t, uint16_t, U64_TO_F16)
STORE(cast_u64_bf16, uint64_t, uint16_t, U64_TO_BF16)
STORE(cast_u64_bool, uint64_t, uint8_t, TRUTH)
#define TO_COMPLEX(name, Wide)                                                                     \
    STORE(cast_##name##_c64, Wide, float _Complex, SELF)                                           \
    STORE(cast_##name##_c128, Wide, double _Complex, SELF)
TO_COMPLEX(f32, float)
TO_COMPLEX(f64, double)
TO_COMPLEX(i32, int32_t)
TO_COMPLEX(i64, int64_t)
TO_COMPLEX(u64, uint64_t)
STORE(cast_c128_bool, double _Complex, uint8_t, TRUTH)

static hki_store_fn cast_of(hk_dtype wide, hk_dtype to)
{
#define F32_TO(dtype, name, T, least, most) [dtype] = cast_f32_##name,
#define F64_TO(dtype, name, T, least, most) [dtype] = cast_f64_##name,
#define I32_TO(dtype, name, T, least, most) [dtype] = cast_i32_##name,
#define I64_TO(dtype, name, T, least, most) [dtype] = cast_i64_##name,
#define U64_TO(dtype, name, T, least, most) [dtype] = cast_u64_##name,
    static const hki_store_fn casts[HK_DTYPE_COUNT][HK_DTYPE_COUNT] = {
        [HK_F32] = {HKI_EACH_INTEGER(F32_TO)[HK_F32] = store_f32, [HK_F64] = cast_f32_f64,
                    [HK_F16] = store_f16, [HK_BF16] = store_bf16, [HK_BOOL] = cast_f32_bool,
                    [HK_C64] = cast_f32_c64, [HK_C128] = cast_f32_c128},
        [HK_F64] = {HKI_EACH_INTEGER(F64_TO)[HK_F32] = cast_f64_f32, [HK_F64] = store_f64,
                    [HK_F16] = cast_f64_f16, [HK_BF16] = cast_f64_bf16, [HK_BOOL] = cast_f64_bool,
                    [HK_C64] = cast_f64_c64, [HK_C128] = cast_f64_c128},
        [HK_I32] = {HKI_EACH_INTEGER(I32_TO)[HK_F32] = cast_i32_f32, [HK_F64] = cast_i32_f64,
                    [HK_F16] = cast_i32_f16, [HK_BF16] = cast_i32_bf16, [HK_BOOL] = cast_i32_bool,
                    [HK_C64] = cast_i32_c64, [HK_C128] = cast_i32_c128},
        [HK_I64] = {HKI_EACH_INTEGER(I64_TO)[HK_F32] = cast_i64_f32, [HK_F64] = cast_i64_f64,
                    [HK_F16] = cast_i64_f16, [HK_BF16] = cast_i64_bf16, [HK_BOOL] = cast_i64_bool,
                    [HK_C64] = cast_i64_c64, [HK_C128] = cast_i64_c128},
        [HK_U64] = {HKI_EACH_INTEGER(U64_TO)[HK_F32] = cast_u64_f32, [HK_F64] = cast_u64_f64,
                    [HK_F16] = cast_u64_f16, [HK_BF16] = cast_u64_bf16, [HK_BOOL] = cast_u64_bool,
                    [HK_C64] = cast_u64_c64, [HK_C128] = cast_u64_c128},
        [HK_C128] = {[HK_BOOL] = cast_c128_bool, [HK_C64] = store_c64, [HK_C128] = store_c128},
    };
    return casts[wide][to];
}

const hki_convert CONVERT = {load_of, store_of, cast_of};
