/* Within the room: which plug-in a file is for. */
#ifndef HOCKET_MODEL_FORMAT_H
#define HOCKET_MODEL_FORMAT_H

#include <stdbool.h>
#include <string.h>

/* The format that the options name, or else what the file's name ends with. */
static inline const char *hki_format_of(const char *path, const char *format)
{
    const char *dot = strrchr(path, '.');
    return format ? format : dot && !strchr(dot, '/') ? dot + 1 : "";
}

/* Whether there may be a plug-in for it. */
static inline bool hki_format_is_name(const char *text)
{
    const size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && length <= 32 && !text[length];
}

#endif
