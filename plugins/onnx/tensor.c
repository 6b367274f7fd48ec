/* Tensors of a file: in the file, in one of several forms, or in another file beside it. */
#include "onnx.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool onnx_dtype_of(int32_t onnx, hk_dtype *dtype)
{
    static const struct {
        int32_t onnx;
        hk_dtype dtype;
    } known[] = {{1, HK_F32},  {2, HK_U8},   {3, HK_I8},   {4, HK_U16},   {5, HK_I16},
                 {6, HK_I32},  {7, HK_I64},  {9, HK_BOOL}, {10, HK_F16},  {11, HK_F64},
                 {12, HK_U32}, {13, HK_U64}, {14, HK_C64}, {15, HK_C128}, {16, HK_BF16}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].onnx == onnx) {
            *dtype = known[i].dtype;
            return true;
        }
    return false;
}

static const char *name_of(const Onnx__TensorProto *tensor)
{
    return tensor->name ? tensor->name : "";
}

static bool shape_of(const Onnx__TensorProto *tensor, hk_dims *shape, uint64_t *count,
                     onnx_problem *problem)
{
    if (tensor->n_dims > HK_MAX_NDIM)
        return onnx_wrong(problem, HK_UNSUPPORTED,
                          "tensor %.80s has %zu axes; at most %d are known", name_of(tensor),
                          tensor->n_dims, HK_MAX_NDIM);
    shape->ndim = (int)tensor->n_dims;
    *count = 1;
    for (int i = 0; i < shape->ndim; i++) {
        const int64_t size = tensor->dims[i];
        if (size < 0 || (size > 0 && *count > (UINT64_C(1) << 40) / (uint64_t)size))
            return onnx_wrong(problem, HK_BAD_DATA, "axis %d of tensor %.80s is %" PRId64, i,
                              name_of(tensor), size);
        shape->dims[i] = size;
        *count *= (uint64_t)size;
    }
    return true;
}

/* ---- data beside the file -----------------------------------------------------------------------
 */

static const char *entry_of(const Onnx__TensorProto *tensor, const char *key)
{
    for (size_t i = 0; i < tensor->n_external_data; i++) {
        const Onnx__StringStringEntryProto *entry = tensor->external_data[i];
        if (entry->key && entry->value && !strcmp(entry->key, key))
            return entry->value;
    }
    return NULL;
}

static bool number_of(const char *text, uint64_t otherwise, uint64_t *value)
{
    char *end;
    *value = otherwise;
    if (!text)
        return true;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return end != text && !*end && !errno && *text != '-';
}

/* Within the folder of the model: files say what is read. */
static bool is_beside(const char *path)
{
    if (!path || !*path || *path == '/')
        return false;
    for (const char *at = path; at; at = strchr(at, '/')) {
        at += *at == '/';
        if (!strncmp(at, "..", 2) && (!at[2] || at[2] == '/'))
            return false;
    }
    return true;
}

static void *read_beside(const onnx_model *self, const Onnx__TensorProto *tensor, uint64_t bytes,
                         onnx_problem *problem)
{
    const char *location = entry_of(tensor, "location");
    uint64_t offset, length;
    char path[4096];
    if (!is_beside(location) || !number_of(entry_of(tensor, "offset"), 0, &offset) ||
        !number_of(entry_of(tensor, "length"), bytes, &length) || length != bytes ||
        offset > INT64_MAX ||
        (size_t)snprintf(path, sizeof path, "%s%s", self->folder, location) >= sizeof path) {
        onnx_wrong(problem, HK_BAD_DATA,
                   "tensor %.80s is said to be in the file %.200s, at a place or of a size that it "
                   "cannot have",
                   name_of(tensor), location ? location : "(none)");
        return NULL;
    }
    FILE *file = fopen(path, "rb");
    void *data = file ? malloc(bytes + 1) : NULL;
    const bool is_read =
        data && !fseeko(file, (off_t)offset, SEEK_SET) && fread(data, 1, bytes, file) == bytes;
    if (!is_read) {
        onnx_wrong(problem, file ? HK_BAD_DATA : HK_NOT_FOUND,
                   "the file %.300s beside the model, with tensor %.80s, %s", path, name_of(tensor),
                   file ? "is shorter than it should be" : "cannot be opened");
        free(data);
        data = NULL;
    }
    if (file)
        fclose(file);
    return data;
}

/* ---- data in the file ---------------------------------------------------------------------------
 */

/* Values that stand as wider ones. */
static bool narrow(const Onnx__TensorProto *tensor, hk_dtype dtype, uint64_t count, void *to)
{
    const size_t width = hk_dtype_bytes(dtype);
    const bool is_unsigned = tensor->n_uint64_data == count && (dtype == HK_U32 || dtype == HK_U64);
    if (!is_unsigned && tensor->n_int32_data != count)
        return false;
    for (uint64_t i = 0; i < count; i++) { /* little endian */
        const uint64_t value =
            is_unsigned ? tensor->uint64_data[i] : (uint64_t)(int64_t)tensor->int32_data[i];
        memcpy((char *)to + i * width, &value, width);
    }
    return true;
}

