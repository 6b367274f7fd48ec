/* What a kernel is given: a call of an operator, with tensors and options. Also for CUDA C++, to
 * which operators are their places in the table alone. */
#ifndef HOCKET_OP_KERNEL_H
#define HOCKET_OP_KERNEL_H

#include "array/tensor.h"
#include "op/options.h"

typedef struct hk_op hk_op;
typedef struct hki_task hki_task;
/* Of op.h, for those headers of operators that declare more than kernels need. */
typedef struct hki_call hki_call;
typedef struct hki_grad_call hki_grad_call;
typedef struct hki_plan hki_plan;

/* Place of an operator in the table. */
typedef enum hki_op_id {
#define HKI_OP(name) HKI_OP_ID_##name,
#include "op/op_table.def"
#undef HKI_OP
    HKI_OP_COUNT
} hki_op_id;

/* What a kernel gets. Inputs left out have data NULL and ndim -1, and may be missing at the end,
 * where kernels look for no more than HKI_NAMED_INPUTS all the same. */
enum { HKI_NAMED_INPUTS = 3 };
typedef struct hki_kernel_call {
    const hk_op *op;
    const void *options;
    int input_count, output_count;
    hki_tensor *in, *out; /* HKI_NAMED_INPUTS of the first at least */
    int64_t extent, piece_count;
    int64_t grain;
    int method; /* the plan's */
    size_t partial_bytes;
    char *partials;      /* piece_count * partial_bytes, 64-byte aligned each; NULL: none */
    const void *packed;  /* what op->pack has made; NULL: nothing */
    int64_t first_piece; /* the number of the first piece, 0 but in chains */
    /* What comes before, where the call is a part of one: so many elements or rows, by which it
     * is split. For messages that name one. */
    int64_t first_index;
    hki_task *task; /* for hki_task_fail */
} hki_kernel_call;

/* The partials of that piece. */
static inline void *hki_partials_of(const hki_kernel_call *call, int64_t piece)
{
    return call->partials + (piece - call->first_piece) * (int64_t)call->partial_bytes;
}

/* Computes elements/rows/samples [begin, end) of the extent. Single-threaded, re-entrant. piece:
 * for hki_partials_of and hki_task_fail. */
typedef void (*hki_kernel_fn)(const hki_kernel_call *call, int64_t piece, int64_t begin,
                              int64_t end);

#endif
