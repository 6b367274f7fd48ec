/* MPI 3.1 behind hki_mpi. Compiled once by each library's mpicc, with HKI_MPI_NAME. */
#include "world/mpi/mpi_plugin.h"
#include "world/mpi/watcher.h"

#include <mpi.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(hki_mpi_request), "a request fits");

enum { LEAST_NAP_NS = 10000, MOST_NAP_NS = 1000000, NAP_DIVISOR = 8 };

static MPI_Comm ours = MPI_COMM_NULL, of_sums = MPI_COMM_NULL;
static bool is_started_here, is_one_machine;
static _Atomic(bool) ends_here, ends_elsewhere; /* MPI_Finalize has begun */
static hki_watched *watched;                    /* NULL: nobody watches */
static hki_mpi plugin;

static MPI_Request get(const hki_mpi_request *request)
{
    MPI_Request own;
    memcpy(&own, request, sizeof own);
    return own;
}

static bool put(int error, MPI_Request own, hki_mpi_request *request)
{
    memset(request, 0, sizeof *request);
    memcpy(request, &own, sizeof own);
    return error == MPI_SUCCESS;
}

static bool refuse(char *problem, size_t bytes, const char *what, int error)
{
    char why[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    MPI_Error_string(error, why, &length);
    snprintf(problem, bytes, "%s failed: %.*s", what, length, why);
    return false;
}

/* Another library may have started it; then that calls it too, whenever it likes. */
static bool start(char *problem, size_t bytes)
{
    int is_there = 0, is_over = 0, level = 0;
    MPI_Finalized(&is_over);
    MPI_Initialized(&is_there);
    if (is_over) {
        snprintf(problem, bytes, "MPI has been finalized in this process");
        return false;
    }
    if (!is_there) {
        const int error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &level);
        if (error != MPI_SUCCESS)
            return refuse(problem, bytes, "MPI_Init_thread", error);
        is_started_here = true;
        return true;
    }
    MPI_Query_thread(&level);
    if (level >= MPI_THREAD_MULTIPLE)
        return true;
    snprintf(problem, bytes,
             "the program has started MPI without MPI_THREAD_MULTIPLE, so that no other thread "
             "may use it");
    return false;
}

/* ---- what all ranks do ------------------------------------------------------------------------------------- */

/* MPI's error, once it is done. MPI's own calls that wait spin, so that with more ranks than cores each waits for the slices of those
 * that wait for it. */
static int await(int error, MPI_Request request)
{
    struct timespec nap = {.tv_nsec = LEAST_NAP_NS};
    int is_done = 0;
    while (error == MPI_SUCCESS) {
        error = MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
        if (is_done || error != MPI_SUCCESS)
            break;
        nanosleep(&nap, NULL);
        nap.tv_nsec += nap.tv_nsec < MOST_NAP_NS ? nap.tv_nsec / NAP_DIVISOR : 0;
    }
    return error;
}

static int duplicate(MPI_Comm comm, MPI_Comm *copy)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Comm_idup(comm, copy, &request);
    return await(error, request);
}

static void meet(MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Ibarrier(comm, &request);
    await(error, request);
}

static bool broadcast(void *data, size_t bytes)
{
    MPI_Request request = MPI_REQUEST_NULL;
    const int error = MPI_Ibcast(data, (int)bytes, MPI_BYTE, 0, ours, &request);
    return await(error, request) == MPI_SUCCESS;
}

static bool is_true_on_all(bool value)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int least = value;
    const int error = MPI_Iallreduce(MPI_IN_PLACE, &least, 1, MPI_INT, MPI_MIN, ours, &request);
    return await(error, request) == MPI_SUCCESS && least;
}

/* ---- start --------------------------------------------------------------------------------------------------- */

/* MPICH 5 keeps the name of a machine's shared memory until MPI_Finalize, so that a job which is killed would leave it; it
 * bears that the name is gone, once all have it open. */
