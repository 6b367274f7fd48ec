#include "op/call/choice.h"

#include "base/sync.h"

#include <string.h>

int hki_choice_find(const hki_call *call, const hki_choice_key *key, const char *const *words,
                    hki_choice_measure_fn measure)
{
    const char *word = hki_choices_find(hki_runtime_choices(call->device->runtime), key, measure);
    for (int i = 1; word && words[i]; i++)
        if (!strcmp(word, words[i]))
            return i;
    return 0;
}

double hki_choice_time(void (*run)(void *argument), void *argument)
{
    enum { LEAST = 3, MOST = 1000, BUDGET_NS = 5000000 };
    int64_t begin_ns = hki_clock_ns(), now_ns = begin_ns, least_ns = INT64_MAX;
    for (int i = 0; i < LEAST || (i < MOST && now_ns - begin_ns < BUDGET_NS); i++) {
        int64_t start_ns = now_ns;
        run(argument);
        now_ns = hki_clock_ns();
        if (now_ns - start_ns < least_ns)
            least_ns = now_ns - start_ns;
    }
    return (double)least_ns;
}
