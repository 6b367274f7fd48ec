#include "op/conv/conv2d_plan.h"

#include "base/sync.h"

#include <math.h>
#include <string.h>

/* What a source band may take, and what a result held across chunks may: together about an L2. */
enum {
    SOURCE_BYTES = 448 * 1024,
    TARGET_BYTES = 512 * 1024,
    TILE_BYTES = 24 * 1024,
    WEIGH_BYTES = 28 * 1024,
    WEIGH_POSITIONS = 48, /* fewer in a tile do not pay for their sums over lanes */
    WEIGH_DEEP_BYTES = 44 * 1024,
    BLOCK_TILE_BYTES = 12 * 1024,
    DIRECT_BYTES = 256 * 1024,
    WINOGRAD_CHANNELS = 16,              /* fewer do not pay for the transformations */
    WINOGRAD_BYTES = 1024 * 1024,        /* of a group of tiles, transformed */
    WINOGRAD_WEIGHT_BYTES = 8192 * 1024, /* of a chunk's weights, or sums for them, transformed */
    WINOGRAD_SUMS_BYTES = 512 * 1024,    /* of sums, where the weights take less */
    WINOGRAD_WEIGH_LANES = 256           /* a product of BLAS should sum over so many elements */
};

/* The phase of tap k and its source offset: target = phase + phases t reads source = step t +
 * offset. */
static int64_t axis_tap(const hki_conv2d_axis *axis, int64_t k, int64_t *offset)
{
    int64_t reach = k * axis->dilation - axis->pad;
    if (!axis->backward) {
        *offset = reach;
        return 0;
    }
    int64_t phase = reach % axis->stride;
    if (phase < 0)
        phase += axis->stride;
    *offset = (phase - reach) / axis->stride;
    return phase;
}

static void axis_init(hki_conv2d_axis *axis)
{
    axis->phases = axis->backward ? axis->stride : 1;
    axis->step = axis->backward ? 1 : axis->stride;
    axis->per_phase = hki_divide_up(axis->target, axis->phases);
    axis->offset_min = INT64_MAX;
    axis->offset_max = INT64_MIN;
    for (int64_t k = 0; k < axis->kernel; k++) {
        int64_t offset;
        axis_tap(axis, k, &offset);
        axis->offset_min = hki_min(axis->offset_min, offset);
        axis->offset_max = hki_max(axis->offset_max, offset);
    }
}

static void axis_tables(hki_conv2d_axis *axis)
{
    int64_t count = 0;
    for (int64_t phase = 0; phase < axis->phases; phase++) {
        axis->phase_begin[phase] = count;
        for (int64_t k = 0; k < axis->kernel; k++) {
            int64_t offset;
            if (axis_tap(axis, k, &offset) != phase)
                continue;
            axis->tap_kernel[count] = k;
            axis->tap_offset[count] = offset;
            count++;
        }
    }
    axis->phase_begin[axis->phases] = count;
}

/* The strips per sample that leave the fewest row-blocks to compute; 1 once the lanes are full. */
static int64_t choose_strips(int64_t samples, int64_t lanes, int64_t rows)
{
    int64_t best = 1;
    if (samples >= 2 * lanes)
        return best;
    double best_cost = (double)(hki_divide_up(hki_max(samples, 1), lanes) * rows);
    for (int64_t strips = 2; strips <= hki_min(lanes, rows); strips++) {
        double cost = (double)(hki_divide_up(hki_max(samples, 1) * strips, lanes) *
                               hki_divide_up(rows, strips));
        /* a strip reads its halo again and is transposed row by row */
        if (cost < 0.9 * best_cost) {
            best = strips;
            best_cost = cost;
        }
    }
    return best;
}

static int64_t source_rows(const hki_conv2d_plan *plan, int64_t t)
{
    const hki_conv2d_axis *row = &plan->row;
    int64_t rows = (t - 1) * row->step + row->offset_max - row->offset_min + 1;
    bool clipped = plan->strips == 1 && plan->pass != HKI_CONV2D_BACKWARD_WEIGHT;
    return clipped ? hki_min(rows, row->source) : rows;
}

