/* A wait for a byte range of a variable, for tests of the engine. */
#ifndef HOCKET_TESTS_WAIT_RANGE_H
#define HOCKET_TESTS_WAIT_RANGE_H

#include "engine/engine.h"

/* See hki_wait_with. */
static inline const hk_status *wait_range(hki_var *var, uint64_t begin, uint64_t end,
                                          void (*body)(void *), void *argument)
{
    return hki_wait_with(
        &(hki_waiting){.var = var, .range = {begin, end, 0}, .body = body, .argument = argument});
}

#endif
