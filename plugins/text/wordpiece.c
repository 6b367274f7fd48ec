/* WordPiece: a word is the longest token that it begins with, then the longest that goes on. */
#include "model.h"

#include <inttypes.h>
#include <string.h>

/* Time grows with the third power of it, and files are of others. */
enum { MOST_LETTERS = 1024, USUAL_LETTERS = 100 };

bool text_word_piece_read(text_model *model, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "model of type \"WordPiece\"";
    text_pieces_model *self = &model->pieces;
    self->longest_word = USUAL_LETTERS;
    if (!text_string_copy(&self->prefix, "##", 2, problem) ||
        !text_string_copy(&self->unknown_text, "[UNK]", 5, problem) ||
        !text_get_string(json, what, "continuing_subword_prefix", &self->prefix, problem) ||
        !text_get_string(json, what, "unk_token", &self->unknown_text, problem) ||
        !text_get_integer(json, what, "max_input_chars_per_word", 0, INT64_MAX, &self->longest_word,
                          problem))
        return false;
    if (self->longest_word > MOST_LETTERS)
        return text_wrong(problem, HK_UNSUPPORTED,
                          "%s: max_input_chars_per_word is %" PRId64 "; expected at most %d", what,
                          self->longest_word, MOST_LETTERS);
    self->unknown = (int32_t)text_vocabulary_find(&model->vocabulary, self->unknown_text.data,
                                                  self->unknown_text.bytes);
    return true;
}

void text_word_piece_free(text_pieces_model *self)
{
    text_string_free(&self->prefix);
    text_string_free(&self->unknown_text);
}

static bool add_unknown(const text_pieces_model *self, text_ids *ids, hk_text_problem *problem)
{
    if (self->unknown < 0)
        return text_wrong(problem, HK_BAD_DATA,
                          "the text has an unknown word, and the vocabulary no \"%.60s\"",
                          self->unknown_text.data);
    text_ids_add(ids, self->unknown);
    return true;
}

/* Where the letter before `end` begins. */
static size_t letter_before(const char *word, size_t begin, size_t end)
{
    do
        end--;
    while (end > begin && ((unsigned char)word[end] & 0xC0) == 0x80);
    return end;
}

bool text_word_piece_encode(const text_model *model, const char *word, size_t bytes,
                            text_room *room, text_ids *ids, hk_text_problem *problem)
{
    const text_pieces_model *self = &model->pieces;
    const size_t first = ids->count;
    int64_t letters = 0;
    for (size_t i = 0; i < bytes; i++)
        letters += ((unsigned char)word[i] & 0xC0) != 0x80;
    if (letters > self->longest_word)
        return add_unknown(self, ids, problem);
    /* Behind the first token each is looked for with the prefix before it. */
    text_buffer *token = &room->token;
    text_buffer_clear(token);
    text_buffer_add(token, self->prefix.data, self->prefix.bytes);
    text_buffer_add(token, word, bytes);
    if (token->failed)
        return text_no_memory(problem);
    const size_t longest = model->vocabulary.longest, before = self->prefix.bytes;
    for (size_t begin = 0; begin < bytes;) {
        const size_t added = begin ? before : 0;
        int64_t id = -1;
        if (begin) { /* the prefix moves on, over what has been used */
            memcpy(token->data + begin, self->prefix.data, before);
        }
        const char *from = begin ? token->data + begin : word;
        size_t end = bytes;
        while (end > begin && end - begin + added > longest)
            end = letter_before(word, begin, end);
        while (end > begin) {
            id = text_vocabulary_find(&model->vocabulary, from, end - begin + added);
            if (id >= 0)
                break;
            end = letter_before(word, begin, end);
        }
        if (id < 0) {
            ids->count = first;
            return add_unknown(self, ids, problem);
        }
        text_ids_add(ids, id);
        begin = end;
    }
    return true;
}
