/* Fuzzing of the readers of tables of numbers and of CIFAR's files: whatever the bytes, no crash, no leak, no more memory than the
 * limit, a message with every failure.
 *
 * Input: bit 0 of byte 0 says which; of tables bit 1 whether there is a header, and bits 2 and 3 the delimiter; the rest is the
 * file. Run as fuzz_driver.h says. */
#include "fuzz/fuzz_driver.h"

#include "data/cifar_file.h"
#include "data/csv_file.h"

enum { LIMIT = 1 << 16 };

static void check(hk_code code, const char *message)
{
    fuzz_require((code == HK_OK) == (message[0] == '\0'), "a message and a failure go together");
    fuzz_require(code == HK_OK || (!strncmp(message, "x: ", 3) && strlen(message) < 400),
                 "no message");
    fuzz_require(code == HK_OK || code == HK_BAD_DATA || code == HK_OUT_OF_MEMORY, "wrong code");
}

static void run_csv(int kind, const uint8_t *data, size_t size)
{
    char message[HKI_DATA_MESSAGE_BYTES], *text = malloc(size + 1);
    hki_csv_table table;
    fuzz_require(text, "no memory");
    memcpy(text, data, size);
    text[size] = '\0';
    const hk_code code =
        hki_csv_parse(&table, "x", text, size, ",;\t "[kind >> 2 & 3], kind & 2, LIMIT, message);
    check(code, message);
    fuzz_require((code == HK_OK) == (table.values != NULL), "values and success go together");
    if (code == HK_OK) {
        double sum = 0;
        fuzz_require(table.rows * table.columns <= (int64_t)(LIMIT / sizeof(double)), "too many");
        for (int64_t i = 0; i < table.rows * table.columns; i++)
            sum += table.values[i];
        fuzz_require(sum < 0 || !(sum < 0), "read"); /* all are there to be read */
    }
    free(table.values);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char message[HKI_DATA_MESSAGE_BYTES];
    int64_t count = -1;
    if (!size)
        return 0;
    if (!(data[0] & 1)) {
        run_csv(data[0], data + 1, size - 1);
        return 0;
    }
    const int classes = data[0] & 2 ? 100 : 10;
    const hk_code code = hki_cifar_check("x", data + 1, size - 1, classes, &count, message);
    check(code, message);
    fuzz_require(code != HK_OK || (size_t)count * hki_cifar_record_bytes(classes) == size - 1,
                 "wrong count");
    return 0;
}

#ifndef HOCKET_LIBFUZZER

static void run_seeds(void)
{
    static const char *const seeds[] = {
        "1,2,3\n4.5,-6e7,\n", "\"a\",\"b,\"\"c\"\n\" 1\" , 2\r\n", "1;2\r3;4", "\t\n1\t2\n\n3\tnan",
        "1 2\n3 4\n",         "\357\273\2771,inf\n0x1p3,2",
    };
    uint8_t seed[128];
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++)
        for (int kind = 0; kind < 16; kind += 2) {
            const size_t length = strlen(seeds[i]);
            seed[0] = (uint8_t)kind;
            memcpy(seed + 1, seeds[i], length);
            fuzz_seed(seed, length + 1);
        }
    /* Long ones are only cut short. */
    uint8_t *records = calloc(3 * 3074 + 2, 1);
    fuzz_require(records, "no memory");
    for (int kind = 1; kind <= 3; kind += 2)
        for (size_t length = 0; length <= 3 * 3074 + 1; length += length % 3074 ? 1 : 500) {
            records[0] = (uint8_t)kind;
            records[1 + length % 3073] = (uint8_t)length;
            fuzz_exact(records, length + 1);
        }
    free(records);
}

int main(int argc, char **argv)
{
    if (argc == 1)
        run_seeds();
    return fuzz_paths(argc, argv);
}

#endif
