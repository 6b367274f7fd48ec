/* Checkpoints: saving, and loading in which all is checked before anything is changed. */
#include "array/array.h"
#include "autograd/tape.h"
#include "base/regular_file.h"
#include "base/source.h"
#include "base/text.h"
#include "data/loader.h"
#include "optim/optimizer.h"
#include "training/parts.h"

#include <hocket/hocket.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_BYTES = 160, OWN_TEXTS = 6 };
static const char format_version[] = "1";

/* ---- texts ----------------------------------------------------------------------------------------------- */

/* Metadata of a checkpoint: own ones first. */
typedef struct texts {
    hk_metadata_entry *entries;
    char (*values)[TEXT_BYTES];
    char (*keys)[32];
    size_t count;
} texts;

HK_PRINTF(3, 4)
static void add_text(texts *self, const char *key, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hki_format_va(self->values[self->count], TEXT_BYTES, format, args);
    va_end(args);
    hki_format(self->keys[self->count], sizeof self->keys[0], "hocket.%s", key);
    self->entries[self->count] =
        (hk_metadata_entry){self->keys[self->count], self->values[self->count]};
    self->count++;
}

static void add_stream(texts *self, const char *key, hk_generator *generator)
{
    const hk_generator_state state = hk_generator_get_state(generator);
    add_text(self, key, "%" PRIu64 " %" PRIu64 " %" PRIu64, state.seed, state.stream,
             state.position);
}

static void describe(texts *self, const hk_checkpoint *of)
{
    char key[32];
    add_text(self, "checkpoint", "%s", format_version);
    add_text(self, "counters", "%" PRId64 " %" PRId64, of->step, of->epoch);
    if (of->optimizer)
        add_text(self, "optimizer", "%s", hk_optimizer_get_method(of->optimizer));
    if (of->loader) {
        const hk_loader_position at = hk_loader_get_position(of->loader);
        add_text(self, "loader",
                 "%" PRId64 " %" PRId64 " %" PRIu64 " %" PRId64 " %" PRId64 " %d %d", at.epoch,
                 at.batch, at.seed, at.sample_count, at.batch_size, at.shuffle, at.drop_last);
    }
    if (!of->without_stream)
        add_stream(self, "random", NULL);
    for (int i = 0; i < of->generator_count; i++) {
        hki_format(key, sizeof key, "generator.%d", i);
        add_stream(self, key, of->generators[i]);
    }
}

static bool texts_init(texts *self, hki_parts *parts)
{
    const hk_checkpoint *of = parts->of;
    const size_t own = OWN_TEXTS + (size_t)of->generator_count;
    *self = (texts){.entries = calloc(own + of->metadata_count, sizeof *self->entries),
                    .values = calloc(own, sizeof *self->values),
                    .keys = calloc(own, sizeof *self->keys)};
    if (!self->entries || !self->values || !self->keys)
        return hki_parts_fail(parts, hki_status_no_memory());
    describe(self, of);
    for (size_t i = 0; i < of->metadata_count; i++) {
        const char *key = of->metadata[i].key;
        if (key && !strncmp(key, "hocket.", 7))
            return hki_parts_refuse(parts, HK_INVALID_ARGUMENT,
                                    "metadata[%zu].key is \"%s\", but names that begin with "
                                    "hocket. are kept for checkpoints",
                                    i, hki_quote(key, 80).text);
        self->entries[self->count++] = of->metadata[i];
    }
    return true;
}

static void texts_deinit(texts *self)
{
    free(self->entries);
    free(self->values);
    free(self->keys);
}

/* ---- saving ---------------------------------------------------------------------------------------------- */

static const hk_status *write_parts(const char *path, const hki_parts *parts, const texts *metadata)
{
    hk_save_entry *entries = malloc(((size_t)parts->count + 1) * sizeof *entries);
    size_t count = 0;
    if (!entries)
        return hki_status_no_memory();
    for (int i = 0; i < parts->count; i++)
        if (!parts->list[i].is_repeated && parts->list[i].array)
            entries[count++] = (hk_save_entry){parts->list[i].name, parts->list[i].array};
    const hk_status *status = (hk_save)(path, entries, count,
                                        &(hk_save_options){.format = HK_FORMAT_SAFETENSORS,
                                                           .metadata = metadata->entries,
                                                           .metadata_count = metadata->count});
    free(entries);
    return status;
}

/* Notes what is wrong on any rank. */
static bool agree(hki_parts *parts)
{
    const hk_status *error = hki_optimizer_agree(parts->of->optimizer, parts->error);
    hk_status_release(parts->error);
    parts->error = error;
    return !error;
}

