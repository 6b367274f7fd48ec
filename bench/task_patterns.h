/* Patterns of tasks that read and write data: what the engine and its peers are given to do. Also for C++. */
#ifndef HOCKET_BENCH_TASK_PATTERNS_H
#define HOCKET_BENCH_TASK_PATTERNS_H

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

/* TASK_COST_PATTERNS: the first ones are those whose cost per task is measured. */
enum { TASK_PATTERNS = 8, TASK_COST_PATTERNS = 6, TASK_DATA = 130, TASK_MAX_PERIOD = 130 };

/* One task: what it writes and reads, as indices of data below TASK_DATA. write -1: a datum of its own, made when the
 * task is issued and dropped when it is done. */
typedef struct task_call {
    int write, reads[3], read_count;
} task_call;

/* Task i does what calls[i % period] says. */
typedef struct task_pattern {
    const char *name;
    int data; /* how many */
    int period;
    task_call calls[TASK_MAX_PERIOD];
} task_pattern;

/* The pattern of this number, below TASK_PATTERNS. */
void task_pattern_init(task_pattern *pattern, int number);
/* Its number; -1: there is none of this name. */
int task_pattern_find(const char *name);
const char *task_pattern_name(int number);

#ifdef __cplusplus
}
#endif

#endif
