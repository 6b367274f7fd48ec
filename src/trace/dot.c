/* The calls that ran and what they waited for, as a graph for Graphviz: a box a call, a cluster a device. */
#include "trace/palette.h"
#include "trace/timeline.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    MAX_CALLS = 300, /* what dot lays out in seconds, and people can read at all */
    MAX_EDGES = 1000,
    MAX_LINE = 46 /* characters */
};

/* ---- labels: HTML-like, for these need no escapes but XML's ------------------------------------------- */

/* `length` bytes at most of the text, less where it is long. */
static void write_shortened(hki_writer *writer, const char *text, size_t length)
{
    char shown[MAX_LINE + 8];
    bool is_cut = length > MAX_LINE;
    if (is_cut)
        length = MAX_LINE - 1;
    while (is_cut && length && ((unsigned char)text[length] & 0xC0) == 0x80)
        length--;
    snprintf(shown, sizeof shown, "%.*s%s", (int)length, text, is_cut ? "\xE2\x80\xA6" : "");
    hki_write_xml(writer, shown);
}

static void write_small(hki_writer *writer, const char *before, const char *text, size_t length)
{
    if (!length)
        return;
    hki_write(writer, "<br/><font point-size=\"9\" color=\"#3d4b60\">%s", before);
    write_shortened(writer, text, length);
    hki_write(writer, "</font>");
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
    if (call->is_collective)
        hki_write(writer, ", shape=octagon, style=filled, margin=\"0.02,0.02\"");
    else if (hki_call_is_copy(timeline, call))
        hki_write(writer, ", style=\"rounded,filled,dashed\"");
    hki_write(writer, ", label=<<b>");
    /* An empty element is an error to dot. */
    write_shortened(writer, *call->operation ? call->operation : "?",
                    *call->operation ? strlen(call->operation) : 1);
    hki_write(writer, "</b>");
    if (call->is_failed)
        hki_write(writer, "<font color=\"#b3141f\">&#160;%s</font>",
                  call->is_skipped ? "skipped" : "failed");
    const char *arrow = strstr(call->shapes, "-> ");
    if (arrow) {
        size_t inputs = (size_t)(arrow - call->shapes);
        write_small(writer, "", call->shapes, inputs ? inputs - 1 : 0);
        write_small(writer, "&#8594; ", arrow + 3, strlen(arrow + 3));
    } else {
        write_small(writer, "", call->shapes, strlen(call->shapes));
    }
    if (*call->file) {
        const char *slash = strrchr(call->file, '/');
        const char *name = slash ? slash + 1 : call->file;
        char line[16];
        snprintf(line, sizeof line, ":%d", call->line);
        hki_write(writer, "<br/><font point-size=\"9\" color=\"#3d4b60\"><i>");
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
    hki_write(writer, "</b>%s>];\n", queue->is_simulated ? "&#160;simulated" : "");
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
    hki_write(writer,
              "// dot -Tsvg FILE > graph.svg\n"
              "digraph calls {\n"
              "  graph [fontname=\"Helvetica,Arial,sans-serif\", fontsize=14, nodesep=0.25, "
              "ranksep=0.35, bgcolor=white, pad=0.2");
    if (*timeline->title) {
        hki_write(writer, ", labelloc=t, label=<<b>");
        write_shortened(writer, timeline->title, strlen(timeline->title));
        hki_write(writer, "</b>>");
    }
    hki_write(writer,
              "];\n"
              "  node [shape=box, style=\"rounded,filled\", fontsize=11, penwidth=0.9, "
              "height=0.3, margin=\"0.12,0.05\", fontname=\"Helvetica,Arial,sans-serif\"];\n"
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