/* Whole states are put together on all ranks; the first one keeps them, for the file. */
static void gather(const hki_parts *parts, bool writes)
{
    for (int i = 0; i < parts->count; i++) {
        hki_checkpoint_part *part = &parts->list[i];
        if (part->kind != HKI_PART_STATE)
            continue;
        hk_array *state;
        {
            HK_SCOPE;
            state = (hk_optimizer_gather)(parts->of->optimizer, part->index);
            state = writes ? hk_take(state) : NULL;
        }
        part->array = writes ? hki_scope_add(state) : NULL;
    }
}

/* All ranks that share a state come here, whatever has become of their lists. */
static const hk_status *save_together(const char *path, hki_parts *parts, const texts *metadata)
{
    const bool writes = hki_optimizer_writes(parts->of->optimizer);
    if (!agree(parts))
        return NULL;
    gather(parts, writes);
    const hk_status *status = writes ? write_parts(path, parts, metadata) : hki_status_ok();
    if (!hk_ok(status))
        hki_parts_fail(parts, status);
    return agree(parts) ? hki_status_ok() : NULL;
}

static bool prepare(hki_parts *parts, texts *metadata)
{
    const hk_loader *loader = parts->of->loader;
    if (loader && !hk_ok(hk_loader_status(loader)))
        return hki_parts_fail(parts, hk_loader_status(loader));
    return hki_parts_collect(parts) && texts_init(metadata, parts);
}

const hk_status *(hk_checkpoint_save)(const char *path, const hk_checkpoint *checkpoint)
{
    static const hk_checkpoint nothing = {0};
    hki_parts parts = {.of = checkpoint ? checkpoint : &nothing};
    texts metadata = {0};
    const hk_status *status = NULL;
    HK_SCOPE;
    HK_PAUSE;
    if (!checkpoint)
        hki_parts_refuse(&parts, HK_INVALID_ARGUMENT, "argument checkpoint is NULL");
    else if (hki_optimizer_is_sharded(parts.of->optimizer)) {
        hki_array_uncapturable("checkpoint_save", "ranks put states together; save after replays");
        prepare(&parts, &metadata);
        status = save_together(path, &parts, &metadata);
    } else if (prepare(&parts, &metadata)) {
        status = write_parts(path, &parts, &metadata);
    }
    if (!status)
        status = hki_status_lend(hk_status_retain(parts.error));
    texts_deinit(&metadata);
    hki_parts_deinit(&parts);
    return status;
}

/* ---- reading texts --------------------------------------------------------------------------------------- */

/* What a file says beside its arrays. */
typedef struct loading {
    hki_parts parts;
    hk_archive *archive;
    int64_t counters[2];
    hk_loader_position position;
    hk_generator_state stream, *generators;
    double lr;
} loading;

/* Exactly `count` whole numbers, one space apart, as bits. */
static bool read_numbers(const char *text, uint64_t *numbers, int count)
{
    for (int i = 0; i < count; i++) {
        const bool is_negative = *text == '-';
        char *end;
        errno = 0;
        if (text[is_negative] < '0' || text[is_negative] > '9')
            return false;
        numbers[i] = is_negative ? (uint64_t)strtoll(text, &end, 10) : strtoull(text, &end, 10);
        if (errno || *end != (i == count - 1 ? '\0' : ' '))
            return false;
        text = end + 1;
    }
    return true;
}

static bool read_text(loading *self, const char *key, const char *what, uint64_t *numbers,
                      int count)
{
    const char *text = hk_archive_metadata(self->archive, key);
    if (!text)
        return hki_parts_refuse(&self->parts, HK_INVALID_ARGUMENT,
                                "the file has no %s (%s in its metadata)", what, key);
    return read_numbers(text, numbers, count) ||
           hki_parts_refuse(&self->parts, HK_BAD_DATA,
                            "%s in the metadata is \"%s\"; %d whole numbers would be right", key,
                            hki_quote(text, 80).text, count);
}

static bool read_stream(loading *self, const char *key, hk_generator_state *state)
{
    uint64_t numbers[3];
    if (!read_text(self, key, "random stream", numbers, 3))
        return false;
    *state = (hk_generator_state){numbers[0], numbers[1], numbers[2]};
    return true;
}

static bool read_streams(loading *self)
{
    const hk_checkpoint *of = self->parts.of;
    self->generators = calloc((size_t)of->generator_count + 1, sizeof *self->generators);
    if (!self->generators)
        return hki_parts_fail(&self->parts, hki_status_no_memory());
    bool is_good = of->without_stream || read_stream(self, "hocket.random", &self->stream);
    for (int i = 0; i < of->generator_count && is_good; i++) {
        char key[32];
        hki_format(key, sizeof key, "hocket.generator.%d", i);
        is_good = read_stream(self, key, &self->generators[i]);
    }
    return is_good;
}

