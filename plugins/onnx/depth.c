/* protobuf-c reads messages within messages by recursion, and would go as deep as a file says. */
#include "onnx.h"

enum { MOST_DEPTH = 48 };

/* Kinds of messages that may hold themselves, and by which fields. */
enum {
    OTHER,
    MODEL,
    GRAPH,
    NODE,
    ATTRIBUTE,
    FUNCTION,
    TRAINING,
    VALUE_INFO,
    TYPE,
    HOLDER,
    KIND_COUNT
};

static int kind_within(int kind, uint32_t field)
{
    switch (kind) {
    case MODEL:
        return field == 7 ? GRAPH : field == 20 ? TRAINING : field == 25 ? FUNCTION : OTHER;
    case TRAINING:
        return field == 1 || field == 2 ? GRAPH : OTHER;
    case FUNCTION:
        return field == 7 ? NODE : field == 11 ? ATTRIBUTE : field == 12 ? VALUE_INFO : OTHER;
    case GRAPH:
        return field == 1 ? NODE : field >= 11 && field <= 13 ? VALUE_INFO : OTHER;
    case NODE:
        return field == 5 ? ATTRIBUTE : OTHER;
    case ATTRIBUTE:
        return field == 6 || field == 11 ? GRAPH : field == 14 || field == 15 ? TYPE : OTHER;
    case VALUE_INFO:
        return field == 2 ? TYPE : OTHER;
    case TYPE: /* a sequence, a map, an optional: */
        return field == 4 || field == 5 || field == 9 ? HOLDER : OTHER;
    case HOLDER:
        return field == 1 || field == 2 ? TYPE : OTHER;
    default:
        return OTHER;
    }
}

typedef struct part {
    const uint8_t *at, *end;
    int kind;
} part;

static bool read_varint(part *self, uint64_t *value)
{
    *value = 0;
    for (int shift = 0; shift < 64 && self->at < self->end; shift += 7) {
        const uint8_t byte = *self->at++;
        *value |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return true;
    }
    return false;
}

/* The field behind the tag; a message within becomes *within. False: what is there is no message.
 */
static bool skip(part *self, part *within)
{
    uint64_t tag, bytes = 0;
    within->kind = OTHER;
    if (!read_varint(self, &tag))
        return false;
    switch (tag & 7) {
    case 0:
        return read_varint(self, &bytes);
    case 1:
        bytes = 8;
        break;
    case 5:
        bytes = 4;
        break;
    case 2:
        if (!read_varint(self, &bytes))
            return false;
        break;
    default:
        return false;
    }
    if (bytes > (uint64_t)(self->end - self->at))
        return false;
    if ((tag & 7) == 2)
        *within = (part){self->at, self->at + bytes, kind_within(self->kind, (uint32_t)(tag >> 3))};
    self->at += bytes;
    return true;
}

bool onnx_depth_is_fine(const uint8_t *data, size_t bytes)
{
    part parts[MOST_DEPTH] = {{data, data + bytes, MODEL}};
    for (int depth = 0; depth >= 0;) {
        part within;
        if (parts[depth].at == parts[depth].end) {
            depth--;
        } else if (!skip(&parts[depth], &within)) {
            return false;
        } else if (within.kind != OTHER) {
            if (++depth == MOST_DEPTH)
                return false;
            parts[depth] = within;
        }
    }
    return true;
}
