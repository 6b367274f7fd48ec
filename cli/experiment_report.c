#include "experiment_report.h"

#include "json_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

report_line *report_add(report *self, report_kind kind, const char *what, const char *note)
{
    if (self->count == self->capacity) {
        int capacity = self->capacity ? 2 * self->capacity : 64;
        report_line *lines = realloc(self->lines, (size_t)capacity * sizeof *lines);
        if (!lines)
            return NULL;
        self->lines = lines;
        self->capacity = capacity;
    }
    report_line *line = &self->lines[self->count];
    *line = (report_line){.kind = kind,
                          .what = strdup(what),
                          .note = strdup(note),
                          .unit = "",
                          .relation = "",
                          .book = NAN,
                          .bound = NAN};
    if (!line->what || !line->note) {
        free(line->what);
        free(line->note);
        return NULL;
    }
    self->count++;
    return line;
}

void report_deinit(report *self)
{
    for (int i = 0; i < self->count; i++) {
        free(self->lines[i].what);
        free(self->lines[i].note);
    }
    free(self->lines);
    self->lines = NULL;
    self->count = self->capacity = 0;
}

/* ---- tables ---------------------------------------------------------------------------------------- */

enum { WHAT, OURS, SPREAD, UNIT, BOOK, BOUND, NOTE, COLUMN_COUNT, CELL_BYTES = 64 };
static const char *const column_names[COLUMN_COUNT] = {"what", "ours",  "[low, high]", "unit",
                                                       "book", "bound", "note"};

/* Four significant digits, no exponent where it can be helped; "-" for none. */
static void format_number(double value, char *text, size_t bytes)
{
    double size = fabs(value);
    if (isnan(value))
        snprintf(text, bytes, "-");
    else if (size >= 1000 && size < 1e12)
        snprintf(text, bytes, "%.0f", value);
    else
        snprintf(text, bytes, "%.4g", value);
}

/* The text of a cell: in `text`, or the line's own. */
static const char *cell(const report_line *line, int column, char *text)
{
    char low[CELL_BYTES / 3], high[CELL_BYTES / 3];
    *text = '\0';
    switch (column) {
    case WHAT:
        return line->what;
    case OURS:
        format_number(line->ours.median, text, CELL_BYTES);
        break;
    case SPREAD:
        if (line->ours.low == line->ours.high || isnan(line->ours.median))
            break;
        format_number(line->ours.low, low, sizeof low);
        format_number(line->ours.high, high, sizeof high);
        snprintf(text, CELL_BYTES, "[%s, %s]", low, high);
        break;
    case UNIT:
        return line->unit;
    case BOOK:
        format_number(line->book, text, CELL_BYTES);
        break;
    case BOUND:
        format_number(line->bound, text, CELL_BYTES);
        break;
    case NOTE:
        return line->note;
    }
    return text;
}

/* Rows begin ... end-1 are one table. The widths of its columns; 0: nobody has anything to say there. */
static void measure_columns(const report *self, int begin, int end, int *widths)
{
    char text[CELL_BYTES];
    for (int column = 0; column < COLUMN_COUNT; column++) {
        widths[column] = 0;
        for (int i = begin; i < end; i++) {
            const char *value = cell(&self->lines[i], column, text);
            int width = (int)strlen(value);
            if (strcmp(value, "-") && width > widths[column])
                widths[column] = width;
        }
        int name_width = (int)strlen(column_names[column]);
        if (widths[column] && widths[column] < name_width)
            widths[column] = name_width;
    }
}

static bool is_left(int column)
{
    return column == WHAT || column == UNIT || column == NOTE || column == SPREAD;
}

static int table_end(const report *self, int begin)
{
    int end = begin;
    while (end < self->count && self->lines[end].kind == REPORT_ROW)
        end++;
    return end;
}

static void print_text_cell(const char *text, int column, const int *widths, FILE *stream)
{
    bool last = true;
    for (int i = column + 1; i < COLUMN_COUNT; i++)
        last = last && !widths[i];
    if (!is_left(column))
        fprintf(stream, "  %*s", widths[column], text);
    else if (last)
        fprintf(stream, *text ? "  %s" : "%s", text);
    else
        fprintf(stream, "  %-*s", widths[column], text);
}

static void print_text_table(const report *self, int begin, int end, FILE *stream)
{
    int widths[COLUMN_COUNT];
    measure_columns(self, begin, end, widths);
    for (int i = begin - 1; i < end; i++) {
        for (int column = 0; column < COLUMN_COUNT; column++) {
            char text[CELL_BYTES];
            if (!widths[column])
                continue;
            print_text_cell(i < begin ? column_names[column] : cell(&self->lines[i], column, text),
                            column, widths, stream);
        }
        fputc('\n', stream);
    }
}

static void print_verdict(const report_line *line, const char *mark, FILE *stream)
{
    char value[CELL_BYTES], limit[CELL_BYTES];
    format_number(line->value, value, sizeof value);
    format_number(line->limit, limit, sizeof limit);
    fprintf(stream, "%s%s%s %s: %s %s %s%s%s\n", mark, line->holds ? "PASS" : "FAIL", mark,
            line->what, value, line->relation, limit, *line->note ? "; " : "", line->note);
}