static bool copy(const Onnx__TensorProto *tensor, hk_dtype dtype, uint64_t count, void *to)
{
    const size_t bytes = count * hk_dtype_bytes(dtype);
    const size_t parts = dtype == HK_C64 || dtype == HK_C128 ? 2 * count : count;
    if (tensor->has_raw_data && tensor->raw_data.len == bytes) {
        if (bytes)
            memcpy(to, tensor->raw_data.data, bytes);
        return true;
    }
    if (tensor->has_raw_data && tensor->raw_data.len)
        return false;
    switch (dtype) {
    case HK_F32:
    case HK_C64:
        if (tensor->n_float_data != parts)
            return false;
        if (bytes)
            memcpy(to, tensor->float_data, bytes);
        return true;
    case HK_F64:
    case HK_C128:
        if (tensor->n_double_data != parts)
            return false;
        if (bytes)
            memcpy(to, tensor->double_data, bytes);
        return true;
    case HK_I64:
        if (tensor->n_int64_data != count)
            return false;
        if (bytes)
            memcpy(to, tensor->int64_data, bytes);
        return true;
    default:
        return narrow(tensor, dtype, count, to);
    }
}

hk_array *onnx_tensor_read(const onnx_model *self, const Onnx__TensorProto *tensor,
                           onnx_problem *problem)
{
    hk_dtype dtype;
    hk_dims shape;
    uint64_t count = 0;
    if (!onnx_dtype_of(tensor->data_type, &dtype)) {
        onnx_wrong(problem, HK_UNSUPPORTED, "tensor %.80s is of ONNX's type %" PRId32 "%s",
                   name_of(tensor), tensor->data_type,
                   tensor->data_type == 8 ? ", strings" : ", which Hocket does not have");
        return NULL;
    }
    if (!shape_of(tensor, &shape, &count, problem))
        return NULL;
    const uint64_t bytes = count * hk_dtype_bytes(dtype);
    void *data = NULL;
    if (tensor->has_data_location && tensor->data_location == 1) {
        data = read_beside(self, tensor, bytes, problem);
    } else if (bytes > tensor->raw_data.len && !tensor->n_float_data && !tensor->n_double_data &&
               !tensor->n_int64_data && !tensor->n_int32_data && !tensor->n_uint64_data) {
        onnx_wrong(problem, HK_BAD_DATA,
                   "tensor %.80s has %zu bytes, where its shape asks for %" PRIu64, name_of(tensor),
                   tensor->raw_data.len, bytes);
    } else if (!(data = malloc(bytes + 1))) {
        onnx_wrong(problem, HK_OUT_OF_MEMORY, "out of host memory");
    } else if (!copy(tensor, dtype, count, data)) {
        onnx_wrong(problem, HK_BAD_DATA,
                   "tensor %.80s has not as many values as its shape asks for", name_of(tensor));
        free(data);
        data = NULL;
    }
    if (!data)
        return NULL;
    if (dtype == HK_BOOL)
        for (uint64_t i = 0; i < count; i++)
            ((uint8_t *)data)[i] = ((uint8_t *)data)[i] != 0;
    hk_array *x = hk_take(hk_from_host(data, shape, dtype, self->host));
    free(data);
    return x;
}

/* ---- nodes that are constants -------------------------------------------------------------------
 */

hk_array *onnx_constant_read(const onnx_model *self, const Onnx__NodeProto *node,
                             onnx_problem *problem)
{
    const Onnx__AttributeProto *value = node->n_attribute == 1 ? node->attribute[0] : NULL;
    const char *name = value && value->name ? value->name : "";
    if (!strcmp(name, "value") && value->t)
        return onnx_tensor_read(self, value->t, problem);
    if (!strcmp(name, "value_int"))
        return hk_take(hk_from_host(&value->i, hk_shape(), HK_I64, self->host));
    if (!strcmp(name, "value_ints"))
        return hk_take(
            hk_from_host(value->ints, hk_shape((int64_t)value->n_ints), HK_I64, self->host));
    if (!strcmp(name, "value_float"))
        return hk_take(hk_from_host(&value->f, hk_shape(), HK_F32, self->host));
    if (!strcmp(name, "value_floats"))
        return hk_take(
            hk_from_host(value->floats, hk_shape((int64_t)value->n_floats), HK_F32, self->host));
    onnx_wrong(problem, HK_UNSUPPORTED,
               "the constant %.80s has %zu attributes, the first %.40s; one of value, value_int, "
               "value_ints, value_float and value_floats can be read",
               node->output[0], node->n_attribute, name);
    return NULL;
}
