/* Recording programs: the graph of z = x * y + 2, files and their errors, HOCKET_TRACE, many threads. */
#include "engine/engine.h"
#include "tests/check.h"
#include "trace/timeline_fixture.h"

#include <dirent.h>
#include <fcntl.h>
#include <hocket/hocket.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const float values[] = {1, 2, 3, 4, 5, 6};

static hk_array *matrix(void)
{
    return hk_from_host(values, hk_shape(2, 3), HK_F32, hk_device_default());
}

enum {
    EARLY_NS = 1000
}; /* that a time stamp may be, read by one core ahead of what it waits for from another */

/* z = x * y + 2; returns the line of the product. */
static int run_program(void)
{
    HK_SCOPE;
    hk_array *x = matrix(), *y = matrix();
    hk_array *product = hk_multiply(x, y);
    const int line = __LINE__ - 1;
    hk_array *z = hk_add(product, 2);
    float result[6];
    CHECK(hk_ok(hk_to_host(z, result, sizeof result)));
    CHECK(result[5] == 38);
    return line;
}

static hk_trace *record_program(int *line)
{
    CHECK(hk_ok(hk_trace_start(NULL)));
    *line = run_program();
    hk_trace *trace = hk_trace_stop();
    CHECK(trace);
    if (!trace)
        exit(check_result());
    check_timeline(trace->timeline);
    return trace;
}

/* What the graph says is what the engine did: nothing began before all that it depends on had ended. */
static void check_order(const hki_timeline *timeline)
{
    check_timeline(timeline);
    for (int i = 0; i < timeline->call_count; i++)
        for (int j = 0; j < timeline->calls[i].dependency_count; j++) {
            const int before = timeline->dependencies[timeline->calls[i].first_dependency + j];
            CHECK(timeline->calls[before].wall_end_ns <=
                  timeline->calls[i].wall_start_ns + EARLY_NS);
        }
}

/* Index of the only call of the operation. */
static int find_call(const hki_timeline *timeline, const char *operation)
{
    int found = -1;
    for (int i = 0; i < timeline->call_count; i++)
        if (!strcmp(timeline->calls[i].operation, operation)) {
            CHECK_EQ_I64(found, -1);
            found = i;
        }
    CHECK(found >= 0);
    return found < 0 ? 0 : found;
}

/* ---- what is recorded --------------------------------------------------------------------------------------------- */

/* x and y are values of the host, read when they are given: the graph is the product and the sum. */
static void graph_is_exactly_right(void)
{
    int line;
    hk_trace *trace = record_program(&line);
    const hki_timeline *timeline = trace->timeline;
    const int product = find_call(timeline, "multiply"), sum = find_call(timeline, "add_scalar");
    CHECK_EQ_I64(timeline->calls[sum].dependency_count, 1);
    CHECK_EQ_I64(timeline->dependencies[timeline->calls[sum].first_dependency], product);
    CHECK_EQ_I64(timeline->calls[product].dependency_count, 0);
    CHECK_EQ_I64(timeline->call_count, 2);
    CHECK_EQ_I64(timeline->dependency_count, 1);
    CHECK_STR(timeline->calls[product].shapes, "float32(2,3), float32(2,3) -> float32(2,3)");
    CHECK_STR(timeline->calls[sum].shapes, "float32(2,3) -> float32(2,3)");
    CHECK_STR(timeline->calls[product].file, __FILE__);
    CHECK_EQ_I64(timeline->calls[product].line, line);
    CHECK_EQ_I64(timeline->calls[product].bytes, 3 * 24);
    CHECK_STR(timeline->queues[timeline->calls[product].queue].device, "cpu:0");
    CHECK(strstr(timeline->title, "recording_test, 20"));
    CHECK(timeline->wait_count >= 1);
    CHECK_EQ_I64(timeline->slice_count, timeline->call_count);
    const hk_trace_summary summary = hk_trace_get_summary(trace);
    CHECK_EQ_I64(summary.call_count, timeline->call_count);
    CHECK_EQ_I64(summary.lost_records + summary.failed_count, 0);
    CHECK(summary.duration_ns > 0 && summary.duration_ns <= timeline->duration_ns);
    CHECK_EQ_I64(summary.queue_count, 1);
    CHECK_STR(hk_trace_get_queue(trace, 0).device, "cpu:0");
    CHECK(hk_trace_busy_ns(trace, "multiply") > 0);
    CHECK(hk_trace_overlap_ns(trace, "multiply", "add_scalar") <= EARLY_NS);
    hk_trace_release(trace);
}

