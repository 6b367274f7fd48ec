/* Networks that others made, and the way back: a file becomes a model, which is called like a
 * function; a module, or captured calls, become a file.
 *
 *     hk_model *model = hk_model_load("resnet18.onnx", NULL);
 *     if (!hk_ok(hk_model_status(model)))
 *         return hk_status_print(hk_model_status(model), stderr);
 *     hk_array *logits;
 *     hk_model_run(model, (hk_array *[]){image}, 1, &logits, 1);   // returns at once
 *
 * and, the other way, hk_model_export("net.onnx", net, &images, 1, NULL);
 *
 * Files are read and written by plug-ins, libhocket_NAME.so beside the library, for each format:
 * onnx. A program that loads none carries nothing of them.
 *
 * The first run with inputs of some shapes makes the model's calls one by one; the second notes
 * them (hocket/graph.h), and later ones replay what was noted. What the shapes alone decide is
 * computed once. A model in which values decide shapes or branches waits for these, and makes its
 * calls each time. While recording (hocket/autograd.h) calls are made one by one, too, so that
 * parameters with gradients can be trained.
 *
 * Thread-safe: one model may be run by several threads at once, over one copy of its parameters. */
#ifndef HOCKET_MODEL_H
#define HOCKET_MODEL_H

#include <hocket/array.h>
#include <hocket/graph.h>
#include <hocket/nn.h>

HK_BEGIN_DECLS

typedef struct hk_model hk_model;

/* May be NULL: defaults. */
typedef struct hk_model_options {
    hk_device
        device; /* of its parameters, and of what it computes (default: hk_device_default()) */
    const char *format; /* as "onnx" (default: by the file's name) */
    /* Its parameters are arrays that may be written and trained. Otherwise they are constants, what
     * depends on them alone is computed once, and batch norms become part of weights, as rounding
     * shows. */
    bool trainable;
} hk_model_options;

/* Reads a file. Never NULL; the caller owns it. Errors (hk_model_status): HK_NOT_FOUND (the file,
 * or the plug-in, whose package is named), HK_BAD_DATA (where and what), HK_UNSUPPORTED (which node
 * needs what, and how many of the nodes could run), HK_OUT_OF_MEMORY. Blocks until the file has
 * been read. */
HK_API hk_model *hk_model_load(const char *path, const hk_model_options *options);
HK_AT_OPTIONS(hk_model *, hk_model_load, hk_model_options,
              (hk_source at, const char *path, const hk_model_options *options), (path, options))
#define hk_model_load(...) hk_model_load_at(HK_SOURCE, __VA_ARGS__)
/* HK_OK, or why it cannot be used. Lent: valid until the thread's next call that lends one. */
HK_API const hk_status *hk_model_status(const hk_model *model);
/* Runs under way go on. NULL does nothing. */
HK_API void hk_model_release(hk_model *model);

/* What goes in, or comes out. Texts live as long as the model. */
typedef struct hk_model_value {
    const char *name;
    hk_dtype dtype;
    int ndim;                  /* -1: any */
    int64_t dims[HK_MAX_NDIM]; /* -1: free */
    const char
        *axes[HK_MAX_NDIM]; /* names of free axes, which files may give wrongly; NULL: no name */
} hk_model_value;

/* 0 for NULL and for a failed model. None of these blocks. */
HK_API int hk_model_input_count(const hk_model *model);
HK_API int hk_model_output_count(const hk_model *model);
HK_API int hk_model_parameter_count(const hk_model *model);
/* Of no name and dtype 0 beyond the count. */
HK_API hk_model_value hk_model_input(const hk_model *model, int index);
HK_API hk_model_value hk_model_output(const hk_model *model, int index);
/* Of a trainable model, borrowed: writing it changes what the model computes. NULL beyond the
 * count. */
HK_API hk_array *hk_model_parameter(const hk_model *model, int index);
/* Its name in the file; NULL beyond the count. */
HK_API const char *hk_model_parameter_name(const hk_model *model, int index);

/* Computes all outputs from all inputs, on the model's device: outputs[i] becomes a new array of
 * the current scope. Errors give failed arrays: a count, dtype or shape that is not the model's.
 * Returns at once where shapes decide what is computed; else waits for the values that do. */
HK_API void hk_model_run(hk_model *model, hk_array *const *inputs, int input_count,
                         hk_array **outputs, int output_count);
HK_AT_VOID(hk_model_run,
           (hk_source at, hk_model *model, hk_array *const *inputs, int input_count,
            hk_array **outputs, int output_count),
           (model, inputs, input_count, outputs, output_count))
