#include "op/reduce/reduce_kernel.h"

#include "op/reduce/reduce_loops.h"

/* ---- geometry -------------------------------------------------------------------------------------- */

static void axes_add(hki_reduce_axes *axes, int64_t size, int64_t in_stride, int64_t out_stride)
{
    axes->count *= size;
    if (size == 1)
        return;
    int at = axes->ndim++;
    for (; at > 0 && axes->in_strides[at - 1] < in_stride; at--) {
        axes->dims[at] = axes->dims[at - 1];
        axes->in_strides[at] = axes->in_strides[at - 1];
        axes->out_strides[at] = axes->out_strides[at - 1];
    }
    axes->dims[at] = size;
    axes->in_strides[at] = in_stride;
    axes->out_strides[at] = out_stride;
}

/* Makes one axis of two where the outer goes on where the inner ends. */
static void axes_merge(hki_reduce_axes *axes, bool kept)
{
    int last = 0;
    if (axes->ndim == 0 || axes->count == 0)
        return;
    for (int i = 1; i < axes->ndim; i++) {
        bool merge = axes->in_strides[last] == axes->dims[i] * axes->in_strides[i] &&
                     (!kept || axes->out_strides[last] == axes->dims[i] * axes->out_strides[i]);
        last += !merge;
        axes->dims[last] = merge ? axes->dims[last] * axes->dims[i] : axes->dims[i];
        axes->in_strides[last] = axes->in_strides[i];
        axes->out_strides[last] = axes->out_strides[i];
    }
    axes->ndim = last + 1;
}

void hki_reduce_geometry_init(hki_reduce_geometry *geometry, int ndim, const int64_t *dims,
                              const int64_t *strides, unsigned gone_mask,
                              const int64_t *out_strides)
{
    hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    kept->ndim = gone->ndim = 0;
    kept->count = gone->count = 1;
    for (int i = 0; i < ndim; i++) {
        bool goes = gone_mask >> i & 1;
        axes_add(goes ? gone : kept, dims[i], strides[i], goes ? 0 : out_strides[i]);
    }
    int64_t inner_kept = kept->ndim ? kept->in_strides[kept->ndim - 1] : INT64_MAX;
    int64_t inner_gone = gone->ndim ? gone->in_strides[gone->ndim - 1] : INT64_MAX;
    geometry->rows = inner_kept < inner_gone;
    axes_merge(kept, true);
    axes_merge(gone, false);
    geometry->planes = !geometry->rows && kept->ndim == 1 && gone->ndim > 1 &&
                       gone->in_strides[0] > kept->in_strides[0];
    const bool in_order = geometry->rows || (geometry->planes && gone_mask & 1);
    geometry->parts =
        kept->count > 0 && kept->count < (in_order ? 1024 : 64) && gone->count >= HKI_REDUCE_BLOCK;
}

int64_t hki_reduce_offset(const hki_reduce_axes *axes, const int64_t *strides, int64_t index)
{
    int64_t offset = 0;
    for (int i = axes->ndim - 1; i > 0; i--) {
        offset += index % axes->dims[i] * strides[i];
        index /= axes->dims[i];
    }
    return axes->ndim ? offset + index * strides[0] : 0;
}

/* How many elements from `index` on lie along the innermost axis, at most `most`. */
static int64_t run_length(const hki_reduce_axes *axes, int64_t index, int64_t most)
{
    if (axes->ndim == 0)
        return 1;
    int64_t inner = axes->dims[axes->ndim - 1];
    return hki_min(most, inner - index % inner);
}

static int64_t inner_stride(const hki_reduce_axes *axes)
{
    return axes->ndim ? axes->in_strides[axes->ndim - 1] : 0;
}

/* ---- loops -------------------------------------------------------------------------------------------- */

static const hki_reduce_loops *loops_of(hki_reduce_kind kind, hk_dtype dtype)
{
    const hki_reduce_loops *here = &hki_reduce_avx2[kind][dtype];
    return hki_kernel_isa_get() != HKI_ISA_PORTABLE && here->run
               ? here
               : &hki_reduce_portable[kind][dtype];
}

static const hki_reduce_dense *dense(void)
{
    return hki_kernel_isa_get() != HKI_ISA_PORTABLE && hki_reduce_dense_avx2.add[0]
               ? &hki_reduce_dense_avx2
               : &hki_reduce_dense_portable;
}

/* Rows of neighbours that are read once, from memory: of more bytes than caches hold. */
static hki_reduce_rows_fn far_rows_of(hki_reduce_kind kind, hk_dtype dtype,
                                      const hki_reduce_geometry *geometry)
{
    enum { FAR_BYTES = 1 << 25 };
    const hki_reduce_axes *kept = &geometry->kept;
    const bool is_far =
        dtype == HK_F32 && geometry->rows && kept->in_strides[kept->ndim - 1] == 1 &&
        kept->dims[kept->ndim - 1] >= 64 && kept->dims[kept->ndim - 1] <= HKI_REDUCE_WIDE &&
        (double)kept->count * (double)geometry->gone.count * sizeof(float) >= FAR_BYTES;
    return is_far ? dense()->far_rows[kind] : NULL;
}

