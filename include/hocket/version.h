/* The version of the headers in use, and what the library was built with. */
#ifndef HOCKET_VERSION_H
#define HOCKET_VERSION_H

#include <hocket/status.h>

#define HK_VERSION_MAJOR  0
#define HK_VERSION_MINOR  1
#define HK_VERSION_PATCH  0
#define HK_VERSION_STRING "0.1.0"

HK_BEGIN_DECLS

/* HK_VERSION_STRING of the library that is linked. */
HK_API const char *hk_version(void);

/* The libraries in use and the instruction set of the kernels, such as
 * "OpenBLAS 0.3.21 … SkylakeX, zlib 1.2.13, kernels for AVX-512". Static text; thread-safe. */
HK_API const char *hk_libraries(void);

/* Whether they are the right ones and work together: HK_UNSUPPORTED with the reason where, say, another
 * BLAS has taken the place of the one that was linked. Matrix products fail with that record then. Checks
 * once, in less than a millisecond; thread-safe. */
HK_API const hk_status *hk_libraries_check(void);

HK_END_DECLS

#endif
