/* Sums over all CUDA devices: the bytes of additions in the list's order, whatever the devices are to each other; and with
 * NCCL, where they are different GPUs and HOCKET_NCCL=0 does not say otherwise, sums of the same numbers in some order, the
 * same on every device and run. */
#include "check.h"

#include <hocket/hocket.h>
#include <stdbool.h>
#include <stdlib.h>

enum { MAX_DEVICES = 16, ROUNDS = 8 };

typedef struct machine {
    hk_device devices[MAX_DEVICES];
    int count;
    bool any_order;
} machine;

/* Values whose sum depends on the order of the additions. */
static float value_of(int device, int64_t i)
{
    return (float)(((i * 2654435761u + (unsigned)device * 40503u) >> 7) % 1000003) / 997.0f;
}

static hk_array *values_of(const machine *self, int device, int64_t size)
{
    float *values = malloc((size_t)size * sizeof *values);
    for (int64_t i = 0; i < size; i++)
        values[i] = value_of(device, i);
    hk_array *x = hk_from_host(values, hk_shape(size), HK_F32, self->devices[device]);
    free(values);
    return x;
}

/* The order that hk_all_reduce promises. */
static float sum_of(int first, int count, int64_t i)
{
    const int half = count - count / 2;
    return count == 1 ? value_of(first, i)
                      : sum_of(first, half, i) + sum_of(first + half, count - half, i);
}

static void expect_sums(const machine *self, hk_array *x, int64_t size, float *read)
{
    int64_t wrong = 0;
    CHECK(hk_ok(hk_to_host(x, read, (size_t)size * sizeof *read)));
    for (int64_t i = 0; i < size; i++) {
        const float sum = sum_of(0, self->count, i);
        const float distance = read[i] > sum ? read[i] - sum : sum - read[i];
        wrong += self->any_order ? distance > 1e-6f * sum : read[i] != sum;
    }
    CHECK_EQ_I64(wrong, 0);
}

static void test_size(const machine *self, int64_t size)
{
    HK_SCOPE;
    const size_t bytes = (size_t)size * sizeof(float);
    float *first = malloc(bytes), *again = malloc(bytes);
    for (int round = 0; round < 2; round++) {
        hk_array *arrays[MAX_DEVICES];
        for (int d = 0; d < self->count; d++)
            arrays[d] = values_of(self, d, size);
        hk_all_reduce(arrays, self->count);
        for (int d = 0; d < self->count; d++) {
            float *read = round == 0 && d == 0 ? first : again;
            expect_sums(self, arrays[d], size, read);
            CHECK(memcmp(first, read, bytes) == 0);
        }
    }
    free(first);
    free(again);
}

/* Each sum is read and written again before and after by calls that nothing else puts in order. */
static void test_order(const machine *self)
{
    HK_SCOPE;
    const int64_t size = 100003;
    hk_array *arrays[MAX_DEVICES];
    double wanted = 1;
    for (int d = 0; d < self->count; d++)
        arrays[d] = hk_ones(hk_shape(size), HK_F32, self->devices[d]);
    for (int round = 0; round < ROUNDS; round++) {
        hk_all_reduce(arrays, self->count);
        for (int d = 0; d < self->count; d++)
            arrays[d] = hk_multiply(arrays[d], 0.5);
        wanted *= 0.5 * self->count;
    }
    for (int d = 0; d < self->count; d++) {
        CHECK(hk_item(hk_min(arrays[d], NULL), NULL) == wanted);
        CHECK(hk_item(hk_max(arrays[d], NULL), NULL) == wanted);
    }
}

static uint64_t calls_of(hk_device device, hk_queue queue)
{
    return hk_device_get_stats(device, queue).calls;
}

/* A sum of what is there goes beside what was issued before it and computes, in a queue of its own. */
static void test_beside(const machine *self)
{
    HK_SCOPE;
    enum { STEPS = 40, MOST = 4000 };
    const int64_t size = 1000;
    hk_array *sums[MAX_DEVICES], *busy[MAX_DEVICES];
    uint64_t computed = 0, before[MAX_DEVICES], reduced = 0;
    for (int d = 0; d < self->count; d++) {
        sums[d] = hk_ones(hk_shape(size), HK_F32, self->devices[d]);
        busy[d] = hk_ones(hk_shape(1 << 20), HK_F32, self->devices[d]);
    }
    for (int steps = STEPS; steps <= MOST; steps *= 10) {
        CHECK(hk_ok(hk_wait_all()));
        for (int d = 0; d < self->count; d++) {
            before[d] = calls_of(self->devices[d], HK_QUEUE_COMPUTE);
            for (int i = 0; i < steps; i++)
                hk_add_into(busy[d], busy[d], 1);
        }
        hk_all_reduce(sums, self->count);
        for (int d = 0; d < self->count; d++)
            CHECK(hk_ok(hk_wait(sums[d])));
        computed = 0;
        for (int d = 0; d < self->count; d++)
            computed += calls_of(self->devices[d], HK_QUEUE_COMPUTE) - before[d];
        if (computed < (uint64_t)(steps * self->count))
            break; /* a fast GPU takes more of them */
    }
    for (int d = 0; d < self->count; d++)
        reduced += calls_of(self->devices[d], HK_QUEUE_REDUCE);
    CHECK(computed < (uint64_t)(MOST * self->count));
    CHECK(reduced > 0);
    CHECK(hk_item(hk_max(sums[0], NULL), NULL) >= self->count);
}

static void test_dtypes(const machine *self)
{
    static const hk_dtype dtypes[] = {HK_F64, HK_I32, HK_I64, HK_U8};
    for (size_t t = 0; t < sizeof dtypes / sizeof dtypes[0]; t++) {
        HK_SCOPE;
        hk_array *arrays[MAX_DEVICES];
        for (int d = 0; d < self->count; d++)
            arrays[d] = hk_full(hk_shape(70001), d + 1, dtypes[t], self->devices[d]);
        hk_all_reduce(arrays, self->count);
        const double wanted = self->count * (self->count + 1) / 2.0;
        for (int d = 0; d < self->count; d++) {
            CHECK(hk_item(hk_min(arrays[d], NULL), NULL) == wanted);
            CHECK(hk_item(hk_max(arrays[d], NULL), NULL) == wanted);
        }
    }
}

int main(void)
{
    machine self = {.count = 0};
    const char *nccl = getenv("HOCKET_NCCL");
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 2})));
    for (int i = 0; i < hk_device_count() && self.count < MAX_DEVICES; i++)
        if (!strcmp(hk_device_kind(hk_device_at(i)), "cuda"))
            self.devices[self.count++] = hk_device_at(i);
    self.any_order = !nccl || strcmp(nccl, "0") != 0;
    if (self.count < 2) {
        printf("there is one CUDA device: HOCKET_CUDA=all/2 makes two of it\n");
        hk_runtime_deinit();
        return 77;
    }
    test_size(&self, 1);
    test_size(&self, 1000);
    test_size(&self, 1000003);
    test_size(&self, 3000000);
    test_order(&self);
    test_beside(&self);
    test_dtypes(&self);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
