/* A text through all the stages, and back. */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* What a call works with. */
typedef struct workroom {
    text_cuts cuts, inner_cuts;
    text_buffer normal;
    text_words words;
    text_room model;
} workroom;

static void room_free(workroom *self)
{
    text_cuts_free(&self->cuts);
    text_cuts_free(&self->inner_cuts);
    text_buffer_free(&self->normal);
    text_words_free(&self->words);
    text_room_free(&self->model);
}

static bool encode_words(const text_tokenizer *self, const char *data, size_t bytes, workroom *room,
                         text_ids *ids, hk_text_problem *problem)
{
    const text_words *words = &room->words;
    if (!text_split(self->splitter, data, bytes, &room->words, problem))
        return false;
    for (size_t i = 0; i < words->words.count; i++) {
        const text_piece word = words->words.data[i];
        if (!text_model_encode(self->model, words->text.data + word.begin, word.end - word.begin,
                               &room->model, ids, problem))
            return false;
    }
    return true;
}

/* What is between tokens that are looked for in the text as it is. */
static bool encode_between(const text_tokenizer *self, const char *data, size_t bytes,
                           bool special_as_text, workroom *room, text_ids *ids,
                           hk_text_problem *problem)
{
    const text_cuts *cuts = &room->inner_cuts;
    if (!text_normalize(self->normalizer, data, bytes, &room->normal, problem))
        return false;
    room->inner_cuts.count = 0;
    text_added_cut(&self->added, true, special_as_text, room->normal.data, room->normal.count,
                   &room->inner_cuts);
    for (size_t i = 0; i < cuts->count && !cuts->failed; i++) {
        const text_cut it = cuts->data[i];
        if (it.token)
            text_ids_add(ids, it.token->id);
        else if (!encode_words(self, room->normal.data + it.begin, it.end - it.begin, room, ids,
                               problem))
            return false;
    }
    return !cuts->failed || text_no_memory(problem);
}

static bool encode_text(const text_tokenizer *self, const char *data, size_t bytes,
                        bool special_as_text, workroom *room, text_ids *ids,
                        hk_text_problem *problem)
{
    const text_cuts *cuts = &room->cuts;
    room->cuts.count = 0;
    text_added_cut(&self->added, false, special_as_text, data, bytes, &room->cuts);
    for (size_t i = 0; i < cuts->count && !cuts->failed; i++) {
        const text_cut it = cuts->data[i];
        if (it.token)
            text_ids_add(ids, it.token->id);
        else if (!encode_between(self, data + it.begin, it.end - it.begin, special_as_text, room,
                                 ids, problem))
            return false;
    }
    return (!cuts->failed && !ids->failed) || text_no_memory(problem);
}

bool text_encode(const hk_tokenizer_source *source, const hk_text *text,
                 const hk_encode_options *options, hk_token_list *tokens, hk_text_problem *problem)
{
    const text_tokenizer *self = (const text_tokenizer *)source;
    text_ids sequences[2] = {{.data = NULL}, {.data = NULL}};
    text_truncation truncation = self->truncation;
    workroom room = {.normal = {.data = NULL}};
    if (options->most_tokens)
        truncation.most = options->most_tokens < 0 ? -1 : options->most_tokens;
    const bool is_good =
        encode_text(self, text->text, text->bytes, options->special_as_text, &room, &sequences[0],
                    problem) &&
        (!text->pair || encode_text(self, text->pair, text->pair_bytes, options->special_as_text,
                                    &room, &sequences[1], problem)) &&
        text_process(&self->processor, &truncation, options->no_special, sequences,
                     text->pair != NULL, tokens, problem);
    room_free(&room);
    text_ids_free(&sequences[0]);
    text_ids_free(&sequences[1]);
    return is_good;
}

/* The token of an id, as decoders take it, added to `to`; special ones by their text. */
static void add_token(const text_tokenizer *self, int64_t id, bool with_special, text_buffer *to,
                      text_pieces *pieces)
{
    const text_added *added = text_added_of(&self->added, id);
    const size_t begin = to->count;
    size_t bytes = 0;
    const char *text = NULL;
    if (added) {
        const text_string its = added->normalized.data ? added->normalized : added->content;
        text = its.data;
        bytes = its.bytes;
    } else {
        text = text_vocabulary_text(text_model_vocabulary(self->model), id, &bytes);
    }
    if (!text)
        return;
    const int64_t place = text_vocabulary_find(&self->added.places, text, bytes);
    if (!with_special && place >= 0 && self->added.tokens[place].is_special)
        return;
    text_buffer_add(to, text, bytes);
    text_pieces_add(pieces, begin, to->count);
}

char *text_decode_ids(const hk_tokenizer_source *source, const int32_t *ids, int64_t count,
                      const hk_decode_options *options, size_t *bytes, hk_text_problem *problem)
{
    const text_tokenizer *self = (const text_tokenizer *)source;
    text_buffer tokens = {.data = NULL}, made = {.data = NULL};
    text_pieces pieces = {.data = NULL};
    char *result = NULL;
    text_buffer_clear(&tokens);
    for (int64_t i = 0; i < count; i++)
        add_token(self, ids[i], options->with_special, &tokens, &pieces);
    bool is_good = text_decode(self->decoder, &tokens, &pieces, &made, problem);
    *bytes = made.count;
    text_buffer_add(&made, "", 1);
    is_good = is_good && (!made.failed || text_no_memory(problem));
    if (is_good) {
        result = made.data;
        made.data = NULL;
    }
    text_buffer_free(&made);
    text_buffer_free(&tokens);
    text_pieces_free(&pieces);
    return result;
}
