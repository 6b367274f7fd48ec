/* What every fuzz target of binary files is run by where libFuzzer does not: files, folders, and seeds with each bit turned and
 * cut short at each byte. Include it in the file that defines LLVMFuzzerTestOneInput. */
#ifndef HOCKET_TESTS_FUZZ_DRIVER_H
#define HOCKET_TESTS_FUZZ_DRIVER_H

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static inline void fuzz_require(bool good, const char *what)
{
    if (good)
        return;
    fprintf(stderr, "fuzz: %s\n", what);
    abort();
}

/* Runs from a block of the exact size, where the address sanitizer sees a read too far. */
static inline void fuzz_exact(const uint8_t *data, size_t size)
{
    uint8_t *exact = malloc(size > 0 ? size : 1);
    fuzz_require(exact, "no memory");
    memcpy(exact, data, size);
    LLVMFuzzerTestOneInput(exact, size);
    free(exact);
}

/* With HOCKET_FUZZ_SEEDS, a folder: the seed goes there, for libFuzzer to begin with, and nothing else is done. */
static inline bool fuzz_keep(const void *seed, size_t size)
{
    static int count;
    const char *folder = getenv("HOCKET_FUZZ_SEEDS");
    char path[4096];
    if (!folder)
        return false;
    snprintf(path, sizeof path, "%s/seed-%d", folder, count++);
    FILE *file = fopen(path, "wb");
    fuzz_require(file && fwrite(seed, 1, size, file) == size && !fclose(file), "no seed is kept");
    return true;
}

static inline void fuzz_seed(const uint8_t *seed, size_t size)
{
    uint8_t flipped[4096];
    if (fuzz_keep(seed, size))
        return;
    fuzz_require(size <= sizeof flipped, "a seed is too long");
    memcpy(flipped, seed, size);
    for (size_t count = 0; count <= size; count++)
        fuzz_exact(seed, count);
    for (size_t bit = 0; bit < 8 * size; bit++) {
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
        fuzz_exact(flipped, size);
        flipped[bit / 8] ^= (uint8_t)(1u << bit % 8);
    }
}

/* Returns 1 where it cannot be read. */
static inline int fuzz_file(const char *path)
{
    enum { MOST = 1 << 20 };
    FILE *file = fopen(path, "rb");
    uint8_t *data = malloc(MOST);
    size_t size;
    int failed = 1;

    if (!file || !data)
        goto close_file;
    size = fread(data, 1, MOST, file);
    if (ferror(file))
        goto close_file;
    fuzz_exact(data, size);
    failed = 0;
close_file:
    if (failed)
        fprintf(stderr, "fuzz: cannot read %s\n", path);
    if (file)
        fclose(file);
    free(data);
    return failed;
}

/* A file, or the files of a folder, but not of folders in it. */
static inline int fuzz_path(const char *path)
{
    DIR *folder = opendir(path);
    int failed = 0;

    if (!folder)
        return fuzz_file(path);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char *name = NULL;

        if (entry->d_type == DT_DIR)
            continue;
        fuzz_require(asprintf(&name, "%s/%s", path, entry->d_name) >= 0, "no memory");
        failed |= fuzz_file(name);
        free(name);
    }
    closedir(folder);
    return failed;
}

static inline int fuzz_paths(int argc, char **argv)
{
    int failed = 0;
    for (int i = 1; i < argc; i++)
        failed |= fuzz_path(argv[i]);
    return failed;
}

#endif