static void choose_bands(hki_conv2d_plan *plan)
{
    int64_t vector = plan->lanes * plan->element_size;
    int64_t row_bytes = plan->positions * vector;
    int64_t target_row_bytes =
        plan->target_channels * plan->row.phases * plan->column.target * vector;
    int64_t t = plan->strip_t;
    bool weigh = plan->pass == HKI_CONV2D_BACKWARD_WEIGHT;
    plan->chunk = plan->source_channels;
    plan->target_chunk = plan->target_channels;
    int64_t deep = 0; /* rows of a tile that sums over lanes ask for */
    if (weigh) {
        t = hki_max(1, hki_min(t, TARGET_BYTES / target_row_bytes));
        if (t * plan->column.target < WEIGH_POSITIONS) { /* rather more rows of some channels */
            deep = hki_max(t, WEIGH_DEEP_BYTES / (5 * plan->column.target * vector));
            t = hki_min(deep, plan->strip_t);
        }
        plan->target_chunk =
            hki_divide_up(plan->target_channels, hki_divide_up(t * target_row_bytes, TARGET_BYTES));
        int64_t channel_bytes = source_rows(plan, t) * row_bytes;
        plan->chunk = hki_max(1, hki_min(plan->chunk, SOURCE_BYTES / hki_max(channel_bytes, 1)));
    } else if (source_rows(plan, t) * row_bytes * plan->chunk > SOURCE_BYTES) {
        int64_t fit = t;
        while (fit > 0 && source_rows(plan, fit) * row_bytes * plan->chunk > SOURCE_BYTES)
            fit--;
        if (fit > 0) {
            t = fit;
        } else {
            t = hki_max(1, hki_min(t, TARGET_BYTES / hki_max(target_row_bytes, 1)));
            int64_t channel_bytes = source_rows(plan, t) * row_bytes;
            plan->chunk =
                hki_max(1, hki_min(plan->chunk, SOURCE_BYTES / hki_max(channel_bytes, 1)));
        }
    }
    plan->chunk =
        hki_divide_up(plan->source_channels, hki_divide_up(plan->source_channels, plan->chunk));
    plan->band_t = hki_divide_up(plan->strip_t, hki_divide_up(plan->strip_t, t));
    plan->band_rows = source_rows(plan, plan->band_t);
    plan->sub_t = plan->band_t;
    if (weigh || plan->chunk == plan->source_channels) {
        int64_t sub_bytes = 5 * plan->row.phases * plan->column.target * vector;
        int64_t most = weigh ? WEIGH_BYTES : TILE_BYTES;
        int64_t sub = hki_max(hki_max(1, deep), most / hki_max(sub_bytes, 1));
        sub = hki_min(sub, plan->band_t);
        plan->sub_t = hki_divide_up(plan->band_t, hki_divide_up(plan->band_t, sub));
    }
}

static bool can_be_direct(const hki_conv2d_plan *plan)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t rows = (row->target - 1) * row->step + row->offset_max - row->offset_min + 1;
    return plan->pass != HKI_CONV2D_BACKWARD_WEIGHT && row->phases * column->phases == 1 &&
           column->target >= plan->lanes &&
           plan->source_channels * rows * plan->positions * plan->element_size <= DIRECT_BYTES;
}

/* Whether columns in the lanes beat samples in the lanes, by estimated cycles per vector of
 * results. */
