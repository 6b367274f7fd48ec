/* A thread writes into a chunk of its own. The lock of the trace guards the lists of chunks and threads; a
 * thread takes it when its chunk is full and when it finds that a new recording has begun. Where a record
 * may be read is decided once, when recording ends: what is written later is in nobody's way. */
#include "base/trace.h"

#include "base/thread_end.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Chunks are cut from blocks of a large page each: a page's first touch is what recording would spend most of its
 * time on, and for a large page that is fifty times less a byte. */
enum { CHUNK_BYTES = 64 << 10, BLOCK_BYTES = 2 << 20 };

typedef struct chunk {
    struct chunk *next;   /* lock */
    size_t readable;      /* bytes of records when recording ended; lock */
    _Atomic(size_t) used; /* bytes of whole records */
    uint64_t data[];
} chunk;

enum { DATA_BYTES = CHUNK_BYTES - sizeof(chunk), BLOCK_LINK_BYTES = 64 };

/* What a thread has in a trace. Two hold it, the thread and the trace, and the last one frees it. What the
 * thread alone uses comes first; it writes the rest, too, but under the lock. */
typedef struct buffer {
    char *at; /* where the next record goes, in `last` */
    size_t room;
    struct buffer *next_of_thread;
    bool is_full;               /* there are no more chunks for it in this recording */
    _Atomic(hki_trace *) trace; /* NULL once that is destroyed */
    _Atomic(uint64_t) lost_records;
    atomic_uint holders;
    /* Lock: */
    uint64_t generation;
    chunk *first, *last; /* NULL before there is one */
    struct buffer *next_of_trace;
    hki_trace_thread_info info;
} buffer;

struct hki_trace {
    _Atomic(uint64_t) generation; /* counts recordings; changes under the lock */
    hki_lock lock;
    /* Lock: */
    bool is_recording;
    buffer *buffers;
    chunk *free_chunks;
    uint64_t used_count, limit_bytes; /* used_count: of chunks that are not free */
    void *blocks;                     /* linked by their first word; live as long as the trace */
    char *block_rest, *block_end;     /* of the latest: not yet cut */
    int thread_count, unnamed_count;  /* that wrote in this recording */
    uint64_t lost_records;            /* of threads without a buffer */
    hki_trace_facts facts;
};

static _Thread_local struct {
    buffer *buffers; /* one for each trace; the latest used comes first */
    bool is_watched, is_named, is_backward;
    hki_trace_thread_info info; /* where is_named */
} here;

/* ---- threads ------------------------------------------------------------------------------------------ */

static void buffer_release(buffer *self)
{
    if (atomic_fetch_sub_explicit(&self->holders, 1, memory_order_acq_rel) == 1)
        free(self);
}

static void thread_deinit(void *unused)
{
    (void)unused;
    while (here.buffers) {
        buffer *first = here.buffers;
        here.buffers = first->next_of_thread;
        buffer_release(first);
    }
    here.is_watched = false; /* what other keys' destructors write is watched anew */
}

void hki_trace_name_thread(const char *name, int device, int queue, int worker)
{
    here.info = (hki_trace_thread_info){.device = device, .queue = queue, .worker = worker};
    snprintf(here.info.name, sizeof here.info.name, "%s", name);
    here.is_named = true;
}

bool hki_trace_set_backward(bool is_backward)
{
    bool before = here.is_backward;
    here.is_backward = is_backward;
    return before;
}

bool hki_trace_is_backward(void)
{
    return here.is_backward;
}

/* ---- writing ------------------------------------------------------------------------------------------ */

/* This thread's buffer in the trace, now its first; NULL: none yet. Lets go of those of destroyed traces. */
static buffer *find_buffer(hki_trace *trace)
{
    buffer *found = NULL;
    for (buffer **link = &here.buffers, *each; (each = *link);) {
        hki_trace *of = atomic_load_explicit(&each->trace, memory_order_relaxed);
        if (of && of != trace) {
            link = &each->next_of_thread;
            continue;
        }
        *link = each->next_of_thread;
        if (of)
            found = each;
        else
            buffer_release(each);
    }
    if (found) {
        found->next_of_thread = here.buffers;
        here.buffers = found;
    }
    return found;
}

