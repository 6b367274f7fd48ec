#include "number_words.h"

#include <inttypes.h>
#include <stdio.h>

enum { END, BEGIN, DIGIT, ZERO = DIGIT + 10, TWENTY = ZERO + 20, HUNDRED = TWENTY + 8, THOUSAND };

_Static_assert(THOUSAND + 1 == NUMBER_WORDS_TOKENS, "the vocabulary");

int64_t number_words_draw(uint64_t *state)
{
    static const int64_t bounds[] = {10, 100, 1000, 10000, 100000, 1000000};
    int64_t parts[2];
    for (int i = 0; i < 2; i++) { /* Knuth's generator; its upper bits are the better ones */
        *state = *state * 6364136223846793005u + 1442695040888963407u;
        parts[i] = (int64_t)(*state >> 33);
    }
    return parts[1] % bounds[parts[0] % 6];
}

/* Below a thousand. Returns how many words. */
static int small(int64_t number, int32_t *words)
{
    int count = 0;
    if (number >= 100) {
        words[count++] = (int32_t)(ZERO + number / 100);
        words[count++] = HUNDRED;
        number %= 100;
    }
    if (number >= 20) {
        words[count++] = (int32_t)(TWENTY + number / 10 - 2);
        number %= 10;
    }
    if (number > 0)
        words[count++] = (int32_t)(ZERO + number);
    return count;
}

void number_words_make(int64_t number, int32_t words[NUMBER_WORDS_STEPS],
                       int32_t written[NUMBER_WORDS_STEPS], int32_t wanted[NUMBER_WORDS_STEPS])
{
    char digits[24];
    int count = 0;
    if (number >= 1000) {
        count = small(number / 1000, words);
        words[count++] = THOUSAND;
    }
    count += small(number % 1000, words + count);
    if (!number)
        words[count++] = ZERO;
    while (count < NUMBER_WORDS_STEPS)
        words[count++] = END;
    const int length = snprintf(digits, sizeof digits, "%" PRId64, number);
    for (int i = 0; i < NUMBER_WORDS_STEPS; i++) {
        wanted[i] = i < length ? DIGIT + digits[i] - '0' : END;
        written[i] = i ? wanted[i - 1] : BEGIN;
    }
}
