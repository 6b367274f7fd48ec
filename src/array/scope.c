/* Each thread has one list of the results that its open scopes own. Taking one leaves a hole. */
#include "array/handle.h"

#include "base/thread_end.h"

#include <stdlib.h>

typedef struct scope_list {
    hk_array **items;
    size_t count, capacity;
    size_t depth;    /* open scopes */
    size_t mark;     /* of the innermost */
    bool is_watched; /* list_deinit will come */
} scope_list;

static _Thread_local scope_list list;

/* Releases what stands behind the first `mark` entries. */
static void release_behind(size_t mark)
{
    while (list.count > mark) {
        hk_array *x = list.items[--list.count];
        if (!x)
            continue;
        x->scope_slot = 0;
        atomic_store_explicit(&x->scope_owner, NULL, memory_order_release);
        /* Somebody may have released the only count, which was not theirs: it stands. */
        if (hki_count_drop(&x->refs))
            hki_array_free(x);
    }
}

static void list_deinit(void *unused)
{
    (void)unused;
    release_behind(0);
    free(list.items);
    list = (scope_list){0};
}

static bool list_grow(void)
{
    static hki_thread_end end = {.function = list_deinit};
    if (!list.is_watched) /* without it a thread that ends within a scope leaks: no reason to fail */
        list.is_watched = hki_thread_end_watch(&end);
    size_t capacity = list.capacity ? list.capacity * 2 : 64;
    hk_array **items = realloc(list.items, capacity * sizeof *items);
    if (!items)
        return false;
    list.items = items;
    list.capacity = capacity;
    return true;
}

hk_array *hki_scope_add(hk_array *x)
{
    if (!x || x == &hki_no_memory_array)
        return hki_array_no_memory();
    if (!list.depth || x == &hki_no_memory_array)
        return x;
    if (list.count == list.capacity && !list_grow()) {
        hk_array_release(x);
        return hki_array_no_memory();
    }
    list.items[list.count++] = x;
    x->scope_slot = list.count;
    atomic_store_explicit(&x->scope_owner, &list, memory_order_relaxed);
    return x;
}

bool hki_scope_forget(hk_array *x)
{
    if (atomic_load_explicit(&x->scope_owner, memory_order_relaxed) != &list)
        return false;
    list.items[x->scope_slot - 1] = NULL;
    if (x->scope_slot == list.count && list.count > list.mark) /* the marks of open scopes stand */
        list.count--;
    x->scope_slot = 0;
    atomic_store_explicit(&x->scope_owner, NULL, memory_order_relaxed);
    return true;
}

hk_array *hk_take(hk_array *x)
{
    if (x && atomic_load_explicit(&x->scope_owner, memory_order_relaxed) && !hki_scope_forget(x))
        hk_array_retain(x);
    return x;
}

hk_scope hk_scope_begin(void)
{
    hk_scope scope = {&list, list.count, list.mark, list.depth + 1};
    list.mark = scope.mark;
    list.depth = scope.depth;
    return scope;
}

void hk_scope_end(hk_scope *scope)
{
    if (!scope || scope->owner != &list || scope->depth > list.depth)
        return;
    scope->owner = NULL;
    release_behind(scope->mark);
    list.mark = scope->outer_mark;
    list.depth = scope->depth - 1;
}

/* Takes x out of the scope; false when it is not in it. */
static bool leave(const hk_scope *scope, hk_array *x)
{
    return atomic_load_explicit(&x->scope_owner, memory_order_relaxed) == &list &&
           x->scope_slot > scope->mark && hki_scope_forget(x);
}

hk_array *hki_scope_end_with(hk_scope *scope, hk_array *x)
{
    const bool is_its = leave(scope, x);
    hk_scope_end(scope);
    return is_its ? hki_scope_add(x) : x;
}

void hki_scope_drop(const hk_scope *scope, hk_array *x)
{
    if (leave(scope, x))
        hk_array_release(x);
}

size_t hk_scopes_suspend(void)
{
    const size_t depth = list.depth;
    list.depth = 0;
    return depth;
}

void hk_scopes_resume(size_t suspended)
{
    list.depth = suspended;
}
