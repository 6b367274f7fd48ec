#include "io/npz.h"

#include "base/quote.h"
#include "io/npy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char ending[] = ".npy";

/* With escapes, to be freed; NULL: no memory. */
static char *mended(const char *name)
{
    const size_t bytes = hki_mend_text(NULL, 0, name);
    char *text = malloc(bytes);
    if (text)
        hki_mend_text(text, bytes, name);
    return text;
}

/* Why no array can be made of a member, whatever it holds; entry->unsupported stays NULL where one can. */
static bool note_unsupported(hki_io_entry *entry, bool is_npy, bool is_utf8, hki_io_error *error)
{
    const hki_zip_member *member = &entry->member;
    int length = 0;
    if (!is_utf8)
        length = asprintf(&entry->unsupported,
                          "has another name in the file, which is not UTF-8; one that is would be "
                          "right");
    else if (!is_npy)
        length = asprintf(&entry->unsupported, "is no member with the ending .npy");
    else if (member->is_encrypted)
        length = asprintf(&entry->unsupported, "is encrypted; a plain one would be right");
    else if (member->method != HKI_ZIP_STORED && member->method != HKI_ZIP_DEFLATED)
        length = asprintf(&entry->unsupported,
                          "is compressed by method %u; stored (0) or deflated (8) would be right",
                          member->method);
    if (length >= 0)
        return true;
    entry->unsupported = NULL;
    return hki_io_fail_memory(error);
}

static bool add_member(void *context, const char *name, const hki_zip_member *member,
                       hki_io_error *error)
{
    hki_io_contents *contents = context;
    const size_t length = strlen(name), tail = sizeof ending - 1;
    const bool is_npy = length > tail && !strcmp(name + length - tail, ending);
    const bool is_utf8 = hki_io_is_utf8(name);
    hki_io_entry entry = {.name = is_utf8 ? strndup(name, is_npy ? length - tail : length)
                                          : mended(name),
                          .is_member = true,
                          .member = *member};
    if (!entry.name)
        return hki_io_fail_memory(error);
    if (note_unsupported(&entry, is_npy, is_utf8, error))
        return hki_io_contents_add(contents, &entry, error);
    free(entry.name);
    return false;
}

bool hki_npz_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error)
{
    return hki_zip_read_directory(source, add_member, contents, error) &&
           hki_io_contents_finish(contents, error);
}

static bool read_header(hki_zip_stream *stream, hki_io_entry *entry, hki_io_error *error)
{
    uint8_t prelude[HKI_NPY_PRELUDE_BYTES];
    uint32_t begin = 0, bytes = 0;
    enum { FIRST = 10 }; /* all of version 1's */
    if (!hki_zip_read(stream, prelude, FIRST, error))
        return false;
    const bool is_longer = prelude[6] > 1;
    if (is_longer && !hki_zip_read(stream, prelude + FIRST, sizeof prelude - FIRST, error))
        return false;
    if (!hki_npy_parse_prelude(prelude, is_longer ? sizeof prelude : FIRST, &begin, &bytes, error))
        return false;
    char *header = malloc(bytes + 1);
    if (!header)
        return hki_io_fail_memory(error);
    const bool is_good = hki_zip_read(stream, header, bytes, error) &&
                         hki_npy_parse_header(header, bytes, hki_zip_left(stream), entry, error);
    free(header);
    return is_good;
}

hki_zip_stream *hki_npz_open(const hki_io_source *source, hki_io_entry *entry, hki_io_error *error)
{
    hki_zip_stream *stream = hki_zip_open(source, &entry->member, error);
    if (!stream || read_header(stream, entry, error))
        return stream;
    hki_zip_close(stream);
    return NULL;
}
