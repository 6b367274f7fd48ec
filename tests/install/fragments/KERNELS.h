/* What the fragments of docs/KERNELS.md take for granted. */
#include <hocket/hocket.h>

extern hk_array *x;
void square(hk_task_call *call);
void read_frame(void *data);
