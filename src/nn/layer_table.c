/* The rows of layers.def. */
#include "nn/layer_table.h"

#include "base/option.h"
#include "nn/cache.h"
#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>
#include <string.h>

/* ---- what bodies call -------------------------------------------------------------------------------------- */

static const hk_init ones = {.kind = HK_INIT_CONSTANT, .value = 1},
                     zeros = {.kind = HK_INIT_CONSTANT};

static hk_array *scale(hk_module *self, hk_dims shape, hk_array *x)
{
    return hk_module_parameter(self, "gamma", shape, &ones, x);
}

static hk_array *shift(hk_module *self, hk_dims shape, hk_array *x)
{
    return hk_module_parameter(self, "beta", shape, &zeros, x);
}

hki_batch_norm_parts hki_batch_norm_parts_of(hk_module *self, hk_array *x)
{
    const hk_dims shape = hk_shape(hk_dim(x, 1));
    hki_batch_norm_parts parts;
    parts.gamma = scale(self, shape, x);
    parts.beta = shift(self, shape, x);
    parts.mean = hk_module_buffer(self, "mean", shape, 0, x);
    parts.variance = hk_module_buffer(self, "variance", shape, 1, x);
    return parts;
}

/* All axes but the first two. */
static hk_dims positions(const hk_array *x)
{
    hk_dims axes = {.ndim = x->shape.ndim - 2};
    for (int i = 2; i < x->shape.ndim; i++)
        axes.dims[i - 2] = i;
    return axes;
}

/* Elements of each sample. */
static int64_t count_behind(const hk_array *x)
{
    int64_t count = 1;
    for (int i = 1; i < x->shape.ndim; i++)
        count *= x->shape.dims[i];
    return count;
}

/* The sizes of the last axes. */
static hk_dims last_axes(const hk_array *x, int64_t axes)
{
    hk_dims shape = {.ndim = (int)axes};
    for (int i = 0; i < shape.ndim; i++)
        shape.dims[i] = x->shape.dims[x->shape.ndim - shape.ndim + i];
    return shape;
}

static hk_array *group_norm(hk_module *self, hk_array *x, int64_t groups, double eps)
{
    const hk_dims shape = hk_shape(x->shape.dims[1]);
    hk_array *gamma = scale(self, shape, x), *beta = shift(self, shape, x);
    return (hk_group_norm)(x, gamma, beta, &(hk_group_norm_options){.groups = groups, .eps = eps});
}

static hk_array *dropped(hk_module *self, hk_array *x, double p)
{
    if (!hki_dtype_is_real(x->dtype))
        return hki_array_create_failed(x->storage->device, self->kind, &x, 1, HK_INVALID_ARGUMENT,
                                       "x is %s, but must be of floats; hk_cast converts",
                                       hk_dtype_name(x->dtype));
    if (self->is_predicting || p == 0)
        return hki_scope_add(hk_array_retain(x));
    const hk_dtype dtype = x->dtype == HK_F64 ? HK_F64 : HK_F32;
    hk_array *drawn = (hk_random_uniform)(x->shape, dtype, hk_array_device(x));
    hk_array *is_kept =
        (hk_greater_equal)(drawn, (hk_full)(hk_shape(), p, dtype, hk_array_device(x)));
    hk_array *grown = hki_op_call_number(&hki_op_multiply_scalar, x, 1 / (1 - p));
    return (hk_where)(is_kept, grown, (hk_zeros)(hk_shape(), x->dtype, hk_array_device(x)));
}

/* Zeros where the index is that of padding, through which no gradient goes. */
static hk_array *without_padding(hk_array *x, hk_array *rows, int64_t padding)
{
    const hk_device device = hk_array_device(x);
    hk_array *index = (hk_full)(hk_shape(), (double)padding, x->dtype, device);
    hk_array *is_word = (hk_expand_dims)((hk_not_equal)(x, index), -1);
    return (hk_where)(is_word, rows, (hk_zeros)(hk_shape(), rows->dtype, device));
}

/* padding -1: none. */
static hk_array *embedded(hk_module *self, hk_array *x, int64_t count, int64_t features,
                          int64_t padding)
{
    static const hk_init normal = {.kind = HK_INIT_NORMAL, .value = 1};
    hk_array *weight = hk_module_parameter(self, "weight", hk_shape(count, features), &normal, x);
    if (x->shape.ndim >= HK_MAX_NDIM)
        return hki_array_create_failed(x->storage->device, self->kind, &x, 1, HK_INVALID_ARGUMENT,
                                       "x has %d axes; at most %d are possible", x->shape.ndim,
                                       HK_MAX_NDIM - 1);
    hk_dims shape = x->shape;
    shape.dims[shape.ndim++] = features;
    hk_array *rows =
        (hk_reshape)((hk_index_select)(weight, (hk_reshape)(x, hk_shape(x->size)), 0), shape);
    return padding < 0 ? rows : without_padding(x, rows, padding);
}

/* ---- the rows ---------------------------------------------------------------------------------------------- */

#define AND_NOTHING
#define AND_COMMA ,

