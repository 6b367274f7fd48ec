#include "base/quote.h"

#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* A letter, or a byte, as it is shown. */
typedef struct shown_letter {
    char text[4];
    size_t length; /* of text */
    size_t taken;
} shown_letter;

/* Of ASCII, or the second set, which terminals obey too. */
static bool is_control(const char *text, size_t length)
{
    const unsigned char first = (unsigned char)text[0];
    return first < 0x20 || first == 0x7F ||
           (length == 2 && first == 0xC2 && (unsigned char)text[1] < 0xA0);
}

/* bytes > 0. has_lines: ends of lines, and tabs, are meant. */
static shown_letter show_letter(const char *text, size_t bytes, bool has_lines)
{
    static const char digits[] = "0123456789abcdef";
    const size_t length = hki_utf8_letter(text, bytes);
    shown_letter shown = {.length = length, .taken = length};
    const bool is_meant = has_lines && (*text == '\n' || *text == '\t');
    if (length && (is_meant || !is_control(text, length))) {
        memcpy(shown.text, text, length);
        return shown;
    }
    const unsigned char byte = (unsigned char)text[0];
    memcpy(shown.text, (const char[]){'\\', 'x', digits[byte >> 4], digits[byte & 15]}, 4);
    shown.length = 4;
    shown.taken =
        1; /* of a control character of two bytes the second is none that begins a letter */
    return shown;
}

static size_t shown_length(const char *text, size_t bytes)
{
    size_t length = 0;
    for (size_t at = 0; at < bytes;) {
        const shown_letter letter = show_letter(text + at, bytes - at, false);
        length += letter.length;
        at += letter.taken;
    }
    return length;
}

void hki_show_name(char *shown, size_t bytes, const char *name)
{
    const size_t length = strlen(name);
    size_t left = shown_length(name, length), used = 0, at = 0;
    if (left >= bytes) {
        memcpy(shown, "...", 3);
        used = 3;
    }
    while (used + left >= bytes) {
        const shown_letter letter = show_letter(name + at, length - at, false);
        at += letter.taken;
        left -= letter.length;
    }
    while (at < length) {
        const shown_letter letter = show_letter(name + at, length - at, false);
        memcpy(shown + used, letter.text, letter.length);
        at += letter.taken;
        used += letter.length;
    }
    shown[used] = '\0';
}

hki_quoted hki_quote_bytes(const char *text, size_t length, size_t most)
{
    hki_quoted quoted;
    size_t used = 0, fitting = 0, at = 0;
    while (at < length) {
        const shown_letter letter = show_letter(text + at, length - at, false);
        if (used + letter.length > most) {
            memcpy(quoted.text + fitting, "...", 3);
            used = fitting + 3;
            break;
        }
        memcpy(quoted.text + used, letter.text, letter.length);
        used += letter.length;
        at += letter.taken;
        if (used + 3 <= most)
            fitting = used;
    }
    quoted.text[used] = '\0';
    return quoted;
}

hki_quoted hki_quote(const char *text, size_t most)
{
    return hki_quote_bytes(text ? text : "", text ? strlen(text) : 0, most);
}

size_t hki_mend_text(char *to, size_t bytes, const char *text)
{
    const size_t length = strlen(text);
    size_t needed = 0, used = 0;
    for (size_t at = 0; at < length;) {
        const shown_letter letter = show_letter(text + at, length - at, true);
        if (needed == used && used + letter.length < bytes) {
            memcpy(to + used, letter.text, letter.length);
            used += letter.length;
        }
        needed += letter.length;
        at += letter.taken;
    }
    if (bytes)
        to[used] = '\0';
    return needed + 1;
}
