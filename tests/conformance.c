/* Every operator of the table, on every sample of it × dtype × device: results against the operator's own
 * plain reference in double, into new arrays, views and its inputs; gradients against differences of the
 * reference. Results on all devices are the same bytes. Complex numbers here have imaginary parts of 0; complex_test.c has others.
 *
 *   conformance [-v] [OPERATOR …]   only these; -v: says what is tested
 *   conformance [-v] I/N            of N parts of the table the one of number I, from 1 */
#include "tests/conformance_values.h"
#include "tests/same_bytes.h"

#include "op/call/call.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_GRAD_ELEMENTS = 40 };
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

/* ---- one case -------------------------------------------------------------------------------------------- */

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

/* How a library of the device did what it was asked for last, with a blank before; "" where there is none. */
static const char *method_of(hk_device device)
{
    static char text[300];
    const hki_device *its = device.handle;
    text[0] = ' ', text[1] = '\0';
    if (its->class->last_method)
        its->class->last_method(device.handle, text + 1, sizeof text - 1);
    return text[1] ? text : "";
}

/* Winograd's and Fourier's transforms round sums of more terms than there are: in float32 some times as far. */
static double method_factor(hk_device device)
{
    const char *method = method_of(device);
    return strstr(method, "WINOGRAD") || strstr(method, "FFT") ? 8 : 1;
}

static double tolerance_of(const hk_op *op, hk_dtype dtype)
{
    if (dtype == HK_F32 || dtype == HK_C64)
        return op->tolerance_f32;
    if (hki_dtype_is_half(dtype)) /* computed in float32, rounded once: the next number at most */
        return dtype == HK_F16 ? 0x1p-10 : 0x1p-7;
    if (dtype == HK_F64 || dtype == HK_C128)
        return op->tolerance_f64 > 0 ? op->tolerance_f64 : op->tolerance_f32 * 1e-7;
    return 0;
}

static bool is_library_call(const hk_op *op)
{
    return strncmp(op->name, "conv2d", 6) == 0 || strcmp(op->name, "matmul") == 0 ||
           strcmp(op->name, "linear") == 0;
}

static bool is_close(double value, double expected, double tolerance)
{
    if (isnan(expected) || isnan(value) || isinf(expected) || isinf(value))
        return value == expected || (isnan(value) && isnan(expected));
    return fabs(value - expected) <= tolerance * fmax(1, fabs(expected));
}

/* Compares output `index` with what is expected of it. */
static void compare(const test_case *self, int index, hk_array *output, const char *what)
{
    const hk_dims *shape = &self->call.out_shape[index];
    hk_dtype dtype = self->call.out_dtype[index];
    double *values = read_array(output, what);
    if (!values)
        return;
    hk_dims has = hk_dims_get(output);
    bool fits = hki_dims_equal(&has, shape) && hk_array_dtype(output) == dtype;
    expect(fits, "%s has another shape or dtype than inferred", what);
    int64_t wrong = -1;
    const hk_device device = hk_array_device(output);
    const double tolerance =
        tolerance_of(self->op, dtype) * (is_library_call(self->op) ? method_factor(device) : 1);
    for (int64_t i = 0; fits && i < dims_size(shape) && wrong < 0; i++) {
        double expected = as_stored(self->expected[index][i], dtype);
        if (!is_close(values[i], expected, tolerance))
            wrong = i;
    }
    expect(wrong < 0, "%s [%lld] is %.9g, not %.9g (tolerance %.3g%s)", what, (long long)wrong,
           wrong < 0 ? 0 : values[wrong], wrong < 0 ? 0 : self->expected[index][wrong], tolerance,
           is_library_call(self->op) ? method_of(device) : "");
    free(values);
}

/* ---- forward --------------------------------------------------------------------------------------------- */

static void call_all(test_case *self, hk_device device, hk_array **outputs)
{
    hki_op_call_all(self->op, self->inputs, self->input_count, self->sample->options, device,
                    outputs, self->output_count);
}

/* Outputs that are not public may be without a reference. */
static void test_call(test_case *self, hk_device device, hk_array **outputs)
{
    char what[32];
    call_all(self, device, outputs);
    for (int i = 0; i < self->output_count; i++) {
        snprintf(what, sizeof what, "result %d", i);
        if (i < hki_op_output_count(self->op) ||
            (outputs[i] && dims_size(&self->call.out_shape[i]) > 0 &&
             self->expected[i][0] != NOT_WRITTEN))
            compare(self, i, outputs[i], what);
    }
}

