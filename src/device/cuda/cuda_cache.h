/* Within the plug-in: what a library was asked once about a problem, kept for the next call with the same one. A table
 * from keys to values of fixed sizes, bounded: a value that has not been used for long makes room for another.
 *
 * Externally synchronised. */
#ifndef HOCKET_DEVICE_CUDA_CACHE_H
#define HOCKET_DEVICE_CUDA_CACHE_H

#include <stddef.h>
#include <stdint.h>

enum { HKI_CUDA_CACHE_SETS = 64, HKI_CUDA_CACHE_WAYS = 4 };

typedef struct hki_cuda_cache {
    size_t key_bytes, value_bytes;
    /* Frees what a value has; the value's memory is the cache's. */
    void (*drop)(void *value, void *context);
    void *context;
    uint64_t clock;
    uint64_t used[HKI_CUDA_CACHE_SETS][HKI_CUDA_CACHE_WAYS]; /* 0: empty */
    char *entries; /* key, value; made when the first one is put in */
} hki_cuda_cache;

/* Empty. Keys are compared by their bytes: their types have no gaps. */
void hki_cuda_cache_init(hki_cuda_cache *cache, size_t key_bytes, size_t value_bytes,
                         void (*drop)(void *value, void *context), void *context);
/* Drops all values. */
void hki_cuda_cache_deinit(hki_cuda_cache *cache);

/* Borrowed until the next call of _put; NULL: there is none. */
void *hki_cuda_cache_find(hki_cuda_cache *cache, const void *key);
/* A zeroed value for a key that is not there, after dropping another if need be. NULL when host memory is short. */
void *hki_cuda_cache_put(hki_cuda_cache *cache, const void *key);

#endif