static bool direct_pays(const hki_conv2d_plan *plan, int64_t samples)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t lanes = plan->lanes;
    double taps = (double)(plan->source_channels * row->kernel * column->kernel);
    double inputs = (double)(plan->source_channels * row->source * column->source);
    double outputs = (double)(plan->target_channels * row->target * column->target);
    int64_t virtual_samples = hki_max(samples, 1) * plan->strips;
    double busy = (double)virtual_samples / (double)(hki_divide_up(virtual_samples, lanes) * lanes);
    busy *= (double)row->target / (double)(plan->strips * plan->strip_rows);
    double transposed = (1.05 * taps + 15 + 12 * inputs / outputs) / busy;
    double used = (double)column->target / (double)(hki_divide_up(column->target, lanes) * lanes);
    /* a tile of min(channels, 5) x w: multiply-adds, or loads, of which those of x straddle lines
     */
    int64_t o = hki_min(plan->target_channels, 5);
    double w = (double)plan->shape.tile_w[o];
    double step = (2 * w + (double)o) / ((double)o * w);
    double direct = ((step > 1.2 ? step : 1.2) * taps + 4) / used;
    return direct < transposed;
}

static int64_t winograd_tile_o(const hki_conv2d_plan *plan)
{
    return plan->shape.tile_w[HKI_WINOGRAD_TILE_O] > 1 ? HKI_WINOGRAD_TILE_O
                                                       : HKI_WINOGRAD_TILE_O / 2;
}

/* m of tiles with n x n products; 0: there are none for the kernel. */
static int64_t winograd_tile_m(const hki_conv2d_plan *plan, int64_t n)
{
    const int64_t kernel = plan->row.kernel;
    if (n == 6 && plan->element_size != HKI_WINOGRAD_WIDE_BYTES)
        return 0;
    return kernel == 3 || (kernel == 5 && n == 6) ? n + 1 - kernel : 0;
}

static bool can_be_winograd(const hki_conv2d_plan *plan)
{
    const hki_conv2d_axis *const axes[2] = {&plan->row, &plan->column};
    for (int i = 0; i < 2; i++)
        if (axes[i]->kernel != plan->row.kernel || axes[i]->stride != 1 || axes[i]->dilation != 1)
            return false;
    return (plan->strips == 1 || plan->pass != HKI_CONV2D_BACKWARD_WEIGHT) &&
           plan->source_channels >= WINOGRAD_CHANNELS &&
           plan->target_channels >= WINOGRAD_CHANNELS &&
           plan->target_channels % winograd_tile_o(plan) == 0 &&
           (winograd_tile_m(plan, 4) > 0 || winograd_tile_m(plan, 6) > 0);
}

/* Estimated products of a plane and vector, with those that transformations take the time of. */
static double winograd_cost(const hki_conv2d_plan *plan, int64_t n, int64_t samples)
{
    const int64_t m = winograd_tile_m(plan, n);
    if (m == 0)
        return INFINITY;
    const double in = (double)plan->source_channels, out = (double)plan->target_channels;
    int64_t tiles = hki_divide_up(plan->row.target, m) * hki_divide_up(plan->column.target, m);
    double planes = 8 / in + 8 / out, weight = 1.5; /* of an element of what is transformed */
    if (plan->strips != 1) {                        /* the lanes are tiles */
        const double packed = (double)(n * n * plan->element_size) * in * out;
        tiles = hki_divide_up(samples * tiles, plan->lanes);
        planes += 4 / out; /* copied one by one */
        weight = 0.2 + packed / (32 << 20);
    }
    return (double)(n * n) * ((double)tiles * (1.05 + planes) + weight);
}

/* Products that meet padding along an axis. */
static int64_t padded_products(const hki_conv2d_axis *axis)
{
    const int64_t low = hki_max(0, -axis->offset_min);
    const int64_t high = hki_max(0, axis->target + axis->offset_max - axis->source);
    return low * (low + 1) / 2 + high * (high + 1) / 2;
}

