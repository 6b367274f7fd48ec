/* Modules: layers with their parameters, in a tree with names.
 *
 * A module is a forward function, its options, the arrays it keeps, and its children. Parameters are made at the first call,
 * when shapes are known, on the device of the input and of its dtype (float32 where that is no float), and drawn from the
 * stream of the calling thread. They have gradients attached. So a step is
 *
 *     HK_RECORD … hk_forward(net, x) … hk_backward(loss), hk_optimizer_step(optimizer)
 *
 * Modules are counted and never NULL: what cannot be made is a failed module, whose calls give failed arrays by its record. A
 * call that is refused inside a layer says in its message which one: "(in encoder.0, linear)". Externally synchronised, each tree
 * by itself; replicas may be used by several threads. Nothing here waits.
 *
 * In captured steps (hocket/graph.h) the first call is to be made before the capture, which refuses to make parameters. Dropout
 * draws new numbers at each replay, as the calls would. */
#ifndef HOCKET_NN_H
#define HOCKET_NN_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef struct hk_module hk_module;

/* What a module computes from its inputs. The result belongs to the scope, as those of operators do; what else it has made goes when
 * it returns, unless hk_take has taken it. */
typedef hk_array *(*hk_forward_fn)(hk_module *self, hk_array *const *inputs, int count);

/* ---- initial values ---------------------------------------------------------------------------------- */

/* in: sizes of all axes but the first, multiplied; out: those of all but the second. */
typedef enum hk_init_kind {
    HK_INIT_DEFAULT,        /* what the layer says */
    HK_INIT_CONSTANT,       /* value */
    HK_INIT_UNIFORM,        /* in [-value, value) */
    HK_INIT_NORMAL,         /* mean 0, standard deviation value */
    HK_INIT_FAN_IN,         /* uniform in +-1 / sqrt(in): what layers do by themselves */
    HK_INIT_XAVIER_UNIFORM, /* uniform in +-gain sqrt(6 / (in + out)) (Glorot, Bengio 2010) */
    HK_INIT_XAVIER_NORMAL,  /* standard deviation gain sqrt(2 / (in + out)) */
    HK_INIT_HE_UNIFORM,     /* uniform in +-gain sqrt(6 / in) (He et al. 2015) */
    HK_INIT_HE_NORMAL,      /* standard deviation gain sqrt(2 / in) */
    HK_INIT_ORTHOGONAL /* gain times orthonormal rows, or columns, of (first axis, all the rest) (Saxe et al. 2014) */
} hk_init_kind;

typedef struct hk_init {
    hk_init_kind kind;
    double value; /* where the kind says so; finite */
    double gain;  /* (default: 1) */
} hk_init;

/* A new array, float32 or float64, drawn from this thread's stream. What cannot be drawn is failed. */
HK_API hk_array *hk_init_draw(const hk_init *init, hk_dims shape, hk_dtype dtype, hk_device device);

/* ---- losses -------------------------------------------------------------------------------------------- */

/* What hk_mse_loss and other losses of hocket/ops.h make of the losses of all elements. */
typedef enum hk_loss_reduction {
    HK_LOSS_MEAN, /* their mean, an array () */
    HK_LOSS_SUM,  /* their sum, an array () */
    HK_LOSS_NONE  /* each */
} hk_loss_reduction;

/* ---- layers ---------------------------------------------------------------------------------------------- */

/* One after another. The children are taken; they are named "0", "1", … A failed one fails the whole. */
HK_API hk_module *hk_sequential_of(hk_module *const *children, int count);
#ifndef __cplusplus
#define hk_sequential(...)                                                                         \
    hk_sequential_of((hk_module *const[]){__VA_ARGS__},                                            \
                     (int)(sizeof((hk_module *const[]){__VA_ARGS__}) / sizeof(hk_module *)))
#endif

/* x + body(x), or shortcut(x) + body(x): He et al. 2016. Both taken; shortcut may be NULL. */
HK_API hk_module *hk_residual_layer(hk_module *body, hk_module *shortcut);

/* An operator of docs/OPERATORS.md without parameters: "relu", "softmax" … The inputs of the call are its inputs.
 * option_bytes bytes at options (its hk_<name>_options) are copied; NULL and 0: the defaults. */
HK_API hk_module *hk_operator_layer(const char *name, const void *options, size_t option_bytes);

