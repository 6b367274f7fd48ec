/* Ctrl-C, and SIGTERM, by which schedulers and containers end what they run: an orderly end is
 * asked for. The second Ctrl-C kills; further SIGTERMs do not, for one may come by several ways,
 * and SIGKILL is what comes behind. */
#ifndef HOCKET_CLI_INTERRUPT_H
#define HOCKET_CLI_INTERRUPT_H

/* From now on, until interrupt_unwatch, SIGINT, the first time, and SIGTERM are only noted. */
void interrupt_watch(void);
void interrupt_unwatch(void);
/* Which of them came first; 0: none has. The exit status of who ends for it is 128 more. */
int interrupt_signal(void);

#endif
