/* The rows of layers.def, as declarations of hocket/nn.h and as classes of Python. Included by opgen.c. */

static void add_layer_declaration(text *out, const hki_layer_kind *kind)
{
    const int count = hki_layer_param_count(kind);
    text comment = text_create();
    add(&comment, "/* %s", kind->text);
    for (int i = 0; i < count; i++)
        if (!hki_layer_is_whole(&kind->params[i]) && *kind->params[i].default_text)
            add(&comment, " %s 0: %s.", kind->params[i].name, kind->params[i].default_text);
    add_wrapped(out, comment.data, 0, " * ", " */");
    free(comment.data);
    add(out, "\nHK_API hk_module *hk_%s_layer(", kind->name);
    for (int i = 0; i < count; i++)
        add(out, "%s%s%s", i ? ", " : "",
            kind->params[i].type == HKI_LAYER_FLAG ? "bool "
            : hki_layer_is_whole(&kind->params[i]) ? "int64_t "
                                                   : "double ",
            kind->params[i].name);
    add(out, "%s);\n", count ? "" : "void");
}

static text make_layers(void)
{
    text out = text_create();
    add(&out, "\n");
    for (int i = 0; i < hki_layer_kind_count; i++)
        if (!hki_layer_kinds[i].is_inner)
            add_layer_declaration(&out, &hki_layer_kinds[i]);
    return out;
}

static bool may_be_zero(const hki_layer_param *param)
{
    return param->type == HKI_LAYER_COUNT || param->type == HKI_LAYER_INDEX;
}

static void add_layer_class(text *out, const hki_layer_kind *kind)
{
    const int count = hki_layer_param_count(kind);
    int sizes = 0;
    while (sizes < count && !*kind->params[sizes].default_text)
        sizes++;
    add(out, "\n\nclass %s(Layer):\n    \"\"\"", kind->python_class);
    add_wrapped(out, kind->text, 7, "    ", "");
    add(out, "\n\n    >>> ");
    for (const char *c = kind->example; *c; c++)
        add(out, *c == '\n' ? "\n    " : "%c", *c);
    add(out, "\n    \"\"\"\n");
    if (!kind->arrays[0].own)
        add(out, "    _has_arrays = False\n");
    add(out, "\n    @_sizes_first((");
    for (int i = 0; i < count; i++)
        if (may_be_zero(&kind->params[i]))
            add(out, "\"%s\", ", kind->params[i].name);
    add(out, "), %d)\n    def __init__(self", sizes);
    for (int i = 0; i < count; i++) {
        const char *usual = kind->params[i].default_text;
        add(out, "%s, %s", i == sizes ? ", *" : "", kind->params[i].name);
        if (*usual)
            add(out, "=%s", !strcmp(usual, "false") ? "False" : usual);
    }
    add(out, "):\n        super().__init__(\"%s\"", kind->name);
    for (int i = 0; i < count; i++)
        add(out, ", %s", kind->params[i].name);
    add(out, ")\n");
}

static text make_layer_classes(void)
{
    text out = text_create(), names = text_create();
    for (int i = 0; i < hki_layer_kind_count; i++)
        if (*hki_layer_kinds[i].python_class)
            add(&names, "%s\"%s\"", names.used ? ", " : "", hki_layer_kinds[i].python_class);
    add(&out, "\n__all__ += [\n    ");
    add_wrapped(&out, names.data, 4, "    ", ",\n]\n");
    free(names.data);
    for (int i = 0; i < hki_layer_kind_count; i++)
        if (*hki_layer_kinds[i].python_class)
            add_layer_class(&out, &hki_layer_kinds[i]);
    add(&out, "\n\n");
    return out;
}
