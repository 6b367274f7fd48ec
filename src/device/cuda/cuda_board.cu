/* What recordings and tasks are told on the device, in the order of a stream: flags and faults on boards, and where draws begin. */
#include "device/cuda/cuda_board.h"

#include "device/cuda/cuda_launch.cuh"

HKI_KERNEL void board(hki_cuda_fault *faults)
{
    hki_cuda_fault *own = faults + threadIdx.x;
    own->number = threadIdx.x;
    own->index = UINT64_MAX;
    own->value = 0;
}

HKI_KERNEL void publish(const hki_cuda_publication given)
{
    const unsigned i = threadIdx.x;
    hki_cuda_fault *own = given.board + given.first + i;
    given.to[i].index = own->index;
    given.to[i].value = own->value;
    unsigned long long flags = (unsigned long long)given.flags.high << 32 | given.flags.low;
    for (unsigned j = 0; j < i; j++)
        flags &= flags - 1;
    if (own->index != UINT64_MAX && given.onto)
        atomicOr(&given.onto->value, flags & (0 - flags));
    own->index = UINT64_MAX;
    own->value = 0;
    if (i == 0 && given.onto)
        given.board->value = 0;
}

HKI_KERNEL void lower(hki_cuda_fault *faults, const hki_cuda_guard flags)
{
    faults->value &= ~((unsigned long long)flags.high << 32 | flags.low);
}

HKI_KERNEL void raise_where(const hki_cuda_guard guard, hki_cuda_fault *faults, const int flag)
{
    if (hki_cuda_is_up(guard))
        faults->value |= 1ull << flag;
}

void hki_cuda_launch_board(hki_cuda_stream *stream, hki_cuda_fault *faults, int count)
{
    HKI_LAUNCH(stream, 1, (unsigned)count + 1, board, faults);
}

void hki_cuda_launch_publication(hki_cuda_stream *stream, const hki_cuda_publication *publication)
{
    HKI_LAUNCH(stream, 1, (unsigned)publication->count, publish, *publication);
}

void hki_cuda_launch_lower(hki_cuda_stream *stream, hki_cuda_fault *faults, uint64_t flags)
{
    HKI_LAUNCH(stream, 1, 1, lower, faults, hki_cuda_guard_of(faults, flags));
}

void hki_cuda_launch_raise(hki_cuda_stream *stream, hki_cuda_guard guard, hki_cuda_fault *faults,
                           int flag)
{
    HKI_LAUNCH(stream, 1, 1, raise_where, guard, faults, flag);
}

/* ---- where draws begin --------------------------------------------------------------------------------------- */

enum { MOST_PLACES = 64 /* by value, in one launch */ };

struct some_places {
    hki_random_place of[MOST_PLACES];
};

HKI_KERNEL void set_places(hki_random_place *to, const some_places given)
{
    to[threadIdx.x] = given.of[threadIdx.x];
}

void hki_cuda_launch_random_places(hki_cuda_stream *stream, hki_random_place *to,
                                   const hki_random_place *from, int count)
{
    for (int at = 0; at < count; at += MOST_PLACES) {
        some_places given = {};
        const int many = count - at < MOST_PLACES ? count - at : MOST_PLACES;
        for (int i = 0; i < many; i++)
            given.of[i] = from[at + i];
        HKI_LAUNCH(stream, 1, (unsigned)many, set_places, to + at, given);
    }
}
