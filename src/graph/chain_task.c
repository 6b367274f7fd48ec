/* The task of a chain. */
#include "graph/calls_task.h"
#include "graph/chain.h"
#include "op/call/plan.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

typedef struct chain_payload {
    hki_chain *chain; /* counted */
    int part;
    hki_storage *state; /* a use; NULL: the chain is not cut */
    char *packed, *sums;
    hki_kept *kept; /* counted */
    bool keeps;     /* it is this task that packs them */
    atomic_int packs_taken;
    hki_storage **storages; /* of the operands, a use of each; NULL: not this part's */
    int64_t *offsets;       /* of their first elements, in elements */
    uint64_t *versions;     /* see hki_task_spec */
    hki_storage *some;      /* of the operands */
    char **arrays;
    atomic_uchar *is_packed;
} chain_payload;

enum { SPINS = 2000 };

static char *allocate(hki_task *task, int64_t piece, hki_device *device, int64_t bytes)
{
    char *memory = hki_device_allocate(device, (uint64_t)(bytes ? bytes : 64));
    if (!memory)
        hki_calls_task_fail_for_memory(task, piece, device, (uint64_t)bytes);
    return memory;
}

static void release(hki_device *device, char *memory, int64_t bytes)
{
    if (memory)
        hki_device_release(device, memory, (uint64_t)(bytes ? bytes : 64));
}

static int64_t all_sums(const hki_chain *chain)
{
    return chain->sum_bytes * chain->piece_count;
}

/* Memory for packed weights, unless all are packed already. */
static bool prepare_weights(hki_task *task, chain_payload *self)
{
    hki_chain *chain = self->chain;
    if (chain->kept_bytes && !(self->kept = hki_kept_find(&chain->keeper, self->versions))) {
        self->keeps = true;
        self->kept = hki_kept_create(&chain->keeper, chain->device, (uint64_t)chain->kept_bytes,
                                     self->versions);
        if (!self->kept)
            hki_calls_task_fail_for_memory(task, 0, chain->device, (uint64_t)chain->kept_bytes);
    }
    if (chain->packed_bytes)
        self->packed = allocate(task, 0, chain->device, chain->packed_bytes);
    return (self->kept || !chain->kept_bytes) && (self->packed || !chain->packed_bytes);
}

static bool prepare_sums(hki_task *task, chain_payload *self)
{
    if (self->chain->sum_bytes)
        self->sums = allocate(task, 0, self->chain->device, all_sums(self->chain));
    return self->sums || !self->chain->sum_bytes;
}

static bool prepare(hki_task *task, void *payload)
{
    chain_payload *self = payload;
    const hki_chain *chain = self->chain;
    for (int i = 0; i < chain->array_count; i++) {
        hki_storage *storage = self->storages[i];
        if (!storage)
            continue;
        if (i >= chain->read_count && !hki_storage_materialise(storage)) {
            hki_calls_task_fail_for_memory(task, 0, chain->device, storage->bytes);
            return false;
        }
        const hki_tensor *tensor = &chain->arrays[i].tensor;
        self->arrays[i] = hki_storage_kernel_data(storage) +
                          self->offsets[i] * (int64_t)hki_dtype_bytes(tensor->dtype);
    }
    if (self->state && !hki_storage_materialise(self->state)) {
        hki_calls_task_fail_for_memory(task, 0, chain->device, self->state->bytes);
        return false;
    }
    return prepare_weights(task, self) && prepare_sums(task, self);
}

/* Whoever comes packs what nobody has begun to. */
static void pack_weights(chain_payload *self)
{
    const hki_chain *chain = self->chain;
    int i;
    while ((i = atomic_fetch_add_explicit(&self->packs_taken, 1, memory_order_relaxed)) <
           chain->pack_count) {
        const hki_chain_pack *pack = &chain->packs[i];
        if (pack->part == self->part && (!pack->is_constant || self->keeps))
            hki_chain_pack_weight(chain, pack, self->arrays[pack->weight],
                                  (pack->is_constant ? hki_kept_data(self->kept) : self->packed) +
                                      pack->at);
        atomic_store_explicit(&self->is_packed[i], 1, memory_order_release);
    }
}

/* Another piece is at it, in a thread that runs. */
static void await_pack(const chain_payload *self, int pack)
{
    for (int spins = 0;
         pack >= 0 && !atomic_load_explicit(&self->is_packed[pack], memory_order_acquire); spins++)
        if (spins > SPINS)
            sched_yield();
}

/* ---- sums of runs: that of the piece, which comes first, and those that wait ---------------------------------------- */

static char *sums_of_run(const hki_chain_run *run, int live)
{
    return live == 0 ? run->piece_sums
                     : run->scratch + (run->chain->waiting_at - run->chain->scratch_at) +
                           (live - 1) * run->chain->sum_bytes;
}

