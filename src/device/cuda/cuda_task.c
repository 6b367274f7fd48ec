/* Tasks in streams: each has a slot from its begin until it is settled. Events tell ends: one is recorded behind a task
 * where somebody else than the queue is known to wait for it, where nothing follows, and behind every few tasks; who asks for
 * the end of another task takes the next one, or has one recorded. Nobody waits for a stream but at the end; events are
 * asked, or other streams are told to wait for them. */
#include "device/cuda/cuda_board.h"
#include "device/cuda/cuda_internal.h"

#include "base/sync.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SOON_NS = 2000,       /* no task is over sooner than this: not worth asking CUDA */
    SELDOM_NS = 100000,   /* the longest between two looks */
    HELD_NS = 2000000000, /* what waits for a GPU that was lost so long ago waits for ever */
    NAP_NS = 20000,       /* until one of all slots is free */
    FEW = 16,             /* tasks in a row without an event */
};

/* ---- slots -------------------------------------------------------------------------------------------------------- */

static hki_cuda_slot *slot_of(hki_cuda_stream *stream, uint64_t position)
{
    return &stream->slots[position & (HKI_CUDA_SLOTS - 1)];
}

static hki_cuda_stream *stream_of(const hki_ticket *ticket)
{
    return &hki_cuda_device_of(ticket->device)->streams[ticket->queue];
}

/* NULL: the task was given none, since the device was lost. */
static hki_cuda_slot *slot_of_ticket(const hki_ticket *ticket)
{
    return ticket->position ? slot_of(stream_of(ticket), ticket->position) : NULL;
}

bool hki_cuda_stream_init(hki_cuda_stream *stream, hki_cuda_device *device, hki_queue_kind kind)
{
    *stream = (hki_cuda_stream){
        .its = device, .kind = kind, .free_flags = ~((uint64_t)1 << HKI_CUDA_NO_FLAG)};
    pthread_mutex_init(&stream->marks, NULL);
    int least = 0, greatest = 0;
    /* Sums go before kernels where a multiprocessor has room for either: what waits for them is other devices', too. */
    cudaError_t error = cudaDeviceGetStreamPriorityRange(&least, &greatest);
    if (error == cudaSuccess)
        error = cudaStreamCreateWithPriority(&stream->handle, cudaStreamNonBlocking,
                                             kind == HKI_QUEUE_REDUCE ? greatest : 0);
    for (int i = 0; i < HKI_CUDA_SLOTS && error == cudaSuccess; i++)
        error = cudaEventCreateWithFlags(&stream->slots[i].end, cudaEventDisableTiming);
    return error == cudaSuccess;
}

void hki_cuda_stream_deinit(hki_cuda_stream *stream)
{
    if (stream->handle)
        cudaStreamSynchronize(stream->handle);
    for (int i = 0; i < HKI_CUDA_KEPT_COUNT; i++) {
        if (stream->kept[i].state && stream->kept[i].deinit)
            stream->kept[i].deinit(stream->kept[i].state);
        free(stream->kept[i].state);
    }
    hki_cuda_workspace_release(stream);
    if (stream->board)
        hki_cuda_release(stream->its->device, stream->board, 0);
    for (int i = 0; i < HKI_CUDA_SLOTS; i++) {
        const hki_cuda_slot *slot = &stream->slots[i];
        if (slot->end)
            cudaEventDestroy(slot->end);
        for (int j = 0; j < 2; j++)
            if (slot->timed[j])
                cudaEventDestroy(slot->timed[j]);
    }
    if (stream->handle)
        cudaStreamDestroy(stream->handle);
    if (stream->its)
        pthread_mutex_destroy(&stream->marks);
}

/* Whether a call that may fail has not. An error that is left with the thread would be taken for the next launch's. */
static bool has_worked(cudaError_t error)
{
    if (error != cudaSuccess)
        cudaGetLastError();
    return error == cudaSuccess;
}

/* Records the first or second event of the GPU's clock, where there can be one. */
static bool record_time(hki_cuda_stream *stream, hki_cuda_slot *slot, int index)
{
    return (slot->timed[index] || has_worked(cudaEventCreate(&slot->timed[index]))) &&
           has_worked(cudaEventRecord(slot->timed[index], stream->handle));
}

