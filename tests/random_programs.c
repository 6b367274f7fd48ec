/* Random programs: thousands of calls on shared, sliced and in-place written arrays, from several
 * threads, on several devices, with failures among them. Replaying the recorded order of calls in
 * the serial engine gives the same bytes and the same errors. Where there are accelerators (HOCKET_SIM, GPUs),
 * programs run on them and one CPU device, and are replayed on CPU devices only.
 *
 *   random_programs [SEEDS]   six, three under sanitizers, or fewer where GPUs are emulated slowly */
#include "base/sanitizer.h"
#include "check.h"
#include "engine/engine.h"

#include <hocket/hocket.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    MAX_DEVICES = 3,
    ARRAYS = 4, /* on each device; the last one is large enough to be cut into pieces */
    SMALL = 64,
    LARGE = 512,
    SLICES = 8,
    CELLS = SLICES * SLICES,
    MAX_THREADS = 3,
    MAX_CALLS = 6000,
    SEEDS = HKI_SANITIZED
                ? 3
                : 6 /* three have every number of devices, and both ways to run short calls */
};

typedef enum kind {
    COMBINE, /* dst = dst or a slice of another array, with a third */
    SCALAR,
    ASSIGN, /* from any device */
    WRITE,
    RECOVER,
    MISFIT, /* shapes that do not go together */
    KERNEL, /* a function of this program, or a promise that is kept or broken */
    KIND_COUNT
} kind;

typedef struct slice {
    int device, array, axis;
    int64_t begin, end;
} slice;

typedef struct instruction {
    kind kind;
    const char *name;
    slice out, in[2];
    double value;
    uint64_t sequence;
} instruction;

typedef struct program {
    uint64_t seed;
    int devices, threads, calls; /* calls of each thread */
    bool accelerated;            /* all devices but the first are accelerators */
    bool has_kernels;            /* which GPUs would need functions for */
} program;

typedef struct thread {
    const program *program;
    uint64_t random;
    int index;
    instruction instructions[MAX_CALLS];
} thread;

typedef struct outcome {
    uint64_t hash;
    char text[160]; /* what failed, and the operation */
} outcome;

static hk_array *arrays[MAX_DEVICES][ARRAYS];
static bool are_accelerated; /* all devices but the first, of this program */

/* ---- kernels of a program's own ------------------------------------------------------------- */

/* What a kernel does follows from the values that it finds. */
static void mix_rows(hk_task_call *call, int64_t begin, int64_t end)
{
    const int last = hk_task_view_count(call) - 1;
    const hk_task_view out = hk_task_view_of(call, last);
    for (int64_t i = begin; i < end; i++)
        for (int64_t j = 0; j < out.shape.dims[1]; j++) {
            int32_t *at = (int32_t *)out.data + i * out.strides[0] + j * out.strides[1];
            uint32_t value = (uint32_t)*at;
            for (int k = 0; k < last; k++) {
                const hk_task_view in = hk_task_view_of(call, k);
                value = value * 3 +
                        (uint32_t)((const int32_t *)in.data)[i * in.strides[0] + j * in.strides[1]];
            }
            if (value % 8191 == 17) {
                hk_task_refuse(call, "value %d is refused", (int)value);
                return;
            }
            *at = (int32_t)(value % 1000003);
        }
}

static int64_t rows(const hk_task_call *call)
{
    return hk_task_view_of(call, hk_task_view_count(call) - 1).shape.dims[0];
}

static double cost(const hk_task_call *call)
{
    return 2.0 * (double)rows(call) * 64;
}

static void mix(hk_task_call *call)
{
    mix_rows(call, 0, rows(call));
}

static void mix_part(hk_task_call *call)
{
    mix_rows(call, hk_task_begin(call), hk_task_end(call));
}

static const hk_kernel whole = {.name = "whole", .cpu = mix, .cost_ns = cost},
                       divided = {.name = "divided", .cpu = mix_part, .extent = rows},
                       waiting = {.name = "waiting", .cpu = mix, .waits = true};

static uint64_t draw(uint64_t *state, uint64_t below)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % below;
}

static int64_t side_of(int array)
{
    return array == ARRAYS - 1 ? LARGE : SMALL;
}