static void begin_run(hki_chain_run *run, int part, int live)
{
    const hki_chain *chain = run->chain;
    run->sums = sums_of_run(run, live);
    for (int i = 0; i < chain->sum_count; i++) {
        const hki_chain_sum *sum = &chain->sums[i];
        if (sum->part == part && sum->accumulates)
            memset(run->sums + sum->at, 0, (size_t)sum->elements * hki_dtype_bytes(sum->dtype));
    }
}

/* Returns how many sums there are. */
static int end_run(const hki_chain_run *run, int part, int live)
{
    const hki_chain *chain = run->chain;
    const int pairs =
        hki_sum_pairs(hki_sum_runs(run->end - run->begin), (run->first - run->begin) / HKI_SUM_RUN);
    for (int i = 0; i < chain->sum_count; i++) {
        const hki_chain_sum *sum = &chain->sums[i];
        if (sum->part == part && sum->accumulates)
            hki_sum_join(sum->dtype, sum->elements, run->piece_sums + sum->at,
                         sums_of_run(run, 1) + sum->at, (size_t)chain->sum_bytes, live + 1, pairs);
    }
    return live + 1 - pairs;
}

static bool run_block(chain_payload *self, hki_chain_run *run)
{
    const hki_chain *chain = self->chain;
    const hki_chain_part *part = &chain->parts[self->part];
    bool ok = true;
    for (int i = part->begin; ok && i < part->end; i++) {
        const hki_chain_step *step = &chain->steps[i];
        await_pack(self, step->pack);
        ok = hki_chain_run_step(run, step);
    }
    return ok;
}

/* Where blocks add to sums, a run is one of them or several; else they are of any size. */
static void run_piece(chain_payload *self, hki_chain_run *run)
{
    const hki_chain *chain = self->chain;
    char *const blocks = run->workspace;
    int live = 0;
    bool ok = true;
    for (run->first = run->begin; ok && run->first < run->end; run->first += run->count) {
        const int64_t done = run->first - run->begin, next = run->first + chain->block_samples;
        run->count = (next < run->end ? next : run->end) - run->first;
        if (chain->accumulates && done % HKI_SUM_RUN == 0)
            begin_run(run, self->part, live);
        run->workspace = blocks + done / chain->block_samples * chain->block_state_bytes;
        ok = run_block(self, run);
        if (chain->accumulates && ok &&
            (next >= run->end || (next - run->begin) % HKI_SUM_RUN == 0))
            live = end_run(run, self->part, live);
    }
    run->sums = run->piece_sums;
    run->first = run->begin;
    run->count = run->end - run->begin;
    for (int i = chain->end_steps; ok && i < chain->step_count; i++)
        if (chain->steps[i].part == self->part)
            ok = hki_chain_run_step(run, &chain->steps[i]);
}

static int64_t expected_ns(hki_chain *chain, int index)
{
    hki_chain_part *part = &chain->parts[index];
    const int64_t took_ns = atomic_load_explicit(&part->took_ns, memory_order_relaxed);
    int64_t planned_ns = 0;
    for (int i = 0; i < chain->call_count && !took_ns; i++)
        planned_ns += hki_plan_expect(chain->calls[i].op, chain->calls[i].plan.work_ns);
    return took_ns ? took_ns : planned_ns / chain->part_count;
}

/* Blocks of a chain that is cut have places of their own, for the parts to come. */
static void find_places(const chain_payload *self, hki_chain_run *run, char *own)
{
    const hki_chain *chain = self->chain;
    run->workspace = run->rows = own;
    run->scratch = own + chain->scratch_at;
    if (!self->state)
        return;
    const int64_t kept = chain->scratch_at - chain->kept_at;
    run->workspace = hki_storage_kernel_data(self->state) + run->piece * chain->piece_state_bytes;
    run->rows = run->workspace + chain->piece_state_bytes - kept - chain->kept_at;
    run->scratch = own;
}

static void run(hki_task *task, void *payload, int64_t piece)
{
    chain_payload *self = payload;
    const hki_chain *chain = self->chain;
    char *own; /* what this run alone needs */
    const int64_t own_bytes = chain->workspace_bytes - (self->state ? chain->scratch_at : 0);
    const int64_t begin_ns = piece == 0 ? hki_clock_ns() : 0;
    hki_chain_run run = {.chain = chain,
                         .task = task,
                         .piece = piece,
                         .piece_sums = self->sums ? self->sums + piece * chain->sum_bytes : NULL,
                         .packed = self->packed,
                         .kept = self->kept ? hki_kept_data(self->kept) : NULL,
                         .arrays = self->arrays,
                         .storage = self->some};
    hki_chain_piece(chain, piece, &run.begin, &run.end);
    pack_weights(self);
    own = allocate(task, piece, chain->device, own_bytes);
    if (own) {
        find_places(self, &run, own);
        run_piece(self, &run);
    }
    release(chain->device, own, own_bytes);
    if (piece == 0)
        hki_calls_task_learn(&self->chain->parts[self->part].took_ns,
                             (hki_clock_ns() - begin_ns) * chain->piece_count);
}

