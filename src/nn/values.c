/* The arrays of modules: made at the first call, listed, set, copied. */
#include "nn/module.h"

#include "autograd/tape.h"
#include "base/source.h"
#include "base/text.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

/* ---- making ------------------------------------------------------------------------------------------- */

static hki_module_value *find(const hk_module *self, const char *name)
{
    for (int i = 0; i < self->value_count; i++)
        if (strcmp(self->values[i].name, name) == 0)
            return &self->values[i];
    return NULL;
}

/* Keeps x (borrowed) as a value; NULL without host memory. */
static hki_module_value *keep(hk_module *self, const char *name, hk_array *x)
{
    hki_module_value *values =
        realloc(self->values, (size_t)(self->value_count + 1) * sizeof *values);
    if (!values)
        return NULL;
    self->values = values;
    hki_module_value *value = &values[self->value_count++];
    *value = (hki_module_value){.array = hk_array_retain(x)};
    hki_format(value->name, sizeof value->name, "%s", name);
    return value;
}

static bool is_float(hk_dtype dtype)
{
    return dtype == HK_F32 || dtype == HK_F64;
}

/* How a value begins, beside its shape. */
typedef struct beginning {
    const hk_init *init;
    bool is_buffer;
} beginning;

static bool is_there(const hk_array *x, const hki_device *device, hk_dtype dtype)
{
    return x->failed || (x->storage->device == device && x->dtype == dtype);
}

/* New arrays of the scope. */
static hk_array *copy_to(hk_array *x, hki_device *device, hk_dtype dtype)
{
    return (hk_copy)((hk_to_device)((hk_cast)(x, dtype), (hk_device){device}));
}

static hki_named_init *find_named(const hk_module *self, const char *name)
{
    for (int i = 0; i < self->named_count; i++)
        if (strcmp(self->named[i].name, name) == 0)
            return &self->named[i];
    return NULL;
}

/* As was asked for by name, or for all, or what the layer says. */
static const hk_init *init_of(const hk_module *self, const char *name, int ndim, const hk_init *own)
{
    const hki_named_init *named = find_named(self, name);
    if (named)
        return &named->init;
    return self->init.kind != HK_INIT_DEFAULT && ndim > 1 ? &self->init : own;
}

static hk_array *draw(const hk_module *self, const char *name, const hk_dims *shape,
                      const beginning *as, hki_device *device, hk_dtype dtype)
{
    const hk_init *init = as->is_buffer ? as->init : init_of(self, name, shape->ndim, as->init);
    return (hk_init_draw)(init, *shape, dtype, (hk_device){device});
}

/* The value of that name, made where there is none, by the original of a replica; NULL without host memory. */
static hki_module_value *make(hk_module *self, const char *name, const hk_dims *shape,
                              const beginning *as, hki_device *device, hk_dtype dtype)
{
    hki_module_value *value = find(self, name);
    if (value)
        return value;
    if (!self->origin)
        return keep(self, name, draw(self, name, shape, as, device, dtype));
    const hki_module_value *first = make(self->origin, name, shape, as, device, dtype);
    return first ? keep(self, name, copy_to(first->array, device, dtype)) : NULL;
}

/* The same for a forward function. Until one has asked, the value may be on another device. NULL: it failed, too. */
static hki_module_value *get(hk_module *self, const char *name, const hk_dims *shape,
                             const beginning *as, hki_device *device, hk_dtype dtype)
{
    hki_module_value *value = find(self, name);
    if (value && value->is_claimed)
        return value;
    hki_array_uncapturable("module_parameter",
                           "it is made at the first call; make that one before the capture");
    HK_SCOPE;
    HK_PAUSE;
    value = make(self, name, shape, as, device, dtype);
    if (!value)
        return NULL;
    if (!is_there(value->array, device, dtype)) {
        hk_array *moved = copy_to(value->array, device, dtype);
        hk_array_release(value->array);
        value->array = hk_array_retain(moved);
    }
    if (value->array->failed) { /* to be tried again at the next call */
        hk_array_release(value->array);
        *value = self->values[--self->value_count];
        return NULL;
    }
    value->is_claimed = true;
    value->is_buffer = as->is_buffer;
    value->init = *as->init;
    if (!value->is_buffer && !self->is_frozen && !hki_grad_get(value->array))
        (hk_attach_grad)(value->array, HK_GRAD_WRITE);
    return value;
}

