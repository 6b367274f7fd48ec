/* Tensors: views of storages. */
#include "io/torch_views.h"

#include "base/quote.h"
#include "base/text.h"

#include <inttypes.h>
#include <string.h>

bool hki_torch_fail(hki_io_error *error, const char *name, const char *what)
{
    return hki_io_fail(error, HK_BAD_DATA, "%s at \"%s\"; save or fetch it again", what,
                       hki_quote(name, 200).text);
}

bool hki_torch_get_reference(const hki_pickle *pickle, const hki_pickle_value *of,
                             hki_torch_reference *found, hki_io_error *error)
{
    const hki_pickle_value *its =
        of && of->kind == HKI_PICKLE_PERSISTENT ? hki_pickle_at(pickle, of->arguments) : NULL;
    const hki_pickle_value *count = its ? hki_pickle_part(pickle, its, 4) : NULL,
                           *view = its ? hki_pickle_part(pickle, its, 5) : NULL;
    found->key = its ? hki_pickle_part(pickle, its, 2) : NULL;
    found->row = its ? hki_torch_row_of(hki_pickle_part(pickle, its, 1), HKI_TORCH_STORAGE) : -1;
    if (!its || !hki_pickle_is_text(pickle, hki_pickle_part(pickle, its, 0), "storage") ||
        found->row < 0 || !found->key || found->key->kind != HKI_PICKLE_TEXT || !count ||
        count->kind != HKI_PICKLE_INT || count->integer < 0 ||
        (view && view->kind != HKI_PICKLE_NONE))
        return hki_io_fail(error, HK_BAD_DATA,
                           "has a tensor without a storage of class, key and length; save or "
                           "fetch it again");
    found->element_bytes = hki_torch_name_at(found->row)->element_bytes;
    found->count = count->integer;
    return true;
}

