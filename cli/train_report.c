#include "train_report.h"

#include "json_text.h"

#include <hocket/runtime.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { BAR_WIDTH = 30 };
#define REDRAW_SECONDS 0.1

void train_report_init(train_report *self)
{
    const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
    bool dumb = !term || !strcmp(term, "dumb");
    self->bar = isatty(STDERR_FILENO) && !dumb;
    self->colour = self->bar && !(no_color && *no_color);
}

static double rate(const epoch_row *row)
{
    return row->seconds > 0 ? (double)row->samples / row->seconds : 0;
}

/* ---- progress, on stderr --------------------------------------------------------------------------- */

static int terminal_columns(void)
{
    struct winsize size;
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) || size.ws_col < 20)
        return 80;
    return size.ws_col;
}

void train_report_clear(train_report *self)
{
    if (self->on_screen)
        fprintf(stderr, "\r\033[K");
    self->on_screen = false;
}

void train_report_step(train_report *self, const epoch_row *so_far, double now)
{
    if (!self->bar || now - self->drawn_at < REDRAW_SECONDS)
        return;
    char before[64], after[96];
    double part = (double)so_far->steps / (double)self->steps;
    int before_width = snprintf(before, sizeof before, "epoch %*" PRId64 "/%" PRId64 " ",
                                self->epochs < 10 ? 1 : 2, so_far->epoch, self->epochs);
    int after_width = snprintf(after, sizeof after, " %3.0f%%  loss %.4f  %.0f samples/s",
                               100 * part, so_far->loss, rate(so_far));
    int width = terminal_columns() - before_width - after_width - 3;
    width = width > BAR_WIDTH ? BAR_WIDTH : width < 0 ? 0 : width;
    int full = (int)((double)width * part);
    fprintf(stderr, "\r%s%s[", before, self->colour ? "\033[32m" : "");
    for (int i = 0; i < width; i++)
        fputc(i < full ? '=' : ' ', stderr);
    fprintf(stderr, "]%s%s\033[K", self->colour ? "\033[0m" : "", after);
    self->drawn_at = now;
    self->on_screen = true;
}

void train_report_testing(train_report *self, int64_t epoch)
{
    if (!self->bar)
        return;
    fprintf(stderr, "\repoch %" PRId64 "/%" PRId64 " testing\033[K", epoch, self->epochs);
    self->on_screen = true;
}

/* ---- lines ----------------------------------------------------------------------------------------- */

static void print_json(const train_report *self, const epoch_row *row)
{
    struct {
        const char *name;
        double value;
        int digits;
    } const numbers[] = {
        {"epoch", (double)row->epoch, 15},
        {"loss", row->loss, 9},
        {"train_accuracy", row->train_accuracy, 9},
        {"test_accuracy", row->test_accuracy, 9},
        {"seconds", row->seconds, 6},
        {"samples_per_second", rate(row), 6},
        {"samples", (double)row->samples, 15},
        {"steps", (double)row->steps, 15},
        {"batch_size", (double)self->batch_size, 15},
        {"lr", self->lr, 15},
        {"seed", (double)self->seed, 16},
    };
    printf("{");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        printf("\"%s\": ", numbers[i].name);
        json_print_number(numbers[i].value, numbers[i].digits, stdout);
        printf(", ");
    }
    printf("\"devices\": [");
    char *names = strdup(self->devices), *rest = names;
    const char *separator = "";
    for (const char *name; names && (name = strsep(&rest, ", "));) {
        if (!*name)
            continue;
        printf("%s", separator);
        json_print_string(name, stdout);
        separator = ", ";
    }
    free(names);
    printf("]%s", self->is_simulated ? ", \"simulated\": true" : "");
    if (self->ranks > 1)
        printf(", \"ranks\": %d", self->ranks);
    printf("}\n");
    fflush(stdout);
}

static FILE *text_stream(const train_report *self)
{
    return self->json ? stderr : stdout;
}

void train_report_epoch(train_report *self, const epoch_row *row)
{
    train_report_clear(self);
    if (self->json)
        print_json(self, row);
    FILE *text = text_stream(self);
    fprintf(text,
            "epoch %*" PRId64
            ": loss %.4f, train acc %.3f, test acc %.3f, %.0f samples/s, %.2f s\n",
            self->epochs < 10 ? 1 : 2, row->epoch, row->loss, row->train_accuracy,
            row->test_accuracy, rate(row), row->seconds);
    fflush(text);
}

void train_report_guessing(const epoch_row *row, int classes, const char *model, const char *init)
{
    enum { MANY_STEPS = 100 };
    if (classes < 2 || row->epoch > 1 || row->steps < MANY_STEPS ||
        row->train_accuracy * classes >= 1.2)
        return;
    if (!strcmp(model, "lenet5"))
        fprintf(stderr, "hocket: no better than guessing yet, as is usual with the sigmoids of "
                        "lenet5; it learns from epoch 2 on\n");
    else if (init && !strcmp(init, "book"))
        fprintf(stderr, "hocket: no better than guessing yet, as is usual with the book's initial "
                        "values; it learns from epoch 2 on\n");
    else
        fprintf(stderr, "hocket: no better than guessing yet; another --lr may help\n");
}

void train_report_interrupted(train_report *self, const epoch_row *row)
{
    train_report_clear(self);
    if (row->steps == self->steps)
        fprintf(stderr, "hocket: interrupted in epoch %" PRId64 ", while testing\n", row->epoch);
    else
        fprintf(stderr,
                "hocket: interrupted in epoch %" PRId64 ", after %" PRId64 " of %" PRId64
                " steps\n",
                row->epoch, row->steps, self->steps);
}

/* A few are in many trainings, and cost nothing. */
static void tell_subnormals(void)
{
    const hk_runtime_stats stats = hk_runtime_get_stats();
    if (stats.subnormal_calls * 20 > stats.issued_calls)
        fprintf(stderr,
                "hocket: %" PRIu64 " of %" PRIu64
                " calls met subnormal numbers, which may take a hundred times as long; "
                "HOCKET_FLUSH_SUBNORMALS=1 takes them for 0\n",
                stats.subnormal_calls, stats.issued_calls);
}

void train_report_end(train_report *self, const epoch_row *last, int64_t epochs, double seconds)
{
    FILE *text = text_stream(self);
    train_report_clear(self);
    tell_subnormals();
    fprintf(text, "test acc: %.2f, ", last->test_accuracy);
    if (epochs > 0)
        fprintf(text, "%.1f sec/epoch", seconds / (double)epochs);
    else
        fprintf(text, "%" PRId64 " steps in %.2f sec", last->steps, last->seconds);
    fprintf(text, " on [%s]%s%s\n", self->devices, self->ranks_text,
            self->is_simulated ? " (simulated)" : "");
}
