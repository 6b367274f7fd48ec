/* Updates of parameters from their gradients. */
#ifndef HOCKET_OPTIM_H
#define HOCKET_OPTIM_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef struct hk_sgd_options {
    double lr;           /* learning rate, >= 0; 0 changes nothing */
    double batch;        /* how many samples the loss was summed over; 0: 1 */
    double weight_decay; /* L2 penalty, >= 0 */
} hk_sgd_options;

/* Minibatch stochastic gradient descent on count parameters with attached gradients, in place:
 * p -= lr * (grad(p) / batch + weight_decay * p). Never waits, never recorded. A parameter without a
 * gradient, or a bad option, fails the parameter; where a gradient is failed so is its parameter, with
 * its old values kept for hk_recover. */
HK_API void hk_sgd(hk_array *const *params, int count, const hk_sgd_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_API void hk_sgd_at(hk_source at, hk_array *const *params, int count,
                      const hk_sgd_options *options);
#define hk_sgd(...) hk_sgd_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
