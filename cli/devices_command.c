/* hocket devices: what computes here. */
#include "commands.h"

#include <hocket/device.h>
#include <hocket/runtime.h>

static int run(int count, char **arguments)
{
    int done;
    if (!options_parse(&devices_command, count, arguments, NULL, NULL, 0, NULL, &done))
        return done;
    const hk_status *status = hk_runtime_init(NULL);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    printf("%-8s %5s  %s\n", "device", "cores", "kind");
    for (int i = 0; i < hk_device_count(); i++) {
        hk_device device = hk_device_at(i);
        const char *description = hk_device_description(device);
        printf("%-8s %5d  %s\n", hk_device_name(device), hk_device_cores(device),
               *description ? description : hk_device_kind(device));
    }
    return 0;
}

const command devices_command = {
    .name = "devices",
    .operands = "",
    .summary = "Lists the devices that arrays can be on.",
    .description =
        "cpu:0, cpu:1 and so on split the cores of this machine. HOCKET_CPUS=N makes N of\n"
        "them, HOCKET_CORES=N uses N cores in all.\n"
        "\n"
        "HOCKET_SIM=\"2:flops=20G,link=4G\" adds simulated accelerators sim:0 and sim:1, whose\n"
        "results are real and whose times are a model's; hocket/runtime.h has all fields.\n"
        "\n"
        "cuda:0, cuda:1 and so on are NVIDIA GPUs. HOCKET_CUDA=off leaves them out, "
        "HOCKET_CUDA=0,2\n"
        "takes these two, HOCKET_CUDA=0/2 makes the first one two devices, cuda:0/0 and cuda:0/1.\n"
        "hocket doctor says what is missing where there are none.",
    .run = run,
};
