/* The arrays of a tree under the names that others give them. */
#include "nn/layer_table.h"

#include "base/text.h"

#include <string.h>

/* ---- what layers have ------------------------------------------------------------------------------------ */

const hki_layer_array hki_no_arrays[] = {{.own = NULL}},
                      hki_weight[] = {{"weight", "weight", false, false}, {.own = NULL}},
                      hki_scale[] = {{"gamma", "weight", false, false}, {.own = NULL}},
                      hki_scale_and_shift[] = {{"gamma", "weight", false, false},
                                               {"beta", "bias", false, false},
                                               {.own = NULL}},
                      hki_arrays_of_batches[] = {{"gamma", "weight", false, false},
                                                 {"beta", "bias", false, false},
                                                 {"mean", "running_mean", false, true},
                                                 {"variance", "running_var", false, true},
                                                 {"", "num_batches_tracked", false, true},
                                                 {.own = NULL}};
static const hki_layer_array weight_and_bias[] = {{"weight", "weight", false, false},
                                                  {"bias", "bias", true, false},
                                                  {.own = NULL}},
                             recurrent[] = {{"weight_ih", "weight_ih_l0", false, false},
                                            {"weight_hh", "weight_hh_l0", false, false},
                                            {"bias_ih", "bias_ih_l0", false, false},
                                            {"bias_hh", "bias_hh_l0", false, false},
                                            {.own = NULL}};

/* Of layers that are no row of layers.def. */
static const struct {
    const char *kind;
    const hki_layer_array *rows;
} layers[] = {{"linear", weight_and_bias},
              {"conv1d", weight_and_bias},
              {"conv2d", weight_and_bias},
              {"conv2d_transpose", weight_and_bias},
              {"conv3d", weight_and_bias},
              {"conv3d_transpose", weight_and_bias},
              {"batch_norm_over", hki_arrays_of_batches},
              {"rnn", recurrent},
              {"gru", recurrent},
              {"lstm", recurrent}};

static bool is_layer(const hk_module *self, const char *kind)
{
    return self->layer && !strcmp(self->layer, kind);
}

/* NULL: a module of which nothing is known before its first call. */
static const hki_layer_array *rows_of(const hk_module *self)
{
    const hki_layer_kind *kind = hki_layer_kind_find(self->layer);
    if (kind)
        return kind->arrays;
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        if (is_layer(self, layers[i].kind))
            return layers[i].rows;
    return NULL;
}

static const hki_layer_array *row_of(const hki_layer_array *rows, const char *own)
{
    for (int i = 0; rows && rows[i].own; i++)
        if (!strcmp(rows[i].own, own))
            return &rows[i];
    return NULL;
}

static const hki_module_value *find(const hk_module *self, const char *name)
{
    for (int i = 0; i < self->value_count; i++)
        if (!strcmp(self->values[i].name, name))
            return &self->values[i];
    return NULL;
}

/* ---- lists ----------------------------------------------------------------------------------------------- */

typedef struct listing {
    hk_module_name *names;
    int capacity, count;
    hk_name_style style;
} listing;

/* Where an array of a module goes. */
typedef struct place {
    char path[HK_MODULE_PATH_BYTES], name[HK_MODULE_PATH_BYTES]; /* of the module */
    const char *suffix; /* behind names of recurrent layers, in place of "_l0"; NULL: none */
    const char
        *prefix; /* before names, of what lies in one array with others; NULL: it lies alone */
    int part, parts;
} place;

static void join(char *to, const char *above, const char *name)
{
    char joined[HK_MODULE_PATH_BYTES];
    hki_format(joined, sizeof joined, *above ? "%s.%s" : "%s%s", above, name);
    hki_format(to, HK_MODULE_PATH_BYTES, "%s", joined); /* which may be `above` */
}

static void name_array(const listing *self, const place *at, const hki_layer_array *its,
                       const char *own, char *to)
{
    char name[HKI_MODULE_NAME_BYTES * 2];
    if (self->style == HK_NAMES_OWN || !its)
        hki_format(name, sizeof name, "%s", own);
    else if (at->suffix)
        hki_format(name, sizeof name, "%s%s", own, at->suffix);
    else
        hki_format(name, sizeof name, "%s%s", at->prefix ? at->prefix : "", its->torch);
    join(to, at->name, name);
}

