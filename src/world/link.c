#include "world/link.h"

#include "base/rank_launcher.h"
#include "world/route.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    COPY_NS = 50000, /* a look at MPI that takes longer has copied, if there is something to copy */
    LOOK_NS = 5000000,      /* how often those are looked at that wait for others of this rank */
    SPIN_NS = 50000,        /* where somebody waits */
    LEAST_NAP_NS = 10000,   /* of a nap */
    MOST_NAP_NS = 10000000, /* the same, while there is something to do */
    IDLE_NAP_NS = 50000000, /* the same, while there is not */
    NAP_DIVISOR = 8,        /* a nap is this part of the time that nothing has happened for */
    JOIN_NS = 100000000,    /* how often who joins looks whether it takes too long */
    TIMER_SLACK_NS = 1000,  /* naps are not longer than asked for */
    READ_NS = 1000000000,   /* for the launcher to read what this process has written */
    PASS_ON_NS = 100000000, /* and to pass it on; for others to say theirs */
};

/* Starting many processes takes its time. */
static const int64_t least_start_ns = 300000000000;

/* ---- putting ------------------------------------------------------------------------------------------------- */

/* There is nobody else. */
static void end_alone(hki_exchange *self)
{
    self->begin_ticks = hki_ticks();
    self->outcome = hk_status_retain(self->failure);
    self->is_root = !self->failed_by_input;
    self->has_moved = !self->failure;
    if (!self->failure)
        hki_exchange_copy_own(self);
    hki_exchange_end(self);
}

static const hk_status *failure_of(const hki_exchange *self, hk_code code, const char *format, ...)
    HK_PRINTF(3, 4);

/* Nobody takes it any more. */
static void fail_incoming(hki_link *self)
{
    for (hki_exchange *next, *x = atomic_exchange(&self->incoming, NULL); x; x = next) {
        next = x->next;
        x->begin_ticks = hki_ticks();
        x->outcome = failure_of(
            x, HK_CANCELLED,
            "the world has ended: the program has called hk_world_deinit or MPI_Finalize");
        x->is_root = true;
        hki_exchange_end(x);
    }
}

void hki_link_close(hki_link *self)
{
    atomic_store(&self->is_closed, true);
    fail_incoming(self);
}

void hki_link_put(hki_link *self, hki_exchange *exchange)
{
    if (!self) {
        end_alone(exchange);
        return;
    }
    hki_exchange *newest = atomic_load(&self->incoming);
    do
        exchange->next = newest;
    while (!atomic_compare_exchange_weak(&self->incoming, &newest, exchange));
    hki_futex_bump(&self->wake_word, 1);
    if (atomic_load(&self->is_closed))
        fail_incoming(self);
}

/* To the list, behind all others. */
static bool take_incoming(hki_link *self)
{
    hki_exchange *stack = atomic_load(&self->incoming), *first = NULL;
    if (!stack)
        return false;
    stack = atomic_exchange(&self->incoming, NULL);
    while (stack) {
        hki_exchange *next = stack->next;
        stack->next = first;
        first = stack;
        stack = next;
    }
    hki_exchange **end = &self->exchanges;
    while (*end)
        end = &(*end)->next;
    *end = first;
    return first;
}

/* ---- losing -------------------------------------------------------------------------------------------------- */

static const hk_status *failure_of(const hki_exchange *self, hk_code code, const char *format, ...)
{
    const hki_status_facts facts = {.operation = self->name,
                                    .file = self->source.file,
                                    .line = self->source.line,
                                    .sequence = self->sequence};
    va_list args;
    va_start(args, format);
    const hk_status *status = hki_status_create_va(code, &facts, format, args);
    va_end(args);
    return status;
}

