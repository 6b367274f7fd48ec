/* Within the plug-in: a file that is being written. Nodes of Hocket's have rows of a table, which
 * add nodes of ONNX's. */
#ifndef HOCKET_ONNX_EXPORT_H
#define HOCKET_ONNX_EXPORT_H

#include "onnx.h"

enum { ONNX_EXPORT_OPSET = 18, ONNX_EXPORT_IR = 8 };

typedef struct onnx_export {
    const hk_export_graph *graph;
    const char *path;
    Onnx__GraphProto *proto;
    char **names; /* of values */
    void **blocks;
    size_t block_count, block_capacity;
    int next_name;
    double constant_bytes;
    onnx_problem *problem; /* the first */
} onnx_export;

/* One node of Hocket's on its way. */
typedef struct onnx_writing {
    onnx_export *file;
    const hk_export_node *node;
    bool is_refused;
} onnx_writing;

/* True, or false after onnx_out_refuse or for want of memory. */
typedef struct onnx_export_row {
    const char *name;
    bool (*add)(onnx_writing *out);
} onnx_export_row;
/* Each list ends with a NULL name. */
extern const onnx_export_row onnx_export_elementwise[], onnx_export_layers[], onnx_export_shapes[],
    onnx_export_reductions[], onnx_export_recurrent[];

/* Zeroed, and kept until the file has been written. NULL: no memory. */
void *onnx_export_allocate(onnx_export *file, size_t bytes);
char *onnx_export_text(onnx_export *file, const char *text);
/* Room for one more pointer behind a list of protobuf's, whose count is at *count. */
bool onnx_export_append(onnx_export *file, void *list, size_t *count, void *item);

/* The call cannot be written. Returns false. */
bool onnx_out_refuse(onnx_writing *out, const char *format, ...) HK_PRINTF(2, 3);

/* ---- what it is made of ---------------------------------------------------------------------- */

/* NULL: left out. */
const hk_export_value *onnx_out_in(const onnx_writing *out, int index);
const hk_export_value *onnx_out_of(const onnx_writing *out, int index);
const char *onnx_out_in_name(const onnx_writing *out, int index);
const char *onnx_out_of_name(const onnx_writing *out, int index);
/* Options; 0 where there is none of that name. */
const hk_export_option *onnx_out_option(const onnx_writing *out, const char *name);
int64_t onnx_out_int(const onnx_writing *out, const char *name);
double onnx_out_number(const onnx_writing *out, const char *name);
/* The option axis, from the front, of so many axes. */
int64_t onnx_out_axis(const onnx_writing *out, int ndim);
bool onnx_out_is_float(hk_dtype dtype);
int32_t onnx_out_dtype(hk_dtype dtype);

/* ---- nodes ----------------------------------------------------------------------------------- */

enum { ONNX_OUT_MOST = 8 };

/* A node of these inputs, of which a NULL name is left out; trailing ones are not written. to NULL:
 * a name of its own. Returns the name of its output; NULL: no memory, or an input of `count` first
 * ones that must be there is NULL for that reason, so that calls may be nested. */
const char *onnx_out_add(onnx_writing *out, const char *op, const char *to, int count,
                         const char *const *inputs);
#define ONNX_OUT(out, op, to, ...)                                                                 \
    onnx_out_add(out, op, to, (int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)),       \
                 (const char *[]){__VA_ARGS__})
/* A second output of the node that was added last; to NULL: a name of its own. */
bool onnx_out_second(onnx_writing *out, const char *to);
/* Attributes of that node. */
bool onnx_out_set_int(onnx_writing *out, const char *name, int64_t value);
bool onnx_out_set_float(onnx_writing *out, const char *name, double value);
bool onnx_out_set_ints(onnx_writing *out, const char *name, const int64_t *values, int count);
bool onnx_out_set_text(onnx_writing *out, const char *name, const char *text);

/* Constants of the row's own. */
const char *onnx_out_ints(onnx_writing *out, const int64_t *values, int count);
const char *onnx_out_scalar(onnx_writing *out, double value, hk_dtype dtype);
/* data: taken from onnx_export_allocate. */
const char *onnx_out_tensor(onnx_writing *out, const void *data, hk_dims shape, hk_dtype dtype);
/* A shape as int64, which may depend on the batch. */
const char *onnx_out_shape(onnx_writing *out, hk_dims shape);
const char *onnx_out_reshape(onnx_writing *out, const char *x, hk_dims shape, const char *to);
const char *onnx_out_transpose(onnx_writing *out, const char *x, const int64_t *order, int count,
                               const char *to);
/* x itself where it is of that dtype. */
const char *onnx_out_cast(onnx_writing *out, const char *x, hk_dtype from, hk_dtype dtype);
/* Input `index` as that dtype. */
const char *onnx_out_in_as(onnx_writing *out, int index, hk_dtype dtype);
/* The end of a row: x is output 0, of dtype `from`. */
bool onnx_out_finish(onnx_writing *out, const char *x, hk_dtype from);

#endif
