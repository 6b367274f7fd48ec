/* Automatic differentiation: calls made while a thread records are noted on a tape, and a backward pass
 * issues the calls that compute gradients, newest first.
 *
 * Recording is a state of each thread; arrays, attachments and recorded results may be shared. A call is
 * noted only where an input wants a gradient: is attached, or came from a noted call. The tape keeps what
 * gradients will read, and no more, until a backward pass or the last handle to the results lets go of
 * it. hk_gradients may record what it does, for gradients of gradients.
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
    HK_GRAD_NULL,  /* none: ends the attachment */
    HK_GRAD_TRACK  /* none, but the array is recorded, for hk_gradients */
} hk_grad_mode;

/* Wants the gradient of x, an array of floats, halves included, that is no broadcast view. The
 * gradient is a C-order array of x's shape on its device, zeros at first. x becomes an end of the tape:
 * what it was computed from gets no gradient through it. Attaching again keeps the gradient's handle,
 * sets it to zeros and changes the mode. What cannot be attached gets a failed gradient; with HK_GRAD_TRACK, which takes no memory,
 * it is not recorded. */
HK_API void hk_attach_grad(hk_array *x, hk_grad_mode mode);

/* The gradient of x: one handle, owned by x, for as long as x is attached. A failed array of the current
 * scope when x is not attached. A backward pass that does not reach x leaves it as it was. */
HK_API hk_array *hk_grad(hk_array *x);
/* Whether x is attached. */
HK_API bool hk_has_grad(const hk_array *x);
/* Whether calls on x are noted while recording: it is attached, or came from a noted call. */
HK_API bool hk_wants_grad(const hk_array *x);

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

typedef struct hk_backward_options {
    hk_array *const *
        dys; /* in place of ones, as of hk_backward_from: one for each y, NULL for ones (default: ones) */
    bool keep; /* the tape stays, with what it keeps, for a further pass over it (default: false) */
} hk_backward_options;

/* hk_backward_all with options, which may be NULL. */
HK_API const hk_status *hk_backward_with(hk_array *const *ys, int count,
                                         const hk_backward_options *options);

/* ---- gradients as arrays --------------------------------------------------------------------------------- */

typedef struct hk_gradients_options {
    hk_array *const *dys; /* as in hk_backward_options */
    bool keep;            /* the tape stays, for a further pass over it (default: false) */
    bool
        create_graph; /* the pass is recorded, so that what is computed from its gradients can be differentiated; keeps the
                             tape (default: false) */
    bool *reached;    /* x_count of them, set: whether the ys depend on xs[i] (default: not told) */
} hk_gradients_options;

/* The gradients of sum(ys[0]) + … + sum(ys[count - 1]) with respect to each of xs, which are attached (HK_GRAD_TRACK is enough)
 * or came from recorded calls. gradients[i] becomes a new array of xs[i]'s shape, dtype and device, of the current scope: zeros
 * where the ys do not depend on xs[i], which `reached` tells. Gradients of attached arrays stay as they are. Only what lies
 * between xs and ys is differentiated, and freed unless the tape is kept. An x stays as it is: what it was computed from
 * counts only for other xs.
 *
 * With create_graph each operator's gradient is made of calls that are recorded, and that give the same bits. These go on from
 * the tape of xs and ys, so that a later pass that does not keep it frees parts of both. Where one of them has
 * no gradient itself, differentiating it fails with a record that names it. hk_backward has no such option: the gradient that an
 * array owns would hold what the array is held by.
 *
 * Does not wait. What cannot be done fails the gradients that it concerns, all of them with create_graph, and is returned. */
HK_API const hk_status *hk_gradients(hk_array *const *ys, int count, hk_array *const *xs,
                                     int x_count, const hk_gradients_options *options,
                                     hk_array **gradients);

/* Jacobian-vector products: products[i], a new array of ys[i]'s shape, is how ys[i] changes to first order where all xs move along
 * their tangents, arrays of their shapes, dtypes and devices. It differentiates the gradient of what was recorded once more, which gives
 * the same as differentiating forwards, at the cost of about two backward passes, and needs gradients of gradients. Keeps the tape.
 * What cannot be done fails the products, and is returned. */
