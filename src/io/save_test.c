/* Saving: what is refused, and what the path holds then. */
#include "tests/io_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/stat.h>

static hk_array *ones(int64_t count)
{
    return hk_full(hk_shape(count), 1, HK_F32, (hk_device){0});
}

static void refused(const char *path, const hk_save_entry *entries, size_t count,
                    const hk_save_options *options, const char *part)
{
    const hk_status *status = hk_save(path, entries, count, options);
    fixture_check_message(status, HK_INVALID_ARGUMENT, part);
    CHECK_STR(hk_status_operation(status), "save");
    CHECK(strstr(hk_status_file(status), "save_test.c"));
    CHECK_EQ_I64(fixture_files(false), 0);
}

static void test_arguments(void)
{
    HK_SCOPE;
    hk_array *x = ones(3);
    const char *path = fixture_path("x.safetensors");
    const hk_save_entry good = {"x", x};
    refused(NULL, &good, 1, NULL, "argument path is NULL");
    refused("", &good, 1, NULL, "argument path is empty");
    refused(fixture_path("x.dat"), &good, 1, NULL, "x.dat\"; the ending .safetensors");
    refused(fixture_path("x"), &good, 1, NULL, "the ending .safetensors");
    refused(path, &good, 1, &(hk_save_options){.format = (hk_file_format)77}, "format is 77;");
    refused(path, NULL, 1, NULL, "argument entries is NULL, but count is 1");
    refused(path, (hk_save_entry[]){{"x", x}, {"y", NULL}}, 2, NULL, "entries[1].array is NULL");
    refused(path, (hk_save_entry[]){{NULL, x}}, 1, NULL, "entries[0].name is NULL");
    refused(path, (hk_save_entry[]){{"", x}}, 1, NULL, "entries[0].name is empty");
    refused(path, (hk_save_entry[]){{"\xc3(", x}}, 1, NULL, "entries[0].name is not UTF-8");
    refused(path, (hk_save_entry[]){{"__metadata__", x}}, 1, NULL, "keeps for the option metadata");
    refused(path, (hk_save_entry[]){{"b", x}, {"a", x}, {"b", x}}, 3, NULL, "has \"b\" twice");
    refused(path, &good, 1, &(hk_save_options){.metadata_count = 2}, "metadata is NULL");
    refused(path, &good, 1, &(hk_save_options){.compress = true}, "only npz is compressed");
    const hk_metadata_entry twice[] = {{"k", "1"}, {"k", "2"}}, none[] = {{"k", NULL}};
    refused(path, &good, 1, &(hk_save_options){.metadata = twice, .metadata_count = 2},
            "metadata has \"k\" twice");
    refused(path, &good, 1, &(hk_save_options){.metadata = none, .metadata_count = 1},
            "metadata[0].value is NULL");
    fixture_refused("", HK_INVALID_ARGUMENT, "argument path is empty");
    fixture_refused(fixture_path("none.safetensors"), HK_NOT_FOUND, "there is no such file");
    mkdir(fixture_path("d.safetensors"), 0700);
    fixture_refused(fixture_path("d.safetensors"), HK_IO, "is a directory; pass a file of arrays");
    rmdir(fixture_path("d.safetensors"));
    mkfifo(fixture_path("f.safetensors"), 0600);
    fixture_refused(fixture_path("f.safetensors"), HK_IO, "is a device, pipe or socket");
    unlink(fixture_path("f.safetensors"));
    CHECK(hk_archive_count(NULL) == 0 && !hk_archive_has(NULL, "x"));
    fixture_check_message(hk_archive_status(NULL), HK_INVALID_ARGUMENT, "archive is NULL");
    fixture_check_message(hk_wait(hk_archive_get(NULL, "x")), HK_INVALID_ARGUMENT,
                          "archive is NULL");
    hk_archive_release(NULL);
    hk_failures_clear();
}

/* The old file stands, byte for byte, and nothing lies beside it. */
static void check_stands(const char *path, const char *old, size_t old_bytes)
{
    size_t bytes;
    char *data = fixture_read(path, &bytes);
    CHECK(bytes == old_bytes && !memcmp(data, old, bytes));
    CHECK_EQ_I64(fixture_files(false), 1);
    free(data);
}

