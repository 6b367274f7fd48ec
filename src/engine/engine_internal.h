/* All that the files of the engine share, and nobody else has: a header for each concept. */
#ifndef HOCKET_ENGINE_INTERNAL_H
#define HOCKET_ENGINE_INTERNAL_H

#include "engine/handover.h"
#include "engine/lending.h"
#include "engine/order.h"
#include "engine/relief.h"
#include "engine/sharing.h"
#include "engine/tracing.h"

#endif
