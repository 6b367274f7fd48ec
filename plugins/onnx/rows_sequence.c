/* Sequences of values, and values that may not be there. */
#include "rows.h"
#include "shapes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static bool no_memory(onnx_call *call)
{
    return onnx_refuse(call, HK_OUT_OF_MEMORY, "out of host memory");
}

static onnx_value *sequence_in(onnx_call *call, int index)
{
    onnx_value *value = onnx_in_value(call, index);
    if (value && value->kind == ONNX_SEQUENCE)
        return value;
    onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is no sequence", index);
    return NULL;
}

/* Takes the counts of the items and the list. */
static bool give(onnx_call *call, int output, onnx_value **items, int count)
{
    onnx_value *value = onnx_sequence_of(items, count);
    free(items);
    return value ? onnx_out_value(call, output, value) : no_memory(call);
}

/* A place given by input `index`, or the last; within [0, most]; -1 after refusing. */
static int place_in(onnx_call *call, int index, int count, int most)
{
    int64_t place = most;
    if (onnx_has(call, index) && onnx_in_ints(call, index, &place, 1) != 1)
        return -1;
    if (place >= -count && place <= most)
        return (int)(place < 0 ? place + count : place);
    onnx_refuse(call, HK_OUT_OF_RANGE, "place %" PRId64 " of a sequence of %d", place, count);
    return -1;
}

/* ---- made and changed ------------------------------------------------------------------------ */

static bool run_construct(onnx_call *call)
{
    const int count = onnx_in_count(call);
    onnx_value **items = calloc((size_t)count + 1, sizeof *items);
    bool is_good = items || no_memory(call);
    for (int i = 0; i < count && is_good; i++) {
        items[i] = onnx_value_retain(onnx_in_value(call, i));
        is_good = items[i] || onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is missing", i);
    }
    if (is_good)
        return give(call, 0, items, count);
    for (int i = 0; items && i < count; i++)
        onnx_value_release(items[i]);
    free(items);
    return false;
}

static bool run_empty(onnx_call *call)
{
    onnx_value *items[1];
    onnx_value *value = onnx_sequence_of(items, 0);
    return value ? onnx_out_value(call, 0, value) : no_memory(call);
}

static bool run_at(onnx_call *call)
{
    onnx_value *sequence = sequence_in(call, 0);
    if (!sequence)
        return false;
    if (!onnx_has(call, 1))
        return onnx_refuse(call, HK_INVALID_ARGUMENT, "no place is given");
    const int place = place_in(call, 1, sequence->item_count, sequence->item_count - 1);
    return place >= 0 && onnx_out_value(call, 0, onnx_value_retain(sequence->items[place]));
}

/* With one item more, or less. */
static bool run_changed(onnx_call *call, onnx_value *added, int place_input)
{
    onnx_value *sequence = sequence_in(call, 0);
    if (!sequence)
        return false;
    const int had = sequence->item_count, count = added ? had + 1 : had - 1;
    const int place = place_in(call, place_input, had, added ? had : had - 1);
    onnx_value **items = place < 0 ? NULL : calloc((size_t)count + 1, sizeof *items);
    if (!items)
        return place < 0 ? false : no_memory(call);
    for (int i = 0, from = 0; i < count; i++) {
        from += !added && i == place;
        items[i] = onnx_value_retain(added && i == place ? added : sequence->items[from++]);
    }
    return give(call, 0, items, count);
}

static bool run_insert(onnx_call *call)
{
    onnx_value *added = onnx_in_value(call, 1);
    return added ? run_changed(call, added, 2) : onnx_out(call, 0, NULL);
}

static bool run_erase(onnx_call *call)
{
    return run_changed(call, NULL, 1);
}

static bool run_length(onnx_call *call)
{
    onnx_value *sequence = sequence_in(call, 0);
    if (!sequence)
        return false;
    const int64_t count = sequence->item_count;
    return onnx_out(call, 0, onnx_held(call, &count, hk_shape(), HK_I64));
}

/* ---- cut and joined -------------------------------------------------------------------------- */

