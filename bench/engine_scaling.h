/* What an empty task costs as there is more of what it should not depend on: issuing threads, devices, unfinished readers
 * of an array, arrays that live. */
#ifndef HOCKET_BENCH_ENGINE_SCALING_H
#define HOCKET_BENCH_ENGINE_SCALING_H

#include <stdbool.h>
#include <stdio.h>

/* Measures all of it `repeat` times, in this process. False: no memory or no thread for it; stderr says so. */
bool scaling_measure(int repeat);
void scaling_print(void);
void scaling_json(FILE *file);
/* As `folder`/engine_scaling.svg. False: errno says why not. */
bool scaling_draw(const char *folder);

#endif
