/* What replays as one task do to be recorded ones, and with fewer kernels: arrays that lie elsewhere at each replay have
 * stand-ins, and calls that go element by element are fused. */
#include "check.h"
#include "cuda/captures_fixture.h"

#include <hocket/hocket.h>

enum { SIZE = 100 };

enum { LOADED = 120, MOST_AHEAD = 16 };

/* out = sum(x * x) of rows, in an element of `sums` that is another one at each replay. */
static void sum_squares(hk_array *x, hk_array *out)
{
    HK_SCOPE;
    hk_assign(out, hk_add(hk_sum(hk_square(x), NULL), 1));
}

/* As a loader does: each batch is a new array, and so many of them are there before the first one is used; what is written
 * is a slice of one array. Nearly all replays are recorded ones. */
static void test_loader(int ahead)
{
    begin(HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        float actual[LOADED], expected[LOADED];
        hk_array *batches[MOST_AHEAD], *sums[2];
        hk_graph *graph = NULL;
        for (int i = 0; i < 2; i++)
            sums[i] = hk_zeros(hk_shape(LOADED), HK_F32, gpu());
        for (int i = 0; i < LOADED + ahead; i++) {
            HK_SCOPE;
            hk_array *fresh = i < LOADED ? hk_take(numbers(hk_shape(SIZE, 2), i)) : NULL;
            if (i >= ahead) {
                hk_array *x = batches[i % ahead];
                hk_array *bound[] = {x, hk_index(sums[0], 0, i - ahead)};
                sum_squares(x, hk_index(sums[1], 0, i - ahead));
                if (graph) {
                    hk_replay(graph, bound, 2);
                } else {
                    hk_capture_begin(bound, 2);
                    sum_squares(x, bound[1]);
                    graph = hk_capture_end(NULL);
                }
                hk_array_release(x);
            }
            batches[i % ahead] = fresh;
        }
        CHECK(hk_ok(hk_to_host(sums[0], actual, sizeof actual)));
        CHECK(hk_ok(hk_to_host(sums[1], expected, sizeof expected)));
        CHECK(!memcmp(actual, expected, sizeof actual));
        CHECK(expected[0] != expected[1]);
        CHECK(hk_graph_get_facts(graph).recorded_replays * 100 >= (LOADED - 1) * 95);
        hk_graph_release(graph);
    }
    end(0);
}

/* Of what is written, the rest stays: every second element of an array that is another one each time, others of which an
 * earlier call has written; and an array that is read and written. */
static void test_strided_outputs(void)
{
    begin(HK_ENGINE_DEFAULT);
    hk_graph *graph = NULL;
    for (int i = 0; i < 6; i++) {
        HK_SCOPE;
        float values[2 * SIZE], in[SIZE], sum[SIZE];
        hk_array *pad = hk_zeros(hk_shape(i + 1, SIZE), HK_F32, gpu()); /* moves what comes */
        hk_array *x = numbers(hk_shape(SIZE), i), *both = numbers(hk_shape(SIZE, 2), i + 50);
        hk_array *total = hk_full(hk_shape(SIZE), i, HK_F32, gpu());
        hk_array *bound[] = {x, hk_slice(both, 1, 1, 2), total};
        CHECK(hk_ok(hk_to_host(both, values, sizeof values)) &&
              hk_ok(hk_to_host(x, in, sizeof in)));
        if (!graph)
            hk_capture_begin(bound, 3);
        else
            hk_replay(graph, bound, 3);
        if (!graph) {
            HK_SCOPE;
            hk_assign(bound[1], hk_reshape(hk_add(x, 2), hk_shape(SIZE, 1)));
            hk_add_into(total, total, x);
            graph = hk_capture_end(NULL);
        }
        float after[2 * SIZE];
        CHECK(hk_ok(hk_to_host(both, after, sizeof after)));
        CHECK(hk_ok(hk_to_host(total, sum, sizeof sum)));
        for (int j = 0; j < SIZE; j++)
            CHECK(after[2 * j] == values[2 * j] && after[2 * j + 1] == in[j] + 2 &&
                  sum[j] == (float)i + in[j]);
        hk_array_release(hk_take(pad));
    }
    CHECK(hk_graph_get_facts(graph).recorded_replays >= 4);
    hk_graph_release(graph);
    end(0);
}

