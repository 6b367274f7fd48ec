/* idx_file: what is read, and each message for what is not. */
#include "data/idx_file.h"

#include "base/sanitizer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#define MIB ((size_t)1 << 20)

typedef struct bytes {
    uint8_t *at;
    size_t count;
} bytes;

static int failures;
static char folder[] = "/tmp/hocket-idx-XXXXXX";
static char message[HKI_DATA_MESSAGE_BYTES];

#define CHECK(good) check((good), #good, __LINE__)

static void check(bool good, const char *what, int line)
{
    if (good)
        return;
    fprintf(stderr, "idx_file_test:%d: %s; message \"%s\"\n", line, what, message);
    failures++;
}

/* ---- making files ---- */

static void *must(void *made)
{
    if (!made) {
        fputs("idx_file_test: cannot set up\n", stderr);
        exit(1);
    }
    return made;
}

static bytes copy_of(const void *from, size_t count)
{
    bytes made = {must(malloc(count + 1)), count};

    if (count > 0)
        memcpy(made.at, from, count);
    return made;
}

/* A header and count bytes 1, 2, 3, … 250, 0, 1, … */
static bytes make_idx(int type, int ndim, const uint32_t *dims, size_t count)
{
    size_t head = 4 + 4 * (size_t)ndim;
    bytes made = {must(calloc(1, head + count + 1)), head + count};

    made.at[2] = (uint8_t)type;
    made.at[3] = (uint8_t)ndim;
    for (int i = 0; i < ndim; i++)
        for (int j = 0; j < 4; j++)
            made.at[4 + 4 * i + j] = (uint8_t)(dims[i] >> (24 - 8 * j));
    for (size_t i = 0; i < count; i++)
        made.at[head + i] = (uint8_t)((i + 1) % 251);
    return made;
}

static bytes gzip_of(bytes from)
{
    z_stream stream = {0};
    bytes made = {0};

    if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        must(NULL);
    made.count = deflateBound(&stream, (uLong)from.count);
    made.at = must(malloc(made.count));
    stream.next_in = from.at;
    stream.avail_in = (uInt)from.count;
    stream.next_out = made.at;
    stream.avail_out = (uInt)made.count;
    if (deflate(&stream, Z_FINISH) != Z_STREAM_END)
        must(NULL);
    made.count = stream.total_out;
    deflateEnd(&stream);
    return made;
}

static bytes joined(bytes a, bytes b)
{
    bytes made = {must(malloc(a.count + b.count + 1)), a.count + b.count};

    memcpy(made.at, a.at, a.count);
    memcpy(made.at + a.count, b.at, b.count);
    return made;
}

/* The path of name in the test's folder, in one of two static buffers by turns. */
static const char *path_of(const char *name)
{
    static char paths[2][256];
    static int turn;

    turn = !turn;
    snprintf(paths[turn], sizeof paths[turn], "%s/%s", folder, name);
    return paths[turn];
}

static const char *write_file(const char *name, bytes content)
{
    const char *path = path_of(name);
    FILE *file = must(fopen(path, "wb"));

    if (fwrite(content.at, 1, content.count, file) != content.count || fclose(file) != 0)
        must(NULL);
    return path;
}

/* ---- expectations ---- */

static bool same(const hki_idx_file *a, const hki_idx_file *b)
{
    return a->ndim == b->ndim && a->type == b->type && a->data_bytes == b->data_bytes &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           (a->data_bytes == 0 || memcmp(a->data, b->data, a->data_bytes) == 0);
}

static bool is_zero(const hki_idx_file *file)
{
    return file->ndim == 0 && file->type == 0 && !file->data && file->data_bytes == 0;
}

/* Parses content and reads it from a file, and wants code and text in the message from both. */
static void expect_limited(bytes content, uint64_t limit, hk_code code, const char *text, int line)
{
    hki_idx_file parsed, read_back;
    const char *path = write_file("some-idx", content);
    hk_code got = hki_idx_file_parse(&parsed, path, content.at, content.count, limit, message,
                                     sizeof message);

    check(got == code, "code of parse", line);
    check(strstr(message, text) != NULL, text, line);
    check((strstr(message, "some-idx: ") != NULL) == (code != HK_OK), "name in message", line);
    got = hki_idx_file_read(&read_back, path, limit, message, sizeof message);
    check(got == code, "code of read", line);
    check(strstr(message, text) != NULL, text, line);
    check(strstr(message, "\n") == NULL, "one line", line);
    check(same(&parsed, &read_back), "parse and read agree", line);
    check(code == HK_OK || (is_zero(&parsed) && is_zero(&read_back)), "zeros on failure", line);
    hki_idx_file_deinit(&parsed);
    hki_idx_file_deinit(&read_back);
    CHECK(is_zero(&parsed));
    hki_idx_file_deinit(&parsed);
    unlink(path);
}

