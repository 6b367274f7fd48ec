/* A bounded cache: what was put in is found as it was, until enough others have been used since; every value is
 * dropped exactly once. */
#include "check.h"

#include "device/cuda/cuda_cache.h"

#include <stdbool.h>

typedef struct key {
    int64_t number, other;
} key;

enum { KEYS = 4000, ROOM = HKI_CUDA_CACHE_SETS * HKI_CUDA_CACHE_WAYS };

static key key_of(int64_t number)
{
    return (key){number, number % 7};
}

static void drop(void *value, void *context)
{
    ((int *)context)[*(int *)value]++;
}

static void test_bounded(void)
{
    static int dropped[KEYS];
    hki_cuda_cache cache;
    int alive = 0;
    hki_cuda_cache_init(&cache, sizeof(key), sizeof(int), drop, dropped);
    for (int i = 0; i < KEYS; i++) {
        key k = key_of(i), first = key_of(0);
        CHECK(!hki_cuda_cache_find(&cache, &k));
        int *value = hki_cuda_cache_put(&cache, &k);
        CHECK(value && *value == 0);
        *value = i;
        CHECK(hki_cuda_cache_find(&cache, &k) == value);
        /* What is used all the time stays. */
        value = hki_cuda_cache_find(&cache, &first);
        CHECK(value && *value == 0);
    }
    for (int i = 0; i < KEYS; i++) {
        key k = key_of(i);
        int *value = hki_cuda_cache_find(&cache, &k);
        CHECK(!value || *value == i);
        CHECK((value != NULL) + dropped[i] == 1);
        alive += value != NULL;
    }
    CHECK(alive > ROOM / 2 && alive <= ROOM);
    hki_cuda_cache_deinit(&cache);
    bool once = true;
    for (int i = 0; i < KEYS; i++)
        once = once && dropped[i] == 1;
    CHECK(once);
}

static void test_empty(void)
{
    hki_cuda_cache cache;
    key k = key_of(1);
    hki_cuda_cache_init(&cache, sizeof(key), sizeof(int), drop, NULL);
    CHECK(!hki_cuda_cache_find(&cache, &k));
    hki_cuda_cache_deinit(&cache);
}

int main(void)
{
    test_bounded();
    test_empty();
    return check_result();
}
