#include "device_list.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Digits of a number without zeros before it, of at most four; 0: there is none. */
static size_t number_length(const char *text, size_t length)
{
    size_t digits = 0;
    while (digits < length && isdigit((unsigned char)text[digits]))
        digits++;
    return digits <= 4 && (digits <= 1 || text[0] != '0') ? digits : 0;
}

/* kind:index, such as cpu:0; cuda:index/part, too. */
static bool is_device_name(const char *name, size_t length)
{
    size_t at = 0, digits;
    while (at < length && islower((unsigned char)name[at]))
        at++;
    if (at == 0 || at >= length || name[at] != ':' || length >= DEVICE_NAME_BYTES)
        return false;
    at++;
    digits = number_length(name + at, length - at);
    at += digits;
    if (digits && at < length && name[at] == '/' && !strncmp(name, "cuda:", 5)) {
        at++;
        digits = number_length(name + at, length - at);
        at += digits;
    }
    return digits && at == length;
}

/* Of a GPU that is named by parts, how many the names need. */
static void need_parts(device_list *self, const char *name)
{
    int gpu, part;
    if (sscanf(name, "cuda:%d/%d", &gpu, &part) == 2 && gpu < MAX_GPUS &&
        part >= self->gpu_parts[gpu])
        self->gpu_parts[gpu] = part + 1;
}

/* As hk_runtime_options.cuda. NULL: as the environment says, or by default. */
static const char *choose_gpus(const device_list *self, char *text, size_t bytes)
{
    const char *described = getenv("HOCKET_CUDA");
    size_t used = (size_t)snprintf(text, bytes, "all"), all = used;
    for (int i = 0; i < MAX_GPUS; i++)
        if (self->gpu_parts[i] > 0)
            used += (size_t)snprintf(text + used, bytes - used, ",%d/%d", i, self->gpu_parts[i]);
    return used == all || (described && *described) ? NULL : text;
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
    self->names[self->count][length] = '\0';
    need_parts(self, self->names[self->count++]);
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
    char gpus[16 * MAX_GPUS];
    const hk_sim_options sims = {.count = self->sim_devices};
    const hk_runtime_options options = {
        .cpu_devices = self->cpu_devices,
        .sim = &sims,
        .sim_count = self->sim_devices > 0 && !(described && *described) ? 1 : 0,
        .cuda = choose_gpus(self, gpus, sizeof gpus),
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
        if (self->count || !strcmp(hk_device_kind(device), "cpu"))
            devices[(*count)++] = device;
    }
    return true;
}
