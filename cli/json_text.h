/* Values as JSON (RFC 8259), and texts of files as people may see them. */
#ifndef HOCKET_CLI_JSON_TEXT_H
#define HOCKET_CLI_JSON_TEXT_H

#include <stdio.h>

/* In quotes; what is no UTF-8 is replaced by U+FFFD. */
void json_print_string(const char *text, FILE *stream);
/* `most` bytes at most, without a part of a letter; what could steer a terminal, and what is no
 * UTF-8, is shown as \xNN. */
void text_print(const char *text, size_t most, FILE *stream);
/* `digits` significant digits; null for what is no finite number. */
void json_print_number(double value, int digits, FILE *stream);

#endif
