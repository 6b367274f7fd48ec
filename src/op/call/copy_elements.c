/* Elements from one place to another, whatever they mean. */
#include "op/kernels/elementwise/elementwise.h"
#include "op/operators/copy.h"

#include <string.h>

#define COPY_LOOP(type)                                                                            \
    static int64_t copy_##type(const hki_run *run)                                                 \
    {                                                                                              \
        const int64_t bytes = (int64_t)sizeof(type);                                               \
        if (run->in_step[0] == bytes && run->out_step == bytes) {                                  \
            if (run->out != run->in[0])                                                            \
                memcpy(run->out, run->in[0], (size_t)(run->n * bytes));                            \
            return -1;                                                                             \
        }                                                                                          \
        const char *from = run->in[0];                                                             \
        char *to = run->out;                                                                       \
        for (int64_t i = 0; i < run->n; i++) {                                                     \
            *(type *)to = *(const type *)from;                                                     \
            from += run->in_step[0];                                                               \
            to += run->out_step;                                                                   \
        }                                                                                          \
        return -1;                                                                                 \
    }
COPY_LOOP(uint8_t)
COPY_LOOP(uint16_t)
COPY_LOOP(uint32_t)
COPY_LOOP(uint64_t)
COPY_LOOP(hk_complex)

void hki_copy_elements(const hki_kernel_call *call, int64_t begin, int64_t end)
{
    switch (hk_dtype_bytes(call->out[0].dtype)) {
    case 1:
        hki_walk(call, begin, end, NULL, copy_uint8_t);
        break;
    case 2:
        hki_walk(call, begin, end, NULL, copy_uint16_t);
        break;
    case 4:
        hki_walk(call, begin, end, NULL, copy_uint32_t);
        break;
    case 8:
        hki_walk(call, begin, end, NULL, copy_uint64_t);
        break;
    default:
        hki_walk(call, begin, end, NULL, copy_hk_complex);
        break;
    }
}
