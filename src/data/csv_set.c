/* Tables of numbers: as an array, and as a data set. */
#include "array/array.h"
#include "base/quote.h"
#include "base/source.h"
#include "data/csv_file.h"
#include "data/data_file.h"
#include "data/data_set.h"

#include <hocket/data_sets.h>

#include <inttypes.h>
#include <stdlib.h>

static hk_code read_table(hki_csv_table *table, const char *path, const hk_csv_options *options,
                          char message[HKI_DATA_MESSAGE_BYTES])
{
    static const hk_csv_options defaults = {0};
    uint8_t *bytes;
    size_t size = 0;
    if (!options)
        options = &defaults;
    const char delimiter = options->delimiter ? options->delimiter : ',';
    *table = (hki_csv_table){0};
    if (delimiter == '"' || delimiter == '\n' || delimiter == '\r')
        return hki_data_fail(HK_INVALID_ARGUMENT, message, HKI_DATA_MESSAGE_BYTES,
                             "option delimiter",
                             "is a quote or a line's end; another character "
                             "would be right");
    hk_code code = hki_data_file_read(path, "pass a table of numbers", options->byte_limit, &bytes,
                                      &size, message);
    if (code != HK_OK)
        return code;
    code = hki_csv_parse(table, path, (const char *)bytes, size, delimiter, options->has_header,
                         options->byte_limit, message);
    free(bytes);
    return code;
}

hk_array *(hk_csv_load)(const char *path, const hk_csv_options *options)
{
    HKI_TAKE_OPTIONS(hk_csv_options, options);
    char message[HKI_DATA_MESSAGE_BYTES];
    hki_csv_table table;
    const hk_code code = read_table(&table, path, options, message);
    if (code != HK_OK)
        return hki_array_create_failed(NULL, "csv_load", NULL, 0, code, "%s", message);
    hk_array *x = (hk_from_host)(table.values, hk_shape(table.rows, table.columns), HK_F64,
                                 (hk_device){NULL});
    free(table.values);
    return x;
}

/* ---- data sets ------------------------------------------------------------------------------------------- */

static hk_code fill(const hk_data_set *set, const hki_data_batch *batch, int64_t begin, int64_t end,
                    char message[HKI_DATA_MESSAGE_BYTES])
{
    const hki_csv_table *table = set->own;
    const int64_t inputs = set->fields[0].shape.dims[0], targets = table->columns - inputs;
    const bool is_class = set->class_count > 0;
    (void)message;
    for (int64_t row = begin; row < end; row++) {
        const double *from = table->values + batch->indices[row] * table->columns;
        float *x = (float *)batch->fields[0] + row * inputs;
        for (int64_t i = 0; i < inputs; i++)
            x[i] = (float)from[i];
        if (is_class)
            ((int64_t *)batch->fields[1])[row] = (int64_t)from[inputs];
        for (int64_t i = 0; i < targets && !is_class; i++)
            ((float *)batch->fields[1])[row * targets + i] = (float)from[inputs + i];
    }
    return HK_OK;
}

static void deinit(void *own)
{
    free(((hki_csv_table *)own)->values);
    free(own);
}

static const hki_data_class csv_class = {.fill = fill, .deinit = deinit};

/* The largest class, plus one; 0, and the set has failed, where one is none. */
static int count_classes(hk_data_set *set, const char *path, const hki_csv_table *table)
{
    int64_t most = 0;
    for (int64_t row = 0; row < table->rows; row++) {
        const double value = table->values[(row + 1) * table->columns - 1];
        if (!(value >= 0 && value < 0x1p31) || value != (double)(int64_t)value) {
            hki_data_set_fail(set, "data_set_of_csv", HK_BAD_DATA,
                              "%s: the class of sample %" PRId64
                              " is %g; a whole number from 0 to 2^31 - 1 would be right",
                              hki_quote(path, 240).text, row, value);
            return 0;
        }
        most = (int64_t)value > most ? (int64_t)value : most;
    }
    return most < INT32_MAX ? (int)most + 1 : INT32_MAX;
}

static void describe(hk_data_set *set, const char *path, int targets)
{
    const hki_csv_table *table = set->own;
    const int64_t last = targets < 0 ? 1 : targets, inputs = table->columns - last;
    if (targets < -1 || inputs < 1) {
        hki_data_set_fail(set, "data_set_of_csv", HK_INVALID_ARGUMENT,
                          "targets is %d, but %s has %" PRId64
                          " columns; -1, or 0 to one less, would be right",
                          targets, hki_quote(path, 240).text, table->columns);
        return;
    }
    set->size = table->rows;
    set->sample_ns = (double)table->columns;
    if (targets < 0)
        set->class_count = count_classes(set, path, table);
    if (!hk_ok(set->status) ||
        !hki_data_set_add_field(set, "data_set_of_csv", hk_shape(inputs), HK_F32))
        return;
    if (targets)
        hki_data_set_add_field(set, "data_set_of_csv", targets < 0 ? hk_shape() : hk_shape(targets),
                               targets < 0 ? HK_I64 : HK_F32);
}

hk_data_set *(hk_data_set_of_csv)(const char *path, int targets, const hk_csv_options *options)
{
    HKI_TAKE_OPTIONS(hk_csv_options, options);
    char message[HKI_DATA_MESSAGE_BYTES];
    hk_data_set *set = hki_data_set_new();
    if (hki_data_set_is_static(set))
        return set;
    set->own = calloc(1, sizeof(hki_csv_table));
    if (!set->own) {
        hki_data_set_fail_with(set, hki_status_no_memory());
        return set;
    }
    set->class = &csv_class;
    const hk_code code = read_table(set->own, path, options, message);
    if (code == HK_OK)
        describe(set, path, targets);
    else
        hki_data_set_fail(set, "data_set_of_csv", code, "%s", message);
    return set;
}
