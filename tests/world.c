/* What ranks do together, against what one process computes by itself. Run alone, and by each launcher with several ranks: see
 * cmake/world_tests.cmake. */
#include "check.h"
#include "same_bytes.h"

#include <dlfcn.h>
#include <hocket/hocket.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEVICES = 2, MAX_RANKS = 8, MAX_ALL = DEVICES * MAX_RANKS };

static hk_group *all;
static int rank, size;
static hk_device devices[DEVICES], host;

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static bool is_serial(void)
{
    const char *engine = getenv("HOCKET_ENGINE");
    return engine && !strcmp(engine, "serial");
}

/* Which ranks take their turn where one of them is to differ: each, but of eight some. */
static int next_turn(int whose)
{
    return whose + (size > 4 ? 3 : 1);
}

/* ---- values ------------------------------------------------------------------------------------------------------ */

/* Whose sum depends on the order of the additions. */
static double value_of(int whose, int64_t i)
{
    return (double)(((i * 2654435761u + (unsigned)whose * 40503u) >> 7) % 1000003) / 997.0;
}

static hk_array *make(int whose, hk_dims shape, hk_dtype dtype, hk_device device)
{
    int64_t count = 1;
    for (int i = 0; i < shape.ndim; i++)
        count *= shape.dims[i];
    double *values = malloc((size_t)count * sizeof *values + 1);
    for (int64_t i = 0; i < count; i++)
        values[i] = dtype == HK_F32 || dtype == HK_F64 || dtype == HK_I64
                        ? value_of(whose, i)
                        : (double)((i + whose * 53) % 120);
    hk_array *x = hk_cast(hk_from_host(values, shape, HK_F64, host), dtype);
    free(values);
    return hk_copy(hk_to_device(x, device)); /* which may convert fewer dtypes */
}

/* What hk_all_reduce makes of the arrays of all ranks and devices in one process. */
static hk_array *expected_sum(int n, int seed, hk_dims shape, hk_dtype dtype)
{
    hk_array *arrays[MAX_ALL];
    for (int k = 0; k < size * n; k++)
        arrays[k] = make(seed + k, shape, dtype, devices[0]);
    hk_all_reduce(arrays, size * n);
    return arrays[0];
}

/* ---- sums ------------------------------------------------------------------------------------------------------- */

static void check_sum(int n, int64_t count, hk_dtype dtype, size_t bucket)
{
    HK_SCOPE;
    hk_array *arrays[DEVICES];
    for (int d = 0; d < n; d++)
        arrays[d] = make(rank * n + d, hk_shape(count), dtype, devices[d]);
    hk_group_all_reduce(all, arrays, n, 1, bucket);
    hk_array *sum = expected_sum(n, 0, hk_shape(count), dtype);
    for (int d = 0; d < n; d++)
        CHECK(same_bytes(arrays[d], sum));
}

static void test_sums(void)
{
    static const int64_t counts[] = {0, 1, 17, 1000, 8193, 100003, 300007};
    for (int n = 1; n <= DEVICES; n++) {
        for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
            check_sum(n, counts[i], HK_F32, 0);
        check_sum(n, 100003, HK_F32, 40000); /* in buckets, some small */
        check_sum(n, 20011, HK_F64, 0);
        check_sum(n, 20011, HK_I64, 0);
        check_sum(n, 40011, HK_I16, 0);
        check_sum(n, 3, HK_U8, 0);
    }
}

