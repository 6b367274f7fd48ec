/* Modules: trees, calls, lives. */
#include "nn/module.h"
#include "base/hooks.h"

#include "base/source.h"
#include "base/status.h"
#include "base/text.h"

#include <hocket/ops.h>
#include <stdlib.h>
#include <string.h>

/* For when there is no memory for one. */
static hk_module no_memory = {.refs = 1, .kind = "module", .shape = {.ndim = -1}};

/* ---- names -------------------------------------------------------------------------------------------- */

void hki_module_path(const hk_module *self, const char *name, char *text, size_t bytes)
{
    if (!self->parent) {
        hki_format(text, bytes, "%s", name ? name : "");
        return;
    }
    char below[HK_MODULE_PATH_BYTES];
    hki_format(below, sizeof below, name ? "%s.%s" : "%s", self->name, name);
    hki_module_path(self->parent, below, text, bytes);
}

/* Modules whose forward functions this thread is in, innermost first. */
typedef struct calling {
    const hk_module *module;
    const struct calling *outer;
} calling;
static _Thread_local const calling *innermost;

/* What messages of refused calls say behind them. */
void hki_module_describe_place(char *text, size_t bytes)
{
    if (!innermost)
        return;
    char path[HK_MODULE_PATH_BYTES];
    hki_module_path(innermost->module, NULL, path, sizeof path);
    const char *kind = innermost->module->kind;
    if (path[0])
        hki_format(text, bytes, " (in %s, %s)", path, kind);
    else
        hki_format(text, bytes, " (in %s)", kind);
}

/* ---- lives ---------------------------------------------------------------------------------------------- */

const hk_status *hk_module_status(const hk_module *self)
{
    if (!self)
        return hki_status_lend(
            hki_status_create(HK_INVALID_ARGUMENT, NULL, "argument module is NULL"));
    return self->status ? self->status : hki_status_no_memory();
}

static bool is_good(const hk_module *self)
{
    return self && self->status && hk_ok(self->status);
}

void hki_module_fail(hk_module *self, hk_code code, const char *format, ...)
{
    if (!is_good(self))
        return;
    va_list args;
    va_start(args, format);
    self->status = hki_status_create_va(code, NULL, format, args);
    va_end(args);
}

hk_module *hk_module_create(const char *kind, hk_forward_fn forward, const void *options,
                            size_t option_bytes)
{
    hk_module *self = calloc(1, sizeof *self);
    void *copy = option_bytes && options ? malloc(option_bytes) : NULL;
    if (!self || (option_bytes && options && !copy)) {
        free(self);
        free(copy);
        return &no_memory;
    }
    atomic_init(&self->refs, 1);
    self->status = hki_status_ok();
    self->forward = forward;
    self->shape.ndim = -1;
    hki_format(self->kind, sizeof self->kind, "%s", kind ? kind : "module");
    if (copy) {
        memcpy(copy, options, option_bytes);
        self->options = copy;
        self->option_bytes = option_bytes;
    }
    if (!forward)
        hki_module_fail(self, HK_INVALID_ARGUMENT, "forward of %s is NULL", self->kind);
    return self;
}

hk_module *hki_layer_create(const char *kind, hk_forward_fn forward, const void *options,
                            size_t option_bytes)
{
    hk_module *self = hk_module_create(kind, forward, options, option_bytes);
    if (self != &no_memory)
        self->layer = self->kind;
    return self;
}

void hki_module_without_bias(hk_module *self, bool is_so)
{
    if (is_good(self)) /* else it may be the one that all share */
        self->has_no_bias = is_so;
}

void *hk_module_options(hk_module *self)
{
    return self ? self->options : NULL;
}

hk_module *hk_module_retain(hk_module *self)
{
    if (self && self != &no_memory)
        atomic_fetch_add_explicit(&self->refs, 1, memory_order_relaxed);
    return self;
}

void hk_module_release(hk_module *self)
{
    if (!self || self == &no_memory ||
        atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    for (int i = 0; i < self->child_count; i++) {
        self->children[i]->parent = NULL;
        hk_module_release(self->children[i]);
    }
    for (int i = 0; i < self->value_count; i++)
        hk_array_release(self->values[i].array);
    hk_array_release(self->kept);
    hk_module_release(self->origin);
    hk_status_release(self->status);
    free(self->children);
    free(self->values);
    free(self->named);
    free(self->options);
    free(self);
}

/* ---- trees ---------------------------------------------------------------------------------------------- */

hk_module *hk_module_child_at(const hk_module *self, int index)
{
    return self && index >= 0 && index < self->child_count ? self->children[index] : NULL;
}

hk_module *hk_module_child(const hk_module *self, const char *name)
{
    for (int i = 0; self && name && i < self->child_count; i++)
        if (strcmp(self->children[i]->name, name) == 0)
            return self->children[i];
    return NULL;
}

static bool is_name(const char *name)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
    const size_t length = name ? strlen(name) : 0;
    return length > 0 && length < HKI_MODULE_NAME_BYTES && strspn(name, letters) == length;
}

static bool is_within(const hk_module *self, const hk_module *tree)
{
    for (; self; self = self->parent)
        if (self == tree)
            return true;
    return false;
}

/* Bytes of the longest path below, with a dot in front of each name, but for an array's. */
static size_t bytes_below(const hk_module *self)
{
    size_t most = 0;
    for (int i = 0; i < self->child_count; i++) {
        const size_t bytes = 1 + strlen(self->children[i]->name) + bytes_below(self->children[i]);
        most = bytes > most ? bytes : most;
    }
    return most;
}

