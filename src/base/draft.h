/* A file that is being written, to take its place only once it is complete. Externally synchronised; functions block on the
 * file only. Those that return an int return 0 or errno's value. */
#ifndef HOCKET_BASE_DRAFT_H
#define HOCKET_BASE_DRAFT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeros are not a draft; hki_draft_begin makes one. */
typedef struct hki_draft {
    char *target;    /* where it goes; links followed */
    char *temporary; /* beside it; NULL: straight into the target, which is no regular file */
    int file;        /* -1: none */
} hki_draft;

/* EACCES for a file that the process may not write to. A link stays one, to the new file. The
 * draft is locked (flock) for as long as it is written, so that those which a process left that
 * was killed can be told from others: they are removed by the next that begins with the same
 * path. hki_draft_drop is called in any case. */
int hki_draft_begin(hki_draft *self, const char *path);
int hki_draft_write(const hki_draft *self, const void *data, size_t bytes);
/* Takes the target's place, which a regular file there gives up; owner, group and mode stay, as
 * far as the process may give them. is_synced: returns once the medium has the bytes and the
 * name, so that neither a crash nor a loss of power takes them back. */
int hki_draft_finish(hki_draft *self, bool is_synced);
/* Frees it, and removes the file if it was not finished. */
void hki_draft_drop(hki_draft *self);

#endif