#define C_NOTHING(name) void
#define C_SIZE(name)    int64_t name
#define C_COUNT(name)   int64_t name
#define C_INDEX(name)   int64_t name
#define C_FLAG(name)    bool name
#define C_AMOUNT(name)  double name
#define C_RATE(name)    double name
#define C_SHARE(name)   double name

#define KEPT_NOTHING(name) int64_t nothing
#define KEPT_SIZE(name)    int64_t name
#define KEPT_COUNT(name)   int64_t name
#define KEPT_INDEX(name)   int64_t name
#define KEPT_FLAG(name)    int64_t name
#define KEPT_AMOUNT(name)  double name
#define KEPT_RATE(name)    double name
#define KEPT_SHARE(name)   double name

#define ARGUMENT(type, name, usual) C_##type(name)
#define FIELD(type, name, usual)    KEPT_##type(name);
#define PASSED(type, name, usual)   name
#define PARAM(type, name, usual)                                                                   \
    {                                                                                              \
#name, HKI_LAYER_##type, #usual, usual + 0.0                                               \
    }

#define LAYER(name, class, parameters, arrays, least, text, example, check, ...)                   \
    typedef struct name##_values {                                                                 \
        parameters(FIELD, AND_NOTHING)                                                             \
    } name##_values;                                                                               \
    static hk_array *name##_forward(hk_module *self, hk_array *const *inputs, int count)           \
    {                                                                                              \
        const name##_values *o = self->options;                                                    \
        hk_array *refused = NULL, *x = hki_module_input(inputs, least, self->kind, &refused);      \
        (void)o, (void)count;                                                                      \
        if (!x)                                                                                    \
            return refused;                                                                        \
        __VA_ARGS__                                                                                \
    }                                                                                              \
    static void name##_check(hk_module *self, const void *values)                                  \
    {                                                                                              \
        const name##_values *o = values;                                                           \
        (void)o, (void)self;                                                                       \
        check                                                                                      \
    }
