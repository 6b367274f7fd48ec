#include "trace/json_input.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>

enum { MESSAGE_BYTES = 400 };

/* ---- messages --------------------------------------------------------------------------------------- */

bool hki_json_fail(hki_json_input *self, const char *format, ...)
{
    char message[MESSAGE_BYTES];
    va_list args;
    if (self->status)
        return false;
    va_start(args, format);
    hki_format_va(message, sizeof message, format, args);
    va_end(args);
    for (char *c = message; *c; c++) /* it may quote the text */
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    self->status =
        hki_status_create(HK_BAD_DATA, &(hki_status_facts){.operation = "trace_read"},
                          "line %ld: %s", hki_json_line(&self->text, self->value_at), message);
    return false;
}

bool hki_json_fail_memory(hki_json_input *self)
{
    if (!self->status)
        self->status = hki_status_no_memory();
    return false;
}

bool hki_json_fail_text(hki_json_input *self)
{
    self->value_at = self->text.at;
    if (self->text.at >= self->text.bytes)
        return hki_json_fail(self, "the file ends here, after %zu bytes; expected %s",
                             self->text.bytes, self->text.error);
    const char found = self->text.data[self->text.at];
    return hki_json_fail(self, "found '%c'; expected %s", found ? found : '?', self->text.error);
}

bool hki_json_fail_value(hki_json_input *self, const json_t *value, const char *key,
                         const char *expected)
{
    static const char *const types[] = {
        [JSON_OBJECT] = "an object", [JSON_ARRAY] = "a list",    [JSON_STRING] = "a text",
        [JSON_TRUE] = "true",        [JSON_FALSE] = "false",     [JSON_NULL] = "null",
        [JSON_INTEGER] = "a number", [JSON_REAL] = "a fraction",
    };
    if (!value)
        return hki_json_fail(self, "\"%s\" is missing; expected %s", key, expected);
    if (json_is_integer(value))
        return hki_json_fail(self, "\"%s\" is %" JSON_INTEGER_FORMAT "; expected %s", key,
                             json_integer_value(value), expected);
    if (json_is_real(value))
        return hki_json_fail(self, "\"%s\" is %g; expected %s", key, json_real_value(value),
                             expected);
    return hki_json_fail(self, "\"%s\" is %s; expected %s", key, types[json_typeof(value)],
                         expected);
}

/* ---- members of objects --------------------------------------------------------------------------------- */

bool hki_json_get_integer(hki_json_input *self, const json_t *object, const char *key, int64_t low,
                          int64_t high, int64_t *result)
{
    const json_t *value = json_object_get(object, key);
    if (json_is_integer(value) && json_integer_value(value) >= low &&
        json_integer_value(value) <= high) {
        *result = json_integer_value(value);
        return true;
    }
    char expected[96];
    snprintf(expected, sizeof expected, "a whole number from %" PRId64 " to %" PRId64, low, high);
    return hki_json_fail_value(self, value, key, expected);
}

bool hki_json_get_int(hki_json_input *self, const json_t *object, const char *key, int low,
                      int high, int *result)
{
    int64_t wide = 0;
    if (!hki_json_get_integer(self, object, key, low, high, &wide))
        return false;
    *result = (int)wide;
    return true;
}

bool hki_json_get_index(hki_json_input *self, const json_t *object, const char *key, int first,
                        int count, int *result)
{
    if (!count)
        return hki_json_fail(self, "\"%s\" names a row of an empty table in \"otherData\"", key);
    if (!hki_json_get_int(self, object, key, first, first + count - 1, result))
        return false;
    *result -= first;
    return true;
}

bool hki_json_get_uint64(hki_json_input *self, const json_t *object, const char *key,
                         uint64_t *result)
{
    int64_t wide = 0;
    if (!hki_json_get_integer(self, object, key, 0, INT64_MAX, &wide))
        return false;
    *result = (uint64_t)wide;
    return true;
}

bool hki_json_get_ns(hki_json_input *self, const json_t *object, const char *key, int64_t *result)
{
    return hki_json_get_integer(self, object, key, -HKI_JSON_MAX_NS, HKI_JSON_MAX_NS, result);
}

bool hki_json_get_us(hki_json_input *self, const json_t *object, const char *key, int64_t low_ns,
                     int64_t *result)
{
    const json_t *value = json_object_get(object, key);
    double ns = json_is_number(value) ? 1000 * json_number_value(value) : NAN;
    if (ns >= (double)low_ns && ns <= (double)HKI_JSON_MAX_NS) {
        *result = llround(ns);
        return true;
    }
    char expected[96];
    hki_format(expected, sizeof expected, "microseconds, from %g to %g", (double)low_ns / 1000,
               (double)HKI_JSON_MAX_NS / 1000);
    return hki_json_fail_value(self, value, key, expected);
}

bool hki_json_get_text(hki_json_input *self, const json_t *object, const char *key,
                       const char **result)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_string(value))
        return hki_json_fail_value(self, value, key, "a text");
    const char *text = hki_timeline_text(self->timeline, json_string_value(value));
    if (!text)
        return hki_json_fail_memory(self);
    *result = text;
    return true;
}

bool hki_json_get_flag(hki_json_input *self, const json_t *object, const char *key, bool *result)
{
    const json_t *value = json_object_get(object, key);
    if (value && !json_is_boolean(value))
        return hki_json_fail_value(self, value, key, "true or false");
    *result = json_is_true(value);
    return true;
}
