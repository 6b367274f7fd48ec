/* The source position of this thread's calls, which records name. */
#ifndef HOCKET_BASE_SOURCE_H
#define HOCKET_BASE_SOURCE_H

#include <hocket/base.h>

extern _Thread_local hk_source hki_source_here;

/* The position that a function with _at, or hk_source_set, noted last in this thread. Calls
 * inside the library are those of plain functions, in parentheses: they leave it as it is. */
static inline hk_source hki_source_get(void)
{
    return hki_source_here;
}
void hki_source_put(hk_source source);

/* ---- options that grow
 * ---------------------------------------------------------------------------------- */

/* How many bytes the next call's options have in the program; 0: as many as here. */
extern _Thread_local size_t hki_options_bytes;
enum { HKI_MOST_OPTIONS_BYTES = 1024 };
/* All defaults, in place of options that say something in fields which this library does not
 * know. */
extern const char hki_options_unknown[];
const void *hki_options_fit(const void *options, size_t theirs, size_t bytes, void *own);

/* What a public function has been given, as options of this library's size: own, of so many
 * bytes, where sizes differ. */
static inline const void *hki_options_take(const void *options, size_t bytes, void *own)
{
    const size_t theirs = hki_options_bytes;
    hki_options_bytes = 0;
    return !options || !theirs || theirs == bytes ? options
                                                  : hki_options_fit(options, theirs, bytes, own);
}
/* First in such a function: `options` is its parameter. */
#define HKI_TAKE_OPTIONS(type, options)                                                            \
    type options##_own;                                                                            \
    options = hki_options_take(options, sizeof options##_own, &options##_own)

#endif
