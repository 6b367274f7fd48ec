/* Python's pickles as values: opcodes of protocols 2 to 5, read without calling anything. What a
 * pickle would call is a value too, of the callable and its arguments; which callables it may name
 * is its reader's closed list. Pickles are taken as hostile: memory and time are a small multiple
 * of their length. Values are numbered, and may be parts of several others, or of themselves.
 *
 * Source: Python's documentation of pickletools. */
#ifndef HOCKET_IO_PICKLE_H
#define HOCKET_IO_PICKLE_H

#include "io/source.h"

typedef enum hki_pickle_kind {
    HKI_PICKLE_NONE,
    HKI_PICKLE_BOOL,
    HKI_PICKLE_INT,
    HKI_PICKLE_BIG_INT, /* of more than 64 bits: text has its bytes, lowest first */
    HKI_PICKLE_FLOAT,
    HKI_PICKLE_TEXT,
    HKI_PICKLE_BYTES,
    HKI_PICKLE_LIST,
    HKI_PICKLE_TUPLE,
    HKI_PICKLE_SET,
    HKI_PICKLE_DICT,   /* keys and values by turns */
    HKI_PICKLE_GLOBAL, /* integer: its row in the closed list */
    HKI_PICKLE_CALL,   /* of `callable` with `arguments`, and what has been put into the result */
    HKI_PICKLE_PERSISTENT /* what `arguments` stand for, outside of the pickle */
} hki_pickle_kind;

/* Parts of a list and its like: cells in a chain. */
typedef struct hki_pickle_parts {
    uint32_t first, last, count;
} hki_pickle_parts;

typedef struct hki_pickle_value {
    hki_pickle_kind kind;
    uint32_t callable, arguments; /* values */
    union {
        hki_pickle_parts
            parts;       /* first: zeros are none. Of a call keys and values by turns, or parts */
        int64_t integer; /* of a bool 0 or 1 */
        double real;
        struct {
            uint32_t at, bytes; /* in the pickle */
        } text;
    };
} hki_pickle_value;

typedef struct hki_pickle_cell {
    uint32_t value, next;
} hki_pickle_cell;

/* The row of a callable in the closed list; -1: it is not there, and the error says so. Texts are
 * not terminated. */
typedef int (*hki_pickle_find_fn)(const char *module, size_t module_bytes, const char *name,
                                  size_t name_bytes, hki_io_error *error);

/* Zeros are one without values. Immutable once read. */
typedef struct hki_pickle {
    const uint8_t *data; /* borrowed */
    size_t bytes;
    hki_pickle_value *values;
    size_t count, capacity;
    hki_pickle_cell *cells;
    size_t cell_count, cell_capacity;
    uint32_t root;
} hki_pickle;

/* Longer ones are refused. */
#define HKI_PICKLE_MOST_BYTES ((size_t)64 << 20)

/* Reads the pickle that data begins with, and says how long it was in *used. data: at most so many
 * bytes as above, and has to live as long as self, which hki_pickle_deinit frees in any case. */
bool hki_pickle_read(hki_pickle *self, const uint8_t *data, size_t bytes, hki_pickle_find_fn find,
                     size_t *used, hki_io_error *error);
void hki_pickle_deinit(hki_pickle *self);

/* Of a tuple, or a list: its part at that index; NULL: it has none, or is neither. */
const hki_pickle_value *hki_pickle_part(const hki_pickle *self, const hki_pickle_value *of,
                                        uint32_t index);
static inline const hki_pickle_value *hki_pickle_at(const hki_pickle *self, uint32_t value)
{
    return &self->values[value];
}
/* Whether it is that text. */
bool hki_pickle_is_text(const hki_pickle *self, const hki_pickle_value *of, const char *text);

#endif
