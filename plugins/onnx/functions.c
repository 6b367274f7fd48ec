/* Functions that a file brings: which one a node calls, and its attributes. What a newer schema
 * than the one at hand has is among the fields that are not known, as bytes. */
#include "reader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void let_go(onnx_owned one)
{
    if (one.is_attribute)
        onnx__attribute_proto__free_unpacked(one.block, NULL);
    else
        free(one.block);
}

void onnx_owned_free(onnx_model *model)
{
    for (int i = 0; i < model->owned_count; i++)
        let_go(model->owned[i]);
    free(model->owned);
}

/* Takes a block, which is freed with the model; false after a problem, and it is freed. */
static bool own(onnx_reader *reader, void *block, bool is_attribute)
{
    onnx_model *model = reader->model;
    const onnx_owned one = {block, is_attribute};
    if (block && model->owned_count % 64 == 0) {
        onnx_owned *owned =
            realloc(model->owned, ((size_t)model->owned_count + 64) * sizeof *owned);
        if (!owned) {
            let_go(one);
            return onnx_no_memory(reader->problem);
        }
        model->owned = owned;
    }
    if (!block)
        return onnx_no_memory(reader->problem);
    model->owned[model->owned_count++] = one;
    return true;
}

/* The bytes of an unknown field behind their length; NULL: it is not there. */
static const uint8_t *unknown_field(const ProtobufCMessage *message, uint32_t tag, unsigned from,
                                    size_t *bytes)
{
    for (unsigned i = from; i < message->n_unknown_fields; i++) {
        const ProtobufCMessageUnknownField *field = &message->unknown_fields[i];
        size_t at = 0;
        if (field->tag != tag || field->wire_type != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED)
            continue;
        while (at < field->len && field->data[at] & 0x80)
            at++;
        *bytes = at < field->len ? field->len - at - 1 : 0;
        return at < field->len ? field->data + at + 1 : NULL;
    }
    return NULL;
}

/* ---- which one ------------------------------------------------------------------------------- */

static bool is_same_text(const char *a, const char *b)
{
    return !strcmp(a ? a : "", b ? b : "");
}

/* Functions of one name are told apart by a text beside it. */
static bool is_same_overload(const Onnx__NodeProto *node, const Onnx__FunctionProto *function)
{
    enum { OF_NODE = 8, OF_FUNCTION = 13 };
    size_t a = 0, b = 0;
    const uint8_t *x = unknown_field(&node->base, OF_NODE, 0, &a);
    const uint8_t *y = unknown_field(&function->base, OF_FUNCTION, 0, &b);
    return a == b && (a == 0 || !memcmp(x, y, a));
}

const Onnx__FunctionProto *onnx_function_of(const onnx_reader *reader, const Onnx__NodeProto *node)
{
    const Onnx__ModelProto *proto = reader->model->proto;
    for (size_t i = 0; i < proto->n_functions; i++) {
        const Onnx__FunctionProto *function = proto->functions[i];
        if (function->name && !strcmp(function->name, node->op_type) &&
            is_same_text(function->domain, node->domain) && is_same_overload(node, function))
            return function;
    }
    return NULL;
}

int onnx_opset_where(const onnx_reader *reader, const char *domain)
{
    const Onnx__ModelProto *model = reader->model->proto;
    const Onnx__FunctionProto *function = reader->inlined ? reader->inlined->function : NULL;
    const size_t count = function ? function->n_opset_import : model->n_opset_import;
    Onnx__OperatorSetIdProto *const *imports =
        function ? function->opset_import : model->opset_import;
    for (size_t i = 0; i < count; i++) {
        const char *its = imports[i]->domain ? imports[i]->domain : "";
        if (!strcmp(its, domain) || (!*domain && !strcmp(its, "ai.onnx")))
            return imports[i]->version > 0 && imports[i]->version < 100000
                       ? (int)imports[i]->version
                       : 1;
    }
    return 1;
}

const char *onnx_name_within(onnx_reader *reader, const char *name)
{
    const onnx_inlined *inlined = reader->inlined;
    if (!inlined)
        return name;
    const char *call =
        inlined->call->name && *inlined->call->name ? inlined->call->name : inlined->function->name;
    const size_t bytes = strlen(call) + strlen(name) + 24;
    char *whole = malloc(bytes);
    if (whole)
        snprintf(whole, bytes, "%s.%d/%s", call, reader->node_count, name);
    return own(reader, whole, false) ? whole : NULL;
}

/* ---- attributes by reference ----------------------------------------------------------------- */

/* Defaults are messages within the function's unknown fields. */
static const Onnx__AttributeProto *default_of(onnx_reader *reader,
                                              const Onnx__FunctionProto *function, const char *name)
{
    enum { DEFAULTS = 11 };
    const Onnx__AttributeProto *found = NULL;
    for (unsigned i = 0; i < function->base.n_unknown_fields && !found; i++) {
        size_t bytes = 0;
        if (function->base.unknown_fields[i].tag != DEFAULTS)
            continue;
        const uint8_t *data = unknown_field(&function->base, DEFAULTS, i, &bytes);
        Onnx__AttributeProto *it = data ? onnx__attribute_proto__unpack(NULL, bytes, data) : NULL;
        if (!it)
            continue;
        if (!own(reader, it, true))
            return NULL;
        found = it->name && !strcmp(it->name, name) ? it : NULL;
    }
    return found;
}

static const Onnx__AttributeProto *value_of(onnx_reader *reader, const char *name)
{
    const onnx_inlined *inlined = reader->inlined;
    for (size_t i = 0; i < inlined->call->n_attribute; i++) {
        const Onnx__AttributeProto *given = inlined->call->attribute[i];
        if (given->name && !strcmp(given->name, name))
            return given;
    }
    return default_of(reader, inlined->function, name);
}

static bool is_reference(const Onnx__AttributeProto *attribute)
{
    return attribute->ref_attr_name && *attribute->ref_attr_name;
}

const Onnx__NodeProto *onnx_node_resolved(onnx_reader *reader, const Onnx__NodeProto *node)
{
    size_t references = 0, count = 0;
    for (size_t i = 0; i < node->n_attribute; i++)
        references += is_reference(node->attribute[i]);
    if (!references)
        return node;
    if (!reader->inlined) {
        onnx_wrong(reader->problem, HK_BAD_DATA,
                   "node %d refers to an attribute of a function, and is in none",
                   reader->node_count);
        return NULL;
    }
    Onnx__NodeProto *copy = malloc(sizeof *copy);
    Onnx__AttributeProto **attributes = malloc(node->n_attribute * sizeof(Onnx__AttributeProto *));
    const bool is_owned = own(reader, copy, false); /* both, whatever becomes of the first */
    if (!own(reader, attributes, false) || !is_owned)
        return NULL;
    for (size_t i = 0; i < node->n_attribute; i++) {
        const Onnx__AttributeProto *value =
            is_reference(node->attribute[i]) ? value_of(reader, node->attribute[i]->ref_attr_name)
                                             : node->attribute[i];
        Onnx__AttributeProto *named = value ? malloc(sizeof *named) : NULL;
        if (!value) /* the caller leaves it out, and so does the node */
            continue;
        if (!own(reader, named, false))
            return NULL;
        *named = *value;
        named->name = node->attribute[i]->name;
        attributes[count++] = named;
    }
    *copy = *node;
    copy->attribute = attributes;
    copy->n_attribute = count;
    return copy;
}
