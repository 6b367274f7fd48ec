#include "graph/bound.h"

#include "base/text.h"

#include <stdarg.h>
#include <string.h>

static const char operation[] = "replay";

void hki_bound_refuse(hk_array *const *bound, int count, hk_code code, const char *format, ...)
{
    char message[1024];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    HK_SCOPE;
    hk_array *carrier = hki_array_create_failed(NULL, operation, bound, count, code, "%s", message);
    for (int i = 0; i < count; i++)
        if (bound[i])
            hki_array_fail_in_place(bound[i], operation, &carrier, 1, code, "%s", message);
}

static bool strides_equal(const struct hki_bound *wanted, const hk_array *x)
{
    for (int i = 0; i < x->shape.ndim; i++)
        if (x->shape.dims[i] > 1 && x->strides[i] != wanted->strides[i])
            return false;
    return true;
}

static bool is_alike(const struct hki_bound *wanted, const hk_array *x)
{
    return x->dtype == wanted->dtype && x->storage->device == wanted->device &&
           hki_dims_equal(&x->shape, &wanted->shape) && strides_equal(wanted, x);
}

bool hk_graph_takes(const hk_graph *graph, int index, hk_array *x)
{
    if (!graph || index < 0 || index >= graph->bound_count || !x || x->failed)
        return false;
    const struct hki_bound *wanted = &graph->bound[index];
    return is_alike(wanted, x) && !(x->read_only && wanted->is_written);
}

static void describe(const hk_dims *shape, hk_dtype dtype, const hki_device *device,
                     const int64_t *strides, char *text, size_t bytes)
{
    char dims[192], steps[192];
    hk_dims as_dims = {.ndim = shape->ndim};
    memcpy(as_dims.dims, strides, sizeof as_dims.dims);
    hki_dims_describe(shape, dims, sizeof dims);
    hki_dims_describe(&as_dims, steps, sizeof steps);
    snprintf(text, bytes, "%s%s on %s with strides %s", hk_dtype_name(dtype), dims, device->name,
             steps);
}

/* Also true of an array that failed at its call: what depends on it will. */
static bool check_bound(const hk_graph *graph, hk_array *const *bound, int index)
{
    const struct hki_bound *wanted = &graph->bound[index];
    const hk_array *x = bound[index];
    char has[512], wants[512];
    if (!x) {
        hki_bound_refuse(bound, graph->bound_count, HK_INVALID_ARGUMENT, "bound array %d is NULL",
                         index);
        return false;
    }
    if (x->failed)
        return true;
    const hk_status *gone = hki_array_gone(x);
    if (gone) {
        hki_bound_refuse(bound, graph->bound_count, hk_status_code(gone), "bound array %d: %s",
                         index, hk_status_message(gone));
        hk_status_release(gone);
        return false;
    }
    if (x->read_only && wanted->is_written) {
        hki_bound_refuse(
            bound, graph->bound_count, HK_INVALID_ARGUMENT,
            "bound array %d is a broadcast view or memory for reading, but the graph writes it",
            index);
        return false;
    }
    if (is_alike(wanted, x))
        return true;
    describe(&x->shape, x->dtype, x->storage->device, x->strides, has, sizeof has);
    describe(&wanted->shape, wanted->dtype, wanted->device, wanted->strides, wants, sizeof wants);
    hki_bound_refuse(bound, graph->bound_count, HK_INVALID_ARGUMENT,
                     "bound array %d is %s, but must be like the one captured, %s", index, has,
                     wants);
    return false;
}

/* Whether its runtime lives; else the arrays have been failed. */
static bool check_runtime(const hk_graph *graph, hk_array *const *bound, int count)
{
    if (hki_runtime_alive(graph->runtime))
        return true;
    const hk_status *gone = hki_runtime_gone(graph->runtime);
    const bool is_noted = count > 0 || hk_status_code(gone) != HK_FORKED;
    if (is_noted) /* else it would start a runtime */
        hki_bound_refuse(bound, count, hk_status_code(gone), "the graph's runtime: %s",
                         hk_status_message(gone));
    hk_status_release(gone);
    return false;
}

bool hki_bound_check(const hk_graph *graph, hk_array *const *bound, int count)
{
    const hk_status *status = hk_graph_status(graph);
    if (count < 0 || (count > 0 && !bound)) {
        hki_bound_refuse(NULL, 0, HK_INVALID_ARGUMENT,
                         count < 0 ? "count is %d; expected 0 or more"
                                   : "bound is NULL, but count is %d",
                         count);
        return false;
    }
    if (!hk_ok(status)) {
        char where[256] = "";
        if (hk_status_line(status))
            snprintf(where, sizeof where, " (%s:%d)", hk_status_file(status),
                     hk_status_line(status));
        hki_bound_refuse(bound, count, hk_status_code(status), "there is nothing to replay: %s%s",
                         hk_status_message(status), where);
        return false;
    }
    if (!check_runtime(graph, bound, count))
        return false;
    if (count != graph->bound_count) {
        hki_bound_refuse(bound, count, HK_INVALID_ARGUMENT,
                         "count is %d, but the graph was captured with %d bound arrays", count,
                         graph->bound_count);
        return false;
    }
    for (int i = 0; i < count; i++)
        if (!check_bound(graph, bound, i))
            return false;
    return true;
}
