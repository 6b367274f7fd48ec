/* npz: what is written and read back, and each message for what is not. */
#include "tests/io_fixture.h"

static void test_round(bool compress, const char *device_name)
{
    HK_SCOPE;
    const hk_device device = hk_device_named(device_name);
    const char *path = fixture_path("round.npz");
    unsigned char values[96];
    hk_save_entry entries[HK_DTYPE_COUNT + 2];
    size_t count = 0;
    for (int i = 0; i < 96; i++)
        values[i] = (unsigned char)(7 * i);
    const unsigned char bools[6] = {0, 1, 1, 0, 0, 1};
    for (int i = 0; i < HK_DTYPE_COUNT; i++)
        if (i != HK_BF16)
            entries[count++] = (hk_save_entry){
                hk_dtype_name((hk_dtype)i),
                hk_from_host(i == HK_BOOL ? bools : values, hk_shape(2, 3), (hk_dtype)i, device)};
    entries[count++] = (hk_save_entry){"a/b.ü", hk_full(hk_shape(300, 1000), 2, HK_F32, device)};
    entries[count++] = (hk_save_entry){"none", hk_full(hk_shape(0, 3), 2, HK_F32, device)};
    const hk_save_options options = {.compress = compress};
    CHECK_STR(hk_status_message(hk_save(path, entries, count, &options)), "ok");
    size_t bytes, again;
    char *data = fixture_read(path, &bytes);
    CHECK(compress ? bytes < 10000 : bytes == 1 << 20); /* which is all that is read */
    CHECK(hk_ok(hk_save(path, entries, count, &options)));
    char *same = fixture_read(path, &again);
    CHECK(bytes == again && !memcmp(data, same, bytes));
    free(data);
    free(same);

    hk_archive *archive = hk_load(path, device, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK_EQ_I64(hk_archive_count(archive), (int64_t)count);
    for (size_t i = 0; i < count - 2; i++) {
        CHECK_STR(hk_archive_name(archive, i), entries[i].name);
        hk_array *x = hk_archive_get(archive, entries[i].name);
        const hk_dtype dtype = hk_array_dtype(entries[i].array);
        CHECK(hk_array_dtype(x) == dtype && hk_ndim(x) == 2 && hk_dim(x, 1) == 3);
        CHECK_STR(hk_device_name(hk_array_device(x)), device_name);
        CHECK(fixture_holds(x, dtype == HK_BOOL ? bools : values, 6 * hk_dtype_bytes(dtype)));
    }
    CHECK_EQ_I64(hk_item(hk_sum(hk_archive_get(archive, "a/b.ü"), NULL), NULL), 600000);
    CHECK(hk_ok(hk_wait(hk_archive_get(archive, "none"))));
    CHECK(hk_dim(hk_archive_get(archive, "none"), 1) == 3);
    hk_archive_release(archive);
}

static void test_refused(void)
{
    HK_SCOPE;
    char name[66000];
    memset(name, 'x', sizeof name);
    name[sizeof name - 1] = '\0';
    const char *path = fixture_path("refused.npz");
    hk_save_entry entry = {name, hk_full(hk_shape(), 2, HK_F32, (hk_device){0})};
    fixture_check_message(hk_save(path, &entry, 1, NULL), HK_INVALID_ARGUMENT,
                          "entries[0].name has 65999 bytes; at most 65000");
    entry = (hk_save_entry){"x", hk_full(hk_shape(), 2, HK_BF16, (hk_device){0})};
    fixture_check_message(hk_save(path, &entry, 1, NULL), HK_UNSUPPORTED, "is bfloat16, which npy");
    CHECK(access(path, F_OK));
    CHECK(hk_ok(hk_save(path, NULL, 0, NULL)));
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    CHECK(hk_archive_count(archive) == 0);
    hk_archive_release(archive);
    entry = (hk_save_entry){"x", hk_full(hk_shape(), 2, HK_F32, (hk_device){0})};
    fixture_check_message(
        hk_save("/dev/full", &entry, 1, &(hk_save_options){.format = HK_FORMAT_NPZ}), HK_IO,
        "/dev/full: cannot be written: No space left");
}

static const float good[] = {1, 2, 3, 4};

/* The bytes of a file with the arrays x and y. */
static char *small(bool compress, size_t *bytes)
{
    HK_SCOPE;
    const char *path = fixture_path("small.npz");
    hk_array *x = hk_from_host(good, hk_shape(4), HK_F32, (hk_device){0});
    const hk_save_entry entries[] = {{"x", x}, {"y", x}};
    CHECK(hk_ok(hk_save(path, entries, 2, &(hk_save_options){.compress = compress})));
    return fixture_read(path, bytes);
}

/* x of the file, changed in one place of its directory, and in the same of its member where that is not 0, is refused so. */
static void changed(size_t offset, size_t local, unsigned value, hk_code code, const char *part)
{
    HK_SCOPE;
    const char *path = fixture_path("changed.npz");
    size_t bytes;
    char *data = small(true, &bytes), *entry = memmem(data, bytes, "PK\1\2", 4);
    CHECK(entry);
    for (size_t i = 0; i < 4 && value >> 8 * i; i++) {
        entry[offset + i] = (char)(value >> 8 * i);
        if (local)
            data[local + i] = entry[offset + i];
    }
    fixture_write(path, data, bytes);
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK_STR(hk_status_message(hk_archive_status(archive)), "ok");
    const hk_status *status = hk_wait(hk_archive_get(archive, "x"));
    fixture_check_message(status, code, part);
    CHECK(strstr(hk_status_message(status), "changed.npz: array \"x\""));
    CHECK(fixture_holds(hk_archive_get(archive, "y"), good, sizeof good));
    hk_archive_release(archive);
    free(data);
}

/* The record at the end, changed in one place. */
static void changed_end(size_t offset, unsigned char value, const char *part)
{
    const char *path = fixture_path("changed.npz");
    size_t bytes;
    char *data = small(true, &bytes), *end = memmem(data, bytes, "PK\5\6", 4);
    CHECK(end);
    end[offset] = (char)value;
    fixture_write(path, data, bytes);
    fixture_refused(path, HK_BAD_DATA, part);
    free(data);
}

static void test_changed(void)
{
    changed_end(10, 1, "it holds more than the 1 members that it promises");
    changed_end(10, 3, "has a damaged directory at its member 2 of 3");
    changed_end(12, 0, "has a damaged directory at its member");
    changed_end(15, 255, "no zip directory is at its end");
    changed_end(16, 0, "has a damaged directory at its member 0 of 2");
    changed_end(19, 1, "no zip directory is at its end");
    changed_end(20, 1, "no zip directory is at its end");

    changed(8, 6, 0x801, HK_UNSUPPORTED, "\" is encrypted; a plain one");
    changed(10, 8, 12, HK_UNSUPPORTED, "is compressed by method 12; stored (0) or deflated (8)");
    changed(16, 14, 0x12345678, HK_BAD_DATA, "\": is damaged: its check sum differs");
    changed(20, 18, 0x01020304, HK_BAD_DATA, "is said to have 144 bytes, packed into 16909060");
    changed(24, 22, 0x7fffffff, HK_BAD_DATA, "is said to have 2147483647 bytes, packed into");
    changed(24, 22, 0x00000fff, HK_BAD_DATA, "has trailing data: its shape and dtype take 16");
    changed(42, 0, 0x01020304, HK_BAD_DATA, "is not where the directory says");
    hk_failures_clear();
}

/* A member that is no array, and one whose array is none of ours. */
static void test_members(void)
{
    HK_SCOPE;
    const char *path = fixture_path("members.npz");
    size_t bytes;
    char *data = small(false, &bytes);
    for (char *at = data; (at = memmem(at, bytes - (size_t)(at - data), "x.npy", 5));)
        memcpy(at, "x.txt", 5);
    fixture_write(path, data, bytes);
    hk_archive *archive = hk_load(path, (hk_device){0}, NULL);
    CHECK_STR(hk_archive_name(archive, 0), "x.txt");
    fixture_check_message(hk_wait(hk_archive_get(archive, "x.txt")), HK_UNSUPPORTED,
                          "array \"x.txt\" is no member with the ending .npy");
    hk_archive_release(archive);
    free(data);

    data = small(false, &bytes);
    memcpy(memmem(data, bytes, "<f4", 3), "<V4", 3);
    memcpy(memmem(data, bytes, "(4,)", 4), "(3,)", 4);
    fixture_write(path, data, bytes);
    archive = hk_load(path, (hk_device){0}, NULL);
    fixture_check_message(hk_wait(hk_archive_get(archive, "x")), HK_UNSUPPORTED,
                          "members.npz: array \"x\" has dtype <V4;");
    hk_archive_release(archive);
    memcpy(memmem(data, bytes, "<V4", 3), "<f4", 3);
    fixture_write(path, data, bytes);
    archive = hk_load(path, (hk_device){0}, NULL);
    fixture_check_message(hk_wait(hk_archive_get(archive, "x")), HK_BAD_DATA,
                          "array \"x\": has trailing data: its shape and dtype take 12 bytes");
    hk_archive_release(archive);

    for (char *at = data; (at = memmem(at, bytes - (size_t)(at - data), "y.npy", 5));)
        memcpy(at, "x.npy", 5);
    fixture_write(path, data, bytes);
    fixture_refused(path, HK_BAD_DATA, "has array \"x\" twice");
    /* A name that is none does not matter to others. */
    bool is_first = true;
    for (char *at = data; (at = memmem(at, bytes - (size_t)(at - data), "x.npy", 5)); at += 5) {
        memcpy(at, is_first ? "\xff.npy" : "x.npy", 5);
        is_first = !is_first;
    }
    fixture_write(path, data, bytes);
    archive = hk_load(path, (hk_device){0}, NULL);
    CHECK(hk_archive_count(archive) == 2 && hk_archive_has(archive, "\\xff.npy"));
    CHECK(hk_ok(hk_wait(hk_archive_get(archive, "x"))));
    const hk_status *status = hk_wait(hk_archive_get(archive, "\\xff.npy"));
    CHECK(hk_status_code(status) == HK_UNSUPPORTED &&
          strstr(hk_status_message(status), "not UTF-8"));
    hk_archive_release(archive);
    free(data);
    hk_failures_clear();
}

/* Every prefix is refused. With any bit turned, what is read is what was saved, or fails: there are check sums. */
static void test_damaged(bool compress)
{
    const char *bad = fixture_path("bad.npz");
    size_t bytes;
    char *data = small(compress, &bytes);
    for (size_t i = 0; i < bytes; i++) {
        fixture_write(bad, data, i);
        fixture_refused(bad, HK_BAD_DATA, "is no zip file, or is truncated");
    }
    int failed = 0;
    for (size_t bit = 0; bit < 8 * bytes; bit++) {
        HK_SCOPE;
        float values[4];
        data[bit / 8] ^= (char)(1 << bit % 8);
        fixture_write(bad, data, bytes);
        hk_archive *archive = hk_load(bad, (hk_device){0}, NULL);
        for (int i = 0; i < 2; i++) {
            hk_array *x = hk_archive_get(archive, i ? "x" : "y");
            const hk_status *status = hk_to_host(x, values, sizeof values);
            failed += !hk_ok(status);
            CHECK(!hk_ok(status) ? strlen(hk_status_message(status)) > 30
                                 : hk_ndim(x) == 1 && !memcmp(values, good, sizeof good));
        }
        hk_archive_release(archive);
        data[bit / 8] ^= (char)(1 << bit % 8);
    }
    CHECK(failed > 100);
    free(data);
    hk_failures_clear();
}

int main(void)
{
    setenv("HOCKET_SIM", "1", 1);
    fixture_begin();
    test_round(false, "cpu:0");
    test_round(true, "cpu:0");
    test_round(true, "sim:0");
    test_refused();
    test_changed();
    test_members();
    test_damaged(false);
    test_damaged(true);
    fixture_end();
    return check_result();
}
