/* In the library: finds and opens the plug-in for NVIDIA GPUs, and says which of them are to be devices. */
#ifndef HOCKET_DEVICE_CUDA_LOADER_H
#define HOCKET_DEVICE_CUDA_LOADER_H

#include "base/rank_launcher.h"
#include "device/cuda/cuda_plugin.h"

#include <stdatomic.h>

/* ---- which devices ------------------------------------------------------------------------------------------ */

enum { HKI_CUDA_MAX_PARTS = 16 };

/* In how many devices each GPU is split; 0: it is none. */
typedef struct hki_cuda_choice {
    int parts[HKI_CUDA_MAX_GPUS];
    bool is_off;        /* by the text "off" */
    bool is_default;    /* nobody has chosen: ranks of a machine share its GPUs */
    int first;          /* of the rank's own, which is cuda:0 */
    int ranks;          /* that share those of this machine; 0: nothing is shared */
    const char *origin; /* "option cuda" or "environment variable HOCKET_CUDA": static text */
} hki_cuda_choice;

/* Reads `option`, or, where that is NULL, the environment variable HOCKET_CUDA: "off", or items separated by commas,
 * each a GPU's number or "all", and, where it is to be several devices, "/" and how many: "all", "0,2", "0/2". NULL or
 * "": all. Returns NULL or a record (counted); *choice is then "off". */
const hk_status *hki_cuda_choose(const char *option, hki_cuda_choice *choice);

/* Where nobody has chosen and a launcher has started several processes on this machine, each gets
 * its share of so many GPUs, as of the cores (hki_launcher_share). */
void hki_cuda_share(hki_cuda_choice *choice, int gpu_count, const hki_launcher *launcher);
/* How many of them that are. */
int hki_cuda_own_count(const hki_cuda_choice *choice, int gpu_count);

/* "cuda:1", or, of several parts, "cuda:1/0". */
void hki_cuda_device_name(char *name, size_t bytes, int gpu, int part, int parts);

/* ---- the plug-in ---------------------------------------------------------------------------------------------- */

/* What was found. */
typedef struct hki_cuda_found {
    const hki_cuda_plugin
        *plugin;              /* NULL: none that can be used; it stays until the process ends */
    char path[512];           /* of the plug-in, "" without one */
    char problem[640];        /* why there is no device cuda:N at all, else "" */
    bool is_complete;         /* it has been looked for, not just guessed that there is none */
    hki_cuda_machine machine; /* zeros where there is no plug-in, or it is not complete */
} hki_cuda_found;

/* What a runtime knows. */
typedef struct hki_cuda_setup {
    hki_cuda_choice choice;
    atomic_bool is_crowded; /* more ranks than GPUs, which this one is to say when it takes one */
    hki_cuda_found found;
    char
        text[4096]; /* of hk_cuda_describe; "" before it is asked for; the runtime's devices_lock */
} hki_cuda_setup;

/* What a starting runtime asks: hki_cuda_find, but only where this machine looks as if it had an NVIDIA GPU, by what its
 * driver leaves in the file system, or where HOCKET_CUDA_PLUGIN is set. Elsewhere it costs a few system calls. */
void hki_cuda_look(const hki_cuda_host *host, const hki_cuda_choice *choice, hki_cuda_found *found);

/* Opens the plug-in and looks for GPUs: the one named by HOCKET_CUDA_PLUGIN, else libhocket_cuda.so beside the file that
 * this code is in, else wherever the system's loader finds that name. Initialises CUDA's driver, which takes a while,
 * but makes no context. Blocks; never fails: `problem` tells. */
void hki_cuda_find(const hki_cuda_host *host, hki_cuda_found *found);

/* The text of hk_cuda_describe, where `found` is complete or the choice is "off". */
void hki_cuda_found_describe(const hki_cuda_found *found, const hki_cuda_choice *choice, char *text,
                             size_t bytes);

#endif
