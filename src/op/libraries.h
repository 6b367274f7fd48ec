/* Soundness of the libraries below, for the operators that depend on them. */
#ifndef HOCKET_OP_LIBRARIES_H
#define HOCKET_OP_LIBRARIES_H

#include "base/status.h"

/* NULL, or why matrix products cannot be trusted. Examines once; thread-safe. */
const char *hki_libraries_problem(void);

#endif