static buffer *buffer_create_locked(hki_trace *trace)
{
    static hki_thread_end end = {.function = thread_deinit};
    buffer *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    if (!here.is_watched) /* without it the buffer of a thread that ends stays: no reason to fail */
        here.is_watched = hki_thread_end_watch(&end);
    atomic_init(&self->trace, trace);
    atomic_init(&self->holders, 2);
    self->next_of_thread = here.buffers;
    here.buffers = self;
    self->next_of_trace = trace->buffers;
    trace->buffers = self;
    return self;
}

static void use_chunk(buffer *self, chunk *last)
{
    last->readable = 0;
    atomic_store_explicit(&last->used, 0, memory_order_relaxed);
    self->last = last;
    self->at = (char *)last->data;
    self->room = DATA_BYTES;
}

/* The first record of a thread in this recording: it keeps the chunk that it was at. */
static void rewind_locked(hki_trace *trace, buffer *self)
{
    self->generation = atomic_load_explicit(&trace->generation, memory_order_relaxed);
    self->is_full = false;
    atomic_store_explicit(&self->lost_records, 0, memory_order_relaxed);
    if (self->last)
        use_chunk(self, self->last);
    self->info = here.info;
    if (!here.is_named) {
        self->info.device = -1;
        snprintf(self->info.name, sizeof self->info.name, "thread %d", ++trace->unnamed_count);
    }
    self->info.number = trace->thread_count++;
}

/* One more block; one of a chunk where the limit is below a block. False: no memory. */
static bool add_block_locked(hki_trace *trace)
{
    bool is_small = trace->limit_bytes < BLOCK_BYTES;
    size_t bytes = is_small ? BLOCK_LINK_BYTES + CHUNK_BYTES : BLOCK_BYTES;
    char *block = aligned_alloc(is_small ? BLOCK_LINK_BYTES : BLOCK_BYTES, bytes);
    if (!block)
        return false;
    if (!is_small)
        madvise(block, bytes, MADV_HUGEPAGE);
    *(void **)(void *)block = trace->blocks;
    trace->blocks = block;
    trace->block_rest = block + BLOCK_LINK_BYTES;
    trace->block_end = block + bytes;
    return true;
}

/* NULL: the limit is reached, or there is no memory. */
static chunk *chunk_get_locked(hki_trace *trace)
{
    chunk *fresh = trace->free_chunks;
    if ((trace->used_count + 1) * CHUNK_BYTES > trace->limit_bytes)
        return NULL;
    if (fresh) {
        trace->free_chunks = fresh->next;
    } else {
        if (trace->block_end - trace->block_rest < CHUNK_BYTES && !add_block_locked(trace))
            return NULL;
        fresh = (chunk *)(void *)trace->block_rest;
        trace->block_rest += CHUNK_BYTES;
        atomic_init(&fresh->used, 0);
    }
    trace->used_count++;
    return fresh;
}

static void add_chunk_locked(hki_trace *trace, buffer *self)
{
    chunk *fresh = chunk_get_locked(trace);
    if (!fresh) {
        self->is_full = true;
        return;
    }
    fresh->next = NULL;
    if (self->last)
        self->last->next = fresh;
    else
        self->first = fresh;
    use_chunk(self, fresh);
}

/* The counter has one writer. */
static void count_lost(buffer *self)
{
    uint64_t lost = atomic_load_explicit(&self->lost_records, memory_order_relaxed);
    atomic_store_explicit(&self->lost_records, lost + 1, memory_order_relaxed);
}

/* Seldom: this thread's buffer, now first in its list, with room for the record; NULL: it is lost. */
static buffer *make_room(hki_trace *trace, size_t bytes)
{
    buffer *self = find_buffer(trace);
    if (self && self->is_full &&
        self->generation == atomic_load_explicit(&trace->generation, memory_order_relaxed)) {
        count_lost(self);
        return NULL;
    }
    bool has_room = false;
    hki_lock_acquire(&trace->lock);
    if (!trace->is_recording)
        goto unlock;
    if (!self && !(self = buffer_create_locked(trace))) {
        trace->lost_records++;
        goto unlock;
    }
    if (self->generation != atomic_load_explicit(&trace->generation, memory_order_relaxed))
        rewind_locked(trace, self);
    if (self->room < bytes && bytes <= DATA_BYTES)
        add_chunk_locked(trace, self);
    has_room = self->room >= bytes;
    if (!has_room)
        count_lost(self);
unlock:
    hki_lock_release(&trace->lock);
    return has_room ? self : NULL;
}

