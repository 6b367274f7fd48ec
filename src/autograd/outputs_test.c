/* Operators of several results: calls, failure, and gradients through each of them. */
#include "check.h"

#include "op/op.h"

#include <hocket/hocket.h>

/* ---- an operator of four outputs: 2 x, x x, how many elements x has, and x itself for the gradient ------- */

static struct {
    int calls;
    bool has_first, has_second;
} noted;

static bool four_infer(hki_call *call)
{
    for (int i = 0; i < 4; i++) {
        call->out_shape[i] = i == 2 ? (hk_dims){.ndim = 0} : call->inputs[0]->shape;
        call->out_dtype[i] = i == 2 ? HK_I64 : HK_F64;
    }
    return true;
}

static void four_kernel(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    const double *x = call->in[0].data;
    (void)piece, (void)begin, (void)end;
    for (int64_t i = 0; i < call->in[0].size; i++) {
        ((double *)call->out[0].data)[i] = 2 * x[i];
        ((double *)call->out[1].data)[i] = x[i] * x[i];
        ((double *)call->out[3].data)[i] = x[i];
    }
    *(int64_t *)call->out[2].data = call->in[0].size;
}

static void four_grad(hki_grad_call *call)
{
    noted.calls++;
    noted.has_first = call->dys[0] != NULL;
    noted.has_second = call->dys[1] != NULL;
    hk_array *twice_x = hki_op_call2(&hki_op_add, call->saved, call->saved, NULL);
    hk_array *first =
        call->dys[0] ? hki_op_call2(&hki_op_add, call->dys[0], call->dys[0], NULL) : NULL;
    hk_array *second =
        call->dys[1] ? hki_op_call2(&hki_op_multiply, call->dys[1], twice_x, NULL) : NULL;
    CHECK(!call->dys[2]);
    call->dx[0] = first && second ? hki_op_call2(&hki_op_add, first, second, NULL)
                  : first         ? first
                                  : second;
}

static const hk_op four = {
    .name = "four",
    .id = HKI_OP_ID_sort,
    .signature = "x",
    .outputs = "twice, square, count",
    .doc = "",
    .dtypes = 1u << HK_F64,
    .output_count = 4,
    .contiguous = true,
    .infer = four_infer,
    .split = HKI_SPLIT_NONE,
    .kernel = {[HKI_CPU] = four_kernel},
    .grad = four_grad,
};

static void call_four(hk_array *x, hk_array **outputs, int count)
{
    hki_op_call_all(&four, &x, 1, NULL, (hk_device){NULL}, outputs, count);
}

static hk_array *vector(double first, double second)
{
    return hk_from_host((double[]){first, second}, hk_shape(2), HK_F64, hk_device_default());
}

static bool holds(hk_array *x, double first, double second)
{
    double values[2] = {0};
    return hk_ok(hk_to_host(x, values, sizeof values)) && values[0] == first && values[1] == second;
}

static bool fails(hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    return !hk_ok(status) && strstr(hk_status_message(status), text);
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static void test_calls(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *y[4];
    call_four(x, y, 4);
    CHECK(holds(y[0], 6, 10) && holds(y[1], 9, 25) && holds(y[3], 3, 5));
    CHECK(hk_item(y[2], NULL) == 2);
    call_four(x, y, 1); /* the others go */
    CHECK(holds(y[0], 6, 10));
    CHECK(holds(hki_op_call1(&four, x, NULL), 6, 10));
}

static void test_gradients(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *y[3];
    hk_attach_grad(x, HK_GRAD_WRITE);
    for (int used = 1; used < 4; used++) {
        HK_SCOPE;
        hk_array *parts[2];
        int count = 0;
        {
            HK_RECORD;
            call_four(x, y, 3);
            if (used & 1)
                parts[count++] = hk_multiply(y[0], 10);
            if (used & 2)
                parts[count++] = y[1];
        }
        noted.calls = 0;
        CHECK(hk_ok(hk_backward_all(parts, count)));
        CHECK(holds(hk_grad(x), (used & 1 ? 20 : 0) + (used & 2 ? 6 : 0),
                    (used & 1 ? 20 : 0) + (used & 2 ? 10 : 0)));
        CHECK(noted.calls == 1 && noted.has_first == (used & 1) && noted.has_second == used >> 1);
    }
}

/* One output is used twice, another through a view, and a third is a number. */
static void test_shared(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *y[3], *sum;
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        call_four(x, y, 3);
        sum = hk_add(hk_multiply(y[0], y[0]), hk_flip(y[1], 0));
        sum = hk_multiply(sum, hk_cast(y[2], HK_F64));
    }
    CHECK(hk_ok(hk_backward(sum))); /* 2 (4 x x + x x reversed) */
    CHECK(holds(hk_grad(x), 60, 100));
}

