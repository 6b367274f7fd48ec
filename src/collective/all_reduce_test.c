/* All-reduce: one result for all algorithms, counts and sizes, dtypes, layouts, failures and
 * kinds of devices. */
#include "base/sanitizer.h"
#include "check.h"

#include "op/op.h"

#include <hocket/hocket.h>

#include <stdlib.h>
#include <string.h>

enum { DEVICES = 3, MAX_ARRAYS = 6 };

/* Those of calls that are still running included. */
static void clear_failures(void)
{
    hk_wait_all();
    hk_failures_clear();
}

static hk_device devices[DEVICES];

static hk_device device_of(int i)
{
    return devices[i % DEVICES];
}

/* Values whose sum depends on the order of the additions. */
HKI_PLAIN_LOOPS static float value_of(int array, int64_t i)
{
    return (float)(((i * 2654435761u + (unsigned)array * 40503u) >> 7) % 1000003) / 997.0f;
}

HKI_PLAIN_LOOPS static void make(hk_array **arrays, int n, int64_t size)
{
    float *values = malloc((size_t)size * sizeof *values + 1);
    for (int k = 0; k < n; k++) {
        for (int64_t i = 0; i < size; i++)
            values[i] = value_of(k, i);
        arrays[k] = hk_from_host(values, hk_shape(size), HK_F32, device_of(k));
    }
    free(values);
}

/* The order that collective.h promises: the first half, or one more, plus the others. */
HKI_PLAIN_LOOPS static float sum_of(int first, int count, int64_t i)
{
    const int half = count - count / 2;
    if (count == 1)
        return value_of(first, i);
    return sum_of(first, half, i) + sum_of(first + half, count - half, i);
}

HKI_PLAIN_LOOPS static bool holds_sums(hk_array *const *arrays, int n, int64_t size)
{
    bool same = true;
    float *values = malloc((size_t)size * sizeof *values + 1);
    for (int k = 0; k < n && same; k++) {
        same = hk_ok(hk_to_host(arrays[k], values, (size_t)size * sizeof *values));
        for (int64_t i = 0; i < size && same; i++) {
            same = values[i] == sum_of(0, n, i);
        }
    }
    free(values);
    return same;
}

static void test_sums(void)
{
    static const int64_t sizes[] = {
        0, 1, 2, 15, 16, 17, 1000, 4099, 16384, 16385, HKI_SANITIZED ? 200003 : 1000003};
    for (int n = 1; n <= MAX_ARRAYS; n++)
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++)
            for (int algorithm = 0; algorithm < 3; algorithm++) {
                HK_SCOPE;
                hk_array *arrays[MAX_ARRAYS];
                make(arrays, n, sizes[s]);
                hk_all_reduce_by(arrays, n, (hk_all_reduce_algorithm)algorithm);
                CHECK(holds_sums(arrays, n, sizes[s]));
            }
}

static bool infer_first(hki_call *call)
{
    call->out_shape[0] = call->inputs[0]->shape;
    call->out_dtype[0] = call->inputs[0]->dtype;
    return true;
}

static void kernel_fail(const hki_kernel_call *call, int64_t piece, int64_t begin, int64_t end)
{
    (void)begin;
    (void)end;
    hki_task_fail(call->task, piece, HK_INJECTED, "by this test");
}

static const hk_op fails = {
    .name = "fails", .signature = "x", .infer = infer_first, .kernel = {[HKI_CPU] = kernel_fail}};

static bool no_access(hki_device *device, hki_device *peer)
{
    return device == peer;
}

