/* The peer of bench_engine: what one writes first. One mutex, one condition variable, a list of ready
 * tasks, and the same tracking of readers and writers per datum as the engine's, without errors, byte
 * ranges, limits or several devices. */
#ifndef HOCKET_BENCH_MUTEX_POOL_H
#define HOCKET_BENCH_MUTEX_POOL_H

#include <stdbool.h>

typedef struct pool pool;
typedef struct pool_task pool_task;

/* A datum: its last writer, and the readers since. Zeroed before use. */
typedef struct pool_datum {
    pool_task *writer;
    pool_task **readers;
    int reader_count, reader_capacity;
} pool_datum;

typedef struct pool_access {
    pool_datum *datum;
    bool write;
} pool_access;

pool *pool_create(int workers);
void pool_destroy(pool *p);
/* Runs run(argument) after all earlier tasks that conflict. At most 8 accesses. The pool frees the data
 * of `owned` (may be NULL) after the task. */
void pool_submit(pool *p, void (*run)(void *), void *argument, const pool_access *accesses,
                 int count, pool_datum *owned);
void pool_wait_all(pool *p);
void pool_datum_deinit(pool_datum *datum);

#endif
