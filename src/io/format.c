#include "io/format.h"

#include "base/regular_file.h"

#include <string.h>

static const struct {
    const char *ending;
    hk_file_format format;
} endings[] = {{".safetensors", HK_FORMAT_SAFETENSORS},
               {".npy", HK_FORMAT_NPY},
               {".npz", HK_FORMAT_NPZ},
               {".pt", HK_FORMAT_TORCH},
               {".pth", HK_FORMAT_TORCH},
               {".bin", HK_FORMAT_TORCH},
               {".index.json", HK_FORMAT_SHARDS}};

bool hki_io_format_of(const char *path, hk_file_format given, hk_file_format *format,
                      hki_io_error *error)
{
    char shown[HKI_NAME_SHOWN_BYTES];
    const size_t length = strlen(path);
    *format = given;
    if (given >= HK_FORMAT_SAFETENSORS && given <= HK_FORMAT_SHARDS)
        return true;
    if (given != HK_FORMAT_BY_NAME)
        return hki_io_fail(error, HK_INVALID_ARGUMENT,
                           "option format is %d; one of hk_file_format would be right", (int)given);
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        const size_t ending = strlen(endings[i].ending);
        if (length > ending && !strcmp(path + length - ending, endings[i].ending)) {
            *format = endings[i].format;
            return true;
        }
    }
    hki_show_name(shown, sizeof shown, path);
    return hki_io_fail(
        error, HK_INVALID_ARGUMENT,
        "path is \"%s\"; the ending .safetensors, .npy, .npz, .pt, .pth, .bin or .index.json would "
        "say its format, or option format",
        shown);
}
