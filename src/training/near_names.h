/* Names that are nearly the same. */
#ifndef HOCKET_TRAINING_NEAR_NAMES_H
#define HOCKET_TRAINING_NEAR_NAMES_H

/* The nearest of so many names, by how many letters are to be put in, left out or changed; NULL:
 * none is nearer than half of its length. Time is bounded: of long lists the first names are looked
 * at. Borrowed. */
const char *hki_near_name(const char *name, const char *const *names, int count);

#endif
