/* Within the plug-in: a tokenizer.json as it is used. A text goes through stages: tokens that were
 * added are cut out (added.c), the rest is normalised (normalize.c), split into words (split.c),
 * each of which the model turns into ids (bpe.c, wordpiece.c), and the post-processor puts special
 * tokens around (process.c). Ids go back through decoders (decode.c).
 *
 * All of it is immutable once it has been read. What a call needs besides is in its own buffers. */
#ifndef HOCKET_TEXT_PLUGIN_H
#define HOCKET_TEXT_PLUGIN_H

#include <hocket/hocket.h>

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- problems, buffers ----------------------------------------------------------------------- */

/* Notes the first. Returns false. */
bool text_wrong(hk_text_problem *problem, hk_code code, const char *format, ...) HK_PRINTF(3, 4);
bool text_no_memory(hk_text_problem *problem);

/* Bytes that grow. Once there is no memory they stay as they are, and failed is set. */
typedef struct text_buffer {
    char *data;
    size_t count, capacity;
    bool failed;
} text_buffer;
void text_buffer_add(text_buffer *self, const char *data, size_t bytes);
/* A code point. */
void text_buffer_put(text_buffer *self, uint32_t letter);
/* Behind it there is an address, of nothing. */
void text_buffer_clear(text_buffer *self);
void text_buffer_free(text_buffer *self);

/* Pieces of a buffer, one behind the other or with gaps. */
typedef struct text_piece {
    size_t begin, end;
} text_piece;
typedef struct text_pieces {
    text_piece *data;
    size_t count, capacity;
    bool failed;
} text_pieces;
void text_pieces_add(text_pieces *self, size_t begin, size_t end);
void text_pieces_free(text_pieces *self);

typedef struct text_ids {
    int32_t *data;
    size_t count, capacity;
    bool failed;
} text_ids;
void text_ids_add(text_ids *self, int64_t id);
void text_ids_free(text_ids *self);

/* A text that is kept. */
typedef struct text_string {
    char *data; /* with a 0 behind it; NULL: there is none */
    size_t bytes;
} text_string;
bool text_string_copy(text_string *self, const char *data, size_t bytes, hk_text_problem *problem);
void text_string_free(text_string *self);

/* ---- letters (unicode.c) --------------------------------------------------------------------- */

/* The code point at data, of UTF-8, and its bytes. */
uint32_t text_letter(const char *data, size_t *bytes);
/* The byte behind the first so many that are UTF-8: bytes where all are. */
size_t text_utf8_length(const char *data, size_t bytes);

/* Classes. Those of BERT's normaliser and pre-tokeniser are as Unicode 8 had them, and
 * StripAccents' as Unicode 9 had them: so the tokenizers package has them. All others are Unicode
 * 16's. */
bool text_is_space(uint32_t letter);       /* White_Space */
bool text_is_punctuation(uint32_t letter); /* BERT's: P*, and what ASCII calls so */
bool text_is_nonspacing(uint32_t letter);  /* BERT's: Mn */
bool text_is_control(uint32_t letter);     /* BERT's: C* but for what is not assigned */
bool text_is_mark(uint32_t letter);        /* StripAccents': M* */
bool text_is_number(uint32_t letter);      /* N* */
bool text_is_word(uint32_t letter);        /* letters, marks, digits, connectors and joiners */
/* Adds ranges, as for a set of a pattern, of what is of that category, "L" or "Lu", and came behind
 * Unicode 14. */
void text_add_later(text_buffer *to, const char *name, size_t bytes);

typedef enum text_form { TEXT_NFC, TEXT_NFD, TEXT_NFKC, TEXT_NFKD } text_form;
/* Adds them normalised. */
void text_normal_form(text_form form, const char *data, size_t bytes, text_buffer *to);
/* Adds one in lower case. */
void text_put_lower(text_buffer *to, uint32_t letter);

/* The letter that stands for a byte in byte-level vocabularies, below 0x180; and back: -1: it is
 * none of them. */
uint32_t text_letter_of_byte(unsigned char byte);
int text_byte_of_letter(uint32_t letter);

/* ---- members of JSON (fields.c) -------------------------------------------------------------- */

/* False: problem is set, and names `what`, such as "model", and the key. A member that may be left
 * out, or be null, leaves *value as it was. */
bool text_get_flag(const json_t *object, const char *what, const char *key, bool *value,
                   hk_text_problem *problem);
bool text_get_integer(const json_t *object, const char *what, const char *key, int64_t low,
                      int64_t high, int64_t *value, hk_text_problem *problem);
