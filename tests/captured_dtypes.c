/* A captured step of integers, halves and mixed dtypes gives the bytes of its calls, in chains and out of them. */
#include "check.h"
#include "same_bytes.h"

#include <hocket/hocket.h>
#include <string.h>

enum { ROWS = 64, COLUMNS = 300, INPUTS = 4, OUTPUTS = 3 };

static const hk_sum_options over_rows = {.axes = {.ndim = 1, .dims = {0}}};
static const hk_max_options over_columns = {.axes = {.ndim = 1, .dims = {1}}};

static void step(hk_array *const in[INPUTS], hk_array *const out[OUTPUTS])
{
    HK_SCOPE;
    hk_array *whole = hk_relu(hk_add(in[0], in[1])); /* int8 and int16 */
    hk_array *ones = hk_ones(hk_shape(ROWS, COLUMNS), HK_U8, hk_device_default());
    hk_assign(out[0], hk_sum(hk_multiply(hk_cast(whole, HK_U16), ones), &over_rows));
    hk_assign(out[1], hk_sum(hk_relu(hk_add(hk_tanh(in[2]), in[3])), &over_rows));
    hk_assign(out[2], hk_max(hk_subtract(whole, in[0]), &over_columns));
}

static void draw(hk_array *in[INPUTS])
{
    const hk_device device = hk_device_default();
    const hk_dims shape = hk_shape(ROWS, COLUMNS);
    in[0] = hk_random_int(-100, 100, shape, HK_I8, device);
    in[1] = hk_random_int(-3000, 3000, shape, HK_I16, device);
    in[2] = hk_random_normal(shape, HK_F32, device);
    in[3] = hk_cast(hk_random_normal(shape, HK_F32, device), HK_F16);
}

static void make(hk_array *out[OUTPUTS])
{
    const hk_device device = hk_device_default();
    out[0] = hk_zeros(hk_shape(COLUMNS), HK_U64, device);
    out[1] = hk_zeros(hk_shape(COLUMNS), HK_F32, device);
    out[2] = hk_zeros(hk_shape(ROWS), HK_I16, device);
}

int main(void)
{
    for (int exact = 0; exact < 2; exact++) {
        HK_SCOPE;
        hk_array *first[INPUTS], *second[INPUTS], *called[OUTPUTS], *replayed[OUTPUTS];
        draw(first);
        draw(second);
        make(called);
        make(replayed);
        step(second, called);
        hk_capture_begin(first, INPUTS);
        step(first, replayed);
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = exact});
        hk_replay(graph, second, INPUTS);
        for (int i = 0; i < OUTPUTS; i++)
            CHECK(same_bytes(called[i], replayed[i]));
        hk_graph_release(graph);
    }
    CHECK(hk_ok(hk_wait_all()));
    return check_result();
}
