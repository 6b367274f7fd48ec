/* A table of the loops, TABLE: of those for real types, and with ALL_TYPES of all; VECTORS_ALONE as in elementwise_integers.inc.c. */
#define ENTRIES_FLOATS(name) [HK_F32] = name##_f32, [HK_F64] = name##_f64
#if defined(ALL_TYPES)
#define ENTRIES_INTEGERS(name)                                                                     \
    [HK_I32] = name##_i32, [HK_I64] = name##_i64, [HK_U64] = name##_u64, [HK_U8] = name##_u8
#define ENTRIES_NUMBERS(name)    ENTRIES_FLOATS(name), ENTRIES_INTEGERS(name)
#define ENTRIES_ALL_DTYPES(name) ENTRIES_NUMBERS(name), [HK_BOOL] = name##_bool
#define ENTRIES_BITS(name)       ENTRIES_INTEGERS(name), [HK_BOOL] = name##_bool
#else
#define ENTRIES_INTEGERS(name)   NULL
#define ENTRIES_NUMBERS(name)    ENTRIES_FLOATS(name)
#define ENTRIES_ALL_DTYPES(name) ENTRIES_FLOATS(name)
#define ENTRIES_BITS(name)       NULL
#endif

#define ENTRY_GRADIENT(context, kept, name, ns, expression)                                        \
    [HKI_ELEMENT_##name] = {ENTRIES_FLOATS(name)},
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    [HKI_ELEMENT_##name] = {ENTRIES_##dtypes(name)},                                               \
    HKI_EACH_GRADIENT(ENTRY_GRADIENT, , name, gradient)
#if defined(VECTORS_ALONE)
/* What may refuse elements is of numbers. */
#define CHECKED(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)          \
    [HKI_ELEMENT_##name] = {ENTRIES_##dtypes##_CHECKED(name)},                                     \
    HKI_EACH_GRADIENT(ENTRY_GRADIENT, , name, gradient)
#define ENTRIES_NUMBERS_CHECKED        ENTRIES_FLOATS
#define ENTRIES_INTEGERS_CHECKED(name) NULL
#else
#define CHECKED ROW
#endif

const hki_loop_table TABLE = {
#include "op/elementwise/elementwise.def"
};
