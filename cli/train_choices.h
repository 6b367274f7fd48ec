/* Options of hocket train that are one of a few words. */
#ifndef HOCKET_CLI_TRAIN_CHOICES_H
#define HOCKET_CLI_TRAIN_CHOICES_H

#include "options.h"
#include "trainer.h"

/* False, and said, where the word is none of them; NULL: not given. */
bool find_schedule(const command *owner, const char *name, lr_schedule *schedule);

#endif
