#include "training/near_names.h"

#include <stddef.h>
#include <string.h>

enum { MOST_LETTERS = 128, MOST_NAMES = 500 };

/* Levenshtein 1966, row by row. */
static int distance(const char *a, const char *b)
{
    int row[MOST_LETTERS + 1];
    const int width = (int)strnlen(b, MOST_LETTERS), height = (int)strnlen(a, MOST_LETTERS);
    for (int j = 0; j <= width; j++)
        row[j] = j;
    for (int i = 1; i <= height; i++) {
        int diagonal = row[0];
        row[0] = i;
        for (int j = 1; j <= width; j++) {
            const int changed = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const int shorter = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = changed < shorter ? changed : shorter;
        }
    }
    return row[width];
}

const char *hki_near_name(const char *name, const char *const *names, int count)
{
    const char *nearest = NULL;
    int least = (int)strnlen(name, MOST_LETTERS) / 2;
    for (int i = 0; i < count && i < MOST_NAMES; i++) {
        const int its = distance(name, names[i]);
        if (its < least) {
            least = its;
            nearest = names[i];
        }
    }
    return nearest;
}