static void divide(hk_dtype dtype, void *values, int64_t count, double divisor)
{
    for (int64_t i = 0; i < count; i++)
        if (dtype == HK_F32)
            ((float *)values)[i] = (float)(((const float *)values)[i] / divisor);
        else
            ((double *)values)[i] /= divisor;
}

static void join(hki_task *task, void *payload)
{
    const chain_payload *self = payload;
    hki_chain *chain = self->chain;
    (void)task;
    if (self->keeps)
        hki_kept_put(&chain->keeper, self->kept);
    for (int i = 0; i < chain->sum_count; i++) {
        const hki_chain_sum *sum = &chain->sums[i];
        if (sum->part != self->part)
            continue;
        char *to = self->arrays[sum->array];
        hki_sum_join_pieces(&chain->cut, sum->dtype, sum->elements, self->sums + sum->at,
                            (size_t)chain->sum_bytes);
        memcpy(to, self->sums + sum->at, (size_t)sum->elements * hki_dtype_bytes(sum->dtype));
        if (sum->divisor != 0)
            divide(sum->dtype, to, sum->elements, sum->divisor);
    }
}

static void finish(hki_task *task, void *payload)
{
    chain_payload *self = payload;
    hki_chain *chain = self->chain;
    (void)task;
    release(chain->device, self->packed, chain->packed_bytes);
    hki_kept_release(self->kept);
    release(chain->device, self->sums, all_sums(chain));
    for (int i = 0; i < chain->array_count; i++)
        if (self->storages[i])
            hki_storage_release_use(self->storages[i]);
    if (self->state)
        hki_storage_release_use(self->state);
    hki_chain_destroy(chain);
}

static const hki_task_class chain_class = {
    .prepare = prepare, .run = run, .join = join, .finish = finish};

static hki_access access_to(hki_storage *storage, const hki_node_operand *operand, int64_t base,
                            unsigned mode)
{
    hki_span span = operand->span;
    uint64_t shift = (uint64_t)base * hki_dtype_bytes(operand->tensor.dtype);
    if (span.begin != span.end) {
        span.begin += shift;
        span.end += shift;
    }
    return hki_span_access(&span, storage, mode);
}

bool hki_chain_issue(const hki_node *node, hki_storage *const *storages, const int64_t *base)
{
    hki_chain *chain = node->chain;
    const hki_chain_part *part = &chain->parts[node->part];
    size_t count = (size_t)chain->array_count, packs = (size_t)chain->pack_count;
    size_t bytes =
        sizeof(chain_payload) +
        count * (sizeof(hki_storage *) + sizeof(int64_t) + sizeof(uint64_t) + sizeof(char *)) +
        packs * sizeof(atomic_uchar);
    uint64_t new_bytes = 0;
    const int used = node->input_count + node->output_count;
    for (int i = node->input_count; i < used; i++)
        new_bytes += node->operands[i].makes ? storages[node->operands[i].slot]->bytes : 0;
    hki_task *task = hki_task_begin(chain->device->runtime, bytes, used, new_bytes);
    if (!task)
        return false;
    hki_task_spec *spec = hki_task_get_spec(task);
    chain_payload *self = hki_task_payload(task);
    self->chain = chain;
    self->part = node->part;
    self->state = self->some = NULL;
    self->packed = self->sums = NULL;
    self->kept = NULL;
    self->keeps = false;
    self->storages = (hki_storage **)(self + 1);
    self->offsets = (int64_t *)(self->storages + count);
    self->versions = (uint64_t *)(self->offsets + count);
    self->arrays = (char **)(self->versions + count);
    self->is_packed = (atomic_uchar *)(self->arrays + count);
    atomic_init(&self->packs_taken, 0);
    for (size_t i = 0; i < packs; i++)
        atomic_init(&self->is_packed[i], 0);
    memset(self->storages, 0, count * sizeof(hki_storage *));
    for (int i = 0; i < used; i++) {
        const hki_node_operand *operand = &node->operands[i];
        hki_storage *storage = storages[operand->slot];
        const bool is_state = i >= part->array_count;
        if (is_state) {
            self->state = storage;
        } else {
            self->some = self->storages[part->arrays[i]] = storage;
            self->offsets[part->arrays[i]] = operand->tensor.offset + base[operand->slot];
        }
        hki_storage_retain_use(storage);
        unsigned mode = i < node->input_count ? HKI_READ : HKI_WRITE | HKI_HEAL;
        if (is_state && node->part > 0)
            mode = HKI_READ | HKI_WRITE;
        else if (i >= node->input_count && (is_state || chain->array_is_new[part->arrays[i]]))
            mode |= HKI_FRESH;
        spec->accesses[i] = access_to(storage, operand, base[operand->slot], mode);
    }
    spec->class = &chain_class;
    spec->device = chain->device;
    spec->operation = node->operation;
    spec->piece_count = chain->piece_count;
    spec->expected_ns = expected_ns(chain, node->part);
    spec->versions = self->versions;
    spec->collective = false;
    spec->access_count = used;
    atomic_fetch_add_explicit(&chain->refs, 1, memory_order_relaxed);
    hki_task_submit(task);
    return true;
}
