/* What a file of arrays has in it, whatever its format. Filled by one reader, then immutable. */
#ifndef HOCKET_IO_CONTENTS_H
#define HOCKET_IO_CONTENTS_H

#include "io/zip_reader.h"

#include <hocket/array.h>

typedef struct hki_io_entry {
    char *name; /* owned */
    char *
        unsupported; /* owned; why no array can be made of it; NULL: one can, and all below is set */
    hk_dims shape;
    hk_dtype dtype;
    /* Elements lie so many apart along each axis, within span_bytes from the first to the last;
     * else side by side in C order. */
    bool is_strided;
    int64_t strides[HK_MAX_NDIM];
    uint64_t span_bytes;
    bool is_swapped; /* in the other byte order than this machine's */
    bool is_member;  /* of a zip file */
    hki_zip_member member;
    uint64_t offset; /* of the first element: in the file, or in the member once it is unpacked */
    uint64_t bytes;  /* of all elements */
    unsigned source; /* which file it is in, of several */
} hki_io_entry;

typedef struct hki_io_text {
    char *key, *value; /* owned */
} hki_io_text;

/* Zeros are one without anything. */
typedef struct hki_io_contents {
    hki_io_entry *entries;
    size_t count, capacity;
    size_t *by_name; /* places in entries, in the order of names; made by hki_io_contents_finish */
    hki_io_text *metadata; /* in the order of keys, once finished */
    size_t metadata_count, metadata_capacity;
    char *structure; /* owned; how lists and dicts nest, as hk_archive_structure gives it; NULL:
                        they do not */
} hki_io_contents;

/* Adds a copy; name and unsupported are taken, also when it fails. */
bool hki_io_contents_add(hki_io_contents *self, const hki_io_entry *entry, hki_io_error *error);
/* key and value are taken, also when it fails. */
bool hki_io_contents_add_text(hki_io_contents *self, char *key, char *value, hki_io_error *error);
/* When all has been added: fails where a name is there twice. */
bool hki_io_contents_finish(hki_io_contents *self, hki_io_error *error);
/* NULL: none of that name. */
const hki_io_entry *hki_io_contents_find(const hki_io_contents *self, const char *name);
const char *hki_io_contents_find_text(const hki_io_contents *self, const char *key);
/* Frees what it owns, and zeroes it. */
void hki_io_contents_deinit(hki_io_contents *self);

/* Of names in any format. False also where there is no memory to tell. */
bool hki_io_is_utf8(const char *text);

/* Bytes of so many elements; false where they are too many. The shape may have any number of axes. */
bool hki_io_bytes_of(const int64_t *sizes, size_t count, uint64_t element_bytes, uint64_t *bytes);

#endif
