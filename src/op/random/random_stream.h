/* Streams of random numbers, for operators that draw in a way of their own. */
#ifndef HOCKET_OP_RANDOM_STREAM_H
#define HOCKET_OP_RANDOM_STREAM_H

#include "op/random/random.h"

#include <hocket/random.h>

/* Where the numbers of a call begin; moves the generator, or with NULL this thread's stream, on. */
hki_stream_options hki_stream_begin(hk_generator *generator, const hk_dims *shape, hk_dtype dtype);
/* There was memory for it; also of NULL. */
bool hki_generator_is_there(const hk_generator *generator);

#endif
