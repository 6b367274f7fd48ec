/* Models: what a plug-in has read, and how its calls are made: one by one, noted, or replayed. */
#include "array/array.h"
#include "base/hooks.h"
#include "base/plugin.h"
#include "base/sync.h"
#include "base/text.h"
#include "model/format.h"
#include "op/call/capture.h"

#include <hocket/autograd.h>
#include <hocket/call.h>
#include <hocket/graph.h>
#include <hocket/model.h>
#include <hocket/ops.h>

#include <dlfcn.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_SHAPES = 16 }; /* that are kept, of the latest runs */

/* What is known of runs with inputs of these shapes. */
typedef struct shaped {
    hk_dims *shapes; /* of inputs, then of outputs; NULL: a free place */
    hk_dtype *dtypes;
    hk_model_memo *memo;
    hk_graph *graph; /* NULL: not noted yet */
    bool is_loose;   /* values decide what is called, or it cannot be noted */
    uint64_t used;
    int runs; /* under way that look at the memo */
} shaped;

struct hk_model {
    const hk_status *status; /* counted */
    hk_model_source *source; /* NULL: failed */
    hki_device *device;
    atomic_int users; /* the handle, and runs */
    hki_lock lock;    /* of the rest */
    shaped known[MOST_SHAPES];
    uint64_t clock;
};

static hk_model no_memory;

/* ---- loading ----------------------------------------------------------------------------------
 */

static hk_model *failed(hk_model *self, hk_code code, const char *format, ...)
{
    const hki_status_facts facts = {
        .operation = "model_load", .file = hki_source_get().file, .line = hki_source_get().line};
    va_list args;
    va_start(args, format);
    self->status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return self;
}

static hk_model *open_source(hk_model *self, const char *path, const char *format,
                             const hk_model_options *options)
{
    const hk_source at = hki_source_get();
    char problem[1024] = "";
    hk_code code = HK_UNSUPPORTED;
    union {
        void *symbol;
        hk_model_open_fn *open;
    } entry;
    if (!hki_format_is_name(format))
        return failed(self, HK_INVALID_ARGUMENT,
                      "the format of %.200s is not known by its name; expected a name that ends "
                      "with .onnx, or the option format",
                      path);
    void *plugin = hki_plugin_open(format, problem, sizeof problem);
    if (!plugin)
        return failed(self, HK_NOT_FOUND,
                      "there is no plug-in for files of the format %s: libhocket_%s.so is not "
                      "beside the library (%.300s)",
                      format, format, problem);
    entry.symbol = dlsym(plugin, "hocket_model_open");
    if (!entry.symbol)
        return failed(self, HK_UNSUPPORTED, "libhocket_%s.so reads no models", format);
    /* It stays open: code of it may be under way until the process ends. */
    hk_model_source *source = entry.open(path, options, at, &code, problem, sizeof problem);
    if (!source)
        return failed(self, code, "%s", problem);
    if (source->abi != HK_MODEL_ABI) {
        source->release(source);
        return failed(self, HK_UNSUPPORTED, "libhocket_%s.so is not of this version", format);
    }
    self->source = source;
    return self;
}

hk_model *(hk_model_load)(const char *path, const hk_model_options *options)
{
    HKI_TAKE_OPTIONS(hk_model_options, options);
    hk_model *self = calloc(1, sizeof *self);
    if (!self)
        return &no_memory;
    HKI_HOLD(held);
    atomic_init(&self->users, 1);
    self->device = hki_device_hold(options ? options->device : (hk_device){NULL}, &held);
    if (!path)
        return failed(self, HK_INVALID_ARGUMENT, "argument path is NULL");
    if (!self->device->class)
        return failed(self, hk_status_code(self->device->status), "%s",
                      hk_status_message(self->device->status));
    const hk_model_options complete = {.device = {self->device},
                                       .trainable = options && options->trainable};
    return open_source(self, path, hki_format_of(path, options ? options->format : NULL),
                       &complete);
}

const hk_status *hk_model_status(const hk_model *model)
{
    if (!model || model == &no_memory)
        return hki_status_lend(
            model ? hk_status_retain(hki_status_no_memory())
                  : hki_status_create(HK_INVALID_ARGUMENT, NULL, "argument model is NULL"));
    return hki_status_lend(model->status ? hk_status_retain(model->status) : hki_status_ok());
}

