/* Sums by the tree: against the recursion that defines it, written plainly; a whole is its halves; pieces are parts of it. */
#include "base/sum_tree.h"
#include "check.h"

#include <stdlib.h>

enum { MOST = 300 };

static float values[MOST];

/* The definition. */
static float plainly(int64_t first, int64_t runs)
{
    if (runs == 1)
        return values[first];
    const int64_t right = runs / 2, left = runs - right;
    return plainly(first, left) + plainly(first + left, right);
}

static float one_by_one(int64_t runs)
{
    float first = 0, rest[HKI_SUM_DEPTH];
    int live = 0;
    for (int64_t run = 0; run < runs; run++) {
        *(live ? &rest[live - 1] : &first) = values[run];
        live++;
        CHECK(live <= hki_sum_live(runs));
        live = hki_sum_join(HK_F32, 1, &first, rest, sizeof *rest, live, hki_sum_pairs(runs, run));
    }
    CHECK(live == 1);
    return first;
}

static void test_order(void)
{
    for (int64_t runs = 1; runs <= MOST; runs++)
        CHECK(one_by_one(runs) == plainly(0, runs));
    CHECK(one_by_one(3) == (values[0] + values[1]) + values[2]);
    CHECK(one_by_one(4) == (values[0] + values[1]) + (values[2] + values[3]));
}

/* Samples in order, no piece above what was asked for, and all pieces together the whole tree. */
static void test_cut(const hki_sum_cut *cut)
{
    float parts[MOST];
    int64_t reached = 0, begin, end;
    for (int64_t piece = 0; piece < cut->pieces; piece++, reached = end) {
        hki_sum_piece(cut, piece, &begin, &end);
        CHECK(begin == reached && begin % HKI_SUM_RUN == 0 && end > begin);
        CHECK(end - begin <= cut->most * HKI_SUM_RUN);
        parts[piece] = plainly(begin / HKI_SUM_RUN, hki_sum_runs(end - begin));
    }
    CHECK(reached == cut->samples);
    hki_sum_join_pieces(cut, HK_F32, 1, parts, sizeof *parts);
    CHECK(parts[0] == plainly(0, cut->runs));
}

/* The sum of the shares from that device on, of so many devices, as all_reduce adds them up; *begin moves on. */
static float sum_of_shares(int64_t samples, int64_t devices, int64_t first, int64_t count,
                           int64_t *begin)
{
    const int64_t own = hki_sum_share_of(samples, devices, first), at = *begin;
    if (count > 1) {
        const float left = sum_of_shares(samples, devices, first, count - count / 2, begin);
        return left + sum_of_shares(samples, devices, first + count - count / 2, count / 2, begin);
    }
    CHECK(at % HKI_SUM_RUN == 0 || own == 0);
    *begin += own;
    return own ? plainly(at / HKI_SUM_RUN, hki_sum_runs(own)) : 0;
}

static void test_shares(void)
{
    for (int64_t samples = 1; samples <= MOST * HKI_SUM_RUN; samples += 1 + samples / 300)
        for (int64_t devices = 1; devices <= 16; devices *= 2) {
            int64_t end = 0;
            CHECK(sum_of_shares(samples, devices, 0, devices, &end) ==
                  plainly(0, hki_sum_runs(samples)));
            CHECK_EQ_I64(end, samples);
            for (int64_t i = 0; i < devices; i++)
                CHECK(hki_sum_share_of(samples, devices, i) > 0 ||
                      !hki_sum_can_share(samples, devices));
        }
    CHECK_EQ_I64(hki_sum_share_of(96, 4, 0), 2 * HKI_SUM_RUN);
    CHECK_EQ_I64(hki_sum_share_of(96, 4, 1), HKI_SUM_RUN);
    CHECK(!hki_sum_can_share(96, 3) && !hki_sum_can_share(48, 4) && hki_sum_can_share(49, 4));
}

static void test_pieces(void)
{
    for (int64_t samples = 1; samples <= MOST * HKI_SUM_RUN; samples += 1 + samples / 9) {
        for (int64_t most = 1; most < 70; most += 1 + most / 4) {
            hki_sum_cut by = hki_sum_cut_by(samples, most), to = hki_sum_cut_to(samples, most);
            test_cut(&by);
            test_cut(&to);
            CHECK(to.pieces <= most);
            hki_sum_cut again = hki_sum_cut_to(samples, to.pieces);
            CHECK(again.pieces == to.pieces);
        }
    }
    hki_sum_cut none = hki_sum_cut_by(0, 2);
    CHECK(none.pieces == 1 && none.runs == 1);
    CHECK(hki_sum_cut_by(256, 2).pieces == 8);
    CHECK(hki_sum_cut_by(INT64_MAX / 2, 1).pieces == hki_sum_runs(INT64_MAX / 2));
}

static void test_integers(void)
{
    int32_t small[2] = {INT32_MAX, 1};
    int64_t large[2] = {INT64_MAX, 1};
    CHECK(hki_sum_join(HK_I32, 1, small, small + 1, sizeof *small, 2, 1) == 1);
    CHECK(hki_sum_join(HK_I64, 1, large, large + 1, sizeof *large, 2, 1) == 1);
    CHECK(small[0] == INT32_MIN && large[0] == INT64_MIN);
}

int main(void)
{
    for (int i = 0; i < MOST; i++)
        values[i] = (float)((unsigned)i * 2654435761u >> 8) / 997.0f;
    test_order();
    test_shares();
    test_pieces();
    test_integers();
    return check_result();
}
