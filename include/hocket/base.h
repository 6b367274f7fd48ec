/* What every other public header needs: linkage, visibility, source locations, element types. */
#ifndef HOCKET_BASE_H
#define HOCKET_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#define HK_BEGIN_DECLS extern "C" {
#define HK_END_DECLS   }
#else
#define HK_BEGIN_DECLS
#define HK_END_DECLS
#endif

#if defined(__GNUC__)
#define HK_API __attribute__((visibility("default")))
#define HK_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define HK_API
#define HK_PRINTF(format, first)
#endif

HK_BEGIN_DECLS

/* Element types. Sizes in bytes: 4, 8, 4, 8, 1, 1. A bool is stored as 0 or 1. */
typedef enum hk_dtype { HK_F32, HK_F64, HK_I32, HK_I64, HK_U8, HK_BOOL } hk_dtype;
enum { HK_DTYPE_COUNT = 6 };

/* An array has at most this many axes. */
enum { HK_MAX_NDIM = 8 };

/* Bytes of one element; 0 for a value that is no dtype. */
HK_API size_t hk_dtype_bytes(hk_dtype dtype);
/* "float32", "float64", "int32", "int64", "uint8", "bool"; "invalid" otherwise. Static text. */
HK_API const char *hk_dtype_name(hk_dtype dtype);

/* Notes the caller's source position for the next call of this thread; error records carry it. The
 * macros over the functions below do this; other front ends call it themselves. `file` is borrowed and
 * must live until the runtime ends (a string literal, or interned text). */
HK_API void hk_source_set(const char *file, int line);

#define HK_HERE(call) (hk_source_set(__FILE__, __LINE__), call)

HK_END_DECLS

#endif
