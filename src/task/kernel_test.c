/* A program's own kernels: their order, ranges, failures, gradients and captured steps. */
#include "base/config.h"
#include "tests/check.h"

#include <hocket/hocket.h>

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static atomic_int calls;

static void start(hk_engine engine)
{
    const hk_sim_options sim = {.count = 1};
    const hk_runtime_options options = {.engine = engine, .sim = &sim, .sim_count = 1};
    CHECK(hk_ok(hk_runtime_init(&options)));
    atomic_store(&calls, 0);
}

static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static hk_array *line(int64_t size, float first)
{
    return hk_arange(first, first + (float)size, 1, HK_F32, hk_device_default());
}

static float at(hk_array *x, int64_t index)
{
    const hk_status *status;
    HK_SCOPE;
    return (float)hk_item(hk_index(x, 0, index), &status);
}

/* ---- kernels -------------------------------------------------------------------------------- */

static float *element(const hk_task_view *tile, int64_t i)
{
    return (float *)tile->data + i * tile->strides[0];
}

/* y = factor * x + y of vectors, modulo 97 */
static void scale_add(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    const float factor = *(const float *)hk_task_args(call);
    atomic_fetch_add(&calls, 1);
    for (int64_t i = 0; i < y.shape.dims[0]; i++)
        *element(&y, i) = fmodf(factor * *element(&x, i) + *element(&y, i), 97);
}
static const hk_kernel scale_add_kernel = {.name = "scale_add", .cpu = scale_add};

static void negate(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    atomic_fetch_add(&calls, 1);
    for (int64_t i = 0; i < y.shape.dims[0]; i++)
        *element(&y, i) = -*element(&x, i);
}
static const hk_kernel negate_kernel = {.name = "negate", .cpu = negate};

static void refusing(hk_task_call *call)
{
    hk_task_refuse(call, "matrix is not positive definite at row %d", 3);
}
static const hk_kernel refusing_kernel = {.name = "potrf", .cpu = refusing};

/* ---- order ---------------------------------------------------------------------------------- */

enum { SIZE = 64, STEPS = 300 };

static unsigned next(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Kernels and operators on overlapping views of two arrays: the same bytes as one after the
 * other. */
static void run_program(unsigned seed, float values[2 * SIZE])
{
    HK_SCOPE;
    hk_array *arrays[2] = {line(SIZE, 1), line(SIZE, 2)};
    for (int step = 0; step < STEPS; step++) {
        HK_SCOPE;
        const int64_t count = 1 + next(&seed) % 16;
        const int from = (int)(next(&seed) % 2);
        const int64_t begin = next(&seed) % (SIZE - 16), to = next(&seed) % (SIZE - 16);
        hk_array *x = hk_slice(arrays[from], 0, begin, begin + count);
        hk_array *y = hk_slice(arrays[!from], 0, to, to + count);
        const float factor = (float)(1 + next(&seed) % 5);
        if (next(&seed) % 4 == 0)
            hk_add_into(y, y, x);
        else if (next(&seed) % 3 == 0)
            hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
        else
            hk_run(&scale_add_kernel, HK_ACCESS(hk_reads(x), hk_updates(y)), &factor, sizeof factor,
                   NULL);
    }
    for (int i = 0; i < 2; i++)
        CHECK(hk_ok(hk_to_host(arrays[i], values + i * SIZE, SIZE * sizeof *values)));
}

static void test_order(void)
{
    float serial[2 * SIZE], async[2 * SIZE];
    for (unsigned seed = 1; seed <= 20; seed++) {
        start(HK_ENGINE_SERIAL);
        run_program(seed, serial);
        hk_runtime_deinit();
        start(HK_ENGINE_ASYNC);
        run_program(seed, async);
        hk_runtime_deinit();
        CHECK(memcmp(serial, async, sizeof serial) == 0);
    }
}

/* ---- ranges --------------------------------------------------------------------------------- */

static int64_t row_count(const hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, 0);
    CHECK(!y.data && y.shape.ndim == 2 && hk_task_view_of(call, 1).shape.ndim == -1);
    return y.shape.dims[0];
}

static size_t row_bytes(const hk_task_call *call)
{
    return (size_t)hk_task_view_of(call, 0).shape.dims[1] * sizeof(float);
}

