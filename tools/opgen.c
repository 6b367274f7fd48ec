/* opgen: writes what follows from the operator table.
 *
 *   opgen ROOT           include/hocket/ops.h and ops.hpp, src/op/api.c and docs/OPERATORS.md below ROOT; and parts of
 *                        files: optimisers and layers, in C and in Python
 *   opgen --check ROOT   fails, and says which, when one of them is not what it would write
 *
 * Either way it first checks that the table's entries are complete. */
#include "nn/layer_table.h"
#include "op/op.h"
#include "op/update/update.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WIDTH = 100, TEXT_BYTES = 1 << 20 };

/* ---- text -------------------------------------------------------------------------------------------- */

typedef struct text {
    char *data;
    size_t used;
} text;

static void die(const char *why)
{
    fprintf(stderr, "opgen: %s\n", why);
    exit(1);
}

static HK_PRINTF(2, 3) void add(text *out, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    int written = vsnprintf(out->data + out->used, TEXT_BYTES - out->used, format, args);
    va_end(args);
    if (written < 0 || (size_t)written >= TEXT_BYTES - out->used)
        die("TEXT_BYTES is too small");
    out->used += (size_t)written;
}

static text text_create(void)
{
    text out = {.data = malloc(TEXT_BYTES)};
    if (!out.data)
        die("out of memory");
    out.data[0] = '\0';
    return out;
}

/* Columns that UTF-8 text takes. */
static int columns(const char *words, size_t bytes)
{
    int count = 0;
    for (size_t i = 0; i < bytes; i++)
        count += ((unsigned char)words[i] & 0xC0) != 0x80;
    return count;
}

/* Adds words, broken before WIDTH, and at their end `last`, which stays with the last word. The first line
 * goes on at column `column`, others begin with `prefix`. */
static void add_wrapped(text *out, const char *words, int column, const char *prefix,
                        const char *last)
{
    bool first = true;
    int limit = WIDTH - (int)strlen(last);
    for (const char *word = words; *word;) {
        size_t bytes = strcspn(word, " ");
        int width = columns(word, bytes);
        if (!first && column + 1 + width > limit) {
            add(out, "\n%s", prefix);
            column = columns(prefix, strlen(prefix));
        } else if (!first) {
            add(out, " ");
            column++;
        }
        add(out, "%.*s", (int)bytes, word);
        column += width;
        word += bytes;
        word += strspn(word, " ");
        first = false;
    }
    add(out, "%s", last);
}

/* ---- what the table says ------------------------------------------------------------------------------- */

static const struct {
    const char *before, *after, *argument;
} types[] = {
    [HKI_PARAM_BOOL] = {"bool ", "", "bool "},
    [HKI_PARAM_INT] = {"int64_t ", "", "int64_t "},
    [HKI_PARAM_INT2] = {"int64_t ", "[2]", "const int64_t *"},
    [HKI_PARAM_F64] = {"double ", "", "double "},
    [HKI_PARAM_DTYPE] = {"hk_dtype ", "", "hk_dtype "},
    [HKI_PARAM_DIMS] = {"hk_dims ", "", "hk_dims "},
    [HKI_PARAM_U64] = {"uint64_t ", "", "uint64_t "},
    [HKI_PARAM_INT3] = {"int64_t ", "[3]", "const int64_t *"},
};

/* How many numbers an array of them has; 0: it is none. */
static int number_count(hki_param_type type)
{
    return type == HKI_PARAM_INT2 ? 2 : type == HKI_PARAM_INT3 ? 3 : 0;
}

static bool has_arguments(const hk_op *op)
{
    return op->params && op->params[0].required;
}

static bool has_options(const hk_op *op)
{
    return op->params && op->params[0].name && !op->params[0].required;
}

static bool takes_device(const hk_op *op)
{
    return op->any_device || hki_op_input_count(op, NULL) == 0;
}

static bool has_outputs(const hk_op *op)
{
    return hki_op_output_count(op) > 1;
}

/* "options" or "arguments": what the struct of its params is called. */
static const char *struct_kind(const hk_op *op)
{
    return has_arguments(op) ? "arguments" : "options";
}

