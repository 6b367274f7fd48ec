/* A CUDA device as programs see it: names, copies that come neither too early nor too late, memory that runs out, and, on
 * the emulation, which can be told to fail, what is left of a program when CUDA refuses memory or gives up a GPU.
 *
 *   cuda_device           all of it on cuda:0, but for exits
 *   cuda_device exit      processes that exit while the device is at work
 *   cuda_device STEP      one step in a process of its own, which the forms above start: see `steps` */
#include "base/sanitizer.h"
#include "check.h"

#include "engine/engine.h"

#include <fcntl.h>
#include <hocket/hocket.h>
#include <spawn.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void begin(const char *cuda, uint64_t memory_bytes, hk_engine engine)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){
        .cpu_devices = 2, .cuda = cuda, .cuda_memory_bytes = memory_bytes, .engine = engine})));
}

/* ---- names ------------------------------------------------------------------------------------------------------- */

static void expect_missing(const char *name, const char *why)
{
    const hk_status *status = hk_device_status(hk_device_named(name));
    CHECK(hk_status_code(status) == HK_NOT_FOUND);
    if (!strstr(hk_status_message(status), why))
        fprintf(stderr, "%s: %s\n", name, hk_status_message(status));
    CHECK(strstr(hk_status_message(status), why) != NULL);
}

static void test_names(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    hk_device device = hk_device_named("cuda:0");
    CHECK(hk_ok(hk_device_status(device)));
    CHECK_STR(hk_device_kind(device), "cuda");
    CHECK(!hk_device_is_simulated(device));
    CHECK(strstr(hk_device_description(device), "compute capability") != NULL);
    CHECK(strstr(hk_cuda_describe(), "GPU 0: ") != NULL);
    expect_missing("cuda:15", "GPU");
    expect_missing("cuda:0/0", "there are cpu:0 to cpu:1 and cuda:0");
    expect_missing("cuda", "GPUs are named cuda:0");
    hk_runtime_deinit();

    begin("0/2", 0, HK_ENGINE_DEFAULT);
    CHECK(hk_ok(hk_device_status(hk_device_named("cuda:0/0"))));
    CHECK(hk_ok(hk_device_status(hk_device_named("cuda:0/1"))));
    expect_missing("cuda:0", "option cuda splits GPU 0");
    expect_missing("cuda:0/2", "option cuda splits GPU 0");
    hk_runtime_deinit();

    begin("1", 0, HK_ENGINE_DEFAULT);
    expect_missing("cuda:0", "option cuda leaves out GPU 0");
    hk_runtime_deinit();
    begin("off", 0, HK_ENGINE_DEFAULT);
    expect_missing("cuda:0", "CUDA is off (option cuda)");
    hk_runtime_deinit();
}

/* ---- copies ------------------------------------------------------------------------------------------------------ */

/* Pageable arrays of the host, made by a long chain of calls, go to the device, are overwritten at once, and so are the
 * copies: each copy shows what its source held at its place in the program. */
