#include "op/matmul/einsum_terms.h"
#include "base/quote.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { A_TO_Z = 26, SHOWN = 60 };

/* -1: none. */
static int letter_of(char c)
{
    return c >= 'A' && c <= 'Z' ? c - 'A' : c >= 'a' && c <= 'z' ? c - 'a' + A_TO_Z : -1;
}

static char letter_name(int label)
{
    return (char)(label < A_TO_Z ? 'A' + label : 'a' + label - A_TO_Z);
}

/* Where the reader is in the text. */
typedef struct reader {
    hki_call *call;
    const char *text, *at;
} reader;

static bool refuse_at(const reader *self, const char *what)
{
    const unsigned char c = (unsigned char)*self->at;
    const long long place = self->at - self->text;
    if (c == 0)
        return hki_call_refuse(self->call, HK_INVALID_ARGUMENT, "subscripts end where %s", what);
    return hki_call_refuse(self->call, HK_INVALID_ARGUMENT,
                           c >= 32 && c < 127
                               ? "character %lld of subscripts is '%c', where %s"
                               : "character %lld of subscripts is of code %d, where %s",
                           place, c, what);
}

static void skip_spaces(reader *self)
{
    while (*self->at == ' ')
        self->at++;
}

static bool read_ellipsis(reader *self, hki_einsum_term *term)
{
    if (strncmp(self->at, "...", 3) != 0)
        return refuse_at(self, "an ellipsis has three points");
    if (term->ellipsis_at >= 0)
        return refuse_at(self, "its term has an ellipsis already");
    term->ellipsis_at = term->count;
    self->at += 3;
    return true;
}

/* Letters and an ellipsis, up to something else. */
static bool read_term(reader *self, hki_einsum_term *term)
{
    *term = (hki_einsum_term){.ellipsis_at = -1};
    for (skip_spaces(self); *self->at; skip_spaces(self)) {
        const int letter = letter_of(*self->at);
        if (*self->at == '.') {
            if (!read_ellipsis(self, term))
                return false;
            continue;
        }
        if (letter < 0)
            break;
        if (term->count == HK_MAX_NDIM)
            return refuse_at(self, "its term has 8 letters already, the most axes there are");
        term->letters[term->count++] = (int8_t)letter;
        self->at++;
    }
    return true;
}

/* The term of an operand of so many axes: *broadcast grows to how many an ellipsis stands for. */
static bool label_operand(hki_call *call, const hki_einsum_term *term, int index, int ndim,
                          hki_einsum_labels *labels, int *broadcast)
{
    const bool fits = term->ellipsis_at < 0 ? term->count == ndim : term->count <= ndim;
    if (!fits)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "subscripts name %d axes of operand %d%s, which has %d", term->count,
                               index, term->ellipsis_at < 0 ? "" : " beside an ellipsis", ndim);
    const int rest = ndim - term->count;
    labels->count = 0;
    for (int i = 0; i <= term->count; i++) {
        for (int j = 0; i == term->ellipsis_at && j < rest; j++)
            labels->labels[labels->count++] = (int8_t)(HKI_EINSUM_LABELS - rest + j);
        if (i < term->count)
            labels->labels[labels->count++] = term->letters[i];
    }
    *broadcast = rest > *broadcast ? rest : *broadcast;
    return true;
}

static bool append(hki_call *call, hki_einsum_labels *labels, int label)
{
    if (labels->count == HK_MAX_NDIM)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT, "the result would have more than %d axes",
                               HK_MAX_NDIM);
    labels->labels[labels->count++] = (int8_t)label;
    return true;
}

static bool append_broadcast(hki_call *call, hki_einsum_labels *labels, int broadcast)
{
    for (int i = HKI_EINSUM_LABELS - broadcast; i < HKI_EINSUM_LABELS; i++)
        if (!append(call, labels, i))
            return false;
    return true;
}

/* Without an arrow: the ellipsis, and in order what is named once. */
static bool imply_result(hki_call *call, const int *named, int broadcast, hki_einsum_labels *result)
{
    if (!append_broadcast(call, result, broadcast))
        return false;
    for (int i = 0; i < HKI_EINSUM_LETTERS; i++)
        if (named[i] == 1 && !append(call, result, i))
            return false;
    return true;
}

static bool label_result(hki_call *call, const hki_einsum_term *term, const int *named,
                         int broadcast, hki_einsum_labels *result)
{
    uint64_t seen = 0;
    if (term->ellipsis_at < 0 && broadcast > 0)
        return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                               "operands have an ellipsis, but not what follows the arrow");
    for (int i = 0; i <= term->count; i++) {
        if (i == term->ellipsis_at && !append_broadcast(call, result, broadcast))
            return false;
        if (i == term->count)
            break;
        const int letter = term->letters[i];
        if (!named[letter] || seen >> letter & 1)
            return hki_call_refuse(call, HK_INVALID_ARGUMENT,
                                   named[letter]
                                       ? "'%c' follows the arrow twice"
                                       : "'%c' follows the arrow, but no operand has such an axis",
                                   letter_name(letter));
        seen |= UINT64_C(1) << letter;
        if (!append(call, result, letter))
            return false;
    }
    return true;
}

static bool read_result(reader *self, const int *named, int broadcast, hki_einsum_labels *result)
{
    hki_einsum_term term;
    result->count = 0;
    if (!*self->at)
        return imply_result(self->call, named, broadcast, result);
    if (strncmp(self->at, "->", 2) != 0)
        return refuse_at(self, "a letter, an ellipsis, a comma or \"->\" is wanted");
    self->at += 2;
    if (!read_term(self, &term))
        return false;
    if (*self->at)
        return refuse_at(self, "the result's letters or their end are wanted");
    return label_result(self->call, &term, named, broadcast, result);
}

static bool check_count(const reader *self, int count)
{
    int terms = 1;
    for (const char *c = self->text; *c; c++)
        terms += *c == ',' && terms < INT32_MAX;
    return terms == count || hki_call_refuse(self->call, HK_INVALID_ARGUMENT,
                                             "subscripts \"%s\" are of %d operands, but there "
                                             "are %d",
                                             hki_quote(self->text, SHOWN).text, terms, count);
}

bool hki_einsum_parse(hki_call *call, const char *subscripts, hk_array *const *inputs, int count,
                      hki_einsum_labels *operands, hki_einsum_labels *result)
{
    reader self = {call, subscripts, subscripts};
    int named[HKI_EINSUM_LETTERS] = {0}, broadcast = 0;
    if (!check_count(&self, count))
        return false;
    for (int i = 0; i < count; i++) {
        hki_einsum_term term;
        if (!read_term(&self, &term))
            return false;
        if (i + 1 < count && *self.at != ',')
            return refuse_at(&self, "a letter, an ellipsis or a comma is wanted");
        if (!label_operand(call, &term, i, inputs[i]->shape.ndim, &operands[i], &broadcast))
            return false;
        for (int j = 0; j < term.count; j++)
            named[term.letters[j]]++;
        self.at += i + 1 < count;
    }
    return read_result(&self, named, broadcast, result);
}
