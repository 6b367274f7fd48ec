/* The value of --devices: names of devices, joined by commas. */
#ifndef HOCKET_CLI_DEVICE_LIST_H
#define HOCKET_CLI_DEVICE_LIST_H

#include "lenet_model.h"
#include "options.h"

enum { DEVICE_NAME_BYTES = 16 };

typedef struct device_list {
    int count; /* 0: all that there are */
    char names[MAX_DEVICES][DEVICE_NAME_BYTES];
    int cpu_devices; /* how many the runtime needs; 0: as the environment says */
} device_list;

/* False, and `owner` has complained, when it is no such list. text may be NULL: an empty list. */
bool device_list_parse(device_list *self, const command *owner, const char *text);

/* Looks the devices up in a runtime that was started with cpu_devices; devices[0 ... *count - 1] are set.
 * False, and the record is printed, when one is not there. */
bool device_list_find(const device_list *self, hk_device *devices, int *count);

#endif