static void drop_names(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    char *line = NULL;
    size_t room = 0;
    if (maps)
        while (getline(&line, &room, maps) > 0) {
            char *path = strstr(line, "/dev/shm/mpich_shm_");
            line[strcspn(line, "\n")] = '\0';
            if (path && !strstr(path, " (deleted)"))
                unlink(path);
        }
    free(line);
    if (maps)
        fclose(maps);
}

/* Where all ranks are on one machine: on others, a rank that the launcher ends would look like one that was killed. Open MPI's
 * launcher names the rank itself. */
static void start_watcher(int rank, int size)
{
    hki_watched_place place = {.descriptor = -1};
    if (!strcmp(HKI_MPI_NAME, "openmpi") || size < 2)
        return;
    if (rank == 0)
        place = hki_watched_make();
    watched = broadcast(&place, sizeof place) ? hki_watched_find(&place) : NULL;
    is_one_machine = is_true_on_all(watched);
    if (rank == 0)
        hki_watched_close(&place);
    if (is_one_machine)
        hki_watcher_start(watched, rank);
}

/* All ranks have left, or this one ends the others: their ends are no news. */
static void end_watcher(void)
{
    if (watched)
        atomic_store(&watched->has_spoken, 1);
    hki_watcher_end();
}

/* MPI_Finalize begins by deleting what MPI_COMM_SELF has (MPI 3.1, section 8.7.1). mpi4py calls it when Python ends, which is before
 * the runtime does. */
static int before_finalize(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm;
    (void)key;
    (void)value;
    (void)extra;
    if (!atomic_load(&ends_here) && plugin.ending) {
        atomic_store(&ends_elsewhere, true);
        plugin.ending();
    }
    return MPI_SUCCESS;
}

static bool hear_of_end(void)
{
    int key = MPI_KEYVAL_INVALID;
    return MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, before_finalize, &key, NULL) ==
               MPI_SUCCESS &&
           MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL) == MPI_SUCCESS &&
           MPI_Comm_free_keyval(&key) == MPI_SUCCESS; /* when it is used no more */
}

static bool init(int *rank, int *size, char *problem, size_t problem_bytes)
{
    void *most = NULL;
    int is_known = 0;
    if (!start(problem, problem_bytes))
        return false;
    int error = duplicate(MPI_COMM_WORLD, &ours);
    if (error == MPI_SUCCESS)
        error = duplicate(ours, &of_sums);
    if (error != MPI_SUCCESS)
        return refuse(problem, problem_bytes, "MPI_Comm_idup", error);
    if (!hear_of_end())
        return refuse(problem, problem_bytes, "MPI_Comm_set_attr", MPI_ERR_OTHER);
    MPI_Comm_set_errhandler(ours, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(of_sums, MPI_ERRORS_RETURN);
    MPI_Comm_rank(ours, rank);
    MPI_Comm_size(ours, size);
    start_watcher(*rank, *size);
    if (is_started_here) /* all have met in start_watcher, where there are names */
        drop_names();
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &is_known);
    plugin.most_tag = is_known ? *(int *)most : 32767;
    return true;
}

/* In MPI_Finalize MPICH 4.0 over UCX waits for ever for a rank that has closed its connections, if it hears of that first. So all
 * enter it at once, and nobody listens while the last message of the barrier may still be on its way to another, even a second
 * time. */
static void meet_at_end(void)
{
    const struct timespec nap = {.tv_nsec = 300000000};
    if (!strcmp(HKI_MPI_NAME, "openmpi") || is_one_machine) {
        meet(MPI_COMM_WORLD);
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    nanosleep(&nap, NULL);
}

/* What was sent for exchanges that have been given up here, all of it before the barrier. MPI asks that it be received, and MPICH 5
 * ends all ranks else. */
static void receive_rest(void)
{
    MPI_Status status;
    int is_there = 0, bytes = 0;
    while (MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, ours, &is_there, &status) == MPI_SUCCESS &&
           is_there && MPI_Get_count(&status, MPI_BYTE, &bytes) == MPI_SUCCESS) {
        void *data = malloc((size_t)bytes + 1);
        if (!data)
            return;
        MPI_Recv(data, bytes, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, ours, &status);
        free(data);
    }
}