static bool read_loader(loading *self)
{
    uint64_t at[7];
    if (!self->parts.of->loader)
        return true;
    if (!read_text(self, "hocket.loader", "loader", at, 7))
        return false;
    self->position = (hk_loader_position){.epoch = (int64_t)at[0],
                                          .batch = (int64_t)at[1],
                                          .seed = at[2],
                                          .sample_count = (int64_t)at[3],
                                          .batch_size = (int64_t)at[4],
                                          .shuffle = at[5] != 0,
                                          .drop_last = at[6] != 0};
    const hk_status *error = hki_loader_check(self->parts.of->loader, &self->position);
    if (error)
        hki_parts_refuse(&self->parts, hk_status_code(error), "loader: %s",
                         hk_status_message(error));
    hk_status_release(error);
    return !error;
}

static bool read_texts(loading *self)
{
    const char *version = hk_archive_metadata(self->archive, "hocket.checkpoint");
    const char *method = hk_archive_metadata(self->archive, "hocket.optimizer");
    const hk_optimizer *optimizer = self->parts.of->optimizer;
    uint64_t counters[2];
    if (!version || strcmp(version, format_version) != 0)
        return hki_parts_refuse(&self->parts, HK_BAD_DATA,
                                "is no checkpoint: hocket.checkpoint in its metadata is %s; %s "
                                "would be right",
                                hki_quote(version ? version : "missing", 40).text, format_version);
    if (optimizer && (!method || strcmp(method, hk_optimizer_get_method(optimizer)) != 0))
        return hki_parts_refuse(
            &self->parts, HK_INVALID_ARGUMENT, "optimizer is %s, but the file has %s",
            hk_optimizer_get_method(optimizer), hki_quote(method ? method : "none", 40).text);
    if (!read_text(self, "hocket.counters", "counters", counters, 2))
        return false;
    self->counters[0] = (int64_t)counters[0];
    self->counters[1] = (int64_t)counters[1];
    return read_streams(self) && read_loader(self);
}

/* ---- reading arrays -------------------------------------------------------------------------------------- */

static bool is_of(const char *name, const char *prefix, bool is_given)
{
    return is_given && !strncmp(name, prefix, strlen(prefix));
}

/* What the file has for a part that is given has to be wanted. */
static bool check_none_left(loading *self)
{
    const hk_checkpoint *of = self->parts.of;
    for (size_t i = 0; i < hk_archive_count(self->archive); i++) {
        const char *name = hk_archive_name(self->archive, i);
        const bool is_concerned = is_of(name, "module.", of->module) ||
                                  is_of(name, "optimizer.", of->optimizer) ||
                                  is_of(name, "array.", of->array_count);
        if (is_concerned && !hki_parts_find(&self->parts, name))
            return hki_parts_refuse(&self->parts, HK_INVALID_ARGUMENT,
                                    "the file has %s, which what is given has not",
                                    hki_quote(name, 200).text);
    }
    return true;
}

static bool check_fits(hki_parts *parts, const hki_checkpoint_part *part)
{
    char shape[192], its[224];
    const hk_dims *dims = part->array ? &part->array->shape : &part->shape;
    const hk_dtype dtype = part->array ? part->array->dtype : part->dtype;
    if (part->kind == HKI_PART_AWAITED ||
        (hki_dims_equal(dims, &part->loaded->shape) && dtype == part->loaded->dtype))
        return true;
    hki_dims_describe(dims, shape, sizeof shape);
    hki_array_describe(part->loaded, its, sizeof its);
    return hki_parts_refuse(parts, HK_INVALID_ARGUMENT, "%s is %s%s, but in the file %s",
                            part->name, hk_dtype_name(dtype), shape, its);
}

/* Reads an array; it has no shape of its own to be compared with where it failed at its call. */
static bool read_part(loading *self, hki_checkpoint_part *part)
{
    char room[HKI_PART_NAME_BYTES];
    const char *name = hki_part_file_name(part, self->archive, room);
    const hk_status *gone = part->array ? hki_array_gone(part->array) : NULL;
    if (gone) {
        hki_parts_fail(&self->parts, gone);
        hk_status_release(gone);
        return false;
    }
    if (part->array && part->array->failed)
        return hki_parts_fail(&self->parts, hk_error_now(part->array));
    if (!hk_archive_has(self->archive, name))
        return hki_parts_refuse(&self->parts, HK_INVALID_ARGUMENT, "the file has no %s", name);
    part->loaded = (hk_archive_get)(self->archive, name);
    if (part->loaded->failed)
        return hki_parts_fail(&self->parts, hk_error_now(part->loaded));
    return check_fits(&self->parts, part);
}

