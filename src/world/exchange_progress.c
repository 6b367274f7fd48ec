/* An exchange as the link sees it: headers, then data, or a record. */
#include "base/rank_launcher.h"
#include "world/route.h"

#include <stdlib.h>
#include <string.h>

/* So many of a lane are begun before they are agreed on: a library looks for the receive of a message among all that are there. */
enum { MOST_AHEAD = 64 };

/* Of a message: see move. */
enum {
    MOST_BYTES_HERE = 1 << 30,
    MOST_BYTES_OPEN_MPI = 60 << 10, /* its limit over TCP is 64 KiB */
    MOST_BYTES_OTHERS = 16 << 10    /* MPICH over UCX asks from somewhere below 30 KiB on */
};

static int tag_of(const hki_exchange *self, bool is_mine, hki_tag tag)
{
    const bool sends = (self->operation == HKI_WORLD_SEND) == is_mine;
    const int who = !hki_exchange_is_couple(self) ? 0 : sends ? 1 : 2;
    return self->group->id * HKI_GROUP_TAGS + 2 * who + (int)tag;
}

/* ---- messages ------------------------------------------------------------------------------------------------ */

bool hki_exchange_reserve(hki_link *link, hki_exchange *self, int count)
{
    free(self->messages);
    self->messages = calloc((size_t)count + 1, sizeof *self->messages);
    self->message_count = 0;
    self->message_room = self->messages ? count : 0;
    if (!self->messages)
        hki_link_fail(link, "host memory is short");
    return self->messages;
}

static hki_message *add_message(hki_exchange *self, bool is_send, int peer)
{
    hki_message *message = &self->messages[self->message_count];
    *message = (hki_message){.peer = peer, .is_send = is_send};
    return message;
}

static void count_message(hki_link *link, hki_exchange *self, bool is_posted)
{
    if (is_posted)
        self->message_count++;
    else
        hki_link_fail(link, "a message could not be sent");
}

void hki_exchange_send(hki_link *link, hki_exchange *self, const void *data, size_t bytes, int peer,
                       hki_tag tag)
{
    hki_message *message = add_message(self, true, peer);
    count_message(link, self,
                  link->mpi->send(data, bytes, self->group->members[peer], tag_of(self, true, tag),
                                  &message->request));
}

void hki_exchange_receive(hki_link *link, hki_exchange *self, void *data, size_t bytes, int peer,
                          hki_tag tag)
{
    hki_message *message = add_message(self, false, peer);
    count_message(link, self,
                  link->mpi->receive(data, bytes, self->group->members[peer],
                                     tag_of(self, false, tag), &message->request));
}

static bool is_task_done(hki_link *link, hki_exchange *self, hki_message *message)
{
    char why[HKI_CHANNEL_WHY];
    const hki_channel_class *class = self->route->device->class->channel;
    const hki_channel_state state = class->poll_task(self->route->channel, message->task, why);
    if (state == HKI_CHANNEL_FAILED)
        hki_link_fail_channel(link, why);
    return state == HKI_CHANNEL_DONE;
}

static bool is_request_done(hki_link *link, hki_message *message)
{
    const int done = link->mpi->test(&message->request, NULL, NULL);
    if (done < 0)
        hki_link_fail(link, "a message was lost");
    return done > 0;
}

bool hki_exchange_is_message_done(hki_link *link, hki_exchange *self, int message)
{
    hki_message *its = &self->messages[message];
    if (!its->is_done && !link->lost)
        its->is_done = its->task ? is_task_done(link, self, its) : is_request_done(link, its);
    return its->is_done;
}