bool text_get_string(const json_t *object, const char *what, const char *key, text_string *value,
                     hk_text_problem *problem);
bool text_get_list(const json_t *object, const char *what, const char *key, const json_t **value,
                   hk_text_problem *problem);
/* The same, but it must be there. */
bool text_need_string(const json_t *object, const char *what, const char *key, text_string *value,
                      hk_text_problem *problem);
/* The member "type" of a component, as text; NULL: there is none. */
const char *text_type_of(const json_t *object);
/* Reads the components of one of type "Sequence", the list `key` within it, one by one. depth: of
 * how many others it is a part. `what`: for people, as "decoder". */
bool text_read_sequence(const json_t *object, const char *what, const char *key, int depth,
                        bool (*read)(void *self, const json_t *json, int depth,
                                     hk_text_problem *problem),
                        void *self, hk_text_problem *problem);
/* Says that `what` has a type that is not read. False. */
bool text_refuse_type(const json_t *object, const char *what, hk_text_problem *problem);

/* ---- patterns (pattern.c) -------------------------------------------------------------------- */

typedef struct text_pattern text_pattern;

/* {"String": …} or {"Regex": …}, the member "pattern" of object. */
bool text_pattern_read(const json_t *object, const char *what, text_pattern **pattern,
                       hk_text_problem *problem);
/* Of a regular expression in Oniguruma's Ruby dialect. */
bool text_pattern_compile(const char *expression, size_t bytes, text_pattern **pattern,
                          hk_text_problem *problem);
void text_pattern_free(text_pattern *self);
/* Adds all that match, none over another, in order. */
bool text_pattern_find(const text_pattern *self, const char *data, size_t bytes,
                       text_pieces *matches, hk_text_problem *problem);

/* ---- vocabularies (vocabulary.c) ------------------------------------------------------------- */

typedef struct text_entry {
    size_t at;
    uint32_t bytes;
    int32_t id;
} text_entry;

/* Tokens by text and by id. */
typedef struct text_vocabulary {
    text_buffer texts; /* each with a 0 behind it */
    text_entry *entries;
    size_t count, capacity;
    uint32_t *slots; /* of a hash table: entry and 1; 0: free */
    size_t slot_count;
    uint32_t *by_id; /* entries, sorted; of equals the latest is last */
    uint64_t secret[2];
    size_t longest; /* bytes */
    int64_t size;   /* the largest id, and one */
} text_vocabulary;

enum { TEXT_LARGEST_ID = INT32_MAX - 1 };

bool text_vocabulary_init(text_vocabulary *self, hk_text_problem *problem);
void text_vocabulary_free(text_vocabulary *self);
/* A text that is there gets another id. */
bool text_vocabulary_add(text_vocabulary *self, const char *data, size_t bytes, int64_t id,
                         hk_text_problem *problem);
/* Behind the last add. */
bool text_vocabulary_finish(text_vocabulary *self, hk_text_problem *problem);
/* Of {"token": id, …}. */
bool text_vocabulary_read(text_vocabulary *self, const json_t *model, hk_text_problem *problem);
/* -1: there is none. */
int64_t text_vocabulary_find(const text_vocabulary *self, const char *data, size_t bytes);
/* NULL: there is none. */
const char *text_vocabulary_text(const text_vocabulary *self, int64_t id, size_t *bytes);
/* A hash of bytes that who does not know the secret cannot aim at. */
uint64_t text_hash(const uint64_t secret[2], const char *data, size_t bytes);
bool text_secret(uint64_t secret[2], hk_text_problem *problem);

/* ---- stages ---------------------------------------------------------------------------------- */

typedef struct text_normalizer text_normalizer;
typedef struct text_splitter text_splitter;
typedef struct text_decoder text_decoder;
typedef struct text_model text_model;

/* NULL, in the file null, does nothing. */
bool text_normalizer_read(const json_t *json, text_normalizer **normalizer,
                          hk_text_problem *problem);
void text_normalizer_free(text_normalizer *self);
/* to is made anew. */
bool text_normalize(const text_normalizer *self, const char *data, size_t bytes, text_buffer *to,
                    hk_text_problem *problem);

bool text_splitter_read(const json_t *json, text_splitter **splitter, hk_text_problem *problem);
void text_splitter_free(text_splitter *self);
/* What a splitter works with: words of `text`. */
typedef struct text_words {
    text_buffer text, next_text;
    text_pieces words, next_words, matches;
} text_words;
void text_words_free(text_words *self);
bool text_split(const text_splitter *self, const char *data, size_t bytes, text_words *words,
                hk_text_problem *problem);

