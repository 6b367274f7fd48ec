#include "world/exchange.h"

#include "base/config.h"
#include "world/link.h"

#include <stdlib.h>
#include <string.h>

#define HASH_BEGIN 2166136261u /* FNV-1a */

/* ---- calls ----------------------------------------------------------------------------------------------------- */

hki_group_call *hki_group_call_begin(hk_group *group)
{
    hki_group_call *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    atomic_init(&self->refs, 1);
    self->group = group;
    self->hash = self->order = HASH_BEGIN;
    pthread_mutex_lock(&group->lock);
    return self;
}

static uint32_t hash_with(uint32_t hash, int64_t value)
{
    for (int i = 0; i < 64; i += 16)
        hash = (hash ^ (uint32_t)((value >> i) & 0xffff)) * 16777619u;
    return hash;
}

void hki_group_call_add(hki_group_call *self, int64_t value)
{
    self->hash = hash_with(self->hash, value);
}

void hki_group_call_add_order(hki_group_call *self, int array)
{
    self->order = hash_with(self->order, array);
}

void hki_group_call_add_shape(hki_group_call *self, const hk_dims *shape, hk_dtype dtype)
{
    hki_group_call_add(self, dtype);
    hki_group_call_add(self, shape->ndim);
    for (int i = 0; i < shape->ndim; i++)
        hki_group_call_add(self, shape->dims[i]);
}

static void call_release(hki_group_call *self)
{
    if (!self || atomic_fetch_sub(&self->refs, 1) != 1)
        return;
    hk_status_release(self->refusal);
    free(self);
}

void hki_group_call_end(hki_group_call *self)
{
    pthread_mutex_unlock(&self->group->lock);
    call_release(self);
}

/* ---- memory -------------------------------------------------------------------------------------------------- */

static void destroy(hki_exchange *self)
{
    for (int i = 0; i < self->storage_count; i++)
        hki_storage_release_use(self->storages[i]);
    hk_status_release(self->failure);
    call_release(self->call);
    free(self->storages);
    free(self->theirs);
    free(self->pieces);
    free(self->parts);
    free(self->operands);
    free(self->offsets);
    for (int i = 0; i < self->staged_count; i++)
        free(self->staged[i].host);
    free(self->staged);
    free(self->messages);
    free(self);
}

/* Room for at least one of each. */
static bool allocate(hki_exchange *self, const hki_exchange_plan *plan)
{
    const size_t operands = (size_t)plan->operand_count + 1, parts = (size_t)plan->part_count + 1;
    self->theirs = calloc((size_t)plan->call->group->size + 1, sizeof *self->theirs);
    self->storages = calloc(operands, sizeof(hki_storage *));
    self->operands = calloc(operands, sizeof *self->operands);
    self->offsets = calloc(operands, sizeof *self->offsets);
    self->parts = calloc(parts, sizeof *self->parts);
    self->pieces = calloc(parts, sizeof *self->pieces);
    return self->theirs && self->storages && self->operands && self->offsets && self->parts &&
           self->pieces;
}

static void set_header(hki_exchange *self, const hki_exchange_plan *plan)
{
    int64_t size = 0;
    hki_dims_size(&plan->shape, &size);
    self->own = (hki_header){.magic = HKI_HEADER_MAGIC,
                             .operation = (uint16_t)plan->operation,
                             .dtype = (uint8_t)plan->dtype,
                             .root = plan->root,
                             .count = size,
                             .hash = plan->call->hash,
                             .order = plan->call->order,
                             .arrays = plan->arrays,
                             .checks_lines =
                                 atomic_load_explicit(&hki_config_checks, memory_order_relaxed)};
    hki_header_set_source(&self->own, self->source);
}

_Static_assert((int)HKI_MAX_DEVICES < (int)HKI_DIRECT, "both are in one byte");
static void find_accelerator(hki_exchange *self)
{
    hki_device *device = self->operand_count > 0 ? self->storages[0]->device : NULL;
    if (!device || hki_device_is_host(device) || !device->class->channel)
        return;
    self->accelerator = device;
    const int demand = self->group->world->route == HKI_WORLD_DIRECT ? HKI_DIRECT : 0;
    self->own.accelerator = (uint8_t)((device->index + 1) | demand);
}

