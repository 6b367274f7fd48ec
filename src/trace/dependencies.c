/* For each variable two sets of marks (byte range, call): of the last writers, which are disjoint, and of the readers
 * since. A write cuts its range out of both sets and puts itself into the first; so each mark is touched once for
 * each dependency that it causes, and found in logarithmic time however many there are. A set is a treap by begin,
 * each node of which knows the largest end below it. */
#include "trace/dependencies.h"

#include <assert.h>
#include <stdlib.h>

enum { NONE = 0, FEW_DEPENDENCIES = 32, MOST_ROWS = 4096 };

typedef struct mark {
    uint64_t begin, end, largest_end;
    int left, right; /* NONE: no such node */
    uint32_t priority;
    int call;
} mark;

/* The slot of a variable. */
typedef struct variable {
    uint64_t address; /* 0: free */
    int writers, readers;
} variable;

typedef struct int_list {
    int *items;
    int count, capacity;
} int_list;

struct hki_dependencies {
    mark *marks; /* marks[NONE] is nobody's */
    int mark_count, mark_capacity;
    int free_marks;      /* linked by `left` */
    uint32_t random;     /* for priorities: only speed depends on it */
    variable *variables; /* open addressing */
    size_t variable_count, variable_capacity;
    int call, call_count;
    int *firsts;  /* of each call added: where its dependencies begin */
    int *seen_by; /* of each call: the latest call that listed it, plus one */
    int_list found, all, overlaps;
};

static bool list_add(int_list *list, int item)
{
    if (list->count == list->capacity) {
        int capacity = list->capacity ? 2 * list->capacity : 64;
        if (list->capacity > INT32_MAX / 2)
            return false;
        int *items = realloc(list->items, (size_t)capacity * sizeof *items);
        if (!items)
            return false;
        list->items = items;
        list->capacity = capacity;
    }
    list->items[list->count++] = item;
    return true;
}

/* ---- sets of marks ------------------------------------------------------------------------------------------ */

/* NONE when host memory is short. */
static int mark_create(hki_dependencies *self, uint64_t begin, uint64_t end, int call)
{
    int index = self->free_marks;
    if (index) {
        self->free_marks = self->marks[index].left;
    } else {
        if (self->mark_count == self->mark_capacity) {
            if (self->mark_capacity > INT32_MAX / 2)
                return NONE;
            int capacity = 2 * self->mark_capacity;
            mark *marks = realloc(self->marks, (size_t)capacity * sizeof *marks);
            if (!marks)
                return NONE;
            self->marks = marks;
            self->mark_capacity = capacity;
        }
        index = self->mark_count++;
    }
    self->random ^= self->random << 13; /* xorshift */
    self->random ^= self->random >> 17;
    self->random ^= self->random << 5;
    self->marks[index] = (mark){
        .begin = begin, .end = end, .largest_end = end, .priority = self->random, .call = call};
    return index;
}

static void mark_release(hki_dependencies *self, int index)
{
    self->marks[index].left = self->free_marks;
    self->free_marks = index;
}

static void set_release(hki_dependencies *self, int root)
{
    if (!root)
        return;
    set_release(self, self->marks[root].left);
    set_release(self, self->marks[root].right);
    mark_release(self, root);
}

static void update(mark *marks, int root)
{
    mark *node = &marks[root];
    node->largest_end = node->end;
    if (node->left && marks[node->left].largest_end > node->largest_end)
        node->largest_end = marks[node->left].largest_end;
    if (node->right && marks[node->right].largest_end > node->largest_end)
        node->largest_end = marks[node->right].largest_end;
}

/* A total order of marks, by begin. */
static bool comes_before(const mark *marks, int a, int b)
{
    return marks[a].begin != marks[b].begin ? marks[a].begin < marks[b].begin : a < b;
}

/* Into those that come before `at` and the others. */
static void set_split(mark *marks, int root, int at, int *before, int *after)
{
    if (!root) {
        *before = *after = NONE;
    } else if (comes_before(marks, root, at)) {
        int right = marks[root].right;
        *before = root;
        set_split(marks, right, at, &marks[root].right, after);
        update(marks, root);
    } else {
        int left = marks[root].left;
        *after = root;
        set_split(marks, left, at, before, &marks[root].left);
        update(marks, root);
    }
}

