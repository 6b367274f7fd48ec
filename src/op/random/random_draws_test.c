/* Numbers and choices made of others: spread as they should be, by the seed alone; states; and what is refused. */
#include "check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <string.h>

enum { MANY = 40000 };

static hk_device device;

/* Within five standard errors of what is expected. */
static bool is_mean(const double *values, int64_t count, double mean, double variance)
{
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += values[i];
    return fabs(sum / (double)count - mean) < 5 * sqrt(variance / (double)count);
}

static double variance_of(const double *values, int64_t count)
{
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += values[i];
        squares += values[i] * values[i];
    }
    return squares / (double)count - sum / (double)count * (sum / (double)count);
}

static bool same(hk_array *x, hk_array *y)
{
    double *a = read_doubles(x), *b = read_doubles(y);
    const bool are = hk_size(x) == hk_size(y) && memcmp(a, b, (size_t)hk_size(x) * sizeof *a) == 0;
    free(a);
    free(b);
    return are;
}

static void test_moments(void)
{
    static const hk_dtype dtypes[] = {HK_F32, HK_F64};
    static const double concentrations[] = {0.3, 1, 4.5};
    for (int i = 0; i < 2; i++) {
        HK_SCOPE;
        hk_seed(11);
        double *values =
            read_doubles(hk_random_exponential_from(NULL, 2, hk_shape(MANY), dtypes[i], device));
        CHECK(is_mean(values, MANY, 2, 4) && fabs(variance_of(values, MANY) - 4) < 0.4);
        for (int j = 0; j < MANY; j++)
            CHECK(values[j] >= 0 && isfinite(values[j]));
        free(values);
        for (int k = 0; k < 3; k++) {
            const double a = concentrations[k];
            values =
                read_doubles(hk_random_gamma_from(NULL, a, 3, hk_shape(MANY), dtypes[i], device));
            CHECK(is_mean(values, MANY, 3 * a, 9 * a));
            CHECK(fabs(variance_of(values, MANY) - 9 * a) < 0.1 * 9 * a + 0.3);
            free(values);
        }
        values = read_doubles(hk_random_bernoulli(0.3, hk_shape(MANY), dtypes[i], device));
        CHECK(is_mean(values, MANY, 0.3, 0.21));
        free(values);
    }
}

/* Below its median lies half of what has concentration 1: it is exponential. */
static void test_gamma_shape(void)
{
    HK_SCOPE;
    int below = 0, tenth = 0;
    hk_seed(3);
    double *values = read_doubles(hk_random_gamma(1, hk_shape(MANY), HK_F64, device));
    for (int i = 0; i < MANY; i++) {
        below += values[i] < log(2);
        tenth += values[i] < -log(0.9);
    }
    CHECK(abs(below - MANY / 2) < 5 * sqrt(MANY * 0.25));
    CHECK(abs(tenth - MANY / 10) < 5 * sqrt(MANY * 0.09));
    free(values);
    /* A part is the part of the whole. */
    hk_seed(3);
    hk_array *whole = hk_random_gamma(1, hk_shape(MANY), HK_F64, device);
    hk_seed(3);
    CHECK(same(hk_slice(whole, 0, 0, 101), hk_random_gamma(1, hk_shape(101), HK_F64, device)));
}

/* Each number once; each place as often. */
static void test_permutation(void)
{
    int64_t first[5] = {0};
    hk_generator *generator = hk_generator_create(5);
    for (int i = 0; i < 2000; i++) {
        HK_SCOPE;
        int64_t order[5], seen = 0;
        hk_array *x = hk_random_permutation_from(generator, 5, device);
        CHECK(hk_ok(hk_to_host(x, order, sizeof order)));
        for (int j = 0; j < 5; j++)
            seen |= 1 << order[j];
        CHECK(seen == 31);
        first[order[0]]++;
    }
    for (int i = 0; i < 5; i++)
        CHECK(fabs((double)first[i] - 400) < 5 * sqrt(2000 * 0.16));
    hk_generator_release(generator);
    HK_SCOPE;
    CHECK(hk_size(hk_random_permutation(0, device)) == 0);
    CHECK(fails_with(hk_random_permutation(-1, device), HK_OUT_OF_RANGE, "n is -1"));
}

