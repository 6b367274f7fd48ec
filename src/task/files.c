/* Files that are written and read beside the calls, by threads that wait: promises of the library's
 * own. */
#include "task/kernel_call.h"

#include "base/source.h"
#include "io/archive.h"

#include <hocket/ops.h>
#include <hocket/split.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* Those under way, so that a runtime does not end before. */
typedef struct job {
    struct job *next;
    hki_runtime *runtime; /* counted */
    hk_promise *promise;
    void (*work)(struct job *job, const hk_task_view *to);
} job;

static struct {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    job *first;
} jobs = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

static void forget_all(void)
{
    pthread_mutex_init(&jobs.lock, NULL);
    pthread_cond_init(&jobs.ended, NULL);
    jobs.first = NULL; /* the parent's threads are not here */
}

__attribute__((constructor)) static void note_forks(void)
{
    pthread_atfork(NULL, NULL, forget_all);
}

static bool has_any_locked(const hki_runtime *runtime)
{
    const job *at = jobs.first;
    while (at && at->runtime != runtime)
        at = at->next;
    return at;
}

void hki_files_await(hki_runtime *runtime, void (*let_go)(hki_runtime *))
{
    pthread_mutex_lock(&jobs.lock);
    const bool has_any = has_any_locked(runtime);
    pthread_mutex_unlock(&jobs.lock);
    if (has_any && let_go)
        let_go(runtime);
    pthread_mutex_lock(&jobs.lock);
    while (has_any_locked(runtime))
        pthread_cond_wait(&jobs.ended, &jobs.lock);
    pthread_mutex_unlock(&jobs.lock);
}

/* Keeps or breaks the promise, and frees the job. */
static void run(hki_task *none, void *argument)
{
    job *self = argument;
    hki_runtime *runtime = self->runtime;
    (void)none;
    const hk_task_view to = hk_promise_view(self->promise, 0);
    self->work(self, &to);
    pthread_mutex_lock(&jobs.lock);
    job **link = &jobs.first;
    while (*link != self)
        link = &(*link)->next;
    *link = self->next;
    pthread_cond_broadcast(&jobs.ended);
    pthread_mutex_unlock(&jobs.lock);
    hki_runtime_release(runtime);
    free(self);
}

/* x is what the promise is about: a new array of the CPU. Takes the job. */
static void start(job *self, const char *name, hk_array *x)
{
    self->runtime = x->storage->device->runtime;
    hki_runtime_retain(self->runtime);
    self->promise = hki_promise_of_library(name, x);
    pthread_mutex_lock(&jobs.lock);
    self->next = jobs.first;
    jobs.first = self;
    pthread_mutex_unlock(&jobs.lock);
    if (!hki_kernel_thread_run(run, NULL, self))
        run(NULL, self); /* for want of threads the call blocks */
}

/* ---- saving --------------------------------------------------------------------------------- */

/* All that a call of hk_save is given, in memory of its own. */
typedef struct saving {
    job job;
    size_t count;
    hk_save_options options;
    hk_save_entry *entries;
    char *path; /* NULL: that argument is NULL */
} saving;

/* Behind the struct: entries, metadata, texts. With self NULL it only counts. */
typedef struct packing {
    char *at;
    size_t bytes;
} packing;

static char *pack(packing *self, const char *text)
{
    if (!text)
        return NULL;
    const size_t bytes = strlen(text) + 1;
    char *copy = self->at ? memcpy(self->at + self->bytes, text, bytes) : NULL;
    self->bytes += bytes;
    return copy;
}

static void pack_texts(packing *texts, saving *to, const char *path, const hk_save_entry *entries,
                       size_t count, const hk_save_options *options)
{
    hk_metadata_entry *metadata = to ? (hk_metadata_entry *)(to->entries + count) : NULL;
    char *copy = pack(texts, path);
    if (to)
        to->path = copy;
    for (size_t i = 0; i < count; i++) {
        copy = pack(texts, entries[i].name);
        if (to)
            to->entries[i].name = copy;
    }
    for (size_t i = 0; i < options->metadata_count; i++) {
        char *key = pack(texts, options->metadata[i].key),
             *value = pack(texts, options->metadata[i].value);
        if (to)
            metadata[i] = (hk_metadata_entry){key, value};
    }
    if (to && options->metadata)
        to->options.metadata = metadata;
}

/* NULL: no memory. Arrays are not copied yet. */
static saving *copy_call(const char *path, const hk_save_entry *entries, size_t count,
                         const hk_save_options *options)
{
    packing texts = {0};
    pack_texts(&texts, NULL, path, entries, count, options);
    const size_t lists = sizeof(saving) + count * sizeof *entries +
                         options->metadata_count * sizeof *options->metadata;
    saving *self = calloc(1, lists + texts.bytes);
    if (!self)
        return NULL;
    self->count = count;
    self->options = *options;
    self->entries = (hk_save_entry *)(self + 1);
    texts = (packing){.at = (char *)self + lists};
    pack_texts(&texts, self, path, entries, count, options);
    return self;
}