/* Where the parts end: all of one size, or as said. Returns how many; -1 after refusing. */
static int64_t parts_of(onnx_call *call, int64_t whole, int64_t **ends)
{
    const hk_array *split = onnx_in(call, 1);
    const bool is_list = split && hk_ndim(split) > 0;
    int64_t size = 1, count = 0;
    if (split && !is_list && onnx_in_ints(call, 1, &size, 1) != 1)
        return -1;
    if (size < 1) {
        onnx_refuse(call, HK_INVALID_ARGUMENT, "parts of %" PRId64 " entries", size);
        return -1;
    }
    count = is_list ? hk_size(split) : whole / size + (whole % size != 0);
    *ends = count > INT32_MAX ? NULL : malloc((size_t)count * sizeof **ends + 1);
    if (!*ends || (is_list && onnx_in_ints(call, 1, *ends, (int)count) != count)) {
        no_memory(call);
        return -1;
    }
    int64_t end = 0;
    for (int64_t i = 0; i < count; i++) {
        const int64_t part = is_list ? (*ends)[i] : size < whole - end ? size : whole - end;
        if (part < 0 || part > whole - end) {
            onnx_refuse(call, HK_INVALID_ARGUMENT,
                        "part %" PRId64 " is %" PRId64 " of the %" PRId64 " that are left", i, part,
                        whole - end);
            return -1;
        }
        (*ends)[i] = end += part;
    }
    if (end == whole)
        return count;
    onnx_refuse(call, HK_INVALID_ARGUMENT, "the parts leave %" PRId64 " entries", whole - end);
    return -1;
}

static bool run_split(onnx_call *call)
{
    hk_array *x = onnx_in(call, 0);
    int64_t *ends = NULL;
    if (!x)
        return onnx_out(call, 0, NULL);
    const int axis = onnx_axis(call, onnx_int(call, "axis", 0), hk_ndim(x));
    const bool squeezes = !onnx_has(call, 1) && !onnx_int(call, "keepdims", 1);
    const int64_t count = axis < 0 ? -1 : parts_of(call, hk_dim(x, axis), &ends);
    onnx_value **items = count < 0 ? NULL : calloc((size_t)count + 1, sizeof *items);
    bool is_good = items != NULL;
    for (int64_t i = 0; i < count && is_good; i++) {
        hk_array *part = hk_slice(x, axis, i ? ends[i - 1] : 0, ends[i]);
        part = hk_array_retain(squeezes ? hk_squeeze(part, axis) : part);
        is_good = (items[i] = onnx_value_of(part, call->is_constant)) != NULL;
    }
    free(ends);
    if (is_good)
        return give(call, 0, items, (int)count);
    for (int64_t i = 0; items && i < count; i++)
        onnx_value_release(items[i]);
    free(items);
    return count < 0 ? false : no_memory(call);
}

static bool run_concat(onnx_call *call)
{
    onnx_value *sequence = sequence_in(call, 0);
    const int64_t axis = onnx_int(call, "axis", 0);
    const bool is_new = onnx_int(call, "new_axis", 0) != 0;
    if (!sequence)
        return false;
    const int count = sequence->item_count;
    hk_array **parts = malloc((size_t)(count + 1) * sizeof *parts);
    bool is_good = parts || no_memory(call);
    if (is_good && count == 0)
        is_good = onnx_refuse(call, HK_INVALID_ARGUMENT, "the sequence has no items");
    for (int i = 0; i < count && is_good; i++) {
        parts[i] = onnx_array_of(call, sequence->items[i]);
        is_good = parts[i] || onnx_refuse(call, HK_INVALID_ARGUMENT, "item %d is no tensor", i);
    }
    const int at = is_good ? onnx_axis(call, axis, hk_ndim(parts[0]) + is_new) : -1;
    is_good = at >= 0 && onnx_out(call, 0,
                                  is_new      ? hk_stack(parts, count, at)
                                  : count > 1 ? hk_concat(parts, count, at)
                                              : parts[0]);
    free(parts);
    return is_good;
}

/* ---- a graph for each item ------------------------------------------------------------------- */

