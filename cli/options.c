#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_WORD = 40, MAX_WORDS = 512, HELP_COLUMN = 26, HELP_WIDTH = 64 };

static int smaller(int a, int b)
{
    return a < b ? a : b;
}

/* How many letters differ: Levenshtein's distance, in which swapped neighbours count once. */
static int distance(const char *a, const char *b)
{
    int rows[3][MAX_WORD + 1];
    int a_length = (int)strlen(a), b_length = (int)strlen(b);
    if (a_length > MAX_WORD || b_length > MAX_WORD)
        return MAX_WORD;
    for (int j = 0; j <= b_length; j++)
        rows[0][j] = j;
    for (int i = 1; i <= a_length; i++) {
        int *row = rows[i % 3];
        const int *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        row[0] = i;
        for (int j = 1; j <= b_length; j++) {
            row[j] = smaller(above[j] + 1, row[j - 1] + 1);
            row[j] = smaller(row[j], above[j - 1] + (a[i - 1] != b[j - 1]));
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
                row[j] = smaller(row[j], second[j - 2] + 1);
        }
    }
    return rows[a_length % 3][b_length];
}

const char *nearest_word(const char *text, const char *const *words)
{
    const char *best = NULL;
    int best_distance = (int)strlen(text) < 6 ? 3 : 4; /* beyond which nothing is near */
    for (; *words; words++) {
        int letters = distance(text, *words);
        if (letters < best_distance && letters < (int)strlen(*words)) {
            best = *words;
            best_distance = letters;
        }
    }
    return best;
}

int options_complain(const command *self, const char *format, ...)
{
    const char *space = *self->name ? " " : "";
    va_list values;
    va_start(values, format);
    fprintf(stderr, "hocket%s%s: ", space, self->name);
    vfprintf(stderr, format, values);
    fprintf(stderr, "\n(hocket%s%s --help lists what it takes)\n", space, self->name);
    va_end(values);
    return EXIT_USAGE;
}

/* "sgd, adam or adadelta". */
static void join_words(const option_row *row, char *text, size_t bytes)
{
    const char *word;
    size_t used = 0;
    for (int i = 0; (word = row->words(i)) && used < bytes; i++)
        used += (size_t)snprintf(text + used, bytes - used, "%s%s",
                                 !i                  ? ""
                                 : row->words(i + 1) ? ", "
                                                     : " or ",
                                 word);
}

/* ---- help ------------------------------------------------------------------------------------------ */

static void print_lines(const char *text, FILE *stream)
{
    for (; *text; text++) {
        fputc(*text, stream);
        if (*text == '\n')
            fprintf(stream, "%*s", HELP_COLUMN, "");
    }
}

static void print_row(const option_row *row, FILE *stream)
{
    if (!row->name) {
        fprintf(stream, "\n%s:\n", row->help);
        return;
    }
    int width = fprintf(stream, "  --%s%s%s", row->name, row->value ? " " : "",
                        row->value ? row->value : "");
    if (width > HELP_COLUMN - 2) {
        fprintf(stream, "\n");
        width = 0;
    }
    fprintf(stream, "%*s", HELP_COLUMN - width, "");
    char words[MAX_WORDS] = "";
    if (row->words)
        join_words(row, words, sizeof words);
    int column = 0;
    for (char *c = words; *c; c++, column++)
        if (*c == ' ' && column + (int)strcspn(c + 1, " ") >= HELP_WIDTH) {
            *c = '\n';
            column = -1;
        }
    print_lines(words, stream);
    print_lines(row->help, stream);
    fputc('\n', stream);
}

void options_print_help(const command *self, FILE *stream)
{
    static const option_row help = {.name = "help", .help = "print this"};
    fprintf(stream, "usage: hocket %s%s%s [options]\n\n%s\n", self->name,
            *self->operands ? " " : "", self->operands, self->summary);
    if (*self->description)
        fprintf(stream, "\n%s\n", self->description);
    fprintf(stream, "\noptions:\n");
    int i = 0;
    for (; i < self->row_count && self->rows[i].name; i++)
        print_row(&self->rows[i], stream);
    print_row(&help, stream);
    for (; i < self->row_count; i++)
        print_row(&self->rows[i], stream);
}

/* ---- parsing --------------------------------------------------------------------------------------- */

static const option_row *find_row(const command *self, const char *name, size_t length)
{
    for (int i = 0; i < self->row_count; i++) {
        const option_row *row = &self->rows[i];
        if (row->name && strlen(row->name) == length && !strncmp(row->name, name, length))
            return row;
    }
    return NULL;
}

