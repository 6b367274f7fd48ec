/* Convolution in groups: by kernels for few channels a group, depthwise above all; or group by group, of samples that are brought
 * together, by the kernels for one group. */
#include "op/conv/conv2d_groups_kernel.h"

#include "base/integer.h"
#include "op/call/scratch.h"
#include "op/conv/conv2d.h"

#include <string.h>

enum {
    DENSE_PRODUCTS = 4, /* of channels and outputs of a group, from which on it is done as one */
    SMALL_PLANE = 256,  /* elements: rows so short leave vectors empty */
    LARGE_WINDOW = 10
};

/* The convolution of one group. */
static hki_conv2d_geometry part_of(hki_conv2d_geometry g, int64_t groups)
{
    g.in_channels /= groups;
    g.out_channels /= groups;
    return g;
}

/* Whether the kernels for one group do it; the same for any number of samples. */
static bool is_dense(const hki_conv2d_geometry *part)
{
    return part->in_channels * part->out_channels >= DENSE_PRODUCTS ||
           (part->stride_height == 1 && part->stride_width == 1 &&
            (part->out_height * part->out_width <= SMALL_PLANE ||
             part->kernel_height * part->kernel_width >= LARGE_WINDOW));
}

static int64_t in_size(const hki_conv2d_geometry *g)
{
    return g->in_channels * g->in_height * g->in_width;
}

static int64_t out_size(const hki_conv2d_geometry *g)
{
    return g->out_channels * g->out_height * g->out_width;
}

static int64_t weight_size(const hki_conv2d_geometry *part)
{
    return part->out_channels * part->in_channels * part->kernel_height * part->kernel_width;
}

bool hki_conv2d_groups_plan(const hki_call *call, const hki_conv2d_geometry *g,
                            hki_conv2d_pass pass, hki_plan *plan)
{
    const int64_t groups = hki_conv2d_groups(call->options);
    const bool f64 = call->out_dtype[0] == HK_F64;
    if (groups == 1)
        return false;
    const hki_conv2d_geometry part = part_of(*g, groups);
    const double products = (double)g->samples * (double)out_size(g) *
                            (double)(part.in_channels * g->kernel_height * g->kernel_width);
    plan->flops = 2 * products;
    plan->work_ns = 500 + products / (is_dense(&part) ? 10 : 4) * (f64 ? 2 : 1);
    if (is_dense(&part)) {
        plan->extent = g->samples;
        plan->grain = hki_conv2d_block_samples(&part, f64);
    } else {
        plan->extent = pass == HKI_CONV2D_FORWARD         ? g->samples * g->out_channels
                       : pass == HKI_CONV2D_BACKWARD_DATA ? g->samples * g->in_channels
                                                          : g->out_channels;
    }
    return true;
}

bool hki_conv2d_groups_have_sums(const hki_call *call, const hki_conv2d_geometry *g)
{
    const int64_t groups = hki_conv2d_groups(call->options);
    const hki_conv2d_geometry part = part_of(*g, groups);
    return groups == 1 || is_dense(&part);
}

/* ---- kernels ---------------------------------------------------------------------------------------------- */

/* Moves the group's part of so many samples, of `all` elements each, together or apart. */
static void move(void *part, void *whole, int64_t count, int64_t bytes, int64_t all_bytes,
                 bool together)
{
    for (int64_t n = 0; n < count; n++) {
        char *here = (char *)part + n * bytes, *there = (char *)whole + n * all_bytes;
        memcpy(together ? here : there, together ? there : here, (size_t)bytes);
    }
}

/* A piece at work, group by group. */
typedef struct work {
    hki_conv2d_geometry g, part;
    int64_t groups, begin, count; /* samples */
    int64_t item;                 /* bytes of an element */
    void *x, *y, *scratch;        /* of a group: samples brought together */
} work;

/* A group's part of x and y, or of their gradients; NULL: not that one. */
static void gather(const work *self, int64_t group, void *x, void *y, bool together)
{
    const int64_t in = in_size(&self->part) * self->item, out = out_size(&self->part) * self->item;
    if (x)
        move(self->x, (char *)x + (self->begin * self->groups + group) * in, self->count, in,
             in * self->groups, together);
    if (y)
        move(self->y, (char *)y + (self->begin * self->groups + group) * out, self->count, out,
             out * self->groups, together);
}

