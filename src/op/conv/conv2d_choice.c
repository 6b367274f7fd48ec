/* Which way of convolving a call takes, where that was measured: each candidate on one core, as a piece of the call. */
#include "base/kernel_isa.h"
#include "op/call/choice.h"
#include "op/conv/conv2d.h"
#include "op/conv/conv2d_columns.h"
#include "op/conv/conv2d_plan.h"
#include "op/conv/conv2d_pointwise.h"

#include <stdlib.h>
#include <string.h>

enum { MEASURED_SAMPLES = 32, ROUNDS = 3, GEOMETRY_NUMBERS = 13 };
static const double margin = 0.97; /* another than the rule's must be so much faster */

static const char *const words[] = {"rule",          "lanes",     "direct",  "winograd",
                                    "winograd_wide", "pointwise", "columns", NULL};
static const char *const passes[] = {"forward", "data", "weight"};
static const char *const isas[] = {"portable", "avx2", "avx512"};

/* ---- keys ----------------------------------------------------------------------------------------------------- */

static void key_name(char *name, size_t bytes, hki_conv2d_pass pass, bool f64)
{
    snprintf(name, bytes, "conv2d.%s.%s.%s", passes[pass], f64 ? "f64" : "f32",
             isas[hki_kernel_isa_get()]);
}

static const char *measure(const hki_choice_key *key);

hki_conv2d_method hki_conv2d_choose(const hki_call *call, const hki_conv2d_geometry *g,
                                    hki_conv2d_pass pass, bool f64)
{
    if (!hki_choice_is_asked(call) || g->samples == 0)
        return HKI_CONV2D_BY_RULE;
    hki_choice_key key = {.count = GEOMETRY_NUMBERS,
                          .numbers = {g->samples, g->in_channels, g->in_height, g->in_width,
                                      g->out_channels, g->kernel_height, g->kernel_width,
                                      g->stride_height, g->stride_width, g->pad_height,
                                      g->pad_width, g->dilation_height, g->dilation_width}};
    key_name(key.name, sizeof key.name, pass, f64);
    return (hki_conv2d_method)hki_choice_find(call, &key, words, measure);
}

/* ---- measuring ------------------------------------------------------------------------------------------------ */

typedef struct candidate {
    hki_conv2d_geometry geometry; /* with the method */
    hki_conv2d_pass pass;
    bool f64;
    int64_t samples; /* of the piece */
    void *x, *weight, *y, *scratch;
} candidate;

static hki_conv2d_geometry geometry_from(const int64_t *numbers)
{
    return hki_conv2d_forward_geometry(
        numbers, (const int64_t[]){numbers[4], numbers[1], numbers[5], numbers[6]},
        &(const hki_conv2d_options){.stride = {numbers[7], numbers[8]},
                                    .padding = {numbers[9], numbers[10]},
                                    .dilation = {numbers[11], numbers[12]}});
}

/* Whether the pass would take the geometry's method. */
static bool is_possible(const hki_conv2d_geometry *g, hki_conv2d_pass pass, bool f64)
{
    hki_conv2d_plan plan;
    if (g->method == HKI_CONV2D_COLUMNS)
        return pass == HKI_CONV2D_FORWARD && hki_conv2d_columns_fit(g, f64);
    if (g->method == HKI_CONV2D_POINTWISE)
        return hki_conv2d_pointwise_fits(g);
    hki_conv2d_plan_init(&plan, g, pass, hki_conv2d_shape_get(f64));
    if (plan.winograd) /* of the tiles that were asked for, not of those by rule */
        return g->method == (plan.tile_n == 6 ? HKI_CONV2D_WINOGRAD_WIDE : HKI_CONV2D_WINOGRAD);
    return g->method == (plan.direct ? HKI_CONV2D_DIRECT : HKI_CONV2D_LANES);
}

static size_t scratch_bytes(const candidate *self)
{
    const hki_conv2d_geometry *g = &self->geometry;
    if (g->method == HKI_CONV2D_COLUMNS)
        return hki_conv2d_columns_scratch_bytes(g, self->f64, hki_conv2d_columns_units(g));
    return self->pass == HKI_CONV2D_FORWARD ? hki_conv2d_forward_scratch_bytes(g, self->f64)
           : self->pass == HKI_CONV2D_BACKWARD_DATA
               ? hki_conv2d_backward_data_scratch_bytes(g, self->f64)
               : hki_conv2d_backward_weight_scratch_bytes(g, self->f64);
}

