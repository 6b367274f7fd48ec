#include "base/source.h"

#include <hocket/version.h>
#include <stdio.h>
#include <string.h>

_Thread_local hk_source hki_source_here;
_Thread_local size_t hki_options_bytes;
_Alignas(16) const char hki_options_unknown[HKI_MOST_OPTIONS_BYTES];

void hk_source_set(const char *file, int line)
{
    hki_source_here = (hk_source){file, line};
    hki_options_bytes = 0;
}

void hk_source_set_options(const char *file, int line, size_t bytes)
{
    hki_source_here = (hk_source){file, line};
    hki_options_bytes = bytes;
}

const void *hki_options_fit(const void *options, size_t theirs, size_t bytes, void *own)
{
    for (size_t i = bytes; i < theirs; i++)
        if (((const char *)options)[i]) {
            fprintf(stderr,
                    "hocket: %s:%d: the options say something that this library, " HK_VERSION_STRING
                    ", does not know: the program was compiled with a newer version\n",
                    hki_source_here.file ? hki_source_here.file : "?", hki_source_here.line);
            return hki_options_unknown;
        }
    memset(own, 0, bytes);
    return memcpy(own, options, theirs < bytes ? theirs : bytes);
}

void hki_source_put(hk_source source)
{
    hki_source_here = source;
}
