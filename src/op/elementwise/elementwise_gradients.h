/* The column `gradient` of elementwise.def, taken apart by macros, so that whatever expands the rows also expands the
 * kernels of their gradients. */
#ifndef HOCKET_OP_ELEMENTWISE_GRADIENTS_H
#define HOCKET_OP_ELEMENTWISE_GRADIENTS_H

/* For each expression `of(kept, ns, expression)` in the column of a row: X(context, kept, name of the gradient, ns,
 * expression). The name is <name>_grad, and <name>_grad_x and <name>_grad_y for the inputs of `two`. */
#define HKI_EACH_GRADIENT(X, context, name, gradient)                                              \
    HKI_GRADIENT_COUNTED(X, context, name, HKI_COLUMN_##gradient)

/* What one input of a row gets: (form, kept, ns, expression or operator). */
#define HKI_INPUT_of(kept, ns, expression) (OF, kept, ns, expression)
#define HKI_INPUT_call(kept, op)           (CALL, kept, 0, op)
#define HKI_INPUT_same()                   (SAME, none, 0, )
#define HKI_INPUT_zero()                   (ZERO, none, 0, )

/* The column: how many inputs it tells of, and each one's. */
#define HKI_COLUMN_of(...)             1, HKI_INPUT_of(__VA_ARGS__), HKI_INPUT_zero()
#define HKI_COLUMN_call(...)           1, HKI_INPUT_call(__VA_ARGS__), HKI_INPUT_zero()
#define HKI_COLUMN_same()              1, HKI_INPUT_same(), HKI_INPUT_zero()
#define HKI_COLUMN_zero()              1, HKI_INPUT_zero(), HKI_INPUT_zero()
#define HKI_COLUMN_two(x, y)           2, HKI_INPUT_##x, HKI_INPUT_##y
#define HKI_COLUMN_own(function, keep) 0, HKI_INPUT_zero(), HKI_INPUT_zero()
#define HKI_COLUMN_none(why)           0, HKI_INPUT_zero(), HKI_INPUT_zero()

#define HKI_GRADIENT_COUNTED(...) HKI_GRADIENT_COUNTED_(__VA_ARGS__)
#define HKI_GRADIENT_COUNTED_(X, context, name, count, x, y)                                       \
    HKI_GRADIENTS_##count(X, context, name, x, y)
#define HKI_GRADIENTS_0(X, context, name, x, y)
#define HKI_GRADIENTS_1(X, context, name, x, y)                                                    \
    HKI_GRADIENT_FORMED(X, context, name##_grad, HKI_UNPACK x)
#define HKI_GRADIENTS_2(X, context, name, x, y)                                                    \
    HKI_GRADIENT_FORMED(X, context, name##_grad_x, HKI_UNPACK x)                                   \
    HKI_GRADIENT_FORMED(X, context, name##_grad_y, HKI_UNPACK y)

#define HKI_UNPACK(...)          __VA_ARGS__
#define HKI_GRADIENT_FORMED(...) HKI_GRADIENT_FORMED_(__VA_ARGS__)
#define HKI_GRADIENT_FORMED_(X, context, name, form, kept, ns, what)                               \
    HKI_GRADIENT_##form(X, context, name, kept, ns, what)
#define HKI_GRADIENT_OF(X, context, name, kept, ns, expression)                                    \
    X(context, kept, name, ns, expression)
#define HKI_GRADIENT_CALL(...)
#define HKI_GRADIENT_SAME(...)
#define HKI_GRADIENT_ZERO(...)

#endif
