/* Operators as objects: finding, facts, calls by handle. */
#include "tests/check.h"

#include <hocket/hocket.h>

static void test_facts(void)
{
    const hk_operator *op = hk_operator_find("linear");
    hk_operator_facts facts = hk_operator_get_facts(op);
    CHECK_STR(facts.name, "linear");
    CHECK_STR(facts.signature, "x, weight, bias?");
    CHECK_EQ_I64(facts.input_count, 3);
    CHECK_EQ_I64(facts.required_input_count, 2);
    CHECK(facts.has_gradient && !facts.is_elementwise && !facts.takes_device);
    facts = hk_operator_get_facts(hk_operator_find("full"));
    CHECK(facts.takes_device && facts.input_count == 0 && facts.options_bytes > 0);
    facts = hk_operator_get_facts(hk_operator_find("add"));
    CHECK(facts.is_elementwise && facts.dtypes >> HK_F32 & 1 && facts.param_count == 0);
    facts = hk_operator_get_facts(hk_operator_find("sum"));
    CHECK_EQ_I64(facts.param_count, 2);
    CHECK_EQ_I64(facts.options_bytes, sizeof(hk_sum_options));
    hk_operator_param param = hk_operator_get_param(hk_operator_find("sum"), 1);
    CHECK_STR(param.name, "keepdims");
    CHECK_EQ_I64(param.offset, offsetof(hk_sum_options, keepdims));
    CHECK(param.type == HK_PARAM_BOOL && !param.is_required && param.doc && param.default_text);
    param = hk_operator_get_param(hk_operator_find("elu"), 0);
    CHECK(param.is_required && param.type == HK_PARAM_F64);
    CHECK(!hk_operator_get_param(hk_operator_find("sum"), 2).name);
    CHECK(!hk_operator_get_param(hk_operator_find("sum"), -1).name);
    CHECK(!hk_operator_get_facts(NULL).name && !hk_operator_get_param(NULL, 0).name);
}

static void test_all(void)
{
    CHECK(hk_operator_count() > 40);
    for (int i = 0; i < hk_operator_count(); i++) {
        const hk_operator *op = hk_operator_at(i);
        const hk_operator_facts facts = hk_operator_get_facts(op);
        CHECK(hk_operator_find(facts.name) == op);
        CHECK(facts.doc && *facts.doc);
        for (int j = 0; j < facts.param_count; j++)
            CHECK(hk_operator_get_param(op, j).offset < facts.options_bytes);
    }
    CHECK(!hk_operator_at(-1) && !hk_operator_at(hk_operator_count()));
    CHECK(!hk_operator_find(NULL) && !hk_operator_find("rleu") && !hk_operator_find("relu_grad"));
}

static bool is(hk_array *x, float first, float second)
{
    float values[2];
    return hk_ok(hk_to_host(x, values, sizeof values)) && values[0] == first && values[1] == second;
}

static bool fails(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_wait(x);
    return hk_status_code(status) == code && strstr(hk_status_message(status), text);
}

static void test_calls(void)
{
    HK_SCOPE;
    const hk_device none = {NULL};
    const hk_operator *add = hk_operator_find("add");
    hk_array *x = hk_from_host((const float[]){1, -2}, hk_shape(2), HK_F32, none);
    CHECK(is(hk_operator_call(add, (hk_array *const[]){x, x}, 2, NULL, none), 2, -4));
    hk_operator_call_into(hk_operator_find("relu"), x, &x, 1, NULL);
    CHECK(is(x, 1, 0));
    hk_array *wrong = hk_operator_call(add, &x, 1, NULL, none);
    CHECK(fails(wrong, HK_INVALID_ARGUMENT, "add takes 2 inputs"));
    CHECK_EQ_I64(hk_status_line(hk_wait(wrong)), __LINE__ - 2);
    CHECK(fails(hk_operator_call(add, NULL, 2, NULL, none), HK_INVALID_ARGUMENT, "inputs is NULL"));
    CHECK(fails(hk_operator_call(NULL, &x, 1, NULL, none), HK_INVALID_ARGUMENT, "op is NULL"));
    hk_operator_call_into(NULL, x, &x, 1, NULL);
    CHECK(fails(x, HK_INVALID_ARGUMENT, "op is NULL"));
}

static void test_devices(void)
{
    for (int i = 0; i < hk_device_count(); i++)
        CHECK_EQ_I64(hk_device_index(hk_device_at(i)), i);
    CHECK_EQ_I64(hk_device_ordinal(hk_device_named("cpu:1")), 1);
    CHECK_EQ_I64(hk_device_ordinal(hk_device_named("sim:1")), 1);
    CHECK_EQ_I64(hk_device_index(hk_device_named("sim:1")), 3);
    CHECK_EQ_I64(hk_device_ordinal(hk_device_named("sim:7")), -1);
    CHECK_EQ_I64(hk_device_index(hk_device_named("sim:7")), -1);
}

int main(void)
{
    const hk_sim_options sim = {.count = 2};
    for (int serial = 0; serial < 2; serial++) {
        CHECK(hk_ok(hk_runtime_init(
            &(hk_runtime_options){.cpu_devices = 2,
                                  .engine = serial ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC,
                                  .sim = &sim,
                                  .sim_count = 1})));
        test_facts();
        test_all();
        test_calls();
        test_devices();
        hk_runtime_deinit();
    }
    return check_result();
}
