/* What the rooms below call of this one, through pointers. */
#include "device/cuda/cuda_plugin.h"
#include "op/call/call.h"
#include "op/call/transfer.h"
#include "op/op.h"

void hki_op_hooks(void);

/* Nothing calls this by name; the linker option -u brings it out of the archive, see CMakeLists.txt. */
__attribute__((constructor)) void hki_op_hooks(void)
{
    hki_complex_ops = hki_complex_table;
    hki_call_promoted = hki_promoted_call;
    hki_array_transfer = hki_transfer_array;
    hki_cuda_host_of_library = &hki_cuda_host_table;
}
