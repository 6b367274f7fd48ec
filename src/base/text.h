/* Numbers as text, with a point whatever the locale of the program, or of the thread, says: what variables and files hold and
 * messages show is the same everywhere. Whoever prints or reads a number with a fraction does it by these; so do functions
 * that take a format. Thread-safe; they allocate nothing. Inline for the plugin of CUDA, which does not link this library. */
#ifndef HOCKET_BASE_TEXT_H
#define HOCKET_BASE_TEXT_H

#include "base/utf8.h"

#include <hocket/status.h>

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* This one is the C library's own: it is neither allocated nor ever freed. */
static inline locale_t hki_locale(void)
{
    return newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* As vsnprintf; what does not fit is cut between letters of UTF-8. */
HK_PRINTF(3, 0)
static inline int hki_format_va(char *text, size_t bytes, const char *format, va_list args)
{
    const locale_t before = uselocale(hki_locale());
    const int length = vsnprintf(text, bytes, format, args);
    uselocale(before);
    if (length > 0 && bytes && (size_t)length >= bytes)
        text[hki_utf8_cut(text, bytes - 1)] = '\0';
    return length;
}

/* Of a pointer in a message: where it points says nothing to a reader. */
static inline const char *hki_given(const void *argument)
{
    return argument ? "given" : "NULL";
}

/* The same, as snprintf. */
HK_PRINTF(3, 4)
static inline int hki_format(char *text, size_t bytes, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const int length = hki_format_va(text, bytes, format, args);
    va_end(args);
    return length;
}

/* As strtod and strtof. */
static inline double hki_read_double(const char *text, char **end)
{
    return strtod_l(text, end, hki_locale());
}

static inline float hki_read_float(const char *text, char **end)
{
    return strtof_l(text, end, hki_locale());
}

#endif
