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

/* Where a stream is: its next call draws the numbers that any stream draws from there. */
typedef struct hk_generator_state {
    uint64_t seed;
    uint64_t stream;   /* 0, but of unseeded threads */
    uint64_t position; /* in blocks of 128 bits */
} hk_generator_state;
/* Of a generator, or with NULL of this thread's stream. Neither waits. Other threads must not draw from the generator while its
 * state is set. A generator that there was no memory for has a state of zeros, and keeps it. */
HK_API hk_generator_state hk_generator_get_state(hk_generator *generator);
HK_API void hk_generator_set_state(hk_generator *generator, hk_generator_state state);

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

/* Integers low … high-1 (low < high) that the dtype, any of integers, can hold. Each is the upper
 * half of the product of 64 random bits and high-low, so that no two probabilities differ by more than
 * 2^-64. */
HK_API hk_array *hk_random_int(int64_t low, int64_t high, hk_dims shape, hk_dtype dtype,
                               hk_device device);
HK_API hk_array *hk_random_int_from(hk_generator *generator, int64_t low, int64_t high,
                                    hk_dims shape, hk_dtype dtype, hk_device device);
/* The same of least … most, both included and both integers (HK_NUMBER makes them): also the whole
 * range of a dtype, such as HK_NUMBER(INT64_MIN) … HK_NUMBER(INT64_MAX), and uint64 above
 * INT64_MAX. NULL: this thread's stream. */
HK_API hk_array *hk_random_between_from(hk_generator *generator, hk_number least, hk_number most,
                                        hk_dims shape, hk_dtype dtype, hk_device device);

/* ---- made of these ------------------------------------------------------------------------------------ */

/* 1 with that probability, in [0, 1], else 0; of any dtype. */
HK_API hk_array *hk_random_bernoulli(double probability, hk_dims shape, hk_dtype dtype,
                                     hk_device device);
HK_API hk_array *hk_random_bernoulli_from(hk_generator *generator, double probability,
                                          hk_dims shape, hk_dtype dtype, hk_device device);

/* Exponential with mean 1, float32 or float64, by the logarithm of a uniform number. */
HK_API hk_array *hk_random_exponential(hk_dims shape, hk_dtype dtype, hk_device device);
/* With mean scale, finite and at least 0. */
HK_API hk_array *hk_random_exponential_from(hk_generator *generator, double scale, hk_dims shape,
                                            hk_dtype dtype, hk_device device);

/* Gamma with that concentration (often called shape), finite and more than 0, and scale 1; float32 or float64. Marsaglia and Tsang,
 * "A simple method for generating gamma variables", 2000. No GPUs yet. */
HK_API hk_array *hk_random_gamma(double concentration, hk_dims shape, hk_dtype dtype,
                                 hk_device device);
/* Times scale, finite and at least 0. */
HK_API hk_array *hk_random_gamma_from(hk_generator *generator, double concentration, double scale,
                                      hk_dims shape, hk_dtype dtype, hk_device device);

/* 0 … n-1 in random order, each order as likely, as int64. No GPUs yet: this and all that follow. */
HK_API hk_array *hk_random_permutation(int64_t n, hk_device device);
HK_API hk_array *hk_random_permutation_from(hk_generator *generator, int64_t n, hk_device device);
/* A copy of x with the entries of its first axis in random order. Recorded on the tape. */
HK_API hk_array *hk_random_shuffle(hk_array *x);
HK_API hk_array *hk_random_shuffle_from(hk_generator *generator, hk_array *x);

/* So many of 0 … n-1 as the shape says, as int64: each alone, or without replacement each once at most. weights (n,), of floats, may
 * be NULL; else each is chosen as likely as its weight is of their sum, without replacement of those that are left. Weights
 * are finite and not negative, and enough of them more than 0: others fail the result by HK_BAD_DATA. The device is that of
 * weights where there are any. Without replacement by exponential numbers: Efraimidis and Spirakis 2006. */
HK_API hk_array *hk_random_choice(int64_t n, hk_dims shape, bool replace, hk_array *weights,
                                  hk_device device);
HK_API hk_array *hk_random_choice_from(hk_generator *generator, int64_t n, hk_dims shape,
                                       bool replace, hk_array *weights, hk_device device);

/* For each row along the last axis of logits, of floats, an index as int64: index i with probability e ** logits[i] over the sum of
 * these. An entry -INFINITY is never chosen but where all are. The largest of logits and Gumbel noise, in float64. */
