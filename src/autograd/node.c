/* Nodes of the tape: counting, and the pointer from arrays to them. */
#include "autograd/tape.h"

#include "base/sync.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* An array's node may be replaced (hk_attach_grad) while another thread looks it up: the pointer is read
 * and counted under one of these. */
enum { LINK_LOCKS = 64 };
static hki_lock link_locks[LINK_LOCKS];
static hki_lock backward_lock;
static _Thread_local int backward_depth; /* how often this thread has it */

static hki_tape_node lost_node = {.kind = HKI_TAPE_LOST};

static _Thread_local uint64_t latest_number;
static _Thread_local struct {
    hki_tape_node *first; /* nodes about to be freed */
    bool busy;
} dropping;

/* In a forked child nobody holds a lock. */
static void child_unlock(void)
{
    for (int i = 0; i < LINK_LOCKS; i++)
        atomic_store_explicit(&link_locks[i].state, 0, memory_order_relaxed);
    atomic_store_explicit(&backward_lock.state, 0, memory_order_relaxed);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, child_unlock);
}

void hki_backward_lock(void)
{
    if (backward_depth++ == 0)
        hki_lock_acquire(&backward_lock);
}

void hki_backward_unlock(void)
{
    if (--backward_depth > 0)
        return;
    hki_lock_release(&backward_lock);
    hki_function_drop_waiting();
}

bool hki_backward_is_mine(void)
{
    return backward_depth > 0;
}

static hki_lock *link_lock(const hk_array *x)
{
    return &link_locks[((uintptr_t)x >> 6) % LINK_LOCKS];
}

hki_tape_node *hki_tape_node_of(const hk_array *x)
{
    hk_array *array = (hk_array *)x; /* only its atomic field is touched */
    if (!atomic_load_explicit(&array->autograd, memory_order_relaxed))
        return NULL;
    hki_lock *lock = link_lock(x);
    hki_lock_acquire(lock);
    hki_tape_node *node = atomic_load_explicit(&array->autograd, memory_order_relaxed);
    hki_tape_node_retain(node);
    hki_lock_release(lock);
    return node;
}

void hki_tape_node_set(hk_array *x, hki_tape_node *node)
{
    hki_lock *lock = link_lock(x);
    hki_lock_acquire(lock);
    hki_tape_node *old = atomic_exchange_explicit(&x->autograd, node, memory_order_release);
    hki_lock_release(lock);
    hki_tape_node_release(old);
}

hki_tape_node *hki_tape_node_lost(hki_tape_node *const *inputs, int input_count)
{
    hki_tape_lose(inputs, input_count);
    for (int i = 0; i < input_count; i++)
        hki_tape_node_release(inputs[i]);
    return &lost_node;
}

hki_tape_node *hki_tape_node_create(hki_tape_kind kind, const hk_array *x,
                                    hki_tape_node *const *inputs, int input_count, int output_count,
                                    size_t options_bytes)
{
    const size_t inputs_bytes =
        sizeof(hki_tape_node) + (size_t)input_count * sizeof(hki_tape_input);
    size_t head_bytes = inputs_bytes;
    if (output_count > 1)
        head_bytes += (size_t)output_count * sizeof(hki_tape_result);
    head_bytes = (head_bytes + 15) & ~(size_t)15;
    hki_tape_node *node = malloc(head_bytes + options_bytes);
    if (!node)
        return hki_tape_node_lost(inputs, input_count);
    memset(node, 0, head_bytes);
    atomic_init(&node->refs, 1);
    node->kind = kind;
    node->device = x->storage->device;
    node->dtype = x->dtype;
    node->shape = x->shape;
    node->options = options_bytes ? (char *)node + head_bytes : NULL;
    node->input_count = input_count;
    node->output_count = output_count;
    node->outputs =
        output_count > 1 ? (hki_tape_result *)((char *)node + inputs_bytes) : &node->only;
    uint64_t number = latest_number;
    for (int i = 0; i < input_count; i++) {
        node->inputs[i].node = inputs[i];
        if (inputs[i] && inputs[i]->number > number)
            number = inputs[i]->number;
    }
    node->number = latest_number = number + 1;
    return node;
}

hki_tape_node *hki_tape_node_retain(hki_tape_node *node)
{
    if (node && node != &lost_node)
        atomic_fetch_add_explicit(&node->refs, 1, memory_order_relaxed);
    return node;
}

void hki_tape_keep(hk_array **kept, hki_watch *watch, hk_array *x)
{
    hki_watch_begin(watch, &x->storage->var, hki_array_range(x), hki_last_sequence());
    *kept = x;
}

static void let_go(hk_array **kept, hki_watch *watch)
{
    if (!*kept)
        return;
    hki_watch_is_written(watch, true);
    hk_array_release(*kept);
    *kept = NULL;
}

void hki_tape_node_drop_kept(hki_tape_node *node)
{
    for (int i = 0; i < node->input_count; i++)
        let_go(&node->inputs[i].kept, &node->inputs[i].watch);
    for (int i = 0; i < node->output_count; i++)
        let_go(&node->outputs[i].kept, &node->outputs[i].watch);
    if (node->saved)
        hk_array_release(node->saved);
    node->saved = NULL;
}

static void clear(hki_tape_node *node)
{
    hki_tape_node_drop_kept(node);
    if (node->function)
        hki_function_drop(node->function);
    for (int i = 0; i < node->input_count; i++)
        hki_tape_node_release(node->inputs[i].node);
}

/* Freeing a node may drop arrays and nodes behind it, and so on down a long chain: those are only linked
 * while one call of this thread is at work. */
void hki_tape_node_release(hki_tape_node *node)
{
    if (!node || node == &lost_node ||
        atomic_fetch_sub_explicit(&node->refs, 1, memory_order_acq_rel) != 1)
        return;
    node->drop_next = dropping.first;
    dropping.first = node;
    if (dropping.busy)
        return;
    dropping.busy = true;
    while ((node = dropping.first)) {
        dropping.first = node->drop_next;
        clear(node);
        if (node->grad)
            hk_array_release(node->grad);
        free(node);
    }
    dropping.busy = false;
}
