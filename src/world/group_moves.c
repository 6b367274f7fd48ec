/* What gives new arrays: sums, gathered and scattered slices, messages between two ranks. */
#include "base/sum_tree.h"
#include "world/group.h"
#include "world/route.h"

#include <hocket/autograd.h>
#include <hocket/call.h>
#include <hocket/ops.h>
#include <inttypes.h>
#include <stdlib.h>

typedef hk_array *(*move_fn)(hk_group *group, hk_array *x);

/* ---- gradients --------------------------------------------------------------------------------------------------- */

typedef struct receiving {
    hki_device *on;
    hk_dims shape;
    hk_dtype dtype;
} receiving;

/* How a gradient goes back. */
typedef struct reverse {
    hk_group *group;
    move_fn move;   /* of a collective; else */
    int peer;       /* to this rank, or from it: */
    receiving what; /* what was sent there */
} reverse;

static void move_back(hk_function_call *call)
{
    const reverse *self = call->context;
    if (call->dys[0])
        call->dxs[0] = hk_take(self->move(self->group, call->dys[0]));
}

/* y, made from x off the tape, on it. */
static hk_array *record(hk_array *x, hk_array *y, const char *operation, const reverse *how,
                        void (*backward)(hk_function_call *call))
{
    reverse *own = malloc(sizeof *own);
    if (!own)
        return hki_array_create_failed(x->storage->device, operation, &x, 1, HK_OUT_OF_MEMORY,
                                       "out of host memory");
    *own = *how;
    (hk_function)(&x, 1, &y, 1,
                  &(hk_function_options){
                      .name = operation, .backward = backward, .context = own, .release = free});
    return y;
}

/* ---- checks ------------------------------------------------------------------------------------------------------- */

/* Of what is cut along axis 0, a slice for each rank. */
static bool check_slices(const hki_group_work *work, const hk_array *x, hk_array **refused)
{
    const int size = work->group->size;
    if (x->shape.ndim > 0 && x->shape.dims[0] % size == 0)
        return true;
    *refused = x->shape.ndim == 0
                   ? hki_group_refuse(work, false, HK_INVALID_ARGUMENT,
                                      "x has no axes; the first one is what is cut")
                   : hki_group_refuse(work, false, HK_INVALID_ARGUMENT,
                                      "axis 0 of x is %" PRId64 "; %d ranks must divide it",
                                      x->shape.dims[0], size);
    return false;
}

static bool check(const hki_group_work *work, hk_array **refused)
{
    hk_array *x = work->count ? work->arrays[0] : NULL;
    const hk_status *useless = hki_group_check(work->group);
    const hki_world_operation operation = work->operation;
    char why[128];
    if (useless)
        *refused = hki_group_refuse(work, false, hk_status_code(useless), "%s",
                                    hk_status_message(useless));
    else if (work->count && !hki_group_may_read(x, why, sizeof why))
        *refused = hki_group_refuse(work, false, HK_INVALID_ARGUMENT, "x %s", why);
    hk_status_release(useless);
    if (*refused)
        return false;
    if (operation == HKI_WORLD_REDUCE_SCATTER &&
        (x->dtype == HK_BOOL || hki_dtype_is_half(x->dtype)))
        *refused =
            hki_group_refuse(work, false, HK_UNSUPPORTED, "%s arrays have no sum; hk_cast converts",
                             hk_dtype_name(x->dtype));
    else if (operation == HKI_WORLD_ALL_GATHER && x->shape.ndim == 0)
        *refused = hki_group_refuse(work, false, HK_INVALID_ARGUMENT,
                                    "x has no axes; it is put together along the first one");
    else if (work->count && work->peer < 0 &&
             hki_group_misses_direct(work->group, work->arrays, 1, 1,
                                     operation == HKI_WORLD_REDUCE_SCATTER))
        *refused = hki_group_refuse(work, false, HK_UNSUPPORTED,
                                    "complex numbers of several ranks are added on the host; "
                                    "HOCKET_WORLD_ROUTE is direct");
    else if (operation == HKI_WORLD_REDUCE_SCATTER || operation == HKI_WORLD_ALL_TO_ALL)
        return check_slices(work, x, refused);
    return !*refused;
}