/* Copying this would take longer than to launch two calls. */
static void test_large_batches(void)
{
    begin(HK_ENGINE_DEFAULT);
    hk_graph *graph = NULL;
    hk_array *kept[6];
    for (int i = 0; i < 6; i++) {
        HK_SCOPE;
        kept[i] = hk_take(hk_full(hk_shape(1 << 20), i, HK_F32, gpu()));
        if (i > 0) {
            hk_replay(graph, &kept[i], 1);
        } else {
            hk_capture_begin(&kept[0], 1);
            hk_add_into(kept[0], kept[0], 1);
            hk_add_into(kept[0], kept[0], 1);
            graph = hk_capture_end(NULL);
        }
    }
    for (int i = 0; i < 6; i++) {
        HK_SCOPE;
        CHECK(hk_item(hk_max(kept[i], NULL), NULL) == i + 2);
        hk_array_release(kept[i]);
    }
    CHECK(hk_graph_get_facts(graph).recorded_replays == 0);
    hk_graph_release(graph);
    end(0);
}

/* Element by element, what is fused has the bytes that the calls have: of sizes and places that allow packs or not, with
 * scalars, in place, with results that are looked at and such that are not. */
static hk_array *chain(hk_array *x, hk_array *y, hk_array *kept)
{
    hk_array *one = hk_sigmoid(hk_add(hk_multiply(x, y), hk_sum(y, NULL)));
    hk_assign(kept, hk_exp(hk_multiply(one, -0.5)));
    hk_add_into(y, y, kept);
    hk_array *two = hk_maximum(hk_subtract(hk_tanh(y), one), hk_multiply(x, 0.1));
    for (int i = 0; i < 9; i++) /* more than one kernel takes */
        two = hk_add(hk_square(two), 0.25);
    return hk_divide(two, hk_add(hk_abs(x), 1));
}

static void test_fused(int64_t size, int64_t begin_at)
{
    enum { REPLAYS = 5 };
    float values[2][REPLAYS][3][MAX_VALUES];
    begin(HK_ENGINE_DEFAULT);
    for (int exact = 0; exact < 2; exact++) {
        HK_SCOPE;
        hk_array *arrays[4];
        for (int i = 0; i < 4; i++)
            arrays[i] =
                hk_slice(numbers(hk_shape(size + begin_at), i), 0, begin_at, size + begin_at);
        hk_capture_begin(arrays, 4);
        {
            HK_SCOPE;
            hk_assign(arrays[3], chain(arrays[0], arrays[1], arrays[2]));
        }
        hk_graph *graph = hk_capture_end(&(hk_capture_options){.exact = exact});
        CHECK(!hk_status_print(hk_graph_status(graph), stderr));
        CHECK(exact ? hk_graph_get_facts(graph).fused_calls == 0
                    : hk_graph_get_facts(graph).fused_calls >= 20);
        for (int i = 0; i < REPLAYS; i++) {
            hk_replay(graph, arrays, 4);
            for (int j = 0; j < 3; j++)
                CHECK(hk_ok(
                    hk_to_host(arrays[1 + j], values[exact][i][j], (size_t)size * sizeof(float))));
        }
        for (int i = 0; i < REPLAYS; i++)
            for (int j = 0; exact && j < 3; j++)
                CHECK(!memcmp(values[0][i][j], values[1][i][j], (size_t)size * sizeof(float)));
        CHECK(exact || hk_graph_get_facts(graph).recorded_replays >= REPLAYS - 1);
        hk_graph_release(graph);
    }
    end(0);
}