/* output: the same call's result. */
static void test_into(test_case *self, hk_array *output, hk_device device)
{
    const hk_dims shape = self->call.out_shape[0];
    const hk_dtype dtype = self->call.out_dtype[0];
    if (self->output_count > 1)
        return;
    hk_array *plain = hk_ones(shape, dtype, device);
    hki_op_call_into(self->op, self->inputs, self->input_count, self->sample->options, plain);
    compare(self, 0, plain, "a new array");

    hk_array *strided = strided_array(shape, dtype, device);
    hki_op_call_into(self->op, self->inputs, self->input_count, self->sample->options, strided);
    compare(self, 0, strided, "a strided view");
    if (self->op->elementwise)
        expect(same_bytes(strided, output), "a strided view has other bytes than the result");

    for (int i = 0; i < self->input_count; i++) {
        hk_array *input = self->inputs[i];
        if (!input || !hki_dims_equal(&input->shape, &shape) || input->dtype != dtype)
            continue;
        hki_op_call_into(self->op, self->inputs, self->input_count, self->sample->options, input);
        compare(self, 0, input, "an input overwritten");
        case_arrays(self, device);
    }
}

/* The output overlaps the first input, but not element for element. */
static void test_overlap(test_case *self, hk_device device)
{
    hk_array *input = self->input_count > 0 ? self->inputs[0] : NULL;
    hk_dims shape = self->call.out_shape[0];
    if (!input || self->output_count > 1 || input->shape.ndim == 0 || hk_size(input) == 0 ||
        !hki_dims_equal(&input->shape, &shape) || input->dtype != self->call.out_dtype[0] ||
        self->sample->kind == HKI_SAMPLE_ALIASED)
        return;
    hk_dims longer = shape;
    longer.dims[0]++;
    hk_array *both = hk_ones(longer, input->dtype, device);
    hk_array *from = hk_slice(both, 0, 0, shape.dims[0]),
             *to = hk_slice(both, 0, 1, longer.dims[0]);
    hk_assign(from, input);
    self->inputs[0] = from;
    hki_op_call_into(self->op, self->inputs, self->input_count, self->sample->options, to);
    compare(self, 0, to, "an array that overlaps the input");
    self->inputs[0] = input;
}

/* ---- gradients --------------------------------------------------------------------------------------------- */

static double weighted(const double *values, const double *weights, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += values[i] * weights[i];
    return sum;
}

/* What gradients are asked of: the sum of weights * result over some of the results. */
typedef struct objective {
    unsigned results;                 /* bit i: result i is one of them */
    double *weights[HKI_MAX_OUTPUTS]; /* NULL: it has none */
    double *outputs[HKI_MAX_OUTPUTS]; /* for the reference */
} objective;

/* The slope of the objective along one value, from the reference; NaN at a kink. */
static double slope(test_case *self, double *value, const objective *of)
{
    const double step = 1e-5, saved = *value;
    double at[3] = {0};
    for (int i = 0; i < 3; i++) {
        *value = saved + (i - 1) * step;
        case_reference(self, of->outputs);
        for (int j = 0; j < self->output_count; j++)
            if (of->results >> j & 1)
                at[i] +=
                    weighted(of->outputs[j], of->weights[j], dims_size(&self->call.out_shape[j]));
    }
    *value = saved;
    double before = (at[1] - at[0]) / step, after = (at[2] - at[1]) / step;
    return fabs(after - before) > 1e-2 * fmax(1, fabs(after)) ? NAN : (before + after) / 2;
}

