#include "io/npy.h"

#include <stdlib.h>
#include <string.h>

bool hki_npy_read(const hki_io_source *source, hki_io_contents *contents, hki_io_error *error)
{
    uint8_t prelude[HKI_NPY_PRELUDE_BYTES];
    const size_t got = source->bytes < sizeof prelude ? (size_t)source->bytes : sizeof prelude;
    uint32_t begin = 0, bytes = 0;
    if (!hki_io_read(source, 0, prelude, got, error) ||
        !hki_npy_parse_prelude(prelude, got, &begin, &bytes, error))
        return false;
    hki_io_entry entry = {.name = strdup(""), .offset = (uint64_t)begin + bytes};
    char *header = malloc(bytes + 1);
    bool is_good = (entry.name && header) || hki_io_fail_memory(error);
    is_good = is_good && hki_io_read(source, begin, header, bytes, error) &&
              hki_npy_parse_header(header, bytes, source->bytes - entry.offset, &entry, error);
    free(header);
    if (is_good)
        return hki_io_contents_add(contents, &entry, error) &&
               hki_io_contents_finish(contents, error);
    free(entry.unsupported);
    free(entry.name);
    return false;
}

bool hki_npy_write(hki_io_saving *saving)
{
    char header[HKI_NPY_HEADER_BYTES];
    const void *values;
    size_t bytes;
    return hki_io_saving_write(saving, header,
                               hki_npy_print_header(saving->entries->array, header)) &&
           hki_io_saving_values(saving, 0, &values, &bytes) &&
           hki_io_saving_write(saving, values, bytes);
}