static slice random_slice(uint64_t *random, int device, int64_t length, int axis)
{
    /* Only the large array has room for long slices. */
    slice s = {.device = device, .axis = axis};
    s.array = length > SMALL ? ARRAYS - 1 : (int)draw(random, ARRAYS - 1);
    s.begin = (int64_t)draw(random, (uint64_t)(side_of(s.array) - length + 1));
    s.end = s.begin + length;
    return s;
}

static bool same_place(const slice *a, const slice *b)
{
    return a->device == b->device && a->array == b->array;
}

/* Calls that read and write overlapping slices of one array copy first: with several threads these are
 * two calls in the order, so such programs do without. */
static bool overlap(const slice *a, const slice *b)
{
    return same_place(a, b) && a->begin < b->end && b->begin < a->end && a->begin != b->begin;
}

static instruction random_instruction(const program *p, uint64_t *random)
{
    static const char *const two[] = {"add", "subtract", "multiply", "maximum", "divide"};
    static const char *const one[] = {"add", "multiply", "maximum", "subtract"};
    instruction i = {.kind = (kind)draw(random, KIND_COUNT + 6)};
    if (i.kind >= KIND_COUNT)
        i.kind = COMBINE;
    if (i.kind == KERNEL && !p->has_kernels)
        i.kind = COMBINE;
    if ((i.kind == RECOVER || i.kind == MISFIT) && draw(random, 4))
        i.kind = WRITE;
    int device = (int)draw(random, (uint64_t)p->devices);
    bool large = draw(random, 8) == 0;
    int axis = (int)draw(random, 2);
    int64_t length = 1 + (int64_t)draw(random, large ? LARGE : SMALL);
    if (draw(random, 4) == 0)
        length = large ? LARGE : SMALL;
    if (large && length <= SMALL)
        length = SMALL + 1;
    /* Between memories an assignment may be several calls in the order. */
    bool may_cross = !p->accelerated || p->threads == 1;
    do {
        i.out = random_slice(random, device, length, axis);
        for (int j = 0; j < 2; j++) {
            bool elsewhere = i.kind == ASSIGN && may_cross;
            i.in[j] = random_slice(
                random, elsewhere ? (int)draw(random, (uint64_t)p->devices) : device, length, axis);
            if (draw(random, 3) == 0 && !elsewhere)
                i.in[j] = i.out;
        }
    } while (overlap(&i.out, &i.in[0]) || overlap(&i.out, &i.in[1]));
    /* Dividing by what has zeros in it fails; by an array that seldom has them, seldom. */
    i.name = i.kind == SCALAR ? one[draw(random, 4)] : two[draw(random, 5)];
    i.value = (double)draw(random, 5) - 1;
    return i;
}

static hk_array *view_of(const slice *s)
{
    return hk_slice(arrays[s->device][s->array], s->axis, s->begin, s->end);
}

/* A promise that this thread keeps, or breaks, when it has the memory. */
static void promise(hk_array *out, int value)
{
    hk_promise *self = hk_promise_create(HK_ACCESS(hk_updates(out)), NULL);
    const hk_task_view view = hk_promise_view(self, 0);
    if (view.data)
        *(int32_t *)view.data += value;
    if (value)
        hk_promise_keep(self);
    else
        hk_promise_break(self, "it was not to be");
}

/* What is written is no input as well: that, hk_run would refuse. */
static void run_kernel(const instruction *i, hk_array *out, hk_array *const in[2])
{
    const int count = same_place(&i->out, &i->in[0]) ? 0 : same_place(&i->out, &i->in[1]) ? 1 : 2;
    const bool is_host = i->out.device == 0 || !are_accelerated;
    const hk_kernel *kernel = i->name[0] == 'm' && is_host   ? &waiting
                              : i->name[0] == 's' && is_host ? &divided
                                                             : &whole;
    hk_access accesses[] = {hk_reads(in[0]), hk_reads(in[1]), hk_updates(out)};
    accesses[count] = accesses[2];
    if (i->name[0] == 'd' && is_host)
        promise(out, (int)i->value);
    else if (count == 0 && i->value > 1)
        hk_run(kernel, HK_ACCESS(hk_accumulates(out)), NULL, 0, NULL);
    else
        hk_run(kernel, accesses, count + 1, NULL, 0, NULL);
}