void *hki_trace_reserve(hki_trace *trace, hki_trace_kind kind, size_t bytes)
{
    buffer *self = here.buffers;
    assert(bytes >= sizeof(hki_trace_head) && bytes % 8 == 0);
    if (!self || atomic_load_explicit(&self->trace, memory_order_relaxed) != trace ||
        self->generation != atomic_load_explicit(&trace->generation, memory_order_relaxed) ||
        self->room < bytes)
        self = make_room(trace, bytes);
    if (!self)
        return NULL;
    hki_trace_head *head = (void *)self->at;
    head->bytes = (uint32_t)bytes;
    head->kind = (uint16_t)kind;
    head->flags = 0;
    return head;
}

void hki_trace_commit(hki_trace *trace, void *record)
{
    buffer *self = here.buffers; /* as hki_trace_reserve left it */
    size_t bytes = ((hki_trace_head *)record)->bytes;
    (void)trace;
    self->at += bytes;
    self->room -= bytes;
    atomic_store_explicit(&self->last->used, DATA_BYTES - self->room, memory_order_release);
}

void *hki_trace_put(hki_trace *trace, hki_trace_kind kind, const void *record, size_t bytes)
{
    hki_trace_head *head = hki_trace_reserve(trace, kind, bytes);
    if (head) {
        memcpy(head + 1, (const hki_trace_head *)record + 1, bytes - sizeof *head);
        head->flags = ((const hki_trace_head *)record)->flags;
        head->ticks = hki_ticks();
        hki_trace_commit(trace, head);
    }
    return head;
}

static int clamp(int value, int most)
{
    return value < 0 ? 0 : value > most ? most : value;
}

hki_trace_issue_record *hki_trace_reserve_issue(hki_trace *trace, int access_count,
                                                const hki_trace_operand *operands,
                                                int operand_count)
{
    const size_t accesses_bytes = (size_t)access_count * sizeof(hki_trace_access);
    size_t bytes = sizeof(hki_trace_issue_record) + accesses_bytes;
    for (int i = 0; i < operand_count; i++)
        bytes += sizeof(hki_trace_packed_operand) +
                 (size_t)clamp(operands[i].ndim, HK_MAX_NDIM) * sizeof(int64_t);
    hki_trace_issue_record *record = hki_trace_reserve(trace, HKI_TRACE_ISSUE, bytes);
    if (!record)
        return NULL;
    record->access_count = (uint16_t)access_count; /* more do not fit into a chunk */
    record->operand_count = (uint16_t)clamp(operand_count, UINT16_MAX);
    char *at = (char *)record->body + accesses_bytes;
    for (int i = 0; i < operand_count; i++) {
        hki_trace_packed_operand *packed = (void *)at;
        const int ndim = clamp(operands[i].ndim, HK_MAX_NDIM);
        *packed =
            (hki_trace_packed_operand){operands[i].dtype, (int8_t)ndim, operands[i].is_output, {0}};
        memcpy(packed->dims, operands[i].dims, (size_t)ndim * sizeof(int64_t));
        at += sizeof *packed + (size_t)ndim * sizeof(int64_t);
    }
    return record;
}

void hki_trace_amend(hki_trace *trace, void *record, uint64_t ticks, unsigned flags)
{
    hki_trace_head *head = record;
    hki_lock_acquire(&trace->lock);
    /* Otherwise that recording has ended, and somebody may be reading. */
    if (trace->is_recording && here.buffers->generation ==
                                   atomic_load_explicit(&trace->generation, memory_order_relaxed)) {
        head->ticks = ticks;
        head->flags = (uint16_t)(head->flags | flags);
    }
    hki_lock_release(&trace->lock);
}

/* ---- life ----------------------------------------------------------------------------------------------- */

hki_trace *hki_trace_create(uint64_t limit_bytes)
{
    hki_trace *trace = calloc(1, sizeof *trace);
    if (trace)
        trace->limit_bytes = limit_bytes;
    return trace;
}

