/* Layers of networks in captured steps: chains give what calls give. */
#include "check.h"

#include "graph/chain_programs_fixture.h"

/* The loss of what a program makes of its samples, and its gradients. */
static void learn(hk_array *y)
{
    hk_array *loss = hk_mean(hk_square(y), NULL);
    hk_record_end();
    hk_backward(loss);
}

/* ---- convolutions -------------------------------------------------------------------------------- */

/* Depthwise and pointwise, as in MobileNet. */
static void separable(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL,
                                    &(hk_conv2d_options){.padding = {1, 1}, .groups = 4}));
    x = hk_relu(hk_conv2d(x, self->params[1], self->params[2], NULL));
    hold(self, x);
    learn(hk_conv2d(x, self->params[3], NULL, &(hk_conv2d_options){.stride = {2, 2}, .groups = 2}));
}

static void transposed(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    x = hk_relu(hk_conv2d_transpose(
        x, self->params[1], self->params[2],
        &(hk_conv2d_transpose_options){.stride = {2, 2}, .output_padding = {1, 1}}));
    hold(self, x);
    learn(
        hk_conv2d_transpose(x, self->params[3], NULL, &(hk_conv2d_transpose_options){.groups = 3}));
}

static void sequences(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_conv1d(self->bound[0], self->params[0], self->params[1],
                                    &(hk_conv1d_options){.padding = 2, .dilation = 2}));
    learn(hk_conv1d(x, self->params[2], NULL, &(hk_conv1d_options){.stride = 2, .groups = 2}));
}

/* ---- pooling -------------------------------------------------------------------------------------- */

static void pooled(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_conv2d(self->bound[0], self->params[0], NULL, NULL));
    hk_array *most = hk_adaptive_max_pool2d(x, &(hk_adaptive_max_pool2d_options){.size = {2, 3}});
    hk_array *mean = hk_adaptive_avg_pool2d(x, &(hk_adaptive_avg_pool2d_options){.size = {2, 3}});
    hk_array *lines = hk_max_pool1d(hk_reshape(x, hk_shape(self->n, 3, -1)),
                                    &(hk_max_pool1d_options){.kernel = 3, .padding = 1});
    hold(self, mean);
    learn(hk_add(hk_add(most, mean),
                 hk_reshape(hk_mean(lines, &(hk_mean_options){.axes = hk_shape(1, 2)}),
                            hk_shape(self->n, 1, 1, 1))));
}

/* ---- norms ---------------------------------------------------------------------------------------- */

/* A block of a transformer, without its attention. */
static void normed(state *self)
{
    hk_record_begin();
    hk_array *x = hk_layer_norm(self->bound[0], self->params[0], self->params[1], NULL);
    x = hk_gelu(hk_linear(x, self->params[2], NULL));
    x = hk_rms_norm(x, self->params[3], NULL);
    hold(self, x);
    learn(hk_add(x, self->bound[0]));
}

static void grouped(state *self)
{
    hk_record_begin();
    hk_array *x = hk_conv2d(self->bound[0], self->params[0], NULL, NULL);
    x = hk_relu(
        hk_group_norm(x, self->params[1], self->params[2], &(hk_group_norm_options){.groups = 2}));
    x = hk_layer_norm(x, NULL, NULL, &(hk_layer_norm_options){.axes = 2});
    learn(hk_linear(hk_reshape(x, hk_shape(self->n, -1)), self->params[3], NULL));
}

/* What is normalised over the samples, too, is no chain's. */
static void normed_batch(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_linear(hk_relu(self->bound[0]), self->params[0], NULL));
    learn(hk_layer_norm(x, NULL, NULL, &(hk_layer_norm_options){.axes = 2}));
}

/* ---- losses --------------------------------------------------------------------------------------- */

/* Weights of classes are shared by all samples; each sample has several labels. */
static void classified(state *self)
{
    hk_record_begin();
    hk_array *x = hk_relu(hk_linear(self->bound[0], self->params[0], self->params[1]));
    hk_array *loss = hk_cross_entropy_loss(
        x, self->bound[1], hk_exp(self->params[2]),
        &(hk_cross_entropy_loss_options){.label_smoothing = 0.1, .ignores = true, .ignored = 2});
    hk_array *each = hk_nll_loss(hk_log_softmax(x, 1), self->bound[1], NULL,
                                 &(hk_nll_loss_options){.reduction = HK_LOSS_NONE});
    hold(self, each);
    loss = hk_add(loss, hk_mean(each, NULL));
    hk_record_end();
    hk_backward(loss);
}

static void compared(state *self)
{
    hk_record_begin();
    hk_array *x = hk_linear(hk_relu(self->bound[0]), self->params[0], NULL);
    hk_array *y = hk_linear(hk_relu(self->bound[1]), self->params[0], NULL);
    hk_array *loss = hk_triplet_margin_loss(x, y, self->bound[0], NULL);
    loss = hk_add(loss, hk_cosine_embedding_loss(x, y, hk_index(self->bound[1], 1, 0), NULL));
    hk_record_end();
    hk_backward(loss);
}

static const program programs[] = {
    {.name = "classified",
     .step = classified,
     .bound = {F32(N, 6), {SHAPE(N), HK_I32, true}},
     .params = {F32(5, 6), F32(5), F32(5)},
     .forms = true},
    {.name = "compared",
     .step = compared,
     .bound = {F32(N, 6), F32(N, 6)},
     .params = {F32(6, 6)},
     .forms = true},
    {.name = "normed",
     .step = normed,
     .bound = {F32(N, 12)},
     .params = {F32(12), F32(12), F32(12, 12), F32(12)},
     .forms = true},
    {.name = "grouped",
     .step = grouped,
     .bound = {F32(N, 3, 6, 5)},
     .params = {F32(4, 3, 3, 2), F32(4), F32(4), F32(5, 64)},
     .forms = true},
    {.name = "normed_batch",
     .step = normed_batch,
     .bound = {F32(N, 6)},
     .params = {F32(6, 6)},
     .forms = true},
    {.name = "separable",
     .step = separable,
     .bound = {F32(N, 4, 7, 9)},
     .params = {F32(4, 1, 3, 3), F32(6, 4, 1, 1), F32(6), F32(6, 3, 3, 3)},
     .forms = true},
    {.name = "transposed",
     .step = transposed,
     .bound = {F32(N, 2, 5, 6)},
     .params = {F32(4, 2, 2, 2), F32(4, 3, 3, 3), F32(3), F32(3, 2, 2, 2)},
     .forms = true},
    {.name = "sequences",
     .step = sequences,
     .bound = {F32(N, 3, 11)},
     .params = {F32(4, 3, 3), F32(4), F32(4, 2, 3)},
     .forms = true},
    {.name = "pooled", .step = pooled, .bound = {F32(N, 2, 7, 8)}, .params = {F32(3, 2, 2, 2)}},
};

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    compare_all(programs, sizeof programs / sizeof *programs);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
