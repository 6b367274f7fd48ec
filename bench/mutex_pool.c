#include "mutex_pool.h"

#include <pthread.h>
#include <stdlib.h>

enum { MAX_WORKERS = 64, MAX_ACCESSES = 8 };

struct pool_task {
    void (*run)(void *);
    void *argument;
    pool_datum *owned;
    int pending, refs; /* refs: the pool's, and one per datum that names it */
    bool finished;
    pool_task **successors;
    int successor_count, successor_capacity;
    pool_task *next;
};

struct pool {
    pthread_mutex_t mutex;
    pthread_cond_t ready_or_end, idle;
    pool_task *first, *last, *recycled;
    long unfinished;
    bool ended;
    int worker_count;
    pthread_t workers[MAX_WORKERS];
};

static void task_unref(pool *p, pool_task *task)
{
    if (--task->refs)
        return;
    task->next = p->recycled;
    p->recycled = task;
}

static void push(pool *p, pool_task *task)
{
    task->next = NULL;
    if (p->last)
        p->last->next = task;
    else
        p->first = task;
    p->last = task;
    pthread_cond_signal(&p->ready_or_end);
}

static void add_edge(pool_task *from, pool_task *to)
{
    if (from->finished || from == to)
        return;
    if (from->successor_count == from->successor_capacity) {
        from->successor_capacity = from->successor_capacity ? from->successor_capacity * 2 : 4;
        from->successors =
            realloc(from->successors, (size_t)from->successor_capacity * sizeof *from->successors);
    }
    from->successors[from->successor_count++] = to;
    to->pending++;
}

static void datum_clear(pool *p, pool_datum *datum)
{
    if (datum->writer)
        task_unref(p, datum->writer);
    datum->writer = NULL;
    for (int i = 0; i < datum->reader_count; i++)
        task_unref(p, datum->readers[i]);
    datum->reader_count = 0;
}

static void *worker_main(void *argument)
{
    pool *p = argument;
    pthread_mutex_lock(&p->mutex);
    for (;;) {
        while (!p->first && !p->ended)
            pthread_cond_wait(&p->ready_or_end, &p->mutex);
        pool_task *task = p->first;
        if (!task)
            break;
        p->first = task->next;
        if (!p->first)
            p->last = NULL;
        pthread_mutex_unlock(&p->mutex);
        task->run(task->argument);
        pthread_mutex_lock(&p->mutex);
        task->finished = true;
        for (int i = 0; i < task->successor_count; i++)
            if (--task->successors[i]->pending == 0)
                push(p, task->successors[i]);
        if (task->owned) {
            datum_clear(p, task->owned);
            free(task->owned->readers);
            free(task->owned);
        }
        task_unref(p, task);
        if (--p->unfinished == 0)
            pthread_cond_broadcast(&p->idle);
    }
    pthread_mutex_unlock(&p->mutex);
    return NULL;
}

pool *pool_create(int workers)
{
    pool *p = calloc(1, sizeof *p);
    pthread_mutex_init(&p->mutex, NULL);
    pthread_cond_init(&p->ready_or_end, NULL);
    pthread_cond_init(&p->idle, NULL);
    p->worker_count = workers;
    for (int i = 0; i < workers; i++)
        pthread_create(&p->workers[i], NULL, worker_main, p);
    return p;
}

void pool_destroy(pool *p)
{
    pthread_mutex_lock(&p->mutex);
    p->ended = true;
    pthread_cond_broadcast(&p->ready_or_end);
    pthread_mutex_unlock(&p->mutex);
    for (int i = 0; i < p->worker_count; i++)
        pthread_join(p->workers[i], NULL);
    for (pool_task *task = p->recycled, *next; task; task = next) {
        next = task->next;
        free(task->successors);
        free(task);
    }
    pthread_mutex_destroy(&p->mutex);
    pthread_cond_destroy(&p->ready_or_end);
    pthread_cond_destroy(&p->idle);
    free(p);
}

void pool_submit(pool *p, void (*run)(void *), void *argument, const pool_access *accesses,
                 int count, pool_datum *owned)
{
    pthread_mutex_lock(&p->mutex);
    pool_task *task = p->recycled;
    if (task)
        p->recycled = task->next;
    else
        task = calloc(1, sizeof *task);
    task->run = run;
    task->argument = argument;
    task->owned = owned;
    task->pending = 0;
    task->refs = 1;
    task->finished = false;
    task->successor_count = 0;
    for (int i = 0; i < count && i < MAX_ACCESSES; i++) {
        pool_datum *datum = accesses[i].datum;
        if (datum->writer)
            add_edge(datum->writer, task);
        task->refs++;
        if (accesses[i].write) {
            for (int j = 0; j < datum->reader_count; j++)
                add_edge(datum->readers[j], task);
            datum_clear(p, datum);
            datum->writer = task;
        } else {
            if (datum->reader_count == datum->reader_capacity) {
                /* Forget finished readers before growing, so that reading for ever stays bounded. */
                int kept = 0;
                for (int j = 0; j < datum->reader_count; j++) {
                    if (datum->readers[j]->finished)
                        task_unref(p, datum->readers[j]);
                    else
                        datum->readers[kept++] = datum->readers[j];
                }
                datum->reader_count = kept;
                if (kept * 2 > datum->reader_capacity || !datum->reader_capacity) {
                    datum->reader_capacity =
                        datum->reader_capacity ? datum->reader_capacity * 2 : 8;
                    datum->readers = realloc(datum->readers, (size_t)datum->reader_capacity *
                                                                 sizeof *datum->readers);
                }
            }
            datum->readers[datum->reader_count++] = task;
        }
    }
    p->unfinished++;
    if (!task->pending)
        push(p, task);
    pthread_mutex_unlock(&p->mutex);
}

void pool_wait_all(pool *p)
{
    pthread_mutex_lock(&p->mutex);
    while (p->unfinished)
        pthread_cond_wait(&p->idle, &p->mutex);
    pthread_mutex_unlock(&p->mutex);
}

void pool_datum_deinit(pool_datum *datum)
{
    free(datum->readers);
}
