/* Reaching the leaves behind nodes of the tape when there is no memory for a pass, or to record what leads to them. */
#include "autograd/tape.h"

/* Backward lock: */
uint64_t hki_tape_pass_count;
static hki_tape_node *lost_leaves; /* counted */

uint64_t hki_tape_next_pass(void)
{
    return ++hki_tape_pass_count;
}

/* In a list of nodes that are still to be looked at; NULL is ignored. False: the node is the lost one. */
static bool push_unseen(hki_tape_node **list, hki_tape_node *node, uint64_t id)
{
    if (!node || node->kind == HKI_TAPE_LOST)
        return !node;
    if (node->pass != id) {
        node->pass = id;
        node->drop_next = *list; /* nobody drops it meanwhile: the first nodes hold all of them */
        *list = node;
    }
    return true;
}

bool hki_tape_reach(hki_tape_node *const *nodes, int count,
                    void (*visit)(hki_tape_node *leaf, void *argument), void *argument)
{
    const uint64_t id = hki_tape_next_pass();
    hki_tape_node *list = NULL;
    bool is_whole = true;
    for (int i = 0; i < count; i++)
        is_whole &= push_unseen(&list, nodes[i], id);
    while (list) {
        hki_tape_node *node = list;
        list = node->drop_next;
        if (node->kind == HKI_TAPE_LEAF)
            visit(node, argument);
        for (int i = 0; i < node->input_count; i++)
            is_whole &= push_unseen(&list, node->inputs[i].node, id);
    }
    return is_whole;
}

static void lose(hki_tape_node *leaf, void *unused)
{
    (void)unused;
    if (leaf->is_lost)
        return;
    leaf->is_lost = true;
    leaf->next_lost = lost_leaves;
    lost_leaves = hki_tape_node_retain(leaf);
}

/* Lets go of those whose array and tape are gone. */
static void forget_unused(void)
{
    for (hki_tape_node **link = &lost_leaves; *link;) {
        hki_tape_node *leaf = *link;
        if (atomic_load_explicit(&leaf->refs, memory_order_acquire) > 1) {
            link = &leaf->next_lost;
            continue;
        }
        *link = leaf->next_lost;
        hki_tape_node_release(leaf);
    }
}

void hki_tape_lose(hki_tape_node *const *nodes, int count)
{
    if (count == 0)
        return;
    hki_backward_lock();
    forget_unused();
    hki_tape_reach(nodes, count, lose, NULL);
    hki_backward_unlock();
}

void hki_tape_visit_lost(void (*visit)(hki_tape_node *leaf, void *argument), void *argument)
{
    for (hki_tape_node *leaf = lost_leaves; leaf; leaf = leaf->next_lost)
        visit(leaf, argument);
}