static double long_time(const hk_task_call *call)
{
    (void)call;
    return 1e6;
}

/* Each row is one more than its number. */
static void fill_rows(hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, 0);
    float *row = hk_task_scratch(call);
    if (!row || (uintptr_t)row % 64 != 0) {
        hk_task_refuse(call, "the scratch memory is not aligned");
        return;
    }
    atomic_fetch_add(&calls, 1);
    for (int64_t i = hk_task_begin(call); i < hk_task_end(call); i++) {
        for (int64_t j = 0; j < y.shape.dims[1]; j++)
            row[j] = (float)(i + 1);
        for (int64_t j = 0; j < y.shape.dims[1]; j++)
            ((float *)y.data)[i * y.strides[0] + j * y.strides[1]] += row[j];
    }
}
static const hk_kernel rows_kernel = {.name = "rows",
                                      .cpu = fill_rows,
                                      .extent = row_count,
                                      .scratch_bytes = row_bytes,
                                      .cost_ns = long_time};

static void test_ranges(void)
{
    HK_SCOPE;
    hk_array *x = hk_zeros(hk_shape(7, 100), HK_F32, hk_device_default());
    hk_run(&rows_kernel, HK_ACCESS(hk_updates(hk_transpose(x))), NULL, 0, NULL);
    for (int64_t i = 0; i < 100; i++)
        CHECK(at(hk_index(x, 0, 6), i) == (float)(i + 1));
    CHECK(atomic_load(&calls) >= 1);
    const int before = atomic_load(&calls);
    hk_run(&rows_kernel,
           HK_ACCESS(hk_updates(hk_zeros(hk_shape(0, 3), HK_F32, hk_device_default()))), NULL, 0,
           NULL);
    hk_wait_all();
    CHECK(atomic_load(&calls) == before + 1); /* of an empty range */
}

/* Tiles that lie side by side in a matrix share no memory, though the bytes of one are between
 * those of the other. */
static void copy_tile(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    for (int64_t i = 0; i < y.shape.dims[0]; i++)
        for (int64_t j = 0; j < y.shape.dims[1]; j++)
            ((float *)y.data)[i * y.strides[0] + j * y.strides[1]] =
                ((float *)x.data)[i * x.strides[0] + j * x.strides[1]];
}

static void test_tiles(void)
{
    HK_SCOPE;
    static const hk_kernel kernel = {.name = "copy_tile", .cpu = copy_tile};
    hk_array *x = hk_reshape(line(36, 0), hk_shape(6, 6));
    hk_array *left = hk_slice(x, 1, 0, 3), *right = hk_slice(x, 1, 3, 6);
    hk_run(&kernel, HK_ACCESS(hk_reads(left), hk_writes(right)), NULL, 0, NULL);
    CHECK(at(hk_index(x, 0, 5), 5) == 32 && at(hk_index(x, 0, 5), 2) == 32);
    hk_run(&kernel, HK_ACCESS(hk_reads(hk_transpose(left)), hk_writes(hk_transpose(right))), NULL,
           0, NULL);
    CHECK(hk_ok(hk_wait(x)));
    hk_run(&kernel, HK_ACCESS(hk_reads(hk_slice(x, 1, 0, 4)), hk_writes(right)), NULL, 0, NULL);
    CHECK(strstr(hk_status_message(hk_wait(x)), "share memory"));
    clear_failures();
}

/* ---- failures ------------------------------------------------------------------------------- */

static void test_refusal(void)
{
    HK_SCOPE;
    hk_array *x = line(4, 1), *y = line(4, 1), *z = line(4, 5);
    atomic_store(&calls, 0);
    hk_run(&refusing_kernel, HK_ACCESS(hk_updates(x)), NULL, 0, NULL);
    const int refused_at = __LINE__ - 1;
    hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
    const hk_status *status = hk_wait(y);
    CHECK(hk_status_code(status) == HK_INVALID_ARGUMENT);
    CHECK_STR(hk_status_message(status), "matrix is not positive definite at row 3");
    CHECK_STR(hk_status_operation(status), "potrf");
    CHECK_STR(hk_status_inputs(status), "float32(4,)");
    CHECK_EQ_I64(hk_status_line(status), refused_at);
    CHECK(atomic_load(&calls) == 0); /* what has failed is not read */
    /* What is written anew is good again. */
    hk_run(&negate_kernel, HK_ACCESS(hk_reads(z), hk_writes(y)), NULL, 0, NULL);
    CHECK(hk_ok(hk_wait(y)) && at(y, 3) == -8);
    clear_failures();
}