static void forget(const hk_model *self, shaped *it)
{
    if (it->memo)
        self->source->memo_release(it->memo);
    hk_graph_release(it->graph);
    free(it->shapes);
    free(it->dtypes);
    *it = (shaped){.shapes = NULL};
}

static void drop(hk_model *self)
{
    if (atomic_fetch_sub(&self->users, 1) > 1)
        return;
    for (int i = 0; i < MOST_SHAPES; i++)
        if (self->known[i].shapes)
            forget(self, &self->known[i]);
    if (self->source)
        self->source->release(self->source);
    hk_status_release(self->status);
    free(self);
}

void hk_model_release(hk_model *model)
{
    if (model && model != &no_memory)
        drop(model);
}

/* ---- what it is -------------------------------------------------------------------------------
 */

static const hk_model_source *source_of(const hk_model *model)
{
    static const hk_model_source none = {0};
    return model && model->source ? model->source : &none;
}

int hk_model_input_count(const hk_model *model)
{
    return source_of(model)->input_count;
}

int hk_model_output_count(const hk_model *model)
{
    return source_of(model)->output_count;
}

int hk_model_parameter_count(const hk_model *model)
{
    return source_of(model)->parameter_count;
}

hk_model_value hk_model_input(const hk_model *model, int index)
{
    const hk_model_source *source = source_of(model);
    return index >= 0 && index < source->input_count ? source->inputs[index]
                                                     : (hk_model_value){.name = NULL};
}

hk_model_value hk_model_output(const hk_model *model, int index)
{
    const hk_model_source *source = source_of(model);
    return index >= 0 && index < source->output_count ? source->outputs[index]
                                                      : (hk_model_value){.name = NULL};
}

hk_array *hk_model_parameter(const hk_model *model, int index)
{
    const hk_model_source *source = source_of(model);
    return index >= 0 && index < source->parameter_count ? source->parameters[index] : NULL;
}

const char *hk_model_parameter_name(const hk_model *model, int index)
{
    const hk_model_source *source = source_of(model);
    return index >= 0 && index < source->parameter_count ? source->parameter_names[index] : NULL;
}

char *hk_model_to_string(const hk_model *model)
{
    return model && model->source ? model->source->to_string(model->source)
                                  : strdup(hk_status_message(hk_model_status(model)));
}

/* ---- runs: checks -----------------------------------------------------------------------------
 */

typedef struct run {
    hk_model *model;
    hk_array *const *given;
    int input_count, output_count;
    hk_array **outputs;
    hk_array **inputs; /* on the model's device, without gaps */
    hk_source at;      /* the line of the call */
} run;

static void fail(const run *self, hk_code code, const char *format, ...)
{
    char text[512];
    va_list args;
    va_start(args, format);
    hki_format_va(text, sizeof text, format, args);
    va_end(args);
    hki_device *device = self->model ? self->model->device : NULL;
    for (int i = 0; self->outputs && i < self->output_count; i++)
        self->outputs[i] =
            hki_array_create_failed(device, "model_run", self->given,
                                    self->given ? self->input_count : 0, code, "%s", text);
    if (!self->outputs || self->output_count < 1)
        hk_array_release(
            hk_take(hki_array_create_failed(device, "model_run", NULL, 0, code, "%s", text)));
}

static bool check_input(const run *self, int index)
{
    const hk_model_value *wanted = &self->model->source->inputs[index];
    const hk_array *x = self->given[index];
    if (!x) {
        fail(self, HK_INVALID_ARGUMENT, "input %d, %s, is NULL", index, wanted->name);
        return false;
    }
    if (x->failed)
        return true;
    if (x->dtype != wanted->dtype) {
        fail(self, HK_INVALID_ARGUMENT, "input %d, %s, is %s; expected %s", index, wanted->name,
             hk_dtype_name(x->dtype), hk_dtype_name(wanted->dtype));
        return false;
    }
    if (wanted->ndim >= 0 && x->shape.ndim != wanted->ndim) {
        fail(self, HK_INVALID_ARGUMENT, "input %d, %s, has %d axes; expected %d", index,
             wanted->name, x->shape.ndim, wanted->ndim);
        return false;
    }
    for (int i = 0; i < wanted->ndim; i++) {
        const int64_t size = x->shape.dims[i];
        if (wanted->dims[i] >= 0 && size != wanted->dims[i]) {
            fail(self, HK_INVALID_ARGUMENT,
                 "axis %d of input %d, %s, is %" PRId64 "; expected %" PRId64, i, index,
                 wanted->name, size, wanted->dims[i]);
            return false;
        }
    }
    return true;
}