static void test_second_pass(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *y[3];
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        call_four(x, y, 3);
    }
    CHECK(hk_ok(hk_backward(y[0])));
    CHECK(!hk_ok(hk_backward(y[1])));
    CHECK(fails(hk_grad(x), "four was differentiated before"));
    CHECK(!hk_ok(hk_backward(y[2])));
    clear_failures();
}

static void test_refusal(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(2), HK_F32, hk_device_default()), *y[4];
    hk_attach_grad(x, HK_GRAD_WRITE);
    clear_failures();
    {
        HK_RECORD;
        call_four(x, y, 4);
    }
    CHECK(!y[3]);
    for (int i = 0; i < 3; i++)
        CHECK(fails(y[i], "x is float32"));
    CHECK(hk_wait(y[0]) == hk_wait(y[2]));
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    hk_backward(y[1]);
    CHECK(fails(hk_grad(x), "x is float32"));
    clear_failures();
}

/* ---- a public one ----------------------------------------------------------------------------------------- */

static void test_var_mean(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *variance, *mean;
    hk_var_mean(x, NULL, &variance, &mean);
    CHECK(hk_item(variance, NULL) == 1 && hk_item(mean, NULL) == 4);
    hk_var_mean(x, NULL, &variance, NULL);
    hk_var_mean(x, NULL, NULL, NULL);
    CHECK(hk_item(variance, NULL) == 1);
    hk_var_mean(NULL, NULL, &variance, &mean);
    CHECK(fails(variance, "x is NULL") && fails(mean, "x is NULL"));
    clear_failures();
}

/* The gradient of topk reads the indices; that of var_mean reads x alone. */
static void test_overwritten(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *variance, *mean, *values, *indices;
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        hk_var_mean(x, NULL, &variance, &mean);
    }
    hk_assign(mean, hk_full(hk_shape(), 7, HK_F64, hk_device_default()));
    hk_backward(variance);
    CHECK(hk_item(hk_sum(hk_abs(hk_subtract(hk_grad(x), vector(-1, 1))), NULL), NULL) == 0);
    {
        HK_RECORD;
        hk_topk(x, 1, 0, true, &values, &indices);
    }
    hk_assign(indices, hk_zeros(hk_shape(1), HK_I64, hk_device_default()));
    hk_backward(values);
    CHECK(fails(hk_grad(x), "indices was overwritten by assign"));
    clear_failures();
}

static void test_by_name(void)
{
    HK_SCOPE;
    hk_array *x = vector(3, 5), *y[3] = {NULL};
    const hk_operator *op = hk_operator_find("var_mean");
    const hk_operator_facts facts = hk_operator_get_facts(op);
    CHECK_EQ_I64(facts.output_count, 2);
    CHECK_STR(facts.outputs, "variance, mean");
    CHECK_STR(hk_operator_get_facts(hk_operator_find("sort")).outputs, "y");
    CHECK_EQ_I64(hk_operator_get_facts(hk_operator_find("sort")).output_count, 1);
    hk_call_all("var_mean", &x, 1, NULL, (hk_device){NULL}, y, 2);
    CHECK(hk_item(y[0], NULL) == 1 && hk_item(y[1], NULL) == 4);
    hk_operator_call_all(op, &x, 1, &(hk_var_mean_options){.correction = 1}, (hk_device){NULL}, y,
                         2);
    CHECK(hk_item(y[0], NULL) == 2 && hk_item(y[1], NULL) == 4);
    hk_call_all("add", (hk_array *[]){x, x}, 2, NULL, (hk_device){NULL}, y, 1);
    CHECK(holds(y[0], 6, 10));
    CHECK(hk_item(hk_call("var_mean", &x, 1, NULL, (hk_device){NULL}), NULL) == 1);
    hk_call_all("var_mean", &x, 1, NULL, (hk_device){NULL}, y, 3);
    for (int i = 0; i < 3; i++)
        CHECK(fails(y[i], "var_mean gives 2 results (variance, mean), not 3"));
    hk_call_all("var_maen", &x, 1, NULL, (hk_device){NULL}, y, 2);
    CHECK(fails(y[1], "no operator is called \"var_maen\""));
    hk_call_all("var_mean", &x, 1, NULL, (hk_device){NULL}, NULL, 2);
    hk_call_all("var_mean", NULL, 1, NULL, (hk_device){NULL}, y, 2);
    CHECK(fails(y[0], "inputs is NULL") && fails(y[1], "inputs is NULL"));
    hk_operator_call_all(NULL, &x, 1, NULL, (hk_device){NULL}, y, 1);
    CHECK(fails(y[0], "op is NULL"));
    hk_array *out = hk_zeros(hk_shape(), HK_F64, hk_device_default());
    hk_call_into("var_mean", out, &x, 1, NULL);
    CHECK(fails(out, "cannot write into an array"));
    clear_failures();
}

int main(void)
{
    test_calls();
    test_gradients();
    test_shared();
    test_second_pass();
    test_refusal();
    test_var_mean();
    test_overwritten();
    test_by_name();
    hk_runtime_deinit();
    return check_result();
}
