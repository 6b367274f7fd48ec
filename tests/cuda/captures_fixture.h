/* Of tests of captures on a CUDA device: the runtime, and arrays. */
#ifndef HOCKET_TESTS_CAPTURES_FIXTURE_H
#define HOCKET_TESTS_CAPTURES_FIXTURE_H

#include "check.h"

#include <hocket/hocket.h>

enum { MAX_VALUES = 256 };

static inline hk_device gpu(void)
{
    return hk_device_named("cuda:0");
}

static inline void begin(hk_engine engine)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cuda = "0", .engine = engine})));
}

/* So many calls have failed, and no memory is in use. */
static inline void end(uint64_t failures)
{
    const hk_status *status = hk_wait_all();
    CHECK_EQ_I64(hk_ok(status) ? 0 : hk_status_count(status), failures);
    if (!failures)
        hk_status_print(status, stderr);
    CHECK_EQ_I64(hk_device_get_memory(gpu()).used_bytes, 0);
    hk_runtime_deinit();
}

/* Numbers that do not repeat soon. */
static inline hk_array *numbers(hk_dims shape, int first)
{
    float values[MAX_VALUES];
    int64_t size = 1;
    for (int i = 0; i < shape.ndim; i++)
        size *= shape.dims[i];
    for (int64_t i = 0; i < size; i++)
        values[i] = (float)((i * 37 + first * 101) % 89) / 89 - 0.5f;
    return hk_from_host(values, shape, HK_F32, gpu());
}

#endif
