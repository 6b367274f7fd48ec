/* The value of --devices: names of devices, joined by commas. */
#ifndef HOCKET_CLI_DEVICE_LIST_H
#define HOCKET_CLI_DEVICE_LIST_H

#include "lenet_model.h"
#include "options.h"

enum { DEVICE_NAME_BYTES = 16, MAX_GPUS = 16 };

typedef struct device_list {
    int count; /* 0: all CPU devices */
    char names[MAX_DEVICES][DEVICE_NAME_BYTES];
    /* How many the runtime needs; 0: as the environment says. */
    int cpu_devices, sim_devices;
    int gpu_parts[MAX_GPUS];
} device_list;

/* False, and `owner` has complained, when it is no such list. text may be NULL: an empty list. */
bool device_list_parse(device_list *self, const command *owner, const char *text);

/* Starts the runtime with the devices that the list needs: simulated ones are of the default kind, unless
 * HOCKET_SIM says what they are; GPUs are split as the names have them, unless HOCKET_CUDA says how. False, and the record is printed, when it cannot be. */
bool device_list_start(const device_list *self);

/* Looks the devices up in the runtime; devices[0 ... *count - 1] are set, of at most MAX_DEVICES. False, and the
 * record is printed, when one is not there. */
bool device_list_find(const device_list *self, hk_device *devices, int *count);

#endif
