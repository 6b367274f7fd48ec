#include "chart.h"

#include <math.h>
#include <stdio.h>

enum { WIDTH = 640, HEIGHT = 420, LEFT = 64, RIGHT = 28, TOP = 84, BOTTOM = 52, COLUMNS = 2 };

typedef struct axes {
    double x_low, x_high, y_low, y_high; /* of logarithms where they are logarithmic */
    bool y_log;
} axes;

static const char *const colours[CHART_MAX_SERIES] = {"#c0392b", "#2471a3", "#1e8449", "#7d3c98",
                                                      "#b9770e", "#117a65", "#5d6d7e", "#d35400"};
static const char *const dashes[CHART_MAX_SERIES] = {"none", "none", "none", "6 3",
                                                     "6 3",  "6 3",  "6 3",  "6 3"};

static bool is_drawn(double x, double y)
{
    return isfinite(x) && isfinite(y) && x > 0 && y > 0;
}

static axes fit(const chart *self)
{
    axes fitted = {INFINITY, -INFINITY, INFINITY, -INFINITY, self->y_log};
    for (int i = 0; i < self->series_count; i++)
        for (int j = 0; j < self->series[i].count; j++) {
            double x = self->series[i].x[j], y = self->series[i].y[j];
            if (!is_drawn(x, y))
                continue;
            fitted.x_low = fmin(fitted.x_low, log10(x));
            fitted.x_high = fmax(fitted.x_high, log10(x));
            fitted.y_low = fmin(fitted.y_low, self->y_log ? log10(y) : 0);
            fitted.y_high = fmax(fitted.y_high, self->y_log ? log10(y) : y);
        }
    if (!(fitted.x_low < fitted.x_high)) { /* nothing, or one point */
        fitted.x_low = isfinite(fitted.x_low) ? fitted.x_low - 0.5 : 0;
        fitted.x_high = fitted.x_low + 1;
    }
    if (self->y_log) {
        fitted.y_low = isfinite(fitted.y_low) ? floor(fitted.y_low) : 0;
        fitted.y_high = fmax(ceil(fitted.y_high), fitted.y_low + 1);
    } else {
        fitted.y_low = 0;
        fitted.y_high = isfinite(fitted.y_high) ? ceil(fitted.y_high * 5) / 5 : 1;
    }
    return fitted;
}

static double x_of(const axes *self, double x)
{
    return LEFT + (log10(x) - self->x_low) / (self->x_high - self->x_low) * (WIDTH - LEFT - RIGHT);
}

static double y_of(const axes *self, double y)
{
    double part = ((self->y_log ? log10(y) : y) - self->y_low) / (self->y_high - self->y_low);
    return HEIGHT - BOTTOM - part * (HEIGHT - TOP - BOTTOM);
}

static void write_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
    fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    for (; *text; text++)
        if (*text == '<' || *text == '&')
            fprintf(file, *text == '<' ? "&lt;" : "&amp;");
        else
            fputc(*text, file);
    fprintf(file, "</text>\n");
}

static void write_number(FILE *file, double x, double y, const char *anchor, double value)
{
    char text[32];
    snprintf(text, sizeof text, value >= 1e5 ? "%.0e" : "%g", value);
    write_text(file, x, y, anchor, text);
}

static void write_line(FILE *file, double x1, double y1, double x2, double y2, const char *colour)
{
    fprintf(file, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1,
            x2, y2, colour);
}

