#include "json_text.h"

#include <math.h>
#include <stdbool.h>

/* Bytes of the UTF-8 sequence at `text`; 0 when it is none. */
static int sequence_length(const unsigned char *text)
{
    int length = text[0] < 0x80                       ? 1
                 : text[0] >= 0xC2 && text[0] <= 0xDF ? 2
                 : text[0] >= 0xE0 && text[0] <= 0xEF ? 3
                 : text[0] >= 0xF0 && text[0] <= 0xF4 ? 4
                                                      : 0;
    for (int i = 1; i < length; i++)
        if ((text[i] & 0xC0) != 0x80)
            return 0;
    bool overlong = (text[0] == 0xE0 && text[1] < 0xA0) || (text[0] == 0xF0 && text[1] < 0x90);
    bool surrogate = text[0] == 0xED && text[1] >= 0xA0;
    bool beyond = text[0] == 0xF4 && text[1] >= 0x90;
    return overlong || surrogate || beyond ? 0 : length;
}

void json_print_string(const char *text, FILE *stream)
{
    fputc('"', stream);
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        int length = sequence_length(c);
        if (*c == '"' || *c == '\\')
            fprintf(stream, "\\%c", *c);
        else if (*c < 0x20 || *c == 0x7F)
            fprintf(stream, "\\u%04x", *c);
        else if (length)
            fwrite(c, 1, (size_t)length, stream);
        else
            fputs("\\ufffd", stream);
        c += length ? length : 1;
    }
    fputc('"', stream);
}

void text_print(const char *text, size_t most, FILE *stream)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        const int length = sequence_length(c);
        const bool is_control = *c < 0x20 || *c == 0x7F || (*c == 0xC2 && c[1] < 0xA0);
        const bool is_shown = length && !is_control;
        const size_t taken = is_shown ? (size_t)length : 4;
        if (taken > most)
            break;
        if (is_shown)
            fwrite(c, 1, taken, stream);
        else
            fprintf(stream, "\\x%02x", *c);
        most -= taken;
        c += is_shown ? length : 1;
    }
}

void json_print_number(double value, int digits, FILE *stream)
{
    if (isfinite(value))
        fprintf(stream, "%.*g", digits, value);
    else
        fputs("null", stream);
}