/* The same of content as it is and as gzip; content is freed. */
static void expect(bytes content, hk_code code, const char *text, int line)
{
    bytes packed = gzip_of(content);

    expect_limited(content, 0, code, text, line);
    expect_limited(packed, 0, code, text, line);
    free(packed.at);
    free(content.at);
}

#define EXPECT(content, code, text) expect((content), (code), (text), __LINE__)

static void expect_path(const char *path, hk_code code, const char *text, int line)
{
    hki_idx_file file;

    check(hki_idx_file_read(&file, path, 0, message, sizeof message) == code, "code", line);
    check(strstr(message, text) != NULL, text, line);
    check(is_zero(&file), "zeros on failure", line);
}

/* ---- tests ---- */

static void test_types(void)
{
    static const uint32_t two[] = {2};
    static const uint8_t i16[] = {0, 0, 0x0B, 1, 0, 0, 0, 2, 0x12, 0x34, 0xFF, 0xFE};
    static const uint8_t i32[] = {0, 0, 0x0C, 1, 0, 0, 0, 1, 0x12, 0x34, 0x56, 0x78};
    static const uint8_t f32[] = {0, 0, 0x0D, 1, 0, 0, 0, 1, 0xC0, 0x20, 0, 0};
    static const uint8_t f64[] = {0, 0, 0x0E, 1, 0, 0, 0, 1, 0x3F, 0xF8, 0, 0, 0, 0, 0, 0};
    hki_idx_file file;
    int16_t halves[2];
    int32_t word;
    float single;
    double wide;

    hki_idx_file_parse(&file, "i16", i16, sizeof i16, 0, NULL, 0);
    CHECK(file.type == HKI_IDX_I16 && file.data_bytes == sizeof halves);
    memcpy(halves, file.data, sizeof halves);
    CHECK(halves[0] == 0x1234 && halves[1] == -2);
    hki_idx_file_deinit(&file);
    hki_idx_file_parse(&file, "i32", i32, sizeof i32, 0, NULL, 0);
    memcpy(&word, file.data, sizeof word);
    CHECK(word == 0x12345678);
    hki_idx_file_deinit(&file);
    hki_idx_file_parse(&file, "f32", f32, sizeof f32, 0, NULL, 0);
    memcpy(&single, file.data, sizeof single);
    CHECK(single > -2.51f && single < -2.49f);
    hki_idx_file_deinit(&file);
    hki_idx_file_parse(&file, "f64", f64, sizeof f64, 0, NULL, 0);
    memcpy(&wide, file.data, sizeof wide);
    CHECK(wide > 1.49 && wide < 1.51);
    hki_idx_file_deinit(&file);

    for (int type = 0; type < 256; type++) {
        size_t element_bytes = hki_idx_type_bytes((hki_idx_type)type);
        char text[32];

        CHECK((element_bytes != 0) == (hki_idx_type_name((hki_idx_type)type) != NULL));
        snprintf(text, sizeof text, "has element type 0x%02x; ", (unsigned)type);
        EXPECT(make_idx(type, 1, two, 2 * element_bytes), element_bytes != 0 ? HK_OK : HK_BAD_DATA,
               element_bytes != 0 ? "" : text);
    }
    CHECK(strcmp(hki_idx_type_name(HKI_IDX_I8), "i8") == 0);
    CHECK(hki_idx_type_bytes(HKI_IDX_F64) == 8);
}

