/* A matrix A = L Lᵀ is taken apart in tiles, by kernels of this program. Each says which tiles
 * it reads and which it writes; in what order they run, and on which cores, follows from that.
 * The loops are those of the textbook. */
#include <hocket/hocket.h>

#include <math.h>

enum { TILES = 8, SIZE = 64, N = TILES * SIZE };

/* An element of a tile. */
static float *at(const hk_task_view *tile, int64_t i, int64_t j)
{
    return (float *)tile->data + i * tile->strides[0] + j * tile->strides[1];
}

/* A becomes its L. */
static void factorise(hk_task_call *call)
{
    const hk_task_view a = hk_task_view_of(call, 0);
    for (int64_t j = 0; j < SIZE; j++) {
        for (int64_t i = j; i < SIZE; i++)
            for (int64_t k = 0; k < j; k++)
                *at(&a, i, j) -= *at(&a, i, k) * *at(&a, j, k);
        if (!(*at(&a, j, j) > 0)) {
            hk_task_refuse(call, "the matrix is not positive definite at row %d of a tile", (int)j);
            return;
        }
        const float root = sqrtf(*at(&a, j, j));
        for (int64_t i = j; i < SIZE; i++)
            *at(&a, i, j) /= root;
        for (int64_t i = 0; i < j; i++)
            *at(&a, i, j) = 0;
    }
}

/* B becomes B L⁻ᵀ. */
static void solve(hk_task_call *call)
{
    const hk_task_view l = hk_task_view_of(call, 0), b = hk_task_view_of(call, 1);
    for (int64_t i = 0; i < SIZE; i++)
        for (int64_t j = 0; j < SIZE; j++) {
            for (int64_t k = 0; k < j; k++)
                *at(&b, i, j) -= *at(&b, i, k) * *at(&l, j, k);
            *at(&b, i, j) /= *at(&l, j, j);
        }
}

/* C becomes C - A Bᵀ. B may be A: then the call names it once. */
static void subtract(hk_task_call *call)
{
    const int last = hk_task_view_count(call) - 1;
    const hk_task_view a = hk_task_view_of(call, 0), b = hk_task_view_of(call, last - 1),
                       c = hk_task_view_of(call, last);
    for (int64_t i = 0; i < SIZE; i++)
        for (int64_t k = 0; k < SIZE; k++)
            for (int64_t j = 0; j < SIZE; j++)
                *at(&c, i, j) -= *at(&a, i, k) * *at(&b, j, k);
}

static const hk_kernel factorise_kernel = {.name = "factorise", .cpu = factorise};
static const hk_kernel solve_kernel = {.name = "solve", .cpu = solve};
static const hk_kernel subtract_kernel = {.name = "subtract", .cpu = subtract};

/* A matrix as tiles one behind the other, (TILES, TILES, SIZE, SIZE); and back. */
static hk_array *to_tiles(hk_array *x)
{
    x = hk_reshape(x, hk_shape(TILES, SIZE, TILES, SIZE));
    return hk_contiguous(hk_permute_dims(x, hk_shape(0, 2, 1, 3)));
}

static hk_array *from_tiles(hk_array *x)
{
    return hk_reshape(hk_permute_dims(x, hk_shape(0, 2, 1, 3)), hk_shape(N, N));
}

/* In place. */
static void cholesky(hk_array *x)
{
    HK_SCOPE;
    hk_array *tiles[TILES][TILES];
    for (int i = 0; i < TILES; i++)
        for (int j = 0; j < TILES; j++)
            tiles[i][j] = hk_index(hk_index(x, 0, i), 0, j);
    for (int k = 0; k < TILES; k++) {
        /* All that comes later waits for these. */
        hk_run(&factorise_kernel, HK_ACCESS(hk_updates(tiles[k][k])), NULL, 0,
               &(const hk_run_options){.priority = 2});
        for (int i = k + 1; i < TILES; i++) {
            hk_run(&solve_kernel, HK_ACCESS(hk_reads(tiles[k][k]), hk_updates(tiles[i][k])), NULL,
                   0, &(const hk_run_options){.priority = 1});
            hk_assign(tiles[k][i], hk_full(hk_shape(SIZE, SIZE), 0, HK_F32, hk_array_device(x)));
        }
        for (int i = k + 1; i < TILES; i++) {
            hk_run(&subtract_kernel, HK_ACCESS(hk_reads(tiles[i][k]), hk_updates(tiles[i][i])),
                   NULL, 0, NULL);
            for (int j = k + 1; j < i; j++)
                hk_run(&subtract_kernel,
                       HK_ACCESS(hk_reads(tiles[i][k]), hk_reads(tiles[j][k]),
                                 hk_updates(tiles[i][j])),
                       NULL, 0, NULL);
        }
    }
}

/* A multiple of the identity. */
static hk_array *diagonal(double value)
{
    return hk_multiply(hk_eye(N, N, 0, HK_F32, (hk_device){NULL}), value);
}

int main(void)
{
    HK_SCOPE;
    hk_array *b = hk_random_normal(hk_shape(N, N), HK_F32, (hk_device){NULL});
    hk_array *a = hk_add(hk_matmul(b, hk_transpose(b)), diagonal(N));
    hk_array *tiles = to_tiles(a);
    cholesky(tiles);
    hk_array *l = from_tiles(tiles);
    hk_array *error = hk_max(hk_abs(hk_subtract(hk_matmul(l, hk_transpose(l)), a)), NULL);
    const hk_status *status = hk_wait(l);
    if (hk_status_print(status, stderr))
        return 1;
    const double worst = hk_item(error, &status);
    printf("%d x %d in tiles of %d: L Lᵀ differs from A by %.2g at most\n", N, N, SIZE, worst);

    hk_array *bad = to_tiles(hk_subtract(a, diagonal(1e6)));
    cholesky(bad);
    status = hk_wait(bad);
    printf("%s: %s\n", hk_status_operation(status), hk_status_message(status));
    return worst < 0.05 && !hk_ok(status) ? 0 : 1;
}