static const hki_torch_storage *find_storage(const hki_torch_file *file,
                                             const hki_pickle_value *key)
{
    const char *wanted = (const char *)file->pickle.data + key->text.at;
    size_t low = 0, high = file->storage_count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const hki_torch_storage *storage = &file->storages[middle];
        const size_t bytes = strlen(storage->key);
        const int begin =
            memcmp(wanted, storage->key, bytes < key->text.bytes ? bytes : key->text.bytes);
        const int order = begin ? begin : key->text.bytes < bytes ? -1 : key->text.bytes > bytes;
        if (!order)
            return storage;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

/* A tuple of whole numbers from 0, or a torch.Size of one. False: it is none. */
static bool get_sizes(const hki_pickle *pickle, const hki_pickle_value *of,
                      int64_t sizes[HKI_TORCH_MOST_AXES], uint32_t *count)
{
    if (of && of->kind == HKI_PICKLE_CALL &&
        hki_torch_row_of(hki_pickle_at(pickle, of->callable), HKI_TORCH_SIZE) >= 0)
        of = hki_pickle_part(pickle, hki_pickle_at(pickle, of->arguments), 0);
    if (!of || (of->kind != HKI_PICKLE_TUPLE && of->kind != HKI_PICKLE_LIST) ||
        of->parts.count > HKI_TORCH_MOST_AXES)
        return false;
    *count = of->parts.count;
    for (uint32_t i = 0; i < *count; i++) {
        const hki_pickle_value *size = hki_pickle_part(pickle, of, i);
        if (size->kind != HKI_PICKLE_INT || size->integer < 0)
            return false;
        sizes[i] = size->integer;
    }
    return true;
}

/* Conjugates and negatives may be views that say so. */
static bool is_lazy(const hki_pickle *pickle, const hki_pickle_value *of)
{
    if (!of || (of->kind != HKI_PICKLE_DICT && of->kind != HKI_PICKLE_CALL))
        return false;
    uint32_t cell = of->parts.first;
    for (uint32_t i = 0; i + 1 < of->parts.count; i += 2) {
        const hki_pickle_cell *value = &pickle->cells[pickle->cells[cell].next];
        const hki_pickle_value *said = hki_pickle_at(pickle, value->value);
        if (said->kind == HKI_PICKLE_BOOL && said->integer)
            return true;
        cell = value->next;
    }
    return false;
}

/* From its first element to its last; false: more than can be. */
static bool measure(hki_torch_view *its)
{
    uint64_t last = 0, product;
    for (uint32_t i = 0; i < its->ndim; i++)
        if (!its->sizes[i])
            return true; /* without elements: span is 0 */
    for (uint32_t i = 0; i < its->ndim; i++)
        if (__builtin_mul_overflow((uint64_t)its->sizes[i] - 1, (uint64_t)its->strides[i],
                                   &product) ||
            __builtin_add_overflow(last, product, &last))
            return false;
    its->span = last + 1;
    return last < UINT64_MAX / 32;
}

bool hki_torch_get_view(const hki_torch_file *file, const hki_pickle_value *arguments,
                        bool has_dtype, const char *name, hki_torch_view *its, hki_io_error *error)
{
    const hki_pickle *pickle = &file->pickle;
    const hki_pickle_value *offset = hki_pickle_part(pickle, arguments, 1);
    uint32_t strides = 0;
    if (!hki_torch_get_reference(pickle, hki_pickle_part(pickle, arguments, 0), &its->storage,
                                 error))
        return false;
    its->row = has_dtype ? hki_torch_row_of(hki_pickle_part(pickle, arguments, 6), HKI_TORCH_DTYPE)
                         : its->storage.row;
    if (its->row < 0 || !offset || offset->kind != HKI_PICKLE_INT || offset->integer < 0 ||
        !get_sizes(pickle, hki_pickle_part(pickle, arguments, 2), its->sizes, &its->ndim) ||
        !get_sizes(pickle, hki_pickle_part(pickle, arguments, 3), its->strides, &strides) ||
        strides != its->ndim)
        return hki_torch_fail(error, name,
                              "has a tensor whose offset, sizes, strides or dtype is none");
    its->offset = (uint64_t)offset->integer;
    its->is_lazy = is_lazy(pickle, hki_pickle_part(pickle, arguments, has_dtype ? 7 : 6));
    its->its = find_storage(file, its->storage.key);
    return measure(its) ||
           hki_torch_fail(error, name, "has a tensor of more elements than there can be");
}

bool hki_torch_check_view(const hki_torch_file *file, const hki_torch_view *its, const char *name,
                          hki_io_error *error)
{
    const uint64_t element_bytes = hki_torch_name_at(its->row)->element_bytes;
    uint64_t said, needed;
    char key[HKI_IO_NAME_BYTES];
    const hki_pickle_value *of = its->storage.key;
    hki_format(key, sizeof key, "%.*s", (int)(of->text.bytes < 100 ? of->text.bytes : 100),
               (const char *)file->pickle.data + of->text.at);
    if (!its->its)
        return hki_io_fail(error, HK_BAD_DATA,
                           "lacks the storage data/%s of tensor \"%s\"; save or fetch it again",
                           key, hki_quote(name, 200).text);
    if (__builtin_mul_overflow((uint64_t)its->storage.count, its->storage.element_bytes, &said) ||
        said > its->its->bytes)
        return hki_io_fail(error, HK_BAD_DATA,
                           "is truncated: storage data/%s has %" PRIu64 " bytes, less than %" PRId64
                           " elements of %s; save or fetch it again",
                           key, its->its->bytes, its->storage.count,
                           hki_torch_name_at(its->storage.row)->name);
    if (__builtin_add_overflow(its->offset, its->span, &needed) ||
        __builtin_mul_overflow(needed, element_bytes, &needed) || needed > said)
        return hki_io_fail(error, HK_BAD_DATA,
                           "has a tensor \"%s\" that does not lie within its storage of %" PRId64
                           " elements; save or fetch it again",
                           hki_quote(name, 200).text, its->storage.count);
    return true;
}