/* Whether it goes element by element over an x and a y, its last inputs, either of which may be a number. */
static bool takes_numbers(const hk_op *op)
{
    const int count = hki_op_input_count(op, NULL);
    char x[64] = "", y[64] = "";
    if (op->elementwise && !op->variadic && !op->params && count >= 2) {
        hki_op_input_name(op, count - 2, x, sizeof x);
        hki_op_input_name(op, count - 1, y, sizeof y);
    }
    return !strcmp(x, "x") && !strcmp(y, "y");
}

static int problems;

static void check(const hk_op *op, bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "opgen: operator %s: %s\n", op->name, what);
    problems++;
}

static void check_table(void)
{
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        check(op, op->id == (hki_op_id)i && hki_op_find(op->name) == op,
              "its name or id is another's: use HKI_OP_NAMED");
        check(op, op->signature && op->doc && (op->infer || op->variadic),
              "no signature, doc or infer");
        if (!op->signature || !op->doc)
            continue;
        check(op, hki_op_input_count(op, NULL) <= HKI_MAX_INPUTS, "too many inputs");
        check(op, op->output_count <= HKI_MAX_OUTPUTS, "too many outputs");
        check(op, !op->outputs || (has_outputs(op) && hki_op_output_count(op) <= op->output_count),
              "outputs names one, or more than output_count");
        check(op, !op->outputs || !(op->elementwise || op->variadic),
              "several outputs of an operator that is written into, or takes any number of inputs");
        check(op, op->kernel[HKI_CPU] || op->compose || op->variadic, "no kernel for cpu");
        check(op, op->split != HKI_SPLIT_PLAN || op->plan, "HKI_SPLIT_PLAN without a plan");
        check(op, hki_op_has_gradient(op) || op->no_grad_why, "neither grad nor no_grad_why");
        check(op, (op->reference && op->sample_count > 0) || op->untested,
              "neither reference and samples nor untested");
        check(op, op->options_bytes <= HKI_MAX_OPTIONS_BYTES, "its options are too large");
        check(op, !op->params == !op->options_bytes, "params without options_bytes or the reverse");
        for (const hki_param *param = op->params; param && param->name; param++)
            check(op, param->required == op->params[0].required,
                  "some of its params are required, some not");
    }
}

/* ---- include/hocket/ops.h ------------------------------------------------------------------------------- */

static void add_struct(text *out, const hk_op *op)
{
    add(out, "typedef struct hk_%s_%s {\n", op->name, struct_kind(op));
    for (const hki_param *param = op->params; param->name; param++) {
        char line[512], prefix[64];
        const char *default_text =
            param->default_text && *param->default_text ? param->default_text : NULL;
        snprintf(line, sizeof line, "/* %s%s%s%s", param->doc, default_text ? " (default: " : "",
                 default_text ? default_text : "", default_text ? ")" : "");
        int column = 4 +
                     (int)(strlen(types[param->type].before) + strlen(param->name) +
                           strlen(types[param->type].after)) +
                     2;
        add(out, "    %s%s%s; ", types[param->type].before, param->name, types[param->type].after);
        snprintf(prefix, sizeof prefix, "%*s", column + 3, "");
        add_wrapped(out, line, column, prefix, " */");
        add(out, "\n");
    }
    add(out, "} hk_%s_%s;\n", op->name, struct_kind(op));
}

/* The forms of a function; AT and OPERANDS, whose x and y may be numbers, go with either. */
enum { PLAIN, INTO = 1, AT = 2, OPERANDS = 4 };

/* "hk_array *x, double value", or without types "x, value", broken at commas like the rest; begins at
 * `column`. */