/* Views of one array, written and read by pieces and as a whole. */
static void order_is_what_the_engine_did(void)
{
    enum { ROWS = 32, ROUNDS = 20 };
    hk_runtime_deinit();
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.cpu_cores = 2, .inline_ns = -1})));
    CHECK(hk_ok(hk_trace_start(NULL)));
    {
        HK_SCOPE;
        static float zeros[ROWS * 256];
        hk_array *x = hk_from_host(zeros, hk_shape(ROWS, 256), HK_F32, hk_device_default());
        hk_array *last = x;
        for (int i = 0; i < ROUNDS; i++) {
            hk_array *sum = hk_sum(x, NULL);
            for (int row = 0; row < ROWS; row += 1 + i % 3)
                hk_assign(hk_slice(x, 0, row, row + 1), sum);
            last = hk_multiply(x, x);
        }
        CHECK(hk_ok(hk_wait(last)));
    }
    hk_trace *trace = hk_trace_stop();
    const hki_timeline *timeline = trace->timeline;
    CHECK(timeline->call_count > ROUNDS * ROWS / 3);
    check_order(timeline);
    /* The second sum reads all rows: each has its own last writer. */
    int sums = 0;
    for (int i = 0; i < timeline->call_count; i++)
        if (!strcmp(timeline->calls[i].operation, "sum") && sums++ == 1)
            CHECK_EQ_I64(timeline->calls[i].dependency_count, ROWS);
    CHECK_EQ_I64(sums, ROUNDS);
    hk_trace_release(trace);
    hk_runtime_deinit();
}

static void check_error(const hk_status *status, hk_code code, const char *part)
{
    CHECK_EQ_I64(hk_status_code(status), code);
    CHECK(strstr(hk_status_message(status), part));
}

static void check_nothing_stops(void)
{
    hk_trace *trace = hk_trace_stop();
    CHECK(!hk_ok(hk_trace_status(trace)));
    hk_trace_release(trace);
}

static void recording_begins_and_ends(void)
{
    check_nothing_stops();
    CHECK(hk_ok(hk_trace_start(NULL)));
    const hk_status *status = hk_trace_start(NULL);
    CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
    hk_trace *trace = hk_trace_stop();
    CHECK(hk_ok(hk_trace_status(trace)) && !trace->timeline->call_count);
    check_nothing_stops();
    hk_trace_release(hk_trace_retain(trace));
    hk_trace_release(trace);
    hk_trace_release(hk_trace_retain(NULL));
}

static void a_small_memory_loses_records_and_says_so(void)
{
    const hk_trace_options options = {.memory_bytes = 1};
    hk_runtime_deinit(); /* with what earlier recordings have left */
    CHECK(hk_ok(hk_trace_start(&options)));
    run_program();
    hk_trace *trace = hk_trace_stop();
    CHECK(hk_trace_get_summary(trace).lost_records > 0);
    CHECK_EQ_I64(hk_trace_get_summary(trace).call_count, 0);
    char *text = hk_trace_text(trace, HK_TRACE_TEXT, NULL);
    CHECK(strstr(text, "INCOMPLETE"));
    free(text);
    hk_trace_release(trace);
}

static void a_trace_outlives_its_runtime(void)
{
    int line;
    hk_trace *trace = record_program(&line);
    hk_runtime_deinit();
    CHECK_STR(hk_trace_get_queue(trace, 0).queue, "compute");
    char *text = hk_trace_text(trace, HK_TRACE_DOT, NULL);
    CHECK(strstr(text, "multiply"));
    free(text);
    hk_trace_release(trace);
    /* A recording that nobody stops ends with its runtime. */
    CHECK(hk_ok(hk_trace_start(NULL)));
    hk_runtime_deinit();
    check_nothing_stops();
}

static hk_trace *stopped_in_task;

static void stop_run(hki_task *task, void *payload, int64_t piece)
{
    (void)task, (void)payload, (void)piece;
    stopped_in_task = hk_trace_stop();
}

static void a_task_stops_nothing(void)
{
    static const hki_task_class class = {.run = stop_run};
    CHECK(hk_ok(hk_trace_start(NULL)));
    hki_task *task = hki_task_begin(hki_runtime_default(), 0, 0, 0);
    hki_task_spec *spec = hki_task_get_spec(task);
    spec->class = &class;
    spec->device = hk_device_default().handle;
    spec->operation = "stop";
    spec->piece_count = 1;
    hki_task_submit(task);
    hk_wait_all();
    check_error(hk_trace_status(stopped_in_task), HK_INVALID_ARGUMENT, "a task cannot");
    hk_trace_release(stopped_in_task);
    hk_trace *trace = hk_trace_stop();
    CHECK(trace && trace->timeline->call_count == 1);
    hk_trace_release(trace);
}