static bool paths_fit(const hk_module *parent, const char *name, const hk_module *child)
{
    size_t bytes = strlen(name) + bytes_below(child) + 1 + HKI_MODULE_NAME_BYTES;
    for (; parent; parent = parent->parent)
        bytes += strlen(parent->name) + 1;
    return bytes <= HK_MODULE_PATH_BYTES;
}

hk_module *hk_module_add(hk_module *self, const char *name, hk_module *child)
{
    const bool is_kept = child && (child->parent || (self && is_within(self, child)));
    hk_module **children = NULL;
    if (!is_good(self))
        ; /* which says why already */
    else if (!is_good(child))
        hki_module_fail(self, hk_status_code(hk_module_status(child)), "%s",
                        hk_status_message(hk_module_status(child)));
    else if (!is_name(name) || hk_module_child(self, name))
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "child name is \"%s\", but must be new, of 1 to %d letters, digits, '_' "
                        "and '-'",
                        name ? name : "", HKI_MODULE_NAME_BYTES - 1);
    else if (is_kept)
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "child %s is in a tree already; a block may call one child twice", name);
    else if (!paths_fit(self, name, child))
        hki_module_fail(self, HK_INVALID_ARGUMENT,
                        "child %s would have paths below it that are longer than %d bytes", name,
                        HK_MODULE_PATH_BYTES);
    else if (!(children =
                   realloc(self->children, (size_t)(self->child_count + 1) * sizeof(void *))))
        hki_module_fail(self, HK_OUT_OF_MEMORY, "no host memory for child %s", name);
    if (!children) {
        if (!is_kept)
            hk_module_release(child);
        return NULL;
    }
    self->children = children;
    self->children[self->child_count++] = child;
    child->parent = self;
    hki_format(child->name, sizeof child->name, "%s", name);
    return child;
}

void hk_module_set_training(hk_module *self, bool is_training)
{
    if (!is_good(self))
        return;
    self->is_predicting = !is_training;
    for (int i = 0; i < self->child_count; i++)
        hk_module_set_training(self->children[i], is_training);
}

bool hk_module_is_training(const hk_module *self)
{
    return is_good(self) && !self->is_predicting;
}

/* ---- calls ------------------------------------------------------------------------------------------------ */

static hk_array *forward(hk_module *self, hk_array *const *inputs, int count)
{
    static const char operation[] = "forward";
    hk_array *const *named = count > 0 && inputs ? inputs : NULL;
    if (!is_good(self))
        return hki_array_create_failed(NULL, operation, named, named ? count : 0,
                                       hk_status_code(hk_module_status(self)), "%s",
                                       hk_status_message(hk_module_status(self)));
    if (!named)
        return hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                       "inputs is %s and count %d; a module needs one or more",
                                       hki_given(inputs), count);
    const calling here = {.module = self, .outer = innermost};
    hk_scope scope = hk_scope_begin(); /* what nobody needs behind the layer goes with it */
    innermost = &here;
    hk_array *result = self->forward(self, inputs, count);
    if (!result)
        result = hki_array_create_failed(NULL, operation, named, count, HK_INVALID_ARGUMENT,
                                         "the forward function returned NULL");
    innermost = here.outer;
    if (!result->failed)
        self->shape = result->shape;
    return hki_scope_end_with(&scope, result);
}

hk_array *(hk_forward_all)(hk_module *self, hk_array *const *inputs, int count)
{
    return forward(self, inputs, count);
}

hk_array *(hk_forward)(hk_module *self, hk_array *x)
{
    return forward(self, &x, 1);
}

/* ---- sequences and sums --------------------------------------------------------------------------------- */

static hk_array *sequential_forward(hk_module *self, hk_array *const *inputs, int count)
{
    if (self->child_count == 0)
        return hki_scope_add(hk_array_retain(inputs[0]));
    hk_scope scope = hk_scope_begin();
    hk_array *x = forward(self->children[0], inputs, count);
    for (int i = 1; i < self->child_count; i++) {
        hk_array *previous = x;
        x = forward(self->children[i], &previous, 1);
        if (x != previous)
            hki_scope_drop(&scope, previous);
    }
    return hki_scope_end_with(&scope, x);
}

hk_module *hk_sequential_of(hk_module *const *children, int count)
{
    hk_module *self = hki_layer_create("sequential", sequential_forward, NULL, 0);
    if (count < 0 || (count > 0 && !children)) {
        hki_module_fail(self, HK_INVALID_ARGUMENT, "children is %s and count %d",
                        hki_given(children), count);
        return self;
    }
    for (int i = 0; i < count; i++) {
        char name[HKI_MODULE_NAME_BYTES];
        hki_format(name, sizeof name, "%d", i);
        hk_module_add(self, name, children[i]);
    }
    return self;
}

static hk_array *residual_forward(hk_module *self, hk_array *const *inputs, int count)
{
    hk_array *y = forward(self->children[0], inputs, count);
    hk_array *x = self->child_count > 1 ? forward(self->children[1], inputs, count) : inputs[0];
    return (hk_add)(x, y);
}

hk_module *hk_residual_layer(hk_module *body, hk_module *shortcut)
{
    hk_module *self = hki_layer_create("residual", residual_forward, NULL, 0);
    hk_module_add(self, "body", body);
    if (shortcut)
        hk_module_add(self, "shortcut", shortcut);
    return self;
}