/* True: all are done. */
static bool are_done(hki_link *link, hki_exchange *self)
{
    for (int i = 0; i < self->message_count; i++)
        if (!hki_exchange_is_message_done(link, self, i))
            return false;
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
    bool any_joint = self->state == HKI_EXCHANGE_OPENS ||
                     (is_library_sum(self) && self->state != HKI_EXCHANGE_WAITS);
    for (int i = 0; i < self->message_count; i++) {
        hki_message *message = &self->messages[i];
        any_joint = any_joint || (message->is_joint && !message->is_done);
        if (message->is_done ||
            (!message->task && link->mpi->test(&message->request, NULL, NULL) == 1))
            continue;
        if (message->is_send || message->is_joint)
            self->is_kept = link->is_dirty = true;
        else
            link->mpi->cancel(&message->request);
    }
    /* The others are in step no more. */
    if (any_joint && !link->lost)
        hki_link_fail(link, "what all ranks do at once has been given up");
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

static bool may_begin(const hki_exchange *self)
{
    const hk_group *group = self->group;
    return self->index == group->begun[self->lane] &&
           self->index - group->decided[self->lane] < MOST_AHEAD;
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
    if (!hki_exchange_reserve(link, self, 2 * self->group->size))
        return true;
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            hki_exchange_receive(link, self, &self->theirs[r], sizeof self->own, r, HKI_TAG_HEADER);
    self->theirs[self->group->rank] = self->own;
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            hki_exchange_send(link, self, &self->own, sizeof self->own, r, HKI_TAG_HEADER);
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
    if (!hki_exchange_reserve(link, self, self->group->size))
        return true;
    if (failed != rank) {
        hki_exchange_receive(link, self, &self->record, sizeof self->record, failed, HKI_TAG_DATA);
        return true;
    }
    hki_wire_record_set(&self->record, self->failure, self->group->members[rank]);
    for (int r = 0; r < self->group->size; r++)
        if (is_peer(self, r))
            hki_exchange_send(link, self, &self->record, sizeof self->record, r, HKI_TAG_DATA);
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
static void sum(hki_link *link, hki_exchange *self)
{
    const size_t count = (size_t)self->own.count, bytes = hk_dtype_bytes(self->dtype);
    if (!hki_exchange_reserve(link, self, 1))
        return;
    void *data = count ? hki_route_stage(link, self, hki_exchange_operand(self, 0), count * bytes,
                                         HKI_READ | HKI_WRITE)
                       : hki_exchange_operand(self, 0);
    if (!data)
        return;
    self->messages[0] =
        (hki_message){.peer = (self->group->rank + 1) % self->group->size, .is_joint = true};
    if (link->mpi->sum(data, count, number_of(self->dtype), bytes, &self->messages[0].request))
        self->message_count = 1;
    else
        hki_link_fail(link, "a sum could not begin");
}

/* Which rank's turn it is, from this one on. */
static int turn_of(const hki_exchange *self, const hki_exchange_piece *piece)
{
    const int size = self->group->size;
    return (piece->peer - self->group->rank + size) % size;
}

/* Sorts pieces by turns, those of a turn in the order that they have. False: host memory is short. */
static bool take_turns(hki_exchange *self)
{
    const size_t turns = (size_t)self->group->size + 1, pieces = (size_t)self->piece_count + 1;
    int *place = calloc(turns, sizeof *place);
    hki_exchange_piece *sorted = malloc(pieces * sizeof *sorted);
    const bool has_room = place && sorted;
    for (int i = 0; has_room && i < self->piece_count; i++)
        place[turn_of(self, &self->pieces[i]) + 1]++;
    for (int turn = 0; has_room && turn < self->group->size; turn++)
        place[turn + 1] += place[turn];
    for (int i = 0; has_room && i < self->piece_count; i++)
        sorted[place[turn_of(self, &self->pieces[i])]++] = self->pieces[i];
    free(place);
    if (!has_room) {
        free(sorted);
        return false;
    }
    free(self->pieces);
    self->pieces = sorted;
    return true;
}

/* All ranks find the same. */
static bool is_one_machine(const hki_link *link)
{
    return link->launcher->local_size >= link->launcher->size;
}

/* Ranks of one machine share memory, where small messages cost more than they give. */
static size_t most_bytes(const hki_link *link)
{
    if (is_one_machine(link))
        return MOST_BYTES_HERE;
    return strncmp(link->world->library, "Open MPI", 8) ? MOST_BYTES_OTHERS : MOST_BYTES_OPEN_MPI;
}

static int message_count(const hki_exchange *self, size_t most)
{
    size_t count = 0;
    for (int i = 0; i < self->piece_count; i++)
        count += (self->pieces[i].bytes + most - 1) / most;
    return (int)count;
}

static void move_piece(hki_link *link, hki_exchange *self, const hki_exchange_piece *piece)
{
    char *data = hki_route_stage(link, self, piece->data, piece->bytes,
                                 piece->is_send ? HKI_READ : HKI_WRITE);
    const size_t most = most_bytes(link);
    for (size_t at = 0; at < piece->bytes && data; at += most) {
        const size_t bytes = piece->bytes - at < most ? piece->bytes - at : most;
        if (piece->is_send)
            hki_exchange_send(link, self, data + at, bytes, piece->peer, HKI_TAG_DATA);
        else
            hki_exchange_receive(link, self, data + at, bytes, piece->peer, HKI_TAG_DATA);
    }
}

/* Between machines in messages that libraries send without asking the receiver first. An answer would queue up behind what goes the other way,
 * so that only one direction of a link is in use at a time. Each rank begins with the next one: no rank is sent to by all. Between
 * machines there are places for what comes first. On one machine who receives copies, at once where something has come: all others
 * would wait for that before they hear what this rank has for them. */
static void move(hki_link *link, hki_exchange *self)
{
    if (!take_turns(self)) {
        hki_link_fail(link, "host memory is short");
        return;
    }
    if (!hki_exchange_reserve(link, self, message_count(self, most_bytes(link))))
        return;
    const bool sends_first = is_one_machine(link);
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < self->piece_count && !link->lost; i++)
            if (self->pieces[i].is_send == ((pass == 0) == sends_first))
                move_piece(link, self, &self->pieces[i]);
    if (!link->lost)
        hki_route_copy_own(link, self);
}

/* False: not yet. */
static bool begin_data(hki_link *link, hki_exchange *self)
{
    const hki_route_kind route = hki_route_find(link, self);
    if (route == HKI_ROUTE_WAITS)
        return false;
    if (route == HKI_ROUTE_OPENS) {
        self->state = HKI_EXCHANGE_OPENS;
        return true;
    }
    const hk_status *forbidden = route == HKI_ROUTE_BY_HOST ? hki_route_forbids_host(self) : NULL;
    self->group->decided[self->lane] = self->index + 1;
    if (forbidden)
        return is_over(self, forbidden, true);
    self->state = HKI_EXCHANGE_MOVES;
    self->has_moved = true;
    if (route == HKI_ROUTE_BY_HOST)
        (is_library_sum(self) ? sum : move)(link, self);
    else
        (is_library_sum(self) ? hki_route_sum : hki_route_move)(link, self);
    return true;
}

static bool decide(hki_link *link, hki_exchange *self)
{
    char why[640];
    const int failed = first_failed(self);
    const bool matches = match(self, why, sizeof why);
    self->is_refused = !matches || is_any_refused(self);
    if (self->leads && !self->is_refused)
        self->call->fate = HKI_FATE_GOOD;
    if (failed < 0 && matches)
        return begin_data(link, self);
    self->group->decided[self->lane] = self->index + 1;
    return failed >= 0 ? report(link, self, failed) : mismatch(self, why);
}

static bool end_moved(hki_link *link, hki_exchange *self)
{
    hki_route_unstage(link, self);
    return link->lost || is_over(self, NULL, false);
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
        return may_begin(self) && begin(link, self);
    case HKI_EXCHANGE_AGREES:
        if (self->index != self->group->decided[self->lane] && !link->looks_at_all)
            return false;
        if (!are_done(link, self))
            return false;
        self->state = HKI_EXCHANGE_AGREED;
        return true;
    case HKI_EXCHANGE_AGREED:
        return self->index == self->group->decided[self->lane] && decide(link, self);
    case HKI_EXCHANGE_OPENS:
        if (!hki_route_open(link, self))
            return false;
        if (self->route->is_settled)
            self->state = HKI_EXCHANGE_AGREED;
        return true;
    case HKI_EXCHANGE_MOVES:
        return are_done(link, self) && end_moved(link, self);
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
        if (!self->messages[i].is_done &&
            (self->messages[i].peer == peer ||
             (self->messages[i].is_joint && peer != self->group->rank)))
            return true;
    return false;
}
