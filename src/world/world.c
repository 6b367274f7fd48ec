#include "world/world.h"
#include "base/hooks.h"
#include "base/source.h"
#include "op/call/capture.h"

#include "base/cancel.h"
#include "base/config.h"
#include "base/quote.h"
#include "base/rank_launcher.h"
#include "base/text.h"
#include "world/link.h"

#include <hocket/runtime.h>

#include <stdlib.h>
#include <string.h>

#define DEFAULT_TIMEOUT  60.0
#define DEFAULT_PATIENCE 3600.0
#define MOST_SECONDS     1e7

typedef enum mode { MODE_AUTO, MODE_OFF, MODE_MPI } mode;
static const char *const modes[] = {"auto", "off", "mpi", NULL};

/* The same bytes however ranks and devices are mixed; or as the library of MPI adds. */
static const char *const sums[] = {"same", "library", NULL};

static const char *const routes[] = {
    [HKI_WORLD_AUTO] = "auto", [HKI_WORLD_BY_HOST] = "host", [HKI_WORLD_DIRECT] = "direct", NULL};

static hki_world world = {.size = 1, .lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_mutex_t start_lock = PTHREAD_MUTEX_INITIALIZER;
static hki_launcher launcher;

static const hki_status_facts facts = {.operation = "world_init"};

/* ---- options --------------------------------------------------------------------------------------------------- */

/* The option, or the variable where that is NULL, or else what *chosen is already. expected: the words, for people. */
static const hk_status *read_word(const char *option, const char *name, const char *variable,
                                  const char *const *words, const char *expected, int *chosen)
{
    if (!option)
        return hki_config_word(variable, words, chosen);
    for (int i = 0; words[i]; i++)
        if (strcmp(option, words[i]) == 0) {
            *chosen = i;
            return NULL;
        }
    return hki_status_create(HK_INVALID_ARGUMENT, &facts, "option %s is \"%s\"; expected %s", name,
                             hki_quote(option, 40).text, expected);
}

static const hk_status *read_mode(const hk_world_options *options, int *chosen)
{
    return read_word(options ? options->mode : NULL, "mode", "HOCKET_WORLD", modes,
                     "auto, off or mpi", chosen);
}

static bool is_time(double seconds)
{
    return seconds > 0 && seconds <= MOST_SECONDS;
}

/* The option, or the variable where that is 0, or else what *seconds is already. */
static const hk_status *read_seconds(double option, const char *name, const char *variable,
                                     double *seconds)
{
    const char *text = getenv(variable);
    char *end = NULL;
    if (option != 0) {
        *seconds = option;
        if (!is_time(*seconds))
            return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                     "option %s is %g; expected seconds above 0, or 0 for the "
                                     "default",
                                     name, *seconds);
    } else if (text && *text) {
        *seconds = hki_read_double(text, &end);
        if (*end || !is_time(*seconds))
            return hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                     "%s is \"%s\"; expected seconds above 0", variable,
                                     hki_quote(text, 40).text);
    }
    return NULL;
}

static const hk_status *read_times(const hk_world_options *options)
{
    double timeout = DEFAULT_TIMEOUT, patience = DEFAULT_PATIENCE;
    const hk_status *error =
        read_seconds(options ? options->timeout : 0, "timeout", "HOCKET_WORLD_TIMEOUT", &timeout);
    if (!error)
        error = read_seconds(options ? options->patience : 0, "patience", "HOCKET_WORLD_PATIENCE",
                             &patience);
    world.timeout_ns = (int64_t)(timeout * 1e9);
    world.patience_ns = (int64_t)(patience * 1e9);
    return error;
}

static const hk_status *read_sum(const hk_world_options *options)
{
    int chosen = 0;
    const hk_status *error = read_word(options ? options->sum : NULL, "sum", "HOCKET_WORLD_SUM",
                                       sums, "same or library", &chosen);
    world.uses_library = chosen == 1;
    return error;
}

static const hk_status *read_route(const hk_world_options *options)
{
    int chosen = HKI_WORLD_AUTO;
    const hk_status *error =
        read_word(options ? options->route : NULL, "route", "HOCKET_WORLD_ROUTE", routes,
                  "auto, host or direct", &chosen);
    world.route = (hki_world_route)chosen;
    return error;
}

