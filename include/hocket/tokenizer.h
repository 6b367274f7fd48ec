/* Tokenizers that others made: a tokenizer.json of Hugging Face becomes what turns texts into the
 * ids that a network reads, and ids into texts.
 *
 *     hk_tokenizer *tokenizer = hk_tokenizer_load("tokenizer.json", NULL);
 *     if (!hk_ok(hk_tokenizer_status(tokenizer)))
 *         return hk_status_print(hk_tokenizer_status(tokenizer), stderr);
 *     hk_array *ids = hk_tokenizer_encode(tokenizer, text, strlen(text), NULL);
 *
 * Files are read by a plug-in, libhocket_text.so beside the library: byte-level BPE and WordPiece,
 * with what stands before and behind them. docs/TEXT.md lists it. What a file asks for besides is
 * HK_UNSUPPORTED, and named. A program that loads no tokenizer carries nothing of it.
 *
 * Texts are UTF-8, and may hold zeros. What is not UTF-8 is refused, and the first wrong byte
 * named.
 *
 * Immutable after load, counted, thread-safe; of no runtime. */
#ifndef HOCKET_TOKENIZER_H
#define HOCKET_TOKENIZER_H

#include <hocket/array.h>

HK_BEGIN_DECLS

typedef struct hk_tokenizer hk_tokenizer;

/* May be NULL: defaults. */
typedef struct hk_tokenizer_options {
    const char *plugin; /* libhocket_NAME.so that reads the file (default: "text") */
} hk_tokenizer_options;

/* Reads a file. Never NULL; the caller owns it. Errors (hk_tokenizer_status): HK_NOT_FOUND (the
 * file, or the plug-in), HK_BAD_DATA (which member is not what), HK_UNSUPPORTED (which component),
 * HK_OUT_OF_MEMORY. Blocks until the file has been read. */
HK_API hk_tokenizer *hk_tokenizer_load(const char *path, const hk_tokenizer_options *options);
HK_AT_OPTIONS(hk_tokenizer *, hk_tokenizer_load, hk_tokenizer_options,
              (hk_source at, const char *path, const hk_tokenizer_options *options),
              (path, options))
#define hk_tokenizer_load(...) hk_tokenizer_load_at(HK_SOURCE, __VA_ARGS__)
HK_API hk_tokenizer *hk_tokenizer_retain(hk_tokenizer *tokenizer);
/* Drops one count; NULL is ignored. */
HK_API void hk_tokenizer_release(hk_tokenizer *tokenizer);
/* HK_OK, or why it cannot be used. Borrowed, like all statuses. */
HK_API const hk_status *hk_tokenizer_status(const hk_tokenizer *tokenizer);

/* ---- the vocabulary -------------------------------------------------------------------------- */

/* The largest id, and one: rows that an embedding needs. 0 for NULL and for a failed tokenizer. */
HK_API int64_t hk_tokenizer_size(const hk_tokenizer *tokenizer);
/* The token of that id as the file has it (of byte-level ones not yet text), with a 0 behind it,
 * and its bytes in *bytes, which may be NULL. Lives as long as the tokenizer. NULL: there is
 * none. */
HK_API const char *hk_tokenizer_token(const hk_tokenizer *tokenizer, int64_t id, size_t *bytes);
/* The id of a token of so many bytes, as "[SEP]"; -1: there is none. */
HK_API int64_t hk_tokenizer_id(const hk_tokenizer *tokenizer, const char *token, size_t bytes);
/* Whether it is one of the special tokens, which decoding leaves out. */
HK_API bool hk_tokenizer_is_special(const hk_tokenizer *tokenizer, int64_t id);

/* ---- texts to ids ---------------------------------------------------------------------------- */

/* May be NULL: defaults. */
typedef struct hk_encode_options {
    bool no_special; /* nothing is put around the text, as "[CLS]" */
    /* "[CLS]" within the text is text, and not that token: for texts of strangers. */
    bool special_as_text;
    /* As many at most, with those put around (default: as the file says; -1: no limit). Others are
     * cut off at the end, or where the file says. */
    int64_t most_tokens;
    /* Of batches: each row has so many at least (default: as many as the longest, or as the file
     * says). */
    int64_t least_tokens;
    bool pad_left; /* padding goes before the tokens (default: behind, or as the file says) */
} hk_encode_options;

/* A text and, where pair is not NULL, a second one, for networks that read two. Borrowed. */
typedef struct hk_text {
    const char *text;
    size_t bytes;
    const char *pair;
    size_t pair_bytes;
} hk_text;

/* The ids of a text of so many bytes: int32 (tokens,), on the default device, of the scope. Errors
 * give a failed array: HK_INVALID_ARGUMENT (not UTF-8; fewer tokens allowed than are put around),
 * HK_UNSUPPORTED (a pattern of the file took too long), HK_OUT_OF_MEMORY. Does not wait. */
HK_API hk_array *hk_tokenizer_encode(const hk_tokenizer *tokenizer, const char *text, size_t bytes,
                                     const hk_encode_options *options);
HK_AT_OPTIONS(hk_array *, hk_tokenizer_encode, hk_encode_options,
              (hk_source at, const hk_tokenizer *tokenizer, const char *text, size_t bytes,
               const hk_encode_options *options),
              (tokenizer, text, bytes, options))
