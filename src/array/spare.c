/* Memory of storages: each thread keeps what it freed last for what it makes next, so that the small arrays of a loop
 * cost no allocation. */
#include "array/handle.h"

#include "base/sanitizer.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_SPARE = HKI_ADDRESS_SANITIZER ? 0 : 64 };

typedef struct spare_block {
    struct spare_block *next;
} spare_block;

static _Thread_local struct {
    spare_block *first; /* MAX_SPARE at most */
    int count;
    bool watched; /* list_deinit will come */
} list;
static pthread_key_t list_key; /* only for what it does when a thread exits */
static pthread_once_t list_once = PTHREAD_ONCE_INIT;
static bool list_key_exists;

static void list_deinit(void *unused)
{
    (void)unused;
    for (spare_block *next; list.first; list.first = next) {
        next = list.first->next;
        free(list.first);
    }
    list.count = 0;
    list.watched = false; /* what other keys' functions still free brings us back */
}

static void list_key_create(void)
{
    list_key_exists = !pthread_key_create(&list_key, list_deinit);
}

static bool list_watch(void)
{
    pthread_once(&list_once, list_key_create);
    list.watched = list_key_exists && !pthread_setspecific(list_key, &list);
    return list.watched;
}

hki_storage *hki_spare_take(void)
{
    spare_block *block = list.first;
    if (!block)
        return malloc(sizeof(hki_storage));
    list.first = block->next;
    list.count--;
    return (hki_storage *)block;
}

void hki_spare_put(hki_storage *storage)
{
    if (list.count >= MAX_SPARE || (!list.watched && !list_watch())) {
        free(storage);
        return;
    }
    spare_block *block = (spare_block *)storage;
    block->next = list.first;
    list.first = block;
    list.count++;
}