/* The layer of that constructor, "group_norm" for hk_group_norm_layer, with its arguments in order: count numbers, of which those
 * that are double there may be integers, and bool is 0 or 1. "layer_norm" takes axes and eps; "embedding" count, features and padding,
 * -1: none. Of layers whose constructor takes numbers alone. For bindings. */
HK_API hk_module *hk_layer_named(const char *name, const hk_number *arguments, int count);

typedef struct hk_linear_layer_options {
    bool no_bias;
    hk_init init; /* of weight; bias is uniform in +-1 / sqrt(in) */
} hk_linear_layer_options;
/* hk_linear: (…, in) to (…, features). weight (features, in), bias (features). options may be NULL. */
HK_API hk_module *hk_linear_layer(int64_t features, const hk_linear_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_linear_layer, hk_linear_layer_options,
              (hk_source at, int64_t features, const hk_linear_layer_options *options),
              (features, options))
#define hk_linear_layer(...) hk_linear_layer_at(HK_SOURCE, __VA_ARGS__)

typedef struct hk_conv2d_layer_options {
    int64_t stride[2], padding[2], dilation[2]; /* as in hk_conv2d_options */
    bool no_bias;
    hk_init init;
    int64_t groups;    /* 0: 1; as many as x has channels: depthwise */
    int64_t window[2]; /* rows and columns where they are not `size`; 0: size */
} hk_conv2d_layer_options;
/* hk_conv2d: (n, in, h, w) to (n, channels, h', w'). weight (channels, in / groups, size, size), bias (channels). options may
 * be NULL. */
HK_API hk_module *hk_conv2d_layer(int64_t channels, int64_t size,
                                  const hk_conv2d_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_conv2d_layer, hk_conv2d_layer_options,
              (hk_source at, int64_t channels, int64_t size,
               const hk_conv2d_layer_options *options),
              (channels, size, options))
#define hk_conv2d_layer(...) hk_conv2d_layer_at(HK_SOURCE, __VA_ARGS__)

typedef struct hk_conv2d_transpose_layer_options {
    int64_t stride[2], padding[2], dilation[2]; /* as in hk_conv2d_transpose_options */
    int64_t output_padding[2];
    int64_t groups;    /* 0: 1; it divides channels */
    int64_t window[2]; /* as above */
    bool no_bias;
    hk_init init; /* for which weight's axes count as hk_init_kind says */
} hk_conv2d_transpose_layer_options;
/* hk_conv2d_transpose: (n, in, h, w) to (n, channels, h', w'). weight (in, channels / groups, size, size), bias (channels).
 * options may be NULL. */
HK_API hk_module *hk_conv2d_transpose_layer(int64_t channels, int64_t size,
                                            const hk_conv2d_transpose_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_conv2d_transpose_layer, hk_conv2d_transpose_layer_options,
              (hk_source at, int64_t channels, int64_t size,
               const hk_conv2d_transpose_layer_options *options),
              (channels, size, options))
#define hk_conv2d_transpose_layer(...) hk_conv2d_transpose_layer_at(HK_SOURCE, __VA_ARGS__)

typedef struct hk_conv1d_layer_options {
    int64_t stride, padding, dilation, groups; /* as in hk_conv1d_options */
    bool no_bias;
    hk_init init;
} hk_conv1d_layer_options;
/* hk_conv1d: (n, in, t) to (n, channels, t'). weight (channels, in / groups, size), bias (channels). options may be NULL. */
HK_API hk_module *hk_conv1d_layer(int64_t channels, int64_t size,
                                  const hk_conv1d_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_conv1d_layer, hk_conv1d_layer_options,
              (hk_source at, int64_t channels, int64_t size,
               const hk_conv1d_layer_options *options),
              (channels, size, options))
#define hk_conv1d_layer(...) hk_conv1d_layer_at(HK_SOURCE, __VA_ARGS__)

typedef struct hk_conv3d_layer_options {
    int64_t stride[3], padding[3], dilation[3], groups; /* as in hk_conv3d_options */
    int64_t window[3]; /* slices, rows and columns where they are not `size`; 0: size */
    bool no_bias;
    hk_init init;
} hk_conv3d_layer_options;
/* hk_conv3d: (n, in, d, h, w) to (n, channels, d', h', w'). weight (channels, in / groups, size, size, size), bias (channels).
 * options may be NULL. */
