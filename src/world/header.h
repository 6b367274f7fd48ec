/* What ranks tell each other of an operation before its data moves, and of a failure instead. Sent as bytes between processes
 * of one build. */
#ifndef HOCKET_WORLD_HEADER_H
#define HOCKET_WORLD_HEADER_H

#include "base/status.h"

#include <hocket/base.h>

typedef enum hki_world_operation {
    HKI_WORLD_REDUCE, /* first half of an all-reduce */
    HKI_WORLD_SPREAD, /* its second half */
    HKI_WORLD_BROADCAST,
    HKI_WORLD_REDUCE_SCATTER,
    HKI_WORLD_ALL_GATHER,
    HKI_WORLD_ALL_TO_ALL,
    HKI_WORLD_BARRIER,
    HKI_WORLD_SEND,
    HKI_WORLD_RECEIVE,
    HKI_WORLD_OPERATION_COUNT
} hki_world_operation;

typedef enum hki_trouble {
    HKI_NO_TROUBLE,
    HKI_FAILED, /* an input has: a record follows in place of data */
    HKI_REFUSED /* so has the call: what else belongs to it does not follow */
} hki_trouble;

typedef struct hki_header {
    uint32_t magic;
    uint32_t index; /* of the operation, among those of its kind in the group */
    uint16_t operation;
    uint8_t dtype;
    uint8_t trouble; /* hki_trouble */
    int32_t root;    /* of a broadcast; of a sum HKI_BY_LIBRARY where MPI adds; else 0 */
    int64_t count;   /* elements of each array */
    uint32_t hash;   /* of all that must be the same in the call, but for its order */
    int32_t arrays;  /* on this rank, one per device */
    uint32_t order;  /* the same of the order in which arrays go */
    int32_t line;
    uint8_t
        accelerator; /* whose memory the arrays are in: 0: the host's; else its number on the rank, from 1, and HKI_DIRECT */
    uint8_t checks_lines; /* this rank has HOCKET_CHECK: then all compare where calls stand */
    char file[22];        /* the end of its name; "": not known */
} hki_header;

enum { HKI_BY_LIBRARY = 1 };
enum { HKI_DIRECT = 128 }; /* its data must not go by the host */
enum { HKI_HEADER_BYTES = 64, HKI_HEADER_MAGIC = 0x686b7734 };
_Static_assert(sizeof(hki_header) == HKI_HEADER_BYTES, "as it is sent");

typedef struct hki_wire_record {
    int32_t code, line;
    char operation[48], device[64], inputs[256], file[256], message[1024];
} hki_wire_record;

void hki_header_set_source(hki_header *self, hk_source source);
const char *hki_world_operation_name(unsigned operation);

/* The headers of all ranks belong together. Else false, with a message that is the same on all ranks: each has the same
 * headers. rank_of: of each in the world. */
bool hki_headers_match(const hki_header *headers, int count, const int *rank_of, char *why,
                       size_t bytes);
/* A send and its receive, by rank in the world. */
bool hki_headers_pair(const hki_header *sender, int sender_rank, const hki_header *receiver,
                      int receiver_rank, char *why, size_t bytes);

/* rank: whose record it is. */
void hki_wire_record_set(hki_wire_record *self, const hk_status *status, int rank);
/* A record, counted. Takes nothing on trust: the bytes come from another process. */
const hk_status *hki_wire_record_get(const hki_wire_record *self, uint64_t sequence);

#endif