/* Programs that are captured are of one rank. */
static void refuse_capture(const char *operation)
{
    hki_array_uncapturable(operation, "it exchanges data with other ranks; hk_group_all_reduce and "
                                      "hk_group_broadcast can be captured");
}

/* ---- one exchange -------------------------------------------------------------------------------------------------- */

/* parts: one for each rank to, one for each from, at most. */
typedef struct moving {
    const hki_group_work *work;
    hk_array *x, *y;          /* in reach of one device; y is written; each may be NULL */
    bool is_old;              /* y was there before: what it held stands if nothing comes */
    hk_array *source, *token; /* an int32 that is copied with it; NULL: none */
    hki_exchange_part *parts;
    int part_count;
} moving;

static bool issue(moving *self, hk_dtype dtype, hk_dims shape)
{
    hki_group_operand operands[4];
    int count = 0;
    if (self->x)
        operands[count++] =
            (hki_group_operand){.x = self->x, .end = self->x->size, .mode = HKI_READ};
    if (self->y)
        operands[count++] = (hki_group_operand){.x = self->y,
                                                .end = self->y->size,
                                                .mode = HKI_WRITE | HKI_HEAL |
                                                        (self->is_old ? 0u : (unsigned)HKI_FRESH)};
    if (self->token) {
        self->parts[self->part_count++] =
            (hki_exchange_part){count, count + 1, 0, 0, 1, self->work->group->rank};
        operands[count++] = (hki_group_operand){.x = self->source, .end = 1, .mode = HKI_READ};
        operands[count++] = (hki_group_operand){
            .x = self->token, .end = 1, .mode = HKI_WRITE | HKI_HEAL | HKI_FRESH};
    }
    hki_group_call *call = hki_group_call_begin(self->work->group);
    if (!call)
        return false;
    hki_group_call_add_shape(call, &shape, dtype);
    const hki_exchange_plan plan = {.call = call,
                                    .operation = self->work->operation,
                                    .peer = self->work->peer,
                                    .arrays = 1,
                                    .dtype = dtype,
                                    .shape = shape,
                                    .operands = operands,
                                    .operand_count = count,
                                    .parts = self->parts,
                                    .part_count = self->part_count,
                                    .device = hki_group_device(self->x   ? self->x
                                                               : self->y ? self->y
                                                                         : self->token)};
    const bool is_issued = hki_exchange_issue(&plan);
    hki_group_call_end(call);
    return is_issued;
}

static bool parts_create(moving *self)
{
    self->parts = calloc((size_t)self->work->group->size * 2 + 1, sizeof *self->parts);
    return self->parts;
}

/* Slice r of x, `size` elements, goes to rank r, or x whole; what comes from it is slice r of y. */
static void cut(moving *self, int64_t size, bool is_whole)
{
    const hk_group *group = self->work->group;
    for (int r = 0; r < group->size; r++) {
        const int64_t from = is_whole ? 0 : r * size;
        if (r == group->rank) {
            self->parts[self->part_count++] = (hki_exchange_part){0, 1, from, r * size, size, r};
            continue;
        }
        self->parts[self->part_count++] = (hki_exchange_part){0, -1, from, 0, size, r};
        self->parts[self->part_count++] = (hki_exchange_part){-1, 1, 0, r * size, size, r};
    }
}

static hk_array *no_memory(const hki_group_work *work, hk_array *x)
{
    return hki_array_create_failed(x ? x->storage->device : NULL,
                                   hki_world_operation_name(work->operation), &x, x != NULL,
                                   HK_OUT_OF_MEMORY, "out of host memory");
}

/* y on x's device. */
static hk_array *as_x(hk_array *y, const hk_array *x)
{
    hki_device *device = x->storage->device;
    return hki_device_is_host(device) || device == y->storage->device
               ? y
               : (hk_to_device)(y, (hk_device){device});
}

static hki_device *place_of(const hki_group_work *work, hk_array *x)
{
    return hki_group_place(work->group, &x, 1, 1, work->operation == HKI_WORLD_REDUCE_SCATTER);
}