#define hk_model_run(...) hk_model_run_at(HK_SOURCE, __VA_ARGS__)

/* Its inputs, outputs, operators and parameters, as text, which the caller frees; NULL: out of
 * memory. Does not block. */
HK_API char *hk_model_to_string(const hk_model *model);

/* ---- the way out ----------------------------------------------------------------------------- */

/* May be NULL: defaults. */
typedef struct hk_model_export_options {
    const char *format; /* as "onnx" (default: by the file's name) */
    /* Names of inputs and of outputs, as many as there are, all different (default: input, output;
     * of several input_0, input_1 …) */
    const char *const *input_names, *const *output_names;
    /* Axis 0 of all inputs is free, and called so, as is what follows from it: outputs, shapes in
     * between (default: NULL, all sizes are those of the inputs given). Calls are then noted twice,
     * for two sizes, of rows of the inputs given. */
    const char *batch;
    /* Values of arrays that take more bytes than this together go to a file beside it, of the same
     * name with .data behind (default: 1.9e9; HK_ZERO: always) */
    double most_bytes;
    /* Names of arrays that the calls read, as many as array_count (default: those of a module by
     * their paths; others have no name of their own) */
    hk_array *const *arrays;
    const char *const *array_names;
    int array_count;
} hk_model_export_options;

/* Writes what the module makes of inputs like these as a file that others read: its calls in
 * evaluation mode, its arrays with their values and, as names, their paths. All inputs lie on one
 * device. The module is called two or three times, which makes its parameters where they are still
 * to be made, and is then in the mode in which it was. The result is lent: valid until the thread's
 * next call that lends one.
 *
 * Errors: HK_INVALID_ARGUMENT (what is NULL or failed; names; within a capture), HK_NOT_FOUND (the
 * plug-in), HK_UNSUPPORTED (an operator that the format has none for, with the line of its call and
 * how many of the calls could be written; a call that cannot be noted, see hocket/graph.h; a size
 * that depends on the batch in another way than as a multiple), HK_IO (the file), what has failed
 * in the calls, HK_OUT_OF_MEMORY. Where it cannot be written, a file that was there stays. Takes
 * host memory for two copies of the constants. Blocks: values are read, and the file is written. */
HK_API const hk_status *hk_model_export(const char *path, hk_module *module,
                                        hk_array *const *inputs, int input_count,
                                        const hk_model_export_options *options);
HK_AT_OPTIONS(const hk_status *, hk_model_export, hk_model_export_options,
              (hk_source at, const char *path, hk_module *module, hk_array *const *inputs,
               int input_count, const hk_model_export_options *options),
              (path, module, inputs, input_count, options))
#define hk_model_export(...) hk_model_export_at(HK_SOURCE, __VA_ARGS__)

/* What is to be written, as calls: makes outputs[0] … from the inputs, `output_count` of them, at
 * most HK_EXPORT_OUTPUTS, as arrays of the current scope. Called up to three times. False: it could
 * not. */
enum { HK_EXPORT_OUTPUTS = 64 };
typedef bool hk_export_call_fn(void *context, hk_array *const *inputs, int input_count,
                               hk_array **outputs, int *output_count);
/* The same of any calls. Arrays from before, and those that hk_from_host makes within, become
 * constants with their values now; what writes such an array is refused. */
HK_API const hk_status *hk_model_export_call(const char *path, hk_export_call_fn *call,
                                             void *context, hk_array *const *inputs,
                                             int input_count,
                                             const hk_model_export_options *options);
HK_AT_OPTIONS(const hk_status *, hk_model_export_call, hk_model_export_options,
              (hk_source at, const char *path, hk_export_call_fn *call, void *context,
               hk_array *const *inputs, int input_count, const hk_model_export_options *options),
              (path, call, context, inputs, input_count, options))
#define hk_model_export_call(...) hk_model_export_call_at(HK_SOURCE, __VA_ARGS__)

/* The same of a graph that was captured with the option `exact`. Its bound arrays that are only
 * read become inputs, in their order, and others that are only read become constants; outputs are
 * bound arrays that are written before they are read, in their order, and then `results`, arrays
 * that the graph writes. A batch cannot be free. */
HK_API const hk_status *hk_model_export_graph(const char *path, const hk_graph *graph,
                                              hk_array *const *results, int result_count,
                                              const hk_model_export_options *options);