/* Tells all others. */
static void say(hki_link *self, hki_notice_kind kind, const hk_status *status)
{
    const hki_world *world = self->world;
    const int round = kind == HKI_NOTICE_LOST; /* it may come behind another one */
    hki_notice *notice = &self->said[round];
    *notice = (hki_notice){.kind = (int32_t)kind, .rank = world->rank};
    if (status)
        hki_wire_record_set(&notice->record, status, world->rank);
    for (int r = 0; r < world->size; r++) {
        hki_notice_send *sent = &self->notice_sends[round * world->size + r];
        if (r != world->rank)
            sent->is_sent =
                self->mpi->send(notice, sizeof *notice, r, HKI_NOTICE_TAG, &sent->request);
    }
}

/* What has been said has arrived, or is on its way without this process. */
static bool is_said(hki_link *self)
{
    for (int i = 0; i < 2 * self->world->size; i++) {
        hki_notice_send *sent = &self->notice_sends[i];
        if (!sent->is_sent)
            continue;
        if (self->mpi->test(&sent->request, NULL, NULL) == 0)
            return false;
        sent->is_sent = false;
    }
    return true;
}

static bool have_all_left(const hki_link *self)
{
    for (int r = 0; r < self->world->size; r++)
        if (r != self->world->rank && !self->neighbours[r].has_left)
            return false;
    return true;
}

/* Nothing works any more. */
static void lose(hki_link *self, const hk_status *status, bool tells)
{
    if (self->lost) {
        hk_status_release(status);
        return;
    }
    if (tells)
        say(self, HKI_NOTICE_LOST, status);
    self->lost = status;
    self->is_dirty = true;
}

void hki_link_fail(hki_link *self, const char *what)
{
    const hki_status_facts facts = {.operation = "world"};
    lose(self, hki_status_create(HK_DEVICE_LOST, &facts, "%s: %s", self->world->library, what),
         true);
}

void hki_link_fail_channel(hki_link *self, const char *why)
{
    const hki_status_facts facts = {.operation = "world"};
    lose(self, hki_status_create(HK_DEVICE_LOST, &facts, "between accelerators: %s", why), true);
}

/* In `lost` every exchange ends by its record, with the place that it has itself in the order of calls. */
static void end_lost(hki_link *self)
{
    bool is_root = true;
    for (hki_exchange *x = self->exchanges; x; x = x->next) {
        if (x->state == HKI_EXCHANGE_OVER)
            continue;
        hki_wire_record record;
        hki_wire_record_set(&record, self->lost, self->world->rank);
        hki_exchange_give_up(self, x, hki_wire_record_get(&record, x->sequence), is_root);
        is_root = false;
    }
    hki_routes_close(self); /* a device would wait for ranks that do not come */
}

/* ---- what others say beside exchanges ------------------------------------------------------------------------------- */

static void listen(hki_link *self)
{
    if (!self->mpi->receive(&self->heard, sizeof self->heard, HKI_MPI_ANY, HKI_NOTICE_TAG,
                            &self->hearing))
        hki_link_fail(self, "a message could not be received");
}

static bool hear(hki_link *self)
{
    const hki_notice *notice = &self->heard;
    int from = 0;
    size_t bytes = 0;
    if (self->lost || have_all_left(self))
        return false;
    const int done = self->mpi->test(&self->hearing, &from, &bytes);
    if (done == 0)
        return false;
    if (done < 0) {
        hki_link_fail(self, "a message was lost");
        return true;
    }
    if (notice->kind == HKI_NOTICE_ASKS || notice->kind == HKI_NOTICE_LIVES) {
        hki_heartbeat_hear(self, from, (hki_notice_kind)notice->kind);
        listen(self);
        return true;
    }
    if (bytes == sizeof notice->ending && notice->kind == HKI_NOTICE_ENDS) {
        hki_ending_hear(self, from, &notice->ending);
        listen(self);
        return true;
    }
    if (bytes == sizeof *notice && notice->kind == HKI_NOTICE_LOST) {
        lose(self, hki_wire_record_get(&notice->record, 0), false);
        return true;
    }
    self->neighbours[from].ends = self->neighbours[from].has_left = true;
    if (!have_all_left(self))
        listen(self);
    return true;
}