static void test_dims(void)
{
    static const uint32_t ones[9] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    static const uint32_t mixed[] = {3, 1, 5, 7};
    static const uint32_t none[] = {5, 0, 7};
    static const uint32_t big[] = {300000};
    hki_idx_file file;
    bytes content = make_idx(HKI_IDX_U8, 4, mixed, 105);

    CHECK(hki_idx_file_parse(&file, "x", content.at, content.count, 0, message, sizeof message) ==
          HK_OK);
    CHECK(message[0] == '\0');
    CHECK(file.ndim == 4 && file.dims[0] == 3 && file.dims[1] == 1 && file.dims[2] == 5 &&
          file.dims[3] == 7 && file.dims[4] == 0 && file.data_bytes == 105);
    CHECK(memcmp(file.data, content.at + 20, 105) == 0);
    hki_idx_file_deinit(&file);
    EXPECT(content, HK_OK, "");

    for (int ndim = 1; ndim <= 8; ndim++)
        EXPECT(make_idx(HKI_IDX_U8, ndim, ones, 1), HK_OK, "");
    EXPECT(make_idx(HKI_IDX_U8, 0, ones, 1), HK_BAD_DATA, "has 0 dimensions; 1 to 8 would be");
    EXPECT(make_idx(HKI_IDX_U8, 9, ones, 1), HK_BAD_DATA, "has 9 dimensions; 1 to 8 would be");
    EXPECT(make_idx(HKI_IDX_F64, 3, none, 0), HK_OK, "");
    EXPECT(make_idx(HKI_IDX_F64, 3, none, 1), HK_BAD_DATA,
           "has trailing data: header promises 0 bytes, file holds 1;");
    EXPECT(make_idx(HKI_IDX_U8, 1, big, 300000), HK_OK, "");
}

static void test_lengths(void)
{
    static const uint32_t six[] = {2, 3};
    static const uint32_t mnist[] = {60000, 28, 28};
    bytes empty = copy_of("", 0), few = copy_of("\0\0\x08", 3), other = copy_of("\x89PNG\r\n", 6);

    expect_limited(empty, 0, HK_BAD_DATA, "is empty: an idx file has a header of 8", __LINE__);
    EXPECT(empty, HK_BAD_DATA, "is empty: ");
    EXPECT(few, HK_BAD_DATA, "is truncated: header should have 4 bytes, file holds 3;");
    EXPECT(make_idx(HKI_IDX_U8, 2, six, 0), HK_BAD_DATA,
           "is truncated: header promises 6 bytes, file holds 0;");
    EXPECT(make_idx(HKI_IDX_U8, 2, six, 5), HK_BAD_DATA,
           "is truncated: header promises 6 bytes, file holds 5;");
    EXPECT(make_idx(HKI_IDX_U8, 3, mnist, 1234), HK_BAD_DATA,
           "is truncated: header promises 47040000 bytes, file holds 1234; fetch");
    EXPECT(make_idx(HKI_IDX_U8, 2, six, 7), HK_BAD_DATA,
           "has trailing data: header promises 6 bytes, file holds 7;");
    EXPECT(make_idx(HKI_IDX_U8, 2, six, 6 + 3 * MIB), HK_BAD_DATA,
           "has trailing data: header promises 6 bytes, file holds at least 1048582;");
    EXPECT(other, HK_BAD_DATA, "is not an idx file: begins with 89 50, 00 00 would be right;");
}

static void test_limits(void)
{
    static const uint32_t most[] = {~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u, ~0u};
    static const uint32_t hidden[] = {0, ~0u, ~0u, ~0u};
    static const uint32_t close_by[] = {1u << 31, 1u << 31, 2};
    static const uint32_t at_default[] = {1u << 31}, past_default[] = {(1u << 31) + 1};
    static const uint32_t ten[] = {10};
    bytes content = make_idx(HKI_IDX_I16, 1, ten, 20);

    expect_limited(content, 20, HK_OK, "", __LINE__);
    expect_limited(content, 19, HK_BAD_DATA, "is too large: header promises 20 bytes, limit 19;",
                   __LINE__);
    free(content.at);
    EXPECT(make_idx(HKI_IDX_U8, 1, at_default, 1), HK_BAD_DATA,
           "header promises 2147483648 bytes, file holds 1;");
    EXPECT(make_idx(HKI_IDX_U8, 1, past_default, 1), HK_BAD_DATA,
           "is too large: header promises 2147483649 bytes, limit 2147483648; fetch");
    EXPECT(make_idx(HKI_IDX_U8, 8, most, 1), HK_BAD_DATA,
           "is too large: dimension 1 is 4294967295, and the first 2 promise more than");
    EXPECT(make_idx(HKI_IDX_U8, 4, hidden, 0), HK_BAD_DATA, "is too large: dimension 2 ");
    EXPECT(make_idx(HKI_IDX_U8, 3, close_by, 1), HK_BAD_DATA, "is too large: dimension 2 is 2,");
    EXPECT(make_idx(HKI_IDX_F64, 2, close_by, 1), HK_BAD_DATA, "is too large: dimension 1 ");
}

