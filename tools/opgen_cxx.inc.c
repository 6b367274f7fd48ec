/* include/hocket/ops.hpp: of each operator a function of hk::array that calls the C one. Included by opgen.c. */

static const char *const cxx_types[] = {
    [HKI_PARAM_BOOL] = "bool",    [HKI_PARAM_INT] = "int64_t",     [HKI_PARAM_INT2] = "int_pair",
    [HKI_PARAM_F64] = "double",   [HKI_PARAM_DTYPE] = "hk_dtype",  [HKI_PARAM_DIMS] = "hk::shape",
    [HKI_PARAM_U64] = "uint64_t", [HKI_PARAM_INT3] = "int_triple",
};

/* Which of the inputs is a number, in forms of elementwise operators of x and y. */
typedef enum number_form { NO_NUMBER, NUMBER_X, NUMBER_Y } number_form;

/* A list that grows: "a, b, c". */
typedef struct list {
    char text[2048];
    size_t used;
} list;

static HK_PRINTF(2, 3) void list_add(list *to, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    if (to->used)
        to->used += (size_t)snprintf(to->text + to->used, sizeof to->text - to->used, ", ");
    to->used += (size_t)vsnprintf(to->text + to->used, sizeof to->text - to->used, format, args);
    va_end(args);
    if (to->used >= sizeof to->text)
        die("a list of parameters is too long");
}

/* Adds the list, broken at commas, with further lines below `column`. */
static void add_list(text *out, const list *from, int column)
{
    int start = column;
    for (const char *item = from->text; *item;) {
        size_t bytes = 0; /* to a comma that stands outside of braces and parentheses */
        for (int depth = 0; item[bytes] && (depth || item[bytes] != ','); bytes++)
            depth += strchr("{(", item[bytes]) ? 1 : strchr("})", item[bytes]) ? -1 : 0;
        if (item != from->text) {
            bool fits =
                column + 2 + (int)bytes + (item[bytes] ? 2 : 11) <= WIDTH; /* ") noexcept" */
            add(out, fits ? ", " : ",\n%*s", fits ? 0 : start, "");
            column = fits ? column + 2 : start;
        }
        add(out, "%.*s", (int)bytes, item);
        column += (int)bytes;
        item += bytes + (item[bytes] ? 2 : 0);
    }
}

static void add_cxx_options(text *out, const hk_op *op)
{
    add(out, "struct %s_options {\n", op->name);
    for (const hki_param *param = op->params; param->name; param++)
        if (param->type == HKI_PARAM_INT && !strcmp(param->name, "axis"))
            add(out, "    HKI_AXIS_OPTION(%s_options, axis)\n", op->name);
        else
            add(out, "    HKI_OPTION(%s_options, %s, %s)\n", op->name, cxx_types[param->type],
                param->name);
    add(out, "    hk_%s_options to_c() const noexcept\n    {\n        hk_%s_options c = {};\n",
        op->name, op->name);
    for (const hki_param *param = op->params; param->name; param++) {
        const int count = number_count(param->type);
        for (int i = 0; i < count; i++)
            add(out, "%sc.%s[%d] = %s[%d]%s", i ? " " : "        ", param->name, i, param->name, i,
                i == count - 1 ? ";\n" : ",");
        if (count == 0)
            add(out, "        c.%s = %s;\n", param->name, param->name);
    }
    add(out, "        return c;\n    }\n};\n");
}

/* Parameters that may be left out are the last ones: inputs that the signature marks, options, and of operators without inputs
 * dtype and device. */
static list cxx_parameters(const hk_op *op, int form, number_form number)
{
    list all = {.used = 0};
    const int count = hki_op_input_count(op, NULL);
    if (form & INTO)
        list_add(&all, "const array &out");
    for (int i = 0; i < count; i++) {
        char name[64];
        const bool optional = hki_op_input_name(op, i, name, sizeof name);
        if (op->variadic)
            list_add(&all, "const arrays &%s", name);
        else if ((number == NUMBER_X && !strcmp(name, "x")) ||
                 (number == NUMBER_Y && !strcmp(name, "y")))
            list_add(&all, "T %s", name);
        else
            list_add(&all, "const array &%s%s", name,
                     optional && !has_arguments(op) ? " = {}" : "");
    }
    if (has_options(op))
        list_add(&all, "const %s_options &options = {}", op->name);
    for (const hki_param *param = op->params; has_arguments(op) && param->name; param++) {
        const bool by_reference = param->type == HKI_PARAM_DIMS || number_count(param->type);
        const bool last = param->type == HKI_PARAM_DTYPE && count == 0 && !param[1].name;
        list_add(&all, "%s%s %s%s%s", by_reference ? "const " : "", cxx_types[param->type],
                 by_reference ? "&" : "", param->name, last ? " = HK_F32" : "");
    }
    if (takes_device(op) && !(form & INTO))
        list_add(&all, "const hk::device &device%s", count == 0 ? " = {}" : "");
    list_add(&all, "hk_source at = here()");
    return all;
}

