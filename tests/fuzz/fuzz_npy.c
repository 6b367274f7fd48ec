/* Fuzzing of hki_npy_read and of what arrays are made of: see fuzz_archive.h.
 *
 * With libFuzzer: scripts/fuzz
 * Without: `fuzz_npy FILE|FOLDER…` runs each file; with no arguments, every truncation and every flipped bit of the built-in
 * seeds. */
#include "fuzz/fuzz_archive.h"

#include "io/npy.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_archive(hki_npy_read, data, size);
    return 0;
}

#ifndef HOCKET_LIBFUZZER

/* In Fortran order and the other byte order; of version 3; a structure. */
static const char swapped_seed[] =
    "\x93NUMPY\1\0\x43\0{'descr': '>f4', 'fortran_order': True, 'shape': (2, 1, 3), }     \n"
    "abcdefghijklmnopqrstuvwx";
static const char bool_seed[] =
    "\x93NUMPY\3\0\x38\0\0\0{'descr': '|b1', 'fortran_order': False, 'shape': (3L,)}\nab";
static const char structure_seed[] =
    "\x93NUMPY\1\0\x4b\0{'descr': [('a', '<f4'), (')', '<i4', (2,))], "
    "'fortran_order': False, 'shape': ()}";

int main(int argc, char **argv)
{
    if (argc == 1) {
        fuzz_seed((const uint8_t *)swapped_seed, sizeof swapped_seed - 1);
        fuzz_seed((const uint8_t *)bool_seed, sizeof bool_seed); /* the last zero is an element */
        fuzz_seed((const uint8_t *)structure_seed, sizeof structure_seed - 1);
    }
    return fuzz_paths(argc, argv);
}

#endif