void hki_trace_destroy(hki_trace *trace)
{
    if (!trace)
        return;
    while (trace->buffers) {
        buffer *first = trace->buffers;
        trace->buffers = first->next_of_trace;
        atomic_store_explicit(&first->trace, NULL, memory_order_relaxed);
        buffer_release(first);
    }
    for (void *block = trace->blocks, *next; block; block = next) {
        next = *(void **)block;
        free(block);
    }
    free(trace);
}

/* Takes away all chunks up to `end`, which stays; NULL: all. */
static void take_chunks_locked(hki_trace *trace, buffer *self, const chunk *end)
{
    while (self->first != end) {
        chunk *first = self->first;
        self->first = first->next;
        first->next = trace->free_chunks;
        trace->free_chunks = first;
        trace->used_count--;
    }
}

/* The same moment on both clocks: of a few readings the one that was disturbed least. */
static void calibrate(uint64_t *ticks, int64_t *ns)
{
    uint64_t least = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = hki_ticks();
        int64_t now = hki_clock_ns();
        uint64_t width = hki_ticks() - before;
        if (width < least) {
            least = width;
            *ticks = before + width / 2;
            *ns = now;
        }
    }
}

void hki_trace_set_limit(hki_trace *trace, uint64_t limit_bytes)
{
    hki_lock_acquire(&trace->lock);
    trace->limit_bytes = limit_bytes;
    hki_lock_release(&trace->lock);
}

void hki_trace_begin(hki_trace *trace)
{
    hki_lock_acquire(&trace->lock);
    uint64_t generation = atomic_load_explicit(&trace->generation, memory_order_relaxed) + 1;
    atomic_store_explicit(&trace->generation, generation, memory_order_relaxed);
    /* A thread that is still writing a record of before writes into its last chunk, and only there. */
    for (buffer **link = &trace->buffers, *each; (each = *link);) {
        if (atomic_load_explicit(&each->holders, memory_order_acquire) == 1) {
            take_chunks_locked(trace, each, NULL);
            *link = each->next_of_trace;
            free(each);
        } else {
            take_chunks_locked(trace, each, each->last);
            link = &each->next_of_trace;
        }
    }
    trace->thread_count = trace->unnamed_count = 0;
    trace->lost_records = 0;
    trace->facts = (hki_trace_facts){.limit_bytes = trace->limit_bytes};
    calibrate(&trace->facts.begin_ticks, &trace->facts.begin_ns);
    trace->is_recording = true;
    hki_lock_release(&trace->lock);
}

/* The first buffer from `each` on that was written to in this recording. */
static buffer *written(const hki_trace *trace, buffer *each)
{
    hki_trace *self = (hki_trace *)trace;
    uint64_t generation = atomic_load_explicit(&self->generation, memory_order_relaxed);
    while (each && each->generation != generation)
        each = each->next_of_trace;
    return each;
}

void hki_trace_end(hki_trace *trace)
{
    hki_trace_facts *facts = &trace->facts;
    hki_lock_acquire(&trace->lock);
    if (trace->is_recording) {
        trace->is_recording = false;
        calibrate(&facts->end_ticks, &facts->end_ns);
        facts->lost_records = trace->lost_records;
        for (buffer *each = trace->buffers; (each = written(trace, each));
             each = each->next_of_trace) {
            facts->lost_records += atomic_load_explicit(&each->lost_records, memory_order_relaxed);
            for (chunk *c = each->first; c; c = c->next) {
                c->readable = atomic_load_explicit(&c->used, memory_order_acquire);
                facts->used_bytes += c->readable;
            }
        }
    }
    hki_lock_release(&trace->lock);
}

/* ---- reading ---------------------------------------------------------------------------------------------- */

hki_trace_facts hki_trace_get_facts(const hki_trace *trace)
{
    return trace->facts;
}

bool hki_trace_each(hki_trace *trace,
                    bool (*visit)(void *context, const hki_trace_thread_info *thread,
                                  const hki_trace_head *record),
                    void *context)
{
    /* No lock: nothing that is read here changes before the next begin. */
    for (buffer *each = trace->buffers; (each = written(trace, each)); each = each->next_of_trace)
        for (const chunk *c = each->first; c; c = c->next)
            for (size_t at = 0; at < c->readable;) {
                const hki_trace_head *head = (const void *)((const char *)c->data + at);
                if (!visit(context, &each->info, head))
                    return false;
                at += head->bytes;
            }
    return true;
}
