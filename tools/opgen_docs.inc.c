/* docs/OPERATORS.md: a section for each operator. Included by opgen.c. */

/* A cell of a table: bars would end it. */
static void add_cell(text *out, const char *words)
{
    for (; *words; words++)
        add(out, *words == '|' ? "\\|" : "%c", *words);
}

static void add_dtypes(text *out, unsigned dtypes)
{
    const char *separator = "";
    for (int i = 0; i < HK_DTYPE_COUNT; i++) {
        if (dtypes >> i & 1) {
            add(out, "%s%s", separator, hk_dtype_name((hk_dtype)i));
            separator = ", ";
        }
    }
}

static void add_section(text *out, const hk_op *op)
{
    const char *separator = "";
    add(out, "\n## %s\n\n`hk_%s(", op->name, op->name);
    for (int i = 0; i < hki_op_input_count(op, NULL); i++) {
        char name[64];
        bool optional = hki_op_input_name(op, i, name, sizeof name);
        add(out, "%s%s%s", separator, name, optional ? "?" : "");
        separator = ", ";
    }
    if (op->variadic)
        add(out, "%scount", separator);
    if (has_options(op))
        add(out, "%soptions", separator), separator = ", ";
    for (const hki_param *param = op->params; has_arguments(op) && param->name; param++)
        add(out, "%s%s", separator, param->name), separator = ", ";
    if (takes_device(op))
        add(out, "%sdevice", separator), separator = ", ";
    for (int i = 0; has_outputs(op) && i < hki_op_output_count(op); i++) {
        char name[64];
        hki_op_output_name(op, i, name, sizeof name);
        add(out, "%s&%s", separator, name);
    }
    add(out, ")`\n\n");
    if (op->formula && *op->formula)
        add(out, "    %s\n\n", op->formula);
    add_wrapped(out, op->doc, 0, "", "");
    add(out, "\n");
    if (op->params) {
        add(out, "\n| %s | type | default | |\n|---|---|---|---|\n",
            has_arguments(op) ? "argument" : "option");
        for (const hki_param *param = op->params; param->name; param++) {
            add(out, "| `%s` | `%.*s%s` | ", param->name,
                (int)strlen(types[param->type].before) - 1, types[param->type].before,
                types[param->type].after);
            add_cell(out, param->default_text && *param->default_text ? param->default_text : "–");
            add(out, " | ");
            add_cell(out, param->doc);
            add(out, " |\n");
        }
    }
    add(out, "\n");
    if (hki_op_input_count(op, NULL) > 0 && op->dtypes) {
        add(out, "- dtypes: ");
        add_dtypes(out, hki_op_dtypes(op));
        add(out, "\n");
    }
    if (has_outputs(op))
        add(out, "- results: %s\n", op->outputs);
    if (op->host_only)
        add(out, "- devices: no GPUs yet\n");
    if (hki_op_has_gradient(op))
        add(out, "- gradient: yes\n");
    else
        add(out, "- gradient: none, %s\n", op->no_grad_why ? op->no_grad_why : "not written");
    if (takes_numbers(op))
        add(out, "- numbers: in place of `x` or of `y`\n");
    if (hki_op_has_into(op))
        add(out, "- in place: `hk_%s_into(out, …)`\n", op->name);
}

static text make_docs(void)
{
    text out = text_create();
    add(&out,
        "# Operators\n\n<!-- Written by tools/opgen from src/op/op_table.def: do not edit; `make "
        "generate`. -->\n\n"
        "Each returns at once and gives a failed array when it cannot be done. Where inputs meet "
        "element by\nelement they are broadcast by NumPy's rules, and their dtypes are promoted "
        "within a kind: see\n`hk_dtype`. "
        "`hk_cast` converts others. Integers\nwrap around. `hk_call` reaches all of them by name. "
        "A "
        "trailing ? marks an input that may be NULL.\n\n");
    const char *separator = "";
    for (int i = 0; i < hki_op_count; i++) {
        if (hki_ops[i]->internal)
            continue;
        add(&out, "%s[%s](#%s)", separator, hki_ops[i]->name, hki_ops[i]->name);
        separator = ",\n";
    }
    add(&out, "\n");
    for (int i = 0; i < hki_op_count; i++) {
        if (!hki_ops[i]->internal)
            add_section(&out, hki_ops[i]);
    }
    return out;
}
