/* The operator table: one hk_op per operator, one file each, one line in op_table.def. Calls, tests,
 * documentation, the public header hocket/ops.h and bindings all read the table.
 *
 * To add an operator `scale`: append HKI_OP(scale) to op_table.def, write src/op/<family>/scale.c, run
 * `make generate`. The file, in full but for the functions:
 *
 *     #define SCALE_OPTIONS(F, op)                         type, field, default, doc; declared once
 *         F(op, F64, factor, "1", "what x is multiplied by")
 *         F(op, INT2, window, "{1, 1}", "height, width")
 *     HKI_OPTIONS(scale, SCALE_OPTIONS)                    or HKI_ARGUMENTS(scale, …)
 *
 *     static const hki_sample scale_samples[] = {
 *         {.inputs = {HKI_SHAPE(2, 3)}},
 *         {.inputs = {HKI_SHAPE_0D}, .options = &(const hki_scale_options){.factor = 3}},
 *         {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(4, 0, 5)}, .low = 0.5, .high = 2},
 *     };
 *
 *     const hk_op hki_op_scale = {
 *         HKI_OP_NAMED(scale),                              .id, .name
 *         HKI_OP_PARAMS(scale),                             .params, .options_bytes
 *         HKI_OP_SAMPLES(scale_samples),                    .samples, .sample_count
 *         .signature = "x", .doc = "…", .dtypes = HKI_FLOATS, …
 *     };
 *
 * HKI_OPTIONS declares the struct hki_scale_options { double factor; int64_t window[2]; } and the table
 * of its fields; the caller passes `const hk_scale_options *` (the same layout), where a field of zero
 * bytes means the default and NULL means all defaults. HKI_ARGUMENTS does the same for fields that the
 * caller must give: they become arguments, hk_scale(x, factor), in order. An operator has one or the
 * other. Where other operators need the struct, put SCALE_OPTIONS and HKI_OPTIONS_STRUCT in scale.h and
 * HKI_OPTIONS_TABLE in scale.c. An operator without inputs (fill, random) and one with any_device take
 * an hk_device as their last argument.
 *
 * GPUs have kernels of their own: a function and a line in src/op/cuda/cuda_kernels.def; a call of an operator that has none
 * fails there as unsupported.
 *
 * A row of elementwise.def is a whole operator: its line here, its kernels and those of its gradient follow from it.
 *
 * What other operators can do between them has `compose` in place of a kernel: see statistics.c.
 *
 * An operator of several results names them in `outputs`: see var_mean in statistics.c. The public function takes a pointer for
 * each, and its gradient gets one dy for each.
 *
 * Gradients call other operators through hki_op_call1 … hki_op_call3 (&hki_op_… of all operators are
 * declared below), never through the public macros, which would note their own source line. Gradients
 * of broadcast inputs end in hki_op_sum_to_shape. */
#ifndef HOCKET_OP_OP_H
#define HOCKET_OP_OP_H

#include "array/array.h"
#include "op/kernel.h"

enum { HKI_MAX_INPUTS = 8, HKI_MAX_OUTPUTS = 4 };

#define HKI_OP(name) extern const hk_op hki_op_##name;
#include "op/op_table.def"
#undef HKI_OP

/* Sets of dtypes. */
enum {
    HKI_FLOATS = 1u << HK_F32 | 1u << HK_F64,
    HKI_HALVES = 1u << HK_F16 | 1u << HK_BF16,
    HKI_REALS = HKI_FLOATS | HKI_HALVES,
    HKI_INTEGERS = 1u << HK_I8 | 1u << HK_I16 | 1u << HK_I32 | 1u << HK_I64 | 1u << HK_U8 |
                   1u << HK_U16 | 1u << HK_U32 | 1u << HK_U64,
    HKI_NUMBERS = HKI_REALS | HKI_INTEGERS,
    HKI_BITS = HKI_INTEGERS | 1u << HK_BOOL,
    HKI_ALL_DTYPES = HKI_NUMBERS | 1u << HK_BOOL, /* but complex ones */
    HKI_COMPLEX = 1u << HK_C64 | 1u << HK_C128,
    HKI_INEXACT = HKI_FLOATS | HKI_COMPLEX,
    /* All that there are: for what moves elements, whatever they mean. */
    HKI_ANY_DTYPE = HKI_ALL_DTYPES | HKI_COMPLEX,
    /* What GPUs have elementwise kernels, reductions and constants of. */
    HKI_GPU_DTYPES = HKI_FLOATS | 1u << HK_I32 | 1u << HK_I64 | 1u << HK_U8 | 1u << HK_BOOL,
    /* In hk_op.gpu_dtypes: any dtype, where inputs and result have the same one; results that are uint64. */
    HKI_GPU_COPIES = 1 << 30,
    HKI_GPU_SUMS = 1 << 29
};