static void add_parameters(text *out, const hk_op *op, int form, bool typed, int column)
{
    char list[1024];
    size_t used = 0;
    int count = hki_op_input_count(op, NULL);
#define LIST(type, name)                                                                           \
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s%s", used ? ", " : "",          \
                             typed ? type : "", name)
    if (form & AT)
        LIST("hk_source ", "at");
    if (form & INTO && !has_outputs(op))
        LIST("hk_array *", "out");
    for (int i = 0; form & INTO && has_outputs(op) && i < hki_op_output_count(op); i++) {
        char name[64];
        hki_op_output_name(op, i, name, sizeof name);
        LIST("hk_array *", name);
    }
    for (int i = 0; i < count; i++) {
        char name[64];
        hki_op_input_name(op, i, name, sizeof name);
        LIST(op->variadic                        ? "hk_array *const *"
             : form & OPERANDS && i >= count - 2 ? "hk_operand "
                                                 : "hk_array *",
             name);
    }
    if (op->variadic)
        LIST("int ", "count");
    if (has_options(op)) {
        char type[128];
        snprintf(type, sizeof type, "const hk_%s_options *", op->name);
        LIST(type, "options");
    }
    for (const hki_param *param = op->params; has_arguments(op) && param->name; param++)
        LIST(types[param->type].argument, param->name);
    if (takes_device(op) && !(form & INTO))
        LIST("hk_device ", "device");
    for (int i = 0; !(form & INTO) && has_outputs(op) && i < hki_op_output_count(op); i++) {
        char name[64];
        hki_op_output_name(op, i, name, sizeof name);
        LIST("hk_array **", name);
    }
#undef LIST
    if (used >= sizeof list)
        die("a list of parameters is too long");
    /* Break between parameters only. */
    int start = column;
    for (char *item = list; *item;) {
        size_t bytes = strcspn(item, ",");
        bool last = item[bytes] == '\0';
        if (item != list) {
            if (column + 2 + (int)bytes + 2 > WIDTH) {
                add(out, ",\n%*s", start, "");
                column = start;
            } else {
                add(out, ", ");
                column += 2;
            }
        }
        add(out, "%.*s", (int)bytes, item);
        column += (int)bytes;
        item += bytes + (last ? 0 : 2);
    }
}

/* What a form of its function gives back. */
static const char *result_type(const hk_op *op, int form)
{
    return form & INTO || has_outputs(op) ? "void" : "hk_array *";
}

static void add_declaration(text *out, const hk_op *op, int form)
{
    const char *type = result_type(op, form);
    char start[128];
    snprintf(start, sizeof start, "HK_API %s%shk_%s%s%s%s(", type, strchr(type, '*') ? "" : " ",
             op->name, form & OPERANDS ? "_operands" : "", form & INTO ? "_into" : "",
             form & AT ? "_at" : "");
    add(out, "%s", start);
    add_parameters(out, op, form, true, (int)strlen(start));
    add(out, ");\n");
}

/* The form that takes the source position: HK_AT of hocket/base.h. */
static void add_inline(text *out, const hk_op *op, int form)
{
    enum { MOST = 60 }; /* columns before the parameters; else these begin a line */
    char start[160], type[96] = "";
    if (has_options(op))
        snprintf(type, sizeof type, ", hk_%s_options", op->name);
    snprintf(start, sizeof start, "HK_AT%s%shk_%s%s%s,", *type ? "_OPTIONS" : "",
             strchr(result_type(op, form), '*') ? "(hk_array *, " : "_VOID(", op->name,
             form & INTO ? "_into" : "", type);
    const bool is_long = strlen(start) > MOST;
    add(out, "%s%s(", start, is_long ? "\n      " : " ");
    add_parameters(out, op, form | AT, true, is_long ? 7 : (int)strlen(start) + 2);
    add(out, "),\n      (");
    add_parameters(out, op, form, false, 7);
    add(out, "))\n");
}

/* That, and the macro that calls it. */
static void add_at(text *out, const hk_op *op, int form)
{
    const char *into = form & INTO ? "_into" : "";
    add_inline(out, op, form);
    if (takes_numbers(op))
        add_declaration(out, op, form | AT | OPERANDS);
    if (!takes_numbers(op))
        add(out, "#define hk_%s%s(...) hk_%s%s_at(HK_SOURCE, __VA_ARGS__)\n", op->name, into,
            op->name, into);
}

/* "condition, " of where: what stands before x and y. */
static void write_before_numbers(const hk_op *op, char *names, size_t bytes)
{
    size_t used = 0;
    names[0] = '\0';
    for (int i = 0; i < hki_op_input_count(op, NULL) - 2; i++) {
        char name[64];
        hki_op_input_name(op, i, name, sizeof name);
        used += (size_t)snprintf(names + used, bytes - used, "%s, ", name);
    }
}

