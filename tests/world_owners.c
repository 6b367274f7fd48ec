/* Programs of which each rank makes the calls that write its arrays: the same bytes as where one
 * rank makes all; what others hold cannot be read; what fails travels. mpirun -n N world_owners */
#include "tests/check.h"

#include <hocket/hocket.h>
#include <stdlib.h>
#include <string.h>

enum { ARRAYS = 12, SIDE = 24, CALLS = 400, TILES = 5 };

static uint64_t random_state;

static unsigned draw(unsigned below)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)(random_state >> 33) % below;
}

static float *element(const hk_task_view *x, int64_t i, int64_t j)
{
    return (float *)x->data + i * x->strides[0] + j * x->strides[1];
}

/* The last array: what it was, a half, and a number of the others, moved. */
static void mix(hk_task_call *call)
{
    const int last = hk_task_view_count(call) - 1;
    const hk_task_view y = hk_task_view_of(call, last);
    const float salt = *(const float *)hk_task_args(call);
    for (int64_t i = 0; i < SIDE; i++)
        for (int64_t j = 0; j < SIDE; j++) {
            float sum = *element(&y, i, j) / 2 + salt;
            for (int k = 0; k < last; k++) {
                const hk_task_view x = hk_task_view_of(call, k);
                sum += *element(&x, j, (i + k) % SIDE);
            }
            *element(&y, i, j) = sum;
        }
}

static const hk_kernel mix_kernel = {.name = "mix", .cpu = mix};

static bool same(hk_array *x, hk_array *y)
{
    const hk_status *status;
    return hk_item(hk_all(hk_equal(x, y), NULL), &status) == 1 && hk_ok(status);
}

static void make_call(hk_array *const *x, const int *which, int how, float salt)
{
    HK_SCOPE;
    hk_array *y = x[which[2]];
    switch (how) {
    case 0:
        hk_run(&mix_kernel, HK_ACCESS(hk_reads(x[which[0]]), hk_reads(x[which[1]]), hk_updates(y)),
               &salt, sizeof salt, NULL);
        break;
    case 1:
        hk_add_into(y, x[which[0]], hk_multiply(x[which[1]], .25));
        break;
    default:
        hk_assign(y, hk_full(hk_shape(SIDE, SIDE), salt, HK_F32, hk_array_device(y)));
    }
}

/* Each rank does everything on arrays of its own, too: what the others' must equal. */
static void test_random(unsigned seed, hk_device device)
{
    HK_SCOPE;
    random_state = seed;
    const int ranks = hk_world_size(), rank = hk_world_rank();
    hk_owners *owners = hk_owners_create(NULL);
    hk_array *x[ARRAYS], *expected[ARRAYS];
    for (int i = 0; i < ARRAYS; i++) {
        x[i] = hk_owners_zeros(owners, (int)draw((unsigned)ranks), hk_shape(SIDE, SIDE), HK_F32,
                               device);
        expected[i] = hk_zeros(hk_shape(SIDE, SIDE), HK_F32, device);
    }
    for (int c = 0; c < CALLS; c++) {
        HK_SCOPE;
        int which[3] = {(int)draw(ARRAYS), (int)draw(ARRAYS - 1), (int)draw(ARRAYS - 2)};
        which[1] = (which[0] + 1 + which[1]) % ARRAYS;
        while (which[2] == which[0] || which[2] == which[1])
            which[2] = (which[2] + 1) % ARRAYS;
        const int how = (int)draw(3);
        const float salt = (float)draw(16);
        const hk_access accesses[] = {hk_reads(x[which[0]]), hk_reads(x[which[1]]),
                                      how ? hk_writes(x[which[2]]) : hk_updates(x[which[2]])};
        const int first = how == 2 ? 2 : 0;
        if (draw(8) ? hk_owners_here(owners, accesses + first, 3 - first)
                    : hk_owners_at(owners, (int)draw((unsigned)ranks), accesses + first, 3 - first))
            make_call(x, which, how, salt);
        make_call(expected, which, how, salt);
        if (c % 16 == 0) {
            const int i = (int)draw(ARRAYS), reader = (int)draw((unsigned)ranks);
            if (hk_owners_at(owners, reader, HK_ACCESS(hk_reads(x[i]))))
                CHECK(same(x[i], expected[i]));
        }
    }
    for (int i = 0; i < ARRAYS; i++)
        for (int r = 0; r < ranks; r++)
            if (hk_owners_at(owners, r, HK_ACCESS(hk_reads(x[i]))))
                CHECK(r == rank && same(x[i], expected[i]));
    CHECK(hk_ok(hk_wait_all()));
    hk_owners_release(owners);
}

/* Hocket's own calls on tiles. */
static void cholesky(hk_owners *owners, hk_array *tiles[TILES][TILES])
{
    for (int k = 0; k < TILES; k++) {
        HK_SCOPE;
        if (!owners || hk_owners_here(owners, HK_ACCESS(hk_updates(tiles[k][k]))))
            hk_cholesky_into(tiles[k][k], tiles[k][k], NULL);
        for (int i = k + 1; i < TILES; i++)
            if (!owners ||
                hk_owners_here(owners, HK_ACCESS(hk_reads(tiles[k][k]), hk_updates(tiles[i][k]))))
                hk_solve_triangular_into(
                    tiles[i][k], tiles[k][k], tiles[i][k],
                    &(hk_solve_triangular_options){.right = true, .transposed = true});
        for (int i = k + 1; i < TILES; i++)
            for (int j = k + 1; j <= i; j++)
                if (!owners ||
                    hk_owners_here(owners, HK_ACCESS(hk_reads(tiles[i][k]), hk_reads(tiles[j][k]),
                                                     hk_updates(tiles[i][j]))))
                    hk_addmm_into(tiles[i][j], tiles[i][j], tiles[i][k], hk_transpose(tiles[j][k]),
                                  &(hk_addmm_options){.alpha = -1});
    }
}

