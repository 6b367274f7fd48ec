/* What kernels and library calls are given: see cuda_stream.h. */
#include "device/cuda/cuda_internal.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIN_WORKSPACE_BYTES = 1 << 20 };

cudaStream_t hki_cuda_stream_handle(const hki_cuda_stream *stream)
{
    return stream->handle;
}

int hki_cuda_stream_multiprocessors(const hki_cuda_stream *stream)
{
    return stream->its->multiprocessors;
}

bool hki_cuda_stream_allows_tf32(const hki_cuda_stream *stream)
{
    return stream->its->options.allow_tf32;
}

hki_device *hki_cuda_stream_device(const hki_cuda_stream *stream)
{
    return stream->its->device;
}

/* ---- errors ---------------------------------------------------------------------------------------------------- */

HK_PRINTF(3, 4)
static void note(hki_cuda_stream *stream, hk_code code, const char *format, ...)
{
    hki_cuda_slot *slot = stream->current;
    if (hki_cuda_is_recording(stream)) {
        hki_cuda_refuse_recording(stream);
        return;
    }
    if (!slot || slot->code != HK_OK)
        return;
    va_list args;
    va_start(args, format);
    vsnprintf(slot->text, sizeof slot->text, format, args);
    va_end(args);
    slot->code = code;
    slot->call = hki_cuda_current_call(stream);
}

bool hki_cuda_ok(hki_cuda_stream *stream, cudaError_t error, const char *what)
{
    if (error == cudaSuccess)
        return true;
    if (hki_cuda_survives(stream->its, error, what))
        note(stream, error == cudaErrorMemoryAllocation ? HK_OUT_OF_MEMORY : HK_UNSUPPORTED,
             "CUDA refused %s: %s (%s)", what, cudaGetErrorString(error), cudaGetErrorName(error));
    return false;
}

void hki_cuda_note(hki_cuda_stream *stream, const char *what, const char *text)
{
    note(stream, HK_UNSUPPORTED, "%s: %s", what, text);
}

/* ---- refusals ---------------------------------------------------------------------------------------------------- */

void hki_cuda_refuse(hki_cuda_stream *stream, const char *what, const char *text)
{
    stream->refused_what = what;
    snprintf(stream->refused_text, sizeof stream->refused_text, "%s", text);
}

bool hki_cuda_falls_back(hki_cuda_stream *stream)
{
    if (hki_cuda_is_recording(stream)) {
        hki_cuda_refuse_recording(stream);
        return false;
    }
    /* Of a lost GPU libraries say anything. What they leave with the thread is no launch's. */
    cudaError_t error = cudaStreamQuery(stream->its->memory);
    if (error != cudaSuccess && error != cudaErrorNotReady &&
        !hki_cuda_survives(stream->its, error, stream->refused_what))
        return false;
    cudaGetLastError();
    hki_cuda_tell_method(stream, "own kernel, since a library refused", 0);
    return true;
}

void hki_cuda_tell_method(hki_cuda_stream *stream, const char *method, int number)
{
    atomic_store_explicit(&stream->method, method, memory_order_relaxed);
    atomic_store_explicit(&stream->method_number, number, memory_order_relaxed);
}

void hki_cuda_last_method(hki_device *device, char *text, size_t bytes)
{
    hki_cuda_stream *stream = &hki_cuda_device_of(device)->streams[HKI_QUEUE_COMPUTE];
    const char *method = atomic_load_explicit(&stream->method, memory_order_relaxed);
    snprintf(text, bytes, "%s", "");
    if (method && stream->refused_what)
        snprintf(text, bytes, "%s %d (refused last: %s: %s)", method,
                 atomic_load_explicit(&stream->method_number, memory_order_relaxed),
                 stream->refused_what, stream->refused_text);
    else if (method)
        snprintf(text, bytes, "%s %d", method,
                 atomic_load_explicit(&stream->method_number, memory_order_relaxed));
}

hki_cuda_fault *hki_cuda_fault_slot(hki_cuda_stream *stream, hki_cuda_describe_fn describe,
                                    int64_t argument)
{
    hki_cuda_slot *slot = stream->current;
    if (stream->recorder)
        return hki_cuda_recorder_fault(stream, describe, argument);
    if (!slot || !slot->fault) {
        hki_cuda_note(stream, "a kernel that may fail", "there is no place for what it reports");
        return NULL;
    }
    hki_cuda_fault *board = hki_cuda_stream_board(stream);
    if (!board || stream->is_prechecked)
        return board ? &board[1 + HKI_CUDA_NO_FLAG] : NULL;
    if (!slot->describe) {
        slot->flags = hki_cuda_flags_take(stream, 1);
        slot->is_unflagged = !slot->flags;
        slot->board_index =
            1 + (slot->flags ? __builtin_ctzll(slot->flags) : (int)HKI_CUDA_NO_FLAG);
        slot->describe = describe;
        slot->argument = argument;
    }
    return &board[slot->board_index];
}

hki_cuda_guard hki_cuda_stream_guard(const hki_cuda_stream *stream)
{
    return stream->guard;
}

/* ---- choices ----------------------------------------------------------------------------------------------------- */

static hki_choices *choices_of(const hki_cuda_stream *stream)
{
    return stream->its->host->runtime_choices(stream->its->device->runtime);
}

