#include "op/matmul/openblas_memory.h"

#include "base/kernel_isa.h"

#include <cblas.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* OpenBLAS's BUFFER_SIZE on x86-64, which its block sizes are made for, and some slack. As much
 * without access follows, so that a build with larger blocks faults rather than corrupts. */
#define BUFFER_BYTES ((size_t)128 << 20)
#define SLACK_BYTES  ((size_t)64 << 10)
#define MAP_BYTES    (BUFFER_BYTES + 2 * SLACK_BYTES)

/* What OpenBLAS wants of its memory.c. */
void *gotoblas; /* the table of kernels in use */
void *blas_memory_alloc(int procpos);
void blas_memory_free(void *buffer);
/* What that file calls before main. */
void openblas_read_env(void);
void gotoblas_dynamic_init(void);

static char library[256]; /* copied before main, for OpenBLAS writes its line anew at each call */
static pthread_key_t unmap_key; /* unmaps a thread's buffer when it ends */
static bool have_unmap_key;
static _Thread_local struct {
    void *buffer;
    bool in_use;
    uint64_t taken_count;
} mine;

static void *map_buffer(void)
{
    void *map = mmap(NULL, MAP_BYTES, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    mprotect((char *)map + BUFFER_BYTES + SLACK_BYTES, SLACK_BYTES, PROT_NONE);
    return map;
}

static void unmap_buffer(void *buffer)
{
    munmap(buffer, MAP_BYTES);
    if (buffer == mine.buffer)
        mine.buffer = NULL;
}

bool hki_blas_memory_reserve(void)
{
    if (mine.buffer)
        return true;
    mine.buffer = map_buffer();
    if (mine.buffer && have_unmap_key)
        pthread_setspecific(unmap_key, mine.buffer);
    return mine.buffer != NULL;
}

uint64_t hki_blas_memory_taken_count(void)
{
    return mine.taken_count;
}

const char *hki_blas_library(void)
{
    return library;
}

/* Called once per product; a second one before the first is freed gets a mapping of its own. */
void *blas_memory_alloc(int procpos)
{
    (void)procpos;
    mine.taken_count++;
    if (mine.in_use)
        return map_buffer();
    mine.in_use = hki_blas_memory_reserve();
    return mine.buffer;
}

void blas_memory_free(void *buffer)
{
    if (buffer == mine.buffer)
        mine.in_use = false;
    else if (buffer)
        munmap(buffer, MAP_BYTES);
}

#ifdef __x86_64__

/* The tables of kernels that are not linked: OpenBLAS's chooser names them all, choose_core() never
 * lets it pick one. */
#define NO_KERNELS(core)                                                                           \
    extern char gotoblas_##core[1];                                                                \
    char gotoblas_##core[1]
NO_KERNELS(ATOM);
NO_KERNELS(BARCELONA);
NO_KERNELS(BOBCAT);
NO_KERNELS(BULLDOZER);
NO_KERNELS(COOPERLAKE);
NO_KERNELS(CORE2);
NO_KERNELS(DUNNINGTON);
NO_KERNELS(EXCAVATOR);
NO_KERNELS(NANO);
NO_KERNELS(NEHALEM);
NO_KERNELS(OPTERON);
NO_KERNELS(OPTERON_SSE3);
NO_KERNELS(PENRYN);
NO_KERNELS(PILEDRIVER);
NO_KERNELS(SANDYBRIDGE);
NO_KERNELS(STEAMROLLER);
NO_KERNELS(ZEN);

static const char *choose_core(void)
{
    switch (hki_kernel_isa_get()) {
    case HKI_ISA_AVX512:
        return "SkylakeX";
    case HKI_ISA_AVX2:
        return "Haswell";
    case HKI_ISA_PORTABLE:
        break;
    }
    return "Prescott"; /* SSE3 */
}

/* OpenBLAS's chooser reads the environment only. Another thread may be reading it too, where the
 * library is loaded late, and setenv would not be safe then: so it sees a one-line environment of
 * its own, for as long as it takes. */
static void init_kernels(void)
{
    static char setting[40] = "OPENBLAS_CORETYPE=";
    static char *one_line[] = {setting, NULL};
    char **saved = environ;

    strcat(setting, choose_core());
    openblas_read_env();
    __atomic_store_n(&environ, one_line, __ATOMIC_RELEASE);
    gotoblas_dynamic_init();
    __atomic_store_n(&environ, saved, __ATOMIC_RELEASE);
}

#else

static void init_kernels(void)
{
    openblas_read_env();
    gotoblas_dynamic_init();
}

#endif

__attribute__((constructor)) static void init_openblas(void)
{
    have_unmap_key = pthread_key_create(&unmap_key, unmap_buffer) == 0;
    init_kernels();
    snprintf(library, sizeof library, "%s", openblas_get_config());
}
