/* Post-processing: ids of one text or two are cut to a length, and special tokens put around. */
#include "text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- templates ------------------------------------------------------------------------------- */

static text_template_part *add(text_template *self, int sequence, int64_t type,
                               hk_text_problem *problem)
{
    text_template_part *parts = realloc(self->parts, (self->count + 1) * sizeof *parts);
    if (!parts) {
        text_no_memory(problem);
        return NULL;
    }
    self->parts = parts;
    parts[self->count] = (text_template_part){.sequence = sequence, .type = (int32_t)type};
    return &parts[self->count++];
}

static bool add_special(text_template *self, int64_t type, int64_t id, hk_text_problem *problem)
{
    text_template_part *part = add(self, -1, type, problem);
    if (!part)
        return false;
    text_ids_add(&part->ids, id);
    self->special_count++;
    return !part->ids.failed || text_no_memory(problem);
}

static void template_free(text_template *self)
{
    for (size_t i = 0; i < self->count; i++)
        text_ids_free(&self->parts[i].ids);
    free(self->parts);
}

void text_processor_free(text_processor *self)
{
    template_free(&self->single);
    template_free(&self->pair);
}

/* What is done where a file says nothing. */
static bool set_plain(text_processor *self, hk_text_problem *problem)
{
    return add(&self->single, 0, 0, problem) && add(&self->pair, 0, 0, problem) &&
           add(&self->pair, 1, 1, problem);
}

/* ["[CLS]", 101] */
static bool read_token(const json_t *json, const char *what, const char *key, int64_t *id,
                       hk_text_problem *problem)
{
    const json_t *it = json_array_get(json_object_get(json, key), 1);
    if (!json_is_integer(it) || json_integer_value(it) < 0 ||
        json_integer_value(it) > TEXT_LARGEST_ID)
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is no token; expected [text, id]", what,
                          key);
    *id = json_integer_value(it);
    return true;
}

/* cls A sep, cls A sep B sep; RoBERTa's: cls A sep sep B sep, all of type 0. */
static bool read_bert(text_processor *self, const json_t *json, bool is_roberta,
                      hk_text_problem *problem)
{
    const char *what = is_roberta ? "post_processor of type \"RobertaProcessing\""
                                  : "post_processor of type \"BertProcessing\"";
    const int64_t second = is_roberta ? 0 : 1;
    int64_t cls = 0, sep = 0;
    if (!read_token(json, what, "cls", &cls, problem) ||
        !read_token(json, what, "sep", &sep, problem))
        return false;
    text_template *one = &self->single, *two = &self->pair;
    return add_special(one, 0, cls, problem) && add(one, 0, 0, problem) &&
           add_special(one, 0, sep, problem) && add_special(two, 0, cls, problem) &&
           add(two, 0, 0, problem) && add_special(two, 0, sep, problem) &&
           (!is_roberta || add_special(two, 0, sep, problem)) && add(two, 1, second, problem) &&
           add_special(two, second, sep, problem);
}

static const char template_what[] = "post_processor of type \"TemplateProcessing\"";

/* The ids that a template's token stands for. */
static bool read_special(text_template *self, const json_t *tokens, const char *name, int64_t type,
                         hk_text_problem *problem)
{
    const json_t *ids = json_object_get(json_object_get(tokens, name), "ids");
    if (!json_is_array(ids))
        return text_wrong(problem, HK_BAD_DATA,
                          "%s: special_tokens has no ids of \"%.60s\", which a template names",
                          template_what, name);
    for (size_t i = 0; i < json_array_size(ids); i++) {
        const json_t *id = json_array_get(ids, i);
        if (!json_is_integer(id) || json_integer_value(id) < 0 ||
            json_integer_value(id) > TEXT_LARGEST_ID)
            return text_wrong(problem, HK_BAD_DATA, "%s: an id of \"%.60s\" is none", template_what,
                              name);
        if (!add_special(self, type, json_integer_value(id), problem))
            return false;
    }
    return true;
}

static bool read_template(text_template *self, const json_t *json, const char *key, bool is_pair,
                          hk_text_problem *problem)
{
    const json_t *list = json_object_get(json, key);
    const json_t *tokens = json_object_get(json, "special_tokens");
    if (!json_is_array(list))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is no list", template_what, key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *it = json_array_get(list, i);
        const json_t *sequence = json_object_get(it, "Sequence");
        const json_t *special = json_object_get(it, "SpecialToken");
        const json_t *its = sequence ? sequence : special;
        const char *id = json_string_value(json_object_get(its, "id"));
        int64_t type = 0;
        if (!id || (sequence && strcmp(id, "A") && (strcmp(id, "B") || !is_pair)))
            return text_wrong(problem, HK_BAD_DATA,
                              "%s: entry %zu of %s is no Sequence A%s, and no SpecialToken",
                              template_what, i, key, is_pair ? " or B" : "");
        if (!text_get_integer(its, template_what, "type_id", 0, INT32_MAX, &type, problem))
            return false;
        if (sequence ? !add(self, *id == 'B', type, problem)
                     : !read_special(self, tokens, id, type, problem))
            return false;
    }
    return true;
}

static bool read_one(void *argument, const json_t *json, int depth, hk_text_problem *problem)
{
    text_processor *self = argument;
    const char *type = text_type_of(json);
    if (!type)
        return text_refuse_type(json, "post_processor", problem);
    if (!strcmp(type, "ByteLevel")) /* of offsets alone */
        return true;
    if (!strcmp(type, "Sequence"))
        return text_read_sequence(json, "post_processor", "processors", depth, read_one, self,
                                  problem);
    if (self->single.count || self->pair.count)
        return text_wrong(problem, HK_UNSUPPORTED,
                          "post_processor of type \"Sequence\": a second one that adds tokens, "
                          "\"%.60s\", cannot be used",
                          type);
    if (!strcmp(type, "BertProcessing") || !strcmp(type, "RobertaProcessing"))
        return read_bert(self, json, *type == 'R', problem);
    if (strcmp(type, "TemplateProcessing"))
        return text_refuse_type(json, "a post_processor", problem);
    return read_template(&self->single, json, "single", false, problem) &&
           read_template(&self->pair, json, "pair", true, problem);
}

