#include "base/text.h"
#include "base/utf8.h"
#include "trace/timeline.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAPACITY = 4096 };

/* Room for `bytes` more and the zero byte that always follows the text. */
static bool reserve(hki_writer *writer, size_t bytes)
{
    if (writer->is_failed)
        return false;
    if (bytes < writer->capacity - writer->bytes)
        return true;
    size_t capacity = writer->capacity ? writer->capacity : FIRST_CAPACITY;
    while (capacity - writer->bytes <= bytes && capacity <= SIZE_MAX / 2)
        capacity *= 2;
    char *data = capacity - writer->bytes > bytes ? realloc(writer->data, capacity) : NULL;
    if (!data) {
        writer->is_failed = true;
        return false;
    }
    writer->data = data;
    writer->capacity = capacity;
    return true;
}

void hki_write_bytes(hki_writer *writer, const void *data, size_t bytes)
{
    if (!reserve(writer, bytes))
        return;
    if (bytes)
        memcpy(writer->data + writer->bytes, data, bytes);
    writer->bytes += bytes;
    writer->data[writer->bytes] = '\0';
}

void hki_write(hki_writer *writer, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    size_t room = writer->capacity - writer->bytes;
    char *at = writer->data ? writer->data + writer->bytes : NULL;
    int length = writer->is_failed ? -1 : hki_format_va(at, room, format, args);
    if (length < 0)
        writer->is_failed = true;
    else if ((size_t)length >= room && reserve(writer, (size_t)length))
        hki_format_va(writer->data + writer->bytes, (size_t)length + 1, format, again);
    if (!writer->is_failed)
        writer->bytes += (size_t)length;
    va_end(again);
    va_end(args);
}

/* Writes `text` in runs of what stands for itself everywhere; `escape` writes the other characters (length 0: a
 * byte that is no UTF-8), and returns false for those that stand for themselves in its format. */
static void write_escaped(hki_writer *writer, const char *text,
                          bool (*escape)(hki_writer *writer, unsigned char c, size_t length))
{
    const unsigned char *run = (const unsigned char *)text, *at = run;
    while (*at) {
        size_t length = hki_utf8_letter((const char *)at, strnlen((const char *)at, 4));
        unsigned char c = *at;
        bool is_special = !length || c < 0x20 || c == 0x7F || strchr("\"\\&<>", c);
        if (is_special) {
            hki_write_bytes(writer, run, (size_t)(at - run));
            run = at + (length ? length : 1);
            if (!escape(writer, c, length))
                hki_write_bytes(writer, at, 1);
        }
        at += length ? length : 1;
    }
    hki_write_bytes(writer, run, (size_t)(at - run));
}

static bool escape_json(hki_writer *writer, unsigned char c, size_t length)
{
    if (!length)
        hki_write(writer, "\\ufffd");
    else if (c == '"' || c == '\\')
        hki_write(writer, "\\%c", c);
    else
        hki_write(writer, "\\u%04x", c);
    return true;
}

static bool escape_xml(hki_writer *writer, unsigned char c, size_t length)
{
    if (c == '&')
        hki_write(writer, "&amp;");
    else if (c == '<')
        hki_write(writer, "&lt;");
    else if (c == '>')
        hki_write(writer, "&gt;");
    else if (c == '"')
        hki_write(writer, "&quot;");
    else if (!length || ((c < 0x20 || c == 0x7F) && c != '\n' && c != '\t'))
        hki_write(writer, "\xEF\xBF\xBD"); /* U+FFFD: XML has no way to say these */
    else
        return false;
    return true;
}

void hki_write_json_string(hki_writer *writer, const char *text)
{
    hki_write(writer, "\"");
    write_escaped(writer, text, escape_json);
    hki_write(writer, "\"");
}

void hki_write_xml(hki_writer *writer, const char *text)
{
    write_escaped(writer, text, escape_xml);
}
