/* Tasks for the tests of this room, which has no operators: on contiguous float32 arrays. */
#ifndef HOCKET_ARRAY_TEST_TASKS_H
#define HOCKET_ARRAY_TEST_TASKS_H

#include "array/array.h"

#include <hocket/runtime.h>
#include <stdatomic.h>
#include <time.h>

/* A task that waits for a gate holds a core, and what the test waits for may need one: so it ends by itself
 * after seconds. What the tests check holds all the same. */
enum { GATE_TRIES = 30000 };

typedef enum test_kind {
    TEST_FILL,         /* out = value */
    TEST_COPY,         /* out = in + value */
    TEST_ADD,          /* out = out + in */
    TEST_FAIL_BEFORE,  /* fails in prepare: nothing is written */
    TEST_FAIL_WRITING, /* writes half of out, then fails */
    TEST_CALL          /* calls `call`, writes nothing */
} test_kind;

typedef struct test_work {
    test_kind kind;
    hk_array *out, *in; /* in may be NULL */
    float value;
    atomic_bool *gate; /* NULL, or it is waited for, at most GATE_TRIES times a little */
    void (*call)(void *argument);
    void *argument;
    hki_tensor out_tensor, in_tensor; /* test_issue sets these */
} test_work;

static bool test_prepare(hki_task *task, void *payload)
{
    test_work *self = payload;
    for (int i = 0; self->gate && !atomic_load(self->gate) && i < GATE_TRIES; i++)
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    if (self->kind == TEST_FAIL_BEFORE)
        hki_task_fail(task, 0, HK_INJECTED, "before %g", (double)self->value);
    return self->kind != TEST_FAIL_BEFORE && hki_storage_materialise(self->out_tensor.storage);
}

static void test_run(hki_task *task, void *payload, int64_t piece)
{
    test_work *self = payload;
    hki_tensor_resolve(&self->out_tensor);
    float *out = self->out_tensor.data, *in = NULL;
    int64_t size = self->out_tensor.size;
    if (self->in_tensor.storage) {
        hki_tensor_resolve(&self->in_tensor);
        in = self->in_tensor.data;
    }
    switch (self->kind) {
    case TEST_FILL:
        for (int64_t i = 0; i < size; i++)
            out[i] = self->value;
        break;
    case TEST_COPY:
        for (int64_t i = 0; i < size; i++)
            out[i] = in[i] + self->value;
        break;
    case TEST_ADD:
        for (int64_t i = 0; i < size; i++)
            out[i] += in[i];
        break;
    case TEST_FAIL_WRITING:
        for (int64_t i = 0; i < size / 2; i++)
            out[i] = -1;
        hki_task_fail(task, piece, HK_INJECTED, "writing %g", (double)self->value);
        break;
    case TEST_CALL:
        self->call(self->argument);
        break;
    case TEST_FAIL_BEFORE:
        break;
    }
}

static void test_finish(hki_task *task, void *payload)
{
    test_work *self = payload;
    (void)task;
    hki_storage_release_use(self->out_tensor.storage);
    if (self->in_tensor.storage)
        hki_storage_release_use(self->in_tensor.storage);
}

static void test_describe(const void *payload, char *text, size_t bytes)
{
    const test_work *self = payload;
    snprintf(text, bytes, "float32(%d axes)", self->out_tensor.ndim);
}

static const hki_task_class test_class = {
    .prepare = test_prepare, .run = test_run, .finish = test_finish, .describe = test_describe};

/* Issues the work; runs in a worker if there is a gate, else maybe in place. Returns its sequence. */
static inline uint64_t test_issue(test_work work)
{
    static const char *const names[] = {"fill",        "copy",         "add",
                                        "fail_before", "fail_writing", "call"};
    hki_task *task =
        hki_task_begin(work.out->storage->var.runtime, sizeof work, work.in ? 2 : 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    unsigned mode = HKI_WRITE;
    if (work.kind == TEST_ADD)
        mode |= HKI_READ;
    else if (work.kind == TEST_CALL)
        mode |= HKI_KEEP;
    else
        mode |= HKI_HEAL;
    spec->accesses[0] = hki_array_access(work.out, mode);
    hki_storage_retain_use(work.out->storage);
    hki_tensor_init(&work.out_tensor, work.out);
    work.in_tensor = (hki_tensor){0};
    if (work.in) {
        spec->accesses[1] = hki_array_access(work.in, HKI_READ);
        hki_storage_retain_use(work.in->storage);
        hki_tensor_init(&work.in_tensor, work.in);
    }
    spec->class = &test_class;
    spec->device = work.out->storage->device;
    if (work.gate && hk_device_count() > 1) /* leaves the cores of cpu:0 to the others */
        spec->device = hk_device_at(1).handle;
    spec->operation = names[work.kind];
    spec->expected_ns = work.gate ? INT64_MAX : 1000;
    *(test_work *)hki_task_payload(task) = work;
    return hki_task_submit(task);
}

/* A new float32 array on cpu:0 that nothing has been written to; the scope's. */
static inline hk_array *test_empty(hk_dims shape)
{
    return hki_array_create(hk_device_default().handle, shape, HK_F32);
}

/* The same, with 0, 1, 2, … */
static inline hk_array *test_range(hk_dims shape)
{
    float values[4096];
    for (int i = 0; i < 4096; i++)
        values[i] = (float)i;
    return hk_from_host(values, shape, HK_F32, hk_device_default());
}

/* True when x is live and has these values, C order. */
static inline bool test_holds(hk_array *x, const float *values, int64_t count)
{
    float out[4096];
    if (hk_size(x) != count || !hk_ok(hk_to_host(x, out, (size_t)count * sizeof *out)))
        return false;
    for (int64_t i = 0; i < count; i++)
        if (out[i] != values[i])
            return false;
    return true;
}

/* True when x has failed with the code and message, at each of two looks. */
static inline bool test_failed(hk_array *x, hk_code code, const char *message)
{
    for (int look = 0; look < 2; look++) {
        const hk_status *status = hk_wait(x);
        if (hk_status_code(status) != code || !strstr(hk_status_message(status), message)) {
            hk_status_print(status, stderr);
            return false;
        }
    }
    return true;
}

/* Runs the tests in a runtime of each engine. */
static inline void test_engines(void (*test)(bool serial), hk_runtime_options options)
{
    for (int serial = 0; serial < 2; serial++) {
        options.engine = serial ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC;
        const hk_status *status = hk_runtime_init(&options);
        CHECK(hk_ok(status));
        hk_status_print(status, stderr);
        test(serial);
        hk_runtime_deinit();
    }
}

#endif