bool text_processor_read(text_processor *self, const json_t *json, hk_text_problem *problem)
{
    if (json && !json_is_null(json) && !read_one(self, json, 0, problem))
        return false;
    return self->single.count || self->pair.count || set_plain(self, problem);
}

/* ---- truncation ------------------------------------------------------------------------------ */

bool text_truncation_read(text_truncation *self, const json_t *json, hk_text_problem *problem)
{
    static const char what[] = "truncation";
    static const char *const strategies[] = {"LongestFirst", "OnlyFirst", "OnlySecond"};
    const char *text;
    self->most = -1;
    if (!json || json_is_null(json))
        return true;
    if (!json_is_object(json))
        return text_wrong(problem, HK_BAD_DATA, "truncation is no object");
    if (!text_get_integer(json, what, "max_length", 0, INT64_MAX, &self->most, problem))
        return false;
    text = json_string_value(json_object_get(json, "direction"));
    self->cuts_left = text && !strcmp(text, "Left");
    text = json_string_value(json_object_get(json, "strategy"));
    for (int i = 0; text && i < 3; i++)
        if (!strcmp(text, strategies[i])) {
            self->strategy = (text_strategy)i;
            return true;
        }
    return !text || text_wrong(problem, HK_BAD_DATA,
                               "truncation: strategy is \"%.40s\"; expected LongestFirst, "
                               "OnlyFirst or OnlySecond",
                               text);
}

static void cut(text_ids *ids, size_t count, bool cuts_left)
{
    if (count >= ids->count)
        return;
    if (cuts_left)
        memmove(ids->data, ids->data + (ids->count - count), count * sizeof *ids->data);
    ids->count = count;
}

/* Two texts share what there is: the longer one is cut until both are as long. */
static void share(size_t most, size_t counts[2])
{
    const int less = counts[0] > counts[1];
    size_t few = counts[less], many;
    if (few > most)
        many = few;
    else
        many = few > most - few ? few : most - few;
    if (few + many > most) {
        few = most / 2;
        many = few + most % 2;
    }
    counts[less] = few;
    counts[!less] = many;
}

static bool truncate(const text_truncation *self, size_t most, text_ids sequences[2], bool is_pair,
                     hk_text_problem *problem)
{
    const size_t total = sequences[0].count + (is_pair ? sequences[1].count : 0);
    size_t counts[2] = {sequences[0].count, sequences[1].count};
    if (total <= most)
        return true;
    if (most == 0) {
        counts[0] = counts[1] = 0;
    } else if (self->strategy == TEXT_LONGEST_FIRST) {
        if (is_pair)
            share(most, counts);
        else
            counts[0] = most;
    } else {
        const int which = self->strategy == TEXT_ONLY_SECOND;
        if (which && !is_pair)
            return text_wrong(problem, HK_INVALID_ARGUMENT,
                              "truncation is of the second text only, which is not given");
        if (counts[which] <= total - most)
            return text_wrong(problem, HK_INVALID_ARGUMENT,
                              "the %s text has %zu tokens, but %zu must be cut",
                              which ? "second" : "first", counts[which], total - most);
        counts[which] -= total - most;
    }
    cut(&sequences[0], counts[0], self->cuts_left);
    if (is_pair)
        cut(&sequences[1], counts[1], self->cuts_left);
    return true;
}

/* ---- putting together ------------------------------------------------------------------------ */

static size_t count_of(const text_template *self, const text_ids sequences[2], bool no_special)
{
    size_t count = 0;
    for (size_t i = 0; i < self->count; i++) {
        const text_template_part *part = &self->parts[i];
        if (part->sequence >= 0)
            count += sequences[part->sequence].count;
        else if (!no_special)
            count += part->ids.count;
    }
    return count;
}

bool text_process(const text_processor *self, const text_truncation *truncation, bool no_special,
                  text_ids sequences[2], bool is_pair, hk_token_list *tokens,
                  hk_text_problem *problem)
{
    const text_template *by = is_pair ? &self->pair : &self->single;
    const size_t special = no_special ? 0 : by->special_count;
    if (truncation->most >= 0) {
        if ((uint64_t)truncation->most < special)
            return text_wrong(problem, HK_INVALID_ARGUMENT,
                              "at most %" PRId64
                              " tokens are wanted, but %zu are put around a text",
                              truncation->most, special);
        if (!truncate(truncation, (size_t)truncation->most - special, sequences, is_pair, problem))
            return false;
    }
    const size_t count = count_of(by, sequences, no_special);
    int32_t *ids = malloc((count + 1) * sizeof *ids), *types = malloc((count + 1) * sizeof *types);
    size_t at = 0;
    if (!ids || !types) {
        free(ids);
        free(types);
        return text_no_memory(problem);
    }
    for (size_t i = 0; i < by->count; i++) {
        const text_template_part *part = &by->parts[i];
        const text_ids *its = part->sequence >= 0 ? &sequences[part->sequence] : &part->ids;
        if (part->sequence < 0 && no_special)
            continue;
        if (its->count)
            memcpy(ids + at, its->data, its->count * sizeof *ids);
        for (size_t j = 0; j < its->count; j++)
            types[at++] = part->type;
    }
    *tokens = (hk_token_list){.ids = ids, .types = types, .count = (int64_t)count};
    return true;
}
