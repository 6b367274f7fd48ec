/* The internal operators behind the losses of class labels: a row for each sample. */
#ifndef HOCKET_OP_CLASS_LOSS_H
#define HOCKET_OP_CLASS_LOSS_H

#include "op/kernel.h"

#define CLASS_LOSS_ARGUMENTS(F, op)                                                                \
    F(op, BOOL, are_logs, "", "x holds logarithms of probabilities, no logits")                    \
    F(op, F64, smoothing, "", "shared among all classes")                                          \
    F(op, BOOL, ignores, "", "labels that are `ignored` count nothing")                            \
    F(op, INT, ignored, "", "that label")
HKI_OPTIONS_STRUCT(class_loss, CLASS_LOSS_ARGUMENTS)
typedef hki_class_loss_options hki_class_loss_backward_options;

/* Inputs; DY: of the gradient. */
enum { HKI_CLASS_LOSS_X, HKI_CLASS_LOSS_LABELS, HKI_CLASS_LOSS_WEIGHT, HKI_CLASS_LOSS_DY };

/* hk_op.grad of the gradient (class_loss_second.c). */
void hki_class_loss_second(hki_grad_call *call);

#endif
