#include "op/conv/one_row.h"

#include "op/shape/view_op.h"

/* The call of the operator of images, whose inputs `views` holds. */
static bool image_call(const hki_call *call, const hki_one_row *as, hki_shape_view *views,
                       hki_call *image)
{
    *image = (hki_call){.op = as->op,
                        .operation = call->operation,
                        .device = call->device,
                        .options = as->options,
                        .input_count = call->input_count};
    for (int i = 0; i < call->input_count; i++) {
        if (!call->inputs[i])
            continue;
        views[i] = *call->inputs[i];
        if (as->sequences >> i & 1) {
            views[i].shape = (hk_dims){.ndim = 4,
                                       .dims = {views[i].shape.dims[0], views[i].shape.dims[1], 1,
                                                views[i].shape.dims[2]}};
            views[i].strides[3] = views[i].strides[2];
        }
        image->inputs[i] = &views[i];
    }
    return as->op->infer(image);
}

bool hki_one_row_infer(hki_call *call, const hki_one_row *as)
{
    hki_shape_view views[HKI_MAX_INPUTS];
    hki_call image;
    for (int i = 0; i < call->input_count; i++) {
        char name[64], text[256];
        if (!call->inputs[i] || !(as->sequences >> i & 1) || call->inputs[i]->shape.ndim == 3)
            continue;
        hki_op_input_name(call->op, i, name, sizeof name);
        hki_dims_describe(&call->inputs[i]->shape, text, sizeof text);
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "%s is %s, but needs 3 axes: %s", name,
                               text,
                               i == 0 ? "samples, channels, length" : "outputs, channels, length");
    }
    if (!image_call(call, as, views, &image))
        return hki_call_refuse(call, image.code, "as images of one row: %s", image.message);
    call->out_shape[0] = image.out_shape[0];
    hk_dims *shape = &call->out_shape[0];
    shape->dims[2] = shape->dims[3];
    shape->ndim = 3;
    call->out_dtype[0] = image.out_dtype[0];
    return true;
}

hk_array *hki_one_row_compose(const hki_call *call, const hki_one_row *as)
{
    const int64_t rows = 2;
    hk_array *inputs[HKI_MAX_INPUTS];
    for (int i = 0; i < call->input_count; i++)
        inputs[i] = call->arrays[i] && as->sequences >> i & 1
                        ? hki_op_call1(&hki_op_expand_dims, call->arrays[i], &rows)
                        : call->arrays[i];
    return hki_op_call1(
        &hki_op_squeeze,
        hki_op_call(as->op, inputs, call->input_count, as->options, (hk_device){NULL}, NULL),
        &rows);
}

void hki_one_row_reference(const hki_call *call, const hki_one_row *as, const double *const *in,
                           double *const *out)
{
    hki_shape_view views[HKI_MAX_INPUTS];
    hki_call image;
    if (image_call(call, as, views, &image))
        as->op->reference(&image, in, out);
}