static void test_copies(const char *cuda, const char *from, const char *to, hk_engine engine)
{
    enum { SIZE = 3 * 262144 + 77 }; /* three stagings, and some */
    enum { ROUNDS = HKI_SANITIZED ? 2 : 6 };
    begin(cuda, 0, engine);
    {
        HK_SCOPE;
        hk_device host = hk_device_named("cpu:1"), there = hk_device_named(from),
                  other = hk_device_named(to);
        hk_array *sums[ROUNDS], *source = hk_zeros(hk_shape(SIZE), HK_F32, host);
        hk_array *back = hk_zeros(hk_shape(SIZE), HK_F32, host);
        for (int i = 0; i < ROUNDS; i++) {
            for (int j = 0; j < 5; j++)
                hk_assign(source, hk_add(source, 1));
            hk_array *x = hk_to_device(source, there);
            hk_assign(source, hk_add(source, 1000)); /* too late for x */
            x = hk_to_device(hk_add(x, 0.5), other);
            hk_assign(back, x);                           /* into pageable memory, */
            hk_array *again = hk_to_device(back, there);  /* from where it goes on, */
            hk_assign(back, hk_scalar(-1, HK_F32, host)); /* and what was there is gone */
            sums[i] = hk_max(again, NULL);
            hk_array *low = hk_min(again, NULL);
            hk_assign(sums[i],
                      hk_add(sums[i], hk_subtract(low, sums[i]))); /* equal, or NaN-free nonsense */
            hk_assign(source, hk_add(source, -1000));
        }
        for (int i = 0; i < ROUNDS; i++)
            CHECK(hk_item(sums[i], NULL) == 5 * (i + 1) + 0.5);
        CHECK(hk_item(hk_max(back, NULL), NULL) == -1);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

/* Small arrays of each dtype, whose host memory is pinned, and empty ones. */
static void test_small_copies(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_device device = hk_device_named("cuda:0");
        for (int dtype = 0; dtype < 6; dtype++) {
            uint8_t in[8 * 5] = {0}, out[8 * 5] = {0};
            size_t bytes = 5 * hk_dtype_bytes((hk_dtype)dtype);
            for (size_t i = 0; i < bytes; i++)
                in[i] = (uint8_t)(dtype == HK_BOOL ? i % 2 : i + 1);
            hk_array *x = hk_from_host(in, hk_shape(5), (hk_dtype)dtype, device);
            CHECK(hk_ok(hk_to_host(x, out, bytes)));
            CHECK(!memcmp(in, out, bytes));
        }
        CHECK(hk_ok(hk_to_host(hk_from_host(NULL, hk_shape(0, 3), HK_F32, device), NULL, 0)));
        /* As many copies at once as there are places for tasks, and more. */
        hk_array *x = hk_zeros(hk_shape(16), HK_F32, hk_device_default());
        for (int i = 0; i < 1000; i++) {
            HK_SCOPE;
            hk_assign(x, hk_to_device(hk_to_device(x, device), hk_device_default()));
        }
        CHECK(hk_item(hk_max(x, NULL), NULL) == 0);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

/* ---- memory ------------------------------------------------------------------------------------------------------ */

static void test_limit(void)
{
    begin("0", 8u << 20, HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_device device = hk_device_named("cuda:0");
        hk_array *small = hk_ones(hk_shape(1 << 20), HK_F32, device);
        hk_array *large = hk_ones(hk_shape(2 << 20), HK_F32, device);
        const hk_status *status = hk_wait(large);
        CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
        CHECK(strstr(hk_status_message(status),
                     "cuda:0 has no room for 8388608 bytes: 4194304 in use") != NULL);
        CHECK(strstr(hk_status_message(status), "HOCKET_CUDA_MEMORY") != NULL);
        CHECK(hk_item(hk_sum(small, NULL), NULL) == 1 << 20);
        CHECK(hk_device_get_memory(device).limit_bytes == 8u << 20);
    }
    hk_failures_clear();
    /* What is dropped in flight is used again: no more than a few blocks are ever needed. */
    for (int i = 0; i < (HKI_SANITIZED ? 40 : 300); i++) {
        HK_SCOPE;
        hk_add(hk_ones(hk_shape(256 << 10), HK_F32, hk_device_named("cuda:0")), 1);
    }
    CHECK(!hk_status_print(hk_wait_all(), stderr));
    hk_runtime_deinit();
}

/* ---- what only the emulation can be told to do --------------------------------------------------------------------- */

/* Something of everything: copies of pinned and pageable memory, calls, a sum over devices. Returns whether all is well;
 * if not, then with a record, and the CPU's part is right in any case. */
static bool use_everything(const char *cuda, const char *first, const char *second)
{
    begin(cuda, 0, HK_ENGINE_DEFAULT);
    bool good;
    {
        HK_SCOPE;
        hk_device a = hk_device_named(first), b = hk_device_named(second);
        hk_array *cpu = hk_ones(hk_shape(300000), HK_F32, hk_device_default());
        hk_array *x[] = {hk_to_device(cpu, a), hk_to_device(cpu, b)};
        for (int i = 0; i < 10; i++) {
            x[0] = hk_add(x[0], x[0]);
            x[1] = hk_multiply(x[1], 2);
            cpu = hk_add(cpu, 1);
        }
        hk_all_reduce(x, 2);
        hk_array *back = hk_to_device(x[0], hk_device_default());
        hk_array *results[] = {hk_max(back, NULL), hk_max(x[1], NULL)};
        CHECK(hk_item(hk_min(cpu, NULL), NULL) == 11);
        for (int i = 0; i < 2; i++) {
            const hk_status *status;
            double value = hk_item(results[i], &status);
            CHECK(!hk_ok(status) || value == 2048);
            if (!hk_ok(status))
                CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY ||
                      hk_status_code(status) == HK_DEVICE_LOST);
        }
        good = hk_ok(hk_wait_all());
    }
    hk_failures_clear();
    hk_runtime_deinit();
    return good;
}

/* The GPU is lost in the middle: the device's tasks fail by a record that says so, at once, and stay failed; CPU devices
 * go on; other records are not touched. */
static void lose(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_device device = hk_device_named("cuda:0");
        hk_array *cpu = hk_ones(hk_shape(1000), HK_F32, hk_device_default());
        hk_array *x = hk_to_device(cpu, device), *lost = NULL;
        for (int i = 0; i < 200; i++)
            x = hk_add(x, 1);
        lost = x;
        const hk_status *status = hk_wait(lost);
        CHECK(hk_status_code(status) == HK_DEVICE_LOST);
        CHECK_STR(hk_status_device(status), "cuda:0");
        CHECK(strstr(hk_status_message(status), "cuda:0 is lost") != NULL);
        CHECK(strstr(hk_status_message(status), "illegal memory access") != NULL ||
              strstr(hk_status_message(status), "cudaErrorIllegalAddress") != NULL);
        /* Everything there fails from now on, what is new too. */
        CHECK(hk_status_code(hk_wait(hk_ones(hk_shape(5000), HK_F32, device))) == HK_DEVICE_LOST);
        CHECK(hk_status_code(hk_wait(hk_to_device(cpu, device))) == HK_DEVICE_LOST);
        for (int i = 0; i < 1000; i++)
            cpu = hk_add(cpu, 1);
        CHECK(hk_item(hk_sum(cpu, NULL), NULL) == 1001000);
        CHECK(hk_status_code(hk_wait_all()) == HK_DEVICE_LOST);
        hk_failures_clear();
        CHECK(hk_ok(hk_wait_all()));
    }
    hk_runtime_deinit();
}

static void copy_slowly(void)
{
    test_copies("0", "cuda:0", "cuda:0", HK_ENGINE_DEFAULT);
    test_copies("0/2", "cuda:0/0", "cuda:0/1", HK_ENGINE_DEFAULT);
    test_copies("0,1", "cuda:0", "cuda:1", HK_ENGINE_DEFAULT);
}

static void refuse(void)
{
    use_everything("0/2", "cuda:0/0", "cuda:0/1");
}

static void succeed(void)
{
    CHECK(use_everything("0/2", "cuda:0/0", "cuda:0/1"));
    CHECK(use_everything("0,1", "cuda:0", "cuda:1"));
}

/* A GPU whose memory is too small, without a limit of ours. */
static void fill(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_device device = hk_device_named("cuda:0");
        hk_array *large = hk_ones(hk_shape(64 << 20), HK_F32, device);
        const hk_status *status = hk_wait(large);
        CHECK(hk_status_code(status) == HK_OUT_OF_MEMORY);
        CHECK(strstr(hk_status_message(status), "no limit; release arrays") != NULL);
        CHECK(hk_item(hk_sum(hk_ones(hk_shape(1000), HK_F32, device), NULL), NULL) == 1000);
    }
    hk_runtime_deinit();
}

