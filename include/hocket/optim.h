/* Updates of parameters from their gradients. */
#ifndef HOCKET_OPTIM_H
#define HOCKET_OPTIM_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef struct hk_sgd_options {
    double lr;           /* learning rate, >= 0: there is no default, so that 0 changes nothing */
    double batch;        /* how many samples the loss was summed over; 0: 1 */
    double weight_decay; /* L2 penalty, >= 0 */
} hk_sgd_options;

/* Minibatch stochastic gradient descent on count parameters with attached gradients, in place:
 * p -= lr * (grad(p) / batch + weight_decay * p). Never waits, never recorded. A parameter without a
 * gradient, or a bad option, fails the parameter; where a gradient is failed so is its parameter, with
 * its old values kept for hk_recover. */
HK_API void hk_sgd(hk_array *const *params, int count, const hk_sgd_options *options);

/* ---- optimisers that keep state ---------------------------------------------------------------------- */

/* What updates a list of parameters and keeps what it needs from step to step, on their devices. Counted; the functions may be
 * called from any thread, each step by one at a time. A step may be captured: replays count steps and see new learning rates. */
typedef struct hk_optimizer hk_optimizer;

/* Defaults depend on the method: see hk_optimizer_create. HK_ZERO is 0 itself. A method refuses options that it does not have. */
typedef struct hk_optimizer_options {
    double lr;    /* learning rate, >= 0 */
    double batch; /* how many samples the loss was summed over; default 1 */
    double
        weight_decay; /* >= 0; an L2 penalty, but of adamw: taken off the parameter itself, times lr */
    double momentum; /* momentum, [0, 1) */
    double beta1,
        beta2;      /* adam, adamw, [0, 1): of the averages of gradients and of their squares */
    double rho;     /* rmsprop, adadelta, [0, 1): of the average of squares */
    double epsilon; /* not sgd and momentum; >= 0: what divisors are kept from 0 by */
    bool nesterov;  /* momentum: Nesterov's (Sutskever et al. 2013) */
} hk_optimizer_options;

/* An optimiser of count parameters with attached gradients: contiguous, float32 or float64, on any devices; retained. method and
 * defaults of lr, (other values) are, as src/op/update/update.def says:
 *
 *   "sgd"       0.01                        p -= lr g: like hk_sgd, but with a learning rate that
 *                                           replays see anew
 *   "momentum"  0.01 (momentum 0.9)         v = momentum v + g; p -= lr v (Polyak 1964), or
 *                                           Nesterov's
 *   "adam"      0.001 (0.9, 0.999, 1e-8)    p -= lr m / (sqrt(v) + epsilon) (Kingma, Ba 2015)
 *   "adamw"     0.001 (0.9, 0.999, 1e-8)    Adam with the weight decay apart (Loshchilov, Hutter
 *                                           2019)
 *   "rmsprop"   0.01 (rho 0.99, 1e-8)       p -= lr g / (sqrt(v) + epsilon) (Hinton 2012)
 *   "adagrad"   0.01 (1e-10)                v += g^2; p -= lr g / (sqrt(v) + epsilon) (Duchi et al.
 *                                           2011)
 *   "adadelta"  1.0 (rho 0.9, 1e-6)         p -= lr sqrt(u + epsilon) / sqrt(v + epsilon) g (Zeiler
 *                                           2012)
 *
 * options may be NULL. Never NULL: what is wrong with the arguments is said by hk_optimizer_status, and steps of such an
 * optimiser fail its parameters. Issues calls that make the state; does not wait. */
HK_API hk_optimizer *hk_optimizer_create(const char *method, hk_array *const *params, int count,
                                         const hk_optimizer_options *options);
/* The names of the methods, in that order; NULL where index is out of range. Static. */
HK_API const char *hk_optimizer_method_at(int index);
/* Borrowed; ok, or what was wrong when it was made. NULL is no optimiser, which is said too. */
HK_API const hk_status *hk_optimizer_status(const hk_optimizer *optimizer);
/* One step: every parameter, and its state, from its gradient. Never waits, never recorded. A parameter that never had a
 * gradient is failed; one whose gradient was taken away (hk_module_freeze) stays as it is, with
 * its state. Where a gradient has failed so are parameter and state, with their old values kept for hk_recover: the step
 * counts all the same. */
HK_API void hk_optimizer_step(hk_optimizer *optimizer);
/* From the next step on, of replays too; in program order, does not wait. Fails the coefficients where lr is not finite or below
 * 0. */
