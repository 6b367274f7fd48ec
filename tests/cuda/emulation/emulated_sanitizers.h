/* What the emulation tells sanitizers, so that they see a GPU's order of events and no other: two streams are ordered by
 * events alone, not by the emulation's own locks. Nothing elsewhere. */
#ifndef HOCKET_TESTS_EMULATED_SANITIZERS_H
#define HOCKET_TESTS_EMULATED_SANITIZERS_H

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HKI_EMULATED_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define HKI_EMULATED_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HKI_EMULATED_ASAN 1
#elif __has_feature(thread_sanitizer)
#define HKI_EMULATED_TSAN 1
#endif
#endif

#ifdef HKI_EMULATED_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef HKI_EMULATED_TSAN
#include <sanitizer/tsan_interface.h>
extern "C" {
void AnnotateIgnoreSyncBegin(const char *file, int line);
void AnnotateIgnoreSyncEnd(const char *file, int line);
void AnnotateIgnoreReadsBegin(const char *file, int line);
void AnnotateIgnoreReadsEnd(const char *file, int line);
void AnnotateIgnoreWritesBegin(const char *file, int line);
void AnnotateIgnoreWritesEnd(const char *file, int line);
}
#endif

/* A function whose reads and writes the thread sanitizer is not to see: of what belongs to one thread, though its fibers
 * look like several. */
#ifdef HKI_EMULATED_TSAN
#define HKI_EMULATED_UNSEEN __attribute__((no_sanitize("thread")))
#else
#define HKI_EMULATED_UNSEEN
#endif

namespace emulated
{

/* While one lives, the thread sanitizer takes this thread's locks for no order, and its reads and writes for none: for
 * the emulation's own data, which real locks protect. */
struct unseen {
#ifdef HKI_EMULATED_TSAN
    unseen()
    {
        AnnotateIgnoreSyncBegin(__FILE__, __LINE__);
        AnnotateIgnoreReadsBegin(__FILE__, __LINE__);
        AnnotateIgnoreWritesBegin(__FILE__, __LINE__);
    }
    ~unseen()
    {
        AnnotateIgnoreWritesEnd(__FILE__, __LINE__);
        AnnotateIgnoreReadsEnd(__FILE__, __LINE__);
        AnnotateIgnoreSyncEnd(__FILE__, __LINE__);
    }
#else
    unseen() {}
    ~unseen() {}
#endif
    unseen(const unseen &) = delete;
    unseen &operator=(const unseen &) = delete;
};

/* What happened before `announce` of an address happened before what comes after `heed` of it. */
inline void announce(void *address)
{
#ifdef HKI_EMULATED_TSAN
    __tsan_release(address);
#else
    (void)address;
#endif
}

inline void heed(void *address)
{
#ifdef HKI_EMULATED_TSAN
    __tsan_acquire(address);
#else
    (void)address;
#endif
}

inline void forbid_access(void *data, size_t bytes)
{
#ifdef HKI_EMULATED_ASAN
    ASAN_POISON_MEMORY_REGION(data, bytes);
#else
    (void)data, (void)bytes;
#endif
}

inline void allow_access(void *data, size_t bytes)
{
#ifdef HKI_EMULATED_ASAN
    ASAN_UNPOISON_MEMORY_REGION(data, bytes);
#else
    (void)data, (void)bytes;
#endif
}

} // namespace emulated

#endif
