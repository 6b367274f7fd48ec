#include "training/parts.h"

#include "base/quote.h"
#include "base/source.h"
#include "base/text.h"
#include "nn/module.h"
#include "op/update/update.h"
#include "optim/optimizer.h"

#include <stdlib.h>
#include <string.h>

static const char module_prefix[] = "module.", replica_prefix[] = "replica.";
enum { MODULE_PREFIX = sizeof module_prefix - 1, REPLICA_PREFIX = sizeof replica_prefix - 1 };

/* ---- errors ---------------------------------------------------------------------------------------------- */

bool hki_parts_refuse(hki_parts *self, hk_code code, const char *format, ...)
{
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = "checkpoint", .file = source.file, .line = source.line};
    va_list args;
    if (self->error)
        return false;
    va_start(args, format);
    self->error = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return false;
}

bool hki_parts_fail(hki_parts *self, const hk_status *status)
{
    if (!self->error)
        self->error = hk_status_retain(status);
    return false;
}

/* ---- the list -------------------------------------------------------------------------------------------- */

const hki_checkpoint_part *hki_parts_find(const hki_parts *self, const char *name)
{
    for (int i = 0; i < self->count; i++)
        if (!strcmp(self->list[i].name, name))
            return &self->list[i];
    return NULL;
}

static bool add(hki_parts *self, const hki_checkpoint_part *part)
{
    const bool is_repeated = hki_parts_find(self, part->name);
    if (self->count == self->capacity) {
        const int capacity = self->capacity ? 2 * self->capacity : 64;
        hki_checkpoint_part *list = realloc(self->list, (size_t)capacity * sizeof *list);
        if (!list)
            return hki_parts_fail(self, hki_status_no_memory());
        self->list = list;
        self->capacity = capacity;
    }
    self->list[self->count] = *part;
    self->list[self->count++].is_repeated = is_repeated;
    return true;
}

void hki_parts_deinit(hki_parts *self)
{
    hk_status_release(self->error);
    free(self->list);
}

/* "replica.1.PATH" in a file that has none of these: "module.PATH". */
const char *hki_part_file_name(const hki_checkpoint_part *part, const hk_archive *archive,
                               char *name)
{
    const char *path = strncmp(part->name, replica_prefix, REPLICA_PREFIX) == 0
                           ? strchr(part->name + REPLICA_PREFIX, '.')
                           : NULL;
    if (!path || hk_archive_has(archive, part->name))
        return part->name;
    hki_format(name, HKI_PART_NAME_BYTES, "%s%s", module_prefix, path + 1);
    return name;
}

/* ---- modules --------------------------------------------------------------------------------------------- */

/* replica 0 is the module itself. */
static void name_entry(hki_checkpoint_part *part, int replica, bool is_own, const char *path)
{
    if (replica && is_own)
        hki_format(part->name, sizeof part->name, "%s%d.%s", replica_prefix, replica, path);
    else
        hki_format(part->name, sizeof part->name, "%s%s", module_prefix, path);
}

static hk_module *tree(const hki_parts *self, int replica)
{
    return replica ? self->of->replicas[replica - 1] : self->of->module;
}

static bool add_module(hki_parts *self, int replica)
{
    hk_module *module = tree(self, replica);
    if (!hk_ok(hk_module_status(module)))
        return hki_parts_fail(self, hk_module_status(module));
    const int count = hk_module_entries(module, NULL, 0);
    hk_module_entry *entries = malloc((size_t)(count + 1) * sizeof *entries);
    bool is_good = entries || hki_parts_fail(self, hki_status_no_memory());
    if (entries)
        hk_module_entries(module, entries, count);
    for (int i = 0; i < count && is_good; i++) {
        hki_checkpoint_part part = {.array = entries[i].array};
        name_entry(&part, replica, entries[i].is_buffer, entries[i].path);
        is_good = add(self, &part);
    }
    free(entries);
    return is_good;
}

static bool has_array(const hki_parts *self, hk_module *module, const char *path)
{
    for (int i = 0; i < self->count; i++)
        if (self->list[i].module == module && !strcmp(self->list[i].path, path))
            return true;
    return hki_module_find(module, path);
}

/* A part for what a tree will have as `path`. */
static bool await(hki_parts *self, const hk_archive *archive, int replica, const char *path)
{
    hki_checkpoint_part part = {
        .kind = HKI_PART_AWAITED, .module = tree(self, replica), .path = path};
    if (has_array(self, part.module, path) || !hki_module_awaits(part.module, path))
        return true;
    name_entry(&part, replica, true, path);
    if (!hk_archive_has(archive, part.name))
        name_entry(&part, 0, false, path);
    return add(self, &part);
}

bool hki_parts_collect_awaited(hki_parts *self, const hk_archive *archive)
{
    bool is_good = true;
    for (size_t i = 0; i < hk_archive_count(archive) && is_good && self->of->module; i++) {
        const char *name = hk_archive_name(archive, i);
        if (strncmp(name, module_prefix, MODULE_PREFIX) != 0)
            continue;
        for (int replica = 0; replica <= self->of->replica_count && is_good; replica++)
            is_good = await(self, archive, replica, name + MODULE_PREFIX);
    }
    return is_good;
}

/* ---- optimisers ------------------------------------------------------------------------------------------ */

