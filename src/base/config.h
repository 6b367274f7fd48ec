/* Environment variables: one function, so that every one is checked and reported alike. */
#ifndef HOCKET_BASE_CONFIG_H
#define HOCKET_BASE_CONFIG_H

#include "base/status.h"

#include <stdatomic.h>
#include <stdbool.h>

/* *value becomes the number in environment variable `name` when it is set; a number may end in K, M or G
 * (powers of 1024). Returns NULL, or a record (counted) that names the variable, its value and the range
 * when it is no number of [low, high]; *value is then as before. Not thread-safe against setenv. */
const hk_status *hki_config_integer(const char *name, int64_t low, int64_t high, int64_t *value);

/* The index in `words` (ends with NULL) of the variable's value, the same rules. */
const hk_status *hki_config_word(const char *name, const char *const *words, int *value);

/* HOCKET_CHECK: set when a runtime that is configured so starts, and never cleared. */
extern _Atomic(bool) hki_config_checks;

#endif