/* Item i of each sequence, and what is none as it is. Counted. */
static bool items_at(onnx_call *call, int at, onnx_value **inputs)
{
    for (int i = 0; i < onnx_in_count(call); i++) {
        onnx_value *value = onnx_in_value(call, i);
        const bool is_sequence = value && value->kind == ONNX_SEQUENCE;
        onnx_value_release(inputs[i]);
        inputs[i] = NULL;
        if (!value || (is_sequence && at >= value->item_count))
            return onnx_refuse(call, HK_INVALID_ARGUMENT, "input %d is missing, or has no item %d",
                               i, at);
        inputs[i] = onnx_value_retain(is_sequence ? value->items[at] : value);
    }
    return true;
}

static void release_all(onnx_value **values, size_t count)
{
    for (size_t i = 0; values && i < count; i++)
        onnx_value_release(values[i]);
    free(values);
}

static bool map(onnx_call *call, const onnx_graph *graph, int count)
{
    const int outputs = graph->output_count;
    const size_t all = (size_t)outputs * (size_t)count;
    onnx_value **inputs = calloc((size_t)graph->input_count + 1, sizeof *inputs);
    onnx_value **made = calloc((size_t)outputs + 1, sizeof *made);
    onnx_value **items = calloc(all + 1, sizeof *items); /* by output, then by item */
    bool is_good = (inputs && made && items) || no_memory(call);
    for (int i = 0; i < count && is_good; i++) {
        is_good = items_at(call, i, inputs) && onnx_run_graph(call, graph, inputs, made);
        for (int j = 0; j < outputs && is_good; j++) {
            items[j * count + i] = made[j];
            made[j] = NULL;
        }
    }
    for (int j = 0; j < outputs && is_good; j++) {
        onnx_value *sequence = onnx_sequence_of(items + (size_t)j * (size_t)count, count);
        memset(items + (size_t)j * (size_t)count, 0, (size_t)count * sizeof *items);
        is_good = sequence ? onnx_out_value(call, j, sequence) : no_memory(call);
    }
    release_all(inputs, (size_t)graph->input_count);
    release_all(made, (size_t)outputs);
    release_all(items, all);
    return is_good;
}

static bool run_map(onnx_call *call)
{
    onnx_value *sequence = sequence_in(call, 0);
    const onnx_graph *graph = onnx_graph_of(call, "body");
    if (!sequence)
        return false;
    if (!graph || graph->input_count != onnx_in_count(call) ||
        graph->output_count < call->node->output_count)
        return onnx_refuse(call, HK_BAD_DATA, "there is no graph body with inputs as the node's");
    return map(call, graph, sequence->item_count);
}

/* ---- what may not be there ------------------------------------------------------------------- */

static bool run_optional(onnx_call *call)
{
    onnx_value *value = onnx_in_value(call, 0);
    return onnx_out_value(call, 0, value ? onnx_value_retain(value) : onnx_nothing());
}

static bool run_has_element(onnx_call *call)
{
    const onnx_value *value = onnx_in_value(call, 0);
    const bool has = value && value->kind != ONNX_NOTHING;
    return onnx_out(call, 0, onnx_held(call, &has, hk_shape(), HK_BOOL));
}

static bool run_get_element(onnx_call *call)
{
    onnx_value *value = onnx_in_value(call, 0);
    return value && value->kind != ONNX_NOTHING
               ? onnx_out_value(call, 0, onnx_value_retain(value))
               : onnx_refuse(call, HK_INVALID_ARGUMENT, "the optional value is not there");
}

const onnx_row onnx_rows_sequence[] = {
    {"ConcatFromSequence", run_concat, 0},
    {"Optional", run_optional, 0},
    {"OptionalGetElement", run_get_element, 0},
    {"OptionalHasElement", run_has_element, ONNX_BY_SHAPE},
    {"SequenceAt", run_at, 0},
    {"SequenceConstruct", run_construct, 0},
    {"SequenceEmpty", run_empty, 0},
    {"SequenceErase", run_erase, 0},
    {"SequenceInsert", run_insert, 0},
    {"SequenceLength", run_length, ONNX_BY_SHAPE},
    {"SequenceMap", run_map, ONNX_NEW},
    {"SplitToSequence", run_split, 0},
    {NULL, NULL, 0},
};
