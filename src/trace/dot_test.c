/* The graph for Graphviz: every call and dependency once, in the cluster of its device; bounded, with a note. Where
 * Graphviz is installed it must accept all of it. */
#include "tests/check.h"
#include "trace/timeline_fixture.h"

static int count_text(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

/* To be freed. */
static char *graph(const hki_timeline *timeline)
{
    hki_writer writer = {0};
    hki_timeline_write_dot(timeline, &writer);
    CHECK(!writer.is_failed && writer.data);
    FILE *file = fopen("graph.dot", "w");
    CHECK(file && fputs(writer.data, file) >= 0 && !fclose(file));
    /* nop parses and lays nothing out; it says nothing but what is wrong. */
    CHECK_EQ_I64(system("command -v nop > /dev/null || exit 0\n"
                        "nop graph.dot > canon.dot 2> messages && [ ! -s messages ] && exit 0\n"
                        "cat messages >&2; exit 1"),
                 0);
    return writer.data;
}

/* The least width of each box, in points, holds each line of its label in a monospace font, 0.602
 * of its size a character. */
static void check_widths(const char *dot)
{
    int boxes = 0;
    for (const char *at = strstr(dot, ", width="); at; at = strstr(at + 1, ", width=")) {
        const double width = 72 * strtod(at + strlen(", width="), NULL);
        const char *end = strstr(at, ">];");
        double line = 0, longest = 0, size = 11;
        int places = 0;
        for (const char *c = strstr(at, "label=<") + strlen("label=<"); c < end; c++) {
            if (strncmp(c, "<br/>", 5) == 0) {
                longest = line > longest ? line : longest;
                line = 0;
                size = 9;
            }
            if (*c == '<')
                c = strchr(c, '>');
            else if (*c == '&')
                c = strchr(c, ';'), line += 0.602 * size;
            else if (((unsigned char)*c & 0xC0) != 0x80)
                line += 0.602 * size;
            places++;
        }
        longest = line > longest ? line : longest;
        CHECK(places > 3 && width >= longest + 10);
        boxes++;
    }
    CHECK(boxes > 0);
}

static void test_fixture(void)
{
    hki_timeline *timeline = fixture_timeline();
    char *text = graph(timeline);
    char line[32];
    CHECK_EQ_I64(count_text(text, "label=<<b>"), FIXTURE_CALLS + 3 + 1); /* clusters, the title */
    CHECK_EQ_I64(count_text(text, " -> c"), timeline->dependency_count);
    CHECK_EQ_I64(count_text(text, "subgraph cluster_"), 3);
    CHECK_EQ_I64(count_text(text, "</b>, simulated"), 2);
    for (int i = 0; i < FIXTURE_CALLS; i++) {
        snprintf(line, sizeof line, "    c%d [", i);
        CHECK_EQ_I64(count_text(text, line), 1);
        for (int j = 0; j < timeline->calls[i].dependency_count; j++) {
            int earlier = timeline->dependencies[timeline->calls[i].first_dependency + j];
            snprintf(line, sizeof line, "  c%d -> c%d", earlier, i);
            CHECK(strstr(text, line));
        }
    }
    /* In its device's cluster: the sixteenth call runs on sim:0. */
    const char *sim_0 = strstr(text, "<b>sim:0</b>"), *sim_1 = strstr(text, "<b>sim:1</b>");
    const char *call = strstr(text, "    c15 [");
    CHECK(sim_0 && sim_1 && call && sim_0 < call && call < sim_1);
    CHECK_EQ_I64(count_text(text, "shape=octagon"), 4);
    CHECK_EQ_I64(count_text(text, "dashed"), 3);
    CHECK(strstr(text, "<b>log</b><font color=\"#b3141f\">: failed</font>"));
    CHECK(strstr(text, "<b>exp</b><font color=\"#b3141f\">: skipped</font>"));
    CHECK(strstr(text, "&#8594; float32(32,128)") && strstr(text, "<i>train.c:34</i>"));
    CHECK(strstr(text, "c0 -> c1 [color=") && strstr(text, "c1 -> c3;"));
    CHECK(strstr(text, "Incomplete: 3 records were lost."));
    check_widths(text);
    free(text);
    hki_timeline_destroy(timeline);
}

static void test_hostile(void)
{
    static const char *const texts[] = {
        "", " ", "\"];}</b>]]>&\\\x01\xFF\n\xE2\x82\xAC", "-> ", "a -> b -> c -> ", "</"};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        hki_timeline *timeline = fixture_timeline();
        const char *text = hki_timeline_text(timeline, texts[i]);
        timeline->title = text;
        for (int j = 0; j < timeline->call_count; j++)
            timeline->calls[j].operation = timeline->calls[j].shapes = timeline->calls[j].file =
                text;
        for (int j = 0; j < timeline->queue_count; j++)
            timeline->queues[j].device = text;
        free(graph(timeline));
        hki_timeline_destroy(timeline);
    }
}

/* What does not fit into a box is cut between characters. */
static void test_long(void)
{
    hki_timeline *timeline = fixture_timeline();
    char text[301] = "x";
    for (int i = 0; i < 100; i++)
        strcpy(text + 1 + 2 * i, "\xC3\xA9");
    timeline->calls[0].shapes = hki_timeline_text(timeline, text);
    timeline->calls[1].shapes = hki_timeline_text(timeline, text + 1);
    char *dot = graph(timeline);
    CHECK(strstr(dot, "\xC3\xA9\xE2\x80\xA6</font>"));
    CHECK(!strstr(dot, "\xEF\xBF\xBD"));
    free(dot);
    hki_timeline_destroy(timeline);
}

static void test_bounded(void)
{
    enum { CALLS = 5000 };
    hki_timeline *timeline = fixture_timeline();
    timeline->lost_records = 0;
    timeline->slice_count = timeline->wait_count = timeline->dependency_count = 0;
    free(timeline->calls);
    free(timeline->dependencies);
    timeline->calls = calloc(CALLS, sizeof *timeline->calls);
    timeline->dependencies = calloc(20 * CALLS, sizeof *timeline->dependencies);
    timeline->call_count = CALLS;
    for (int i = 0; i < CALLS; i++) {
        const char *none = hki_timeline_text(timeline, "");
        timeline->calls[i] = (hki_call_event){.sequence = (uint64_t)i,
                                              .operation = hki_timeline_text(timeline, "add"),
                                              .shapes = none,
                                              .file = none,
                                              .queue = i % timeline->queue_count,
                                              .first_dependency = timeline->dependency_count};
        for (int j = i < 20 ? 0 : i - 20; j < i; j++) {
            timeline->dependencies[timeline->dependency_count++] = j;
            timeline->calls[i].dependency_count++;
        }
    }
    char *dot = graph(timeline);
    CHECK(strlen(dot) < 200000);
    CHECK(strstr(dot, "Only the first 300 of 5000 calls are drawn."));
    CHECK(strstr(dot, "dependencies are drawn."));
    CHECK(!strstr(dot, "lost"));
    free(dot);
    hki_timeline_destroy(timeline);

    timeline = hki_timeline_create();
    free(graph(timeline));
    hki_timeline_destroy(timeline);
}

int main(void)
{
    test_fixture();
    test_hostile();
    test_long();
    test_bounded();
    return check_result();
}
