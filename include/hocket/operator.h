/* Operators as objects: found once, asked what they take, called by handle. For bindings and for what generates them; programs in
 * C call the functions of hocket/ops.h. Thread-safe; nothing here blocks but as calls do. */
#ifndef HOCKET_OPERATOR_H
#define HOCKET_OPERATOR_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* One of docs/OPERATORS.md. Immutable; lives as long as the library. */
typedef struct hk_op hk_operator;

/* NULL: no operator is called so. */
HK_API const hk_operator *hk_operator_find(const char *name);
/* All of them, in the order of the page: 0 <= index < hk_operator_count(), else NULL. */
HK_API int hk_operator_count(void);
HK_API const hk_operator *hk_operator_at(int index);

/* What an operator is. Text is static. */
typedef struct hk_operator_facts {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    const char *name, *doc;
    const char
        *signature; /* names of the inputs, "x, weight, bias?": a ? marks one that may be NULL */
    int input_count, required_input_count;
    int param_count;      /* fields of its options, see hk_operator_read_param */
    size_t options_bytes; /* of its hk_<name>_options or hk_<name>_arguments; 0: it has none */
    uint32_t dtypes;      /* bit 1 << dtype: what input 0 may be; 0: that is not looked at */
    bool takes_device;    /* the device of a call matters */
    bool is_elementwise; /* element i of the result comes from element i of each input, broadcast */
    bool has_gradient;
    bool
        is_variadic; /* takes any number of inputs, one at least, under the one name of its signature */
    int output_count;    /* results, see hk_operator_call_all */
    const char *outputs; /* their names, "variance, mean"; "y" of one */
} hk_operator_facts;
/* Zeros for NULL. */
HK_API void hk_operator_read_facts(const hk_operator *op, hk_operator_facts *facts);
static inline hk_operator_facts hk_operator_get_facts(const hk_operator *op)
{
    hk_operator_facts filled;
    filled.struct_bytes = sizeof filled;
    hk_operator_read_facts(op, &filled);
    return filled;
}

/* Types of options: bool, int64_t, int64_t[2], double, hk_dtype, hk_dims, uint64_t, int64_t[3]. */
typedef enum hk_param_type {
    HK_PARAM_BOOL,
    HK_PARAM_INT,
    HK_PARAM_INT2,
    HK_PARAM_F64,
    HK_PARAM_DTYPE,
    HK_PARAM_DIMS,
    HK_PARAM_U64,
    HK_PARAM_INT3
} hk_param_type;

/* A field of an operator's options. Text is static. */
typedef struct hk_operator_param {
    size_t struct_bytes; /* see "Structs that grow" in hocket/base.h */
    const char *name, *doc;
    const char *
        default_text; /* as in C; a field whose bytes are all 0 means it; "" where it is required */
    size_t offset;    /* bytes, in the struct */
    hk_param_type type;
    bool is_required; /* an argument of the function: all fields of an operator are, or none */
} hk_operator_param;
/* 0 <= index < param_count; else zeros. */
HK_API void hk_operator_read_param(const hk_operator *op, int index, hk_operator_param *param);
static inline hk_operator_param hk_operator_get_param(const hk_operator *op, int index)
{
    hk_operator_param filled;
    filled.struct_bytes = sizeof filled;
    hk_operator_read_param(op, index, &filled);
    return filled;
}

/* hk_call, hk_call_all and hk_call_into without looking for the name. NULL gives failed arrays. */
HK_API hk_array *hk_operator_call(const hk_operator *op, hk_array *const *inputs, int input_count,
                                  const void *options, hk_device device);
HK_API void hk_operator_call_all(const hk_operator *op, hk_array *const *inputs, int input_count,
                                 const void *options, hk_device device, hk_array **outputs,
                                 int output_count);
HK_API void hk_operator_call_into(const hk_operator *op, hk_array *out, hk_array *const *inputs,
                                  int input_count, const void *options);

/* The same of an elementwise operator of x and y, of which one may be a number: count operands, in the order of its signature. A
 * number takes the other's dtype (hocket/number.h). */
HK_API hk_array *hk_operator_call_operands(const hk_operator *op, const hk_operand *operands,
                                           int count);
HK_API void hk_operator_call_operands_into(const hk_operator *op, hk_array *out,
                                           const hk_operand *operands, int count);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_operator_call,
      (hk_source at, const hk_operator *op, hk_array *const *inputs, int input_count,
       const void *options, hk_device device),
      (op, inputs, input_count, options, device))
#define hk_operator_call(...) hk_operator_call_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_operator_call_all,
           (hk_source at, const hk_operator *op, hk_array *const *inputs, int input_count,
            const void *options, hk_device device, hk_array **outputs, int output_count),
           (op, inputs, input_count, options, device, outputs, output_count))
#define hk_operator_call_all(...) hk_operator_call_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_operator_call_into,
           (hk_source at, const hk_operator *op, hk_array *out, hk_array *const *inputs,
            int input_count, const void *options),
           (op, out, inputs, input_count, options))
#define hk_operator_call_into(...) hk_operator_call_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_operator_call_operands,
      (hk_source at, const hk_operator *op, const hk_operand *operands, int count),
      (op, operands, count))
#define hk_operator_call_operands(...) hk_operator_call_operands_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_operator_call_operands_into,
           (hk_source at, const hk_operator *op, hk_array *out, const hk_operand *operands,
            int count),
           (op, out, operands, count))
#define hk_operator_call_operands_into(...)                                                        \
    hk_operator_call_operands_into_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