/* What a value should be, for messages. */
static const char *expected(const option_row *row, char *text, size_t bytes)
{
    if (row->type == OPTION_INT)
        snprintf(text, bytes, "a whole number from %.0f to %.0f", row->low, row->high);
    else if (row->type == OPTION_NUMBER)
        snprintf(text, bytes, "a number from %g to %g", row->low, row->high);
    else if (row->type == OPTION_WORD)
        join_words(row, text, bytes);
    else
        snprintf(text, bytes, "a %s", row->value);
    return text;
}

static bool parse_number(const option_row *row, const char *text, double *number)
{
    char *end;
    *number = strtod(text, &end);
    return end != text && !*end && !isspace((unsigned char)*text) && *number >= row->low &&
           *number <= row->high;
}

static bool parse_int(const option_row *row, const char *text, int64_t *number)
{
    char *end;
    errno = 0;
    intmax_t wide = strtoimax(text, &end, 10);
    *number = wide;
    return end != text && !*end && !errno && !isspace((unsigned char)*text) &&
           (double)wide >= row->low && (double)wide <= row->high;
}

static bool set_value(const option_row *row, char *text, void *options)
{
    void *field = (char *)options + row->offset;
    switch (row->type) {
    case OPTION_INT: {
        int64_t number;
        if (!parse_int(row, text, &number))
            return false;
        *(int64_t *)field = number;
        return true;
    }
    case OPTION_NUMBER: {
        double number;
        if (!parse_number(row, text, &number))
            return false;
        *(double *)field = number;
        return true;
    }
    case OPTION_TEXT:
        *(const char **)field = text;
        return *text != '\0';
    case OPTION_WORD:
        for (int i = 0; row->words(i); i++)
            if (!strcmp(text, row->words(i))) {
                *(const char **)field = text;
                return true;
            }
        break;
    case OPTION_FLAG:
        break;
    }
    return false;
}

static int complain_unknown(const command *self, const char *name, size_t length)
{
    char word[MAX_WORD + 1];
    const char *words[64] = {"help"};
    int count = 1;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    for (int i = 0; i < self->row_count && count < 63; i++)
        if (self->rows[i].name)
            words[count++] = self->rows[i].name;
    const char *near = nearest_word(word, words);
    if (near)
        return options_complain(self, "there is no option --%.*s; did you mean --%s?", (int)length,
                                name, near);
    return options_complain(self, "there is no option --%.*s", (int)length, name);
}

/* One option at arguments[*index], which is moved to the last argument that it took. */
static bool parse_option(const command *self, int count, char **arguments, int *index,
                         void *options)
{
    const char *name = arguments[*index] + 2;
    char *value = strchr(name, '=');
    size_t length = value ? (size_t)(value - name) : strlen(name);
    const option_row *row = find_row(self, name, length);
    char text[MAX_WORDS];
    if (!row) {
        complain_unknown(self, name, length);
        return false;
    }
    if (row->type == OPTION_FLAG) {
        if (value) {
            options_complain(self, "--%s takes no value, but got \"%s\"", row->name, value + 1);
            return false;
        }
        *(bool *)((char *)options + row->offset) = true;
        return true;
    }
    if (value) {
        value++;
    } else if (*index + 1 < count) {
        value = arguments[++*index];
    } else {
        options_complain(self, "--%s needs a value: %s", row->name,
                         expected(row, text, sizeof text));
        return false;
    }
    if (!set_value(row, value, options)) {
        options_complain(self, "--%s is \"%s\"; expected %s", row->name, value,
                         expected(row, text, sizeof text));
        return false;
    }
    return true;
}

bool options_parse(const command *self, int count, char **arguments, void *options, char **operands,
                   int operand_limit, int *operand_count, int *status)
{
    bool ended = false;
    int found = 0;
    *status = EXIT_USAGE;
    for (int i = 0; i < count; i++) {
        char *argument = arguments[i];
        if (!ended && !strcmp(argument, "--")) {
            ended = true;
        } else if (!ended && (!strcmp(argument, "--help") || !strcmp(argument, "-h"))) {
            options_print_help(self, stdout);
            *status = 0;
            return false;
        } else if (!ended && argument[0] == '-' && argument[1] == '-') {
            if (!parse_option(self, count, arguments, &i, options))
                return false;
        } else if (!ended && argument[0] == '-' && argument[1]) {
            options_complain(self, "there is no option %s; options begin with --", argument);
            return false;
        } else if (found == operand_limit) {
            options_complain(self, "\"%s\" is one argument too many", argument);
            return false;
        } else {
            operands[found++] = argument;
        }
    }
    if (operand_count)
        *operand_count = found;
    return true;
}
