/* Letters of UTF-8. Inline for the plugin of CUDA, which does not link this library. */
#ifndef HOCKET_BASE_UTF8_H
#define HOCKET_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of the letter that begins at `text`, of which there are `bytes`; 0: none does. */
static inline size_t hki_utf8_letter(const char *text, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)text;
    if (!bytes)
        return 0;
    if (c[0] < 0x80)
        return 1;
    const size_t length = c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : c[0] < 0xF5 ? 4 : 0;
    if (!length || length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    const bool is_overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
    const bool is_none = (c[0] == 0xED && c[1] >= 0xA0) || (c[0] == 0xF4 && c[1] >= 0x90);
    return is_overlong || is_none ? 0 : length;
}

/* How many of the first `length` bytes are left where no letter may be cut at the end. */
static inline size_t hki_utf8_cut(const char *text, size_t length)
{
    size_t at = length;
    while (at && length - at < 3 && ((unsigned char)text[at - 1] & 0xC0) == 0x80)
        at--;
    if (!at)
        return length;
    const unsigned char first = (unsigned char)text[at - 1];
    const size_t wanted = first < 0xC2 || first > 0xF4 ? 1
                          : first < 0xE0               ? 2
                          : first < 0xF0               ? 3
                                                       : 4;
    return length - (at - 1) < wanted ? at - 1 : length;
}

#endif
