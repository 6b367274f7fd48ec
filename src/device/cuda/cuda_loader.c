#include "device/cuda/cuda_loader.h"
#include "base/quote.h"
#include "base/text.h"

#include <ctype.h>
#include <dlfcn.h>
#include <hocket/version.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char file_name[] = "libhocket_cuda.so";

/* ---- which devices ------------------------------------------------------------------------------------------ */

static const hk_status *choice_error(const hki_cuda_choice *choice, const char *text,
                                     const char *item)
{
    const hki_status_facts facts = {.operation = "runtime_init"};
    return hki_status_create(
        HK_INVALID_ARGUMENT, &facts,
        "%s is \"%s\"; at \"%s\" expected off, or all or a GPU's number "
        "from 0 to %d, each with /PARTS from 1 to %d where it is to be several "
        "devices, such as 0,2 or all/2",
        choice->origin, hki_quote(text, 100).text, hki_quote(item, 40).text, HKI_CUDA_MAX_GPUS - 1,
        HKI_CUDA_MAX_PARTS);
}

/* A number of [low, high] at *text, which goes behind it. */
static bool read_number(const char **text, int low, int high, int *number)
{
    char *end;
    if (!isdigit((unsigned char)**text))
        return false;
    long value = strtol(*text, &end, 10);
    *text = end;
    *number = (int)value;
    return value >= low && value <= high;
}

/* "0/2" at *text, which goes behind it. */
static bool read_item(const char **text, int parts[HKI_CUDA_MAX_GPUS])
{
    int gpu = -1, count = 1;
    if (!strncmp(*text, "all", 3))
        *text += 3;
    else if (!read_number(text, 0, HKI_CUDA_MAX_GPUS - 1, &gpu))
        return false;
    if (**text == '/') {
        ++*text;
        if (!read_number(text, 1, HKI_CUDA_MAX_PARTS, &count))
            return false;
    }
    for (int i = 0; i < HKI_CUDA_MAX_GPUS; i++)
        if (gpu < 0 || gpu == i)
            parts[i] = count;
    return true;
}

const hk_status *hki_cuda_choose(const char *option, hki_cuda_choice *choice)
{
    *choice =
        (hki_cuda_choice){.origin = option ? "option cuda" : "environment variable HOCKET_CUDA"};
    const char *text = option ? option : getenv("HOCKET_CUDA");
    choice->is_default = !text || !*text;
    if (choice->is_default)
        text = "all";
    if (!strcmp(text, "off")) {
        choice->is_off = true;
        return NULL;
    }
    const char *item = text, *at = text;
    bool good;
    while ((good = read_item(&at, choice->parts)) && *at == ',')
        item = ++at;
    if (good && !*at)
        return NULL;
    *choice = (hki_cuda_choice){.origin = choice->origin, .is_off = true};
    return choice_error(choice, text, item);
}

void hki_cuda_share(hki_cuda_choice *choice, int gpu_count, const hki_launcher *launcher)
{
    int first;
    if (!choice->is_default || launcher->local_size < 2 || gpu_count < 1)
        return;
    const int count = hki_launcher_share(launcher, gpu_count, &first);
    for (int i = 0; i < HKI_CUDA_MAX_GPUS; i++)
        if (i < first || i >= first + count)
            choice->parts[i] = 0;
    choice->first = first;
    choice->ranks = launcher->local_size;
}

int hki_cuda_own_count(const hki_cuda_choice *choice, int gpu_count)
{
    int count = 0;
    for (int i = 0; i < gpu_count; i++)
        count += choice->parts[i] > 0;
    return count;
}

void hki_cuda_device_name(char *name, size_t bytes, int gpu, int part, int parts)
{
    if (parts > 1)
        snprintf(name, bytes, "cuda:%d/%d", gpu, part);
    else
        snprintf(name, bytes, "cuda:%d", gpu);
}

/* ---- the plug-in ---------------------------------------------------------------------------------------------- */

static bool has_traces(void)
{
    static const char *const traces[] = {"/proc/driver/nvidia/gpus",
                                         "/dev/nvidiactl", /* a container may have GPU 3 alone */
                                         "/dev/nvidia0", "/dev/dxg" /* of Windows, in its Linux */};
    bool any = false;
    for (size_t i = 0; i < sizeof traces / sizeof *traces && !any; i++)
        any = access(traces[i], F_OK) == 0;
    return any;
}

HK_PRINTF(2, 3) static void *give_up(hki_cuda_found *found, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    hki_format_va(found->problem, sizeof found->problem, format, args);
    va_end(args);
    return NULL;
}

/* The plug-in's path where it lies beside the file of this code: the library, or the program that is linked with it
 * whole. */
static bool path_beside(char *path, size_t bytes)
{
    Dl_info info;
    const char *slash;
    if (!dladdr(__extension__(void *) hki_cuda_find, &info) || !info.dli_fname ||
        !(slash = strrchr(info.dli_fname, '/')))
        return false;
    int length =
        snprintf(path, bytes, "%.*s/%s", (int)(slash - info.dli_fname), info.dli_fname, file_name);
    return length > 0 && (size_t)length < bytes && access(path, F_OK) == 0;
}