/* Rows stay whole, and their gradients go back to where they were. */
static void test_shuffle(void)
{
    HK_SCOPE;
    hk_array *x = hk_reshape(hk_arange(0, 20, 1, HK_F64, device), hk_shape(10, 2));
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_seed(9);
    hk_record_begin();
    hk_array *y = hk_random_shuffle(x), *z = hk_square(y);
    hk_record_end();
    double *rows = read_doubles(y), sum = 0;
    for (int i = 0; i < 10; i++) {
        CHECK(rows[2 * i + 1] == rows[2 * i] + 1);
        sum += rows[2 * i];
    }
    CHECK(sum == 90 && !same(x, y));
    CHECK(hk_ok(hk_backward(z)));
    CHECK(same(hk_grad(x), hk_multiply(x, 2)));
    CHECK(is_refused(hk_random_shuffle(hk_ones(hk_shape(), HK_F32, device)), "x has no axes"));
    free(rows);
}

/* As often as expected, of so many; `positive` says which may occur at all. */
static void check_frequencies(hk_array *choices, const double *share, int n)
{
    double *chosen = read_doubles(choices);
    int64_t counts[8] = {0}, count = hk_size(choices);
    for (int64_t i = 0; i < count; i++) {
        CHECK(chosen[i] >= 0 && chosen[i] < n);
        counts[(int)chosen[i]]++;
    }
    for (int i = 0; i < n; i++)
        CHECK(fabs((double)counts[i] - share[i] * (double)count) <=
              5 * sqrt((double)count * share[i] * (1 - share[i])));
    free(chosen);
}

static void test_choice(void)
{
    HK_SCOPE;
    const double weights[] = {0, 1, 0, 3, 0}, shares[] = {0, 0.25, 0, 0.75, 0},
                 even[] = {0.2, 0.2, 0.2, 0.2, 0.2};
    hk_array *w = hk_from_host(weights, hk_shape(5), HK_F64, device);
    hk_seed(2);
    check_frequencies(hk_random_choice(5, hk_shape(200, 100), true, NULL, device), even, 5);
    check_frequencies(hk_random_choice(5, hk_shape(200, 100), true, w, device), shares, 5);
    check_frequencies(hk_random_choice(5, hk_shape(MANY), true, hk_cast(w, HK_F32), device), shares,
                      5);
    int64_t pair[2], first = 0;
    for (int i = 0; i < 1000; i++) {
        HK_SCOPE;
        CHECK(hk_ok(
            hk_to_host(hk_random_choice(5, hk_shape(2), false, w, device), pair, sizeof pair)));
        CHECK(pair[0] + pair[1] == 4 && (pair[0] == 1 || pair[0] == 3));
        first += pair[0] == 3;
    }
    CHECK(fabs((double)first - 750) < 5 * sqrt(1000 * 0.1875));
    double *all = read_doubles(hk_random_choice(6, hk_shape(2, 3), false, NULL, device)), sum = 0;
    for (int i = 0; i < 6; i++)
        sum += exp2(all[i]);
    CHECK(sum == 63);
    free(all);
    CHECK(hk_size(hk_random_choice(0, hk_shape(0, 2), true, NULL, device)) == 0);
}

static void test_choice_refusals(void)
{
    HK_SCOPE;
    const double some[] = {1, -1, 0}, few[] = {0, 1, 0}, endless[] = {1, INFINITY, 0};
    hk_array *negative = hk_from_host(some, hk_shape(3), HK_F64, device),
             *one = hk_from_host(few, hk_shape(3), HK_F64, device),
             *far = hk_from_host(endless, hk_shape(3), HK_F64, device);
    CHECK(fails_with(hk_random_choice(3, hk_shape(2), true, negative, device), HK_BAD_DATA,
                     "weights[1] is -1"));
    CHECK(fails_with(hk_random_choice(3, hk_shape(2), true, far, device), HK_BAD_DATA,
                     "weights[1] is inf"));
    CHECK(fails_with(hk_random_choice(3, hk_shape(2), false, one, device), HK_BAD_DATA,
                     "1 weights are more than 0, but 2 must be"));
    CHECK(fails_with(hk_random_choice(3, hk_shape(2), true, hk_zeros_like(one), device),
                     HK_BAD_DATA, "0 weights are more than 0"));
    CHECK(fails_with(hk_random_choice(3, hk_shape(2, 2), false, NULL, device), HK_OUT_OF_RANGE,
                     "n is 3"));
    CHECK(fails_with(hk_random_choice(0, hk_shape(2), true, NULL, device), HK_OUT_OF_RANGE,
                     "n is 0"));
    CHECK(is_refused(hk_random_choice(4, hk_shape(2), true, one, device), "the shape (4,)"));
    CHECK(fails_with(hk_random_bernoulli(1.5, hk_shape(2), HK_F32, device), HK_OUT_OF_RANGE,
                     "probability is 1.5"));
    CHECK(fails_with(hk_random_exponential_from(NULL, NAN, hk_shape(2), HK_F32, device),
                     HK_OUT_OF_RANGE, "scale is"));
    CHECK(is_refused(hk_random_exponential(hk_shape(2), HK_I32, device), "dtype is int32"));
    CHECK(is_refused(hk_random_gamma(0, hk_shape(2), HK_F32, device), "concentration is 0"));
    CHECK(is_refused(hk_random_gamma(1, hk_shape(2), HK_F16, device), "dtype is float16"));
    CHECK(is_refused(hk_random_categorical(hk_ones(hk_shape(), HK_F32, device)), "no axes"));
    hk_failures_clear();
}

