/* One case of conformance: an operator on a sample of it, of a dtype; its inputs, results by the plain reference, and what
 * was found. */
#ifndef HOCKET_TESTS_CONFORMANCE_CASE_H
#define HOCKET_TESTS_CONFORMANCE_CASE_H

#include "tests/conformance_values.h"

#include "op/call/call.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double NOT_WRITTEN = -1.25e300;

static struct {
    int passed, failed, skipped;
    bool verbose;
    char where[256]; /* what is being tested */
} test;

static HK_PRINTF(2, 3) void expect(bool holds, const char *format, ...)
{
    if (holds) {
        test.passed++;
        return;
    }
    va_list args;
    va_start(args, format);
    printf("FAILED %s: ", test.where);
    vprintf(format, args);
    printf("\n");
    va_end(args);
    test.failed++;
}

static void skip(const char *why)
{
    printf("skipped %s: %s\n", test.where, why);
    test.skipped++;
}

/* The elements as doubles; NULL after a complaint when x has failed. */
static double *read_array(hk_array *x, const char *what)
{
    size_t size = (size_t)hk_size(x), bytes = hk_dtype_bytes(hk_array_dtype(x));
    char *data = allocate(size * bytes);
    double *values = allocate(size * sizeof *values);
    const hk_status *status = hk_to_host(x, data, size * bytes);
    for (size_t i = 0; i < size; i++)
        values[i] = hki_dtype_load(hk_array_dtype(x), data + i * bytes);
    free(data);
    if (hk_ok(status))
        return values;
    expect(false, "%s failed: %s", what, hk_status_message(status));
    free(values);
    return NULL;
}

typedef struct test_case {
    const hk_op *op;
    const hki_sample *sample;
    hk_dtype dtype; /* of inputs that have none of their own */
    int input_count;
    double *values[HKI_MAX_INPUTS]; /* NULL: left out; the same for aliased inputs */
    hk_dtype dtypes[HKI_MAX_INPUTS];
    hk_array *inputs[HKI_MAX_INPUTS];
    hki_call call;
    double *expected[HKI_MAX_OUTPUTS];
    int output_count;
} test_case;

static int64_t dims_size(const hk_dims *shape)
{
    int64_t size = 0;
    hki_dims_size(shape, &size);
    return size;
}

static void case_values(test_case *self)
{
    const hki_sample *sample = self->sample;
    for (int i = 0; i < self->input_count; i++) {
        const hki_sample_input *own = &sample->own[i];
        self->values[i] = NULL;
        self->dtypes[i] = own->set ? own->dtype : self->dtype;
        if (i == 2 && hki_dtype_is_half(self->dtype)) /* what is added to a product */
            self->dtypes[i] = HK_F32;
        if (sample->inputs[i].ndim < 0)
            continue;
        if (sample->kind == HKI_SAMPLE_ALIASED && i > 0) {
            self->values[i] = self->values[0];
            continue;
        }
        self->values[i] = sample_values(sample, i, self->dtypes[i]);
    }
}

static void case_free(test_case *self)
{
    for (int i = 0; i < self->input_count; i++) {
        if (i == 0 || self->values[i] != self->values[0])
            free(self->values[i]);
    }
    for (int i = 0; i < self->output_count; i++)
        free(self->expected[i]);
}

static void case_arrays(test_case *self, hk_device device)
{
    const hki_sample *sample = self->sample;
    for (int i = 0; i < self->input_count; i++) {
        if (!self->values[i])
            self->inputs[i] = NULL;
        else if (i > 0 && self->values[i] == self->values[0])
            self->inputs[i] = self->inputs[0];
        else
            self->inputs[i] = make_array(self->values[i], sample->inputs[i], self->dtypes[i],
                                         device, sample->kind == HKI_SAMPLE_STRIDED);
    }
}

/* Infers; false when the operator refuses inputs of this dtype. */
static bool case_infer(test_case *self, hk_device device)
{
    static const char zeros[HKI_MAX_OPTIONS_BYTES];
    const void *options = self->sample->options;
    self->call = (hki_call){.op = self->op,
                            .device = device.handle,
                            .options = options                   ? options
                                       : self->op->options_bytes ? zeros
                                                                 : NULL};
    hki_call_set_inputs(&self->call, self->inputs, self->input_count);
    self->call.op = hki_op_for(self->op, self->inputs, self->input_count);
    const bool ok = self->call.op->infer(&self->call);
    self->call.op = self->op;
    return ok;
}

static void case_reference(test_case *self, double *const *out)
{
    self->op->reference(&self->call, (const double *const *)self->values, out);
}

static void case_expect(test_case *self)
{
    for (int i = 0; i < self->output_count; i++) {
        int64_t size = dims_size(&self->call.out_shape[i]);
        self->expected[i] = allocate((size_t)size * sizeof(double));
        for (int64_t j = 0; j < size; j++)
            self->expected[i][j] = NOT_WRITTEN;
    }
    case_reference(self, self->expected);
}

static bool is_close(double value, double expected, double tolerance)
{
    if (isnan(expected) || isnan(value) || isinf(expected) || isinf(value))
        return value == expected || (isnan(value) && isnan(expected));
    return fabs(value - expected) <= tolerance * fmax(1, fabs(expected));
}

static void call_all(test_case *self, hk_device device, hk_array **outputs)
{
    hki_op_call_all(self->op, self->inputs, self->input_count, self->sample->options, device,
                    outputs, self->output_count);
}

static bool is_gpu(hk_device device)
{
    return device.handle->class->kernels == HKI_CUDA;
}

#endif
