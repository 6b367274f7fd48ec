/* Arrays in several files, and an index that says which is where, as Hugging Face's libraries write
 * them: NAME.index.json,
 *
 *     {"metadata": {"total_size": 4}, "weight_map": {"a.weight":
 * "NAME-00001-of-00002.safetensors"}}
 *
 * Files are in the index's folder, and are safetensors or PyTorch's, by their endings. */
#ifndef HOCKET_IO_SHARDS_H
#define HOCKET_IO_SHARDS_H

#include "io/contents.h"

/* Files that are open. */
typedef struct hki_io_sources {
    hki_io_source *list; /* owned */
    size_t count;
} hki_io_sources;

/* sources has the index alone, which was opened as `path`, and gets the files that it names;
 * entries tell theirs by its place. What has been opened stays in it, also when it fails. */
bool hki_shards_read(const char *path, hki_io_sources *sources, hki_io_contents *contents,
                     hki_io_error *error);
/* Closes and frees all. */
void hki_io_sources_deinit(hki_io_sources *self);

#endif