/* The path of a parameter of the module or a replica, NULL where it is none's, or comes twice. */
static const char *path_of(const hki_parts *self, int index)
{
    const hk_optimizer *optimizer = self->of->optimizer;
    const hk_array *x = hki_optimizer_whole(optimizer, index);
    for (int i = 0; i < index; i++)
        if (hki_optimizer_whole(optimizer, i) == x)
            return NULL;
    for (int i = 0; i < self->count; i++)
        if (self->list[i].array == x && !strncmp(self->list[i].name, module_prefix, MODULE_PREFIX))
            return self->list[i].name + MODULE_PREFIX;
    return NULL;
}

/* By its parameter. */
static bool add_state(hki_parts *self, hki_checkpoint_part *part, int index)
{
    const char *path = path_of(self, index);
    if (path)
        hki_format(part->name, sizeof part->name, "optimizer.state.%s", path);
    else
        hki_format(part->name, sizeof part->name, "optimizer.parameter.%d", index);
    return add(self, part);
}

static bool add_coefficients(hki_parts *self, hki_checkpoint_part *part)
{
    hki_format(part->name, sizeof part->name, "optimizer.coefficients");
    return add(self, part);
}

/* What the optimiser keeps here. */
static bool add_own(hki_parts *self, bool with_states)
{
    const hk_optimizer *optimizer = self->of->optimizer;
    bool is_good = true;
    for (int i = 0, parameter = 0; is_good; i++) {
        char name[32];
        hki_checkpoint_part part = {.array = hk_optimizer_array(optimizer, i, name, sizeof name)};
        if (!part.array)
            break;
        if (strncmp(name, "state.", 6) != 0)
            is_good = add_coefficients(self, &part);
        else if (with_states)
            is_good = add_state(self, &part, parameter++);
    }
    return is_good;
}

/* Whole states, as of an optimiser that has them here; a rank may have no part of any, and no coefficients. */
static bool add_sharded(hki_parts *self)
{
    const hk_optimizer *optimizer = self->of->optimizer;
    hki_checkpoint_part none = {
        .kind = HKI_PART_COEFFICIENTS, .shape = hk_shape(HKI_UPDATE_COEFFICIENTS), .dtype = HK_F64};
    bool is_good = add_own(self, false);
    if (is_good && !hki_parts_find(self, "optimizer.coefficients"))
        is_good = add_coefficients(self, &none);
    for (int i = 0; i < hki_optimizer_whole_count(optimizer) && is_good; i++) {
        const hk_array *x = hki_optimizer_whole(optimizer, i);
        hki_checkpoint_part part = {.kind = HKI_PART_STATE,
                                    .index = i,
                                    .shape = hki_optimizer_state_shape(optimizer, x),
                                    .dtype = x->dtype};
        is_good = add_state(self, &part, i);
    }
    return is_good;
}

static bool add_optimizer(hki_parts *self)
{
    const hk_optimizer *optimizer = self->of->optimizer;
    if (!hk_ok(hk_optimizer_status(optimizer)))
        return hki_parts_fail(self, hk_optimizer_status(optimizer));
    return hki_optimizer_is_sharded(optimizer) ? add_sharded(self) : add_own(self, true);
}

/* ---- all of them ----------------------------------------------------------------------------------------- */

static bool check_counts(hki_parts *self)
{
    const hk_checkpoint *of = self->of;
    if (of->replica_count < 0 || (of->replica_count && (!of->replicas || !of->module)))
        return hki_parts_refuse(self, HK_INVALID_ARGUMENT,
                                "replica_count is %d, replicas %s and module %s; replicas are of a "
                                "module",
                                of->replica_count, hki_given(of->replicas), hki_given(of->module));
    if (of->generator_count < 0 || (of->generator_count && !of->generators))
        return hki_parts_refuse(self, HK_INVALID_ARGUMENT,
                                "generator_count is %d and generators %s; give so many",
                                of->generator_count, hki_given(of->generators));
    if ((of->array_count && !of->arrays) || (of->metadata_count && !of->metadata))
        return hki_parts_refuse(self, HK_INVALID_ARGUMENT,
                                "arrays are %s of %zu, and metadata %s of %zu; none may be NULL",
                                hki_given(of->arrays), of->array_count, hki_given(of->metadata),
                                of->metadata_count);
    return true;
}

static bool add_array(hki_parts *self, const hk_save_entry *entry, size_t index)
{
    hki_checkpoint_part part = {.array = entry->array};
    if (!entry->array || !entry->name || strlen(entry->name) >= HK_MODULE_PATH_BYTES)
        return hki_parts_refuse(self, HK_INVALID_ARGUMENT,
                                "arrays[%zu] is %s, of name \"%s\"; give an array and a name of "
                                "less than %d bytes",
                                index, hki_given(entry->array), hki_quote(entry->name, 80).text,
                                HK_MODULE_PATH_BYTES);
    hki_format(part.name, sizeof part.name, "array.%s", entry->name);
    if (hki_parts_find(self, part.name))
        return hki_parts_refuse(self, HK_INVALID_ARGUMENT,
                                "arrays have \"%s\" twice; give each a name of its own",
                                entry->name);
    return add(self, &part);
}

bool hki_parts_collect(hki_parts *self)
{
    const hk_checkpoint *of = self->of;
    bool is_good = check_counts(self);
    for (int replica = 0; is_good && of->module && replica <= of->replica_count; replica++)
        is_good = add_module(self, replica);
    if (is_good && of->optimizer)
        is_good = add_optimizer(self);
    for (size_t i = 0; i < of->array_count && is_good; i++)
        is_good = add_array(self, &of->arrays[i], i);
    return is_good;
}