/* All of `left` come before all of `right`. */
static int set_merge(mark *marks, int left, int right)
{
    if (!left || !right)
        return left ? left : right;
    if (marks[left].priority >= marks[right].priority) {
        marks[left].right = set_merge(marks, marks[left].right, right);
        update(marks, left);
        return left;
    }
    marks[right].left = set_merge(marks, left, marks[right].left);
    update(marks, right);
    return right;
}

static int set_add(mark *marks, int root, int node)
{
    if (!root)
        return node;
    if (marks[node].priority > marks[root].priority) {
        set_split(marks, root, node, &marks[node].left, &marks[node].right);
        root = node;
    } else if (comes_before(marks, node, root)) {
        marks[root].left = set_add(marks, marks[root].left, node);
    } else {
        marks[root].right = set_add(marks, marks[root].right, node);
    }
    update(marks, root);
    return root;
}

static int set_remove(mark *marks, int root, int node)
{
    if (root == node)
        return set_merge(marks, marks[node].left, marks[node].right);
    if (comes_before(marks, node, root))
        marks[root].left = set_remove(marks, marks[root].left, node);
    else
        marks[root].right = set_remove(marks, marks[root].right, node);
    update(marks, root);
    return root;
}

/* Lists the marks that share bytes with [begin, end). */
static bool set_overlaps(hki_dependencies *self, int root, uint64_t begin, uint64_t end)
{
    const mark *node = &self->marks[root];
    if (!root || node->largest_end <= begin)
        return true;
    return set_overlaps(self, node->left, begin, end) &&
           (node->begin >= end || ((node->end <= begin || list_add(&self->overlaps, root)) &&
                                   set_overlaps(self, node->right, begin, end)));
}

/* ---- variables ---------------------------------------------------------------------------------------------- */

static variable *variable_slot(variable *variables, size_t capacity, uint64_t address)
{
    size_t index = (size_t)(address * 0x9e3779b97f4a7c15u >> 20) & (capacity - 1);
    while (variables[index].address && variables[index].address != address)
        index = (index + 1) & (capacity - 1);
    return &variables[index];
}

/* NULL when host memory is short. */
static variable *variable_find(hki_dependencies *self, uint64_t address)
{
    if (2 * self->variable_count >= self->variable_capacity) {
        size_t capacity = self->variable_capacity ? 2 * self->variable_capacity : 1024;
        variable *variables = calloc(capacity, sizeof *variables);
        if (!variables)
            return NULL;
        for (size_t i = 0; i < self->variable_capacity; i++)
            if (self->variables[i].address)
                *variable_slot(variables, capacity, self->variables[i].address) =
                    self->variables[i];
        free(self->variables);
        self->variables = variables;
        self->variable_capacity = capacity;
    }
    variable *slot = variable_slot(self->variables, self->variable_capacity, address);
    if (!slot->address) {
        slot->address = address;
        self->variable_count++;
    }
    return slot;
}

void hki_dependencies_begin_var(hki_dependencies *self, uint64_t var)
{
    if (!self->variable_count)
        return;
    variable *found = variable_slot(self->variables, self->variable_capacity, var);
    set_release(self, found->writers);
    set_release(self, found->readers);
    found->writers = found->readers = NONE;
}

/* ---- calls -------------------------------------------------------------------------------------------------- */

/* Notes the calls of the marks in `overlaps`. */
static bool find_calls(hki_dependencies *self)
{
    for (int i = 0; i < self->overlaps.count; i++) {
        int call = self->marks[self->overlaps.items[i]].call;
        if (call != self->call && self->seen_by[call] != self->call + 1) {
            self->seen_by[call] = self->call + 1;
            if (!list_add(&self->found, call))
                return false;
        }
    }
    return true;
}

static bool put(hki_dependencies *self, int *set, uint64_t begin, uint64_t end, int call)
{
    int node = mark_create(self, begin, end, call);
    if (node)
        *set = set_add(self->marks, *set, node);
    return node;
}

/* Takes the range out of the marks in `overlaps`, all of `set`. */
static bool cut(hki_dependencies *self, int *set, uint64_t begin, uint64_t end)
{
    for (int i = 0; i < self->overlaps.count; i++) {
        int node = self->overlaps.items[i];
        const mark old = self->marks[node];
        *set = set_remove(self->marks, *set, node);
        mark_release(self, node);
        if ((old.begin < begin && !put(self, set, old.begin, begin, old.call)) ||
            (old.end > end && !put(self, set, end, old.end, old.call)))
            return false;
    }
    return true;
}

