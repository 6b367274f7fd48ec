/* Modules as a table. */
#include "nn/module.h"

#include "base/text.h"

#include <inttypes.h>

typedef struct table {
    FILE *stream;
    int64_t count, frozen;
} table;

static void print_row(table *self, const hk_module *module)
{
    char path[HK_MODULE_PATH_BYTES], shape[160] = "";
    int64_t own = 0;
    hki_module_path(module, NULL, path, sizeof path);
    if (module->shape.ndim >= 0)
        hki_dims_describe(&module->shape, shape, sizeof shape);
    for (int i = 0; i < module->value_count; i++)
        if (!module->values[i].is_buffer)
            own += module->values[i].array->size;
    self->count += own;
    if (module->is_frozen)
        self->frozen += own;
    fprintf(self->stream, "%-28s %-16s %-22s %12" PRId64 "\n", path[0] ? path : ".", module->kind,
            shape, own);
    for (int i = 0; i < module->child_count; i++)
        print_row(self, module->children[i]);
}

int hk_module_print(const hk_module *self, FILE *stream)
{
    const hk_status *status = hk_module_status(self);
    if (!hk_ok(status))
        return hk_status_print(status, stream);
    table out = {.stream = stream};
    fprintf(stream, "%-28s %-16s %-22s %12s\n", "module", "kind", "last result", "parameters");
    print_row(&out, self);
    fprintf(stream, "%" PRId64 " parameters", out.count);
    if (out.frozen)
        fprintf(stream, ", %" PRId64 " of them frozen", out.frozen);
    fprintf(stream, "\n");
    return 0;
}