/* x and what comes of it, where every rank gives and gets a slice for each. shape: of the result. */
static hk_array *exchange(const hki_group_work *work, hk_array *x, hk_dims shape, bool is_whole)
{
    const char *operation = hki_world_operation_name(work->operation);
    moving self = {.work = work};
    hki_device *place = place_of(work, x);
    self.x = hki_group_at(place, x, operation);
    self.y = hki_array_create(place, shape, x->dtype);
    hk_array *y = self.y;
    if (self.x->failed || self.y->failed || !parts_create(&self))
        y = no_memory(work, x);
    else {
        cut(&self, is_whole ? x->size : x->size / work->group->size, is_whole);
        if (!issue(&self, x->dtype, x->shape))
            y = no_memory(work, x);
    }
    free(self.parts);
    return y;
}

/* What is done off the tape, in a scope of its own for what comes on the way; given: what else it is told. */
typedef hk_array *(*within_fn)(const hki_group_work *work, hk_array *x, const void *given);
static hk_array *done_within(within_fn within, const hki_group_work *work, hk_array *x,
                             const void *given)
{
    hk_array *y;
    {
        HK_SCOPE;
        HK_PAUSE;
        y = hk_take(within(work, x, given));
    }
    return hki_scope_add(y);
}

/* ---- collectives ----------------------------------------------------------------------------------------------------- */

static hk_array *sum_off_tape(hk_group *group, hk_array *x)
{
    HK_PAUSE;
    hk_array *y = (hk_copy)(x);
    (hk_group_all_reduce)(group, &y, 1, 1, 0);
    return y;
}

hk_array *(hk_group_sum)(hk_group *group, hk_array *x)
{
    const char *operation = hki_world_operation_name(HKI_WORLD_REDUCE);
    const reverse how = {.group = group, .move = (hk_group_sum)};
    return record(x, sum_off_tape(group, x), operation, &how, move_back);
}

static hk_array *gather_within(const hki_group_work *work, hk_array *x, const void *given)
{
    hk_dims shape = x->shape;
    (void)given;
    shape.dims[0] *= work->group->size;
    return as_x(exchange(work, x, shape, true), x);
}

hk_array *(hk_group_all_gather)(hk_group *group, hk_array *x)
{
    const hki_group_work work = {group, HKI_WORLD_ALL_GATHER, &x, 1, -1};
    const char *operation = hki_world_operation_name(work.operation);
    hk_array *refused = NULL;
    refuse_capture(operation);
    if (!check(&work, &refused))
        return refused;
    const reverse how = {.group = group, .move = (hk_group_reduce_scatter)};
    return record(x, done_within(gather_within, &work, x, NULL), operation, &how, move_back);
}

static hk_array *swap_within(const hki_group_work *work, hk_array *x, const void *given)
{
    (void)given;
    return as_x(exchange(work, x, x->shape, false), x);
}

hk_array *(hk_group_all_to_all)(hk_group *group, hk_array *x)
{
    const hki_group_work work = {group, HKI_WORLD_ALL_TO_ALL, &x, 1, -1};
    const char *operation = hki_world_operation_name(work.operation);
    hk_array *refused = NULL;
    refuse_capture(operation);
    if (!check(&work, &refused))
        return refused;
    const reverse how = {.group = group, .move = (hk_group_all_to_all)};
    return record(x, done_within(swap_within, &work, x, NULL), operation, &how, move_back);
}

/* The slices of all ranks, one row each, and their sum in the order of ranks. */
static hk_array *scatter_within(const hki_group_work *work, hk_array *x, const void *given)
{
    (void)given;
    const int size = work->group->size;
    const char *operation = hki_world_operation_name(work->operation);
    hk_array *rows = exchange(work, x, x->shape, false);
    hki_device *place = rows->storage->device;
    hk_dims shape = x->shape;
    shape.dims[0] /= size;
    hk_array *y = hki_array_create(place, shape, x->dtype);
    hk_array **inputs = calloc((size_t)size, sizeof(hk_array *));
    hki_sum_leaf *leaves = NULL;
    const int count = hki_sum_leaves(size, 1, &leaves);
    if (rows->failed || y->failed || !inputs || !count) {
        y = rows->failed ? rows : no_memory(work, x);
    } else {
        const int64_t each = y->size;
        for (int r = 0; r < size; r++)
            inputs[r] = hki_array_view(rows, hk_shape(each), (int64_t[]){1}, r * each);
        hki_sum_leaves_issue(place, operation, leaves, count, 1, inputs, y, each);
    }
    free(inputs);
    free(leaves);
    return as_x(y, x);
}

