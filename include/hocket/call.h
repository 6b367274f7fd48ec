/* Calling operators by name, for bindings, and what is built on operators. Thread-safe; the calls are
 * issued and return at once, like those of hocket/ops.h. */
#ifndef HOCKET_CALL_H
#define HOCKET_CALL_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* Calls the operator `name` of docs/OPERATORS.md. `inputs` in the order of its signature; optional ones
 * may be NULL, or missing at the end. `options` is its hk_<name>_options or hk_<name>_arguments; NULL
 * means the defaults where there are only options. `device` matters to operators without inputs, and to
 * those that copy to a device ({NULL} otherwise). An unknown name gives a failed array. Of several results it gives the first. */
HK_API hk_array *hk_call(const char *name, hk_array *const *inputs, int input_count,
                         const void *options, hk_device device);

/* The same for all results of the operator: `outputs` is room for output_count of them, as many as it has (one, mostly), in the
 * order of its page. A call that cannot be made fails each of them; nothing happens where there is no room at all. */
HK_API void hk_call_all(const char *name, hk_array *const *inputs, int input_count,
                        const void *options, hk_device device, hk_array **outputs,
                        int output_count);

/* The same, overwriting `out`, an array or view of the result's shape and dtype, in program order. It may
 * share memory with the inputs. A call that cannot be made fails `out`. Not recorded on the tape. */
HK_API void hk_call_into(const char *name, hk_array *out, hk_array *const *inputs, int input_count,
                         const void *options);

/* dst becomes src, broadcast to dst's shape, converted to its dtype as by hk_cast, from any device. dst
 * may be a view of another array. Not recorded on the tape. */
HK_API void hk_assign(hk_array *dst, hk_array *src);

/* As hk_to_device, but that what comes from an accelerator to the host is in ordinary (pageable)
 * memory, not in pinned memory: there may be much of it, and the copy takes longer. Not recorded on
 * the tape. */
HK_API hk_array *hk_to_pageable(hk_array *x, hk_device device);

/* x itself when it is contiguous, else a copy that is. Recorded on the tape. */
HK_API hk_array *hk_contiguous(hk_array *x);

/* Sums of products by Einstein's convention, as numpy.einsum: hk_einsum("ij,jk->ik", (hk_array *[]){x, y}, 2) is a matrix product.
 *
 * subscripts: a term for each operand, separated by commas, a letter for each axis; blanks are ignored. Axes of one letter
 * run together, and have one size; one of size 1 is stretched. A letter twice in a term: the diagonal. "..." stands for
 * axes that are not named, which are broadcast. After "->" come the axes of the result, in their order; others are summed
 * over. Without "->": those of "...", then letters named once, capitals first.
 *
 * Operands are taken from left to right, two at a time, as one matrix product. Dtypes are promoted as elsewhere, and are
 * the result's; halves are summed in float32, integers wrap around. Of one operand without a sum the result is a view.
 * Recorded on the tape. Never blocks but as any call. Subscripts that do not fit give a failed array. */
HK_API hk_array *hk_einsum(const char *subscripts, hk_array *const *inputs, int count);

typedef struct hk_batch_norm_train_options {
    double eps;      /* as in hk_batch_norm_options (default: 1e-5) */
    double momentum; /* weight of this batch in the averages, in [0, 1] (default: 0.1) */
} hk_batch_norm_train_options;

/* hk_batch_norm(x, gamma, beta, NULL, NULL, …), and in place, for inference, the moving averages of the
 * batches' mean and (unbiased) variance, (channels) of x's dtype on its device: mean = (1 - momentum) mean
 * + momentum batch's. y is recorded on the tape, the averages are not. Never waits. Where the batch cannot
 * be normalised the averages are failed too, with their old values kept for hk_recover; a momentum out of
 * range fails them alone. options may be NULL. */
HK_API hk_array *hk_batch_norm_train(hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
                                     hk_array *variance,
                                     const hk_batch_norm_train_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_call,
      (hk_source at, const char *name, hk_array *const *inputs, int input_count,
       const void *options, hk_device device),
      (name, inputs, input_count, options, device))
#define hk_call(...) hk_call_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_call_all,
           (hk_source at, const char *name, hk_array *const *inputs, int input_count,
            const void *options, hk_device device, hk_array **outputs, int output_count),
           (name, inputs, input_count, options, device, outputs, output_count))
#define hk_call_all(...) hk_call_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_call_into,
           (hk_source at, const char *name, hk_array *out, hk_array *const *inputs, int input_count,
            const void *options),
           (name, out, inputs, input_count, options))
#define hk_call_into(...) hk_call_into_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_einsum,
      (hk_source at, const char *subscripts, hk_array *const *inputs, int count),
      (subscripts, inputs, count))
#define hk_einsum(...) hk_einsum_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_assign, (hk_source at, hk_array *dst, hk_array *src), (dst, src))
#define hk_assign(...) hk_assign_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_to_pageable, (hk_source at, hk_array *x, hk_device device), (x, device))
#define hk_to_pageable(...) hk_to_pageable_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_contiguous, (hk_source at, hk_array *x), (x))
#define hk_contiguous(...) hk_contiguous_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_array *, hk_batch_norm_train, hk_batch_norm_train_options,
              (hk_source at, hk_array *x, hk_array *gamma, hk_array *beta, hk_array *mean,
               hk_array *variance, const hk_batch_norm_train_options *options),
              (x, gamma, beta, mean, variance, options))
#define hk_batch_norm_train(...) hk_batch_norm_train_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
