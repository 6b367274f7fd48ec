#include "op/recurrent/recurrence_kernel.h"

#include "base/integer.h"
#include "base/sync.h"
#include "op/matmul/layer_kernel.h"
#include "op/matmul/product_kernel.h"
#include "op/recurrent/cell_loops.h"

#include <string.h>

const hki_recurrence_parts hki_recurrence_parts_of[HKI_RECURRENCE_KINDS] = {
    [HKI_RECURRENCE_TANH] = {1, 1},
    [HKI_RECURRENCE_GRU] = {HKI_GRU_SUMS, HKI_GRU_KEPT},
    [HKI_RECURRENCE_LSTM] = {HKI_LSTM_SUMS, HKI_LSTM_KEPT},
};

/* What a step multiplies by the weights, of rows that are `x_row` apart. */
static hki_layer layer_of(const hki_recurrence *of, bool is_backward, int64_t x_row)
{
    const int64_t sums = hki_recurrence_parts_of[of->kind].sums * of->units;
    return is_backward ? (hki_layer){.inputs = sums, .outputs = of->units, .x_row = x_row}
                       : (hki_layer){.inputs = of->units, .outputs = sums, .x_row = x_row};
}

/* Elements from a row's sums or state to the next row's; of the states before the first step units. */
static int64_t row_of(const hki_recurrence *of, bool is_backward)
{
    return of->steps * of->units * (is_backward ? hki_recurrence_parts_of[of->kind].sums : 1);
}

static hki_layer layer_of_x(const hki_recurrence *of, bool is_backward, int64_t x_row)
{
    const int64_t sums = hki_recurrence_parts_of[of->kind].sums * of->units;
    return is_backward ? (hki_layer){.inputs = sums, .outputs = of->inputs, .x_row = x_row}
                       : (hki_layer){.inputs = of->inputs, .outputs = sums, .x_row = x_row};
}

/* A few rows would read the weights of x anew for each step: sums of all steps are made first. */
static bool is_x_first(int64_t rows)
{
    enum { FEW_ROWS = 8 };
    return rows < FEW_ROWS;
}

/* Of the packed weights, of what layers copy, of the sums of x or a step of its gradient, of results of a step: sums, or a GRU's second
 * part of the state's gradient; and of the gradients of the state, where nobody has a place for them. */
typedef struct places {
    size_t packed, packed_x, spread, x_sums, results, carried;
} places;

static size_t spread_bytes(const hki_recurrence *of, hki_layer layer, int64_t rows)
{
    const size_t apart = hki_layer_scratch_bytes(&layer, of->f64, rows);
    layer.x_row = 0;
    const size_t dense = hki_layer_scratch_bytes(&layer, of->f64, rows);
    return apart > dense ? apart : dense;
}

static places places_of(const hki_recurrence *of, bool is_backward, int64_t rows)
{
    const size_t item = of->f64 ? sizeof(double) : sizeof(float), line = HKI_CACHE_LINE;
    const hki_layer layer = layer_of(of, is_backward, row_of(of, is_backward));
    const int64_t results = rows * (is_backward ? of->units : layer.outputs);
    places bytes = {.packed = hki_layer_packed_bytes(&layer, of->f64),
                    .spread = spread_bytes(of, layer, rows),
                    .results = hki_round_up_bytes((size_t)results * item, line),
                    .carried = is_backward ? (size_t)(2 * rows * of->units) * item : 0};
    if (of->inputs == 0)
        return bytes;
    const hki_layer of_x =
        layer_of_x(of, is_backward, is_backward ? row_of(of, is_backward) : of->steps * of->inputs);
    const int64_t at_once = !is_backward && is_x_first(rows) ? rows * of->steps : rows;
    bytes.packed_x = hki_layer_packed_bytes(&of_x, of->f64);
    bytes.spread = (size_t)hki_max((int64_t)bytes.spread, (int64_t)spread_bytes(of, of_x, at_once));
    bytes.x_sums = hki_round_up_bytes((size_t)(at_once * of_x.outputs) * item, line);
    return bytes;
}

size_t hki_recurrence_scratch_bytes(const hki_recurrence *of, bool is_backward, int64_t rows)
{
    const places bytes = places_of(of, is_backward, rows);
    return bytes.packed + bytes.packed_x + bytes.spread + bytes.x_sums + bytes.results +
           bytes.carried;
}

