/* Kernels in the emulation: threads that meet, atomics, geometry and arguments; and misuse that ends the program.
 *
 *   emulation_kernels_test        all tests
 *   emulation_kernels_test NAME   a misuse, run by the tests in a process of its own */
#include "emulation_test.h"

#include "emulation/emulated_sanitizers.h"

#include <spawn.h>
#include <string>
#include <sys/wait.h>

extern char **environ;

namespace
{

/* The sums of blocks of 64 elements, by shared memory and shuffles. */
HKI_KERNEL void sum_blocks(float *sums, const float *x)
{
    HKI_SHARED float parts[2];
    float sum = x[blockIdx.x * blockDim.x + threadIdx.x];
    for (int lanes = 16; lanes; lanes /= 2)
        sum += __shfl_xor_sync(0xffffffffu, sum, lanes);
    if (threadIdx.x % 32 == 0)
        parts[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x == 0)
        sums[blockIdx.x] = parts[0] + parts[1];
}

/* Rows turned round within each block. */
HKI_KERNEL void turn(int *to, const int *from)
{
    HKI_SHARED int tile[128];
    int64_t first = int64_t{blockIdx.x} * blockDim.x;
    tile[threadIdx.x] = from[first + threadIdx.x];
    __syncthreads();
    to[first + threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

/* The same, with the barrier forgotten. */
HKI_KERNEL void turn_without_barrier(int *to, const int *from)
{
    HKI_SHARED int tile[128];
    tile[threadIdx.x] = 0;
    __syncthreads();
    tile[threadIdx.x] = from[threadIdx.x];
    to[threadIdx.x] = tile[blockDim.x - 1 - threadIdx.x];
}

HKI_KERNEL void shuffles(int *to)
{
    int lane = static_cast<int>(threadIdx.x);
    int down = __shfl_down_sync(0xffffffffu, lane, 1u);
    int up = __shfl_up_sync(0xffffffffu, lane, 2u);
    int eight = __shfl_xor_sync(0xffffffffu, lane, 3, 8);
    int first = __shfl_sync(0xffffffffu, lane, 0, 16);
    unsigned odd = __ballot_sync(0xffffffffu, lane & 1);
    bool any = __any_sync(0xffffffffu, lane == 7), all = __all_sync(0xffffffffu, lane < 31);
    double wide = __shfl_xor_sync(0xffffffffu, lane + 0.5, 31);
    to[lane] = down == (lane < 31 ? lane + 1 : lane) && up == (lane >= 2 ? lane - 2 : lane) &&
               eight == (lane ^ 3) && first == lane / 16 * 16 && odd == 0xaaaaaaaau && any &&
               !all && wide == (lane ^ 31) + 0.5;
}

/* Halves of a warp that exchange apart. */
HKI_KERNEL void halves(int *to)
{
    int lane = static_cast<int>(threadIdx.x);
    if (lane < 16)
        to[lane] = __shfl_xor_sync(0x0000ffffu, lane, 1);
    else
        to[lane] = __shfl_xor_sync(0xffff0000u, lane, 2);
}

HKI_KERNEL void count(unsigned long long *counts, const unsigned *values)
{
    unsigned value = values[HKI_THREAD_INDEX];
    atomicAdd(&counts[0], 1ull);
    atomicMin(&counts[1], static_cast<unsigned long long>(value));
    atomicMax(&counts[2], static_cast<unsigned long long>(value));
    for (unsigned long long old = 0;;) {
        unsigned long long seen = atomicCAS(&counts[3], old, old ^ value);
        if (seen == old)
            break;
        old = seen;
    }
}

struct two_arrays { /* device addresses deep in a structure */
    int64_t size;
    const int *from;
    int *to;
};

HKI_KERNEL void copy_two(two_arrays arrays)
{
    for (int64_t i = HKI_THREAD_INDEX; i < arrays.size; i += HKI_THREAD_COUNT)
        arrays.to[i] = arrays.from[i];
}

HKI_KERNEL void where(uint3 *to)
{
    unsigned index = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    index =
        ((index * blockDim.z + threadIdx.z) * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    to[index] = {blockIdx.x * 100 + threadIdx.x, blockIdx.y * 100 + threadIdx.y,
                 blockIdx.z * 100 + threadIdx.z};
}

HKI_KERNEL void report(hki_cuda_fault *fault)
{
    if (HKI_THREAD_INDEX % 7 == 5)
        hki_cuda_report(fault, HKI_THREAD_INDEX);
}

/* ---- Misuse that ends the program */
HKI_KERNEL void leaves_before_barrier(int *to)
{
    if (threadIdx.x == 3)
        return;
    __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void two_barriers(int *to)
{
    if (threadIdx.x < 32)
        __syncthreads();
    else
        __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void leaves_shuffle_out(int *to)
{
    if (threadIdx.x != 9)
        to[threadIdx.x] = __shfl_xor_sync(0xffffffffu, 1, 1);
}

HKI_KERNEL void names_missing_lane(int *to)
{
    to[threadIdx.x] = __shfl_down_sync(0xffffffffu, 1, 1u);
}

HKI_KERNEL void takes_from_outside(int *to)
{
    if (threadIdx.x < 16)
        to[threadIdx.x] = __shfl_xor_sync(0x0000ffffu, 1, 16);
}

HKI_KERNEL void meets_alone(int *to)
{
    __syncthreads();
    to[threadIdx.x] = 1;
}

HKI_KERNEL void writes_beyond(int *to)
{
    to[16] = 1;
}

HKI_KERNEL void uses(int *to)
{
    (*to)++;
}

/* ---- Tests */
void test_kernels_that_meet()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    std::vector<float> host(64 * 5);
    for (size_t i = 0; i < host.size(); i++)
        host[i] = static_cast<float>(i % 64 + i / 64);
    float *x = new_array<float>(host.size()), *sums = new_array<float>(5);
    cudaMemcpy(x, host.data(), host.size() * 4, cudaMemcpyHostToDevice);
    HKI_LAUNCH_TOGETHER(&stream, 5, 64, sum_blocks, sums, x);
    int *from = new_array<int>(384), *to = new_array<int>(384), *good = new_array<int>(32);
    std::vector<int> numbers(384);
    for (int i = 0; i < 384; i++)
        numbers[size_t(i)] = i;
    cudaMemcpy(from, numbers.data(), 384 * 4, cudaMemcpyHostToDevice);
    HKI_LAUNCH_TOGETHER(&stream, 3, 128, turn, to, from);
    HKI_LAUNCH_TOGETHER(&stream, 1, 32, shuffles, good);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    CHECK_EQ_I64(stream.error, cudaSuccess);
    for (int i = 0; i < 5; i++)
        CHECK(read(sums, 5)[size_t(i)] == 2016.0f + 64.0f * static_cast<float>(i));
    std::vector<int> turned = read(to, 384);
    for (int i = 0; i < 384; i++)
        if (turned[size_t(i)] != i / 128 * 128 + 127 - i % 128)
            CHECK_EQ_I64(turned[size_t(i)], i / 128 * 128 + 127 - i % 128);
    for (int each : read(good, 32))
        CHECK_EQ_I64(each, 1);
    HKI_LAUNCH_TOGETHER(&stream, 1, 32, halves, good);
    cudaStreamSynchronize(stream.handle);
    CHECK_EQ_I64(read(good, 32)[5], 4);
    CHECK_EQ_I64(read(good, 32)[17], 19);
#ifndef HKI_EMULATED_TSAN /* which would say so itself */
    HKI_LAUNCH_TOGETHER(&stream, 1, 128, turn_without_barrier, to, from);
    cudaStreamSynchronize(stream.handle);
    turned = read(to, 128);
    bool is_right = true;
    for (int i = 0; i < 128; i++)
        is_right = is_right && turned[size_t(i)] == 127 - i;
    CHECK(!is_right);
#endif
}

void test_atomics_of_two_streams()
{
    restart("slow=1");
    hki_cuda_stream streams[2] = {{new_stream(), cudaSuccess}, {new_stream(), cudaSuccess}};
    const int launches = 20, threads = 256;
    std::vector<unsigned> values(threads);
    unsigned mixed = 0;
    for (unsigned i = 0; i < threads; i++)
        mixed ^= values[i] = 17 + i * 7;
    unsigned *x = new_array<unsigned>(threads);
    auto *counts = new_array<unsigned long long>(4);
    cudaMemcpy(x, values.data(), threads * 4, cudaMemcpyHostToDevice);
    const unsigned long long begin[4] = {0, 1000000, 0, 0};
    cudaMemcpy(counts, begin, sizeof begin, cudaMemcpyHostToDevice);
    for (int i = 0; i < launches; i++)
        HKI_LAUNCH(&streams[i % 2], 4, 64, count, counts, x);
    CHECK_EQ_I64(cudaDeviceSynchronize(), cudaSuccess);
    std::vector<unsigned long long> found = read(counts, 4);
    CHECK_EQ_I64(found[0], launches * threads);
    CHECK_EQ_I64(found[1], 17);
    CHECK_EQ_I64(found[2], 17 + 255 * 7);
    CHECK_EQ_I64(found[3], launches % 2 ? mixed : 0);
}

void test_geometry_and_arguments()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    uint3 *places = new_array<uint3>(2 * 3 * 2 * 4 * 2 * 3);
    HKI_LAUNCH(&stream, dim3(2, 3, 2), dim3(4, 2, 3), where, places);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    std::vector<uint3> found = read(places, 288);
    CHECK_EQ_I64(found[287].x, 103);
    CHECK_EQ_I64(found[287].y, 201);
    CHECK_EQ_I64(found[287].z, 102);
    CHECK_EQ_I64(found[24 + 5].x, 101);
    CHECK_EQ_I64(found[24 + 5].y, 1);
    int *a = new_array<int>(50), *b = new_array<int>(50);
    HKI_LAUNCH(&stream, 1, 32, fill, a, 7, 50);
    two_arrays arrays = {50, a, b};
    HKI_LAUNCH(&stream, 1, 32, copy_two, arrays);
    CHECK_EQ_I64(stream.error, cudaSuccess);
    cudaStreamSynchronize(stream.handle);
    CHECK_EQ_I64(read(b, 50)[49], 7);
    const dim3 wrong[][2] = {{dim3(0), dim3(32)},       {dim3(1), dim3(0)},
                             {dim3(1), dim3(1025)},     {dim3(0x80000000u), dim3(1)},
                             {dim3(1, 65536), dim3(1)}, {dim3(1, 1, 65536), dim3(1)},
                             {dim3(1), dim3(33, 32)},   {dim3(1), dim3(1, 1, 65)}};
    for (const auto &shape : wrong) {
        stream.error = cudaSuccess;
        HKI_LAUNCH(&stream, shape[0], shape[1], fill, a, 7, 50);
        CHECK_EQ_I64(stream.error, cudaErrorInvalidConfiguration);
    }
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
}

void test_faults_of_values()
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    void *memory;
    CHECK_EQ_I64(cudaHostAlloc(&memory, 3 * sizeof(hki_cuda_fault), cudaHostAllocDefault),
                 cudaSuccess);
    auto *board = static_cast<hki_cuda_fault *>(memory);
    for (unsigned i = 0; i < 3; i++)
        board[i] = {UINT64_MAX, 0, i, {}};
    HKI_LAUNCH(&stream, 4, 32, report, &board[2]);
    CHECK_EQ_I64(cudaStreamSynchronize(stream.handle), cudaSuccess);
    CHECK_EQ_I64(board[2].index, 5);
    CHECK_EQ_I64(board[0].value, 2); /* its flag */
    CHECK_EQ_I64(cudaFreeHost(memory), cudaSuccess);
}

/* ---- In processes of their own */
int misuse(const std::string &name)
{
    restart("");
    hki_cuda_stream stream = {new_stream(), cudaSuccess};
    int *a = new_array<int>(64);
    if (name == "leaves_before_barrier")
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, leaves_before_barrier, a);
    else if (name == "two_barriers")
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, two_barriers, a);
    else if (name == "leaves_shuffle_out")
        HKI_LAUNCH_TOGETHER(&stream, 1, 32, leaves_shuffle_out, a);
    else if (name == "names_missing_lane")
        HKI_LAUNCH_TOGETHER(&stream, 1, 16, names_missing_lane, a);
    else if (name == "takes_from_outside")
        HKI_LAUNCH_TOGETHER(&stream, 1, 32, takes_from_outside, a);
    else if (name == "meets_alone")
        HKI_LAUNCH(&stream, 1, 32, meets_alone, a);
    else if (name == "writes_beyond") {
        a = new_array<int>(16);
        HKI_LAUNCH(&stream, 1, 1, writes_beyond, a);
        cudaFree(a);
    } else if (name == "host_reads") {
        printf("%d\n", a[0]);
    } else if (name == "used_when_freed") {
        cudaStream_t other = new_stream();
        gate gate;
        gate.hold(stream.handle);
        HKI_LAUNCH(&stream, 1, 1, uses, a);
        cudaFreeAsync(a, other);
        cudaStreamSynchronize(other);
        gate.open();
    } else if (name == "turn_without_barrier") {
        int *to = new_array<int>(64);
        cudaMemset(a, 0, 256);
        HKI_LAUNCH_TOGETHER(&stream, 1, 64, turn_without_barrier, to, a);
    } else if (name == "without_event") {
        hki_cuda_stream other = {new_stream(), cudaSuccess};
        for (int i = 0; i < 2; i++)
            HKI_LAUNCH(i ? &other : &stream, 1, 32, fill, a, i, 64);
    } else if (name == "source_written") {
        static int from[64];
        gate gate;
        gate.hold(stream.handle);
        cudaMemcpyAsync(a, from, sizeof from, cudaMemcpyHostToDevice, stream.handle);
        gate.open(); /* before, because what is before it comes before what the gate holds */
        from[0] = 1;
    } else
        return 3;
    cudaDeviceSynchronize();
    return 0;
}

void test_misuse_ends_the_program(const char *program)
{
    const struct {
        const char *name, *message; /* message NULL: it faults, with whatever words */
    } cases[] = {
        {"leaves_before_barrier",
         "kernel leaves_before_barrier, block (0, 0, 0): its threads cannot meet"},
        {"two_barriers", "waits at __syncthreads"},
        {"leaves_shuffle_out", "waits in a shuffle of its warp"},
        {"names_missing_lane", "names lane 16, but the block has 16 threads"},
        {"takes_from_outside", "takes the value of lane 16"},
        {"meets_alone", "HKI_LAUNCH_TOGETHER"},
        {"writes_beyond", NULL},
        {"host_reads", NULL},
        {"used_when_freed", NULL},
#ifdef HKI_EMULATED_TSAN
        {"turn_without_barrier", "data race"},
        {"without_event", "data race"},
        {"source_written", "data race"},
#endif
    };
    for (const auto &each : cases) {
        int ends[2], status;
        CHECK(!pipe(ends));
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
        posix_spawn_file_actions_addclose(&actions, ends[0]);
        char *arguments[] = {const_cast<char *>(program), const_cast<char *>(each.name), nullptr};
        pid_t child;
        CHECK(!posix_spawn(&child, program, &actions, nullptr, arguments, environ));
        posix_spawn_file_actions_destroy(&actions);
        close(ends[1]);
        std::string words;
        char part[512];
        for (ssize_t bytes; (bytes = ::read(ends[0], part, sizeof part)) > 0;)
            words.append(part, static_cast<size_t>(bytes));
        close(ends[0]);
        waitpid(child, &status, 0);
        bool is_found = WIFSIGNALED(status) || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
        if (each.message)
            is_found = is_found && words.find(each.message) != std::string::npos;
        if (!is_found)
            fprintf(stderr, "%s: status %d, \"%s\"\n", each.name, status, words.c_str());
        CHECK(is_found);
    }
}

} // namespace

int main(int argc, char **argv)
{
    if (argc > 1)
        return misuse(argv[1]);
    test_kernels_that_meet();
    test_atomics_of_two_streams();
    test_geometry_and_arguments();
    test_faults_of_values();
    test_misuse_ends_the_program(argv[0]);
    return check_result();
}
