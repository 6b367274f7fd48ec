/* Pipelines: each stage of each micro-batch has a tape of its own, which ends where its input came from another stage. */
#include "split/pipeline.h"
#include "base/source.h"
#include "base/status.h"
#include "split/split.h"

#include <hocket/autograd.h>
#include <hocket/ops.h>

#include <stdatomic.h>
#include <stdlib.h>

static const char operation[] = "pipeline_run";

/* Catches the gradient of a stage's input, which so needs no memory before it comes. Shared with the tape. */
typedef struct sink {
    atomic_int refs;
    hk_array *dx; /* counted; NULL: none came */
} sink;

/* A stage of a micro-batch, from its forward pass to its backward one. */
typedef struct cell {
    hk_array *x, *y; /* counted; NULL: not yet, or no more */
    hk_array *slot;  /* what x shows, where a later micro-batch is to take its place; counted */
    sink *sink;      /* NULL: the first stage, or nothing flows there */
} cell;

typedef struct pipeline {
    const hk_pipeline_options *options;
    cell *cells;              /* stages * batches; with a group: batches */
    hk_array *tracked;        /* what makes an input wanted */
    const hk_status *failure; /* the first one, counted; NULL: none */
} pipeline;

/* ---- what a pipeline keeps ------------------------------------------------------------------------------------------ */

static void sink_release(void *context)
{
    sink *self = context;
    if (!self || atomic_fetch_sub_explicit(&self->refs, 1, memory_order_acq_rel) != 1)
        return;
    hk_array_release(self->dx);
    free(self);
}

static void catch_gradient(hk_function_call *call)
{
    sink *self = call->context;
    if (call->dys[0] && !self->dx)
        self->dx = hk_array_retain(call->dys[0]);
}

static cell *cell_of(const pipeline *self, int stage, int batch)
{
    return &self->cells[(self->options->group ? 0 : stage * self->options->batches) + batch];
}

static void cell_drop_gradient(cell *self)
{
    sink_release(self->sink);
    self->sink = NULL;
}

static void cell_clear(cell *self)
{
    hk_array_release(self->x);
    hk_array_release(self->y);
    hk_array_release(self->slot);
    cell_drop_gradient(self);
}

static void note(pipeline *self, const hk_status *status)
{
    if (!self->failure && !hk_ok(status))
        self->failure = hk_status_retain(status);
}

static hk_device device_of(const pipeline *self, int stage, hk_array *otherwise)
{
    if (self->options->devices)
        return self->options->devices[stage];
    return otherwise ? hk_array_device(otherwise) : hk_device_default();
}

/* ---- between stages -------------------------------------------------------------------------------------------------- */

/* What the stage before gave, or what the program did, where it is; of the scope. NULL: nothing. */
static hk_array *given_to(pipeline *self, int stage, int batch)
{
    const hk_pipeline_options *options = self->options;
    if (stage == 0)
        return options->inputs ? options->inputs[batch] : NULL;
    if (options->group)
        return (hk_group_receive)(options->group, options->shapes[stage], options->dtype,
                                  device_of(self, stage, NULL), stage - 1);
    return cell_of(self, stage - 1, batch)->y;
}

static hk_array *moved(pipeline *self, int stage, hk_array *x)
{
    return (hk_to_device)(x, device_of(self, stage, x));
}

static bool fits(const hk_array *slot, const hk_array *x)
{
    return slot && !x->failed && slot->dtype == x->dtype && hki_dims_equal(&slot->shape, &x->shape);
}

/* Calls run when their data is there, whatever the order of issue. So what bounds the micro-batches that a stage of 1F1B holds is
 * memory: an input is written where that of an earlier one was, which waits until its backward pass has read it. */
static hk_array *in_turn(pipeline *self, int stage, int batch, hk_array *x)
{
    const hk_pipeline_options *options = self->options;
    const int before = batch - (options->stages - stage);
    hk_array **slot = &cell_of(self, stage, batch)->slot;
    hk_array *here = stage > 0 ? moved(self, stage, x) : x; /* copied while others are computed */
    if (before >= 0) {
        *slot = cell_of(self, stage, before)->slot;
        cell_of(self, stage, before)->slot = NULL;
    }
    if (fits(*slot, here)) {
        (hk_assign)(*slot, here);
    } else {
        hk_array_release(*slot);
        here = moved(self, stage, here);
        const bool is_own = here->failed || x->failed || here->storage != x->storage;
        *slot = hk_array_retain(is_own ? here : (hk_copy)(here));
    }
    return (hk_detach)(*slot);
}