static void test_failed_array(void)
{
    HK_SCOPE;
    const char *path = fixture_path("x.safetensors");
    size_t bytes;
    hk_save_entry entries[] = {{"x", ones(3)}, {"y", ones(4)}};
    CHECK(hk_ok(hk_save(path, entries, 2, NULL)));
    char *old = fixture_read(path, &bytes);

    entries[1].array = hk_matmul(ones(3), ones(4)); /* at its call */
    const hk_status *status = hk_save(path, entries, 2, NULL);
    CHECK_STR(hk_status_operation(status), "matmul");
    check_stands(path, old, bytes);

    hk_array *labels = hk_full(hk_shape(2), 17, HK_I64, (hk_device){0}); /* later */
    entries[1].array =
        hk_softmax_cross_entropy(hk_full(hk_shape(2, 10), 0, HK_F32, (hk_device){0}), labels);
    status = hk_save(path, entries, 2, NULL);
    CHECK_EQ_I64(hk_status_code(status), HK_OUT_OF_RANGE);
    CHECK_STR(hk_status_operation(status), "softmax_cross_entropy");
    check_stands(path, old, bytes);
    hk_failures_clear();
    free(old);
    unlink(path);
}

static void test_system(void)
{
    HK_SCOPE;
    const hk_save_entry entry = {"x", ones(3)};
    char path[400];
    snprintf(path, sizeof path, "%s/none/x.safetensors", fixture_folder);
    const hk_status *status = hk_save(path, &entry, 1, NULL);
    fixture_check_message(status, HK_IO, "x.safetensors: cannot be written: No such file");
    CHECK(hk_ok(
        hk_save("/dev/null", &entry, 1, &(hk_save_options){.format = HK_FORMAT_SAFETENSORS})));
    status = hk_save("/dev/full", &entry, 1, &(hk_save_options){.format = HK_FORMAT_SAFETENSORS});
    fixture_check_message(status, HK_IO, "/dev/full: cannot be written: No space left");
    CHECK_EQ_I64(fixture_files(false), 0);
}

/* Through a link, and with the permissions that the file had. */
static void test_place(void)
{
    HK_SCOPE;
    struct stat facts;
    const char *path = fixture_path("x.safetensors"), *link = fixture_path("l.safetensors");
    const hk_save_entry entry = {"x", ones(3)};
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK(!symlink(path, link) && !chmod(path, 0640));
    CHECK(hk_ok(hk_save(link, &entry, 1, NULL)));
    CHECK(!lstat(link, &facts) && S_ISLNK(facts.st_mode));
    CHECK(!stat(path, &facts) && (facts.st_mode & 0777) == 0640 && facts.st_nlink == 1);
    unlink(path);
    CHECK(hk_ok(hk_save(link, &entry, 1, NULL))); /* to where the link leads, which is nothing */
    CHECK(!lstat(link, &facts) && S_ISLNK(facts.st_mode));
    CHECK(!stat(path, &facts) && S_ISREG(facts.st_mode));
    const mode_t mask = umask(027);
    unlink(path);
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK(!stat(path, &facts) && (facts.st_mode & 07777) == 0640);
    umask(mask);
    CHECK(!unlink(link) && !symlink("x.safetensors", link)); /* beside itself */
    CHECK(!unlink(path) && hk_ok(hk_save(link, &entry, 1, NULL)) && !lstat(path, &facts));
    CHECK_EQ_I64(fixture_files(false), 2);
    unlink(link);
    unlink(path);
}