/* ---- files -------------------------------------------------------------------------------------------------------- */

static void put_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    CHECK(file && fputs(text, file) >= 0);
    fclose(file);
}

/* To be freed. */
static char *get_file(const char *path)
{
    enum { MOST = 1 << 20 };
    char *text = calloc(1, MOST);
    FILE *file = fopen(path, "r");
    CHECK(file);
    if (file) {
        CHECK(fread(text, 1, MOST - 1, file) < MOST - 1);
        fclose(file);
    }
    return text;
}

static bool leftovers(void)
{
    bool found = false;
    DIR *folder = opendir(".");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        found |= strstr(entry->d_name, ".part") != NULL;
    closedir(folder);
    return found;
}

static void every_format_is_written(void)
{
    int line;
    hk_trace *trace = record_program(&line);
    for (int format = HK_TRACE_CHROME; format <= HK_TRACE_TEXT; format++) {
        size_t bytes = 0;
        put_file("recording.out", "old");
        CHECK(hk_ok(hk_trace_write(trace, (hk_trace_format)format, "recording.out")));
        char *file = get_file("recording.out");
        char *text = hk_trace_text(trace, (hk_trace_format)format, &bytes);
        CHECK(bytes && strlen(text) == bytes);
        CHECK_STR(file, text);
        free(file);
        free(text);
    }
    CHECK(!leftovers());
    CHECK(hk_ok(hk_trace_write(trace, HK_TRACE_TEXT, "/dev/null")));
    struct stat null;
    CHECK(!stat("/dev/null", &null) && S_ISCHR(null.st_mode));
    hk_trace_release(trace);
}

static void a_file_is_read_back(void)
{
    int line;
    hk_trace *trace = record_program(&line);
    CHECK(hk_ok(hk_trace_write(trace, HK_TRACE_CHROME, "recording.json")));
    hk_trace *again = hk_trace_read("recording.json");
    CHECK(hk_ok(hk_trace_status(again)));
    if (again->timeline) {
        const hk_trace_summary before = hk_trace_get_summary(trace);
        const hk_trace_summary after = hk_trace_get_summary(again);
        CHECK_EQ_I64(after.call_count, before.call_count);
        CHECK_EQ_I64(after.duration_ns, before.duration_ns);
        CHECK_EQ_I64(after.critical_path_ns, before.critical_path_ns);
        check_timeline(again->timeline);
    }
    hk_trace_release(again);
    hk_trace_release(trace);
}

static void what_cannot_be_written_says_why(void)
{
    int line;
    hk_trace *trace = record_program(&line);
    check_error(hk_trace_write(NULL, HK_TRACE_TEXT, "x"), HK_INVALID_ARGUMENT, "trace is NULL");
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, NULL), HK_INVALID_ARGUMENT, "path is NULL");
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, ""), HK_INVALID_ARGUMENT, "path is empty");
    check_error(hk_trace_write(trace, (hk_trace_format)9, "x"), HK_INVALID_ARGUMENT,
                "format is 9; expected HK_TRACE_CHROME (0) to HK_TRACE_TEXT (4)");
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, "/no/such/folder/x"), HK_IO,
                "cannot write \"/no/such/folder/x\": No such file");
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, "."), HK_IO, "Is a directory");
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, "/dev/full"), HK_IO, "No space left");
    CHECK(!hk_trace_text(trace, (hk_trace_format)-1, NULL));
    CHECK(!hk_trace_text(NULL, HK_TRACE_TEXT, NULL));
    CHECK(!leftovers());
    hk_trace_release(trace);
}

static void check_unread(const char *path, hk_code code, const char *part)
{
    hk_trace *trace = hk_trace_read(path);
    check_error(hk_trace_status(trace), code, part);
    check_error(hk_trace_write(trace, HK_TRACE_TEXT, "x"), code, part);
    CHECK(!hk_trace_text(trace, HK_TRACE_TEXT, NULL));
    CHECK_EQ_I64(hk_trace_get_summary(trace).call_count, 0);
    hk_trace_release(trace);
}

