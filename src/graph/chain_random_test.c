/* Programs made by chance, of calls on samples and on views of them, sums and calls in place: chains against calls. */
#include "base/sanitizer.h"
#include "check.h"

#include "graph/chain_programs_fixture.h"

enum {
    MAX_POOL = 32,
    CALLS_EACH = 24,
    PROGRAMS = HKI_THREAD_SANITIZER    ? 150
               : HKI_ADDRESS_SANITIZER ? 600
                                       : 2500
};

typedef struct pool {
    uint64_t random;
    hk_array *arrays[MAX_POOL];
    bool is_own[MAX_POOL]; /* made by the program: no view of what came from outside */
    int count;
} pool;

static int64_t draw(pool *self, int64_t below)
{
    self->random = self->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (int64_t)((self->random >> 33) % (uint64_t)below);
}

static int pick(pool *self)
{
    int newest = self->count > 4 && draw(self, 3) ? self->count - 4 : 0;
    return newest + (int)draw(self, self->count - newest);
}

static bool is_broadcast(hk_dims a, hk_dims b)
{
    bool fits = a.ndim > 0 && b.ndim > 0;
    for (int i = 1; i <= a.ndim && i <= b.ndim; i++)
        fits = fits && (a.dims[a.ndim - i] == b.dims[b.ndim - i] || a.dims[a.ndim - i] == 1 ||
                        b.dims[b.ndim - i] == 1);
    return fits;
}

static bool is_same(hk_dims a, hk_dims b)
{
    bool same = a.ndim == b.ndim;
    for (int i = 0; i < a.ndim && same; i++)
        same = a.dims[i] == b.dims[i];
    return same;
}

static hk_array *unary(pool *self, hk_array *a)
{
    switch (draw(self, hk_ndim(a) > 0 ? 8 : 5)) {
    case 5:
        return hk_layer_norm(a, NULL, NULL, &(hk_layer_norm_options){.eps = 0.1});
    case 6:
        return hk_rms_norm(a, NULL, &(hk_rms_norm_options){.axes = hk_ndim(a), .eps = 0.1});
    case 7:
        return hk_multiply(a, hk_random_uniform(hk_dims_get(a), HK_F32, hk_device_default()));
    case 0:
        return hk_tanh(a);
    case 1:
        return hk_relu(a);
    case 2:
        return hk_exp(hk_negative(hk_abs(a)));
    case 3:
        return hk_cast(hk_cast(hk_multiply(hk_tanh(a), 3), HK_I32), HK_F32);
    default:
        return hk_cast(hk_greater(a, hk_square(a)), HK_F32);
    }
}

static hk_array *binary(pool *self, hk_array *a, hk_array *b)
{
    if (!is_broadcast(hk_dims_get(a), hk_dims_get(b)))
        return NULL;
    switch (draw(self, 3)) {
    case 0:
        return hk_multiply(hk_add(a, b), 0.5);
    case 1:
        return hk_tanh(hk_multiply(a, b));
    default:
        return hk_where(hk_less(a, b), hk_tanh(a), b);
    }
}

static hk_array *product(pool *self, hk_array *a, hk_array *b)
{
    if (hk_ndim(a) != 2 || hk_ndim(b) != 2)
        return NULL;
    if (draw(self, 2) && hk_dim(a, 0) == hk_dim(b, 0))
        return hk_multiply(hk_matmul(hk_transpose(a), b), 0.05);
    if (hk_dim(a, 1) == hk_dim(b, 1))
        return hk_multiply(hk_linear(a, b, NULL), 0.2);
    return hk_dim(a, 1) == hk_dim(b, 0) ? hk_multiply(hk_matmul(a, b), 0.2) : NULL;
}

static hk_array *reduced(pool *self, hk_array *a)
{
    if (hk_ndim(a) == 0)
        return NULL;
    hk_dims axes = draw(self, 3) ? hk_shape(draw(self, hk_ndim(a))) : (hk_dims){0};
    bool keeps = draw(self, 2);
    if (draw(self, 2))
        return hk_mean(a, &(hk_mean_options){.axes = axes, .keepdims = keeps});
    hk_array *sum = hk_sum(a, &(hk_sum_options){.axes = axes, .keepdims = keeps});
    return draw(self, 2) ? sum : hk_multiply(sum, 0.02);
}