static void test_cholesky(void)
{
    HK_SCOPE;
    const int ranks = hk_world_size();
    hk_owners *owners = hk_owners_create(hk_group_world());
    hk_array *tiles[TILES][TILES], *expected[TILES][TILES];
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++) {
            hk_array *values = hk_random_uniform(hk_shape(SIDE, SIDE), HK_F32, hk_device_default());
            if (i == j)
                values =
                    hk_add(hk_add(values, hk_transpose(values)),
                           hk_multiply(hk_eye(SIDE, SIDE, 0, HK_F32, hk_device_default()), 400));
            tiles[i][j] = hk_owners_zeros(owners, (i + 2 * j) % ranks, hk_shape(SIDE, SIDE), HK_F32,
                                          (hk_device){NULL});
            if (hk_owners_here(owners, HK_ACCESS(hk_writes(tiles[i][j]))))
                hk_assign(tiles[i][j], values);
            expected[i][j] = values;
        }
    cholesky(owners, tiles);
    cholesky(NULL, expected);
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j <= i; j++)
            if (hk_owners_at(owners, (i + j) % ranks, HK_ACCESS(hk_reads(tiles[i][j]))))
                CHECK(same(tiles[i][j], expected[i][j]));
    CHECK(hk_ok(hk_wait_all()));
    hk_owners_release(owners);
}

static void refuse(hk_task_call *call)
{
    hk_task_refuse(call, "no");
}

static void test_failures(void)
{
    HK_SCOPE;
    static const hk_kernel refusing = {.name = "refusing", .cpu = refuse};
    const int ranks = hk_world_size(), rank = hk_world_rank(), last = ranks - 1;
    hk_owners *owners = hk_owners_create(NULL), *others = hk_owners_create(NULL);
    hk_array *a = hk_owners_zeros(owners, 0, hk_shape(3), HK_F32, (hk_device){NULL});
    hk_array *b = hk_owners_zeros(owners, last, hk_shape(3), HK_F32, (hk_device){NULL});
    /* Values that are elsewhere. */
    const hk_status *status = hk_wait(hk_add(a, 1));
    CHECK(hk_status_code(status) == (rank == 0 ? HK_OK : HK_INVALID_ARGUMENT));
    CHECK(rank == 0 ||
          strstr(hk_status_message(status), "does not have the array's current values"));
    CHECK(hk_ok(hk_wait_all())); /* nothing has gone wrong */
    /* A copy that is old after a write. */
    if (hk_owners_here(owners, HK_ACCESS(hk_reads(a), hk_updates(b))))
        hk_add_into(b, b, a);
    CHECK(rank != last || hk_ok(hk_wait(a)));
    if (hk_owners_here(owners, HK_ACCESS(hk_updates(a))))
        hk_add_into(a, a, hk_ones(hk_shape(3), HK_F32, (hk_device){NULL}));
    CHECK(hk_ok(hk_wait(a)) == (rank == 0));
    /* Failures go where values would. */
    if (hk_owners_here(owners, HK_ACCESS(hk_updates(a))))
        hk_run(&refusing, HK_ACCESS(hk_updates(a)), NULL, 0, NULL);
    if (hk_owners_here(owners, HK_ACCESS(hk_reads(a), hk_updates(b))))
        hk_add_into(b, b, a);
    CHECK(rank != last || !strcmp(hk_status_message(hk_wait(b)), "no"));
    hk_failures_clear();
    /* Written whole they are good again. */
    if (hk_owners_here(owners, HK_ACCESS(hk_writes(b))))
        hk_assign(b, hk_ones(hk_shape(3), HK_F32, (hk_device){NULL}));
    if (hk_owners_at(owners, 0, HK_ACCESS(hk_reads(b))))
        CHECK(hk_ok(hk_wait(b)));
    hk_wait_all();
    hk_failures_clear();
    /* Not made for these owners; a view; no rank; no owner. */
    CHECK(!hk_owners_here(others, HK_ACCESS(hk_updates(b))));
    CHECK(!hk_owners_here(owners, HK_ACCESS(hk_reads(hk_slice(b, 0, 0, 2)))));
    CHECK(!hk_owners_at(owners, ranks, HK_ACCESS(hk_reads(b))));
    CHECK(!hk_owners_here(NULL, HK_ACCESS(hk_reads(b))));
    CHECK(!hk_owners_here(owners, NULL, 0));
    CHECK(hk_status_count(hk_wait_all()) ==
          (rank == 0 || rank == last ? 5 : 4)); /* b has failed there */
    hk_failures_clear();
    CHECK(hk_status_code(hk_wait(hk_owners_zeros(owners, -1, hk_shape(1), HK_F32,
                                                 (hk_device){NULL}))) == HK_OUT_OF_RANGE);
    CHECK(hk_status_code(hk_wait(hk_owners_zeros(owners, 0, hk_shape(-2), HK_F32,
                                                 (hk_device){NULL}))) == HK_INVALID_ARGUMENT);
    hk_failures_clear();
    hk_owners_release(owners);
    hk_owners_release(others);
    hk_owners_release(NULL);
}

int main(void)
{
    const char *name = getenv("WORLD_DEVICE");
    CHECK(hk_ok(hk_world_init(NULL)));
    const hk_device device = hk_device_named(name ? name : "cpu:0");
    for (unsigned seed = 1; seed <= 6; seed++)
        if (!name || !strncmp(name, "cpu", 3))
            test_random(seed, device);
    test_cholesky();
    test_failures();
    hk_runtime_deinit();
    return check_result();
}