static void fails(hk_array *x, hk_code code, const char *message)
{
    const hk_status *status = hk_wait(x);
    CHECK_STR(hk_code_name(hk_status_code(status)), hk_code_name(code));
    if (!strstr(hk_status_message(status), message))
        CHECK_STR(hk_status_message(status), message);
    clear_failures();
}

static void test_arguments(void)
{
    HK_SCOPE;
    static const hk_kernel empty = {.name = "empty"};
    hk_array *x = line(8, 1), *bad;
#define FAILS(code, message, ...)                                                                  \
    do {                                                                                           \
        bad = line(8, 1);                                                                          \
        hk_run(__VA_ARGS__, NULL, 0, NULL);                                                        \
        fails(bad, code, message);                                                                 \
    } while (0)
    FAILS(HK_INVALID_ARGUMENT, "kernel is NULL", NULL, HK_ACCESS(hk_writes(bad)));
    FAILS(HK_INVALID_ARGUMENT, "its cpu and cuda are NULL", &empty, HK_ACCESS(hk_writes(bad)));
    FAILS(HK_INVALID_ARGUMENT, "array 0 is NULL", &negate_kernel,
          HK_ACCESS(hk_reads(NULL), hk_writes(bad)));
    FAILS(HK_INVALID_ARGUMENT, "arrays 0 and 1 share memory", &negate_kernel,
          HK_ACCESS(hk_reads(hk_slice(bad, 0, 0, 4)), hk_writes(bad)));
    FAILS(HK_INVALID_ARGUMENT, "the mode of array 0 is 7", &negate_kernel,
          HK_ACCESS(hk_access_of(line(8, 1), (hk_access_mode)7), hk_writes(bad)));
    FAILS(HK_INVALID_ARGUMENT, "array 1 is on sim:0", &negate_kernel,
          HK_ACCESS(hk_writes(bad), hk_reads(hk_to_device(x, hk_device_named("sim:0")))));
    FAILS(HK_INVALID_ARGUMENT, "array 0 is to be written, but is a broadcast view", &negate_kernel,
          HK_ACCESS(hk_writes(hk_broadcast_to(line(1, 1), hk_shape(8))), hk_writes(bad)));
    FAILS(HK_OUT_OF_RANGE, "", &negate_kernel,
          HK_ACCESS(hk_reads(hk_index(x, 0, 99)), hk_writes(bad)));
#undef FAILS
    bad = line(8, 1);
    hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(bad)), NULL, 4, NULL);
    fails(bad, HK_INVALID_ARGUMENT, "args is NULL, but has 4 bytes");
    bad = line(8, 1);
    hk_run(&negate_kernel, &(const hk_access){bad, HK_WRITES}, 0, NULL, 0, NULL);
    fails(bad, HK_OK, "ok"); /* nothing was to be written */
    fails(hk_run_new(&negate_kernel, hk_shape(-1), HK_F32, HK_ACCESS(hk_reads(x)), NULL, 0, NULL),
          HK_INVALID_ARGUMENT, "the result: ");
    fails(hk_run_new(NULL, hk_shape(8), HK_F32, HK_ACCESS(hk_reads(x)), NULL, 0, NULL),
          HK_INVALID_ARGUMENT, "kernel is NULL");
    /* Values that were to be written stay, for who wants them back. */
    bad = line(8, 1);
    hk_run(NULL, HK_ACCESS(hk_writes(bad)), NULL, 0, NULL);
    hk_recover(bad);
    CHECK(hk_ok(hk_wait(bad)) && at(bad, 7) == 8);
    clear_failures();
}

/* ---- sums by several calls ------------------------------------------------------------------ */

