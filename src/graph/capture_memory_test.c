/* What a capture keeps in memory: no more than calls that nobody notes. */
#include "array/array.h"
#include "check.h"

#include <hocket/hocket.h>

#include <pthread.h>
#include <stdlib.h>

enum { MIB = 1 << 20, FLOATS = MIB / 4, LAYERS = 12 };

static uint64_t used(void)
{
    return hk_device_get_memory(hk_device_default()).used_bytes;
}

static uint64_t kept(void)
{
    return hk_device_get_memory(hk_device_default()).cached_bytes;
}

static hk_array *full(double value)
{
    return hk_full(hk_shape(FLOATS), value, HK_F32, hk_device_default());
}

static bool all_are(hk_array *x, float value)
{
    float sum = 0;
    HK_SCOPE;
    sum = (float)hk_item(hk_sum(x, NULL), NULL);
    return sum == value * FLOATS;
}

/* x + LAYERS, by temporaries of which two are there at a time; *most: what was in use at most. */
static hk_array *add_up(hk_array *x, uint64_t *most)
{
    hk_array *y = hk_add(x, 1);
    for (int i = 1; i < LAYERS; i++) {
        HK_SCOPE;
        hk_array *next = hk_take(hk_add(y, 1));
        hk_array_release(y);
        y = next;
        hk_wait(y);
        *most = used() > *most ? used() : *most;
    }
    return y;
}

/* Temporaries go while calls are noted, and replays make their own; a chain needs none. */
static void test_temporaries_go(bool exact)
{
    hk_array *x = full(1), *y;
    uint64_t before, most = 0;
    hk_wait_all(); /* what earlier calls held has gone */
    before = used();
    hk_capture_begin(&x, 1);
    y = add_up(x, &most);
    /* two, and what workers are about to let go of; all of them if the capture held them */
    CHECK(most <= before + LAYERS / 2 * MIB);
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = exact});
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK_EQ_I64(hk_graph_get_facts(graph).temporary_bytes, exact ? (LAYERS - 1) * MIB : 0);
    CHECK(all_are(y, 1 + LAYERS));
    hk_array *other = full(3);
    hk_replay(graph, &other, 1);
    CHECK(all_are(y, 3 + LAYERS));
    hk_array_release(other);
    hk_array_release(y);
    hk_array_release(x);
    hk_graph_release(graph);
    hk_wait_all();
    CHECK_EQ_I64((int64_t)used(), (int64_t)before - MIB);
}

/* What replays of a chain need no more is not kept for reuse either. */
static void test_chain_leaves_nothing(void)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(256, FLOATS / 256), 1, HK_F32, hk_device_default()), *y;
    hk_wait_all();
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *between = hk_relu(hk_add(hk_relu(x), 2));
        y = hk_take(hk_add(between, 1));
    }
    hk_wait_all(); /* what is freed while the capture ends may be kept */
    hk_graph *graph = hk_capture_end(NULL);
    CHECK_EQ_I64(hk_graph_get_facts(graph).tasks, 1);
    CHECK_EQ_I64(hk_graph_get_facts(graph).temporary_bytes, 0);
    CHECK(kept() < MIB);
    hk_replay(graph, &x, 1);
    CHECK(all_are(y, 4));
    hk_graph_release(graph);
    hk_array_release(y);
}

/* Memory that is freed and made again within a capture: small arrays, whose addresses come back at once. */
static void test_addresses_come_back(void)
{
    enum { ROUNDS = 300 };
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(4), HK_F32, hk_device_default());
    hk_capture_begin(&x, 1);
    for (int i = 0; i < ROUNDS; i++) {
        HK_SCOPE;
        hk_add_into(x, x, hk_add(hk_multiply(x, 0), i));
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
    CHECK_EQ_I64(hk_graph_get_facts(graph).temporary_bytes, (int64_t)ROUNDS * 2 * 16);
    hk_replay(graph, &x, 1);
    CHECK(hk_item(hk_index(x, 0, 3), NULL) == (double)ROUNDS * (ROUNDS - 1));
    hk_graph_release(graph);
}

