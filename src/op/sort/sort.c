/* Sorting along an axis: sort, argsort, searchsorted. Stable; a NaN counts as larger than all numbers. */
#include "op/sort/sort.h"
#include "base/half.h"
#include "base/integer_dtypes.h"
#include "op/call/scratch.h"
#include "op/reduce/line.h"

HKI_ARGUMENTS_TABLE(sort, SORT_ARGUMENTS)
#define argsort_params sort_params
#define unsort_params  sort_params

static bool infer(hki_call *call)
{
    const hki_shape_view *x = call->inputs[0];
    call->out_shape[0] = call->out_shape[1] = x->shape;
    call->out_dtype[0] = call->op->output_count > 1 ? x->dtype : HK_I64;
    call->out_dtype[1] = HK_I64;
    return hki_call_check_axis(call, ((const hki_sort_options *)call->options)->axis);
}

static hki_lines lines_of(int ndim, const int64_t *dims, const void *options)
{
    return hki_lines_of(ndim, dims, ((const hki_sort_options *)options)->axis);
}

static void plan(const hki_call *call, hki_plan *plan)
{
    const hki_shape_view *x = call->inputs[0];
    const hki_lines lines = lines_of(x->shape.ndim, x->shape.dims, call->options);
    double rounds = 1;
    for (int64_t size = lines.size; size > 1; size /= 2)
        rounds++;
    plan->extent = lines.size > 0 ? lines.count : 0;
    plan->work_ns = 4 * rounds * (double)x->size;
}

static hki_batch_kind batch(hki_batch *batch)
{
    return hki_batch_lines(batch, ((const hki_sort_options *)batch->options)->axis);
}

/* ---- one line -------------------------------------------------------------------------------------------- */

enum { RUN = 12 }; /* so many are sorted by insertion */

/* Sorts pairs of a value and where it was, by merging. SWAPS: b, which comes later, belongs before a. Results are in `pairs` or
 * in `spare`. V: what elements of T are compared as. */