/* A model: of one of two kinds. */
bool text_model_read(const json_t *json, text_model **model, hk_text_problem *problem);
void text_model_free(text_model *self);
const text_vocabulary *text_model_vocabulary(const text_model *self);
/* What a model works with. */
typedef struct text_room {
    void *symbols, *heap;
    size_t symbol_capacity, heap_capacity;
    text_buffer token;
} text_room;
void text_room_free(text_room *self);
bool text_model_encode(const text_model *self, const char *word, size_t bytes, text_room *room,
                       text_ids *ids, hk_text_problem *problem);

bool text_decoder_read(const json_t *json, text_decoder **decoder, hk_text_problem *problem);
void text_decoder_free(text_decoder *self);
/* Tokens as pieces of a buffer become text, which is added to `to`. */
bool text_decode(const text_decoder *self, text_buffer *tokens, text_pieces *pieces,
                 text_buffer *to, hk_text_problem *problem);

/* ---- added tokens (added.c) ------------------------------------------------------------------ */

typedef struct text_added {
    text_string content, normalized; /* normalized.data NULL: as content */
    int32_t id;
    bool is_single_word, strips_left, strips_right, is_normalized, is_special;
} text_added;

typedef struct text_added_set {
    text_added *tokens;
    size_t count;
    /* Places in tokens by the bytes that are looked for, sorted: of tokens that are looked for
     * before the text is normalised, and behind. */
    uint32_t *order[2];
    size_t order_count[2];
    bool begins[2][256];    /* whether some token begins with that byte */
    text_vocabulary places; /* in tokens, by content */
    uint32_t *by_id;        /* places, sorted */
} text_added_set;

bool text_added_read(text_added_set *self, const json_t *list, const text_vocabulary *model,
                     const text_normalizer *normalizer, hk_text_problem *problem);
void text_added_free(text_added_set *self);
/* NULL: there is none of that id. */
const text_added *text_added_of(const text_added_set *self, int64_t id);

/* A piece of a text: a token, or what is between tokens. */
typedef struct text_cut {
    size_t begin, end;
    const text_added *token; /* NULL: text */
} text_cut;
typedef struct text_cuts {
    text_cut *data;
    size_t count, capacity;
    bool failed;
} text_cuts;
void text_cuts_add(text_cuts *self, size_t begin, size_t end, const text_added *token);
void text_cuts_free(text_cuts *self);
void text_added_cut(const text_added_set *self, bool is_normalized, bool special_as_text,
                    const char *data, size_t bytes, text_cuts *cuts);

/* ---- post-processing (process.c) ------------------------------------------------------------- */

typedef struct text_template_part {
    int sequence; /* 0 or 1; -1: tokens of its own */
    int32_t type;
    text_ids ids;
} text_template_part;
typedef struct text_template {
    text_template_part *parts;
    size_t count, special_count; /* special_count: tokens that it adds */
} text_template;

typedef struct text_processor {
    text_template single, pair;
} text_processor;

typedef enum text_strategy { TEXT_LONGEST_FIRST, TEXT_ONLY_FIRST, TEXT_ONLY_SECOND } text_strategy;
typedef struct text_truncation {
    int64_t most; /* -1: any number */
    bool cuts_left;
    text_strategy strategy;
} text_truncation;

bool text_processor_read(text_processor *self, const json_t *json, hk_text_problem *problem);
void text_processor_free(text_processor *self);
bool text_truncation_read(text_truncation *self, const json_t *json, hk_text_problem *problem);
/* sequences: ids of the first text, and of the second where is_pair; they are cut. */
bool text_process(const text_processor *self, const text_truncation *truncation, bool no_special,
                  text_ids sequences[2], bool is_pair, hk_token_list *tokens,
                  hk_text_problem *problem);

/* ---- the tokenizer (open.c) ------------------------------------------------------------------ */

typedef struct text_tokenizer {
    hk_tokenizer_source source; /* the first member */
    text_added_set added;
    text_normalizer *normalizer;
    text_splitter *splitter;
    text_model *model;
    text_processor processor;
    text_decoder *decoder;
    text_truncation truncation;
} text_tokenizer;

/* encode.c */
bool text_encode(const hk_tokenizer_source *source, const hk_text *text,
                 const hk_encode_options *options, hk_token_list *tokens, hk_text_problem *problem);
char *text_decode_ids(const hk_tokenizer_source *source, const int32_t *ids, int64_t count,
                      const hk_decode_options *options, size_t *bytes, hk_text_problem *problem);

#endif