int64_t hki_reduce_tile(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                        int64_t kept_begin)
{
    return far_rows_of(kind, dtype, geometry)
               ? run_length(&geometry->kept, kept_begin, HKI_REDUCE_WIDE)
               : HKI_REDUCE_TILE;
}

/* ---- walks --------------------------------------------------------------------------------------------- */

typedef void (*walk_fn)(const hki_reduce_loops *loops, size_t item,
                        const hki_reduce_geometry *geometry, const char *x, int64_t kept_begin,
                        int64_t kept_end, int64_t gone_begin, int64_t gone_end,
                        hki_reduce_word *words);

static void walk_runs(const hki_reduce_loops *loops, size_t item,
                      const hki_reduce_geometry *geometry, const char *x, int64_t kept_begin,
                      int64_t kept_end, int64_t gone_begin, int64_t gone_end,
                      hki_reduce_word *words)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    for (int64_t k = kept_begin; k < kept_end; k++) {
        int64_t at = hki_reduce_offset(kept, kept->in_strides, k);
        for (int64_t g = gone_begin, count; g < gone_end; g += count) {
            count = run_length(gone, g, hki_min(gone_end - g, HKI_REDUCE_BLOCK));
            const char *from =
                x + (at + hki_reduce_offset(gone, gone->in_strides, g)) * (int64_t)item;
            hki_reduce_word word = loops->run(from, count, inner_stride(gone));
            loops->join(&words[k - kept_begin], &word, 1);
        }
    }
}

/* The same, in the same order for each kept element, but as memory lies: all that is kept, of what goes a plane after the other. */
static void walk_planes(const hki_reduce_loops *loops, size_t item,
                        const hki_reduce_geometry *geometry, const char *x, int64_t kept_begin,
                        int64_t kept_end, int64_t gone_begin, int64_t gone_end,
                        hki_reduce_word *words)
{
    const hki_reduce_axes *gone = &geometry->gone;
    int64_t plane = 1;
    for (int i = 1; i < gone->ndim; i++)
        plane *= gone->dims[i];
    for (int64_t g = gone_begin, end; g < gone_end; g = end) {
        end = hki_min(gone_end, (g / plane + 1) * plane);
        walk_runs(loops, item, geometry, x, kept_begin, kept_end, g, end, words);
    }
}

/* Rows whose elements do not lie side by side are brought together first, some at a time. */
static void apart_rows(const hki_reduce_loops *loops, size_t item, const char *x, int64_t rows,
                       int64_t row_stride, int64_t columns, int64_t stride, hki_reduce_word *words)
{
    uint64_t room[HKI_REDUCE_SHORT * HKI_REDUCE_TILE];
    for (int64_t i = 0, count; i < rows; i += count) {
        count = hki_min(rows - i, HKI_REDUCE_SHORT);
        dense()->pack[item](x + i * row_stride * (int64_t)item, count, row_stride, columns, stride,
                            room);
        loops->rows(room, count, HKI_REDUCE_TILE, columns, words);
    }
}

/* By rows of at most so many columns. */
static void walk_wide_rows(const hki_reduce_loops *loops, size_t item,
                           const hki_reduce_geometry *geometry, const char *x, int64_t kept_begin,
                           int64_t kept_end, int64_t gone_begin, int64_t gone_end, int64_t most,
                           hki_reduce_word *words)
{
    const hki_reduce_axes *kept = &geometry->kept, *gone = &geometry->gone;
    const int64_t stride = inner_stride(kept), row_stride = inner_stride(gone);
    for (int64_t k = kept_begin, columns; k < kept_end; k += columns) {
        columns = run_length(kept, k, hki_min(kept_end - k, most));
        int64_t at = hki_reduce_offset(kept, kept->in_strides, k);
        for (int64_t g = gone_begin, rows; g < gone_end; g += rows) {
            rows = run_length(gone, g, hki_min(gone_end - g, HKI_REDUCE_BLOCK));
            const char *from =
                x + (at + hki_reduce_offset(gone, gone->in_strides, g)) * (int64_t)item;
            if (stride == 1 || columns == 1)
                loops->rows(from, rows, row_stride, columns, words + (k - kept_begin));
            else
                apart_rows(loops, item, from, rows, row_stride, columns, stride,
                           words + (k - kept_begin));
        }
    }
}

static void walk_rows(const hki_reduce_loops *loops, size_t item,
                      const hki_reduce_geometry *geometry, const char *x, int64_t kept_begin,
                      int64_t kept_end, int64_t gone_begin, int64_t gone_end,
                      hki_reduce_word *words)
{
    walk_wide_rows(loops, item, geometry, x, kept_begin, kept_end, gone_begin, gone_end,
                   HKI_REDUCE_TILE, words);
}