/* What the C function gets. */
static list c_arguments(const hk_op *op, int form, number_form number)
{
    list all = {.used = 0};
    const int count = hki_op_input_count(op, NULL);
    list_add(&all, "at");
    if (form & INTO)
        list_add(&all, "out.get()");
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_input_name(op, i, name, sizeof name);
        if (op->variadic)
            list_add(&all, "%s.data(), %s.count()", name, name);
        else if (number != NO_NUMBER && i >= count - 2)
            list_add(&all, "operand_of(%s)", name);
        else
            list_add(&all, "%s.get()", name);
    }
    if (has_options(op))
        list_add(&all, "&given");
    for (const hki_param *param = op->params; has_arguments(op) && param->name; param++)
        list_add(&all, "%s%s", param->name, number_count(param->type) ? ".data()" : "");
    if (takes_device(op) && !(form & INTO))
        list_add(&all, "device");
    return all;
}

/* The struct of what an operator of several results gives, for structured bindings. */
static void add_cxx_results(text *out, const hk_op *op)
{
    add(out, "struct %s_results {\n    array %s;\n};\n", op->name, op->outputs);
}

/* The call of a C function that has several results, whose arguments before these are given. */
static void add_cxx_results_call(text *out, const hk_op *op, const list *arguments)
{
    const int count = hki_op_output_count(op);
    list all = *arguments, taken = {.used = 0};
    char start[160];
    for (int i = 0; i < count; i++) {
        list_add(&all, "&results[%d]", i);
        list_add(&taken, "array::take(results[%d])", i);
    }
    add(out, "    hk_array *results[%d];\n", count);
    snprintf(start, sizeof start, "    hk_%s_at(", op->name);
    add(out, "%s", start);
    add_list(out, &all, (int)strlen(start));
    add(out, ");\n    return {%s};\n}\n", taken.text);
}

static void add_cxx_function(text *out, const hk_op *op, int form, number_form number)
{
    const char *into = form & INTO ? "_into" : "";
    char start[160];
    snprintf(start, sizeof start, "inline %s%s %s%s(",
             form & INTO       ? "void"
             : has_outputs(op) ? op->name
                               : "array",
             has_outputs(op) ? "_results" : "", op->name, into);
    add(out, "%s%s", number == NO_NUMBER ? "" : "template <class T, if_number<T> = 0>\n", start);
    const list parameters = cxx_parameters(op, form, number);
    add_list(out, &parameters, (int)strlen(start));
    add(out, ") noexcept\n{\n");
    if (has_options(op))
        add(out, "    const hk_%s_options given = options.to_c();\n", op->name);
    const list arguments = c_arguments(op, form, number);
    if (has_outputs(op)) {
        add_cxx_results_call(out, op, &arguments);
        return;
    }
    snprintf(start, sizeof start, "    %shk_%s%s%s_at(", form & INTO ? "" : "return array::take(",
             op->name, number == NO_NUMBER ? "" : "_operands", into);
    add(out, "%s", start);
    add_list(out, &arguments, (int)strlen(start));
    add(out, form & INTO ? ");\n}\n" : "));\n}\n");
}

static text make_cxx_header(void)
{
    text out = text_create();
    add(&out,
        "/* Operators. Written by tools/opgen from src/op/op_table.def: do not edit; `make "
        "generate`.\n *\n"
        " * What each does stands in hocket/ops.h. Options have defaults, and inputs that may be "
        "NULL there may be {} here\n * or left out. Where x and y meet element by element, one of "
        "them may be a number: it takes the other's dtype. */\n"
        "/* clang-format off */\n"
        "#ifndef HOCKET_OPS_HPP\n#define HOCKET_OPS_HPP\n\n#include <hocket/array.hpp>\n\n"
        "namespace hk\n{\n");
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        if (op->internal)
            continue;
        add(&out, "\n");
        add_comment(&out, op);
        if (has_options(op))
            add_cxx_options(&out, op);
        if (has_outputs(op))
            add_cxx_results(&out, op);
        for (int form = PLAIN; form <= (hki_op_has_into(op) && !has_outputs(op) ? INTO : PLAIN);
             form++)
            for (int number = NO_NUMBER; number <= (takes_numbers(op) ? NUMBER_Y : NO_NUMBER);
                 number++)
                add_cxx_function(&out, op, form, (number_form)number);
    }
    add(&out, "\n} // namespace hk\n\n#endif\n");
    return out;
}
