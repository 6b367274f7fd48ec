#include "io/safetensors.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ALIGNMENT = 64 }; /* of the data in the file, so that arrays can be mapped where they lie */

/* Larger elements first, so that all are aligned. */
static const size_t element_sizes[] = {8, 4, 2, 1};
enum { SIZES = sizeof element_sizes / sizeof *element_sizes };

static uint64_t bytes_of(const hk_array *x)
{
    return (uint64_t)hk_size(x) * hk_dtype_bytes(hk_array_dtype(x));
}

/* In quotes. False: no memory. */
static bool print_text(FILE *to, const char *text)
{
    json_t *value = json_string(text);
    const bool is_good = value && !json_dumpf(value, to, JSON_ENCODE_ANY);
    json_decref(value);
    return is_good;
}

static bool print_metadata(FILE *to, const hk_save_options *options)
{
    bool is_good = true;
    fprintf(to, "\"%s\":{", HKI_SAFETENSORS_METADATA);
    for (size_t i = 0; i < options->metadata_count && is_good; i++) {
        if (i)
            fputc(',', to);
        is_good = print_text(to, options->metadata[i].key) && fputc(':', to) != EOF &&
                  print_text(to, options->metadata[i].value);
    }
    fputc('}', to);
    return is_good;
}

static bool print_array(FILE *to, const hk_save_entry *entry, uint64_t begin)
{
    const hk_array *x = entry->array;
    if (!print_text(to, entry->name))
        return false;
    fprintf(to, ":{\"dtype\":\"%s\",\"shape\":[", hki_safetensors_dtype_name(hk_array_dtype(x)));
    for (int i = 0; i < hk_ndim(x); i++)
        fprintf(to, "%s%" PRId64, i ? "," : "", hk_dim(x, i));
    fprintf(to, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", begin, begin + bytes_of(x));
    return true;
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

static bool print_header(const hki_io_saving *saving, FILE *to)
{
    uint64_t begins[SIZES];
    bool is_good = true;
    place(saving, begins);
    fputc('{', to);
    if (saving->options->metadata_count)
        is_good = print_metadata(to, saving->options);
    for (size_t i = 0; i < saving->count && is_good; i++) {
        const hk_array *x = saving->entries[i].array;
        int size = 0;
        while (element_sizes[size] != hk_dtype_bytes(hk_array_dtype(x)))
            size++;
        if (i || saving->options->metadata_count)
            fputc(',', to);
        is_good = print_array(to, &saving->entries[i], begins[size]);
        begins[size] += bytes_of(x);
    }
    fputc('}', to);
    while (is_good && (ftell(to) + 8) % ALIGNMENT)
        if (fputc(' ', to) == EOF)
            break;
    return is_good;
}

static bool write_header(hki_io_saving *saving)
{
    char *header = NULL;
    size_t bytes = 0;
    uint8_t length[8];
    FILE *to = open_memstream(&header, &bytes);
    bool is_good = to && print_header(saving, to) && !ferror(to);
    if (to && fclose(to))
        is_good = false;
    for (int i = 0; i < 8; i++)
        length[i] = (uint8_t)((uint64_t)bytes >> 8 * i);
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
