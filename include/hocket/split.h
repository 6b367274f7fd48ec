/* One network split over devices and ranks: by layer, by network (a pipeline), by data with the optimiser's state sharded, and batch
 * norm over the whole batch. docs/MACHINES.md says how to choose.
 *
 * Functions of devices are for one process, which has one tape: gradients are those of what was computed, whoever computed it. Functions
 * of groups are for ranks, each with a tape of its own; all ranks of a group call them in the same order. Nothing here waits, except as
 * every call may. */
#ifndef HOCKET_SPLIT_H
#define HOCKET_SPLIT_H

#include <hocket/call.h>
#include <hocket/nn.h>
#include <hocket/optim.h>
#include <hocket/world.h>

HK_BEGIN_DECLS

/* ---- values between devices ---------------------------------------------------------------------------------------- */

/* Recorded for gradients. n is from 1 to 64, and devices may be the same. Arrays of a list have one shape and dtype. Sums are in
 * the order of hk_all_reduce, gradients' sums too. Results belong to the scope; what cannot be done fails all of them. */

/* out[i]: x on devices[i], a view of x where it is there. The gradient is the sum of theirs (Shoeybi et al. 2019, f). */
HK_API void hk_devices_share(hk_array *x, const hk_device *devices, int n, hk_array **out);
/* The sum of parts, on `device`; zeroed: that of the first. Each part gets its gradient (the same, g). */
HK_API hk_array *hk_devices_join(hk_array *const *parts, int n, hk_device device);
/* out[i]: the sum of all xs, on xs[i]'s device. Each x gets the sum of the gradients. */
HK_API void hk_devices_sum(hk_array *const *xs, int n, hk_array **out);
/* out[i]: all xs one after the other along axis, on xs[i]'s device. Gradient: hk_devices_reduce_scatter. */
HK_API void hk_devices_all_gather(hk_array *const *xs, int n, int axis, hk_array **out);
/* out[i]: part i of the sum of all xs, cut along axis, whose size n divides. Gradient: hk_devices_all_gather. */
HK_API void hk_devices_reduce_scatter(hk_array *const *xs, int n, int axis, hk_array **out);

/* ---- values between ranks that compute the same -------------------------------------------------------------------- */

/* Where ranks compute parts of one layer, and all of them compute what comes before and behind it. They complement the functions
 * of hocket/world.h, whose gradients are right where the loss is the sum of all ranks' losses. These are right where it is the
 * loss of any one of them, since all have the same. */

/* A view of x, which is the same on all ranks, for each to compute a part with. The gradient is the sum of the ranks' (Shoeybi et
 * al. 2019, f). */
HK_API hk_array *hk_group_share(hk_group *group, hk_array *x);
/* The sum of the ranks' parts, on all ranks, by hk_group_sum. Each part gets the gradient that is there (the same, g). */
HK_API hk_array *hk_group_join(hk_group *group, hk_array *part);

/* ---- pipelines ------------------------------------------------------------------------------------------------------ */

/* In which order a stage computes forward and backward passes of the micro-batches of a batch. Bubbles are the same, the part
 * (stages - 1) / (batches + stages - 1) of the time. Both add gradients up in the order of micro-batches: the same bytes. */
typedef enum hk_pipeline_order {
    HK_PIPELINE_GPIPE, /* all forward, then all backward (Huang et al. 2019); it holds all micro-batches */
    /* one forward, one backward, with a flush (Narayanan et al. 2021); stage s holds at most stages - s micro-batches of one
     * shape, for it copies its inputs to where those of earlier ones were */
    HK_PIPELINE_1F1B
} hk_pipeline_order;

typedef struct hk_pipeline_step {
    int stage, batch; /* of the micro-batch */
    bool is_backward;
} hk_pipeline_step;

/* All 2 * stages * batches steps in an order of issue: each behind those that it needs, those of a stage in its order. Writes at
 * most capacity; returns how many there are. 0 where an argument is out of range, there would be more than INT_MAX, or no memory is
 * left to order them. */
HK_API int hk_pipeline_steps(hk_pipeline_order order, int stages, int batches,
                             hk_pipeline_step *steps, int capacity);

typedef struct hk_pipeline_options {
    hk_pipeline_order order;
    int stages, batches; /* each 1 or more */
    /* stages of them; with a group: only this rank's is used (default: results stay where they are) */
    const hk_device *devices;
    /* `batches` of them, on any device, borrowed; with a group: those of its rank 0 (default: none). Without them 1F1B does
     * not bound what stage 0 holds. */
    hk_array *const *inputs;
    /* Records the part of the network that stage `stage` is, of micro-batch `batch`. x: what the stage before gave, on the
     * stage's device; for stage 0 the input, or NULL; it is to be used in this call only. Gives one array of floats; of the last
     * stage the loss, of any shape, which is summed. */
    hk_array *(*forward)(void *context, int stage, int batch, hk_array *x);
    void *context;
    /* Its ranks are the stages, in order, as many; NULL: all stages are in this process. */
    hk_group *group;
    /* With a group: shape and dtype of what stage i - 1 gives stage i, at [i] of `stages` shapes. */
    const hk_dims *shapes;
    hk_dtype dtype;
} hk_pipeline_options;

/* Issues the forward and backward passes of all micro-batches. Parameters' gradients are to be added up, by hk_accumulate_grads
 * before. losses[b], `batches` of them, become the micro-batches' losses, of the scope; losses may be NULL. With a group only the last
 * rank has losses; on the others they become NULL.
 *
 * Returns the first failure that could be seen at once, as hk_backward does; lent. What a stage or a gradient fails by, fails what
 * depends on it. forward is called by this thread, recording; its results are released when their backward pass was issued.
 * With a group it cannot be captured. */
