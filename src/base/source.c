#include "base/source.h"

_Thread_local hk_source hki_source_here;

void hk_source_set(const char *file, int line)
{
    hki_source_here = (hk_source){file, line};
}

void hki_source_put(hk_source source)
{
    hki_source_here = source;
}
