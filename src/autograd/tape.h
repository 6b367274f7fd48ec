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

enum { HKI_FUNCTION_MAX = 64 /* inputs, or outputs, of a function */ };

typedef enum hki_tape_kind {
    HKI_TAPE_LEAF, /* attached */
    HKI_TAPE_CALL, /* output of an operator; of several outputs, the call: those are nodes of their own */
    HKI_TAPE_OUTPUT, /* one of several outputs of the call behind it */
    HKI_TAPE_VIEW,   /* view of another value; behind a second input is a view that it is one of */
    HKI_TAPE_FUNCTION, /* outputs of a function with a gradient of its own */
    HKI_TAPE_FAILED,   /* output of a call that could not be made */
    HKI_TAPE_LOST      /* what it came from could not be noted: out of host memory */
} hki_tape_kind;

typedef struct hki_tape_node hki_tape_node;
typedef struct hki_function hki_function;

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

    /* Backward lock: */
    uint64_t pass; /* the latest that has visited it, and its place among that one's visits */
    size_t place;
    bool passed; /* CALL, FAILED, FUNCTION: differentiated, and cleared */

    /* LEAF, changed by hk_attach_grad: */
    hk_array *grad; /* counted; NULL after HK_GRAD_NULL */
    hk_grad_mode mode;
    bool is_lost; /* see hki_tape_lose */
    hki_tape_node *next_lost;

    /* CALL and FAILED: */
    const hk_op *op;
    hk_source source;
    hk_array *saved;        /* counted; NULL: not kept. Nobody else has it */
    void *options;          /* a copy, behind the inputs; VIEW: hki_tape_layout */
    hki_function *function; /* FUNCTION: what it does; NULL once it was differentiated */
    const char *name;       /* FUNCTION: the operation in records; static text */

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
/* What that gives then, on purpose: takes the nodes of the inputs. */
hki_tape_node *hki_tape_node_lost(hki_tape_node *const *inputs, int input_count);
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
extern uint64_t hki_tape_pass_count; /* the latest one's */

/* Excludes other backward passes and changes of attachments. Not held by what records. Nests. */
void hki_backward_lock(void);
void hki_backward_unlock(void);
/* Whether this thread holds it. */
bool hki_backward_is_mine(void);

/* The gradient of x, borrowed; NULL when x is not attached. */
hk_array *hki_grad_get(const hk_array *x);

/* Makes node (taken) that of the outputs that may vary; where there are several, of a node for each, behind which it is. */
void hki_tape_set_outputs(hki_tape_node *node, hk_array *const *outputs, int count);
/* Whether some output has a gradient; the tape loses those that there was no memory for. */
bool hki_tape_may_vary(hki_tape_node *const *nodes, int node_count, hk_array *const *outputs,
                       int count);

/* A handle of its own to what x holds, off the tape; in the current scope. */
hk_array *hki_off_tape(hk_array *x);
/* x, or a handle of its own to what it holds, that has this node, NULL: none. In the current scope. */
hk_array *hki_with_node(hk_array *x, hki_tape_node *node);

/* ---- passes (pass.c) ---------------------------------------------------------------------------------- */

/* A node in a backward pass. */
typedef struct hki_visit {
    hki_tape_node *node; /* counted */
    int64_t uses;        /* consumers in this pass that have not been passed yet */
    hk_array *sum;       /* contributions so far but the last, counted; NULL: none */
    hk_array *last;      /* the last one, not yet added; counted */
    hk_array *scatter;   /* those of views, which are added in place; counted */
    hk_array *gradient;  /* of a target, once it is known; counted; NULL: nothing reached it */
    size_t outputs,
        next_output; /* the list of its OUTPUT nodes that have been passed: places + 1 */
    bool is_target;  /* its gradient is asked for */
    bool is_reached; /* a head depends on it */
    bool leads;      /* it does so on a target, by way of this one's inputs */
} hki_visit;

/* Its gradient, in a pass that goes to targets. */
static inline bool hki_visit_is_needed(const hki_visit *visit)
{
    return visit->is_reached && (visit->is_target || visit->leads);
}

typedef struct hki_order {
    uint64_t number;
    size_t place;
} hki_order;

typedef struct hki_pass {
    uint64_t id, seen; /* the latest pass when its nodes were marked */
    hki_visit *visits;
    size_t count, capacity;
    hki_order *order;       /* of all visits, newest node first */
    bool to_leaves;         /* every leaf gets its gradient; else targets are asked for */
    bool has_view_targets;  /* some of them are views */
    bool keeps, records;    /* the tape stays; what the pass does is recorded */
    bool has_run;           /* else it was refused */
    bool is_lost;           /* through what could not be recorded */
    hk_array *failure;      /* carries the first failure; counted */
    const hk_status *error; /* the same, counted */
} hki_pass;