void report_print_text(const report *self, int begin, FILE *stream)
{
    for (int i = begin; i < self->count;) {
        const report_line *line = &self->lines[i];
        int end = table_end(self, i);
        if (line->kind == REPORT_SECTION) {
            fprintf(stream, "\n%s\n", line->what);
        } else if (line->kind == REPORT_TEXT) {
            fprintf(stream, "  %s\n", line->what);
        } else if (line->kind == REPORT_CLAIM) {
            fprintf(stream, "  ");
            print_verdict(line, "", stream);
        } else {
            print_text_table(self, i, end, stream);
        }
        i = line->kind == REPORT_ROW ? end : i + 1;
    }
}

/* ---- Markdown -------------------------------------------------------------------------------------- */

static void print_markdown_cell(const char *text, FILE *stream)
{
    fputc(' ', stream);
    for (; *text; text++) {
        if (*text == '|' || *text == '\\')
            fputc('\\', stream);
        fputc(*text, stream);
    }
    fputs(" |", stream);
}

static void print_markdown_table(const report *self, int begin, int end, FILE *stream)
{
    int widths[COLUMN_COUNT];
    char text[CELL_BYTES];
    measure_columns(self, begin, end, widths);
    for (int i = begin - 2; i < end; i++) {
        fputc('|', stream);
        for (int column = 0; column < COLUMN_COUNT; column++) {
            if (!widths[column])
                continue;
            if (i == begin - 1)
                fputs(is_left(column) ? "---|" : "---:|", stream);
            else
                print_markdown_cell(
                    i < begin ? column_names[column] : cell(&self->lines[i], column, text), stream);
        }
        fputc('\n', stream);
    }
    fputc('\n', stream);
}

void report_print_markdown(const report *self, int begin, FILE *stream)
{
    for (int i = begin; i < self->count;) {
        const report_line *line = &self->lines[i];
        int end = table_end(self, i);
        if (line->kind == REPORT_SECTION) {
            fprintf(stream, "### %s\n\n", line->what);
        } else if (line->kind == REPORT_TEXT) {
            fprintf(stream, "%s\n\n", line->what);
        } else if (line->kind == REPORT_CLAIM) {
            print_verdict(line, "**", stream);
            fputc('\n', stream);
        } else {
            print_markdown_table(self, i, end, stream);
        }
        i = line->kind == REPORT_ROW ? end : i + 1;
    }
}

/* ---- JSON ------------------------------------------------------------------------------------------ */

static void print_member(const char *name, FILE *stream)
{
    json_print_string(name, stream);
    fputs(": ", stream);
}

static void print_text_member(const char *name, const char *value, FILE *stream)
{
    print_member(name, stream);
    json_print_string(value, stream);
}

static void print_numbers(const char *const *names, const double *values, int count, FILE *stream)
{
    for (int i = 0; i < count; i++) {
        fputs(", ", stream);
        print_member(names[i], stream);
        json_print_number(values[i], 9, stream);
    }
}

static void print_json_line(const report_line *line, FILE *stream)
{
    fputc('{', stream);
    print_text_member("what", line->what, stream);
    if (line->kind == REPORT_ROW) {
        print_numbers((const char *const[]){"median", "low", "high", "book", "bound"},
                      (const double[]){line->ours.median, line->ours.low, line->ours.high,
                                       line->book, line->bound},
                      5, stream);
        fputs(", ", stream);
        print_text_member("unit", line->unit, stream);
    } else {
        print_numbers((const char *const[]){"value", "limit"},
                      (const double[]){line->value, line->limit}, 2, stream);
        fputs(", ", stream);
        print_text_member("relation", line->relation, stream);
        fprintf(stream, ", \"holds\": %s", line->holds ? "true" : "false");
    }
    fputs(", ", stream);
    print_text_member("note", line->note, stream);
    fputc('}', stream);
}

/* The lines of one kind in a section, as an array. */
static void print_json_lines(const report *self, int begin, int end, report_kind kind, FILE *stream)
{
    const char *separator = "";
    fputc('[', stream);
    for (int i = begin; i < end; i++) {
        const report_line *line = &self->lines[i];
        if (line->kind != kind)
            continue;
        fputs(separator, stream);
        if (kind == REPORT_TEXT)
            json_print_string(line->what, stream);
        else
            print_json_line(line, stream);
        separator = ", ";
    }
    fputc(']', stream);
}

static int section_end(const report *self, int begin)
{
    int end = begin + 1;
    while (end < self->count && self->lines[end].kind != REPORT_SECTION)
        end++;
    return end;
}

void report_print_json(const report *self, FILE *stream)
{
    fputc('{', stream);
    print_text_member("experiment", self->name, stream);
    fputs(", ", stream);
    print_text_member("title", self->title, stream);
    fprintf(stream, ", \"repeat\": %" PRId64 ", \"passed\": %s, \"sections\": [", self->repeat,
            self->passed ? "true" : "false");
    for (int begin = 0; begin < self->count;) {
        int end = section_end(self, begin);
        bool titled = self->lines[begin].kind == REPORT_SECTION;
        fputs(begin ? ", {" : "{", stream);
        print_text_member("title", titled ? self->lines[begin].what : "", stream);
        fputs(", \"rows\": ", stream);
        print_json_lines(self, begin, end, REPORT_ROW, stream);
        fputs(", \"text\": ", stream);
        print_json_lines(self, begin, end, REPORT_TEXT, stream);
        fputs(", \"claims\": ", stream);
        print_json_lines(self, begin, end, REPORT_CLAIM, stream);
        fputc('}', stream);
        begin = end;
    }
    fputs("]}\n", stream);
}
