/* Random numbers for any processor. */
#include "op/random/random_fill.h"

#define FILL hki_random_fill_portable
#include "op/random/random_fill.inc.c"
