/* Noting what a thread's calls do, so that it can be done again: the hooks of the graph room. They are only used while
 * hki_capturing says so, which is one load per call. What cannot be noted says so through hki_array_uncapturable. */
#ifndef HOCKET_OP_CAPTURE_H
#define HOCKET_OP_CAPTURE_H

#include "op/call/call.h"

typedef struct hki_capture hki_capture;

/* The capture that this thread is in; NULL: none, or paused. Set by the graph room alone. */
extern _Thread_local hki_capture *hki_capturing;

/* Something compound that is done again by calling `again` with arrays of the same storages: an all-reduce. The calls
 * inside it are not noted. */
typedef void (*hki_capture_again_fn)(hk_array *const *arrays, int count, const void *options);

/* The graph room's (base/hooks.h). Each is called beside the call, which goes on as without it. */
typedef struct hki_capture_hooks {
    /* A task of this call is about to be issued: hki_call_issue's arguments. */
    void (*call)(hki_capture *capture, const hki_call *call, hk_array *const *outputs, bool is_new,
                 hki_call_staging staging);
    /* An array has just been made that calls are to write in parts, all of it: a temporary like a call's new output. */
    void (*made)(hki_capture *capture, const char *operation, hk_array *x);
    /* Whether a call within the capture has made x's memory. */
    bool (*has_made)(hki_capture *capture, const hk_array *x);
    /* Bracket something compound: begin notes it and pauses the thread's capture, end resumes it. `arrays` are read and
     * written. options are copied. early_bytes: how much of them is summed at a time, over several devices or ranks;
     * 0: it is no sum. */
    void (*compound_begin)(hki_capture *capture, const char *operation, hki_capture_again_fn again,
                           hk_array *const *arrays, int count, const void *options,
                           size_t options_bytes, size_t early_bytes);
    void (*compound_end)(hki_capture *capture);
} hki_capture_hooks;

/* Gradients that are summed at a time, unless a call says otherwise. */
enum { HKI_EARLY_BYTES = 4 << 20 };
/* Whether there are several ranks, which may sum gradients when a replay has been issued. */
extern atomic_bool hki_capture_has_ranks;

#endif