/* Adds the elements of x, in float32, to the one of y. */
static void sum_up(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    atomic_fetch_add(&calls, 1);
    for (int64_t i = 0; i < x.shape.dims[0]; i++)
        *element(&y, 0) += *element(&x, i);
    if (*element(&x, 0) < 0)
        hk_task_refuse(call, "x begins with %g", (double)*element(&x, 0));
}
static const hk_kernel sum_kernel = {.name = "sum_up", .cpu = sum_up};

static hk_array *sums(hk_array *x, hk_array *total)
{
    for (int i = 0; i < 16; i++)
        hk_run(&sum_kernel,
               HK_ACCESS(hk_reads(hk_slice(x, 0, 4 * i, 4 * i + 4)), hk_accumulates(total)), NULL,
               0, NULL);
    return total;
}

/* The sums of fours, in the order of the calls, on what was there. */
static void test_accumulates(void)
{
    HK_SCOPE;
    hk_array *x = hk_multiply(line(64, 1), 0.1);
    float values[64], expected = 5;
    CHECK(hk_ok(hk_to_host(x, values, sizeof values)));
    for (int i = 0; i < 16; i++) {
        float four = 0;
        for (int j = 0; j < 4; j++)
            four += values[4 * i + j];
        expected += four;
    }
    hk_array *total = sums(x, hk_full(hk_shape(1), 5, HK_F32, hk_device_default()));
    CHECK(at(total, 0) == expected);

    /* One that refuses fails the sum. A view's neighbours are left alone. */
    hk_array *both = line(2, 0), *second = hk_slice(both, 0, 1, 2);
    CHECK(at(sums(x, second), 0) == expected - 4 && at(both, 0) == 0);
    hk_assign(second, line(1, 0));
    sums(hk_concat((hk_array *[]){line(32, -40), line(32, 1)}, 2, 0), second);
    fails(second, HK_INVALID_ARGUMENT, "x begins with -40");
    CHECK(at(both, 0) == 0);

    hk_array *bad = hk_zeros(hk_shape(1), HK_BOOL, hk_device_default());
    hk_run(&sum_kernel, HK_ACCESS(hk_reads(x), hk_accumulates(bad)), NULL, 0, NULL);
    fails(bad, HK_INVALID_ARGUMENT, "its dtype is bool");
    bad = line(1, 1);
    hk_run(&sum_kernel, HK_ACCESS(hk_reads(bad), hk_accumulates(bad)), NULL, 0, NULL);
    fails(bad, HK_INVALID_ARGUMENT, "share memory");
}

static void write_input(hk_task_call *call)
{
    *(float *)hk_task_view_of(call, 0).data += 1;
    negate(call);
}

static void test_guard(void)
{
    HK_SCOPE;
    static const hk_kernel kernel = {.name = "careless", .cpu = write_input};
    hk_array *x = line(8, 1), *y = line(8, 1);
    atomic_store(&hki_config_checks, true);
    hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
    CHECK(hk_ok(hk_wait(y)));
    hk_run(&kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
    fails(y, HK_INVALID_ARGUMENT, "has written into an array that it only reads");
    atomic_store(&hki_config_checks, false);
}

/* ---- devices -------------------------------------------------------------------------------- */

static void test_devices(void)
{
    HK_SCOPE;
    const hk_device sim = hk_device_named("sim:0");
    static const hk_kernel timed = {.name = "timed", .cpu = negate, .cost_ns = long_time};
    hk_array *x = hk_to_device(line(8, 1), sim);
    hk_array *y = hk_zeros(hk_shape(8), HK_F32, sim);
    hk_run(&timed, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
    CHECK(at(hk_to_device(y, hk_device_default()), 7) == -8);
    hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(y)), NULL, 0, NULL);
    fails(y, HK_UNSUPPORTED, "give it a cost_ns");
    hk_array *new = hk_run_new(&timed, hk_shape(8), HK_F32, HK_ACCESS(hk_reads(x)), NULL, 0, NULL);
    CHECK(hk_array_device(new).handle == sim.handle);
}

/* ---- gradients ------------------------------------------------------------------------------ */

/* y = factor x² */
static void square(hk_task_call *call)
{
    const hk_task_view x = hk_task_view_of(call, 0), y = hk_task_view_of(call, 1);
    const float factor = *(const float *)hk_task_args(call);
    for (int64_t i = 0; i < y.shape.dims[0]; i++)
        *element(&y, i) = factor * *element(&x, i) * *element(&x, i);
}