/* In which of all rows of all steps step i of a row is. */
static int64_t place(const hki_recurrence *of, int64_t row, int64_t i)
{
    return row * of->steps + (of->is_reversed ? of->steps - 1 - i : i);
}

/* Units of a row in a step, and where the row lies among those of all steps. */
typedef struct span {
    int64_t row, step, at, first, count;
} span;

/* From unit `first` on, as many as the loops take. */
static span span_at(const hki_recurrence *of, int64_t row, int64_t step, int64_t first)
{
    return (span){row, step, place(of, row, step), first,
                  hki_min(of->units - first, HKI_CELL_CHUNK)};
}

/* ---- rounds ---- */

/* The weights of x, or of the state, as a product has them. */
static hki_product weights_of(const hki_recurrence *of, const void *weight, int64_t inputs)
{
    const int64_t sums = hki_recurrence_parts_of[of->kind].sums * of->units;
    return (hki_product){.f64 = of->f64,
                         .trans_b = true,
                         .m = 1,
                         .n = sums,
                         .k = inputs,
                         .b = weight,
                         .ldb = inputs};
}

bool hki_recurrence_has_rounds(const hki_recurrence *of, int64_t rows)
{
    return rows > 0 && is_x_first(rows) && of->units % HKI_RECURRENCE_UNITS == 0;
}

static size_t packed_x_bytes(const hki_recurrence *of)
{
    const hki_product of_x = weights_of(of, NULL, of->inputs);
    return hki_round_up_bytes(hki_product_packed_bytes(&of_x), HKI_CACHE_LINE);
}

size_t hki_recurrence_packed_bytes(const hki_recurrence *of)
{
    const hki_product of_h = weights_of(of, NULL, of->units);
    return packed_x_bytes(of) + hki_round_up_bytes(hki_product_packed_bytes(&of_h), HKI_CACHE_LINE);
}

void hki_recurrence_pack(const hki_recurrence_forward *call, void *packed)
{
    const hki_recurrence *of = &call->of;
    const hki_product of_x = weights_of(of, call->x_weight, of->inputs);
    const hki_product of_h = weights_of(of, of->weight, of->units);
    hki_product_pack(&of_x, packed);
    hki_product_pack(&of_h, (char *)packed + packed_x_bytes(of));
}

/* Sums of x of all steps, then those of the state in one. */
static size_t x_sums_bytes(const hki_recurrence *of, int64_t rows)
{
    const int64_t sums = hki_recurrence_parts_of[of->kind].sums * of->units;
    return hki_round_up_bytes((size_t)(rows * of->steps * sums) *
                                  (of->f64 ? sizeof(double) : sizeof(float)),
                              HKI_CACHE_LINE);
}

size_t hki_recurrence_shared_bytes(const hki_recurrence *of, int64_t rows)
{
    return x_sums_bytes(of, rows) + x_sums_bytes(of, rows) / (size_t)of->steps + HKI_CACHE_LINE;
}

size_t hki_recurrence_round_scratch_bytes(const hki_recurrence *of, int64_t rows, int64_t units)
{
    const hki_product most = {
        .f64 = of->f64, .m = rows * of->steps, .n = units, .k = hki_max(of->inputs, of->units)};
    return hki_product_scratch_most(&most);
}

#define T        float
#define FN(name) name##_f32
#include "op/recurrent/recurrence_kernel.inc.c"
#undef T
#undef FN
#define T        double
#define FN(name) name##_f64
#include "op/recurrent/recurrence_kernel.inc.c"

void hki_recurrence_round(const hki_recurrence_forward *call, int64_t rows, const void *packed,
                          void *shared, int64_t round, int64_t first, int64_t units, void *scratch)
{
    (call->of.f64 ? round_f64 : round_f32)(call, rows, packed, shared, round, first, units,
                                           scratch);
}

void hki_recurrence_run(const hki_recurrence_forward *call, int64_t begin, int64_t end,
                        void *scratch)
{
    (call->of.f64 ? run_f64 : run_f32)(call, begin, end, scratch);
}

void hki_recurrence_run_backward(const hki_recurrence_backward *call, int64_t begin, int64_t end,
                                 void *scratch)
{
    (call->of.f64 ? run_backward_f64 : run_backward_f32)(call, begin, end, scratch);
}
