/* Ends of tasks, in threads of the test's own: how many events tell them, and that they tell the right ones. */
#include "check.h"

#include "device/cuda/cuda_internal.h"
#include "tests/cuda/emulation/emulated_runtime.h"

#include <time.h>

enum { TASKS = 64 };

static bool records_nothing(struct hki_runtime *runtime)
{
    (void)runtime;
    return false;
}

static hki_cuda_host host;

static hki_device begin(void)
{
    const hki_cuda_options options = {.memory_bytes = 0};
    hki_device device = {.name = "cuda:0"};
    char problem[100] = "";
    host = hki_cuda_host_table;
    host.is_recording = records_nothing;
    CHECK(hki_emulated_restart("gpus=1"));
    CHECK(hki_cuda_device_init(&device, &hki_cuda_device_class, 0, &options, &host, problem,
                               sizeof problem));
    return device;
}

static hki_ticket launch(hki_device *device, hki_queue_kind queue, bool is_awaited)
{
    hki_ticket ticket = {.device = device, .queue = queue, .is_awaited = is_awaited};
    const hki_cost cost = {0};
    CHECK(hki_cuda_stream_begin(device, queue) != NULL);
    hki_cuda_launched(device, queue, &cost, 0, 0, &ticket);
    CHECK(ticket.position > 0);
    return ticket;
}

static void await(hki_device *device, hki_ticket *ticket)
{
    for (int64_t left_ns; (left_ns = hki_cuda_poll(device, ticket)) > 0;)
        nanosleep(&(struct timespec){0, left_ns}, NULL);
}

static void settle(hki_device *device, hki_ticket *ticket)
{
    char message[100];
    hk_code code;
    await(device, ticket);
    CHECK(hki_cuda_settle(device, ticket, &code, message, sizeof message));
}

static _Atomic(bool) may_end;

