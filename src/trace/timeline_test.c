/* Timelines hold together: texts are one pointer each, and the fixture of the other tests is in order. */
#include "tests/check.h"
#include "trace/timeline_fixture.h"

static void texts_are_interned(void)
{
    enum { COUNT = 10000 };
    static const char *texts[COUNT];
    hki_timeline *timeline = hki_timeline_create();
    CHECK(timeline && !*timeline->title);
    CHECK(hki_timeline_text(timeline, "") == timeline->title);
    CHECK(hki_timeline_text(timeline, NULL) == timeline->title);
    char text[32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "text %d", i);
        texts[i] = hki_timeline_text(timeline, text);
        CHECK(texts[i] != text);
    }
    for (int i = 0; i < COUNT; i++) {
        snprintf(text, sizeof text, "text %d", i);
        CHECK_STR(texts[i], text);
        CHECK(hki_timeline_text(timeline, text) == texts[i]);
    }
    hki_timeline_destroy(timeline);
    hki_timeline_destroy(NULL);
}

static void fixture_is_in_order(void)
{
    hki_timeline *timeline = fixture_timeline();
    check_timeline(timeline);
    CHECK_EQ_I64(timeline->call_count, FIXTURE_CALLS);
    /* Every call is drawn: the two of several pieces twice. */
    CHECK_EQ_I64(timeline->slice_count, FIXTURE_CALLS + 2);
    hki_timeline_destroy(timeline);
}

/* As of a program that records long before it calls anything, and long after. */
static void trimming_begins_at_the_first_call(void)
{
    enum { LATER_NS = 700000000 };
    hki_timeline *timeline = fixture_timeline(), *late = fixture_timeline();
    hki_timeline_trim(timeline);
    for (int i = 0; i < late->call_count; i++) {
        hki_call_event *call = &late->calls[i];
        call->issue_ns += LATER_NS, call->ready_ns += LATER_NS, call->start_ns += LATER_NS;
        call->end_ns += LATER_NS, call->wall_start_ns += LATER_NS, call->wall_end_ns += LATER_NS;
    }
    for (int i = 0; i < late->slice_count; i++)
        late->slices[i].start_ns += LATER_NS, late->slices[i].end_ns += LATER_NS;
    for (int i = 0; i < late->wait_count; i++)
        late->waits[i].start_ns += LATER_NS, late->waits[i].end_ns += LATER_NS;
    for (int i = 0; i < late->point_count; i++)
        late->points[i].time_ns += LATER_NS;
    late->duration_ns += 2 * (int64_t)LATER_NS;
    hki_timeline_trim(late);
    check_timeline(late);
    CHECK_EQ_I64(late->calls[0].issue_ns, 0);
    CHECK_EQ_I64(late->duration_ns, timeline->duration_ns);
    CHECK(!memcmp(late->slices, timeline->slices,
                  (size_t)timeline->slice_count * sizeof *timeline->slices));
    hki_timeline_destroy(timeline);
    hki_timeline_destroy(late);

    hki_timeline *empty = hki_timeline_create();
    hki_timeline_trim(empty);
    CHECK_EQ_I64(empty->duration_ns, 0);
    hki_timeline_destroy(empty);
}

int main(void)
{
    texts_are_interned();
    fixture_is_in_order();
    trimming_begins_at_the_first_call();
    return check_result();
}
