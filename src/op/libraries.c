/* What the library stands on, and whether that is sound. */
#include "op/libraries.h"

#include "base/kernel_isa.h"
#include "op/matmul/gemm_kernel.h"

#include <hocket/version.h>
#include <pthread.h>
#include <stdio.h>
#include <zlib.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static char libraries[256], problem[256];

static void examine(void)
{
    static const char *const isas[] = {"any processor", "AVX2", "AVX-512"};
    snprintf(libraries, sizeof libraries, "%s, zlib %s, kernels for %s", hki_gemm_library(),
             zlibVersion(), isas[hki_kernel_isa_get()]);
    if (hki_gemm_check(problem, sizeof problem))
        problem[0] = '\0';
}

const char *hki_libraries_problem(void)
{
    pthread_once(&once, examine);
    return *problem ? problem : NULL;
}

const char *hk_version(void)
{
    return HK_VERSION_STRING;
}

const char *hk_libraries(void)
{
    pthread_once(&once, examine);
    return libraries;
}

const hk_status *hk_libraries_check(void)
{
    const hki_status_facts facts = {.operation = "libraries_check"};
    const char *reason = hki_libraries_problem();
    return hki_status_lend(reason ? hki_status_create(HK_UNSUPPORTED, &facts, "%s", reason)
                                  : hki_status_ok());
}
