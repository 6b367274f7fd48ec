/* Files as PyTorch's torch.save writes them, made by hand: pickles by their opcodes, and zip files of stored members. */
#ifndef HOCKET_TESTS_TORCH_FIXTURE_H
#define HOCKET_TESTS_TORCH_FIXTURE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TORCH_MOST_BYTES = 1 << 16, TORCH_MOST_MEMBERS = 16 };

typedef struct torch_bytes {
    uint8_t data[TORCH_MOST_BYTES];
    size_t bytes;
} torch_bytes;

static inline void torch_put(torch_bytes *to, const void *data, size_t bytes)
{
    if (bytes > sizeof to->data - to->bytes)
        abort();
    memcpy(to->data + to->bytes, data, bytes);
    to->bytes += bytes;
}

static inline void torch_number(torch_bytes *to, uint64_t number, int bytes)
{
    for (int i = 0; i < bytes; i++)
        torch_put(to, &(uint8_t){(uint8_t)(i < 8 ? number >> 8 * i : 0)}, 1);
}

/* ---- pickles --------------------------------------------------------------------------------------------- */

/* Opcodes as a text; %u, of four bytes, for each further argument would be too clever: they are put by the functions below. */
static inline void torch_ops(torch_bytes *to, const char *ops)
{
    torch_put(to, ops, strlen(ops));
}

static inline void torch_begin(torch_bytes *to)
{
    to->bytes = 0;
    torch_ops(to, "\x80\x02");
}

static inline void torch_text(torch_bytes *to, const char *text)
{
    torch_ops(to, "X");
    torch_number(to, strlen(text), 4);
    torch_ops(to, text);
}

static inline void torch_int(torch_bytes *to, int32_t number)
{
    torch_ops(to, "J");
    torch_number(to, (uint32_t)number, 4);
}

static inline void torch_float(torch_bytes *to, double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    torch_ops(to, "G");
    torch_number(to, __builtin_bswap64(bits), 8);
}

static inline void torch_sizes(torch_bytes *to, const int *sizes, int count)
{
    torch_ops(to, "(");
    for (int i = 0; i < count; i++)
        torch_int(to, sizes[i]);
    torch_ops(to, "t");
}

/* A tensor's storage: class such as "FloatStorage". */
static inline void torch_storage(torch_bytes *to, const char *class, const char *key, int count)
{
    torch_ops(to, "(");
    torch_text(to, "storage");
    torch_ops(to, "ctorch\n");
    torch_ops(to, class);
    torch_ops(to, "\n");
    torch_text(to, key);
    torch_text(to, "cpu");
    torch_int(to, count);
    torch_ops(to, "tQ");
}

typedef struct torch_view {
    const char *class, *key;
    int count, offset, ndim, sizes[12], strides[12];
    const char *dtype; /* of an untyped storage, whose count are bytes; NULL: the class says it */
    const char *seen;  /* opcodes of how it is to be seen; NULL: as it is */
} torch_view;

static inline void torch_tensor(torch_bytes *to, torch_view its)
{
    torch_ops(to, its.dtype ? "ctorch._utils\n_rebuild_tensor_v3\n("
                            : "ctorch._utils\n_rebuild_tensor_v2\n(");
    torch_storage(to, its.class, its.key, its.count);
    torch_int(to, its.offset);
    torch_sizes(to, its.sizes, its.ndim);
    torch_sizes(to, its.strides, its.ndim);
    torch_ops(to, "\x89"
                  "ccollections\nOrderedDict\n)R");
    if (its.dtype) {
        torch_ops(to, "ctorch\n");
        torch_ops(to, its.dtype);
        torch_ops(to, "\n");
    }
    torch_ops(to, its.seen ? its.seen : "");
    torch_ops(to, "tR");
}

/* ---- zip files ------------------------------------------------------------------------------------------- */

typedef struct torch_zip {
    torch_bytes file, directory;
    unsigned count;
} torch_zip;

/* Of both headers, from the version needed on. */
static inline void torch_facts(torch_bytes *to, unsigned method, const char *name, size_t bytes)
{
    torch_number(to, 20, 2);
    torch_number(to, 0, 2);
    torch_number(to, method, 2);
    torch_number(to, 0, 8); /* time, and a check sum that is left out */
    torch_number(to, bytes, 4);
    torch_number(to, bytes, 4);
    torch_number(to, strlen(name), 2);
    torch_number(to, 0, 2);
}

