/* Memory of a GPU, in threads of the program: they keep the context that they have, and GPUs that nobody uses get none. */
#include "check.h"

#include "device/cuda/cuda_internal.h"
#include "tests/cuda/emulation/emulated_runtime.h"

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

int main(void)
{
    test_no_context();
    test_own_context();
    return check_result();
}