static void write_axes(FILE *file, const chart *self, const axes *fitted)
{
    const double right = WIDTH - RIGHT, bottom = HEIGHT - BOTTOM, steps[] = {1, 2, 5};
    const bool few = fitted->x_high - fitted->x_low < 2; /* decades: 2 and 5 get lines too */
    for (double power = floor(fitted->x_low); power <= fitted->x_high; power++)
        for (int i = 0; i < (few ? 3 : 1); i++) {
            double value = pow(10, power) * steps[i], x = x_of(fitted, value);
            if (x < LEFT - 0.5 || x > right + 0.5)
                continue;
            write_line(file, x, TOP, x, bottom, "#ddd");
            write_number(file, x, bottom + 18, "middle", value);
        }
    const double step = self->y_log ? 1 : (fitted->y_high - fitted->y_low) / 5;
    for (double at = fitted->y_low; at <= fitted->y_high + 1e-9; at += step) {
        double value = self->y_log ? pow(10, at) : at, y = y_of(fitted, value);
        write_line(file, LEFT, y, right, y, "#ddd");
        write_number(file, LEFT - 6, y + 4, "end", value);
    }
    if (self->y_mark > 0)
        write_line(file, LEFT, y_of(fitted, self->y_mark), right, y_of(fitted, self->y_mark),
                   "#333");
    fprintf(file,
            "<rect x=\"%d\" y=\"%d\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" "
            "stroke=\"#888\"/>\n",
            LEFT, TOP, right - LEFT, bottom - TOP);
    write_text(file, (LEFT + right) / 2, HEIGHT - 14, "middle", self->x_label);
    fprintf(file, "<g transform=\"translate(16 %.0f) rotate(-90)\">", (TOP + bottom) / 2);
    write_text(file, 0, 0, "middle", self->y_label);
    fprintf(file, "</g>\n");
}

static void write_series(FILE *file, const chart_series *self, int number, const axes *fitted)
{
    bool joined = false;
    fprintf(file,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" stroke-dasharray=\"%s\" d=\"",
            colours[number], dashes[number]);
    for (int i = 0; i < self->count; i++) {
        bool drawn = is_drawn(self->x[i], self->y[i]);
        if (drawn)
            fprintf(file, "%s%.1f %.1f ", joined ? "L" : "M", x_of(fitted, self->x[i]),
                    y_of(fitted, self->y[i]));
        joined = drawn;
    }
    fprintf(file, "\"/>\n");
    for (int i = 0; i < self->count; i++)
        if (is_drawn(self->x[i], self->y[i]))
            fprintf(file,
                    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\"><title>%s: %.4g, %.4g"
                    "</title></circle>\n",
                    x_of(fitted, self->x[i]), y_of(fitted, self->y[i]), colours[number], self->name,
                    self->x[i], self->y[i]);
}

static void write_legend(FILE *file, const chart *self)
{
    enum { FIRST_ROW = 46, ROW = 20 };
    const int per_row = (self->series_count + 1) / 2;
    const int step = (WIDTH - LEFT - RIGHT) / (per_row > 2 ? per_row : 2);
    for (int i = 0; i < self->series_count; i++) {
        int x = LEFT + i % per_row * step, y = FIRST_ROW + i / per_row * ROW;
        fprintf(file,
                "<line x1=\"%d\" y1=\"%d\" x2=\"%d\" y2=\"%d\" stroke=\"%s\" stroke-width=\"2\" "
                "stroke-dasharray=\"%s\"/>\n",
                x, y, x + 24, y, colours[i], dashes[i]);
        write_text(file, x + 30, y + 4, "start", self->series[i].name);
    }
}

bool charts_write(const char *path, const chart *charts, int count)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return false;
    int width = (count < COLUMNS ? count : COLUMNS) * WIDTH;
    int height = (count + COLUMNS - 1) / COLUMNS * HEIGHT;
    fprintf(file,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
            "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#333\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#fff\"/>\n",
            width, height, width, height);
    for (int i = 0; i < count; i++) {
        axes fitted = fit(&charts[i]);
        fprintf(file, "<g transform=\"translate(%d %d)\">\n", i % COLUMNS * WIDTH,
                i / COLUMNS * HEIGHT);
        write_text(file, (LEFT + WIDTH - RIGHT) / 2.0, 22, "middle", charts[i].title);
        write_axes(file, &charts[i], &fitted);
        for (int j = 0; j < charts[i].series_count; j++)
            write_series(file, &charts[i].series[j], j, &fitted);
        write_legend(file, &charts[i]);
        fprintf(file, "</g>\n");
    }
    fprintf(file, "</svg>\n");
    bool written = !ferror(file);
    return fclose(file) == 0 && written;
}
