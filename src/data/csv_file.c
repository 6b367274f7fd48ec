#include "data/csv_file.h"

#include "base/quote.h"
#include "base/text.h"
#include "data/data_file.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_BYTES = 128 }; /* the longest field that may be a number */

typedef struct parser {
    const char *name, *at, *end;
    char delimiter;
    int64_t line, column; /* from 1 */
    uint64_t limit;       /* values */
    double *values;
    size_t count, capacity;
    bool has_lines; /* one or more were read */
    char *message;
} parser;

static hk_code refuse(const parser *self, const char *what, const char *shown, size_t length)
{
    return hki_data_fail(HK_BAD_DATA, self->message, HKI_DATA_MESSAGE_BYTES, self->name,
                         "line %" PRId64 ", column %" PRId64 ": %s: \"%s\"", self->line,
                         self->column, what, hki_quote_bytes(shown, length, 40).text);
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

static bool is_line_end(const parser *self)
{
    return self->at == self->end || *self->at == '\n' || *self->at == '\r';
}

static void skip_blanks(parser *self)
{
    while (self->at < self->end && is_blank(*self->at) && *self->at != self->delimiter)
        self->at++;
}

/* Over one line's end: \n, \r\n or \r. */
static void skip_line_end(parser *self)
{
    if (self->at < self->end && *self->at == '\r')
        self->at++;
    if (self->at < self->end && *self->at == '\n')
        self->at++;
    self->line++;
    self->column = 1;
}

/* The text of a field, without quotes and blanks around it. Doubled quotes inside stay: no number has them. */
static hk_code take_field(parser *self, const char **field, size_t *length)
{
    skip_blanks(self);
    const char *begin = self->at;
    if (self->at < self->end && *self->at == '"') {
        begin = ++self->at;
        while (self->at < self->end && (*self->at != '"' || self->at[1] == '"'))
            self->at += *self->at == '"' ? 2 : 1;
        if (self->at >= self->end)
            return refuse(self, "a quote that is not closed", begin, (size_t)(self->end - begin));
        *length = (size_t)(self->at++ - begin);
        skip_blanks(self);
    } else {
        while (!is_line_end(self) && *self->at != self->delimiter)
            self->at++;
        *length = (size_t)(self->at - begin);
    }
    while (*length && is_blank(begin[*length - 1]))
        --*length;
    while (*length && is_blank(*begin)) {
        begin++;
        --*length;
    }
    *field = begin;
    if (!is_line_end(self) && *self->at != self->delimiter)
        return refuse(self, "text behind a quote", self->at, (size_t)(self->end - self->at));
    return HK_OK;
}

/* The first line may be names. */
static const char *no_number(const parser *self)
{
    return self->has_lines ? "no number"
                           : "no number; where the first line has names, the option has_header "
                             "leaves it out";
}

static hk_code to_number(const parser *self, const char *field, size_t length, double *value)
{
    char text[NUMBER_BYTES], *end;
    *value = NAN;
    if (!length || (length == 2 && !memcmp(field, "NA", 2)))
        return HK_OK;
    if (length >= sizeof text)
        return refuse(self, no_number(self), field, length);
    memcpy(text, field, length);
    text[length] = '\0';
    *value = hki_read_double(text, &end);
    return end == text + length ? HK_OK : refuse(self, no_number(self), field, length);
}

static hk_code keep(parser *self, double value)
{
    if (self->count == self->limit)
        return hki_data_fail(HK_BAD_DATA, self->message, HKI_DATA_MESSAGE_BYTES, self->name,
                             "has more than %" PRIu64
                             " numbers; fewer, or a larger limit, would be right",
                             self->limit);
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : 256;
        double *values = realloc(self->values, capacity * sizeof *values);
        if (!values)
            return hki_data_fail(HK_OUT_OF_MEMORY, self->message, HKI_DATA_MESSAGE_BYTES,
                                 self->name, "no host memory for %zu numbers", capacity);
        self->values = values;
        self->capacity = capacity;
    }
    self->values[self->count++] = value;
    return HK_OK;
}

/* One line, of at least one field; of a header nothing is kept. *columns: how many fields. */
static hk_code parse_line(parser *self, bool is_header, int64_t *columns)
{
    const char *field = self->at;
    size_t length = 0;
    for (self->column = 1;; self->column++) {
        double value;
        hk_code code = take_field(self, &field, &length);
        if (code == HK_OK && !is_header)
            code = to_number(self, field, length, &value);
        if (code == HK_OK && !is_header)
            code = keep(self, value);
        if (code != HK_OK)
            return code;
        if (is_line_end(self))
            break;
        self->at++;
    }
    *columns = self->column;
    self->has_lines = true;
    skip_line_end(self);
    return HK_OK;
}

static bool skip_empty_lines(parser *self)
{
    for (;;) {
        const char *begin = self->at;
        skip_blanks(self);
        if (self->at == self->end)
            return false;
        if (!is_line_end(self)) {
            self->at = begin;
            return true;
        }
        skip_line_end(self);
    }
}

static hk_code parse_lines(parser *self, bool has_header, hki_csv_table *table)
{
    int64_t columns = 0, first = 0;
    hk_code code = HK_OK;
    if (has_header && skip_empty_lines(self))
        code = parse_line(self, true, &first);
    while (code == HK_OK && skip_empty_lines(self)) {
        const int64_t line = self->line;
        code = parse_line(self, false, &columns);
        if (code != HK_OK)
            break;
        table->rows++;
        if (!first)
            first = columns;
        if (columns != first)
            code = hki_data_fail(HK_BAD_DATA, self->message, HKI_DATA_MESSAGE_BYTES, self->name,
                                 "line %" PRId64 " has %" PRId64 " fields; %" PRId64
                                 ", as in the first line, would be right",
                                 line, columns, first);
    }
    if (code == HK_OK && !table->rows)
        code = hki_data_fail(HK_BAD_DATA, self->message, HKI_DATA_MESSAGE_BYTES, self->name,
                             "has no line of numbers; one or more would be right");
    table->columns = first;
    return code;
}

hk_code hki_csv_parse(hki_csv_table *table, const char *name, const char *text, size_t size,
                      char delimiter, bool has_header, uint64_t byte_limit,
                      char message[HKI_DATA_MESSAGE_BYTES])
{
    static const char mark[] = "\xef\xbb\xbf"; /* of UTF-8, which some programs write */
    parser self = {.name = name,
                   .at = text,
                   .end = text + size,
                   .delimiter = delimiter,
                   .line = 1,
                   .column = 1,
                   .limit = (byte_limit ? byte_limit : HKI_FILE_DEFAULT_LIMIT) / sizeof(double),
                   .message = message};
    message[0] = '\0';
    *table = (hki_csv_table){0};
    if (size >= 3 && !memcmp(text, mark, 3))
        self.at += 3;
    const hk_code code = parse_lines(&self, has_header, table);
    table->values = self.values;
    if (code == HK_OK)
        return HK_OK;
    free(self.values);
    *table = (hki_csv_table){0};
    return code;
}
