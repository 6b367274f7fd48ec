#include "device_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* kind:index, such as cpu:0; the index without zeros before it. */
static bool is_device_name(const char *name, size_t length)
{
    size_t at = 0;
    while (at < length && islower((unsigned char)name[at]))
        at++;
    if (at == 0 || at >= length || name[at] != ':' || length >= DEVICE_NAME_BYTES)
        return false;
    const char *index = name + at + 1;
    size_t digits = length - at - 1;
    for (size_t i = 0; i < digits; i++)
        if (!isdigit((unsigned char)index[i]))
            return false;
    return digits >= 1 && digits <= 4 && (digits == 1 || index[0] != '0');
}

/* Where the list counts the devices of this one's kind; NULL when the runtime is not to make such. */
static int *needed_devices(device_list *self, const char *name)
{
    if (!strncmp(name, "cpu:", 4))
        return &self->cpu_devices;
    return !strncmp(name, "sim:", 4) ? &self->sim_devices : NULL;
}

static bool add(device_list *self, const command *owner, const char *name, size_t length)
{
    if (!is_device_name(name, length)) {
        options_complain(owner,
                         "--devices has \"%.*s\"; expected names such as cpu:0, joined by commas: "
                         "--devices cpu:0,cpu:1",
                         (int)length, name);
        return false;
    }
    for (int i = 0; i < self->count; i++) {
        if (strlen(self->names[i]) == length && !strncmp(self->names[i], name, length)) {
            options_complain(owner, "--devices names %s twice; each device may stand there once",
                             self->names[i]);
            return false;
        }
    }
    int index = atoi(strchr(name, ':') + 1);
    int *needed = needed_devices(self, name);
    if (needed && index >= MAX_DEVICES) {
        options_complain(owner, "--devices has \"%.*s\"; expected %.4s0 to %.4s%d", (int)length,
                         name, name, name, MAX_DEVICES - 1);
        return false;
    }
    if (self->count == MAX_DEVICES) {
        options_complain(owner, "--devices names more than %d devices", MAX_DEVICES);
        return false;
    }
    memcpy(self->names[self->count], name, length);
    self->names[self->count++][length] = '\0';
    if (needed && index >= *needed)
        *needed = index + 1;
    return true;
}

bool device_list_parse(device_list *self, const command *owner, const char *text)
{
    *self = (device_list){0};
    while (text) {
        size_t length = strcspn(text, ",");
        if (!add(self, owner, text, length))
            return false;
        text = text[length] ? text + length + 1 : NULL;
    }
    return true;
}

bool device_list_start(const device_list *self)
{
    const char *described = getenv("HOCKET_SIM");
    const hk_sim_options sims = {.count = self->sim_devices};
    const hk_runtime_options options = {
        .cpu_devices = self->cpu_devices,
        .sim = &sims,
        .sim_count = self->sim_devices > 0 && !(described && *described) ? 1 : 0,
    };
    return !hk_status_print(hk_runtime_init(&options), stderr);
}

bool device_list_find(const device_list *self, hk_device *devices, int *count)
{
    int found = self->count ? self->count : hk_device_count();
    *count = 0;
    for (int i = 0; i < found && *count < MAX_DEVICES; i++) {
        hk_device device = self->count ? hk_device_named(self->names[i]) : hk_device_at(i);
        if (hk_status_print(hk_device_status(device), stderr))
            return false;
        if (self->count || !hk_device_is_simulated(device))
            devices[(*count)++] = device;
    }
    return true;
}
