/* Values between the devices of one process, with gradients. Each move is a function on the tape, since contributions to a gradient
 * would else be added up in the order of the backward pass. */
#include "base/sum_tree.h"
#include "base/text.h"
#include "split/split.h"

#include <hocket/autograd.h>
#include <hocket/collective.h>
#include <hocket/ops.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- sums ------------------------------------------------------------------------------------------------------------ */

hk_array *hki_sum_on(hk_array *const *xs, int n, hk_device device)
{
    if (n == 1)
        return (hk_to_device)(xs[0], device);
    const int half = (int)hki_sum_half(n);
    hk_array *first = hki_sum_on(xs, half, device);
    hk_array *others = hki_sum_on(xs + half, n - half, hk_array_device(xs[half]));
    return (hk_add)(first, (hk_to_device)(others, device));
}

/* ---- checks ------------------------------------------------------------------------------------------------------------ */

const char *hki_split_check(hk_array *const *xs, int n, char *why, size_t bytes)
{
    *why = '\0';
    if (n < 1 || n > HKI_SPLIT_MAX)
        hki_format(why, bytes, "n is %d, but must be from 1 to %d", n, HKI_SPLIT_MAX);
    else if (!xs)
        hki_format(why, bytes, "the list of arrays is NULL");
    for (int i = 0; !*why && i < n; i++) {
        const hk_status *gone = hki_array_gone(xs[i]);
        if (gone)
            hki_format(why, bytes, "array %d %s", i, xs[i] ? "cannot be used" : "is NULL");
        hk_status_release(gone);
    }
    for (int i = 0; !*why && i < n; i++) {
        char its[224], wanted[224];
        if (xs[i]->failed)
            hki_format(why, bytes, "array %d has failed", i);
        else if (xs[i]->dtype != xs[0]->dtype || !hki_dims_equal(&xs[i]->shape, &xs[0]->shape)) {
            hki_array_describe(xs[i], its, sizeof its);
            hki_array_describe(xs[0], wanted, sizeof wanted);
            hki_format(why, bytes, "array %d is %s, but array 0 is %s; all must be the same", i,
                       its, wanted);
        }
    }
    return *why ? why : NULL;
}

/* Results leave a scope of a function's own, and go to the caller's, if there is one. */
static void take_all(hk_array **out, int count)
{
    for (int i = 0; i < count; i++)
        hk_take(out[i]);
}

static void add_all(hk_array **out, int count)
{
    for (int i = 0; i < count; i++)
        hki_scope_add(out[i]);
}

/* What is refused passes its failure on. */
static void refused_backward(hk_function_call *call)
{
    hk_array *dy = NULL;
    for (int i = 0; i < call->output_count && !dy; i++)
        dy = call->dys[i];
    for (int i = 0; dy && i < call->input_count; i++)
        call->dxs[i] = hk_array_retain(dy);
}

static bool can_be_used(hk_array *x)
{
    const hk_status *gone = hki_array_gone(x);
    hk_status_release(gone);
    return !gone;
}

/* Gradients through the failed results are failed, not left out. */
static void record_refused(const char *operation, hk_array *const *xs, int n, hk_array **out,
                           int out_count)
{
    bool all_can = xs && n >= 1 && n <= HKI_SPLIT_MAX && out_count <= HKI_SPLIT_MAX;
    for (int i = 0; all_can && i < n; i++)
        all_can = can_be_used(xs[i]);
    if (all_can)
        (hk_function)(xs, n, out, out_count,
                      &(hk_function_options){.name = operation, .backward = refused_backward});
}

void hki_split_refuse(const char *operation, hk_array *const *xs, int n, hk_array **out,
                      int out_count, const char *format, ...)
{
    char message[512];
    va_list args;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    hki_device *device = xs && n > 0 && can_be_used(xs[0]) ? xs[0]->storage->device : NULL;
    if (!out || out_count < 1) {
        hki_array_fail_in_place(NULL, operation, xs, xs ? n : 0, HK_INVALID_ARGUMENT, "%s",
                                message);
        return;
    }
    {
        HK_SCOPE;
        out[0] = hki_array_create_failed(device, operation, xs, xs ? n : 0, HK_INVALID_ARGUMENT,
                                         "%s", message);
        for (int i = 1; i < out_count; i++)
            out[i] = hki_array_create_failed(device, operation, out, 1, HK_INVALID_ARGUMENT, "%s",
                                             message);
        record_refused(operation, xs, n, out, out_count);
        take_all(out, out_count);
    }
    add_all(out, out_count);
}

/* ---- a move on the tape --------------------------------------------------------------------------------------------- */

typedef struct move move;
typedef struct move_kind {
    const char *name;
    void (*forward)(const move *self, hk_array *const *xs, hk_array **out);
    /* dys may be NULL, not all of them; gives those dxs that are wanted, of the scope. */
    void (*backward)(const move *self, hk_function_call *call);
} move_kind;

