/* Normalisations of rows and their gradients, written plainly: what conformance compares with. */
#include "op/softmax_norm/layer_norm.h"

#include "op/op.h"

#include <math.h>

static hki_row_norm_shape shape_of(const hki_call *call, const hki_layer_norm_backward_options *of)
{
    return hki_layer_norm_shape(call->inputs[0]->shape.ndim, call->inputs[0]->shape.dims, of);
}

/* Which element of gamma belongs to element j of row r. */
static int64_t affine_at(const hki_row_norm_shape *shape, int64_t r, int64_t j)
{
    return r % shape->groups * (shape->size / shape->inner) + j / shape->inner;
}

void hki_layer_norm_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_layer_norm_backward_options of = hki_layer_norm_of(call->op->id, call->options);
    const hki_row_norm_shape shape = shape_of(call, &of);
    const bool has_beta = call->input_count > 2 && call->inputs[2];
    for (int64_t r = 0; r < shape.rows; r++) {
        const double *x = in[0] + r * shape.size;
        double mean = 0, variance = 0;
        for (int64_t j = 0; j < shape.size; j++)
            mean += shape.is_centred ? x[j] / (double)shape.size : 0;
        for (int64_t j = 0; j < shape.size; j++)
            variance += (x[j] - mean) * (x[j] - mean) / (double)shape.size;
        const double inverse = 1 / sqrt(variance + hki_layer_norm_eps(call->options));
        for (int64_t j = 0; j < shape.size; j++) {
            const int64_t at = affine_at(&shape, r, j);
            out[0][r * shape.size + j] =
                (x[j] - mean) * inverse * (call->inputs[1] ? in[1][at] : 1) +
                (has_beta ? in[2][at] : 0);
        }
        out[1][3 * r] = mean;
        out[1][3 * r + 1] = inverse;
        out[1][3 * r + 2] = 0;
    }
}

void hki_layer_norm_backward_reference(const hki_call *call, const double *const *in,
                                       double *const *out)
{
    const hki_row_norm_shape shape = shape_of(call, call->options);
    for (int64_t r = 0; r < shape.rows; r++) {
        const double mean = in[2][3 * r] + in[2][3 * r + 2], inverse = in[2][3 * r + 1];
        double shift = 0, slope = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int64_t j = 0; j < shape.size; j++) {
                const int64_t at = r * shape.size + j;
                const double scale = call->inputs[3] ? in[3][affine_at(&shape, r, j)] : 1;
                const double given = in[1][at] * scale, normal = (in[0][at] - mean) * inverse;
                if (pass == 1)
                    out[0][at] = inverse * (given - shift - normal * slope);
                else {
                    shift += shape.is_centred ? given / (double)shape.size : 0;
                    slope += given * normal / (double)shape.size;
                }
            }
    }
}

void hki_layer_norm_weigh_reference(const hki_call *call, const double *const *in,
                                    double *const *out)
{
    const hki_row_norm_shape shape = shape_of(call, call->options);
    const int64_t count = call->out_shape[0].dims[1];
    for (int64_t i = 0; i < 2 * count; i++)
        out[0][i] = 0;
    for (int64_t i = 0; i < shape.rows * shape.size; i++) {
        const int64_t r = i / shape.size, at = affine_at(&shape, r, i % shape.size);
        out[0][at] += in[1][i] * (in[0][i] - in[2][3 * r] - in[2][3 * r + 2]) * in[2][3 * r + 1];
        out[0][count + at] += in[1][i];
    }
}
