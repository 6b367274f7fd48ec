/* Gradients in conformance: against differences of the plain reference. */
#ifndef HOCKET_TESTS_CONFORMANCE_GRADIENTS_H
#define HOCKET_TESTS_CONFORMANCE_GRADIENTS_H

#include "tests/conformance_case.h"

enum { MAX_GRAD_ELEMENTS = 40 };
static const double STEP = 1e-5;

/* Weighted sums of each result, where one value is a step less, as it is, and a step more. */
typedef struct sums_near {
    double at[3][HKI_MAX_OUTPUTS];
} sums_near;

static double weighted(const double *values, const double *weights, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += values[i] * weights[i];
    return sum;
}

/* What gradients are asked of: the sum of weights * result over some of the results. What the reference says of it is the same on
 * every device, and of every set of results: it is computed once. */
typedef struct objective {
    bool is_set;
    double *weights[HKI_MAX_OUTPUTS]; /* NULL: result i has none */
    double *outputs[HKI_MAX_OUTPUTS]; /* for the reference */
    sums_near *near[HKI_MAX_INPUTS];  /* of each value that is compared; NULL: not computed yet */
} objective;

static int64_t compared_stride(int64_t size)
{
    return size / MAX_GRAD_ELEMENTS + 1;
}

static void sum_near(test_case *self, const objective *of, double *value, sums_near *near)
{
    const double saved = *value;
    for (int i = 0; i < 3; i++) {
        *value = saved + (i - 1) * STEP;
        case_reference(self, of->outputs);
        for (int j = 0; j < self->output_count; j++)
            if (of->weights[j])
                near->at[i][j] =
                    weighted(of->outputs[j], of->weights[j], dims_size(&self->call.out_shape[j]));
    }
    *value = saved;
}

static const sums_near *sums_of_input(test_case *self, objective *of, int index)
{
    const int64_t size = hk_size(self->inputs[index]), stride = compared_stride(size);
    if (!of->near[index]) {
        of->near[index] = allocate((size_t)(size / stride + 1) * sizeof *of->near[index]);
        for (int64_t i = 0; i < size; i += stride)
            sum_near(self, of, &self->values[index][i], &of->near[index][i / stride]);
    }
    return of->near[index];
}

/* The slope of the sum over these results (bit i: result i is one) along one value; NaN at a kink. */
static double slope(const sums_near *near, unsigned results)
{
    double at[3] = {0};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < HKI_MAX_OUTPUTS; j++)
            if (results >> j & 1)
                at[i] += near->at[i][j];
    double before = (at[1] - at[0]) / STEP, after = (at[2] - at[1]) / STEP;
    return fabs(after - before) > 1e-2 * fmax(1, fabs(after)) ? NAN : (before + after) / 2;
}

static void compare_gradient(test_case *self, int index, hk_array *gradient, objective *of,
                             unsigned results)
{
    double *values = read_array(gradient, "a gradient");
    if (!values)
        return;
    double tolerance = self->dtype == HK_F64 ? 1e-6 : 2e-3;
    int64_t size = hk_size(self->inputs[index]), wrong = -1;
    const int64_t stride = compared_stride(size);
    const sums_near *near = sums_of_input(self, of, index);
    double expected = 0;
    expect(hk_size(gradient) == size, "gradient %d has %lld elements", index,
           (long long)hk_size(gradient));
    for (int64_t i = 0; i < size && wrong < 0; i += stride) {
        expected = slope(&near[i / stride], results);
        if (!isnan(expected) && !is_close(values[i], expected, tolerance))
            wrong = i;
    }
    expect(wrong < 0, "gradient %d [%lld] is %.9g, not %.9g", index, (long long)wrong,
           wrong < 0 ? 0 : values[wrong], expected);
    free(values);
}

static bool wants_gradient(const test_case *self, int index)
{
    return self->values[index] && !(self->op->no_grad_inputs >> index & 1) &&
           (self->dtypes[index] == HK_F64 || self->dtypes[index] == HK_F32);
}

static bool has_gradient(const test_case *self, int output)
{
    const hk_dtype dtype = self->call.out_dtype[output];
    return output < hki_op_output_count(self->op) && (dtype == HK_F64 || dtype == HK_F32);
}

static void objective_init(test_case *self, objective *of)
{
    *of = (objective){.is_set = true};
    for (int i = 0; i < self->output_count; i++) {
        int64_t size = dims_size(&self->call.out_shape[i]);
        of->outputs[i] = allocate((size_t)size * sizeof(double));
        if (has_gradient(self, i))
            of->weights[i] =
                random_values(size, self->call.out_dtype[i], -1, 1, false, 99 + (uint64_t)i);
    }
}

static void objective_deinit(test_case *self, objective *of)
{
    for (int i = 0; i < self->output_count; i++) {
        free(of->outputs[i]);
        free(of->weights[i]);
    }
    for (int i = 0; i < self->input_count; i++)
        free(of->near[i]);
}

/* The weights of result i. */
static hk_array *weights_of(test_case *self, const objective *of, int i, hk_device device)
{
    return make_array(of->weights[i], self->call.out_shape[i], self->call.out_dtype[i], device,
                      false);
}

/* Issues the backward pass of the objective. */
static const hk_status *differentiate(test_case *self, const objective *of, unsigned results,
                                      hk_device device)
{
    hk_array *outputs[HKI_MAX_OUTPUTS], *terms[HKI_MAX_OUTPUTS];
    int count = 0;
    HK_RECORD;
    call_all(self, device, outputs);
    if (results == 1)
        return hk_backward_from(outputs[0], weights_of(self, of, 0, device));
    for (int i = 0; i < self->output_count; i++)
        if (results >> i & 1)
            terms[count++] = hk_multiply(outputs[i], weights_of(self, of, i, device));
    return hk_backward_all(terms, count);
}

/* Gradients of gradients may have no kernel for GPUs yet; such a one says so. */
static bool gpus_lack_gradient(const test_case *self, int index, hk_device device)
{
    if (!self->op->internal || !is_gpu(device) ||
        hk_status_code(hk_wait(hk_grad(self->inputs[index]))) != HK_UNSUPPORTED)
        return false;
    hk_wait_all();
    hk_failures_clear();
    return true;
}

static void test_gradient_of(test_case *self, objective *of, unsigned results, hk_device device)
{
    case_arrays(self, device);
    for (int i = 0; i < self->input_count; i++) {
        if (wants_gradient(self, i))
            hk_attach_grad(self->inputs[i], HK_GRAD_WRITE);
    }
    const hk_status *status = differentiate(self, of, results, device);
    expect(hk_ok(status), "backward: %s", hk_status_message(status));
    for (int i = 0; hk_ok(status) && i < self->input_count; i++) {
        if (wants_gradient(self, i) && !gpus_lack_gradient(self, i, device))
            compare_gradient(self, i, hk_grad(self->inputs[i]), of, results);
    }
}

/* Of every set of results that have gradients. *of: {0} on the first device, for objective_deinit after the last one. */
static void test_gradient(test_case *self, objective *of, hk_device device)
{
    unsigned results = 0;
    bool wanted = false;
    for (int i = 0; i < self->input_count; i++)
        wanted |= wants_gradient(self, i);
    for (int i = 0; i < self->output_count; i++)
        results |= has_gradient(self, i) ? 1u << i : 0;
    if (!hki_op_has_gradient(self->op) || self->op->gradient_untested || !wanted || !results)
        return;
    if (!of->is_set)
        objective_init(self, of);
    for (unsigned some = results; some; some = (some - 1) & results)
        test_gradient_of(self, of, some, device);
}

#endif