static void test_gzip(void)
{
    static const uint32_t dims[] = {4, 25};
    bytes plain = make_idx(HKI_IDX_U8, 2, dims, 100), packed = gzip_of(plain), both, broken;
    bytes junk = {(uint8_t[]){'t', 'a', 'i', 'l'}, 4};
    bytes head = {plain.at, 50}, tail = {plain.at + 50, plain.count - 50};
    bytes packed_head = gzip_of(head), packed_tail = gzip_of(tail);

    both = joined(packed_head, packed_tail); /* several members are one file */
    expect_limited(both, 0, HK_OK, "", __LINE__);
    free(both.at);
    expect_limited(packed_head, 0, HK_BAD_DATA, "promises 100 bytes, file holds 38; fetch",
                   __LINE__);
    both = joined(packed, junk);
    expect_limited(both, 0, HK_BAD_DATA, "has trailing data: 4 bytes or more stand after its gzip",
                   __LINE__);
    free(both.at);
    both = joined(packed, packed);
    expect_limited(both, 0, HK_BAD_DATA,
                   "has trailing data: header promises 100 bytes, file holds 212;", __LINE__);
    free(both.at);

    broken = copy_of(packed.at, packed.count);
    broken.at[broken.count - 8] ^= 1;
    expect_limited(broken, 0, HK_BAD_DATA,
                   "is corrupt: gzip stream fails with \"incorrect data check\"", __LINE__);
    broken.at[broken.count - 8] ^= 1;
    broken.count -= 3;
    expect_limited(broken, 0, HK_BAD_DATA, "file holds 100 before its gzip stream ends early;",
                   __LINE__);
    broken.count = 10;
    expect_limited(broken, 0, HK_BAD_DATA, "gzip stream ends early, with 0 of 4 header bytes;",
                   __LINE__);
    broken.at[2] = 7;
    expect_limited(broken, 0, HK_BAD_DATA, "\"unknown compression method\"", __LINE__);
    free(broken.at);
    free(plain.at);
    free(packed.at);
    free(packed_head.at);
    free(packed_tail.at);
}

/* Every truncation and every flipped bit of a small file: no crash, and no other elements from
 * gzip, which has a check sum. Blocks of the exact size let the address sanitizer see a read too
 * far. */
static void test_damage(void)
{
    static const uint32_t dims[] = {3, 4, 5};
    bytes plain = make_idx(HKI_IDX_U8, 3, dims, 60), whole[] = {plain, gzip_of(plain)};
    hki_idx_file good, file;

    CHECK(hki_idx_file_parse(&good, "x", plain.at, plain.count, 0, NULL, 0) == HK_OK);
    for (int kind = 0; kind < 2; kind++) {
        for (size_t count = 0; count < whole[kind].count; count++) {
            uint8_t *exact = must(malloc(count > 0 ? count : 1));

            memcpy(exact, whole[kind].at, count);
            CHECK(hki_idx_file_parse(&file, "cut", exact, count, MIB, message, sizeof message) ==
                  HK_BAD_DATA);
            CHECK(strncmp(message, "cut: is ", 8) == 0);
            free(exact);
        }
        for (size_t bit = 0; bit < 8 * whole[kind].count; bit++) {
            bytes flipped = whole[kind];
            hk_code code;

            flipped.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
            code = hki_idx_file_parse(&file, "flip", flipped.at, flipped.count, MIB, message,
                                      sizeof message);
            CHECK(code == HK_OK || strncmp(message, "flip: ", 6) == 0);
            CHECK(code != HK_OK || kind == 0 || same(&file, &good));
            hki_idx_file_deinit(&file);
            flipped.at[bit / 8] ^= (uint8_t)(1u << bit % 8);
        }
        free(whole[kind].at);
    }
    hki_idx_file_deinit(&good);
}

