/* Attention, as one operator that never has all scores, and as a composition of others. */
#ifndef HOCKET_OP_ATTENTION_H
#define HOCKET_OP_ATTENTION_H

#include "op/op.h"

#define ATTENTION_BLOCKS_ARGUMENTS(F, op)                                                          \
    F(op, BOOL, causal, "", "query i sees keys 0 to i alone")                                      \
    F(op, F64, scale, "", "what scores are multiplied by")
HKI_OPTIONS_STRUCT(attention_blocks, ATTENTION_BLOCKS_ARGUMENTS)
typedef hki_attention_blocks_options hki_attention_blocks_backward_options;

/* Inputs of attention; and of its gradient. */
enum { HKI_ATTENTION_QUERY, HKI_ATTENTION_KEY, HKI_ATTENTION_VALUE, HKI_ATTENTION_MASK };

/* Of float32 or float64, on one device; mask NULL: none. */
typedef struct hki_attention_inputs {
    hk_array *query, *key, *value, *mask;
    hki_attention_blocks_options of;
} hki_attention_inputs;

/* The result, made of operators that have gradients. */
hk_array *hki_attention_composed(const hki_attention_inputs *its);
/* Gradients of what is wanted, by dy, made likewise. */
void hki_attention_composed_gradients(const hki_attention_inputs *its, hki_grad_call *call);
/* Gradients of the gradients of query, key and value; dy and mask: numbers of the call's inputs. */
void hki_attention_second(const hki_attention_inputs *its, hki_grad_call *call, int dy, int mask);

/* Conformance (attention_reference.c), whatever the options are called; and of the gradient. */
void hki_attention_reference(const hki_call *call, const double *const *in, double *const *out,
                             const hki_attention_blocks_options *of);
void hki_attention_backward_reference(const hki_call *call, const double *const *in,
                                      double *const *out);

#endif