static void what_cannot_be_read_says_why(void)
{
    check_unread("no such file", HK_IO, "cannot read \"no such file\": No such file");
    check_unread(".", HK_IO, "Is a directory");
    check_unread(NULL, HK_INVALID_ARGUMENT, "path is NULL");
    put_file("recording.json", "{\"traceEvents\": 7}");
    check_unread("recording.json", HK_BAD_DATA, "");
}

static void no_trace_is_all_zeros(void)
{
    CHECK_EQ_I64(hk_trace_get_summary(NULL).call_count, 0);
    CHECK_STR(hk_trace_get_queue(NULL, 0).device, "");
    CHECK_EQ_I64(hk_trace_overlap_ns(NULL, "a", "b"), 0);
    CHECK_EQ_I64(hk_trace_busy_ns(NULL, "a"), 0);
}

/* ---- HOCKET_TRACE ------------------------------------------------------------------------------------------------- */

/* In a child, which starts a runtime of its own; what it says goes to a file. */
static int run_child(const char *path)
{
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        setenv("HOCKET_TRACE", path, 1);
        if (dup2(open("recording.err", O_WRONLY | O_CREAT | O_TRUNC, 0666), 2) < 0)
            _exit(9);
        check_failed_count = 0;
        run_program();
        const hk_status *refused = hk_trace_start(NULL);
        CHECK(strstr(hk_status_message(refused), "HOCKET_TRACE is set"));
        check_nothing_stops();
        exit(check_result());
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void a_whole_run_is_recorded(void)
{
    unlink("run.json");
    CHECK_EQ_I64(run_child("run.json"), 0);
    char *said = get_file("recording.err");
    CHECK_STR(said, "");
    free(said);
    hk_trace *trace = hk_trace_read("run.json");
    CHECK(hk_ok(hk_trace_status(trace)));
    if (trace->timeline)
        find_call(trace->timeline, "add_scalar");
    hk_trace_release(trace);
}

static void a_run_that_cannot_be_recorded_says_so_and_runs(void)
{
    CHECK_EQ_I64(run_child("/no/such/folder/run.json"), 0);
    char *said = get_file("recording.err");
    CHECK(strstr(said, "hocket: HOCKET_TRACE failed"));
    CHECK(strstr(said, "cannot write \"/no/such/folder/run.json\": No such file or directory"));
    free(said);
}

/* ---- many threads --------------------------------------------------------------------------------------------------- */

enum { RECORDERS = 2, ISSUERS = 2, RECORDINGS = 20 };

static atomic_bool is_done;

/* Checks count, and are the main thread's. */
static void *issue_on(void *unused)
{
    while (!atomic_load(&is_done)) {
        HK_SCOPE;
        hk_wait(hk_add(hk_multiply(matrix(), matrix()), 2));
    }
    return unused;
}

static void *record_on(void *traces)
{
    for (int i = 0; i < RECORDINGS; i++) {
        hk_trace_start(NULL);
        ((hk_trace **)traces)[i] = hk_trace_stop();
    }
    return NULL;
}

static void threads_may_record_at_any_time(void)
{
    static hk_trace *traces[RECORDERS][RECORDINGS];
    pthread_t threads[RECORDERS + ISSUERS];
    for (int i = 0; i < RECORDERS + ISSUERS; i++)
        CHECK(!pthread_create(&threads[i], NULL, i < RECORDERS ? record_on : issue_on,
                              i < RECORDERS ? traces[i] : NULL));
    for (int i = 0; i < RECORDERS + ISSUERS; i++) {
        if (i == RECORDERS)
            atomic_store(&is_done, true);
        pthread_join(threads[i], NULL);
    }
    int count = 0;
    for (int i = 0; i < RECORDERS * RECORDINGS; i++) {
        hk_trace *trace = traces[i / RECORDINGS][i % RECORDINGS];
        if (trace->timeline)
            check_order(trace->timeline);
        count += trace->timeline != NULL;
        hk_trace_release(trace);
    }
    CHECK(count > 0);
    check_nothing_stops();
}

int main(void)
{
    unsetenv("HOCKET_TRACE");
    a_whole_run_is_recorded();
    a_run_that_cannot_be_recorded_says_so_and_runs();
    recording_begins_and_ends();
    graph_is_exactly_right();
    order_is_what_the_engine_did();
    a_small_memory_loses_records_and_says_so();
    a_trace_outlives_its_runtime();
    a_task_stops_nothing();
    every_format_is_written();
    a_file_is_read_back();
    what_cannot_be_written_says_why();
    what_cannot_be_read_says_why();
    no_trace_is_all_zeros();
    threads_may_record_at_any_time();
    return check_result();
}