/* A GPU with room for one more MiB than what stays: arrays, and at last a workspace, wait until what has been launched
 * before, and holds that MiB, has ended. */
static void wait_for_room(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    {
        HK_SCOPE;
        hk_device device = hk_device_named("cuda:0");
        hk_array *both = hk_ones(hk_shape(256, 256, 2), HK_F32, device);
        hk_array *a = hk_index(both, 2, 1); /* has gaps, and so is copied into a workspace */
        hk_array *b = hk_ones(hk_shape(256, 4), HK_F32, device);
        hk_array *product = hk_zeros(hk_shape(256, 4), HK_F32, device);
        hk_array *sum = hk_zeros(hk_shape(1 << 18), HK_F32, device);
        CHECK(hk_ok(hk_wait_all()));
        for (int i = 0; i < 50; i++) {
            HK_SCOPE;
            hk_add_into(sum, sum, hk_ones(hk_shape(1 << 18), HK_F32, device));
        }
        hk_call_into("matmul", product, (hk_array *const[]){a, b}, 2, NULL);
        CHECK(!hk_status_print(hk_wait_all(), stderr));
        CHECK(hk_item(hk_index(sum, 0, 777), NULL) == 50);
        CHECK(hk_item(hk_index(hk_index(product, 0, 7), 0, 3), NULL) == 256);
    }
    hk_runtime_deinit();
}

