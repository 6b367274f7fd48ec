/* Where the random numbers of a call begin: see op/random/random.h. C and CUDA C++. */
#ifndef HOCKET_DEVICE_RANDOM_PLACE_H
#define HOCKET_DEVICE_RANDOM_PLACE_H

#include <stdint.h>

typedef struct hki_random_place {
    uint64_t seed, stream, position;
} hki_random_place;

#endif