/* Whoever may give files away keeps their owner; a file that may not be written to stays. */
static void test_owner(void)
{
    HK_SCOPE;
    enum { NOBODY = 65534, OTHER = 12345 };
    struct stat facts;
    const char *path = fixture_path("x.safetensors");
    const hk_save_entry entry = {"x", ones(3)};
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    if (geteuid() == 0) {
        CHECK(!chown(path, NOBODY, OTHER) && !chmod(path, 0664));
        CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
        CHECK(!stat(path, &facts) && facts.st_uid == NOBODY && facts.st_gid == OTHER);
        CHECK_EQ_I64(facts.st_mode & 07777, 0664);
        /* Who may not give the group gives no rights to another one. */
        CHECK(!chmod(fixture_folder, 0777) && !chown(path, NOBODY, OTHER) && !seteuid(NOBODY));
        CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
        CHECK(!stat(path, &facts) && facts.st_uid == NOBODY && facts.st_gid != OTHER);
        CHECK_EQ_I64(facts.st_mode & 07777, 0644);
    }
    if (geteuid() != 0) {
        CHECK(!chmod(path, 0444));
        fixture_check_message(hk_save(path, &entry, 1, NULL), HK_IO,
                              "cannot be written: Permission denied");
        CHECK_EQ_I64(fixture_files(false), 1);
    }
    if (getuid() == 0)
        CHECK(!seteuid(0) && !chmod(fixture_folder, 0700));
    unlink(path);
}

/* What is left of a killed process goes, what another one is writing, and other files, stay. */
static void test_abandoned(void)
{
    HK_SCOPE;
    const char *path = fixture_path("x.safetensors");
    const hk_save_entry entry = {"x", ones(3)};
    const char *names[] = {"x.safetensors.12-3.part",  "x.safetensors.12-4.part",
                           "x.safetensors.12.part",    "y.x.safetensors.12-3.part",
                           "x.safetensors.12-3.part2", "x.safetensors.-.part"};
    for (int i = 0; i < 6; i++)
        fixture_write(fixture_path(names[i]), "x", 1);
    const int locked = open(fixture_path(names[1]), O_RDONLY);
    CHECK(locked >= 0 && !flock(locked, LOCK_EX));
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK_EQ_I64(fixture_files(false), 6);
    for (int i = 0; i < 6; i++)
        CHECK(!access(fixture_path(names[i]), F_OK) == (i != 0));
    close(locked);
    CHECK(hk_ok(hk_save(path, &entry, 1, NULL)));
    CHECK_EQ_I64(fixture_files(true), 5);
}

static void *save_often(void *argument)
{
    const char *path = argument;
    for (int i = 0; i < 30; i++) {
        HK_SCOPE;
        const hk_save_entry entry = {"x", ones(20000)};
        if (!hk_ok(hk_save(path, &entry, 1, NULL)))
            return argument;
    }
    return NULL;
}

/* Threads may save to one path and load from it: each finds a whole file. */
static void test_threads(void)
{
    char path[400];
    pthread_t threads[3];
    void *failed;
    snprintf(path, sizeof path, "%s", fixture_path("x.safetensors"));
    CHECK(!save_often(path));
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_create(&threads[i], NULL, save_often, path));
    for (int i = 0; i < 50; i++) {
        HK_SCOPE;
        hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
        CHECK(hk_item(hk_sum(hk_archive_get(archive, "x"), NULL), NULL) == 20000);
        hk_archive_release(archive);
    }
    for (int i = 0; i < 3; i++)
        CHECK(!pthread_join(threads[i], &failed) && !failed);
    CHECK_EQ_I64(fixture_files(true), 1);
}

/* An archive outlives its runtime; what it gives then fails by a record that says so. */
static void test_ended(void)
{
    const char *path = fixture_path("x.safetensors");
    CHECK(!save_often((void *)(uintptr_t)path));
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK(hk_ok(hk_archive_status(archive)));
    hk_runtime_deinit();
    {
        HK_SCOPE;
        CHECK_STR(hk_archive_name(archive, 0), "x");
        CHECK_EQ_I64(hk_status_code(hk_wait(hk_archive_get(archive, "x"))), HK_CANCELLED);
        CHECK_EQ_I64(hk_status_code(hk_wait(hk_archive_get(archive, "y"))), HK_CANCELLED);
    }
    hk_archive_release(archive);
    archive = hk_load(path, hk_device_named("cpu:77"), NULL);
    {
        HK_SCOPE;
        fixture_check_message(hk_wait(hk_archive_get(archive, "x")), HK_NOT_FOUND, "cpu:77");
    }
    hk_archive_release(archive);
    hk_failures_clear();
    unlink(path);
}

int main(void)
{
    fixture_begin();
    test_arguments();
    test_failed_array();
    test_system();
    test_place();
    test_owner();
    test_abandoned();
    test_threads();
    test_ended();
    fixture_end();
    return check_result();
}
