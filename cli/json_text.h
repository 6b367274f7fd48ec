/* Values as JSON (RFC 8259). */
#ifndef HOCKET_CLI_JSON_TEXT_H
#define HOCKET_CLI_JSON_TEXT_H

#include <stdio.h>

/* In quotes; what is no UTF-8 is replaced by U+FFFD. */
void json_print_string(const char *text, FILE *stream);
/* `digits` significant digits; null for what is no finite number. */
void json_print_number(double value, int digits, FILE *stream);

#endif
