/* The page: src/trace/page/ with the timeline as JSON in it. Numbers that are the same for every
 * reader (overlap, busy time, the critical path) are computed here; the page only draws.
 *
 * The JSON is for this page alone and made to be small: texts and colours are indices in "texts"
 * and "colours", times count from the one before (of the record above, or of the same record), and
 * rows of numbers are one flat list. model.js reads it. */
#include "trace/palette.h"
#include "trace/timeline.h"
#include "trace/timeline_page.inc" /* page_head, page_tail: see cmake/embed_page.cmake */

#include <inttypes.h>
#include <stdlib.h>

/* As in model.js. */
enum {
    FLAG_COLLECTIVE = 1,
    FLAG_BACKWARD = 2,
    FLAG_FAILED = 4,
    FLAG_SKIPPED = 8,
    FLAG_SUBNORMAL = 16
};

/* ---- texts, numbered as they are first used: equal timelines give equal pages ---------------- */

typedef struct numbered_text {
    const char *text;
    int number;
} numbered_text;

typedef struct text_numbers {
    numbered_text *slots; /* by address, for texts are interned */
    size_t capacity;      /* a power of two, at most half of it in use */
    const char **texts;   /* by number */
    int count;
} text_numbers;

static numbered_text *find_slot(const text_numbers *numbers, const char *text)
{
    size_t index = (size_t)((uintptr_t)text * 0x9e3779b97f4a7c15u >> 20) & (numbers->capacity - 1);
    while (numbers->slots[index].text && numbers->slots[index].text != text)
        index = (index + 1) & (numbers->capacity - 1);
    return &numbers->slots[index];
}

static int number_text(text_numbers *numbers, const char *text)
{
    numbered_text *slot = find_slot(numbers, text);
    if (!slot->text) {
        *slot = (numbered_text){text, numbers->count};
        numbers->texts[numbers->count++] = text;
    }
    return slot->number;
}

static bool text_numbers_init(text_numbers *numbers, const hki_timeline *timeline)
{
    size_t most = 3 * (size_t)timeline->call_count + 2 * (size_t)timeline->wait_count + 1;
    *numbers = (text_numbers){.capacity = 16};
    while (numbers->capacity < 2 * most)
        numbers->capacity *= 2;
    numbers->slots = calloc(numbers->capacity, sizeof *numbers->slots);
    numbers->texts = calloc(most, sizeof *numbers->texts);
    return numbers->slots && numbers->texts;
}

static void text_numbers_deinit(text_numbers *numbers)
{
    free(numbers->slots);
    free(numbers->texts);
}

/* Colours, by number; there are few. */
typedef struct colour_numbers {
    uint32_t *colours;
    int count;
} colour_numbers;

static int number_colour(colour_numbers *numbers, uint32_t colour)
{
    int number = 0;
    while (number < numbers->count && numbers->colours[number] != colour)
        number++;
    if (number == numbers->count)
        numbers->colours[numbers->count++] = colour;
    return number;
}

/* ---- one property after another -------------------------------------------------------------- */

static const char *comma(int index)
{
    return index ? "," : "";
}

static void write_texts(hki_writer *writer, const char *const *texts, int count)
{
    for (int i = 0; i < count; i++) {
        hki_write(writer, "%s", comma(i));
        hki_write_json_string(writer, texts[i]);
    }
}

static void write_lanes(const hki_timeline *timeline, hki_writer *writer)
{
    hki_write(writer, ",\n\"lanes\":[");
    for (int i = 0; i < timeline->lane_count; i++) {
        const hki_lane *lane = &timeline->lanes[i];
        hki_write(writer, "%s[", comma(i));
        write_texts(writer, (const char *const[]){lane->process, lane->name}, 2);
        hki_write(writer, ",%d]", lane->is_simulated);
    }
    hki_write(writer, "]");
}

static void write_queues(const hki_timeline *timeline, hki_writer *writer)
{
    hki_write(writer, ",\n\"queues\":[");
    for (int i = 0; i < timeline->queue_count; i++) {
        const hki_trace_queue_info *queue = &timeline->queues[i];
        hki_write(writer, "%s[", comma(i));
        write_texts(writer, (const char *const[]){queue->device, queue->name}, 2);
        hki_write(writer, ",%d,%d,%" PRId64 "]", queue->is_simulated, queue->is_copy,
                  hki_timeline_busy(timeline, i));
    }
    hki_write(writer, "]");
}

static void write_calls(const hki_timeline *timeline, text_numbers *numbers,
                        colour_numbers *colours, hki_writer *writer)
{
    uint64_t sequence = 0;
    int64_t issue_ns = 0;
    hki_write(writer, ",\n\"calls\":[");
    for (int i = 0; i < timeline->call_count; i++) {
        const hki_call_event *call = &timeline->calls[i];
        int flags = (call->is_collective ? FLAG_COLLECTIVE : 0) |
                    (call->is_backward ? FLAG_BACKWARD : 0) | (call->is_failed ? FLAG_FAILED : 0) |
                    (call->is_skipped ? FLAG_SKIPPED : 0) |
                    (call->met_subnormals ? FLAG_SUBNORMAL : 0);
        int operation = number_text(numbers, call->operation);
        int shapes = number_text(numbers, call->shapes), file = number_text(numbers, call->file);
        int colour = number_colour(colours, hki_call_colour(timeline, call));
        hki_write(writer, "%s%" PRIu64 ",%d,%d,%d,%d,%d,%d,%d,", comma(i),
                  call->sequence - sequence, operation, shapes, file, call->line, call->queue,
                  flags, colour);
        hki_write(writer,
                  "%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64 ",%" PRId64
                  ",%d",
                  call->issue_ns - issue_ns, call->ready_ns - call->issue_ns,
                  call->start_ns - call->issue_ns, call->end_ns - call->start_ns,
                  call->wall_start_ns - call->start_ns, call->wall_end_ns - call->end_ns,
                  call->bytes, call->dependency_count);
        for (int j = 0; j < call->dependency_count; j++)
            hki_write(writer, ",%d", i - timeline->dependencies[call->first_dependency + j]);
        sequence = call->sequence;
        issue_ns = call->issue_ns;
    }
    hki_write(writer, "]");
}

