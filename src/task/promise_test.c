/* Promises: kept, broken and forgotten ones, in both engines; who waits for them; many at once. */
#include "base/config.h"
#include "task/kernel_call.h"
#include "tests/check.h"

#include <hocket/hocket.h>

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

static void start(hk_engine engine)
{
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.engine = engine})));
}

static hk_array *zeros(int64_t size)
{
    return hk_zeros(hk_shape(size), HK_F32, hk_device_default());
}

static float at(hk_array *x, int64_t index)
{
    const hk_status *status;
    HK_SCOPE;
    const float value = (float)hk_item(hk_index(x, 0, index), &status);
    CHECK(hk_ok(status));
    return value;
}

static void fill(hk_promise *promise, float value)
{
    const hk_task_view view = hk_promise_view(promise, 0);
    if (!view.data || view.dtype != HK_F32 || view.shape.ndim != 1)
        abort(); /* several threads are here, and check.h counts for one */
    for (int64_t i = 0; i < view.shape.dims[0]; i++)
        ((float *)view.data)[i * view.strides[0]] = value + (float)i;
}

/* ---- one ------------------------------------------------------------------------------------- */

static void test_kept_before(hk_engine engine)
{
    HK_SCOPE;
    start(engine);
    hk_array *x = zeros(4);
    hk_promise *promise = hk_promise_create(HK_ACCESS(hk_writes(x)), NULL);
    CHECK(hk_promise_is_open(promise) && !hk_is_ready(x));
    CHECK(hk_status_code(hk_wait_for(x, 1000)) == HK_TIMEOUT);
    CHECK(hk_promise_view(promise, 1).shape.ndim == -1);
    fill(promise, 5);
    hk_promise_keep(promise);
    CHECK(at(hk_add(x, 1.0), 3) == 9);
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
}

/* Strided tiles of one array, two of them in one promise; what lies between is nobody's concern. */
static void test_tiles(void)
{
    HK_SCOPE;
    start(HK_ENGINE_ASYNC);
    hk_array *x = hk_zeros(hk_shape(4, 3), HK_F32, hk_device_default());
    hk_array *left = hk_index(x, 1, 0), *right = hk_index(x, 1, 2);
    hk_promise *promise = hk_promise_create(HK_ACCESS(hk_writes(left), hk_updates(right)), NULL);
    hk_array *y = hk_add(x, 1.0);
    const hk_task_view view = hk_promise_view(promise, 1);
    CHECK(view.shape.dims[0] == 4 && view.strides[0] == 3);
    fill(promise, 10);
    ((float *)view.data)[view.strides[0]] = 7;
    hk_promise_keep(promise);
    CHECK(at(hk_index(y, 0, 3), 0) == 14 && at(hk_index(y, 0, 1), 1) == 1);
    CHECK(at(hk_index(y, 0, 1), 2) == 8);
    hk_runtime_deinit();
}

/* What comes behind it is issued, and does not run; what does not, does. */
static void test_order(void)
{
    HK_SCOPE;
    start(HK_ENGINE_ASYNC);
    hk_array *x = zeros(8), *other = zeros(8);
    hk_add_into(x, x, other);
    hk_promise *promise = hk_promise_create(HK_ACCESS(hk_updates(x)), NULL);
    hk_array *y = hk_multiply(x, 2.0);
    CHECK(at(hk_add(other, 1.0), 0) == 1);
    CHECK(!hk_is_ready(x) && !hk_is_ready(y));
    hk_array *before = hk_copy(other);
    fill(promise, 1);
    hk_promise_keep(promise);
    CHECK(at(y, 7) == 16 && at(before, 0) == 0);
    hk_runtime_deinit();
}

static void test_broken(hk_engine engine)
{
    HK_SCOPE;
    start(engine);
    hk_array *x = zeros(4);
    hk_promise *promise =
        hk_promise_create(HK_ACCESS(hk_writes(x)), &(hk_promise_options){.name = "camera"});
    const int line = __LINE__ - 1;
    fill(promise, 1);
    hk_promise_break(promise, "frame %d was lost", 17);
    hk_array *y = hk_add(x, 1.0);
    const hk_status *status = hk_wait(y);
    CHECK(hk_status_code(status) == HK_CANCELLED);
    CHECK_STR(hk_status_message(status), "frame 17 was lost");
    CHECK_STR(hk_status_operation(status), "camera");
    CHECK(hk_status_line(status) == line);
    CHECK(hk_status_count(hk_wait_all()) == 1);
    hk_failures_clear();
    hk_assign(x, zeros(4)); /* heals */
    CHECK(at(x, 0) == 0);
    hk_runtime_deinit();
}