/* ---- a call, at issue ------------------------------------------------------------------------------ */

struct hki_call {
    const hk_op *op;
    const char *operation; /* in records and traces: op->name, or who called it; static text */
    hki_device *device;
    int input_count; /* one for each name of the signature; NULL: left out */
    const hki_shape_view *inputs[HKI_MAX_INPUTS];
    hk_array *const *arrays;    /* the inputs themselves; not for infer and plan: NULL in chains */
    hk_array **more;            /* for compose: where outputs 1 and on go, if there are any */
    const void *options;        /* op->options_bytes bytes, never NULL when that is > 0 */
    const hki_shape_view *like; /* infer may set it: an input that has the shape of output 0 */
    bool is_gradient; /* made in its place, and new all the same: nothing of the old one stays */
    hk_dims out_shape[HKI_MAX_OUTPUTS]; /* infer fills these */
    hk_dtype out_dtype[HKI_MAX_OUTPUTS];
    uint64_t out_bytes[HKI_MAX_OUTPUTS]; /* set after infer */
    hk_code code;                        /* set through hki_call_refuse */
    char message[512];
};

/* Returns the dtypes of the inputs, a bit each; 0: there is none. */
static inline unsigned hki_call_set_inputs(hki_call *call, hk_array *const *arrays, int count)
{
    unsigned dtypes = 0;
    call->input_count = count;
    call->arrays = arrays;
    for (int i = 0; i < count; i++) {
        call->inputs[i] = arrays[i] ? &arrays[i]->view : NULL;
        dtypes |= arrays[i] ? 1u << arrays[i]->dtype : 0;
    }
    return dtypes;
}

/* From infer: the call cannot be made. Returns false. The message names argument, value and remedy. */
bool hki_call_refuse(hki_call *call, hk_code code, const char *format, ...) HK_PRINTF(3, 4);

/* From infer: makes *axis, which the option `name` names, count from the front. False, after hki_call_refuse, where none of so
 * many axes, mostly those of input 0, x, is meant. */
bool hki_call_take_axis(hki_call *call, const char *name, int64_t *axis, int ndim);
/* The same of the option axis for an axis of x, without telling which it is. */
static inline bool hki_call_check_axis(hki_call *call, int64_t axis)
{
    return hki_call_take_axis(call, "axis", &axis, call->inputs[0]->shape.ndim);
}

/* From infer: false, after hki_call_refuse, when the option dtype is none of hk_dtype. */
static inline bool hki_call_check_dtype(hki_call *call, hk_dtype dtype)
{
    return (unsigned)dtype < HK_DTYPE_COUNT ||
           hki_call_refuse(call, HK_INVALID_ARGUMENT, "dtype %d is none of hk_dtype", (int)dtype);
}

/* How a call is cut: a pure function of operator, shapes and dtypes; max_pieces also of the device's cores where no byte depends
 * on it. Zeroed before op->plan. */
struct hki_plan {
    int64_t extent; /* pieces are ranges [begin, end) of 0 … extent; default: see hki_split */
    int64_t grain;  /* every piece but the last is a multiple of this; default 1 */
    double work_ns; /* rough cost of the whole call on one core */
    double
        flops; /* floating-point operations, for simulated devices; default: elements of output 0 */
    int64_t max_pieces;   /* default 64 */
    size_t partial_bytes; /* workspace of each piece, for sums that op->join adds up in order */
    int method; /* of several kernels, the operator's own number; 0: by its rules; see op/choice.h */
};

/* Whether its kernel may refuse what it finds in its inputs: a pure function of operator and
 * dtypes. */
bool hki_call_may_refuse(const hki_kernel_call *call);

typedef enum hki_split {
    HKI_SPLIT_NONE,     /* one piece */
    HKI_SPLIT_ELEMENTS, /* extent: elements of output 0, C order */
    HKI_SPLIT_ROWS,     /* extent: the first axis of output 0 (1 when 0-d) */
    HKI_SPLIT_PLAN      /* extent set by op->plan */
} hki_split;

/* ---- gradients --------------------------------------------------------------------------------------- */