HK_API hk_module *hk_conv3d_layer(int64_t channels, int64_t size,
                                  const hk_conv3d_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_conv3d_layer, hk_conv3d_layer_options,
              (hk_source at, int64_t channels, int64_t size,
               const hk_conv3d_layer_options *options),
              (channels, size, options))
#define hk_conv3d_layer(...) hk_conv3d_layer_at(HK_SOURCE, __VA_ARGS__)

typedef struct hk_conv3d_transpose_layer_options {
    int64_t stride[3], padding[3], dilation[3], groups; /* as in hk_conv3d_transpose_options */
    int64_t window[3], output_padding[3];
    bool no_bias;
    hk_init init;
} hk_conv3d_transpose_layer_options;
/* hk_conv3d_transpose: (n, in, d, h, w) to (n, channels, d', h', w'). weight (in, channels / groups, size, size, size), bias
 * (channels). options may be NULL. */
HK_API hk_module *hk_conv3d_transpose_layer(int64_t channels, int64_t size,
                                            const hk_conv3d_transpose_layer_options *options);
HK_AT_OPTIONS(hk_module *, hk_conv3d_transpose_layer, hk_conv3d_transpose_layer_options,
              (hk_source at, int64_t channels, int64_t size,
               const hk_conv3d_transpose_layer_options *options),
              (channels, size, options))
#define hk_conv3d_transpose_layer(...) hk_conv3d_transpose_layer_at(HK_SOURCE, __VA_ARGS__)

/* hk_layer_norm_over_layer of the last axis. */
HK_API hk_module *hk_layer_norm_layer(double eps);
/* (x - mean) / sqrt(variance + eps) * gamma + beta over the last so many axes together (Ba et al. 2016); the variance biased; eps 0:
 * 1e-5. gamma and beta have their shape: ones, zeros. */
HK_API hk_module *hk_layer_norm_over_layer(int axes, double eps);
/* Rows of weight (count, features), normal at first, by integer indices (…): (…, features). float32. An index out of range fails
 * the result. */
HK_API hk_module *hk_embedding_layer(int64_t count, int64_t features);
/* The same, but the index `padding`, in [0, count), stands for nothing: it gives zeros, and its row has a gradient of zeros. */
HK_API hk_module *hk_padded_embedding_layer(int64_t count, int64_t features, int64_t padding);

/* sin(p / 10000^(2 i / features)) and, beside it, its cosine, of position p and pair i (Vaswani et al. 2017): (count,
 * features) of a float dtype. */
HK_API hk_array *hk_sinusoidal_positions(int64_t count, int64_t features, hk_dtype dtype,
                                         hk_device device);
/* Of integers (…): bool (…, count), true at the first so many: the steps of sequences that are shorter than others. For
 * attention, (n, t) is to be reshaped to (n, 1, 1, t). */
HK_API hk_array *hk_length_mask(hk_array *lengths, int64_t count);

/* ---- layers that are rows of src/nn/layers.def: written by tools/opgen ------------------------------------ */

/* The largest of each square window; stride 0: size. */
HK_API hk_module *hk_max_pool2d_layer(int64_t size, int64_t stride, int64_t padding);
/* The mean of each square window; stride 0: size. */
HK_API hk_module *hk_avg_pool2d_layer(int64_t size, int64_t stride, int64_t padding);
/* The largest of each window of sequences (n, channels, t); stride 0: size. */
HK_API hk_module *hk_max_pool1d_layer(int64_t size, int64_t stride, int64_t padding);
/* The mean of each window of sequences (n, channels, t); stride 0: size. */
HK_API hk_module *hk_avg_pool1d_layer(int64_t size, int64_t stride, int64_t padding);
/* (n, channels, h, w) to (n, channels, rows, columns): the mean of each of as many windows. */
HK_API hk_module *hk_adaptive_avg_pool2d_layer(int64_t rows, int64_t columns);
/* (n, channels, h, w) to (n, channels, rows, columns): the largest of each of as many windows. */
HK_API hk_module *hk_adaptive_max_pool2d_layer(int64_t rows, int64_t columns);
/* (n, channels, t) to (n, channels, size): the mean of each of as many windows. */
HK_API hk_module *hk_adaptive_avg_pool1d_layer(int64_t size);
/* (n, channels, t) to (n, channels, size): the largest of each of as many windows. */
HK_API hk_module *hk_adaptive_max_pool1d_layer(int64_t size);
/* The mean over all axes but the first two, which remain. */
HK_API hk_module *hk_global_avg_pool_layer(void);
/* The largest over all axes but the first two, which remain. */
HK_API hk_module *hk_global_max_pool_layer(void);
/* (n, …) to (n, all the rest). */
HK_API hk_module *hk_flatten_layer(void);
/* hk_batch_norm_train, of (n, channels) or (n, channels, …), while training; else by the moving
 * averages. gamma (channels), ones, beta, zeros; buffers mean and variance. eps 0: 1e-5.
 * momentum 0: 0.1. */
