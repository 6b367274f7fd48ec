/* Letters: UTF-8, their classes, cases and normal forms, by utf8proc. */
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* ---- UTF-8 ----------------------------------------------------------------------------------- */

static size_t length_of(unsigned char first)
{
    return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

uint32_t text_letter(const char *data, size_t *bytes)
{
    const unsigned char *c = (const unsigned char *)data;
    *bytes = length_of(c[0]);
    switch (*bytes) {
    case 1:
        return c[0];
    case 2:
        return (c[0] & 0x1FU) << 6 | (c[1] & 0x3FU);
    case 3:
        return (c[0] & 0x0FU) << 12 | (c[1] & 0x3FU) << 6 | (c[2] & 0x3FU);
    default:
        return (c[0] & 0x07U) << 18 | (c[1] & 0x3FU) << 12 | (c[2] & 0x3FU) << 6 | (c[3] & 0x3FU);
    }
}

/* Bytes of a letter at c, of which so many are there; 0: it is none. */
static size_t valid(const unsigned char *c, size_t bytes)
{
    if (c[0] < 0x80)
        return 1;
    if (c[0] < 0xC2 || c[0] > 0xF4)
        return 0;
    const size_t length = length_of(c[0]);
    if (length > bytes)
        return 0;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xC0) != 0x80)
            return 0;
    if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] >= 0xA0) ||
        (c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] >= 0x90))
        return 0;
    return length;
}

size_t text_utf8_length(const char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        const size_t length = valid((const unsigned char *)data + at, bytes - at);
        if (!length)
            break;
        at += length;
    }
    return at;
}

/* ---- classes --------------------------------------------------------------------------------- */

/* Letters of later versions of Unicode. */
static const struct range {
    uint32_t first, last;
    uint8_t category, version;
} ranges[] = {
#include "unicode_ranges.inc"
};

/* NULL: it is none of them. */
static const struct range *range_of(uint32_t letter)
{
    size_t low = 0, high = sizeof ranges / sizeof *ranges;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (ranges[middle].last < letter)
            low = middle + 1;
        else
            high = middle;
    }
    return low < sizeof ranges / sizeof *ranges && ranges[low].first <= letter ? &ranges[low]
                                                                               : NULL;
}

/* Of Unicode 16, where the library knows less; what later ones bring is not assigned. */
static utf8proc_category_t category(uint32_t letter)
{
    const utf8proc_category_t it = utf8proc_category((utf8proc_int32_t)letter);
    const struct range *range = it == UTF8PROC_CATEGORY_CN ? range_of(letter) : NULL;
    return range ? (utf8proc_category_t)range->category : it;
}

/* That of an earlier version: what came later is not assigned. */
static utf8proc_category_t category_in(uint32_t letter, int version)
{
    const struct range *range = range_of(letter);
    return range && range->version > version ? UTF8PROC_CATEGORY_CN : category(letter);
}

void text_add_later(text_buffer *to, const char *name, size_t bytes)
{
    static const char names[][3] = {"Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd",
                                    "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
                                    "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++) {
        char text[32];
        if (ranges[i].version < 15 || memcmp(names[ranges[i].category], name, bytes))
            continue;
        const int length =
            snprintf(text, sizeof text, "\\x{%x}-\\x{%x}", ranges[i].first, ranges[i].last);
        text_buffer_add(to, text, (size_t)length);
    }
}

bool text_is_space(uint32_t letter)
{
    if (letter < 0x80)
        return letter == ' ' || (letter >= 9 && letter <= 13);
    return letter == 0x85 || letter == 0xA0 || letter == 0x1680 ||
           (letter >= 0x2000 && letter <= 0x200A) || letter == 0x2028 || letter == 0x2029 ||
           letter == 0x202F || letter == 0x205F || letter == 0x3000;
}

bool text_is_punctuation(uint32_t letter)
{
    if (letter < 0x80)
        return (letter >= '!' && letter <= '/') || (letter >= ':' && letter <= '@') ||
               (letter >= '[' && letter <= '`') || (letter >= '{' && letter <= '~');
    if (letter == 0x166D || letter == 0x111C9) /* were some then */
        return true;
    const utf8proc_category_t it = category_in(letter, 8);
    return it >= UTF8PROC_CATEGORY_PC && it <= UTF8PROC_CATEGORY_PO;
}

bool text_is_number(uint32_t letter)
{
    if (letter < 0x80)
        return letter >= '0' && letter <= '9';
    if ((letter >= 0x11DE0 && letter <= 0x11DE9) || (letter >= 0x16FF4 && letter <= 0x16FF6))
        return true; /* of Unicode 17, which is that of the package here */
    const utf8proc_category_t it = category(letter);
    return it >= UTF8PROC_CATEGORY_ND && it <= UTF8PROC_CATEGORY_NO;
}

bool text_is_mark(uint32_t letter)
{
    if (letter < 0x300 || letter == 0x111C9) /* became one since */
        return false;
    if (letter == 0x1CF2 || letter == 0x1CF3) /* were some then */
        return true;
    const utf8proc_category_t it = category_in(letter, 9);
    return it >= UTF8PROC_CATEGORY_MN && it <= UTF8PROC_CATEGORY_ME;
}

bool text_is_nonspacing(uint32_t letter)
{
    if (letter < 0x300 || letter == 0x1885 || letter == 0x1886 || letter == 0xA9BD ||
        letter == 0x111C9) /* became some since */
        return false;
    return letter == 0x1734 || category_in(letter, 8) == UTF8PROC_CATEGORY_MN;
}

