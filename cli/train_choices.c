#include "train_choices.h"

#include <string.h>

bool find_schedule(const command *owner, const char *name, lr_schedule *schedule)
{
    static const char *const names[] = {"constant", "cosine", "step", "warm-up"};
    if (!name)
        return true;
    for (int i = 0; i < 4; i++)
        if (!strcmp(name, names[i])) {
            *schedule = (lr_schedule)i;
            return true;
        }
    options_complain(owner, "--lr-schedule is \"%s\"; expected constant, cosine, step or warm-up",
                     name);
    return false;
}
