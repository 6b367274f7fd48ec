/* The lanes of a timeline as an SVG picture for documents: no script, no font of its own, and no bigger than about
 * a megabyte, however long the timeline is. */
#include "trace/palette.h"
#include "trace/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Lengths are in pixels. */
enum {
    WIDTH = 1200,
    GUTTER = 170, /* for labels, left of the lanes */
    MARGIN = 24,
    TOP = 76, /* of the first lane */
    ROW = 24,
    ROW_GAP = 4,
    PROCESS_GAP = 16,
    AXIS = 34,
    LEGEND_ROW = 22,
    CHARACTER = 6, /* width, about */
    MAX_LANES = 96,
    MAX_ARROWS = 60,
    MAX_LEGEND = 12,
};
#define MIN_SLICE     2.0 /* what is narrower is drawn together with its neighbours */
#define WIDE_PICTURE  12  /* lanes; with more, slices are drawn together earlier */
#define FAILED_COLOUR "#d1242f"

typedef struct svg {
    const hki_timeline *timeline;
    hki_writer *writer;
    int64_t begin_ns, end_ns;
    double scale; /* pixels a nanosecond */
    double min_slice;
    int lane_count; /* that are drawn */
    double *lane_y; /* top, by lane */
    bool *has_waits;
    double bottom; /* of the last lane */
} svg;

/* A number as text without the locale's say. */
typedef struct number {
    char text[48];
} number;

static number px(double value)
{
    number result;
    long tenths = lround(10 * fabs(value));
    snprintf(result.text, sizeof result.text, "%s%ld.%ld", value < 0 && tenths ? "-" : "",
             tenths / 10, tenths % 10);
    return result;
}

static double x_of(const svg *self, int64_t ns)
{
    return GUTTER + (double)(ns - self->begin_ns) * self->scale;
}

/* ---- times -------------------------------------------------------------------------------------------- */

typedef struct unit {
    const char *name;
    int64_t ns;
} unit;

static unit unit_for(int64_t ns)
{
    static const unit units[] = {
        {"s", 1000000000}, {"ms", 1000000}, {"\xC2\xB5s", 1000}, {"ns", 1}};
    int i = 0;
    while (i < 3 && ns < units[i].ns)
        i++;
    return units[i];
}

