/* What the library asks of MPI, behind one table, so that it is linked with none: each library of MPI has a binary interface
 * of its own. The plug-ins are shared objects, libhocket_mpi_NAME.so, one for each; all of one source, mpi_plugin.c.
 *
 * One thread calls all of it. Nothing blocks but init and finalize. It may call `ending` from another one. */
#ifndef HOCKET_WORLD_MPI_PLUGIN_H
#define HOCKET_WORLD_MPI_PLUGIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Both sides say it: a plug-in is of the same build. */
enum { HKI_MPI_ABI = 3 };

/* A message under way; the plug-in's own. */
typedef union hki_mpi_request {
    void *pointer;
    int64_t number;
} hki_mpi_request;

enum { HKI_MPI_ANY = -1 }; /* a message from any rank */

typedef enum hki_mpi_number { HKI_MPI_FLOAT, HKI_MPI_SIGNED, HKI_MPI_UNSIGNED } hki_mpi_number;

typedef struct hki_mpi {
    int abi;
    const char *name; /* "openmpi", "mpich", "abi" */
    /* The tags that messages may have: 0 to this; set by init. */
    int most_tag;
    /* Set before init. The program ends MPI itself: called in its thread, first of all. Other threads may use MPI until it
     * returns, and none from then on. */
    void (*ending)(void);
    /* Starts MPI, unless the program has, and takes a communicator of its own, of all ranks: waits for them. False, with the
     * reason. */
    bool (*init)(int *rank, int *size, char *problem, size_t problem_bytes);
    /* Ends MPI, if init has started it and the program is not at it: waits for all ranks. No message is under way. */
    void (*finalize)(void);
    /* Ends the processes of all ranks, this one included. */
    void (*abort)(int status);
    /* Version of the library, for people. */
    void (*describe)(char *text, size_t bytes);
    /* bytes is at most INT32_MAX. Between two ranks, messages of one tag come in the order that they were sent in. */
    bool (*send)(const void *data, size_t bytes, int to, int tag, hki_mpi_request *request);
    bool (*receive)(void *data, size_t bytes, int from, int tag, hki_mpi_request *request);
    /* Adds `count` elements of all ranks, in place, in an order of the library's own; they are of so many bytes each. All ranks call
     * it for the same sums in the same order. It cannot be given up. */
    bool (*sum)(void *data, size_t count, hki_mpi_number kind, size_t bytes,
                hki_mpi_request *request);
    /* 1: done, the request is gone; 0: not yet; -1: it failed. Lets all messages get on. from: who sent it; may be NULL. */
    int (*test)(hki_mpi_request *request, int *from, size_t *bytes);
    /* Gives up a receive; it is gone. */
    void (*cancel)(hki_mpi_request *request);
} hki_mpi;

/* The one symbol of a plug-in: its table. */
#define HKI_MPI_PLUGIN_ENTRY "hki_mpi_plugin"
typedef hki_mpi *(*hki_mpi_plugin_fn)(void);

#endif