/* In C: the macro that takes arrays and numbers. Two arrays go straight. */
static void add_numbers_macro(text *out, const hk_op *op, int form)
{
    const char *into = form & INTO ? "_into" : "", *to = form & INTO ? "out, " : "";
    const char *result = form & INTO ? "" : "return ";
    char before[128], start[128];
    write_before_numbers(op, before, sizeof before);
    snprintf(start, sizeof start, "static inline %s%shk_%s_mixed%s_at(", result_type(op, form),
             form & INTO ? " " : "", op->name, into);
    add(out, "%s", start);
    add_parameters(out, op, form | AT | OPERANDS, true, (int)strlen(start));
    add(out,
        ")\n{\n    if (hk_operands_are_arrays(x, y))\n        %shk_%s%s_at(at, %s%sx.array, "
        "y.array);\n",
        result, op->name, into, to, before);
    add(out, "    else\n        %shk_%s_operands%s_at(at, %s%sx, y);\n}\n", result, op->name, into,
        to, before);
    add(out, "#define hk_%s%s(%s%sx, y) \\\n", op->name, into, to, before);
    add(out, "    hk_%s_mixed%s_at(HK_SOURCE, %s%sHK_OPERAND(x), HK_OPERAND(y))\n", op->name, into,
        to, before);
}

static void add_comment(text *out, const hk_op *op)
{
    char line[4096];
    size_t used = 0;
#define LINE(...) used += (size_t)snprintf(line + used, sizeof line - used, __VA_ARGS__)
    LINE("/* ");
    if (op->formula && *op->formula)
        LINE("%s. ", op->formula);
    LINE("%s", op->doc);
    for (int i = 0; i < hki_op_input_count(op, NULL); i++) {
        char name[64];
        if (hki_op_input_name(op, i, name, sizeof name))
            LINE(" %s may be NULL.", name);
    }
    if (has_outputs(op))
        LINE(" Results: %s.", op->outputs);
    if (op->host_only)
        LINE(" Not on GPUs yet.");
    if (!hki_op_has_gradient(op) && !op->internal && hki_op_input_count(op, NULL) > 0 &&
        op->no_grad_why)
        LINE(" No gradient: %s.", op->no_grad_why);
#undef LINE
    if (used >= sizeof line)
        die("a doc is too long");
    add_wrapped(out, line, 0, " * ", " */");
    add(out, "\n");
}

static text make_header(void)
{
    text out = text_create();
    add(&out,
        "/* Operators. Written by tools/opgen from src/op/op_table.def: do not edit; `make "
        "generate`.\n *\n"
        " * Every function returns at once; its result belongs to the innermost scope. What "
        "cannot be done gives\n * a failed array. The form with _into overwrites `out`, an array "
        "or view of the result's shape and\n * dtype, which may be one of the inputs; a call "
        "that cannot be made fails it; it is not recorded on\n * the tape. Inputs are broadcast "
        "by NumPy's rules where two of them meet element by element, and\n * their dtypes are "
        "promoted: see hk_dtype. In C an x or a y that meet so may be a number:\n"
        " * see hocket/number.h. Integers wrap around. Options may be NULL for the defaults, and "
        "so may\n * be each field: HK_ZERO. The structs\n"
        " * hk_<operator>_arguments are for hk_call alone. Of several results each is put where "
        "its pointer says; the\n"
        " * pointer may be NULL for one that is not wanted. A call that cannot be done fails all "
        "of them. */\n"
        "/* clang-format off */\n"
        "#ifndef HOCKET_OPS_H\n#define HOCKET_OPS_H\n\n#include <hocket/array.h>\n\n"
        "HK_BEGIN_DECLS\n");
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        if (op->internal)
            continue;
        add(&out, "\n");
        add_comment(&out, op);
        if (op->params)
            add_struct(&out, op);
        add_declaration(&out, op, PLAIN);
        if (hki_op_has_into(op))
            add_declaration(&out, op, INTO);
    }
    add(&out, "\n/* The same with the source position of the call: see HK_SOURCE. */\n");
    for (int i = 0; i < hki_op_count; i++) {
        const hk_op *op = hki_ops[i];
        if (op->internal)
            continue;
        add_at(&out, op, PLAIN);
        if (hki_op_has_into(op))
            add_at(&out, op, INTO);
    }
    add(&out, "\n#ifndef __cplusplus\n");
    for (int i = 0; i < hki_op_count; i++)
        for (int form = PLAIN; form <= INTO; form++)
            if (!hki_ops[i]->internal && takes_numbers(hki_ops[i]))
                add_numbers_macro(&out, hki_ops[i], form);
    add(&out, "#endif\n\nHK_END_DECLS\n\n#endif\n");
    return out;
}