/* Arrays of several dtypes and sizes, with gaps and without, in few buckets and in many. */
static void test_lists(void)
{
    enum { COUNT = 6 };
    static const int64_t rows[COUNT] = {3, 1, 500, 0, 77, 2000};
    static const hk_dtype dtypes[COUNT] = {HK_F32, HK_F32, HK_F32, HK_F64, HK_F64, HK_F32};
    static const size_t buckets[] = {0, 1, 1000, 30000};
    for (int n = 1; n <= DEVICES; n++)
        for (size_t b = 0; b < sizeof buckets / sizeof *buckets; b++) {
            HK_SCOPE;
            hk_array *arrays[COUNT * DEVICES];
            for (int i = 0; i < COUNT; i++)
                for (int d = 0; d < n; d++) {
                    hk_array *x =
                        make(i + rank * n + d, hk_shape(rows[i], 3), dtypes[i], devices[d]);
                    arrays[i * n + d] = i == 4 ? hk_transpose(hk_copy(hk_transpose(x))) : x;
                }
            hk_group_all_reduce(all, arrays, n, b == 1 ? 2 : COUNT, buckets[b]);
            for (int i = 0; i < (b == 1 ? 2 : COUNT); i++)
                for (int d = 0; d < n; d++)
                    CHECK(same_bytes(arrays[i * n + d],
                                     expected_sum(n, i, hk_shape(rows[i], 3), dtypes[i])));
        }
}

static void test_broadcast(void)
{
    static const hk_dtype dtypes[] = {HK_F32, HK_BOOL, HK_F16, HK_I64};
    for (int root = 0; root < size; root = next_turn(root))
        for (int i = 0; i < 4; i++) {
            HK_SCOPE;
            hk_array *arrays[2 * DEVICES];
            for (int d = 0; d < DEVICES; d++) {
                arrays[d] = make(rank * DEVICES + d, hk_shape(5, 7), dtypes[i], devices[d]);
                arrays[DEVICES + d] = make(rank, hk_shape(30000), HK_F32, devices[d]);
            }
            hk_group_broadcast(all, arrays, DEVICES, 2, root);
            for (int d = 0; d < DEVICES; d++) {
                CHECK(same_bytes(arrays[d],
                                 make(root * DEVICES, hk_shape(5, 7), dtypes[i], devices[0])));
                CHECK(same_bytes(arrays[DEVICES + d],
                                 make(root, hk_shape(30000), HK_F32, devices[0])));
            }
        }
}

/* A captured all-reduce does it again with other arrays. */
static void test_captured(void)
{
    hk_array *x = hk_take(hk_zeros(hk_shape(9000), HK_F32, devices[0]));
    hk_capture_begin(&x, 1);
    {
        HK_SCOPE;
        hk_array *twice = hk_multiply(x, 2);
        hk_group_all_reduce(all, &twice, 1, 1, 0);
        hk_assign(x, twice);
    }
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    for (int i = 0; i < 3; i++) {
        HK_SCOPE;
        hk_array *y = make(rank + i, hk_shape(9000), HK_F32, devices[0]);
        hk_array *sum = hk_multiply(expected_sum(1, i, hk_shape(9000), HK_F32), 2);
        hk_replay(graph, &y, 1);
        CHECK(same_bytes(y, sum));
    }
    hk_graph_release(graph);
    hk_array_release(x);
}

/* ---- new arrays ------------------------------------------------------------------------------------------------- */

static void test_gathered(void)
{
    HK_SCOPE;
    hk_array *x = make(rank, hk_shape(3, 5), HK_F32, devices[1]);
    hk_array *parts[MAX_RANKS];
    for (int r = 0; r < size; r++)
        parts[r] = make(r, hk_shape(3, 5), HK_F32, devices[0]);
    CHECK(same_bytes(hk_group_all_gather(all, x), hk_concat(parts, size, 0)));
    CHECK(same_bytes(hk_group_sum(all, x), expected_sum(1, 0, hk_shape(3, 5), HK_F32)));
}

static void test_scattered(void)
{
    HK_SCOPE;
    const hk_dims shape = hk_shape(2 * size, 5);
    hk_array *x = make(rank, shape, HK_F32, devices[0]), *slices[MAX_RANKS];
    hk_array *sum = expected_sum(1, 0, shape, HK_F32);
    CHECK(same_bytes(hk_group_reduce_scatter(all, x), hk_slice(sum, 0, 2 * rank, 2 * rank + 2)));
    for (int r = 0; r < size; r++)
        slices[r] = hk_slice(make(r, shape, HK_F32, devices[0]), 0, 2 * rank, 2 * rank + 2);
    CHECK(same_bytes(hk_group_all_to_all(all, x), hk_concat(slices, size, 0)));
}