HK_API hk_array *hk_random_categorical(hk_array *logits);
HK_API hk_array *hk_random_categorical_from(hk_generator *generator, hk_array *logits);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_random_uniform,
      (hk_source at, hk_dims shape, hk_dtype dtype, hk_device device), (shape, dtype, device))
#define hk_random_uniform(...) hk_random_uniform_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_normal, (hk_source at, hk_dims shape, hk_dtype dtype, hk_device device),
      (shape, dtype, device))
#define hk_random_normal(...) hk_random_normal_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_int,
      (hk_source at, int64_t low, int64_t high, hk_dims shape, hk_dtype dtype, hk_device device),
      (low, high, shape, dtype, device))
#define hk_random_int(...) hk_random_int_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_uniform_from,
      (hk_source at, hk_generator *generator, double low, double high, hk_dims shape,
       hk_dtype dtype, hk_device device),
      (generator, low, high, shape, dtype, device))
#define hk_random_uniform_from(...) hk_random_uniform_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_normal_from,
      (hk_source at, hk_generator *generator, double mean, double std, hk_dims shape,
       hk_dtype dtype, hk_device device),
      (generator, mean, std, shape, dtype, device))
#define hk_random_normal_from(...) hk_random_normal_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_int_from,
      (hk_source at, hk_generator *generator, int64_t low, int64_t high, hk_dims shape,
       hk_dtype dtype, hk_device device),
      (generator, low, high, shape, dtype, device))
#define hk_random_int_from(...) hk_random_int_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_between_from,
      (hk_source at, hk_generator *generator, hk_number least, hk_number most, hk_dims shape,
       hk_dtype dtype, hk_device device),
      (generator, least, most, shape, dtype, device))
#define hk_random_between_from(...) hk_random_between_from_at(HK_SOURCE, __VA_ARGS__)

HK_AT(hk_array *, hk_random_bernoulli,
      (hk_source at, double probability, hk_dims shape, hk_dtype dtype, hk_device device),
      (probability, shape, dtype, device))
#define hk_random_bernoulli(...) hk_random_bernoulli_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_bernoulli_from,
      (hk_source at, hk_generator *generator, double probability, hk_dims shape, hk_dtype dtype,
       hk_device device),
      (generator, probability, shape, dtype, device))
#define hk_random_bernoulli_from(...) hk_random_bernoulli_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_exponential,
      (hk_source at, hk_dims shape, hk_dtype dtype, hk_device device), (shape, dtype, device))
#define hk_random_exponential(...) hk_random_exponential_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_exponential_from,
      (hk_source at, hk_generator *generator, double scale, hk_dims shape, hk_dtype dtype,
       hk_device device),
      (generator, scale, shape, dtype, device))
#define hk_random_exponential_from(...) hk_random_exponential_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_gamma,
      (hk_source at, double concentration, hk_dims shape, hk_dtype dtype, hk_device device),
      (concentration, shape, dtype, device))
#define hk_random_gamma(...) hk_random_gamma_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_gamma_from,
      (hk_source at, hk_generator *generator, double concentration, double scale, hk_dims shape,
       hk_dtype dtype, hk_device device),
      (generator, concentration, scale, shape, dtype, device))
#define hk_random_gamma_from(...) hk_random_gamma_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_permutation, (hk_source at, int64_t n, hk_device device), (n, device))
#define hk_random_permutation(...) hk_random_permutation_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_permutation_from,
      (hk_source at, hk_generator *generator, int64_t n, hk_device device), (generator, n, device))
#define hk_random_permutation_from(...) hk_random_permutation_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_shuffle, (hk_source at, hk_array *x), (x))
#define hk_random_shuffle(...) hk_random_shuffle_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_shuffle_from, (hk_source at, hk_generator *generator, hk_array *x),
      (generator, x))
#define hk_random_shuffle_from(...) hk_random_shuffle_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_choice,
      (hk_source at, int64_t n, hk_dims shape, bool replace, hk_array *weights, hk_device device),
      (n, shape, replace, weights, device))
#define hk_random_choice(...) hk_random_choice_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_choice_from,
      (hk_source at, hk_generator *generator, int64_t n, hk_dims shape, bool replace,
       hk_array *weights, hk_device device),
      (generator, n, shape, replace, weights, device))
#define hk_random_choice_from(...) hk_random_choice_from_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_categorical, (hk_source at, hk_array *logits), (logits))
#define hk_random_categorical(...) hk_random_categorical_at(HK_SOURCE, __VA_ARGS__)
HK_AT(hk_array *, hk_random_categorical_from,
      (hk_source at, hk_generator *generator, hk_array *logits), (generator, logits))
#define hk_random_categorical_from(...) hk_random_categorical_from_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
