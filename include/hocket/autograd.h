/* Automatic differentiation: calls made while a thread records are noted on a tape, and a backward pass
 * issues the calls that compute gradients, newest first.
 *
 * Recording is a state of each thread; arrays, attachments and recorded results may be shared. A call is
 * noted only where an input wants a gradient: is attached, or came from a noted call. The tape keeps what
 * gradients will read, and no more, until a backward pass or the last handle to the results lets go of
 * it. Gradients of gradients are not recorded.
 *
 * A gradient is right or it is failed. Where something writes over what a gradient will read, between the recorded call and
 * hk_backward, the gradients that read it are failed by a record that names both lines. Ranges of bytes count: a slice beside
 * may be written. While recording, no call may write into an array that wants a gradient, nor write what wants one into an
 * array: that array is failed, and keeps its bytes (hk_recover). hk_write may write into attached arrays, not into results. */
#ifndef HOCKET_AUTOGRAD_H
#define HOCKET_AUTOGRAD_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* ---- recording, per thread ------------------------------------------------------------------------- */

/* Begin and end nest, up to 64 deep; an end without its begin does nothing. Inside a pause nothing is
 * recorded. */
HK_API void hk_record_begin(void);
HK_API void hk_record_end(void);
HK_API void hk_pause_begin(void);
HK_API void hk_pause_end(void);
HK_API bool hk_is_recording(void);

/* What HK_RECORD and HK_PAUSE keep. */
typedef struct hk_record_scope {
    bool before; /* whether the thread was recording */
} hk_record_scope;
HK_API hk_record_scope hk_record_scope_begin(bool record);
HK_API void hk_record_scope_end(hk_record_scope *scope);

/* Records, or pauses, from this line to the end of the enclosing block, however it ends. */
#ifdef __cplusplus
HK_END_DECLS
struct hki_record_guard {
    hk_record_scope scope;
    explicit hki_record_guard(bool record) : scope(hk_record_scope_begin(record)) {}
    ~hki_record_guard()
    {
        hk_record_scope_end(&scope);
    }
    hki_record_guard(const hki_record_guard &) = delete;
    hki_record_guard &operator=(const hki_record_guard &) = delete;
};
#define HK_RECORD hki_record_guard HKI_JOIN(hki_record_, __LINE__)(true)
#define HK_PAUSE  hki_record_guard HKI_JOIN(hki_record_, __LINE__)(false)
HK_BEGIN_DECLS
#else
#define HK_RECORD                                                                                  \
    hk_record_scope HKI_JOIN(hki_record_, __LINE__)                                                \
        __attribute__((cleanup(hk_record_scope_end), unused)) = hk_record_scope_begin(true)
#define HK_PAUSE                                                                                   \
    hk_record_scope HKI_JOIN(hki_record_, __LINE__)                                                \
        __attribute__((cleanup(hk_record_scope_end), unused)) = hk_record_scope_begin(false)
#endif

/* ---- attaching ------------------------------------------------------------------------------------- */

typedef enum hk_grad_mode {
    HK_GRAD_WRITE, /* each backward pass that reaches the array overwrites its gradient */
    HK_GRAD_ADD,   /* each adds to it */
    HK_GRAD_NULL   /* none: ends the attachment */
} hk_grad_mode;

/* Wants the gradient of x, an array of floats, halves included, that is no broadcast view. The
 * gradient is a C-order array of x's shape on its device, zeros at first. x becomes an end of the tape:
 * what it was computed from gets no gradient through it. Attaching again keeps the gradient's handle,
 * sets it to zeros and changes the mode. What cannot be attached gets a failed gradient. */
HK_API void hk_attach_grad(hk_array *x, hk_grad_mode mode);

/* The gradient of x: one handle, owned by x, for as long as x is attached. A failed array of the current
 * scope when x is not attached. A backward pass that does not reach x leaves it as it was. */
HK_API hk_array *hk_grad(hk_array *x);
/* Whether x is attached. */
HK_API bool hk_has_grad(const hk_array *x);

/* A view of x that no gradient flows through. */
HK_API hk_array *hk_detach(hk_array *x);

/* ---- backward -------------------------------------------------------------------------------------- */

/* Issues the calls that compute the gradients of sum(y) for every attached array that y was computed
 * from, and frees the part of the tape that it passes, so that a second pass over it is an error. Several
 * contributions to one gradient are added in the order in which they are issued: newest call first.
 *
 * Does not wait. Returns what could be checked at once: y was not recorded, was differentiated before, an
 * operator on the way has no gradient. Gradients that this concerns are failed by the same record, and
 * hk_wait_all reports it; so a program may ignore the result. Calls of the backward pass carry the source
 * position of the recorded call that they differentiate. Where the host had no memory to record a call, all gradients that
 * the pass may have had to reach are failed, those of other results perhaps included. */
HK_API const hk_status *hk_backward(hk_array *y);
/* The same with dy, of y's shape, dtype and device, in place of ones. */
HK_API const hk_status *hk_backward_from(hk_array *y, hk_array *dy);
/* One pass for the sum of sum(ys[0]) … sum(ys[count - 1]), which may share parts of the tape. */
HK_API const hk_status *hk_backward_all(hk_array *const *ys, int count);

/* The same with the source position of the call: see HK_SOURCE. */
HK_API void hk_attach_grad_at(hk_source at, hk_array *x, hk_grad_mode mode);
#define hk_attach_grad(...) hk_attach_grad_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_grad_at(hk_source at, hk_array *x);
#define hk_grad(...) hk_grad_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_detach_at(hk_source at, hk_array *x);
#define hk_detach(...) hk_detach_at(HK_SOURCE, __VA_ARGS__)
HK_API const hk_status *hk_backward_at(hk_source at, hk_array *y);
#define hk_backward(...) hk_backward_at(HK_SOURCE, __VA_ARGS__)
HK_API const hk_status *hk_backward_from_at(hk_source at, hk_array *y, hk_array *dy);
#define hk_backward_from(...) hk_backward_from_at(HK_SOURCE, __VA_ARGS__)
HK_API const hk_status *hk_backward_all_at(hk_source at, hk_array *const *ys, int count);
#define hk_backward_all(...) hk_backward_all_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
