/* For tests: allocations of this thread that fail. A sanitizer has an allocator of its own: there they never do. Include it
 * in one file of a program. */
#ifndef HOCKET_TESTS_FAILING_MEMORY_H
#define HOCKET_TESTS_FAILING_MEMORY_H

#include "base/sanitizer.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

/* The next `after` allocations succeed, then one fails, or all do. */
static _Thread_local struct {
    bool is_on, all;
    int after, failed_count;
} failing;

static inline void failing_begin(int after, bool all)
{
    failing.after = after;
    failing.all = all;
    failing.failed_count = 0;
    failing.is_on = true;
}

/* Returns how many have failed. */
static inline int failing_end(void)
{
    failing.is_on = false;
    return failing.failed_count;
}

#if !HKI_SANITIZED
/* Of the C library's own calls too. */
#define HKI_INSTEAD __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t count, size_t bytes);
void *__libc_realloc(void *old, size_t bytes);
void *__libc_memalign(size_t alignment, size_t bytes);

static bool fails(void)
{
    if (!failing.is_on || failing.after-- > 0 || (!failing.all && failing.failed_count))
        return false;
    failing.failed_count++;
    errno = ENOMEM;
    return true;
}

HKI_INSTEAD void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

HKI_INSTEAD void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

HKI_INSTEAD void *aligned_alloc(size_t alignment, size_t bytes)
{
    return fails() ? NULL : __libc_memalign(alignment, bytes);
}

HKI_INSTEAD void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}
#endif

#endif
