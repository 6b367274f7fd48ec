/* Signs of life. A rank that is awaited is asked whether it lives, by the link of the rank that waits; its own link answers, whatever
 * the program there is at. So a rank that computes for long is told from one whose process has been stopped, or whose machine is
 * gone. Nothing is sent unless somebody has waited for a while, and one question at a time to each. */
#include "world/link.h"

enum {
    PARTS = 8, /* of the time-out: so often a rank is asked */
    LEAST_INTERVAL_NS = 5000000,
    MOST_INTERVAL_NS = 1000000000,
    LEAST_GAP_NS =
        200000000 /* a link that has not run for so long has been stopped itself, or had no core */
};

static const int32_t words[] = {HKI_NOTICE_ASKS, HKI_NOTICE_LIVES}; /* what is sent of a notice */

static int64_t interval_ns(const hki_link *self)
{
    const int64_t part_ns = self->world->timeout_ns / PARTS;
    return part_ns < LEAST_INTERVAL_NS  ? LEAST_INTERVAL_NS
           : part_ns > MOST_INTERVAL_NS ? MOST_INTERVAL_NS
                                        : part_ns;
}

/* True: nothing is under way any more. */
static bool is_free(hki_link *self, hki_notice_send *sent)
{
    if (sent->is_sent && self->mpi->test(&sent->request, NULL, NULL) == 0)
        return false;
    sent->is_sent = false;
    return true;
}

static void tell(hki_link *self, int rank, hki_notice_kind kind, hki_notice_send *sent)
{
    const int32_t *word = &words[kind == HKI_NOTICE_LIVES];
    sent->is_sent = self->mpi->send(word, sizeof *word, rank, HKI_NOTICE_TAG, &sent->request);
    if (!sent->is_sent)
        hki_link_fail(self, "a message could not be sent");
}

static void answer(hki_link *self, int rank)
{
    hki_neighbour *neighbour = &self->neighbours[rank];
    if (neighbour->awaits_answer && !self->has_left && is_free(self, &neighbour->answer)) {
        neighbour->awaits_answer = false;
        tell(self, rank, HKI_NOTICE_LIVES, &neighbour->answer);
    }
}

static void ask(hki_link *self, int rank)
{
    hki_neighbour *neighbour = &self->neighbours[rank];
    if (!neighbour->has_left && !neighbour->is_asked && is_free(self, &neighbour->question)) {
        neighbour->is_asked = true;
        tell(self, rank, HKI_NOTICE_ASKS, &neighbour->question);
    }
}

static bool is_under_way(const hki_exchange *exchange)
{
    return exchange->state != HKI_EXCHANGE_WAITS && exchange->state != HKI_EXCHANGE_OVER;
}

void hki_heartbeat_hear(hki_link *self, int rank, hki_notice_kind kind)
{
    hki_neighbour *neighbour = &self->neighbours[rank];
    neighbour->heard_ns = hki_clock_ns();
    if (kind == HKI_NOTICE_ASKS)
        neighbour->awaits_answer = true;
    else
        neighbour->is_asked = false;
    answer(self, rank);
}

void hki_heartbeat_step(hki_link *self, int64_t now_ns)
{
    const int64_t each_ns = interval_ns(self), gap_ns = 2 * each_ns;
    if (now_ns - self->stepped_ns > (gap_ns > LEAST_GAP_NS ? gap_ns : LEAST_GAP_NS))
        self->awake_ns = now_ns; /* others may have answered meanwhile */
    self->stepped_ns = now_ns;
    if (now_ns - self->asked_ns < each_ns)
        return;
    self->asked_ns = now_ns;
    for (int r = 0; r < self->world->size && !self->lost; r++)
        answer(self, r);
    for (hki_exchange *x = self->exchanges; x; x = x->next)
        for (int r = 0; r < x->group->size && !self->lost; r++)
            if (is_under_way(x) && now_ns - x->begin_ns >= each_ns && hki_exchange_needs(x, r))
                ask(self, x->group->members[r]);
}

int hki_heartbeat_silent(const hki_link *self, const hki_exchange *exchange, int64_t now_ns)
{
    for (int r = 0; r < exchange->group->size; r++) {
        const int64_t heard_ns = self->neighbours[exchange->group->members[r]].heard_ns;
        int64_t since_ns = exchange->begin_ns;
        since_ns = heard_ns > since_ns ? heard_ns : since_ns;
        since_ns = self->awake_ns > since_ns ? self->awake_ns : since_ns;
        if (now_ns - since_ns >= self->world->timeout_ns && hki_exchange_needs(exchange, r))
            return r;
    }
    return -1;
}
