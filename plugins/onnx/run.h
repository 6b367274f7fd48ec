/* Within run.c and what opens models: one run. */
#ifndef HOCKET_ONNX_RUN_H
#define HOCKET_ONNX_RUN_H

#include "onnx.h"

/* Constant values in the order in which they were made. */
typedef struct onnx_memo {
    onnx_value **values;
    int count, capacity;
} onnx_memo;

struct onnx_run {
    onnx_model *model;
    onnx_value **values;    /* by slot */
    const onnx_memo *known; /* of an earlier run with these shapes; NULL: */
    onnx_memo *made;        /* what this one makes */
    int position;           /* in `known` */
    int depth;
    bool is_loose;
    onnx_problem problem;
};

hk_model_outcome onnx_model_run(hk_model_source *source, hk_source at, hk_array *const *inputs,
                                hk_array **outputs, hk_model_memo **memo, char *problem,
                                size_t bytes);
void onnx_memo_release(hk_model_memo *memo);

#endif