/* The stage's input, off the tape, of the scope. */
static hk_array *input_of(pipeline *self, int stage, int batch)
{
    HK_PAUSE;
    hk_array *x = given_to(self, stage, batch);
    if (!x)
        return NULL;
    return self->options->order == HK_PIPELINE_1F1B ? in_turn(self, stage, batch, x)
                                                    : (hk_detach)(moved(self, stage, x));
}

/* Puts x on a tape of its own. */
static hk_array *on_tape(pipeline *self, cell *its, hk_array *x)
{
    HK_RECORD;
    its->sink = calloc(1, sizeof *its->sink);
    if (!its->sink)
        return hki_array_create_failed(x->storage->device, operation, &x, 1, HK_OUT_OF_MEMORY,
                                       "out of host memory");
    atomic_init(&its->sink->refs, 2);
    (hk_function)(&self->tracked, 1, &x, 1,
                  &(hk_function_options){.name = operation,
                                         .backward = catch_gradient,
                                         .context = its->sink,
                                         .release = sink_release});
    return x;
}

/* Once. */
static void take_input(pipeline *self, int stage, int batch)
{
    cell *its = cell_of(self, stage, batch);
    if (its->x)
        return;
    HK_SCOPE;
    hk_array *x = input_of(self, stage, batch);
    its->x = hk_array_retain(stage > 0 ? on_tape(self, its, x) : x);
}

/* The gradient of what a stage gave, of the scope; NULL: none came. */
static hk_array *gradient_of(pipeline *self, int stage, int batch)
{
    const hk_pipeline_options *options = self->options;
    if (options->group)
        return (hk_group_receive)(options->group, options->shapes[stage + 1], options->dtype,
                                  device_of(self, stage, NULL), stage + 1);
    const sink *caught = cell_of(self, stage + 1, batch)->sink;
    hk_array *y = cell_of(self, stage, batch)->y;
    return caught && caught->dx ? (hk_to_device)(caught->dx, hk_array_device(y)) : NULL;
}

/* ---- steps ------------------------------------------------------------------------------------------------------------ */

static void run_forward(pipeline *self, int stage, int batch)
{
    const hk_pipeline_options *options = self->options;
    cell *its = cell_of(self, stage, batch);
    take_input(self, stage, batch);
    HK_SCOPE;
    hk_array *y;
    {
        HK_RECORD;
        y = options->forward(options->context, stage, batch, its->x);
    }
    if (!y)
        y = hki_array_create_failed(NULL, operation, NULL, 0, HK_INVALID_ARGUMENT,
                                    "stage %d gave NULL for micro-batch %d", stage, batch);
    its->y = hk_array_retain(y);
    if (options->group && stage < options->stages - 1)
        (hk_group_send)(options->group, y, stage + 1);
}

/* To the rank before. next: what this one does then. A rank that awaits an input does so before it sends, since the one before
 * sends that first: in the serial engine each waits for the other. */
static void send_gradient(pipeline *self, int stage, int batch, int next)
{
    const hk_pipeline_options *options = self->options;
    cell *its = cell_of(self, stage, batch);
    if (next < 2 * options->batches) {
        const hk_pipeline_step step =
            hki_pipeline_step_of(options->order, options->stages, options->batches, stage, next);
        if (!step.is_backward)
            take_input(self, stage, step.batch);
    }
    (hk_group_send)(options->group,
                    its->sink && its->sink->dx ? its->sink->dx : (hk_zeros_like)(its->x),
                    stage - 1);
}

/* next: see above. */
static void run_backward(pipeline *self, int stage, int batch, int next)
{
    const hk_pipeline_options *options = self->options;
    const bool is_last = stage == options->stages - 1;
    cell *its = cell_of(self, stage, batch);
    HK_SCOPE;
    HK_PAUSE;
    if (is_last) {
        note(self, (hk_backward)(its->y));
    } else {
        hk_array *dy = gradient_of(self, stage, batch);
        if (dy && (stage > 0 || hk_wants_grad(its->y))) /* a first stage may have no parameters */
            note(self, (hk_backward_from)(its->y, dy));
        if (!options->group)
            cell_drop_gradient(cell_of(self, stage + 1, batch));
    }
    if (options->group && stage > 0)
        send_gradient(self, stage, batch, next);
    hk_array_release(its->x);
    its->x = NULL;
    if (options->group)
        cell_drop_gradient(its);
    if (is_last)
        return;
    hk_array_release(its->y);
    its->y = NULL;
}

