/* Generation: networks that write on, token by token.
 *
 *     hk_array *tokens = hk_generate(net, prompts, lengths,
 *                                    &(hk_generate_options){.most_tokens = 100,
 *                                                           .temperature = 0.8});
 *
 * A cache keeps what attention layers know of the tokens so far, so that a step looks at the new
 * ones alone:
 *
 *     hk_cache *cache = hk_cache_create(256);
 *     hk_array *logits = hk_forward_cached(net, prompts, cache, lengths);
 *     … logits = hk_forward_cached(net, token, cache, NULL);
 *
 * first with prompts (n, t) of unequal lengths, then with tokens (n, 1), while there is room.
 *
 * Each step gives what the whole forward pass over all tokens would give for the last one, up to
 * rounding. Its shapes are fixed: it may be captured once (hocket/graph.h) and replayed. What knows
 * of caches: hk_attention_layer that is causal, and with key and value of another sequence, where
 * nothing is kept; layers of positions; and what looks at each position by itself. Recurrent layers
 * and attention that sees later positions refuse. */
#ifndef HOCKET_GENERATE_H
#define HOCKET_GENERATE_H

#include <hocket/nn.h>
#include <hocket/random.h>

HK_BEGIN_DECLS

/* ---- caches ---------------------------------------------------------------------------------- */

/* Keys and values of all positions so far, of rows that are each a sequence of its own. Counted;
 * externally synchronised. */
typedef struct hk_cache hk_cache;

/* For sequences of at most so many tokens, >= 1. Never NULL: calls with a failed one give failed
 * arrays. The arrays of layers are made at the first call. HK_INVALID_ARGUMENT,
 * HK_OUT_OF_MEMORY. */
HK_API hk_cache *hk_cache_create(int64_t capacity);
HK_API hk_cache *hk_cache_retain(hk_cache *cache);
/* Drops one count; NULL is ignored. */
HK_API void hk_cache_release(hk_cache *cache);
/* Borrowed, like all statuses. */
HK_API const hk_status *hk_cache_status(const hk_cache *cache);
/* The next call is a first one again, of as many rows as it has. */
HK_API void hk_cache_clear(hk_cache *cache);

/* What net gives for tokens, with what the cache keeps of those before. The first call: (n, t, …),
 * t at most the capacity; lengths: integers (n,), how many of each row are there, 1 to t; the rest
 * is padding, whose results mean nothing. NULL: all. Later calls: (n, 1, …), one more for each row,
 * wherever it is; lengths must be NULL. A row that is full, and a length out of range, fail the
 * results. Does not wait. Not recorded on the tape. */
HK_API hk_array *hk_forward_cached(hk_module *net, hk_array *tokens, hk_cache *cache,
                                   hk_array *lengths);
HK_AT(hk_array *, hk_forward_cached,
      (hk_source at, hk_module *net, hk_array *tokens, hk_cache *cache, hk_array *lengths),
      (net, tokens, cache, lengths))
#define hk_forward_cached(...) hk_forward_cached_at(HK_SOURCE, __VA_ARGS__)

/* The same around any calls of this thread, for networks that are no modules: between enter, whose
 * result (a failed array, where something is wrong; of the scope) is what the network is to read,
 * and leave. */
HK_API hk_array *hk_cache_enter(hk_cache *cache, hk_array *tokens, hk_array *lengths);
HK_AT(hk_array *, hk_cache_enter,
      (hk_source at, hk_cache *cache, hk_array *tokens, hk_array *lengths),
      (cache, tokens, lengths))
#define hk_cache_enter(...) hk_cache_enter_at(HK_SOURCE, __VA_ARGS__)
HK_API void hk_cache_leave(hk_cache *cache);

/* Inside of forward functions: where the tokens of this call are in their rows, int64 (n,), for
 * layers of positions of one's own. NULL: no cache is entered, or it is a first call, whose tokens
 * are at 0, 1, …. Borrowed. */
HK_API hk_array *hk_cache_positions(void);

/* ---- sampling -------------------------------------------------------------------------------- */

/* May be NULL: by the probabilities that the logits say. */
typedef struct hk_sample_options {
    /* Logits are divided by it (default: 1). HK_ZERO: the likeliest, and nothing is drawn. */
    double temperature;
    /* Among so many of the likeliest; those as likely as the last of them, too (default: all). */
    int64_t top_k;
    /* Among the likeliest, as few as have that probability together, in (0, 1] (default: all). */
    double top_p;
    hk_generator *generator; /* that draws (default: this thread's stream) */
} hk_sample_options;

/* For each row of logits (…, classes), of floats, an index as int64 (…). One number for each logit
 * is drawn, in one call, whatever the options are, but for a temperature of 0. Does not wait.
 * Errors: HK_INVALID_ARGUMENT, HK_OUT_OF_RANGE. No GPUs yet. */
HK_API hk_array *hk_sample(hk_array *logits, const hk_sample_options *options);
HK_AT_OPTIONS(hk_array *, hk_sample, hk_sample_options,
              (hk_source at, hk_array *logits, const hk_sample_options *options), (logits, options))
#define hk_sample(...) hk_sample_at(HK_SOURCE, __VA_ARGS__)

/* ---- texts ----------------------------------------------------------------------------------- */

typedef struct hk_generate_options {
    int64_t most_tokens; /* for each row, >= 1; must be given */
    double temperature;  /* this and the next three: as in hk_sample_options */
    int64_t top_k;
    double top_p;
    hk_generator *generator;
    /* Called with the tokens of each step, one for each row, as soon as they are known, which waits
     * for them; false: no more. Tokens of steps that were not made are -1. NULL: nothing is waited
     * for. */
    bool (*each)(void *of, const int64_t *tokens, int64_t rows);
    void *of;
} hk_generate_options;

/* What net, which gives logits (n, t, classes) for tokens (n, t), writes behind prompts: int64 (n,
 * most_tokens). prompts: integers (n, t), with lengths as above. The module does not train
 * meanwhile. The first step reads the prompts; the second is captured, and replayed for the others
 * where it can be. Draws are of the generator alone: the same seed gives the same tokens.
 * Errors give a failed array. */
HK_API hk_array *hk_generate(hk_module *net, hk_array *prompts, hk_array *lengths,
                             const hk_generate_options *options);
HK_AT_OPTIONS(hk_array *, hk_generate, hk_generate_options,
              (hk_source at, hk_module *net, hk_array *prompts, hk_array *lengths,
               const hk_generate_options *options),
              (net, prompts, lengths, options))
#define hk_generate(...) hk_generate_at(HK_SOURCE, __VA_ARGS__)

/* The same by several copies of a network (hk_module_replicate), on as many devices: rows are split
 * over them, the first ones get one more, and all are sampled on the device of prompts, by the same
 * numbers: the tokens are those of one device, where its rounding does not depend on how many rows
 * there are. */
HK_API hk_array *hk_generate_over(hk_module *const *nets, const hk_device *devices, int count,
                                  hk_array *prompts, hk_array *lengths,
                                  const hk_generate_options *options);
HK_AT_OPTIONS(hk_array *, hk_generate_over, hk_generate_options,
              (hk_source at, hk_module *const *nets, const hk_device *devices, int count,
               hk_array *prompts, hk_array *lengths, const hk_generate_options *options),
              (nets, devices, count, prompts, lengths, options))
#define hk_generate_over(...) hk_generate_over_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