static void save(job *argument, const hk_task_view *to)
{
    saving *self = (saving *)argument;
    int64_t bytes = 0;
    const hk_status *status = (hk_save)(self->path, self->entries, self->count, &self->options);
    for (size_t i = 0; i < self->count; i++) {
        bytes += hk_size(self->entries[i].array) *
                 (int64_t)hk_dtype_bytes(hk_array_dtype(self->entries[i].array));
    }
    if (hk_ok(status)) {
        if (to->data)
            memcpy(to->data, &bytes, sizeof bytes);
        hk_promise_keep(self->job.promise);
    } else {
        hki_promise_break(self->job.promise, hk_status_code(status), hk_status_message(status));
    }
    for (size_t i = 0; i < self->count; i++)
        hk_array_release(self->entries[i].array);
}

/* Its values now, in the host's memory. Counted. */
static hk_array *snapshot(hk_array *x)
{
    if (x->failed)
        return hk_array_retain(x);
    hki_device *device = x->storage->device;
    return hk_take(hki_device_is_host(device)
                       ? (hk_copy)(x)
                       : (hk_to_device)(x, (hk_device){hki_device_of_host(device)}));
}

hk_array *(hk_save_async)(const char *path, const hk_save_entry *entries, size_t count,
                          const hk_save_options *options)
{
    HKI_TAKE_OPTIONS(hk_save_options, options);
    static const hk_save_options none = {0};
    HKI_HOLD(held);
    hki_device *home = hki_device_hold((hk_device){NULL}, &held);
    options = options ? options : &none;
    hki_array_uncapturable("save", "what goes to a file is not in the graph; save after replays");
    if ((count && !entries) || (options->metadata_count && !options->metadata))
        return hki_array_create_failed(home, "save_async", NULL, 0, HK_INVALID_ARGUMENT,
                                       "%s NULL, but there should be %zu of them",
                                       count && !entries ? "argument entries is"
                                                         : "option metadata is",
                                       count && !entries ? count : options->metadata_count);
    for (size_t i = 0; i < count; i++)
        if (!entries[i].array)
            return hki_array_create_failed(home, "save_async", NULL, 0, HK_INVALID_ARGUMENT,
                                           "entries[%zu].array is NULL; an array would be right",
                                           i);
    saving *self = copy_call(path, entries, count, options);
    hk_array *result = hki_array_create(home->class ? hki_device_of_host(home) : home,
                                        (hk_dims){.ndim = 0}, HK_I64);
    if (!self || result->failed) {
        free(self);
        return result->failed ? result
                              : hki_array_create_failed(home, "save_async", NULL, 0,
                                                        HK_OUT_OF_MEMORY, "out of host memory");
    }
    hk_pause_begin();
    for (size_t i = 0; i < count; i++)
        self->entries[i].array = snapshot(entries[i].array);
    hk_pause_end();
    self->job.work = save;
    start(&self->job, "save_async", result);
    return result;
}

/* ---- reading -------------------------------------------------------------------------------- */

typedef struct reading {
    job job;
    hk_archive *archive;
    hki_io_origin origin;
} reading;

static void read_array(job *argument, const hk_task_view *to)
{
    reading *self = (reading *)argument;
    hki_io_error error = {0};
    char message[sizeof error.text + 256];
    if (!to->data ||
        hki_io_read_elements(self->origin.source, self->origin.entry, NULL, to->data, &error)) {
        hk_promise_keep(self->job.promise);
    } else {
        hki_io_introduce(&self->origin, message, 256);
        strncat(message, ": ", sizeof message - strlen(message) - 1);
        strncat(message, error.text, sizeof message - strlen(message) - 1);
        hki_promise_break(self->job.promise, error.code, message);
    }
    hk_archive_release(self->archive);
}

hk_array *(hk_archive_get_async)(hk_archive *archive, const char *name)
{
    hki_io_origin origin;
    if (!hki_archive_find(archive, name, &origin))
        return (hk_archive_get)(archive, name);
    hki_array_uncapturable("archive_get",
                           "its values come from outside; give them as a bound array");
    hki_device *device = hki_archive_device(archive);
    hk_array *x = hki_array_create(device->class ? hki_device_of_host(device) : device,
                                   origin.entry->shape, origin.entry->dtype);
    reading *self = x->failed ? NULL : malloc(sizeof *self);
    if (!self)
        return x->failed ? x
                         : hki_array_create_failed(device, "archive_get", NULL, 0, HK_OUT_OF_MEMORY,
                                                   "out of host memory");
    *self =
        (reading){.job.work = read_array, .archive = hk_archive_retain(archive), .origin = origin};
    start(&self->job, "archive_get", x);
    return x->storage->device == device ? x : (hk_to_device)(x, (hk_device){device});
}
