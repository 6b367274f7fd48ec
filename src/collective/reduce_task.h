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

/* Issues a task of array_count sums: arrays[i * count + d], of device d, becomes that of all
 * devices' i-th, by the library of their devices, whose class has agreed to it (has_all_reduce). Of
 * one dtype, none of them empty, and no two of them sharing memory. Otherwise the same. */
void hki_reduce_issue_library(const char *operation, hk_array *const *arrays, int count,
                              int array_count);

#endif