struct move {
    const move_kind *kind;
    int n, axis;
    hk_device home;     /* of the one array, where the other side is several */
    hk_device device[]; /* n */
};

static void backward(hk_function_call *call)
{
    const move *self = call->context;
    bool any = false;
    for (int i = 0; i < call->output_count; i++)
        any = any || call->dys[i];
    if (!any)
        return;
    HK_SCOPE;
    self->kind->backward(self, call);
    for (int i = 0; i < call->input_count; i++)
        if (call->dxs[i])
            hk_take(call->dxs[i]);
}

static move *move_create(const move_kind *kind, int n, int axis)
{
    move *self = calloc(1, sizeof *self + (size_t)n * sizeof *self->device);
    if (self) {
        self->kind = kind;
        self->n = n;
        self->axis = axis;
    }
    return self;
}

/* Of what may be done. self is taken; NULL: no memory. */
static void run(move *self, const char *name, hk_array *const *xs, int count, hk_array **out,
                int out_count)
{
    if (!self) {
        hki_split_refuse(name, xs, count, out, out_count, "out of host memory");
        return;
    }
    {
        HK_SCOPE;
        {
            HK_PAUSE;
            self->kind->forward(self, xs, out);
        }
        (hk_function)(xs, count, out, out_count,
                      &(hk_function_options){
                          .name = name, .backward = backward, .context = self, .release = free});
        take_all(out, out_count);
    }
    add_all(out, out_count);
}

/* Those that are there, *count of them; list has room for all. */
static void find_present(const hk_function_call *call, hk_array **list, int *count)
{
    *count = 0;
    for (int i = 0; i < call->output_count; i++)
        if (call->dys[i])
            list[(*count)++] = call->dys[i];
}

/* ---- one and several ------------------------------------------------------------------------------------------------ */

static void share_forward(const move *self, hk_array *const *xs, hk_array **out)
{
    for (int i = 0; i < self->n; i++)
        out[i] = (hk_to_device)(xs[0], self->device[i]);
}

static void share_backward(const move *self, hk_function_call *call)
{
    hk_array *present[HKI_SPLIT_MAX] = {NULL};
    int count;
    find_present(call, present, &count);
    call->dxs[0] = hki_sum_on(present, count, self->home);
}

static void join_forward(const move *self, hk_array *const *xs, hk_array **out)
{
    out[0] = hki_sum_on(xs, self->n, self->home);
}

static void join_backward(const move *self, hk_function_call *call)
{
    for (int i = 0; i < self->n; i++)
        if (call->wanted[i])
            call->dxs[i] = (hk_to_device)(call->dys[0], self->device[i]);
}

static const move_kind share = {"devices_share", share_forward, share_backward};
static const move_kind join = {"devices_join", join_forward, join_backward};

void(hk_devices_share)(hk_array *x, const hk_device *devices, int n, hk_array **out)
{
    char why[512];
    if (n < 1 || n > HKI_SPLIT_MAX || !devices || !out) {
        hki_split_refuse(share.name, &x, 1, out, n,
                         "n is %d, devices %s and out %s; n must be from 1 to %d, and none missing",
                         n, hki_given(devices), hki_given(out), HKI_SPLIT_MAX);
        return;
    }
    if (hki_split_check(&x, 1, why, sizeof why)) {
        hki_split_refuse(share.name, &x, 1, out, n, "%s", why);
        return;
    }
    move *self = move_create(&share, n, 0);
    if (self) {
        self->home = hk_array_device(x);
        memcpy(self->device, devices, (size_t)n * sizeof *devices);
    }
    run(self, share.name, &x, 1, out, n);
}

/* A move from where xs are. */
static move *move_of_list(const move_kind *kind, hk_array *const *xs, int n, int axis)
{
    move *self = move_create(kind, n, axis);
    for (int i = 0; self && i < n; i++)
        self->device[i] = hk_array_device(xs[i]);
    return self;
}

hk_array *(hk_devices_join)(hk_array *const *parts, int n, hk_device device)
{
    char why[512];
    hk_array *out = NULL;
    if (hki_split_check(parts, n, why, sizeof why)) {
        hki_split_refuse(join.name, parts, n, &out, 1, "%s", why);
        return out;
    }
    move *self = move_of_list(&join, parts, n, 0);
    if (self)
        self->home = device.handle ? device : self->device[0];
    run(self, join.name, parts, n, &out, 1);
    return out;
}

/* ---- several and several ---------------------------------------------------------------------------------------------- */

static void sum_forward(const move *self, hk_array *const *xs, hk_array **out)
{
    for (int i = 0; i < self->n; i++)
        out[i] = (hk_copy)(xs[i]);
    (hk_all_reduce)(out, self->n);
}