/* Whoever has attached a gradient before the first call, an optimiser's parameter it may be, would
 * keep what is no parameter. */
static hk_array *refuse_move(hk_module *self, const char *name, hk_array *like, hk_dtype dtype)
{
    const hki_module_value *value = find(self, name);
    char has[224];
    if (!value || value->is_claimed || !hki_grad_get(value->array) ||
        is_there(value->array, like->storage->device, dtype))
        return NULL;
    hki_array_describe(value->array, has, sizeof has);
    return hki_array_create_failed(
        like->storage->device, "module_parameter", &like, 1, HK_INVALID_ARGUMENT,
        "parameter %s is %s on %s and has a gradient, but this first call needs %s on %s; set it "
        "as that",
        name, has, value->array->storage->device->name, hk_dtype_name(dtype),
        like->storage->device->name);
}

static hk_array *claim(hk_module *self, const char *name, const hk_dims *shape, const beginning *as,
                       hk_array *like)
{
    static const char operation[] = "module_parameter";
    if (!self || !name || !name[0] || strlen(name) >= HKI_MODULE_NAME_BYTES)
        return hki_array_create_failed(NULL, operation, &like, 1, HK_INVALID_ARGUMENT,
                                       "module is %s and name \"%s\"; a name has 1 to %d letters",
                                       hki_given(self), name ? name : "",
                                       HKI_MODULE_NAME_BYTES - 1);
    const hk_status *gone = hki_array_gone(like);
    hk_status_release(gone);
    if (gone || like->failed) /* whose record it is */
        return hki_array_create_failed(NULL, operation, &like, 1, HK_INVALID_ARGUMENT,
                                       "parameter %s is for an input that has failed", name);
    const hk_dtype dtype = is_float(like->dtype) ? like->dtype : HK_F32;
    hk_array *refused = refuse_move(self, name, like, dtype);
    if (refused)
        return refused;
    const hki_module_value *value = get(self, name, shape, as, like->storage->device, dtype);
    if (!value)
        return hki_array_create_failed(like->storage->device, operation, NULL, 0,
                                       HK_INVALID_ARGUMENT, "parameter %s could not be made", name);
    const hk_dims *has = &value->array->shape;
    if (hki_dims_equal(has, shape))
        return value->array;
    char text[160], wanted[160];
    hki_dims_describe(has, text, sizeof text);
    hki_dims_describe(shape, wanted, sizeof wanted);
    return hki_array_create_failed(like->storage->device, operation, &like, 1, HK_INVALID_ARGUMENT,
                                   "parameter %s is %s, but for this input must be %s", name, text,
                                   wanted);
}

hk_array *hk_module_parameter(hk_module *self, const char *name, hk_dims shape, const hk_init *init,
                              hk_array *like)
{
    static const hk_init defaults = {.kind = HK_INIT_FAN_IN};
    const bool is_said = init && init->kind != HK_INIT_DEFAULT;
    return claim(self, name, &shape, &(beginning){.init = is_said ? init : &defaults}, like);
}

hk_array *hk_module_buffer(hk_module *self, const char *name, hk_dims shape, double value,
                           hk_array *like)
{
    const hk_init init = {.kind = HK_INIT_CONSTANT, .value = value};
    return claim(self, name, &shape, &(beginning){.init = &init, .is_buffer = true}, like);
}

/* ---- the whole tree --------------------------------------------------------------------------------------- */

void hk_module_freeze(hk_module *self, bool is_frozen)
{
    if (!self || !hk_ok(hk_module_status(self)))
        return;
    self->is_frozen = is_frozen;
    for (int i = 0; i < self->value_count; i++)
        if (self->values[i].is_claimed && !self->values[i].is_buffer)
            (hk_attach_grad)(self->values[i].array, is_frozen ? HK_GRAD_NULL : HK_GRAD_WRITE);
    for (int i = 0; i < self->child_count; i++)
        hk_module_freeze(self->children[i], is_frozen);
}

/* Draws anew what is there, of that name; NULL: of all names and two axes or more. */
static void draw_again(hk_module *self, const char *name)
{
    for (int i = 0; i < self->value_count; i++) {
        HK_SCOPE;
        const hki_module_value *value = &self->values[i];
        hk_array *x = value->array;
        if (!value->is_claimed || value->is_buffer ||
            (name ? strcmp(value->name, name) != 0 : x->shape.ndim < 2))
            continue;
        (hk_assign)(x, (hk_init_draw)(init_of(self, value->name, x->shape.ndim, &value->init),
                                      x->shape, x->dtype, (hk_device){x->storage->device}));
    }
}