#define SORT(name, T, V, value_of, element_of)                                                     \
    typedef struct pair_##name {                                                                   \
        V value;                                                                                   \
        int64_t index;                                                                             \
    } pair_##name;                                                                                 \
    static bool swaps_##name(V a, V b, bool descending)                                            \
    {                                                                                              \
        return descending ? b > a || (b != b && a == a) : b < a || (a != a && b == b);             \
    }                                                                                              \
    static void sort_run_##name(pair_##name *pairs, int64_t count, bool descending)                \
    {                                                                                              \
        for (int64_t i = 1; i < count; i++) {                                                      \
            const pair_##name moved = pairs[i];                                                    \
            int64_t at = i;                                                                        \
            for (; at > 0 && swaps_##name(pairs[at - 1].value, moved.value, descending); at--)     \
                pairs[at] = pairs[at - 1];                                                         \
            pairs[at] = moved;                                                                     \
        }                                                                                          \
    }                                                                                              \
    static pair_##name *sort_pairs_##name(pair_##name *pairs, pair_##name *spare, int64_t count,   \
                                          bool descending)                                         \
    {                                                                                              \
        for (int64_t i = 0; i < count; i += RUN)                                                   \
            sort_run_##name(pairs + i, count - i < RUN ? count - i : RUN, descending);             \
        for (int64_t run = RUN; run < count; run *= 2) {                                           \
            for (int64_t begin = 0; begin < count; begin += 2 * run) {                             \
                const int64_t middle = begin + run < count ? begin + run : count;                  \
                const int64_t end = middle + run < count ? middle + run : count;                   \
                int64_t a = begin, b = middle;                                                     \
                for (int64_t to = begin; to < end; to++)                                           \
                    spare[to] =                                                                    \
                        a < middle && (b == end ||                                                 \
                                       !swaps_##name(pairs[a].value, pairs[b].value, descending))  \
                            ? pairs[a++]                                                           \
                            : pairs[b++];                                                          \
            }                                                                                      \
            pair_##name *sorted = spare;                                                           \
            spare = pairs;                                                                         \
            pairs = sorted;                                                                        \
        }                                                                                          \
        return pairs;                                                                              \
    }                                                                                              \
    static void line_##name(const void *from, void *to, int64_t *indices, void *scratch,           \
                            const hki_lines *lines, bool descending)                               \
    {                                                                                              \
        const T *x = from;                                                                         \
        T *y = to;                                                                                 \
        pair_##name *pairs = scratch;                                                              \
        for (int64_t j = 0; j < lines->size; j++)                                                  \
            pairs[j] = (pair_##name){value_of(x[j * lines->inner]), j};                            \
        pairs = sort_pairs_##name(pairs, pairs + lines->size, lines->size, descending);            \
        for (int64_t j = 0; j < lines->size; j++) {                                                \
            if (y)                                                                                 \
                y[j * lines->inner] = element_of(pairs[j].value);                                  \
            indices[j * lines->inner] = pairs[j].index;                                            \
        }                                                                                          \
    }

/* The first so many of a line in order, of pairs in a heap whose root is the last of them. */
#define SELECT(name, T, value_of, element_of)                                                      \
    static bool precedes_##name(const pair_##name *a, const pair_##name *b, bool descending)       \
    {                                                                                              \
        return swaps_##name(b->value, a->value, descending) ||                                     \
               (!swaps_##name(a->value, b->value, descending) && a->index < b->index);             \
    }                                                                                              \
    static void sink_##name(pair_##name *heap, int64_t count, int64_t at, bool descending)         \
    {                                                                                              \
        const pair_##name moved = heap[at];                                                        \
        for (int64_t child = 2 * at + 1; child < count; child = 2 * at + 1) {                      \
            if (child + 1 < count && precedes_##name(&heap[child], &heap[child + 1], descending))  \
                child++;                                                                           \
            if (!precedes_##name(&moved, &heap[child], descending))                                \
                break;                                                                             \
            heap[at] = heap[child];                                                                \
            at = child;                                                                            \
        }                                                                                          \
        heap[at] = moved;                                                                          \
    }                                                                                              \
    static void select_##name(const void *from, void *to, int64_t *indices, void *scratch,         \
                              const hki_lines *lines, const hki_lines *out, bool descending)       \
    {                                                                                              \
        const T *x = from;                                                                         \
        pair_##name *heap = scratch;                                                               \
        for (int64_t j = 0; j < out->size; j++)                                                    \
            heap[j] = (pair_##name){value_of(x[j * lines->inner]), j};                             \
        for (int64_t j = out->size / 2 - 1; j >= 0; j--)                                           \
            sink_##name(heap, out->size, j, descending);                                           \
        for (int64_t j = out->size; j < lines->size; j++) {                                        \
            const pair_##name next = {value_of(x[j * lines->inner]), j};                           \
            if (!swaps_##name(heap[0].value, next.value, descending))                              \
                continue;                                                                          \
            heap[0] = next;                                                                        \
            sink_##name(heap, out->size, 0, descending);                                           \
        }                                                                                          \
        for (int64_t left = out->size - 1; left >= 0; left--) {                                    \
            ((T *)to)[left * out->inner] = element_of(heap[0].value);                              \
            indices[left * out->inner] = heap[0].index;                                            \
            heap[0] = heap[left];                                                                  \
            sink_##name(heap, left, 0, descending);                                                \
        }                                                                                          \
    }

#define SELF(x) (x)
SORT(f32, float, float, SELF, SELF)
SORT(f64, double, double, SELF, SELF)
SORT(f16, uint16_t, float, hki_f16_to_float, hki_f16_from_float)
SORT(bf16, uint16_t, float, hki_bf16_to_float, hki_bf16_from_float)
SELECT(f32, float, SELF, SELF)
SELECT(f64, double, SELF, SELF)
SELECT(f16, uint16_t, hki_f16_to_float, hki_f16_from_float)
SELECT(bf16, uint16_t, hki_bf16_to_float, hki_bf16_from_float)
#define SORT_INTEGERS(dtype, name, T, least, most)                                                 \
    SORT(name, T, T, SELF, SELF) SELECT(name, T, SELF, SELF)
HKI_EACH_INTEGER(SORT_INTEGERS)
_Static_assert(sizeof(pair_f64) == HKI_PAIR_BYTES, "the largest of them");

typedef void (*line_fn)(const void *from, void *to, int64_t *indices, void *scratch,
                        const hki_lines *lines, bool descending);
#define LINE(dtype, name, T, least, most) [dtype] = line_##name,
static const line_fn line_of[HK_DTYPE_COUNT] = {
    HKI_EACH_INTEGER(LINE)[HK_BOOL] = line_u8,
    [HK_F32] = line_f32,
    [HK_F64] = line_f64,
    [HK_F16] = line_f16,
    [HK_BF16] = line_bf16,
};

#define SELECTION(dtype, name, T, least, most) [dtype] = select_##name,
const hki_select_fn hki_select_of[HK_DTYPE_COUNT] = {
    HKI_EACH_INTEGER(SELECTION)[HK_BOOL] = select_u8,
    [HK_F32] = select_f32,
    [HK_F64] = select_f64,
    [HK_F16] = select_f16,
    [HK_BF16] = select_bf16,
};

/* ---- sort and argsort -------------------------------------------------------------------------------------- */

static void kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_sort_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    const bool has_values = call->output_count > 1;
    const hki_lines lines = lines_of(x->ndim, x->dims, options);
    const int64_t bytes = (int64_t)hki_dtype_bytes(x->dtype);
    const size_t scratch_bytes = 2 * (size_t)lines.size * HKI_PAIR_BYTES;
    void *scratch = hki_scratch_allocate(call, piece, scratch_bytes);
    if (!scratch)
        return;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        line_of[x->dtype]((const char *)x->data + at * bytes,
                          has_values ? (char *)call->out[0].data + at * bytes : NULL,
                          (int64_t *)call->out[has_values].data + at, scratch, &lines,
                          options->descending);
    }
    hki_scratch_release(call, scratch, scratch_bytes);
}

static void sort_grad(hki_grad_call *call)
{
    call->dx[0] = hki_op_call2(&hki_op_unsort, call->dy, call->saved, call->options);
}

static void unsort_grad(hki_grad_call *call)
{
    const struct {
        int64_t axis;
    } along = {.axis = ((const hki_sort_options *)call->options)->axis};
    call->dx[0] = hki_op_call2(&hki_op_take_along_axis, call->dy, call->inputs[1], &along);
}

static bool unsort_infer(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void unsort_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_tensor *dy = &call->in[0];
    const hki_lines lines = lines_of(dy->ndim, dy->dims, call->options);
    const int64_t bytes = (int64_t)hki_dtype_bytes(dy->dtype);
    (void)piece;
    for (int64_t i = begin; i < end; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        const int64_t *indices = (const int64_t *)call->in[1].data + at;
        for (int64_t j = 0; j < lines.size; j++) {
            const int64_t from = at + j * lines.inner;
            const int64_t to = at + indices[j * lines.inner] * lines.inner;
            memcpy((char *)call->out[0].data + to * bytes, (const char *)dy->data + from * bytes,
                   (size_t)bytes);
        }
    }
}

/* By selection: the first of the least that are left. */
static void reference(const hki_call *call, const double *const *in, double *const *out)
{
    const hki_sort_options *options = call->options;
    const hk_dims *shape = &call->inputs[0]->shape;
    const bool has_values = call->op->output_count > 1;
    const hki_lines lines = lines_of(shape->ndim, shape->dims, options);
    for (int64_t i = 0; i < lines.count; i++) {
        const int64_t at = hki_lines_at(&lines, i);
        for (int64_t j = 0; j < lines.size; j++) {
            int64_t rank = 0;
            const double value = in[0][at + j * lines.inner];
            for (int64_t k = 0; k < lines.size; k++) {
                const double other = in[0][at + k * lines.inner];
                const bool before = options->descending ? other > value : other < value;
                rank += before || (other == value && k < j);
            }
            if (has_values)
                out[0][at + rank * lines.inner] = value;
            out[has_values][at + rank * lines.inner] = (double)j;
        }
    }
}

#define ORDER(value, falling)                                                                      \
    &(const hki_sort_options)                                                                      \
    {                                                                                              \
        .axis = value, .descending = falling                                                       \
    }
static const hki_sample samples[] = {
    {.inputs = {HKI_SHAPE(5, 4)}, .options = ORDER(-1, false)},
    {.inputs = {HKI_SHAPE(5, 4)}, .options = ORDER(0, true)},
    {.inputs = {HKI_SHAPE(2, 30, 4)}, .options = ORDER(1, false)},
    {.inputs = {HKI_SHAPE(1)}, .options = ORDER(0, false)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = ORDER(1, false)},
    {.inputs = {HKI_SHAPE(0, 4)}, .options = ORDER(0, true)},
    {.inputs = {HKI_SHAPE(3, 200)}, .options = ORDER(1, true)},
    {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 4)}, .options = ORDER(0, false)},
};

const hk_op hki_op_sort = {
    HKI_OP_NAMED(sort),
    HKI_OP_PARAMS(sort),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc =
        "Elements in order along an axis; equal ones stay in theirs. A NaN counts as larger than "
        "all numbers.",
    .dtypes = HKI_ALL_DTYPES,
    .output_count = 2,
    .contiguous = true,
    .infer = infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = batch,
    .kernel = {[HKI_CPU] = kernel},
    .grad = sort_grad,
    .reference = reference,
};

const hk_op hki_op_argsort = {
    HKI_OP_NAMED(argsort),
    .params = argsort_params,
    .options_bytes = sizeof(hki_sort_options),
    HKI_OP_SAMPLES(samples),
    .signature = "x",
    .doc = "Indices along an axis that put its elements in order, as int64; equal ones stay in "
           "theirs. A NaN counts as larger than all numbers.",
    .dtypes = HKI_ALL_DTYPES,
    .contiguous = true,
    .infer = infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .batch = batch,
    .kernel = {[HKI_CPU] = kernel},
    .no_grad_why = "its result is an index",
    .reference = reference,
};

const hk_op hki_op_unsort = {
    HKI_OP_NAMED(unsort),
    .params = unsort_params,
    .options_bytes = sizeof(hki_sort_options),
    .signature = "dy, indices",
    .doc = "Gradient of sort.",
    .dtypes = HKI_REALS,
    .contiguous = true,
    .internal = true,
    .infer = unsort_infer,
    .split = HKI_SPLIT_PLAN,
    .plan = plan,
    .kernel = {[HKI_CPU] = unsort_kernel},
    .grad = unsort_grad,
    .grad_reads = {2},
    .no_grad_inputs = 2,
    .untested = "the gradient of sort tests it",
};

/* ---- searchsorted -------------------------------------------------------------------------------------------- */

HKI_ARGUMENTS_TABLE(searchsorted, SEARCHSORTED_ARGUMENTS)

static bool search_infer(hki_call *call)
{
    const hki_shape_view *sorted = call->inputs[0], *x = call->inputs[1];
    if (sorted->shape.ndim != 1)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "sorted has %d axes, but must have one",
                               sorted->shape.ndim);
    if (sorted->dtype != x->dtype)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "sorted is %s, but x %s; hk_cast converts",
                               hk_dtype_name(sorted->dtype), hk_dtype_name(x->dtype));
    call->out_shape[0] = x->shape;
    call->out_dtype[0] = HK_I64;
    return true;
}

