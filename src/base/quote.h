/* Texts from outside (names, fields of files, variables) as messages show them: letters of UTF-8
 * as they are, control characters and what is no letter as an escape such as \x1b. No letter is
 * ever cut. Thread-safe; nothing is allocated. */
#ifndef HOCKET_BASE_QUOTE_H
#define HOCKET_BASE_QUOTE_H

#include <stddef.h>

enum { HKI_NAME_SHOWN_BYTES = 240 + 4, HKI_QUOTED_BYTES = 256 };

/* The name, else its end behind "...". bytes > 8. */
void hki_show_name(char *shown, size_t bytes, const char *name);

/* The text, else its beginning before "...". */
typedef struct hki_quoted {
    char text[HKI_QUOTED_BYTES];
} hki_quoted;

/* As much of it as takes `most` bytes; 8 < most < HKI_QUOTED_BYTES. For an argument of a format:
 * hki_quote(name, 40).text. NULL is taken for an empty text. */
hki_quoted hki_quote(const char *text, size_t most);
/* The same of `length` bytes. */
hki_quoted hki_quote_bytes(const char *text, size_t length, size_t most);

/* All of a text of several lines, whose ends stay: bytes that this takes with the 0 behind them,
 * of which `to` gets what fits. */
size_t hki_mend_text(char *to, size_t bytes, const char *text);

#endif
