/* Random arrays: the same numbers for the same seed on every machine, however many devices there are and
 * whatever runs beside (normals within a unit in the last place).
 *
 * Numbers come from a stream, Philox4x32-10 (Salmon et al., SC'11), whose position moves on at the call,
 * by how many elements the call makes: element i of a result depends on the seed, the position and i
 * alone. Each thread has a stream of its own, which hk_seed starts anew; a generator is a stream that may
 * be shared. Functions that end in _from draw from a generator, or with NULL from this thread's stream.
 *
 * Captured steps draw new numbers at each replay: see hocket/graph.h.
 *
 * An unseeded thread has a stream of seed 0, told from those of other threads by the order in which
 * threads first draw: the first one has the stream that hk_seed(0) begins. Where numbers of several
 * threads must be repeated, give each thread a seed or a generator. */
#ifndef HOCKET_RANDOM_H
#define HOCKET_RANDOM_H

#include <hocket/array.h>

HK_BEGIN_DECLS

/* This thread's stream begins anew: the same seed, the same numbers, in any thread. */
HK_API void hk_seed(uint64_t seed);

/* A stream of its own: it gives the numbers that a thread's stream gives after hk_seed. Counted;
 * thread-safe, though the order in which threads draw decides which of them gets which numbers. */
typedef struct hk_generator hk_generator;
/* Never NULL: when host memory is short, arrays made from it fail with HK_OUT_OF_MEMORY. */
HK_API hk_generator *hk_generator_create(uint64_t seed);
HK_API hk_generator *hk_generator_retain(hk_generator *generator);
/* Drops one count; NULL is ignored. Arrays made from it do not need it any more. */
HK_API void hk_generator_release(hk_generator *generator);

/* Uniform in [0, 1): multiples of 2^-24 (float32) or 2^-53 (float64). */
HK_API hk_array *hk_random_uniform(hk_dims shape, hk_dtype dtype, hk_device device);
/* Uniform in [low, high), low < high, both finite and their difference too. */
HK_API hk_array *hk_random_uniform_from(hk_generator *generator, double low, double high,
                                        hk_dims shape, hk_dtype dtype, hk_device device);

/* Normal with mean 0 and standard deviation 1, float32 or float64 (Box and Muller, in double). */
HK_API hk_array *hk_random_normal(hk_dims shape, hk_dtype dtype, hk_device device);
/* With that mean and standard deviation, both finite, std at least 0. */
HK_API hk_array *hk_random_normal_from(hk_generator *generator, double mean, double std,
                                       hk_dims shape, hk_dtype dtype, hk_device device);

/* Integers low … high-1 (low < high) that the dtype can hold: int32, int64 or uint8. Each is the upper
 * half of the product of 64 random bits and high-low, so that no two probabilities differ by more than
 * 2^-64. */
HK_API hk_array *hk_random_int(int64_t low, int64_t high, hk_dims shape, hk_dtype dtype,
                               hk_device device);
HK_API hk_array *hk_random_int_from(hk_generator *generator, int64_t low, int64_t high,
                                    hk_dims shape, hk_dtype dtype, hk_device device);

/* The same with the source position of the call: see HK_SOURCE. */
HK_API hk_array *hk_random_uniform_at(hk_source at, hk_dims shape, hk_dtype dtype,
                                      hk_device device);
#define hk_random_uniform(...) hk_random_uniform_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_random_normal_at(hk_source at, hk_dims shape, hk_dtype dtype, hk_device device);
#define hk_random_normal(...) hk_random_normal_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_random_int_at(hk_source at, int64_t low, int64_t high, hk_dims shape,
                                  hk_dtype dtype, hk_device device);
#define hk_random_int(...) hk_random_int_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_random_uniform_from_at(hk_source at, hk_generator *generator, double low,
                                           double high, hk_dims shape, hk_dtype dtype,
                                           hk_device device);
#define hk_random_uniform_from(...) hk_random_uniform_from_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_random_normal_from_at(hk_source at, hk_generator *generator, double mean,
                                          double std, hk_dims shape, hk_dtype dtype,
                                          hk_device device);
#define hk_random_normal_from(...) hk_random_normal_from_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_array *hk_random_int_from_at(hk_source at, hk_generator *generator, int64_t low,
                                       int64_t high, hk_dims shape, hk_dtype dtype,
                                       hk_device device);
#define hk_random_int_from(...) hk_random_int_from_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