static void square_gradient(hk_function_call *call)
{
    const float factor = *(const float *)call->context;
    call->dxs[0] = hk_take(hk_multiply(hk_multiply(call->inputs[0], call->dys[0]), 2 * factor));
}

static void test_gradient(void)
{
    HK_SCOPE;
    static const hk_kernel kernel = {
        .name = "square", .cpu = square, .gradient = square_gradient, .gradient_reads = 1};
    static const hk_kernel without = {.name = "square", .cpu = square};
    const float factor = 3;
    hk_array *x = line(4, 1), *gradient, *second;
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        hk_array *y = hk_run_new(&kernel, hk_shape(4), HK_F32, HK_ACCESS(hk_reads(x)), &factor,
                                 sizeof factor, NULL);
        CHECK(hk_ok(hk_gradients(&y, 1, &x, 1, &(const hk_gradients_options){.create_graph = true},
                                 &gradient)));
        CHECK(at(y, 3) == 48 && at(gradient, 3) == 24);
        CHECK(hk_ok(hk_gradients(&gradient, 1, &x, 1, NULL, &second)));
        CHECK(at(second, 0) == 6);
        hk_array_release(gradient);
        hk_array_release(second);
        y = hk_run_new(&without, hk_shape(4), HK_F32, HK_ACCESS(hk_reads(x)), &factor,
                       sizeof factor, NULL);
        CHECK(at(y, 3) == 48);
        CHECK(!hk_ok(hk_gradients(&y, 1, &x, 1, NULL, &gradient)));
        fails(gradient, HK_INVALID_ARGUMENT, "the kernel square has no gradient");
        hk_array_release(gradient);
        /* Where the tape would lose one. */
        hk_array *z = line(4, 1);
        hk_run(&negate_kernel, HK_ACCESS(hk_reads(x), hk_writes(z)), NULL, 0, NULL);
        fails(z, HK_INVALID_ARGUMENT, "while recording");
        hk_run(&negate_kernel, HK_ACCESS(hk_reads(line(4, 1)), hk_writes(x)), NULL, 0, NULL);
        fails(x, HK_INVALID_ARGUMENT, "while recording");
    }
}

/* ---- captured steps ------------------------------------------------------------------------- */

static void step(hk_array *x, hk_array *total, float factor)
{
    HK_SCOPE;
    hk_array *y = hk_run_new(&negate_kernel, hk_shape(8), HK_F32, HK_ACCESS(hk_reads(hk_add(x, 1))),
                             NULL, 0, NULL);
    hk_run(&scale_add_kernel, HK_ACCESS(hk_reads(y), hk_updates(total)), &factor, sizeof factor,
           NULL);
}

static void test_capture(void)
{
    HK_SCOPE;
    hk_array *x = line(8, 0), *total = hk_zeros(hk_shape(8), HK_F32, hk_device_default());
    hk_capture_begin(&x, 1);
    step(x, total, 2);
    hk_graph *graph = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(graph)));
    CHECK(at(total, 7) == -16);
    for (int i = 1; i <= 3; i++) {
        hk_array *other = line(8, (float)i);
        hk_replay(graph, &other, 1);
    }
    CHECK(at(total, 0) == -2 * (1 + 2 + 3 + 4));
    char *text = hk_graph_to_string(graph);
    CHECK(text && strstr(text, "scale_add"));
    free(text);
    hk_graph_release(graph);

    hk_array *many = line(64, 1), *sum = hk_zeros(hk_shape(1), HK_F32, hk_device_default());
    hk_capture_begin(&many, 1);
    sums(many, sum);
    graph = hk_capture_end(NULL);
    hk_replay(graph, &many, 1);
    CHECK(hk_ok(hk_graph_status(graph)) && at(sum, 0) == 2 * 64 * 65 / 2);
    hk_graph_release(graph);
}

/* ---- kernels that wait ---------------------------------------------------------------------- */

static atomic_bool may_go_on;

static void wait_for_others(hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, 0);
    while (!atomic_load(&may_go_on) && !hk_task_is_cancelled(call))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    if (*element(&y, 0) == 13)
        hk_task_refuse(call, "nobody answers");
    else
        *element(&y, 0) += 1;
}
static const hk_kernel waiting_kernel = {.name = "waiting", .cpu = wait_for_others, .waits = true};

