/* The legend of the picture of lanes, and how its numbers and times are written. */
#include "base/quote.h"
#include "trace/palette.h"
#include "trace/svg_internal.h"
#include "trace/text_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LEGEND = 12 };

/* ---- numbers --------------------------------------------------------------------------------------------- */

hki_svg_text hki_svg_px(double value)
{
    hki_svg_text result;
    long tenths = lround(10 * fabs(value));
    snprintf(result.text, sizeof result.text, "%s%ld.%ld", value < 0 && tenths ? "-" : "",
             tenths / 10, tenths % 10);
    return result;
}

hki_svg_unit hki_svg_unit_for(int64_t ns)
{
    static const hki_svg_unit units[] = {
        {"s", 1000000000}, {"ms", 1000000}, {"\xC2\xB5s", 1000}, {"ns", 1}};
    int i = 0;
    while (i < 3 && ns < units[i].ns)
        i++;
    return units[i];
}

hki_svg_text hki_svg_time(int64_t ns)
{
    hki_svg_text result;
    hki_svg_unit u = hki_svg_unit_for(ns);
    int64_t whole = ns / u.ns, rest = ns % u.ns;
    int digits = u.ns == 1 || whole >= 100 ? 0 : whole >= 10 ? 1 : 2;
    int64_t step = u.ns / (digits == 2 ? 100 : digits == 1 ? 10 : 1);
    if (digits)
        snprintf(result.text, sizeof result.text, "%" PRId64 ".%0*" PRId64 " %s", whole, digits,
                 rest / step, u.name);
    else
        snprintf(result.text, sizeof result.text, "%" PRId64 " %s", whole, u.name);
    return result;
}

/* ---- operations ------------------------------------------------------------------------------------------ */

typedef struct share {
    const char *operation;
    uint32_t colour;
    int64_t ns;
} share;

static int compare_operations(const void *a, const void *b)
{
    const share *x = a, *y = b;
    int order = strcmp(x->operation, y->operation);
    return order ? order : (x->colour > y->colour) - (x->colour < y->colour);
}

static int compare_times(const void *a, const void *b)
{
    const share *x = a, *y = b;
    if (x->ns != y->ns)
        return x->ns > y->ns ? -1 : 1;
    return compare_operations(a, b);
}

/* Time of slices by operation and colour, the longest first; *count of them, to be freed. NULL: no memory. */
static share *find_shares(const hki_svg *self, int *count)
{
    const hki_timeline *timeline = self->timeline;
    share *shares = malloc(((size_t)timeline->slice_count + 1) * sizeof *shares);
    if (!shares)
        return NULL;
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_trace_slice *slice = &timeline->slices[i];
        const hki_call_event *call = &timeline->calls[slice->call];
        shares[i] = (share){call->operation, hki_call_colour(timeline, call),
                            slice->end_ns - slice->start_ns};
    }
    qsort(shares, (size_t)timeline->slice_count, sizeof *shares, compare_operations);
    int used = 0;
    for (int i = 0; i < timeline->slice_count; i++) {
        if (used && !compare_operations(&shares[used - 1], &shares[i]))
            shares[used - 1].ns += shares[i].ns;
        else
            shares[used++] = shares[i];
    }
    qsort(shares, (size_t)used, sizeof *shares, compare_times);
    *count = used;
    return shares;
}

/* Where the next entry of the legend goes, `width` pixels wide. */
static void place_entry(double *x, double *y, double width)
{
    if (*x + width > SVG_WIDTH - SVG_MARGIN) {
        *x = SVG_GUTTER;
        *y += SVG_LEGEND_ROW;
    }
}

double hki_svg_write_legend(const hki_svg *self)
{
    hki_writer *writer = self->writer;
    int count = 0;
    share *shares = find_shares(self, &count);
    double x = SVG_GUTTER, y = self->bottom + SVG_AXIS + 8;
    if (!shares) {
        writer->is_failed = true;
        return y;
    }
    hki_write(writer, "<g class=\"legend\">\n");
    for (int i = 0; i < count && i < MAX_LEGEND; i++) {
        hki_svg_text time = hki_svg_time(shares[i].ns);
        const hki_quoted name = hki_quote(shares[i].operation, 40);
        double width = 18 + hki_text_width(name.text, strlen(name.text), SVG_TEXT) + 6 +
                       hki_text_width(time.text, strlen(time.text), SVG_TEXT) + 18;
        place_entry(&x, &y, width);
        hki_write(writer,
                  "<rect x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" rx=\"3\" fill=\"#%06" PRIx32
                  "\"/><text x=\"%s\" y=\"%s\">",
                  hki_svg_px(x).text, hki_svg_px(y).text, shares[i].colour, hki_svg_px(x + 18).text,
                  hki_svg_px(y + 10).text);
        hki_write_xml(writer, name.text);
        hki_write(writer, "<tspan class=\"amount\" dx=\"6\">%s</tspan></text>\n", time.text);
        x += width;
    }
    if (count > MAX_LEGEND) {
        place_entry(&x, &y, 90);
        hki_write(writer, "<text class=\"amount\" x=\"%s\" y=\"%s\">and %d more</text>\n",
                  hki_svg_px(x).text, hki_svg_px(y + 10).text, count - MAX_LEGEND);
        x += 90;
    }
    if (self->timeline->wait_count) {
        place_entry(&x, &y, 90);
        hki_write(
            writer,
            "<rect class=\"wait\" x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" rx=\"3\"/><text "
            "x=\"%s\" y=\"%s\">waiting</text>\n",
            hki_svg_px(x).text, hki_svg_px(y).text, hki_svg_px(x + 18).text,
            hki_svg_px(y + 10).text);
    }
    hki_write(writer, "</g>\n");
    free(shares);
    return y + SVG_LEGEND_ROW;
}
