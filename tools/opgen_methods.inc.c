/* The methods of optimisers, in hocket/optim.h and as classes of Python. Included by opgen.c. */

typedef struct method {
    const char *name, *class_text; /* "AdamW(Adam)"; "": written by hand */
    int has;
    const char *lr, *first, *second, *epsilon, *decay, *doc;
} method;

static const method methods[] = {
#define METHOD(update, name, class, options, lr, first, second, epsilon, decay, text)              \
    {#name, #class, options, #lr, #first, #second, #epsilon, #decay, text},
#include "op/update/update.def"
};
enum { METHOD_COUNT = sizeof methods / sizeof *methods };

/* The lines of hk_optimizer_create's comment. */
static text make_methods(void)
{
    text out = text_create();
    for (const method *m = methods; m < methods + METHOD_COUNT; m++) {
        char values[96] = "", start[160];
        const char *between = "";
        size_t used = 0;
#define VALUE(bit, ...)                                                                            \
    if (m->has & (bit)) {                                                                          \
        used += (size_t)snprintf(values + used, sizeof values - used, "%s", between);              \
        used += (size_t)snprintf(values + used, sizeof values - used, __VA_ARGS__);                \
        between = ", ";                                                                            \
    }
        VALUE(HKI_HAS_MOMENTUM, "momentum %s", m->first)
        VALUE(HKI_HAS_BETAS, "%s, %s", m->first, m->second)
        VALUE(HKI_HAS_RHO, "rho %s", m->first)
        VALUE(HKI_HAS_EPSILON, "%s", m->epsilon)
#undef VALUE
        snprintf(start, sizeof start, " *   \"%s\"%*s %s%s%s%s", m->name, 9 - (int)strlen(m->name),
                 "", m->lr, *values ? " (" : "", values, *values ? ")" : "");
        add(&out, "%-44s ", start);
        add_wrapped(&out, m->doc, 45, " *                                           ", "");
        add(&out, "\n");
    }
    return out;
}

/* A class of python/hocket/optim.py. */
static void add_class(text *out, const method *m)
{
    add(out, "\n\nclass %s:\n    \"\"\"%s.\"\"\"\n    _method = \"%s\"\n\n", m->class_text, m->doc,
        m->name);
    add(out, "    def __init__(self, params, lr=%s", m->lr);
    if (m->has & HKI_HAS_MOMENTUM)
        add(out, ", momentum=%s", m->first);
    if (m->has & HKI_HAS_BETAS)
        add(out, ", betas=(%s, %s)", m->first, m->second);
    if (m->has & HKI_HAS_RHO)
        add(out, ", rho=%s", m->first);
    if (m->has & HKI_HAS_EPSILON)
        add(out, ", epsilon=%s", m->epsilon);
    add(out, ", batch=1, weight_decay=%s%s, group=None):\n", m->decay,
        m->has & HKI_HAS_MOMENTUM ? ", nesterov=False" : "");
    add(out, "        _Stateful.__init__(self, params, lr, batch, weight_decay");
    if (m->has & HKI_HAS_MOMENTUM)
        add(out, ", momentum=_said(momentum), nesterov=nesterov");
    if (m->has & HKI_HAS_BETAS)
        add(out, ", beta1=_said(betas[0]), beta2=_said(betas[1])");
    if (m->has & HKI_HAS_RHO)
        add(out, ", rho=_said(rho)");
    if (m->has & HKI_HAS_EPSILON)
        add(out, ", epsilon=_said(epsilon)");
    add(out, ", group=group)\n");
}

static text make_method_classes(void)
{
    text out = text_create();
    const char *between = "";
    add(&out, "\n__all__ += [");
    for (const method *m = methods; m < methods + METHOD_COUNT; m++)
        if (*m->class_text) {
            add(&out, "%s\"%.*s\"", between, (int)strcspn(m->class_text, "("), m->class_text);
            between = ", ";
        }
    add(&out, "]\n");
    for (const method *m = methods; m < methods + METHOD_COUNT; m++)
        if (*m->class_text)
            add_class(&out, m);
    add(&out, "\n\n");
    return out;
}