HK_API void hk_optimizer_set_lr(hk_optimizer *optimizer, double lr);
/* What was set last. */
HK_API double hk_optimizer_get_lr(const hk_optimizer *optimizer);
/* Parameters [first, first + count) of its list become a group, with a learning rate that is
 * `factor` times the optimiser's, and this weight decay in place of the option's: 0 for biases,
 * say. Before steps are captured, and before what was saved is loaded, for a factor that is new
 * has coefficients of its own, behind the others. An optimiser whose state is sharded has no
 * groups. Borrowed; ok, or what is wrong: then groups are as they were, but for parameters
 * before the one that is told of. Does not wait. */
HK_API const hk_status *hk_optimizer_set_group(hk_optimizer *optimizer, int first, int count,
                                               double factor, double weight_decay);
/* "adam", as it was asked for; "" for one that could not be made, and NULL. Static. */
HK_API const char *hk_optimizer_get_method(const hk_optimizer *optimizer);
/* Of its list, borrowed; NULL where index is out of range. */
HK_API hk_array *hk_optimizer_get_parameter(const hk_optimizer *optimizer, int index);
/* All that it keeps, to be saved, overwritten with what was saved, or recovered: of each device,
 * and of each factor of groups there, "coefficients.I", float64(2,), learning rate and steps
 * done; of each parameter "state.I", (slots, shape...). Borrowed. NULL at index
 * hk_optimizer_array_count, which is 0 for one that could not be made. name (may be NULL) gets
 * at most bytes. */
HK_API int hk_optimizer_array_count(const hk_optimizer *optimizer);
HK_API hk_array *hk_optimizer_array(const hk_optimizer *optimizer, int index, char *name,
                                    size_t bytes);
/* The state of parameter `index` of the list that the optimiser was made for: (slots, shape...), of the scope, on the device of the parameter.
 * Where the state is sharded (hk_optimizer_create_sharded) it is put together from all devices and ranks: all ranks of the group call
 * this, for the same parameters in the same order. So a file with whole states fits any number of devices and ranks, and an
 * optimiser that is not sharded. Does not wait; failed where there is no such parameter, or where a part has failed. */
HK_API hk_array *hk_optimizer_gather(const hk_optimizer *optimizer, int index);
/* The other way: what this process keeps of that state is overwritten from the whole one, on any device. No rank is asked. A state
 * of another shape or dtype fails it. */
HK_API void hk_optimizer_scatter(hk_optimizer *optimizer, int index, hk_array *state);
HK_API hk_optimizer *hk_optimizer_retain(hk_optimizer *optimizer);
/* NULL is ignored. */
HK_API void hk_optimizer_release(hk_optimizer *optimizer);

/* ---- gradients, before a step ------------------------------------------------------------------------ */

/* Scales the gradients of all parameters so that their norm together is at most `norm` (> 0); smaller ones stay bit for bit.
 * Never waits. Returns the norm before, an array () of the first parameter's dtype and device, of the current scope. Parameters
 * are of one dtype, on any devices. Bad arguments fail the result, and the gradients stay as they are; where
 * one has failed, so have all. */
HK_API hk_array *hk_clip_grad_norm(hk_array *const *params, int count, double norm);
/* Each element of the gradients to [-limit, limit]. Never waits. */
HK_API void hk_clip_grad_value(hk_array *const *params, int count, double limit);

/* The gradients of all parameters become zeros, and backward passes add to them from then on (HK_GRAD_ADD). So before a step of
 * several batches: this, a backward pass of each, and a step whose option `batch` counts all of them. Never waits. */
HK_API void hk_accumulate_grads(hk_array *const *params, int count);

/* ---- moving averages of parameters -------------------------------------------------------------------- */

/* Kept beside parameters, of float32 or float64, which are retained: mostly better than the last ones to evaluate with (Polyak,
 * Juditsky 1992). Counted. Like an optimiser's steps, updates never wait, are never recorded, and may be captured. */
typedef struct hk_weight_averages hk_weight_averages;
/* Copies to begin with. decay from 0 to 1, mostly 0.999. Never NULL: what is wrong is said by hk_weight_averages_status, and the
 * rest then does nothing. */
HK_API hk_weight_averages *hk_weight_averages_create(hk_array *const *params, int count,
                                                     double decay);
