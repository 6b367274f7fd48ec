#include "op/conv/conv_checks.h"

#include <inttypes.h>
#include <stdio.h>

enum { X, WEIGHT, BIAS, OPTION_MAX = 1 << 30, TEXT = 256 };

static int64_t groups_of(const hki_conv_axes *o)
{
    return o->groups ? o->groups : 1;
}

static const hki_shape_view *bias_of(const hki_call *call)
{
    return call->input_count > BIAS ? call->inputs[BIAS] : NULL;
}

bool hki_conv_check_axes(hki_call *call, const char *name, const hki_shape_view *x, int count,
                         const char *first, bool batch)
{
    const char *depth = count == 3 ? "depth, " : "";
    char text[TEXT];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != count + 2)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "%s is %s, but needs %d axes: %s, %sheight, width", name, text,
                               count + 2, first, depth);
    for (int i = batch; i < count + 2; i++) {
        if (x->shape.dims[i] == 0)
            return hki_call_refuse(
                call, HK_INVALID_ARGUMENT,
                "%s is %s: the size of axis %d must be at least 1 (%s, %sheight, width)", name,
                text, i, first, depth);
    }
    return true;
}

static bool check_dtype(hki_call *call, const char *name, const hki_shape_view *x)
{
    const hk_dtype dtype = call->inputs[X]->dtype;
    return x->dtype == dtype ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, x is %s; hk_cast converts", name,
                           hk_dtype_name(x->dtype), hk_dtype_name(dtype));
}

static bool check_options(hki_call *call, const hki_conv_axes *o)
{
    const char *const names[] = {"stride", "padding", "dilation"};
    const int64_t *const values[] = {o->stride, o->padding, o->dilation};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < o->count; j++) {
            int64_t value = values[i][j];
            if (value < 0 || value > OPTION_MAX)
                return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                       "%s[%d] is %" PRId64 "; it may be %d … %d%s", names[i], j,
                                       value, i != 1, OPTION_MAX,
                                       i != 1 ? ", or 0 for the default, 1" : "");
        }
    }
    return true;
}

/* All that does not depend on which way the weights run. */
static bool check_call(hki_call *call, const hki_conv_axes *o, const char *weight_axes)
{
    const hki_shape_view *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    const hki_shape_view *bias = bias_of(call);
    return hki_conv_check_axes(call, "x", x, o->count, "samples, channels", true) &&
           hki_conv_check_axes(call, "weight", weight, o->count, weight_axes, false) &&
           check_dtype(call, "weight", weight) && (!bias || check_dtype(call, "bias", bias)) &&
           check_options(call, o);
}

static bool check_bias(hki_call *call, int64_t outputs, const char *weight)
{
    const hki_shape_view *bias = bias_of(call);
    char text[TEXT];
    if (!bias || (bias->shape.ndim == 1 && bias->shape.dims[0] == outputs))
        return true;
    hki_dims_describe(&bias->shape, text, sizeof text);
    return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "bias is %s, but must be (%" PRId64 ",): one for each output of weight "
                           "%s",
                           text, outputs, weight);
}

/* ---- forward ----------------------------------------------------------------------------------------------- */

static bool check_groups(hki_call *call, const hki_conv_axes *o, const char *x_text,
                         const char *weight_text)
{
    const int64_t channels = call->inputs[X]->shape.dims[1], count = groups_of(o);
    const int64_t *weight = call->inputs[WEIGHT]->shape.dims;
    if (count < 0 || channels % count || weight[0] % count)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "groups is %" PRId64 "; it must divide the %" PRId64
                               " channels of x and the %" PRId64
                               " outputs of weight %s, or be 0 for the default, 1",
                               o->groups, channels, weight[0], weight_text);
    if (weight[1] != channels / count)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "weight %s is for %" PRId64 " channels, x %s has %" PRId64 "%s",
                               weight_text, weight[1], x_text, channels / count,
                               count > 1 ? " in each group" : "");
    return true;
}

static const char *joined(char text[TEXT], const int64_t *numbers, int count, const char *between)
{
    int used = 0;
    for (int i = 0; i < count; i++)
        used += snprintf(text + used, (size_t)(TEXT - used), "%s%" PRId64, i ? between : "",
                         numbers[i]);
    return text;
}

