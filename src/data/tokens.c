#include "data/tokens.h"

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static char small(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_of_word(char c)
{
    return is_letter(c) || (c >= '0' && c <= '9') || c == '\'' || (unsigned char)c >= 0x80;
}

/* Bytes of the character of UTF-8 at `at`, which is before end; 1 where it is none. */
static size_t character_bytes(const char *at, const char *end)
{
    const unsigned char first = (unsigned char)*at;
    const size_t count = first < 0xc2   ? 1
                         : first < 0xe0 ? 2
                         : first < 0xf0 ? 3
                         : first < 0xf5 ? 4
                                        : 1;
    if (count > (size_t)(end - at))
        return 1;
    for (size_t i = 1; i < count; i++)
        if (((unsigned char)at[i] & 0xc0) != 0x80)
            return 1;
    return count;
}

/* Letters by themselves, and a blank for what stands between. */
static bool next_letter(hki_token_reader *self, hki_token *token)
{
    if (self->at == self->end)
        return false;
    self->letter = is_letter(*self->at) ? small(*self->at) : ' ';
    if (self->letter != ' ')
        self->at++;
    else
        while (self->at < self->end && !is_letter(*self->at))
            self->at++;
    *token = (hki_token){&self->letter, 1};
    return true;
}

static bool next_letters(hki_token_reader *self, hki_token *token)
{
    size_t count = 0;
    while (self->at < self->end && !is_letter(*self->at))
        self->at++;
    for (; self->at < self->end && is_letter(*self->at); self->at++)
        if (count < sizeof self->word)
            self->word[count++] = small(*self->at);
    *token = (hki_token){self->word, count};
    return count > 0;
}

static bool next_word(hki_token_reader *self, hki_token *token)
{
    while (self->at < self->end && is_blank(*self->at))
        self->at++;
    const char *begin = self->at;
    while (self->at < self->end && is_of_word(*self->at))
        self->at++;
    if (self->at == begin && self->at < self->end)
        self->at++;
    *token = (hki_token){begin, (size_t)(self->at - begin)};
    return token->count > 0;
}

static bool next_character(hki_token_reader *self, hki_token *token)
{
    if (self->at == self->end)
        return false;
    *token = (hki_token){self->at, character_bytes(self->at, self->end)};
    self->at += token->count;
    return true;
}

bool hki_token_next(hki_token_reader *self, hki_token *token)
{
    if (self->kind == HK_TOKEN_WORDS)
        return self->letters_only ? next_letters(self, token) : next_word(self, token);
    return self->letters_only ? next_letter(self, token) : next_character(self, token);
}