hk_array *(hk_group_reduce_scatter)(hk_group *group, hk_array *x)
{
    const hki_group_work work = {group, HKI_WORLD_REDUCE_SCATTER, &x, 1, -1};
    const char *operation = hki_world_operation_name(work.operation);
    hk_array *refused = NULL;
    refuse_capture(operation);
    if (!check(&work, &refused))
        return refused;
    const reverse how = {.group = group, .move = (hk_group_all_gather)};
    return record(x, done_within(scatter_within, &work, x, NULL), operation, &how, move_back);
}

/* ---- two ranks ------------------------------------------------------------------------------------------------------ */

/* Another rank of the group. */
static bool check_peer(hki_group_work *work, int peer, const char *role, hk_array **refused)
{
    if (!check(work, refused))
        return false;
    const hk_group *group = work->group;
    if (peer >= 0 && peer < group->size && peer != group->rank)
        return true;
    work->peer = -1;
    *refused = hki_array_create_failed(
        work->count ? work->arrays[0]->storage->device : NULL,
        hki_world_operation_name(work->operation), work->arrays, work->count, HK_OUT_OF_RANGE,
        "%s is %d; expected another one of the ranks 0 to %d", role, peer, group->size - 1);
    return false;
}

/* An int32 of this value comes when the exchange has ended. False: no memory. */
static bool add_token(moving *self, hki_device *device, int value)
{
    self->source = (hk_full)(hk_shape(), value, HK_I32, (hk_device){device});
    self->token = hki_array_create(device, hk_shape(), HK_I32);
    return !self->source->failed && !self->token->failed;
}

static hk_array *send_within(const hki_group_work *work, hk_array *x, const void *given)
{
    (void)given;
    moving self = {.work = work, .x = hki_group_at(hki_group_device(x), x, "group_send")};
    hki_exchange_part parts[2] = {{0, -1, 0, 0, x->size, work->peer}};
    self.parts = parts;
    self.part_count = 1;
    if (self.x->failed || !add_token(&self, hki_group_device(x), 1) ||
        !issue(&self, x->dtype, x->shape))
        return no_memory(work, x);
    return self.token;
}

static void receive_gradient(hk_function_call *call)
{
    const reverse *self = call->context;
    call->dxs[0] = hk_take((hk_group_receive)(self->group, self->what.shape, self->what.dtype,
                                              (hk_device){self->what.on}, self->peer));
}

static void send_gradient(hk_function_call *call)
{
    const reverse *self = call->context;
    if (call->dys[0])
        (hk_group_send)(self->group, call->dys[0], self->peer);
}

/* A zero that is there when x has been sent, through which a backward pass gets to x. */
static hk_array *record_sent(const hki_group_work *work, hk_array *x, hk_array *sent)
{
    const reverse how = {
        .group = work->group, .peer = work->peer, .what = {x->storage->device, x->shape, x->dtype}};
    hk_array *zero;
    {
        HK_PAUSE;
        zero = as_x((hk_cast)((hk_subtract)(sent, sent), x->dtype), x);
    }
    return record(x, zero, "group_send", &how, receive_gradient);
}

/* y behind an attached array of nothing, for there has to be one that wants a gradient. */
static hk_array *record_received(const hki_group_work *work, hk_array *y)
{
    const reverse how = {.group = work->group, .peer = work->peer};
    hk_array *start = hki_array_create(y->storage->device, hk_shape(0), HK_F32);
    (hk_attach_grad)(start, HK_GRAD_WRITE);
    return record(start, y, "group_receive", &how, send_gradient);
}