/* The first rank of those that it waits for that is not going to come to it; -1: none. */
static int find_ended(const hki_link *self, const hki_exchange *exchange)
{
    const hk_group *group = exchange->group;
    for (int r = 0; exchange->state <= HKI_EXCHANGE_AGREES && r < group->size; r++)
        if (hki_exchange_needs(exchange, r) && !hki_ending_takes_part(self, exchange, r))
            return group->members[r];
    return -1;
}

/* ---- time ------------------------------------------------------------------------------------------------------------- */

static void look_at_time(hki_link *self, hki_exchange *exchange, int64_t now_ns)
{
    const hk_group *group = exchange->group;
    const int ended = find_ended(self, exchange);
    if (ended >= 0) {
        hki_exchange_give_up(self, exchange,
                             failure_of(exchange, HK_DEVICE_LOST,
                                        "rank %d has ended, and takes no part in it any more",
                                        ended),
                             true);
        return;
    }
    if (exchange->state == HKI_EXCHANGE_WAITS || exchange->state == HKI_EXCHANGE_OVER)
        return;
    const int silent = hki_heartbeat_silent(self, exchange, now_ns);
    if (silent >= 0) {
        lose(self,
             failure_of(exchange, HK_DEVICE_LOST,
                        "rank %d has given no sign of life for %g s: its process has been stopped, "
                        "or its machine or network is gone; rank %d has waited for it since line "
                        "%d",
                        group->members[silent], (double)self->world->timeout_ns * 1e-9,
                        self->world->rank, exchange->source.line),
             true);
        return;
    }
    const int missing = hki_exchange_missing(exchange);
    if (missing < 0 || now_ns - exchange->begin_ns < self->world->patience_ns)
        return; /* none: it waits for an earlier one */
    lose(self,
         failure_of(exchange, HK_DEVICE_LOST,
                    "rank %d has not %s within %g s, though it lives: it is far behind, or takes "
                    "another way; rank %d has waited for it since line %d",
                    group->members[missing],
                    exchange->state == HKI_EXCHANGE_AGREES ? "come to it" : "delivered its part",
                    (double)self->world->patience_ns * 1e-9, self->world->rank,
                    exchange->source.line),
         true);
}

/* ---- the thread ------------------------------------------------------------------------------------------------------ */

/* Takes what is over off the list, and ends it. */
static bool end_over(hki_link *self)
{
    bool any = false;
    for (hki_exchange **at = &self->exchanges; *at;) {
        hki_exchange *exchange = *at;
        if (exchange->state != HKI_EXCHANGE_OVER) {
            at = &exchange->next;
            continue;
        }
        *at = exchange->next;
        if (exchange->is_kept) {
            exchange->next = self->kept;
            self->kept = exchange;
        }
        /* One after the other in a recording, as they end. */
        if (exchange->begin_ticks < self->ended_ticks)
            exchange->begin_ticks = self->ended_ticks;
        hki_exchange_end(exchange);
        self->ended_ticks = hki_ticks();
        any = true;
    }
    return any;
}

/* True: something has happened. */
static bool step(hki_link *self)
{
    bool any = take_incoming(self);
    any = hear(self) || any;
    self->moves = false;
    for (hki_exchange *x = self->exchanges; x && !self->lost; x = x->next) {
        while (!self->lost && hki_exchange_progress(self, x))
            any = true;
        self->moves = self->moves || x->state == HKI_EXCHANGE_MOVES;
    }
    const int64_t now_ns = hki_clock_ns();
    if (!self->lost)
        hki_heartbeat_step(self, now_ns);
    for (hki_exchange *x = self->exchanges; x && self->looks_at_all && !self->lost; x = x->next)
        look_at_time(self, x, now_ns);
    if (self->lost)
        end_lost(self);
    return end_over(self) || any;
}