static void finalize(void)
{
    int is_over = 0;
    MPI_Finalized(&is_over);
    end_watcher();
    if (is_over)
        return;
    meet(ours);
    receive_rest();
    MPI_Comm_free(&of_sums);
    MPI_Comm_free(&ours);
    if (!is_started_here || atomic_load(&ends_elsewhere))
        return;
    meet_at_end();
    atomic_store(&ends_here, true);
    MPI_Finalize();
}

static void abort_all(int status)
{
    end_watcher();
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void describe(char *text, size_t bytes)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    version[strcspn(version, ",\n")] = '\0';   /* the name is before the first */
    char *word = strstr(version, " Version:"); /* "MPICH Version:\t4.0.2" */
    if (word) {
        *word = '\0';
        word += strlen(" Version:");
        word += strspn(word, " \t");
    }
    snprintf(text, bytes, "%s%s%s", version, word ? " " : "", word ? word : "");
}

static bool send(const void *data, size_t bytes, int to, int tag, hki_mpi_request *request)
{
    MPI_Request own = MPI_REQUEST_NULL;
    const int error = MPI_Isend(data, (int)bytes, MPI_BYTE, to, tag, ours, &own);
    return put(error, own, request);
}

static bool receive(void *data, size_t bytes, int from, int tag, hki_mpi_request *request)
{
    MPI_Request own = MPI_REQUEST_NULL;
    const int source = from == HKI_MPI_ANY ? MPI_ANY_SOURCE : from;
    const int error = MPI_Irecv(data, (int)bytes, MPI_BYTE, source, tag, ours, &own);
    return put(error, own, request);
}

static MPI_Datatype type_of(hki_mpi_number kind, size_t bytes)
{
    const MPI_Datatype wholes[2][4] = {{MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T},
                                       {MPI_UINT8_T, MPI_UINT16_T, MPI_UINT32_T, MPI_UINT64_T}};
    const int size = bytes == 1 ? 0 : bytes == 2 ? 1 : bytes == 4 ? 2 : 3;
    if (kind == HKI_MPI_FLOAT)
        return bytes == sizeof(float) ? MPI_FLOAT : MPI_DOUBLE;
    return wholes[kind == HKI_MPI_UNSIGNED][size];
}

static bool sum(void *data, size_t count, hki_mpi_number kind, size_t bytes,
                hki_mpi_request *request)
{
    MPI_Request own = MPI_REQUEST_NULL;
    const int error = MPI_Iallreduce(MPI_IN_PLACE, data, (int)count, type_of(kind, bytes), MPI_SUM,
                                     of_sums, &own);
    return put(error, own, request);
}

static int test(hki_mpi_request *request, int *from, size_t *bytes)
{
    MPI_Request own = get(request);
    MPI_Status status;
    int is_done = 0, count = 0;
    const int error = MPI_Test(&own, &is_done, &status);
    put(error, own, request);
    if (error != MPI_SUCCESS)
        return -1;
    if (!is_done)
        return 0;
    if (from)
        *from = status.MPI_SOURCE;
    if (bytes) {
        MPI_Get_count(&status, MPI_BYTE, &count);
        *bytes = count > 0 ? (size_t)count : 0;
    }
    return 1;
}

static void cancel(hki_mpi_request *request)
{
    MPI_Request own = get(request);
    if (own == MPI_REQUEST_NULL)
        return;
    MPI_Cancel(&own);
    MPI_Request_free(&own);
    put(MPI_SUCCESS, MPI_REQUEST_NULL, request);
}

static hki_mpi plugin = {.abi = HKI_MPI_ABI,
                         .name = HKI_MPI_NAME,
                         .init = init,
                         .finalize = finalize,
                         .abort = abort_all,
                         .describe = describe,
                         .send = send,
                         .receive = receive,
                         .sum = sum,
                         .test = test,
                         .cancel = cancel};

__attribute__((visibility("default"))) hki_mpi *hki_mpi_plugin(void);
hki_mpi *hki_mpi_plugin(void)
{
    return &plugin;
}