static bool check(const run *self)
{
    const hk_model *model = self->model;
    if (!model || !model->source) {
        const hk_status *status = hk_model_status(model);
        fail(self, hk_status_code(status), "%s", hk_status_message(status));
        return false;
    }
    if (self->input_count != model->source->input_count ||
        self->output_count != model->source->output_count || (self->input_count && !self->given) ||
        (self->output_count && !self->outputs)) {
        fail(self, HK_INVALID_ARGUMENT,
             "%d inputs and %d outputs are given; the model has %d and %d", self->input_count,
             self->output_count, model->source->input_count, model->source->output_count);
        return false;
    }
    for (int i = 0; i < self->input_count; i++)
        if (!check_input(self, i))
            return false;
    return true;
}

/* ---- runs: what is known ----------------------------------------------------------------------
 */

static bool fits(const shaped *it, const run *self)
{
    bool same = it->shapes != NULL;
    for (int i = 0; i < self->input_count && same; i++)
        same = hki_dims_equal(&it->shapes[i], &self->inputs[i]->shape);
    return same;
}

/* Expects the lock. */
static shaped *find(const run *self)
{
    hk_model *model = self->model;
    for (int i = 0; i < MOST_SHAPES; i++)
        if (fits(&model->known[i], self)) {
            model->known[i].used = ++model->clock;
            return &model->known[i];
        }
    return NULL;
}