void(hk_module_initialize)(hk_module *self, const hk_init *init)
{
    if (!self || !hk_ok(hk_module_status(self)))
        return;
    HK_PAUSE;
    self->init = init ? *init : (hk_init){.kind = HK_INIT_DEFAULT};
    draw_again(self, NULL);
    for (int i = 0; i < self->child_count; i++)
        (hk_module_initialize)(self->children[i], init);
}

/* Remembers it; false: no host memory. */
static bool name_init(hk_module *self, const char *name, const hk_init *init)
{
    hki_named_init *named = find_named(self, name);
    if (!named) {
        named = realloc(self->named, (size_t)(self->named_count + 1) * sizeof *named);
        if (!named)
            return false;
        self->named = named;
        named += self->named_count++;
        hki_format(named->name, sizeof named->name, "%s", name);
    }
    named->init = *init;
    return true;
}

const hk_status *(hk_module_initialize_named)(hk_module *self, const char *name,
                                              const hk_init *init)
{
    const hk_status *status = hk_module_status(self);
    if (!hk_ok(status))
        return status;
    if (!name || !name[0] || strlen(name) >= HKI_MODULE_NAME_BYTES || !init)
        return hki_status_lend(hki_status_create(
            HK_INVALID_ARGUMENT, NULL, "name is \"%s\" and init %s; a name has 1 to %d letters",
            name ? name : "NULL", hki_given(init), HKI_MODULE_NAME_BYTES - 1));
    HK_PAUSE;
    if (!name_init(self, name, init))
        return hki_status_no_memory();
    draw_again(self, name);
    for (int i = 0; i < self->child_count && hk_ok(status); i++)
        status = (hk_module_initialize_named)(self->children[i], name, init);
    return status;
}

int64_t hk_module_count(const hk_module *self)
{
    int64_t count = 0;
    for (int i = 0; self && i < self->value_count; i++)
        if (!self->values[i].is_buffer)
            count += self->values[i].array->size;
    for (int i = 0; self && i < self->child_count; i++)
        count += hk_module_count(self->children[i]);
    return count;
}

static int list_params(const hk_module *self, hk_array **params, int capacity, int count)
{
    for (int i = 0; i < self->value_count; i++) {
        const hki_module_value *value = &self->values[i];
        if (!value->is_claimed || value->is_buffer || self->is_frozen)
            continue;
        if (params && count < capacity)
            params[count] = value->array;
        count++;
    }
    for (int i = 0; i < self->child_count; i++)
        count = list_params(self->children[i], params, capacity, count);
    return count;
}

int hk_module_parameters(hk_module *self, hk_array **params, int capacity)
{
    return self ? list_params(self, params, capacity, 0) : 0;
}

static int list_entries(const hk_module *self, hk_module_entry *entries, int capacity, int count)
{
    for (int i = 0; i < self->value_count; i++, count++) {
        const hki_module_value *value = &self->values[i];
        if (!entries || count >= capacity)
            continue;
        hki_module_path(self, value->name, entries[count].path, sizeof entries[count].path);
        entries[count].array = value->array;
        entries[count].is_buffer = value->is_buffer;
        entries[count].is_made = value->is_claimed;
    }
    for (int i = 0; i < self->child_count; i++)
        count = list_entries(self->children[i], entries, capacity, count);
    return count;
}

int hk_module_entries(hk_module *self, hk_module_entry *entries, int capacity)
{
    return self ? list_entries(self, entries, capacity, 0) : 0;
}

/* The module that holds the last part of the path, which *name becomes; NULL: there is none. */
static hk_module *holder(hk_module *self, const char *path, const char **name)
{
    for (const char *dot; self && (dot = strchr(path, '.')); path = dot + 1) {
        char part[HKI_MODULE_NAME_BYTES];
        if ((size_t)(dot - path) >= sizeof part)
            return NULL;
        hki_format(part, sizeof part, "%.*s", (int)(dot - path), path);
        self = hk_module_child(self, part);
    }
    *name = path;
    return self && path[0] && strlen(path) < HKI_MODULE_NAME_BYTES ? self : NULL;
}

