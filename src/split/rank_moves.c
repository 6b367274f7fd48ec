/* Values between ranks that all compute what comes before and behind a split layer. */
#include "split/split.h"

#include <hocket/autograd.h>

/* What is done to gradients on their way back: the same group's other function. */
static void share_backward(hk_function_call *call)
{
    if (call->dys[0])
        call->dxs[0] = hk_take((hk_group_join)(call->context, call->dys[0]));
}

static void join_backward(hk_function_call *call)
{
    if (call->dys[0])
        call->dxs[0] = hk_take((hk_group_share)(call->context, call->dys[0]));
}

/* y, off the tape, of the scope, on it; groups live as long as the process. */
static hk_array *record(hk_group *group, hk_array *x, hk_array *y, const char *name,
                        void (*backward)(hk_function_call *call))
{
    (hk_function)(&x, 1, &y, 1,
                  &(hk_function_options){.name = name, .backward = backward, .context = group});
    return y;
}

hk_array *(hk_group_share)(hk_group *group, hk_array *x)
{
    hk_array *y = (hk_detach)(x);
    return x ? record(group, x, y, "group_share", share_backward) : y;
}

static hk_array *sum_off_tape(hk_group *group, hk_array *x)
{
    HK_PAUSE;
    return (hk_group_sum)(group, x);
}

hk_array *(hk_group_join)(hk_group *group, hk_array *part)
{
    hk_array *y = sum_off_tape(group, part);
    return part ? record(group, part, y, "group_join", join_backward) : y;
}
