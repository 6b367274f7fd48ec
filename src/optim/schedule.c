/* Learning rates by step. */
#include <hocket/optim.h>

#include <math.h>

double hk_lr_step(double lr, int64_t step, int64_t every, double factor)
{
    return every > 0 && step > 0 ? lr * pow(factor, (double)(step / every)) : lr;
}

double hk_lr_cosine(double lr, int64_t step, int64_t steps, double last)
{
    if (step >= steps)
        return last;
    const double pi = 3.14159265358979323846;
    const double share = step > 0 ? (double)step / (double)steps : 0;
    return last + (lr - last) * (1 + cos(pi * share)) / 2;
}

double hk_lr_warm_up(double lr, int64_t step, int64_t steps)
{
    return step + 1 < steps ? lr * (double)((step > 0 ? step : 0) + 1) / (double)steps : lr;
}

double hk_lr_plateau_next(hk_lr_plateau *plateau, double lr, double value)
{
    if (plateau->seen++ == 0 || value < plateau->best) {
        plateau->best = value;
        plateau->waiting = 0;
    } else if (++plateau->waiting > plateau->patience) {
        plateau->waiting = 0;
        return lr * plateau->factor;
    }
    return lr;
}

bool hk_early_stop_next(hk_early_stop *stop, double value)
{
    stop->is_best = stop->seen++ == 0 ? !isnan(value) : value < stop->best - stop->least;
    if (stop->is_best || stop->seen == 1) {
        stop->best = isnan(value) ? INFINITY : value;
        stop->waiting = 0;
        return false;
    }
    return ++stop->waiting > stop->patience;
}
