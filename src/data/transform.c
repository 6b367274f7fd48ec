#include "data/transform.h"
#include "base/option.h"

#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { MOST_SIZE = 1 << 16 }; /* rows, columns, padding */

/* ---- resizing -------------------------------------------------------------------------------------------- */

/* The two neighbours of a place along an axis, and how much the second one counts. */
typedef struct tap {
    int64_t first, second;
    float part;
} tap;

static tap tap_of(int64_t i, int64_t to, int64_t from)
{
    const double at = ((double)i + 0.5) * (double)from / (double)to - 0.5;
    const double low = at < 0 ? 0 : floor(at);
    const int64_t first = (int64_t)low < from - 1 ? (int64_t)low : from - 1;
    return (tap){first, first + 1 < from ? first + 1 : first,
                 at < 0 ? 0 : (float)(at - (double)first)};
}

void hki_image_resize(float *to, hki_image_size to_size, const float *from, hki_image_size size)
{
    for (int64_t y = 0; y < to_size.height; y++) {
        const tap rows = tap_of(y, to_size.height, size.height);
        for (int64_t x = 0; x < to_size.width; x++) {
            const tap columns = tap_of(x, to_size.width, size.width);
            for (int64_t c = 0; c < size.channels; c++) {
                const float *a = from + (c * size.height + rows.first) * size.width;
                const float *b = from + (c * size.height + rows.second) * size.width;
                const float top =
                    a[columns.first] + columns.part * (a[columns.second] - a[columns.first]);
                const float low =
                    b[columns.first] + columns.part * (b[columns.second] - b[columns.first]);
                to[(c * to_size.height + y) * to_size.width + x] = top + rows.part * (low - top);
            }
        }
    }
}

/* ---- others ---------------------------------------------------------------------------------------------- */

static double unit_of(uint32_t word)
{
    return (double)word * 0x1p-32;
}

static int64_t below(uint32_t word, int64_t limit)
{
    return (int64_t)(unit_of(word) * (double)limit);
}

static void crop(const hk_transform *self, const uint32_t words[4], float *to, const float *from,
                 hki_image_size size)
{
    const int64_t top =
        below(words[0], size.height + 2 * self->padding - self->height + 1) - self->padding;
    const int64_t left =
        below(words[1], size.width + 2 * self->padding - self->width + 1) - self->padding;
    for (int64_t c = 0; c < size.channels; c++)
        for (int64_t y = 0; y < self->height; y++)
            for (int64_t x = 0; x < self->width; x++) {
                const int64_t row = top + y, column = left + x;
                const bool is_inside =
                    row >= 0 && row < size.height && column >= 0 && column < size.width;
                *to++ = is_inside ? from[(c * size.height + row) * size.width + column] : 0;
            }
}

static void flip(const hk_transform *self, const uint32_t words[4], float *to, const float *from,
                 hki_image_size size)
{
    const double probability = hki_option_or(self->probability, 0.5);
    if (unit_of(words[0]) >= probability) {
        memcpy(to, from, (size_t)hki_image_elements(size) * sizeof *to);
        return;
    }
    for (int64_t row = 0; row < size.channels * size.height; row++)
        for (int64_t x = 0; x < size.width; x++)
            to[row * size.width + x] = from[(row + 1) * size.width - 1 - x];
}

static void normalize(const hk_transform *self, float *to, const float *from, hki_image_size size)
{
    const int64_t plane = size.height * size.width;
    for (int64_t c = 0; c < size.channels; c++)
        for (int64_t i = c * plane; i < (c + 1) * plane; i++)
            to[i] = (from[i] - self->mean[c]) / self->std[c];
}

/* Of red, green and blue: ITU-R BT.601. */
static float grey_of(const float *image, hki_image_size size, int64_t pixel)
{
    const int64_t plane = size.height * size.width;
    if (size.channels != 3)
        return image[pixel];
    return 0.299f * image[pixel] + 0.587f * image[plane + pixel] +
           0.114f * image[2 * plane + pixel];
}

static float clip(float value)
{
    return value < 0 ? 0 : value > 1 ? 1 : value;
}

static float factor_of(double amount, uint32_t word)
{
    return (float)(1 + amount * (2 * unit_of(word) - 1));
}

static void blend_with(float *image, int64_t count, float factor, float other)
{
    for (int64_t i = 0; i < count; i++)
        image[i] = clip(factor * image[i] + (1 - factor) * other);
}