static void compute(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10000 && !atomic_load(&may_end); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

static void hold(hki_device *device)
{
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    atomic_store(&may_end, false);
    CHECK(cudaLaunchHostFunc(hki_cuda_stream_handle(stream), compute, NULL) == cudaSuccess);
}

/* One event for sixteen tasks; and when the newest has come, none of the others is asked. */
static void test_few_events(void)
{
    hki_device device = begin();
    hki_ticket tickets[TASKS];
    hold(&device);
    const uint64_t records = hki_emulated_get_counts().records;
    for (int i = 0; i < TASKS; i++)
        tickets[i] = launch(&device, HKI_QUEUE_COMPUTE, false);
    CHECK_EQ_I64(hki_emulated_get_counts().records - records, TASKS / 16);
    nanosleep(&(struct timespec){0, 100000}, NULL);
    CHECK(hki_cuda_poll(&device, &tickets[0]) > 0);
    atomic_store(&may_end, true);
    await(&device, &tickets[TASKS - 1]);
    const uint64_t queries = hki_emulated_get_counts().queries;
    for (int i = 0; i < TASKS; i++)
        settle(&device, &tickets[i]);
    CHECK_EQ_I64(hki_emulated_get_counts().queries - queries, 0);
    CHECK_EQ_I64(hki_emulated_get_counts().records - records, TASKS / 16);
    device.class->deinit(&device);
}

/* Who asks for the end of a task behind which there is no event has one recorded; it tells of no task that is launched later. */
static void test_late_events(void)
{
    hki_device device = begin();
    hki_ticket first = launch(&device, HKI_QUEUE_COMPUTE, false);
    const uint64_t records = hki_emulated_get_counts().records;
    await(&device, &first);
    CHECK_EQ_I64(hki_emulated_get_counts().records - records, 1);
    hold(&device);
    hki_ticket second = launch(&device, HKI_QUEUE_COMPUTE, false);
    nanosleep(&(struct timespec){0, 100000}, NULL);
    for (int i = 0; i < 3; i++)
        CHECK(hki_cuda_poll(&device, &second) > 0);
    CHECK_EQ_I64(hki_emulated_get_counts().records - records, 2);
    settle(&device, &first);
    atomic_store(&may_end, true);
    settle(&device, &second);
    device.class->deinit(&device);
}

/* Another queue's task waits for what was known to be awaited, and for no more than that. */
static void test_other_queue(void)
{
    hki_device device = begin();
    hki_ticket first = launch(&device, HKI_QUEUE_COMPUTE, true);
    hold(&device);
    hki_ticket second = launch(&device, HKI_QUEUE_COMPUTE, false);
    hki_cuda_wait_for(&device, HKI_QUEUE_COPY_OUT, &first);
    hki_ticket copy = launch(&device, HKI_QUEUE_COPY_OUT, true);
    settle(&device, &copy);
    CHECK(hki_cuda_poll(&device, &second) > 0);
    /* This one has no event yet. */
    hki_cuda_wait_for(&device, HKI_QUEUE_COPY_OUT, &second);
    copy = launch(&device, HKI_QUEUE_COPY_OUT, true);
    nanosleep(&(struct timespec){0, 3000000}, NULL);
    CHECK(hki_cuda_poll(&device, &copy) > 0);
    atomic_store(&may_end, true);
    settle(&device, &copy);
    settle(&device, &first);
    settle(&device, &second);
    device.class->deinit(&device);
}

/* While calls are recorded, ends of what was launched before are told by an event from before. */
static void test_capture(void)
{
    hki_device device = begin();
    hki_cuda_stream *stream = hki_cuda_stream_begin(&device, HKI_QUEUE_COMPUTE);
    hki_ticket first = launch(&device, HKI_QUEUE_COMPUTE, false);
    hki_cuda_capture_begin(stream);
    CHECK(cudaStreamBeginCapture(hki_cuda_stream_handle(stream), cudaStreamCaptureModeRelaxed) ==
          cudaSuccess);
    await(&device, &first);
    cudaGraph_t graph;
    CHECK(cudaStreamEndCapture(hki_cuda_stream_handle(stream), &graph) == cudaSuccess);
    hki_cuda_capture_end(stream);
    cudaGraphDestroy(graph);
    settle(&device, &first);
    device.class->deinit(&device);
}

static hk_code describe(const hki_cuda_fault *fault, int64_t argument, char *text, size_t bytes)
{
    (void)argument;
    snprintf(text, bytes, "element %d", (int)fault->index);
    return HK_BAD_DATA;
}

/* A task whose kernels may report something; reports: it does. */
static hki_ticket launch_check(hki_device *device, bool reports)
{
    hki_cuda_guard_task(device, 0, false);
    hki_cuda_stream *stream = hki_cuda_stream_begin(device, HKI_QUEUE_COMPUTE);
    hki_cuda_fault *fault = hki_cuda_fault_slot(stream, describe, 0);
    CHECK(fault != NULL);
    if (reports) /* as a kernel does, with one byte for each: index 5 */
        CHECK(cudaMemsetAsync(&fault->index, 5, 1, hki_cuda_stream_handle(stream)) == cudaSuccess);
    return launch(device, HKI_QUEUE_COMPUTE, false);
}

/* Each has a flag of its own, as long as there are some; what has none is told apart. A flag that is given back is another's. */
static void test_flags(void)
{
    hki_device device = begin();
    hki_ticket tickets[HKI_CUDA_FLAGS];
    uint64_t flags = 0;
    char message[100];
    hk_code code;
    hki_cuda_device_of(&device)->device = &device; /* where it is now */
    for (int i = 0; i < HKI_CUDA_FLAGS; i++) {
        tickets[i] = launch_check(&device, i == 7 || i == HKI_CUDA_FLAGS - 1);
        CHECK(tickets[i].fault && tickets[i].is_flagged == (i < HKI_CUDA_FLAGS - 1));
        CHECK(!(flags & tickets[i].flags));
        flags |= tickets[i].flags;
    }
    for (int i = 0; i < HKI_CUDA_FLAGS; i++) {
        const bool reports = i == 7 || i == HKI_CUDA_FLAGS - 1;
        await(&device, &tickets[i]);
        CHECK(hki_cuda_settle(&device, &tickets[i], &code, message, sizeof message) != reports);
        CHECK(tickets[i].has_reported == reports);
        CHECK(!reports || code == HK_BAD_DATA);
    }
    hki_cuda_release_flags(&device, tickets[7].flags);
    hki_ticket again = launch_check(&device, false);
    CHECK(again.flags == tickets[7].flags && again.is_flagged);
    settle(&device, &again);
    device.class->deinit(&device);
}

int main(void)
{
    test_flags();
    test_few_events();
    test_late_events();
    test_other_queue();
    test_capture();
    return check_result();
}