static void test_paths(void)
{
    static const uint32_t one[] = {1};
    bytes content = make_idx(HKI_IDX_U8, 1, one, 1);
    char name[600], small[20];
    const char *path = path_of("pipe");
    hki_idx_file file;

    expect_path(path_of("missing"), HK_NOT_FOUND, "missing: there is no such file; check the path",
                __LINE__);
    expect_path("", HK_NOT_FOUND, ": there is no such file", __LINE__);
    expect_path(folder, HK_IO, ": is a directory; pass an idx file", __LINE__);
    expect_path("/dev/zero", HK_IO, "/dev/zero: is a device, pipe or socket;", __LINE__);
    if (access("/proc/self/mem", R_OK) == 0) /* a file whose first page cannot be read */
        expect_path("/proc/self/mem", HK_IO, "mem: cannot be read: Input/output error;", __LINE__);
    CHECK(mkfifo(path, 0600) == 0);
    expect_path(path, HK_IO, "pipe: is a device, pipe or socket;", __LINE__);
    unlink(path);

    path = write_file("secret", content);
    CHECK(chmod(path, 0) == 0);
    if (geteuid() != 0) {
        expect_path(path, HK_IO, "secret: cannot be opened: Permission denied; make", __LINE__);
    } else if (chmod(folder, 0755) == 0 && seteuid(65534) == 0) {
        expect_path(path, HK_IO, "secret: cannot be opened: Permission denied; make", __LINE__);
        CHECK(seteuid(0) == 0);
    }
    unlink(path);
    free(content.at);

    /* Names in messages: the end of a long one, and nothing that steers a terminal. */
    memset(name, 'a', sizeof name);
    memcpy(name + 300, "\xC3\xA9", 2);
    snprintf(name + 302, sizeof name - 302, "%0238d!", 0);
    hki_idx_file_parse(&file, name, "", 0, 0, message, sizeof message);
    CHECK(strncmp(message, "...000", 6) == 0 && strstr(message, "00!: is empty") != NULL);
    hki_idx_file_parse(&file, "a\033[31m\nb", "", 0, 0, message, sizeof message);
    CHECK(strncmp(message, "a\\x1b[31m\\x0ab: is empty", 24) == 0);
    hki_idx_file_parse(&file, "a", "", 0, 0, small, sizeof small);
    CHECK(strcmp(small, "a: is empty: an idx") == 0);
    hki_idx_file_parse(&file, "abcdef", "", 0, 0, small, 4);
    CHECK(strcmp(small, "abc") == 0);
}

/* In a child that may have room more bytes: the code, and the text in the message. */
static void expect_within(size_t room, bytes content, hk_code code, const char *text)
{
    int status = 0;
    pid_t child = fork();

    if (child == 0) {
        hki_idx_file file;
        unsigned long pages = 0;
        FILE *statm = fopen("/proc/self/statm", "r");
        struct rlimit limit;

        if (!statm || fscanf(statm, "%lu", &pages) != 1 || fclose(statm) != 0)
            _exit(77);
        limit.rlim_cur = limit.rlim_max = pages * (size_t)sysconf(_SC_PAGESIZE) + room;
        if (setrlimit(RLIMIT_AS, &limit) != 0)
            _exit(77);
        if (hki_idx_file_parse(&file, "x", content.at, content.count, 0, message, sizeof message) !=
                code ||
            !strstr(message, text)) {
            fprintf(stderr, "idx_file_test: in %zu bytes: %s\n", room, message);
            _exit(1);
        }
        _exit(0);
    }
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
          (WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77));
    free(content.at);
}

static void test_memory(void)
{
    static const uint32_t huge[] = {1u << 31}, large[] = {64u << 20};
    bytes content, packed;

    if (HKI_SANITIZED) /* they need address space of their own */
        return;
    /* A promise costs nothing; */
    expect_within(4 * MIB, make_idx(HKI_IDX_U8, 1, huge, 100), HK_BAD_DATA, "is truncated");
    /* data that is really there does. */
    content = make_idx(HKI_IDX_U8, 1, large, 64 * MIB);
    packed = gzip_of(content);
    free(content.at);
    expect_within(16 * MIB, packed, HK_OUT_OF_MEMORY, "not enough memory: needs 67108864 bytes,");
}

int main(void)
{
    must(mkdtemp(folder));
    test_types();
    test_dims();
    test_lengths();
    test_limits();
    test_gzip();
    test_damage();
    test_paths();
    test_memory();
    if (rmdir(folder) != 0)
        fprintf(stderr, "idx_file_test: %s is left: %s\n", folder, strerror(errno));
    return failures != 0;
}