static void search_plan(const hki_call *call, hki_plan *plan)
{
    double rounds = 1;
    for (int64_t size = call->inputs[0]->size; size > 0; size /= 2)
        rounds++;
    plan->work_ns = 4 * rounds * (double)call->inputs[1]->size;
}

#define SEARCH(name, T, V, value_of)                                                               \
    static int64_t search_##name(const void *data, int64_t count, const void *values, int64_t at,  \
                                 bool right)                                                       \
    {                                                                                              \
        const T *sorted = data;                                                                    \
        const V value = value_of(((const T *)values)[at]);                                         \
        int64_t begin = 0, end = count;                                                            \
        while (begin < end) {                                                                      \
            const int64_t middle = begin + (end - begin) / 2;                                      \
            const bool is_before = right ? !swaps_##name(value_of(sorted[middle]), value, false)   \
                                         : swaps_##name(value, value_of(sorted[middle]), false);   \
            *(is_before ? &begin : &end) = middle + is_before;                                     \
        }                                                                                          \
        return begin;                                                                              \
    }

SEARCH(f32, float, float, SELF)
SEARCH(f64, double, double, SELF)
SEARCH(f16, uint16_t, float, hki_f16_to_float)
SEARCH(bf16, uint16_t, float, hki_bf16_to_float)
#define SEARCH_INTEGERS(dtype, name, T, least, most) SEARCH(name, T, T, SELF)
HKI_EACH_INTEGER(SEARCH_INTEGERS)

