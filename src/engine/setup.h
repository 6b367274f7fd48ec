/* Setting a runtime up: its devices, with their queues and cores. */
#ifndef HOCKET_ENGINE_SETUP_H
#define HOCKET_ENGINE_SETUP_H

#include "device/runtime_config.h"
#include "engine/core/runtime.h"

/* Also the parts of the rooms that know about them. False: no memory. What was made stays in the runtime. */
bool hki_devices_create(hki_runtime *runtime, const hki_runtime_config *config);
void hki_devices_destroy(hki_runtime *runtime);

#endif