/* Of multiplying out, which leaves padding out. */
static double plain_cost(const hki_conv2d_plan *plan, int64_t samples)
{
    const hki_conv2d_axis *const axes[2] = {&plan->row, &plan->column};
    double products = 1;
    for (int i = 0; i < 2; i++)
        products *= (double)(axes[i]->kernel * axes[i]->target - padded_products(axes[i]));
    if (plan->strips != 1) /* those of one sample have a better way than strips */
        return products * (samples == 1 ? 1 : 1.2) * (double)samples / (double)plan->lanes;
    /* sums over lanes, of a gradient */
    return products + (plan->pass == HKI_CONV2D_BACKWARD_WEIGHT ? 64 : 0);
}

/* Sets the tiles of least cost, and says whether they beat multiplying out. */
static bool winograd_pays(hki_conv2d_plan *plan, int64_t samples)
{
    const double narrow = winograd_cost(plan, 4, samples), wide = winograd_cost(plan, 6, samples);
    plan->tile_n = narrow <= wide ? 4 : 6;
    return fmin(narrow, wide) < plain_cost(plan, samples);
}

/* For sums of a gradient, transformed. Where images are few and small these would be larger than all else, and the source, which is
 * transformed anew for each chunk, is little work. */
static int64_t sums_room(const hki_conv2d_plan *plan, int64_t samples)
{
    enum { LITTLE = 4 };
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    const int64_t weights = plan->source_channels * row->kernel * column->kernel;
    const int64_t images = samples * row->target * column->target;
    const int64_t bytes = plan->target_channels * weights * plan->element_size;
    return images > weights / LITTLE
               ? WINOGRAD_WEIGHT_BYTES
               : hki_min(hki_max(bytes, WINOGRAD_SUMS_BYTES), WINOGRAD_WEIGHT_BYTES);
}

/* Tiles, bands, groups, and room for them. */
static void winograd_init(hki_conv2d_plan *plan, int64_t samples)
{
    const int64_t vector = plan->lanes * plan->element_size;
    const bool weigh = plan->pass == HKI_CONV2D_BACKWARD_WEIGHT;
    plan->tile_o = winograd_tile_o(plan);
    plan->tile_w = plan->shape.tile_w[plan->tile_o];
    const int64_t n = plan->tile_n, m = winograd_tile_m(plan, n), parts = n * n;
    plan->tile_m = m;
    plan->tile_rows = hki_divide_up(plan->row.target, m);
    plan->tile_columns = hki_divide_up(plan->column.target, m);
    plan->positions = hki_max(plan->positions, plan->left + plan->column.offset_min +
                                                   m * (plan->tile_columns - 1) + n);
    plan->column_pitch = plan->positions;
    plan->chunk = plan->source_channels;
    /* the source is transformed again for each chunk */
    const int64_t packed = parts * plan->source_channels * plan->element_size;
    const int64_t made = hki_conv2d_part_channel(plan, plan->part_end) -
                         hki_conv2d_part_channel(plan, plan->part_begin);
    const int64_t room = weigh ? sums_room(plan, samples) : WINOGRAD_WEIGHT_BYTES;
    const int64_t chunks = hki_max(1, hki_divide_up(made * packed, room));
    plan->target_chunk = hki_round_up(hki_divide_up(made, chunks), plan->tile_o);
    const int64_t channels = plan->source_channels + plan->target_chunk;
    const int64_t row_bytes = plan->source_channels * plan->positions * vector;
    int64_t rows = hki_max(1, (SOURCE_BYTES / row_bytes - (n - m)) / m);
    plan->band_t = hki_divide_up(plan->tile_rows, hki_divide_up(plan->tile_rows, rows));
    plan->band_rows = m * plan->band_t + n - m;
    const int64_t least = weigh ? WINOGRAD_WEIGH_LANES / plan->lanes : 2 * plan->tile_w;
    int64_t most = plan->band_t * plan->tile_columns;
    if (plan->strips != 1) {
        plan->tiles_in_lanes = true;
        plan->strips = 1;
        plan->strip_t = plan->strip_rows = plan->row.target;
        plan->band_t = plan->band_rows = 0;
        most =
            hki_divide_up(hki_max(1, samples) * plan->tile_rows * plan->tile_columns, plan->lanes);
    }
    int64_t group = hki_max(least, WINOGRAD_BYTES / (parts * channels * vector));
    group = hki_min(most, hki_divide_up(group, plan->tile_w) * plan->tile_w);
    plan->group = group;
    plan->source_part = (plan->source_channels * group | 1) * plan->lanes;
    plan->target_part = (plan->target_chunk * group | 1) * plan->lanes;
    plan->weight_part = plan->source_channels * plan->target_chunk;
    if (!weigh)
        plan->weight_part = (hki_divide_up(plan->weight_part, plan->lanes) | 1) * plan->lanes;
}

