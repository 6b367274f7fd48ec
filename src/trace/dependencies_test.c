/* Dependencies against an oracle that remembers, byte by byte, the last writer and the readers since. */
#include "tests/check.h"
#include "trace/dependencies.h"

#include <stdlib.h>

enum { CALLS = 96, VARS = 3, BYTES = 24 };

typedef struct oracle {
    int writer[VARS][BYTES];        /* plus one; 0: none */
    bool reads[VARS][BYTES][CALLS]; /* since the last write */
    bool direct[CALLS][CALLS];      /* [c][d]: c has to wait for d */
    bool reaches[CALLS][CALLS];     /* the same, over others too */
} oracle;

static uint32_t next_random(uint32_t *state, uint32_t below)
{
    *state = *state * 1664525u + 1013904223u;
    return (uint32_t)((uint64_t)(*state >> 8) * below >> 24);
}

static void oracle_access(oracle *self, int call, const hki_trace_access *access)
{
    const uint64_t var = access->var - 1;
    const uint64_t size = access->end - access->begin;
    for (uint64_t byte = access->begin; byte < access->end; byte++) {
        if (access->pitch && (byte - access->begin) % access->pitch >= size % access->pitch)
            continue;
        int *writer = &self->writer[var][byte];
        if (*writer && *writer - 1 != call)
            self->direct[call][*writer - 1] = true;
        if (!(access->mode & 2)) {
            self->reads[var][byte][call] = true;
            continue;
        }
        for (int i = 0; i < call; i++)
            self->direct[call][i] |= self->reads[var][byte][i];
        memset(self->reads[var][byte], 0, sizeof self->reads[var][byte]);
        *writer = call + 1;
    }
}

static void oracle_close(bool reaches[CALLS][CALLS])
{
    for (int call = 0; call < CALLS; call++)
        for (int i = call - 1; i >= 0; i--)
            for (int j = 0; reaches[call][i] && j < i; j++)
                reaches[call][j] |= reaches[i][j];
}

static void check_against(const oracle *expected, const int *dependencies, const int *firsts)
{
    static bool direct[CALLS][CALLS], reaches[CALLS][CALLS];
    memset(direct, 0, sizeof direct);
    for (int call = 0; call < CALLS; call++)
        for (int i = firsts[call]; i < firsts[call + 1]; i++) {
            CHECK(dependencies[i] >= 0 && dependencies[i] < call);
            CHECK(i == firsts[call] || dependencies[i - 1] < dependencies[i]);
            CHECK(expected->direct[call][dependencies[i]]);
            direct[call][dependencies[i]] = true;
        }
    memcpy(reaches, direct, sizeof reaches);
    oracle_close(reaches);
    CHECK(!memcmp(reaches, expected->reaches, sizeof reaches));
    /* None that another one has: here nothing has so many that they are not looked at. */
    int implied = 0;
    for (int call = 0; call < CALLS; call++)
        for (int i = 0; i < call; i++)
            for (int j = 0; j < i; j++)
                implied += direct[call][i] && direct[call][j] && direct[i][j];
    CHECK_EQ_I64(implied, 0);
}

