/* What ran at the same time, and what had to follow what. */
#include "trace/timeline.h"

#include <stdlib.h>
#include <string.h>

/* ---- times as sets ----------------------------------------------------------------------------------------- */

typedef struct interval {
    int64_t begin, end;
} interval;

static int compare_intervals(const void *a, const void *b)
{
    const interval *left = a, *right = b;
    return (left->begin > right->begin) - (left->begin < right->begin);
}

/* Sorted and joined, so that none touches another; returns how many are left. */
static int join(interval *intervals, int count)
{
    int joined = 0;
    if (count > 1)
        qsort(intervals, (size_t)count, sizeof *intervals, compare_intervals);
    for (int i = 0; i < count; i++) {
        interval *last = &intervals[joined - 1];
        if (joined && intervals[i].begin <= last->end)
            last->end = intervals[i].end > last->end ? intervals[i].end : last->end;
        else
            intervals[joined++] = intervals[i];
    }
    return joined;
}

static int64_t length_of(const interval *intervals, int count)
{
    int64_t length = 0;
    for (int i = 0; i < count; i++)
        length += intervals[i].end - intervals[i].begin;
    return length;
}

static int64_t common_length(const interval *a, int a_count, const interval *b, int b_count)
{
    int64_t length = 0;
    for (int i = 0, j = 0; i < a_count && j < b_count;) {
        const int64_t begin = a[i].begin > b[j].begin ? a[i].begin : b[j].begin;
        const int64_t end = a[i].end < b[j].end ? a[i].end : b[j].end;
        if (end > begin)
            length += end - begin;
        if (a[i].end < b[j].end)
            i++;
        else
            j++;
    }
    return length;
}

/* ---- selectors: see hk_trace_overlap_ns ------------------------------------------------------------------------ */

static bool is_kind(const char *device, const char *kind)
{
    const size_t length = strlen(kind);
    return !strncmp(device, kind, length) && device[length] == ':';
}

static bool matches_class(const hki_call_event *call, const hki_trace_queue_info *queue,
                          const char *name, size_t length)
{
    const struct {
        const char *name;
        bool matches;
    } classes[] = {
        {"@compute", !queue->is_copy},
        {"@copy", queue->is_copy},
        {"@collective", call->is_collective},
        {"@backward", call->is_backward && !call->is_collective},
        {"@cpu", is_kind(queue->device, "cpu")},
        {"@sim", is_kind(queue->device, "sim")},
    };
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (strlen(classes[i].name) == length && !memcmp(classes[i].name, name, length))
            return classes[i].matches;
    return false;
}

static bool matches_name(const char *operation, const char *name, size_t length)
{
    if (length && name[length - 1] == '*')
        return !strncmp(operation, name, length - 1);
    return length && strlen(operation) == length && !memcmp(operation, name, length);
}

static bool matches(const hki_timeline *timeline, const hki_call_event *call, const char *selector)
{
    while (*selector) {
        const size_t length = strcspn(selector, ",");
        const char *name = selector + strspn(selector, " ");
        size_t name_length = length - (size_t)(name - selector);
        selector += length + (selector[length] == ',');
        while (name_length && name[name_length - 1] == ' ')
            name_length--;
        if (*name == '@' ? matches_class(call, &timeline->queues[call->queue], name, name_length)
                         : matches_name(call->operation, name, name_length))
            return true;
    }
    return false;
}

/* When calls run that the selector (NULL: any) takes and that belong to the queue (-1: any); joined, to be freed.
 * NULL, and none, when host memory is short. */
static interval *times_of(const hki_timeline *timeline, const char *selector, int queue, int *count)
{
    interval *intervals = malloc(((size_t)timeline->call_count + 1) * sizeof *intervals);
    *count = 0;
    for (int i = 0; intervals && i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        if (call->end_ns > call->start_ns && (queue < 0 || call->queue == queue) &&
            (!selector || matches(timeline, call, selector)))
            intervals[(*count)++] = (interval){call->start_ns, call->end_ns};
    }
    *count = join(intervals, *count);
    return intervals;
}

int64_t hki_timeline_overlap(const hki_timeline *timeline, const char *a, const char *b)
{
    int a_count, b_count = 0;
    interval *of_a = times_of(timeline, a, -1, &a_count);
    interval *of_b = b ? times_of(timeline, b, -1, &b_count) : NULL;
    const int64_t length =
        b ? common_length(of_a, a_count, of_b, b_count) : length_of(of_a, a_count);
    free(of_a);
    free(of_b);
    return length;
}