/* Devices that cannot reach each other's memory get the same sums by copies. */
static void test_without_access(void)
{
    hki_device_class apart = *hk_device_at(0).handle->class;
    const hki_device_class *usual = hk_device_at(0).handle->class;
    apart.can_access = no_access;
    hk_wait_all();
    for (int i = 0; i < DEVICES; i++)
        hk_device_at(i).handle->class = &apart;
    for (int n = 2; n <= 5; n++)
        for (int algorithm = 0; algorithm < 3; algorithm++) {
            HK_SCOPE;
            hk_array *arrays[5];
            make(arrays, n, 10007);
            hk_all_reduce_by(arrays, n, (hk_all_reduce_algorithm)algorithm);
            CHECK(holds_sums(arrays, n, 10007));
            make(arrays, n, 10007);
            hk_array *odd = arrays[n - 1];
            arrays[n - 1] = hki_op_call1(&fails, odd, NULL);
            hk_all_reduce_by(arrays, n, (hk_all_reduce_algorithm)algorithm);
            for (int k = 0; k < n; k++)
                CHECK_EQ_I64(hk_status_code(hk_wait(arrays[k])), HK_INJECTED);
        }
    clear_failures();
    for (int i = 0; i < DEVICES; i++)
        hk_device_at(i).handle->class = usual;
}

/* More than the kernels unroll and the tasks hold in place. */
static void test_many(void)
{
    enum { MANY = 21 };
    HK_SCOPE;
    hk_array *arrays[MANY];
    make(arrays, MANY, 20011);
    hk_all_reduce(arrays, MANY);
    CHECK(holds_sums(arrays, MANY, 20011));
}

static void test_dtypes(void)
{
    static const hk_dtype dtypes[] = {HK_F64, HK_I32, HK_I64, HK_U8};
    for (size_t d = 0; d < sizeof dtypes / sizeof *dtypes; d++)
        for (int n = 2; n <= 5; n++) {
            HK_SCOPE;
            hk_array *arrays[5];
            for (int k = 0; k < n; k++)
                arrays[k] = hk_full(hk_shape(3, 7), (k + 1) * 50, dtypes[d], device_of(k));
            hk_all_reduce(arrays, n);
            int sum = n * (n + 1) / 2 * 50;
            for (int k = 0; k < n; k++) {
                hk_array *value = hk_index(hk_index(arrays[k], 0, 2), 0, 6);
                CHECK(hk_item(value, NULL) == (dtypes[d] == HK_U8 ? sum % 256 : sum));
            }
        }
}

/* Views: with gaps, and parts of one storage. */
static void test_views(void)
{
    HK_SCOPE;
    float values[24];
    for (int i = 0; i < 24; i++)
        values[i] = (float)i;
    hk_array *a = hk_from_host(values, hk_shape(4, 6), HK_F32, device_of(0));
    hk_array *b = hk_from_host(values, hk_shape(6, 4), HK_F32, device_of(1));
    hk_array *columns[] = {hk_slice(a, 1, 1, 3), hk_transpose(hk_slice(b, 0, 0, 2))};
    hk_all_reduce(columns, 2);
    float sums[2][8], after[24];
    for (int k = 0; k < 2; k++)
        CHECK(hk_ok(hk_to_host(columns[k], sums[k], sizeof sums[k])));
    for (int row = 0; row < 4; row++)
        for (int column = 0; column < 2; column++) {
            float sum = (float)(row * 6 + column + 1) + (float)(column * 4 + row);
            CHECK(sums[0][row * 2 + column] == sum && sums[1][row * 2 + column] == sum);
        }
    CHECK(hk_ok(hk_to_host(a, after, sizeof after)));
    CHECK(after[0] == 0 && after[3] == 3 && after[23] == 23); /* beside the view */

    hk_array *c = hk_from_host(values, hk_shape(24), HK_F32, device_of(0));
    hk_array *halves[] = {hk_slice(c, 0, 0, 12), hk_slice(c, 0, 12, 24)};
    hk_all_reduce(halves, 2);
    CHECK(hk_ok(hk_to_host(c, after, sizeof after)));
    for (int i = 0; i < 24; i++)
        CHECK(after[i] == (float)(2 * (i % 12) + 12));
}

