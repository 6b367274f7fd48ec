/* Samples of the operators of elementwise.def, by the kind of a row and the range of its numbers, and those of rows' gradients. */
#ifndef HOCKET_OP_ELEMENTWISE_SAMPLES_H
#define HOCKET_OP_ELEMENTWISE_SAMPLES_H

#include "op/op.h"

#define ANY       .low = -1, .high = 1
#define POSITIVE  .low = 0.5, .high = 2
#define INNER     .low = -0.9, .high = 0.9
#define ABOVE_ONE .low = 1.1, .high = 3
#define BROAD     .low = -5, .high = 5
#define SMALL     .low = 0.1, .high = 0.4
#define RANGE                                                                                      \
    .options = &(const hki_range_options)                                                          \
    {                                                                                              \
        0, 2                                                                                       \
    }
#define VALUE                                                                                      \
    .options = &(const hki_scalar_options)                                                         \
    {                                                                                              \
        3                                                                                          \
    }

#define SAMPLES_1(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37)}, __VA_ARGS__},                                                  \
        {.inputs = {HKI_SHAPE_0D}, __VA_ARGS__},                                                   \
        {.inputs = {HKI_SHAPE(3, 0, 2)}, __VA_ARGS__},                                             \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7)}, __VA_ARGS__},                    \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 1, 4)}, __VA_ARGS__},              \
    };
SAMPLES_1(samples_U1_any, ANY)
SAMPLES_1(samples_U1_positive, POSITIVE)
SAMPLES_1(samples_U1_inner, INNER)
SAMPLES_1(samples_U1_above_one, ABOVE_ONE)
SAMPLES_1(samples_U1_broad, BROAD)
SAMPLES_1(samples_U1R_broad, BROAD, RANGE)
#define samples_C1_any  samples_U1_any
#define samples_U1A_any samples_U1_any
SAMPLES_1(samples_U1S_any, ANY, VALUE)
SAMPLES_1(samples_U1S_positive, POSITIVE, VALUE)
SAMPLES_1(samples_U1S_small, SMALL, VALUE)
#define samples_U1N_any      samples_U1S_any
#define samples_U1N_positive samples_U1S_positive
#define samples_U1N_small    samples_U1S_small

#define SAMPLES_2(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37), HKI_SHAPE(37)}, __VA_ARGS__},                                   \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D}, __VA_ARGS__},                                     \
        {.inputs = {HKI_SHAPE(5, 19), HKI_SHAPE(19)}, __VA_ARGS__},                                \
        {.inputs = {HKI_SHAPE(5, 19), HKI_SHAPE(5, 1)}, __VA_ARGS__},                              \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE(3, 4)}, __VA_ARGS__},                                  \
        {.inputs = {HKI_SHAPE(2, 1, 4), HKI_SHAPE(3, 1)}, __VA_ARGS__},                            \
        {.inputs = {HKI_SHAPE(4, 0), HKI_SHAPE(1)}, __VA_ARGS__},                                  \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(5, 7)}, __VA_ARGS__},   \
        {.kind = HKI_SAMPLE_STRIDED, .inputs = {HKI_SHAPE(2, 3, 4), HKI_SHAPE(4)}, __VA_ARGS__},   \
        {.kind = HKI_SAMPLE_ALIASED, .inputs = {HKI_SHAPE(3, 3), HKI_SHAPE(3, 3)}, __VA_ARGS__},   \
    };
SAMPLES_2(samples_U2_any, ANY)
SAMPLES_2(samples_U2_positive, POSITIVE)
SAMPLES_2(samples_U2_inner, INNER)
SAMPLES_2(samples_U2_above_one, ABOVE_ONE)
SAMPLES_2(samples_U2_broad, BROAD)
SAMPLES_2(samples_U2R_broad, BROAD, RANGE)
SAMPLES_2(samples_U2S_any, ANY, VALUE)
SAMPLES_2(samples_U2S_positive, POSITIVE, VALUE)
SAMPLES_2(samples_U2_small, SMALL)
SAMPLES_2(samples_U2S_small, SMALL, VALUE)
#define samples_C2_any samples_U2_any

#define SAMPLES_3(name, ...)                                                                       \
    static const hki_sample name[] = {                                                             \
        {.inputs = {HKI_SHAPE(37), HKI_SHAPE(37), HKI_SHAPE(37)}, __VA_ARGS__},                    \
        {.inputs = {HKI_SHAPE_0D, HKI_SHAPE_0D, HKI_SHAPE_0D}, __VA_ARGS__},                       \
        {.inputs = {HKI_SHAPE(5, 1), HKI_SHAPE(9), HKI_SHAPE_0D}, __VA_ARGS__},                    \
        {.inputs = {HKI_SHAPE(0), HKI_SHAPE(0), HKI_SHAPE(1)}, __VA_ARGS__},                       \
        {.kind = HKI_SAMPLE_STRIDED,                                                               \
         .inputs = {HKI_SHAPE(5, 7), HKI_SHAPE(5, 7), HKI_SHAPE(7)},                               \
         __VA_ARGS__},                                                                             \
    };
SAMPLES_3(samples_U3_any, ANY)
SAMPLES_3(samples_U3_positive, POSITIVE)
SAMPLES_3(samples_U3_small, SMALL)
SAMPLES_3(samples_W3_any, ANY, .own = {{.set = true, .dtype = HK_BOOL, .high = 2}})

/* Of gradients: by the kind of the row and what is kept. */
#define SAMPLES_U1_none(range)   samples_U1_##range
#define SAMPLES_U1_a(range)      samples_U2_##range
#define SAMPLES_U1_y(range)      samples_U2_##range
#define SAMPLES_U1_known(range)  samples_U3_##range
#define SAMPLES_U1S_none(range)  samples_U1S_##range
#define SAMPLES_U1S_a(range)     samples_U2S_##range
#define SAMPLES_U1S_y(range)     samples_U2S_##range
#define SAMPLES_U1N_none         SAMPLES_U1S_none
#define SAMPLES_U1N_a            SAMPLES_U1S_a
#define SAMPLES_U1R_a(range)     samples_U2R_##range
#define SAMPLES_U1A_angle(range) samples_U2_##range
#define SAMPLES_U1A_y(range)     samples_U2_##range
#define SAMPLES_U2_none(range)   samples_U1_##range
#define SAMPLES_U2_a(range)      samples_U2_##range
#define SAMPLES_U2_b(range)      samples_U2_##range
#define SAMPLES_U2_y(range)      samples_U2_##range
#define SAMPLES_U2_ab(range)     samples_U3_##range
#define SAMPLES_U2_ay(range)     samples_U3_##range
#define SAMPLES_U2_by(range)     samples_U3_##range

#endif
