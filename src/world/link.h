/* The link: the one thread that talks to other processes. It begins exchanges in the order of their group, tells and hears
 * headers, moves data, and ends the tasks. */
#ifndef HOCKET_WORLD_LINK_H
#define HOCKET_WORLD_LINK_H

#include "world/exchange.h"

struct hki_launcher;

/* Starts MPI in a thread of its own and waits until all ranks have, or for the time-out. Sets rank, size, library and link of
 * the world. ending: called by a thread of the program that ends MPI, which waits for it. NULL; or what was wrong, counted. */
const hk_status *hki_link_start(hki_world *world, const struct hki_launcher *launcher,
                                void (*ending)(void));
/* An exchange whose inputs are there, from any thread. link NULL: there is nobody else; it ends at once. */
void hki_link_put(hki_link *self, hki_exchange *exchange);
/* No other exchange is put; those that have been issued are done. From the thread that ends the runtime. */
void hki_link_stop(hki_link *self);
/* Behind it: takes leave of the others and ends MPI. Blocks until all have. */
void hki_link_join(hki_link *self);
/* Behind that, where the runtime goes on: what still comes fails. */
void hki_link_close(hki_link *self);

/* ---- within the link ---------------------------------------------------------------------------------------- */

typedef struct hki_notice_send {
    hki_mpi_request request;
    bool is_sent;
} hki_notice_send;

/* How far a rank goes that ends, in what it shares with another one: ending.c. The next one of each is not going to be. */
typedef struct hki_ending_notice {
    int32_t kind;
    int32_t group;
    uint32_t calls;           /* that all do together */
    uint32_t sends, receives; /* to and from that rank */
} hki_ending_notice;
typedef struct hki_ending {
    hki_ending_notice notice;
    int rank; /* that is told */
    hki_notice_send sent;
} hki_ending;

/* Of another rank. */
typedef struct hki_neighbour {
    int64_t heard_ns;                 /* of its latest sign of life; 0: none */
    hki_notice_send question, answer; /* to it: heartbeat.c */
    hki_ending_notice *endings;       /* of each group that it shares with this rank */
    int ending_count;
    bool ends;          /* and has told all of them */
    bool has_left;      /* and has done all that it had issued */
    bool is_asked;      /* whether it lives, and has not answered */
    bool awaits_answer; /* from this rank */
} hki_neighbour;

/* Any rank, about itself and the world. */
enum { HKI_NOTICE_TAG = 0 };

/* What ranks say beside exchanges. */
typedef struct hki_notice {
    union {
        int32_t kind; /* hki_notice_kind */
        hki_ending_notice ending;
    };
    int32_t rank;
    hki_wire_record record;
} hki_notice;
typedef enum hki_notice_kind {
    HKI_NOTICE_LEAVES,
    HKI_NOTICE_ENDS,
    HKI_NOTICE_LOST,
    HKI_NOTICE_ASKS, /* does it live? of this and the next one the kind alone is sent */
    HKI_NOTICE_LIVES
} hki_notice_kind;

struct hki_link {
    hki_world *world;
    hki_mpi *mpi;
    pthread_t thread;
    const struct hki_launcher *launcher;
    _Atomic(uint32_t) wake_word, started; /* started: 1 when init has returned */
    char problem[512];                    /* why it has not */
    _Atomic(hki_exchange *) incoming;     /* a stack */
    _Atomic(bool) stops;                  /* the runtime ends: endings are there */
    _Atomic(bool) joins;                  /* all tasks have ended */
    _Atomic(bool) is_closed;              /* and the thread has */
    _Atomic(int64_t) leave_ns; /* when all ranks had left, and MPI was told to end; 0: not yet */
    hki_runtime *runtime;      /* which ends after it */

    /* Its thread's: */
    hki_exchange *exchanges; /* all, in the order of their groups' calls */
    hki_exchange *kept;      /* over, but MPI may use their memory */
    hki_neighbour *neighbours;
    const hk_status *lost; /* why nothing works any more; counted; NULL: it does */
    hki_notice heard, said[2];
    hki_notice_send *notice_sends; /* of both, to each rank */
    hki_ending *endings; /* that this rank tells; of who ends the runtime, then its thread's */
    int ending_count;
    hki_mpi_request hearing;
    uint64_t ended_ticks; /* of the latest exchange */
    int64_t asked_ns, stepped_ns,
        awake_ns;      /* heartbeat.c; awake: since when it has run without a gap */
    int64_t looked_ns; /* at all exchanges */
    bool looks_at_all; /* now: else at those alone that can get on */
    bool moves;        /* something does, by MPI */
    bool has_left;     /* has said so */
    bool is_dirty;     /* messages are under way that cannot be stopped */
};

/* What an exchange may do now, it does. True: something has happened. */
bool hki_exchange_progress(hki_link *link, hki_exchange *self);
/* Who has not done what it waits for: a rank in the group; -1: nobody. */
int hki_exchange_missing(const hki_exchange *self);
/* It waits for this one, perhaps among others. */
bool hki_exchange_needs(const hki_exchange *self, int peer);
/* Gives its messages up: it is over, by the record (taken). is_root: the program does not know of it yet. */
void hki_exchange_give_up(hki_link *link, hki_exchange *self, const hk_status *status,
                          bool is_root);
/* What is to be told of this rank's end: by the thread that ends the runtime. */
void hki_ending_find(hki_link *self);
/* By the link's thread, as all below. */
void hki_ending_say(hki_link *self);
bool hki_ending_is_said(hki_link *self);
/* rank has told it. */
void hki_ending_hear(hki_link *self, int rank, const hki_ending_notice *notice);
/* Whether rank r of its group, which it waits for, is going to come to it, as far as is known. */
bool hki_ending_takes_part(const hki_link *self, const hki_exchange *exchange, int r);
/* A rank asks, or answers. */
void hki_heartbeat_hear(hki_link *self, int rank, hki_notice_kind kind);
/* Asks those who are awaited, every so often. */
void hki_heartbeat_step(hki_link *self, int64_t now_ns);
/* A rank in the group that the exchange waits for, and that has given no sign of life for the time-out; -1: none. */
int hki_heartbeat_silent(const hki_link *self, const hki_exchange *exchange, int64_t now_ns);
/* MPI has failed. */
void hki_link_fail(hki_link *self, const char *what);
/* What moves data between accelerators has. */
void hki_link_fail_channel(hki_link *self, const char *why);

/* What one rank says in a collective, in a send and in a receive are three things, each with an order of its own; records come where
 * data would. */
typedef enum hki_tag { HKI_TAG_HEADER, HKI_TAG_DATA, HKI_TAG_CHANNEL = HKI_GROUP_TAGS - 2 } hki_tag;
/* Messages of an exchange (exchange_progress.c). Room for so many; false: the link has failed. */
bool hki_exchange_reserve(hki_link *link, hki_exchange *self, int count);
/* Begin one, to or from a rank in the group. */
void hki_exchange_send(hki_link *link, hki_exchange *self, const void *data, size_t bytes, int peer,
                       hki_tag tag);
void hki_exchange_receive(hki_link *link, hki_exchange *self, void *data, size_t bytes, int peer,
                          hki_tag tag);
/* Asking for one lets all get on. */
bool hki_exchange_is_message_done(hki_link *link, hki_exchange *self, int message);

#endif
