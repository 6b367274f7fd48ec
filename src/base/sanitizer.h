/* Which sanitizer this is compiled with, by both compilers, as 0 or 1. AddressSanitizer sees stray accesses only to memory
 * that was really freed, or that it is told of. */
#ifndef HOCKET_BASE_SANITIZER_H
#define HOCKET_BASE_SANITIZER_H

#if defined(__SANITIZE_ADDRESS__)
#define HKI_ADDRESS_SANITIZER 1
#elif defined(__SANITIZE_THREAD__)
#define HKI_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HKI_ADDRESS_SANITIZER 1
#elif __has_feature(thread_sanitizer)
#define HKI_THREAD_SANITIZER 1
#endif
#endif
#ifndef HKI_ADDRESS_SANITIZER
#define HKI_ADDRESS_SANITIZER 0
#endif
#ifndef HKI_THREAD_SANITIZER
#define HKI_THREAD_SANITIZER 0
#endif
#define HKI_SANITIZED (HKI_ADDRESS_SANITIZER || HKI_THREAD_SANITIZER)

/* Of the plain loops, in one thread, that results are compared with: they take most of a test's time where each step is checked
 * for overflows and races. What they read and write is still checked to be there. */
#if HKI_SANITIZED
#define HKI_PLAIN_LOOPS __attribute__((no_sanitize("undefined", "thread")))
#else
#define HKI_PLAIN_LOOPS
#endif

/* Parts of an allocation that nobody may touch, and may again; addresses are multiples of 8. */
#if HKI_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#define HKI_POISON(address, bytes)   __asan_poison_memory_region(address, bytes)
#define HKI_UNPOISON(address, bytes) __asan_unpoison_memory_region(address, bytes)
#else
#define HKI_POISON(address, bytes)   ((void)(address), (void)(bytes))
#define HKI_UNPOISON(address, bytes) ((void)(address), (void)(bytes))
#endif

#endif
