/* The curves of a training run as SVG: loss on the left axis, accuracies on the right one. */
#include "train_report.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>

enum { WIDTH = 640, HEIGHT = 400, LEFT = 64, RIGHT = 64, TOP = 68, BOTTOM = 56, MANY_POINTS = 40 };

typedef struct curve {
    const char *name, *colour, *dashes;
    size_t offset; /* in epoch_row */
    bool is_loss;
} curve;

static const curve curves[] = {
    {"train loss", "#c0392b", "none", offsetof(epoch_row, loss), true},
    {"train acc", "#2471a3", "6 3", offsetof(epoch_row, train_accuracy), false},
    {"test acc", "#1e8449", "none", offsetof(epoch_row, test_accuracy), false},
};
enum { CURVE_COUNT = sizeof curves / sizeof *curves };

typedef struct axes {
    double first, last; /* epochs */
    double loss_top;
} axes;

static double value_of(const curve *self, const epoch_row *row)
{
    return *(const double *)((const char *)row + self->offset);
}

static double x_of(const axes *self, double epoch)
{
    double part = (epoch - self->first) / (self->last - self->first);
    return LEFT + part * (WIDTH - LEFT - RIGHT);
}

/* part: 0 bottom, 1 top. */
static double y_of(double part)
{
    part = part < 0 ? 0 : part > 1 ? 1 : part;
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

/* A round number, that is `value` or somewhat more. */
static double round_up(double value)
{
    double power = pow(10, floor(log10(value)));
    const double steps[] = {1, 1.5, 2, 2.5, 3, 4, 5, 6, 8};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        if (steps[i] * power >= value * 0.999999)
            return steps[i] * power;
    return 10 * power;
}

static axes fit_axes(const epoch_row *rows, int64_t count)
{
    double loss = 0;
    for (int64_t i = 0; i < count; i++)
        if (isfinite(rows[i].loss) && rows[i].loss > loss)
            loss = rows[i].loss;
    double first = count ? (double)rows[0].epoch : 1;
    double last = count ? (double)rows[count - 1].epoch : 1;
    if (first == last) { /* one point, in the middle */
        first -= 1;
        last += 1;
    }
    return (axes){first, last, loss > 0 ? 5 * round_up(loss / 5) : 1};
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (const char *c = text; *c; c++) {
        if (*c == '<')
            fputs("&lt;", file);
        else if (*c == '&')
            fputs("&amp;", file);
        else
            fputc(*c, file);
    }
    fputs("</text>\n", file);
}

static void write_axes(FILE *file, const axes *self)
{
    char text[40];
    for (int i = 0; i <= 5; i++) {
        double y = y_of(i / 5.0);
        fprintf(file, "<line x1=\"%d\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", LEFT,
                y, WIDTH - RIGHT, y);
        snprintf(text, sizeof text, "%g", self->loss_top * i / 5);
        write_text(file, LEFT - 8, y + 4, "end", text);
        snprintf(text, sizeof text, "%.1f", i / 5.0);
        write_text(file, WIDTH - RIGHT + 8, y + 4, "start", text);
    }
    double step = round_up((self->last - self->first) / 10);
    step = step < 1 ? 1 : ceil(step);
    for (double epoch = self->first; epoch <= self->last; epoch += step) {
        double x = x_of(self, epoch);
        fprintf(file, "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#888\"/>\n", x,
                HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 5);
        snprintf(text, sizeof text, "%.0f", epoch);
        if (epoch > 0)
            write_text(file, x, HEIGHT - BOTTOM + 19, "middle", text);
    }
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#888\"/>\n",
            LEFT, TOP, WIDTH - LEFT - RIGHT, HEIGHT - TOP - BOTTOM);
    write_text(file, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - 16, "middle", "epoch");
    fprintf(file, "<g transform=\"translate(18 %d) rotate(-90)\">", (HEIGHT - BOTTOM + TOP) / 2);
    write_text(file, 0, 0, "middle", "loss");
    fprintf(file, "</g>\n<g transform=\"translate(%d %d) rotate(90)\">", WIDTH - 18,
            (HEIGHT - BOTTOM + TOP) / 2);
    write_text(file, 0, 0, "middle", "accuracy");
    fprintf(file, "</g>\n");
}

static void write_curve(FILE *file, const axes *self, const curve *of, const epoch_row *rows,
                        int64_t count)
{
    double top = of->is_loss ? self->loss_top : 1;
    bool joined = false; /* to the point before: not across what is no number */
    fprintf(file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"",
            of->colour, of->dashes);
    for (int64_t i = 0; i < count; i++) {
        double value = value_of(of, &rows[i]);
        if (isfinite(value))
            fprintf(file, "%s%.1f %.1f ", joined ? "L" : "M", x_of(self, (double)rows[i].epoch),
                    y_of(value / top));
        joined = isfinite(value);
    }
    fprintf(file, "\"/>\n");
    for (int64_t i = 0; i < count && count <= MANY_POINTS; i++) {
        double value = value_of(of, &rows[i]);
        if (isfinite(value))
            fprintf(file,
                    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\">"
                    "<title>epoch %" PRId64 ": %s %.4g</title></circle>\n",
                    x_of(self, (double)rows[i].epoch), y_of(value / top), of->colour, rows[i].epoch,
                    of->name, value);
    }
}

static void write_legend(FILE *file)
{
    enum { COLUMN = 120, Y = 48 };
    for (int i = 0; i < CURVE_COUNT; i++) {
        int x = (LEFT + WIDTH - RIGHT - CURVE_COUNT * COLUMN) / 2 + i * COLUMN + 10;
        fprintf(file,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\" "
                "stroke-dasharray=\"%s\"/>\n",
                x, Y, x + 28, Y, curves[i].colour, curves[i].dashes);
        write_text(file, x + 36, Y + 4, "start", curves[i].name);
    }
}

bool curves_write(FILE *file, const epoch_row *rows, int64_t count, const char *title)
{
    axes self = fit_axes(rows, count);
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            WIDTH, HEIGHT, WIDTH, HEIGHT);
    write_text(file, (LEFT + WIDTH - RIGHT) / 2.0, 24, "middle", title);
    write_axes(file, &self);
    for (int i = 0; i < CURVE_COUNT; i++)
        write_curve(file, &self, &curves[i], rows, count);
    write_legend(file);
    fprintf(file, "</svg>\n");
    return !ferror(file);
}