/* A ring; both directions at once; many under way. */
static void test_messages(void)
{
    if (size == 1 || is_serial()) /* that one sends in place: not in a ring */
        return;
    HK_SCOPE;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    hk_array *sent = NULL;
    for (int i = 0; i < 20; i++) {
        const hk_dims shape = hk_shape(1 + 1000 * i);
        sent = hk_group_send(all, make(rank + i, shape, HK_F64, devices[0]), next);
        hk_array *back =
            hk_group_send(all, make(rank - i, hk_shape(2), HK_F32, devices[0]), before);
        hk_array *x = hk_group_receive(all, shape, HK_F64, devices[1], before);
        hk_array *y = hk_group_receive(all, hk_shape(2), HK_F32, devices[0], next);
        CHECK(same_bytes(x, make(before + i, shape, HK_F64, devices[0])));
        CHECK(same_bytes(y, make(next - i, hk_shape(2), HK_F32, devices[0])));
        CHECK(hk_item(back, NULL) == 1);
    }
    CHECK(hk_item(sent, NULL) == 1);
}

static void test_barrier(void)
{
    HK_SCOPE;
    CHECK(hk_item(hk_group_barrier(all), NULL) == size);
}

/* Gradients go back the other way. All values are small whole numbers. */
static void test_gradients(void)
{
    typedef hk_array *(*move)(hk_group *, hk_array *);
    const move moves[] = {(hk_group_sum), (hk_group_all_gather), (hk_group_reduce_scatter),
                          (hk_group_all_to_all)};
    const double expected[] = {size, size, 1, 1}; /* of the weights of all that x went to */
    for (int i = 0; i < 4; i++) {
        HK_SCOPE;
        hk_array *x = hk_full(hk_shape(2 * size), rank, HK_F32, devices[0]);
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *y = moves[i](all, x), *loss = hk_sum(hk_multiply(y, 3), NULL);
        hk_record_end();
        CHECK(hk_ok(hk_backward(loss)));
        hk_array *grad = hk_grad(x);
        CHECK(same_bytes(grad, hk_full(hk_shape(2 * size), 3 * expected[i], HK_F32, devices[0])));
    }
}

/* ---- groups ------------------------------------------------------------------------------------------------------- */

static void test_split(void)
{
    HK_SCOPE;
    hk_group *half = hk_group_split(all, rank % 2, -rank); /* the last first */
    const int members = (size + (rank % 2 == 0)) / 2;
    CHECK(hk_ok(hk_group_status(half)));
    CHECK_EQ_I64(hk_group_size(half), members);
    CHECK_EQ_I64(hk_group_rank(half), members - 1 - rank / 2);
    hk_array *x = hk_full(hk_shape(10), rank, HK_F32, devices[0]);
    hk_group_all_reduce(half, &x, 1, 1, 0);
    double sum = 0;
    for (int r = rank % 2; r < size; r += 2)
        sum += r;
    CHECK(hk_item(hk_index(x, 0, 9), NULL) == sum);

    hk_group *some = hk_group_split(all, rank ? 1 : -1, 0);
    CHECK(hk_ok(hk_group_status(some)) == (rank > 0));
    hk_array *y = hk_full(hk_shape(10), 1, HK_F32, devices[0]);
    hk_group_all_reduce(some, &y, 1, 1, 0);
    if (rank)
        CHECK(hk_item(hk_index(y, 0, 0), NULL) == size - 1);
    else
        CHECK(strstr(hk_status_message(hk_wait(y)), "color -1"));
    clear_failures();
}

/* ---- failures ------------------------------------------------------------------------------------------------------ */