HK_API hk_module *hk_batch_norm_layer(double eps, double momentum);
/* x / sqrt(mean of x^2 + eps) * gamma over the last axis (Zhang, Sennrich 2019). gamma
 * (features), ones. eps 0: 1e-5. */
HK_API hk_module *hk_rms_norm_layer(double eps);
/* Of (n, channels, …): normalises groups of channels, with all their positions, of each sample
 * (Wu, He 2018). gamma (channels), ones, beta, zeros. eps 0: 1e-5. */
HK_API hk_module *hk_group_norm_layer(int64_t groups, double eps);
/* Of (n, channels, t, …): normalises each channel of each sample (Ulyanov et al. 2016). gamma
 * (channels), ones, beta, zeros. eps 0: 1e-5. */
HK_API hk_module *hk_instance_norm_layer(double eps);
/* While training each element is 0 with probability p in [0, 1), the others x / (1 - p)
 * (Srivastava et al. 2014); numbers of the calling thread's stream. Else x. */
HK_API hk_module *hk_dropout_layer(double p);
/* x (n, t, f) plus sines and cosines of the position, as of hk_sinusoidal_positions (Vaswani et
 * al. 2017). */
HK_API hk_module *hk_sinusoidal_positions_layer(void);
/* x (n, t, f), t at most count, plus the first t rows of weight (count, f), normal with
 * deviation 0.02 at first. */
HK_API hk_module *hk_learned_positions_layer(int64_t count);
/* hk_scaled_dot_product_attention with several heads, which divide features. Inputs: x (n, t, f)
 * for all three; or query (n, t, f), key and value (n, s, g); and a mask that broadcasts to (n,
 * heads, t, s). Gives (n, t, features). Children query, key, value and output: linear layers.
 * causal: positions see none behind them, and there is no mask. */
HK_API hk_module *hk_attention_layer(int64_t features, int64_t heads, bool causal);

/* ---- recurrent layers ------------------------------------------------------------------------------------- */

typedef enum hk_recurrent_kind {
    HK_RECURRENT_TANH, /* h' = tanh(W x + b + U h + c) */
    HK_RECURRENT_GRU,  /* Cho et al. 2014; the reset gate behind the product, as in cuDNN */
    HK_RECURRENT_LSTM  /* Hochreiter, Schmidhuber 1997, with forget gates */
} hk_recurrent_kind;
/* Steps along axis 1. Inputs: x (n, t, f), t >= 1; the state to begin with, (n, s), zeros where it is left out or NULL: s is
 * features, of an LSTM 2 features, h and then c; and lengths, (n) integers: behind so many steps h is 0, and the state stays.
 * Gives h after each step, (n, t, features); or with whole_state the states, (n, t, s), of which the last, detached, may be the
 * next call's. Layers one after another are stacked. Parameters weight_ih (g features, f), weight_hh (g features, features),
 * bias_ih, bias_hh (g features), in PyTorch's order of gates: r z n; i f g o. */
HK_API hk_module *hk_recurrent_layer(hk_recurrent_kind kind, int64_t features, bool whole_state);

typedef struct hk_recurrent_stack_options {
    int layers; /* 0: 1 */
    bool is_bidirectional;
    bool final_state;  /* the result is the last states, not h of the last layer at each step; */
    bool whole_states; /* or all states at each step */
    double dropout;    /* of what goes from layer to layer, in [0, 1) */
} hk_recurrent_stack_options;
/* Such layers one upon the other; in both directions each layer is two, whose results lie side by side. Inputs: x (n, t, f);
 * the states to begin with, of layer 0, layer 0 reversed, layer 1 …, side by side, zeros where they are left out or NULL; and
 * lengths, as above. Gives h of the last layer, (n, t, features), of both directions 2 features; or the last states, in the
 * same order (n, s layers), those of reversed layers at the first step; or all of them, (n, t, s layers), of which h is a slice.
 * Children 0, 0_reversed, 1 … options may be NULL. */
