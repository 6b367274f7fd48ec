/* A process that saves again and again is killed at random moments, by SIGKILL, SIGTERM or
 * SIGINT: the path always holds a whole file, the last one that hk_save, or hk_checkpoint_save,
 * said was saved or the one after it. */
#include "base/sanitizer.h"
#include "tests/io_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

/* What is left on a disk is nothing that a sanitizer sees: fewer there. */
enum {
    KILLS = HKI_SANITIZED ? 40 : 200,
    CHECKPOINT_KILLS = HKI_SANITIZED ? 20 : 40,
    ARRAYS = 4,
    COUNT = 20000
};

/* Generation n: every element of every array is n, and so says the metadata. */
static const hk_status *save(const char *path, const hk_save_entry *entries,
                             const hk_metadata_entry *metadata, bool is_checkpoint)
{
    if (!is_checkpoint)
        return hk_save(path, entries, ARRAYS,
                       &(hk_save_options){.metadata = metadata, .metadata_count = 1});
    return hk_checkpoint_save(path, &(hk_checkpoint){.arrays = entries,
                                                     .array_count = ARRAYS,
                                                     .metadata = metadata,
                                                     .metadata_count = 1});
}

static int save_for_ever(const char *path, int64_t generation, bool is_checkpoint)
{
    for (;; generation++) {
        HK_SCOPE;
        hk_save_entry entries[ARRAYS];
        char names[ARRAYS][8], text[24];
        for (int i = 0; i < ARRAYS; i++) {
            snprintf(names[i], sizeof names[i], "x.%d", i);
            entries[i] = (hk_save_entry){
                names[i], hk_full(hk_shape(COUNT), (double)generation, HK_I64, (hk_device){0})};
        }
        snprintf(text, sizeof text, "%lld", (long long)generation);
        const hk_metadata_entry metadata = {"generation", text};
        const hk_status *status = save(path, entries, &metadata, is_checkpoint);
        if (!hk_ok(status))
            return hk_status_print(status, stderr);
        if (write(STDOUT_FILENO, &generation, sizeof generation) != sizeof generation)
            return 1;
    }
}

/* The generation of the file; -1: it is not whole. */
static int64_t generation_of(const char *path, bool is_checkpoint)
{
    static int64_t values[COUNT];
    HK_SCOPE;
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    const char *text = hk_archive_metadata(archive, "generation");
    int64_t generation = text ? atoll(text) : -1;
    if (!hk_ok(hk_archive_status(archive)))
        hk_status_print(hk_archive_status(archive), stderr);
    for (int i = 0; i < ARRAYS; i++) {
        char name[16];
        snprintf(name, sizeof name, "%sx.%d", is_checkpoint ? "array." : "", i);
        const hk_status *status = hk_to_host(hk_archive_get(archive, name), values, sizeof values);
        if (!hk_ok(status)) {
            hk_status_print(status, stderr);
            generation = -1;
        }
        for (int j = 0; j < COUNT; j++)
            generation = values[j] == generation ? generation : -1;
    }
    hk_archive_release(archive);
    return generation;
}

static uint32_t random_below(uint32_t limit)
{
    static uint64_t state = 7; /* a linear congruential generator will do */
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % limit);
}

/* Starts a process that goes on from `first`, and kills it when it has saved a few times and a random time has passed.
 * Returns the last generation that it said was saved. */
static int64_t kill_one(const char *path, int64_t first, bool is_checkpoint)
{
    static const int signals[] = {SIGKILL, SIGTERM, SIGINT};
    char text[24];
    int pipes[2];
    int64_t last = first - 1, told;
    snprintf(text, sizeof text, "%lld", (long long)first);
    if (pipe(pipes))
        exit(1);
    const pid_t child = fork();
    if (!child) {
        dup2(pipes[1], STDOUT_FILENO);
        close(pipes[0]);
        close(pipes[1]);
        execl("/proc/self/exe", "save_killed", path, text, is_checkpoint ? "checkpoint" : "arrays",
              (char *)NULL);
        _exit(1);
    }
    close(pipes[1]);
    const int before = 1 + (int)random_below(3);
    for (int i = 0; i < before && read(pipes[0], &told, sizeof told) == sizeof told; i++)
        last = told;
    nanosleep(&(struct timespec){.tv_nsec = 1000 * (long)random_below(8000)}, NULL);
    kill(child, signals[random_below(3)]);
    while (read(pipes[0], &told, sizeof told) == sizeof told)
        last = told;
    int outcome = 0;
    CHECK(waitpid(child, &outcome, 0) == child && WIFSIGNALED(outcome));
    close(pipes[0]);
    return last;
}

static void kill_many(const char *path, int kills, bool is_checkpoint)
{
    int64_t generation = 0;
    int in_the_middle = 0;
    for (int i = 0; i < kills && !check_failed_count; i++) {
        const int64_t said = kill_one(path, generation + 1, is_checkpoint),
                      found = generation_of(path, is_checkpoint);
        CHECK(said > generation);
        CHECK(found == said || found == said + 1);
        if (found != said && found != said + 1)
            fprintf(stderr, "kill %d: %lld was saved, the file has %lld\n", i, (long long)said,
                    (long long)found);
        generation = found;
        /* A draft of the process that was killed, and of no other. */
        CHECK(fixture_files(false) <= 2);
        in_the_middle += fixture_files(false) == 2;
    }
    CHECK(in_the_middle > kills / 20);
    printf("%d kills, %d of them while a file was written, up to generation %lld\n", kills,
           in_the_middle, (long long)generation);
    fixture_files(true);
}

int main(int argc, char **argv)
{
    if (argc == 4)
        return save_for_ever(argv[1], atoll(argv[2]), !strcmp(argv[3], "checkpoint"));
    fixture_begin();
    kill_many(fixture_path("checkpoint.safetensors"), KILLS, false);
    kill_many(fixture_path("training.safetensors"), CHECKPOINT_KILLS, true);
    fixture_end();
    return check_result();
}
