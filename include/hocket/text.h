/* Text for language models: vocabularies of characters or words, and data sets of pieces of a text.
 *
 *     hk_vocabulary *vocabulary = hk_vocabulary_create(text, bytes, NULL);
HK_AT_OPTIONS(hk_vocabulary *, hk_vocabulary_create, hk_vocabulary_options, (hk_source at, const char *text, size_t bytes, const hk_vocabulary_options *options), (text, bytes, options))
#define hk_vocabulary_create(...) hk_vocabulary_create_at(HK_SOURCE, __VA_ARGS__)
 *     hk_data_set *set = hk_data_set_of_tokens(hk_vocabulary_encode(vocabulary, text, bytes),
 *                                              &(hk_token_options){.steps = 32});
 *     hk_loader *loader = hk_loader_create(set, &(hk_loader_options){.batch_size = 32, .shuffle = true, .drop_last = true});
 *     … hk_loader_next(loader, &x, &y): int32 (rows, steps), and the tokens that follow each …
 *
 * The ways to cut a text are those of Dive into Deep Learning, "Language Models". */
#ifndef HOCKET_TEXT_H
#define HOCKET_TEXT_H

#include <hocket/data.h>

HK_BEGIN_DECLS

/* ---- vocabularies ---------------------------------------------------------------------------------------- */

/* Tokens, which have places from 0: first "<unk>", for all that is no other one, then by how often they came, of equals by their
 * bytes. Immutable after create, counted, thread-safe; of no runtime. */
typedef struct hk_vocabulary hk_vocabulary;

typedef enum hk_token_kind {
    HK_TOKEN_CHARACTERS, /* of UTF-8; bytes that are not, each by itself */
    HK_TOKEN_WORDS /* runs of letters, digits, ' and bytes from 0x80 on; each other character but blanks by itself */
} hk_token_kind;

/* Zero means the default. */
typedef struct hk_vocabulary_options {
    hk_token_kind kind;
    bool
        letters_only; /* a text is what is left of it as small ASCII letters, one blank for each run of others */
    int64_t least_count; /* tokens that come less often are left out; default 1 */
    int64_t most_tokens; /* "<unk>" included; default and most: 2^31 - 1 */
} hk_vocabulary_options;

/* Of a text of so many bytes, which is borrowed. options may be NULL. Never NULL: a failed vocabulary has "<unk>" alone, and its
 * encodings fail by its record. HK_INVALID_ARGUMENT, HK_OUT_OF_MEMORY. The result belongs to the caller. */
HK_API hk_vocabulary *hk_vocabulary_create(const char *text, size_t bytes,
                                           const hk_vocabulary_options *options);
/* Of what hk_vocabulary_text gave; HK_BAD_DATA where it did not. */
HK_API hk_vocabulary *hk_vocabulary_of_text(const char *text);
HK_AT(hk_vocabulary *, hk_vocabulary_of_text, (hk_source at, const char *text), (text))
#define hk_vocabulary_of_text(...) hk_vocabulary_of_text_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_vocabulary *hk_vocabulary_retain(hk_vocabulary *vocabulary);
/* Drops one count; NULL is ignored. */
HK_API void hk_vocabulary_release(hk_vocabulary *vocabulary);
HK_API const hk_status *hk_vocabulary_status(const hk_vocabulary *vocabulary);

HK_API int64_t hk_vocabulary_size(const hk_vocabulary *vocabulary);
/* The token at a place; that at 0 where there is none. Lives as long as the vocabulary. */
HK_API const char *hk_vocabulary_token(const hk_vocabulary *vocabulary, int64_t place);
/* The place of a token of so many bytes; 0 where there is none. */
HK_API int64_t hk_vocabulary_place(const hk_vocabulary *vocabulary, const char *token,
                                   size_t bytes);
/* All of it as one ASCII text, for the metadata of a checkpoint. Lives as long as the vocabulary. */
HK_API const char *hk_vocabulary_text(const hk_vocabulary *vocabulary);

/* The places of a text's tokens, int32 (tokens,), on the default device, of the scope. */
HK_API hk_array *hk_vocabulary_encode(const hk_vocabulary *vocabulary, const char *text,
                                      size_t bytes);

/* A whole file, to be freed by free(), with a 0 behind it; NULL, and *status (borrowed; may be NULL) says why. At most 2 GiB.
 * Blocks while it reads. */
HK_API char *hk_text_read(const char *path, size_t *bytes, const hk_status **status);
HK_AT(char *, hk_text_read,
      (hk_source at, const char *path, size_t *bytes, const hk_status **status),
      (path, bytes, status))
#define hk_text_read(...) hk_text_read_at(HK_SOURCE, __VA_ARGS__)

/* ---- pieces of a text ------------------------------------------------------------------------------------ */

typedef struct hk_token_options {
    int64_t steps; /* tokens of a sample, >= 1; must be given */
    /* 0: samples are the pieces of the text, one after another, for a loader that shuffles. Else the text is cut into so many
     * lanes, for a loader that does not shuffle, with that as batch_size: row i of each batch goes on where row i of the batch
     * before ended, so that a recurrent network's state may be kept. */
    int64_t lanes;
    bool
        fixed_start; /* pieces begin at the first token; else each epoch draws by how many less than `steps` they are late */
} hk_token_options;

/* tokens: integers (n,) that int32 holds, of any device. Field 0: int32 (steps,); field 1: the token after each. What an epoch
 * draws follows from the loader's seed and the epoch. Blocks until the tokens are there, and copies them. Failures: the record of
 * failed tokens, HK_INVALID_ARGUMENT (too few of them for one sample, too), HK_OUT_OF_MEMORY. */
HK_API hk_data_set *hk_data_set_of_tokens(hk_array *tokens, const hk_token_options *options);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(hk_array *, hk_vocabulary_encode,
      (hk_source at, const hk_vocabulary *vocabulary, const char *text, size_t bytes),
      (vocabulary, text, bytes))
#define hk_vocabulary_encode(...) hk_vocabulary_encode_at(HK_SOURCE, __VA_ARGS__)
HK_AT_OPTIONS(hk_data_set *, hk_data_set_of_tokens, hk_token_options,
              (hk_source at, hk_array *tokens, const hk_token_options *options), (tokens, options))
#define hk_data_set_of_tokens(...) hk_data_set_of_tokens_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