/* Where all gradients are there, it is a sum to all again. */
static void sum_backward(const move *self, hk_function_call *call)
{
    hk_array *present[HKI_SPLIT_MAX] = {NULL}, *sums[HKI_SPLIT_MAX];
    int count;
    find_present(call, present, &count);
    if (count == self->n) {
        (hk_devices_sum)(present, count, sums);
    } else {
        sums[0] = hki_sum_on(present, count, hk_array_device(present[0]));
        for (int i = self->n; i-- > 0;)
            sums[i] = (hk_to_device)(sums[0], self->device[i]);
    }
    for (int i = 0; i < self->n; i++)
        if (call->wanted[i])
            call->dxs[i] = sums[i];
}

/* All of a list on one device, one after the other. */
static hk_array *gather_on(const move *self, hk_array *const *xs, hk_device device)
{
    hk_array *moved[HKI_SPLIT_MAX];
    for (int i = 0; i < self->n; i++)
        moved[i] = (hk_to_device)(xs[i], device);
    return (hk_concat)(moved, self->n, self->axis);
}

/* Part `index` of each of a list, added up on the device. */
static hk_array *sum_of_parts(const move *self, hk_array *const *xs, int count, int index,
                              hk_device device)
{
    hk_array *parts[HKI_SPLIT_MAX];
    for (int i = 0; i < count; i++) {
        const int64_t each = hk_dim(xs[i], self->axis) / self->n;
        parts[i] = (hk_slice)(xs[i], self->axis, index * each, (index + 1) * each);
    }
    return hki_sum_on(parts, count, device);
}

static void gather_forward(const move *self, hk_array *const *xs, hk_array **out)
{
    for (int i = 0; i < self->n; i++)
        out[i] = gather_on(self, xs, self->device[i]);
}

static void gather_backward(const move *self, hk_function_call *call)
{
    hk_array *present[HKI_SPLIT_MAX] = {NULL};
    int count;
    find_present(call, present, &count);
    for (int i = 0; i < self->n; i++)
        if (call->wanted[i])
            call->dxs[i] = sum_of_parts(self, present, count, i, self->device[i]);
}

static void scatter_forward(const move *self, hk_array *const *xs, hk_array **out)
{
    for (int i = 0; i < self->n; i++)
        out[i] = sum_of_parts(self, xs, self->n, i, self->device[i]);
}

/* Zeros in the place of gradients that did not come. */
static void scatter_backward(const move *self, hk_function_call *call)
{
    hk_array *present[HKI_SPLIT_MAX] = {NULL}, *all[HKI_SPLIT_MAX];
    int count;
    find_present(call, present, &count);
    for (int i = 0; i < self->n; i++)
        all[i] = call->dys[i] ? call->dys[i]
                              : (hk_to_device)((hk_zeros_like)(present[0]), self->device[i]);
    for (int i = 0; i < self->n; i++)
        if (call->wanted[i])
            call->dxs[i] = gather_on(self, all, self->device[i]);
}

static const move_kind sum = {"devices_sum", sum_forward, sum_backward};
static const move_kind gather = {"devices_all_gather", gather_forward, gather_backward};
static const move_kind scatter = {"devices_reduce_scatter", scatter_forward, scatter_backward};

static void run_list(const move_kind *kind, hk_array *const *xs, int n, int axis, bool is_cut,
                     hk_array **out)
{
    char why[512];
    const bool has_axis = kind != &sum;
    if (!out || hki_split_check(xs, n, why, sizeof why)) {
        hki_split_refuse(kind->name, xs, n, out, n, "%s", out ? why : "out is NULL");
        return;
    }
    const int ndim = xs[0]->shape.ndim, place = axis < 0 ? axis + ndim : axis;
    if (has_axis && (place < 0 || place >= ndim)) {
        hki_split_refuse(kind->name, xs, n, out, n, "axis is %d, but the arrays have %d axes", axis,
                         ndim);
        return;
    }
    if (is_cut && xs[0]->shape.dims[place] % n) {
        hki_split_refuse(kind->name, xs, n, out, n,
                         "axis %d is %" PRId64 "; %d devices must divide it", place,
                         xs[0]->shape.dims[place], n);
        return;
    }
    run(move_of_list(kind, xs, n, place), kind->name, xs, n, out, n);
}

void(hk_devices_sum)(hk_array *const *xs, int n, hk_array **out)
{
    run_list(&sum, xs, n, 0, false, out);
}

void(hk_devices_all_gather)(hk_array *const *xs, int n, int axis, hk_array **out)
{
    run_list(&gather, xs, n, axis, false, out);
}

void(hk_devices_reduce_scatter)(hk_array *const *xs, int n, int axis, hk_array **out)
{
    run_list(&scatter, xs, n, axis, true, out);
}
