/* Within the emulation: running the blocks of a kernel in the calling thread. */
#ifndef HOCKET_TESTS_EMULATED_BLOCK_H
#define HOCKET_TESTS_EMULATED_BLOCK_H

#include <functional>
#include <vector_types.h>

namespace emulated
{

/* Why a GPU would not take the launch, or nullptr. */
bool is_launchable(dim3 grid, dim3 block);

/* Runs `body` for each thread. Together: the threads of a block have stacks of their own, and may meet. */
void run_kernel(const char *name, dim3 grid, dim3 block, bool is_together,
                const std::function<void()> &body);

/* The name of the kernel that this thread runs. */
const char *running_kernel();

} // namespace emulated

#endif