static size_t winograd_place(hki_conv2d_plan *plan, size_t at)
{
    const size_t vector = (size_t)(plan->lanes * plan->element_size);
    const size_t sources = (size_t)plan->source_channels, targets = (size_t)plan->target_chunk;
    const size_t parts = (size_t)(plan->tile_n * plan->tile_n);
    plan->packed_at = hki_round_up_bytes(at, HKI_CACHE_LINE);
    at = plan->packed_at + parts * (size_t)(plan->weight_part * plan->element_size);
    plan->source_at = hki_round_up_bytes(at, HKI_CACHE_LINE);
    /* transpositions may read past an end */
    at = plan->source_at +
         ((size_t)plan->band_rows * sources * (size_t)plan->positions + 1) * vector;
    plan->target_at = at;
    at += (targets * (size_t)(plan->tile_m * plan->band_t * plan->column.target) +
           HKI_CONV2D_LANES_MAX) *
          vector;
    plan->winograd_source_at = at;
    at += parts * (size_t)(plan->source_part * plan->element_size) + vector;
    plan->winograd_sums_at = at;
    return at + parts * (size_t)(plan->target_part * plan->element_size);
}

/* The axes, and the weights' strides: what does not depend on where the source lies. */
static void init_axes(hki_conv2d_plan *plan, const hki_conv2d_geometry *g, hki_conv2d_pass pass,
                      const hki_conv2d_lane_shape *shape)
{
    memset(plan, 0, sizeof *plan);
    bool backward = pass == HKI_CONV2D_BACKWARD_DATA;
    int64_t kernel = g->kernel_height * g->kernel_width;
    plan->pass = pass;
    plan->shape = *shape;
    plan->lanes = shape->lanes;
    plan->element_size = shape->element_size;
    plan->row = (hki_conv2d_axis){.source = backward ? g->out_height : g->in_height,
                                  .target = backward ? g->in_height : g->out_height,
                                  .kernel = g->kernel_height,
                                  .stride = g->stride_height,
                                  .pad = g->pad_height,
                                  .dilation = g->dilation_height,
                                  .backward = backward};
    plan->column = (hki_conv2d_axis){.source = backward ? g->out_width : g->in_width,
                                     .target = backward ? g->in_width : g->out_width,
                                     .kernel = g->kernel_width,
                                     .stride = g->stride_width,
                                     .pad = g->pad_width,
                                     .dilation = g->dilation_width,
                                     .backward = backward};
    axis_init(&plan->row);
    axis_init(&plan->column);
    plan->source_channels = backward ? g->out_channels : g->in_channels;
    plan->target_channels = backward ? g->in_channels : g->out_channels;
    plan->parts = hki_max(1, g->parts);
    plan->part_begin = g->parts ? g->part_begin : 0;
    plan->part_end = g->parts ? g->part_end : 1;
    int64_t out_stride = g->in_channels * kernel;
    plan->weight_source_stride = backward ? out_stride : kernel;
    plan->weight_target_stride = backward ? kernel : out_stride;
}

