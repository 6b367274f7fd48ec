/* Register tiles: of how many channels and columns, and which columns, by estimated cycles. */
#include "op/conv/conv2d_plan.h"

/* Estimated cycles of one step of a tile (o x w): multiply-adds, or loads, or latency. */
static double step_cost(int64_t o, int64_t w)
{
    double cost = (double)hki_max(o * w, o + w + 2);
    return (cost < 8 ? 8 : cost) + 0.5;
}

static void segment_taps(const hki_conv2d_plan *plan, int64_t phase, int64_t t, int64_t width,
                         int64_t *begin, int64_t *end)
{
    const hki_conv2d_axis *column = &plan->column;
    int64_t first = column->phase_begin[phase], last = column->phase_begin[phase + 1];
    int64_t lo = last, hi = first;
    for (int64_t k = first; k < last; k++) {
        int64_t from = t * column->step + column->tap_offset[k];
        int64_t to = (t + width - 1) * column->step + column->tap_offset[k];
        if (to < 0 || from >= column->source)
            continue;
        lo = hki_min(lo, k);
        hi = hki_max(hi, k + 1);
    }
    *begin = lo < hi ? lo : first;
    *end = lo < hi ? hi : first;
}

static bool segment_is_ragged(const hki_conv2d_plan *plan, int64_t t, int64_t width, int64_t begin,
                              int64_t end)
{
    const hki_conv2d_axis *column = &plan->column;
    bool ragged = false;
    for (int64_t k = begin; k < end; k++) {
        int64_t from = t * column->step + column->tap_offset[k];
        ragged = ragged || from < 0 || from + (width - 1) * column->step >= column->source;
    }
    return ragged;
}

/* Cuts the columns of a phase into segments of least cost, by dynamic programming from the right.
 */
static double cut_columns(const hki_conv2d_plan *plan, int64_t phase, int64_t o, int64_t most,
                          hki_conv2d_segment *segments, int64_t *count)
{
    const hki_conv2d_axis *column = &plan->column;
    int64_t total =
        column->target > phase ? hki_divide_up(column->target - phase, column->phases) : 0;
    double *cost = plan->work;
    int64_t *width = (int64_t *)(cost + column->per_phase + 1);
    cost[total] = 0;
    for (int64_t t = total - 1; t >= 0; t--) {
        cost[t] = 1e300;
        for (int64_t w = hki_min(most, total - t); w >= 1; w--) {
            int64_t begin, end;
            segment_taps(plan, phase, t, w, &begin, &end);
            double here = cost[t + w] + step_cost(o, w) * (double)(end - begin) + 2;
            if (here < cost[t]) {
                cost[t] = here;
                width[t] = w;
            }
        }
    }
    double sum = cost[0];
    if (segments) {
        *count = 0;
        for (int64_t t = 0; t < total; t += width[t]) {
            int64_t begin, end;
            segment_taps(plan, phase, t, width[t], &begin, &end);
            segments[(*count)++] =
                (hki_conv2d_segment){(int32_t)t, (int32_t)width[t], (int32_t)begin, (int32_t)end,
                                     segment_is_ragged(plan, t, width[t], begin, end)};
        }
    }
    return sum;
}

void hki_conv2d_choose_tile(hki_conv2d_plan *plan, int64_t points)
{
    double best = 1e300;
    for (int64_t o = 1; o <= HKI_CONV2D_TILE_O_MAX && plan->shape.tile_w[o]; o++) {
        int64_t tiles = hki_divide_up(plan->target_chunk, o);
        if (hki_divide_up(plan->target_chunk, tiles) < o)
            continue;
        int64_t most = plan->shape.tile_w[o];
        double cost = 0;
        if (plan->pass == HKI_CONV2D_BACKWARD_WEIGHT || plan->direct) {
            int64_t rest = points % most;
            cost = step_cost(o, most) * (double)(points / most);
            cost += rest ? step_cost(o, rest) : 0;
        } else {
            for (int64_t phase = 0; phase < plan->column.phases; phase++)
                cost += cut_columns(plan, phase, o, most, NULL, NULL);
        }
        cost *= (double)tiles;
        if (cost < best) {
            best = cost;
            plan->tile_o = o;
            plan->tile_w = most;
        }
    }
}

void hki_conv2d_cut_columns(hki_conv2d_plan *plan)
{
    int64_t total = 0;
    for (int64_t phase = 0; phase < plan->column.phases; phase++) {
        int64_t count = 0;
        plan->segment_begin[phase] = total;
        cut_columns(plan, phase, plan->tile_o, plan->tile_w, plan->segments + total, &count);
        total += count;
    }
    plan->segment_begin[plan->column.phases] = total;
}