int64_t hki_timeline_busy(const hki_timeline *timeline, int queue)
{
    int count;
    interval *intervals = times_of(timeline, NULL, queue < 0 ? INT32_MAX : queue, &count);
    const int64_t length = length_of(intervals, count);
    free(intervals);
    return length;
}

/* ---- the critical path ------------------------------------------------------------------------------------------ */

typedef struct chain {
    int64_t length_ns; /* of the longest one that ends with this call; -1: not known yet */
    int before;        /* the call before this in it; -1: none */
} chain;

typedef struct started {
    int64_t start_ns, end_ns;
    int call;
} started;

static int compare_started(const void *a, const void *b)
{
    const started *left = a, *right = b;
    if (left->start_ns != right->start_ns)
        return left->start_ns < right->start_ns ? -1 : 1;
    if (left->end_ns != right->end_ns)
        return left->end_ns < right->end_ns ? -1 : 1;
    return (left->call > right->call) - (left->call < right->call);
}

static void follow(chain *chains, int call, int before)
{
    if (chains[before].length_ns > 0 &&
        (chains[call].before < 0 ||
         chains[before].length_ns > chains[chains[call].before].length_ns))
        chains[call].before = before;
}

/* Calls of CPU devices run side by side; every other queue runs them one after the other. */
static bool is_sequential(const hki_trace_queue_info *queue)
{
    return !is_kind(queue->device, "cpu");
}

/* Calls in an order in which each comes after all that it may follow: by sequence number, or, where queues count, by
 * start. What is not so in a file from elsewhere is not followed. */
static void find_chains(const hki_timeline *timeline, const started *order, int *last_of_queue,
                        chain *chains)
{
    for (int i = 0; i < timeline->call_count; i++)
        chains[i] = (chain){-1, -1};
    for (int i = 0; i < timeline->call_count; i++) {
        const int index = order ? order[i].call : i;
        const hki_call_event *call = &timeline->calls[index];
        for (int j = 0; j < call->dependency_count; j++)
            follow(chains, index, timeline->dependencies[call->first_dependency + j]);
        if (last_of_queue && is_sequential(&timeline->queues[call->queue])) {
            if (last_of_queue[call->queue])
                follow(chains, index, last_of_queue[call->queue] - 1);
            last_of_queue[call->queue] = index + 1;
        }
        const int before = chains[index].before;
        chains[index].length_ns =
            call->end_ns - call->start_ns + (before < 0 ? 0 : chains[before].length_ns);
    }
}

/* The longest chain's calls, first one first; to be freed. */
static int *take_longest(const chain *chains, int call_count, int *count, int64_t *length_ns)
{
    int last = 0;
    for (int i = 1; i < call_count; i++)
        if (chains[i].length_ns > chains[last].length_ns)
            last = i;
    int depth = 0;
    for (int i = last; i >= 0; i = chains[i].before)
        depth++;
    int *path = malloc((size_t)depth * sizeof *path);
    if (path) {
        *count = depth;
        *length_ns = chains[last].length_ns;
        for (int i = last; i >= 0; i = chains[i].before)
            path[--depth] = i;
    }
    return path;
}

int *hki_timeline_critical_path(const hki_timeline *timeline, bool queues_count, int *count,
                                int64_t *length_ns)
{
    const int call_count = timeline->call_count;
    int *path = NULL, *last_of_queue = NULL;
    started *order = NULL;
    *count = 0;
    *length_ns = 0;
    if (!call_count)
        return NULL;
    chain *chains = malloc((size_t)call_count * sizeof *chains);
    if (queues_count) {
        order = malloc((size_t)call_count * sizeof *order);
        last_of_queue = calloc((size_t)timeline->queue_count, sizeof *last_of_queue);
        if (!order || !last_of_queue)
            goto out;
        for (int i = 0; i < call_count; i++)
            order[i] = (started){timeline->calls[i].start_ns, timeline->calls[i].end_ns, i};
        qsort(order, (size_t)call_count, sizeof *order, compare_started);
    }
    if (chains) {
        find_chains(timeline, order, last_of_queue, chains);
        path = take_longest(chains, call_count, count, length_ns);
    }
out:
    free(chains);
    free(order);
    free(last_of_queue);
    return path;
}
