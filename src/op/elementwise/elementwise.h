/* Elementwise operators: the rows of elementwise.def, their loops, and walking over operands. */
#ifndef HOCKET_OP_ELEMENTWISE_H
#define HOCKET_OP_ELEMENTWISE_H

#include "base/kernel_isa.h"
#include "op/elementwise/elementwise_gradients.h"
#include "op/op.h"
#include "op/shape/convert.h"

#include <string.h>

enum { HKI_WALK_MAX_INPUTS = 3 };

/* One row of elements: n of them, at steps in bytes (0: one element for all). The output may be the same
 * memory as an input with the same step; it overlaps none otherwise. */
typedef struct hki_run {
    int64_t n;
    const char *in[HKI_WALK_MAX_INPUTS];
    int64_t in_step[HKI_WALK_MAX_INPUTS];
    char *out;
    int64_t out_step;
    const void *given; /* as hki_walk has it; hki_numbers for the rows of elementwise.def */
} hki_run;

/* Computes the row. Returns -1, or the first element that the operator refuses. */
typedef int64_t (*hki_loop_fn)(const hki_run *run);

/* Calls `loop` for rows that make up elements [begin, end), in C order, of output 0, with the inputs
 * broadcast to it. given: what the loop knows beside, such as options; NULL: nothing. Returns -1, or the first
 * element that was refused. */
int64_t hki_walk(const hki_kernel_call *call, int64_t begin, int64_t end, const void *given,
                 hki_loop_fn loop);

/* Rows that lie evenly: `count` of them like the first one, with steps in bytes from row to row. */
typedef struct hki_rows {
    hki_run run; /* the first */
    int64_t count;
    int in_count; /* of inputs */
    int64_t in_step[HKI_WALK_MAX_INPUTS];
    int64_t out_step;
} hki_rows;
/* Computes them, with the loop that the walk was given. Returns -1, or the first element, counted from the first row's, that the
 * operator refuses. */
typedef int64_t (*hki_rows_fn)(const hki_rows *rows, hki_loop_fn loop);
/* The one that calls the loop for each row. */
int64_t hki_run_each(const hki_rows *rows, hki_loop_fn loop);
/* Whether an input is transposed: its columns are dense, and its rows are not. bytes: of an element of each input. */
bool hki_rows_are_turned(const hki_rows *rows, const int64_t *bytes);
/* As hki_run_each, for such rows: the loop gets dense rows of these inputs. */
int64_t hki_run_turned(const hki_rows *rows, const int64_t *bytes, hki_loop_fn loop);
/* As hki_walk, for a function that wants as many rows at a time as there are. Dense elements are given to the loop. */
int64_t hki_walk_rows(const hki_kernel_call *call, int64_t begin, int64_t end, const void *given,
                      hki_loop_fn loop, hki_rows_fn run_rows);

/* Axes of the output, outermost first, with steps in bytes of the output (operand 0) and the inputs, which are broadcast to it. */
typedef struct hki_walk_axes {
    int ndim, operand_count; /* one axis at least */
    int64_t dims[HK_MAX_NDIM];
    int64_t steps[HK_MAX_NDIM][1 + HKI_WALK_MAX_INPUTS];
} hki_walk_axes;
/* Those of output 0: axes of one element go; neighbours that every operand steps through evenly become one. */
void hki_walk_axes_init(hki_walk_axes *axes, const hki_kernel_call *call);

/* As hki_kernel_fn's failure for data: fails the call's task, naming the element's index. */
void hki_walk_fail(const hki_kernel_call *call, int64_t piece, int64_t element, const char *text);

/* The rows of elementwise.def and the kernels of their gradients. */
#define ELEMENT(context, kept, name, ns, expression) HKI_ELEMENT_##name,
#define ROW(kind, name, dtypes, ns, real, integer, reference, samples, gradient, ...)              \
    HKI_ELEMENT_##name, HKI_EACH_GRADIENT(ELEMENT, , name, gradient)
#define CHECKED ROW
typedef enum hki_element {
#include "op/elementwise/elementwise.def"
    HKI_ELEMENT_COUNT
} hki_element;
#undef ELEMENT
#undef ROW
#undef CHECKED

/* The numbers of a row: s and t of its expressions, and, as loops of floats are also those of
 * halves, 1 where the values are of float16, 2 for bfloat16, else 0. */
