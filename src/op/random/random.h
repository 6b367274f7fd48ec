/* Options of the random operators, for other kernels of theirs. */
#ifndef HOCKET_OP_RANDOM_H
#define HOCKET_OP_RANDOM_H

#include "op/kernel.h"

#include <inttypes.h>

/* Where a call's numbers begin: counter words 0 and 1 count from `position`, word 2 is `stream`. */
#define STREAM_ARGUMENTS(F, op)                                                                    \
    F(op, DIMS, shape, "", "shape of the result")                                                  \
    F(op, DTYPE, dtype, "", "dtype of the result")                                                 \
    F(op, U64, seed, "", "key of the generator")                                                   \
    F(op, U64, stream, "", "which stream of the seed")                                             \
    F(op, U64, position, "", "position in the stream")                                             \
    F(op, U64, generator, "",                                                                      \
      "address of the hk_generator that it came from; 0: the thread's stream")
#define UNIFORM_ARGUMENTS(F, op)                                                                   \
    STREAM_ARGUMENTS(F, op)                                                                        \
    F(op, F64, low, "", "the lowest value") F(op, F64, high, "", "the end of values, not included")
#define NORMAL_ARGUMENTS(F, op)                                                                    \
    STREAM_ARGUMENTS(F, op) F(op, F64, mean, "", "mean") F(op, F64, std, "", "standard deviation")
#define INT_ARGUMENTS(F, op)                                                                       \
    STREAM_ARGUMENTS(F, op)                                                                        \
    F(op, INT, low, "", "the lowest value")                                                        \
    F(op, INT, last, "", "the highest value")                                                      \
    F(op, BOOL, is_unsigned, "", "these are the bits of uint64")
#define GAMMA_ARGUMENTS(F, op)                                                                     \
    STREAM_ARGUMENTS(F, op)                                                                        \
    F(op, F64, concentration, "", "of the distribution") F(op, F64, scale, "", "factor")
HKI_OPTIONS_STRUCT(random_uniform, UNIFORM_ARGUMENTS)
HKI_OPTIONS_STRUCT(random_normal, NORMAL_ARGUMENTS)
HKI_OPTIONS_STRUCT(random_int, INT_ARGUMENTS)
HKI_OPTIONS_STRUCT(random_gamma, GAMMA_ARGUMENTS)

/* Of weights that cannot be chosen by; formats of a place and a weight, and of two counts. */
#define HKI_BAD_WEIGHT                                                                             \
    "weights[%" PRId64 "] is %g, but weights are finite, as is their sum, and not negative"
#define HKI_FEW_WEIGHTS "%" PRId64 " weights are more than 0, but %" PRId64 " must be"

/* What the options of them all begin with. */
typedef struct hki_stream_options {
    STREAM_ARGUMENTS(HKI_OPTIONS_FIELD, )
} hki_stream_options;

/* Sets where the numbers of a call of that shape and dtype begin, and moves the stream on: the generator's, which is alive, or
 * this thread's. */
void hki_stream_take(hki_stream_options *options);
/* Counts of the generator, for what takes from it later. */
void hki_stream_retain(const hki_stream_options *options);
void hki_stream_release(const hki_stream_options *options);

#endif