/* Fails while it runs. */
static hk_array *failing(int64_t count)
{
    hk_array *x = hk_zeros(hk_shape(count), HK_F32, host);
    x = hk_take_along_axis(x, hk_full(hk_shape(count), 1e6 + rank, HK_I64, host), 0);
    return hk_to_device(x, devices[0]);
}

static double hash(const char *text, double seed)
{
    unsigned value = (unsigned)seed;
    for (; *text; text++)
        value = value * 31u + (unsigned char)*text;
    return value;
}

/* All ranks have the same record, which says the text. Then all is well again. */
static void check_record(hk_array *x, hk_code code, const char *text)
{
    const hk_status *status = hk_status_retain(hk_wait(x));
    CHECK_EQ_I64(hk_status_code(status), code);
    CHECK(strstr(hk_status_message(status), text));
    if (!strstr(hk_status_message(status), text))
        hk_status_print(status, stderr);
    double sum = hash(hk_status_message(status), (double)hk_status_code(status));
    sum = hash(hk_status_device(status), hash(hk_status_operation(status), sum));
    sum = hash(hk_status_inputs(status), hash(hk_status_file(status), sum));
    sum += hk_status_line(status);
    CHECK(!hk_ok(hk_wait_all()));
    clear_failures();
    HK_SCOPE;
    hk_array *sums = hk_group_all_gather(all, hk_full(hk_shape(1), sum, HK_F64, devices[0]));
    for (int r = 0; r < size; r++)
        CHECK(hk_item(hk_index(sums, 0, r), NULL) == sum);
    CHECK(hk_ok(hk_wait_all()));
    hk_status_release(status);
}

/* An input of one rank, or two: the lowest one's record goes to all. */
static void test_failed_inputs(void)
{
    for (int which = 0; which < size; which = next_turn(which))
        for (int64_t count = 3; count < 50000; count += 40000) {
            HK_SCOPE;
            hk_array *x = rank == which || rank == size - 1
                              ? failing(count)
                              : make(0, hk_shape(count), HK_F32, devices[0]);
            hk_array *more = make(1, hk_shape(10), HK_F32, devices[0]);
            char text[64];
            snprintf(text, sizeof text, "%d", 1000000 + which);
            hk_group_all_reduce(all, (hk_array *[]){more, x}, 1, 2, count > 3 ? 1000 : 0);
            hk_array *y = hk_group_all_gather(all, x), *z = hk_group_all_to_all(all, y);
            CHECK(!hk_ok(hk_wait(y)) && !hk_ok(hk_wait(z)));
            check_record(x, HK_OUT_OF_RANGE, text);
        }
}

/* A call that one rank cannot make, among others under way. */
static void test_refused(void)
{
    for (int which = 0; which < size; which = next_turn(which)) {
        HK_SCOPE;
        hk_array *lists[3][2];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2; j++)
                lists[i][j] = make(i, hk_shape(30000), HK_F32, devices[0]);
        hk_array *bad[] = {lists[1][0], rank == which ? NULL : lists[1][1]};
        hk_group_all_reduce(all, lists[0], 1, 2, 7000);
        hk_group_all_reduce(all, bad, 1, 2, 7000);
        hk_group_all_reduce(all, lists[2], 1, 2, 7000);
        CHECK(!hk_ok(hk_wait(lists[1][0])));
        CHECK(strstr(hk_status_message(hk_wait(lists[1][0])), "array 1 of device 0 is NULL"));
        for (int i = 0; i < 3; i += 2)
            for (int j = 0; j < 2; j++)
                CHECK(hk_ok(hk_wait(lists[i][j])));
        clear_failures();
    }
}

