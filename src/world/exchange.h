/* An exchange: an operation of a group as a task that the link ends. Ranks first tell each other what they are about to do;
 * only what all agree on moves data. */
#ifndef HOCKET_WORLD_EXCHANGE_H
#define HOCKET_WORLD_EXCHANGE_H

#include "array/array.h"
#include "world/header.h"
#include "world/world.h"

/* An array in contiguous memory, of which elements [begin, end) take part. All operands of an exchange are in memory that the host
 * reaches, or all in memory that the accelerator of the first one reaches. */
typedef struct hki_group_operand {
    hk_array *x;
    int64_t begin, end;
    unsigned mode;     /* hki_access_mode bits */
    int element_bytes; /* the exchange's own */
} hki_group_operand;

/* Bytes that go somewhere: from an operand, to one, or both. Offsets in elements from the operand's begin. */
typedef struct hki_exchange_part {
    int from, to; /* operands; -1: none, it goes to or comes from another rank */
    int64_t from_offset, to_offset, size;
    int peer; /* in the group */
} hki_exchange_part;

/* What the exchanges of one public call share: whether the call is the same on all ranks, which its first exchange finds out. Then
 * so are all others; else none takes place. */
typedef enum hki_fate { HKI_FATE_OPEN, HKI_FATE_GOOD, HKI_FATE_REFUSED } hki_fate;
typedef struct hki_group_call {
    atomic_uint refs;
    hk_group *group;
    uint32_t index;           /* in the group */
    uint32_t hash, order;     /* of all that must be the same; of the order of its arrays */
    bool is_refused;          /* here, when it was made */
    int exchange_count;       /* issued */
    hki_fate fate;            /* the link's */
    const hk_status *refusal; /* the link's; counted */
} hki_group_call;

/* Begins a call: until it ends, no other thread issues in the group. NULL: no memory. */
hki_group_call *hki_group_call_begin(hk_group *group);
/* Adds to what must be the same. */
void hki_group_call_add(hki_group_call *self, int64_t value);
/* The array that goes next. */
void hki_group_call_add_order(hki_group_call *self, int array);
void hki_group_call_add_shape(hki_group_call *self, const hk_dims *shape, hk_dtype dtype);
void hki_group_call_end(hki_group_call *self);

/* What is to be done. Borrowed by hki_exchange_issue. */
typedef struct hki_exchange_plan {
    hki_group_call *call;
    hki_world_operation operation;
    int peer; /* of a send or receive; else -1 */
    int root;
    int arrays; /* on this rank */
    hk_dtype dtype;
    hk_dims shape; /* of each array, for the header and records */
    const hki_group_operand *operands;
    int operand_count;
    const hki_exchange_part *parts;
    int part_count;
    hki_device *device; /* a CPU */
} hki_exchange_plan;

/* Issues it, in the group's order of calls. False when host memory is short: operands that are written have failed. Never
 * waits but for room in the run-ahead window. */
bool hki_exchange_issue(const hki_exchange_plan *plan);

/* ---- for the link ------------------------------------------------------------------------------------------- */

typedef enum hki_exchange_state {
    HKI_EXCHANGE_WAITS,   /* for earlier ones of its group */
    HKI_EXCHANGE_AGREES,  /* headers are under way */
    HKI_EXCHANGE_AGREED,  /* they have come; for earlier ones to begin with their data */
    HKI_EXCHANGE_OPENS,   /* the channel that it is to take */
    HKI_EXCHANGE_MOVES,   /* data */
    HKI_EXCHANGE_REPORTS, /* a record */
    HKI_EXCHANGE_OVER
} hki_exchange_state;

/* A message, cut so that its length is an int. */
typedef struct hki_message {
    hki_mpi_request request;
    int peer; /* in the group */
    bool is_send, is_done;
    bool is_joint;                 /* of all ranks: cannot be given up */
    struct hki_channel_task *task; /* of exchange->route, in place of a request; NULL: none */
} hki_message;

typedef struct hki_exchange_piece {
    void *data;
    size_t bytes;
    int peer;
    bool is_send;
} hki_exchange_piece;

/* Bytes of an accelerator that MPI moves. */
typedef struct hki_staged {
    void *data, *host; /* host: owned */
    size_t bytes;
    bool is_written; /* by MPI */
} hki_staged;

/* One thread's at a time: who issues it, who runs its task, then the link's. */
typedef struct hki_exchange {
    struct hki_exchange *next;
    hk_group *group;
    hki_group_call *call; /* counted */
    bool leads;           /* the first of the call */
    hki_task *task;
    hki_world_operation operation;
    hki_exchange_state state;
    int lane;       /* of its group: each has an order of its own */
    uint32_t index; /* in it */
    int peer;       /* in the group; -1: all */
    hk_dtype dtype;
    hk_dims shape;
    const char *name;
    hk_source source;
    uint64_t sequence;
    const hk_status *failure; /* of this rank, from before it began; counted; NULL: none */
    bool failed_by_input;
    bool has_moved;           /* data */
    const hk_status *outcome; /* when it is over: what failed it, counted; NULL: nothing */
    bool is_refused;          /* the call is, by the record that comes */
    bool is_root;             /* of that: the program does not know of it yet */
    bool is_kept;             /* messages that nobody can stop still use its memory */
    int64_t begin_ns;
    uint64_t begin_ticks;
    hki_header own, *theirs; /* theirs: by rank in the group, or of the peer alone */
    hki_wire_record record;
    hki_storage **storages; /* used */
    int storage_count;
    hki_exchange_piece *pieces; /* set when the task runs, from parts */
    int piece_count;
    hki_exchange_part *parts;
    hki_group_operand *operands; /* whose arrays are not to be looked at any more */
    int64_t *offsets;            /* of each operand's begin in its storage, in bytes */
    int part_count, operand_count;
    hki_message *messages;
    int message_count, message_room;
    hki_device *accelerator; /* that has the operands; NULL: the host has */
    struct hki_route *route; /* the link's: between accelerators; NULL: none */
    hki_staged *staged;
    int staged_count;
} hki_exchange;

static inline bool hki_exchange_is_couple(const hki_exchange *self)
{
    return self->peer >= 0;
}

/* It is over: ends its task, which frees it unless it is kept. */
void hki_exchange_end(hki_exchange *self);
/* Where an operand is, once the task runs. */
void *hki_exchange_operand(const hki_exchange *self, int operand);
/* Where a part comes from and goes to; NULL: another rank. */
void *hki_exchange_from(const hki_exchange *self, const hki_exchange_part *part);
void *hki_exchange_to(const hki_exchange *self, const hki_exchange_part *part);
/* Copies what stays on this rank, in the host's memory: once data may move. */
void hki_exchange_copy_own(hki_exchange *self);

#endif