static void run_all(pipeline *self, const hk_pipeline_step *steps, int count)
{
    const hk_group *group = self->options->group;
    int done = 0; /* of this rank's */
    for (int i = 0; i < count; i++) {
        const hk_pipeline_step *step = &steps[i];
        if (group && step->stage != hk_group_rank(group))
            continue;
        done++;
        if (step->is_backward)
            run_backward(self, step->stage, step->batch, done);
        else
            run_forward(self, step->stage, step->batch);
    }
}

/* ---- a run -------------------------------------------------------------------------------------------------------------- */

/* NULL, or what is wrong with the options, counted. */
static const hk_status *check(const hk_pipeline_options *options)
{
    if (!options || !options->forward)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL, "%s is NULL",
                                 options ? "option forward" : "argument options");
    if (!hk_pipeline_steps(options->order, options->stages, options->batches, NULL, 0))
        return hki_status_create(
            HK_INVALID_ARGUMENT, NULL,
            "order is %d, stages %d and batches %d; order must be HK_PIPELINE_GPIPE or "
            "HK_PIPELINE_1F1B, the others 1 or more, of at most 2^30 in all",
            (int)options->order, options->stages, options->batches);
    const hk_group *group = options->group;
    if (!group)
        return NULL;
    const hk_status *status = hk_group_status(group);
    if (!hk_ok(status))
        return hk_status_retain(status);
    if (hk_group_size(group) != options->stages)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "stages is %d, but the group has %d ranks; each is one",
                                 options->stages, hk_group_size(group));
    if (!options->shapes && options->stages > 1)
        return hki_status_create(HK_INVALID_ARGUMENT, NULL,
                                 "option shapes is NULL, but ranks need to know what they receive");
    return NULL;
}

static hk_array *track(void)
{
    HK_SCOPE;
    hk_array *x = (hk_zeros)(hk_shape(), HK_F32, hk_device_default());
    (hk_attach_grad)(x, HK_GRAD_TRACK);
    return hk_take(x);
}

/* The losses that this process has become the caller's. */
static void give_losses(pipeline *self, hk_array **losses)
{
    const hk_pipeline_options *options = self->options;
    const int last = options->stages - 1;
    const bool has = !options->group || hk_group_rank(options->group) == last;
    for (int b = 0; losses && b < options->batches; b++)
        losses[b] = has ? hki_scope_add(hk_array_retain(cell_of(self, last, b)->y)) : NULL;
}

static const hk_status *run(const hk_pipeline_options *options, hk_array **losses)
{
    const int count = hk_pipeline_steps(options->order, options->stages, options->batches, NULL, 0);
    const size_t cells = (size_t)options->batches * (size_t)(options->group ? 1 : options->stages);
    pipeline self = {.options = options, .cells = calloc(cells, sizeof *self.cells)};
    hk_pipeline_step *steps = calloc((size_t)count, sizeof *steps);
    if (self.cells && steps &&
        hk_pipeline_steps(options->order, options->stages, options->batches, steps, count)) {
        self.tracked = track();
        run_all(&self, steps, count);
        give_losses(&self, losses);
        for (size_t i = 0; i < cells; i++)
            cell_clear(&self.cells[i]);
        hk_array_release(self.tracked);
    } else {
        self.failure = hk_status_retain(hki_status_no_memory());
        hki_split_refuse(operation, NULL, 0, losses, losses ? options->batches : 0,
                         "out of host memory");
    }
    free(self.cells);
    free(steps);
    return self.failure ? self.failure : hki_status_ok();
}

const hk_status *(hk_pipeline_run)(const hk_pipeline_options *options, hk_array **losses)
{
    HKI_TAKE_OPTIONS(hk_pipeline_options, options);
    const hk_status *error = check(options);
    if (!error)
        return hki_status_lend(run(options, losses));
    hki_split_refuse(operation, NULL, 0, losses, losses && options ? options->batches : 0, "%s",
                     hk_status_message(error));
    return hki_status_lend(error);
}
