#include "io/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LENGTH_BYTES = 8,
    ALIGNMENT = 64
}; /* of the data in the file, so that arrays can be mapped where they lie */

/* Larger elements first, so that all are aligned. */
static const size_t element_sizes[] = {8, 4, 2, 1};
enum { SIZES = sizeof element_sizes / sizeof *element_sizes };

static uint64_t bytes_of(const hk_array *x)
{
    return (uint64_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
}

/* The header, in memory. */
typedef struct printer {
    FILE *to;
    bool has_failed; /* there was no memory: such a stream does not remember it */
} printer;

static void print(printer *self, const char *format, ...) HK_PRINTF(2, 3);
static void print(printer *self, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    self->has_failed = vfprintf(self->to, format, args) < 0 || self->has_failed;
    va_end(args);
}

/* In quotes. */
static void print_text(printer *self, const char *text)
{
    json_t *value = json_string(text);
    self->has_failed = !value || json_dumpf(value, self->to, JSON_ENCODE_ANY) || self->has_failed;
    json_decref(value);
}

static void print_metadata(printer *self, const hk_save_options *options)
{
    print(self, "\"%s\":{", HKI_SAFETENSORS_METADATA);
    for (size_t i = 0; i < options->metadata_count; i++) {
        print(self, "%s", i ? "," : "");
        print_text(self, options->metadata[i].key);
        print(self, ":");
        print_text(self, options->metadata[i].value);
    }
    print(self, "}");
}

static void print_array(printer *self, const hk_save_entry *entry, uint64_t begin)
{
    const hk_array *x = entry->array;
    print_text(self, entry->name);
    print(self, ":{\"dtype\":\"%s\",\"shape\":[", hki_safetensors_dtype_name(hk_array_dtype(x)));
    for (int i = 0; i < hk_ndim(x); i++)
        print(self, "%s%" PRId64, i ? "," : "", hk_dim(x, i));
    print(self, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + bytes_of(x));
}

/* Where arrays of each size of element begin. */
static void place(const hki_io_saving *saving, uint64_t begins[SIZES])
{
    uint64_t end = 0;
    for (int size = 0; size < SIZES; size++) {
        begins[size] = end;
        for (size_t i = 0; i < saving->count; i++)
            if (hk_dtype_bytes(hk_array_dtype(saving->entries[i].array)) == element_sizes[size])
                end += bytes_of(saving->entries[i].array);
    }
}

static void print_header(printer *self, const hki_io_saving *saving)
{
    uint64_t begins[SIZES];
    const bool has_metadata = saving->options->metadata_count;
    place(saving, begins);
    print(self, "{");
    if (has_metadata)
        print_metadata(self, saving->options);
    for (size_t i = 0; i < saving->count; i++) {
        const hk_array *x = saving->entries[i].array;
        int size = 0;
        while (element_sizes[size] != hk_dtype_bytes(hk_array_dtype(x)))
            size++;
        print(self, "%s", i || has_metadata ? "," : "");
        print_array(self, &saving->entries[i], begins[size]);
        begins[size] += bytes_of(x);
    }
    print(self, "}");
    const long length = ftell(self->to);
    print(self, "%*s", (int)(ALIGNMENT - 1 - (length + LENGTH_BYTES + ALIGNMENT - 1) % ALIGNMENT),
          "");
}

static bool write_header(hki_io_saving *saving)
{
    char *header = NULL;
    size_t bytes = 0;
    uint8_t length[LENGTH_BYTES];
    printer self = {.to = open_memstream(&header, &bytes)};
    if (self.to) {
        print_header(&self, saving);
        self.has_failed = fclose(self.to) || self.has_failed;
    }
    for (int i = 0; i < LENGTH_BYTES; i++)
        length[i] = (uint8_t)((uint64_t)bytes >> 8 * i);
    bool is_good = self.to && !self.has_failed && header; /* closing may need memory too */
    if (!is_good)
        hki_io_fail(&saving->error, HK_OUT_OF_MEMORY, "no host memory for its header");
    is_good = is_good && hki_io_saving_write(saving, length, sizeof length) &&
              hki_io_saving_write(saving, header, bytes);
    free(header);
    return is_good;
}

bool hki_safetensors_write(hki_io_saving *saving)
{
    const void *values;
    size_t bytes;
    if (!write_header(saving))
        return false;
    for (int size = 0; size < SIZES; size++)
        for (size_t i = 0; i < saving->count; i++)
            if (hk_dtype_bytes(hk_array_dtype(saving->entries[i].array)) == element_sizes[size] &&
                (!hki_io_saving_values(saving, i, &values, &bytes) ||
                 !hki_io_saving_write(saving, values, bytes)))
                return false;
    return true;
}
