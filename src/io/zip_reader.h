/* Reading of zip files: the directory at their end, and members that are stored or deflated. Files are taken as hostile; memory
 * is bounded by the file's length.
 *
 * Own code: Debian's minizip cannot read zip64's wide fields on 64-bit systems, and takes what is cut off for zeros; libzip
 * would bring OpenSSL.
 *
 * Source: PKWARE's APPNOTE. */
#ifndef HOCKET_IO_ZIP_READER_H
#define HOCKET_IO_ZIP_READER_H

#include "io/source.h"

enum { HKI_ZIP_STORED = 0, HKI_ZIP_DEFLATED = 8 };

/* What the directory says of a member. */
typedef struct hki_zip_member {
    uint64_t at; /* of what stands in front of it, in the file */
    uint64_t packed_bytes, bytes;
    uint32_t sum; /* CRC-32 of its bytes */
    unsigned method, name_bytes;
    bool is_encrypted;
} hki_zip_member;

/* Called for each member, in the order of the directory; name: not empty, without zeros, borrowed. False ends the reading. */
typedef bool (*hki_zip_found_fn)(void *context, const char *name, const hki_zip_member *member,
                                 hki_io_error *error);
bool hki_zip_read_directory(const hki_io_source *source, hki_zip_found_fn found, void *context,
                            hki_io_error *error);

/* Where the bytes of a member begin. False: it is not where the directory says, or cannot have as
 * many bytes. */
bool hki_zip_find(const hki_io_source *source, const hki_zip_member *member, uint64_t *at,
                  hki_io_error *error);

/* A member that is being read. Externally synchronised. */
typedef struct hki_zip_stream hki_zip_stream;

/* NULL: it is not where the directory says, or cannot have as many bytes. The member is not encrypted, and of a method above. */
hki_zip_stream *hki_zip_open(const hki_io_source *source, const hki_zip_member *member,
                             hki_io_error *error);
/* Bytes of the member that have not been read. */
uint64_t hki_zip_left(const hki_zip_stream *self);
/* Reads on, at most that many; having read the last one, checks the sum. */
bool hki_zip_read(hki_zip_stream *self, void *to, uint64_t bytes, hki_io_error *error);
/* NULL is ignored. */
void hki_zip_close(hki_zip_stream *self);

#endif