/* Columns that a row needs with its padding. */
static void init_positions(hki_conv2d_plan *plan)
{
    const hki_conv2d_axis *column = &plan->column;
    plan->left = hki_max(0, -column->offset_min);
    int64_t reach = (column->per_phase - 1) * column->step + column->offset_max + 1;
    int64_t width = plan->left + hki_max(reach, column->source);
    plan->column_pitch = hki_divide_up(width, column->step);
    plan->positions = plan->column_pitch * column->step;
}

/* Bytes of the tables that hki_conv2d_plan_build places, with `pixels` positions of pixels. */
static size_t tables_bytes(const hki_conv2d_plan *plan, int64_t pixels)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    size_t words = (size_t)(3 * row->kernel + 2 * column->kernel + row->phases +
                            2 * column->phases + 3 + column->source);
    size_t segments = (size_t)column->target + (size_t)column->phases;
    size_t at = words * sizeof(int64_t) + segments * sizeof(hki_conv2d_segment);
    at += (size_t)pixels * sizeof(int32_t) + 16;
    at += (size_t)(column->per_phase + 1) * (sizeof(double) + sizeof(int64_t));
    if (plan->pass == HKI_CONV2D_BACKWARD_WEIGHT || plan->winograd)
        at += (size_t)(plan->chunk * row->kernel * column->kernel) * sizeof(int64_t);
    return hki_round_up_bytes(at, HKI_CACHE_LINE);
}

static size_t weights_bytes(const hki_conv2d_plan *plan)
{
    if (plan->pass == HKI_CONV2D_BACKWARD_WEIGHT)
        return 0;
    int64_t count =
        plan->source_channels * plan->target_channels * plan->row.kernel * plan->column.kernel;
    return (size_t)count * (size_t)plan->element_size;
}

/* What was asked for, where this pass can take it; else by rule. */
static void choose_method(hki_conv2d_plan *plan, const hki_conv2d_geometry *g)
{
    bool winograd = can_be_winograd(plan), direct = can_be_direct(plan);
    if (g->method == HKI_CONV2D_LANES)
        return;
    plan->tile_n = g->method == HKI_CONV2D_WINOGRAD_WIDE ? 6 : 4;
    plan->winograd = winograd && winograd_tile_m(plan, plan->tile_n) > 0 &&
                     (g->method == HKI_CONV2D_WINOGRAD || g->method == HKI_CONV2D_WINOGRAD_WIDE);
    plan->direct = direct && g->method == HKI_CONV2D_DIRECT;
    if (plan->winograd || plan->direct)
        return;
    plan->winograd = winograd && winograd_pays(plan, g->samples);
    plan->direct = !plan->winograd && direct && direct_pays(plan, g->samples);
}

