/* The picture of lanes: well-formed, with everything in it that is to be seen; bounded however long the timeline. */
#include "tests/check.h"
#include "trace/timeline_fixture.h"

#include <ctype.h>

/* Whether tags are balanced, attributes quoted, and nothing stands in the text that XML forbids. */
static bool is_well_formed(const char *text)
{
    char open[32][32];
    int depth = 0;
    bool had_root = false;
    for (const char *c = text; *c; c++) {
        if ((unsigned char)*c < 0x20 && *c != '\n' && *c != '\t')
            return false;
        if (*c == '&' && strncmp(c, "&amp;", 5) && strncmp(c, "&lt;", 4) && strncmp(c, "&gt;", 4) &&
            strncmp(c, "&quot;", 6))
            return false;
        if (*c != '<')
            continue;
        bool is_end = c[1] == '/';
        const char *name = c + 1 + is_end;
        size_t length = 0;
        while (isalpha((unsigned char)name[length]))
            length++;
        if (!length || length >= sizeof open[0])
            return false;
        bool in_quotes = false;
        for (c = name + length; *c && (in_quotes || *c != '>'); c++) {
            if (*c == '<')
                return false;
            in_quotes ^= *c == '"';
        }
        if (!*c)
            return false;
        if (is_end) {
            if (!depth || strlen(open[depth - 1]) != length ||
                strncmp(open[depth - 1], name, length))
                return false;
            depth--;
        } else if (c[-1] != '/') {
            if (depth == 32 || (!depth && had_root))
                return false;
            snprintf(open[depth++], sizeof open[0], "%.*s", (int)length, name);
            had_root = true;
        }
    }
    return !depth && had_root;
}

static int count_text(const char *text, const char *what)
{
    int count = 0;
    for (const char *at = strstr(text, what); at; at = strstr(at + 1, what))
        count++;
    return count;
}

/* To be freed. */
static char *picture(const hki_timeline *timeline)
{
    hki_writer writer = {0};
    hki_timeline_write_svg(timeline, &writer);
    CHECK(!writer.is_failed);
    CHECK(writer.data && is_well_formed(writer.data));
    return writer.data;
}

static void test_fixture(void)
{
    hki_timeline *timeline = fixture_timeline();
    char *text = picture(timeline);
    CHECK(strstr(text, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1200\""));
    CHECK(strstr(text, ">train, one step</text>"));
    CHECK(strstr(text, "26 calls in 760 \xC2\xB5s"));
    CHECK(strstr(text, "3 records did not fit"));
    CHECK_EQ_I64(count_text(text, ">simulated</text>"), 2);
    CHECK_EQ_I64(count_text(text, ">copy out</text>"), 2);
    CHECK_EQ_I64(count_text(text, "class=\"process"), 4);
    CHECK_EQ_I64(count_text(text, "class=\"wait\""), 5 + 1); /* one in the legend */
    CHECK(strstr(text, "waited for workers to catch up\n3.00 \xC2\xB5s, train.c:49</title>"));
    CHECK(strstr(text, "waited for sim:0\n345 \xC2\xB5s, train.c:50</title>"));
    /* Every slice but the empty one, which is drawn in its failure's colour. */
    CHECK_EQ_I64(count_text(text, ", call "), timeline->slice_count - 1);
    CHECK_EQ_I64(count_text(text, "<path fill=\"#d1242f\""), 1);
    CHECK_EQ_I64(count_text(text, "stroke=\"#d1242f\""), 1);
    CHECK(strstr(text,
                 "<title>log: failed\nint64(64,) -&gt; float32(64,)\n4.00 \xC2\xB5s, call 23, "
                 "train.c:47</title>"));
    CHECK(strstr(text, "<title>load_batch, piece 2\n"));
    CHECK(strstr(text, ">600 \xC2\xB5s</text>") && !strstr(text, ">800 \xC2\xB5s</text>"));
    CHECK(strstr(text, "all_reduce<tspan class=\"amount\" dx=\"6\">250 \xC2\xB5s"));
    CHECK(strstr(text, "marker-end") && strstr(text, "<g class=\"arrows\">"));
    CHECK(!strstr(text, "<script") && !strstr(text, "href"));
    char *again = picture(timeline);
    CHECK_STR(again, text);
    free(again);
    free(text);
    hki_timeline_destroy(timeline);
}

