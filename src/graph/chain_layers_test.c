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

static const program programs[] = {
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
};

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    compare_all(programs, sizeof programs / sizeof *programs);
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
    return check_result();
}