static void jitter(const hk_transform *self, const uint32_t words[4], float *to, const float *from,
                   hki_image_size size)
{
    const int64_t plane = size.height * size.width, count = hki_image_elements(size);
    double sum = 0;
    memcpy(to, from, (size_t)count * sizeof *to);
    blend_with(to, count, factor_of(self->brightness, words[0]), 0);
    for (int64_t i = 0; i < plane; i++)
        sum += (double)grey_of(to, size, i);
    blend_with(to, count, factor_of(self->contrast, words[1]), (float)(sum / (double)plane));
    const float saturation = factor_of(self->saturation, words[2]);
    for (int64_t i = 0; i < plane && size.channels == 3; i++) {
        const float grey = grey_of(to, size, i);
        for (int64_t c = 0; c < 3; c++)
            blend_with(to + c * plane + i, 1, saturation, grey);
    }
}

/* ---- all of them ----------------------------------------------------------------------------------------- */

static bool is_part(double value)
{
    return value >= 0 && value <= 1;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static void check_size(const hk_transform *self, int64_t most_height, int64_t most_width,
                       char *wrong)
{
    if (self->height < 1 || self->width < 1 || self->height > most_height ||
        self->width > most_width)
        hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES,
                   "height and width are %" PRId64 " and %" PRId64 "; 1 to %" PRId64
                   " and 1 to %" PRId64 " would be right",
                   self->height, self->width, most_height, most_width);
}

static void check_padding(const hk_transform *self, char *wrong)
{
    if (self->padding < 0 || self->padding > MOST_SIZE)
        hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES,
                   "padding is %" PRId64 "; 0 to %d would be right", self->padding, MOST_SIZE);
}

static void check_part(const char *name, double value, char *wrong)
{
    if (!is_part(value))
        hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES, "%s is %g; 0 to 1 would be right", name, value);
}

static void check_normalize(const hk_transform *self, hki_image_size size, char *wrong)
{
    if (size.channels > HK_TRANSFORM_MOST_CHANNELS)
        hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES,
                   "images have %" PRId64 " channels; at most %d can be normalized", size.channels,
                   HK_TRANSFORM_MOST_CHANNELS);
    for (int c = 0; c < size.channels && !*wrong; c++)
        if (!isfinite(self->mean[c]) || !(self->std[c] > 0) || !isfinite(self->std[c]))
            hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES,
                       "mean[%d] is %g and std[%d] %g; a finite mean, and a std above 0, of each "
                       "channel would be right",
                       c, (double)self->mean[c], c, (double)self->std[c]);
}

void hki_transform_check(const hk_transform *self, hki_image_size size,
                         char wrong[HKI_TRANSFORM_TEXT_BYTES])
{
    *wrong = '\0';
    switch (self->kind) {
    case HK_TRANSFORM_RESIZE:
        check_size(self, MOST_SIZE, MOST_SIZE, wrong);
        return;
    case HK_TRANSFORM_CROP:
        check_padding(self, wrong);
        if (!*wrong)
            check_size(self, smaller(MOST_SIZE, size.height + 2 * self->padding),
                       smaller(MOST_SIZE, size.width + 2 * self->padding), wrong);
        return;
    case HK_TRANSFORM_FLIP:
        check_part("probability", self->probability, wrong);
        return;
    case HK_TRANSFORM_NORMALIZE:
        check_normalize(self, size, wrong);
        return;
    case HK_TRANSFORM_JITTER:
        check_part("saturation", self->saturation, wrong);
        check_part("contrast", self->contrast, wrong);
        check_part("brightness", self->brightness, wrong);
        return;
    }
    hki_format(wrong, HKI_TRANSFORM_TEXT_BYTES, "kind is %d; an hk_transform_kind would be right",
               (int)self->kind);
}

hki_image_size hki_transform_size(const hk_transform *self, hki_image_size size)
{
    if (self->kind == HK_TRANSFORM_RESIZE || self->kind == HK_TRANSFORM_CROP)
        return (hki_image_size){size.channels, self->height, self->width};
    return size;
}

void hki_transform_run(const hk_transform *self, const uint32_t words[4], float *to,
                       const float *from, hki_image_size size)
{
    switch (self->kind) {
    case HK_TRANSFORM_RESIZE:
        hki_image_resize(to, hki_transform_size(self, size), from, size);
        break;
    case HK_TRANSFORM_CROP:
        crop(self, words, to, from, size);
        break;
    case HK_TRANSFORM_FLIP:
        flip(self, words, to, from, size);
        break;
    case HK_TRANSFORM_NORMALIZE:
        normalize(self, to, from, size);
        break;
    case HK_TRANSFORM_JITTER:
        jitter(self, words, to, from, size);
        break;
    }
}