/* What is put together of several parts is a temporary, too, unless the program keeps it. */
static void test_joined(bool exact)
{
    hk_array *x = full(1), *kept, *y;
    hk_wait_all(); /* what earlier calls held has gone */
    const uint64_t before = used();
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *joined = hk_concat((hk_array *[]){hk_add(x, 1), hk_add(x, 2), x}, 3, 0);
        kept = hk_take(hk_concat((hk_array *[]){x, hk_add(x, 4)}, 2, 0));
        y = hk_take(hk_multiply(joined, 2));
    }
    hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = exact});
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64((int64_t)(used() - before), 5 * MIB); /* kept and y */
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        hk_array *other = full(3 + i);
        hk_replay(graph, &other, 1);
        for (int part = 0; part < 3; part++)
            CHECK(all_are(hk_slice(y, 0, part * FLOATS, (part + 1) * FLOATS),
                          (float)(2 * (3 + i + (part + 1) % 3))));
        CHECK(all_are(hk_slice(kept, 0, 0, FLOATS), (float)(3 + i)));
        CHECK(all_are(hk_slice(kept, 0, FLOATS, 2 * FLOATS), (float)(7 + i)));
    }
    hk_wait_all();
    CHECK_EQ_I64((int64_t)(used() - before), 5 * MIB);
    hk_array_release(kept);
    hk_array_release(y);
    hk_array_release(x);
    hk_graph_release(graph);
    hk_wait_all();
    CHECK_EQ_I64((int64_t)used(), (int64_t)before - MIB);
}

static void *release_all(void *argument)
{
    hk_array **arrays = argument;
    for (int i = 0; i < 64; i++)
        hk_array_release(arrays[i]);
    return NULL;
}

/* Another thread drops the last handles while the capture looks for them: each is a temporary or the graph's. */
static void test_race(void)
{
    for (int round = 0; round < 50; round++) {
        hk_array *x = hk_full(hk_shape(300), 1, HK_F32, hk_device_default()), *results[64];
        pthread_t thread;
        hk_capture_begin(&x, 1);
        for (int i = 0; i < 64; i++)
            results[i] = hk_add(x, i);
        if (pthread_create(&thread, NULL, release_all, results) != 0)
            abort();
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = true});
        pthread_join(thread, NULL);
        CHECK(hk_ok(hk_graph_status(graph)));
        hk_replay(graph, &x, 1);
        hk_array_release(x);
        CHECK(hk_ok(hk_wait_all()));
        hk_graph_release(graph);
    }
    CHECK_EQ_I64((int64_t)used(), 0);
}

/* A capture that fails, or whose thread ends, lets go of all of it. */
static void *leave_capture(void *argument)
{
    hk_capture_begin((hk_array *const *)&argument, 1);
    hk_array_release(hk_add(argument, 1));
    return NULL;
}

static void test_failures(void)
{
    hk_array *x = full(1), *more = full(2);
    pthread_t thread;
    if (pthread_create(&thread, NULL, leave_capture, x) != 0)
        abort();
    pthread_join(thread, NULL);
    hk_capture_begin(&x, 1);
    hk_array_release(hk_add(x, 1));
    hk_array_release(hk_from_host(&(float){1}, hk_shape(1), HK_F32, hk_device_default()));
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(!hk_ok(hk_graph_status(graph)));
    hk_graph_release(graph);
    hk_array_release(x);
    hk_array_release(more);
    hk_wait_all();
    CHECK_EQ_I64((int64_t)used(), 0);
}

int main(void)
{
    CHECK(hk_ok(hk_runtime_init(NULL)));
    test_temporaries_go(true);
    test_temporaries_go(false);
    test_chain_leaves_nothing();
    test_joined(true);
    test_joined(false);
    test_addresses_come_back();
    hk_wait_all();
    test_race();
    test_failures();
    hk_runtime_deinit();
    return check_result();
}