/* The slot of the queue's next task. Sleeps while all are in use, which the thread that settles tasks ends. */
static hki_cuda_slot *slot_take(hki_cuda_stream *stream)
{
    hki_cuda_device *self = stream->its;
    hki_cuda_slot *slot = slot_of(stream, stream->position + 1);
    while (atomic_load_explicit(&slot->in_use, memory_order_acquire)) {
        struct timespec nap = {0, NAP_NS};
        nanosleep(&nap, NULL);
    }
    slot->position = ++stream->position;
    slot->has_begun = slot->is_timed = slot->has_ended = false;
    slot->code = HK_OK;
    slot->describe = NULL;
    slot->fault = NULL;
    slot->recorder = NULL;
    slot->recorder_faults = NULL;
    slot->call = 0;
    slot->flags = 0;
    slot->is_unflagged = false;
    slot->sum = 0;
    slot->waits = 0;
    if (self->faults && stream->kind == HKI_QUEUE_COMPUTE)
        slot->fault = &self->faults[slot->position & (HKI_CUDA_SLOTS - 1)];
    atomic_store_explicit(&slot->in_use, true, memory_order_relaxed);
    if (self->host->is_recording(self->device->runtime)) {
        hki_cuda_take_base(self);
        slot->base = atomic_load_explicit(&self->base, memory_order_relaxed);
        slot->base_ns = atomic_load_explicit(&self->bases[slot->base].ns, memory_order_relaxed);
        slot->has_begun = record_time(stream, slot, 0);
    }
    return slot;
}

hki_cuda_stream *hki_cuda_stream_begin(hki_device *device, hki_queue_kind queue)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    hki_cuda_stream *stream = &self->streams[queue];
    if (!hki_cuda_enter(self))
        return NULL;
    if (!stream->current)
        stream->current = slot_take(stream);
    return stream;
}

/* ---- events --------------------------------------------------------------------------------------------------------- */

/* Behind all that has been launched. Under `marks`; the stream does not capture. */
static cudaError_t mark_locked(hki_cuda_stream *stream)
{
    hki_cuda_slot *slot = slot_of(stream, stream->launched);
    cudaError_t error = cudaEventRecord(slot->end, stream->handle);
    if (error == cudaSuccess)
        slot->marked = stream->recorded = stream->launched;
    return error;
}

/* The slot whose event is the first at the end of the task or behind it; NULL: there is none. Under `marks`. */
static hki_cuda_slot *first_mark_locked(hki_cuda_stream *stream, uint64_t position)
{
    for (; position <= stream->recorded; position++) {
        hki_cuda_slot *slot = slot_of(stream, position);
        if (slot->marked == position)
            return slot;
    }
    return NULL;
}

/* The same, with one recorded where there is none; NULL with success: it cannot be now. */
static cudaError_t find_mark_locked(hki_cuda_stream *stream, uint64_t position,
                                    hki_cuda_slot **found)
{
    cudaError_t error = cudaSuccess;
    *found = first_mark_locked(stream, position);
    if (*found || stream->is_capturing)
        return error;
    error = mark_locked(stream);
    *found = slot_of(stream, stream->launched);
    return error;
}

void hki_cuda_capture_begin(hki_cuda_stream *stream)
{
    pthread_mutex_lock(&stream->marks);
    if (stream->recorded < stream->launched && mark_locked(stream) != cudaSuccess)
        cudaGetLastError(); /* who asks waits until the capture is over */
    stream->is_capturing = true;
    pthread_mutex_unlock(&stream->marks);
}

void hki_cuda_capture_end(hki_cuda_stream *stream)
{
    pthread_mutex_lock(&stream->marks);
    stream->is_capturing = false;
    pthread_mutex_unlock(&stream->marks);
}

static bool has_ended(hki_cuda_stream *stream, uint64_t position)
{
    return atomic_load_explicit(&stream->ended, memory_order_acquire) >= position;
}

static void note_ended(hki_cuda_stream *stream, uint64_t position)
{
    uint64_t ended = atomic_load_explicit(&stream->ended, memory_order_relaxed);
    while (ended < position &&
           !atomic_compare_exchange_weak_explicit(&stream->ended, &ended, position,
                                                  memory_order_acq_rel, memory_order_relaxed))
        ;
}

/* Asks for the newest event first: when that has come, nobody asks for the others. */
static cudaError_t ask_end(hki_cuda_stream *stream, uint64_t position)
{
    hki_cuda_slot *first;
    pthread_mutex_lock(&stream->marks);
    cudaError_t error = find_mark_locked(stream, position, &first);
    const uint64_t newest = stream->recorded, next = first ? first->marked : 0;
    pthread_mutex_unlock(&stream->marks);
    if (error != cudaSuccess || !first)
        return error != cudaSuccess ? error : cudaErrorNotReady;
    error = cudaEventQuery(slot_of(stream, newest)->end);
    if (error == cudaSuccess)
        note_ended(stream, newest);
    if (error != cudaErrorNotReady || next == newest)
        return error;
    cudaGetLastError();
    error = cudaEventQuery(first->end);
    if (error == cudaSuccess)
        note_ended(stream, next);
    return error;
}