static bool refuse_window(hki_call *call, const hki_conv_axes *o, const char *x_text,
                          const char *weight_text)
{
    int64_t spans[3], dilations[3], has[3];
    char texts[4][TEXT];
    for (int i = 0; i < o->count; i++) {
        spans[i] = hki_conv_span(o, i, call->inputs[WEIGHT]->shape.dims[2 + i]);
        dilations[i] = hki_conv_dilation(o, i);
        has[i] = call->inputs[X]->shape.dims[2 + i] + 2 * o->padding[i];
    }
    return hki_call_refuse(
        call, HK_INVALID_ARGUMENT,
        "a window of weight %s spans %s elements with dilation {%s}; x %s with padding {%s} has "
        "only %s",
        weight_text, joined(texts[0], spans, o->count, " x "),
        joined(texts[1], dilations, o->count, ", "), x_text,
        joined(texts[2], o->padding, o->count, ", "), joined(texts[3], has, o->count, " x "));
}

bool hki_conv_infer(hki_call *call, const hki_conv_axes *o)
{
    const hki_shape_view *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    char x_text[TEXT], weight_text[TEXT];
    if (!check_call(call, o, "outputs, channels"))
        return false;
    hki_dims_describe(&x->shape, x_text, sizeof x_text);
    hki_dims_describe(&weight->shape, weight_text, sizeof weight_text);
    if (!check_groups(call, o, x_text, weight_text) ||
        !check_bias(call, weight->shape.dims[0], weight_text))
        return false;
    hk_dims *y = &call->out_shape[0];
    *y = (hk_dims){.ndim = o->count + 2, .dims = {x->shape.dims[0], weight->shape.dims[0]}};
    for (int i = 0; i < o->count; i++) {
        const int64_t left = x->shape.dims[2 + i] + 2 * o->padding[i] -
                             hki_conv_span(o, i, weight->shape.dims[2 + i]);
        if (left < 0)
            return refuse_window(call, o, x_text, weight_text);
        y->dims[2 + i] = left / hki_conv_stride(o, i) + 1;
    }
    call->out_dtype[0] = x->dtype;
    return true;
}

/* ---- transposed --------------------------------------------------------------------------------------------- */

static bool check_channels(hki_call *call, const hki_conv_axes *o)
{
    const hki_shape_view *x = call->inputs[X], *weight = call->inputs[WEIGHT];
    const int64_t groups = groups_of(o), channels = weight->shape.dims[0];
    char text[TEXT], weight_text[TEXT];
    hki_dims_describe(&weight->shape, weight_text, sizeof weight_text);
    if (groups < 0 || channels % groups)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "groups is %" PRId64 "; it must divide the %" PRId64
                               " channels of weight %s, or be 0 for the default, 1",
                               groups, channels, weight_text);
    hki_dims_describe(&x->shape, text, sizeof text);
    if (channels != x->shape.dims[1])
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "weight %s is for %" PRId64 " channels, x %s has %" PRId64,
                               weight_text, channels, text, x->shape.dims[1]);
    return check_bias(call, weight->shape.dims[1] * groups, weight_text);
}

/* The size of the result along an axis. */
static bool transpose_size(hki_call *call, const hki_conv_axes *o, int i, int64_t *size)
{
    const int64_t from = call->inputs[X]->shape.dims[2 + i], stride = hki_conv_stride(o, i);
    if (o->output_padding[i] < 0 || o->output_padding[i] >= stride)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "output_padding[%d] is %" PRId64 "; it may be 0 … %" PRId64
                               ", less than the stride",
                               i, o->output_padding[i], stride - 1);
    /* Of a view that is broadcast to very many rows, more than can be counted. */
    if ((double)from * (double)stride > 0x1p60)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "stride[%d] is %" PRId64 ", which makes too many of %" PRId64, i,
                               stride, from);
    *size = (from - 1) * stride - 2 * o->padding[i] +
            hki_conv_span(o, i, call->inputs[WEIGHT]->shape.dims[2 + i]) + o->output_padding[i];
    return *size >= 1 ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT,
                           "padding[%d] is %" PRId64 ", which leaves nothing of the result", i,
                           o->padding[i]);
}

bool hki_conv_transpose_infer(hki_call *call, const hki_conv_axes *o)
{
    hk_dims *y = &call->out_shape[0];
    if (!check_call(call, o, "channels, outputs") || !check_channels(call, o))
        return false;
    *y = (hk_dims){.ndim = o->count + 2,
                   .dims = {call->inputs[X]->shape.dims[0],
                            call->inputs[WEIGHT]->shape.dims[1] * groups_of(o)}};
    for (int i = 0; i < o->count; i++)
        if (!transpose_size(call, o, i, &y->dims[2 + i]))
            return false;
    call->out_dtype[0] = call->inputs[X]->dtype;
    return true;
}
