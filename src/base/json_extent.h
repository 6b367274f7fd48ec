/* Where the values of a JSON text begin and end, without building anything from them: so that a long text can be
 * parsed in parts, of which each is small. Only as much of the grammar is checked as that takes; the parser of the
 * parts checks the rest. */
#ifndef HOCKET_BASE_JSON_EXTENT_H
#define HOCKET_BASE_JSON_EXTENT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct hki_json_text {
    const char *data;
    size_t bytes;
    size_t at;         /* the next byte to read */
    const char *error; /* what was expected at `at`; NULL: nothing is wrong. Static text */
} hki_json_text;

typedef struct hki_json_extent {
    size_t begin, end;
    size_t container_count; /* objects and arrays, itself included */
    size_t comma_count;     /* between their members */
} hki_json_extent;

void hki_json_skip_space(hki_json_text *text);
/* Takes the character, after space, if it comes next. */
bool hki_json_take(hki_json_text *text, char c);
/* The same, or sets error, a text such as "a colon". */
bool hki_json_expect(hki_json_text *text, char c, const char *what);
/* Any value, after space. False, with error set, when the text ends in it or there is none. */
bool hki_json_take_value(hki_json_text *text, hki_json_extent *value);
/* A string, its quotes included. */
bool hki_json_take_string(hki_json_text *text, hki_json_extent *value);
/* From 1. Takes time in proportion to the offset. */
long hki_json_line(const hki_json_text *text, size_t offset);

#endif