HK_API const hk_status *hk_jvp(hk_array *const *ys, int count, hk_array *const *xs, int x_count,
                               hk_array *const *tangents, hk_array **products);

/* ---- functions with gradients of their own ----------------------------------------------------------------- */

/* What a function's gradient is asked for. Fields may be added at the end. */
typedef struct hk_function_call {
    void *context; /* of hk_function_options */
    int input_count, output_count;
    hk_array *const *dys;     /* gradients of the outputs; NULL: none reached it */
    hk_array *const *inputs;  /* NULL where reads_inputs does not name it */
    hk_array *const *outputs; /* the same of reads_outputs */
    const bool *wanted;       /* of each input */
    hk_array **
        dxs; /* to be set to gradients of inputs' shapes and dtypes; taken; NULL, as at first: none flows */
    char error[256]; /* a text here fails the gradients */
} hk_function_call;

typedef struct hk_function_options {
    const char *name; /* of the operation, in records; static text (default: "function") */
    void (*backward)(hk_function_call *call);
    void *context;
    void (*release)(
        void *context);     /* called once, when the context is no longer needed (default: none) */
    uint64_t reads_inputs;  /* bit i: backward reads input i */
    uint64_t reads_outputs; /* bit i: backward reads output i */
} hk_function_options;

/* Puts values that were computed in some other way on the tape: outputs[i], computed off it (HK_PAUSE), becomes a new handle to the
 * same values, of the current scope, whose gradient is what options->backward makes of it. Up to 64 inputs, each may be NULL, and
 * 64 outputs. Where nothing records, or no input wants a gradient, the outputs stay as they are.
 *
 * backward is called by the thread that runs hk_backward or hk_gradients, which holds no lock of Hocket meanwhile: it may call
 * everything, waiting and differentiating included. What it calls is recorded if hk_gradients has create_graph, and else not. What
 * it computes without Hocket a captured step does not do again.
 *
 * What backward reads is named in reads_inputs and reads_outputs, so that gradients are failed where that was overwritten; the
 * context should hold neither of them. The context is taken. The thread that lets go of it last releases it, also where the call is
 * refused; then the outputs are failed. */
HK_API void hk_function(hk_array *const *inputs, int input_count, hk_array **outputs,
                        int output_count, const hk_function_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_VOID(hk_attach_grad, (hk_source at, hk_array *x, hk_grad_mode mode), (x, mode))
#define hk_attach_grad(...) hk_attach_grad_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_grad, (hk_source at, hk_array *x), (x))
#define hk_grad(...) hk_grad_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_detach, (hk_source at, hk_array *x), (x))
#define hk_detach(...) hk_detach_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_backward, (hk_source at, hk_array *y), (y))
#define hk_backward(...) hk_backward_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_backward_from, (hk_source at, hk_array *y, hk_array *dy), (y, dy))
#define hk_backward_from(...) hk_backward_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_backward_all, (hk_source at, hk_array *const *ys, int count),
      (ys, count))
#define hk_backward_all(...) hk_backward_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(const hk_status *, hk_backward_with, hk_backward_options,
              (hk_source at, hk_array *const *ys, int count, const hk_backward_options *options),
              (ys, count, options))
#define hk_backward_with(...) hk_backward_with_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(const hk_status *, hk_gradients, hk_gradients_options,
              (hk_source at, hk_array *const *ys, int count, hk_array *const *xs, int x_count,
               const hk_gradients_options *options, hk_array **gradients),
              (ys, count, xs, x_count, options, gradients))
#define hk_gradients(...) hk_gradients_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_jvp,
      (hk_source at, hk_array *const *ys, int count, hk_array *const *xs, int x_count,
       hk_array *const *tangents, hk_array **products),
      (ys, count, xs, x_count, tangents, products))
#define hk_jvp(...) hk_jvp_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_function, hk_function_options,
                   (hk_source at, hk_array *const *inputs, int input_count, hk_array **outputs,
                    int output_count, const hk_function_options *options),
                   (inputs, input_count, outputs, output_count, options))
#define hk_function(...) hk_function_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
