/* The tape: nodes for values that want a gradient, linked from arrays (hk_array.autograd) and from each
 * other, consumers to what they consumed.
 *
 * A node never holds the array that it stands for, so there are no cycles: kept outputs are views off the
 * tape. Counting is thread-safe. What a node says is immutable after create, but for a leaf's gradient
 * and for what a backward pass uses and frees: those belong to the backward lock. */
#ifndef HOCKET_AUTOGRAD_TAPE_H
#define HOCKET_AUTOGRAD_TAPE_H

#include "engine/core/watch.h"
#include "op/op.h"

#include <hocket/autograd.h>

typedef enum hki_tape_kind {
    HKI_TAPE_LEAF, /* attached */
    HKI_TAPE_CALL, /* output of an operator; of several outputs, the call: those are nodes of their own */
    HKI_TAPE_OUTPUT, /* one of several outputs of the call behind it */
    HKI_TAPE_VIEW,   /* view of another value */
    HKI_TAPE_FAILED, /* output of a call that could not be made */
    HKI_TAPE_LOST    /* what it came from could not be noted: out of host memory */
} hki_tape_kind;

typedef struct hki_tape_node hki_tape_node;

typedef struct hki_tape_input {
    hki_tape_node *node; /* counted; NULL: wants no gradient */
    hk_array *kept;      /* counted; NULL: the operator's gradient does not read it */
    hki_watch watch;     /* of the kept elements */
    hk_dims shape;
    hk_dtype dtype;
} hki_tape_input;

/* Of an output of a call. */
typedef struct hki_tape_result {
    hk_array *kept;  /* as of inputs: what the call wrote */
    hki_watch watch; /* of the kept elements */
    hk_array *dy;    /* of one of several, while a pass is between it and the call; counted */
} hki_tape_result;

/* Where the elements of a view lie among those of its input. */
typedef struct hki_tape_layout {
    int64_t strides[HK_MAX_NDIM], offset; /* elements, from the input's first */
    int64_t input_strides[HK_MAX_NDIM];   /* the layout of the input that these refer to */
} hki_tape_layout;

struct hki_tape_node {
    atomic_uint refs; /* 0: static */
    hki_tape_kind kind;
    uint64_t number; /* larger than those of its inputs: a Lamport clock */
    hki_device *device;
    hk_dtype dtype;
    hk_dims shape;
    hki_tape_node
        *drop_next; /* in a list of nodes about to be freed, or to be looked at (backward lock) */

    /* Of the backward pass that is at it: */
    uint64_t pass;
    bool passed;       /* CALL, FAILED: differentiated, and cleared */
    int64_t uses;      /* consumers in this pass that have not been passed yet */
    hk_array *sum;     /* contributions so far but the last, counted; NULL: none */
    hk_array *last;    /* the last one, not yet added; counted */
    hk_array *scatter; /* those of views, which are added in place; counted */

    /* LEAF, changed by hk_attach_grad: */
    hk_array *grad; /* counted; NULL after HK_GRAD_NULL */
    hk_grad_mode mode;
    bool is_lost; /* see hki_tape_lose */
    hki_tape_node *next_lost;

    /* CALL and FAILED: */
    const hk_op *op;
    hk_source source;
    hk_array *saved; /* counted; NULL: not kept. Nobody else has it */
    void *options;   /* a copy, behind the inputs; VIEW: hki_tape_layout */

    int output_index; /* OUTPUT: which one it is */
    int output_count;
    hki_tape_result *outputs; /* output_count of them: `only`, or behind the inputs */
    hki_tape_result only;

    int input_count;
    hki_tape_input inputs[];
};

/* The node of x, counted; NULL: none. */
hki_tape_node *hki_tape_node_of(const hk_array *x);
/* Makes node (taken) that of x. */
void hki_tape_node_set(hk_array *x, hki_tape_node *node);

/* A new node with count 1 and the next number after its own thread's and those of `inputs`, whose nodes
 * it takes. The static lost node when host memory is short, after hki_tape_lose. x: the value, or one of several outputs; keeps
 * nothing of it. */
hki_tape_node *hki_tape_node_create(hki_tape_kind kind, const hk_array *x,
                                    hki_tape_node *const *inputs, int input_count, int output_count,
                                    size_t options_bytes);
hki_tape_node *hki_tape_node_retain(hki_tape_node *node);
/* Drops one count. Long chains need no stack. NULL is ignored. */
void hki_tape_node_release(hki_tape_node *node);
/* Lets go of the arrays that a CALL or FAILED node keeps, not of what is behind it. */
void hki_tape_node_drop_kept(hki_tape_node *node);

/* Keeps what x shows for the gradient of the node's call, the thread's latest: `kept` is one of the node's, with its watch. x is
 * taken. */
void hki_tape_keep(hk_array **kept, hki_watch *watch, hk_array *x);

/* ---- reaching leaves, without memory (reach.c) ------------------------------------------------------- */

/* Calls visit for each leaf behind the nodes (NULL ones are skipped), and for themselves. False: there is a lost node among
 * them, too. Expects the backward lock. */
bool hki_tape_reach(hki_tape_node *const *nodes, int count,
                    void (*visit)(hki_tape_node *leaf, void *argument), void *argument);
/* A call on these nodes' values could not be recorded: a pass through its result cannot reach the leaves behind them, and
 * fails all that were ever lost so. Takes the backward lock. */
void hki_tape_lose(hki_tape_node *const *nodes, int count);
/* Those leaves. Expects the backward lock. */
void hki_tape_visit_lost(void (*visit)(hki_tape_node *leaf, void *argument), void *argument);
/* The next number of a pass. Expects the backward lock. */
uint64_t hki_tape_next_pass(void);

/* Excludes other backward passes and changes of attachments. Not held by what records. */
void hki_backward_lock(void);
void hki_backward_unlock(void);

/* The gradient of x, borrowed; NULL when x is not attached. */
hk_array *hki_grad_get(const hk_array *x);

/* ---- helpers of the backward pass (contribution.c, view_gradient.c) --------------------------------- */

/* Results of these are in the current scope. */
hk_array *hki_zeros(hki_device *device, hk_dims shape, hk_dtype dtype);
/* An array of these dimensions that is failed by the record of `cause`. */
hk_array *hki_failed_like(hki_device *device, hk_dims shape, hk_dtype dtype, hk_array *cause);
void hki_zeros_into(hk_array *out);
void hki_copy_into(hk_array *x, hk_array *out);
void hki_add_into(hk_array *a, hk_array *b, hk_array *out); /* out may be a or b */

/* Adds dx (borrowed) to the contributions of a node in a pass. */
void hki_tape_contribute(hki_tape_node *node, hk_array *dx);
/* All contributions of a node, added up and counted for the caller; NULL: there were none. The last sum
 * is written into `out`, where that is not NULL and there is more than one contribution. */
hk_array *hki_tape_take_sum(hki_tape_node *node, hk_array *out);

/* Adds a view's gradient dy to the contributions of what it views. */
void hki_view_backward(const hki_tape_node *view, hk_array *dy);

#endif