/* ---- src/op/api.c ------------------------------------------------------------------------------------------ */

#include "opgen_api.inc.c"

/* ---- docs/OPERATORS.md -------------------------------------------------------------------------------------- */

#include "opgen_docs.inc.c"

/* ---- include/hocket/ops.hpp ----------------------------------------------------------------------------------- */

#include "opgen_cxx.inc.c"

/* ---- optimisers --------------------------------------------------------------------------------------------- */

#include "opgen_methods.inc.c"

/* ---- layers ------------------------------------------------------------------------------------------------- */

#include "opgen_layers.inc.c"

/* ---- files --------------------------------------------------------------------------------------------------- */

/* What the file holds, empty where there is none. */
static text read_file(const char *root, const char *name)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    text out = text_create();
    FILE *file = fopen(path, "rb");
    out.used = file ? fread(out.data, 1, TEXT_BYTES - 1, file) : 0;
    out.data[out.used] = '\0';
    if (file)
        fclose(file);
    return out;
}

/* Leaves a file alone that is right, so that nothing is built again. */
static void put(const char *root, const char *name, text content, bool check_only)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", root, name);
    text old = read_file(root, name);
    bool same = !strcmp(old.data, content.data);
    free(old.data);
    if (same) {
        free(content.data);
        return;
    }
    if (check_only) {
        fprintf(stderr, "opgen: %s is stale: make generate\n", name);
        problems++;
    } else {
        FILE *file = fopen(path, "wb");
        bool written = file && fwrite(content.data, 1, content.used, file) == content.used;
        if (!file || fclose(file) != 0 || !written) {
            perror(path);
            problems++;
        } else {
            printf("opgen: wrote %s\n", name);
        }
    }
    free(content.data);
}

/* The part of a file between two texts, that which begins it and that which ends it, which stay. */
static void put_part(const char *root, const char *name, const char *first, const char *last,
                     text part, bool check_only)
{
    text old = read_file(root, name), new = text_create();
    char *begin = strstr(old.data, first),
         *end = begin ? strstr(begin + strlen(first), last) : NULL;
    if (!end) {
        fprintf(stderr, "opgen: %s: there is no part from \"%s\" to \"%s\"\n", name, first, last);
        exit(1);
    }
    begin += strlen(first);
    add(&new, "%.*s%s%s", (int)(begin - old.data), old.data, part.data, end);
    free(old.data);
    free(part.data);
    put(root, name, new, check_only);
}

int main(int argc, char **argv)
{
    bool check_only = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 2 && !check_only) {
        fprintf(stderr, "usage: opgen [--check] ROOT\n");
        return 2;
    }
    const char *root = argv[argc - 1];
    check_table();
    put(root, "include/hocket/ops.h", make_header(), check_only);
    put(root, "include/hocket/ops.hpp", make_cxx_header(), check_only);
    put(root, "src/op/api.c", make_api(), check_only);
    put(root, "docs/OPERATORS.md", make_docs(), check_only);
    put_part(root, "include/hocket/optim.h", "as src/op/update/update.def says:\n *\n",
             " *\n * options may be NULL.", make_methods(), check_only);
    put_part(root, "python/hocket/optim.py",
             "written by tools/opgen from src/op/update/update.def\n", "# ---- learning rates",
             make_method_classes(), check_only);
    put_part(root, "include/hocket/nn.h",
             "written by tools/opgen ------------------------------------ */\n",
             "\n/* ---- recurrent layers", make_layers(), check_only);
    put_part(root, "python/hocket/nn/_layers.py", "written by tools/opgen from src/nn/layers.def\n",
             "# ---- modules of modules", make_layer_classes(), check_only);
    return problems > 0;
}
