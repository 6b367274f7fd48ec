/* Blocks: nobody has one that somebody else has, whichever threads take them and put them. */
#include "tests/check.h"

#include "base/block.h"
#include "base/sanitizer.h"
#include "base/sync.h"

#include <pthread.h>
#include <string.h>

enum { MANY = 1000 };

static void fill(void *block, unsigned char value)
{
    memset(block, value, HKI_BLOCK_BYTES);
}

static bool is_filled(const void *block, unsigned char value)
{
    const unsigned char *bytes = block;
    for (int i = 0; i < HKI_BLOCK_BYTES; i++)
        if (bytes[i] != value)
            return false;
    return true;
}

/* What is put last is taken first: it is in the cache. */
static void test_one_thread(void)
{
    void *blocks[MANY];
    for (int i = 0; i < MANY; i++) {
        blocks[i] = hki_block_take();
        CHECK(blocks[i] && (uintptr_t)blocks[i] % 64 == 0);
        fill(blocks[i], (unsigned char)i);
    }
    for (int i = 0; i < MANY; i++)
        CHECK(is_filled(blocks[i], (unsigned char)i));
    for (int i = 0; i < MANY; i++)
        hki_block_put(blocks[i]);
#if !HKI_ADDRESS_SANITIZER
    void *block = hki_block_take();
    CHECK(block == blocks[MANY - 1]);
    hki_block_put(block);
#endif
}

/* ---- one thread takes, another puts ------------------------------------------------------------------------------ */

enum { SLOTS = 256, PASSED = HKI_SANITIZED ? 20000 : 200000 };
static _Atomic(void *) passed[SLOTS];
static int wrong;

static void *put_passed(void *unused)
{
    for (int i = 0; i < PASSED; i++) {
        void *block;
        unsigned times = 0;
        while (!(block = atomic_exchange(&passed[i % SLOTS], NULL)))
            hki_relax_or_yield(&times);
        wrong += !is_filled(block, (unsigned char)i);
        hki_block_put(block);
    }
    return unused;
}

static void test_two_threads(void)
{
    pthread_t thread;
    CHECK(!pthread_create(&thread, NULL, put_passed, NULL));
    for (int i = 0; i < PASSED; i++) {
        unsigned times = 0;
        void *block = hki_block_take();
        fill(block, (unsigned char)i);
        while (atomic_load(&passed[i % SLOTS]))
            hki_relax_or_yield(&times);
        atomic_store(&passed[i % SLOTS], block);
    }
    pthread_join(thread, NULL);
    CHECK(wrong == 0);
}

/* ---- threads that end ------------------------------------------------------------------------------------------- */

static void *take_and_put(void *unused)
{
    void *blocks[200];
    for (int i = 0; i < 200; i++)
        fill(blocks[i] = hki_block_take(), 1);
    for (int i = 0; i < 200; i++)
        hki_block_put(blocks[i]);
    return unused;
}

/* The leak checker sees what they would leave. */
static void test_ends(void)
{
    for (int i = 0; i < 50; i++) {
        pthread_t threads[2];
        for (int j = 0; j < 2; j++)
            CHECK(!pthread_create(&threads[j], NULL, take_and_put, NULL));
        for (int j = 0; j < 2; j++)
            pthread_join(threads[j], NULL);
    }
}

int main(void)
{
    test_one_thread();
    test_two_threads();
    test_ends();
    return check_result();
}
