#include "io/npz.h"

#include "io/npy.h"
#include "io/zip_writer.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_draft(void *context, const void *data, size_t bytes)
{
    return hki_io_saving_write(context, data, bytes);
}

static bool add_member(hki_io_saving *saving, hki_zip_writer *zip, size_t i)
{
    char header[HKI_NPY_HEADER_BYTES], *name;
    hki_zip_part parts[2] = {{header, hki_npy_print_header(saving->entries[i].array, header)}};
    if (!hki_io_saving_values(saving, i, &parts[1].data, &parts[1].bytes))
        return false;
    if (asprintf(&name, "%s.npy", saving->entries[i].name) < 0) {
        zip->lacks_memory = true;
        return false;
    }
    const bool is_good = hki_zip_add(zip, name, parts);
    free(name);
    return is_good;
}

bool hki_npz_write(hki_io_saving *saving)
{
    hki_zip_writer zip = {.write = write_draft,
                          .context = saving,
                          .compress = saving->options->compress,
                          .narrow_bytes = HKI_ZIP_NARROW_BYTES};
    bool is_good = true;
    for (size_t i = 0; i < saving->count && is_good; i++)
        is_good = add_member(saving, &zip, i);
    is_good = is_good && hki_zip_finish(&zip);
    if (zip.lacks_memory)
        hki_io_fail(&saving->error, HK_OUT_OF_MEMORY, "no host memory for a zip file");
    hki_zip_writer_deinit(&zip);
    return is_good;
}
