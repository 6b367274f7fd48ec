/* Every operator of the table, on every sample of it × dtype × device: results against the operator's own
 * plain reference in double, into new arrays, views and its inputs; gradients against differences of the
 * reference. Results on all devices are the same bytes. Complex numbers here have imaginary parts of 0; complex_test.c has others.
 *
 *   conformance [-v] [OPERATOR …]   only these; -v: says what is tested
 *   conformance [-v] I/N            of N parts of the table the one of number I, from 1 */
#include "tests/conformance_case.h"
#include "tests/conformance_gradients.h"
#include "tests/same_bytes.h"

/* ---- comparing ------------------------------------------------------------------------------------------- */

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
    objective of = {0};
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
            test_gradient(&self, &of, device);
        }
    }
    for (int kind = 0; kind < HKI_DEVICE_KIND_COUNT; kind++)
        for (int j = 0; j < HKI_MAX_OUTPUTS; j++)
            hk_array_release(firsts[kind][j]);
    objective_deinit(&self, &of);
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
