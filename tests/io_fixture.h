/* For tests of files: a folder of their own, raw files, and what a failed load says. */
#ifndef HOCKET_TESTS_IO_FIXTURE_H
#define HOCKET_TESTS_IO_FIXTURE_H

#include "tests/check.h"

#include <dirent.h>
#include <hocket/hocket.h>
#include <stdlib.h>
#include <unistd.h>

static char fixture_folder[] = "/tmp/hocket-io-XXXXXX";

static inline void fixture_begin(void)
{
    if (!mkdtemp(fixture_folder)) {
        perror("mkdtemp");
        exit(1);
    }
}

/* A path in the folder; valid for 31 more calls. */
static inline const char *fixture_path(const char *name)
{
    static char paths[32][320];
    static int next;
    char *path = paths[next++ % 32];
    snprintf(path, sizeof paths[0], "%s/%s", fixture_folder, name);
    return path;
}

/* How many files there are; removes them where is_end. */
static inline int fixture_files(bool is_end)
{
    int count = 0;
    DIR *list = opendir(fixture_folder);
    for (struct dirent *entry; list && (entry = readdir(list));) {
        if (entry->d_name[0] == '.')
            continue;
        count++;
        if (is_end)
            unlink(fixture_path(entry->d_name));
    }
    if (list)
        closedir(list);
    return count;
}

static inline void fixture_end(void)
{
    fixture_files(true);
    rmdir(fixture_folder);
}

static inline void fixture_write(const char *path, const void *data, size_t bytes)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, bytes, file) != bytes || fclose(file)) {
        perror(path);
        exit(1);
    }
}

/* To be freed. */
static inline char *fixture_read(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    char *data = malloc(1 << 20);
    *bytes = file && data ? fread(data, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    return data;
}

static inline void fixture_check_message(const hk_status *status, hk_code code, const char *part)
{
    CHECK_EQ_I64(hk_status_code(status), code);
    CHECK(strstr(hk_status_message(status), part));
    if (!strstr(hk_status_message(status), part))
        fprintf(stderr, "  expected \"%s\" in \"%s\"\n", part, hk_status_message(status));
}

/* The file cannot be loaded, and the message has that part and the file's name. */
static inline void fixture_refused(const char *path, hk_code code, const char *part)
{
    HK_SCOPE;
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    fixture_check_message(hk_archive_status(archive), code, part);
    CHECK(code == HK_INVALID_ARGUMENT ||
          strstr(hk_status_message(hk_archive_status(archive)), strrchr(path, '/') + 1));
    CHECK(hk_archive_count(archive) == 0 && !hk_archive_name(archive, 0));
    fixture_check_message(hk_wait(hk_archive_get(archive, "x")), code, part);
    hk_archive_release(archive);
}

/* The elements of x are those, bit for bit. */
static inline bool fixture_holds(hk_array *x, const void *values, size_t bytes)
{
    char *read = malloc(bytes + 1);
    const hk_status *status = hk_to_host(x, read, bytes);
    const bool is_same = hk_ok(status) && !memcmp(read, values, bytes);
    if (!hk_ok(status))
        hk_status_print(status, stderr);
    free(read);
    return is_same;
}

#endif