/* What is read one element further on is not done at once. */
static void test_shifted(void)
{
    begin(HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        float values[SIZE], expected[SIZE];
        hk_array *x = numbers(hk_shape(SIZE), 4);
        CHECK(hk_ok(hk_to_host(x, expected, sizeof expected)));
        hk_array *head = hk_slice(x, 0, 0, SIZE - 1), *tail = hk_slice(x, 0, 1, SIZE);
        hk_capture_begin(NULL, 0);
        {
            HK_SCOPE;
            hk_add_into(head, head, 1);
            hk_multiply_into(tail, tail, 2);
        }
        hk_graph *graph = hk_capture_end(NULL);
        CHECK_EQ_I64(hk_graph_get_facts(graph).fused_calls, 0);
        for (int i = 0; i < 3; i++)
            hk_replay(graph, NULL, 0);
        CHECK(hk_ok(hk_to_host(x, values, sizeof values)));
        for (int i = 0; i < 4; i++) /* and when it was captured */
            for (int j = 0; j < SIZE; j++)
                expected[j] = (expected[j] + (j < SIZE - 1 ? 1.f : 0.f)) * (j > 0 ? 2.f : 1.f);
        CHECK(!memcmp(values, expected, sizeof values));
        hk_graph_release(graph);
    }
    end(0);
}

/* What a step draws, from the thread's stream and a generator, weighted so that the order matters; of no elements, too. */
static void draw(hk_generator *generator, hk_array *x, hk_array *sum)
{
    HK_SCOPE;
    const hk_dims shape = hk_shape(SIZE, 2);
    hk_array *drawn = hk_random_uniform(shape, HK_F32, gpu());
    hk_random_normal(hk_shape(0), HK_F32, gpu());
    drawn = hk_add(hk_multiply(drawn, 0.75),
                   hk_random_normal_from(generator, 1, 2, shape, HK_F32, gpu()));
    drawn = hk_add(drawn, hk_cast(hk_random_int(0, 50, shape, HK_I32, gpu()), HK_F32));
    drawn = hk_add(drawn, hk_random_gamma(2, shape, HK_F32, gpu()));
    hk_assign(sum, hk_add(hk_multiply(sum, 0.5), hk_multiply(drawn, x)));
}

/* Steps that draw are recorded like others, and each replay draws what the calls would have drawn, whatever has been drawn and
 * sown in between. */
static void test_draws(void)
{
    enum { STEPS = 12, SOWN = 7 };
    float values[2][2 * SIZE], after[2];
    begin(HK_ENGINE_DEFAULT);
    for (int captures = 0; captures < 2; captures++) {
        HK_SCOPE;
        hk_generator *generator = hk_generator_create(3);
        hk_graph *graph = NULL;
        hk_array *x = numbers(hk_shape(SIZE, 2), 5),
                 *sum = hk_zeros(hk_shape(SIZE, 2), HK_F32, gpu());
        hk_seed(11);
        for (int i = 0; i < STEPS; i++) {
            HK_SCOPE;
            if (i == SOWN)
                hk_seed(99);
            hk_random_uniform(hk_shape(i), HK_F32, gpu());
            if (graph) {
                hk_replay(graph, NULL, 0);
                continue;
            }
            if (captures)
                hk_capture_begin(NULL, 0);
            draw(generator, x, sum);
            if (captures)
                graph = hk_capture_end(NULL);
        }
        CHECK(hk_ok(hk_to_host(sum, values[captures], sizeof values[0])));
        CHECK(hk_ok(hk_to_host(hk_random_uniform(hk_shape(1), HK_F32, gpu()), &after[captures],
                               sizeof after[0])));
        if (graph)
            CHECK(hk_graph_get_facts(graph).recorded_replays >= STEPS - 2);
        hk_graph_release(graph);
        hk_generator_release(generator);
    }
    CHECK(!memcmp(values[0], values[1], sizeof values[0]));
    CHECK(after[0] == after[1]);
    end(0);
}

int main(void)
{
    test_draws();
    for (int ahead = 1; ahead <= MOST_AHEAD; ahead++)
        test_loader(ahead);
    test_strided_outputs();
    test_fused(64, 0);
    test_fused(61, 0);
    test_fused(64, 1);
    test_fused(1, 0);
    test_shifted();
    test_large_batches();
    return check_result();
}
