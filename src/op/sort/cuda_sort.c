/* sort, argsort, topk and searchsorted. Lines are sorted whole, by pairs of a key and where it was: stable, and the same for
 * every dtype. */
#include "op/sort/cuda_sort.h"

#include "op/cuda/cuda_calls.h"
#include "op/sort/sort.h"

static hki_cuda_lines lines_of(const hki_tensor *x, int64_t axis, bool falls)
{
    const hki_lines lines = hki_lines_of(x->ndim, x->dims, axis);
    return (hki_cuda_lines){lines.size, lines.inner, lines.count, falls};
}

/* The first `kept` elements of each line, to y, which may be NULL, and where they were to indices. */
static void put_first(const hki_kernel_call *call, hki_cuda_stream *stream,
                      const hki_cuda_lines *lines, int64_t kept, void *y, int64_t *indices)
{
    const hki_tensor *x = &call->in[0];
    if (hki_cuda_is_short(lines, x->dtype)) {
        hki_cuda_launch_short(stream, lines, x->dtype, x->data, kept, y, indices);
        return;
    }
    hki_cuda_item *items = hki_cuda_workspace(stream, 2 * (size_t)x->size * sizeof(hki_cuda_item));
    if (!items)
        return;
    hki_cuda_launch_items(stream, lines, x->dtype, x->data, items);
    items = hki_cuda_sort_items(stream, items, items + x->size, lines->count, lines->size);
    hki_cuda_launch_sorted(stream, lines, hki_cuda_item_bytes(x->dtype), x->data, items, kept, y,
                           indices);
}

void hki_cuda_call_sort(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_sort_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    const bool has_values = call->output_count > 1;
    if (x->size == 0)
        return;
    const hki_cuda_lines lines = lines_of(x, options->axis, options->descending);
    put_first(call, stream, &lines, lines.size, has_values ? call->out[0].data : NULL,
              call->out[has_values].data);
}

void hki_cuda_call_topk(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_topk_options *options = call->options;
    const hki_tensor *x = &call->in[0];
    if (x->size == 0 || options->k == 0)
        return;
    const hki_cuda_lines lines = lines_of(x, options->axis, options->largest);
    put_first(call, stream, &lines, options->k, call->out[0].data, call->out[1].data);
}

void hki_cuda_call_unsort(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_tensor *dy = &call->in[0];
    if (dy->size == 0)
        return;
    const hki_cuda_lines lines =
        lines_of(dy, ((const hki_sort_options *)call->options)->axis, false);
    hki_cuda_launch_unsorted(stream, &lines, hki_cuda_item_bytes(dy->dtype), dy->data,
                             call->in[1].data, call->out[0].data);
}

void hki_cuda_call_searchsorted(const hki_kernel_call *call, hki_cuda_stream *stream)
{
    const hki_searchsorted_options *options = call->options;
    const hki_tensor *sorted = &call->in[0], *x = &call->in[1];
    if (x->size > 0)
        hki_cuda_launch_search(stream, x->dtype, sorted->size ? sorted->data : NULL, sorted->size,
                               x->data, x->size, options->right, call->out[0].data);
}
