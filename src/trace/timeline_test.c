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

int main(void)
{
    texts_are_interned();
    fixture_is_in_order();
    return check_result();
}