/* Until there may be something new. */
static void rest(hki_link *self, uint32_t seen, int64_t idle_ns)
{
    const bool is_busy = self->exchanges != NULL;
    if (is_busy && idle_ns < SPIN_NS && hki_runtime_is_awaited(self->runtime)) {
        for (int i = 0; i < 16; i++)
            hki_relax();
        return;
    }
    const int64_t most_ns = is_busy ? MOST_NAP_NS : IDLE_NAP_NS;
    int64_t nap_ns = idle_ns / NAP_DIVISOR;
    nap_ns = nap_ns < LEAST_NAP_NS ? LEAST_NAP_NS : nap_ns > most_ns ? most_ns : nap_ns;
    hki_futex_wait(&self->wake_word, seen, nap_ns);
}

/* A launcher that is told to end all ranks may do so before it has read what they said last: why they end. */
static void let_be_read(void)
{
    const int64_t until_ns = hki_clock_ns() + READ_NS;
    fflush(NULL);
    for (int output = STDOUT_FILENO; output <= STDERR_FILENO; output++) {
        struct stat what;
        int unread;
        while (!fstat(output, &what) && S_ISFIFO(what.st_mode) &&
               !ioctl(output, FIONREAD, &unread) && unread > 0 && hki_clock_ns() < until_ns)
            hki_sleep_ns(LEAST_NAP_NS);
    }
    hki_sleep_ns(PASS_ON_NS);
}

/* Says good-bye, and waits until all have: then no message is under way any more. */
static void leave(hki_link *self)
{
    int64_t happened_ns = hki_clock_ns();
    self->has_left = true;
    say(self, HKI_NOTICE_LEAVES, NULL);
    while (!self->lost && !(is_said(self) && hki_ending_is_said(self) && have_all_left(self))) {
        if (hear(self))
            happened_ns = hki_clock_ns();
        rest(self, atomic_load(&self->wake_word), hki_clock_ns() - happened_ns);
    }
    if (self->is_dirty || self->lost) {
        let_be_read();
        self->mpi->abort(1);
        return;
    }
    hki_routes_close(self);
    atomic_store(&self->leave_ns, hki_clock_ns());
    self->mpi->finalize();
}

static void work(hki_link *self)
{
    int64_t happened_ns = hki_clock_ns();
    bool stops = false;
    if (!have_all_left(self))
        listen(self);
    for (;;) {
        const uint32_t seen = atomic_load(&self->wake_word);
        const bool stopped = stops;
        stops = atomic_load(&self->stops);
        if (stops && !stopped)
            hki_ending_say(self);
        const int64_t begin_ns = hki_clock_ns();
        self->looks_at_all = begin_ns - self->looked_ns >= LOOK_NS;
        if (self->looks_at_all)
            self->looked_ns = begin_ns;
        const bool any = step(self);
        const int64_t now_ns = hki_clock_ns();
        if (any || (self->moves && now_ns - begin_ns > COPY_NS))
            happened_ns = now_ns;
        if (stops && atomic_load(&self->joins) && !self->exchanges && !atomic_load(&self->incoming))
            break;
        if (!any)
            rest(self, seen, now_ns - happened_ns);
    }
    leave(self);
}

/* ---- life ---------------------------------------------------------------------------------------------------------------- */

static void check_launcher(hki_link *self, int rank, int size)
{
    const hki_launcher *launcher = self->launcher;
    if (size == launcher->size && rank == launcher->rank)
        return;
    snprintf(self->problem, sizeof self->problem,
             "%s started rank %d of %d processes, but the MPI library (%s) sees rank %d of %d: it "
             "belongs to another launcher; use its own, or name the right library with HOCKET_MPI",
             launcher->name, launcher->rank, launcher->size, self->world->library, rank, size);
}

