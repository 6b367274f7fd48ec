/* The engine alone: random programs on raw memory give the same bytes and failures as in program order;
 * waiting, failing, healing and recovering follow their rules. */
#include "engine/engine.h"
#include "tests/check.h"
#include "tests/wait_range.h"

#include <hocket/runtime.h>
#include <stdlib.h>
#include <string.h>

enum { VARS = 6, VAR_BYTES = 256, TASK_RANGES = 3 };

typedef struct memory {
    hki_var var;
    unsigned char bytes[VAR_BYTES];
} memory;

typedef struct range {
    memory *memory;
    uint64_t begin, end;
    unsigned mode;
    uint32_t pitch; /* see hki_range */
} range;

typedef struct work {
    range ranges[TASK_RANGES];
    int range_count;
    unsigned salt;
    int64_t pieces;
    bool fails;
    unsigned char partial[8];
} work;

static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static bool has(const range *r, uint64_t byte)
{
    return !r->pitch || (byte - r->begin) % r->pitch < (r->end - r->begin) % r->pitch;
}

static void work_run(hki_task *task, void *payload, int64_t piece)
{
    work *w = payload;
    if (w->fails) {
        hki_task_fail(task, piece, HK_INJECTED, "piece %lld of salt %u", (long long)piece, w->salt);
        return;
    }
    unsigned sum = w->salt + (unsigned)piece;
    for (int i = 0; i < w->range_count; i++)
        if (w->ranges[i].mode & HKI_READ)
            for (uint64_t b = w->ranges[i].begin; b < w->ranges[i].end; b++)
                if (has(&w->ranges[i], b))
                    sum = sum * 31 + w->ranges[i].memory->bytes[b];
    w->partial[piece] = (unsigned char)sum;
}

static void work_join(hki_task *task, void *payload)
{
    work *w = payload;
    (void)task;
    unsigned sum = 0;
    for (int64_t i = 0; i < w->pieces; i++)
        sum = sum * 7 + w->partial[i];
    for (int i = 0; i < w->range_count; i++)
        if (w->ranges[i].mode & HKI_WRITE)
            for (uint64_t b = w->ranges[i].begin; b < w->ranges[i].end; b++)
                if (has(&w->ranges[i], b))
                    w->ranges[i].memory->bytes[b] = (unsigned char)(sum + b);
}

static const hki_task_class work_class = {.run = work_run, .join = work_join},
                            leaf_class = {.leaf = true, .run = work_run, .join = work_join};

static void submit(hki_runtime *runtime, hki_device *device, const work *w, int64_t expected_ns)
{
    hki_task *task = hki_task_begin(runtime, sizeof *w, w->range_count, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    memcpy(hki_task_payload(task), w, sizeof *w);
    spec->class = w->salt % 3 ? &leaf_class : &work_class;
    spec->device = device;
    spec->operation = "work";
    spec->piece_count = w->pieces;
    spec->expected_ns = expected_ns;
    spec->collective = w->salt % 11 == 0;
    for (int i = 0; i < w->range_count; i++)
        spec->accesses[i] = (hki_access){&w->ranges[i].memory->var, w->ranges[i].begin,
                                         w->ranges[i].end, w->ranges[i].mode, w->ranges[i].pitch};
    hki_task_submit(task);
}

static work random_work(memory *memories)
{
    static const unsigned modes[] = {HKI_READ, HKI_READ, HKI_WRITE | HKI_HEAL, HKI_READ | HKI_WRITE,
                                     0};
    work w = {.range_count = 1 + (int)draw(TASK_RANGES), .salt = draw(1u << 30)};
    w.pieces = draw(5) ? 1 : 2 + draw(6);
    w.fails = draw(60) == 0;
    for (int i = 0; i < w.range_count; i++) {
        range *r = &w.ranges[i];
        r->memory = &memories[draw(VARS)];
        r->mode = modes[draw(4)];
        if (draw(2)) { /* a tile in rows of 64, seldom of 48 bytes */
            r->pitch = draw(8) ? 64 : 48;
            r->begin = draw(6) * 16;
            r->end = r->begin + draw(3) * r->pitch + 16 * (1 + draw(r->pitch / 16 - 1));
        } else if (draw(2)) {
            r->begin = 0;
            r->end = VAR_BYTES;
        } else {
            r->begin = draw(8) * 32;
            r->end = r->begin + 32 * (1 + draw((unsigned)(VAR_BYTES - r->begin) / 32));
        }
    }
    return w;
}

typedef struct outcome {
    unsigned char bytes[VARS][VAR_BYTES];
    char messages[VARS][VAR_BYTES / 16][64];
    uint64_t count;
    char first[64];
} outcome;

static outcome play(uint64_t seed, hk_engine engine, int devices, int64_t inline_ns, int tasks)
{
    outcome out = {0};
    memory *memories = calloc(VARS, sizeof *memories);
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = engine,
                                                      .cpu_devices = devices,
                                                      .inline_ns = inline_ns,
                                                      .run_ahead_calls = 300})));
    hki_runtime *runtime = hki_runtime_default();
    for (int i = 0; i < VARS; i++)
        hki_var_init(&memories[i].var, runtime);
    random_state = seed;
    for (int i = 0; i < tasks; i++) {
        work w = random_work(memories);
        submit(runtime, hk_device_at((int)draw((unsigned)devices)).handle, &w,
               w.salt % 2 ? 1000 : 10);
        if (draw(50) == 0)
            hk_status_release(
                wait_range(&memories[draw(VARS)].var, 0, 1 + draw(VAR_BYTES), NULL, NULL));
    }
    const hk_status *all = hk_wait_all();
    out.count = hk_status_count(all);
    snprintf(out.first, sizeof out.first, "%s", hk_status_message(all));
    for (int i = 0; i < VARS; i++) {
        memcpy(out.bytes[i], memories[i].bytes, VAR_BYTES);
        for (uint64_t j = 0; j < VAR_BYTES / 16; j++) {
            const hk_status *status = wait_range(&memories[i].var, j * 16, j * 16 + 16, NULL, NULL);
            snprintf(out.messages[i][j], 64, "%s", hk_status_message(status));
            hk_status_release(status);
        }
    }
    for (int i = 0; i < VARS; i++)
        hki_var_deinit(&memories[i].var);
    hk_runtime_deinit();
    free(memories);
    return out;
}