/* ---- life ------------------------------------------------------------------------------------------------------ */

static hki_runtime *runtime; /* that the link ends with; counted */

/* Others may need what this rank has issued. */
bool hki_world_runtime_stopping(hki_runtime *ending)
{
    if (!world.link || ending != runtime || atomic_exchange(&world.has_ended, true))
        return false;
    hki_link_stop(world.link);
    return true;
}

void hki_world_runtime_stopped(hki_runtime *ending)
{
    if (!world.link || ending != runtime || !runtime)
        return;
    runtime = NULL;
    hki_link_join(world.link);
    hki_runtime_release(ending);
}

/* The program ends the world, or MPI, and its runtime goes on. */
static void end_beside_runtime(void)
{
    hki_runtime *its = runtime;
    if (!its || !world.link || atomic_exchange(&world.has_ended, true))
        return;
    runtime = NULL;
    hki_link_stop(world.link);
    hk_wait_all();
    hki_link_join(world.link);
    hki_link_close(world.link);
    hki_runtime_release(its);
}

static const hk_status *start_link(void)
{
    runtime = hki_runtime_default_retained();
    if (!runtime)
        return hki_status_create(HK_OUT_OF_MEMORY, &facts, "no host memory to start the runtime");
    const hk_status *error = hki_link_start(&world, &launcher, end_beside_runtime);
    hki_runtime_end_first(); /* before MPI, which has been loaded now */
    if (error) {
        hki_runtime_release(runtime);
        runtime = NULL;
    }
    return error;
}

/* Expects start_lock. What goes wrong leaves a world of one, whose group says so. */
static void start_locked(const hk_world_options *options)
{
    int chosen = MODE_AUTO;
    HKI_NO_CANCELLATION;
    const hk_status *error = read_mode(options, &chosen);
    if (!error)
        error = read_times(options);
    if (!error)
        error = read_sum(options);
    if (!error)
        error = read_route(options);
    launcher = hki_launcher_get();
    if (!error) {
        if (chosen == MODE_MPI || (chosen == MODE_AUTO && launcher.size > 1))
            error = start_link();
    }
    if (error) {
        world.rank = 0;
        world.size = 1;
        world.link = NULL;
    }
    atomic_store_explicit(&hki_capture_has_ranks, world.size > 1, memory_order_relaxed);
    world.status = error ? error : hki_status_ok();
    world.last_id = HKI_WORLD_GROUP;
    world.group = hki_group_create(&world, HKI_WORLD_GROUP, world.rank, world.size, NULL,
                                   hk_status_retain(world.status));
    world.pid = getpid();
    world.is_started = true;
}

hki_world *hki_world_get(void)
{
    pthread_mutex_lock(&start_lock);
    if (!world.is_started)
        start_locked(NULL);
    pthread_mutex_unlock(&start_lock);
    return &world;
}

const hk_status *(hk_world_init)(const hk_world_options *options)
{
    HKI_TAKE_OPTIONS(hk_world_options, options);
    const hk_status *status;
    pthread_mutex_lock(&start_lock);
    if (world.is_started) {
        status = hki_status_create(HK_INVALID_ARGUMENT, &facts,
                                   "the world runs already; call hk_world_init before what needs "
                                   "it, and once");
    } else {
        start_locked(options);
        status = hk_status_retain(world.status);
    }
    pthread_mutex_unlock(&start_lock);
    return hki_status_lend(status);
}

void hk_world_deinit(void)
{
    HKI_NO_CANCELLATION;
    if (hki_in_task()) /* which it would wait for */
        return;
    pthread_mutex_lock(&start_lock);
    end_beside_runtime();
    pthread_mutex_unlock(&start_lock);
}

const hk_status *hk_world_status(void)
{
    return hki_status_lend(hk_status_retain(hki_world_get()->status));
}

int hk_world_rank(void)
{
    return hki_world_get()->rank;
}

int hk_world_size(void)
{
    return hki_world_get()->size;
}

const char *hk_world_library(void)
{
    return hki_world_get()->library;
}

hk_group *hk_group_world(void)
{
    hk_group *group = hki_world_get()->group;
    return group ? group : &hki_no_memory_group;
}