static hk_array *view(pool *self, hk_array *a, int64_t n)
{
    if (hk_ndim(a) == 0)
        return hk_broadcast_to(a, hk_shape(n, 4));
    int axis = (int)draw(self, hk_ndim(a));
    int64_t size = hk_dim(a, axis), begin = draw(self, 2) ? 0 : draw(self, size);
    switch (draw(self, 5)) {
    case 0:
        return hk_transpose(a);
    case 1:
        return hk_slice(a, axis, begin, begin + 1 + draw(self, size - begin));
    case 2:
        return hk_index(a, axis, begin);
    case 3:
        return hk_reshape(a, hk_shape(hk_size(a)));
    default:
        return hk_size(a) % n == 0 ? hk_reshape(a, hk_shape(n, hk_size(a) / n)) : NULL;
    }
}

static void in_place(pool *self, hk_array *out, hk_array *a)
{
    if (hk_array_dtype(out) != HK_F32 || !hk_is_contiguous(out))
        return;
    if (!is_same(hk_dims_get(out), hk_dims_get(a)))
        hk_tanh_into(out, out);
    else if (draw(self, 2))
        hk_copy_into(out, a);
    else
        hk_minimum_into(out, a, out);
}

static void random_calls(state *self)
{
    pool all = {.random = self->seed};
    for (int i = 0; i < self->bound_count; i++)
        all.arrays[all.count++] = self->bound[i];
    for (int i = 0; i < self->param_count; i++)
        all.arrays[all.count++] = self->params[i];
    bool records = draw(&all, 2); /* then it ends in a backward pass, and nothing is overwritten */
    hk_array *loss = NULL;
    if (records)
        hk_record_begin();
    for (int i = 0; i < CALLS_EACH; i++) {
        int which = pick(&all), kind = (int)draw(&all, 9);
        hk_array *a = all.arrays[which], *b = all.arrays[pick(&all)], *y = NULL;
        switch (kind) {
        case 0:
        case 1:
            y = unary(&all, a);
            break;
        case 2:
            y = binary(&all, a, b);
            break;
        case 3:
            y = product(&all, a, b);
            break;
        case 4:
            y = reduced(&all, a);
            break;
        case 5:
            y = view(&all, a, self->n);
            break;
        case 6:
            y = hk_copy(a);
            break;
        case 7:
            y = hk_ndim(a) > 0 ? hk_softmax(a, draw(&all, hk_ndim(a))) : NULL;
            break;
        default:
            if (!records)
                in_place(&all, a, b);
        }
        if (!y || hk_array_dtype(y) != HK_F32 || hk_size(y) == 0 || hk_size(y) > 8192)
            continue;
        all.is_own[all.count] = kind != 5 || all.is_own[which];
        all.arrays[all.count++] = y;
        if (all.is_own[all.count - 1] && !draw(&all, 5) && self->held_count < MAX_HELD)
            hold(self, y);
        if (records && kind != 5 && draw(&all, 2)) {
            hk_array *part = draw(&all, 2) ? hk_mean(y, NULL) : hk_mean(hk_square(y), NULL);
            loss = loss ? hk_add(loss, part) : part;
        }
    }
    if (!records)
        return;
    hk_array *wanted = hk_mean(self->params[0], NULL); /* so that there is a gradient */
    loss = loss ? hk_add(loss, wanted) : wanted;
    hk_record_end();
    hk_backward(loss);
}

int main(int argc, char **argv)
{
    uint64_t from = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
    uint64_t count = argc > 2 ? strtoull(argv[2], NULL, 10) : PROGRAMS;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2})));
    for (uint64_t i = from; i < from + count; i++) {
        const int64_t features = i % 3 ? 4 : 32;
        const program its = {.name = "random_calls",
                             .step = random_calls,
                             .bound = {{SHAPE(N, features), HK_F32, true},
                                       {SHAPE(N, 4), HK_F32, true},
                                       {SHAPE(N, 1), HK_F32, true}},
                             .params = {{SHAPE(features, features), HK_F32, true},
                                        {SHAPE(features), HK_F32, true},
                                        {SHAPE(N, 4), HK_F32, true}},
                             .seed = i};
        compare(&its, i % 3 == 1 ? 70 : 32);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    CHECK(cuts > 0);
    hk_runtime_deinit();
    return check_result();
}
