/* Recording: on request (hk_trace_start), or of a whole run (HOCKET_TRACE). */
#include "base/hooks.h"
#include "base/source.h"
#include "base/whole_file.h"
#include "device/device.h"
#include "engine/engine.h"
#include "trace/collect.h"
#include "trace/trace_object.h"

#include <errno.h>
#include <hocket/runtime.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static const uint64_t default_limit_bytes = (uint64_t)256 << 20;

/* Records are read after recording has ended, and gone when it begins anew: both happen under this lock. */
static hki_lock record_lock;

static void child_unlock(void)
{
    atomic_store_explicit(&record_lock.state, 0, memory_order_relaxed);
}

/* The file that a whole run is recorded into; NULL: it is not. Then nobody else records, so that nothing needs to be
 * remembered about whose recording is under way. */
static const char *path_of_run(void)
{
    const char *path = getenv("HOCKET_TRACE");
    return path && *path ? path : NULL;
}

/* "train, 2026-11-21 14:37" */
static void write_title(char *title, size_t bytes)
{
    char date[32] = "";
    struct tm parts;
    const time_t now = time(NULL);
    if (localtime_r(&now, &parts))
        strftime(date, sizeof date, ", %Y-%m-%d %H:%M", &parts);
    snprintf(title, bytes, "%s%s", program_invocation_short_name, date);
}

/* A timeline of what was recorded; NULL when host memory is short. Expects record_lock. */
static hki_timeline *collect_locked(const hki_runtime *runtime, hki_trace *trace)
{
    char title[256];
    int count;
    hki_device *const *its = hki_runtime_devices(runtime, &count);
    hki_collect_device *devices = calloc((size_t)count, sizeof *devices);
    if (!devices)
        return NULL;
    write_title(title, sizeof title);
    for (int i = 0; i < count; i++) {
        const hki_device *device = its[i];
        devices[i] = (hki_collect_device){device->name, device->class->kind == HKI_SIM,
                                          device->class->launched != NULL,
                                          !device->class->launched    ? 1
                                          : device->class->sums_aside ? HKI_QUEUE_KIND_COUNT
                                                                      : HKI_QUEUE_REDUCE};
    }
    hki_timeline *timeline =
        hki_timeline_collect(&(hki_collect_source){.trace = trace,
                                                   .each = hki_trace_each,
                                                   .facts = hki_trace_get_facts(trace),
                                                   .devices = devices,
                                                   .device_count = count,
                                                   .title = title});
    free(devices);
    if (timeline)
        hki_timeline_trim(timeline);
    return timeline;
}

/* Ends recording. NULL: there was none. */
static hk_trace *end_recording(hki_runtime *runtime)
{
    hk_trace *result = NULL;
    hki_lock_acquire(&record_lock);
    hki_trace *trace = hki_runtime_trace_end(runtime);
    if (trace)
        result = hki_trace_object_create(collect_locked(runtime, trace));
    hki_lock_release(&record_lock);
    return result;
}

const hk_status *(hk_trace_start)(const hk_trace_options *options)
{
    HKI_TAKE_OPTIONS(hk_trace_options, options);
    const hki_status_facts facts = {.operation = "trace_start"};
    const uint64_t limit =
        options && options->memory_bytes ? options->memory_bytes : default_limit_bytes;
    const hk_status *error = NULL;
    hki_runtime *runtime = hki_runtime_default_retained();
    if (!runtime) {
        error = hki_status_create(HK_OUT_OF_MEMORY, &facts, "no host memory to start the runtime");
    } else if (path_of_run()) {
        error = hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                  "HOCKET_TRACE is set: the whole run is recorded, into \"%s\"; "
                                  "unset it to record a part",
                                  path_of_run());
    } else {
        hki_lock_acquire(&record_lock);
        error = hki_runtime_trace_begin(runtime, limit);
        hki_lock_release(&record_lock);
    }
    if (runtime)
        hki_runtime_release(runtime);
    return hki_status_lend(error ? error : hki_status_ok());
}

static hk_trace *refused(const char *why)
{
    const hki_status_facts facts = {.operation = "trace_stop"};
    return hki_trace_object_failed(hki_status_create(HK_INVALID_ARGUMENT, &facts, "%s", why));
}

hk_trace *hk_trace_stop(void)
{
    if (hki_in_task())
        return refused("a task cannot end a recording; the program does");
    if (path_of_run())
        return refused("HOCKET_TRACE is set: the whole run is recorded");
    hki_runtime *runtime = hki_runtime_current_retained();
    hk_trace *trace = NULL;
    if (runtime) {
        hk_wait_all();
        trace = end_recording(runtime);
        hki_runtime_release(runtime);
    }
    return trace ? trace : refused("no recording is under way; hk_trace_start begins one");
}

/* ---- whole runs -------------------------------------------------------------------------------------------------- */

/* Says so now, not after hours, when the file cannot be written; and does not record then. */
void hki_trace_runtime_started(hki_runtime *runtime)
{
    const char *path = path_of_run();
    const hk_status *error = path ? hki_whole_file_may_write("HOCKET_TRACE", path) : NULL;
    if (path && !error)
        error = hki_runtime_trace_begin(runtime, default_limit_bytes);
    if (error)
        hk_status_print(error, stderr);
    hk_status_release(error);
}

void hki_trace_runtime_ending(hki_runtime *runtime)
{
    const char *path = path_of_run();
    hk_trace *trace = path ? end_recording(runtime) : NULL;
    if (trace) {
        const hk_trace_summary summary = hk_trace_get_summary(trace);
        hk_status_print(hk_trace_write(trace, HK_TRACE_CHROME, path), stderr);
        if (summary.lost_records)
            fprintf(stderr,
                    "hocket: HOCKET_TRACE: %llu records did not fit into memory: \"%s\" has not "
                    "got everything\n",
                    (unsigned long long)summary.lost_records, path);
    }
    hk_trace_release(trace);
}

__attribute__((constructor)) static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, child_unlock);
}