/* A handle of dlopen, with found->path set; or NULL, with found->problem. */
static void *open_file(hki_cuda_found *found)
{
    const char *named = getenv("HOCKET_CUDA_PLUGIN");
    bool is_named = named && *named;
    if (is_named)
        snprintf(found->path, sizeof found->path, "%s", named);
    else if (!path_beside(found->path, sizeof found->path))
        snprintf(found->path, sizeof found->path, "%s", file_name);
    void *handle = dlopen(found->path, RTLD_NOW | RTLD_LOCAL);
    if (handle)
        return handle;
    const char *why = dlerror();
    if (!is_named && !strchr(found->path, '/'))
        return give_up(found,
                       "the plug-in %s is not installed: neither beside the library nor on the "
                       "loader's path",
                       file_name);
    return give_up(found, "the plug-in cannot be opened%s: %.400s",
                   is_named ? " (HOCKET_CUDA_PLUGIN)" : "", why ? why : found->path);
}

static const hki_cuda_plugin *open_plugin(const hki_cuda_host *host, hki_cuda_found *found)
{
    union {
        void *symbol;
        hki_cuda_plugin_open_fn open;
    } entry;
    void *handle = open_file(found);
    if (!handle)
        return NULL;
    entry.symbol = dlsym(handle, HKI_CUDA_PLUGIN_SYMBOL);
    const hki_cuda_plugin *plugin = entry.symbol ? entry.open(host) : NULL;
    if (plugin && plugin->abi == HKI_CUDA_ABI)
        return plugin;
    dlclose(handle);
    return give_up(found, "%s %s", found->path,
                   entry.symbol
                       ? "is not of the same build as the library, hocket " HK_VERSION_STRING
                       : "is no plug-in of hocket");
}

void hki_cuda_find(const hki_cuda_host *host, hki_cuda_found *found)
{
    *found = (hki_cuda_found){.is_complete = true};
    found->plugin = open_plugin(host, found);
    if (!found->plugin) {
        found->path[0] = '\0';
        return;
    }
    found->plugin->probe(&found->machine);
    if (found->machine.gpu_count == 0)
        snprintf(found->problem, sizeof found->problem, "%s",
                 *found->machine.problem ? found->machine.problem : "there is no GPU");
}

void hki_cuda_look(const hki_cuda_host *host, const hki_cuda_choice *choice, hki_cuda_found *found)
{
    const char *named = getenv("HOCKET_CUDA_PLUGIN");
    *found = (hki_cuda_found){.plugin = NULL};
    if (choice->is_off)
        give_up(found, "CUDA is off (%s)", choice->origin);
    else if (!has_traces() && !(named && *named))
        give_up(found, "this machine shows no NVIDIA GPU: there is neither "
                       "/proc/driver/nvidia/gpus nor /dev/nvidiactl");
    else
        hki_cuda_find(host, found);
}

/* ---- text -------------------------------------------------------------------------------------------------------- */

HK_PRINTF(3, 4) static size_t add(char *text, size_t bytes, const char *format, ...)
{
    size_t used = strlen(text);
    va_list args;
    va_start(args, format);
    hki_format_va(text + used, bytes - used, format, args);
    va_end(args);
    return strlen(text);
}

static void describe_gpu(const hki_cuda_gpu *gpu, int index, char *text, size_t bytes)
{
    add(text, bytes, "GPU %d: %s, %.1f GiB, compute capability %d.%d, %d multiprocessors%s%s\n",
        index, gpu->name, (double)gpu->memory_bytes / (1 << 30), gpu->major, gpu->minor,
        gpu->multiprocessors, *gpu->problem ? "; WRONG: " : "", gpu->problem);
}

void hki_cuda_found_describe(const hki_cuda_found *found, const hki_cuda_choice *choice, char *text,
                             size_t bytes)
{
    const hki_cuda_machine *machine = &found->machine;
    *text = '\0';
    if (choice->is_off) {
        add(text, bytes, "off (%s)\n", choice->origin);
        return;
    }
    if (!found->plugin) {
        add(text, bytes, "%s\n%s\n", found->problem,
            has_traces() ? "this machine shows an NVIDIA GPU, which needs the plug-in"
                         : "this machine shows no NVIDIA GPU");
        return;
    }
    add(text, bytes, "plug-in %s, CUDA %d.%d", found->path, machine->runtime_version / 1000,
        machine->runtime_version % 1000 / 10);
    if (machine->driver_version)
        add(text, bytes, ", driver for CUDA %d.%d", machine->driver_version / 1000,
            machine->driver_version % 1000 / 10);
    add(text, bytes, "\n");
    if (*found->problem)
        add(text, bytes, "%s\n", found->problem);
    for (int i = 0; i < machine->gpu_count; i++)
        describe_gpu(&machine->gpus[i], i, text, bytes);
    if (choice->ranks > 0)
        add(text, bytes,
            "%d ranks on this machine share them%s: this one has %d, from GPU %d on, as cuda:0 ... "
            "(HOCKET_CUDA=all: each has all)\n",
            choice->ranks, choice->ranks > machine->gpu_count ? ", several to a GPU" : "",
            hki_cuda_own_count(choice, machine->gpu_count), choice->first);
    if (machine->gpu_count > 0) {
        char libraries[1024] = "";
        found->plugin->describe_libraries(libraries, sizeof libraries);
        add(text, bytes, "%s", libraries);
    }
}