static void test_hostile(void)
{
    hki_timeline *timeline = fixture_timeline();
    const char *text = hki_timeline_text(timeline, "\"/></svg><script>&\x01\xFF]]>\xE2\x82\xAC");
    timeline->title = text;
    for (int i = 0; i < timeline->call_count; i++)
        timeline->calls[i].operation = timeline->calls[i].shapes = timeline->calls[i].file = text;
    for (int i = 0; i < timeline->lane_count; i++)
        timeline->lanes[i].name = timeline->lanes[i].process = text;
    timeline->waits[0].device = text;
    char *svg = picture(timeline);
    CHECK(!strstr(svg, "<script"));
    free(svg);
    hki_timeline_destroy(timeline);
}

static void test_empty(void)
{
    hki_timeline *timeline = hki_timeline_create();
    char *text = picture(timeline);
    CHECK(strstr(text, "0 calls in 0 ns"));
    free(text);
    hki_timeline_destroy(timeline);
}

/* Lanes full of slices with small gaps; dependencies everywhere. */
static hki_timeline *long_timeline(int lanes, int slices)
{
    static const char *const operations[] = {"conv2d", "relu", "max_pool2d", "linear", "sgd"};
    hki_timeline *timeline = hki_timeline_create();
    timeline->duration_ns = (int64_t)slices * 1000;
    timeline->queue_count = 1;
    timeline->queues = calloc(1, sizeof *timeline->queues);
    timeline->queues[0].device = timeline->queues[0].name = "";
    timeline->lane_count = lanes;
    timeline->lanes = calloc((size_t)lanes, sizeof *timeline->lanes);
    timeline->call_count = timeline->slice_count = lanes * slices;
    timeline->calls = calloc((size_t)timeline->call_count, sizeof *timeline->calls);
    timeline->slices = calloc((size_t)timeline->call_count, sizeof *timeline->slices);
    timeline->dependencies = calloc((size_t)timeline->call_count, sizeof(int));
    for (int i = 0; i < lanes; i++) {
        char name[32];
        snprintf(name, sizeof name, "cpu:%d", i / 4);
        timeline->lanes[i] = (hki_lane){hki_timeline_text(timeline, name),
                                        hki_timeline_text(timeline, "core"), false};
    }
    for (int i = 0; i < timeline->call_count; i++) {
        int64_t start = (int64_t)(i % slices) * 1000;
        timeline->calls[i] = (hki_call_event){
            .sequence = (uint64_t)i + 1,
            .operation = hki_timeline_text(timeline, operations[i / 7 % 5]),
            .shapes = hki_timeline_text(timeline, "float32(256,20,28,28) -> float32(256,20,28,28)"),
            .file = hki_timeline_text(timeline, "a_rather_long_name_of_a_file.c"),
            .start_ns = start,
            .end_ns = start + 900,
            .first_dependency = timeline->dependency_count,
            .dependency_count = i > 0,
        };
        timeline->slices[i] = (hki_trace_slice){i, i / slices, -1, start, start + 900};
        if (i)
            timeline->dependencies[timeline->dependency_count++] = i / 2;
    }
    return timeline;
}

static void test_bounded(void)
{
    const struct {
        int lanes, slices;
    } sizes[] = {{1, 100000}, {8, 5000}, {300, 1000}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        hki_timeline *timeline = long_timeline(sizes[i].lanes, sizes[i].slices);
        char *text = picture(timeline);
        CHECK(strlen(text) < 2000000);
        CHECK(!strstr(text, "<g class=\"arrows\">"));
        CHECK(!strstr(text, "the first 96 of 300 lanes") == (sizes[i].lanes != 300));
        free(text);
        hki_timeline_destroy(timeline);
    }
}

int main(void)
{
    test_fixture();
    test_hostile();
    test_empty();
    test_bounded();
    return check_result();
}