/* A learning rate and a number of steps: whatever a file says, nothing else gets into them. */
static bool check_coefficients(loading *self)
{
    const hki_checkpoint_part *part = hki_parts_find(&self->parts, "optimizer.coefficients");
    double values[2] = {0};
    if (!part)
        return true;
    const hk_status *status = (hk_to_host)(part->loaded, values, sizeof values);
    if (!hk_ok(status))
        return hki_parts_fail(&self->parts, status);
    self->lr = values[0];
    return (isfinite(values[0]) && values[0] >= 0 && values[1] >= 0 && values[1] < 0x1p53) ||
           hki_parts_refuse(&self->parts, HK_BAD_DATA,
                            "%s are %g and %g; a learning rate, finite and not below 0, and a "
                            "number of steps would be right",
                            part->name, values[0], values[1]);
}

static bool read_arrays(loading *self)
{
    if (!hki_parts_collect_awaited(&self->parts, self->archive) || !check_none_left(self))
        return false;
    for (int i = 0; i < self->parts.count; i++)
        if (!read_part(self, &self->parts.list[i]))
            return false;
    return check_coefficients(self);
}

/* ---- taking it over -------------------------------------------------------------------------------------- */

static void assign(const hki_checkpoint_part *part, const hk_checkpoint *to)
{
    if (part->kind == HKI_PART_ARRAY)
        (hk_assign)(part->array, part->loaded);
    else if (part->kind == HKI_PART_AWAITED)
        (hk_module_set)(part->module, part->path, part->loaded);
    else if (part->kind == HKI_PART_STATE)
        (hk_optimizer_scatter)(to->optimizer, part->index, part->loaded);
}

static void take_over(const loading *self, hk_checkpoint *to)
{
    if (to->loader)
        (hk_loader_seek)(to->loader, self->position);
    for (int i = 0; i < self->parts.count; i++)
        assign(&self->parts.list[i], to);
    if (hki_parts_find(&self->parts, "optimizer.coefficients"))
        (hk_optimizer_set_lr)(to->optimizer, self->lr);
    if (!to->without_stream)
        hk_generator_set_state(NULL, self->stream);
    for (int i = 0; i < to->generator_count; i++)
        hk_generator_set_state(to->generators[i], self->generators[i]);
    to->step = self->counters[0];
    to->epoch = self->counters[1];
}

/* The record, lent, with the name of the file where it lacks one. */
static const hk_status *record_of(const loading *self, const char *path)
{
    char shown[HKI_NAME_SHOWN_BYTES];
    const hk_status *error = self->parts.error;
    const hk_source source = hki_source_get();
    const hki_status_facts facts = {
        .operation = "checkpoint_load", .file = source.file, .line = source.line};
    if (!path || !hk_ok(hk_archive_status(self->archive)))
        return hki_status_lend(hk_status_retain(error));
    hki_show_name(shown, sizeof shown, path);
    return hki_status_lend(hki_status_create(hk_status_code(error), &facts, "%s: %s", shown,
                                             hk_status_message(error)));
}

static bool read_all(loading *self)
{
    if (!hk_ok(hk_archive_status(self->archive)))
        return hki_parts_fail(&self->parts, hk_archive_status(self->archive));
    return hki_parts_collect(&self->parts) && read_texts(self) && read_arrays(self);
}

const hk_status *(hk_checkpoint_load)(const char *path, hk_checkpoint *checkpoint)
{
    hk_checkpoint nothing = {0};
    loading self = {.parts.of = checkpoint ? checkpoint : &nothing};
    const hk_status *status = NULL;
    hki_array_uncapturable("checkpoint_load", "a file is read once; load before the capture");
    HK_SCOPE;
    HK_PAUSE;
    self.archive =
        (hk_load)(path, (hk_device){NULL}, &(hk_load_options){.format = HK_FORMAT_SAFETENSORS});
    if (!checkpoint)
        hki_parts_refuse(&self.parts, HK_INVALID_ARGUMENT, "argument checkpoint is NULL");
    else if (read_all(&self))
        take_over(&self, checkpoint);
    status = self.parts.error ? record_of(&self, path) : hki_status_ok();
    hk_archive_release(self.archive);
    free(self.generators);
    hki_parts_deinit(&self.parts);
    return status;
}
