/* What pickles of PyTorch may name. */
#include "io/torch_names.h"

#include "base/quote.h"

#include <string.h>

static const hki_torch_name rows[] = {
    {"torch", "FloatStorage", HKI_TORCH_STORAGE, HK_F32, 4},
    {"torch", "DoubleStorage", HKI_TORCH_STORAGE, HK_F64, 8},
    {"torch", "HalfStorage", HKI_TORCH_STORAGE, HK_F16, 2},
    {"torch", "BFloat16Storage", HKI_TORCH_STORAGE, HK_BF16, 2},
    {"torch", "LongStorage", HKI_TORCH_STORAGE, HK_I64, 8},
    {"torch", "IntStorage", HKI_TORCH_STORAGE, HK_I32, 4},
    {"torch", "ShortStorage", HKI_TORCH_STORAGE, HK_I16, 2},
    {"torch", "CharStorage", HKI_TORCH_STORAGE, HK_I8, 1},
    {"torch", "ByteStorage", HKI_TORCH_STORAGE, HK_U8, 1},
    {"torch", "BoolStorage", HKI_TORCH_STORAGE, HK_BOOL, 1},
    {"torch", "ComplexFloatStorage", HKI_TORCH_STORAGE, HK_C64, 8},
    {"torch", "ComplexDoubleStorage", HKI_TORCH_STORAGE, HK_C128, 16},
    {"torch", "QInt8Storage", HKI_TORCH_STORAGE, -1, 1},
    {"torch", "QUInt8Storage", HKI_TORCH_STORAGE, -1, 1},
    {"torch", "QInt32Storage", HKI_TORCH_STORAGE, -1, 4},
    {"torch", "QUInt4x2Storage", HKI_TORCH_STORAGE, -1, 1},
    {"torch", "QUInt2x4Storage", HKI_TORCH_STORAGE, -1, 1},
    {"torch.storage", "UntypedStorage", HKI_TORCH_STORAGE, HK_U8, 1},
    {"torch", "UntypedStorage", HKI_TORCH_STORAGE, HK_U8, 1},
    {"torch", "float32", HKI_TORCH_DTYPE, HK_F32, 4},
    {"torch", "float64", HKI_TORCH_DTYPE, HK_F64, 8},
    {"torch", "float16", HKI_TORCH_DTYPE, HK_F16, 2},
    {"torch", "bfloat16", HKI_TORCH_DTYPE, HK_BF16, 2},
    {"torch", "int64", HKI_TORCH_DTYPE, HK_I64, 8},
    {"torch", "int32", HKI_TORCH_DTYPE, HK_I32, 4},
    {"torch", "int16", HKI_TORCH_DTYPE, HK_I16, 2},
    {"torch", "int8", HKI_TORCH_DTYPE, HK_I8, 1},
    {"torch", "uint8", HKI_TORCH_DTYPE, HK_U8, 1},
    {"torch", "uint16", HKI_TORCH_DTYPE, HK_U16, 2},
    {"torch", "uint32", HKI_TORCH_DTYPE, HK_U32, 4},
    {"torch", "uint64", HKI_TORCH_DTYPE, HK_U64, 8},
    {"torch", "bool", HKI_TORCH_DTYPE, HK_BOOL, 1},
    {"torch", "complex64", HKI_TORCH_DTYPE, HK_C64, 8},
    {"torch", "complex128", HKI_TORCH_DTYPE, HK_C128, 16},
    {"torch", "complex32", HKI_TORCH_DTYPE, -1, 4},
    {"torch", "float8_e4m3fn", HKI_TORCH_DTYPE, -1, 1},
    {"torch", "float8_e4m3fnuz", HKI_TORCH_DTYPE, -1, 1},
    {"torch", "float8_e5m2", HKI_TORCH_DTYPE, -1, 1},
    {"torch", "float8_e5m2fnuz", HKI_TORCH_DTYPE, -1, 1},
    {"torch", "float8_e8m0fnu", HKI_TORCH_DTYPE, -1, 1},
    {"torch", "float4_e2m1fn_x2", HKI_TORCH_DTYPE, -1, 1},
    {"torch._utils", "_rebuild_tensor", HKI_TORCH_TENSOR, -1, 0},
    {"torch._utils", "_rebuild_tensor_v2", HKI_TORCH_TENSOR, -1, 0},
    {"torch._utils", "_rebuild_tensor_v3", HKI_TORCH_TENSOR_OF, -1, 0},
    {"torch._utils", "_rebuild_parameter", HKI_TORCH_PARAMETER, -1, 0},
    {"torch._utils", "_rebuild_parameter_with_state", HKI_TORCH_PARAMETER, -1, 0},
    {"torch._tensor", "_rebuild_from_type_v2", HKI_TORCH_TYPED, -1, 0},
    {"torch._tensor", "Tensor", HKI_TORCH_CLASS, -1, 0},
    {"torch", "Tensor", HKI_TORCH_CLASS, -1, 0},
    {"torch.nn.parameter", "Parameter", HKI_TORCH_CLASS, -1, 0},
    {"torch.nn.parameter", "Buffer", HKI_TORCH_CLASS, -1, 0},
    {"torch._utils", "_rebuild_qtensor", HKI_TORCH_STRANGE, -1, 0},
    {"torch._utils", "_rebuild_sparse_tensor", HKI_TORCH_STRANGE, -1, 0},
    {"torch._utils", "_rebuild_meta_tensor_no_storage", HKI_TORCH_STRANGE, -1, 0},
    {"torch.serialization", "_get_layout", HKI_TORCH_TEXT, -1, 0},
    {"torch", "per_tensor_affine", HKI_TORCH_CLASS, -1, 0},
    {"torch", "per_channel_affine", HKI_TORCH_CLASS, -1, 0},
    {"torch", "Size", HKI_TORCH_SIZE, -1, 0},
    {"torch", "device", HKI_TORCH_TEXT, -1, 0},
    {"collections", "OrderedDict", HKI_TORCH_DICT, -1, 0},
    {"collections", "Counter", HKI_TORCH_DICT_OF, -1, 0},
    {"builtins", "set", HKI_TORCH_SET, -1, 0},
    {"__builtin__", "set", HKI_TORCH_SET, -1, 0},
    {"builtins", "frozenset", HKI_TORCH_SET, -1, 0},
    {"__builtin__", "frozenset", HKI_TORCH_SET, -1, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

static bool is_same(const char *text, const char *other, size_t bytes)
{
    return strlen(text) == bytes && !memcmp(text, other, bytes);
}

int hki_torch_find_name(const char *module, size_t module_bytes, const char *name,
                        size_t name_bytes, hki_io_error *error)
{
    for (int row = 0; row < ROWS; row++)
        if (is_same(rows[row].module, module, module_bytes) &&
            is_same(rows[row].name, name, name_bytes))
            return row;
    hki_io_fail(error, HK_UNSUPPORTED,
                "holds a %s.%s, of which nothing is made here: tensors, numbers, texts, and lists "
                "and dicts of them are read; save state_dict() in place of an object",
                hki_quote_bytes(module, module_bytes, 100).text,
                hki_quote_bytes(name, name_bytes, 100).text);
    return -1;
}

const hki_torch_name *hki_torch_name_at(int64_t row)
{
    return &rows[row];
}

int hki_torch_row_of(const hki_pickle_value *of, hki_torch_role wanted)
{
    if (!of || of->kind != HKI_PICKLE_GLOBAL || rows[of->integer].role != wanted)
        return -1;
    return (int)of->integer;
}
