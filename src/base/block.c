#include "base/block.h"

#include "base/sanitizer.h"
#include "base/sync.h"
#include "base/thread_end.h"

#include <malloc.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 32,
    MOST_KEPT = HKI_ADDRESS_SANITIZER ? 0 : 2 * BATCH, /* by a thread */
    MOST_BATCHES = HKI_ADDRESS_SANITIZER ? 0 : 128,    /* by nobody */
    FETCH_AHEAD = 4
};

/* Lies in a block. */
typedef struct batch {
    struct batch *next;
    void *others[BATCH - 1];
} batch;

_Static_assert(sizeof(batch) <= HKI_BLOCK_BYTES && HKI_BLOCK_BYTES % 64 == 0, "see hki_block_take");

static _Thread_local struct {
    int count, from_others; /* so many, the first ones, have come from other threads */
    void **blocks; /* room for MOST_KEPT; NULL: none yet. Then thread_ends is not going to come. */
} kept;

/* The lock is only tried: in the child of a fork a thread may have it that is not there. */
static hki_lock returned_lock;
static batch *returned;
static int returned_count;

static _Atomic int64_t had_bytes; /* from the system */

static void *have(void)
{
    void *block = aligned_alloc(64, HKI_BLOCK_BYTES);
    if (block)
        atomic_fetch_add_explicit(&had_bytes, HKI_BLOCK_BYTES, memory_order_relaxed);
    return block;
}

static void let_go(void *block)
{
    atomic_fetch_sub_explicit(&had_bytes, HKI_BLOCK_BYTES, memory_order_relaxed);
    free(block);
}

int64_t hki_block_bytes(void)
{
    return atomic_load_explicit(&had_bytes, memory_order_relaxed);
}

static void thread_ends(void *unused)
{
    (void)unused;
    for (int i = 0; i < kept.count; i++)
        let_go(kept.blocks[i]);
    free(kept.blocks);
    kept.count = 0;
    kept.blocks = NULL; /* what other keys' functions still put brings us back */
}

static bool watch(void)
{
    static hki_thread_end end = {.function = thread_ends};
    if (hki_thread_end_watch(&end))
        kept.blocks = malloc((2 * BATCH) * sizeof *kept.blocks);
    return kept.blocks;
}

static void prefetch(void *block)
{
    for (int i = 0; i < HKI_BLOCK_BYTES; i += 64)
        hki_prefetch_write((char *)block + i);
}

static bool take_returned(void)
{
    if (!(kept.blocks || watch()) || !hki_lock_try(&returned_lock))
        return false;
    batch *taken = returned;
    if (taken) {
        returned = taken->next;
        returned_count--;
    }
    hki_lock_release(&returned_lock);
    if (!taken)
        return false;
    if (taken->next)
        prefetch(taken->next);
    memcpy(kept.blocks, taken->others, sizeof taken->others);
    kept.blocks[BATCH - 1] = taken;
    kept.count = kept.from_others = BATCH;
    for (int i = 2; i <= FETCH_AHEAD; i++)
        prefetch(kept.blocks[BATCH - i]);
    return true;
}

/* Those that were put first, and so have left this core's caches rather than others. False: there are too many. */
static bool give_back(void)
{
    batch *given = kept.blocks[0];
    if (!hki_lock_try(&returned_lock))
        return false;
    const bool has_room = returned_count < MOST_BATCHES;
    if (has_room) {
        memcpy(given->others, kept.blocks + 1, sizeof given->others);
        given->next = returned;
        returned = given;
        returned_count++;
    }
    hki_lock_release(&returned_lock);
    if (!has_room)
        return false;
    kept.count -= BATCH;
    kept.from_others = kept.from_others > BATCH ? kept.from_others - BATCH : 0;
    memmove(kept.blocks, kept.blocks + BATCH, (size_t)kept.count * sizeof *kept.blocks);
    return true;
}

void *hki_block_take(void)
{
    if (!kept.count && (MOST_KEPT == 0 || !take_returned()))
        return have();
    const int left = --kept.count;
    if (left >= FETCH_AHEAD && left - FETCH_AHEAD < kept.from_others)
        prefetch(kept.blocks[left - FETCH_AHEAD]);
    if (left < kept.from_others)
        kept.from_others = left;
    return kept.blocks[left];
}

void hki_block_put(void *block)
{
    if (MOST_KEPT == 0 || !(kept.blocks || watch()) || (kept.count == MOST_KEPT && !give_back())) {
        let_go(block);
        return;
    }
    kept.blocks[kept.count++] = block;
}

void hki_block_trim(void)
{
    batch *all = NULL;
    if (hki_lock_try(&returned_lock)) {
        all = returned;
        returned = NULL;
        returned_count = 0;
        hki_lock_release(&returned_lock);
    }
    for (batch *next; all; all = next) {
        next = all->next;
        for (int i = 0; i < BATCH - 1; i++)
            let_go(all->others[i]);
        let_go(all);
    }
    while (kept.count > 0)
        let_go(kept.blocks[--kept.count]);
    kept.from_others = 0;
#if defined(__GLIBC__)
    malloc_trim(0); /* one array that lives on would keep all pages before it */
#endif
}
