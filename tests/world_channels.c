/* Arrays on GPUs of ranks: that they go from GPU to GPU where they can, by channels, and come out the same where they cannot. For
 * several ranks on emulated GPUs: cmake/world_tests.cmake.
 *
 *   world_channels KIND
 *     direct   all of it by channels
 *     groups   several groups at once
 *     host     none of it
 *     refused  the last rank cannot open one, so all go by the host
 *     demands  the same where they must not: their calls fail */
#include "check.h"
#include "same_bytes.h"

#include <hocket/hocket.h>
#include <stdlib.h>

enum { MAX_RANKS = 8, COUNT = 50021 };

static hk_group *all;
static int rank, size;
static hk_device gpu, other_gpu, host;
static bool is_direct;

static hk_array *make(int whose, hk_dims shape, hk_device device)
{
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++)
        count *= shape.dims[i];
    float *values = malloc((size_t)count * sizeof *values);
    for (int64_t i = 0; i < count; i++)
        values[i] = (float)(((i * 2654435761u + (unsigned)whose * 40503u) >> 7) % 1000003) / 997.0f;
    hk_array *x = hk_copy(hk_from_host(values, shape, HK_F32, device));
    free(values);
    return x;
}

/* In one process, on the host. */
static hk_array *expected_sum(hk_dims shape)
{
    hk_array *arrays[MAX_RANKS];
    for (int r = 0; r < size; r++)
        arrays[r] = make(r, shape, host);
    hk_all_reduce(arrays, size);
    return arrays[0];
}

static uint64_t copies_of(hk_device device)
{
    return hk_device_get_stats(device, HK_QUEUE_COPY_OUT).calls +
           hk_device_get_stats(device, HK_QUEUE_COPY_IN).calls;
}

/* ---- what is moved, and by which way ------------------------------------------------------------------------ */

typedef hk_array *(*move)(hk_array *x);

static hk_array *all_reduce(hk_array *x)
{
    hk_group_all_reduce(all, &x, 1, 1, 30000);
    return x;
}

static hk_array *broadcast(hk_array *x)
{
    hk_group_broadcast(all, &x, 1, 1, size - 1);
    return x;
}

static hk_array *all_gather(hk_array *x)
{
    return hk_group_all_gather(all, x);
}

static hk_array *reduce_scatter(hk_array *x)
{
    return hk_group_reduce_scatter(all, x);
}

static hk_array *all_to_all(hk_array *x)
{
    return hk_group_all_to_all(all, x);
}

static hk_array *expected(move how, hk_dims shape)
{
    hk_array *parts[MAX_RANKS];
    const int64_t each = shape.dims[0] / size;
    if (how == all_reduce)
        return expected_sum(shape);
    if (how == broadcast)
        return make(size - 1, shape, host);
    if (how == reduce_scatter)
        return hk_slice(expected_sum(shape), 0, rank * each, (rank + 1) * each);
    for (int r = 0; r < size; r++) {
        parts[r] = make(r, shape, host);
        if (how == all_to_all)
            parts[r] = hk_slice(parts[r], 0, rank * each, (rank + 1) * each);
    }
    return hk_concat(parts, size, 0);
}

static void test_moves(void)
{
    static const move moves[] = {all_reduce, broadcast, all_gather, reduce_scatter, all_to_all};
    const hk_dims shape = hk_shape(2 * size, 4999);
    CHECK(same_bytes(all_reduce(make(rank, shape, gpu)), expected_sum(shape))); /* opens one */
    for (size_t i = 0; i < sizeof moves / sizeof *moves; i++)
        for (int small = 0; small < 2; small++) {
            HK_SCOPE;
            const hk_dims its = small ? hk_shape(2 * size, 3) : shape;
            hk_array *x = make(rank, its, gpu);
            CHECK(hk_ok(hk_wait(x)));
            const uint64_t before = copies_of(gpu);
            hk_array *y = moves[i](x);
            CHECK(hk_ok(hk_wait(y)));
            CHECK((copies_of(gpu) == before) == is_direct);
            CHECK(same_bytes(y, expected(moves[i], its)));
        }
}

/* Many sums under way, each behind what computes on its array, and before it. */
static void test_many(void)
{
    HK_SCOPE;
    enum { SUMS = 30, ROUNDS = 3 };
    hk_array *arrays[SUMS];
    for (int i = 0; i < SUMS; i++)
        arrays[i] = hk_full(hk_shape(100 + 1000 * i), rank + i, HK_F32, gpu);
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < SUMS; i++) {
            hk_group_all_reduce(all, &arrays[i], 1, 1, 0);
            arrays[i] = hk_multiply(arrays[i], 1.0 / size);
        }
    for (int i = 0; i < SUMS; i++) {
        const double mean = hk_item(hk_min(arrays[i], NULL), NULL);
        CHECK(mean == hk_item(hk_max(arrays[i], NULL), NULL));
        const double wanted = i + (size - 1) / 2.0;
        CHECK(mean > wanted * (1 - 1e-6) && mean < wanted * (1 + 1e-6));
    }
}

