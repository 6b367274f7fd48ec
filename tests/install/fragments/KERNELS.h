/* What the fragments of docs/KERNELS.md take for granted. */
#include <hocket/hocket.h>

extern hk_array *x, *a[8][8];
extern int n, ranks;
extern hk_dims shape;
extern hk_kernel solve_kernel;
void square(hk_task_call *call);
void read_frame(void *data);