/* Backward lock for all of these. */
void hki_pass_init(hki_pass *pass);
/* Without the lock. */
void hki_pass_deinit(hki_pass *pass);
/* Notes a failure and returns an array that carries it, or an earlier one of `input` (NULL: none). */
hk_array *hki_pass_fail(hki_pass *pass, hki_device *device, const char *operation, hk_array *input,
                        hk_code code, const char *format, ...) HK_PRINTF(6, 7);
/* Adds a node, once; its place. SIZE_MAX after failing for want of memory. */
size_t hki_pass_add(hki_pass *pass, hki_tape_node *node);
/* Adds all that is behind the nodes that were added, puts it in order, and finds what is needed. Fails the pass where that cannot
 * be differentiated. */
void hki_pass_discover(hki_pass *pass);
/* Of a VIEW: the value that its gradient goes to, and the layout there. */
hki_tape_node *hki_pass_viewed(hki_pass *pass, hki_tape_node *view);

/* Others may have been at the nodes since they were marked: while a function of the program ran, which holds no lock. */
void hki_pass_mark_again(hki_pass *pass);
static inline void hki_pass_keep_marks(hki_pass *pass)
{
    if (pass->seen != hki_tape_pass_count)
        hki_pass_mark_again(pass);
}

/* The visit of a node that was added. */
static inline hki_visit *hki_pass_visit(hki_pass *pass, const hki_tape_node *node)
{
    hki_pass_keep_marks(pass);
    return &pass->visits[node->place];
}

/* Whether the gradient of a value behind a node's call is wanted. NULL is none. */
static inline bool hki_pass_wants(hki_pass *pass, const hki_tape_node *node)
{
    if (!node || node->kind == HKI_TAPE_LOST)
        return false;
    if (!pass->to_leaves)
        return hki_visit_is_needed(hki_pass_visit(pass, node));
    return node->kind != HKI_TAPE_LEAF || (node->grad && !node->grad->failed);
}

/* ---- helpers of the backward pass (contribution.c, view_gradient.c) --------------------------------- */

/* Results of these are in the current scope. */
hk_array *hki_zeros(hki_device *device, hk_dims shape, hk_dtype dtype);
/* An array of these dimensions that is failed by the record of `cause`. */
hk_array *hki_failed_like(hki_device *device, hk_dims shape, hk_dtype dtype, hk_array *cause);
void hki_zeros_into(hk_array *out);
void hki_copy_into(hk_array *x, hk_array *out);
void hki_add_into(hk_array *a, hk_array *b, hk_array *out); /* out may be a or b */

/* In which contributions to a gradient of that dtype are added up, before it is rounded. */
static inline hk_dtype hki_tape_sum_dtype(hk_dtype dtype)
{
    return hki_dtype_is_half(dtype) ? HK_F32 : dtype;
}

/* x itself where it has that dtype. */
hk_array *hki_tape_cast(hk_array *x, hk_dtype dtype);
/* a + b, counted for the caller, whose counts of a and b it drops. */
hk_array *hki_tape_add_up(hk_array *a, hk_array *b);
/* Adds dx (borrowed) to the contributions of a node, if it is wanted. */
void hki_tape_contribute(hki_pass *pass, hki_tape_node *node, hk_array *dx);
/* All contributions of a visit, added up and counted for the caller; NULL: there were none. The last sum
 * is written into `out`, where that is not NULL and there is more than one contribution. */
hk_array *hki_tape_take_sum(hki_visit *visit, hk_array *out);

/* Adds a view's gradient dy to the contributions of what it views. */
void hki_view_backward(hki_pass *pass, hki_tape_node *view, hk_array *dy);

/* ---- functions (function.c) ------------------------------------------------------------------------------ */

/* What a FUNCTION node does. */
struct hki_function {
    void (*backward)(hk_function_call *call);
    void *context;
    void (*release)(void *context); /* may be NULL */
    bool is_internal;               /* may be called with the backward lock held */
    hki_function *next;             /* in a list of those that are about to go */
};

/* Releases the context and itself, at once or when this thread gives the backward lock back. NULL is ignored. */
void hki_function_drop(hki_function *function);
/* Those that had to wait. */
void hki_function_drop_waiting(void);
/* As hk_function of one input and output; returns the output. `context` is copied; backward may be called with the lock held. */
hk_array *hki_function_of_one(const char *name, hk_array *input, hk_array *output,
                              void (*backward)(hk_function_call *call), const void *context,
                              size_t context_bytes);

#endif
