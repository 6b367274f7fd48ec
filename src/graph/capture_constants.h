/* For who describes a graph rather than replays it. */
#ifndef HOCKET_GRAPH_CAPTURE_CONSTANTS_H
#define HOCKET_GRAPH_CAPTURE_CONSTANTS_H

/* The capture that this thread has just begun takes arrays that hk_from_host and hk_scalar make
 * within it, as if they had been made before. */
void hki_capture_take_constants(void);

#endif
