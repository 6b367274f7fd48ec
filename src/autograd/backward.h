/* A backward pass in steps: backward.c does them, gradients.c is what programs call. Backward lock for all of them. */
#ifndef HOCKET_AUTOGRAD_BACKWARD_H
#define HOCKET_AUTOGRAD_BACKWARD_H

#include "autograd/tape.h"

/* Where the walk begins; dys may be NULL, and so may each of it, for ones. */
void hki_pass_begin(hki_pass *pass, hk_array *const *ys, hk_array *const *dys, int count);
/* What the heads contribute to themselves. */
void hki_pass_seed(hki_pass *pass, hk_array *const *ys, hk_array *const *dys, int count);
void hki_pass_run(hki_pass *pass);
/* The walk cannot be made: no gradient is computed, and those of leaves in reach say why. Needs no memory. */
void hki_pass_refuse(hki_pass *pass, hk_array *const *ys, int count);

/* A status, lent, of a call that has no room for results that could fail. */
const hk_status *hki_gradients_refuse(const char *operation, const char *why);

#endif