static hki_exchange *create(const hki_exchange_plan *plan)
{
    hki_exchange *self = calloc(1, sizeof *self);
    if (!self || !allocate(self, plan)) {
        if (self)
            destroy(self);
        return NULL;
    }
    self->group = plan->call->group;
    self->call = plan->call;
    self->leads = plan->call->exchange_count == 0;
    atomic_fetch_add(&self->call->refs, 1);
    self->operation = plan->operation;
    self->name = hki_world_operation_name(plan->operation);
    self->peer = plan->peer;
    self->lane = plan->peer < 0 ? 0 : 1 + 2 * plan->peer + (plan->operation == HKI_WORLD_RECEIVE);
    self->dtype = plan->dtype;
    self->shape = plan->shape;
    self->source = hki_source_get();
    set_header(self, plan);
    for (int i = 0; i < plan->operand_count; i++) {
        const hki_group_operand *from = &plan->operands[i];
        hki_storage_retain_use(from->x->storage);
        self->storages[self->storage_count++] = from->x->storage;
        hki_group_operand *to = &self->operands[self->operand_count];
        *to = *from;
        to->element_bytes = (int)hk_dtype_bytes(from->x->dtype);
        self->offsets[self->operand_count++] = (from->x->offset + from->begin) * to->element_bytes;
    }
    find_accelerator(self);
    if (plan->part_count > 0)
        memcpy(self->parts, plan->parts, (size_t)plan->part_count * sizeof *plan->parts);
    self->part_count = plan->part_count;
    return self;
}

/* ---- the task ------------------------------------------------------------------------------------------------ */

typedef struct payload {
    hki_exchange *exchange;
} payload;

static void describe_input(const void *argument, char *text, size_t bytes)
{
    const hki_exchange *self = ((const payload *)argument)->exchange;
    char shape[192];
    hki_dims_describe(&self->shape, shape, sizeof shape);
    snprintf(text, bytes, "%s%s", hk_dtype_name(self->dtype), shape);
}

static int operands_of(const void *argument, hki_trace_operand *operands, int limit)
{
    const hki_exchange *self = ((const payload *)argument)->exchange;
    const int count = self->operand_count < limit ? self->operand_count : limit;
    for (int i = 0; i < count; i++) {
        const hki_group_operand *its = &self->operands[i];
        operands[i] = (hki_trace_operand){.dtype = (uint8_t)self->dtype,
                                          .ndim = 1,
                                          .is_output = (its->mode & HKI_WRITE) != 0,
                                          .dims = {its->end - its->begin}};
    }
    return count;
}

static bool materialise(hki_exchange *self)
{
    for (int i = 0; i < self->storage_count; i++) {
        hki_storage *storage = self->storages[i];
        if (!hki_storage_materialise(storage)) {
            hki_task_fail(self->task, 0, HK_OUT_OF_MEMORY, "%s has no room for %llu bytes",
                          storage->device->name, (unsigned long long)storage->bytes);
            return false;
        }
    }
    return true;
}

static char *address(const hki_exchange *self, int operand, int64_t offset)
{
    return hki_storage_kernel_data(self->storages[operand]) + self->offsets[operand] +
           offset * self->operands[operand].element_bytes;
}

void *hki_exchange_operand(const hki_exchange *self, int operand)
{
    return address(self, operand, 0);
}

void *hki_exchange_from(const hki_exchange *self, const hki_exchange_part *part)
{
    return part->from < 0 ? NULL : address(self, part->from, part->from_offset);
}

void *hki_exchange_to(const hki_exchange *self, const hki_exchange_part *part)
{
    return part->to < 0 ? NULL : address(self, part->to, part->to_offset);
}

/* What goes to other ranks, and comes from them. */
static void find_pieces(hki_exchange *self)
{
    for (int i = 0; i < self->part_count; i++) {
        const hki_exchange_part *part = &self->parts[i];
        const bool is_send = part->to < 0;
        if (part->size == 0 || (part->from >= 0 && part->to >= 0))
            continue;
        self->pieces[self->piece_count++] = (hki_exchange_piece){
            .data = is_send ? hki_exchange_from(self, part) : hki_exchange_to(self, part),
            .bytes = (size_t)part->size * hk_dtype_bytes(self->dtype),
            .peer = part->peer,
            .is_send = is_send};
    }
}