void hki_conv2d_plan_init(hki_conv2d_plan *plan, const hki_conv2d_geometry *g, hki_conv2d_pass pass,
                          const hki_conv2d_lane_shape *shape)
{
    init_axes(plan, g, pass, shape);
    plan->strips = choose_strips(g->samples, plan->lanes, plan->row.per_phase);
    plan->strip_t = hki_divide_up(plan->row.per_phase, plan->strips);
    plan->strip_rows = plan->strip_t * plan->row.phases;
    init_positions(plan);
    choose_bands(plan);
    choose_method(plan, g);
    if (plan->winograd)
        winograd_init(plan, g->samples);
    if (plan->direct) {
        plan->strips = 1;
        plan->strip_t = plan->strip_rows = plan->row.target;
        plan->chunk = plan->source_channels;
        plan->band_rows = (plan->row.target - 1) * plan->row.step + plan->row.offset_max -
                          plan->row.offset_min + 1;
    }
    bool weigh = pass == HKI_CONV2D_BACKWARD_WEIGHT;
    int64_t place = plan->direct ? 1 : plan->lanes;
    plan->row_stride = plan->channel_stride = plan->positions * place;
    if (plan->direct || weigh)
        plan->channel_stride *= plan->band_rows;
    else
        plan->row_stride *= plan->chunk;

    const hki_conv2d_axis *column = &plan->column;
    size_t vector = (size_t)(plan->lanes * plan->element_size);
    int64_t pixels = plan->band_rows * column->source;
    if (weigh)
        pixels += (plan->winograd ? plan->tile_m : 1) * plan->band_t * column->target;
    if (plan->direct)
        pixels = 2 * plan->row.target * hki_divide_up(column->target, plan->lanes);
    plan->packed_at = tables_bytes(plan, pixels);
    if (plan->winograd) {
        plan->bytes = hki_round_up_bytes(winograd_place(plan, plan->packed_at), HKI_CACHE_LINE);
        return;
    }
    plan->source_at = hki_round_up_bytes(plan->packed_at + weights_bytes(plan), HKI_CACHE_LINE);
    size_t at =
        plan->source_at + (size_t)(plan->chunk * plan->band_rows * plan->positions) * vector;
    /* an odd number of lines apart, and room for a transposition to read past the end */
    plan->target_at = at + 64;
    int64_t rows = plan->sub_t * plan->row.phases, channels = HKI_CONV2D_TILE_O_MAX;
    if (weigh || plan->chunk < plan->source_channels) {
        rows = plan->band_t * plan->row.phases;
        channels = plan->target_chunk;
    }
    if (plan->direct)
        rows = 0;
    at = plan->target_at + (size_t)(channels * rows * column->target) * vector;
    plan->bytes = hki_round_up_bytes(at + HKI_CONV2D_LANES_MAX * vector, HKI_CACHE_LINE);
}

/* Where source rows lie: in the caller's array, or in a copy with what a pass needs around them. */
static void place_source(hki_conv2d_plan *plan)
{
    plan->row_stride = plan->positions * plan->lanes;
    if (plan->in_place) {
        plan->channel_stride = plan->row.source * plan->row_stride;
        return;
    }
    /* an odd number of lines, so that channels do not meet in one set of the cache */
    plan->channel_stride = (plan->band_rows * plan->positions | 1) * plan->lanes;
}

void hki_conv2d_plan_init_block(hki_conv2d_plan *plan, const hki_conv2d_geometry *g,
                                hki_conv2d_pass pass, const hki_conv2d_lane_shape *shape,
                                int64_t unit)
{
    init_axes(plan, g, pass, shape);
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    bool backward = pass == HKI_CONV2D_BACKWARD_DATA, weigh = pass == HKI_CONV2D_BACKWARD_WEIGHT;
    plan->block = true;
    plan->strips = 1;
    plan->strip_t = row->per_phase;
    plan->strip_rows = row->per_phase * row->phases;
    plan->chunk = plan->source_channels;
    plan->target_chunk = plan->target_channels;
    init_positions(plan);
    plan->in_place = !backward && plan->positions == column->source && plan->left == 0 &&
                     row->pad == 0 && row->step == 1 && column->step == 1;
    if (backward) {
        /* Rows share the zeros between them. A segment reads less than its width past the end. */
        int64_t gap = hki_max(plan->left, plan->positions - plan->left - column->source);
        plan->left = hki_min(gap, HKI_CONV2D_TILE_W_MAX - 1);
        plan->positions = plan->column_pitch = plan->left + column->source;
    }

    int64_t vector = plan->lanes * plan->element_size;
    int64_t fit = SOURCE_BYTES / hki_max(1, plan->source_channels * plan->positions * vector);
    int64_t span = row->offset_max - row->offset_min + 1;
    int64_t units = hki_divide_up(row->per_phase, unit);
    int64_t most = fit <= span ? 1 : hki_max(1, ((fit - span) / row->step + 1) / unit);
    plan->band_t = hki_divide_up(units, hki_divide_up(units, most)) * unit;
    plan->band_rows = plan->in_place ? row->source : source_rows(plan, plan->band_t);
    int64_t unit_bytes = 5 * unit * column->target * vector;
    int64_t sub = hki_max(1, (weigh ? WEIGH_BYTES : BLOCK_TILE_BYTES) / unit_bytes);
    units = plan->band_t / unit;
    plan->sub_t = hki_divide_up(units, hki_divide_up(units, sub)) * unit;
    place_source(plan);
    plan->inner_begin = hki_max(0, hki_divide_up(-row->offset_min, row->step));
    plan->inner_end = (row->source - 1 - row->offset_max) / row->step + 1;
    plan->packed_at = tables_bytes(plan, 0);
    plan->bytes = hki_round_up_bytes(plan->packed_at + weights_bytes(plan), HKI_CACHE_LINE);
}

