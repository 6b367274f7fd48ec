/* The thread that gives the program its memory back (hk_from_memory) where the last user of it may have locks, which
 * what the program does there must not wait for. One for the process; it starts where it is first needed. Thread-safe. */
#ifndef HOCKET_ARRAY_REAPER_H
#define HOCKET_ARRAY_REAPER_H

#include "array/array.h"

/* False: the system refuses a thread. */
bool hki_reaper_start(void);
/* Takes what is left of a foreign storage: its name, and `foreign`. Does not block. */
void hki_reaper_take(hki_storage *storage);

#endif
