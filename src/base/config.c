#include "base/config.h"
#include "base/quote.h"

_Atomic(bool) hki_config_checks;

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const hk_status *config_error(const char *name, const char *text, const char *expected)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                             "environment variable %s is \"%s\"; expected %s", name,
                             hki_quote(text, 100).text, expected);
}

const hk_status *hki_config_integer(const char *name, int64_t low, int64_t high, int64_t *value)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return NULL;
    char *end;
    errno = 0;
    long long number = strtoll(text, &end, 10);
    int shift = 0;
    if (end != text && *end && strchr("KMG", *end)) {
        shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 30;
        end++;
    }
    if (end == text || !strchr("-0123456789", *text) || *end || errno || number > (high >> shift) ||
        number < low) {
        char expected[80];
        snprintf(expected, sizeof expected, "a whole number from %lld to %lld", (long long)low,
                 (long long)high);
        return config_error(name, text, expected);
    }
    *value = (int64_t)((uint64_t)number << shift);
    return NULL;
}

const hk_status *hki_config_word(const char *name, const char *const *words, int *value)
{
    const char *text = getenv(name);
    if (!text || !*text)
        return NULL;
    char expected[200] = "one of";
    for (int i = 0; words[i]; i++) {
        if (!strcmp(text, words[i])) {
            *value = i;
            return NULL;
        }
        size_t used = strlen(expected);
        snprintf(expected + used, sizeof expected - used, " %s", words[i]);
    }
    return config_error(name, text, expected);
}