/* What a gradient reads, in hk_op.grad_reads: bit i: input i; and */
enum {
    HKI_READS_OUTPUT = 1 << 8, /* output 0, and the others behind it */
    HKI_READS_OUTPUT_1 = HKI_READS_OUTPUT << 1,
    HKI_READS_OUTPUT_2 = HKI_READS_OUTPUT << 2,
    HKI_READS_OUTPUT_3 = HKI_READS_OUTPUT << 3
};
_Static_assert(1 << HKI_MAX_INPUTS <= HKI_READS_OUTPUT && HKI_MAX_OUTPUTS == 4,
               "a bit for each input and output");

struct hki_grad_call {
    const hk_op *op;
    const void *options;
    int input_count;
    hk_array *inputs[HKI_MAX_INPUTS]; /* NULL where no gradient that is wanted reads them */
    hk_dims input_shape[HKI_MAX_INPUTS];
    hk_dtype input_dtype[HKI_MAX_INPUTS];
    hki_device *input_device[HKI_MAX_INPUTS]; /* NULL where no gradient is wanted */
    union {
        hk_array *output; /* output 0; NULL where no gradient that is wanted reads it */
        hk_array *outputs[HKI_MAX_OUTPUTS];
    };
    hk_array *saved; /* the first output that is not public, where there is one */
    union {
        hk_array *dy; /* gradient of output 0; NULL, of one of several, where none reached it */
        hk_array *dys[HKI_MAX_OUTPUTS];
    };
    bool wanted[HKI_MAX_INPUTS];
    bool
        is_recorded; /* for gradients of gradients: then inputs and outputs are on the tape, but what is saved is not */
    hk_array *dx[HKI_MAX_INPUTS]; /* set by op->grad where wanted; owned by the current scope */
    hk_array *places
        [HKI_MAX_INPUTS]; /* where that may be made, all of it and contiguous; NULL: nowhere yet */
};

/* ---- batches ------------------------------------------------------------------------------------------ */

typedef enum hki_batch_kind {
    HKI_BATCH_NONE, /* no such rule */
    HKI_BATCH_EACH, /* sample i of the output comes from sample i of the inputs that carry samples */
    HKI_BATCH_SUM   /* every output is the sum over the samples of what each of them gives alone */
} hki_batch_kind;

/* A call that is asked how it treats the samples of a batch. */
typedef struct hki_batch {
    const void *options;
    int input_count;
    const hki_shape_view *in[HKI_MAX_INPUTS], *out[HKI_MAX_OUTPUTS]; /* NULL: left out */
    /* Answers: bit i: input i carries samples, one for each index of its first axis, or, of a matrix,
     * of its last. Those of outputs lie along the first. The other inputs are shared by all samples. */
    unsigned first, last;
    /* Of HKI_BATCH_SUM: the outputs are the sums of what this operator gives with the same options,
     * divided by divisor; NULL: of what the operator itself gives. */
    const hk_op *as;
    double divisor;
} hki_batch;

/* Common answers: the first input carries samples; all do; those do that are not broadcast along the
 * output's first axis. */
hki_batch_kind hki_batch_first(hki_batch *batch);
hki_batch_kind hki_batch_all(hki_batch *batch);
hki_batch_kind hki_batch_elementwise(hki_batch *batch);
/* Of work along one axis: a batch may be cut where lines lie inside its samples. */
hki_batch_kind hki_batch_lines(hki_batch *batch, int64_t axis);

/* ---- fusion --------------------------------------------------------------------------------------------- */

/* How a captured step may join a call with its neighbours, or leave it out. A role promises what is computed, from which
 * inputs, with which options; an operator without one always runs its own kernel. */
typedef enum hki_fuse_role {
    HKI_FUSE_NONE,
    HKI_FUSE_COPY, /* x, whole and unchanged, in memory of its own */
    /* Convolution of x, weight, bias?; its gradients from dy, weight and from x, dy: of weight, and of bias where there is
     * an output 1. Options as of op/conv/conv2d.h; weights are constants for all samples. */
    HKI_FUSE_CONVOLUTION,
    HKI_FUSE_CONVOLUTION_DATA,
    HKI_FUSE_CONVOLUTION_WEIGHT,
    HKI_FUSE_LAYER,   /* x weight^T + bias, of x, weight, bias? */
    HKI_FUSE_PRODUCT, /* a b */
    /* Pooling of x; its gradients from dy, and from x, dy. Options as of op/pool/pool2d.h. */
    HKI_FUSE_POOL_AVERAGE,
    HKI_FUSE_POOL_MAX,
    HKI_FUSE_POOL_AVERAGE_GRAD,
    HKI_FUSE_POOL_MAX_GRAD,
    HKI_FUSE_RELU,     /* max(x, 0) */
    HKI_FUSE_RELU_GRAD /* dy where y > 0, else 0, of dy, y */
} hki_fuse_role;

