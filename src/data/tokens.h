/* A text as a sequence of tokens. */
#ifndef HOCKET_DATA_TOKENS_H
#define HOCKET_DATA_TOKENS_H

#include <hocket/text.h>

/* Bytes of a text, not ended by a 0. */
typedef struct hki_token {
    const char *bytes;
    size_t count;
} hki_token;

/* Begins at `text`; externally synchronised. */
typedef struct hki_token_reader {
    const char *at, *end;
    hk_token_kind kind;
    bool letters_only;
    char letter;    /* what a token of letters_only is, where it is no word */
    char word[256]; /* longer ones are cut */
} hki_token_reader;

/* The next token, valid until the next call; false at the end. */
bool hki_token_next(hki_token_reader *self, hki_token *token);

#endif
