/* All of Hocket, and the ideas that its headers share.
 *
 *     #include <hocket/hocket.h>
 *
 *     int main(void)
 *     {
 *         HK_SCOPE;
 *         hk_array *x = hk_random_uniform(hk_shape(1000, 1000), HK_F32, hk_device_default());
 *         hk_array *y = hk_mean(hk_matmul(x, x), NULL);
 *         hk_print(y, stdout);
 *         return hk_ok(hk_wait_all()) ? 0 : 1;
 *     }
 *
 *     cc program.c $(pkg-config --cflags --libs hocket)
 *
 * Calls return at once. Each becomes a task, which runs when what it reads is there, on all
 * cores, beside whatever does not depend on it. Values are those of one call after the other.
 * Looking at values waits: hk_print, hk_item, hk_to_host, hk_wait.
 *
 * An array (hk_array, array.h) is a counted handle of a shape, a dtype and strides over memory
 * of one device. Slices and transposes are views: they share that memory. Results belong to the
 * innermost scope, HK_SCOPE, and are released at its end; hk_take keeps one.
 *
 * A device (hk_device, device.h) is where arrays lie and calls run: "cpu:0", an accelerator
 * "cuda:0", a simulated one "sim:0". A call runs where its inputs are; hk_to_device copies.
 *
 * A failure is a value. What cannot be done gives a failed array (module, loader, trace, …),
 * never NULL; what depends on it fails with the same record, which names operation, shapes,
 * device and line (status.h). hk_wait tells, and so does everything that looks at values.
 * Arguments may be anything: NULL is an error, too, and no crash, unless a function says
 * otherwise.
 *
 * Options are structs, hk_<function>_options. NULL is all defaults, a field that is left 0 its
 * default, HK_ZERO the number 0 (base.h).
 *
 * Any function may be called from any thread, unless it says otherwise. Calls of one thread are
 * in their order, and so are those of several threads that touch one array, in the order in
 * which they were made.
 *
 * Shelves. Each header may be included by itself:
 *
 *     core    base.h status.h device.h array.h index.h number.h random.h runtime.h version.h
 *     calls   ops.h (all operators) kernel.h (a program's own functions) call.h operator.h (by
 * name) train   autograd.h nn.h optim.h graph.h (captured steps) weights.h (files of modules)
 * checkpoint.h data    data.h data_sets.h text.h io.h models  model.h (networks that others made)
 * tokenizer.h generate.h (texts) world   collective.h (devices of a process) world.h (processes,
 * machines) owners.h (one program on all of them) split.h (a network over several) tools   trace.h
 */
#ifndef HOCKET_HOCKET_H
#define HOCKET_HOCKET_H

#include <hocket/array.h>
#include <hocket/autograd.h>
#include <hocket/base.h>
#include <hocket/call.h>
#include <hocket/checkpoint.h>
#include <hocket/collective.h>
#include <hocket/data.h>
#include <hocket/data_sets.h>
#include <hocket/device.h>
#include <hocket/generate.h>
#include <hocket/graph.h>
#include <hocket/index.h>
#include <hocket/io.h>
#include <hocket/kernel.h>
#include <hocket/model.h>
#include <hocket/nn.h>
#include <hocket/operator.h>
#include <hocket/ops.h>
#include <hocket/optim.h>
#include <hocket/owners.h>
#include <hocket/random.h>
#include <hocket/runtime.h>
#include <hocket/split.h>
#include <hocket/status.h>
#include <hocket/text.h>
#include <hocket/tokenizer.h>
#include <hocket/trace.h>
#include <hocket/version.h>
#include <hocket/weights.h>
#include <hocket/world.h>

#endif