/* Several at once, of other sizes and dtypes, one of them with gaps. */
static void test_list(void)
{
    HK_SCOPE;
    enum { LISTS = 4, N = 2 };
    const int64_t sizes[LISTS] = {1000, 1, 300007, 0};
    hk_array *arrays[(LISTS + 2) * N], **whole = arrays + LISTS * N, **gaps = whole + N;
    for (int i = 0; i < LISTS; i++)
        make(arrays + i * N, N, sizes[i]);
    for (int d = 0; d < N; d++) {
        whole[d] = hk_full(hk_shape(70), d + 1, HK_I64, device_of(d));
        gaps[d] = hk_slice_step(hk_full(hk_shape(9), d + 1, HK_F64, device_of(d)), 0, 0, 9, 2);
    }
    hk_all_reduce_list(arrays, N, LISTS + 2, HK_ALL_REDUCE_DEFAULT);
    for (int i = 0; i < LISTS; i++)
        CHECK(holds_sums(arrays + i * N, N, sizes[i]));
    for (int d = 0; d < N; d++) {
        CHECK(hk_item(hk_min(whole[d], NULL), NULL) == 3);
        CHECK(hk_item(hk_max(gaps[d], NULL), NULL) == 3);
    }
}

/* ---- failures -------------------------------------------------------------------------------- */

static const char *refusal(hk_array *const *arrays, int n)
{
    hk_all_reduce(arrays, n);
    const char *message = NULL;
    for (int k = 0; k < n; k++) {
        if (!arrays[k])
            continue;
        const hk_status *status = hk_wait(arrays[k]);
        CHECK(!hk_ok(status));
        CHECK_STR(hk_status_operation(status), "all_reduce");
        if (!message)
            message = strdup(hk_status_message(status));
        CHECK_STR(hk_status_message(status), message);
    }
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
    return message;
}

#define CHECK_REFUSED(text, ...)                                                                   \
    do {                                                                                           \
        hk_array *list[] = {__VA_ARGS__};                                                          \
        const char *message = refusal(list, (int)(sizeof list / sizeof *list));                    \
        CHECK(message &&strstr(message, text));                                                    \
        free((char *)message);                                                                     \
    } while (0)

#define NEW(...) hk_full(hk_shape(__VA_ARGS__), 1, HK_F32, device_of(0))

static void test_refused(void)
{
    HK_SCOPE;
    CHECK_REFUSED("array 1 is float32(3,)", NEW(2), NEW(3));
    CHECK_REFUSED("array 2 is float64(2,)", NEW(2), NEW(2),
                  hk_full(hk_shape(2), 1, HK_F64, device_of(1)));
    hk_array *x = NEW(2);
    CHECK_REFUSED("arrays 0 and 2 are the same", x, NEW(2), x);
    x = NEW(6);
    CHECK_REFUSED("arrays 0 and 1 share memory", hk_slice(x, 0, 0, 3), hk_slice(x, 0, 2, 5));
    CHECK_REFUSED("array 1 is NULL", NEW(2), NULL);
    CHECK_REFUSED("bool", hk_full(hk_shape(2), 1, HK_BOOL, device_of(0)),
                  hk_full(hk_shape(2), 1, HK_BOOL, device_of(1)));
    hk_all_reduce(NULL, 2);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
    hk_all_reduce(NULL, 0);
    x = NEW(2);
    hk_all_reduce(&x, 1);
    CHECK(hk_ok(hk_wait(x)));
    CHECK(hk_ok(hk_wait_all()));
}

/* One list that cannot be reduced fails, and the others stay as they are. */
static void test_refused_list(void)
{
    HK_SCOPE;
    hk_array *arrays[] = {NEW(2), NEW(2), NEW(3), NEW(4)};
    hk_all_reduce_list(arrays, 2, 2, HK_ALL_REDUCE_DEFAULT);
    CHECK(!hk_ok(hk_wait(arrays[2])) && !hk_ok(hk_wait(arrays[3])));
    for (int d = 0; d < 2; d++)
        CHECK(hk_item(hk_max(arrays[d], NULL), NULL) == 1);
    clear_failures();
    hk_all_reduce_list(arrays, 2, -1, HK_ALL_REDUCE_DEFAULT);
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    clear_failures();
    hk_all_reduce_list(NULL, 2, 0, HK_ALL_REDUCE_DEFAULT);
    CHECK(hk_ok(hk_wait_all()));
}