/* ---- flags: a task whose kernels may report something has one of its stream's board until it has been completed, by which it is
 * named to those that are launched behind */

hki_cuda_fault *hki_cuda_board_create(hki_cuda_stream *stream, int count)
{
    hki_cuda_fault *board =
        hki_cuda_allocate(stream->its->device, ((size_t)count + 1) * sizeof *board);
    if (board)
        hki_cuda_launch_board(stream, board, count);
    else
        hki_cuda_ok(stream, cudaErrorMemoryAllocation, "memory for what kernels report");
    return board;
}

hki_cuda_fault *hki_cuda_stream_board(hki_cuda_stream *stream)
{
    if (!stream->board)
        stream->board = hki_cuda_board_create(stream, HKI_CUDA_FLAGS);
    return stream->board;
}

uint64_t hki_cuda_flags_take(hki_cuda_stream *stream, int count)
{
    uint64_t left = atomic_load_explicit(&stream->free_flags, memory_order_acquire), taken = 0;
    for (int i = 0; i < count; i++) {
        if (!left)
            return 0;
        taken |= left & -left;
        left &= left - 1;
    }
    atomic_fetch_and_explicit(&stream->free_flags, ~taken, memory_order_relaxed);
    const uint64_t raised =
        atomic_fetch_and_explicit(&stream->raised_flags, ~taken, memory_order_relaxed) & taken;
    if (raised)
        hki_cuda_launch_lower(stream, stream->board, raised);
    return taken;
}

void hki_cuda_board_publish(hki_cuda_stream *stream, hki_cuda_slot *slot)
{
    hki_cuda_publication own = {
        .board = stream->board, .to = slot->fault, .first = slot->board_index, .count = 1};
    hki_cuda_launch_publication(stream, &own);
}

void hki_cuda_guard_task(hki_device *device, uint64_t suspects, bool is_prechecked)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    hki_cuda_stream *stream = &self->streams[HKI_QUEUE_COMPUTE];
    if (!hki_cuda_enter(self)) /* which makes the stream */
        return;
    stream->suspects = suspects;
    stream->is_prechecked = is_prechecked;
    stream->guard = hki_cuda_guard_of(stream->board, suspects);
}

void hki_cuda_release_flags(hki_device *device, uint64_t flags)
{
    hki_cuda_stream *stream = &hki_cuda_device_of(device)->streams[HKI_QUEUE_COMPUTE];
    atomic_fetch_or_explicit(&stream->free_flags, flags, memory_order_release);
}

/* ---- tickets ------------------------------------------------------------------------------------------------------ */

static void end_launch(hki_cuda_stream *stream)
{
    stream->current = NULL;
    stream->guard = (hki_cuda_guard){.board = NULL};
    stream->suspects = 0;
    stream->is_prechecked = false;
}

void hki_cuda_launched(hki_device *device, hki_queue_kind queue, const hki_cost *cost,
                       int64_t ready_ns, int64_t host_ns, hki_ticket *ticket)
{
    (void)cost;
    (void)host_ns;
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, queue);
    *ticket = (hki_ticket){.device = device,
                           .queue = queue,
                           .is_prechecked = ticket->is_prechecked,
                           .is_awaited = ticket->is_awaited};
    /* What was begun before the device was lost has a slot to be given back. */
    hki_cuda_slot *slot = stream_of(ticket)->current;
    if (slot && stream && slot->describe)
        hki_cuda_board_publish(stream, slot);
    end_launch(stream_of(ticket));
    if (!slot)
        return;
    ticket->position = slot->position;
    ticket->flags = slot->flags;
    slot->ready_ns = ready_ns;
    slot->launched_ns = hki_clock_ns();
    if (slot->code != HK_OK || slot->describe || slot->recorder_faults)
        ticket->fault = slot;
    ticket->is_flagged = slot->code == HK_OK && slot->flags && !slot->is_unflagged;
    if (!stream)
        return;
    slot->is_timed = slot->has_begun && record_time(stream, slot, 1);
    pthread_mutex_lock(&stream->marks);
    stream->launched = slot->position;
    cudaError_t error = cudaSuccess;
    if (ticket->is_awaited || ticket->fault || stream->launched - stream->recorded >= FEW)
        error = mark_locked(stream);
    pthread_mutex_unlock(&stream->marks);
    if (error != cudaSuccess && hki_cuda_survives(stream->its, error, "cudaEventRecord"))
        hki_cuda_lose(stream->its, "CUDA refused to note the end of a task: %s",
                      cudaGetErrorString(error));
}

