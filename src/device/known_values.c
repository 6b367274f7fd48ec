#include "device/known_values.h"

#define RANGE_OF(T)                                                                                \
    static void range_of_##T(const void *data, uint64_t bytes, struct hki_known_copy *found)       \
    {                                                                                              \
        const T *values = data;                                                                    \
        T least = values[0], most = values[0];                                                     \
        for (uint64_t i = 1; i < bytes / sizeof(T); i++) {                                         \
            least = values[i] < least ? values[i] : least;                                         \
            most = values[i] > most ? values[i] : most;                                            \
        }                                                                                          \
        found->least = least;                                                                      \
        found->most = most;                                                                        \
    }
RANGE_OF(uint8_t)
RANGE_OF(int32_t)
RANGE_OF(int64_t)

void hki_known_values_note(hki_known_values *self, uint64_t version, uint64_t begin,
                           const void *data, uint64_t bytes, hk_dtype dtype)
{
    struct hki_known_copy found = {.version = version, .begin = begin, .end = begin + bytes};
    if (!version || !bytes || bytes > HKI_KNOWN_MAX_BYTES)
        return;
    if (dtype == HK_I64)
        range_of_int64_t(data, bytes, &found);
    else if (dtype == HK_I32)
        range_of_int32_t(data, bytes, &found);
    else if (dtype == HK_U8)
        range_of_uint8_t(data, bytes, &found);
    else
        return;
    hki_lock_acquire(&self->lock);
    self->copies[self->noted++ % HKI_KNOWN_COPIES] = found;
    hki_lock_release(&self->lock);
}

bool hki_known_values_are_within(hki_known_values *self, uint64_t version, uint64_t begin,
                                 uint64_t end, int64_t limit)
{
    bool are_within = false;
    hki_lock_acquire(&self->lock);
    for (int i = 0; version && i < HKI_KNOWN_COPIES && !are_within; i++) {
        const struct hki_known_copy *found = &self->copies[i];
        are_within = found->version == version && found->begin <= begin && end <= found->end &&
                     found->least >= 0 && found->most < limit;
    }
    hki_lock_release(&self->lock);
    return are_within;
}
