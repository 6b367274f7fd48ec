/* JSON from outside, read with every value checked. Functions that return a bool return false with `status` set when
 * something is wrong: which line, what is there, what was expected. */
#ifndef HOCKET_TRACE_JSON_INPUT_H
#define HOCKET_TRACE_JSON_INPUT_H

#include "base/json_extent.h"
#include "trace/timeline.h"

#include <jansson.h>

/* 11 days: microseconds with three decimals are exact to there. */
#define HKI_JSON_MAX_NS ((int64_t)1000 * 1000 * 1000 * 1000 * 1000)

typedef struct hki_json_input {
    hki_json_text text;
    size_t value_at;         /* where the value lies that is being looked at; for messages */
    const hk_status *status; /* counted; of what was wrong first; NULL: nothing was */
    hki_timeline *timeline;  /* keeps the texts */
} hki_json_input;

/* False. */
bool hki_json_fail(hki_json_input *self, const char *format, ...) HK_PRINTF(2, 3);
bool hki_json_fail_memory(hki_json_input *self);
/* By text.error. */
bool hki_json_fail_text(hki_json_input *self);
/* The member `key` is `value` (NULL: missing), not what was expected: "a text". */
bool hki_json_fail_value(hki_json_input *self, const json_t *value, const char *key,
                         const char *expected);

/* A member of an object; it must be there unless something else is said. */
bool hki_json_get_integer(hki_json_input *self, const json_t *object, const char *key, int64_t low,
                          int64_t high, int64_t *result);
bool hki_json_get_int(hki_json_input *self, const json_t *object, const char *key, int low,
                      int high, int *result);
bool hki_json_get_uint64(hki_json_input *self, const json_t *object, const char *key,
                         uint64_t *result);
/* The number of one of `count` rows, the first of which is called `first`; from 0 in *result. */
bool hki_json_get_index(hki_json_input *self, const json_t *object, const char *key, int first,
                        int count, int *result);
bool hki_json_get_ns(hki_json_input *self, const json_t *object, const char *key, int64_t *result);
/* In the text microseconds. */
bool hki_json_get_us(hki_json_input *self, const json_t *object, const char *key, int64_t low_ns,
                     int64_t *result);
/* Interned in the timeline. */
bool hki_json_get_text(hki_json_input *self, const json_t *object, const char *key,
                       const char **result);
/* false where it is missing. */
bool hki_json_get_flag(hki_json_input *self, const json_t *object, const char *key, bool *result);

#endif
