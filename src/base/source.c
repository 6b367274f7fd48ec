#include "base/source.h"

static _Thread_local hk_source source_here;

void hk_source_set(const char *file, int line)
{
    source_here = (hk_source){file, line};
}

hk_source hki_source_get(void)
{
    return source_here;
}

void hki_source_put(hk_source source)
{
    source_here = source;
}
