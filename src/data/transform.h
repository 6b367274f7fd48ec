/* What is done to images as they are loaded: loops on float32 (channels, height, width). Pure functions. */
#ifndef HOCKET_DATA_TRANSFORM_H
#define HOCKET_DATA_TRANSFORM_H

#include <hocket/data_sets.h>

typedef struct hki_image_size {
    int64_t channels, height, width;
} hki_image_size;

static inline int64_t hki_image_elements(hki_image_size size)
{
    return size.channels * size.height * size.width;
}

/* Bilinear: pixels' centres are at halves, what lies outside is the nearest pixel. */
void hki_image_resize(float *to, hki_image_size to_size, const float *from, hki_image_size size);

enum { HKI_TRANSFORM_TEXT_BYTES = 160 };
/* wrong: what is wrong with it for images of that size, or "". */
void hki_transform_check(const hk_transform *self, hki_image_size size,
                         char wrong[HKI_TRANSFORM_TEXT_BYTES]);
/* Of what it makes. */
hki_image_size hki_transform_size(const hk_transform *self, hki_image_size size);
/* Which follows from the words, random ones, where it draws. */
void hki_transform_run(const hk_transform *self, const uint32_t words[4], float *to,
                       const float *from, hki_image_size size);

#endif
