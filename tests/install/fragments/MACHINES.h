/* What the fragments of docs/MACHINES.md take for granted. */
#include <hocket/hocket.h>

enum { n = 2, count = 4 };
extern hk_array *loss, **params, **grads, *x, *y, *in[n], *part[n], *columns[n], *rows[n], *bias[n];
extern hk_device devices[n];
extern hk_data_set *set;
extern double lr;
extern int64_t batch;