void hki_exchange_copy_own(hki_exchange *self)
{
    for (int i = 0; i < self->part_count; i++) {
        const hki_exchange_part *part = &self->parts[i];
        if (part->size > 0 && part->from >= 0 && part->to >= 0)
            memcpy(hki_exchange_to(self, part), hki_exchange_from(self, part),
                   (size_t)part->size * (size_t)self->operands[part->to].element_bytes);
    }
}

/* Inputs are there, or have failed: the others are told either way. */
static void run(hki_task *task, void *argument, int64_t piece)
{
    (void)piece;
    hki_exchange *self = ((payload *)argument)->exchange;
    self->task = task;
    self->sequence = hki_task_sequence(task);
    self->failure = hki_task_failure(task);
    self->failed_by_input = self->failure != NULL;
    if (!self->failure && !materialise(self))
        self->failure = hki_task_failure(task);
    if (!self->failure)
        find_pieces(self);
    if (self->failure)
        self->own.trouble = self->call->is_refused ? HKI_REFUSED : HKI_FAILED;
    hki_link_put(self->group->world->link, self);
}

static void finish(hki_task *task, void *argument)
{
    (void)task;
    hki_exchange *self = ((payload *)argument)->exchange;
    if (!self->is_kept)
        destroy(self);
}

void hki_exchange_end(hki_exchange *self)
{
    const hki_outside_end end = {.failure = self->outcome,
                                 .is_root = self->is_root,
                                 .has_begun = self->has_moved,
                                 .begin_ticks = self->begin_ticks};
    self->outcome = NULL;
    hki_task_end(self->task, &end);
}

static const hki_task_class exchange_class = {.is_outside = true,
                                              .takes_failed = true,
                                              .run = run,
                                              .finish = finish,
                                              .describe = describe_input,
                                              .operands = operands_of};

/* ---- issuing ------------------------------------------------------------------------------------------------- */

static hki_access access_of(const hki_group_operand *operand)
{
    const uint64_t bytes = hk_dtype_bytes(operand->x->dtype);
    const int64_t offset = operand->x->offset;
    uint64_t begin = (uint64_t)(offset + operand->begin) * bytes;
    uint64_t end = (uint64_t)(offset + operand->end) * bytes;
    if (operand->x->failed) {
        const hki_range range = hki_array_range(operand->x);
        begin = range.begin;
        end = range.end;
    }
    return (hki_access){.var = &operand->x->storage->var,
                        .begin = begin,
                        .end = end > begin ? end : begin + 1,
                        .mode = operand->mode};
}

static void fail_outputs(const hki_exchange_plan *plan)
{
    for (int i = 0; i < plan->operand_count; i++)
        if (plan->operands[i].mode & HKI_WRITE)
            hki_array_fail_in_place(plan->operands[i].x, hki_world_operation_name(plan->operation),
                                    NULL, 0, HK_OUT_OF_MEMORY, "out of host memory");
}

bool hki_exchange_issue(const hki_exchange_plan *plan)
{
    hki_exchange *self = create(plan);
    hki_task *task =
        self ? hki_task_begin(plan->device->runtime, sizeof(payload), plan->operand_count, 0)
             : NULL;
    if (!task) {
        if (self)
            destroy(self);
        fail_outputs(plan);
        return false;
    }
    ((payload *)hki_task_payload(task))->exchange = self;
    hki_task_spec *spec = hki_task_get_spec(task);
    for (int i = 0; i < plan->operand_count; i++)
        spec->accesses[i] = access_of(&plan->operands[i]);
    spec->access_count = plan->operand_count;
    spec->class = &exchange_class;
    spec->device = plan->device;
    spec->operation = self->name;
    spec->collective = true;
    if (self->leads && plan->peer < 0)
        plan->call->index = self->group->calls++;
    self->index = self->group->issued[self->lane]++;
    self->own.index = plan->peer < 0 ? plan->call->index : self->index;
    plan->call->exchange_count++;
    hki_task_submit(task);
    return true;
}