/* More of them than there are cores: others are done all the same. */
static void test_waiting(bool is_serial)
{
    enum { COUNT = 40 };
    HK_SCOPE;
    hk_array *arrays[COUNT];
    atomic_store(&may_go_on, is_serial);
    for (int i = 0; i < COUNT; i++) {
        arrays[i] = line(2, (float)i);
        for (int j = 0; j < 3; j++)
            hk_run(&waiting_kernel, HK_ACCESS(hk_updates(arrays[i])), NULL, 0, NULL);
    }
    CHECK(at(hk_add(line(2, 5), 1), 0) == 6);
    atomic_store(&may_go_on, true);
    for (int i = 0; i < COUNT; i++)
        if (i < 11 || i > 13)
            CHECK(at(arrays[i], 0) == (float)(i + 3) && at(arrays[i], 1) == (float)(i + 1));
    CHECK(hk_status_code(hk_wait(arrays[12])) == HK_INVALID_ARGUMENT);
    fails(arrays[13], HK_INVALID_ARGUMENT, "nobody answers");
}

/* ---- priorities --------------------------------------------------------------------------------- */

enum { PRIORITIES = 6 };
static atomic_int order_count;

/* Holds the only core until all others have been issued. */
static void hold_core(hk_task_call *call)
{
    (void)call;
    atomic_store(&calls, 1);
    while (!atomic_load(&may_go_on))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}
static const hk_kernel holding_kernel = {.name = "holding", .cpu = hold_core};

static void take_place(hk_task_call *call)
{
    const hk_task_view y = hk_task_view_of(call, 0);
    *element(&y, 0) = (float)atomic_fetch_add(&order_count, 1);
}
static const hk_kernel place_kernel = {.name = "place", .cpu = take_place};

/* By an option of the call, and by a scope that holds for all calls. */
static void test_priorities(void)
{
    const hk_runtime_options options = {.engine = HK_ENGINE_ASYNC, .cpu_cores = 1};
    static const int priorities[PRIORITIES] = {0, 3, 0, 200, 3, 7}, places[] = {4, 2, 5, 0, 3, 1};
    CHECK(hk_ok(hk_runtime_init(&options)));
    HK_SCOPE;
    hk_array *arrays[PRIORITIES], *held = line(1, 0);
    for (int i = 0; i < PRIORITIES; i++)
        arrays[i] = line(1, 0);
    hk_wait_all();
    atomic_store(&calls, 0);
    atomic_store(&may_go_on, false);
    hk_run(&holding_kernel, HK_ACCESS(hk_updates(held)), NULL, 0, NULL);
    while (!atomic_load(&calls))
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    for (int i = 0; i < PRIORITIES; i++) {
        const hk_run_options own = {.priority = i % 2 ? priorities[i] : 0};
        HK_PRIORITY(i % 2 ? 0 : priorities[i]);
        hk_run(&place_kernel, HK_ACCESS(hk_updates(arrays[i])), NULL, 0, &own);
    }
    CHECK(hk_priority_set(0) == 0); /* as before the scopes */
    atomic_store(&may_go_on, true);
    for (int i = 0; i < PRIORITIES; i++)
        CHECK(at(arrays[i], 0) == (float)places[i]);
    hk_runtime_deinit();
}

/* The runtime ends although one would wait for ever. */
static void test_cancelled(void)
{
    start(HK_ENGINE_ASYNC);
    HK_SCOPE;
    atomic_store(&may_go_on, false);
    hk_run(&waiting_kernel, HK_ACCESS(hk_updates(line(2, 0))), NULL, 0, NULL);
    hk_runtime_deinit();
}

int main(void)
{
    test_order();
    for (int i = 0; i < 2; i++) {
        start(i ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC);
        test_ranges();
        test_tiles();
        test_refusal();
        test_arguments();
        test_accumulates();
        test_guard();
        test_devices();
        test_gradient();
        test_capture();
        test_waiting(i == 1);
        hk_runtime_deinit();
    }
    test_priorities();
    test_cancelled();
    return check_result();
}