static void compare_gradient(test_case *self, int index, hk_array *gradient, const objective *of)
{
    double *values = read_array(gradient, "a gradient");
    if (!values)
        return;
    double tolerance = self->dtype == HK_F64 ? 1e-6 : 2e-3;
    int64_t size = hk_size(self->inputs[index]), wrong = -1;
    int64_t stride = size / MAX_GRAD_ELEMENTS + 1;
    double expected = 0;
    expect(hk_size(gradient) == size, "gradient %d has %lld elements", index,
           (long long)hk_size(gradient));
    for (int64_t i = 0; i < size && wrong < 0; i += stride) {
        expected = slope(self, &self->values[index][i], of);
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
    *of = (objective){0};
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
}

/* The weights of result i. */
static hk_array *weights_of(test_case *self, const objective *of, int i, hk_device device)
{
    return make_array(of->weights[i], self->call.out_shape[i], self->call.out_dtype[i], device,
                      false);
}

/* Issues the backward pass of the objective. */
static const hk_status *differentiate(test_case *self, const objective *of, hk_device device)
{
    hk_array *outputs[HKI_MAX_OUTPUTS], *terms[HKI_MAX_OUTPUTS];
    int count = 0;
    HK_RECORD;
    call_all(self, device, outputs);
    if (of->results == 1)
        return hk_backward_from(outputs[0], weights_of(self, of, 0, device));
    for (int i = 0; i < self->output_count; i++)
        if (of->results >> i & 1)
            terms[count++] = hk_multiply(outputs[i], weights_of(self, of, i, device));
    return hk_backward_all(terms, count);
}

static bool is_gpu(hk_device device)
{
    return device.handle->class->kernels == HKI_CUDA;
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

static void test_gradient_of(test_case *self, const objective *of, hk_device device)
{
    case_arrays(self, device);
    for (int i = 0; i < self->input_count; i++) {
        if (wants_gradient(self, i))
            hk_attach_grad(self->inputs[i], HK_GRAD_WRITE);
    }
    const hk_status *status = differentiate(self, of, device);
    expect(hk_ok(status), "backward: %s", hk_status_message(status));
    for (int i = 0; hk_ok(status) && i < self->input_count; i++) {
        if (wants_gradient(self, i) && !gpus_lack_gradient(self, i, device))
            compare_gradient(self, i, hk_grad(self->inputs[i]), of);
    }
}

/* Of every set of results that have gradients. */
static void test_gradient(test_case *self, hk_device device)
{
    unsigned results = 0;
    bool wanted = false;
    objective of;
    for (int i = 0; i < self->input_count; i++)
        wanted |= wants_gradient(self, i);
    for (int i = 0; i < self->output_count; i++)
        results |= has_gradient(self, i) ? 1u << i : 0;
    if (!hki_op_has_gradient(self->op) || self->op->gradient_untested || !wanted || !results)
        return;
    objective_init(self, &of);
    for (of.results = results; of.results; of.results = (of.results - 1) & results)
        test_gradient_of(self, &of, device);
    objective_deinit(self, &of);
}

/* ---- all of them ------------------------------------------------------------------------------------------- */

/* Of a composition, or a call whose inputs are converted, where one of its parts has no kernel. */
static bool gpus_lack_part(test_case *self, hk_device device)
{
    hk_array *output =
        hki_op_call(self->op, self->inputs, self->input_count, self->sample->options, device, NULL);
    const bool lacks = hk_status_code(hk_wait(output)) == HK_UNSUPPORTED;
    hk_wait_all();
    hk_failures_clear();
    return lacks;
}

static bool gpus_lack(test_case *self, hk_device device)
{
    const hk_op *op = self->op;
    hk_dtype lacks;
    if (!is_gpu(device))
        return false;
    if (op->host_only)
        return true;
    return !hki_call_gpus_take(&self->call, &lacks) &&
           (!(op->compose || hki_call_mixes(&self->call)) || gpus_lack_part(self, device));
}

/* Where there is no kernel yet, a call says so. */
static void test_unsupported(test_case *self, hk_device device)
{
    expect(hk_ok(hk_wait_all()), "%s", hk_status_message(hk_wait_all()));
    hk_array *output =
        hki_op_call(self->op, self->inputs, self->input_count, self->sample->options, device, NULL);
    const hk_status *status = hk_wait(output);
    expect(hk_status_code(status) == HK_UNSUPPORTED, "%s, where there is no kernel",
           hk_status_message(status));
    hk_wait_all();
    hk_failures_clear();
}

static void test_sample(const hk_op *op, const hki_sample *sample, hk_dtype dtype)
{
    HK_SCOPE;
    test_case self = {.op = op,
                      .sample = sample,
                      .dtype = dtype,
                      .input_count = hki_op_input_count(op, NULL),
                      .output_count = op->output_count > 1 ? op->output_count : 1};
    /* Of each kind of kernels, the result of the first device that runs them: the others' have the same bytes. */
    hk_array *firsts[HKI_DEVICE_KIND_COUNT][HKI_MAX_OUTPUTS] = {{NULL}};
    bool has_expected = false;
    case_values(&self);
    for (int i = 0; i < hk_device_count(); i++) {
        HK_SCOPE;
        hk_device device = hk_device_at(i);
        hk_array **first = firsts[device.handle->class->kernels], *outputs[HKI_MAX_OUTPUTS];
        snprintf(test.where, sizeof test.where, "%s, sample %d, %s, %s", op->name,
                 (int)(sample - op->samples), hk_dtype_name(dtype), hk_device_name(device));
        if (test.verbose)
            printf("%s\n", test.where);
        /* Copies between devices are from the next one. */
        const hk_device from = op->any_device ? hk_device_at((i + 1) % hk_device_count()) : device;
        if (hki_dtype_is_complex(dtype) && (is_gpu(device) || is_gpu(from)))
            continue;
        case_arrays(&self, from);
        if (!case_infer(&self, device)) {
            expect(dtype != HK_F32 && dtype != HK_F64, "refused: %s", self.call.message);
            skip(self.call.message);
            break;
        }
        if (gpus_lack(&self, device)) {
            test_unsupported(&self, device);
            continue;
        }
        if (!has_expected) {
            case_expect(&self);
            has_expected = true;
        }
        test_call(&self, device, outputs);
        for (int j = 0; j < hki_op_output_count(op); j++) {
            if (!first[j])
                first[j] = hk_array_retain(hk_copy(outputs[j])); /* a view follows its input */
            expect(same_bytes(first[j], outputs[j]), "result %d has other bytes than on %s", j,
                   hk_device_name(hk_array_device(first[j])));
        }
        if (!op->any_device) {
            test_into(&self, outputs[0], device);
            test_overlap(&self, device);
            test_gradient(&self, device);
        }
    }
    for (int kind = 0; kind < HKI_DEVICE_KIND_COUNT; kind++)
        for (int j = 0; j < HKI_MAX_OUTPUTS; j++)
            hk_array_release(firsts[kind][j]);
    case_free(&self);
}

static void test_operator(const hk_op *op)
{
    snprintf(test.where, sizeof test.where, "%s", op->name);
    if (!op->reference || op->untested) {
        skip(op->untested ? op->untested : "no reference, and no reason for it");
        return;
    }
    expect(op->sample_count > 0, "no samples");
    expect(hki_op_has_gradient(op) || op->no_grad_why, "no gradient, and no reason for it");
    for (int i = 0; i < op->sample_count; i++) {
        const hki_sample *sample = &op->samples[i];
        unsigned dtypes = sample->own[0].set || !op->dtypes ? HKI_ALL_DTYPES : hki_op_dtypes(op);
        if (hki_op_input_count(op, NULL) == 0)
            dtypes = 1u << HK_F32;
        for (int dtype = 0; dtype < HK_DTYPE_COUNT; dtype++) {
            if (dtypes >> dtype & 1)
                test_sample(op, sample, (hk_dtype)dtype);
        }
    }
}

/* Whether text is I/N: every operator of that part is tested. */
static bool test_part(const char *text)
{
    int part, parts, length = 0;
    if (sscanf(text, "%d/%d%n", &part, &parts, &length) != 2 || text[length] || part < 1 ||
        part > parts)
        return false;
    for (int i = part - 1; i < hki_op_count; i += parts)
        test_operator(hki_ops[i]);
    return true;
}

int main(int argc, char **argv)
{
    const hk_status *status = hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2});
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    int named = 0;
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "-v") == 0) {
            test.verbose = true;
            continue;
        }
        named++;
        if (test_part(argv[i]))
            continue;
        const hk_op *op = hki_op_find(argv[i]);
        if (op)
            test_operator(op);
        else
            printf("no operator is called %s\n", argv[i]);
        test.failed += op == NULL;
    }
    for (int i = 0; named == 0 && i < hki_op_count; i++)
        test_operator(hki_ops[i]);
    snprintf(test.where, sizeof test.where, "all");
    status = hk_wait_all();
    expect(hk_ok(status), "%s", hk_status_message(status));
    printf("conformance: %d operators; %d passed, %d failed, %d skipped\n", hki_op_count,
           test.passed, test.failed, test.skipped);
    hk_runtime_deinit();
    return test.failed > 0;
}
