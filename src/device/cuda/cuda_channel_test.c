/* Channels between two processes, on the emulation: what is moved and added, that nothing is ready too early, and that who gives
 * up is left with nothing under way. */
#include "check.h"

#include "device/channel.h"
#include "device/cuda/cuda_internal.h"
#include "tests/cuda/emulation/emulated_runtime.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SIZE = 50000, PEER = 1 };

static const hki_channel_class *const class = &hki_cuda_channel_class;
static hki_cuda_host host;
static char why[HKI_CHANNEL_WHY];

static hki_device begin(void)
{
    const hki_cuda_options options = {.memory_bytes = 0};
    hki_device device = {.name = "cuda:0"};
    host = hki_cuda_host_table;
    CHECK(hki_emulated_restart("gpus=1"));
    CHECK(
        hki_cuda_device_init(&device, &hki_cuda_device_class, 0, &options, &host, why, sizeof why));
    return device;
}

static void nap(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
}

/* In a process of its own each. */
static void *name_of(hki_device *device, int rank, const int *pipe_ends)
{
    static char name[HKI_CHANNEL_NAME_BYTES];
    if (rank == 0) {
        CHECK(class->make_name(device, name, why));
        CHECK(write(pipe_ends[1], name, sizeof name) == sizeof name);
    } else {
        CHECK(read(pipe_ends[0], name, sizeof name) == sizeof name);
    }
    return name;
}

static hki_channel *open_channel(hki_device *device, int rank, const int *pipe_ends)
{
    hki_channel *self = class->open(device, name_of(device, rank, pipe_ends), 2, rank, why);
    hki_channel_state state;
    CHECK(self != NULL);
    CHECK(class->poll(self, why) == HKI_CHANNEL_BUSY);
    while ((state = class->poll(self, why)) == HKI_CHANNEL_BUSY)
        nap();
    CHECK(state == HKI_CHANNEL_DONE);
    return self;
}

static void end(hki_channel *self, hki_channel_task *task)
{
    hki_channel_state state;
    CHECK(task != NULL);
    while ((state = class->poll_task(self, task, why)) == HKI_CHANNEL_BUSY)
        nap();
    CHECK(state == HKI_CHANNEL_DONE);
}

static void *filled(hki_device *device, int32_t value)
{
    static int32_t values[SIZE];
    void *data = hki_cuda_allocate(device, sizeof values);
    for (int i = 0; i < SIZE; i++)
        values[i] = value + i;
    CHECK(class->copy(device, data, values, sizeof values, why));
    return data;
}

static void expect(hki_device *device, const int32_t *data, int first, int count, int32_t value,
                   int32_t step)
{
    static int32_t values[SIZE];
    int wrong = 0;
    CHECK(class->copy(device, values, data, sizeof values, why));
    for (int i = first; i < first + count; i++)
        wrong += values[i] != value + step * i;
    CHECK_EQ_I64(wrong, 0);
}

/* Halves of x are swapped, a piece of it stays; several pieces in one go pair in their order. */
static void move_and_add(hki_device *device, hki_channel *self, int rank)
{
    enum { HALF = SIZE / 2 };
    int32_t *x = filled(device, 1000000 * rank), *y = filled(device, -1), *z = filled(device, rank);
    const hki_channel_part parts[] = {
        {.from = x, .bytes = 4, .peer = 1 - rank},
        {.from = x + 1, .bytes = (HALF - 1) * 4, .peer = 1 - rank},
        {.from = x + HALF, .to = y + HALF, .bytes = HALF * 4, .peer = rank},
        {.to = y, .bytes = 4, .peer = 1 - rank},
        {.to = y + 1, .bytes = (HALF - 1) * 4, .peer = 1 - rank},
    };
    hki_channel_task *task = class->move(self, parts, 5, why);
    CHECK(class->poll(self, why) == HKI_CHANNEL_BUSY); /* has not been launched */
    CHECK(class->poll_task(self, task, why) == HKI_CHANNEL_BUSY);
    while (class->poll(self, why) == HKI_CHANNEL_BUSY)
        nap();
    hki_channel_task *sum = class->sum(self, HK_I32, z, SIZE, why); /* behind it */
    end(self, task);
    end(self, sum);
    expect(device, y, 0, HALF, 1000000 * (1 - rank), 1);
    expect(device, y, HALF, HALF, 1000000 * rank, 1);
    expect(device, z, 0, SIZE, 1, 2);
    hki_cuda_release(device, x, 0);
    hki_cuda_release(device, y, 0);
    hki_cuda_release(device, z, 0);
}

/* What will never come. */
static void give_up(hki_device *device, hki_channel *self)
{
    void *x = filled(device, 0);
    const hki_channel_part part = {.to = x, .bytes = SIZE, .peer = PEER};
    hki_channel_task *task = class->move(self, &part, 1, why);
    for (int i = 0; i < 50; i++, nap())
        CHECK(class->poll_task(self, task, why) == HKI_CHANNEL_BUSY);
    class->close(self);
    CHECK(cudaDeviceSynchronize() == cudaSuccess); /* which a kernel that waits would hold up */
    hki_cuda_release(device, x, 0);
}

static void test_open_too_many(hki_device *device)
{
    enum { MANY = 5 };
    hki_channel *channels[MANY];
    char name[HKI_CHANNEL_NAME_BYTES];
    for (int i = 0; i < MANY; i++) {
        CHECK(class->make_name(device, name, why));
        channels[i] = class->open(device, name, 1, 0, why);
        CHECK((channels[i] != NULL) == (i < 4));
    }
    CHECK_STR(why, "there are 4 channels already");
    for (int i = 0; i < 4; i++)
        class->close(channels[i]);
}

static int run(int rank, const int *pipe_ends)
{
    hki_device device = begin();
    CHECK(class->is_there());
    hki_channel *self = open_channel(&device, rank, pipe_ends);
    move_and_add(&device, self, rank);
    const hki_emulated_counts before = hki_emulated_get_counts();
    if (rank == PEER)
        class->close(self);
    else
        give_up(&device, self);
    const hki_emulated_counts after = hki_emulated_get_counts();
    CHECK_EQ_I64(after.streams, before.streams - 1);
    CHECK_EQ_I64(after.events, before.events);
    test_open_too_many(&device);
    device.class->deinit(&device);
    return check_result();
}

int main(void)
{
    int pipe_ends[2], status = 1;
    CHECK(pipe(pipe_ends) == 0);
    const pid_t child = fork(); /* before there are threads */
    if (child == 0)
        _exit(run(PEER, pipe_ends));
    run(0, pipe_ends);
    CHECK(waitpid(child, &status, 0) == child && status == 0);
    return check_result();
}
