/* Export while allocations fail, one after another: an error each time, a file that is whole or
 * none, and nothing left beside it. */
#include "failing_memory.h"

#include <hocket/hocket.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int failed_checks;
#define CHECK(condition)                                                                           \
    ((condition)                                                                                   \
         ? (void)0                                                                                 \
         : (void)(failed_checks++, printf("%s:%d: failed: %s\n", __FILE__, __LINE__, #condition)))

static char folder[] = "/tmp/hocket-memory-XXXXXX", path[128], part[160];

/* True: no allocation has failed. */
static bool try_export(hk_module *net, hk_array *x, int after)
{
    HK_SCOPE;
    const hk_model_export_options options = {.batch = "batch"};
    unlink(path);
    failing_begin(after, after % 2);
    const hk_status *status = hk_model_export(path, net, &x, 1, &options);
    const hk_code code = hk_status_code(status);
    const bool is_whole = !failing_end();
    CHECK(code == HK_OK || code == HK_OUT_OF_MEMORY || code == HK_IO);
    CHECK(!is_whole || code == HK_OK);
    CHECK((code == HK_OK) == !access(path, F_OK));
    CHECK(access(part, F_OK));
    if (code == HK_OK) {
        hk_model *model = hk_model_load(path, NULL);
        CHECK(!hk_status_print(hk_model_status(model), stderr));
        hk_model_release(model);
    }
    hk_failures_clear();
    return is_whole;
}

int main(void)
{
    HK_SCOPE;
    if (!mkdtemp(folder))
        return 1;
    snprintf(path, sizeof path, "%s/net.onnx", folder);
    snprintf(part, sizeof part, "%s.part", path);
    hk_array *x = hk_random_int(0, 5, hk_shape(2, 4), HK_I32, (hk_device){0});
    hk_module *net = hk_sequential(hk_embedding_layer(5, 4), hk_attention_layer(4, 2, true),
                                   hk_linear_layer(3, NULL));
    hk_forward(net, x);
    int after = 0;
    while (!try_export(net, x, after) && after < 20000)
        after++;
    CHECK(after < 20000);
    hk_module_release(net);
    unlink(path);
    CHECK(!rmdir(folder));
    return failed_checks > 0;
}
