/* What convolutions and their gradients refuse of shapes, dtypes and options. */
#include "op/conv/conv2d.h"

enum { OPTION_MAX = 1 << 30 };

bool hki_conv2d_check_options(hki_call *call, const hki_conv2d_options *options)
{
    const char *const names[] = {"stride", "padding", "dilation"};
    const int64_t *const values[] = {options->stride, options->padding, options->dilation};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 2; j++) {
            int64_t value = values[i][j];
            if (value < 0 || value > OPTION_MAX)
                return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                       "%s[%d] is %lld; it may be %d … %d%s", names[i], j,
                                       (long long)value, i != 1, OPTION_MAX,
                                       i != 1 ? ", or 0 for the default, 1" : "");
        }
    }
    return true;
}

/* Whether x's channels and the outputs can be parted into groups that weight is made for. */
bool hki_conv2d_check_groups(hki_call *call, int64_t channels, const hki_shape_view *weight)
{
    const int64_t groups = ((const hki_conv2d_options *)call->options)->groups;
    const int64_t count = hki_conv2d_groups(call->options);
    char text[256], x_text[256];
    hki_dims_describe(&call->inputs[0]->shape, x_text, sizeof x_text);
    hki_dims_describe(&weight->shape, text, sizeof text);
    if (groups < 0 || channels % count || weight->shape.dims[0] % count)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "groups is %lld; it must divide the %lld channels of x and the %lld "
                               "outputs of weight %s, or be 0 for the default, 1",
                               (long long)groups, (long long)channels,
                               (long long)weight->shape.dims[0], text);
    if (weight->shape.dims[1] != channels / count)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "weight %s is for %lld channels, x %s has %lld%s", text,
                               (long long)weight->shape.dims[1], x_text,
                               (long long)(channels / count), count > 1 ? " in each group" : "");
    return true;
}

bool hki_conv2d_check_axes(hki_call *call, const char *name, const hki_shape_view *x,
                           const char *axes, bool batch)
{
    char text[256];
    hki_dims_describe(&x->shape, text, sizeof text);
    if (x->shape.ndim != 4)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, but needs 4 axes: %s", name,
                               text, axes);
    for (int i = batch; i < 4; i++) {
        if (x->shape.dims[i] == 0)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   "%s is %s: the size of axis %d must be at least 1 (%s)", name,
                                   text, i, axes);
    }
    return true;
}

bool hki_conv2d_check_dtype(hki_call *call, const char *name, const hki_shape_view *x)
{
    const hk_dtype dtype = call->inputs[0]->dtype;
    return x->dtype == dtype ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, x is %s; hk_cast converts", name,
                           hk_dtype_name(x->dtype), hk_dtype_name(dtype));
}
