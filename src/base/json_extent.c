#include "base/json_extent.h"

#include <string.h>

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

static bool fail(hki_json_text *text, const char *expected)
{
    text->error = expected;
    return false;
}

void hki_json_skip_space(hki_json_text *text)
{
    while (text->at < text->bytes && is_space(text->data[text->at]))
        text->at++;
}

bool hki_json_take(hki_json_text *text, char c)
{
    hki_json_skip_space(text);
    bool is_there = text->at < text->bytes && text->data[text->at] == c;
    text->at += is_there;
    return is_there;
}

bool hki_json_expect(hki_json_text *text, char c, const char *what)
{
    return hki_json_take(text, c) || fail(text, what);
}

bool hki_json_take_string(hki_json_text *text, hki_json_extent *value)
{
    if (!hki_json_take(text, '"'))
        return fail(text, "a text in quotes");
    size_t begin = text->at - 1;
    while (text->at < text->bytes) {
        char c = text->data[text->at++];
        if (c == '\\')
            text->at += text->at < text->bytes;
        else if (c == '"') {
            *value = (hki_json_extent){.begin = begin, .end = text->at};
            return true;
        }
    }
    return fail(text, "the quote that ends a text");
}

bool hki_json_take_value(hki_json_text *text, hki_json_extent *value)
{
    size_t depth = 0;
    hki_json_extent inner, found = {0};
    hki_json_skip_space(text);
    found.begin = text->at;
    do {
        hki_json_skip_space(text);
        if (text->at == text->bytes)
            return fail(text, depth ? "the rest of a list or object" : "a value");
        char c = text->data[text->at];
        if (c == '"') {
            if (!hki_json_take_string(text, &inner))
                return false;
        } else if (c == '{' || c == '[') {
            depth++;
            found.container_count++;
            text->at++;
        } else if (c == '}' || c == ']') {
            if (!depth)
                return fail(text, "a value");
            depth--;
            text->at++;
        } else if (c == ',' || c == ':') {
            if (!depth)
                return fail(text, "a value");
            found.comma_count += c == ',';
            text->at++;
        } else {
            while (text->at < text->bytes && !is_space(text->data[text->at]) &&
                   !memchr(",:{}[]\"", text->data[text->at], 7))
                text->at++;
        }
    } while (depth);
    found.end = text->at;
    *value = found;
    return true;
}

long hki_json_line(const hki_json_text *text, size_t offset)
{
    long line = 1;
    for (size_t i = 0; i < offset && i < text->bytes; i++)
        line += text->data[i] == '\n';
    return line;
}
