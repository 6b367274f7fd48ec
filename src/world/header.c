#include "world/header.h"

#include "base/text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const names[HKI_WORLD_OPERATION_COUNT] = {
    [HKI_WORLD_REDUCE] = "group_all_reduce",
    [HKI_WORLD_SPREAD] = "group_all_reduce",
    [HKI_WORLD_BROADCAST] = "group_broadcast",
    [HKI_WORLD_REDUCE_SCATTER] = "group_reduce_scatter",
    [HKI_WORLD_ALL_GATHER] = "group_all_gather",
    [HKI_WORLD_ALL_TO_ALL] = "group_all_to_all",
    [HKI_WORLD_BARRIER] = "group_barrier",
    [HKI_WORLD_SEND] = "group_send",
    [HKI_WORLD_RECEIVE] = "group_receive"};

const char *hki_world_operation_name(unsigned operation)
{
    return operation < HKI_WORLD_OPERATION_COUNT ? names[operation] : "an unknown operation";
}

void hki_header_set_source(hki_header *self, hk_source source)
{
    const char *file = source.file ? source.file : "", *slash = strrchr(file, '/');
    const size_t room = sizeof self->file - 1;
    file = slash ? slash + 1 : file;
    const size_t length = strlen(file);
    file += length > room ? length - room : 0;
    while (((unsigned char)*file & 0xC0) == 0x80) /* not from the middle of a letter */
        file++;
    snprintf(self->file, sizeof self->file, "%s", file);
    self->line = source.line;
}

/* ---- do they belong together ----------------------------------------------------------------------------- */

/* "group_broadcast of 12 float32 from rank 0 (train.c:41)" */
static void describe(const hki_header *self, char *text, size_t bytes)
{
    const bool has_data = self->operation != HKI_WORLD_BARRIER;
    char data[96] = "", root[48] = "", where[64] = "";
    if (has_data)
        hki_format(data, sizeof data, " of %" PRId64 " %s%s", self->count,
                   hk_dtype_name((hk_dtype)self->dtype), self->arrays > 1 ? " on each device" : "");
    if (self->operation == HKI_WORLD_BROADCAST)
        hki_format(root, sizeof root, " from %d", self->root);
    if (*self->file)
        hki_format(where, sizeof where, " (%.*s:%d)", (int)sizeof self->file - 1, self->file,
                   self->line);
    hki_format(text, bytes, "%s%s%s%s", hki_world_operation_name(self->operation), data, root,
               where);
}

/* What differs, in words; NULL: nothing. */
static const char *difference(const hki_header *a, const hki_header *b)
{
    if (a->magic != b->magic)
        return "they are of different builds";
    if (a->index != b->index)
        return "it is another one in the group's order";
    if (a->operation != b->operation)
        return "all ranks must call the same, in the same order";
    if (a->hash == b->hash && a->order != b->order)
        return "gradients go in the order in which they were last written, which must be the same; "
               "a step is to be replayed by all ranks, or by none";
    if (a->operation == HKI_WORLD_REDUCE && a->root != b->root)
        return "HOCKET_WORLD_SUM must be the same"; /* then sizes of exchanges may differ, too */
    if (a->dtype != b->dtype || a->count != b->count || a->hash != b->hash)
        return "shapes and dtypes must be the same";
    if (a->arrays != b->arrays)
        return "each rank must give the same number of arrays";
    return a->root != b->root ? "the root must be the same" : NULL;
}

/* Calls of one shape and dtype that have changed places on a rank are told apart by where they stand alone. */
static bool stand_together(const hki_header *a, const hki_header *b)
{
    if (!*a->file || !*b->file)
        return true;
    return a->line == b->line && !strncmp(a->file, b->file, sizeof a->file);
}

static bool explain(const hki_header *a, int a_rank, const hki_header *b, int b_rank,
                    const char *how, char *why, size_t bytes)
{
    char first[224], second[224];
    describe(a, first, sizeof first);
    describe(b, second, sizeof second);
    hki_format(why, bytes, "rank %d calls %s, but rank %d calls %s: %s", a_rank, first, b_rank,
               second, how);
    return false;
}

bool hki_headers_match(const hki_header *headers, int count, const int *rank_of, char *why,
                       size_t bytes)
{
    bool checks_lines = false;
    for (int i = 0; i < count; i++)
        checks_lines = checks_lines || headers[i].checks_lines;
    for (int i = 1; i < count; i++) {
        const char *how = difference(&headers[0], &headers[i]);
        if (!how && checks_lines && !stand_together(&headers[0], &headers[i]))
            how = "HOCKET_CHECK is set, by which all ranks must call it from the same line";
        if (how)
            return explain(&headers[0], rank_of[0], &headers[i], rank_of[i], how, why, bytes);
    }
    return true;
}

bool hki_headers_pair(const hki_header *sender, int sender_rank, const hki_header *receiver,
                      int receiver_rank, char *why, size_t bytes)
{
    if (sender->magic == receiver->magic && sender->dtype == receiver->dtype &&
        sender->count == receiver->count && sender->hash == receiver->hash)
        return true;
    return explain(sender, sender_rank, receiver, receiver_rank,
                   "what is sent must be what is received", why, bytes);
}

/* ---- records --------------------------------------------------------------------------------------------- */

#define COPY(field, text) hki_format(self->field, sizeof self->field, "%s", text)

void hki_wire_record_set(hki_wire_record *self, const hk_status *status, int rank)
{
    const char *device = hk_status_device(status);
    memset(self, 0, sizeof *self);
    self->code = (int32_t)hk_status_code(status);
    self->line = hk_status_line(status);
    COPY(operation, hk_status_operation(status));
    COPY(inputs, hk_status_inputs(status));
    COPY(file, hk_status_file(status));
    COPY(message, hk_status_message(status));
    if (!strncmp(device, "rank ", 5) || strstr(device, " of rank ")) /* it came from another one */
        COPY(device, device);
    else
        hki_format(self->device, sizeof self->device, "%s%srank %d", device, *device ? " of " : "",
                   rank);
}

#define END(field) own.field[sizeof own.field - 1] = '\0'

const hk_status *hki_wire_record_get(const hki_wire_record *self, uint64_t sequence)
{
    hki_wire_record own = *self;
    END(operation);
    END(device);
    END(inputs);
    END(file);
    END(message);
    const bool is_known = own.code > HK_OK && own.code <= HK_INTERRUPTED;
    const hki_status_facts facts = {.operation = own.operation,
                                    .device = own.device,
                                    .inputs = own.inputs,
                                    .file = own.file,
                                    .line = own.line,
                                    .sequence = sequence};
    return hki_status_create(is_known ? (hk_code)own.code : HK_DEVICE_LOST, &facts, "%s",
                             own.message);
}