static inline void torch_member_as(torch_zip *to, const char *name, const void *data, size_t bytes,
                                   unsigned method)
{
    const size_t at = to->file.bytes;
    torch_ops(&to->file, "PK\x03\x04");
    torch_facts(&to->file, method, name, bytes);
    torch_ops(&to->file, name);
    torch_put(&to->file, data, bytes);
    torch_ops(&to->directory, "PK\x01\x02");
    torch_number(&to->directory, 20, 2);
    torch_facts(&to->directory, method, name, bytes);
    torch_number(&to->directory, 0, 10);
    torch_number(&to->directory, at, 4);
    torch_ops(&to->directory, name);
    to->count++;
}

static inline void torch_member(torch_zip *to, const char *name, const void *data, size_t bytes)
{
    torch_member_as(to, name, data, bytes, 0);
}

static inline void torch_finish(torch_zip *to)
{
    const size_t at = to->file.bytes;
    torch_put(&to->file, to->directory.data, to->directory.bytes);
    torch_ops(&to->file, "PK\x05\x06");
    torch_number(&to->file, 0, 4);
    torch_number(&to->file, to->count, 2);
    torch_number(&to->file, to->count, 2);
    torch_number(&to->file, to->directory.bytes, 4);
    torch_number(&to->file, at, 4);
    torch_number(&to->file, 0, 2);
}

/* ---- files of both kinds --------------------------------------------------------------------------------- */

/* A checkpoint: a state dict within a dict, views of one storage, numbers and texts, as torch.save has them. Its storages are "0",
 * six float32, and "1", one int64. */
static inline void torch_checkpoint(torch_bytes *to)
{
    torch_begin(to);
    torch_ops(to, "}q\x01(");
    torch_text(to, "epoch");
    torch_int(to, 12);
    torch_text(to, "lr");
    torch_float(to, 0.1);
    torch_text(to, "best");
    torch_ops(to, "\x88");
    torch_text(to, "none");
    torch_ops(to, "N");
    torch_text(to, "model");
    torch_ops(to, "ccollections\nOrderedDict\nq\x02)Rq\x03(");
    torch_text(to, "0.weight");
    torch_tensor(to, (torch_view){.class = "FloatStorage",
                                  .key = "0",
                                  .count = 6,
                                  .ndim = 2,
                                  .sizes = {3, 2},
                                  .strides = {1, 3}});
    torch_text(to, "0.bias");
    torch_ops(to, "ctorch._utils\n_rebuild_parameter\n(");
    torch_tensor(to, (torch_view){.class = "FloatStorage",
                                  .key = "0",
                                  .count = 6,
                                  .offset = 3,
                                  .ndim = 1,
                                  .sizes = {3},
                                  .strides = {1}});
    torch_ops(to, "\x88h\x02)RtR");
    torch_text(to, "1.num_batches_tracked");
    torch_tensor(to, (torch_view){.class = "LongStorage", .key = "1", .count = 1});
    torch_ops(to, "u}");
    torch_text(to, "_metadata");
    torch_ops(to, "h\x02)Rsb"); /* attributes of the dict */
    torch_text(to, "list");
    torch_ops(to, "](");
    torch_int(to, -3);
    torch_text(to, "a \"b\"\n");
    torch_ops(to, "\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff");
    torch_number(to, 0, 1);
    torch_ops(to, "e");
    torch_ops(to, "u.");
}

static const float torch_values[6] = {0, 1, 2, 3, 4, 5};
static const int64_t torch_batches = 7;

static inline void torch_zip_of(torch_zip *to, const torch_bytes *pickle)
{
    *to = (torch_zip){0};
    torch_member(to, "net/data.pkl", pickle->data, pickle->bytes);
    torch_member(to, "net/byteorder", "little", 6);
    torch_member(to, "net/data/0", torch_values, sizeof torch_values);
    torch_member(to, "net/data/1", &torch_batches, sizeof torch_batches);
    torch_member(to, "net/version", "3\n", 2);
    torch_finish(to);
}

/* As versions before 1.6 wrote them. */
static inline void torch_old_of(torch_bytes *to, const torch_bytes *pickle)
{
    static const uint8_t front[] = "\x80\x02\x8a\x0al\xfc\x9c"
                                   "F\xf9 j\xa8P\x19.\x80\x02M\xe9\x03.\x80\x02}q\x00(";
    to->bytes = 0;
    torch_put(to, front, sizeof front - 1);
    torch_text(to, "protocol_version");
    torch_ops(to, "M\xe9\x03");
    torch_text(to, "little_endian");
    torch_ops(to, "\x88u.");
    torch_put(to, pickle->data, pickle->bytes);
    torch_ops(to, "\x80\x02](");
    torch_text(to, "0");
    torch_text(to, "1");
    torch_ops(to, "e.");
    torch_number(to, 6, 8);
    torch_put(to, torch_values, sizeof torch_values);
    torch_number(to, 1, 8);
    torch_put(to, &torch_batches, sizeof torch_batches);
}

#endif