/* Puts times of the GPU's clock on the host's axis. False: its base has been taken anew. */
static bool tell_times(hki_cuda_device *self, const hki_cuda_slot *slot, hki_ticket *ticket)
{
    float begin_ms, end_ms;
    cudaEvent_t base = self->bases[slot->base].event;
    if (!slot->is_timed)
        return false;
    pthread_mutex_lock(&self->lock);
    const bool is_told =
        atomic_load_explicit(&self->bases[slot->base].ns, memory_order_relaxed) == slot->base_ns &&
        has_worked(cudaEventElapsedTime(&begin_ms, base, slot->timed[0])) &&
        has_worked(cudaEventElapsedTime(&end_ms, base, slot->timed[1]));
    pthread_mutex_unlock(&self->lock);
    if (!is_told)
        return false;
    ticket->begin_ns = slot->base_ns + (int64_t)((double)begin_ms * 1e6);
    ticket->end_ns = slot->base_ns + (int64_t)((double)end_ms * 1e6);
    return true;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* Times of a task that is over: the GPU's, or as the host has seen them. */
static void note_times(hki_cuda_stream *stream, const hki_cuda_slot *slot, hki_ticket *ticket)
{
    int64_t now = hki_clock_ns();
    int64_t last = atomic_load_explicit(&stream->last_end_ns, memory_order_relaxed);
    if (!slot->has_ended || !tell_times(stream->its, slot, ticket)) {
        ticket->end_ns = now;
        ticket->begin_ns = later(later(slot->ready_ns, slot->launched_ns), last);
    }
    /* The two clocks are read a few microseconds apart. */
    if (ticket->end_ns > now)
        ticket->end_ns = now;
    if (ticket->begin_ns > ticket->end_ns)
        ticket->begin_ns = ticket->end_ns;
    atomic_store_explicit(&stream->last_end_ns, ticket->end_ns, memory_order_relaxed);
}

/* Whether what the task waits for may never come; the GPU is of no use then, for its stream cannot
 * be freed. */
static bool is_held(const hki_cuda_slot *slot, int *by)
{
    for (unsigned left = slot->waits; left; left &= left - 1) {
        *by = __builtin_ctz(left);
        const int64_t since = hki_cuda_lost_since(*by);
        if (since && hki_clock_ns() - since > HELD_NS)
            return true;
    }
    return false;
}

/* Of a task that has not ended: gives up what will never end. */
static void watch(hki_cuda_device *self, const hki_cuda_slot *slot)
{
    int by;
    if (slot->sum)
        hki_cuda_watch_sum(slot->sum, false);
    if (is_held(slot, &by))
        hki_cuda_lose(self, "it waits for GPU %d, which is lost", by);
}

int64_t hki_cuda_poll(hki_device *device, hki_ticket *ticket)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    hki_cuda_stream *stream = stream_of(ticket);
    hki_cuda_slot *slot = slot_of_ticket(ticket);
    if (!slot) {
        ticket->begin_ns = ticket->end_ns = hki_clock_ns();
        return 0;
    }
    slot->has_ended = has_ended(stream, slot->position);
    if (!slot->has_ended && !hki_cuda_is_lost(self)) {
        int64_t age_ns = hki_clock_ns() - slot->launched_ns;
        int64_t wait_ns = age_ns / 8 < SOON_NS     ? SOON_NS
                          : age_ns / 8 < SELDOM_NS ? age_ns / 8
                                                   : SELDOM_NS;
        if (age_ns < SOON_NS)
            return SOON_NS - age_ns;
        cudaError_t error =
            hki_cuda_enter(self) ? ask_end(stream, slot->position) : cudaErrorContextIsDestroyed;
        if (error == cudaErrorNotReady) {
            cudaGetLastError(); /* which it is, too */
            watch(self, slot);
            return wait_ns;
        }
        slot->has_ended = error == cudaSuccess;
        if (!slot->has_ended) /* of what ran before, since an event that is asked makes none */
            hki_cuda_lose(self, "%s (%s), seen after task %llu of its queue",
                          cudaGetErrorString(error), cudaGetErrorName(error),
                          (unsigned long long)slot->position);
    }
    note_times(stream, slot, ticket);
    return 0;
}

/* Where no stream can be made to wait. What is waited for has been launched, so that it ends
 * without this thread. */
