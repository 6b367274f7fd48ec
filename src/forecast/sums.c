/* Which calls of a recording sum over devices. A sum is recorded as the copies and additions that it was made of; those
 * that wait for each other belong together, and so do parts of one array, which wait for the same calls. */
#include "forecast/scenario.h"

#include "base/integer.h"

#include <stdlib.h>
#include <string.h>

typedef struct finder {
    hki_scenario *scenario;
    int *parent;      /* by call: of its set, in a run of collective calls */
    int *next, *last; /* the next call of the same set, -1: none; and, by the set, its last one */
    int *sum_of_call; /* the result */
    bool *is_inner;   /* by call: see mark_inner */
    int *external, external_count; /* what the set that is looked at waits for, ascending */
    int *previous, previous_count; /* the same of the set before */
    int owner, previous_owner;     /* queue that adds up, of the set and of the one before */
    double previous_bytes;
} finder;

static int find(int *parent, int call)
{
    while (parent[call] != call)
        call = parent[call] = parent[parent[call]];
    return call;
}

static bool is_group(const char *operation)
{
    return !strncmp(operation, "group_", 6);
}

/* ---- bytes ------------------------------------------------------------------------------------------ */

/* Of the array that the call handles a part of: its first operand. */
static double part_bytes(const hki_call_event *call, double *element_bytes)
{
    hki_shape_operand operand;
    const char *at = call->shapes;
    bool is_output = false;
    if (!hki_shapes_next(&at, &is_output, &operand))
        return (double)call->bytes / 2;
    *element_bytes = operand.element_bytes;
    return operand.elements * operand.element_bytes;
}

/* Of what an exchange between processes writes: all that it touches, but for what it only reads. */
static double written_bytes(const hki_call_event *call, double *element_bytes)
{
    hki_shape_operand operand;
    const char *at = call->shapes;
    bool is_output = false;
    double bytes = (double)call->bytes;
    while (hki_shapes_next(&at, &is_output, &operand)) {
        *element_bytes = operand.element_bytes;
        if (operand.is_output)
            break;
        bytes -= operand.elements * operand.element_bytes;
    }
    return bytes > 0 ? bytes : 0;
}

static bool is_copy(const finder *self, int call)
{
    const hki_timeline *timeline = self->scenario->timeline;
    return timeline->queues[timeline->calls[call].queue].is_copy;
}

/* Calls of the set that others of it, but for copies, wait for. */
static void mark_inner(finder *self, int first)
{
    const hki_timeline *timeline = self->scenario->timeline;
    for (int i = first; i >= 0; i = self->next[i])
        for (int j = 0; j < timeline->calls[i].dependency_count && !is_copy(self, i); j++)
            self->is_inner[timeline->dependencies[timeline->calls[i].first_dependency + j]] = true;
}

static bool has_inputs(const hki_call_event *call)
{
    hki_shape_operand operand;
    const char *at = call->shapes;
    bool is_output = false;
    return hki_shapes_next(&at, &is_output, &operand) && !operand.is_output;
}

/* Of a sum over ranks: what the last exchange of each bucket writes, in the host's memory. On CPUs that is the array of each
 * device. Buckets that share an array are one set. Where this rank's part has been summed in its place, the exchange names it as
 * read and written, so that it counts twice: sums are the calls that have inputs. */
static double exchanged_bytes(finder *self, int first, double *element_bytes)
{
    const hki_scenario *scenario = self->scenario;
    const hki_timeline *timeline = scenario->timeline;
    double bytes = 0, summed = 0;
    bool in_place = false;
    mark_inner(self, first);
    for (int i = first; i >= 0; i = self->next[i]) {
        const hki_call_event *call = &timeline->calls[i];
        const bool is_host = scenario->queues[call->queue].device_index < 0;
        if (is_copy(self, i) || (self->is_inner[i] && !has_inputs(call)))
            continue;
        const double its =
            written_bytes(call, element_bytes) / (is_host ? 1 : scenario->device_count);
        *(self->is_inner[i] ? &summed : &bytes) += its;
        in_place = in_place || (!self->is_inner[i] && !has_inputs(call));
    }
    return in_place ? bytes - summed : bytes;
}