/* Real and imaginary parts, each as an array of floats would be. */
static void test_complex(void)
{
    for (int64_t size = 1; size < 300000; size = 7 * size + 1)
        for (int algorithm = 0; algorithm < 3; algorithm++)
            for (int wide = 0; wide < 2; wide++) {
                HK_SCOPE;
                const hk_dtype dtype = wide ? HK_F64 : HK_F32;
                hk_array *parts[2][4], *arrays[4];
                make(parts[0], 4, 2 * size);
                for (int k = 0; k < 4; k++) {
                    hk_array *both = hk_cast(parts[0][k], dtype);
                    parts[0][k] = hk_contiguous(hk_slice(both, 0, 0, size));
                    parts[1][k] = hk_contiguous(hk_slice(both, 0, size, 2 * size));
                    arrays[k] = hk_complex_of(parts[0][k], parts[1][k]);
                }
                hk_all_reduce_by(arrays, 4, (hk_all_reduce_algorithm)algorithm);
                hk_all_reduce(parts[0], 4);
                hk_all_reduce(parts[1], 4);
                for (int k = 0; k < 4; k++) {
                    hk_array *imag = hk_imag(arrays[k]), *real = hk_real(arrays[k]);
                    CHECK(hk_item(hk_all(hk_equal(real, parts[0][k]), NULL), NULL) == 1);
                    CHECK(hk_item(hk_all(hk_equal(imag, parts[1][k]), NULL), NULL) == 1);
                }
            }
}

static void test_failed_input(void)
{
    for (int algorithm = 0; algorithm < 3; algorithm++) {
        HK_SCOPE;
        hk_array *arrays[4];
        make(arrays, 4, 50000);
        arrays[2] = hki_op_call1(&fails, arrays[2], NULL);
        arrays[1] = hki_op_call1(&fails, arrays[1], NULL);
        uint64_t first = hk_status_sequence(hk_wait(arrays[2]));
        hk_all_reduce_by(arrays, 4, (hk_all_reduce_algorithm)algorithm);
        for (int k = 0; k < 4; k++) {
            const hk_status *status = hk_wait(arrays[k]);
            CHECK_EQ_I64(hk_status_code(status), HK_INJECTED);
            CHECK_EQ_I64(hk_status_sequence(status), first);
        }
        CHECK_EQ_I64(hk_status_count(hk_wait_all()), 2);
        clear_failures();
        hk_recover(arrays[0]); /* it was never begun */
        CHECK(holds_sums(arrays, 1, 50000));
    }
}

/* ---- splitting ------------------------------------------------------------------------------- */

static void check_slice(hk_array *x, hk_device device, int64_t first, int64_t rows)
{
    float values[64];
    CHECK_EQ_I64(hk_dim(x, 0), rows);
    CHECK(hk_array_device(x).handle == device.handle);
    CHECK(hk_ok(hk_to_host(x, values, (size_t)rows * 2 * sizeof *values)));
    for (int64_t i = 0; i < rows * 2; i++)
        CHECK(values[i] == (float)(first * 2 + i));
}

