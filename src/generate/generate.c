/* Generation: a step reads the tokens of the one before, and samples those that follow. All that it
 * reads and writes stays in its place, so that one captured step does for all that come. */
#include "array/array.h"
#include "base/source.h"
#include "op/call/capture.h"

#include <hocket/generate.h>
#include <hocket/hocket.h>

#include <inttypes.h>
#include <stdlib.h>

/* A copy of the network, and the rows that are its. */
typedef struct lane {
    hk_module *net;
    hk_cache *cache;
    hk_device device;
    int64_t first, rows;
    bool trained;
} lane;

typedef struct generation {
    lane *lanes;
    int lane_count;
    hk_array *prompts, *lengths; /* lengths: NULL: all are whole */
    hk_array *token;             /* int64 (rows, 1): the latest; counted */
    hk_array *out;               /* int64 (rows, most); counted */
    hk_device device;            /* of these */
    int64_t rows, steps;
    const hk_generate_options *options;
    hk_sample_options sample;
    int64_t *host; /* a step's tokens; NULL: nobody asks */
} generation;

static const char operation[] = "generate";

static hk_array *refuse(hk_array *prompts, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
static hk_array *refuse(hk_array *prompts, hk_code code, const char *format, ...)
{
    char text[256];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return hki_array_create_failed(NULL, operation, &prompts, 1, code, "%s", text);
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Of the rows of a lane, on its device; x (rows, …). */
static hk_array *rows_of(const lane *its, hk_array *x)
{
    return (hk_to_device)((hk_slice)(x, 0, its->first, its->first + its->rows), its->device);
}

/* x (r, t, classes) at the last token of each row: (r, classes). */
static hk_array *last_of(hk_array *x, hk_array *lengths)
{
    const int64_t rows = hk_dim(x, 0), count = hk_dim(x, 1), classes = hk_dim(x, 2);
    if (!lengths)
        return (hk_reshape)((hk_slice)(x, 1, count - 1, count), hk_shape(rows, classes));
    hk_array *ends = (hk_arange)(0, (double)rows, 1, HK_I64, hk_array_device(x));
    ends = (hk_multiply)(ends, (hk_full_like)(ends, (double)count));
    ends = (hk_add)(ends, (hk_cast)(lengths, HK_I64));
    ends = (hk_subtract)(ends, (hk_full_like)(ends, 1));
    return (hk_index_select)((hk_reshape)(x, hk_shape(rows * count, classes)), ends, 0);
}

/* Reads tokens (rows, t), and makes `token` what follows. */
static void step(const generation *self, hk_array *tokens, hk_array *lengths)
{
    HK_SCOPE;
    hk_array **logits = calloc((size_t)self->lane_count + 1, sizeof *logits);
    if (!logits) {
        hki_array_fail_in_place(self->token, operation, NULL, 0, HK_OUT_OF_MEMORY, "%s",
                                "out of host memory");
        return;
    }
    for (int i = 0; i < self->lane_count; i++) {
        const lane *its = &self->lanes[i];
        hk_array *ends = lengths ? rows_of(its, lengths) : NULL;
        hk_array *x = (hk_forward_cached)(its->net, rows_of(its, tokens), its->cache, ends);
        if (!x->failed && x->shape.ndim != 3)
            x = refuse(x, HK_INVALID_ARGUMENT,
                       "the network gives %d axes, but must give (rows, positions, classes)",
                       x->shape.ndim);
        logits[i] = (hk_to_device)(x->failed ? x : last_of(x, ends), self->device);
    }
    hk_array *all = self->lane_count > 1 ? (hk_concat)(logits, self->lane_count, 0) : logits[0];
    hk_array *sampled = (hk_sample)(all, &self->sample);
    (hk_assign)(self->token,
                sampled->failed ? sampled : (hk_reshape)(sampled, hk_shape(self->rows, 1)));
    free(logits);
}

/* Keeps the latest tokens; false: no more are wanted. */
static bool keep(const generation *self, int64_t at)
{
    {
        HK_SCOPE;
        (hk_assign)((hk_slice)(self->out, 1, at, at + 1), self->token);
    }
    if (!self->options->each)
        return true;
    return hk_ok(hk_to_host(self->token, self->host, (size_t)self->rows * sizeof *self->host)) &&
           self->options->each(self->options->of, self->host, self->rows);
}

/* Notes the second step, which is as all that follow. NULL: it cannot be replayed. */
static hk_graph *noted_step(const generation *self)
{
    if (hki_capturing || self->steps < 3) {
        step(self, self->token, NULL);
        return NULL;
    }
    hk_capture_begin(NULL, 0);
    step(self, self->token, NULL);
    hk_graph *graph = (hk_capture_end)(NULL);
    if (hk_ok(hk_graph_status(graph)))
        return graph;
    hk_graph_release(graph);
    return NULL;
}

static void run(const generation *self)
{
    hk_graph *graph = NULL;
    int64_t at = 0;
    step(self, self->prompts, self->lengths);
    bool goes_on = keep(self, at++);
    for (; at < self->steps && goes_on; at++) {
        if (at == 1)
            graph = noted_step(self);
        else if (graph)
            (hk_replay)(graph, NULL, 0);
        else
            step(self, self->token, NULL);
        goes_on = keep(self, at);
    }
    hk_graph_release(graph);
}

/* ---- beginning and ending -------------------------------------------------------------------- */

/* NULL, or why not. */
static hk_array *check(hk_module *const *nets, int count, hk_array *prompts,
                       const hk_generate_options *options)
{
    if (!prompts || prompts->failed || prompts->shape.ndim != 2 ||
        !hki_dtype_is_integer(prompts->dtype) || !prompts->shape.dims[0] || !prompts->shape.dims[1])
        return refuse(prompts, HK_INVALID_ARGUMENT,
                      "prompts must be integers (rows, positions), of one row and position at "
                      "least");
    if (!options || options->most_tokens < 1)
        return refuse(prompts, HK_INVALID_ARGUMENT,
                      "most_tokens is %" PRId64 ", but must be at least 1",
                      options ? options->most_tokens : 0);
    if (count < 1 || !nets)
        return refuse(prompts, HK_INVALID_ARGUMENT, "there are %d networks, but must be 1 at least",
                      count);
    for (int i = 0; i < count; i++)
        if (!hk_ok(hk_module_status(nets[i])))
            return refuse(prompts, hk_status_code(hk_module_status(nets[i])), "%s",
                          hk_status_message(hk_module_status(nets[i])));
    return NULL;
}

static void set_lanes(generation *self, hk_module *const *nets, const hk_device *devices, int count)
{
    int64_t first = 0;
    for (int i = 0; i < count; i++) {
        const int64_t rows = self->rows / count + (i < self->rows % count);
        if (!rows)
            continue;
        self->lanes[self->lane_count++] =
            (lane){.net = nets[i],
                   .cache = hk_cache_create(self->prompts->shape.dims[1] + self->steps - 1),
                   .device = devices ? devices[i] : self->device,
                   .first = first,
                   .rows = rows,
                   .trained = hk_module_is_training(nets[i])};
        first += rows;
    }
    for (int i = 0; i < self->lane_count; i++)
        hk_module_set_training(self->lanes[i].net, false);
}

hk_array *(hk_generate_over)(hk_module *const *nets, const hk_device *devices, int count,
                             hk_array *prompts, hk_array *lengths,
                             const hk_generate_options *options)
{
    HKI_TAKE_OPTIONS(hk_generate_options, options);
    hk_array *refused = check(nets, count, prompts, options);
    if (refused)
        return refused;
    generation self = {.prompts = prompts,
                       .lengths = lengths,
                       .device = hk_array_device(prompts),
                       .rows = prompts->shape.dims[0],
                       .steps = options->most_tokens,
                       .options = options,
                       .sample = {.temperature = options->temperature,
                                  .top_k = options->top_k,
                                  .top_p = options->top_p,
                                  .generator = options->generator}};
    self.lanes = calloc((size_t)count, sizeof *self.lanes);
    self.host = malloc((size_t)self.rows * sizeof *self.host);
    if (self.lanes && self.host) {
        HK_SCOPE;
        HK_PAUSE;
        self.out = hk_take((hk_full)(hk_shape(self.rows, self.steps), -1, HK_I64, self.device));
        self.token = hk_take((hk_zeros)(hk_shape(self.rows, 1), HK_I64, self.device));
        set_lanes(&self, nets, devices, count);
        run(&self);
        hk_array_release(self.token);
    }
    for (int i = 0; i < self.lane_count; i++) {
        hk_cache_release(self.lanes[i].cache);
        hk_module_set_training(self.lanes[i].net, self.lanes[i].trained);
    }
    free(self.lanes);
    free(self.host);
    if (!self.out)
        return refuse(prompts, HK_OUT_OF_MEMORY, "out of host memory");
    hki_scope_add(self.out);
    return self.out;
}

hk_array *(hk_generate)(hk_module *net, hk_array *prompts, hk_array *lengths,
                        const hk_generate_options *options)
{
    return (hk_generate_over)(&net, NULL, 1, prompts, lengths, options);
}
