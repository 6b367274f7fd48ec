/* Which of several kernels to take, where that was measured: a table read from a file when a runtime is created and
 * frozen then, so that results stay a pure function of shapes and of that table.
 *
 * The file is text, one choice a line: a name, up to HKI_CHOICE_NUMBERS numbers, and the chosen word:
 *
 *     hocket choices 1
 *     processor AuthenticAMD 25 17 1
 *     conv2d.forward.f32.avx512 256 20 12 12 50 5 5 1 1 0 0 1 1 winograd
 *
 * It is written whole or not at all. Thread-safe. */
#ifndef HOCKET_BASE_CHOICES_H
#define HOCKET_BASE_CHOICES_H

#include "base/status.h"

enum { HKI_CHOICE_NUMBERS = 16, HKI_CHOICE_NAME_BYTES = 40, HKI_CHOICE_WORD_BYTES = 16 };

typedef struct hki_choice_key {
    char name
        [HKI_CHOICE_NAME_BYTES]; /* a-z, 0-9, '.', '_': what is chosen for, all that is no number */
    int count;
    int64_t numbers[HKI_CHOICE_NUMBERS]; /* 0 … 2^50 */
} hki_choice_key;

/* Measures the candidates and returns the best one's word (static text), or NULL when there is nothing to choose. */
typedef const char *(*hki_choice_measure_fn)(const hki_choice_key *key);

typedef struct hki_choices hki_choices;

/* `text` is HOCKET_TUNE's: NULL or "": what was measured on this kind of processor before, if anything (the file below
 * hki_choices_default_path); "off": nothing; "measure": the same as "", and what has no choice yet is noted, to be
 * measured by hki_choices_measure; a path with a '/': that very file, of whatever processor, which has to be there.
 * Returns NULL and sets *choices, or a record (counted) that names file and line. */
const hk_status *hki_choices_create(const char *text, hki_choices **choices);
void hki_choices_destroy(hki_choices *choices); /* NULL is harmless */

/* The chosen word, or NULL. `measure` NULL: nothing is noted. Costs next to nothing while the table is empty and nothing is noted. `choices` may be NULL.
 * The word lives as long as the table. */
const char *hki_choices_find(hki_choices *choices, const hki_choice_key *key,
                             hki_choice_measure_fn measure);
/* Whether a search can find or note anything: for who would have to make a key first. */
bool hki_choices_is_asked(const hki_choices *choices);

/* Whether what has no choice yet is measured in this run. */
bool hki_choices_is_measuring(const hki_choices *choices);
/* In such a run, of who measures by itself: the word (copied) is for the next run, as what hki_choices_measure finds. Of
 * several for one key the first stays. */
void hki_choices_note(hki_choices *choices, const hki_choice_key *key, const char *word);

/* Measures what was noted and writes the file with it. Does nothing where nothing was noted. Blocks for long. Returns
 * NULL or a record (counted). */
const hk_status *hki_choices_measure(hki_choices *choices);

/* What is in use, in words: "112 measured choices (/home/me/.cache/hocket/choices)", "rules", "rules (… is of another
 * processor)". */
const char *hki_choices_description(const hki_choices *choices);

/* $XDG_CACHE_HOME/hocket/choices, or ~/.cache/hocket/choices. False: neither variable is set. */
bool hki_choices_default_path(char *path, size_t bytes);

#endif