void hki_conv2d_plan_place(hki_conv2d_plan *plan, void *memory)
{
    hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t *at = memory;
    row->tap_kernel = at;
    row->tap_offset = at += row->kernel;
    row->phase_begin = at += row->kernel;
    plan->row_offset = at += row->phases + 1;
    column->tap_kernel = at += row->kernel;
    column->tap_offset = at += column->kernel;
    column->phase_begin = at += column->kernel;
    plan->segment_begin = at += column->phases + 1;
    plan->column_position = at += column->phases + 1;
    plan->work = at += column->source;
    at += 2 * (column->per_phase + 1);
    plan->weight_offset = plan->channel_offset = at;
    if (plan->pass == HKI_CONV2D_BACKWARD_WEIGHT || plan->winograd)
        at += plan->chunk * row->kernel * column->kernel;
    plan->segments = (hki_conv2d_segment *)at;
    plan->pixel_position = (int32_t *)(plan->segments + column->target + column->phases);
}

/* Where in the source each weight of a chunk begins. */
static void fill_weight_offsets(hki_conv2d_plan *plan)
{
    const hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    int64_t *offset = plan->weight_offset;
    for (int64_t c = 0; c < plan->chunk; c++)
        for (int64_t y = 0; y < row->kernel; y++)
            for (int64_t x = 0; x < column->kernel; x++)
                *offset++ = c * plan->channel_stride + y * row->dilation * plan->row_stride +
                            column->tap_offset[x];
}

void hki_conv2d_plan_build(hki_conv2d_plan *plan, void *scratch)
{
    hki_conv2d_axis *row = &plan->row, *column = &plan->column;
    bool weigh = plan->pass == HKI_CONV2D_BACKWARD_WEIGHT;
    hki_conv2d_plan_place(plan, scratch);
    axis_tables(row);
    axis_tables(column);
    if (!plan->winograd)
        hki_conv2d_choose_tile(plan, plan->direct
                                         ? row->target * hki_divide_up(column->target, plan->lanes)
                                         : plan->chunk * row->kernel * column->kernel);
    if (!weigh && !plan->direct && !plan->winograd)
        hki_conv2d_cut_columns(plan);
    if (plan->block && plan->pass == HKI_CONV2D_BACKWARD_DATA) {
        plan->left = hki_min(plan->left, plan->tile_w - 1);
        plan->positions = plan->column_pitch = plan->left + column->source;
        place_source(plan);
    }
    /* from here on the columns' offsets are places in the row */
    for (int64_t k = 0; k < row->kernel; k++)
        plan->row_offset[k] = row->tap_offset[k] * plan->row_stride;
    int64_t place = plan->direct ? 1 : plan->lanes;
    for (int64_t c = 0; c < column->source; c++) {
        int64_t p = c + plan->left;
        plan->column_position[c] =
            (p % column->step * plan->column_pitch + p / column->step) * place;
    }
    if (plan->winograd) {
        for (int64_t c = 0; c < plan->source_channels; c++)
            plan->channel_offset[c] = c * plan->group * plan->lanes;
        return;
    }
    for (int64_t k = 0; k < column->kernel; k++) {
        int64_t p = column->tap_offset[k] + plan->left;
        column->tap_offset[k] = (p % column->step * plan->column_pitch + p / column->step) * place;
    }
    if (weigh)
        fill_weight_offsets(plan);
}
