/* Fuzzing of hki_torch_read, its pickles and zip files, and of what arrays are made of: see fuzz_archive.h.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_torch FILE|FOLDER…` runs each file; with no arguments, every truncation and every flipped bit of the built-in
 * seeds. */
#include "fuzz/fuzz_archive.h"

#include "io/torch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_archive(hki_torch_read, data, size);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

#include "torch_fixture.h"

int main(int argc, char **argv)
{
    static torch_bytes pickle, old;
    static torch_zip zip;
    if (argc == 1) {
        torch_checkpoint(&pickle);
        torch_zip_of(&zip, &pickle);
        fuzz_seed(zip.file.data, zip.file.bytes);
        torch_old_of(&old, &pickle);
        fuzz_seed(old.data, old.bytes);
    }
    return fuzz_paths(argc, argv);
}

#endif
