/* What slots of a graph hold while its calls are described: a value of all elements, in the order
 * of memory, and values of parts that were written since. */
#include "model/export.h"

#include <hocket/autograd.h>
#include <hocket/call.h>
#include <hocket/ops.h>

#include <stdlib.h>
#include <string.h>

typedef struct piece {
    int value;
    hki_tensor place;
} piece;

/* A view that has been made already. */
typedef struct seen {
    int slot, value;
    bool narrow;
    hki_tensor tensor;
} seen;

/* A constant: elements of an array from before, as they lie, without gaps. */
typedef struct kept {
    int slot, value;
    hki_tensor tensor;
} kept;

typedef struct content {
    int whole;           /* -1: nothing yet */
    bool is_read_before; /* as it was before the graph */
    piece *pieces;
    int piece_count, piece_capacity;
    bool is_joined; /* the whole is these pieces, side by side */
} content;

struct hki_export_slots {
    hki_export *out;
    const hk_graph *graph;
    hk_array *const *given;
    hki_export_names names;
    content *contents;
    seen *views;
    kept *constants;
    int view_count, view_capacity, constant_count, constant_capacity;
};

hki_export_slots *hki_export_slots_create(hki_export *self, const hk_graph *graph,
                                          hk_array *const *given, hki_export_names names)
{
    hki_export_slots *slots = hki_export_allocate(self, sizeof *slots);
    if (!slots)
        return NULL;
    *slots = (hki_export_slots){.out = self, .graph = graph, .given = given, .names = names};
    slots->contents =
        hki_export_allocate(self, ((size_t)graph->slot_count + 1) * sizeof *slots->contents);
    for (int i = 0; slots->contents && i < graph->slot_count; i++)
        slots->contents[i].whole = -1;
    return slots->contents ? slots : NULL;
}

/* The list with room for one more. NULL after failing. */
static void *with_room(hki_export *self, void *list, int count, int *capacity, size_t bytes)
{
    if (count < *capacity)
        return list;
    const int more = *capacity ? 2 * *capacity : 16;
    void *longer = hki_export_allocate(self, (size_t)more * bytes);
    if (!longer)
        return NULL;
    if (count)
        memcpy(longer, list, (size_t)count * bytes);
    *capacity = more;
    return longer;
}

static bool shows_same(const hki_tensor *a, const hki_tensor *b)
{
    bool same = a->offset == b->offset && a->ndim == b->ndim && a->dtype == b->dtype;
    for (int i = 0; same && i < a->ndim; i++)
        same = a->dims[i] == b->dims[i] && (a->dims[i] == 1 || a->strides[i] == b->strides[i]);
    return same;
}

static hk_dims shape_of(const hki_tensor *tensor)
{
    hk_dims shape = {.ndim = tensor->ndim};
    memcpy(shape.dims, tensor->dims, sizeof shape.dims);
    return shape;
}