/* A run that is hardly longer than its lanes costs more than its elements: they are added to those of the next ones. */
static bool is_short(const hki_reduce_geometry *geometry)
{
    return geometry->gone.count <= HKI_REDUCE_SHORT;
}

void hki_reduce_words(hki_reduce_kind kind, hk_dtype dtype, const hki_reduce_geometry *geometry,
                      const void *x, int64_t kept_begin, int64_t kept_end, int64_t gone_begin,
                      int64_t gone_end, hki_reduce_word *words)
{
    const hki_reduce_loops *loops = loops_of(kind, dtype);
    for (int64_t k = kept_begin; k < kept_end; k++)
        words[k - kept_begin] = loops->none;
    const hki_reduce_rows_fn far_rows = far_rows_of(kind, dtype, geometry);
    if (far_rows) {
        hki_reduce_loops far_loops = *loops;
        far_loops.rows = far_rows;
        walk_wide_rows(&far_loops, sizeof(float), geometry, x, kept_begin, kept_end, gone_begin,
                       gone_end, HKI_REDUCE_WIDE, words);
        return;
    }
    const walk_fn walk = geometry->rows || is_short(geometry) ? walk_rows
                         : geometry->planes                   ? walk_planes
                                                              : walk_runs;
    walk(loops, hk_dtype_bytes(dtype), geometry, x, kept_begin, kept_end, gone_begin, gone_end,
         words);
}

void hki_reduce_dense_rows(hk_dtype dtype, const void *x, int64_t rows, int64_t row_stride,
                           int64_t columns, hki_reduce_word *words)
{
    dense()->rows[dtype == HK_F64](x, rows, row_stride, columns, words);
}

void hki_reduce_dense_add(hk_dtype dtype, int64_t count, hki_reduce_word *restrict to,
                          const hki_reduce_word *restrict from)
{
    dense()->add[dtype == HK_F64](count, to, from);
}

double hki_reduce_dense_sum(hk_dtype dtype, const void *x, int64_t count, int64_t step,
                            int64_t runs)
{
    return dense()->sum[dtype == HK_F64](x, count, step, runs);
}

double hki_reduce_dense_products(hk_dtype dtype, const void *x, const void *y, int64_t count,
                                 int64_t runs)
{
    return dense()->product_runs[dtype == HK_F64](x, y, count, runs);
}

bool hki_reduce_has_products(hk_dtype dtype)
{
    return dense()->products[dtype];
}

hki_reduce_word hki_reduce_products(hk_dtype dtype, const void *x, const void *y, int64_t count)
{
    const int64_t item = (int64_t)hk_dtype_bytes(dtype);
    hki_reduce_word sum = {0};
    for (int64_t i = 0; i < count; i += HKI_REDUCE_BLOCK) {
        const hki_reduce_word word =
            dense()->products[dtype]((const char *)x + i * item, (const char *)y + i * item,
                                     hki_min(count - i, HKI_REDUCE_BLOCK));
        hki_reduce_join(HKI_REDUCE_SUM, dtype, &sum, &word, 1);
    }
    return sum;
}

void hki_reduce_divide(hki_reduce_word *words, int64_t count, double divisor)
{
    dense()->divide(words, count, divisor);
}

hki_reduce_word hki_reduce_squares_about(hk_dtype dtype, const void *x, double about, int64_t count)
{
    const int64_t item = (int64_t)hk_dtype_bytes(dtype);
    hki_reduce_word sum = {0};
    for (int64_t i = 0; i < count; i += HKI_REDUCE_BLOCK) {
        const hki_reduce_word word = dense()->squares_about[dtype == HK_F64](
            (const char *)x + i * item, about, hki_min(count - i, HKI_REDUCE_BLOCK));
        hki_reduce_join(HKI_REDUCE_SUM, dtype, &sum, &word, 1);
    }
    return sum;
}

void hki_reduce_rows_about(hk_dtype dtype, const void *x, int64_t rows, int64_t row_stride,
                           int64_t columns, const double *about, hki_reduce_word *words)
{
    const int64_t row_bytes = row_stride * (int64_t)hk_dtype_bytes(dtype);
    for (int64_t i = 0, count; i < rows; i += count) {
        count = hki_min(rows - i, HKI_REDUCE_BLOCK);
        dense()->rows_about[dtype == HK_F64]((const char *)x + i * row_bytes, count, row_stride,
                                             columns, about, words);
    }
}

void hki_reduce_join(hki_reduce_kind kind, hk_dtype dtype, hki_reduce_word *words,
                     const hki_reduce_word *more, int64_t count)
{
    loops_of(kind, dtype)->join(words, more, count);
}
