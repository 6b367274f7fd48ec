#include "op/shape/rectangle.h"

#include "base/kernel_isa.h"

#include <hocket/base.h>

#include <stdbool.h>
#include <string.h>

/* What lies within a few cache lines of both sides goes together. */
enum { TILE = 16 };

#define RECTANGLE(type)                                                                            \
    /* By way of memory of its own, whose places the compiler knows. */                            \
    static void whole_##type(const hki_rectangle *self, const char *in, char *out)                 \
    {                                                                                              \
        type tile[TILE][TILE], line[TILE];                                                         \
        for (int64_t j = 0; j < TILE; j++)                                                         \
            memcpy(tile[j], in + j * self->in_column, sizeof tile[j]);                             \
        for (int64_t i = 0; i < TILE; i++) {                                                       \
            for (int64_t j = 0; j < TILE; j++)                                                     \
                line[j] = tile[j][i];                                                              \
            memcpy(out + i * self->out_row, line, sizeof line);                                    \
        }                                                                                          \
    }                                                                                              \
    static void part_##type(const hki_rectangle *self, const char *in, char *out, int64_t rows,    \
                            int64_t columns)                                                       \
    {                                                                                              \
        for (int64_t i = 0; i < rows; i++)                                                         \
            for (int64_t j = 0; j < columns; j++)                                                  \
                *(type *)(out + i * self->out_row + j * self->out_column) =                        \
                    *(const type *)(in + i * self->in_row + j * self->in_column);                  \
    }                                                                                              \
    static void tiles_##type(const hki_rectangle *self, const char *in, char *out)                 \
    {                                                                                              \
        const bool is_dense =                                                                      \
            self->in_row == (int64_t)sizeof(type) && self->out_column == (int64_t)sizeof(type);    \
        for (int64_t i = 0; i < self->rows; i += TILE)                                             \
            for (int64_t j = 0; j < self->columns; j += TILE) {                                    \
                const int64_t rows = self->rows - i, columns = self->columns - j;                  \
                const char *from = in + i * self->in_row + j * self->in_column;                    \
                char *to = out + i * self->out_row + j * self->out_column;                         \
                if (is_dense && rows >= TILE && columns >= TILE)                                   \
                    whole_##type(self, from, to);                                                  \
                else                                                                               \
                    part_##type(self, from, to, rows < TILE ? rows : TILE,                         \
                                columns < TILE ? columns : TILE);                                  \
            }                                                                                      \
    }
RECTANGLE(uint8_t)
RECTANGLE(uint16_t)
RECTANGLE(uint32_t)
RECTANGLE(uint64_t)
RECTANGLE(hk_complex)

static void copy_tiles(const hki_rectangle *self, int64_t bytes, const char *in, char *out)
{
    switch (bytes) {
    case sizeof(uint8_t):
        tiles_uint8_t(self, in, out);
        break;
    case sizeof(uint16_t):
        tiles_uint16_t(self, in, out);
        break;
    case sizeof(uint32_t):
        tiles_uint32_t(self, in, out);
        break;
    case sizeof(uint64_t):
        tiles_uint64_t(self, in, out);
        break;
    default:
        tiles_hk_complex(self, in, out);
    }
}

static bool fits(const hki_turn *turn, const hki_rectangle *self)
{
    return turn->run && self->rows >= turn->rows && self->columns >= turn->columns;
}

/* The widest that this processor has and that is not too wide; NULL: there is none. */
static const hki_turn *turn_of(const hki_rectangle *self, int64_t bytes)
{
    const hki_kernel_isa isa = hki_kernel_isa_get();
    if (isa == HKI_ISA_PORTABLE || bytes > 8 || self->in_row != bytes || self->out_column != bytes)
        return NULL;
    const int which = __builtin_ctzll((uint64_t)bytes);
    if (isa == HKI_ISA_AVX512 && fits(&hki_turns_avx512[which], self))
        return &hki_turns_avx512[which];
    return fits(&hki_turns_avx2[which], self) ? &hki_turns_avx2[which] : NULL;
}

void hki_copy_rectangle(const hki_rectangle *self, int64_t bytes, const char *in, char *out)
{
    const hki_turn *turn = turn_of(self, bytes);
    if (!turn) {
        copy_tiles(self, bytes, in, out);
        return;
    }
    const int64_t rows = self->rows / turn->rows * turn->rows,
                  columns = self->columns / turn->columns * turn->columns;
    hki_rectangle part = *self;
    part.rows = rows;
    part.columns = columns;
    turn->run(&part, in, out);
    part.columns = self->columns - columns;
    if (part.columns > 0)
        hki_copy_rectangle(&part, bytes, in + columns * self->in_column, out + columns * bytes);
    part.rows = self->rows - rows;
    part.columns = self->columns;
    if (part.rows > 0)
        hki_copy_rectangle(&part, bytes, in + rows * bytes, out + rows * self->out_row);
}