static void wait_on_host(hki_cuda_stream *source, uint64_t position)
{
    while (!has_ended(source, position) && hki_cuda_enter(source->its)) {
        const cudaError_t error = ask_end(source, position);
        if (error != cudaSuccess && error != cudaErrorNotReady)
            return; /* who polls its tasks finds out */
        cudaGetLastError();
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
}

void hki_cuda_wait_for(hki_device *device, hki_queue_kind queue, const hki_ticket *ticket)
{
    hki_cuda_stream *source = stream_of(ticket);
    if (source == &hki_cuda_device_of(device)->streams[queue] ||
        has_ended(source, ticket->position) || hki_cuda_is_lost(source->its))
        return;
    hki_cuda_slot *slot = NULL;
    cudaError_t error = hki_cuda_enter(source->its) ? cudaSuccess : cudaErrorContextIsDestroyed;
    pthread_mutex_lock(&source->marks);
    if (error == cudaSuccess)
        error = find_mark_locked(source, ticket->position, &slot);
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, queue);
    if (error == cudaSuccess && !slot)
        error = cudaErrorStreamCaptureUnsupported;
    /* Should that be another task's by now, then that has been launched too, and waits for nothing that is still to be: the
     * wait is longer than need be, and ends. */
    if (stream && error == cudaSuccess)
        error = cudaStreamWaitEvent(stream->handle, slot->end, 0);
    if (stream)
        stream->current->waits |= 1U << source->its->gpu;
    pthread_mutex_unlock(&source->marks);
    /* No error of the task's that is to be launched, which it may not be after all. */
    if (stream && error != cudaSuccess &&
        hki_cuda_survives(stream->its, error, "cudaStreamWaitEvent"))
        wait_on_host(source, ticket->position);
}

/* ---- settling ------------------------------------------------------------------------------------------------------ */

/* Of a runtime that is ending, nobody asks whether tasks are done: their memory must not go before. */
static void see_end(hki_cuda_device *self, const hki_cuda_stream *stream, hki_cuda_slot *slot)
{
    if (slot->has_ended || !hki_cuda_enter(self))
        return;
    cudaError_t error = cudaErrorNotReady;
    while (slot->sum && (error = cudaStreamQuery(stream->handle)) == cudaErrorNotReady) {
        cudaGetLastError();
        hki_cuda_watch_sum(slot->sum, false);
        nanosleep(&(struct timespec){.tv_nsec = NAP_NS}, NULL);
    }
    if (!slot->sum)
        error = cudaStreamSynchronize(stream->handle);
    slot->has_ended = error == cudaSuccess;
    if (!slot->has_ended)
        hki_cuda_lose(self, "%s (%s)", cudaGetErrorString(error), cudaGetErrorName(error));
}

bool hki_cuda_settle(hki_device *device, hki_ticket *ticket, hk_code *code, char *message,
                     size_t bytes)
{
    hki_cuda_device *self = hki_cuda_device_of(device);
    hki_cuda_slot *slot = slot_of_ticket(ticket);
    char why[HKI_CUDA_SUM_WHY];
    bool good = true, has_reported = false;
    if (slot)
        see_end(self, stream_of(ticket), slot);
    if (slot && slot->has_ended && slot->describe)
        has_reported = slot->fault->index != UINT64_MAX;
    if (slot && slot->recorder_faults)
        has_reported = hki_cuda_recorder_settle(slot->recorder, slot);
    ticket->has_reported = has_reported;
    if (has_reported)
        atomic_fetch_or_explicit(&stream_of(ticket)->raised_flags, slot->flags,
                                 memory_order_relaxed);
    if (slot && slot->sum && !slot->has_ended) /* or the other GPUs would wait for this one */
        hki_cuda_watch_sum(slot->sum, true);
    if (!slot || !slot->has_ended) {
        *code = HK_DEVICE_LOST;
        snprintf(message, bytes, "%s is lost: %s; end the program, or go on without the device",
                 device->name, self->lost_text);
        ticket->call = -1;
        good = false;
    } else if (slot->code != HK_OK) {
        *code = slot->code;
        snprintf(message, bytes, "%s", slot->text);
        ticket->call = slot->call;
        good = false;
    } else if (slot->sum && hki_cuda_sum_failed(slot->sum, why)) {
        *code = HK_DEVICE_LOST;
        snprintf(message, bytes, "NCCL has given up: %s", why);
        ticket->call = slot->call;
        good = false;
    } else if (has_reported && slot->describe) {
        *code = slot->describe(slot->fault, slot->argument, message, bytes);
        good = false;
    }
    if (slot)
        atomic_store_explicit(&slot->in_use, false, memory_order_release);
    return good;
}
