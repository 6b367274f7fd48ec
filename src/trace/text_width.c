#include "trace/text_width.h"

#include <stdint.h>
#include <string.h>

/* Thousandths of the size, from the blank to the tilde. */
static const uint16_t widths[95] = {
    318, 401, 460, 838, 637, 951, 780, 275, 391, 391, 500, 838, 318, 361,  318, 337, 637, 637, 637,
    637, 637, 637, 637, 637, 637, 637, 337, 337, 838, 838, 838, 557, 1016, 685, 687, 723, 771, 667,
    611, 778, 752, 295, 500, 667, 558, 863, 749, 788, 667, 788, 723, 667,  611, 732, 685, 989, 686,
    667, 686, 391, 337, 391, 838, 557, 500, 613, 635, 550, 635, 616, 353,  635, 634, 278, 278, 580,
    278, 975, 634, 612, 635, 635, 412, 521, 393, 634, 592, 818, 592, 592,  525, 637, 337, 637, 838,
};
enum { OTHER = 1000 };

static int is_continuation(char c)
{
    return ((unsigned char)c & 0xC0) == 0x80;
}

static int width_of(char c)
{
    const unsigned char code = (unsigned char)c;
    return is_continuation(c) ? 0 : code >= ' ' && code <= '~' ? widths[code - ' '] : OTHER;
}

double hki_text_width(const char *text, size_t bytes, double size)
{
    int sum = 0;
    for (size_t i = 0; i < bytes; i++)
        sum += width_of(text[i]);
    return sum * size / 1000;
}

size_t hki_text_fitting(const char *text, double width, double size)
{
    const size_t length = strlen(text);
    if (hki_text_width(text, length, size) <= width)
        return length;
    size_t fitting = 0;
    double used = hki_text_width("\xE2\x80\xA6", 3, size); /* the ellipsis */
    for (size_t i = 0; i < length && used + width_of(text[i]) * size / 1000 <= width;) {
        used += width_of(text[i++]) * size / 1000;
        while (is_continuation(text[i]))
            i++;
        fitting = i;
    }
    return fitting;
}

size_t hki_text_characters(const char *text, size_t bytes)
{
    size_t count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += !is_continuation(text[i]);
    return count;
}