#define LAYER_OF_OPERATOR(name, class, parameters, text, example, ...)                             \
    typedef struct name##_values {                                                                 \
        parameters(FIELD, AND_NOTHING)                                                             \
    } name##_values;                                                                               \
    static hk_module *name##_make(const void *values)                                              \
    {                                                                                              \
        const name##_values *o = values;                                                           \
        const hk_##name##_options options = {__VA_ARGS__};                                         \
        return hk_operator_layer(#name, &options, sizeof options);                                 \
    }
#include "nn/layers.def"

#define ROW(name, class, parameters, text, example)                                                \
#name, #class, text, example, .params = {parameters(PARAM, AND_COMMA) }
#define LAYER(name, class, parameters, row_arrays, least, text, example, row_check, ...)           \
    {ROW(name, class, parameters, text, example), .arrays = row_arrays, .forward = name##_forward, \
     .check = name##_check},
#define INNER_LAYER(name, class, parameters, row_arrays, least, text, example, row_check, ...)     \
    {ROW(name, class, parameters, text, example), .is_inner = true, .arrays = row_arrays,          \
     .forward = name##_forward, .check = name##_check},
#define LAYER_OF_OPERATOR(name, class, parameters, text, example, ...)                             \
    {ROW(name, class, parameters, text, example), .arrays = hki_no_arrays, .make = name##_make},
const hki_layer_kind hki_layer_kinds[] = {
#include "nn/layers.def"
};
const int hki_layer_kind_count = sizeof hki_layer_kinds / sizeof *hki_layer_kinds;

/* Declared here, too: until `make generate` the header does not know new ones. */
#define CONSTRUCTOR(name, parameters)                                                              \
    HK_API hk_module *hk_##name##_layer(parameters(ARGUMENT, AND_COMMA));                          \
    hk_module *hk_##name##_layer(parameters(ARGUMENT, AND_COMMA))                                  \
    {                                                                                              \
        return hki_layer_make(#name, parameters(PASSED, AND_COMMA));                               \
    }
#define LAYER(name, class, parameters, arrays, least, text, example, check, ...)                   \
    CONSTRUCTOR(name, parameters)
#define INNER_LAYER(...)
#define LAYER_OF_OPERATOR(name, class, parameters, text, example, ...) CONSTRUCTOR(name, parameters)
#include "nn/layers.def"

/* ---- making ------------------------------------------------------------------------------------------------ */

int hki_layer_param_count(const hki_layer_kind *kind)
{
    int count = 0;
    while (count < HKI_LAYER_MOST_VALUES && kind->params[count].type != HKI_LAYER_NOTHING)
        count++;
    return count;
}

bool hki_layer_is_whole(const hki_layer_param *param)
{
    return param->type <= HKI_LAYER_FLAG;
}

const hki_layer_kind *hki_layer_kind_find(const char *name)
{
    for (int i = 0; name && i < hki_layer_kind_count; i++)
        if (!strcmp(hki_layer_kinds[i].name, name))
            return &hki_layer_kinds[i];
    return NULL;
}

/* Notes what a value may not be. */
static void check_value(hk_module *self, const hki_layer_param *param, hki_layer_value value)
{
    const bool is_whole = hki_layer_is_whole(param);
    const struct {
        bool is_good;
        const char *wants;
    } rules[] = {
        [HKI_LAYER_SIZE] = {value.i >= 1, "at least 1"},
        [HKI_LAYER_COUNT] = {value.i >= 0, "0 or more"},
        [HKI_LAYER_AMOUNT] = {isfinite(value.f) && value.f >= 0, "finite and not below 0"},
        [HKI_LAYER_RATE] = {value.f >= 0 && value.f < 1, "in [0, 1)"},
        [HKI_LAYER_SHARE] = {value.f >= 0 && value.f <= 1, "in [0, 1]"},
    };
    if (rules[param->type].is_good || !rules[param->type].wants)
        return;
    if (is_whole)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "%s is %lld, but must be %s", param->name,
                        (long long)value.i, rules[param->type].wants);
    else
        hki_module_fail(self, HK_INVALID_ARGUMENT, "%s is %g, but must be %s", param->name, value.f,
                        rules[param->type].wants);
}

static hk_module *make(const hki_layer_kind *kind, hki_layer_value *values)
{
    const int count = hki_layer_param_count(kind);
    for (int i = 0; i < count; i++)
        if (!hki_layer_is_whole(&kind->params[i]))
            values[i].f = hki_option_or(values[i].f, kind->params[i].usual);
    hk_module *self = kind->make ? kind->make(values)
                                 : hki_layer_create(kind->name, kind->forward, values,
                                                    (size_t)count * sizeof *values);
    for (int i = 0; i < count; i++)
        check_value(self, &kind->params[i], values[i]);
    if (kind->check)
        kind->check(self, values);
    return self;
}

hk_module *hki_layer_make(const char *name, ...)
{
    const hki_layer_kind *kind = hki_layer_kind_find(name);
    hki_layer_value values[HKI_LAYER_MOST_VALUES] = {{0}};
    va_list given;
    va_start(given, name);
    for (int i = 0; i < hki_layer_param_count(kind); i++)
        if (kind->params[i].type == HKI_LAYER_FLAG)
            values[i].i = va_arg(given, int);
        else if (hki_layer_is_whole(&kind->params[i]))
            values[i].i = va_arg(given, int64_t);
        else
            values[i].f = va_arg(given, double);
    va_end(given);
    return make(kind, values);
}

/* Of what failed; it is never called. */
static hk_array *nothing_forward(hk_module *self, hk_array *const *inputs, int count)
{
    return hki_array_create_failed(NULL, self->kind, inputs, count, HK_INVALID_ARGUMENT,
                                   "the layer could not be made");
}

static bool take_number(const hki_layer_param *param, const hk_number *given,
                        hki_layer_value *value)
{
    const bool is_int = given->kind == HK_NUMBER_INT, is_whole = hki_layer_is_whole(param);
    if (is_whole)
        value->i = is_int ? given->value.i : 0;
    else
        value->f = is_int ? (double)given->value.i : given->value.f;
    return is_int || (!is_whole && given->kind == HK_NUMBER_REAL);
}

hk_module *hk_layer_named(const char *name, const hk_number *given, int count)
{
    const hki_layer_kind *kind = hki_layer_kind_find(name);
    const int wanted = kind ? hki_layer_param_count(kind) : 0;
    hki_layer_value values[HKI_LAYER_MOST_VALUES] = {{0}};
    int good = 0;
    while (good < count && good < wanted &&
           take_number(&kind->params[good], &given[good], &values[good]))
        good++;
    if (kind && good == count && count == wanted)
        return make(kind, values);
    hk_module *self = hki_layer_create(name, nothing_forward, NULL, 0);
    if (!kind)
        hki_module_fail(self, HK_NOT_FOUND, "name is \"%s\", and no layer is called so",
                        name ? name : "NULL");
    else if (count != wanted)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "count is %d, but must be %d of %s", count,
                        wanted, name);
    else
        hki_module_fail(self, HK_INVALID_ARGUMENT, "%s is no %s number", kind->params[good].name,
                        hki_layer_is_whole(&kind->params[good]) ? "whole" : "real");
    return self;
}

/* ---- constructors with fewer values ------------------------------------------------------------------------ */

hk_module *hk_layer_norm_layer(double eps)
{
    return hki_layer_make("layer_norm", (int64_t)1, eps);
}

hk_module *hk_layer_norm_over_layer(int axes, double eps)
{
    return hki_layer_make("layer_norm", (int64_t)axes, eps);
}

hk_module *hk_embedding_layer(int64_t count, int64_t features)
{
    return hki_layer_make("embedding", count, features, (int64_t)-1);
}

hk_module *hk_padded_embedding_layer(int64_t count, int64_t features, int64_t padding)
{
    hk_module *self = hki_layer_make("embedding", count, features, padding);
    if (padding < 0)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "padding is %lld, but must be in [0, %lld)",
                        (long long)padding, (long long)count);
    return self;
}