static void *link_main(void *argument)
{
    hki_link *self = argument;
    hki_world *world = self->world;
    int rank = 0, size = 1;
    fesetenv(FE_DFL_ENV);
    prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NS, 0, 0, 0);
    prctl(PR_SET_NAME, "hocket-world", 0, 0, 0);
    if (self->mpi->init(&rank, &size, self->problem, sizeof self->problem)) {
        self->mpi->describe(world->library, sizeof world->library);
        check_launcher(self, rank, size);
        world->rank = rank;
        world->size = size;
    }
    self->neighbours = calloc((size_t)size, sizeof *self->neighbours);
    self->notice_sends = calloc(2 * (size_t)size, sizeof *self->notice_sends);
    if (!*self->problem && (!self->neighbours || !self->notice_sends))
        snprintf(self->problem, sizeof self->problem, "out of host memory");
    const bool is_good = !*self->problem;
    if (!is_good && *world->library)
        self->mpi->finalize();
    atomic_store(&self->started, 1);
    hki_futex_wake(&self->started, 1);
    if (is_good)
        work(self);
    return NULL;
}

/* False: not within the time. */
static bool await_start(hki_link *self, int64_t timeout_ns)
{
    const int64_t until = hki_clock_ns() + timeout_ns;
    while (!atomic_load(&self->started)) {
        const int64_t left_ns = until - hki_clock_ns();
        if (left_ns <= 0)
            return false;
        hki_futex_wait(&self->started, 0, left_ns);
    }
    return true;
}

static bool start_thread(hki_link *self)
{
    sigset_t all, before;
    sigfillset(&all); /* signals go to the program's own threads */
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool started = !pthread_create(&self->thread, NULL, link_main, self);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

const hk_status *hki_link_start(hki_world *world, const hki_launcher *launcher,
                                void (*ending)(void))
{
    const hki_status_facts facts = {.operation = "world_init"};
    char problem[512];
    hki_mpi *mpi = hki_mpi_open(launcher, problem, sizeof problem);
    if (!mpi)
        return hki_status_create(HK_NOT_FOUND, &facts,
                                 "%s started this process as one of %d, but %s; install what is "
                                 "missing, or set HOCKET_WORLD=off to run each process by itself",
                                 launcher->name, launcher->size, problem);
    hki_link *self = hki_zeroed_lines(sizeof *self);
    if (!self)
        return hki_status_create(HK_OUT_OF_MEMORY, &facts, "out of host memory");
    self->world = world;
    self->mpi = mpi;
    mpi->ending = ending;
    self->launcher = launcher;
    self->runtime = hki_runtime_default();
    if (!self->runtime || !start_thread(self)) {
        free(self);
        return hki_status_create(HK_OUT_OF_MEMORY, &facts, "no thread for the world could start");
    }
    const int64_t start_ns =
        world->timeout_ns > least_start_ns ? world->timeout_ns : least_start_ns;
    if (!await_start(self, start_ns))
        return hki_status_create(HK_DEVICE_LOST, &facts,
                                 "not all %d ranks have started MPI within %g s", launcher->size,
                                 (double)start_ns * 1e-9);
    if (*self->problem) {
        const hk_status *status = hki_status_create(HK_UNSUPPORTED, &facts, "%s", self->problem);
        pthread_join(self->thread, NULL);
        free(self);
        return status;
    }
    world->link = self;
    return NULL;
}

void hki_link_stop(hki_link *self)
{
    hki_ending_find(self);
    atomic_store(&self->stops, true);
    hki_futex_bump(&self->wake_word, 1);
}

/* MPICH 4 over TCP sometimes never comes out of MPI_Finalize after large messages, though all ranks are in it. */
void hki_link_join(hki_link *self)
{
    atomic_store(&self->joins, true);
    hki_futex_bump(&self->wake_word, 1);
    struct timespec until;
    do {
        const int64_t leave_ns = atomic_load(&self->leave_ns);
        if (leave_ns && hki_clock_ns() - leave_ns > self->world->timeout_ns) {
            fprintf(stderr,
                    "hocket: all ranks have ended, but %s has not within %g s; this process ends "
                    "without it\n",
                    self->world->library, (double)self->world->timeout_ns * 1e-9);
            pthread_detach(self->thread);
            return;
        }
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += JOIN_NS;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
    } while (pthread_timedjoin_np(self->thread, NULL, &until) == ETIMEDOUT);
}