/* Borrowed. NULL is no such thing, which is said too. */
HK_API const hk_status *hk_weight_averages_status(const hk_weight_averages *averages);
/* After a step: average = decay average + (1 - decay) parameter. */
HK_API void hk_weight_averages_update(hk_weight_averages *averages);
/* Parameters and averages change places: before evaluating, and again behind it. */
HK_API void hk_weight_averages_swap(hk_weight_averages *averages);
/* That of parameter `index`, to be saved or overwritten; borrowed. NULL where there is none. */
HK_API hk_array *hk_weight_averages_get(const hk_weight_averages *averages, int index);
HK_API hk_weight_averages *hk_weight_averages_retain(hk_weight_averages *averages);
/* NULL is ignored. */
HK_API void hk_weight_averages_release(hk_weight_averages *averages);

/* ---- learning rates by step --------------------------------------------------------------------------- */

/* Plain functions of the number of steps done, for hk_optimizer_set_lr. */

/* lr times factor for each `every` steps. */
HK_API double hk_lr_step(double lr, int64_t step, int64_t every, double factor);
/* From lr to last along half a cosine in `steps` steps, last after them (Loshchilov, Hutter 2017). */
HK_API double hk_lr_cosine(double lr, int64_t step, int64_t steps, double last);
/* A straight line from lr / steps at step 0 to lr at step steps - 1, lr after it. */
HK_API double hk_lr_warm_up(double lr, int64_t step, int64_t steps);

typedef struct hk_lr_plateau {
    double factor;         /* what lr is multiplied by */
    int patience;          /* values without a better one that are borne */
    double best;           /* set by hk_lr_plateau_next; begin with seen 0 */
    int64_t seen, waiting; /* likewise */
} hk_lr_plateau;
/* lr after one more value (a loss: smaller is better); a NaN is no better one. */
HK_API double hk_lr_plateau_next(hk_lr_plateau *plateau, double lr, double value);

typedef struct hk_early_stop {
    int patience;          /* values without a better one that are borne */
    double least;          /* by how much one must be less to be better, >= 0 */
    double best;           /* set by hk_early_stop_next; begin with seen 0 */
    int64_t seen, waiting; /* likewise */
    bool is_best;          /* likewise: the last value was the best one: save the parameters */
} hk_early_stop;
/* Whether to stop after one more value (a loss: smaller is better); a NaN is no better one. */
HK_API bool hk_early_stop_next(hk_early_stop *stop, double value);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT_VOID(hk_accumulate_grads, (hk_source at, hk_array *const *params, int count), (params, count))
#define hk_accumulate_grads(...) hk_accumulate_grads_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_weight_averages *, hk_weight_averages_create,
      (hk_source at, hk_array *const *params, int count, double decay), (params, count, decay))
#define hk_weight_averages_create(...) hk_weight_averages_create_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_weight_averages_update, (hk_source at, hk_weight_averages *averages), (averages))
#define hk_weight_averages_update(...) hk_weight_averages_update_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_weight_averages_swap, (hk_source at, hk_weight_averages *averages), (averages))
#define hk_weight_averages_swap(...) hk_weight_averages_swap_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_sgd, hk_sgd_options,
                   (hk_source at, hk_array *const *params, int count,
                    const hk_sgd_options *options),
                   (params, count, options))
#define hk_sgd(...) hk_sgd_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_optimizer *, hk_optimizer_create, hk_optimizer_options,
              (hk_source at, const char *method, hk_array *const *params, int count,
               const hk_optimizer_options *options),
              (method, params, count, options))
#define hk_optimizer_create(...) hk_optimizer_create_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_optimizer_step, (hk_source at, hk_optimizer *optimizer), (optimizer))
#define hk_optimizer_step(...) hk_optimizer_step_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_optimizer_set_lr, (hk_source at, hk_optimizer *optimizer, double lr), (optimizer, lr))
#define hk_optimizer_set_lr(...) hk_optimizer_set_lr_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_optimizer_set_group,
      (hk_source at, hk_optimizer *optimizer, int first, int count, double factor,
       double weight_decay),
      (optimizer, first, count, factor, weight_decay))
#define hk_optimizer_set_group(...) hk_optimizer_set_group_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_optimizer_gather, (hk_source at, const hk_optimizer *optimizer, int index),
      (optimizer, index))
#define hk_optimizer_gather(...) hk_optimizer_gather_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_optimizer_scatter,
           (hk_source at, hk_optimizer *optimizer, int index, hk_array *state),
           (optimizer, index, state))
#define hk_optimizer_scatter(...) hk_optimizer_scatter_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_clip_grad_norm,
      (hk_source at, hk_array *const *params, int count, double norm), (params, count, norm))
#define hk_clip_grad_norm(...) hk_clip_grad_norm_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_clip_grad_value, (hk_source at, hk_array *const *params, int count, double limit),
           (params, count, limit))
#define hk_clip_grad_value(...) hk_clip_grad_value_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