typedef int64_t (*search_fn)(const void *sorted, int64_t count, const void *values, int64_t at,
                             bool right);
#define SEARCH_OF(dtype, name, T, least, most) [dtype] = search_##name,
static const search_fn search_of[HK_DTYPE_COUNT] = {
    HKI_EACH_INTEGER(SEARCH_OF)[HK_BOOL] = search_u8,
    [HK_F32] = search_f32,
    [HK_F64] = search_f64,
    [HK_F16] = search_f16,
    [HK_BF16] = search_bf16,
};

static void search_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const hki_searchsorted_options *options = call->options;
    const hki_tensor *sorted = &call->in[0], *x = &call->in[1];
    (void)piece;
    for (int64_t i = begin; i < end; i++)
        ((int64_t *)call->out[0].data)[i] =
            search_of[x->dtype](sorted->data, sorted->size, x->data, i, options->right);
}

/* Of samples whose sorted values are equal. */
static void search_reference(const hki_call *call, const double *const *in, double *const *out)
{
    const bool right = ((const hki_searchsorted_options *)call->options)->right;
    const int64_t count = call->inputs[0]->size;
    for (int64_t i = 0; i < call->inputs[1]->size; i++) {
        out[0][i] = 0;
        for (int64_t j = 0; j < count; j++)
            out[0][i] += in[0][j] < in[1][i] || (right && in[0][j] == in[1][i]);
    }
}