/* Never a sum, and the old values stand. */
static void test_mismatches(void)
{
    if (size == 1)
        return;
    const bool odd = rank == size - 1;
    for (int kind = 0; kind < 5; kind++) {
        HK_SCOPE;
        hk_array *x = hk_full(hk_shape(kind == 0 && odd ? 20001 : 20000), rank,
                              kind == 1 && odd ? HK_F64 : HK_F32, devices[0]);
        hk_array *y = hk_full(hk_shape(3), rank, HK_F32, devices[0]);
        if (kind == 2)
            hk_group_all_reduce(all, (hk_array *[]){x, y}, 1, odd ? 1 : 2, 0);
        else if (kind == 3 && odd)
            hk_group_broadcast(all, &x, 1, 1, 0);
        else if (kind == 4)
            hk_group_broadcast(all, &x, 1, 1, odd);
        else
            hk_group_all_reduce(all, &x, 1, 1, 0);
        check_record(x, HK_INVALID_ARGUMENT, "rank 0 calls group_");
        hk_recover(x);
        CHECK(hk_item(hk_index(x, 0, 19999), NULL) == rank);
    }
}

/* The opposite order on one rank: both fail on all. */
static void test_order(void)
{
    if (size == 1)
        return;
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(40000), 1, HK_F32, devices[0]);
    hk_array *y = hk_full(hk_shape(50000), 1, HK_F32, devices[0]);
    hk_group_all_reduce(all, rank ? &x : &y, 1, 1, 0);
    hk_group_all_reduce(all, rank ? &y : &x, 1, 1, 0);
    CHECK_EQ_I64(hk_status_code(hk_wait(rank ? y : x)), HK_INVALID_ARGUMENT);
    check_record(rank ? x : y, HK_INVALID_ARGUMENT, "shapes and dtypes must be the same");
}

static hk_array *param(int64_t count)
{
    hk_array *x = hk_full(hk_shape(count), 1, HK_F32, devices[0]);
    hk_attach_grad(x, HK_GRAD_WRITE);
    return x;
}

/* hk_grad(x) becomes scale. */
static void write_gradient(hk_array *x, hk_array *scale)
{
    hk_record_begin();
    hk_array *loss = hk_sum(hk_multiply(x, scale), NULL);
    hk_record_end();
    hk_backward(loss);
}

/* The gradient that is written first goes first, though the list names it last: the other one waits for a message, which is
 * sent when the first sum has come. */
static void test_write_order(void)
{
    if (size == 1 || is_serial()) /* that one sends in place */
        return;
    HK_SCOPE;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    hk_array *late = param(9000), *early = param(250); /* a bucket */
    hk_array *scale = hk_group_receive(all, hk_shape(9000), HK_F32, devices[0], before);
    write_gradient(early, hk_full(hk_shape(250), rank, HK_F32, devices[0]));
    write_gradient(late, scale);
    hk_group_all_reduce(all, (hk_array *[]){hk_grad(late), hk_grad(early)}, 1, 2, 1000);
    CHECK(hk_item(hk_index(hk_grad(early), 0, 249), NULL) == size * (size - 1) / 2);
    hk_group_send(all, hk_full(hk_shape(9000), 1, HK_F32, devices[0]), next);
    CHECK(hk_item(hk_index(hk_grad(late), 0, 8999), NULL) == size);
}

/* Written in opposite orders: never a sum of one with the other. What are no gradients go as they are listed. */
static void test_other_write_order(void)
{
    if (size == 1)
        return;
    HK_SCOPE;
    hk_array *x = param(9000), *y = param(9000);
    hk_array *scale = hk_full(hk_shape(9000), rank + 1, HK_F32, devices[0]);
    write_gradient(rank ? x : y, scale);
    write_gradient(rank ? y : x, scale);
    hk_group_all_reduce(all, (hk_array *[]){hk_grad(x), hk_grad(y)}, 1, 2, 1000);
    check_record(hk_grad(x), HK_INVALID_ARGUMENT, "the order in which they were last written");
    for (int i = 0; i < 2; i++) {
        hk_recover(hk_grad(i ? x : y));
        CHECK(hk_item(hk_index(hk_grad(i ? x : y), 0, 8999), NULL) == rank + 1);
    }
    hk_assign(rank ? x : y, scale);
    hk_assign(rank ? y : x, scale);
    hk_group_all_reduce(all, (hk_array *[]){x, y}, 1, 2, 1000);
    CHECK(hk_item(hk_index(x, 0, 8999), NULL) == size * (size + 1) / 2);
}

