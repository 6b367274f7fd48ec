/* Pairs to learn writing from reading: a number in English words, and its digits. */
#ifndef HOCKET_CLI_NUMBER_WORDS_H
#define HOCKET_CLI_NUMBER_WORDS_H

#include <stdint.h>

/* Tokens: end, which follows until the last step; begin; ten digits; words "zero" to "nineteen", "twenty" to "ninety", "hundred",
 * "thousand". */
enum { NUMBER_WORDS_STEPS = 10, NUMBER_WORDS_TOKENS = 42 };

/* 0 to 999999, with as many digits as another; the state is any number at first. */
int64_t number_words_draw(uint64_t *state);
/* Of a number below a million: its words, its digits with begin before them, and what is to be written after each of these. */
void number_words_make(int64_t number, int32_t words[NUMBER_WORDS_STEPS],
                       int32_t written[NUMBER_WORDS_STEPS], int32_t wanted[NUMBER_WORDS_STEPS]);

#endif
