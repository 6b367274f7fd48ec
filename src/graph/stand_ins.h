/* Places of a graph's own for bound arrays whose addresses change from replay to replay, as those of batches and of slices
 * do. A recording has addresses, so it reads and writes such a place, its *stand-in*; what a replay is given is copied
 * there before, and what it writes is copied from there behind. All other arrays are used where they lie.
 *
 * Externally synchronised: but for the first three, functions are called by the thread of the device's queue, in a task
 * of it. Replays of one graph take turns, so one place does for all. */
#ifndef HOCKET_GRAPH_STAND_INS_H
#define HOCKET_GRAPH_STAND_INS_H

#include "graph/graph.h"

typedef struct hki_stand_in {
    bool is_bound, is_used;
    int64_t begin,
        end; /* bytes that the graph reads or writes, from the array's first element; equal: none */
    uint64_t at; /* of `begin`, in the memory of all */
} hki_stand_in;

/* Bytes that are copied, from an array's first element on. */
typedef struct hki_stand_in_copy {
    int slot;
    int64_t begin, end;
    bool is_input, is_output; /* to the stand-in, back from it; possibly both */
} hki_stand_in_copy;

typedef struct hki_stand_ins {
    const hk_graph *graph;
    hki_device *device;
    hki_stand_in *slots; /* of the graph */
    hki_stand_in_copy *copies;
    int copy_count, copy_capacity;
    hki_storage *memory; /* NULL: no slot is bound */
    bool is_refused;     /* there was no memory for it */
    int used_count;
    char **last; /* addresses of the replay before; NULL elements: none */
} hki_stand_ins;

/* For so many reads and writes of the graph's calls at most, which are the device's. False: no host
 * memory; deinit is due all the same. */
bool hki_stand_ins_init(hki_stand_ins *self, const hk_graph *graph, hki_device *device,
                        int touch_count);
/* The graph reads (HKI_READ) or writes these bytes of a slot. */
void hki_stand_ins_add(hki_stand_ins *self, int slot, const hki_span *span, unsigned mode);
/* Calls may leave what they write as it is: the stand-ins begin with what is there. */
void hki_stand_ins_keep(hki_stand_ins *self);
/* When all have been added. False: no host memory. */
bool hki_stand_ins_lay_out(hki_stand_ins *self);
void hki_stand_ins_deinit(hki_stand_ins *self);

/* A replay is given arrays at these addresses, by slot. Those that lie elsewhere than in the replay before get stand-ins
 * from now on, if copying them costs less than launching `call_count` calls. True: recordings made before are of no
 * use, and all that keeps moving has a stand-in. */
bool hki_stand_ins_follow(hki_stand_ins *self, char *const *addresses, int call_count);
/* Puts the addresses of stand-ins in the place of those of their arrays. */
void hki_stand_ins_aim(const hki_stand_ins *self, char **addresses);
/* Launches the copies before the calls (`back` false), or behind them. `addresses`: of the arrays. */
void hki_stand_ins_copy(const hki_stand_ins *self, char *const *addresses, bool back);

#endif
