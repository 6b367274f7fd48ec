/* How rooms call rooms below them on the list (scripts/rooms.txt), which know them not by
 * includes: one table, filled in src/library/hooks.c. Nothing else points that way. Tests may
 * put their own functions in, and NULL back where one may be NULL. */
#ifndef HOCKET_BASE_HOOKS_H
#define HOCKET_BASE_HOOKS_H

#include <hocket/array.h>

struct hk_op;
struct hki_call;
struct hki_runtime;

typedef struct hki_hook_table {
    /* ---- the engine calls; each may be NULL */

    /* By the thread that starts a runtime, before anybody can issue on it, and by the one that
     * ends it, when nothing runs any more. Neither may ask for the default runtime. */
    void (*runtime_started)(struct hki_runtime *runtime);
    void (*runtime_ending)(struct hki_runtime *runtime);
    /* When a runtime ends, first, while the engine works: sees to it that tasks of classes that
     * are promises end. let_go: what the program holds back is let go, for what is waited for may
     * stand behind it; NULL: it holds nothing. */
    void (*promises_end)(struct hki_runtime *runtime, void (*let_go)(struct hki_runtime *runtime));
    /* Then, to see to it that tasks of classes that are outside end; true: what has been
     * issued is done before the runtime ends, else it is cancelled. */
    bool (*runtime_stopping)(struct hki_runtime *runtime);
    /* When all tasks have ended: when it returns, no thread is in hki_task_end any more. */
    void (*runtime_stopped)(struct hki_runtime *runtime);
    /* What the plug-in for GPUs is given. */
    const struct hki_cuda_host *cuda_host;

    /* ---- arrays call */

    /* Frees array->autograd when the array goes. */
    void (*tape_drop)(void *autograd);
    /* `view` (live, not failed) has been made from `source` and shows some of its elements, as
     * its shape, strides and offset say. May be NULL. */
    void (*tape_record_view)(hk_array *source, hk_array *view);
    /* The thread records, and x shows what a recorded call gave, so that values from outside
     * would come behind the tape's back. */
    bool (*tape_is_result)(hk_array *x);
    /* In program order, `to` becomes the values of `from`, of the same shape and dtype, in
     * another device's memory, and fails where `from` has; neither has failed at its call. Asks
     * and tells the tape nothing. is_fresh: `to` has just been made and nobody else has seen it.
     * `operation`: static text, for records and traces. What cannot be issued fails `to`. */
    void (*transfer)(hk_array *to, hk_array *from, const char *operation, bool is_fresh);
    /* Tells the capture that this thread is in, if any, that `operation` (static text) was
     * called, which cannot be done again: for what it is, as `why` says (code HK_OK), or because
     * it was refused with that message. */
    void (*capture_refuse)(hk_code code, const char *operation, const char *why);
    /* What messages of refused calls say behind them, such as the layer that this thread is in. */
    void (*describe_layer)(char *text, size_t bytes);

    /* ---- operators call */

    /* Notes a call on the tape; outputs: all of the operator's, as hki_op_call_all gives them. */
    void (*tape_record)(const struct hki_call *call, hk_array *const *outputs);
    /* Whether this thread records from now on; returns whether it did. */
    bool (*tape_set_recording)(bool on);
    /* Asked before a call that writes into `out`; false after hki_call_refuse when the tape
     * forbids it. Neither `out` nor call->arrays is failed. */
    bool (*tape_allow_overwrite)(struct hki_call *call, hk_array *out);
    const struct hki_capture_hooks *capture; /* op/call/capture.h */
    /* Operators that take the place of others where an input is complex, by id; NULL: none. */
    const struct hk_op *const *complex_ops;
    /* The call with its values converted to what they are promoted to, as CPUs' kernels do on
     * the way. out NULL: makes a new array; else writes and returns it. */
    hk_array *(*call_promoted)(const struct hki_call *call, hk_array *out);
} hki_hook_table;

extern hki_hook_table hki_hooks;

/* ---- what the table holds, by the rooms that define it --------------------------------------- */

void hki_trace_runtime_started(struct hki_runtime *runtime);
void hki_trace_runtime_ending(struct hki_runtime *runtime);
bool hki_world_runtime_stopping(struct hki_runtime *runtime);
void hki_world_runtime_stopped(struct hki_runtime *runtime);
void hki_promises_end(struct hki_runtime *runtime, void (*let_go)(struct hki_runtime *runtime));
extern const struct hki_cuda_host hki_cuda_host_table;
void hki_tape_drop(void *autograd);
void hki_tape_record_view(hk_array *source, hk_array *view);
bool hki_tape_is_result(hk_array *x);
void hki_transfer_array(hk_array *to, hk_array *from, const char *operation, bool is_fresh);
void hki_capture_refuse(hk_code code, const char *operation, const char *why);
void hki_module_describe_place(char *text, size_t bytes);
void hki_tape_record(const struct hki_call *call, hk_array *const *outputs);
bool hki_tape_set_recording(bool on);
bool hki_tape_allow_overwrite(struct hki_call *call, hk_array *out);
extern const struct hki_capture_hooks hki_capture_hook_table;
extern const struct hk_op *const hki_complex_table[];
hk_array *hki_promoted_call(const struct hki_call *call, hk_array *out);

#endif