typedef struct hki_numbers {
    double s, t;
    int narrow;
} hki_numbers;
/* Of a call of a row: what its options hold; 0 for those it does not have. */
static inline hki_numbers hki_element_numbers(const hk_op *op, const void *options)
{
    hki_numbers numbers = {0};
    if (options)
        memcpy(&numbers, options, op->options_bytes);
    return numbers;
}

/* By wide type of the values (not of a condition); NULL where the row or this variant has none. Their runs are dense, of
 * hki_numbers. */
typedef hki_loop_fn hki_loop_table[HKI_ELEMENT_COUNT][HK_DTYPE_COUNT];
extern const hki_loop_table hki_loops_portable, hki_loops_avx2, hki_loops_avx512;

extern const bool hki_element_is_gradient[HKI_ELEMENT_COUNT];
/* Of two inputs one may have one element for all: not in gradients, which are many and would be thrice as large. */
static inline bool hki_element_takes_one(hki_element element, int in_count)
{
    return in_count == 2 && !hki_element_is_gradient[element];
}

/* Those that have been asked for, else NULL; for hki_element_loop alone. */
extern _Atomic(hki_loop_fn) hki_loops_found[HKI_ELEMENT_COUNT][HK_DTYPE_COUNT];
hki_loop_fn hki_element_loop_find(hki_element element, hk_dtype wide);
/* The loop of the fastest variant that this processor has. */
static inline hki_loop_fn hki_element_loop(hki_element element, hk_dtype wide)
{
    hki_loop_fn loop = atomic_load_explicit(&hki_loops_found[element][wide], memory_order_relaxed);
    return HKI_USUALLY(loop) ? loop : hki_element_loop_find(element, wide);
}

/* A row of the table for operands of any dtypes and steps. */
typedef struct hki_row_operand {
    hki_load_fn load;
    int64_t bytes, wide_bytes; /* of an element, as it is and as it is computed */
    bool is_wide;              /* both are the same */
} hki_row_operand;
typedef struct hki_row {
    hki_numbers numbers; /* first, for the loop */
    hki_loop_fn loop;
    int in_count;
    bool takes_one; /* of two inputs one may have one element for all */
    hki_row_operand in[HKI_WALK_MAX_INPUTS], out;
    hki_store_fn store;
} hki_row;
/* values: the dtype that the row's values are promoted to; inputs that are bool beside are conditions. */
void hki_row_init(hki_row *row, hki_element element, hki_numbers numbers, const hk_dtype *in,
                  int in_count, hk_dtype values, hk_dtype out);
/* The same for a loop of values that are all of one wide type, and a result of another. */
void hki_row_init_loop(hki_row *row, hki_loop_fn loop, hki_numbers numbers, const hk_dtype *in,
                       int in_count, hk_dtype wide, hk_dtype out, hk_dtype out_wide);
/* The loop takes the run as it is. */
bool hki_row_is_direct(const hki_row *row, const hki_run *run);
/* hki_loop_fn, given an hki_row. */
int64_t hki_row_run(const hki_run *run);
/* hki_rows_fn, given an hki_row: short rows go through tiles of many. */
int64_t hki_row_run_rows(const hki_rows *rows, hki_loop_fn loop);

/* What rows with one number have as options, and those with a range. */
typedef struct hki_scalar_options {
    double value;
} hki_scalar_options;
typedef struct hki_range_options {
    double min, max;
} hki_range_options;

/* The row of an operator of the table, for operands of these dtypes; false: it is no such operator, or may refuse values. */
bool hki_row_of(const hk_op *op, const void *options, const hk_dtype *in, int in_count,
                hk_dtype out, hki_row *row);

/* ---- for operators like those of the table --------------------------------------------------------- */

/* Result: the first input's shape and dtype. */
bool hki_infer_same(hki_call *call);
/* The first input's shape; bool. */
bool hki_infer_test(hki_call *call);
/* Both inputs are broadcast, and promoted to one dtype, which the result has; or it is bool; or input 0 is a condition. */
bool hki_infer_binary(hki_call *call);
bool hki_infer_compare(hki_call *call);
bool hki_infer_where(hki_call *call);
/* Pieces of elements for an operator that takes `ns` per element of 4 bytes, of the widest operand. */
void hki_plan_elements(const hki_call *call, hki_plan *plan, double ns);

#endif