static void play_one(const instruction *i)
{
    HK_SCOPE;
    hk_array *out = view_of(&i->out), *in[] = {view_of(&i->in[0]), view_of(&i->in[1])};
    switch (i->kind) {
    case COMBINE:
        hk_call_into(i->name, out, in, 2, NULL);
        break;
    case SCALAR: {
        const hk_operand x = hk_operand_of_array(in[0]);
        const hk_operand y = hk_operand_of_int((int64_t)i->value);
        const hk_operand operands[] = {i->value > 1 ? y : x, i->value > 1 ? x : y};
        hk_operator_call_operands_into(hk_operator_find(i->name), out, operands, 2);
        break;
    }
    case ASSIGN:
        hk_assign(out, in[0]);
        break;
    case WRITE: {
        int64_t count = hk_size(out);
        int32_t *values = malloc((size_t)count * sizeof *values);
        for (int64_t j = 0; j < count; j++)
            values[j] = (int32_t)((j + i->out.begin) % 7) + 1;
        hk_write(out, values, (size_t)count * sizeof *values);
        free(values);
        break;
    }
    case RECOVER:
        hk_recover(out);
        break;
    case KERNEL:
        run_kernel(i, out, in);
        break;
    default:
        in[1] = hk_slice(in[1], 1 - i->out.axis, 0, 5);
        hk_call_into("add", out, in, 2, NULL);
        break;
    }
}

static void *issue(void *argument)
{
    thread *t = argument;
    for (int i = 0; i < t->program->calls; i++) {
        t->instructions[i] = random_instruction(t->program, &t->random);
        play_one(&t->instructions[i]);
        t->instructions[i].sequence = hki_last_sequence();
        if (draw(&t->random, 400) == 0) {
            slice any = random_slice(&t->random, 0, 3, 0);
            HK_SCOPE;
            hk_wait(view_of(&any));
        }
    }
    return NULL;
}

static void begin(const program *p, hk_engine engine, int64_t inline_ns, bool accelerated)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = accelerated ? 1 : p->devices,
                                                      .engine = engine,
                                                      .inline_ns = inline_ns,
                                                      .run_ahead_calls = 500})));
    CHECK(hk_device_count() >= p->devices);
    static int32_t values[LARGE * LARGE];
    for (int d = 0; d < p->devices; d++)
        for (int a = 0; a < ARRAYS; a++) {
            int64_t side = side_of(a);
            for (int64_t i = 0; i < side * side; i++)
                values[i] = (int32_t)((i * 7 + a + d) % 23) + 1;
            arrays[d][a] =
                hk_take(hk_from_host(values, hk_shape(side, side), HK_I32, hk_device_at(d)));
        }
}

/* What every array holds or why not, in cells of rows and columns. */
static uint64_t end(const program *p, outcome *outcomes)
{
    static int32_t values[LARGE * LARGE / CELLS];
    for (int d = 0; d < p->devices; d++)
        for (int a = 0; a < ARRAYS; a++)
            for (int s = 0; s < CELLS; s++, outcomes++) {
                HK_SCOPE;
                const int64_t side = side_of(a) / SLICES, row = s / SLICES, column = s % SLICES;
                hk_array *rows = hk_slice(arrays[d][a], 0, row * side, (row + 1) * side);
                hk_array *part = hk_slice(rows, 1, column * side, (column + 1) * side);
                size_t count = (size_t)hk_size(part);
                const hk_status *status = hk_to_host(part, values, count * sizeof *values);
                *outcomes = (outcome){.hash = 0};
                for (size_t i = 0; hk_ok(status) && i < count; i++)
                    outcomes->hash = outcomes->hash * 1099511628211u + (uint32_t)values[i];
                snprintf(outcomes->text, sizeof outcomes->text, "%s %s",
                         hk_status_operation(status), hk_status_message(status));
            }
    uint64_t failures = hk_status_count(hk_wait_all());
    for (int d = 0; d < p->devices; d++)
        for (int a = 0; a < ARRAYS; a++)
            hk_array_release(arrays[d][a]);
    hk_runtime_deinit();
    return failures;
}