static void expect_no_driver(void)
{
    begin("all", 0, HK_ENGINE_DEFAULT);
    CHECK_EQ_I64(hk_device_count(), 2);
    expect_missing("cuda:0", "CUDA cannot be used: CUDA driver version is insufficient");
    CHECK(strstr(hk_cuda_describe(), "CUDA cannot be used") != NULL);
    hk_runtime_deinit();
}

static void expect_no_gpu(void)
{
    begin("all", 0, HK_ENGINE_DEFAULT);
    CHECK_EQ_I64(hk_device_count(), 2);
    expect_missing("cuda:0", "no");
    hk_runtime_deinit();
}

static void expect_old_gpu(void)
{
    begin("all", 0, HK_ENGINE_DEFAULT);
    CHECK_EQ_I64(hk_device_count(), 2);
    expect_missing("cuda:0", "its compute capability is 7.5; 8.0 or more is needed");
    hk_runtime_deinit();
}

/* Keeps the device and NVIDIA's libraries at work. */
static void work_on(void)
{
    begin("0", 0, HK_ENGINE_DEFAULT);
    hk_device device = hk_device_named("cuda:0");
    hk_array *x = hk_ones(hk_shape(2, 4, 30, 30), HK_F32, device);
    hk_array *weight = hk_ones(hk_shape(4, 4, 1, 1), HK_F32, device);
    hk_array *a = hk_ones(hk_shape(30, 30), HK_F32, device);
    for (int i = 0; i < 1000; i++) {
        x = hk_conv2d(x, weight, NULL, NULL);
        a = hk_matmul(a, a);
    }
    hk_take(hk_to_device(x, hk_device_default()));
}

/* Exits while the device is at work. */
static void leave(void)
{
    work_on();
    exit(0);
}

static void exit_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    exit(0);
}