/* After a first run. Takes the memo. */
static void keep(const run *self, hk_model_memo *memo, bool is_loose)
{
    hk_model *model = self->model;
    const size_t count = (size_t)(self->input_count + self->output_count);
    bool is_good = true;
    for (int i = 0; i < self->output_count; i++)
        is_good = is_good && !self->outputs[i]->failed;
    hki_lock_acquire(&model->lock);
    shaped *place = find(self) ? NULL : &model->known[0];
    for (int i = 1; place && i < MOST_SHAPES; i++)
        if (!model->known[i].runs && (place->runs || model->known[i].used < place->used))
            place = &model->known[i];
    if (place && !place->runs && is_good) {
        if (place->shapes)
            forget(model, place);
        *place = (shaped){.shapes = calloc(count + 1, sizeof *place->shapes),
                          .dtypes = calloc(count + 1, sizeof *place->dtypes),
                          .memo = memo,
                          .is_loose = is_loose,
                          .used = ++model->clock};
        memo = NULL;
        for (size_t i = 0; place->shapes && place->dtypes && i < count; i++) {
            const size_t inputs = (size_t)self->input_count;
            const hk_array *x = i < inputs ? self->inputs[i] : self->outputs[i - inputs];
            place->shapes[i] = x->shape;
            place->dtypes[i] = x->dtype;
        }
        if (!place->shapes || !place->dtypes)
            forget(model, place);
    }
    hki_lock_release(&model->lock);
    if (memo)
        model->source->memo_release(memo);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

/* The calls one by one. Outputs are counted for the caller, here and below. */
static void run_calls(const run *self, hk_model_memo *known)
{
    hk_model_source *source = self->model->source;
    hk_model_memo *memo = known;
    char problem[512] = "";
    const hk_model_outcome outcome =
        source->run(source, self->at, self->inputs, self->outputs, &memo, problem, sizeof problem);
    if (outcome.code != HK_OK) {
        fail(self, outcome.code, "%s", problem);
        for (int i = 0; i < self->output_count; i++)
            hk_take(self->outputs[i]);
    }
    if (!known && memo)
        keep(self, memo, outcome.is_loose);
}

/* The same, noted. Returns the graph; NULL: it cannot be replayed, though all has been computed. */
static hk_graph *run_noted(const run *self, const hk_dims *shapes, const hk_dtype *dtypes,
                           hk_model_memo *memo)
{
    hk_model_source *source = self->model->source;
    const int count = self->input_count + self->output_count;
    hk_array **bound = calloc((size_t)count + 1, sizeof(hk_array *));
    hk_array **results = calloc((size_t)self->output_count + 1, sizeof(hk_array *));
    hk_graph *graph = NULL;
    if (!bound || !results) {
        run_calls(self, memo);
    } else {
        for (int i = 0; i < count; i++)
            bound[i] = i < self->input_count
                           ? self->inputs[i]
                           : hki_array_create(self->model->device, shapes[i], dtypes[i]);
        hk_capture_begin(bound, count);
        {
            HK_SCOPE;
            char problem[512] = "";
            const hk_model_outcome outcome = source->run(source, self->at, self->inputs, results,
                                                         &memo, problem, sizeof problem);
            if (outcome.code != HK_OK)
                hki_array_uncapturable("model_run", problem);
            for (int i = 0; i < self->output_count; hk_array_release(results[i++]))
                if (outcome.code == HK_OK)
                    (hk_assign)(bound[self->input_count + i], results[i]);
                else
                    hki_array_fail_in_place(bound[self->input_count + i], "model_run", NULL, 0,
                                            outcome.code, "%s", problem);
        }
        graph = (hk_capture_end)(NULL);
        for (int i = 0; i < self->output_count; i++)
            self->outputs[i] = hk_take(bound[self->input_count + i]);
        if (!hk_ok(hk_graph_status(graph))) {
            hk_graph_release(graph);
            graph = NULL;
        }
    }
    free(results);
    free(bound);
    return graph;
}

static void run_known(const run *self)
{
    hk_model *model = self->model;
    const bool may_replay = !hk_is_recording() && !hki_capturing;
    hk_graph *graph = NULL;
    hk_model_memo *memo = NULL;
    bool notes = false;
    hki_lock_acquire(&model->lock);
    shaped *it = find(self);
    if (it) {
        it->runs++;
        graph = it->graph && may_replay ? hk_graph_retain(it->graph) : NULL;
        memo = it->memo;
        notes = !it->is_loose && may_replay;
    }
    hki_lock_release(&model->lock);
    if (graph) {
        (hk_replay_anew)(graph, self->inputs, self->input_count, self->outputs);
        for (int i = 0; i < self->output_count; i++)
            hk_take(self->outputs[i]);
        hk_graph_release(graph);
        graph = NULL;
    } else if (notes) {
        graph = run_noted(self, it->shapes, it->dtypes, memo);
    } else {
        run_calls(self, memo);
    }
    if (!it)
        return;
    hki_lock_acquire(&model->lock);
    it->runs--;
    if (notes && !it->graph) {
        it->graph = graph;
        it->is_loose = !graph;
        graph = NULL;
    }
    hki_lock_release(&model->lock);
    hk_graph_release(graph);
}

static bool any_failed(hk_array *const *inputs, int count)
{
    bool any = false;
    for (int i = 0; i < count; i++)
        any = any || inputs[i]->failed;
    return any;
}

void(hk_model_run)(hk_model *model, hk_array *const *inputs, int input_count, hk_array **outputs,
                   int output_count)
{
    run self = {model, inputs, input_count, output_count, outputs, NULL, hki_source_get()};
    if (!check(&self))
        return;
    self.inputs = calloc((size_t)input_count + 1, sizeof(hk_array *));
    if (!self.inputs || any_failed(inputs, input_count)) {
        fail(&self, HK_OUT_OF_MEMORY, "out of host memory"); /* of a failed input the record wins */
        free(self.inputs);
        return;
    }
    atomic_fetch_add(&model->users, 1);
    {
        HK_SCOPE;
        for (int i = 0; i < input_count; i++)
            self.inputs[i] = (hk_contiguous)((hk_to_device)(inputs[i], (hk_device){model->device}));
        run_known(&self);
    }
    for (int i = 0; i < output_count; i++)
        hki_scope_add(outputs[i]);
    free(self.inputs);
    drop(model);
}