hk_array *(hk_group_send)(hk_group *group, hk_array *x, int to)
{
    hki_group_work work = {group, HKI_WORLD_SEND, &x, 1, to};
    hk_array *refused = NULL;
    refuse_capture("group_send");
    if (!check_peer(&work, to, "to", &refused))
        return refused;
    hk_array *sent = done_within(send_within, &work, x, NULL);
    return hk_is_recording() && hk_wants_grad(x) ? record_sent(&work, x, sent) : sent;
}

void hki_group_send_off_tape(hk_group *group, hk_array *x, int to)
{
    HK_SCOPE;
    HK_PAUSE;
    (hk_group_send)(group, x, to);
}

void hki_group_receive_into(hk_group *group, hk_array *x, int from)
{
    HK_SCOPE;
    HK_PAUSE;
    if (!hki_device_is_host(x->storage->device)) {
        (hk_assign)(x, (hk_group_receive)(group, x->shape, x->dtype,
                                          (hk_device){x->storage->device}, from));
        return;
    }
    const hki_group_work work = {group, HKI_WORLD_RECEIVE, NULL, 0, from};
    hki_exchange_part part = {-1, 0, 0, 0, x->size, from};
    moving self = {.work = &work, .y = x, .is_old = true, .parts = &part, .part_count = 1};
    refuse_capture("group_receive");
    if (!issue(&self, x->dtype, x->shape))
        hki_array_fail_in_place(x, "group_receive", NULL, 0, HK_OUT_OF_MEMORY,
                                "out of host memory");
}

static hk_array *receive_within(const hki_group_work *work, hk_array *x, const void *given)
{
    const receiving *what = given;
    hki_device *const on = what->on;
    hki_device *host = hki_device_is_host(on) ? on : hki_device_of_host(on);
    moving self = {.work = work, .y = hki_array_create(host, what->shape, what->dtype)};
    hki_exchange_part part = {-1, 0, 0, 0, self.y->failed ? 0 : self.y->size, work->peer};
    self.parts = &part;
    self.part_count = 1;
    if (self.y->failed || !issue(&self, what->dtype, what->shape))
        return no_memory(work, x);
    return host == on ? self.y : (hk_to_device)(self.y, (hk_device){on});
}

hk_array *(hk_group_receive)(hk_group *group, hk_dims shape, hk_dtype dtype, hk_device device,
                             int from)
{
    hki_group_work work = {group, HKI_WORLD_RECEIVE, NULL, 0, from};
    hk_array *refused = NULL;
    char why[256];
    uint64_t bytes;
    HKI_HOLD(held);
    hki_device *on = hki_device_hold(device, &held);
    refuse_capture("group_receive");
    if (!check_peer(&work, from, "from", &refused))
        return refused;
    if (!hki_dims_bytes(&shape, dtype, &bytes, why, sizeof why))
        return hki_group_refuse(&work, false, HK_INVALID_ARGUMENT, "%s", why);
    if (!on->class)
        return hki_group_refuse(&work, false, hk_status_code(on->status), "%s",
                                hk_status_message(on->status));
    hk_array *y = done_within(receive_within, &work, NULL, &(receiving){on, shape, dtype});
    return hk_is_recording() && hki_dtype_is_inexact(dtype) ? record_received(&work, y) : y;
}

/* ---- barrier -------------------------------------------------------------------------------------------------------- */

static hk_array *barrier_within(const hki_group_work *work, hk_array *x, const void *device)
{
    hki_exchange_part part;
    moving self = {.work = work, .parts = &part};
    if (!add_token(&self, (hki_device *)device, work->group->size) ||
        !issue(&self, HK_I32, hk_shape()))
        return no_memory(work, x);
    return self.token;
}

hk_array *(hk_group_barrier)(hk_group *group)
{
    const hki_group_work work = {group, HKI_WORLD_BARRIER, NULL, 0, -1};
    hk_array *refused = NULL;
    refuse_capture("group_barrier");
    if (!check(&work, &refused))
        return refused;
    HKI_HOLD(held);
    hki_device *device = hki_device_hold((hk_device){NULL}, &held);
    return done_within(barrier_within, &work, NULL, device);
}
