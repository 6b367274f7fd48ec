/* The source position of this thread's calls, which records name. */
#ifndef HOCKET_BASE_SOURCE_H
#define HOCKET_BASE_SOURCE_H

#include <hocket/base.h>

extern _Thread_local hk_source hki_source_here;

/* The position that a function with _at, or hk_source_set, noted last in this thread. Calls inside the
 * library are those of plain functions, in parentheses: they leave it as it is. */
static inline hk_source hki_source_get(void)
{
    return hki_source_here;
}
void hki_source_put(hk_source source);

#endif
