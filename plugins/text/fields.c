/* Members of JSON objects, each checked. */
#include "text.h"

#include <inttypes.h>
#include <string.h>

static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

static const char *kind_of(const json_t *value)
{
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_INTEGER:
        return "an integer";
    case JSON_REAL:
        return "a number";
    case JSON_TRUE:
    case JSON_FALSE:
        return "true or false";
    case JSON_NULL:
        return "null";
    }
    return "nothing";
}

bool text_get_flag(const json_t *object, const char *what, const char *key, bool *value,
                   hk_text_problem *problem)
{
    const json_t *it = member(object, key);
    if (it && !json_is_boolean(it))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is %s; expected true or false", what, key,
                          kind_of(it));
    if (it)
        *value = json_is_true(it);
    return true;
}

bool text_get_integer(const json_t *object, const char *what, const char *key, int64_t low,
                      int64_t high, int64_t *value, hk_text_problem *problem)
{
    const json_t *it = member(object, key);
    if (!it)
        return true;
    if (!json_is_integer(it))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is %s; expected an integer", what, key,
                          kind_of(it));
    const int64_t number = json_integer_value(it);
    if (number < low || number > high)
        return text_wrong(problem, HK_BAD_DATA,
                          "%s: %s is %" PRId64 "; expected %" PRId64 " to %" PRId64, what, key,
                          number, low, high);
    *value = number;
    return true;
}

bool text_get_string(const json_t *object, const char *what, const char *key, text_string *value,
                     hk_text_problem *problem)
{
    const json_t *it = member(object, key);
    if (it && !json_is_string(it))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is %s; expected a text", what, key,
                          kind_of(it));
    return !it || text_string_copy(value, json_string_value(it), json_string_length(it), problem);
}

bool text_need_string(const json_t *object, const char *what, const char *key, text_string *value,
                      hk_text_problem *problem)
{
    if (!member(object, key))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is missing; expected a text", what, key);
    return text_get_string(object, what, key, value, problem);
}

bool text_get_list(const json_t *object, const char *what, const char *key, const json_t **value,
                   hk_text_problem *problem)
{
    const json_t *it = member(object, key);
    if (it && !json_is_array(it))
        return text_wrong(problem, HK_BAD_DATA, "%s: %s is %s; expected a list", what, key,
                          kind_of(it));
    if (it)
        *value = it;
    return true;
}

const char *text_type_of(const json_t *object)
{
    return json_string_value(json_object_get(object, "type"));
}

bool text_read_sequence(const json_t *object, const char *what, const char *key, int depth,
                        bool (*read)(void *self, const json_t *json, int depth,
                                     hk_text_problem *problem),
                        void *self, hk_text_problem *problem)
{
    enum { MOST_DEPTH = 16 };
    const json_t *list = json_object_get(object, key);
    if (!json_is_array(list) || depth == MOST_DEPTH)
        return text_wrong(problem, HK_BAD_DATA,
                          "%s of type \"Sequence\": %s is no list, or one within %d others", what,
                          key, MOST_DEPTH);
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read(self, json_array_get(list, i), depth + 1, problem))
            return false;
    return true;
}

bool text_refuse_type(const json_t *object, const char *what, hk_text_problem *problem)
{
    const char *type = text_type_of(object);
    if (!json_is_object(object))
        return text_wrong(problem, HK_BAD_DATA, "%s is %s; expected an object", what,
                          object ? kind_of(object) : "missing");
    if (!type)
        return text_wrong(problem, HK_BAD_DATA, "%s has no type; expected a text", what);
    return text_wrong(problem, HK_UNSUPPORTED, "%s of type \"%.60s\" cannot be used", what, type);
}