static void test_split(void)
{
    HK_SCOPE;
    float values[20];
    for (int i = 0; i < 20; i++)
        values[i] = (float)i;
    hk_array *x = hk_from_host(values, hk_shape(10, 2), HK_F32, devices[0]), *parts[3];
    hk_split_and_load(x, devices, 3, NULL, parts);
    check_slice(parts[0], devices[0], 0, 4);
    check_slice(parts[1], devices[1], 4, 3);
    check_slice(parts[2], devices[2], 7, 3);
    hk_split_and_load(x, devices, 3, (const int64_t[]){0, 9, 1}, parts);
    check_slice(parts[0], devices[0], 0, 0);
    check_slice(parts[1], devices[1], 0, 9);
    check_slice(parts[2], devices[2], 9, 1);

    hk_split_and_load(x, devices, 3, (const int64_t[]){3, 3, 3}, parts);
    for (int i = 0; i < 3; i++)
        CHECK(strstr(hk_status_message(hk_wait(parts[i])), "add up to 9"));
    CHECK_EQ_I64(hk_status_count(hk_wait_all()), 1);
    hk_split_and_load(x, devices, 3, (const int64_t[]){3, -3, 10}, parts);
    CHECK_EQ_I64(hk_status_code(hk_wait(parts[2])), HK_INVALID_ARGUMENT);
    hk_split_and_load(hk_scalar(1, HK_F32, devices[0]), devices, 3, NULL, parts);
    CHECK_EQ_I64(hk_status_code(hk_wait(parts[0])), HK_INVALID_ARGUMENT);
    clear_failures();

    /* Runs of 16 samples are not cut, where there is one for each device. */
    hk_array *samples = hk_reshape(hk_arange(0, 200, 1, HK_F32, devices[0]), hk_shape(100, 2));
    hk_split_and_load(hk_slice(samples, 0, 0, 33), devices, 2, NULL, parts);
    check_slice(parts[0], devices[0], 0, 32);
    check_slice(parts[1], devices[1], 32, 1);
    hk_split_and_load(hk_slice(samples, 0, 0, 16), devices, 2, NULL, parts);
    check_slice(parts[1], devices[1], 8, 8);

    /* Fewer rows than devices: the last slices are empty. */
    hk_split_and_load(hk_slice(x, 0, 8, 10), devices, 3, NULL, parts);
    check_slice(parts[0], devices[0], 8, 1);
    check_slice(parts[2], devices[2], 10, 0);
}

/* Gradients flow back to the device that the data came from. */
static void test_split_gradient(void)
{
    HK_SCOPE;
    hk_array *x = hk_full(hk_shape(7), 3, HK_F64, devices[0]), *parts[3], *losses[3];
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_split_and_load(x, devices, 3, NULL, parts);
    for (int i = 0; i < 3; i++)
        losses[i] = hk_sum(hk_multiply(hk_square(parts[i]), i + 1), NULL);
    hk_record_end();
    CHECK(hk_ok(hk_backward_all(losses, 3)));
    double values[7];
    CHECK(hk_ok(hk_to_host(hk_grad(x), values, sizeof values)));
    for (int i = 0; i < 7; i++)
        CHECK(values[i] == 6 * (i < 3 ? 1 : i < 5 ? 2 : 3));
}

/* Sums of several lists, with calls before and after that conflict. */
static void test_in_order(void)
{
    HK_SCOPE;
    enum { SIZE = 40000 };
    hk_array *a[2], *b[2];
    for (int k = 0; k < 2; k++) {
        a[k] = hk_full(hk_shape(SIZE), k + 1, HK_F64, device_of(k));
        b[k] = hk_full(hk_shape(SIZE), 10 * (k + 1), HK_F64, device_of(k));
    }
    for (int i = 0; i < 20; i++) {
        HK_SCOPE;
        hk_all_reduce_by(a, 2, (hk_all_reduce_algorithm)(i % 3));
        for (int k = 0; k < 2; k++)
            hk_assign(b[k], hk_multiply(a[k], 0.5));
        hk_all_reduce(b, 2);
        for (int k = 0; k < 2; k++)
            hk_assign(a[k], hk_multiply(b[k], 0.5));
    }
    for (int k = 0; k < 2; k++) {
        CHECK(hk_item(hk_index(a[k], 0, SIZE - 1), NULL) == 1.5);
        CHECK(hk_item(hk_index(b[k], 0, 0), NULL) == 3);
    }
}