/* Of arrays that cannot be written, of inputs that fail, and of the end of the runtime. */
static void test_closed(hk_engine engine)
{
    HK_SCOPE;
    start(engine);
    hk_array *x = zeros(4);
    hk_promise *none = hk_promise_create(HK_ACCESS(hk_writes(x), hk_reads(x)), NULL);
    CHECK(!hk_promise_is_open(none) && hk_promise_view(none, 0).shape.ndim == -1);
    hk_promise_keep(none);
    CHECK(hk_status_code(hk_wait(x)) == HK_INVALID_ARGUMENT);
    hk_promise *behind = hk_promise_create(HK_ACCESS(hk_updates(x)), NULL);
    CHECK(hk_promise_view(behind, 0).shape.ndim == -1 && !hk_promise_is_open(behind));
    hk_promise_break(behind, "too late");
    CHECK(hk_status_code(hk_wait(x)) == HK_INVALID_ARGUMENT);

    hk_array *y = zeros(4);
    hk_promise *forgotten = hk_promise_create(HK_ACCESS(hk_writes(y)), NULL);
    hk_array *z = engine == HK_ENGINE_SERIAL ? y : hk_add(y, 1.0);
    hk_runtime_deinit();
    CHECK(hk_status_code(hk_wait(z)) == HK_CANCELLED);
    CHECK(!hk_promise_is_open(forgotten) && hk_promise_view(forgotten, 0).shape.ndim == -1);
    hk_promise_keep(forgotten);
    hk_promise_keep(NULL);
    hk_promise_break(NULL, "nothing");
}

static void *keep(void *promise)
{
    fill(promise, 3);
    hk_promise_keep(promise);
    return NULL;
}

/* A thread that waits for another one's promise, and calls of the serial engine that need it. */
static void test_threads(hk_engine engine)
{
    HK_SCOPE;
    pthread_t thread;
    start(engine);
    hk_array *x = zeros(4);
    hk_promise *promise = hk_promise_create(HK_ACCESS(hk_writes(x)), NULL);
    CHECK(at(hk_add(zeros(2), 1.0), 0) == 1); /* has nothing to do with it */
    CHECK(!pthread_create(&thread, NULL, keep, promise));
    CHECK(at(hk_add(x, 1.0), 2) == 6);
    pthread_join(thread, NULL);
    promise = hk_promise_create(HK_ACCESS(hk_updates(x)), NULL);
    CHECK(!pthread_create(&thread, NULL, keep, promise));
    CHECK(hk_ok(hk_wait_all()) && at(x, 3) == 6);
    pthread_join(thread, NULL);
    hk_runtime_deinit();
}

/* A thread that is to keep a promise gets there, however much it issues before. */
static void test_window(void)
{
    HK_SCOPE;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.run_ahead_calls = 4})));
    hk_array *x = zeros(4);
    hk_promise *promise = hk_promise_create(HK_ACCESS(hk_writes(x)), NULL);
    for (int i = 0; i < 8; i++)
        hk_add_into(x, x, x);
    fill(promise, 1);
    hk_promise_keep(promise);
    CHECK(at(x, 1) == 512);
    hk_runtime_deinit();
}

/* ---- one that nobody keeps ------------------------------------------------------------------- */

static void *wait_for_it(void *x)
{
    if (!hk_ok(hk_wait(x)))
        abort();
    return NULL;
}

/* It is named, once, where somebody waits for what comes behind it. */
static void test_message(hk_engine engine)
{
    HK_SCOPE;
    char path[] = "/tmp/promise_XXXXXX", text[1024] = "";
    pthread_t thread;
    const int file = mkstemp(path), before = dup(2);
    start(engine);
    atomic_store(&hki_promise_patience_ns, 20000000);
    CHECK(file >= 0 && before >= 0 && dup2(file, 2) == 2);
    hk_array *x = zeros(4), *y = zeros(4);
    hk_promise *promise =
        hk_promise_create(HK_ACCESS(hk_writes(x)), &(hk_promise_options){.name = "weather"});
    hk_promise *idle = hk_promise_create(HK_ACCESS(hk_writes(y)), NULL);
    CHECK(!pthread_create(&thread, NULL, wait_for_it,
                          engine == HK_ENGINE_SERIAL ? x : hk_add(x, 1.0)));
    while (!strstr(text, "weather") || !strchr(text, '\n'))
        CHECK(usleep(1000) == 0 && pread(file, text, sizeof text - 1, 0) >= 0);
    hk_promise_keep(promise);
    pthread_join(thread, NULL);
    CHECK(dup2(before, 2) == 2);
    CHECK(strstr(text, "promise_test.c:") &&
          (engine == HK_ENGINE_SERIAL || !strstr(text, "\"promise\"")));
    hk_promise_keep(idle);
    hk_runtime_deinit();
    atomic_store(&hki_promise_patience_ns, 10000000000);
    close(before);
    close(file);
    unlink(path);
}