/* Few variables and random ranges; `whole` in 8 accesses are of everything. */
static void random_accesses_match_oracle(uint32_t seed, uint32_t whole, uint32_t writes)
{
    static oracle expected;
    memset(&expected, 0, sizeof expected);
    int firsts[CALLS + 1] = {0};
    hki_dependencies *dependencies = hki_dependencies_create(CALLS);
    for (int call = 0; call < CALLS; call++) {
        if (next_random(&seed, 12) == 0) {
            const uint64_t var = next_random(&seed, VARS);
            hki_dependencies_begin_var(dependencies, var + 1);
            memset(expected.writer[var], 0, sizeof expected.writer[var]);
            memset(expected.reads[var], 0, sizeof expected.reads[var]);
        }
        hki_trace_access accesses[4];
        const int count = (int)next_random(&seed, 5);
        for (int i = 0; i < count; i++) {
            uint64_t begin = next_random(&seed, BYTES), end = begin + 1 + next_random(&seed, 6);
            if (next_random(&seed, 8) < whole) {
                begin = 0;
                end = BYTES;
            }
            const uint32_t modes[] = {1, 3, 2 | 4 | 16};
            const uint64_t pitch = next_random(&seed, 4) ? 0 : 2 + next_random(&seed, 3);
            accesses[i] = (hki_trace_access){
                1 + next_random(&seed, VARS), begin, end < BYTES ? end : BYTES,
                next_random(&seed, 8) < writes ? modes[1 + next_random(&seed, 2)] : modes[0], 0};
            if (pitch && (accesses[i].end - begin) % pitch)
                accesses[i].pitch = (uint32_t)pitch;
            oracle_access(&expected, call, &accesses[i]);
        }
        CHECK(hki_dependencies_add(dependencies, accesses, count));
        firsts[call + 1] = hki_dependencies_count(dependencies);
    }
    memcpy(expected.reaches, expected.direct, sizeof expected.reaches);
    oracle_close(expected.reaches);
    int *found = hki_dependencies_take(dependencies);
    check_against(&expected, found, firsts);
    free(found);
    hki_dependencies_destroy(dependencies);
}

static bool add_one(hki_dependencies *self, uint64_t var, uint64_t begin, uint64_t end,
                    uint32_t mode)
{
    const hki_trace_access access = {var, begin, end, mode, 0};
    return hki_dependencies_add(self, &access, 1);
}

/* Thousands of disjoint slices: each has its own writer, and meets it again. */
static void disjoint_slices_do_not_meet(void)
{
    enum { SLICES = 5000, BYTES_EACH = 64 };
    hki_dependencies *self = hki_dependencies_create(2 * SLICES + 2);
    for (uint64_t i = 0; i < SLICES; i++) {
        const uint64_t at = i * 1999 % SLICES * BYTES_EACH;
        CHECK(add_one(self, 7, at, at + BYTES_EACH, 1 | 2));
    }
    CHECK_EQ_I64(hki_dependencies_count(self), 0);
    for (uint64_t i = 0; i < SLICES; i++)
        CHECK(add_one(self, 7, i * BYTES_EACH, (i + 1) * BYTES_EACH, 1));
    CHECK_EQ_I64(hki_dependencies_count(self), SLICES);
    /* The whole of it: all readers, each of which implies its writer. */
    CHECK(add_one(self, 7, 0, SLICES * BYTES_EACH, 2));
    CHECK_EQ_I64(hki_dependencies_count(self), 2 * SLICES);
    CHECK(add_one(self, 7, 100, 101, 1));
    CHECK_EQ_I64(hki_dependencies_count(self), 2 * SLICES + 1);
    int *found = hki_dependencies_take(self);
    for (int i = 0; i < SLICES; i++) {
        CHECK_EQ_I64(found[i] * 1999LL % SLICES, i);
        CHECK_EQ_I64(found[SLICES + i], SLICES + i);
    }
    CHECK_EQ_I64(found[2 * SLICES], 2 * SLICES);
    free(found);
    hki_dependencies_destroy(self);
}

static void nothing_is_made_of_nothing(void)
{
    hki_dependencies *self = hki_dependencies_create(3);
    hki_dependencies_begin_var(self, 5);
    CHECK(hki_dependencies_add(self, NULL, 0));
    CHECK(add_one(self, 5, 8, 8, 2));  /* no bytes */
    CHECK(add_one(self, 5, 0, 16, 8)); /* neither read nor written */
    CHECK_EQ_I64(hki_dependencies_count(self), 0);
    CHECK(!hki_dependencies_take(self));
    hki_dependencies_destroy(self);
    hki_dependencies_destroy(NULL);
}

int main(void)
{
    for (uint32_t seed = 0; seed < 300; seed++)
        random_accesses_match_oracle(seed, seed % 3, 1 + seed % 7);
    disjoint_slices_do_not_meet();
    nothing_is_made_of_nothing();
    return check_result();
}
