/* P A = L U, in columns of tiles. A panel, which is such a column from its diagonal down, is one
 * task: it looks for pivots among all of its rows. Then the other columns swap their rows as it
 * did, and Hocket's operators bring their tiles up to date. Each call says what it reads and
 * writes, and their order follows from that. */
#include <hocket/hocket.h>

#include <math.h>
#include <string.h>

enum { TILES = 6, SIZE = 48, N = TILES * SIZE };

/* An element of a column, or of a tile of it: views without gaps. */
static double *at(const hk_task_view *x, int64_t i, int64_t j)
{
    return (double *)x->data + i * SIZE + j;
}

static void swap_row(const hk_task_view *x, int64_t a, int64_t b)
{
    for (int64_t j = 0; j < SIZE; j++) {
        const double kept = *at(x, a, j);
        *at(x, a, j) = *at(x, b, j);
        *at(x, b, j) = kept;
    }
}

/* A column becomes its factors from row `first` on; row first + j was swapped with pivots[j]. */
static void factorise(hk_task_call *call)
{
    const hk_task_view a = hk_task_view_of(call, 0), pivots = hk_task_view_of(call, 1);
    const int first = *(const int *)hk_task_args(call);
    for (int j = 0; j < SIZE; j++) {
        const int row = first + j;
        int pivot = row;
        for (int i = row; i < N; i++)
            if (fabs(*at(&a, i, j)) > fabs(*at(&a, pivot, j)))
                pivot = i;
        if (!(fabs(*at(&a, pivot, j)) > 0)) {
            hk_task_refuse(call, "the matrix is singular: U has no pivot in row %d", row);
            return;
        }
        ((int32_t *)pivots.data)[j] = pivot;
        swap_row(&a, row, pivot);
        for (int i = row + 1; i < N; i++) {
            *at(&a, i, j) /= *at(&a, row, j);
            for (int k = j + 1; k < SIZE; k++)
                *at(&a, i, k) -= *at(&a, i, j) * *at(&a, row, k);
        }
    }
}

/* What a panel did to its rows is done to another column. */
static void swap_rows(hk_task_call *call)
{
    const hk_task_view pivots = hk_task_view_of(call, 0), a = hk_task_view_of(call, 1);
    const int first = *(const int *)hk_task_args(call);
    for (int i = 0; i < SIZE; i++)
        swap_row(&a, first + i, ((const int32_t *)pivots.data)[i]);
}

static const hk_kernel factorise_kernel = {.name = "factorise", .cpu = factorise};
static const hk_kernel swap_kernel = {.name = "swap rows", .cpu = swap_rows};

/* A matrix as columns of tiles one behind the other, (TILES, N, SIZE); and back. */
static hk_array *to_columns(hk_array *x)
{
    return hk_copy(hk_permute_dims(hk_reshape(x, hk_shape(N, TILES, SIZE)), hk_shape(1, 0, 2)));
}

static hk_array *from_columns(hk_array *x)
{
    return hk_reshape(hk_permute_dims(x, hk_shape(1, 0, 2)), hk_shape(N, N));
}

static hk_array *tile(hk_array *column, int64_t row)
{
    return hk_slice(column, 0, row * SIZE, (row + 1) * SIZE);
}

static void swap_as(hk_array *column, hk_array *pivots, int k)
{
    const int first = k * SIZE;
    hk_run(&swap_kernel, HK_ACCESS(hk_reads(hk_index(pivots, 0, k)), hk_updates(column)), &first,
           sizeof first, NULL);
}

/* In place; pivots: int32 (TILES, SIZE), is written. */
static void lu(hk_array *x, hk_array *pivots)
{
    const hk_solve_triangular_options unit_lower = {.unit_diagonal = true};
    const hk_addmm_options minus = {.alpha = -1};
    HK_SCOPE;
    hk_array *columns[TILES];
    hk_unstack(x, 0, TILES, columns);
    for (int k = 0; k < TILES; k++) {
        hk_array *panel = columns[k];
        const int first = k * SIZE;
        hk_run(&factorise_kernel, HK_ACCESS(hk_updates(panel), hk_writes(hk_index(pivots, 0, k))),
               &first, sizeof first, &(const hk_run_options){.priority = 2});
        for (int j = 0; j < TILES; j++) {
            if (j == k)
                continue;
            HK_PRIORITY(j == k + 1); /* the next panel: all that comes later waits for it */
            swap_as(columns[j], pivots, k);
            if (j < k)
                continue;
            hk_array *upper = tile(columns[j], k);
            hk_solve_triangular_into(upper, tile(panel, k), upper, &unit_lower);
            for (int i = k + 1; i < TILES; i++) {
                hk_array *own = tile(columns[j], i);
                hk_addmm_into(own, own, tile(panel, i), upper, &minus);
            }
        }
    }
}

int main(void)
{
    HK_SCOPE;
    const hk_device device = hk_device_default();
    hk_array *a = hk_random_normal(hk_shape(N, N), HK_F64, device),
             *pivots = hk_zeros(hk_shape(TILES, SIZE), HK_I32, device);
    hk_array *factors = to_columns(a), *swapped = to_columns(a);
    lu(factors, pivots);
    for (int k = 0; k < TILES; k++)
        for (int j = 0; j < TILES; j++)
            swap_as(hk_index(swapped, 0, j), pivots, k);
    factors = from_columns(factors);
    hk_array *l = hk_add(hk_tril(factors, -1), hk_eye(N, N, 0, HK_F64, device)),
             *u = hk_triu(factors, 0);
    hk_array *error = hk_max(hk_abs(hk_subtract(hk_matmul(l, u), from_columns(swapped))), NULL);
    const hk_status *status;
    const double worst = hk_item(error, &status);
    if (hk_status_print(status, stderr))
        return 1;
    printf("%d x %d in tiles of %d: L U differs from P A by %.2g at most\n", N, N, SIZE, worst);

    hk_array *bad = hk_copy(a);
    hk_assign(hk_index(bad, 1, 100), hk_scalar(0, HK_F64, device));
    bad = to_columns(bad);
    lu(bad, hk_zeros(hk_shape(TILES, SIZE), HK_I32, device));
    status = hk_wait(bad);
    printf("%s: %s\n", hk_status_operation(status), hk_status_message(status));
    return worst < 1e-9 && strstr(hk_status_message(status), "row 100") ? 0 : 1;
}