/* Sums that take several chunks: each on its way by itself, and none left out. */
static void test_chunks(void)
{
    HK_SCOPE;
    enum { SIZE = 5 << 20 }; /* 20 MiB */
    hk_array *arrays[2];
    for (int algorithm = 0; algorithm < 3; algorithm++) {
        HK_SCOPE;
        for (int k = 0; k < 2; k++) {
            arrays[k] = hk_arange(0, SIZE, 1, HK_I32, device_of(k));
            if (k)
                hk_add_into(arrays[k], arrays[k], 7);
        }
        hk_all_reduce_by(arrays, 2, (hk_all_reduce_algorithm)algorithm);
        for (int k = 0; k < 2; k++) {
            hk_array *expected = hk_arange(7, 2 * SIZE + 7, 2, HK_I32, device_of(k));
            hk_array *wrong = hk_cast(hk_not_equal(arrays[k], expected), HK_I32);
            CHECK(hk_item(hk_sum(wrong, NULL), NULL) == 0);
        }
    }
}

static uint64_t bytes_out(int k)
{
    return hk_device_get_stats(device_of(k), HK_QUEUE_COPY_OUT).bytes;
}

/* What each device sends of an array: parts of it to where they are summed, and the sum of its
 * own part, to the host only once where there is no link. */
static void test_traffic(void)
{
    HK_SCOPE;
    enum { SIZE = 3 << 16 };
    hk_array *arrays[3];
    uint64_t before[3], array_bytes = SIZE * sizeof(float);
    make(arrays, 3, SIZE);
    CHECK(hk_ok(hk_wait_all()));
    for (int k = 0; k < 3; k++)
        before[k] = bytes_out(k);
    hk_all_reduce_by(arrays, 3, HK_ALL_REDUCE_PARTS);
    CHECK(hk_ok(hk_wait_all()));
    CHECK_EQ_I64(bytes_out(0) - before[0],
                 array_bytes / 3 * 4); /* linked to one, not to the other */
    CHECK_EQ_I64(bytes_out(1) - before[1], array_bytes / 3 * 4);
    CHECK_EQ_I64(bytes_out(2) - before[2], array_bytes / 3 * 3);
    CHECK(holds_sums(arrays, 3, SIZE));

    make(arrays, 3, 1000); /* small: the first device sums */
    CHECK(hk_ok(hk_wait_all()));
    uint64_t calls = hk_device_get_stats(device_of(1), HK_QUEUE_COMPUTE).calls;
    hk_all_reduce(arrays, 3);
    CHECK(holds_sums(arrays, 3, 1000));
    CHECK_EQ_I64(hk_device_get_stats(device_of(1), HK_QUEUE_COMPUTE).calls, calls);
}

static void test_all(void)
{
    test_sums();
    test_many();
    test_dtypes();
    test_views();
    test_list();
    test_refused();
    test_refused_list();
    test_complex();
    test_failed_input();
    test_split();
    test_split_gradient();
    test_in_order();
    CHECK(hk_ok(hk_wait_all()));
}

int main(void)
{
    hk_sim_options sims[2] = {{.count = 2},
                              {.peer_bandwidth = -1}}; /* sim:2 has no link to the others */
    for (int i = 0; i < 2; i++) {
        sims[i].flops = sims[i].memory_bandwidth = sims[i].link_bandwidth = 1e15;
        sims[i].launch_ns = sims[i].link_latency_ns = 1;
    }
    hk_runtime_init(&(hk_runtime_options){.cpu_devices = DEVICES, .sim = sims, .sim_count = 2});
    for (int i = 0; i < DEVICES; i++)
        devices[i] = hk_device_at(i);
    test_all();
    test_without_access();
    for (int i = 0; i < DEVICES; i++)
        devices[i] = hk_device_at(DEVICES + i);
    test_all();
    test_chunks();
    test_traffic();
    devices[0] = hk_device_named("cpu:0");
    test_all();
    for (int i = 0; i < hk_device_count(); i++)
        CHECK_EQ_I64(hk_device_get_memory(hk_device_at(i)).used_bytes, 0);
    hk_runtime_deinit();
    return check_result();
}
