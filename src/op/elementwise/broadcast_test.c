/* Elementwise calls on operands of any layout, broadcast to any shape, new and in place, against their elements one by one. */
#include "tests/check.h"

#include "array/array.h"
#include "op/op.h"
#include "op/operator_fixture.h"

#include <math.h>

enum { MOST = 6000, ROUNDS = 1500 };

static hk_device device;
static uint64_t state = 1;

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)(state >> 33) % n;
}

/* What an operand is made of: an array, its elements as doubles, and the view of it that the call gets. */
typedef struct operand {
    hk_array *view;
    double *values;
} operand;

static hk_dims random_shape(void)
{
    static const int64_t sizes[] = {1, 2, 3, 5, 8, 10, 16, 31, 64, 65, 100, 128, 130, 257, 1500};
    hk_dims shape = {.ndim = (int)below(5)};
    int64_t size = 1;
    for (int axis = 0; axis < shape.ndim; axis++) {
        int64_t *dim = &shape.dims[axis];
        do
            *dim = sizes[below(15)];
        while (size * *dim > MOST);
        size *= *dim;
    }
    return shape;
}

/* The last axes of the shape, some of which are 1. */
static hk_dims operand_shape(const hk_dims *out)
{
    const int first = below(3) ? 0 : (int)below(out->ndim + 1);
    hk_dims shape = {.ndim = out->ndim - first};
    for (int axis = 0; axis < shape.ndim; axis++)
        shape.dims[axis] = below(3) ? out->dims[first + axis] : 1;
    return shape;
}

/* A view of this shape: of every second entry, backwards, with room between rows, or with axes in another order. */
static operand operand_create(const hk_dims *shape, hk_dtype dtype)
{
    hk_dims base = *shape, order = *shape;
    int64_t begin[HK_MAX_NDIM], step[HK_MAX_NDIM];
    const bool turns = shape->ndim > 1 && below(4) == 0;
    for (int axis = 0; axis < base.ndim; axis++) {
        const int64_t kind = below(8), dim = base.dims[axis];
        step[axis] = kind == 0 ? 2 : kind == 1 ? -1 : 1;
        base.dims[axis] = kind == 0 ? 2 * dim : kind == 2 ? dim + 3 : dim;
        begin[axis] = kind == 1 ? dim - 1 : kind == 2 ? 1 : 0;
        order.dims[axis] = axis;
    }
    hk_dims stored = base;
    if (turns) {
        order.dims[base.ndim - 1] = base.ndim - 2;
        order.dims[base.ndim - 2] = base.ndim - 1;
        stored.dims[base.ndim - 1] = base.dims[base.ndim - 2];
        stored.dims[base.ndim - 2] = base.dims[base.ndim - 1];
    }
    hk_array *all = random_numbers(stored, dtype);
    operand self = {.view = turns ? hk_permute_dims(all, order) : all, .values = read_doubles(all)};
    for (int axis = 0; axis < base.ndim; axis++) {
        const int64_t dim = shape->dims[axis];
        const int64_t end = step[axis] < 0 ? -base.dims[axis] - 1 : begin[axis] + dim * step[axis];
        self.view = hk_slice_step(self.view, axis, begin[axis], end, step[axis]);
    }
    return self;
}

/* The element that goes with one of the result. */
static double element_of(const operand *self, const hk_dims *out, int64_t index)
{
    const hk_array *x = self->view;
    int64_t at = x->offset;
    for (int axis = out->ndim - 1; axis >= 0; axis--) {
        const int own = axis - (out->ndim - x->shape.ndim);
        if (own >= 0 && x->shape.dims[own] != 1)
            at += index % out->dims[axis] * x->strides[own];
        index /= out->dims[axis];
    }
    return self->values[at];
}

typedef struct operation {
    const hk_op *op;
    int count;
    hk_dtype in[3], out;
    double (*value)(const double *in);
} operation;

static double sum(const double *in)
{
    return in[0] + in[1];
}
static double product(const double *in)
{
    return in[0] * in[1];
}
static double is_greater(const double *in)
{
    return in[0] > in[1];
}
static double chosen(const double *in)
{
    return in[0] != 0 ? in[1] : in[2];
}
static double negative(const double *in)
{
    return -in[0];
}

static double same(const double *in)
{
    return in[0];
}

static const operation operations[] = {
    {&hki_op_add, 2, {HK_F32, HK_F32}, HK_F32, sum},
    {&hki_op_add, 2, {HK_F64, HK_F32}, HK_F64, sum},
    {&hki_op_multiply, 2, {HK_F16, HK_F32}, HK_F32, product},
    {&hki_op_multiply, 2, {HK_I64, HK_I8}, HK_I64, product},
    {&hki_op_add, 2, {HK_BF16, HK_BF16}, HK_BF16, sum},
    {&hki_op_greater, 2, {HK_F32, HK_F32}, HK_BOOL, is_greater},
    {&hki_op_where, 3, {HK_BOOL, HK_F32, HK_F32}, HK_F32, chosen},
    {&hki_op_where, 3, {HK_BOOL, HK_I16, HK_I32}, HK_I32, chosen},
    {&hki_op_add, 2, {HK_C64, HK_F32}, HK_C64, sum},
    {&hki_op_negative, 1, {HK_F64}, HK_F64, negative},
    {&hki_op_copy, 1, {HK_F32}, HK_F32, same},
    {&hki_op_copy, 1, {HK_I64}, HK_I64, same},
    {&hki_op_copy, 1, {HK_BOOL}, HK_BOOL, same},
    {&hki_op_copy, 1, {HK_F16}, HK_F16, same},
    {&hki_op_copy, 1, {HK_C128}, HK_C128, same},
};

