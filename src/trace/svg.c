/* The lanes of a timeline as an SVG picture for documents: no script, no font of its own, and no bigger than about
 * two megabytes, however long the timeline is. */
#include "trace/palette.h"
#include "trace/svg_internal.h"
#include "trace/text_width.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 96, MAX_ARROWS = 60 };
#define MIN_SLICE     2.0 /* what is narrower is drawn together with its neighbours */
#define WIDE_PICTURE  12  /* lanes; with more, slices are drawn together earlier */
#define FAILED_COLOUR "#d1242f"

static double x_of(const hki_svg *self, int64_t ns)
{
    return SVG_GUTTER + (double)(ns - self->begin_ns) * self->scale;
}

/* ---- the axis ----------------------------------------------------------------------------------------- */

/* Between two marks: 1, 2 or 5 times a power of ten, for at most ten marks. */
static int64_t axis_step(int64_t span_ns)
{
    int64_t step = 1;
    for (int i = 0; span_ns / step > 10; i++)
        step = i % 3 == 1 ? step / 2 * 5 : step * 2;
    return step;
}

static void write_axis(const hki_svg *self)
{
    hki_writer *writer = self->writer;
    int64_t step = axis_step(self->end_ns - self->begin_ns);
    hki_svg_unit u = hki_svg_unit_for(step < 1000 ? step : self->end_ns - self->begin_ns);
    hki_write(writer, "<g class=\"axis\">\n");
    int64_t first = self->begin_ns / step * step; /* towards zero */
    for (int64_t ns = first; ns <= self->end_ns; ns += step) {
        hki_svg_text x = hki_svg_px(x_of(self, ns));
        hki_write(writer, "<path d=\"M%s %sV%s\"/>", x.text, hki_svg_px(SVG_TOP - 8).text,
                  hki_svg_px(self->bottom + 8).text);
        int64_t tenths = ns * 10 / u.ns;
        hki_write(writer, "<text x=\"%s\" y=\"%s\">%" PRId64, x.text,
                  hki_svg_px(self->bottom + 24).text, tenths / 10);
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

static void end_run(const hki_svg *self, run *narrow, double y)
{
    if (narrow->begin < 0)
        return;
    double width = fmax(narrow->end - narrow->begin, 1);
    char colour[16];
    snprintf(colour, sizeof colour, "#%06" PRIx32, narrow->colour);
    hki_write(self->writer, "<path fill=\"%s\" d=\"M%s %sh%sv%sh-%sz\"/>\n",
              narrow->is_failed ? FAILED_COLOUR : colour, hki_svg_px(narrow->begin).text,
              hki_svg_px(y + narrow->inset).text, hki_svg_px(width).text,
              hki_svg_px(SVG_ROW - 2 * narrow->inset).text, hki_svg_px(width).text);
    narrow->begin = -1;
}

static void add_to_run(const hki_svg *self, run *narrow, const hki_trace_slice *slice, double y,
                       double inset)
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

/* As much of the text as fits, in `width` pixels of a font of that size; nothing when that is too
 * little to mean anything. */
static void write_fitting(hki_writer *writer, const char *text, double x, double y, double width,
                          double size)
{
    enum { LEAST = 4 }; /* characters */
    const size_t length = strlen(text);
    char shown[64];
    size_t fitting = hki_text_fitting(text, width, size);
    if (fitting < length && hki_text_characters(text, fitting) < LEAST)
        return;
    const bool is_cut = fitting < length || length >= sizeof shown - 4;
    if (is_cut && fitting >= sizeof shown - 4) {
        fitting = sizeof shown - 4;
        while (fitting && ((unsigned char)text[fitting] & 0xC0) == 0x80)
            fitting--;
    }
    snprintf(shown, sizeof shown, "%.*s%s", (int)fitting, text, is_cut ? "\xE2\x80\xA6" : "");
    hki_write(writer, "<text x=\"%s\" y=\"%s\">", hki_svg_px(x).text, hki_svg_px(y).text);
    hki_write_xml(writer, shown);
    hki_write(writer, "</text>");
}

static void write_slice_title(const hki_svg *self, const hki_trace_slice *slice)
{
    hki_writer *writer = self->writer;
    const hki_call_event *call = &self->timeline->calls[slice->call];
    hki_write(writer, "<title>");
    hki_write_xml(writer, call->operation);
    if (slice->piece >= 0)
        hki_write(writer, ", piece %d", slice->piece + 1);
    if (call->is_failed)
        hki_write(writer, call->is_skipped ? ": skipped, for an input had failed" : ": failed");
    if (call->met_subnormals)
        hki_write(writer, ": met subnormal numbers");
    hki_write(writer, "\n");
    hki_write_xml(writer, call->shapes);
    hki_write(writer, "\n%s, call %" PRIu64, hki_svg_time(slice->end_ns - slice->start_ns).text,
              call->sequence);
    if (*call->file) {
        hki_write(writer, ", ");
        hki_write_xml(writer, call->file);
        hki_write(writer, ":%d", call->line);
    }
    hki_write(writer, "</title>");
}

static void write_slice(const hki_svg *self, const hki_trace_slice *slice, double y, double inset)
{
    const hki_call_event *call = &self->timeline->calls[slice->call];
    uint32_t colour = hki_call_colour(self->timeline, call);
    double x = x_of(self, slice->start_ns), width = x_of(self, slice->end_ns) - x;
    hki_writer *writer = self->writer;
    hki_write(writer,
              "<g><rect x=\"%s\" y=\"%s\" width=\"%s\" height=\"%s\" rx=\"%s\" fill=\"#%06" PRIx32
              "\" stroke=\"",
              hki_svg_px(x + 0.3).text, hki_svg_px(y + inset).text,
              hki_svg_px(fmax(width - 0.6, 1.4)).text, hki_svg_px(SVG_ROW - 2 * inset).text,
              width > 8 ? "3" : "1", colour);
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
    write_fitting(writer, call->operation, x + 5, y + SVG_ROW / 2.0 + 4, room - 8, SVG_TEXT);
    hki_write(writer, "</g>\n");
}

/* Slices of a lane, from *index, which is moved behind them. */
static void write_lane_slices(const hki_svg *self, int lane, int *index, int64_t *ends)
{
    const hki_timeline *timeline = self->timeline;
    double y = self->lane_y[lane];
    run narrow = {.begin = -1};
    int depth = 0;
    for (; *index < timeline->slice_count && timeline->slices[*index].lane == lane; ++*index) {
        const hki_trace_slice *slice = &timeline->slices[*index];
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

static void write_waits(const hki_svg *self)
{
    static const char *const names[] = {"waited for an array", "waited for ", "waited for all",
                                        "waited for room in the run-ahead window",
                                        "waited for workers to catch up"};
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
                  hki_svg_px(x).text, hki_svg_px(self->lane_y[wait->lane]).text,
                  hki_svg_px(fmax(end - x, 1)).text, SVG_ROW, names[wait->kind]);
        hki_write_xml(writer, wait->device);
        hki_write(writer, "\n%s", hki_svg_time(wait->end_ns - wait->start_ns).text);
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
static void lay_out_lanes(hki_svg *self)
{
    const hki_timeline *timeline = self->timeline;
    double y = SVG_TOP;
    for (int i = 0; i < self->lane_count; i++) {
        if (i)
            y += SVG_ROW + SVG_ROW_GAP;
        if (i && timeline->lanes[i].process != timeline->lanes[i - 1].process)
            y += SVG_PROCESS_GAP - SVG_ROW_GAP;
        self->lane_y[i] = y;
    }
    self->bottom = self->lane_count ? y + SVG_ROW : SVG_TOP;
}

static void write_process(const hki_svg *self, int first, int last)
{
    const hki_lane *lane = &self->timeline->lanes[first];
    hki_writer *writer = self->writer;
    double top = self->lane_y[first], bottom = self->lane_y[last] + SVG_ROW;
    hki_write(writer,
              "<rect class=\"%s\" x=\"%d\" y=\"%s\" width=\"%d\" height=\"%s\" rx=\"6\"/>\n",
              lane->is_simulated ? "process simulated" : "process", SVG_MARGIN / 2,
              hki_svg_px(top - 5).text, SVG_WIDTH - SVG_MARGIN, hki_svg_px(bottom - top + 10).text);
    hki_write(writer, "<g class=\"name\">");
    write_fitting(writer, lane->process, SVG_MARGIN, top + SVG_ROW / 2.0 + 4, 13 * SVG_CHARACTER,
                  SVG_BOLD_TEXT);
    hki_write(writer, "</g>\n");
    if (lane->is_simulated) {
        bool is_single = first == last;
        hki_write(writer, "<text class=\"%s\" x=\"%d\" y=\"%s\">simulated</text>\n", "note",
                  SVG_MARGIN,
                  hki_svg_px(
                      top + (is_single ? SVG_ROW - 0.5 : SVG_ROW + SVG_ROW_GAP + SVG_ROW / 2.0 + 2))
                      .text);
    }
    for (int i = first; i <= last; i++) {
        hki_write(writer, "<g class=\"lane\"><rect x=\"%d\" y=\"%s\" width=\"%d\" height=\"%d\"/>",
                  SVG_GUTTER, hki_svg_px(self->lane_y[i]).text, SVG_WIDTH - SVG_MARGIN - SVG_GUTTER,
                  SVG_ROW);
        write_fitting(writer, self->timeline->lanes[i].name, SVG_GUTTER - 10,
                      self->lane_y[i] + SVG_ROW / 2.0 + 4, 14 * SVG_CHARACTER, SVG_TEXT);
        hki_write(writer, "</g>\n");
    }
}

static void write_processes(const hki_svg *self)
{
    const hki_lane *lanes = self->timeline->lanes;
    for (int first = 0, i = 0; i < self->lane_count; i++) {
        if (i + 1 < self->lane_count && lanes[i + 1].process == lanes[i].process)
            continue;
        write_process(self, first, i);
        first = i + 1;
    }
}

static void write_heading(const hki_svg *self)
{
    const hki_timeline *timeline = self->timeline;
    hki_writer *writer = self->writer;
    hki_write(writer, "<text class=\"title\" x=\"%d\" y=\"30\">", SVG_MARGIN);
    hki_write_xml(writer, *timeline->title ? timeline->title : "Timeline");
    hki_write(writer, "</text>\n<text class=\"subtitle\" x=\"%d\" y=\"50\">%d call%s in %s",
              SVG_MARGIN, timeline->call_count, timeline->call_count == 1 ? "" : "s",
              hki_svg_time(timeline->duration_ns).text);
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

/* ---- arrows ---------------------------------------------------------------------------------------------- */

static void write_arrow(const hki_svg *self, const hki_trace_slice *from, const hki_trace_slice *to)
{
    double x1 = x_of(self, from->end_ns), x2 = x_of(self, to->start_ns);
    double y1 = self->lane_y[from->lane] + SVG_ROW / 2.0,
           y2 = self->lane_y[to->lane] + SVG_ROW / 2.0;
    double bend = fmin(fmax(fabs(x2 - x1) / 2, 10), 40);
    hki_write(self->writer, "<path d=\"M%s %sC%s %s %s %s %s %s\"/>\n", hki_svg_px(x1).text,
              hki_svg_px(y1).text, hki_svg_px(x1 + bend).text, hki_svg_px(y1).text,
              hki_svg_px(x2 - bend).text, hki_svg_px(y2).text, hki_svg_px(x2).text,
              hki_svg_px(y2).text);
}

/* Dependencies between lanes, from the last slice of the earlier call to the first one of the later; draws them if
 * `draw`. Returns how many there are, or some hki_svg_text above MAX_ARROWS. */
static int visit_arrows(const hki_svg *self, const int *first_slice, const int *last_slice,
                        bool draw)
{
    const hki_timeline *timeline = self->timeline;
    int count = 0;
    for (int i = 0; i < timeline->call_count && count <= MAX_ARROWS; i++) {
        const hki_call_event *call = &timeline->calls[i];
        for (int j = 0; j < call->dependency_count; j++) {
            int earlier = timeline->dependencies[call->first_dependency + j];
            if (first_slice[i] < 0 || last_slice[earlier] < 0)
                continue;
            const hki_trace_slice *from = &timeline->slices[last_slice[earlier]];
            const hki_trace_slice *to = &timeline->slices[first_slice[i]];
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

static void write_arrows(const hki_svg *self)
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
        const hki_trace_slice *slice = &timeline->slices[i];
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

static void find_range(hki_svg *self)
{
    const hki_timeline *timeline = self->timeline;
    self->end_ns = timeline->duration_ns;
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_trace_slice *slice = &timeline->slices[i];
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
    self->scale = (SVG_WIDTH - SVG_MARGIN - SVG_GUTTER) / (double)(self->end_ns - self->begin_ns);
}

void hki_timeline_write_svg(const hki_timeline *timeline, hki_writer *writer)
{
    hki_svg self = {.timeline = timeline, .writer = writer};
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
    double height = hki_svg_write_legend(&self) + 8;
    hki_write(writer,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%s\" "
              "viewBox=\"0 0 %d %s\">\n%s<rect width=\"100%%\" height=\"100%%\" rx=\"8\" "
              "fill=\"#ffffff\"/>\n",
              SVG_WIDTH, hki_svg_px(height).text, SVG_WIDTH, hki_svg_px(height).text, style);
    hki_write_bytes(writer, body.data, body.bytes);
    hki_write(writer, "</svg>\n");
    writer->is_failed |= body.is_failed;
done:
    free(body.data);
    free(ends);
    free(self.has_waits);
    free(self.lane_y);
}