bool text_is_control(uint32_t letter)
{
    if (letter < 0x80)
        return letter < 0x20 || letter == 0x7F;
    const utf8proc_category_t it = category_in(letter, 8);
    return it >= UTF8PROC_CATEGORY_CC && it <= UTF8PROC_CATEGORY_CO;
}

bool text_is_word(uint32_t letter)
{
    if (letter < 0x80)
        return (letter >= '0' && letter <= '9') || (letter >= 'A' && letter <= 'Z') ||
               letter == '_' || (letter >= 'a' && letter <= 'z');
    const utf8proc_category_t it = category(letter);
    if ((it >= UTF8PROC_CATEGORY_LU && it <= UTF8PROC_CATEGORY_NL) || it == UTF8PROC_CATEGORY_PC)
        return true;
    /* Joiners, and the symbols that Unicode calls alphabetic. */
    return letter == 0x200C || letter == 0x200D || (letter >= 0x24B6 && letter <= 0x24E9) ||
           (letter >= 0x1F130 && letter <= 0x1F149) || (letter >= 0x1F150 && letter <= 0x1F169) ||
           (letter >= 0x1F170 && letter <= 0x1F189);
}

/* ---- cases and normal forms ------------------------------------------------------------------ */

/* Capitals of Unicode 15 to 17, and how far behind them their small letters are. */
static uint32_t later_lower(uint32_t letter)
{
    static const struct {
        uint32_t first, last;
        int32_t offset;
    } rows[] = {{0x1C89, 0x1C89, 1},     {0xA7CB, 0xA7CB, -0xA567}, {0xA7CC, 0xA7CC, 1},
                {0xA7CE, 0xA7CE, 1},     {0xA7D2, 0xA7D2, 1},       {0xA7D4, 0xA7D4, 1},
                {0xA7DA, 0xA7DA, 1},     {0xA7DC, 0xA7DC, -0xA641}, {0x10D50, 0x10D65, 0x20},
                {0x16EA0, 0x16EB8, 0x1B}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (letter >= rows[i].first && letter <= rows[i].last)
            return (uint32_t)((int32_t)letter + rows[i].offset);
    return letter;
}

void text_put_lower(text_buffer *to, uint32_t letter)
{
    if (letter < 0x80) {
        text_buffer_put(to, letter >= 'A' && letter <= 'Z' ? letter + 32 : letter);
    } else if (letter == 0x130) { /* the one whose small letter is two */
        text_buffer_put(to, 'i');
        text_buffer_put(to, 0x307);
    } else {
        const uint32_t lower = (uint32_t)utf8proc_tolower((utf8proc_int32_t)letter);
        text_buffer_put(to, lower == letter ? later_lower(letter) : lower);
    }
}

static bool is_ascii(const char *data, size_t bytes)
{
    unsigned char all = 0;
    for (size_t i = 0; i < bytes; i++)
        all |= (unsigned char)data[i];
    return all < 0x80;
}

static void normal_form(utf8proc_option_t options, const char *data, size_t bytes, text_buffer *to)
{
    utf8proc_uint8_t *made = NULL;
    if (!bytes)
        return;
    const utf8proc_ssize_t count =
        utf8proc_map((const utf8proc_uint8_t *)data, (utf8proc_ssize_t)bytes, &made, options);
    if (count < 0)
        to->failed = true; /* the text is UTF-8: nothing but memory is missing */
    else
        text_buffer_add(to, (const char *)made, (size_t)count);
    free(made);
}

void text_normal_form(text_form form, const char *data, size_t bytes, text_buffer *to)
{
    /* Is before the first consonant that ends a syllable of Hangul, and no one: it stays, and what
     * is before and behind it never meets. utf8proc, up to 2.8 at least, loses it in syllables. */
    static const char no_consonant[] = "\xE1\x86\xA7";
    static const utf8proc_option_t options[] = {
        [TEXT_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [TEXT_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [TEXT_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [TEXT_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    if (is_ascii(data, bytes)) {
        text_buffer_add(to, data, bytes);
        return;
    }
    for (size_t at = 0; at < bytes;) {
        const char *next = memmem(data + at, bytes - at, no_consonant, 3);
        const size_t end = next ? (size_t)(next - data) : bytes;
        normal_form(options[form], data + at, end - at, to);
        if (next)
            text_buffer_add(to, no_consonant, 3);
        at = end + (next ? 3 : 0);
    }
}

/* ---- bytes as letters ------------------------------------------------------------------------ */

/* GPT-2's alphabet: letters that can be seen are themselves, the 68 other bytes follow from 0x100
 * on. */
static bool is_itself(uint32_t byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) ||
           (byte >= 0xAE && byte <= 0xFF);
}

uint32_t text_letter_of_byte(unsigned char byte)
{
    if (is_itself(byte))
        return byte;
    return 0x100U + (byte <= 0x20 ? byte : byte <= 0xA0 ? byte - 0x7FU + 0x21U : 0x43U);
}

int text_byte_of_letter(uint32_t letter)
{
    if (letter < 0x100)
        return is_itself(letter) ? (int)letter : -1;
    if (letter < 0x121)
        return (int)letter - 0x100;
    if (letter < 0x143)
        return (int)letter - 0x121 + 0x7F;
    return letter == 0x143 ? 0xAD : -1;
}