hk_array *hki_module_find(hk_module *root, const char *path)
{
    const char *name = NULL;
    const hk_module *self = holder(root, path, &name);
    const hki_module_value *value = self ? find(self, name) : NULL;
    return value ? value->array : NULL;
}

static bool has_claimed(const hk_module *self)
{
    for (int i = 0; i < self->value_count; i++)
        if (self->values[i].is_claimed)
            return true;
    for (int i = 0; i < self->child_count; i++)
        if (has_claimed(self->children[i]))
            return true;
    return false;
}

bool hki_module_awaits(hk_module *root, const char *path)
{
    const char *name = NULL;
    const hk_module *self = holder(root, path, &name);
    return self && !find(self, name) && root->shape.ndim < 0 && !has_claimed(root);
}

/* is_given: nobody else has x, so that it need not be copied. */
static const hk_status *set(hk_module *root, const char *path, hk_array *x, bool is_given)
{
    const char *name = NULL;
    const hk_status *error = hki_array_gone(x);
    if (error)
        return hki_status_lend(error);
    if (!root || !hk_ok(hk_module_status(root)))
        return hk_module_status(root);
    if (x->failed)
        return hk_error_now(x);
    hk_module *self = holder(root, path ? path : "", &name);
    if (!self)
        return hki_status_lend(hki_status_create(HK_NOT_FOUND, NULL,
                                                 "path is \"%s\", but the tree has no such module",
                                                 path ? path : ""));
    HK_SCOPE;
    HK_PAUSE;
    const hki_module_value *value = find(self, name);
    if (!value && self->shape.ndim >= 0)
        return hki_status_lend(hki_status_create(
            HK_NOT_FOUND, NULL,
            "path is \"%s\", but the %s there has been called, and has no such array", path,
            self->kind));
    if (!value)
        return keep(self, name, is_given ? x : (hk_copy)(x)) ? hki_status_ok()
                                                             : hki_status_no_memory();
    const hk_dims *has = &value->array->shape;
    if (!hki_dims_equal(has, &x->shape)) {
        char text[160], given[160];
        hki_dims_describe(has, text, sizeof text);
        hki_array_describe(x, given, sizeof given);
        return hki_status_lend(hki_status_create(HK_INVALID_ARGUMENT, NULL, "%s is %s, but x is %s",
                                                 path, text, given));
    }
    (hk_assign)(value->array, x);
    return hki_status_ok();
}

const hk_status *(hk_module_set)(hk_module *root, const char *path, hk_array *x)
{
    return set(root, path, x, false);
}

const hk_status *hki_module_give(hk_module *root, const char *path, hk_array *x)
{
    return set(root, path, x, true);
}

/* ---- replicas --------------------------------------------------------------------------------------------- */

hk_module *(hk_module_replicate)(hk_module *self, hk_device device)
{
    hk_module *copy = hk_module_create(self ? self->kind : "module", self ? self->forward : NULL,
                                       self ? self->options : NULL, self ? self->option_bytes : 0);
    const hk_status *status = hk_module_status(self);
    if (!hk_ok(status)) {
        hki_module_fail(copy, hk_status_code(status), "%s", hk_status_message(status));
        return copy;
    }
    if (!hk_ok(hk_module_status(copy)))
        return copy;
    HK_SCOPE;
    HK_PAUSE;
    copy->origin = hk_module_retain(self);
    copy->is_predicting = self->is_predicting;
    copy->is_frozen = self->is_frozen;
    copy->has_no_bias = self->has_no_bias;
    copy->layer = self->layer == self->kind ? copy->kind : self->layer;
    copy->init = self->init;
    for (int i = 0; i < self->value_count; i++) {
        const hki_module_value *value = &self->values[i];
        hki_module_value *kept =
            keep(copy, value->name, (hk_copy)((hk_to_device)(value->array, device)));
        if (!kept) {
            hki_module_fail(copy, HK_OUT_OF_MEMORY, "no host memory for the replica");
            return copy;
        }
        kept->init = value->init;
        kept->is_buffer = value->is_buffer;
        kept->is_claimed = value->is_claimed;
        if (value->is_claimed && !value->is_buffer && !self->is_frozen)
            (hk_attach_grad)(kept->array, HK_GRAD_WRITE);
    }
    for (int i = 0; i < self->child_count; i++)
        hk_module_add(copy, self->children[i]->name,
                      (hk_module_replicate)(self->children[i], device));
    return copy;
}
