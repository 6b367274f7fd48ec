/* Which model a file has. */
#include "model.h"

#include <stdlib.h>
#include <string.h>

bool text_model_read(const json_t *json, text_model **model, hk_text_problem *problem)
{
    const char *type = text_type_of(json);
    if (!json_is_object(json))
        return text_refuse_type(json, "model", problem);
    if (!type && json_object_get(json, "merges")) /* files of before types */
        type = "BPE";
    else if (!type && json_object_get(json, "max_input_chars_per_word"))
        type = "WordPiece";
    const bool is_word_piece = type && !strcmp(type, "WordPiece");
    if (!is_word_piece && (!type || strcmp(type, "BPE")))
        return text_refuse_type(json, "a model", problem);
    text_model *self = calloc(1, sizeof *self);
    if (!self)
        return text_no_memory(problem);
    *model = self;
    self->is_word_piece = is_word_piece;
    return text_vocabulary_read(&self->vocabulary, json, problem) &&
           (is_word_piece ? text_word_piece_read : text_bpe_read)(self, json, problem);
}

void text_model_free(text_model *self)
{
    if (!self)
        return;
    text_vocabulary_free(&self->vocabulary);
    text_bpe_free(&self->bpe);
    text_word_piece_free(&self->pieces);
    free(self);
}

const text_vocabulary *text_model_vocabulary(const text_model *self)
{
    return &self->vocabulary;
}

void text_room_free(text_room *self)
{
    free(self->symbols);
    free(self->heap);
    text_buffer_free(&self->token);
}

bool text_model_encode(const text_model *self, const char *word, size_t bytes, text_room *room,
                       text_ids *ids, hk_text_problem *problem)
{
    if (!bytes)
        return true;
    return (self->is_word_piece ? text_word_piece_encode : text_bpe_encode)(self, word, bytes, room,
                                                                            ids, problem);
}
