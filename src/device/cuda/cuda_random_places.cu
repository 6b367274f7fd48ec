#include "device/cuda/cuda_random_places.h"

#include "device/cuda/cuda_launch.cuh"

enum { MOST = 64 /* by value, in one launch */ };

struct some_places {
    hki_random_place of[MOST];
};

HKI_KERNEL void set_places(hki_random_place *to, const some_places given)
{
    to[threadIdx.x] = given.of[threadIdx.x];
}

void hki_cuda_launch_random_places(hki_cuda_stream *stream, hki_random_place *to,
                                   const hki_random_place *from, int count)
{
    for (int at = 0; at < count; at += MOST) {
        some_places given = {};
        const int many = count - at < MOST ? count - at : MOST;
        for (int i = 0; i < many; i++)
            given.of[i] = from[at + i];
        HKI_LAUNCH(stream, 1, (unsigned)many, set_places, to + at, given);
    }
}