HK_AT_OPTIONS(const hk_status *, hk_model_export_graph, hk_model_export_options,
              (hk_source at, const char *path, const hk_graph *graph, hk_array *const *results,
               int result_count, const hk_model_export_options *options),
              (path, graph, results, result_count, options))
#define hk_model_export_graph(...) hk_model_export_graph_at(HK_SOURCE, __VA_ARGS__)

/* ---- formats --------------------------------------------------------------------------------- */

/* For who writes a plug-in: libhocket_NAME.so exports hk_model_open_fn hocket_model_open. A source
 * is immutable once it has been opened; its functions may be called by several threads at once. */
enum { HK_MODEL_ABI = 1 };

/* What shapes alone decide, kept by a source from one run to the next with inputs of the same
 * shapes. */
typedef struct hk_model_memo hk_model_memo;

typedef struct hk_model_outcome {
    hk_code code;  /* not HK_OK: it cannot be run, and outputs are not set */
    bool is_loose; /* values that depend on more than shapes have been read */
} hk_model_outcome;

typedef struct hk_model_source {
    int abi; /* HK_MODEL_ABI */
    int input_count, output_count, parameter_count;
    const hk_model_value *inputs, *outputs;
    hk_array *const *parameters;
    const char *const *parameter_names;
    /* Makes the calls: outputs become arrays, each a handle of its own that the caller releases.
     * Inputs have been checked. *memo: what an earlier run with these shapes has left, or NULL, and
     * set then. at: the line that is to be named in records. problem: set where the outcome has a
     * code. */
    hk_model_outcome (*run)(struct hk_model_source *source, hk_source at, hk_array *const *inputs,
                            hk_array **outputs, hk_model_memo **memo, char *problem,
                            size_t problem_bytes);
    void (*memo_release)(hk_model_memo *memo);
    char *(*to_string)(const struct hk_model_source *source);
    void (*release)(struct hk_model_source *source);
} hk_model_source;

/* options has the device. NULL: why stands in *code and problem. */
typedef hk_model_source *hk_model_open_fn(const char *path, const hk_model_options *options,
                                          hk_source at, hk_code *code, char *problem,
                                          size_t problem_bytes);

/* What a plug-in is given to write, by hk_model_write_fn hocket_model_write: values, which nodes
 * make from others, each once and in an order in which that can be done. All of it lives until the
 * function returns. */
enum { HK_EXPORT_ABI = 1 };

typedef struct hk_export_value {
    const char *name; /* of inputs, outputs, and arrays with a path; NULL: any. All are different */
    hk_dtype dtype;
    hk_dims shape;      /* -n: n times the batch */
    hk_array *constant; /* contiguous, on the host, of which it has the values; NULL: none */
} hk_export_value;

/* An option of an operator, by its name: whole numbers (those of pairs, shapes and lists of axes
 * one by one; a bool as 0 or 1; an hk_dtype) or a real one. One that was left out has its default,
 * where that is a number. */
typedef struct hk_export_option {
    const char *name;
    bool is_default; /* it was left out */
    int count;       /* of ints */
    int64_t ints[HK_MAX_NDIM];
    double number;
} hk_export_option;

/* An operator of docs/OPERATORS.md, or one that these are made of, such as attention_blocks and
 * recurrence. Operands are whole values in C order; those of elementwise operators are broadcast,
 * and so are the indices of take_along_axis. Views have become reshape, permute_dims, broadcast_to
 * (the shapes of their outputs say how), slice (options begin, end, step: one for each axis, end
 * INT64_MAX: to the end, INT64_MIN: to the beginning), concat (of any number of inputs). */
typedef struct hk_export_node {
    const char *operation;
    const char *called; /* the operator that the program called, which may be made of others */
    hk_source source;
    const int *inputs, *outputs; /* values; -1: left out */
    int input_count, output_count;
    const hk_export_option *options;
    int option_count;
} hk_export_node;

typedef struct hk_export_graph {
    int abi; /* HK_EXPORT_ABI */
    const hk_export_value *values;
    const hk_export_node *nodes;
    const int *inputs, *outputs; /* values, each one once */
    int value_count, node_count, input_count, output_count;
    const char *batch; /* NULL: no shape depends on it */
    double most_bytes; /* of constants within the file */
} hk_export_graph;

/* HK_OK; else why stands in problem, and a file that was at `path` is as it was. */
typedef hk_code hk_model_write_fn(const char *path, const hk_export_graph *graph, char *problem,
                                  size_t problem_bytes);

HK_END_DECLS

#endif
