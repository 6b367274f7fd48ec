/* Networks that others made: a file becomes a model, which is called like a function.
 *
 *     hk_model *model = hk_model_load("resnet18.onnx", NULL);
 *     if (!hk_ok(hk_model_status(model)))
 *         return hk_status_print(hk_model_status(model), stderr);
 *     hk_array *logits;
 *     hk_model_run(model, (hk_array *[]){image}, 1, &logits, 1);   // returns at once
 *
 * Files are read by plug-ins, libhocket_NAME.so beside the library, for each format: onnx. A
 * program that loads none carries nothing of them.
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

HK_END_DECLS

#endif
