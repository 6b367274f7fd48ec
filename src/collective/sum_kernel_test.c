/* Sums of blocks: in the order of the tree, wherever the outputs are. */
#include "tests/check.h"

#include "collective/sum_kernel.h"

#include <stdint.h>

enum { MOST = 6, SIZE = 1300 }; /* more than a block of any dtype, and no multiple of one */

static float floats[MOST][SIZE], kept[MOST][SIZE], apart[2][SIZE];
static uint8_t bytes[MOST][SIZE], kept_bytes[MOST][SIZE];

static void fill(void)
{
    for (int i = 0; i < MOST; i++)
        for (int j = 0; j < SIZE; j++) {
            kept[i][j] = floats[i][j] = (float)(1 + j) / (float)(3 + 7 * i);
            kept_bytes[i][j] = bytes[i][j] = (uint8_t)(37 * i + 11 * j);
        }
}

/* The definition. */
static float plainly(int first, int count, int j)
{
    const int right = count / 2, left = count - right;
    if (count == 1)
        return kept[first][j];
    return plainly(first, left, j) + plainly(first + left, right, j);
}

static void check_sums(const float *sums, int count)
{
    for (int j = 0; j < SIZE; j++)
        CHECK(sums[j] == plainly(0, count, j));
}

/* place: of the first output among the inputs; `count` for none of them. */
static void test_floats(int count, int place, int outputs)
{
    const void *in[MOST];
    void *out[] = {place < count ? floats[place] : apart[0], apart[1]};
    fill();
    for (int i = 0; i < count; i++)
        in[i] = floats[i];
    hki_sum_kernel(HK_F32, in, count, out, outputs, SIZE);
    for (int i = 0; i < outputs; i++)
        check_sums(out[i], count);
    for (int i = 0; i < count; i++)
        CHECK(i == place || memcmp(floats[i], kept[i], sizeof kept[i]) == 0);
}

/* Sums that wrap, of as many as are added without the tree. */
static void test_bytes(void)
{
    const void *in[] = {bytes[0], bytes[1]};
    void *out[] = {bytes[1]};
    fill();
    hki_sum_kernel(HK_U8, in, 2, out, 1, SIZE);
    for (int j = 0; j < SIZE; j++)
        CHECK(bytes[1][j] == (uint8_t)(kept_bytes[0][j] + kept_bytes[1][j]));
}

int main(void)
{
    for (int count = 1; count <= MOST; count++)
        for (int place = 0; place <= count; place++)
            for (int outputs = 1; outputs <= 2; outputs++)
                test_floats(count, place, outputs);
    test_bytes();
    return 0;
}