HK_API hk_module *hk_recurrent_stack(hk_recurrent_kind kind, int64_t features,
                                     const hk_recurrent_stack_options *options);
HK_AT_OPTIONS(hk_module *, hk_recurrent_stack, hk_recurrent_stack_options,
              (hk_source at, hk_recurrent_kind kind, int64_t features,
               const hk_recurrent_stack_options *options),
              (kind, features, options))
#define hk_recurrent_stack(...) hk_recurrent_stack_at(HK_SOURCE, __VA_ARGS__)

/* ---- using a module -------------------------------------------------------------------------------------- */

HK_API hk_array *hk_forward(hk_module *module, hk_array *x);
HK_API hk_array *hk_forward_all(hk_module *module, hk_array *const *inputs, int count);

/* Modules train until told otherwise: concerns dropout and batch norm, in the whole tree. */
HK_API void hk_module_set_training(hk_module *module, bool is_training);
HK_API bool hk_module_is_training(const hk_module *module);
/* No gradients for the parameters of the tree, of calls to come too; or gradients again. hk_module_parameters leaves them out. */
HK_API void hk_module_freeze(hk_module *module, bool is_frozen);
/* How parameters of two axes or more begin, in the whole tree; those that are there are drawn anew. Retains nothing. */
HK_API void hk_module_initialize(hk_module *module, const hk_init *init);

/* The same of the parameters of that name ("bias"), whatever axes they have, before what hk_module_initialize says: those to
 * come, too. HK_INIT_DEFAULT begins as by 1 / sqrt(in). Borrowed. */
HK_API const hk_status *hk_module_initialize_named(hk_module *module, const char *name,
                                                   const hk_init *init);
/* Numbers in all parameters of the tree that are there, frozen ones included. */
HK_API int64_t hk_module_count(const hk_module *module);

/* The parameters of the tree that want gradients, in the order in which they were made, children after their parent's own;
 * borrowed. Writes at most capacity, returns how many there are. None before the first call. */
HK_API int hk_module_parameters(hk_module *module, hk_array **params, int capacity);

enum { HK_MODULE_PATH_BYTES = 256 };
typedef struct hk_module_entry {
    char path[HK_MODULE_PATH_BYTES]; /* "encoder.0.weight" */
    hk_array *array;                 /* borrowed */
    bool is_buffer;                  /* never wants a gradient, but is saved: moving averages */
    bool
        is_made; /* by a call; else hk_module_set has, and whether it is a buffer is not known yet */
} hk_module_entry;
/* All arrays of the tree, to be saved by hk_save; at most capacity are written. Returns how many there are. */
HK_API int hk_module_entries(hk_module *module, hk_module_entry *entries, int capacity);
/* The array of that path becomes the values of x, as by hk_assign; where the first call is still to
 * come it is made, and will move to the device of that call, unless it has a gradient by then: that
 * call fails. HK_NOT_FOUND where the path names no module of the tree; HK_INVALID_ARGUMENT for a
 * shape that does not fit. Borrowed, like all statuses. */
HK_API const hk_status *hk_module_set(hk_module *module, const char *path, hk_array *x);

/* Names of arrays of a tree: Hocket's own, those of hk_module_entries; or those of the same layers
 * in PyTorch. There modules are called as here; gamma and beta are "weight" and "bias", mean and
 * variance "running_mean" and "running_var"; an array of a recurrent layer has "_l0" behind its
 * name, one of child 1_reversed of a stack "_l1_reverse", without the child's name; and query, key
 * and value of attention are thirds of "in_proj_weight" and "in_proj_bias", output is "out_proj".
 * Layouts are the same. */
typedef enum hk_name_style { HK_NAMES_OWN, HK_NAMES_TORCH } hk_name_style;