#define PART(T, DT)                                                                                \
    static bool part_##DT(const hki_kernel_call *call, work *self, T *sums, int64_t group)         \
    {                                                                                              \
        const hki_conv2d_geometry *g = &self->part;                                                \
        const int64_t weights = weight_size(g), at = group * g->out_channels;                      \
        void *first = call->in[0].data, *second = call->in[1].data, *out = call->out[0].data;      \
        const T *weight = (const T *)second + group * weights;                                     \
        if (call->op->fuse == HKI_FUSE_CONVOLUTION) {                                              \
            const T *bias = call->in[2].data;                                                      \
            gather(self, group, first, NULL, true);                                                \
            hki_conv2d_forward_##DT(g, self->x, weight, bias ? bias + at : NULL, self->y, 0,       \
                                    self->count, self->scratch);                                   \
            gather(self, group, NULL, out, false);                                                 \
        } else if (call->op->fuse == HKI_FUSE_CONVOLUTION_DATA) {                                  \
            gather(self, group, NULL, first, true);                                                \
            hki_conv2d_backward_data_##DT(g, self->y, weight, self->x, 0, self->count,             \
                                          self->scratch);                                          \
            gather(self, group, out, NULL, false);                                                 \
        } else {                                                                                   \
            gather(self, group, first, second, true);                                              \
            return hki_conv2d_backward_weight_##DT(g, self->x, self->y, sums + group * weights,    \
                                                   sums + self->groups * weights + at, 0,          \
                                                   self->count, self->scratch);                    \
        }                                                                                          \
        return true;                                                                               \
    }

PART(float, f32)
PART(double, f64)

static size_t scratch_bytes(const work *self, hki_fuse_role role, bool f64)
{
    return role == HKI_FUSE_CONVOLUTION ? hki_conv2d_forward_scratch_bytes(&self->part, f64)
           : role == HKI_FUSE_CONVOLUTION_DATA
               ? hki_conv2d_backward_data_scratch_bytes(&self->part, f64)
               : hki_conv2d_backward_weight_scratch_bytes(&self->part, f64);
}

/* Group by group. sums: of the gradients of weight and bias, for their piece. */
static void run_parts(const hki_kernel_call *call, int64_t piece, work *self, char *sums)
{
    const bool f64 = self->item == sizeof(double);
    const int64_t x = hki_round_up(self->count * in_size(&self->part) * self->item, 64);
    const int64_t y = hki_round_up(self->count * out_size(&self->part) * self->item, 64);
    const size_t bytes = (size_t)(x + y) + scratch_bytes(self, call->op->fuse, f64) + 1;
    char *memory = hki_scratch_allocate(call, piece, bytes);
    bool done = true;
    if (!memory)
        return;
    self->x = memory;
    self->y = memory + x;
    self->scratch = memory + x + y;
    for (int64_t i = 0; i < self->groups && done; i++)
        done = f64 ? part_f64(call, self, (double *)(void *)sums, i)
                   : part_f32(call, self, (float *)(void *)sums, i);
    if (!done)
        hki_conv2d_fail_products(call, piece);
    hki_scratch_release(call, memory, bytes);
}

/* What the kernels for few channels do, of planes or outputs. */
static void run_planes(const hki_kernel_call *call, const work *self, int64_t begin, int64_t end)
{
    const hki_tensor *in = call->in;
    void *out = call->out[0].data;
#define PASS(name, ...)                                                                            \
    (in[0].dtype == HK_F64 ? hki_conv2d_groups_##name##_f64(&self->g, self->groups, in[0].data,    \
                                                            in[1].data, __VA_ARGS__, begin, end)   \
                           : hki_conv2d_groups_##name##_f32(&self->g, self->groups, in[0].data,    \
                                                            in[1].data, __VA_ARGS__, begin, end))
    if (call->op->fuse == HKI_FUSE_CONVOLUTION)
        PASS(forward, in[2].data, out);
    else if (call->op->fuse == HKI_FUSE_CONVOLUTION_DATA)
        PASS(backward_data, out);
    else
        PASS(backward_weight, out, call->out[1].data);
#undef PASS
}

bool hki_conv2d_groups_run(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    work self = {.groups = hki_conv2d_groups(call->options),
                 .item = (int64_t)hki_dtype_bytes(call->in[0].dtype)};
    if (self.groups == 1)
        return false;
    self.g = hki_conv2d_geometry_of(call->op, call->in, call->options);
    self.part = part_of(self.g, self.groups);
    if (!is_dense(&self.part)) {
        run_planes(call, &self, begin, end);
        return true;
    }
    char *sums = call->partial_bytes ? hki_partials_of(call, piece) : NULL;
    self.begin = begin;
    self.count = end - begin;
    if (begin < end)
        run_parts(call, piece, &self, sums);
    else if (sums)
        memset(sums, 0, call->partial_bytes);
    return true;
}