/* ---- samples for the conformance test ------------------------------------------------------------------ */

typedef enum hki_sample_kind {
    HKI_SAMPLE_PLAIN,
    HKI_SAMPLE_STRIDED, /* inputs are transposed / sliced views with these shapes */
    HKI_SAMPLE_ALIASED  /* all inputs are one array (they have one shape) */
} hki_sample_kind;

/* An input of another dtype than the first, or with values of its own: labels, conditions. */
typedef struct hki_sample_input {
    bool set;
    hk_dtype dtype;
    double low, high; /* uniform in [low, high), rounded down for integers */
} hki_sample_input;

typedef struct hki_sample {
    hki_sample_kind kind;
    hk_dims inputs[HKI_MAX_INPUTS]; /* one for each name of the signature; ndim -1: left out */
    const void *options;            /* NULL: defaults */
    double low, high;               /* values of the inputs, uniform; both 0: [-1, 1); for integers
                                       ten times that, rounded down */
    hki_sample_input own[HKI_MAX_INPUTS];
    bool
        definite; /* matrices of input 0, which are square, become symmetric and positive definite */
} hki_sample;

/* Shapes in samples. HKI_SHAPE_0D is a scalar, HKI_SHAPE_NONE an optional input left out. */
#define HKI_SHAPE(...)                                                                             \
    {                                                                                              \
        .ndim = sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), .dims = { __VA_ARGS__ }  \
    }
