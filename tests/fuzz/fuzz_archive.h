/* Fuzzing of readers of files of arrays: whatever the bytes, no crash, no leak, a message with every failure, and arrays that
 * lie within the file and have the bytes that their shapes take. */
#ifndef HOCKET_TESTS_FUZZ_ARCHIVE_H
#define HOCKET_TESTS_FUZZ_ARCHIVE_H

#include "fuzz/fuzz_driver.h"

#include "io/elements.h"

static inline void fuzz_require_error(const hki_io_error *error)
{
    fuzz_require(error->code == HK_BAD_DATA || error->code == HK_OUT_OF_MEMORY ||
                     error->code == HK_UNSUPPORTED,
                 "wrong code");
    fuzz_require(strlen(error->text) > 20, "no message");
    for (const char *c = error->text; *c; c++)
        fuzz_require((unsigned char)*c >= 0x20 && *c != 0x7F, "a control character in a message");
}

/* What arrays rely on; then reads it. most: larger ones are left out. */
static inline void fuzz_elements(const hki_io_source *source, const hki_io_entry *entry,
                                 hki_zip_stream *member, uint64_t most)
{
    hki_io_error error = {0};
    uint64_t bytes;
    fuzz_require(hki_dims_bytes(&entry->shape, entry->dtype, &bytes, NULL, 0), "no shape");
    fuzz_require(bytes == entry->bytes, "bytes that are not the shape's");
    fuzz_require(
        member || (entry->offset <= source->bytes && entry->bytes <= source->bytes - entry->offset),
        "an array outside the file");
    if (bytes > most)
        return;
    uint8_t *values = malloc(bytes + 1);
    fuzz_require(values, "no memory");
    if (hki_io_read_elements(source, entry, member, values, &error))
        for (uint64_t i = 0; entry->dtype == HK_BOOL && i < bytes; i++)
            fuzz_require(values[i] <= 1, "a bool that is neither 0 nor 1");
    else
        fuzz_require_error(&error);
    free(values);
}

static inline void fuzz_entry(const hki_io_source *source, const hki_io_entry *entry)
{
    const uint64_t most = (uint64_t)1 << 24;
    hki_io_error error = {0};
    hki_io_entry here = *entry;
    if (entry->unsupported) {
        fuzz_require(strlen(entry->unsupported) > 20, "no reason");
        return;
    }
    if (!entry->is_member) {
        fuzz_elements(source, entry, NULL, most);
        return;
    }
    hki_zip_stream *member = hki_npz_open(source, &here, &error);
    if (!member)
        fuzz_require_error(&error);
    else if (!here.unsupported)
        fuzz_elements(source, &here, member, most);
    free(here.unsupported);
    hki_zip_close(member);
}

static inline void fuzz_archive(bool (*read)(const hki_io_source *, hki_io_contents *,
                                             hki_io_error *),
                                const uint8_t *data, size_t size)
{
    const hki_io_source source = {.file = -1, .data = data, .bytes = size};
    hki_io_contents contents = {0};
    hki_io_error error = {0};
    if (!read(&source, &contents, &error)) {
        fuzz_require_error(&error);
    } else {
        fuzz_require(error.code == HK_OK, "an error without failure");
        for (size_t i = 0; i < contents.count; i++) {
            const hki_io_entry *entry = &contents.entries[i];
            fuzz_require(hki_io_contents_find(&contents, entry->name) == entry, "not found");
            fuzz_entry(&source, entry);
        }
        for (size_t i = 0; i < contents.metadata_count; i++)
            fuzz_require(hki_io_contents_find_text(&contents, contents.metadata[i].key) ==
                             contents.metadata[i].value,
                         "metadata not found");
    }
    hki_io_contents_deinit(&contents);
}

#endif