HK_API const hk_status *hk_pipeline_run(const hk_pipeline_options *options, hk_array **losses);

/* ---- optimisers with sharded state ----------------------------------------------------------------------------------- */

/* An optimiser that keeps 1 / N of the state on each of N devices (ZeRO-1, Rajbhandari et al. 2020): those of all ranks. params[i * n
 * + d] is parameter i on device d, the same on all, with a gradient attached; of one dtype, on one device for each d. group NULL:
 * the devices of this process.
 *
 * Parameters are taken as one vector of T elements, of which device d has the d-th range of n. Ranks share these in buckets of 4 MiB, so
 * that one is summed while gradients of others are computed, the last ones first. Parts are of T / N elements, rounded up to 16. So the
 * state takes slots * T / N elements there (momentum 1, adam 2), instead of slots * T.
 *
 * A step (hk_optimizer_step) sums gradients over all devices, each to the device of its part; updates the parts there; and copies
 * parameters from there. It moves what hk_all_reduce moves, and takes its place: do not sum gradients before. Gradients
 * of other parts than the device's own stay its own; so what clips them before a step clips each device's. Parameters are the bytes that hk_group_all_reduce and n optimisers give, but
 * where n > 1 and the number of ranks is no power of two, which adds up in another order.
 *
 * Parameters of the optimiser (hk_optimizer_get_parameter) and its arrays are the parts of this process. hk_optimizer_gather has
 * whole states, and hk_optimizer_scatter takes them, on any number of devices and ranks: so hk_checkpoint_save and _load do.
 * A step may be captured. Errors as of hk_optimizer_create; what differs between ranks fails the step. */
HK_API hk_optimizer *hk_optimizer_create_sharded(const char *method, hk_array *const *params, int n,
                                                 int count, hk_group *group,
                                                 const hk_optimizer_options *options);

/* ---- batch norm over all devices --------------------------------------------------------------------------------------- */

/* hk_batch_norm_train of one batch, of which xs[i] has a part, on its device, with gammas[i], betas[i], means[i] and variances[i],
 * which are the same on all devices. Statistics are over the samples of all devices, and of all ranks of group, unless that is
 * NULL. ys[i], of the scope, and the gradient of xs[i] are those of the whole batch, up to rounding. Gradients of gammas and
 * betas are each device's part, to be summed with the others. Moving averages become the same on all. n is from 1 to 64. */
HK_API void hk_batch_norm_over(hk_group *group, hk_array *const *xs, hk_array *const *gammas,
                               hk_array *const *betas, hk_array *const *means,
                               hk_array *const *variances, int n,
                               const hk_batch_norm_train_options *options, hk_array **ys);
/* hk_batch_norm_layer whose statistics, while it trains, are over all ranks of group. Parameters and buffers are the same. */
HK_API hk_module *hk_batch_norm_over_layer(hk_group *group, double eps, double momentum);

/* ---- the same with the source position of the call: see HK_SOURCE ------------------------------------------------------ */

HK_AT_VOID(hk_devices_share,
           (hk_source at, hk_array *x, const hk_device *devices, int n, hk_array **out),
           (x, devices, n, out))
#define hk_devices_share(...) hk_devices_share_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_devices_join, (hk_source at, hk_array *const *parts, int n, hk_device device),
      (parts, n, device))
#define hk_devices_join(...) hk_devices_join_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_devices_sum, (hk_source at, hk_array *const *xs, int n, hk_array **out), (xs, n, out))
#define hk_devices_sum(...) hk_devices_sum_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_devices_all_gather,
           (hk_source at, hk_array *const *xs, int n, int axis, hk_array **out), (xs, n, axis, out))
#define hk_devices_all_gather(...) hk_devices_all_gather_at(HK_SOURCE, __VA_ARGS__)
HK_AT_VOID(hk_devices_reduce_scatter,
           (hk_source at, hk_array *const *xs, int n, int axis, hk_array **out), (xs, n, axis, out))
#define hk_devices_reduce_scatter(...) hk_devices_reduce_scatter_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_share, (hk_source at, hk_group *group, hk_array *x), (group, x))
#define hk_group_share(...) hk_group_share_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_group_join, (hk_source at, hk_group *group, hk_array *part), (group, part))
#define hk_group_join(...) hk_group_join_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(const hk_status *, hk_pipeline_run, hk_pipeline_options,
              (hk_source at, const hk_pipeline_options *options, hk_array **losses),
              (options, losses))
#define hk_pipeline_run(...) hk_pipeline_run_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_optimizer *, hk_optimizer_create_sharded, hk_optimizer_options,
              (hk_source at, const char *method, hk_array *const *params, int n, int count,
               hk_group *group, const hk_optimizer_options *options),
              (method, params, n, count, group, options))
#define hk_optimizer_create_sharded(...) hk_optimizer_create_sharded_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS_VOID(hk_batch_norm_over, hk_batch_norm_train_options,
                   (hk_source at, hk_group *group, hk_array *const *xs, hk_array *const *gammas,
                    hk_array *const *betas, hk_array *const *means, hk_array *const *variances,
                    int n, const hk_batch_norm_train_options *options, hk_array **ys),
                   (group, xs, gammas, betas, means, variances, n, options, ys))
#define hk_batch_norm_over(...) hk_batch_norm_over_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