static void write_slices(const hki_timeline *timeline, hki_writer *writer)
{
    int64_t start_ns = 0;
    hki_write(writer, ",\n\"slices\":[");
    for (int i = 0; i < timeline->slice_count; i++) {
        const hki_trace_slice *slice = &timeline->slices[i];
        hki_write(writer, "%s%d,%d,%d,%" PRId64 ",%" PRId64, comma(i), slice->call, slice->lane,
                  slice->piece, slice->start_ns - start_ns, slice->end_ns - slice->start_ns);
        start_ns = slice->start_ns;
    }
    hki_write(writer, "]");
}

static void write_waits(const hki_timeline *timeline, text_numbers *numbers, hki_writer *writer)
{
    int64_t start_ns = 0;
    hki_write(writer, ",\n\"waits\":[");
    for (int i = 0; i < timeline->wait_count; i++) {
        const hki_wait_event *wait = &timeline->waits[i];
        int device = number_text(numbers, wait->device), file = number_text(numbers, wait->file);
        hki_write(writer, "%s%d,%d,%d,%d,%d,%" PRId64 ",%" PRId64 ",%d", comma(i), wait->lane,
                  wait->kind, device, file, wait->line, wait->start_ns - start_ns,
                  wait->end_ns - wait->start_ns, wait->last_call);
        start_ns = wait->start_ns;
    }
    hki_write(writer, "]");
}

static void write_counters(const hki_timeline *timeline, hki_writer *writer)
{
    hki_write(writer, ",\n\"counters\":[");
    for (int i = 0; i < timeline->counter_count; i++) {
        const hki_counter_track *track = &timeline->counters[i];
        const hki_counter_point *points = timeline->points + track->first_point;
        hki_write(writer, "%s[", comma(i));
        write_texts(writer, (const char *const[]){track->process, track->name, track->unit}, 3);
        hki_write(writer, ",[");
        for (int j = 0; j < track->point_count; j++)
            hki_write(writer, "%s%" PRId64 ",%" PRId64, comma(j),
                      points[j].time_ns - (j ? points[j - 1].time_ns : 0), points[j].value);
        hki_write(writer, "]]");
    }
    hki_write(writer, "]");
}

static void write_analysis(const hki_timeline *timeline, hki_writer *writer)
{
    int count = 0;
    int64_t length_ns = 0;
    int *path = hki_timeline_critical_path(timeline, true, &count, &length_ns);
    if (!path && timeline->call_count > 0)
        writer->is_failed = true;
    hki_write(writer, ",\n\"critical\":{\"length\":%" PRId64 ",\"calls\":[", length_ns);
    for (int i = 0; path && i < count; i++)
        hki_write(writer, "%s%d", comma(i), path[i]);
    hki_write(writer, "]}");
    free(path);
    hki_write(writer,
              ",\n\"sums\":{\"time\":%" PRId64 ",\"backward\":%" PRId64 ",\"hidden\":%" PRId64 "}",
              hki_timeline_overlap(timeline, "@collective", NULL),
              hki_timeline_overlap(timeline, "@backward", NULL),
              hki_timeline_overlap(timeline, "@collective", "@backward"));
}

/* ---- the page -------------------------------------------------------------------------------- */

static void write_data(const hki_timeline *timeline, text_numbers *numbers, colour_numbers *colours,
                       hki_writer *writer)
{
    hki_write(writer, "{\"title\":");
    hki_write_json_string(writer, timeline->title);
    hki_write(writer, ",\"duration\":%" PRId64 ",\"lost\":%" PRIu64 ",\"limit\":%" PRIu64,
              timeline->duration_ns, timeline->lost_records, timeline->limit_bytes);
    write_lanes(timeline, writer);
    write_queues(timeline, writer);
    write_calls(timeline, numbers, colours, writer);
    write_slices(timeline, writer);
    write_waits(timeline, numbers, writer);
    write_counters(timeline, writer);
    write_analysis(timeline, writer);
    hki_write(writer, ",\n\"colours\":[");
    for (int i = 0; i < colours->count; i++)
        hki_write(writer, "%s\"#%06" PRIx32 "\"", comma(i), colours->colours[i]);
    hki_write(writer, "],\n\"texts\":[");
    write_texts(writer, numbers->texts, numbers->count);
    hki_write(writer, "]}");
}

void hki_timeline_write_html(const hki_timeline *timeline, hki_writer *writer)
{
    text_numbers numbers;
    colour_numbers colours = {calloc((size_t)timeline->call_count + 1, sizeof *colours.colours), 0};
    if (text_numbers_init(&numbers, timeline) && colours.colours) {
        hki_write_bytes(writer, page_head, sizeof page_head);
        write_data(timeline, &numbers, &colours, writer);
        hki_write_bytes(writer, page_tail, sizeof page_tail);
    } else {
        writer->is_failed = true;
    }
    free(colours.colours);
    text_numbers_deinit(&numbers);
}
