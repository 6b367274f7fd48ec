/* src/op/api.c: the public function of each operator. Included by opgen.c. */

static void add_asserts(text *out, const hk_op *op)
{
    char type[128];
    snprintf(type, sizeof type, "hk_%s_%s", op->name, struct_kind(op));
    add(out, "_Static_assert(sizeof(%s) == %zu", type, op->options_bytes);
    for (const hki_param *param = op->params; param->name; param++)
        add(out, " &&\n               offsetof(%s, %s) == %zu", type, param->name, param->offset);
    add(out, ",\n               \"%s\");\n", type);
}

static void add_outputs_body(text *out, const hk_op *op, const char *inputs, const char *number,
                             const char *options)
{
    const int count = hki_op_output_count(op);
    add(out, "    hk_array *outputs[%d];\n", count);
    add(out, "    hki_op_call_all(&hki_op_%s, %s, %s, %s,\n                    %s, outputs, %d);\n",
        op->name, inputs, number, options, takes_device(op) ? "device" : "(hk_device){NULL}",
        count);
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_output_name(op, i, name, sizeof name);
        add(out, "    hki_op_give(outputs[%d], %s);\n", i, name);
    }
}

static void add_update_body(text *out, const hk_op *op, const char *inputs, const char *number,
                            const char *options)
{
    const int count = hki_op_output_count(op);
    add(out,
        "    hki_op_call_update(&hki_op_%s, %s, %s, %s,\n                       (hk_array "
        "*const[]){",
        op->name, inputs, number, options);
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_output_name(op, i, name, sizeof name);
        add(out, "%s%s", i ? ", " : "", name);
    }
    add(out, "}, %d);\n", count);
}

static void add_body(text *out, const hk_op *op, int form)
{
    int count = hki_op_input_count(op, NULL);
    char inputs[512] = "NULL", number[32];
    size_t used = 0;
    snprintf(number, sizeof number, "%d", count);
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_input_name(op, i, name, sizeof name);
        used +=
            (size_t)snprintf(inputs + used, sizeof inputs - used, "%s%s%s",
                             i ? ", " : "(hk_array *const[]){", name, i == count - 1 ? "}" : "");
    }
    add(out, "{\n");
    if (has_options(op))
        add(out, "    HKI_TAKE_OPTIONS(hk_%s_options, options);\n", op->name);
    if (has_arguments(op)) {
        add(out, "    hk_%s_arguments arguments = {\n", op->name);
        for (const hki_param *param = op->params; param->name; param++) {
            const int numbers = number_count(param->type);
            if (numbers)
                add(out, "        .%s = {", param->name);
            for (int i = 0; i < numbers; i++)
                add(out, "%s%s[%d]%s", i ? ", " : "", param->name, i,
                    i == numbers - 1 ? "},\n" : "");
            if (numbers == 0)
                add(out, "        .%s = %s,\n", param->name, param->name);
        }
        add(out, "    };\n");
    }
    if (op->variadic) { /* the array of its inputs is an argument */
        hki_op_input_name(op, 0, inputs, sizeof inputs);
        snprintf(number, sizeof number, "count");
    }
    const char *options = has_arguments(op) ? "&arguments" : has_options(op) ? "options" : "NULL";
    if (form & INTO && has_outputs(op))
        add_update_body(out, op, inputs, number, options);
    else if (form & INTO)
        add(out, "    hki_op_call_into(&hki_op_%s, %s, %s, %s, out);\n", op->name, inputs, number,
            options);
    else if (has_outputs(op))
        add_outputs_body(out, op, inputs, number, options);
    else
        add(out,
            "    return hki_op_call(&hki_op_%s, %s, %s, %s,\n                       %s, NULL);\n",
            op->name, inputs, number, options, takes_device(op) ? "device" : "(hk_device){NULL}");
    add(out, "}\n");
}

static void add_definition(text *out, const hk_op *op, int form)
{
    const char *into = form & INTO ? "_into" : "", *type = result_type(op, form);
    char start[128];
    snprintf(start, sizeof start, "%s%s(hk_%s%s)(", type, strchr(type, '*') ? "" : " ", op->name,
             into);
    add(out, "\n%s", start);
    add_parameters(out, op, form, true, (int)strlen(start));
    add(out, ")\n");
    add_body(out, op, form);
}

/* With operands, and the source position: hki_source_put, and the call. */
static void add_operands_definition(text *out, const hk_op *op, int form)
{
    const char *type = result_type(op, form);
    const int count = hki_op_input_count(op, NULL);
    char start[128];
    snprintf(start, sizeof start, "%s%shk_%s_operands%s_at(", type, strchr(type, '*') ? "" : " ",
             op->name, form & INTO ? "_into" : "");
    add(out, "\n%s", start);
    add_parameters(out, op, form | AT | OPERANDS, true, (int)strlen(start));
    add(out, ")\n{\n    const hk_operand operands[] = {");
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_input_name(op, i, name, sizeof name);
        add(out, i < count - 2 ? "%shk_operand_of_array(%s)" : "%s%s", i ? ", " : "", name);
    }
    add(out, "};\n    hki_source_put(at);\n    %s(&hki_op_%s, %soperands, %d);\n}\n",
        form & INTO ? "(hk_operator_call_operands_into)" : "return (hk_operator_call_operands)",
        op->name, form & INTO ? "out, " : "", count);
}

static text make_api(void)
{
    text out = text_create();
    add(&out,
        "/* The functions of hocket/ops.h. Written by tools/opgen: do not edit; `make generate`. "
        "*/\n/* clang-format off */\n#include \"base/source.h\"\n#include \"op/op.h\"\n\n#include "
        "<hocket/operator.h>\n"
        "#include <hocket/ops.h>\n\n");
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        if (!op->internal && op->params)
            add_asserts(&out, op);
    }
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        if (op->internal)
            continue;
        for (int form = PLAIN; form <= (hki_op_has_into(op) ? INTO : PLAIN); form++) {
            add_definition(&out, op, form);
            if (takes_numbers(op))
                add_operands_definition(&out, op, form);
        }
    }
    return out;
}
