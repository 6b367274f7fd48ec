/* Zip files with wide fields, and with many members, are read back. What else there is, npz_test.c sees. */
#include "io/npz.h"
#include "io/zip_writer.h"

#include "tests/io_fixture.h"

typedef struct buffer {
    uint8_t *data;
    size_t bytes, capacity;
    size_t most; /* it takes no more */
} buffer;

static bool keep(void *context, const void *data, size_t bytes)
{
    buffer *self = context;
    if (self->bytes + bytes > self->most)
        return false;
    while (self->bytes + bytes > self->capacity) {
        self->capacity = 2 * self->capacity + 1024;
        self->data = realloc(self->data, self->capacity);
    }
    if (bytes)
        memcpy(self->data + self->bytes, data, bytes);
    self->bytes += bytes;
    return true;
}

static const char header[] =
    "\x93NUMPY\1\0\x37\0{'descr':'|u1','fortran_order':False,'shape':(5000,)}  ";

/* Member i holds its own number again and again. False: the buffer took no more. */
static bool make(buffer *to, bool compress, uint64_t narrow_bytes, int count)
{
    uint8_t values[5000];
    hki_zip_writer zip = {
        .write = keep, .context = to, .compress = compress, .narrow_bytes = narrow_bytes};
    const hki_zip_part parts[2] = {{header, sizeof header - 1}, {values, sizeof values}};
    bool is_good = true;
    for (int i = 0; i < count && is_good; i++) {
        char name[32];
        snprintf(name, sizeof name, "x%d.npy", i);
        memset(values, i, sizeof values);
        is_good = hki_zip_add(&zip, name, parts);
    }
    is_good = is_good && hki_zip_finish(&zip);
    CHECK(!zip.lacks_memory && zip.count == (uint64_t)count * is_good + zip.count * !is_good);
    hki_zip_writer_deinit(&zip);
    return is_good;
}

static void check(const buffer *from, int count)
{
    const hki_io_source source = {.file = -1, .data = from->data, .bytes = from->bytes};
    hki_io_contents contents = {0};
    hki_io_error error = {0};
    CHECK(hki_npz_read(&source, &contents, &error));
    CHECK_STR(error.text, "");
    CHECK_EQ_I64((int64_t)contents.count, count);
    for (int i = 0; i < count; i += 1 + count / 50) {
        char name[32];
        uint8_t values[5000] = {0};
        snprintf(name, sizeof name, "x%d", i);
        const hki_io_entry *found = hki_io_contents_find(&contents, name);
        CHECK(found);
        hki_io_entry entry = *found;
        hki_zip_stream *member = hki_npz_open(&source, &entry, &error);
        CHECK(member && hki_zip_read(member, values, sizeof values, &error));
        CHECK_STR(error.text, "");
        CHECK(values[0] == (uint8_t)i && values[4999] == (uint8_t)i);
        hki_zip_close(member);
    }
    hki_io_contents_deinit(&contents);
}

int main(int argc, char **argv)
{
    for (int i = 0; i < 4; i++) {
        buffer whole = {.most = SIZE_MAX};
        CHECK(make(&whole, i & 1, i & 2 ? 0 : HKI_ZIP_NARROW_BYTES, 3));
        check(&whole, 3);
        for (size_t most = 0; most < whole.bytes; most += i & 1 ? 1 : 97) {
            buffer part = {.most = most};
            CHECK(!make(&part, i & 1, i & 2 ? 0 : HKI_ZIP_NARROW_BYTES, 3));
            free(part.data);
        }
        if (argc == 5) /* to look at them by other means */
            fixture_write(argv[1 + i], whole.data, whole.bytes);
        free(whole.data);
    }
    /* More than 16 bits can count. */
    buffer many = {.most = SIZE_MAX};
    CHECK(make(&many, true, HKI_ZIP_NARROW_BYTES, 66000));
    check(&many, 66000);
    free(many.data);
    return check_result();
}
