/* The task that all-reduce is made of. */
#ifndef HOCKET_COLLECTIVE_REDUCE_TASK_H
#define HOCKET_COLLECTIVE_REDUCE_TASK_H

#include "op/op.h"

/* Issues a task of the device's queue for reductions: elements [begin, end) of all outputs become the sum
 * of those of the inputs, in order. The arrays are contiguous, alive, of one dtype, within reach of the
 * device; an output is one of the inputs or shares no memory with any. False when host memory is short:
 * the ranges of the outputs are failed then. Never waits but for room in the run-ahead window. */
bool hki_reduce_issue(hki_device *device, const char *operation, hk_array *const *inputs,
                      int input_count, hk_array *const *outputs, int output_count, int64_t begin,
                      int64_t end);

/* Issues a task that sums the first `size` elements of all arrays, each into all of them, by the library of their devices:
 * has_all_reduce of their class has agreed to it. Otherwise the same. */
void hki_reduce_issue_library(const char *operation, hk_array *const *arrays, int count,
                              int64_t size);

#endif