#define hk_tokenizer_encode(...) hk_tokenizer_encode_at(HK_SOURCE, __VA_ARGS__)

/* The same into the caller's memory, with no runtime: writes capacity ids at most, and returns how
 * many there are, which may be more; -1, and *status (borrowed; may be NULL) says why. */
HK_API int64_t hk_tokenizer_encode_into(const hk_tokenizer *tokenizer, const hk_text *text,
                                        const hk_encode_options *options, int32_t *ids,
                                        int64_t capacity, const hk_status **status);
HK_AT_OPTIONS(int64_t, hk_tokenizer_encode_into, hk_encode_options,
              (hk_source at, const hk_tokenizer *tokenizer, const hk_text *text,
               const hk_encode_options *options, int32_t *ids, int64_t capacity,
               const hk_status **status),
              (tokenizer, text, options, ids, capacity, status))
#define hk_tokenizer_encode_into(...) hk_tokenizer_encode_into_at(HK_SOURCE, __VA_ARGS__)

/* Arrays (count, tokens) on the default device, of the scope. */
typedef struct hk_token_batch {
    hk_array *ids;     /* int32; of padding the file's id, else 0 */
    hk_array *mask;    /* bool: true where there is a token, and no padding */
    hk_array *types;   /* int32: 0 for the first text, 1 for the second, or as the file says */
    hk_array *lengths; /* int32 (count,): how many are no padding */
} hk_token_batch;
/* As many texts as rows, all padded to the same length. Errors as of hk_tokenizer_encode, which
 * fail all arrays; the record says which text. */
HK_API hk_token_batch hk_tokenizer_encode_batch(const hk_tokenizer *tokenizer, const hk_text *texts,
                                                int64_t count, const hk_encode_options *options);
HK_AT_OPTIONS(hk_token_batch, hk_tokenizer_encode_batch, hk_encode_options,
              (hk_source at, const hk_tokenizer *tokenizer, const hk_text *texts, int64_t count,
               const hk_encode_options *options),
              (tokenizer, texts, count, options))
#define hk_tokenizer_encode_batch(...) hk_tokenizer_encode_batch_at(HK_SOURCE, __VA_ARGS__)

/* ---- ids to texts ---------------------------------------------------------------------------- */

/* May be NULL: defaults. */
typedef struct hk_decode_options {
    bool with_special; /* special tokens are not left out */
} hk_decode_options;

/* The text of so many ids, UTF-8, to be freed by free(), with a 0 behind it, and its bytes in
 * *bytes, which may be NULL. Ids of no token give nothing; bytes that are no UTF-8, as of a letter
 * that was cut, give U+FFFD. NULL, and *status (borrowed; may be NULL) says why. */
HK_API char *hk_tokenizer_decode(const hk_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                                 const hk_decode_options *options, size_t *bytes,
                                 const hk_status **status);
HK_AT_OPTIONS(char *, hk_tokenizer_decode, hk_decode_options,
              (hk_source at, const hk_tokenizer *tokenizer, const int32_t *ids, int64_t count,
               const hk_decode_options *options, size_t *bytes, const hk_status **status),
              (tokenizer, ids, count, options, bytes, status))
#define hk_tokenizer_decode(...) hk_tokenizer_decode_at(HK_SOURCE, __VA_ARGS__)

/* ---- plug-ins -------------------------------------------------------------------------------- */

/* For who writes one: libhocket_NAME.so exports hk_tokenizer_open_fn hocket_tokenizer_open. A
 * source is immutable once it has been opened; its functions may be called by several threads at
 * once. */
enum { HK_TOKENIZER_ABI = 1 };

/* Blocks of malloc, which the library frees. */
typedef struct hk_token_list {
    int32_t *ids, *types;
    int64_t count;
} hk_token_list;

/* Why something cannot be done, for people. */
typedef struct hk_text_problem {
    hk_code code; /* HK_OK: nothing is wrong */
    char message[512];
} hk_text_problem;

typedef struct hk_tokenizer_source {
    int abi;      /* HK_TOKENIZER_ABI */
    int64_t size; /* ids are in [0, size) */
    /* How batches are padded. */
    int32_t pad_id, pad_type;
    int64_t pad_length;   /* of rows; 0: that of the longest */
    int64_t pad_multiple; /* which lengths of rows must be; 0: any */
    bool pads_left;
    /* False: problem is set, and *tokens as it was. The text is UTF-8. */
    bool (*encode)(const struct hk_tokenizer_source *source, const hk_text *text,
                   const hk_encode_options *options, hk_token_list *tokens,
                   hk_text_problem *problem);
    /* A block of malloc with a 0 at its end; NULL: problem is set. */
    char *(*decode)(const struct hk_tokenizer_source *source, const int32_t *ids, int64_t count,
                    const hk_decode_options *options, size_t *bytes, hk_text_problem *problem);
    const char *(*token)(const struct hk_tokenizer_source *source, int64_t id, size_t *bytes);
    int64_t (*id)(const struct hk_tokenizer_source *source, const char *token, size_t bytes);
    bool (*is_special)(const struct hk_tokenizer_source *source, int64_t id);
    void (*release)(struct hk_tokenizer_source *source);
} hk_tokenizer_source;

/* NULL: problem is set. */
typedef hk_tokenizer_source *hk_tokenizer_open_fn(const char *path, hk_text_problem *problem);

HK_END_DECLS

#endif