static void test_random_programs(void)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        for (int devices = 1; devices <= 3; devices++) {
            outcome serial = play(seed, HK_ENGINE_SERIAL, devices, -1, 1500);
            for (int64_t inline_ns = -1; inline_ns <= 2000; inline_ns += 2001) {
                outcome async =
                    play(seed, HK_ENGINE_ASYNC, devices, inline_ns ? inline_ns : 2000, 1500);
                CHECK(!memcmp(&serial, &async, sizeof serial));
            }
        }
}

static memory one, other;
static hki_runtime *rt;
static hki_device *dev;

static void issue(range a, range b, bool fails, int64_t pieces)
{
    work w = {.range_count = b.memory ? 2 : 1, .pieces = pieces, .fails = fails, .salt = 5};
    w.ranges[0] = a;
    w.ranges[1] = b;
    submit(rt, dev, &w, INT64_MAX);
}

static hk_code code_of(memory *m, uint64_t begin, uint64_t end)
{
    const hk_status *status = wait_range(&m->var, begin, end, NULL, NULL);
    hk_code code = hk_status_code(status);
    hk_status_release(status);
    return code;
}

static void recover_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    hki_var_end_failures(&one.var, (hki_range){0, VAR_BYTES, 0}, true);
}

static void test_failure_rules(hk_engine engine)
{
    const unsigned over = HKI_WRITE | HKI_HEAL, update = HKI_READ | HKI_WRITE;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = engine})));
    rt = hki_runtime_default();
    dev = hk_device_default().handle;
    hki_var_init(&one.var, rt);
    hki_var_init(&other.var, rt);
    const range none = {0};
    issue((range){&one, 0, 64, over, 0}, none, true, 4);
    CHECK(code_of(&one, 0, 256) == HK_INJECTED);
    CHECK(code_of(&one, 0, 256) == HK_INJECTED); /* the second look */
    CHECK(code_of(&one, 64, 256) == HK_OK);      /* other bytes */
    CHECK(code_of(&other, 0, 256) == HK_OK);
    issue((range){&one, 0, 32, over, 0}, none, false, 1); /* a part heals that part */
    CHECK(code_of(&one, 0, 32) == HK_OK);
    CHECK(code_of(&one, 32, 64) == HK_INJECTED);
    issue((range){&one, 0, 256, update, 0}, none, false,
          1); /* reads what failed: all of it fails */
    CHECK(code_of(&one, 0, 32) == HK_INJECTED);
    CHECK(code_of(&one, 128, 129) == HK_INJECTED);
    const hk_status *all = hk_wait_all();
    CHECK(hk_status_count(all) == 1); /* one root */
    CHECK(!strcmp(hk_status_message(all), "piece 0 of salt 5"));
    /* What was only kept from running is recovered; what was torn is not. */
    hki_task *task = hki_task_begin(rt, 0, 1, 0);
    static const hki_task_class recover_class = {.run = recover_run};
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &recover_class;
    spec->device = dev;
    spec->operation = "recover";
    spec->accesses[0] = (hki_access){&one.var, 0, 256, HKI_WRITE | HKI_KEEP, 0};
    hki_task_submit(task);
    CHECK(code_of(&one, 0, 32) == HK_OK);
    CHECK(code_of(&one, 32, 64) == HK_INJECTED);
    CHECK(code_of(&one, 64, 256) == HK_OK);
    /* Overwriting from a failed input fails, from a good one heals. */
    issue((range){&other, 0, 256, over, 0}, (range){&one, 0, 256, HKI_READ, 0}, false, 1);
    CHECK(code_of(&other, 0, 1) == HK_INJECTED);
    issue((range){&one, 0, 256, over, 0}, none, false, 3);
    issue((range){&other, 0, 256, over, 0}, (range){&one, 0, 256, HKI_READ, 0}, false, 1);
    CHECK(code_of(&one, 0, 256) == HK_OK);
    CHECK(code_of(&other, 0, 256) == HK_OK);
    CHECK(hk_status_count(hk_wait_all()) == 1);
    hk_failures_clear();
    CHECK(hk_ok(hk_wait_all()));
    hki_var_deinit(&one.var);
    hki_var_deinit(&other.var);
    hk_runtime_deinit();
}

int main(void)
{
    test_failure_rules(HK_ENGINE_SERIAL);
    test_failure_rules(HK_ENGINE_ASYNC);
    test_random_programs();
    return check_result();
}
