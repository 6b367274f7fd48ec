/* The calls that ran and what they waited for, as a graph for Graphviz: a box a call, a cluster a device. */
#include "trace/palette.h"
#include "trace/text_width.h"
#include "trace/timeline.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_CALLS = 300, /* what dot lays out in seconds, and people can read at all */
    MAX_EDGES = 1000,
    MAX_LINE = 46,   /* characters */
    MOST_SHAPES = 4, /* of the inputs of a call, and of its outputs */
    NAME_SIZE = 11,
    SMALL_SIZE = 9
};

/* Of one width, so that boxes hold their texts whoever looks at them. */
#define FONT "DejaVu Sans Mono,Menlo,Consolas,monospace"

/* ---- labels: HTML-like, for these need no escapes but XML's ------------------------------------------- */

/* What of `length` bytes is shown: all, or less where it is long. */
static size_t shown_bytes(const char *text, size_t length)
{
    if (length <= MAX_LINE)
        return length;
    length = MAX_LINE - 1;
    while (length && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    return length;
}

static void write_shortened(hki_writer *writer, const char *text, size_t length)
{
    char shown[MAX_LINE + 8];
    const size_t bytes = shown_bytes(text, length);
    snprintf(shown, sizeof shown, "%.*s%s", (int)bytes, text, bytes < length ? "\xE2\x80\xA6" : "");
    hki_write_xml(writer, shown);
}

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static int digits_of(int number)
{
    return snprintf(NULL, 0, "%d", number);
}

/* In points, of the bytes that are shown and so many characters beside them. What is not ASCII may
 * take two places. */
static double line_width(const char *text, size_t length, int more, int size)
{
    const size_t bytes = shown_bytes(text, length);
    int places = more + (bytes < length);
    for (size_t i = 0; i < bytes; i++)
        places += (unsigned char)text[i] < 0x80 ? 1 : (unsigned char)text[i] >= 0xC0 ? 2 : 0;
    return places * HKI_MONOSPACE_WIDTH * size;
}

/* A line of shapes, or of how many more there are. */
typedef struct shape_line {
    const char *text;
    size_t length;
    bool is_output;
    int more; /* not 0: so many are left out, and there is no text */
} shape_line;

/* The end of the shape at `text`: a comma that is in no brackets, or `end`. */
static const char *end_of_shape(const char *text, const char *end)
{
    for (int depth = 0; text < end; text++) {
        depth += (*text == '(') - (*text == ')');
        if (*text == ',' && depth <= 0)
            break;
    }
    return text;
}

/* The shapes from `text` to `end`, MOST_SHAPES at most, and how many more there are. Returns how
 * many lines. */
static int split_shapes(const char *text, const char *end, bool is_output, shape_line *lines)
{
    int count = 0, more = 0;
    while (text < end) {
        const char *stop = end_of_shape(text, end);
        if (count < MOST_SHAPES)
            lines[count++] = (shape_line){text, (size_t)(stop - text), is_output, 0};
        else
            more++;
        text = stop;
        while (text < end && (*text == ',' || *text == ' '))
            text++;
    }
    if (more)
        lines[count++] = (shape_line){.is_output = is_output, .more = more};
    return count;
}

enum { MOST_LINES = 2 * (MOST_SHAPES + 1) };

/* One below the other, so that boxes are narrow: the graph is as wide as they are side by side. */
static int shape_lines(const char *shapes, shape_line lines[MOST_LINES])
{
    const char *arrow = strstr(shapes, "-> "), *end = shapes + strlen(shapes);
    const char *inputs = arrow && arrow > shapes ? arrow - 1 : arrow ? arrow : end;
    const int count = split_shapes(shapes, inputs, false, lines);
    return arrow ? count + split_shapes(arrow + 3, end, true, lines + count) : count;
}

/* Of the label of a call, in points: dot may measure with another font than that of whoever looks
 * at its picture. */
static double label_width(const hki_call_event *call)
{
    enum { FAILED = 9, ARROW = 2, MORE = 12 }; /* ": skipped", "→ ", "and 123 more" */
    const char *file = base_name(call->file);
    double width = line_width(call->operation, strlen(call->operation),
                              call->is_failed ? FAILED : 0, NAME_SIZE);
    shape_line lines[MOST_LINES];
    for (int i = 0, count = shape_lines(call->shapes, lines); i < count; i++) {
        const int more = (lines[i].is_output ? ARROW : 0) + (lines[i].more ? MORE : 0);
        width = fmax(width, line_width(lines[i].text, lines[i].length, more, SMALL_SIZE));
    }
    return fmax(width, line_width(file, strlen(file), 1 + digits_of(call->line), SMALL_SIZE));
}

static void write_shapes(hki_writer *writer, const char *shapes)
{
    shape_line lines[MOST_LINES];
    for (int i = 0, count = shape_lines(shapes, lines); i < count; i++) {
        hki_write(writer, "<br/><font point-size=\"%d\" color=\"#3d4b60\">%s", SMALL_SIZE,
                  lines[i].is_output ? "&#8594; " : "");
        if (lines[i].more)
            hki_write(writer, "and %d more", lines[i].more);
        else
            write_shortened(writer, lines[i].text, lines[i].length);
        hki_write(writer, "</font>");
    }
}

/* Sides, dashes, and the least width. */
static void write_shape(const hki_timeline *timeline, hki_writer *writer,
                        const hki_call_event *call)
{
    const double margins = 17.3; /* 0.12 inches on each side */
    double width = label_width(call) + margins;
    if (call->is_collective) {
        width *= 1.54; /* of an octagon around a box */
        hki_write(writer, ", shape=octagon, style=filled, margin=\"0.02,0.02\"");
    } else if (hki_call_is_copy(timeline, call)) {
        hki_write(writer, ", style=\"rounded,filled,dashed\"");
    }
    const int hundredths = (int)ceil(width / 72 * 100);
    hki_write(writer, ", width=%d.%02d", hundredths / 100, hundredths % 100);
}

static void write_call(const hki_timeline *timeline, hki_writer *writer, int index)
{
    const hki_call_event *call = &timeline->calls[index];
    uint32_t colour = hki_call_colour(timeline, call);
    hki_write(writer, "    c%d [fillcolor=\"#%06" PRIx32 "\"", index, colour);
    if (call->is_failed)
        hki_write(writer, ", color=\"#d1242f\", penwidth=2");
    else
        hki_write(writer, ", color=\"#%06" PRIx32 "\"", hki_mix_colours(colour, 0x24354d, 70));
    write_shape(timeline, writer, call);
    hki_write(writer, ", label=<<b>");
    /* An empty element is an error to dot. */
    write_shortened(writer, *call->operation ? call->operation : "?",
                    *call->operation ? strlen(call->operation) : 1);
    hki_write(writer, "</b>");
    if (call->is_failed)
        hki_write(writer, "<font color=\"#b3141f\">: %s</font>",
                  call->is_skipped ? "skipped" : "failed");
    write_shapes(writer, call->shapes);
    if (*call->file) {
        const char *name = base_name(call->file);
        char line[16];
        snprintf(line, sizeof line, ":%d", call->line);
        hki_write(writer, "<br/><font point-size=\"%d\" color=\"#3d4b60\"><i>", SMALL_SIZE);
        write_shortened(writer, name, strlen(name));
        hki_write(writer, "%s</i></font>", line);
    }
    hki_write(writer, ">];\n");
}

/* ---- the graph ------------------------------------------------------------------------------------------- */

static bool is_on(const hki_timeline *timeline, int call, const hki_trace_queue_info *queue)
{
    return timeline->queues[timeline->calls[call].queue].device == queue->device;
}

/* The calls of the device that `queue` belongs to. */
static void write_cluster(const hki_timeline *timeline, hki_writer *writer, int queue_index,
                          int call_count)
{
    const hki_trace_queue_info *queue = &timeline->queues[queue_index];
    bool is_empty = true;
    for (int i = 0; i < queue_index; i++)
        if (timeline->queues[i].device == queue->device)
            return; /* done with the earlier queue */
    for (int i = 0; i < call_count && is_empty; i++)
        is_empty = !is_on(timeline, i, queue);
    if (is_empty)
        return;
    hki_write(writer,
              "  subgraph cluster_%d {\n"
              "    graph [style=\"rounded,filled\", color=\"#d0d7de\", fillcolor=\"%s\", "
              "labeljust=l, fontsize=12, label=<<b>",
              queue_index, queue->is_simulated ? "#f1f4fb" : "#f5f6f8");
    write_shortened(writer, *queue->device ? queue->device : "?",
                    *queue->device ? strlen(queue->device) : 1);
    hki_write(writer, "</b>%s>];\n", queue->is_simulated ? ", simulated" : "");
    for (int i = 0; i < call_count; i++)
        if (is_on(timeline, i, queue))
            write_call(timeline, writer, i);
    hki_write(writer, "  }\n");
}

/* Returns how many dependencies there are, of which MAX_EDGES are written at most. */
static int write_edges(const hki_timeline *timeline, hki_writer *writer, int call_count)
{
    int count = 0;
    for (int i = 0; i < call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        for (int j = 0; j < call->dependency_count; j++) {
            int earlier = timeline->dependencies[call->first_dependency + j];
            bool crosses = !is_on(timeline, earlier, &timeline->queues[call->queue]);
            if (count++ < MAX_EDGES)
                hki_write(writer, "  c%d -> c%d%s;\n", earlier, i,
                          crosses ? " [color=\"#b35900\", penwidth=1.4]" : "");
        }
    }
    return count;
}

static void write_note(hki_writer *writer, int shown, int all, const char *what)
{
    if (shown < all)
        hki_write(writer,
                  "  note_%s [shape=note, style=filled, fillcolor=\"#fff8c5\", color=\"#d4a72c\", "
                  "label=\"Only the first %d of %d %s are drawn.\"];\n",
                  what, shown, all, what);
}

void hki_timeline_write_dot(const hki_timeline *timeline, hki_writer *writer)
{
    int call_count = timeline->call_count < MAX_CALLS ? timeline->call_count : MAX_CALLS;
    hki_write(writer, "// dot -Tsvg FILE > graph.svg\n"
                      "digraph calls {\n"
                      "  graph [fontname=\"" FONT "\", fontsize=14, nodesep=0.25, "
                      "ranksep=0.35, bgcolor=white, pad=0.2");
    if (*timeline->title) {
        hki_write(writer, ", labelloc=t, label=<<b>");
        write_shortened(writer, timeline->title, strlen(timeline->title));
        hki_write(writer, "</b>>");
    }
    hki_write(writer, "];\n"
                      "  node [shape=box, style=\"rounded,filled\", fontsize=11, penwidth=0.9, "
                      "height=0.3, margin=\"0.12,0.05\", fontname=\"" FONT "\"];\n"
                      "  edge [color=\"#57606a\", arrowsize=0.6, penwidth=0.9];\n");
    for (int i = 0; i < timeline->queue_count; i++)
        write_cluster(timeline, writer, i, call_count);
    int edge_count = write_edges(timeline, writer, call_count);
    write_note(writer, call_count, timeline->call_count, "calls");
    write_note(writer, edge_count < MAX_EDGES ? edge_count : MAX_EDGES, edge_count, "dependencies");
    if (timeline->lost_records)
        hki_write(
            writer,
            "  note_lost [shape=note, style=filled, fillcolor=\"#ffebe9\", color=\"#d1242f\", "
            "label=\"Incomplete: %" PRIu64 " records were lost.\"];\n",
            timeline->lost_records);
    hki_write(writer, "}\n");
}
