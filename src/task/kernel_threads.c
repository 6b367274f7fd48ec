/* Threads for kernels that wait: as many as there are such kernels at a time, and for a while
 * after that. */
#include "task/kernel_call.h"

#include "engine/wait/blocking.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <time.h>

enum { MOST_THREADS = 256, IDLE_SECONDS = 2 };

typedef struct work {
    void (*run)(hki_task *task, void *argument);
    hki_task *task;
    void *argument;
} work;

/* One for each piece of work that has no thread yet: there are never more than idle threads. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t more;
    work waiting[MOST_THREADS];
    int waiting_count, idle_count, thread_count;
} threads = {.lock = PTHREAD_MUTEX_INITIALIZER, .more = PTHREAD_COND_INITIALIZER};

/* Expects the lock. False: there has been nothing for long. */
static bool await_work(work *next)
{
    struct timespec until;
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += IDLE_SECONDS;
    threads.idle_count++;
    while (threads.waiting_count == 0)
        if (pthread_cond_timedwait(&threads.more, &threads.lock, &until) && !threads.waiting_count)
            break;
    threads.idle_count--;
    if (threads.waiting_count == 0)
        return false;
    *next = threads.waiting[--threads.waiting_count];
    return true;
}

static void *thread_main(void *argument)
{
    work next;
    (void)argument;
    hki_blocking_thread_is_of_library();
    prctl(PR_SET_NAME, "hocket-waits", 0, 0, 0);
    pthread_mutex_lock(&threads.lock);
    while (await_work(&next)) {
        pthread_mutex_unlock(&threads.lock);
        next.run(next.task, next.argument);
        pthread_mutex_lock(&threads.lock);
    }
    threads.thread_count--;
    pthread_mutex_unlock(&threads.lock);
    return NULL;
}

/* Expects the lock. */
static bool start_thread(void)
{
    sigset_t all, before;
    pthread_t thread;
    if (threads.thread_count >= MOST_THREADS)
        return false;
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = !pthread_create(&thread, NULL, thread_main, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    threads.thread_count += started;
    return started;
}

bool hki_kernel_thread_run(void (*run)(hki_task *task, void *argument), hki_task *task,
                           void *argument)
{
    pthread_mutex_lock(&threads.lock);
    const bool has_thread = threads.idle_count > threads.waiting_count || start_thread();
    if (has_thread) {
        threads.waiting[threads.waiting_count++] = (work){run, task, argument};
        pthread_cond_signal(&threads.more);
    }
    pthread_mutex_unlock(&threads.lock);
    return has_thread;
}

/* The child of a fork has none of them. */
static void child_has_none(void)
{
    pthread_mutex_init(&threads.lock, NULL);
    pthread_cond_init(&threads.more, NULL);
    threads.waiting_count = threads.idle_count = threads.thread_count = 0;
}

__attribute__((constructor)) static void note_forks(void)
{
    pthread_atfork(NULL, NULL, child_has_none);
}