static void test_categorical(void)
{
    HK_SCOPE;
    const float logits[] = {0, -INFINITY, 1.0986123f, -INFINITY};
    const double shares[] = {0.25, 0, 0.75, 0};
    hk_array *row = hk_from_host(logits, hk_shape(4), HK_F32, device);
    hk_seed(4);
    hk_array *rows = hk_broadcast_to(row, hk_shape(100, 200, 4));
    hk_array *chosen = hk_random_categorical(rows);
    CHECK(hk_ndim(chosen) == 2 && hk_dim(chosen, 1) == 200);
    check_frequencies(chosen, shares, 4);
}

static void test_integers(void)
{
    static const hk_dtype dtypes[] = {HK_I8, HK_I16, HK_I32, HK_I64, HK_U8, HK_U16, HK_U32, HK_U64};
    const double even[] = {1 / 7., 1 / 7., 1 / 7., 1 / 7., 1 / 7., 1 / 7., 1 / 7.};
    for (int i = 0; i < 8; i++) {
        HK_SCOPE;
        check_frequencies(hk_random_int(0, 7, hk_shape(MANY / 4), dtypes[i], device), even, 7);
    }
}

/* A stream goes on where its state says, in a generator and in the thread. */
static void test_states(void)
{
    HK_SCOPE;
    hk_generator *generator = hk_generator_create(21), *other = hk_generator_create(1);
    hk_random_normal_from(generator, 0, 1, hk_shape(7), HK_F64, device);
    const hk_generator_state state = hk_generator_get_state(generator);
    CHECK(state.seed == 21 && state.stream == 0 && state.position == 4);
    hk_array *next = hk_random_gamma_from(generator, 2, 1, hk_shape(50), HK_F32, device);
    hk_generator_set_state(other, state);
    CHECK(same(next, hk_random_gamma_from(other, 2, 1, hk_shape(50), HK_F32, device)));
    CHECK(hk_generator_get_state(other).position == hk_generator_get_state(generator).position);
    hk_generator_set_state(NULL, state);
    CHECK(same(next, hk_random_gamma(2, hk_shape(50), HK_F32, device)));
    const hk_generator_state thread = {5, 3, 100};
    hk_generator_set_state(NULL, thread);
    next = hk_random_permutation(30, device);
    CHECK(hk_generator_get_state(NULL).stream == 3 && hk_generator_get_state(NULL).position == 115);
    hk_generator_set_state(NULL, thread);
    CHECK(same(next, hk_random_permutation(30, device)));
    hk_generator_release(generator);
    hk_generator_release(other);
}

static hk_array *drawn(hk_array *weights)
{
    hk_array *numbers = hk_random_gamma(3, hk_shape(6), HK_F64, device);
    hk_array *places = hk_random_choice(6, hk_shape(6), false, weights, device);
    return hk_add(numbers, hk_cast(places, HK_F64));
}

/* A replay goes on where the stream is, as calls would. */
static void test_replays(void)
{
    HK_SCOPE;
    hk_array *kept = hk_zeros(hk_shape(3, 6), HK_F64, device),
             *weights = hk_ones(hk_shape(6), HK_F64, device);
    hk_array *rows[3];
    for (int i = 0; i < 3; i++)
        rows[i] = hk_index(kept, 0, i);
    hk_seed(8);
    hk_capture_begin(&rows[0], 1);
    hk_assign(rows[0], drawn(weights));
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int i = 1; i < 3; i++)
        hk_replay(graph, &rows[i], 1);
    hk_seed(8);
    for (int i = 0; i < 3; i++)
        CHECK(same(rows[i], drawn(weights)));
    hk_graph_release(graph);
}

int main(void)
{
    device = hk_device_default();
    test_moments();
    test_gamma_shape();
    test_permutation();
    test_shuffle();
    test_choice();
    test_choice_refusals();
    test_categorical();
    test_integers();
    test_states();
    test_replays();
    return check_result();
}
