/* Fuzzing of hki_pickle_read and hki_torch_list: pickles as torch.save writes them, without the zip file around them, beside two
 * storages. Whatever the bytes, no crash, no leak, a message with every failure, and arrays that lie within the storages.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_pickle FILE|FOLDER…` runs each file; with no arguments, every truncation and every flipped bit of the built-in
 * seeds. */
#include "fuzz/fuzz_archive.h"

#include "io/torch.h"
#include "io/torch_names.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const uint8_t storages[32];
    hki_torch_storage places[] = {{(char *)"0", 0, 24}, {(char *)"1", 24, 8}};
    const hki_io_source source = {.file = -1, .data = storages, .bytes = sizeof storages};
    hki_torch_file file = {.source = &source, .storages = places, .storage_count = 2};
    hki_io_contents contents = {0};
    hki_io_error error = {0};
    size_t used = 0;
    if (!hki_pickle_read(&file.pickle, data, size, hki_torch_find_name, &used, &error) ||
        !hki_torch_list(&file, &contents, &error)) {
        fuzz_require_error(&error);
    } else {
        fuzz_require(used <= size, "a pickle that is longer than it is");
        fuzz_require(contents.structure && *contents.structure, "no structure");
        for (size_t i = 0; i < contents.count; i++)
            fuzz_entry(&source, &contents.entries[i]);
    }
    hki_io_contents_deinit(&contents);
    hki_pickle_deinit(&file.pickle);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

#include "torch_fixture.h"

int main(int argc, char **argv)
{
    static torch_bytes pickle;
    if (argc == 1) {
        torch_checkpoint(&pickle);
        fuzz_seed(pickle.data, pickle.bytes);
        torch_begin(&pickle);
        torch_ops(&pickle, "\x80\x05\x95\x10" /* and seven zeros */);
        torch_number(&pickle, 0, 7);
        torch_ops(&pickle, "]\x94(\x8c\x01"
                           "a\x94\x8c\x05torch\x94\x8c\x04Size\x94\x93\x94K\x02\x85\x94R\x94"
                           "\x8f\x94(K\x01K\x02\x90G@\x09!\xfbTD-\x18"
                           "C\x01"
                           "ae.");
        fuzz_seed(pickle.data, pickle.bytes);
        torch_begin(&pickle);
        torch_tensor(&pickle, (torch_view){.class = "UntypedStorage",
                                           .key = "0",
                                           .count = 24,
                                           .offset = 1,
                                           .ndim = 2,
                                           .sizes = {2, 3},
                                           .strides = {4, 1},
                                           .dtype = "uint16"});
        torch_ops(&pickle, ".");
        fuzz_seed(pickle.data, pickle.bytes);
    }
    return fuzz_paths(argc, argv);
}

#endif