/* Three digits that count. */
static number show_time(int64_t ns)
{
    number result;
    unit u = unit_for(ns);
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

/* Between two marks: 1, 2 or 5 times a power of ten, for at most ten marks. */
static int64_t axis_step(int64_t span_ns)
{
    int64_t step = 1;
    for (int i = 0; span_ns / step > 10; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

static void write_axis(const svg *self)
{
    hki_writer *writer = self->writer;
    int64_t step = axis_step(self->end_ns - self->begin_ns);
    unit u = unit_for(step < 1000 ? step : self->end_ns - self->begin_ns);
    hki_write(writer, "<g class=\"axis\">\n");
    int64_t first = self->begin_ns / step * step; /* towards zero */
    for (int64_t ns = first; ns <= self->end_ns; ns += step) {
        number x = px(x_of(self, ns));
        hki_write(writer, "<path d=\"M%s %sV%s\"/>", x.text, px(TOP - 8).text,
                  px(self->bottom + 8).text);
        int64_t tenths = ns * 10 / u.ns;
        hki_write(writer, "<text x=\"%s\" y=\"%s\">%" PRId64, x.text, px(self->bottom + 24).text,
                  tenths / 10);
        if (tenths % 10)
            hki_write(writer, ".%d", (int)llabs(tenths % 10));
        hki_write(writer, " %s</text>\n", u.name);
    }
    hki_write(writer, "</g>\n");
}

/* ---- slices -------------------------------------------------------------------------------------------- */

/* Slices too narrow to be seen, drawn as one. */
typedef struct run {
    double begin, end; /* pixels; begin < 0: none */
    int64_t longest_ns;
    uint32_t colour; /* of the longest */
    bool is_failed;
    double inset;
} run;

static void end_run(const svg *self, run *narrow, double y)
{
    if (narrow->begin < 0)
        return;
    double width = fmax(narrow->end - narrow->begin, 1);
    char colour[16];
    snprintf(colour, sizeof colour, "#%06" PRIx32, narrow->colour);
    hki_write(self->writer, "<path fill=\"%s\" d=\"M%s %sh%sv%sh-%sz\"/>\n",
              narrow->is_failed ? FAILED_COLOUR : colour, px(narrow->begin).text,
              px(y + narrow->inset).text, px(width).text, px(ROW - 2 * narrow->inset).text,
              px(width).text);
    narrow->begin = -1;
}

static void add_to_run(const svg *self, run *narrow, const hki_slice *slice, double y, double inset)
{
    const hki_call_event *call = &self->timeline->calls[slice->call];
    double begin = x_of(self, slice->start_ns), end = x_of(self, slice->end_ns);
    if (narrow->begin >= 0 && fmax(end, narrow->end) > narrow->begin + self->min_slice)
        end_run(self, narrow, y);
    if (narrow->begin < 0)
        *narrow = (run){.begin = begin, .end = begin, .longest_ns = -1, .inset = inset};
    narrow->end = fmax(narrow->end, end);
    narrow->is_failed |= call->is_failed;
    if (slice->end_ns - slice->start_ns > narrow->longest_ns) {
        narrow->longest_ns = slice->end_ns - slice->start_ns;
        narrow->colour = hki_call_colour(self->timeline, call);
    }
}

/* As much of the text as fits, in `width` pixels; nothing when that is too little to mean anything. */
static void write_fitting(hki_writer *writer, const char *text, double x, double y, double width)
{
    size_t length = strlen(text), room = width > 0 ? (size_t)(width / CHARACTER) : 0;
    char shown[64];
    if (length > room && room < 5)
        return;
    bool is_cut = length > room || length >= sizeof shown - 4;
    size_t keep = room < sizeof shown - 4 ? room : sizeof shown - 4;
    if (is_cut) {
        keep -= keep == room;
        while (keep && ((unsigned char)text[keep] & 0xC0) == 0x80)
            keep--;
    }
    snprintf(shown, sizeof shown, "%.*s%s", (int)(is_cut ? keep : length), text,
             is_cut ? "\xE2\x80\xA6" : "");
    hki_write(writer, "<text x=\"%s\" y=\"%s\">", px(x).text, px(y).text);
    hki_write_xml(writer, shown);
    hki_write(writer, "</text>");
}

static void write_slice_title(const svg *self, const hki_slice *slice)
{
    hki_writer *writer = self->writer;
    const hki_call_event *call = &self->timeline->calls[slice->call];
    hki_write(writer, "<title>");
    hki_write_xml(writer, call->operation);
    if (slice->piece >= 0)
        hki_write(writer, ", piece %d", slice->piece + 1);
    if (call->is_failed)
        hki_write(writer, call->is_skipped ? ": skipped, for an input had failed" : ": failed");
    hki_write(writer, "\n");
    hki_write_xml(writer, call->shapes);
    hki_write(writer, "\n%s, call %" PRIu64, show_time(slice->end_ns - slice->start_ns).text,
              call->sequence);
    if (*call->file) {
        hki_write(writer, ", ");
        hki_write_xml(writer, call->file);
        hki_write(writer, ":%d", call->line);
    }
    hki_write(writer, "</title>");
}

static void write_slice(const svg *self, const hki_slice *slice, double y, double inset)
{
    const hki_call_event *call = &self->timeline->calls[slice->call];
    uint32_t colour = hki_call_colour(self->timeline, call);
    double x = x_of(self, slice->start_ns), width = x_of(self, slice->end_ns) - x;
    hki_writer *writer = self->writer;
    hki_write(writer,
              "<g><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\" fill=\"#%06" PRIx32
              "\" stroke=\"",
              px(x + 0.3).text, px(y + inset).text, px(fmax(width - 0.6, 1.4)).text,
              px(ROW - 2 * inset).text, width > 8 ? "3" : "1", colour);
    if (call->is_failed)
        hki_write(writer, FAILED_COLOUR "\" stroke-width=\"2\">");
    else
        hki_write(writer, "#%06" PRIx32 "\">", hki_mix_colours(colour, 0x24354d, 75));
    write_slice_title(self, slice);
    hki_write(writer, "</rect>");
    /* Up to the first slice inside this one. */
    bool has_inner = slice + 1 < self->timeline->slices + self->timeline->slice_count &&
                     slice[1].lane == slice->lane && slice[1].start_ns < slice->end_ns;
    double room = has_inner ? x_of(self, slice[1].start_ns) - x : width;
    write_fitting(writer, call->operation, x + 5, y + ROW / 2.0 + 4, room - 8);
    hki_write(writer, "</g>\n");
}

/* Slices of a lane, from *index, which is moved behind them. */
static void write_lane_slices(const svg *self, int lane, int *index, int64_t *ends)
{
    const hki_timeline *timeline = self->timeline;
    double y = self->lane_y[lane];
    run narrow = {.begin = -1};
    int depth = 0;
    for (; *index < timeline->slice_count && timeline->slices[*index].lane == lane; ++*index) {
        const hki_slice *slice = &timeline->slices[*index];
        while (depth && ends[depth - 1] <= slice->start_ns)
            depth--;
        int level = depth + self->has_waits[lane];
        double inset = 3 * (level < 3 ? level : 3);
        ends[depth++] = slice->end_ns;
        if ((double)(slice->end_ns - slice->start_ns) * self->scale < self->min_slice) {
            add_to_run(self, &narrow, slice, y, inset);
        } else {
            end_run(self, &narrow, y);
            write_slice(self, slice, y, inset);
        }
    }
    end_run(self, &narrow, y);
}

/* ---- waits ----------------------------------------------------------------------------------------------- */

static void write_waits(const svg *self)
{
    static const char *const names[] = {"waited for an array", "waited for ", "waited for all",
                                        "waited for room in the run-ahead window"};
    const hki_timeline *timeline = self->timeline;
    hki_writer *writer = self->writer;
    double *drawn_to = calloc((size_t)self->lane_count + 1, sizeof *drawn_to);
    if (!drawn_to) {
        writer->is_failed = true;
        return;
    }
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        if (wait->lane >= self->lane_count)
            continue;
        double x = x_of(self, wait->start_ns), end = x_of(self, wait->end_ns);
        if (end < drawn_to[wait->lane] + self->min_slice / 2) /* it would not be seen */
            continue;
        drawn_to[wait->lane] = end;
        hki_write(writer,
                  "<rect class=\"wait\" x=\"%s\" y=\"%s\" width=\"%s\" height=\"%d\" "
                  "rx=\"3\"><title>%s",
                  px(x).text, px(self->lane_y[wait->lane]).text, px(fmax(end - x, 1)).text, ROW,
                  names[wait->kind]);
        hki_write_xml(writer, wait->device);
        hki_write(writer, "\n%s", show_time(wait->end_ns - wait->start_ns).text);
        if (*wait->file) {
            hki_write(writer, ", ");
            hki_write_xml(writer, wait->file);
            hki_write(writer, ":%d", wait->line);
        }
        hki_write(writer, "</title></rect>\n");
    }
    free(drawn_to);
}

/* ---- labels ---------------------------------------------------------------------------------------------- */

/* Sets lane_y and bottom. */
static void lay_out_lanes(svg *self)
{
    const hki_timeline *timeline = self->timeline;
    double y = TOP;
    for (int i = 0; i < self->lane_count; i++) {
        if (i)
            y += ROW + ROW_GAP;
        if (i && timeline->lanes[i].process != timeline->lanes[i - 1].process)
            y += PROCESS_GAP - ROW_GAP;
        self->lane_y[i] = y;
    }
    self->bottom = self->lane_count ? y + ROW : TOP;
}

static void write_process(const svg *self, int first, int last)
{
    const hki_lane *lane = &self->timeline->lanes[first];
    hki_writer *writer = self->writer;
    double top = self->lane_y[first], bottom = self->lane_y[last] + ROW;
    hki_write(writer,
              "<rect class=\"%s\" x=\"%d\" y=\"%s\" width=\"%d\" height=\"%s\" rx=\"6\"/>\n",
              lane->is_simulated ? "process simulated" : "process", MARGIN / 2, px(top - 5).text,
              WIDTH - MARGIN, px(bottom - top + 10).text);
    hki_write(writer, "<g class=\"name\">");
    write_fitting(writer, lane->process, MARGIN, top + ROW / 2.0 + 4, 13 * CHARACTER);
    hki_write(writer, "</g>\n");
    if (lane->is_simulated) {
        bool is_single = first == last;
        hki_write(writer, "<text class=\"%s\" x=\"%d\" y=\"%s\">simulated</text>\n", "note", MARGIN,
                  px(top + (is_single ? ROW - 0.5 : ROW + ROW_GAP + ROW / 2.0 + 2)).text);
    }
    for (int i = first; i <= last; i++) {
        hki_write(writer, "<g class=\"lane\"><rect x=\"%d\" y=\"%s\" width=\"%d\" height=\"%d\"/>",
                  GUTTER, px(self->lane_y[i]).text, WIDTH - MARGIN - GUTTER, ROW);
        write_fitting(writer, self->timeline->lanes[i].name, GUTTER - 10,
                      self->lane_y[i] + ROW / 2.0 + 4, 14 * CHARACTER);
        hki_write(writer, "</g>\n");
    }
}

static void write_processes(const svg *self)
{
    const hki_lane *lanes = self->timeline->lanes;
    for (int first = 0, i = 0; i < self->lane_count; i++) {
        if (i + 1 < self->lane_count && lanes[i + 1].process == lanes[i].process)
            continue;
        write_process(self, first, i);
        first = i + 1;
    }
}

static void write_heading(const svg *self)
{
    const hki_timeline *timeline = self->timeline;
    hki_writer *writer = self->writer;
    hki_write(writer, "<text class=\"title\" x=\"%d\" y=\"30\">", MARGIN);
    hki_write_xml(writer, *timeline->title ? timeline->title : "Timeline");
    hki_write(writer, "</text>\n<text class=\"subtitle\" x=\"%d\" y=\"50\">%d call%s in %s", MARGIN,
              timeline->call_count, timeline->call_count == 1 ? "" : "s",
              show_time(timeline->duration_ns).text);
    if (self->lane_count < timeline->lane_count)
        hki_write(writer, "; the first %d of %d lanes are drawn", self->lane_count,
                  timeline->lane_count);
    if (timeline->lost_records)
        hki_write(writer,
                  "<tspan class=\"lost\" dx=\"12\">incomplete: %" PRIu64
                  " record%s did not fit into the memory of the trace</tspan>",
                  timeline->lost_records, timeline->lost_records == 1 ? "" : "s");
    hki_write(writer, "</text>\n");
}

/* ---- legend ---------------------------------------------------------------------------------------------- */

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
static share *find_shares(const svg *self, int *count)
{
    const hki_timeline *timeline = self->timeline;
    share *shares = malloc(((size_t)timeline->slice_count + 1) * sizeof *shares);
    if (!shares)
        return NULL;
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_slice *slice = &timeline->slices[i];
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
    if (*x + width > WIDTH - MARGIN) {
        *x = GUTTER;
        *y += LEGEND_ROW;
    }
}

/* Returns the bottom of the legend. */
static double write_legend(const svg *self)
{
    hki_writer *writer = self->writer;
    int count = 0;
    share *shares = find_shares(self, &count);
    double x = GUTTER, y = self->bottom + AXIS + 8;
    if (!shares) {
        writer->is_failed = true;
        return y;
    }
    hki_write(writer, "<g class=\"legend\">\n");
    for (int i = 0; i < count && i < MAX_LEGEND; i++) {
        number time = show_time(shares[i].ns);
        size_t length = strlen(shares[i].operation);
        double width = (double)(length < 40 ? length : 40) * CHARACTER + 84;
        place_entry(&x, &y, width);
        hki_write(writer,
                  "<rect x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" rx=\"3\" fill=\"#%06" PRIx32
                  "\"/><text x=\"%s\" y=\"%s\">",
                  px(x).text, px(y).text, shares[i].colour, px(x + 18).text, px(y + 10).text);
        char name[48];
        snprintf(name, sizeof name, "%.40s", shares[i].operation);
        hki_write_xml(writer, name);
        hki_write(writer, "<tspan class=\"amount\" dx=\"6\">%s</tspan></text>\n", time.text);
        x += width;
    }
    if (count > MAX_LEGEND) {
        place_entry(&x, &y, 90);
        hki_write(writer, "<text class=\"amount\" x=\"%s\" y=\"%s\">and %d more</text>\n",
                  px(x).text, px(y + 10).text, count - MAX_LEGEND);
        x += 90;
    }
    if (self->timeline->wait_count) {
        place_entry(&x, &y, 90);
        hki_write(
            writer,
            "<rect class=\"wait\" x=\"%s\" y=\"%s\" width=\"12\" height=\"12\" rx=\"3\"/><text "
            "x=\"%s\" y=\"%s\">waiting</text>\n",
            px(x).text, px(y).text, px(x + 18).text, px(y + 10).text);
    }
    hki_write(writer, "</g>\n");
    free(shares);
    return y + LEGEND_ROW;
}

/* ---- arrows ---------------------------------------------------------------------------------------------- */

static void write_arrow(const svg *self, const hki_slice *from, const hki_slice *to)
{
    double x1 = x_of(self, from->end_ns), x2 = x_of(self, to->start_ns);
    double y1 = self->lane_y[from->lane] + ROW / 2.0, y2 = self->lane_y[to->lane] + ROW / 2.0;
    double bend = fmin(fmax(fabs(x2 - x1) / 2, 10), 40);
    hki_write(self->writer, "<path d=\"M%s %sC%s %s %s %s %s %s\"/>\n", px(x1).text, px(y1).text,
              px(x1 + bend).text, px(y1).text, px(x2 - bend).text, px(y2).text, px(x2).text,
              px(y2).text);
}

/* Dependencies between lanes, from the last slice of the earlier call to the first one of the later; draws them if
 * `draw`. Returns how many there are, or some number above MAX_ARROWS. */
static int visit_arrows(const svg *self, const int *first_slice, const int *last_slice, bool draw)
{
    const hki_timeline *timeline = self->timeline;
    int count = 0;
    for (int i = 0; i < timeline->call_count && count <= MAX_ARROWS; i++) {
        const hki_call_event *call = &timeline->calls[i];
        for (int j = 0; j < call->dependency_count; j++) {
            int earlier = timeline->dependencies[call->first_dependency + j];
            if (first_slice[i] < 0 || last_slice[earlier] < 0)
                continue;
            const hki_slice *from = &timeline->slices[last_slice[earlier]];
            const hki_slice *to = &timeline->slices[first_slice[i]];
            if (from->lane == to->lane || from->lane >= self->lane_count ||
                to->lane >= self->lane_count)
                continue;
            count++;
            if (draw)
                write_arrow(self, from, to);
        }
    }
    return count;
}

static void write_arrows(const svg *self)
{
    const hki_timeline *timeline = self->timeline;
    size_t calls = (size_t)timeline->call_count + 1;
    int *first_slice = malloc(calls * sizeof *first_slice);
    int *last_slice = malloc(calls * sizeof *last_slice);
    if (!first_slice || !last_slice) {
        self->writer->is_failed = true;
        goto done;
    }
    for (int i = 0; i < timeline->call_count; i++)
        first_slice[i] = last_slice[i] = -1;
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_slice *slice = &timeline->slices[i];
        int *first = &first_slice[slice->call], *last = &last_slice[slice->call];
        if (*first < 0 || slice->start_ns < timeline->slices[*first].start_ns)
            *first = i;
        if (*last < 0 || slice->end_ns > timeline->slices[*last].end_ns)
            *last = i;
    }
    int count = visit_arrows(self, first_slice, last_slice, false);
    if (count > 0 && count <= MAX_ARROWS) {
        hki_write(self->writer, "<g class=\"arrows\">\n");
        visit_arrows(self, first_slice, last_slice, true);
        hki_write(self->writer, "</g>\n");
    }
done:
    free(first_slice);
    free(last_slice);
}

/* ---- the whole ------------------------------------------------------------------------------------------- */

static const char style[] =
    "<style>\n"
    "text{font-family:-apple-system,'Segoe UI','Helvetica Neue',Helvetica,Arial,sans-serif;"
    "font-size:11px;fill:#1f2937}\n"
    ".title{font-size:17px;font-weight:600}.subtitle{font-size:12px;fill:#57606a}"
    ".lost{fill:" FAILED_COLOUR ";font-weight:600}\n"
    ".process{fill:#f3f5f8}.simulated{fill:#f1f4fb}.name text{font-size:12px;font-weight:600}"
    ".note{font-size:10px;font-style:italic;fill:#6b7a90}\n"
    ".lane rect{fill:#ffffff}.lane text{text-anchor:end;fill:#57606a}\n"
    ".axis path{stroke:#dde2e9;stroke-width:1;fill:none}.axis text{text-anchor:middle;"
    "fill:#57606a}\n"
    ".wait{fill:url(#hatch);stroke:#c3cad4;stroke-width:.8}.amount{fill:#6b7a90}\n"
    ".arrows path{fill:none;stroke:#3d4b60;stroke-width:1;stroke-opacity:.45;"
    "marker-end:url(#head)}\n"
    "</style>\n"
    "<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
    "patternTransform=\"rotate(45)\"><rect width=\"6\" height=\"6\" fill=\"#fafbfc\"/>"
    "<path d=\"M0 0V6\" stroke=\"#c9d0da\" stroke-width=\"2.4\"/></pattern>"
    "<marker id=\"head\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" "
    "markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#3d4b60\" "
    "fill-opacity=\".7\" stroke=\"none\"/></marker></defs>\n";

static void find_range(svg *self)
{
    const hki_timeline *timeline = self->timeline;
    self->end_ns = timeline->duration_ns;
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_slice *slice = &timeline->slices[i];
        if (slice->start_ns < self->begin_ns)
            self->begin_ns = slice->start_ns;
        if (slice->end_ns > self->end_ns)
            self->end_ns = slice->end_ns;
    }
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        if (wait->start_ns < self->begin_ns)
            self->begin_ns = wait->start_ns;
        if (wait->end_ns > self->end_ns)
            self->end_ns = wait->end_ns;
        if (wait->lane < self->lane_count)
            self->has_waits[wait->lane] = true;
    }
    if (self->end_ns <= self->begin_ns)
        self->end_ns = self->begin_ns + 1;
    self->scale = (WIDTH - MARGIN - GUTTER) / (double)(self->end_ns - self->begin_ns);
}

