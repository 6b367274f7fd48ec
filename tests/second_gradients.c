/* Gradients of gradients of every operator of the table, in float64: of sum(v * gradient), with respect to the inputs and to
 * what the gradient was begun from, along a random direction, against differences of the gradient. Recording the first
 * pass changes no bit of it, and captured steps do the same.
 *
 *   second_gradients [-v] [-d DEVICE] [OPERATOR …]   only these; -v: says what is tested; -d: not on the default device */
#include "tests/conformance_values.h"
#include "tests/same_bytes.h"

#include "op/op.h"

#include <hocket/hocket.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MAX_POINT = HKI_MAX_INPUTS + HKI_MAX_OUTPUTS };

static struct {
    int passed, failed;
    bool verbose;
    hk_device device;
    char where[128];
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

/* ---- what is differentiated -------------------------------------------------------------------------------- */

/* An array of float64 that the first gradient depends on: an input, or one that an output's gradient begins with. */
typedef struct member {
    hk_dims shape;
    int64_t size;
    bool strided;
    double *values, *direction;
    double *weights; /* of an input: v */
    hk_array *array, *weights_array;
} member;

typedef struct problem {
    const hk_op *op;
    const hki_sample *sample;
    int input_count;
    hk_array *inputs[HKI_MAX_INPUTS];
    int input_member[HKI_MAX_INPUTS]; /* -1: a constant, or none */
    int output_member[HKI_MAX_OUTPUTS];
    member members[MAX_POINT]; /* inputs first */
    int count, x_count;
} problem;

static int64_t size_of(const hk_dims *shape)
{
    int64_t size = 0;
    hki_dims_size(shape, &size);
    return size;
}

static int add_member(problem *self, hk_dims shape, double *values, bool strided)
{
    member *added = &self->members[self->count];
    const int64_t size = size_of(&shape);
    const uint64_t seed = 1000 + (uint64_t)self->count;
    *added = (member){.shape = shape,
                      .size = size,
                      .strided = strided,
                      .values = values,
                      .direction = random_values(size, HK_F64, -1, 1, false, seed),
                      .weights = random_values(size, HK_F64, -1, 1, false, 2 * seed)};
    return self->count++;
}

static void add_input(problem *self, int i)
{
    const hki_sample *sample = self->sample;
    const hk_dtype dtype = sample->own[i].set ? sample->own[i].dtype : HK_F64;
    const bool strided = sample->kind == HKI_SAMPLE_STRIDED;
    self->inputs[i] = NULL;
    self->input_member[i] = -1;
    if (sample->inputs[i].ndim < 0)
        return;
    if (sample->kind == HKI_SAMPLE_ALIASED && i > 0) {
        self->input_member[i] = self->input_member[0];
        self->inputs[i] = self->inputs[0];
        return;
    }
    double *values = sample_values(sample, i, dtype);
    if (dtype == HK_F64 && !(self->op->no_grad_inputs >> i & 1)) {
        self->input_member[i] = add_member(self, sample->inputs[i], values, strided);
        return;
    }
    self->inputs[i] = make_array(values, sample->inputs[i], dtype, test.device, strided);
    free(values);
}

static void problem_deinit(problem *self)
{
    for (int i = 0; i < self->count; i++) {
        free(self->members[i].values);
        free(self->members[i].direction);
        free(self->members[i].weights);
    }
}

/* The arrays at a point that is `step` along the direction of member `moved` away. */
static void make_point(problem *self, int moved, double step)
{
    for (int i = 0; i < self->count; i++) {
        member *it = &self->members[i];
        double *values = allocate((size_t)it->size * sizeof *values);
        for (int64_t j = 0; j < it->size; j++)
            values[j] = it->values[j] + (i == moved ? step * it->direction[j] : 0);
        it->array = make_array(values, it->shape, HK_F64, test.device, it->strided);
        it->weights_array = make_array(it->weights, it->shape, HK_F64, test.device, false);
        hk_attach_grad(it->array, HK_GRAD_TRACK);
        free(values);
    }
    for (int i = 0; i < self->input_count; i++)
        if (self->input_member[i] >= 0)
            self->inputs[i] = self->members[self->input_member[i]].array;
}

/* Which outputs have gradients. Makes members of what these begin with, the first time. */
static void call(problem *self, hk_array **ys, hk_array **dys, int *count)
{
    hk_array *outputs[HKI_MAX_OUTPUTS];
    const int output_count = hki_op_output_count(self->op);
    *count = 0;
    {
        HK_RECORD;
        hki_op_call_all(self->op, self->inputs, self->input_count, self->sample->options,
                        (hk_device){NULL}, outputs, output_count);
    }
    for (int i = 0; i < output_count; i++) {
        if (hk_array_dtype(outputs[i]) != HK_F64)
            continue;
        if (self->output_member[i] < 0) {
            const int64_t size = hk_size(outputs[i]);
            self->output_member[i] =
                add_member(self, hk_dims_get(outputs[i]),
                           random_values(size, HK_F64, -1, 1, false, 500 + (uint64_t)i), false);
            return;
        }
        ys[*count] = outputs[i];
        dys[(*count)++] = self->members[self->output_member[i]].array;
    }
}

static const hk_status *first_gradients(problem *self, bool create_graph, hk_array **gradients)
{
    hk_array *ys[HKI_MAX_OUTPUTS], *dys[HKI_MAX_OUTPUTS], *xs[MAX_POINT];
    int count;
    call(self, ys, dys, &count);
    for (int i = 0; i < self->x_count; i++)
        xs[i] = self->members[i].array;
    return hk_gradients(ys, count, xs, self->x_count,
                        &(hk_gradients_options){.dys = dys, .create_graph = create_graph},
                        gradients);
}

/* ---- comparing ------------------------------------------------------------------------------------------------- */

static double *read(hk_array *x)
{
    double *values = allocate((size_t)hk_size(x) * sizeof *values);
    const hk_status *status = hk_to_host(x, values, (size_t)hk_size(x) * sizeof *values);
    expect(hk_ok(status), "%s", hk_status_message(status));
    return values;
}

static double dot(const double *a, const double *b, int64_t size)
{
    double sum = 0;
    for (int64_t i = 0; i < size; i++)
        sum += a[i] * b[i];
    return sum;
}

/* sum(v * gradient) at a point. */
static double objective(problem *self, int moved, double step)
{
    HK_SCOPE;
    hk_array *gradients[MAX_POINT];
    double sum = 0;
    make_point(self, moved, step);
    first_gradients(self, false, gradients);
    for (int i = 0; i < self->x_count; i++) {
        double *values = read(gradients[i]);
        sum += dot(values, self->members[i].weights, self->members[i].size);
        free(values);
    }
    return sum;
}

/* second: NULL: zeros. */
static void compare(problem *self, int index, hk_array *second)
{
    const member *it = &self->members[index];
    const double step = 1e-6;
    double *values = second ? read(second) : allocate((size_t)it->size * sizeof *values);
    expect(!second || hk_size(second) == it->size, "the second gradient %d has %lld elements",
           index, second ? (long long)hk_size(second) : 0);
    const double slope = dot(values, it->direction, it->size),
                 expected =
                     (objective(self, index, step) - objective(self, index, -step)) / (2 * step);
    expect(fabs(slope - expected) <= 1e-5 * fmax(1, fabs(expected)),
           "the second gradient %d is %.9g along the direction, not %.9g", index, slope, expected);
    free(values);
}

/* ---- all of them ------------------------------------------------------------------------------------------------- */

static void check_recorded(problem *self, hk_array **gradients)
{
    hk_array *plain[MAX_POINT];
    const hk_status *status = first_gradients(self, false, plain);
    expect(hk_ok(status), "%s", hk_status_message(status));
    for (int i = 0; i < self->x_count && hk_ok(status); i++)
        expect(same_bytes(plain[i], gradients[i]),
               "gradient %d has other bytes where it is recorded", i);
}

/* Those that the tape does not know depend on nothing. Returns how many are left. */
static int drop_constants(hk_array **products, int count)
{
    int left = 0;
    for (int i = 0; i < count; i++)
        if (atomic_load(&products[i]->autograd))
            products[left++] = products[i];
    return left;
}

/* The first gradients, and those of them times v; *constant: there are none of the latter. */
static const hk_status *all_gradients(problem *self, hk_array **firsts, hk_array **seconds,
                                      bool *constant)
{
    hk_array *products[MAX_POINT], *xs[MAX_POINT];
    const hk_status *status = first_gradients(self, true, firsts);
    if (!hk_ok(status))
        return status;
    {
        HK_RECORD;
        for (int i = 0; i < self->x_count; i++)
            products[i] = hk_multiply(firsts[i], self->members[i].weights_array);
    }
    for (int i = 0; i < self->count; i++)
        xs[i] = self->members[i].array;
    const int count = drop_constants(products, self->x_count);
    *constant = count == 0;
    return *constant ? hk_wait_all()
                     : hk_gradients(products, count, xs, self->count, NULL, seconds);
}

static void bind(const problem *self, hk_array **bound)
{
    for (int i = 0; i < self->count; i++)
        bound[i] = self->members[i].array;
}

/* Captured at another point; taken: the second gradients. NULL: it could not be. */
static hk_graph *capture(problem *self, bool exact, hk_array **taken)
{
    HK_SCOPE;
    hk_array *bound[MAX_POINT], *firsts[MAX_POINT], *seconds[MAX_POINT];
    bool constant;
    make_point(self, 0, 0.125);
    bind(self, bound);
    hk_capture_begin(bound, self->count);
    {
        HK_SCOPE;
        all_gradients(self, firsts, seconds, &constant);
        for (int i = 0; i < self->count; i++)
            taken[i] = hk_take(seconds[i]);
    }
    return hk_capture_end(&(hk_capture_options){.exact = exact});
}

/* exact: the same bytes. Otherwise sums may be in another order. */
static bool agree(hk_array *a, hk_array *b, bool exact)
{
    if (exact)
        return same_bytes(a, b);
    double *x = read(a), *y = read(b), worst = 0;
    for (int64_t i = 0; i < hk_size(a); i++)
        worst = fmax(worst, fabs(x[i] - y[i]) / fmax(1, fabs(y[i])));
    free(x);
    free(y);
    return worst <= 1e-9;
}

static void check_captured(problem *self, hk_array *const *seconds, bool exact)
{
    HK_SCOPE;
    hk_array *bound[MAX_POINT], *taken[MAX_POINT];
    hk_graph *graph = capture(self, exact, taken);
    const hk_status *status = hk_graph_status(graph);
    expect(hk_ok(status), "%s", hk_status_message(status));
    make_point(self, -1, 0);
    bind(self, bound);
    hk_replay(graph, bound, self->count);
    for (int i = 0; i < self->count; i++) {
        expect(agree(taken[i], seconds[i], exact),
               "second gradient %d of a %s captured step is another", i,
               exact ? "exactly" : "freely");
        hk_array_release(taken[i]);
    }
    hk_graph_release(graph);
}

static void test_problem(problem *self)
{
    HK_SCOPE;
    hk_array *firsts[MAX_POINT], *seconds[MAX_POINT];
    bool constant;
    const hk_status *status = all_gradients(self, firsts, seconds, &constant);
    expect(hk_ok(status), "%s", hk_status_message(status));
    if (!hk_ok(status))
        return;
    check_recorded(self, firsts);
    for (int i = 0; i < self->count; i++)
        compare(self, i, constant ? NULL : seconds[i]);
    for (int exact = 0; exact < 2 && !constant; exact++)
        check_captured(self, seconds, exact);
}

static void test_sample(const hk_op *op, const hki_sample *sample)
{
    HK_SCOPE;
    problem self = {.op = op, .sample = sample, .input_count = hki_op_input_count(op, NULL)};
    snprintf(test.where, sizeof test.where, "%s, sample %d", op->name, (int)(sample - op->samples));
    if (test.verbose)
        printf("%s\n", test.where);
    for (int i = 0; i < self.input_count; i++)
        add_input(&self, i);
    self.x_count = self.count;
    for (int i = 0; i < HKI_MAX_OUTPUTS; i++)
        self.output_member[i] = -1;
    for (int before = -1; self.x_count > 0 && before != self.count;) { /* until no output is new */
        hk_array *ys[HKI_MAX_OUTPUTS], *dys[HKI_MAX_OUTPUTS];
        int count;
        before = self.count;
        make_point(&self, -1, 0);
        call(&self, ys, dys, &count);
    }
    if (self.count > self.x_count)
        test_problem(&self);
    problem_deinit(&self);
    hk_wait_all();
    hk_failures_clear();
}

static void test_operator(const hk_op *op)
{
    if (op->host_only && !hki_device_is_host(test.device.handle))
        return;
    if (!hki_op_has_gradient(op) || op->internal || op->any_device || !op->samples ||
        (op->dtypes && !(op->dtypes >> HK_F64 & 1)))
        return;
    for (int i = 0; i < op->sample_count; i++)
        test_sample(op, &op->samples[i]);
}

int main(int argc, char **argv)
{
    int named = 0;
    test.device = hk_device_default();
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "-v"))
            test.verbose = true;
        else if (!strcmp(argv[i], "-d") && i + 1 < argc)
            test.device = hk_device_named(argv[++i]);
        else if (hki_op_find(argv[i]))
            test_operator(hki_op_find(argv[i])), named++;
    }
    for (int i = 0; !named && i < hki_op_count; i++)
        test_operator(hki_ops[i]);
    printf("second gradients: %d passed, %d failed\n", test.passed, test.failed);
    hk_runtime_deinit();
    return test.failed > 0;
}
