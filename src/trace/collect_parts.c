/* Parts of collecting that need nothing but a timeline or a record. */
#include "trace/collect.h"

#include <stdlib.h>
#include <string.h>

/* ---- shapes ---------------------------------------------------------------------------------------------------- */

/* A text of limited length; by hand, because there are a dozen numbers for each call. */
typedef struct bounded_text {
    char *text;
    size_t length, bytes;
} bounded_text;

static void append(bounded_text *self, const char *text)
{
    for (; *text && self->length < self->bytes; text++)
        self->text[self->length++] = *text;
}

static void append_integer(bounded_text *self, int64_t value)
{
    char digits[24];
    size_t at = sizeof digits - 1;
    uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
    digits[at] = '\0';
    do
        digits[--at] = (char)('0' + rest % 10);
    while (rest /= 10);
    if (value < 0)
        digits[--at] = '-';
    append(self, digits + at);
}

static void append_operand(bounded_text *self, const hki_trace_packed_operand *operand)
{
    append(self, hk_dtype_name((hk_dtype)operand->dtype));
    append(self, "(");
    for (int i = 0; i < operand->ndim; i++) {
        append(self, i ? "," : "");
        append_integer(self, operand->dims[i]);
    }
    append(self, operand->ndim == 1 ? ",)" : ")");
}

/* Inputs, then outputs. */
void hki_collect_shapes(const hki_trace_issue_record *issue, char *text, size_t bytes)
{
    bounded_text self = {.text = text, .bytes = bytes};
    const uint64_t *first =
        issue->body + issue->access_count * (sizeof(hki_trace_access) / sizeof *issue->body);
    for (int outputs = 0; outputs < 2; outputs++) {
        const uint64_t *at = first;
        bool is_first = true;
        for (int i = 0; i < issue->operand_count; i++) {
            const hki_trace_packed_operand *operand = (const void *)at;
            if (operand->is_output == (outputs == 1)) {
                append(&self, !is_first ? ", " : outputs ? self.length ? " -> " : "-> " : "");
                append_operand(&self, operand);
                is_first = false;
            }
            at += 1 + operand->ndim;
        }
    }
    if (self.length == bytes)
        memcpy(text + bytes - 4, "...", 4);
    else
        text[self.length] = '\0';
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

void hki_collect_ready(hki_timeline *timeline, const bool *has_clock)
{
    for (int i = 0; i < timeline->call_count; i++) {
        hki_call_event *call = &timeline->calls[i];
        for (int j = 0; has_clock[call->queue] && j < call->dependency_count; j++) {
            const int before = timeline->dependencies[call->first_dependency + j];
            const int64_t end_ns = timeline->calls[before].end_ns;
            if (call->ready_ns < end_ns)
                call->ready_ns = end_ns < call->start_ns ? end_ns : call->start_ns;
        }
    }
}

/* ---- slices ---------------------------------------------------------------------------------------------------- */

static int compare_slices(const void *a, const void *b)
{
    const hki_trace_slice *left = a, *right = b;
    if (left->lane != right->lane)
        return left->lane < right->lane ? -1 : 1;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns > right->end_ns ? -1 : 1;
    if (left->call != right->call)
        return left->call < right->call ? -1 : 1;
    return (left->piece > right->piece) - (left->piece < right->piece);
}

/* The slices that contain the present one are a chain, innermost first, through `outer`: what starts later needs to be
 * compared with them only. */
bool hki_collect_nest_slices(hki_timeline *timeline)
{
    hki_trace_slice *slices = timeline->slices;
    if (!timeline->slice_count)
        return true;
    qsort(slices, (size_t)timeline->slice_count, sizeof *slices, compare_slices);
    int *outer = malloc((size_t)timeline->slice_count * sizeof *outer);
    for (int i = 0, inner = -1; outer && i < timeline->slice_count; i++) {
        if (inner >= 0 && slices[inner].lane != slices[i].lane)
            inner = -1;
        while (inner >= 0 && slices[inner].end_ns < slices[i].end_ns) {
            if (slices[inner].end_ns > slices[i].start_ns)
                slices[inner].end_ns = slices[i].start_ns;
            inner = outer[inner];
        }
        outer[i] = inner;
        inner = i;
    }
    const bool done = outer;
    free(outer);
    return done;
}

/* ---- waits ----------------------------------------------------------------------------------------------------- */

typedef struct call_end {
    int64_t end_ns; /* by the wall clock: when it was known to have ended */
    int call;
} call_end;

static int compare_ends(const void *a, const void *b)
{
    const call_end *left = a, *right = b;
    if (left->end_ns != right->end_ns)
        return left->end_ns < right->end_ns ? -1 : 1;
    return (left->call > right->call) - (left->call < right->call);
}

static int last_call_of(const hki_timeline *timeline, const call_end *ends,
                        const hki_wait_event *wait, uint64_t sequence)
{
    enum { LOOKS = 1000 }; /* at calls that were issued since, or run elsewhere */
    int low = 0, high = timeline->call_count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (ends[middle].end_ns <= wait->end_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (int i = low - 1; i >= 0 && i >= low - LOOKS && ends[i].end_ns >= wait->start_ns; i--) {
        const hki_call_event *call = &timeline->calls[ends[i].call];
        if (call->sequence <= sequence &&
            (!*wait->device || timeline->queues[call->queue].device == wait->device))
            return ends[i].call;
    }
    return -1;
}

bool hki_collect_ends_of_waits(hki_timeline *timeline, const uint64_t *sequences)
{
    call_end *ends = malloc(((size_t)timeline->call_count + 1) * sizeof *ends);
    if (!ends)
        return false;
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        ends[i] =
            (call_end){call->wall_end_ns > call->end_ns ? call->wall_end_ns : call->end_ns, i};
    }
    if (timeline->call_count)
        qsort(ends, (size_t)timeline->call_count, sizeof *ends, compare_ends);
    for (int i = 0; i < timeline->wait_count; i++)
        timeline->waits[i].last_call =
            last_call_of(timeline, ends, &timeline->waits[i], sequences[i]);
    free(ends);
    return true;
}
