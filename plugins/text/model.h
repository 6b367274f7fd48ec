/* Models: what turns a word into ids. */
#ifndef HOCKET_TEXT_MODEL_H
#define HOCKET_TEXT_MODEL_H

#include "text.h"

/* A pair of tokens that becomes one; of several pairs of a word that of the lowest rank first. */
typedef struct text_merge {
    uint64_t pair; /* ids of both; UINT64_MAX: a free place */
    uint32_t rank;
    int32_t id;
} text_merge;

enum { TEXT_KNOWN_LETTERS = 0x180 };

typedef struct text_bpe {
    text_merge *merges; /* a hash table */
    size_t merge_count; /* of places, a power of 2 */
    uint64_t secret[2];
    int32_t letters[TEXT_KNOWN_LETTERS]; /* ids of the first letters, alone; -1: none */
    text_string prefix, suffix;          /* of letters within a word, and of its last one */
    int32_t unknown;                     /* id; -1: what is unknown is left out */
    int32_t bytes[256];                  /* ids of "<0x00>" and so on; where falls_back */
    bool fuses_unknown, falls_back, ignores_merges;
} text_bpe;

typedef struct text_pieces_model {
    text_string prefix;
    int64_t longest_word; /* letters */
    int32_t unknown;      /* id; -1: there is none */
    text_string unknown_text;
} text_pieces_model;

struct text_model {
    text_vocabulary vocabulary;
    bool is_word_piece;
    text_bpe bpe;
    text_pieces_model pieces;
};

bool text_bpe_read(text_model *model, const json_t *json, hk_text_problem *problem);
void text_bpe_free(text_bpe *self);
bool text_bpe_encode(const text_model *model, const char *word, size_t bytes, text_room *room,
                     text_ids *ids, hk_text_problem *problem);
bool text_word_piece_read(text_model *model, const json_t *json, hk_text_problem *problem);
void text_word_piece_free(text_pieces_model *self);
bool text_word_piece_encode(const text_model *model, const char *word, size_t bytes,
                            text_room *room, text_ids *ids, hk_text_problem *problem);

#endif