static void test_unfit_messages(void)
{
    if (size == 1)
        return;
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(4), 1, HK_F32, devices[0]);
    const char *text = "what is sent must be what is received";
    if (rank == 0)
        x = hk_group_send(all, x, 1);
    else if (rank == 1)
        x = hk_group_receive(all, hk_shape(2, 2), HK_F32, devices[0], 0);
    if (rank < 2)
        CHECK(strstr(hk_status_message(hk_wait(x)), text));
    if (rank == 0)
        x = hk_group_send(all, failing(4), 1);
    else if (rank == 1)
        x = hk_group_receive(all, hk_shape(4), HK_F32, devices[0], 0);
    if (rank < 2)
        CHECK_EQ_I64(hk_status_code(hk_wait(x)), HK_OUT_OF_RANGE);
    CHECK(!hk_ok(hk_wait(hk_group_send(all, x, size))));
    CHECK(!hk_ok(hk_wait(hk_group_receive(all, hk_shape(4), HK_F32, devices[0], rank))));
    clear_failures();
}

/* Ranks that come late, in turn. */
static void test_late(void)
{
    for (int late = 0; late < size; late++) {
        HK_SCOPE;
        hk_array *x = hk_full(hk_shape(10000), rank, HK_F32, devices[0]);
        if (rank == late)
            nanosleep(&(struct timespec){.tv_nsec = 30000000}, NULL);
        hk_group_all_reduce(all, &x, 1, 1, 0);
        CHECK(hk_item(hk_index(x, 0, 3), NULL) == size * (size - 1) / 2);
    }
}

/* A child of a fork is no rank. */
static void test_forked(void)
{
    fflush(NULL);
    hk_wait_all();
    const pid_t child = fork();
    if (child == 0) {
        hk_array *x = hk_full(hk_shape(3), 1, HK_F32, (hk_device){NULL});
        hk_group_all_reduce(all, &x, 1, 1, 0);
        const hk_status *status = hk_wait(x);
        _exit(size == 1 ? !hk_ok(status) : hk_status_code(status) != HK_FORKED);
    }
    int status = 0;
    CHECK(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void)
{
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES});
    const char *kind = getenv("WORLD_DEVICES"); /* "sim", "cuda:0/": parts of it */
    for (int d = 0; d < DEVICES; d++) {
        char name[32];
        snprintf(name, sizeof name, "%s%s%d", kind ? kind : "cpu",
                 kind && strchr(kind, '/') ? "" : ":", d);
        devices[d] = hk_device_named(name);
    }
    host = kind ? hk_device_named("cpu:0") : devices[0];
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    CHECK(!hk_ok(hk_world_init(NULL)));
    if (getenv("WORLD_RANKS"))
        CHECK(!strpbrk(hk_world_library(), "\t:\n") &&
              strpbrk(hk_world_library(), "123456789")); /* "MPICH 4.0.2" */
    if (getenv(
            "WORLD_HAS_LOADED")) /* an MPI other than the launcher's, which must not come beside it */
        CHECK(!dlopen("libmpich.so.12", RTLD_LAZY | RTLD_NOLOAD));
    all = hk_group_world();
    rank = hk_world_rank();
    size = hk_world_size();
    CHECK(getenv("WORLD_RANKS") ? size == atoi(getenv("WORLD_RANKS")) : size == 1);
    test_sums();
    test_lists();
    test_broadcast();
    test_captured();
    test_gathered();
    test_scattered();
    test_messages();
    test_barrier();
    test_gradients();
    test_split();
    test_failed_inputs();
    test_refused();
    test_mismatches();
    test_order();
    test_write_order();
    test_other_write_order();
    test_unfit_messages();
    test_late();
    test_forked();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    CHECK(!hk_ok(hk_group_status(all)) || size == 1);
    return check_result();
}