/* One run of the candidate for elements of T. */
#define RUN(T, DT)                                                                                 \
    static void run_##DT(void *argument)                                                           \
    {                                                                                              \
        const candidate *self = argument;                                                          \
        const hki_conv2d_geometry *g = &self->geometry;                                            \
        T *x = self->x, *weight = self->weight, *y = self->y;                                      \
        if (g->method == HKI_CONV2D_COLUMNS)                                                       \
            hki_conv2d_columns(g, self->f64, x, weight, NULL, y, 0,                                \
                               hki_conv2d_columns_units(g) / g->samples * self->samples,           \
                               self->scratch);                                                     \
        else if (self->pass == HKI_CONV2D_FORWARD)                                                 \
            hki_conv2d_forward_##DT(g, x, weight, NULL, y, 0, self->samples, self->scratch);       \
        else if (self->pass == HKI_CONV2D_BACKWARD_DATA)                                           \
            hki_conv2d_backward_data_##DT(g, y, weight, x, 0, self->samples, self->scratch);       \
        else                                                                                       \
            hki_conv2d_backward_weight_##DT(g, x, y, weight, NULL, 0, self->samples,               \
                                            self->scratch);                                        \
    }

RUN(float, f32)
RUN(double, f64)

/* 64-byte aligned, of small numbers; NULL: no memory. */
static void *numbers_create(int64_t count, bool f64)
{
    size_t bytes = (size_t)count * (f64 ? 8 : 4);
    char *data = aligned_alloc(64, (bytes + 127) / 64 * 64);
    for (int64_t i = 0; data && i < count; i++) {
        double value = (double)(i * 7919 % 1009) / 1009 - 0.5;
        if (f64)
            ((double *)(void *)data)[i] = value;
        else
            ((float *)(void *)data)[i] = (float)value;
    }
    return data;
}

static bool fits(double bytes)
{
    return bytes < (double)((int64_t)1 << 31);
}

/* The least time of each method, in turn; 0: it cannot be taken. */
static void measure_all(candidate *self, double ns[HKI_CONV2D_METHOD_COUNT])
{
    for (int round = 0; round < ROUNDS; round++) {
        for (int method = HKI_CONV2D_LANES; method < HKI_CONV2D_METHOD_COUNT; method++) {
            self->geometry.method = (hki_conv2d_method)method;
            if (!is_possible(&self->geometry, self->pass, self->f64))
                continue;
            size_t bytes = (scratch_bytes(self) + 64) / 64 * 64;
            self->scratch = aligned_alloc(64, bytes);
            if (!self->scratch)
                continue;
            double took = hki_choice_time(self->f64 ? run_f64 : run_f32, self);
            if (!round || took < ns[method])
                ns[method] = took;
            free(self->scratch);
        }
    }
}

/* What the rules would take. */
static hki_conv2d_method method_by_rule(candidate *self)
{
    self->geometry.method = HKI_CONV2D_BY_RULE;
    if (self->pass == HKI_CONV2D_FORWARD && hki_conv2d_columns_fit(&self->geometry, self->f64))
        return HKI_CONV2D_COLUMNS;
    if (hki_conv2d_pointwise_fits(&self->geometry))
        return HKI_CONV2D_POINTWISE;
    hki_conv2d_plan plan;
    hki_conv2d_plan_init(&plan, &self->geometry, self->pass, hki_conv2d_shape_get(self->f64));
    if (plan.winograd)
        return plan.tile_n == 6 ? HKI_CONV2D_WINOGRAD_WIDE : HKI_CONV2D_WINOGRAD;
    return plan.direct ? HKI_CONV2D_DIRECT : HKI_CONV2D_LANES;
}

static const char *measure(const hki_choice_key *key)
{
    double ns[HKI_CONV2D_METHOD_COUNT] = {0};
    candidate self = {.geometry = geometry_from(key->numbers), .f64 = strstr(key->name, ".f64")};
    const hki_conv2d_geometry *g = &self.geometry;
    while (strncmp(key->name + strlen("conv2d."), passes[self.pass], strlen(passes[self.pass])))
        self.pass++;
    self.samples = g->samples < MEASURED_SAMPLES ? g->samples : MEASURED_SAMPLES;
    int64_t x = self.samples * g->in_channels * g->in_height * g->in_width;
    int64_t y = self.samples * g->out_channels * g->out_height * g->out_width;
    int64_t weight = g->out_channels * g->in_channels * g->kernel_height * g->kernel_width;
    if (!fits(8.0 * (double)(x + y + weight)))
        return NULL;
    self.x = numbers_create(x, self.f64);
    self.y = numbers_create(y, self.f64);
    self.weight = numbers_create(weight, self.f64);
    if (self.x && self.y && self.weight)
        measure_all(&self, ns);
    free(self.x);
    free(self.y);
    free(self.weight);
    hki_conv2d_method best = method_by_rule(&self);
    double least = ns[best] * margin;
    if (!(least > 0))
        return NULL;
    for (int method = HKI_CONV2D_LANES; method < HKI_CONV2D_METHOD_COUNT; method++) {
        if (ns[method] > 0 && ns[method] < least) {
            best = (hki_conv2d_method)method;
            least = ns[method];
        }
    }
    return words[best];
}