/* Those of the whole set, whose first call is `first`. */
static double set_bytes(finder *self, int first, double *element_bytes)
{
    const hki_timeline *timeline = self->scenario->timeline;
    const char *operation = timeline->calls[first].operation;
    double most = 0;
    if (!strcmp(operation, "group_all_reduce"))
        return exchanged_bytes(self, first, element_bytes);
    for (int i = first; i >= 0; i = self->next[i]) {
        const double bytes = is_group(operation) ? (double)timeline->calls[i].bytes / 2
                                                 : part_bytes(&timeline->calls[i], element_bytes);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* ---- sets ------------------------------------------------------------------------------------------- */

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* What calls of the set wait for outside of it; its first call is in a run that begins with `run`. */
static void find_external(finder *self, int run, int first)
{
    const hki_timeline *timeline = self->scenario->timeline;
    self->external_count = 0;
    for (int i = first; i >= 0; i = self->next[i]) {
        const hki_call_event *call = &timeline->calls[i];
        for (int j = 0; j < call->dependency_count; j++) {
            const int before = timeline->dependencies[call->first_dependency + j];
            if (before < run)
                self->external[self->external_count++] = before;
        }
    }
    if (self->external_count > 1)
        qsort(self->external, (size_t)self->external_count, sizeof *self->external, compare_ints);
    int kept = 0;
    for (int i = 0; i < self->external_count; i++)
        if (!kept || self->external[kept - 1] != self->external[i])
            self->external[kept++] = self->external[i];
    self->external_count = kept;
}

/* Whether the set is the next part of the array that the set before is a part of: parts are added up by one device after the
 * other, each in chunks. */
static bool is_next_part(const finder *self)
{
    enum { CHUNK_BYTES = 4 << 20 }; /* as hk_all_reduce has them */
    return self->external_count > 0 && self->external_count == self->previous_count &&
           !memcmp(self->external, self->previous,
                   (size_t)self->external_count * sizeof *self->external) &&
           (self->owner > self->previous_owner ||
            (self->owner == self->previous_owner && self->previous_bytes >= CHUNK_BYTES));
}

/* The queue of the first call of the set that is no copy. */
static int owner_of(const finder *self, int first)
{
    const hki_timeline *timeline = self->scenario->timeline;
    for (int i = first; i >= 0; i = self->next[i])
        if (!timeline->queues[timeline->calls[i].queue].is_copy)
            return timeline->calls[i].queue;
    return timeline->calls[first].queue;
}

static void become_previous(finder *self, double bytes)
{
    int *list = self->external;
    self->external = self->previous;
    self->previous = list;
    self->previous_count = self->external_count;
    self->previous_owner = self->owner;
    self->previous_bytes = bytes;
}

/* The set becomes a sum, or a part of the one before. */
static void take_set(finder *self, int run, int first)
{
    hki_scenario *scenario = self->scenario;
    const hki_timeline *timeline = scenario->timeline;
    const char *operation = timeline->calls[first].operation;
    double element_bytes = 4;
    find_external(self, run, first);
    self->owner = owner_of(self, first);
    const double bytes = set_bytes(self, first, &element_bytes);
    hki_scenario_sum *sum = &scenario->sums[scenario->sum_count - 1];
    if (scenario->sum_count > 0 && is_next_part(self) && !is_group(operation) &&
        timeline->calls[sum->call].operation == operation) {
        sum->bytes += bytes;
    } else {
        sum = &scenario->sums[scenario->sum_count++];
        *sum = (hki_scenario_sum){.bytes = bytes,
                                  .element_bytes = element_bytes,
                                  .is_sum = !is_group(operation) ||
                                            !strcmp(operation, "group_all_reduce"),
                                  .call = first,
                                  .order = first};
    }
    for (int i = first; i >= 0; i = self->next[i])
        self->sum_of_call[i] = scenario->sum_count - 1;
    become_previous(self, bytes);
}

/* Calls [first, end) are collective, and those beside them are not. */
static void take_run(finder *self, int first, int end)
{
    const hki_timeline *timeline = self->scenario->timeline;
    for (int i = first; i < end; i++) {
        const hki_call_event *call = &timeline->calls[i];
        self->parent[i] = i;
        for (int j = 0; j < call->dependency_count; j++) {
            const int before = timeline->dependencies[call->first_dependency + j];
            if (before >= first)
                self->parent[find(self->parent, before)] = find(self->parent, i);
        }
    }
    for (int i = first; i < end; i++) {
        const int set = self->parent[i] = find(self->parent, i);
        self->next[i] = -1;
        if (self->last[set] >= first)
            self->next[self->last[set]] = i;
        self->last[set] = i;
    }
    self->previous_count = 0;
    for (int i = first; i < end; i++)
        if (self->sum_of_call[i] < 0)
            take_set(self, first, i);
}

bool hki_scenario_find_sums(hki_scenario *self, int *sum_of_call)
{
    const hki_timeline *timeline = self->timeline;
    const size_t calls = (size_t)timeline->call_count + 1;
    const size_t dependencies = (size_t)timeline->dependency_count + 1;
    finder made = {.scenario = self, .sum_of_call = sum_of_call};
    made.parent = calloc(calls, sizeof *made.parent);
    made.next = calloc(calls, sizeof *made.next);
    made.last = calloc(calls, sizeof *made.last);
    made.is_inner = calloc(calls, sizeof *made.is_inner);
    made.external = calloc(dependencies, sizeof *made.external);
    made.previous = calloc(dependencies, sizeof *made.previous);
    const bool is_good =
        made.parent && made.next && made.last && made.is_inner && made.external && made.previous;
    for (int i = 0; is_good && i < timeline->call_count; i++)
        sum_of_call[i] = made.last[i] = -1;
    for (int first = 0, end; is_good && first < timeline->call_count; first = end) {
        end = first;
        while (end < timeline->call_count && timeline->calls[end].is_collective)
            end++;
        if (end > first)
            take_run(&made, first, end);
        else
            end++;
    }
    free(made.parent);
    free(made.next);
    free(made.last);
    free(made.is_inner);
    free(made.external);
    free(made.previous);
    return is_good;
}