/* The same in a task, which cannot end the runtime that it is of: its threads go on while CUDA ends. */
static void leave_in_task(void)
{
    static const hki_task_class class = {.run = exit_run};
    static hki_var var;
    work_on();
    hki_runtime *runtime = hki_runtime_default();
    hki_var_init(&var, runtime);
    hki_task *task = hki_task_begin(runtime, 0, 1, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &class;
    spec->device = hk_device_default().handle;
    spec->operation = "exit";
    spec->accesses[0] = (hki_access){&var, 0, 1, HKI_WRITE, 0};
    hki_task_submit(task);
    pause();
}

static hk_array *left;

/* Uses the device after the runtime has ended, and CUDA perhaps, too. */
static void use_late(void)
{
    hk_device device = hk_device_named("cuda:0");
    hk_array *x = hk_add(hk_ones(hk_shape(100000), HK_F32, device), 1);
    hk_wait(x);
    hk_array_release(x);
    hk_array_release(left);
    hk_runtime_deinit();
}

static void leave_early(void)
{
    atexit(use_late); /* before anything of the library's: called last */
    work_on();
    left = hk_take(hk_ones(hk_shape(100000), HK_F32, hk_device_named("cuda:0")));
}

static const struct {
    const char *name;
    void (*run)(void);
} steps[] = {{"limit", test_limit},
             {"copies", copy_slowly},
             {"lose", lose},
             {"refuse", refuse},
             {"succeed", succeed},
             {"fill", fill},
             {"no_driver", expect_no_driver},
             {"no_gpu", expect_no_gpu},
             {"old_gpu", expect_old_gpu},
             {"wait_for_room", wait_for_room},
             {"leave", leave},
             {"leave_in_task", leave_in_task},
             {"leave_early", leave_early}};
enum { STEP_COUNT = sizeof steps / sizeof *steps };

extern char **environ;

/* A process that exits at work ends well, and has printed nothing. */
static void expect_silence(const char *program, const char *step)
{
    char *arguments[] = {(char *)program, (char *)step, NULL}, text[4096];
    char file[] = "cuda_device_XXXXXX"; /* tests have a folder of their own */
    const int output = mkstemp(file);
    posix_spawn_file_actions_t actions;
    pid_t child = -1;
    int status = -1;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    /* What it is at work on stays where it is: no leak, to who looks for them. */
    setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
    CHECK(output >= 0 && posix_spawn(&child, program, &actions, NULL, arguments, environ) == 0);
    unsetenv("LSAN_OPTIONS");
    waitpid(child, &status, 0);
    const ssize_t length = pread(output, text, sizeof text, 0);
    if (status != 0 || length != 0)
        fprintf(stderr, "%s: status %d, and printed: %.*s\n", step, status, (int)length, text);
    CHECK(status == 0 && length == 0);
    posix_spawn_file_actions_destroy(&actions);
    close(output);
    unlink(file);
}

static void start(const char *program, const char *step, const char *emulated)
{
    char *arguments[] = {(char *)program, (char *)step, NULL};
    pid_t child;
    int status = -1;
    if (emulated)
        setenv("HOCKET_EMULATED_CUDA", emulated, 1);
    CHECK(posix_spawn(&child, program, NULL, NULL, arguments, environ) == 0);
    waitpid(child, &status, 0);
    if (status != 0)
        fprintf(stderr, "%s with %s: status %d\n", step, emulated ? emulated : "a GPU", status);
    CHECK_EQ_I64(status, 0);
}

static void test_exits(const char *program)
{
    for (int i = 0; i < 5; i++) {
        expect_silence(program, "leave");
        expect_silence(program, "leave_in_task");
        expect_silence(program, "leave_early");
    }
}

static void test_emulated(const char *program)
{
    char text[64];
    start(program, "no_driver", "driver=0");
    start(program, "no_gpu", "gpus=0");
    start(program, "old_gpu", "capability=75");
    start(program, "fill", "memory=64M");
    start(program, "wait_for_room", "memory=2800K");
    start(program, "wait_for_room", "memory=2800K,slow=7");
    start(program, "copies", "gpus=2,slow=1");
    start(program, "copies", "gpus=2,peers=0,slow=9");
    start(program, "succeed", "gpus=2,slow=3");
    start(program, "succeed", "gpus=2,peers=0,slow=5");
    /* Each allocation of it in turn. */
    for (int i = 1; i <= 24; i += HKI_THREAD_SANITIZER ? 5 : 1) {
        snprintf(text, sizeof text, "fail_allocation=%d", i);
        start(program, "refuse", text);
    }
    for (int i = 1; i <= 100; i = 2 * i + 1) {
        snprintf(text, sizeof text, "lose_at=%d,slow=%d", i, i % 2 ? i : 0);
        start(program, "lose", text);
        start(program, "refuse", text);
    }
}

int main(int argc, char **argv)
{
    for (int i = 0; i < STEP_COUNT; i++)
        if (argc > 1 && !strcmp(argv[1], steps[i].name)) {
            steps[i].run();
            return check_result();
        }
    if (argc > 1) {
        CHECK_STR(argv[1], "exit");
        test_exits(argv[0]);
        return check_result();
    }
    test_names();
    test_copies("0", "cuda:0", "cuda:0", HK_ENGINE_DEFAULT);
    test_copies("0/2", "cuda:0/0", "cuda:0/1", HK_ENGINE_DEFAULT);
    test_copies("0/2", "cuda:0/0", "cuda:0/1", HK_ENGINE_SERIAL);
    test_small_copies();
    test_limit();
    if (getenv("HOCKET_EMULATED_CUDA"))
        test_emulated(argv[0]);
    return check_result();
}