static bool add_bytes(hki_dependencies *self, const hki_trace_access *access, uint64_t begin,
                      uint64_t end)
{
    variable *var = variable_find(self, access->var);
    self->overlaps.count = 0;
    if (!var || !set_overlaps(self, var->writers, begin, end) || !find_calls(self))
        return false;
    if (!(access->mode & 2))
        return put(self, &var->readers, begin, end, self->call);
    if (!cut(self, &var->writers, begin, end))
        return false;
    self->overlaps.count = 0;
    return set_overlaps(self, var->readers, begin, end) && find_calls(self) &&
           cut(self, &var->readers, begin, end) && put(self, &var->writers, begin, end, self->call);
}

/* Rows one by one; of very many, the bytes between them as well. */
static bool add_access(hki_dependencies *self, const hki_trace_access *access)
{
    const uint64_t bytes = access->end - access->begin;
    if (!access->pitch || bytes / access->pitch >= MOST_ROWS)
        return add_bytes(self, access, access->begin, access->end);
    const uint64_t width = bytes % access->pitch;
    bool is_good = true;
    for (uint64_t row = access->begin; is_good && row < access->end; row += access->pitch)
        is_good = add_bytes(self, access, row, row + width);
    return is_good;
}

static int compare_ints(const void *a, const void *b)
{
    return (*(const int *)a > *(const int *)b) - (*(const int *)a < *(const int *)b);
}

/* Unsees what a found call depends on itself. */
static void drop_implied(hki_dependencies *self)
{
    for (int i = 0; i < self->found.count; i++) {
        int call = self->found.items[i], first = self->firsts[call];
        int count = self->firsts[call + 1] - first;
        for (int j = 0; count <= FEW_DEPENDENCIES && j < count; j++)
            self->seen_by[self->all.items[first + j]] = 0;
    }
}

bool hki_dependencies_add(hki_dependencies *self, const hki_trace_access *accesses, int count)
{
    assert(self->call < self->call_count);
    self->found.count = 0;
    for (int i = 0; i < count; i++)
        if (accesses[i].var && accesses[i].begin < accesses[i].end && accesses[i].mode & 3 &&
            !add_access(self, &accesses[i]))
            return false;
    drop_implied(self);
    if (self->found.count > 1)
        qsort(self->found.items, (size_t)self->found.count, sizeof *self->found.items,
              compare_ints);
    int first =
        self->all.count >= HKI_DEPENDENCIES_MOST && self->found.count > HKI_DEPENDENCIES_KEPT
            ? self->found.count - HKI_DEPENDENCIES_KEPT
            : 0;
    for (int i = first; i < self->found.count; i++)
        if (self->seen_by[self->found.items[i]] == self->call + 1 &&
            !list_add(&self->all, self->found.items[i]))
            return false;
    self->firsts[++self->call] = self->all.count;
    return true;
}

int hki_dependencies_count(const hki_dependencies *self)
{
    return self->all.count;
}

int *hki_dependencies_take(hki_dependencies *self)
{
    int *items = self->all.items;
    self->all = (int_list){0};
    return items;
}

hki_dependencies *hki_dependencies_create(int call_count)
{
    enum { FIRST_MARKS = 1024 };
    hki_dependencies *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->call_count = call_count;
    self->random = 2463534242u;
    self->mark_count = 1;
    self->mark_capacity = FIRST_MARKS;
    self->marks = calloc(FIRST_MARKS, sizeof *self->marks);
    self->firsts = calloc((size_t)call_count + 1, sizeof *self->firsts);
    self->seen_by = calloc((size_t)call_count + 1, sizeof *self->seen_by);
    if (!self->marks || !self->firsts || !self->seen_by) {
        hki_dependencies_destroy(self);
        return NULL;
    }
    return self;
}

void hki_dependencies_destroy(hki_dependencies *self)
{
    if (!self)
        return;
    free(self->marks);
    free(self->variables);
    free(self->firsts);
    free(self->seen_by);
    free(self->found.items);
    free(self->all.items);
    free(self->overlaps.items);
    free(self);
}