/* ---- many ------------------------------------------------------------------------------------ */

enum { COUNT = 100000, THREADS = 8, CHUNK = 2000 };
enum { KEEP, BREAK, FORGET };

static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    hk_promise *list[COUNT];
    int made, taken;
} queue = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

static int fate(int index)
{
    const unsigned mixed = ((unsigned)index * 2654435761u) >> 16;
    return mixed % 16 == 0 ? FORGET : mixed % 5 == 0 ? BREAK : KEEP;
}

static void *complete(void *argument)
{
    (void)argument;
    for (;;) {
        pthread_mutex_lock(&queue.lock);
        while (queue.taken == queue.made && queue.made < COUNT)
            pthread_cond_wait(&queue.more, &queue.lock);
        const int index = queue.taken < COUNT ? queue.taken++ : COUNT;
        pthread_mutex_unlock(&queue.lock);
        if (index == COUNT)
            return NULL;
        if (fate(index) == FORGET)
            continue;
        fill(queue.list[index], (float)index);
        if (fate(index) == KEEP)
            hk_promise_keep(queue.list[index]);
        else
            hk_promise_break(queue.list[index], "%d", index);
    }
}

static void put(int index, hk_promise *promise)
{
    pthread_mutex_lock(&queue.lock);
    queue.list[index] = promise;
    queue.made = index + 1;
    pthread_cond_broadcast(&queue.more);
    pthread_mutex_unlock(&queue.lock);
}

static void check_one(hk_array *x, int index)
{
    char text[16];
    if (fate(index) == KEEP) {
        CHECK(at(x, 1) == (float)index + 2);
        return;
    }
    const hk_status *status = hk_wait(x);
    snprintf(text, sizeof text, "%d", index);
    CHECK_STR(hk_status_message(status), text);
}

static void test_many(void)
{
    HK_SCOPE;
    pthread_t threads[THREADS];
    hk_array *last = NULL;
    CHECK(hk_ok(hk_runtime_init(&(hk_runtime_options){.run_ahead_calls = COUNT})));
    for (int i = 0; i < THREADS; i++)
        CHECK(!pthread_create(&threads[i], NULL, complete, NULL));
    for (int begin = 0; begin < COUNT; begin += CHUNK) {
        HK_SCOPE;
        hk_array *results[CHUNK];
        for (int i = 0; i < CHUNK; i++) {
            hk_array *x = zeros(2);
            put(begin + i, hk_promise_create(HK_ACCESS(hk_writes(x)), NULL));
            results[i] = hk_add(x, 1.0);
        }
        for (int i = 0; i < CHUNK; i++)
            if (fate(begin + i) == FORGET)
                last = results[i];
            else
                check_one(results[i], begin + i);
        last = hk_take(last);
        if (begin + CHUNK < COUNT)
            hk_array_release(last);
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    for (int i = 0; i < COUNT; i += 2) /* half of the forgotten ones are found again */
        if (fate(i) == FORGET)
            hk_promise_break(queue.list[i], "found");
    hk_runtime_deinit();
    CHECK(!hk_ok(hk_wait(last)));
    hk_array_release(last);
    for (int i = 1; i < COUNT; i += 2)
        if (fate(i) == FORGET)
            hk_promise_keep(queue.list[i]);
}

int main(void)
{
    for (int i = 0; i < 2; i++) {
        const hk_engine engine = i ? HK_ENGINE_SERIAL : HK_ENGINE_ASYNC;
        test_kept_before(engine);
        test_broken(engine);
        test_closed(engine);
        test_threads(engine);
        test_message(engine);
    }
    test_tiles();
    test_order();
    test_window();
    test_many();
    return check_result();
}
