/* A model as text: what goes in and out, which operators it is made of. */
#include "onnx.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_value(FILE *to, const char *what, const hk_model_value *value)
{
    fprintf(to, "%s %s: %s", what, value->name, hk_dtype_name(value->dtype));
    if (value->ndim < 0) {
        fprintf(to, " of any shape\n");
        return;
    }
    fprintf(to, " (");
    for (int i = 0; i < value->ndim; i++) {
        fprintf(to, "%s", i ? ", " : "");
        if (value->dims[i] >= 0)
            fprintf(to, "%" PRId64, value->dims[i]);
        else
            fprintf(to, "%s", value->axes[i] ? value->axes[i] : "?");
    }
    fprintf(to, ")\n");
}

typedef struct count {
    const char *name;
    int nodes;
} count;

static int by_nodes(const void *a, const void *b)
{
    const count *x = a, *y = b;
    return x->nodes != y->nodes ? y->nodes - x->nodes : strcmp(x->name, y->name);
}

static int count_nodes(const onnx_graph *graph, count *counts, int kinds, int most)
{
    for (int i = 0; i < graph->node_count; i++) {
        const onnx_node *node = &graph->nodes[i];
        int at = 0;
        while (at < kinds && strcmp(counts[at].name, node->proto->op_type))
            at++;
        if (at == kinds && kinds < most)
            counts[kinds++] = (count){node->proto->op_type, 0};
        if (at < kinds)
            counts[at].nodes++;
        for (size_t j = 0; j < node->proto->n_attribute; j++)
            if (node->graphs[j])
                kinds = count_nodes(node->graphs[j], counts, kinds, most);
    }
    return kinds;
}

char *onnx_to_string(const hk_model_source *source)
{
    const onnx_model *self = (const onnx_model *)source;
    enum { MOST = 512 };
    char *text = NULL;
    size_t bytes = 0;
    count counts[MOST];
    FILE *to = open_memstream(&text, &bytes);
    if (!to)
        return NULL;
    const Onnx__ModelProto *proto = self->proto;
    fprintf(to, "ONNX, IR version %" PRId64, proto->ir_version);
    for (size_t i = 0; i < proto->n_opset_import; i++) {
        const char *domain = proto->opset_import[i]->domain;
        fprintf(to, ", opset %" PRId64 "%s%s", proto->opset_import[i]->version,
                domain && *domain ? " of " : "", domain ? domain : "");
    }
    if (proto->producer_name && *proto->producer_name)
        fprintf(to, ", by %s %s", proto->producer_name,
                proto->producer_version ? proto->producer_version : "");
    fprintf(to, "\n");
    for (int i = 0; i < source->input_count; i++)
        print_value(to, "input", &source->inputs[i]);
    for (int i = 0; i < source->output_count; i++)
        print_value(to, "output", &source->outputs[i]);
    int64_t elements = 0;
    for (int i = 0; i < source->parameter_count; i++)
        elements += hk_size(source->parameters[i]);
    fprintf(to, "%d parameters with %" PRId64 " elements\n", source->parameter_count, elements);
    const int kinds = count_nodes(self->main, counts, 0, MOST);
    qsort(counts, (size_t)kinds, sizeof *counts, by_nodes);
    fprintf(to, "operators:");
    for (int i = 0; i < kinds; i++)
        fprintf(to, "%s %s %d", i ? "," : "", counts[i].name, counts[i].nodes);
    fprintf(to, "\n");
    if (fclose(to)) {
        free(text);
        return NULL;
    }
    return text;
}
