/* What layers ask of the cache that this thread has entered. */
#ifndef HOCKET_NN_CACHE_H
#define HOCKET_NN_CACHE_H

#include "nn/module.h"

#include <hocket/generate.h>

/* Whether one is entered. */
bool hki_cache_is_entered(void);
/* Tokens of a row; 0: none is entered. */
int64_t hki_cache_capacity(void);
/* A failed array, for layers that cannot take a few positions at a time; NULL: no cache is
 * entered. */
hk_array *hki_cache_refusal(const hk_module *self, hk_array *const *inputs, int count);
/* Causal attention of (n, heads, t, size) with all that is kept, to which these keys and values are
 * added. */
hk_array *hki_cache_attend(const hk_module *self, hk_array *query, hk_array *key, hk_array *value);

#endif