static void add(listing *self, const place *at, const hki_layer_array *its, const char *own,
                const hki_module_value *value)
{
    const int i = self->count++;
    if (!self->names || i >= self->capacity)
        return;
    hk_module_name *to = &self->names[i];
    *to = (hk_module_name){.array = value ? value->array : NULL,
                           .part = at->part,
                           .parts = at->parts ? at->parts : 1,
                           .is_buffer = value ? value->is_buffer : its && its->is_buffer};
    if (*own)
        join(to->path, at->path, own);
    name_array(self, at, its, own, to->name);
}

/* The module's own; those of layers that have not been called are known all the same. */
static void list_own(listing *self, const hk_module *module, const place *at)
{
    const hki_layer_array *rows = rows_of(module);
    for (int i = 0; rows && rows[i].own; i++) {
        const hki_module_value *value = find(module, rows[i].own);
        const bool is_passed = !*rows[i].own;
        const bool is_awaited = module->shape.ndim < 0 && !(rows[i].is_bias && module->has_no_bias);
        if (is_passed ? self->style != HK_NAMES_OWN : value || is_awaited)
            add(self, at, &rows[i], rows[i].own, value);
    }
    for (int i = 0; i < module->value_count; i++)
        if (!row_of(rows, module->values[i].name))
            add(self, at, NULL, module->values[i].name, &module->values[i]);
}

static void list_tree(listing *self, const hk_module *module, const place *at);

/* PyTorch has the first three layers of attention as one. */
static void place_attention(const hk_module *child, place *to)
{
    static const char *const names[] = {"query", "key", "value"};
    for (int i = 0; i < 3; i++)
        if (!strcmp(child->name, names[i])) {
            to->prefix = "in_proj_";
            to->part = i;
            to->parts = 3;
            return;
        }
    join(to->name, to->name, "out_proj");
}

/* "1_reversed": what belongs to the stack, with "_l1_reverse" behind it. suffix has room for it. */
static void place_in_stack(const hk_module *child, place *to, char *suffix, size_t bytes)
{
    const char *rest = strchr(child->name, '_');
    hki_format(suffix, bytes, "_l%.*s%s", (int)strcspn(child->name, "_"), child->name,
               rest ? "_reverse" : "");
    to->suffix = suffix;
}

static void list_child(listing *self, const hk_module *module, const hk_module *child,
                       const place *at)
{
    const bool is_torch = self->style == HK_NAMES_TORCH;
    char suffix[HKI_MODULE_NAME_BYTES + 16];
    place below = {0};
    join(below.path, at->path, child->name);
    hki_format(below.name, sizeof below.name, "%s", at->name);
    if (is_torch && is_layer(module, "attention"))
        place_attention(child, &below);
    else if (is_torch && is_layer(module, "recurrent_stack"))
        place_in_stack(child, &below, suffix, sizeof suffix);
    else
        join(below.name, at->name, child->name);
    list_tree(self, child, &below);
}

static void list_tree(listing *self, const hk_module *module, const place *at)
{
    list_own(self, module, at);
    for (int i = 0; i < module->child_count; i++)
        list_child(self, module, module->children[i], at);
}

int hk_module_names(hk_module *self, hk_name_style style, hk_module_name *names, int capacity)
{
    listing its = {.names = names, .capacity = capacity, .style = style};
    const place root = {0};
    if (!self || !hk_ok(hk_module_status(self)))
        return 0;
    list_tree(&its, self, &root);
    return its.count;
}

bool hki_module_takes(hk_module *root, const char *path)
{
    for (const char *dot; root && (dot = strchr(path, '.')); path = dot + 1) {
        char part[HKI_MODULE_NAME_BYTES];
        if ((size_t)(dot - path) >= sizeof part)
            return false;
        hki_format(part, sizeof part, "%.*s", (int)(dot - path), path);
        root = hk_module_child(root, part);
    }
    return root && *path && strlen(path) < HKI_MODULE_NAME_BYTES && root->shape.ndim < 0 &&
           !root->layer && !root->value_count;
}