static hki_choice_key key_here(const hki_cuda_stream *stream, const hki_choice_key *key)
{
    hki_choice_key its = *key;
    memmove(its.numbers + 2, key->numbers, (HKI_CHOICE_NUMBERS - 2) * sizeof its.numbers[0]);
    its.numbers[0] = stream->its->capability;
    its.numbers[1] = stream->its->multiprocessors;
    its.count += 2;
    return its;
}

const char *hki_cuda_stream_choice(hki_cuda_stream *stream, const hki_choice_key *key)
{
    const hki_choice_key its = key_here(stream, key);
    return stream->its->host->choices_find(choices_of(stream), &its, NULL);
}

bool hki_cuda_stream_measures(const hki_cuda_stream *stream)
{
    return !hki_cuda_is_recording(stream) &&
           stream->its->host->choices_is_measuring(choices_of(stream));
}

void hki_cuda_stream_note_choice(hki_cuda_stream *stream, const hki_choice_key *key,
                                 const char *word)
{
    const hki_choice_key its = key_here(stream, key);
    stream->its->host->choices_note(choices_of(stream), &its, word);
}

/* ---- what is kept ------------------------------------------------------------------------------------------------ */

void hki_cuda_workspace_release(hki_cuda_stream *stream)
{
    if (stream->workspace) {
        if (stream->its->pool)
            cudaFreeAsync(stream->workspace, stream->handle);
        else
            cudaFree(stream->workspace);
    }
    stream->workspace = NULL;
    stream->workspace_bytes = 0;
}

static cudaError_t workspace_allocate(hki_cuda_stream *stream, void **data, size_t bytes)
{
    cudaMemPool_t pool = stream->its->pool;
    return pool ? cudaMallocFromPoolAsync(data, bytes, pool, stream->handle)
                : cudaMalloc(data, bytes);
}

/* What the pools of arrays and of the GPU keep goes back to the GPU. */
static void give_room(const hki_cuda_device *self)
{
    cudaGetLastError();
    self->host->memory_pool_trim(self->device->memory);
    if (self->pool) {
        cudaStreamSynchronize(self->memory); /* nothing runs there but this */
        cudaMemPoolTrimTo(self->pool, 0);
    }
}

/* In the stream's order, so that what still uses the old one is not disturbed. Where there is no memory it waits for
 * launched tasks to end, as arrays do. */
static cudaError_t workspace_grow(hki_cuda_stream *stream, size_t bytes)
{
    hki_device *device = stream->its->device;
    size_t size = MIN_WORKSPACE_BYTES;
    void *data = NULL;
    while (size < bytes && size < SIZE_MAX / 2)
        size *= 2;
    hki_cuda_workspace_release(stream);
    cudaError_t error = workspace_allocate(stream, &data, size);
    for (bool more = true; error == cudaErrorMemoryAllocation && more;) {
        give_room(stream->its);
        error = workspace_allocate(stream, &data, size);
        more = error != cudaSuccess && device->make_room && device->make_room(device);
    }
    if (error ==
        cudaErrorMemoryAllocation) { /* no more than is needed; what ended last may just have given room */
        give_room(stream->its);
        size = bytes;
        error = workspace_allocate(stream, &data, size);
    }
    if (error == cudaSuccess) {
        stream->workspace = data;
        stream->workspace_bytes = size;
        stream->workspace_number++;
    }
    return error;
}

bool hki_cuda_has_workspace(hki_cuda_stream *stream, size_t bytes)
{
    if (bytes <= stream->workspace_bytes || hki_cuda_is_recording(stream))
        return true;
    cudaError_t error = workspace_grow(stream, bytes);
    if (error == cudaErrorMemoryAllocation)
        cudaGetLastError();
    return error != cudaErrorMemoryAllocation; /* others are told by hki_cuda_workspace */
}

void *hki_cuda_workspace(hki_cuda_stream *stream, size_t bytes)
{
    if (bytes <= stream->workspace_bytes)
        return stream->workspace;
    if (hki_cuda_is_recording(stream)) { /* it would be the recording's own */
        hki_cuda_refuse_recording(stream);
        return NULL;
    }
    cudaError_t error = workspace_grow(stream, bytes);
    if (error == cudaErrorMemoryAllocation) {
        cudaGetLastError();
        size_t free_bytes = 0, total_bytes = 0;
        cudaMemGetInfo(&free_bytes, &total_bytes);
        note(stream, HK_OUT_OF_MEMORY,
             "%s has no room for %zu bytes of workspace: %zu of %zu free; release arrays",
             stream->its->device->name, bytes, free_bytes, total_bytes);
        return NULL;
    }
    return hki_cuda_ok(stream, error, "memory for a workspace") ? stream->workspace : NULL;
}

void hki_cuda_stream_has_loaded(hki_cuda_stream *stream)
{
    stream->its->host->runtime_end_first();
}

void *hki_cuda_stream_keep(hki_cuda_stream *stream, hki_cuda_kept which, size_t bytes,
                           void (*deinit)(void *state))
{
    if (!stream->kept[which].state) {
        hki_cuda_stream_has_loaded(stream);
        stream->kept[which].state = calloc(1, bytes);
        stream->kept[which].deinit = deinit;
    }
    if (!stream->kept[which].state)
        note(stream, HK_OUT_OF_MEMORY, "no host memory for what CUDA's libraries keep");
    return stream->kept[which].state;
}