/* Elements of the slot's memory. */
static int64_t size_of_slot(const hki_export_slots *self, int slot, hk_dtype dtype)
{
    const hki_slot *its = &self->graph->slots[slot];
    int64_t size = (int64_t)(its->bytes / hk_dtype_bytes(dtype));
    if (its->kind == HKI_SLOT_BOUND)
        hki_dims_size(&self->graph->bound[its->bound].shape, &size);
    return size;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* The name of an array that has just these elements. */
static const char *name_of(const hki_export_slots *self, const hki_storage *storage,
                           const hki_tensor *base)
{
    for (int i = 0; i < self->names.count; i++) {
        const hk_array *x = self->names.arrays[i];
        if (x && x->storage == storage && x->offset == base->offset && x->size == base->size)
            return self->names.names[i];
    }
    return NULL;
}

/* Whether they lie without gaps: then axes by their steps, without those along which one is
 * repeated. Otherwise, what the tensor shows without repeating. */
static bool find_base(const hki_tensor *tensor, hki_tensor *base)
{
    int axes[HK_MAX_NDIM];
    int64_t step = 1;
    bool is_dense = true;
    *base = *tensor;
    base->ndim = hki_export_sort_axes(tensor, axes);
    for (int i = base->ndim - 1; i >= 0; i--) {
        base->dims[i] = tensor->dims[axes[i]];
        base->strides[i] = tensor->strides[axes[i]];
        is_dense = is_dense && base->strides[i] == step;
        step *= base->dims[i];
    }
    base->size = step;
    if (is_dense)
        return true;
    *base = *tensor;
    base->size = step;
    for (int i = 0; i < base->ndim; i++)
        base->dims[i] = tensor->strides[i] ? tensor->dims[i] : 1;
    return false;
}

static int add_constant(hki_export_slots *self, hki_storage *storage, const hki_tensor *base)
{
    const char *name = name_of(self, storage, base);
    hki_tensor tensor = *base;
    tensor.storage = storage;
    tensor.is_contiguous = false;
    HK_SCOPE;
    hk_array *x = hki_array_of(&tensor);
    if (!x)
        return hki_export_no_memory(self->out) - 1;
    const int value = hki_export_add_constant(self->out, hki_scope_add(x));
    if (value >= 0)
        self->out->values[value].name = name;
    return value;
}

/* Part of an array from before. tensor: its offset is from the storage's begin. */
static int read_constant(hki_export_slots *self, int slot, hki_storage *storage,
                         const hki_tensor *tensor, bool narrow)
{
    hki_tensor base, shows = *tensor;
    const bool is_dense = find_base(tensor, &base);
    int value = -1;
    for (int i = 0; i < self->constant_count && value < 0; i++)
        if (self->constants[i].slot == slot && shows_same(&self->constants[i].tensor, &base))
            value = self->constants[i].value;
    if (value < 0) {
        kept *list = with_room(self->out, self->constants, self->constant_count,
                               &self->constant_capacity, sizeof *list);
        if (!list || (value = add_constant(self, storage, &base)) < 0)
            return -1;
        self->constants = list;
        list[self->constant_count++] = (kept){slot, value, base};
    }
    shows.offset = 0;
    int64_t step = 1;
    for (int i = shows.ndim - 1; i >= 0 && !is_dense; i--) {
        shows.strides[i] = shows.strides[i] ? step : 0;
        step *= base.dims[i];
    }
    return hki_export_view(self->out, value, &shows, narrow);
}

bool hki_export_is_from_before(const hki_export *self, int value)
{
    return value >= 0 && self->values[value].constant != NULL;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Whether the pieces, in the order of memory, lie one behind the other along the axis, and are
 * all. */
static bool follow(const content *its, int axis, int64_t size, hk_dims *whole)
{
    const hki_tensor *first = &its->pieces[0].place;
    int64_t strides[HK_MAX_NDIM], total = 0, all, at;
    if (first->offset)
        return false;
    *whole = shape_of(first);
    for (int i = 0; i < its->piece_count; i++) {
        const hki_tensor *each = &its->pieces[i].place;
        if (each->ndim != first->ndim)
            return false;
        for (int j = 0; j < first->ndim; j++)
            if (j != axis && each->dims[j] != first->dims[j])
                return false;
        total += each->dims[axis];
    }
    whole->dims[axis] = total;
    hki_dims_size(whole, &all);
    if (all != size)
        return false;
    hki_dims_strides(whole, strides);
    at = 0;
    for (int i = 0; i < its->piece_count; i++) {
        const hki_tensor *each = &its->pieces[i].place;
        if (each->offset != at)
            return false;
        for (int j = 0; j < each->ndim; j++)
            if (each->dims[j] > 1 && each->strides[j] != strides[j])
                return false;
        at += each->dims[axis] * strides[axis];
    }
    return true;
}

static int by_offset(const void *a, const void *b)
{
    const int64_t x = ((const piece *)a)->place.offset, y = ((const piece *)b)->place.offset;
    return (x > y) - (x < y);
}

static int join(hki_export_slots *self, content *its, int axis, hk_dims shape)
{
    const hk_dtype dtype = its->pieces[0].place.dtype;
    hk_export_node *node = hki_export_add_node(self->out, "concat", its->piece_count, 1, 1);
    if (!node)
        return -1;
    for (int i = 0; i < its->piece_count; i++)
        ((int *)node->inputs)[i] = its->pieces[i].value;
    *(hk_export_option *)node->options =
        (hk_export_option){.name = "axis", .count = 1, .ints = {axis}};
    const int value = hki_export_add_value(self->out, dtype, shape);
    ((int *)node->outputs)[0] = value;
    return value;
}

/* Zeros, where parts are to be put. */
static int blank(hki_export_slots *self, int64_t size, hk_dtype dtype)
{
    HK_SCOPE;
    return hki_export_add_constant(self->out,
                                   (hk_zeros)(hk_shape(size), dtype, hk_device_named("cpu:0")));
}

/* All elements, with the piece in its place. */
static int put(hki_export_slots *self, int whole, const piece *part)
{
    hki_export *out = self->out;
    int64_t size = 1, place = part->place.offset, at[HK_MAX_NDIM] = {0};
    hk_dims flat = {.ndim = 1};
    for (int i = 0; i < part->place.ndim; i++)
        size *= part->place.dims[i];
    hki_dims_size(&out->values[whole].shape, &flat.dims[0]);
    int64_t *places = calloc((size_t)size + 1, sizeof *places);
    if (!places)
        return hki_export_no_memory(out) - 1;
    for (int64_t i = 0; i < size; i++) {
        places[i] = place;
        for (int axis = part->place.ndim - 1; axis >= 0; axis--) {
            place += part->place.strides[axis];
            if (++at[axis] < part->place.dims[axis])
                break;
            place -= part->place.strides[axis] * at[axis];
            at[axis] = 0;
        }
    }
    HK_SCOPE;
    const int indices = hki_export_add_constant(
        out, (hk_from_host)(places, hk_shape(size), HK_I64, hk_device_named("cpu:0")));
    free(places);
    const int from = hki_export_reshape(out, whole, flat);
    const int with = hki_export_reshape(out, part->value, hk_shape(size));
    hk_export_node *node =
        from < 0 || with < 0 || indices < 0 ? NULL : hki_export_add_node(out, "scatter", 3, 1, 1);
    if (!node)
        return -1;
    const int value = hki_export_add_value(out, out->values[from].dtype, flat);
    const int inputs[] = {from, indices, with};
    memcpy((int *)node->inputs, inputs, sizeof inputs);
    *(hk_export_option *)node->options = (hk_export_option){.name = "axis", .count = 1};
    ((int *)node->outputs)[0] = value;
    return value;
}

/* Along which axis all pieces, which are sorted, lie one behind the other; -1: they do not. */
static int find_axis(content *its, int64_t size, hk_dims *shape)
{
    qsort(its->pieces, (size_t)its->piece_count, sizeof *its->pieces, by_offset);
    for (int axis = 0; axis < its->pieces[0].place.ndim; axis++)
        if (follow(its, axis, size, shape))
            return axis;
    return -1;
}

/* A copy, which may be sorted. False after failing. */
static bool copy_pieces(hki_export *out, const content *from, content *to)
{
    *to = (content){.whole = -1, .piece_count = from->piece_count};
    to->pieces = hki_export_allocate(out, (size_t)from->piece_count * sizeof *to->pieces);
    if (to->pieces)
        memcpy(to->pieces, from->pieces, (size_t)from->piece_count * sizeof *to->pieces);
    return to->pieces != NULL;
}

/* The pieces become part of the whole. */
static bool merge(hki_export_slots *self, int slot)
{
    content *its = &self->contents[slot], sorted;
    if (!its->piece_count || its->is_joined)
        return its->whole >= 0 || !self->out->failure;
    const hk_dtype dtype = its->pieces[0].place.dtype;
    const int64_t size = size_of_slot(self, slot, dtype);
    hk_dims shape;
    if (!copy_pieces(self->out, its, &sorted))
        return false;
    const int axis = its->whole < 0 ? find_axis(&sorted, size, &shape) : -1;
    if (axis >= 0) {
        its->whole = join(self, &sorted, axis, shape);
        its->is_joined = true;
        return its->whole >= 0;
    }
    if (its->whole < 0)
        its->whole = blank(self, size, dtype);
    for (int i = 0; i < its->piece_count && its->whole >= 0; i++)
        its->whole = put(self, its->whole, &its->pieces[i]);
    its->piece_count = 0;
    return its->whole >= 0;
}

/* Whether the tensor shows elements of the piece alone: then *shows is the same of its value. */
static bool is_within(const piece *part, const hki_tensor *tensor, hki_tensor *shows)
{
    const hki_tensor *place = &part->place;
    int64_t rest = tensor->offset - place->offset, begin[HK_MAX_NDIM], steps[HK_MAX_NDIM];
    int axes[HK_MAX_NDIM];
    bool is_used[HK_MAX_NDIM] = {false};
    const int count = hki_export_sort_axes(place, axes);
    hk_dims shape = shape_of(place);
    hki_dims_strides(&shape, steps);
    *shows = *tensor;
    shows->offset = 0;
    if (rest < 0)
        return false;
    for (int i = 0; i < count; i++) {
        begin[i] = rest / place->strides[axes[i]];
        rest %= place->strides[axes[i]];
        shows->offset += begin[i] * steps[axes[i]];
        if (begin[i] >= place->dims[axes[i]])
            return false;
    }
    for (int i = 0; i < tensor->ndim; i++) {
        int at = 0;
        if (tensor->dims[i] == 1 || !tensor->strides[i])
            continue;
        while (at < count && (is_used[at] || place->strides[axes[at]] != tensor->strides[i]))
            at++;
        if (at == count || begin[at] + tensor->dims[i] > place->dims[axes[at]])
            return false;
        is_used[at] = true;
        shows->strides[i] = steps[axes[at]];
    }
    return rest == 0;
}

/* The value that a tensor shows of one of the pieces, where these are side by side; -1: it does
 * not. */
static int read_piece(hki_export_slots *self, int slot, const hki_tensor *tensor, bool narrow)
{
    content *its = &self->contents[slot], sorted;
    hk_dims shape;
    hki_tensor shows;
    if (!its->piece_count || (its->whole >= 0 && !its->is_joined) ||
        !copy_pieces(self->out, its, &sorted) ||
        find_axis(&sorted, size_of_slot(self, slot, tensor->dtype), &shape) < 0)
        return -1;
    for (int i = 0; i < its->piece_count; i++)
        if (is_within(&its->pieces[i], tensor, &shows))
            return hki_export_view(self->out, its->pieces[i].value, &shows, narrow);
    return -1;
}

/* ---- reading and writing --------------------------------------------------------------------- */

static int read_bound(hki_export_slots *self, int slot)
{
    content *its = &self->contents[slot];
    const int bound = self->graph->slots[slot].bound;
    const struct hki_bound *array = &self->graph->bound[bound];
    int64_t strides[HK_MAX_NDIM];
    hki_dims_strides(&array->shape, strides);
    for (int i = 0; i < array->shape.ndim; i++)
        if (array->shape.dims[i] > 1 && array->strides[i] != strides[i])
            return hki_export_fail(self->out, HK_UNSUPPORTED, "bound array %d is not contiguous",
                                   bound) -
                   1;
    its->is_read_before = true;
    return its->whole = hki_export_add_value(self->out, array->dtype, array->shape);
}

int hki_export_read(hki_export_slots *self, int slot, const hki_tensor *tensor, bool narrow)
{
    content *its = &self->contents[slot];
    const hki_slot *of = &self->graph->slots[slot];
    if (self->out->failure)
        return -1;
    for (int i = 0; i < self->view_count; i++)
        if (self->views[i].slot == slot && self->views[i].narrow == narrow &&
            shows_same(&self->views[i].tensor, tensor))
            return self->views[i].value;
    if (its->piece_count && shows_same(&its->pieces[its->piece_count - 1].place, tensor))
        return its->pieces[its->piece_count - 1].value;
    int value = -1;
    if (its->whole < 0 && !its->piece_count && of->kind == HKI_SLOT_EXTERNAL) {
        its->is_read_before = true;
        value = read_constant(self, slot, of->storage, tensor, narrow);
    } else {
        value = read_piece(self, slot, tensor, narrow);
        if (value < 0 && !merge(self, slot))
            return -1;
        if (value < 0 && its->whole < 0 && of->kind == HKI_SLOT_BOUND)
            read_bound(self, slot);
        if (value < 0 && its->whole < 0)
            return hki_export_fail(self->out, HK_UNSUPPORTED, "it reads what nothing has written") -
                   1;
        if (value < 0)
            value = hki_export_view(self->out, its->whole, tensor, narrow);
    }
    seen *list = value < 0 ? NULL
                           : with_room(self->out, self->views, self->view_count,
                                       &self->view_capacity, sizeof *list);
    if (!list)
        return -1;
    self->views = list;
    list[self->view_count++] = (seen){slot, value, narrow, *tensor};
    return value;
}

/* The value in the order of memory, where the tensor fills it; -1: it does not, or after
 * failing. */
static int in_memory_order(hki_export *out, const hki_tensor *tensor, int value)
{
    int axes[HK_MAX_NDIM];
    int64_t order[HK_MAX_NDIM];
    hki_tensor base;
    hk_dims single = {.ndim = 0}, shape = {.ndim = hki_export_sort_axes(tensor, axes)};
    bool is_plain = true;
    if (!find_base(tensor, &base) || base.size != tensor->size)
        return -1;
    for (int i = 0; i < tensor->ndim; i++)
        if (tensor->dims[i] != 1)
            single.dims[single.ndim++] = tensor->dims[i];
    for (int i = 0; i < shape.ndim; i++) {
        order[i] = 0;
        for (int j = 0; j < axes[i]; j++)
            order[i] += tensor->dims[j] != 1;
        is_plain = is_plain && order[i] == i;
        shape.dims[i] = tensor->dims[axes[i]];
    }
    return is_plain
               ? value
               : hki_export_add_unary(out, "permute_dims", hki_export_reshape(out, value, single),
                                      shape, "axes", order, shape.ndim);
}

bool hki_export_write(hki_export_slots *self, int slot, const hki_tensor *tensor, int value)
{
    content *its = &self->contents[slot];
    int count = 0;
    if (value < 0)
        return false;
    if (its->is_read_before)
        return hki_export_fail(self->out, HK_UNSUPPORTED,
                               "it writes an array that was there before the calls");
    for (int i = 0; i < self->view_count; i++)
        if (self->views[i].slot != slot)
            self->views[count++] = self->views[i];
    self->view_count = count;
    if (tensor->size == size_of_slot(self, slot, tensor->dtype) && tensor->offset == 0) {
        const int whole = in_memory_order(self->out, tensor, value);
        if (whole >= 0) {
            its->whole = whole;
            its->piece_count = 0;
            its->is_joined = false;
            return true;
        }
    }
    piece *list =
        with_room(self->out, its->pieces, its->piece_count, &its->piece_capacity, sizeof *list);
    if (!list)
        return false;
    self->contents[slot].pieces = list;
    list[its->piece_count++] = (piece){value, *tensor};
    return !self->out->failure;
}

int hki_export_read_array(hki_export_slots *self, hk_array *x)
{
    const hk_graph *graph = self->graph;
    hki_tensor tensor;
    hki_tensor_init(&tensor, x);
    for (int i = 0; self->given && i < graph->bound_count; i++)
        if (self->given[i]->storage == x->storage) {
            tensor.offset -= self->given[i]->offset;
            return hki_export_read(self, graph->bound[i].slot, &tensor, false);
        }
    for (int i = 0; i < graph->slot_count; i++)
        if (graph->slots[i].kind == HKI_SLOT_EXTERNAL && graph->slots[i].storage == x->storage)
            return hki_export_read(self, i, &tensor, false);
    return read_constant(self, -1, x->storage, &tensor, false);
}