/* The options of a sample: HKI_GIVEN(roll, 2, 0) */
#define HKI_GIVEN(op, ...)                                                                         \
    .options = &(const hki_##op##_options)                                                         \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define HKI_SHAPE_0D                                                                               \
    {                                                                                              \
        .ndim = 0                                                                                  \
    }
#define HKI_SHAPE_NONE                                                                             \
    {                                                                                              \
        .ndim = -1                                                                                 \
    }
#define HKI_OP_NAMED(op)  .name = #op, .id = HKI_OP_ID_##op, .is_listed = true
#define HKI_OP_PARAMS(op) .params = op##_params, .options_bytes = sizeof(hki_##op##_options)
#define HKI_OP_SAMPLES(array)                                                                      \
    .samples = array, .sample_count = (int)(sizeof(array) / sizeof((array)[0]))

/* ---- the operator ------------------------------------------------------------------------------------- */

struct hk_op {
    const char *name;        /* "conv2d" */
    hki_op_id id;            /* HKI_OP_NAMED sets both, and */
    bool is_listed;          /* it is one of hki_ops */
    const char *signature;   /* input names, ", "-separated; a trailing ? marks an optional one */
    const char *doc;         /* shapes, dtypes, meaning; becomes the public header's comment */
    const char *formula;     /* optional, one line */
    const hki_param *params; /* ends with a NULL name; NULL: no options */
    size_t options_bytes;
    unsigned dtypes; /* bit (1u << HK_F32) …: allowed for the first input; 0: any */
    int output_count; /* 0 means 1; those that are not public, such as what only the gradient reads, are the last */
    const char *outputs; /* names of the public ones where there are several, ", "-separated */
    bool contiguous;     /* the kernel gets copies of strided inputs */
    bool any_device;     /* inputs may be on other devices than the call (copies) */
    bool pinned; /* outputs on a CPU device are in pinned memory, where there are accelerators */
    bool elementwise; /* element i of the output depends on element i of each input, broadcast
                                to it; so that the output may be one of the inputs: hk_<op>_into */
    /* Its kernel writes output 0 as that lies; else, unless elementwise, one with gaps is
     * copied. */
    bool strided_output;
    uint8_t in_place; /* bit i: input i may be the output itself, element for element */
    bool infallible;  /* its kernel never fails */
    /* Its kernel may refuse what it finds in its inputs, by hki_task_fail, whatever their dtypes.
     * Of elementwise ones that are not infallible see hki_call_may_refuse. */
    bool refuses;
    /* Optional: the input whose elements its kernel refuses unless they are in [0, size of index_axis of input 0), which
     * is all that it refuses; 0: none. */
    uint8_t index_input, index_axis;
    bool shape_only; /* reads no element of its inputs */
    bool internal;   /* for gradients: not in the public header, nor in hk_call */
    bool
        is_part; /* called by a compose, records and traces have the name of the operator that is composed */
    bool
        host_only; /* no kernel for GPUs yet, or composed of such: there a call fails as unsupported */
    unsigned
        gpu_dtypes; /* of inputs and results that its kernel for GPUs takes; 0: HKI_GPU_DTYPES */
    bool
        draws; /* its options begin with hki_stream_options: a captured call takes other numbers at each replay */
    bool updates; /* it makes new values of a parameter from its gradient; traces mark such calls */
    bool (*infer)(hki_call *call);
    /* Optional: it takes any number of inputs, one at least, under the one name of its signature, and does all by calls of other
     * operators; of the rest of this structure only what describes it counts. */
    hk_array *(*variadic)(hk_array *const *inputs, int count, const void *options);
    /* Optional: the whole result as views and calls of other operators, in place of view, plan
     * and kernel, so that it runs on every device. The tape notes those calls; with a grad it
     * notes this one alone. Always a new handle. Further outputs go to call->more. infer has
     * been asked. Of an operator with a kernel: NULL, by shapes and dtypes alone, means that
     * this runs. */
    hk_array *(*compose)(const hki_call *call);
    /* Optional: the result as a view of input 0, when the strides allow it; NULL: run the kernel. */
    hk_array *(*view)(const hki_call *call);
    hki_split split;
    void (*plan)(const hki_call *call, hki_plan *plan); /* optional unless HKI_SPLIT_PLAN */
    hki_kernel_fn kernel[HKI_DEVICE_KIND_COUNT];
    /* Optional, elementwise: the whole call at once, without what a kernel is told, where no element can be refused and
     * all arrays are contiguous, materialised, in the host's memory, and have the output's elements or one. False, with
     * nothing done, where they are not contiguous or not that many. */
    bool (*run_dense)(const hki_call *call, const hk_array *out);
    void (*join)(const hki_kernel_call *call); /* optional: after all pieces */
    /* Optional, all or none: the kernel reads these inputs, parameters, in a form that it would
     * make anew in each call, and which can be made once for many (bit i: input i). Its bytes, 0
     * where this call has none, and, if it is cut otherwise then, its extent, of grain 1; and
     * what makes it, 64-byte aligned. */
    uint8_t packed_inputs;
    size_t (*packed_bytes)(const hki_kernel_call *call, int64_t *extent);
    void (*pack)(const hki_kernel_call *call, void *packed);
    /* Optional, both or none, where that is given: it is done in so many rounds, each for the
     * whole extent before the next one begins; they share call->partials, of *shared_bytes. */
    int64_t (*rounds)(const hki_kernel_call *call, size_t *shared_bytes);
    void (*round)(const hki_kernel_call *call, int64_t piece, int64_t round, int64_t begin,
                  int64_t end);
    /* Optional: how it treats a batch; then its kernel works on any run of samples, whatever
     * `extent` is split by. */
    hki_batch_kind (*batch)(hki_batch *batch);
    hki_fuse_role fuse;
    void (*grad)(hki_grad_call *call); /* NULL: no gradient */
    /* Of each input: what its gradient reads. The tape keeps that, if the gradient is wanted, and nothing else: it fails a
     * gradient that reads what was overwritten. */
    uint16_t grad_reads[HKI_MAX_INPUTS];
    unsigned no_grad_inputs; /* bit i: input i never has a gradient (indices, labels) */
    /* Conformance: the same on C-contiguous double arrays, written plainly. Inputs as doubles. */
    void (*reference)(const hki_call *call, const double *const *in, double *const *out);
    const hki_sample *samples; /* sample_count of them */
    int sample_count;
    double tolerance_f32;          /* relative to max(1, |expected|); 0: exact */
    double tolerance_f64;          /* 0: tolerance_f32 * 1e-7 */
    const char *untested;          /* why conformance cannot test it, where there is no reference */
    const char *gradient_untested; /* why it cannot test its gradient, if so */
    const char *no_grad_why;       /* where grad is NULL: "its result does not vary smoothly" */
    const void *data;              /* for kernels and functions that several operators share */
};

/* The kernel for GPUs takes the dtypes of a call's inputs and results; else *lacks is one that it does not take. */
bool hki_call_gpus_take(const hki_call *call, hk_dtype *lacks);

/* There is a public hk_<op>_into. */
static inline bool hki_op_has_into(const hk_op *op)
{
    return op->elementwise || op->strided_output;
}

/* It, or what it is composed of, has a gradient. */
static inline bool hki_op_has_gradient(const hk_op *op)
{
    return op->grad || ((op->compose || op->variadic) && !op->no_grad_why);
}

extern const hk_op *const hki_ops[]; /* all operators, op_table.def's order */
extern const int hki_op_count;
const hk_op *hki_op_find(const char *name); /* NULL: no such operator */
/* How many inputs the signature names; *required (unless NULL) how many of them are not optional. */
int hki_op_input_count(const hk_op *op, int *required);
/* The name of an input; true when it is optional. */
bool hki_op_input_name(const hk_op *op, int index, char *name, size_t bytes);
/* How many outputs are public, and the name of one; "y" where there is but one. */
int hki_op_output_count(const hk_op *op);
void hki_op_output_name(const hk_op *op, int index, char *name, size_t bytes);

/* The operator that takes its place where an input is complex, an internal one with the same options; NULL: none. Then
 * complex inputs but the first, of which `dtypes` tells, are its own to refuse. See complex.def. */
extern const hk_op *const hki_complex_table[HKI_OP_COUNT];
/* The one for these inputs, some of which may be NULL: that, or op itself. */
static inline const hk_op *hki_op_for(const hk_op *op, hk_array *const *inputs, int input_count)
{
    const hk_op *complex = hki_hooks.complex_ops[op->id];
    for (int i = 0; complex && i < input_count; i++)
        if (inputs[i] && hki_dtype_is_complex(inputs[i]->dtype))
            return complex;
    return op;
}
/* dtypes of its first input, by whichever operator. */
static inline unsigned hki_op_dtypes(const hk_op *op)
{
    return op->dtypes | (op->dtypes && hki_hooks.complex_ops[op->id] ? HKI_COMPLEX : 0);
}

/* ---- calling -------------------------------------------------------------------------------------------- */

/* Calls an operator: checks, infers, makes outputs, issues one task, notes it on the tape. One input for
 * each name of the signature, NULL for an optional one left out. options may be NULL for the defaults.
 * device matters only when there are no inputs or with any_device (handle NULL: the default, or that of
 * the first input). Results belong to the scope. out_extra, when not NULL, gets output 1. */
hk_array *hki_op_call(const hk_op *op, hk_array *const *inputs, int input_count,
                      const void *options, hk_device device, hk_array **out_extra);
/* The same for all outputs, the public ones and then the others, of which `count` are wanted, one at least. A call that is refused
 * gives failed arrays for the public ones and NULL for others. */
void hki_op_call_all(const hk_op *op, hk_array *const *inputs, int input_count, const void *options,
                     hk_device device, hk_array **outputs, int count);
/* Hands an output (taken) to who asked for it; to: NULL: nobody did. */
void hki_op_give(hk_array *output, hk_array **to);
/* For gradients and compound functions: inputs on one device, the first result. */
hk_array *hki_op_call1(const hk_op *op, hk_array *x, const void *options);
hk_array *hki_op_call2(const hk_op *op, hk_array *x, hk_array *y, const void *options);
hk_array *hki_op_call3(const hk_op *op, hk_array *x, hk_array *y, hk_array *z, const void *options);
/* Of an operator of x and a number: add_scalar, elu and the like. */
hk_array *hki_op_call_number(const hk_op *op, hk_array *x, double value);
void hki_op_call_number_into(const hk_op *op, hk_array *x, double value, hk_array *out);
/* x summed over the axes along which `shape` was broadcast to x's shape; x itself when equal. */
hk_array *hki_op_sum_to_shape(hk_array *x, const hk_dims *shape);
/* The same, writing into `out` (an array or view of the inferred shape and dtype): whole overwrite. It
 * may be one of the inputs for operators that read and write element by element. Not on the tape: an
 * error when `out` is recorded for a gradient while recording. */
void hki_op_call_into(const hk_op *op, hk_array *const *inputs, int input_count,
                      const void *options, hk_array *out);

/* The same of a gradient that is made in one of hki_grad_call.places. */
void hki_op_call_gradient_into(const hk_op *op, hk_array *const *inputs, int input_count,
                               const void *options, hk_array *out);

/* Calls an operator of several outputs, which overwrite these arrays, mostly some of its inputs,
 * in one pass. They are contiguous, unless its kernel writes them as they lie. What cannot be
 * done, or has failed inputs, fails all of them; their old values stand. Not on the tape. */
void hki_op_call_update(const hk_op *op, hk_array *const *inputs, int input_count,
                        const void *options, hk_array *const *updated, int count);

#endif
