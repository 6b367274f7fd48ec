/* Fuzzing of hki_safetensors_read and of what arrays are made of: see fuzz_archive.h.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_safetensors FILE|FOLDER…` runs each file; with no arguments, every truncation and every flipped bit of the
 * built-in seeds. */
#include "fuzz/fuzz_archive.h"

#include "io/safetensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_archive(hki_safetensors_read, data, size);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

static void run_header(const char *header, size_t data_bytes)
{
    uint8_t file[1024] = {0};
    const size_t header_bytes = strlen(header);
    file[0] = (uint8_t)header_bytes;
    file[1] = (uint8_t)(header_bytes >> 8);
    memcpy(file + 8, header, header_bytes);
    memset(file + 8 + header_bytes, 2, data_bytes);
    fuzz_seed(file, 8 + header_bytes + data_bytes);
}

int main(int argc, char **argv)
{
    if (argc == 1) {
        run_header("{\"a.b\":{\"dtype\":\"BOOL\",\"shape\":[2,3],\"data_offsets\":[0,6]},"
                   "\"__metadata__\":{\"step\":\"1\",\"\\u00e4\":\"\"},"
                   "\"c\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[6,10]}}  ",
                   10);
        run_header("{\"x\":{\"dtype\":\"F8_E5M2\",\"shape\":[0,7],\"data_offsets\":[0,0]}}", 0);
    }
    return fuzz_paths(argc, argv);
}

#endif
