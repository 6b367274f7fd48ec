/* Options of operators: structures, and the tables that tell of their fields. See op.h. Also for
 * CUDA C++. */
#ifndef HOCKET_OP_OPTIONS_H
#define HOCKET_OP_OPTIONS_H

#include <assert.h>
#include <hocket/array.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum hki_param_type {
    HKI_PARAM_BOOL,  /* bool */
    HKI_PARAM_INT,   /* int64_t */
    HKI_PARAM_INT2,  /* int64_t[2] */
    HKI_PARAM_F64,   /* double */
    HKI_PARAM_DTYPE, /* hk_dtype */
    HKI_PARAM_DIMS,  /* hk_dims */
    HKI_PARAM_U64,   /* uint64_t */
    HKI_PARAM_INT3   /* int64_t[3] */
} hki_param_type;

/* One field of an operator's options struct. A field of all zero bytes means the default. */
typedef struct hki_param {
    const char *name;
    hki_param_type type;
    size_t offset;
    const char *default_text, *doc;
    bool required; /* an argument of the public function: all fields of an operator, or none */
} hki_param;

enum { HKI_MAX_OPTIONS_BYTES = 256 };

/* The macros of the example in op.h. */
#define HKI_FIELD_BOOL(name)  bool name
#define HKI_FIELD_INT(name)   int64_t name
#define HKI_FIELD_INT2(name)  int64_t name[2]
#define HKI_FIELD_INT3(name)  int64_t name[3]
#define HKI_FIELD_F64(name)   double name
#define HKI_FIELD_DTYPE(name) hk_dtype name
#define HKI_FIELD_DIMS(name)  hk_dims name
#define HKI_FIELD_U64(name)   uint64_t name

#define HKI_OPTIONS_FIELD(op, type, field, default_text, doc) HKI_FIELD_##type(field);
#define HKI_OPTIONS_ROW(op, type, field, default_text, doc)                                        \
    {#field, HKI_PARAM_##type, offsetof(hki_##op##_options, field), default_text, doc, false},
#define HKI_ARGUMENTS_ROW(op, type, field, default_text, doc)                                      \
    {#field, HKI_PARAM_##type, offsetof(hki_##op##_options, field), default_text, doc, true},
#define HKI_OPTIONS_STRUCT(op, LIST)                                                               \
    typedef struct hki_##op##_options {                                                            \
        LIST(HKI_OPTIONS_FIELD, op)                                                                \
    } hki_##op##_options;                                                                          \
    static_assert(sizeof(hki_##op##_options) <= HKI_MAX_OPTIONS_BYTES, "options are too large");
#define HKI_OPTIONS_TABLE(op, LIST)                                                                \
    static const hki_param op##_params[] = {LIST(HKI_OPTIONS_ROW, op){.name = NULL}};
#define HKI_ARGUMENTS_TABLE(op, LIST)                                                              \
    static const hki_param op##_params[] = {LIST(HKI_ARGUMENTS_ROW, op){.name = NULL}};
#define HKI_OPTIONS(op, LIST)                                                                      \
    HKI_OPTIONS_STRUCT(op, LIST)                                                                   \
    HKI_OPTIONS_TABLE(op, LIST)
#define HKI_ARGUMENTS(op, LIST)                                                                    \
    HKI_OPTIONS_STRUCT(op, LIST)                                                                   \
    HKI_ARGUMENTS_TABLE(op, LIST)

#endif