void hki_timeline_write_svg(const hki_timeline *timeline, hki_writer *writer)
{
    svg self = {.timeline = timeline, .writer = writer};
    hki_writer body = {0}; /* its height is known when it is written */
    self.lane_count = timeline->lane_count < MAX_LANES ? timeline->lane_count : MAX_LANES;
    self.min_slice = MIN_SLICE * fmax(1, (double)self.lane_count / WIDE_PICTURE);
    self.lane_y = calloc((size_t)self.lane_count + 1, sizeof *self.lane_y);
    self.has_waits = calloc((size_t)self.lane_count + 1, sizeof *self.has_waits);
    int64_t *ends = malloc(((size_t)timeline->slice_count + 1) * sizeof *ends);
    if (!self.lane_y || !self.has_waits || !ends) {
        writer->is_failed = true;
        goto done;
    }
    find_range(&self);
    lay_out_lanes(&self);
    self.writer = &body;
    write_heading(&self);
    write_processes(&self);
    write_axis(&self);
    write_waits(&self);
    hki_write(&body, "<g stroke-width=\".6\">\n");
    for (int lane = 0, slice = 0; lane < self.lane_count; lane++)
        write_lane_slices(&self, lane, &slice, ends);
    hki_write(&body, "</g>\n");
    write_arrows(&self);
    double height = write_legend(&self) + 8;
    hki_write(writer,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%s\" "
              "viewBox=\"0 0 %d %s\">\n%s<rect width=\"100%%\" height=\"100%%\" rx=\"8\" "
              "fill=\"#ffffff\"/>\n",
              WIDTH, px(height).text, WIDTH, px(height).text, style);
    hki_write_bytes(writer, body.data, body.bytes);
    hki_write(writer, "</svg>\n");
    writer->is_failed |= body.is_failed;
done:
    free(body.data);
    free(ends);
    free(self.has_waits);
    free(self.lane_y);
}
