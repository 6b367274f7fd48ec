#include "device/cuda/cuda_cache.h"

#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

enum { UNIT = _Alignof(max_align_t) };

static char *key_at(const hki_cuda_cache *cache, int set, int way)
{
    size_t entry_bytes =
        hki_round_up_bytes(cache->key_bytes, UNIT) + hki_round_up_bytes(cache->value_bytes, UNIT);
    return cache->entries + (size_t)(set * HKI_CUDA_CACHE_WAYS + way) * entry_bytes;
}

static void *value_at(const hki_cuda_cache *cache, int set, int way)
{
    return key_at(cache, set, way) + hki_round_up_bytes(cache->key_bytes, UNIT);
}

/* FNV-1a. */
static int set_of(const hki_cuda_cache *cache, const void *key)
{
    uint64_t hash = UINT64_C(14695981039346656037);
    for (size_t i = 0; i < cache->key_bytes; i++)
        hash = (hash ^ ((const unsigned char *)key)[i]) * UINT64_C(1099511628211);
    return (int)((hash ^ hash >> 32) % HKI_CUDA_CACHE_SETS);
}

void hki_cuda_cache_init(hki_cuda_cache *cache, size_t key_bytes, size_t value_bytes,
                         void (*drop)(void *value, void *context), void *context)
{
    *cache = (hki_cuda_cache){
        .key_bytes = key_bytes, .value_bytes = value_bytes, .drop = drop, .context = context};
}

void hki_cuda_cache_deinit(hki_cuda_cache *cache)
{
    for (int set = 0; set < HKI_CUDA_CACHE_SETS; set++)
        for (int way = 0; way < HKI_CUDA_CACHE_WAYS; way++)
            if (cache->used[set][way])
                cache->drop(value_at(cache, set, way), cache->context);
    free(cache->entries);
    cache->entries = NULL;
    memset(cache->used, 0, sizeof cache->used);
}

void *hki_cuda_cache_find(hki_cuda_cache *cache, const void *key)
{
    int set = set_of(cache, key);
    for (int way = 0; way < HKI_CUDA_CACHE_WAYS; way++)
        if (cache->used[set][way] && !memcmp(key_at(cache, set, way), key, cache->key_bytes)) {
            cache->used[set][way] = ++cache->clock;
            return value_at(cache, set, way);
        }
    return NULL;
}

void *hki_cuda_cache_put(hki_cuda_cache *cache, const void *key)
{
    int set = set_of(cache, key), oldest = 0;
    if (!cache->entries) {
        size_t entry_bytes = hki_round_up_bytes(cache->key_bytes, UNIT) +
                             hki_round_up_bytes(cache->value_bytes, UNIT);
        cache->entries = malloc(HKI_CUDA_CACHE_SETS * HKI_CUDA_CACHE_WAYS * entry_bytes);
        if (!cache->entries)
            return NULL;
    }
    for (int way = 1; way < HKI_CUDA_CACHE_WAYS; way++)
        if (cache->used[set][way] < cache->used[set][oldest])
            oldest = way;
    void *value = value_at(cache, set, oldest);
    if (cache->used[set][oldest])
        cache->drop(value, cache->context);
    cache->used[set][oldest] = ++cache->clock;
    memcpy(key_at(cache, set, oldest), key, cache->key_bytes);
    memset(value, 0, cache->value_bytes);
    return value;
}