/* Ranks differ in which of their devices an array is on: on some it is the host, or in its turn another GPU. */
static void test_mixed(void)
{
    for (int odd = 0; odd <= size; odd++)
        for (int kind = 0; kind < 2; kind++) {
            HK_SCOPE;
            const hk_device unlike = kind ? other_gpu : host;
            hk_array *x = make(rank, hk_shape(COUNT), rank == odd || odd == size ? unlike : gpu);
            hk_array *y = make(rank, hk_shape(2 * size, 5), rank == odd ? unlike : gpu);
            hk_array *sum = expected_sum(hk_shape(COUNT));
            hk_group_all_reduce(all, &x, 1, 1, 0);
            CHECK(same_bytes(x, sum));
            CHECK(same_bytes(hk_group_all_to_all(all, y),
                             expected(all_to_all, hk_shape(2 * size, 5))));
            hk_group_broadcast(all, &x, 1, 1, 0);
            CHECK(same_bytes(x, sum));
        }
}

/* More groups than a process may have channels, and two of them in opposite orders. */
static void test_groups(void)
{
    HK_SCOPE;
    enum { GROUPS = 6 };
    hk_group *groups[GROUPS];
    hk_array *x[GROUPS], *sum = expected_sum(hk_shape(COUNT));
    for (int g = 0; g < GROUPS; g++) {
        groups[g] = hk_group_split(all, 0, 0);
        x[g] = make(rank, hk_shape(COUNT), gpu);
        hk_group_all_reduce(groups[g], &x[g], 1, 1, 0);
    }
    for (int g = 0; g < GROUPS; g++)
        CHECK(same_bytes(x[g], sum));
    for (int i = 0; i < 2; i++) {
        const int g = rank % 2 ? 1 - i : i;
        x[g] = make(rank, hk_shape(COUNT), gpu);
        hk_group_all_reduce(groups[g], &x[g], 1, 1, 10000);
    }
    for (int g = 0; g < 2; g++)
        CHECK(same_bytes(x[g], sum));
}

/* ---- what fails ------------------------------------------------------------------------------------------------ */

static void check_failed(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_wait(x);
    CHECK_EQ_I64(hk_status_code(status), code);
    CHECK(strstr(hk_status_message(status), text));
    if (!strstr(hk_status_message(status), text))
        hk_status_print(status, stderr);
    hk_wait_all();
    hk_failures_clear();
}

/* No byte has moved. */
static void test_mismatch(void)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(COUNT + (rank == size - 1)), rank, HK_F32, gpu);
    hk_group_all_reduce(all, &x, 1, 1, 0);
    check_failed(x, HK_INVALID_ARGUMENT, "rank 0 calls group_all_reduce of 50021 float32");
    hk_recover(x);
    CHECK(hk_item(hk_index(x, 0, COUNT - 1), NULL) == rank);
    hk_array *y = make(rank, hk_shape(COUNT), gpu);
    hk_group_all_reduce(all, &y, 1, 1, 0);
    CHECK(same_bytes(y, expected_sum(hk_shape(COUNT))));
}

/* The calls that must not go by the host fail, with the reason, and nothing else does. */
static void test_demands(void)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(COUNT), rank, HK_F32, gpu);
    hk_group_all_reduce(all, &x, 1, 1, 0);
    check_failed(x, HK_UNSUPPORTED, ": ncclCommInitRankConfig: ");
    hk_recover(x);
    CHECK(hk_item(hk_index(x, 0, COUNT - 1), NULL) == rank);
    hk_array *y = hk_full(hk_shape(3), rank, HK_F32, rank ? host : gpu);
    hk_group_all_reduce(all, &y, 1, 1, 0);
    check_failed(y, HK_UNSUPPORTED, "not all ranks have their arrays on accelerators");
    hk_array *z = make(rank, hk_shape(COUNT), host);
    hk_group_all_reduce(all, &z, 1, 1, 0);
    CHECK(same_bytes(z, expected_sum(hk_shape(COUNT))));
}

int main(int count, char **arguments)
{
    const char *kind = count > 1 ? arguments[1] : "";
    if (!*kind)
        return 0;
    const bool refuses = !strcmp(kind, "refused") || !strcmp(kind, "demands");
    is_direct = !strcmp(kind, "direct");
    setenv("HOCKET_WORLD_ROUTE",
           !strcmp(kind, "host")      ? "host"
           : !strcmp(kind, "demands") ? "direct"
                                      : "auto",
           1);
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1});
    gpu = hk_device_named("cuda:0");
    other_gpu = hk_device_named("cuda:1");
    host = hk_device_named("cpu:0");
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    all = hk_group_world();
    rank = hk_world_rank();
    size = hk_world_size();
    CHECK(size == (getenv("WORLD_RANKS") ? atoi(getenv("WORLD_RANKS")) : 1));
    if (refuses && rank == size - 1) /* as it is asked for, which comes later */
        setenv("HOCKET_EMULATED_CUDA_REFUSES", "3,ncclCommInitRankConfig", 1);
    if (!strcmp(kind, "demands")) {
        test_demands();
    } else if (!strcmp(kind, "groups")) {
        test_groups();
    } else {
        test_moves();
        test_many();
        test_mismatch();
        test_mixed();
    }
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