static bool is_result(const operation *self, const operand *operands, const hk_dims *shape,
                      const operand *result)
{
    int64_t size = 1;
    for (int axis = 0; axis < shape->ndim; axis++)
        size *= shape->dims[axis];
    for (int64_t i = 0; i < size; i++) {
        double in[3];
        for (int k = 0; k < self->count; k++)
            in[k] = element_of(&operands[k], shape, i);
        if (element_of(result, shape, i) != self->value(in))
            return false;
    }
    return true;
}

static operand read_result(hk_array *x)
{
    return (operand){.view = hki_op_call1(&hki_op_copy, x, NULL),
                     .values = read_doubles(hki_dtype_is_complex(x->dtype) ? hk_real(x) : x)};
}

static void test_call(const operation *self)
{
    HK_SCOPE;
    const hk_dims all = random_shape();
    operand operands[3];
    hk_array *inputs[3];
    hk_dims shape = {.ndim = 0};
    for (int i = 0; i < self->count; i++) {
        const hk_dims own = operand_shape(&all);
        operands[i] =
            operand_create(&own, hki_dtype_is_complex(self->in[i]) ? HK_F32 : self->in[i]);
        inputs[i] = hki_dtype_is_complex(self->in[i]) ? hk_cast(operands[i].view, self->in[i])
                                                      : operands[i].view;
        CHECK(i == 0 ? (shape = own, true) : hki_dims_broadcast(&shape, &own, &shape));
    }
    const operand made =
        read_result(hki_op_call(self->op, inputs, self->count, NULL, (hk_device){NULL}, NULL));
    CHECK(is_result(self, operands, &shape, &made));
    free(made.values);

    /* Into a view, around which nothing changes. */
    if (!hki_dtype_is_complex(self->out)) {
        const operand before = operand_create(&shape, self->out);
        hki_op_call_into(self->op, inputs, self->count, NULL, before.view);
        const operand written = read_result(before.view);
        CHECK(is_result(self, operands, &shape, &written));
        free(written.values);
        free(before.values);
    }
    for (int i = 0; i < self->count; i++)
        free(operands[i].values);
}

/* A column of rows with room between them, so that what is written beyond a row would be seen. */
static void test_room(void)
{
    for (int64_t columns = 1; columns < 140; columns += columns < 20 ? 1 : 13) {
        HK_SCOPE;
        enum { ROWS = 37 };
        hk_array *whole = hk_full(hk_shape(ROWS, columns + 2), 7, HK_F32, device);
        hk_array *part = hk_slice(whole, 1, 1, columns + 1);
        hk_array *column = hk_reshape(hk_arange(0, ROWS, 1, HK_F32, device), hk_shape(ROWS, 1));
        hk_array *row = hk_arange(0, (double)columns, 1, HK_F32, device);
        hki_op_call_into(&hki_op_add, (hk_array *const[]){column, row}, 2, NULL, part);
        double *values = read_doubles(whole);
        for (int64_t i = 0; i < ROWS; i++)
            for (int64_t j = -1; j <= columns; j++)
                CHECK(values[i * (columns + 2) + j + 1] ==
                      (j < 0 || j == columns ? 7 : (double)(i + j)));
        free(values);
    }
}

/* The element that is refused is named, in whichever tile it lies. */
static void test_refused(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(300, 7), HK_I32, device);
    hk_array *divisors = hk_ones(hk_shape(300, 1), HK_I32, device);
    hk_assign(hk_slice(divisors, 0, 211, 212), hk_zeros(hk_shape(1, 1), HK_I32, device));
    CHECK(fails_with(hk_floor_divide(x, divisors), HK_OUT_OF_RANGE, "element [211, 0]"));
    hk_array *row = hk_ones(hk_shape(7), HK_I32, device);
    hk_assign(hk_slice(row, 0, 5, 6), hk_zeros(hk_shape(1), HK_I32, device));
    CHECK(fails_with(hk_floor_divide(x, row), HK_OUT_OF_RANGE, "element [0, 5]"));
    hk_failures_clear();
}

int main(void)
{
    const hk_status *status = hk_runtime_init(NULL);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    device = hk_device_default();
    for (int round = 0; round < ROUNDS; round++)
        test_call(&operations[round % (int)(sizeof operations / sizeof *operations)]);
    test_room();
    test_refused();
    hk_runtime_deinit();
    return check_result();
}