static int by_sequence(const void *a, const void *b)
{
    uint64_t x = (*(instruction *const *)a)->sequence, y = (*(instruction *const *)b)->sequence;
    return (x > y) - (x < y);
}

static uint64_t failures_seen;

static void test_program(const program *p, int64_t inline_ns)
{
    static thread threads[MAX_THREADS];
    static outcome expected[MAX_DEVICES * ARRAYS * CELLS], actual[MAX_DEVICES * ARRAYS * CELLS];
    pthread_t handles[MAX_THREADS];
    memset(expected, 0, sizeof expected);
    memset(actual, 0, sizeof actual);

    are_accelerated = p->accelerated;
    begin(p, HK_ENGINE_ASYNC, inline_ns, p->accelerated);
    for (int i = 0; i < p->threads; i++) {
        threads[i].program = p;
        threads[i].random = p->seed * 1000 + (uint64_t)i;
        pthread_create(&handles[i], NULL, issue, &threads[i]);
    }
    for (int i = 0; i < p->threads; i++)
        pthread_join(handles[i], NULL);
    uint64_t failures = end(p, actual);

    int count = p->threads * p->calls;
    instruction **order = malloc((size_t)count * sizeof *order);
    for (int i = 0; i < count; i++)
        order[i] = &threads[i / p->calls].instructions[i % p->calls];
    qsort(order, (size_t)count, sizeof *order, by_sequence);
    begin(p, HK_ENGINE_SERIAL, 0, false);
    for (int i = 0; i < count; i++)
        play_one(order[i]);
    uint64_t expected_failures = end(p, expected);
    free(order);

    CHECK_EQ_I64(failures, expected_failures);
    failures_seen += failures;
    for (int i = 0; i < p->devices * ARRAYS * CELLS; i++) {
        CHECK_STR(actual[i].text, expected[i].text);
        CHECK(actual[i].hash == expected[i].hash);
    }
}

/* Calls whose results are dropped, hundreds of windows of them: what they hold at a time stays within the window. */
static void test_memory_is_bounded(void)
{
    enum { CALLS = HKI_SANITIZED ? 100000 : 1000000, LIMIT = 1 << 20, BYTES = 4096 };
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.run_ahead_bytes = LIMIT, .inline_ns = -1})));
    hk_array *x = hk_take(hk_zeros(hk_shape(BYTES / 4), HK_F32, hk_device_default()));
    for (int i = 0; i < CALLS; i++) {
        HK_SCOPE;
        hk_add(x, 1);
    }
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_stats stats = hk_runtime_get_stats();
    CHECK(stats.issued_calls >= CALLS);
    CHECK(stats.peak_run_ahead_bytes <= LIMIT);
    CHECK(hk_device_get_memory(hk_device_default()).peak_bytes <= LIMIT + 16 * BYTES);
    hk_array_release(x);
    hk_runtime_deinit();
}

/* Beside one CPU device, as the environment has them. */
static int accelerator_count(bool *has_gpus)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_devices = 1})));
    int count = hk_device_count() - 1;
    *has_gpus = !strcmp(hk_device_kind(hk_device_at(count)), "cuda"); /* or parts of one */
    hk_runtime_deinit();
    return count;
}

int main(int argc, char **argv)
{
    const int seeds = argc > 1 ? atoi(argv[1]) : SEEDS;
    bool has_gpus;
    const int accelerators = accelerator_count(&has_gpus);
    const bool accelerated = accelerators > 0;
    const int most = !accelerated || accelerators >= MAX_DEVICES ? MAX_DEVICES : accelerators + 1;
    for (int seed = 1; seed <= seeds; seed++)
        for (int threads = 1; threads <= MAX_THREADS; threads++) {
            program p = {.seed = (uint64_t)seed,
                         .devices = accelerated ? most : 1 + seed % MAX_DEVICES,
                         .threads = threads,
                         .calls = MAX_CALLS / threads / 2,
                         .accelerated = accelerated,
                         .has_kernels = !has_gpus};
            test_program(&p, seed % 2 ? -1 : 4000);
        }
    CHECK(failures_seen > 8 * (uint64_t)seeds);
    if (!accelerated)
        test_memory_is_bounded();
    return check_result();
}
