/* Transposition in registers, included once for each instruction set. The includer defines VECTOR, LANES (of 16 bytes, of a
 * vector), LOW(bits, a, b) and HIGH(bits, a, b), which interleave within lanes, and load_lanes. A lane is of one column of the input,
 * and after some rounds of a perfect shuffle a vector is of one row of the output. */

enum { LINE_BYTES = 64 };

#define TURN(bits)                                                                                 \
    static void turn_##bits(const hki_rectangle *self, const char *in, char *out)                  \
    {                                                                                              \
        enum { BYTES = bits / 8, ROWS = 16 / BYTES, COLUMNS = ROWS * LANES };                      \
        enum { TOGETHER = LINE_BYTES / BYTES };                                                    \
        for (int64_t first = 0; first < self->rows; first += TOGETHER) {                           \
            const int64_t end = self->rows - first < TOGETHER ? self->rows : first + TOGETHER;     \
            for (int64_t j = 0; j < self->columns; j += COLUMNS)                                   \
                for (int64_t i = first; i < end; i += ROWS) {                                      \
                    const char *from = in + i * BYTES + j * self->in_column;                       \
                    char *to = out + i * self->out_row + j * BYTES;                                \
                    VECTOR v[ROWS], u[ROWS];                                                       \
                    for (int k = 0; k < ROWS; k++)                                                 \
                        v[k] = load_lanes(from + k * self->in_column, ROWS * self->in_column);     \
                    for (int round = 1; round < ROWS; round *= 2) {                                \
                        for (int k = 0; k < ROWS / 2; k++) {                                       \
                            u[2 * k] = LOW(bits, v[k], v[k + ROWS / 2]);                           \
                            u[2 * k + 1] = HIGH(bits, v[k], v[k + ROWS / 2]);                      \
                        }                                                                          \
                        for (int k = 0; k < ROWS; k++)                                             \
                            v[k] = u[k];                                                           \
                    }                                                                              \
                    for (int k = 0; k < ROWS; k++)                                                 \
                        memcpy(to + k * self->out_row, &v[k], sizeof v[k]);                        \
                }                                                                                  \
        }                                                                                          \
    }
TURN(8)
TURN(16)
TURN(32)
TURN(64)

const hki_turn TURNS[HKI_TURNS] = {{16, 16 * LANES, turn_8},
                                   {8, 8 * LANES, turn_16},
                                   {4, 4 * LANES, turn_32},
                                   {2, 2 * LANES, turn_64}};
