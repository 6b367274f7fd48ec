/* Ctrl-C: the first one asks for an orderly end, the second one kills. */
#ifndef HOCKET_CLI_INTERRUPT_H
#define HOCKET_CLI_INTERRUPT_H

#include <stdbool.h>

/* From now on, until interrupt_unwatch, SIGINT only sets a flag, the first time. */
void interrupt_watch(void);
void interrupt_unwatch(void);
bool interrupt_came(void);

#endif
