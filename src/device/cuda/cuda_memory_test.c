/* Memory of a GPU, in threads of the program: they keep the context that they have, and GPUs that nobody uses get none. */
#include "check.h"

#include "device/cuda/cuda_internal.h"
#include "tests/cuda/emulation/emulated_runtime.h"

#include <time.h>

static void use_memory(hki_device *device)
{
    void *memory = hki_cuda_allocate(device, 1000);
    void *pinned = hki_cuda_allocate_pinned(device, 1000);
    CHECK(memory && pinned);
    hki_cuda_release(device, memory, 1000);
    hki_cuda_release_pinned(device, pinned, 1000);
}

/* A device of GPU 1 of two, from the first use to the last. */
static void use_gpu_1(void)
{
    const hki_cuda_options options = {.memory_bytes = 0};
    hki_device device = {.name = "cuda:1"};
    char problem[100] = "";
    CHECK(hki_cuda_device_init(&device, &hki_cuda_device_class, 1, &options, &hki_cuda_host_table,
                               problem, sizeof problem));
    use_memory(&device);
    device.class->deinit(&device);
}

/* The thread has never called CUDA. */
static void test_no_context(void)
{
    CHECK(hki_emulated_restart("gpus=2"));
    use_gpu_1();
    CHECK_EQ_I64(hki_emulated_get_counts().contexts, 1);
}

/* It has a context of GPU 0. */
static void test_own_context(void)
{
    int gpu = -1;
    void *memory;
    CHECK(hki_emulated_restart("gpus=2"));
    CHECK(cudaMalloc(&memory, 100) == cudaSuccess);
    use_gpu_1();
    CHECK(cudaGetDevice(&gpu) == cudaSuccess);
    CHECK_EQ_I64(gpu, 0);
    CHECK_EQ_I64(hki_emulated_get_counts().contexts, 2);
}

/* ---- the pool ------------------------------------------------------------------------------------------------------- */

static hki_device begin(const char *machine)
{
    const hki_cuda_options options = {.memory_bytes = 0};
    hki_device device = {.name = "cuda:0"};
    char problem[100] = "";
    CHECK(hki_emulated_restart(machine));
    CHECK(hki_cuda_device_init(&device, &hki_cuda_device_class, 0, &options, &hki_cuda_host_table,
                               problem, sizeof problem));
    return device;
}

/* What is freed stays the pool's, however often the host waits for streams. */
static void test_nothing_returns(void)
{
    hki_device device = begin("gpus=1");
    for (int i = 0; i < 50; i++) {
        void *memory = hki_cuda_allocate(&device, 1 << 20);
        CHECK(memory != NULL);
        hki_cuda_release(&device, memory, 1 << 20);
    }
    hki_emulated_counts counts = hki_emulated_get_counts();
    CHECK(counts.synchronisations >= 50);
    CHECK_EQ_I64(counts.returns, 0);
    CHECK_EQ_I64(counts.trims, 0);
    device.class->deinit(&device);
}

/* But where there is too little of it. */
static void test_short_memory(void)
{
    hki_device device = begin("gpus=1,memory=8M");
    void *kept = hki_cuda_allocate(&device, 6 << 20);
    CHECK(kept != NULL);
    CHECK(hki_cuda_allocate(&device, 4 << 20) == NULL);
    CHECK_EQ_I64(hki_emulated_get_counts().trims, 1);
    hki_cuda_release(&device, kept, 6 << 20);
    kept = hki_cuda_allocate(&device, 7 << 20);
    CHECK(kept != NULL);
    hki_cuda_release(&device, kept, 7 << 20);
    device.class->deinit(&device);
}

static _Atomic(bool) may_end;

static void compute(void *argument)
{
    (void)argument;
    for (int i = 0; i < 10000 && !atomic_load(&may_end); i++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* A stream that computes will free as much as is wanted. Nobody waits for it. */
static void test_no_waiting_for_kernels(void)
{
    hki_device device = begin("gpus=1");
    hki_cuda_stream *stream = &hki_cuda_device_of(&device)->streams[HKI_QUEUE_COMPUTE];
    CHECK(hki_cuda_enter(hki_cuda_device_of(&device)));
    CHECK(hki_cuda_workspace(stream, 4 << 20) != NULL);
    atomic_store(&may_end, false);
    CHECK(cudaLaunchHostFunc(hki_cuda_stream_handle(stream), compute, NULL) == cudaSuccess);
    CHECK(hki_cuda_workspace(stream, 8 << 20) != NULL); /* the other one is freed behind that */
    void *memory = hki_cuda_allocate(&device, 1 << 20);
    CHECK(memory != NULL);
    CHECK(cudaStreamQuery(hki_cuda_stream_handle(stream)) == cudaErrorNotReady);
    atomic_store(&may_end, true);
    hki_cuda_release(&device, memory, 1 << 20);
    device.class->deinit(&device);
}

/* Parts of a GPU share its pool, which goes with the last of them. */
static void test_shared_pool(void)
{
    hki_device device = begin("gpus=1");
    cudaMemPool_t first = hki_cuda_pool_open(0), second = hki_cuda_pool_open(0);
    CHECK(first && first == second);
    hki_cuda_pool_close(0);
    uint64_t kept = 0;
    CHECK(cudaMemPoolSetAttribute(first, cudaMemPoolAttrReleaseThreshold, &kept) == cudaSuccess);
    hki_cuda_pool_close(0);
    CHECK(cudaMemPoolSetAttribute(first, cudaMemPoolAttrReleaseThreshold, &kept) != cudaSuccess);
    cudaGetLastError();
    device.class->deinit(&device);
}

int main(void)
{
    test_no_context();
    test_own_context();
    test_nothing_returns();
    test_short_memory();
    test_no_waiting_for_kernels();
    test_shared_pool();
    return check_result();
}
