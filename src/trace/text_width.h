/* How wide texts are in pictures, whose fonts are those of whoever looks at them. */
#ifndef HOCKET_TRACE_TEXT_WIDTH_H
#define HOCKET_TRACE_TEXT_WIDTH_H

#include <stddef.h>

/* Of monospace fonts, in parts of the size: 0.602 in the widest of DejaVu Sans Mono, Menlo,
 * Liberation Mono, Courier New, Consolas. */
#define HKI_MONOSPACE_WIDTH 0.602

/* Of `bytes` bytes of UTF-8, of a font without serifs of that size: in the wider one of DejaVu
 * Sans, which is that of most systems that have no Helvetica and no Arial, and of these. What is
 * not ASCII counts as one em. */
double hki_text_width(const char *text, size_t bytes, double size);

/* How many bytes of the text, whole characters, fit into `width`: all, or as many as leave room for
 * an ellipsis. */
size_t hki_text_fitting(const char *text, double width, double size);

/* Characters, not bytes. */
size_t hki_text_characters(const char *text, size_t bytes);

#endif