typedef struct hk_module_name {
    char path[HK_MODULE_PATH_BYTES]; /* of an array of the tree; "": it has none, and others do */
    char name[HK_MODULE_PATH_BYTES]; /* in that style */
    hk_array *array; /* borrowed; NULL: none, or one that a layer is still to make */
    int part, parts; /* rows part n to (part + 1) n of the array of that name; parts 1: all of it */
    bool is_buffer;
} hk_module_name;
/* All arrays of the tree with their names, paths and names being relative to it; those of layers
 * also before the first call. At most capacity are written. Returns how many there are. */
HK_API int hk_module_names(hk_module *module, hk_name_style style, hk_module_name *names,
                           int capacity);

/* A tree like this one, with copies of its arrays on `device`. A parameter that is still to be made will be a copy of the
 * original's, so that replicas begin alike whichever is called first. The caller sums their gradients: hk_all_reduce. */
HK_API hk_module *hk_module_replicate(hk_module *module, hk_device device);

/* A table: path, kind, shape of the last result, how many parameters; and their sum. Does not wait. Returns 0, or 1 for a module
 * that failed, whose record is printed. */
HK_API int hk_module_print(const hk_module *module, FILE *stream);
/* Borrowed; ok, or why it could not be made. NULL is said too. */
HK_API const hk_status *hk_module_status(const hk_module *module);
HK_API hk_module *hk_module_retain(hk_module *module);
/* NULL is ignored. Parents keep their children. */
HK_API void hk_module_release(hk_module *module);

/* ---- blocks of one's own --------------------------------------------------------------------------------- */

/* kind: for messages and the table, copied, as option_bytes bytes at options are, which may be NULL. */
HK_API hk_module *hk_module_create(const char *kind, hk_forward_fn forward, const void *options,
                                   size_t option_bytes);
/* The copy of the options, aligned for any type; NULL where there are none. */
HK_API void *hk_module_options(hk_module *self);
/* Takes child, and gives it a name of at most 31 letters, digits, '_' and '-', which no other child has. Paths of the
 * tree must fit into HK_MODULE_PATH_BYTES. Returns the child, borrowed: to be kept while the parent lives. What is wrong fails
 * the parent; a child that is in no tree is released then. */
HK_API hk_module *hk_module_add(hk_module *self, const char *name, hk_module *child);
/* Borrowed; NULL where there is none. */
HK_API hk_module *hk_module_child(const hk_module *self, const char *name);
HK_API hk_module *hk_module_child_at(const hk_module *self, int index);
/* Inside of forward: the parameter of that name, drawn as init says at the first call, on the device of `like` and of its dtype.
 * Borrowed, or a failed array of the scope: where it is there with another shape, the input does not fit the module. */
HK_API hk_array *hk_module_parameter(hk_module *self, const char *name, hk_dims shape,
                                     const hk_init *init, hk_array *like);
/* The same for an array without a gradient, all `value` at first. */
HK_API hk_array *hk_module_buffer(hk_module *self, const char *name, hk_dims shape, double value,
                                  hk_array *like);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_init_draw,
      (hk_source at, const hk_init *init, hk_dims shape, hk_dtype dtype, hk_device device),
      (init, shape, dtype, device))
#define hk_init_draw(...) hk_init_draw_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_sinusoidal_positions,
      (hk_source at, int64_t count, int64_t features, hk_dtype dtype, hk_device device),
      (count, features, dtype, device))
#define hk_sinusoidal_positions(...) hk_sinusoidal_positions_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_length_mask, (hk_source at, hk_array *lengths, int64_t count),
      (lengths, count))
#define hk_length_mask(...) hk_length_mask_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_forward, (hk_source at, hk_module *module, hk_array *x), (module, x))
#define hk_forward(...) hk_forward_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_forward_all,
      (hk_source at, hk_module *module, hk_array *const *inputs, int count),
      (module, inputs, count))
#define hk_forward_all(...) hk_forward_all_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_module_initialize, (hk_source at, hk_module *module, const hk_init *init),
           (module, init))
#define hk_module_initialize(...) hk_module_initialize_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_module_initialize_named,
      (hk_source at, hk_module *module, const char *name, const hk_init *init),
      (module, name, init))
#define hk_module_initialize_named(...) hk_module_initialize_named_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_module_set,
      (hk_source at, hk_module *module, const char *path, hk_array *x), (module, path, x))
#define hk_module_set(...) hk_module_set_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_module *, hk_module_replicate, (hk_source at, hk_module *module, hk_device device),
      (module, device))
#define hk_module_replicate(...) hk_module_replicate_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