#define SIDE(value)                                                                                \
    &(const hki_searchsorted_options)                                                              \
    {                                                                                              \
        .right = value                                                                             \
    }
static const hki_sample search_samples[] = {
    {.inputs = {HKI_SHAPE(1), HKI_SHAPE(3, 4)}, .options = SIDE(false)},
    {.inputs = {HKI_SHAPE(1), HKI_SHAPE_0D}, .options = SIDE(true)},
    {.inputs = {HKI_SHAPE(0), HKI_SHAPE(3)}, .options = SIDE(false)},
    {.inputs = {HKI_SHAPE(1), HKI_SHAPE(0)}, .options = SIDE(true)},
};

const hk_op hki_op_searchsorted = {
    HKI_OP_NAMED(searchsorted),
    HKI_OP_PARAMS(searchsorted),
    HKI_OP_SAMPLES(search_samples),
    .signature = "sorted, x",
    .doc = "Where each element of x would be put into sorted, of one axis in rising order, to keep "
           "its order: an index from 0 to its size, as int64. A NaN counts as larger than all "
           "numbers.",
    .dtypes = HKI_ALL_DTYPES,
    .contiguous = true,
    .infallible = true,
    .infer = search_infer,
    .split = HKI_SPLIT_ELEMENTS,
    .plan = search_plan,
    .kernel = {[HKI_CPU] = search_kernel},
    .no_grad_why = "its result is an index",
    .reference = search_reference,
};
