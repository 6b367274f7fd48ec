/* Checkpoints: a whole training as one file, from which it goes on as if it had never stopped, bit for bit.
 *
 *     hk_checkpoint state = {.module = net, .optimizer = adam, .loader = loader, .step = step};
 *     hk_status_print(hk_checkpoint_save("run.safetensors", &state), stderr);
 *
 *     hk_checkpoint state = {.module = net, .optimizer = adam, .loader = loader};
 *     if (hk_ok(hk_checkpoint_load("run.safetensors", &state)))
 *         … goes on from state.step …
 *
 * The file is safetensors, so that hk_load and other programs read it. It has the arrays of the module, "module.PATH"; what differs
 * in replicas, "replica.1.PATH"; the optimiser's, "optimizer.coefficients" (learning rate, steps) and "optimizer.state.PATH";
 * and others, "array.NAME". Its metadata have the program's own, and "hocket.…": step, epoch, random streams, the loader's
 * position, the optimiser's method. */
#ifndef HOCKET_CHECKPOINT_H
#define HOCKET_CHECKPOINT_H

#include <hocket/data.h>
#include <hocket/io.h>
#include <hocket/nn.h>
#include <hocket/optim.h>
#include <hocket/random.h>

HK_BEGIN_DECLS

/* What belongs to a training. All are borrowed, and may be left out: zeros. */
typedef struct hk_checkpoint {
    hk_module *module;
    /* Of module, on other devices, with the same parameters: these are saved once, buffers (moving averages) of each. Loaded by
     * another number of them, buffers that the file lacks become the module's. */
    hk_module *const *replicas;
    int replica_count;
    /* State of a parameter of the module or a replica goes by its path, and is the same in all of them; other parameters go by
     * their place in the list. What hk_optimizer_options says, but the learning rate, is the program's. State in parts
     * (hk_optimizer_create_sharded) is saved whole, so that any number of ranks and devices goes on, bit for bit. */
    hk_optimizer *optimizer;
    hk_loader *loader; /* its position and seed; devices may be others */
    /* Random streams, by their order. That of the calling thread is kept too, unless without_stream says so. */
    hk_generator *const *generators;
    int generator_count;
    bool without_stream;
    const hk_save_entry *arrays; /* others, by name: the state of a recurrent network, say */
    size_t array_count;
    int64_t step, epoch; /* the program's own; hk_checkpoint_load sets them */
    /* The program's own texts; keys do not begin with "hocket.". Not read by hk_checkpoint_load: hk_archive_metadata does. */
    const hk_metadata_entry *metadata;
    size_t metadata_count;
} hk_checkpoint;

/* Saves all of it by hk_save: blocks, and is atomic. Where ranks share the optimiser's state, all of them call this: the first
 * rank of its group writes what it was given, at its path, and the others learn what became of it. Else one rank saves.
 * Failures: those of hk_save; the record of a failed module, optimiser or loader; HK_INVALID_ARGUMENT. */
HK_API const hk_status *hk_checkpoint_save(const char *path, const hk_checkpoint *checkpoint);

/* Makes all that is given what the file says: arrays in place, also failed ones. Blocks while it reads. Checks everything first:
 * where something does not fit, nothing is changed, and the record names it. Each part that is given has to be in the file, whole,
 * and nothing else of its kind; parts that are left out may be there.
 *
 * A module that has not been called yet takes its parameters from the file. An optimiser is of parameters, so one call, on any input,
 * comes before it is made and loaded.
 *
 * Failures: those of hk_load; the record of a failed module, optimiser or loader; HK_BAD_DATA (no checkpoint, or a damaged one);
 * HK_INVALID_ARGUMENT (does not fit). */
HK_API const hk_status *hk_checkpoint_load(const char *path, hk_checkpoint *checkpoint);

/* The same with the source position of the call: see HK_SOURCE. */
HK_AT(const hk_status *, hk_checkpoint_save,
      (hk_source at, const char *path, const hk_checkpoint *checkpoint), (path, checkpoint))
#define hk_checkpoint_save(...) hk_checkpoint_save_at(HK_SOURCE, __VA_ARGS__)
HK_AT(const hk_status *, hk_checkpoint_load,
      (hk_source at, const char *path, hk_checkpoint *checkpoint), (path, checkpoint))
#define hk_checkpoint_load(...) hk_checkpoint_load_at(HK_SOURCE, __VA_ARGS__)

HK_END_DECLS

#endif
