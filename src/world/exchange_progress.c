/* An exchange as the link sees it: headers, then data, or a record. */
#include "world/link.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 30 }; /* of a message */

/* Records come where data would. */
typedef enum tag_kind { TAG_HEADER, TAG_DATA } tag_kind;

/* What one rank says in a collective, in a send and in a receive are three things, each with an order of its own. */
static int tag_of(const hki_exchange *self, bool is_mine, tag_kind kind)
{
    const bool sends = (self->operation == HKI_WORLD_SEND) == is_mine;
    const int who = !hki_exchange_is_couple(self) ? 0 : sends ? 1 : 2;
    return self->group->id * HKI_GROUP_TAGS + 2 * who + (int)kind;
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

static bool reserve(hki_exchange *self, int count)
{
    free(self->messages);
    self->messages = calloc((size_t)count + 1, sizeof *self->messages);
    self->message_count = 0;
    self->message_room = self->messages ? count : 0;
    return self->messages;
}

static void post(hki_link *link, hki_exchange *self, bool is_send, void *data, size_t bytes,
                 int peer, tag_kind kind)
{
    const int tag = tag_of(self, is_send, kind);
    hki_message *message = &self->messages[self->message_count];
    const int rank = self->group->members[peer];
    *message = (hki_message){.peer = peer, .is_send = is_send};
    const bool is_posted = is_send ? link->mpi->send(data, bytes, rank, tag, &message->request)
                                   : link->mpi->receive(data, bytes, rank, tag, &message->request);
    if (is_posted)
        self->message_count++;
    else
        hki_link_fail(link, "a message could not be sent");
}

/* True: all are done. Asking for one lets all get on. */
static bool are_done(hki_link *link, hki_exchange *self)
{
    for (int i = 0; i < self->message_count; i++) {
        hki_message *message = &self->messages[i];
        if (message->is_done)
            continue;
        const int done = link->lost ? 0 : link->mpi->test(&message->request, NULL, NULL);
        if (done < 0)
            hki_link_fail(link, "a message was lost");
        if (done <= 0)
            return false;
        message->is_done = true;
    }
    return true;
}

static bool is_over(hki_exchange *self, const hk_status *failure, bool is_root)
{
    self->state = HKI_EXCHANGE_OVER;
    self->outcome = failure;
    self->is_root = is_root;
    return true;
}

/* status: borrowed; it stands for all exchanges of the call. */
static void refuse_call(hki_exchange *self, const hk_status *status)
{
    if (!self->leads)
        return;
    self->call->fate = HKI_FATE_REFUSED;
    self->call->refusal = hk_status_retain(status);
}

static bool is_library_sum(const hki_exchange *self)
{
    return self->operation == HKI_WORLD_REDUCE && self->own.root == HKI_BY_LIBRARY;
}

void hki_exchange_give_up(hki_link *link, hki_exchange *self, const hk_status *status, bool is_root)
{
    for (int i = 0; i < self->message_count; i++) {
        hki_message *message = &self->messages[i];
        if (message->is_done || link->mpi->test(&message->request, NULL, NULL) == 1)
            continue;
        if (message->is_send || message->is_sum)
            self->is_kept = link->is_dirty = true;
        else
            link->mpi->cancel(&message->request);
    }
    /* The others' sums are in step no more. */
    if (is_library_sum(self) && self->state != HKI_EXCHANGE_WAITS && !link->lost)
        hki_link_fail(link, "a sum by the library has been given up");
    self->message_count = 0;
    if (self->group->decided[self->lane] <= self->index)
        self->group->decided[self->lane] = self->index + 1;
    if (self->call->fate == HKI_FATE_OPEN)
        refuse_call(self, status);
    is_over(self, status, is_root);
}

/* ---- headers ------------------------------------------------------------------------------------------------- */

static bool is_peer(const hki_exchange *self, int rank)
{
    return hki_exchange_is_couple(self) ? rank == self->peer : rank != self->group->rank;
}

/* Without headers, where the call has been refused. */
static bool begin(hki_link *link, hki_exchange *self)
{
    if (!self->leads && self->call->fate == HKI_FATE_OPEN)
        return false;
    self->group->begun[self->lane]++;
    if (!self->leads && self->call->fate == HKI_FATE_REFUSED) {
        self->group->decided[self->lane] = self->index + 1;
        return is_over(self, hk_status_retain(self->call->refusal), false);
    }
    self->begin_ns = hki_clock_ns();
    self->begin_ticks = hki_ticks();
    if (!reserve(self, 2 * self->group->size)) {
        hki_link_fail(link, "host memory is short");
        return true;
    }
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            post(link, self, false, &self->theirs[r], sizeof self->own, r, TAG_HEADER);
    self->theirs[self->group->rank] = self->own;
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            post(link, self, true, &self->own, sizeof self->own, r, TAG_HEADER);
    self->state = HKI_EXCHANGE_AGREES;
    return true;
}

/* The lowest rank that has failed; -1: none. */
static int first_failed(const hki_exchange *self)
{
    for (int r = 0; r < self->group->size; r++)
        if ((r == self->group->rank || is_peer(self, r)) && self->theirs[r].trouble)
            return r;
    return -1;
}

static bool is_any_refused(const hki_exchange *self)
{
    bool any = false;
    for (int r = 0; r < self->group->size; r++)
        any = any || ((r == self->group->rank || is_peer(self, r)) &&
                      self->theirs[r].trouble == HKI_REFUSED);
    return any;
}

static bool match(const hki_exchange *self, char *why, size_t bytes)
{
    const hk_group *group = self->group;
    const hki_header *theirs = self->theirs;
    if (!hki_exchange_is_couple(self))
        return hki_headers_match(theirs, group->size, group->members, why, bytes);
    const bool sends = self->operation == HKI_WORLD_SEND;
    const int from = sends ? group->rank : self->peer, to = sends ? self->peer : group->rank;
    return hki_headers_pair(&theirs[from], group->members[from], &theirs[to], group->members[to],
                            why, bytes);
}

/* ---- data, or a record ------------------------------------------------------------------------------------------- */

/* The record is the same on all ranks: that of the lowest one. */
static bool mismatch(hki_exchange *self, const char *why)
{
    const int rank = self->group->rank;
    const bool is_couple = hki_exchange_is_couple(self);
    const int lowest = !is_couple ? 0 : rank < self->peer ? rank : self->peer;
    hki_header *first = &self->theirs[lowest];
    first->file[sizeof first->file - 1] = '\0';
    const hki_status_facts facts = {.operation = hki_world_operation_name(first->operation),
                                    .file = first->file,
                                    .line = first->line,
                                    .sequence = self->sequence};
    const hk_status *status = hki_status_create(HK_INVALID_ARGUMENT, &facts, "%s", why);
    refuse_call(self, status);
    return is_over(self, status, true);
}

static bool report(hki_link *link, hki_exchange *self, int failed)
{
    const int rank = self->group->rank;
    self->state = HKI_EXCHANGE_REPORTS;
    if (!reserve(self, self->group->size)) {
        hki_link_fail(link, "host memory is short");
        return true;
    }
    if (failed != rank) {
        post(link, self, false, &self->record, sizeof self->record, failed, TAG_DATA);
        return true;
    }
    hki_wire_record_set(&self->record, self->failure, self->group->members[rank]);
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            post(link, self, true, &self->record, sizeof self->record, r, TAG_DATA);
    return true;
}

static hki_mpi_number number_of(hk_dtype dtype)
{
    switch (dtype) {
    case HK_F32:
    case HK_F64:
        return HKI_MPI_FLOAT;
    case HK_U8:
    case HK_U16:
    case HK_U32:
    case HK_U64:
        return HKI_MPI_UNSIGNED;
    default:
        return HKI_MPI_SIGNED;
    }
}

/* By the library: exchanges of a lane come here in their order on all ranks. */
static bool sum(hki_link *link, hki_exchange *self)
{
    if (!reserve(self, 1)) {
        hki_link_fail(link, "host memory is short");
        return true;
    }
    self->state = HKI_EXCHANGE_MOVES;
    self->has_moved = true;
    self->messages[0] =
        (hki_message){.peer = (self->group->rank + 1) % self->group->size, .is_sum = true};
    if (link->mpi->sum(hki_exchange_operand(self, 0), (size_t)self->own.count,
                       number_of(self->dtype), hk_dtype_bytes(self->dtype),
                       &self->messages[0].request))
        self->message_count = 1;
    else
        hki_link_fail(link, "a sum could not begin");
    return true;
}

static int message_count(const hki_exchange *self)
{
    size_t count = 0;
    for (int i = 0; i < self->piece_count; i++)
        count += (self->pieces[i].bytes + MOST_BYTES - 1) / MOST_BYTES;
    return (int)count;
}

static bool move(hki_link *link, hki_exchange *self)
{
    self->state = HKI_EXCHANGE_MOVES;
    self->has_moved = true;
    if (!reserve(self, message_count(self))) {
        hki_link_fail(link, "host memory is short");
        return true;
    }
    for (int pass = 0; pass < 2; pass++) /* places for what comes first */
        for (int i = 0; i < self->piece_count; i++) {
            const hki_piece *piece = &self->pieces[i];
            if (piece->is_send != (pass == 1))
                continue;
            for (size_t at = 0; at < piece->bytes; at += MOST_BYTES)
                post(link, self, piece->is_send, (char *)piece->data + at,
                     piece->bytes - at < MOST_BYTES ? piece->bytes - at : MOST_BYTES, piece->peer,
                     TAG_DATA);
        }
    hki_exchange_copy_own(self);
    return true;
}

static bool decide(hki_link *link, hki_exchange *self)
{
    char why[640];
    const int failed = first_failed(self);
    const bool matches = match(self, why, sizeof why);
    self->group->decided[self->lane] = self->index + 1;
    self->is_refused = !matches || is_any_refused(self);
    if (self->leads && !self->is_refused)
        self->call->fate = HKI_FATE_GOOD;
    if (failed >= 0)
        return report(link, self, failed);
    if (!matches)
        return mismatch(self, why);
    return is_library_sum(self) ? sum(link, self) : move(link, self);
}

/* The record that all ranks have now. On the rank that it comes from the program knows of it already, if an input had failed. */
static bool end_reported(hki_exchange *self)
{
    const hk_status *status = hki_wire_record_get(&self->record, self->sequence);
    if (self->is_refused)
        refuse_call(self, status);
    return is_over(self, status, !self->failed_by_input);
}

/* ---- where it stands ---------------------------------------------------------------------------------------------- */

bool hki_exchange_progress(hki_link *link, hki_exchange *self)
{
    switch (self->state) {
    case HKI_EXCHANGE_WAITS:
        return self->index == self->group->begun[self->lane] && begin(link, self);
    case HKI_EXCHANGE_AGREES:
        if (!are_done(link, self))
            return false;
        self->state = HKI_EXCHANGE_AGREED;
        return true;
    case HKI_EXCHANGE_AGREED:
        return self->index == self->group->decided[self->lane] && decide(link, self);
    case HKI_EXCHANGE_MOVES:
        return are_done(link, self) && is_over(self, NULL, false);
    case HKI_EXCHANGE_REPORTS:
        return are_done(link, self) && end_reported(self);
    case HKI_EXCHANGE_OVER:
        break;
    }
    return false;
}

int hki_exchange_missing(const hki_exchange *self)
{
    for (int sends = 0; sends < 2; sends++)
        for (int i = 0; i < self->message_count; i++)
            if (!self->messages[i].is_done && self->messages[i].is_send == (sends == 1))
                return self->messages[i].peer;
    return -1;
}

bool hki_exchange_needs(const hki_exchange *self, int peer)
{
    for (int i = 0; i < self->message_count; i++)
        if (!self->messages[i].is_done && (self->messages[i].peer == peer ||
                                           (self->messages[i].is_sum && peer != self->group->rank)))
            return true;
    return false;
}
