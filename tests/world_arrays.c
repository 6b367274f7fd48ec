/* Arrays of every dtype, layout and size through every function of a group, against what one process makes of the same values; gradients
 * among them. Run alone, and by each launcher with three ranks: see cmake/world_tests.cmake. WORLD_DEVICE: where arrays are, else on
 * the host. */
#include "check.h"
#include "same_bytes.h"

#include <hocket/hocket.h>

#include <limits.h>
#include <stdlib.h>

enum { MAX_RANKS = 8 };

static hk_group *all;
static int rank, size;
static hk_device device;

/* ---- arrays -------------------------------------------------------------------------------------------------------- */

typedef enum layout { PLAIN, TRANSPOSED, STEPPED, FLIPPED, BROADCAST, LAYOUT_COUNT } layout;
static const char *const layout_names[] = {"plain", "transposed", "every second row", "flipped",
                                           "broadcast"};

/* What rank `whose` has: rows by columns, small numbers that a sum of eight keeps in any dtype. */
static hk_array *values(int whose, int64_t rows, int64_t columns, hk_dtype dtype)
{
    float *numbers = malloc(((size_t)rows * (size_t)columns + 1) * sizeof *numbers);
    for (int64_t i = 0; i < rows * columns; i++)
        numbers[i] = (float)((i * 7 + whose * 5) % 13);
    hk_array *x = hk_cast(hk_from_host(numbers, hk_shape(rows, columns), HK_F32, device), dtype);
    free(numbers);
    return dtype == HK_C64 || dtype == HK_C128 ? hk_multiply(x, hk_complex_number(1, whose + 2))
                                               : x;
}

/* The same values, laid out otherwise, but for what is broadcast: there all rows are the first one. */
static hk_array *laid_out(hk_array *x, layout how)
{
    const int64_t rows = hk_dim(x, 0), columns = hk_dim(x, 1);
    switch (how) {
    case TRANSPOSED:
        return hk_transpose(hk_contiguous(hk_transpose(x)));
    case STEPPED:
        return hk_slice_step(hk_repeat(x, 2, 0), 0, 0, 2 * rows, 2);
    case FLIPPED:
        return hk_flip(hk_contiguous(hk_flip(x, 0)), 0);
    case BROADCAST:
        return hk_broadcast_to(rows ? hk_slice(x, 0, 0, 1) : x, hk_shape(rows, columns));
    default:
        return x;
    }
}

static hk_array *arrays_of(int whose, int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    return laid_out(values(whose, rows, columns, dtype), how);
}

/* What one process makes of all ranks' arrays, one after the other. */
static hk_array *whole(int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    hk_array *parts[MAX_RANKS];
    for (int r = 0; r < size; r++)
        parts[r] = hk_contiguous(arrays_of(r, rows, columns, dtype, how));
    return hk_concat(parts, size, 0);
}

static hk_array *sum_of(int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    hk_array *sum = hk_contiguous(arrays_of(0, rows, columns, dtype, how));
    for (int r = 1; r < size; r++)
        sum = hk_add(sum, arrays_of(r, rows, columns, dtype, how));
    return hk_cast(sum, dtype);
}

static bool has_sum(hk_dtype dtype)
{
    return dtype != HK_BOOL && dtype != HK_F16 && dtype != HK_BF16;
}

/* ---- every dtype and layout ---------------------------------------------------------------------------------------- */

static void expect(const char *what, hk_array *x, hk_array *wanted, hk_dtype dtype, layout how)
{
    const bool is_same = same_bytes(x, wanted);
    CHECK(is_same);
    if (!is_same)
        fprintf(stderr, "  %s of %s, %s, %d rows\n", what, hk_dtype_name(dtype), layout_names[how],
                (int)hk_dim(wanted, 0));
}

/* A call that cannot be: on all ranks, with one word of why. */
static void expect_refused(const char *what, hk_array *x, const char *text)
{
    const hk_status *status = hk_wait(x);
    CHECK(!hk_ok(status) && strstr(hk_status_message(status), text));
    if (hk_ok(status) || !strstr(hk_status_message(status), text))
        fprintf(stderr, "  %s: %s\n", what, hk_status_message(status));
    hk_wait_all();
    hk_failures_clear();
}

static void check_moves(int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    HK_SCOPE;
    const int64_t cut = rows * size;
    hk_array *x = arrays_of(rank, rows, columns, dtype, how);
    expect("all_gather", hk_group_all_gather(all, x), whole(rows, columns, dtype, how), dtype, how);

    hk_array *parts[MAX_RANKS], *tall = arrays_of(rank, cut, columns, dtype, how);
    for (int r = 0; r < size; r++)
        parts[r] = hk_contiguous(
            hk_slice(arrays_of(r, cut, columns, dtype, how), 0, rows * rank, rows * (rank + 1)));
    expect("all_to_all", hk_group_all_to_all(all, tall), hk_concat(parts, size, 0), dtype, how);

    hk_array *root = size - 1 == rank && how != BROADCAST
                         ? x
                         : arrays_of(rank, rows, columns, dtype, how == BROADCAST ? PLAIN : how);
    hk_group_broadcast(all, &root, 1, 1, size - 1);
    expect("broadcast", root,
           arrays_of(size - 1, rows, columns, dtype, how == BROADCAST ? PLAIN : how), dtype, how);
}

static void check_sums(int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    HK_SCOPE;
    const int64_t cut = rows * size;
    hk_array *x = arrays_of(rank, rows, columns, dtype, how);
    hk_array *tall = arrays_of(rank, cut, columns, dtype, how);
    if (!has_sum(dtype)) {
        expect_refused("sum", hk_group_sum(all, x), "have no sum");
        expect_refused("reduce_scatter", hk_group_reduce_scatter(all, tall), "have no sum");
        return;
    }
    expect("sum", hk_group_sum(all, x), sum_of(rows, columns, dtype, how), dtype, how);
    expect("reduce_scatter", hk_group_reduce_scatter(all, tall),
           hk_slice(sum_of(cut, columns, dtype, how), 0, rows * rank, rows * (rank + 1)), dtype,
           how);
    if (how == BROADCAST)
        return; /* no array to write to */
    hk_group_all_reduce(all, &x, 1, 1, rows < 100 ? 16 : 256);
    expect("all_reduce", x, sum_of(rows, columns, dtype, how), dtype, how);
}

/* In a ring: not in the serial engine, which sends in place. */
static bool may_send(void)
{
    const char *engine = getenv("HOCKET_ENGINE");
    return size > 1 && !(engine && !strcmp(engine, "serial"));
}

static void check_messages(int64_t rows, int64_t columns, hk_dtype dtype, layout how)
{
    HK_SCOPE;
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    if (!may_send())
        return;
    hk_array *sent = hk_group_send(all, arrays_of(rank, rows, columns, dtype, how), next);
    expect("receive", hk_group_receive(all, hk_shape(rows, columns), dtype, device, before),
           hk_contiguous(arrays_of(before, rows, columns, dtype, how)), dtype, how);
    CHECK(hk_item(sent, NULL) == 1);
}

static void test_dtypes(void)
{
    static const int64_t rows[] = {0, 1, 5, 400};
    for (int dtype = 0; dtype < HK_DTYPE_COUNT; dtype++)
        for (int how = 0; how < LAYOUT_COUNT; how++)
            for (int i = 0; i < 4; i++) {
                check_moves(rows[i], 3, (hk_dtype)dtype, (layout)how);
                check_sums(rows[i], 3, (hk_dtype)dtype, (layout)how);
                check_messages(rows[i], 3, (hk_dtype)dtype, (layout)how);
            }
    CHECK(hk_ok(hk_wait_all()));
}

/* ---- gradients --------------------------------------------------------------------------------------------------------- */

typedef hk_array *(*move_fn)(hk_group *, hk_array *);
typedef enum move { SUM, GATHER, SCATTER, SWAP, MOVE_COUNT } move;

/* The weights of rank `whose`, of what a move gives: the loss is the sum of all ranks' weighted results. */
static hk_array *weights(int whose, move which, int64_t rows)
{
    const int64_t given = which == GATHER ? rows * size : which == SCATTER ? rows / size : rows;
    return values(3 * whose + 1, given, 3, HK_F64);
}

/* What comes back to this rank, put together by one process. */
static hk_array *gradient(move which, int64_t rows)
{
    hk_array *parts[MAX_RANKS], *sum = weights(0, which, rows);
    const int64_t slice = which == GATHER ? rows : rows / size;
    for (int r = 0; r < size; r++) {
        hk_array *its = weights(r, which, rows);
        sum = r ? hk_add(sum, its) : sum;
        parts[r] = which == SWAP ? hk_slice(its, 0, slice * rank, slice * (rank + 1)) : its;
    }
    if (which == GATHER)
        return hk_slice(sum, 0, slice * rank, slice * (rank + 1));
    return which == SUM ? sum : hk_concat(parts, size, 0);
}

/* Of arrays as they are, transposed and every second row: the gradient goes on through what was before the move. */
static void test_gradients(void)
{
    static const move_fn moves[] = {(hk_group_sum), (hk_group_all_gather),
                                    (hk_group_reduce_scatter), (hk_group_all_to_all)};
    for (int which = 0; which < MOVE_COUNT; which++)
        for (int how = PLAIN; how <= STEPPED; how++) {
            HK_SCOPE;
            const int64_t rows = 4 * size;
            hk_array *x = values(rank, rows, 3, HK_F64);
            hk_attach_grad(x, HK_GRAD_WRITE);
            hk_record_begin();
            hk_array *y = moves[which](all, laid_out(x, (layout)how));
            hk_array *loss = hk_sum(hk_multiply(y, weights(rank, (move)which, rows)), NULL);
            hk_record_end();
            CHECK(hk_ok(hk_backward(loss)));
            expect("gradient", hk_grad(x), gradient((move)which, rows), HK_F64, (layout)how);
        }
}

/* Once around the ring: what a rank sends is multiplied there, and its gradient comes back. */
static void test_gradients_of_messages(void)
{
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    for (int i = 0; may_send() && i < 3; i++) {
        HK_SCOPE;
        hk_array *x = values(rank, 5, 3, HK_F64), *y = values(2 * rank + 1, 5, 3, HK_F64);
        hk_attach_grad(x, HK_GRAD_WRITE);
        hk_record_begin();
        hk_array *sent = hk_group_send(all, hk_multiply(x, 2), next);
        hk_array *came = hk_group_receive(all, hk_shape(5, 3), HK_F64, device, before);
        hk_array *loss = hk_sum(hk_multiply(came, y), NULL), *both = hk_add(loss, sent);
        hk_record_end();
        CHECK(hk_array_dtype(sent) == HK_F64 && hk_item(sent, NULL) == 0);
        CHECK(hk_ok(i ? hk_backward(both) : hk_backward_all((hk_array *[]){loss, sent}, 2)));
        expect("gradient of a message", hk_grad(x),
               hk_multiply(values(2 * next + 1, 5, 3, HK_F64), 2), HK_F64, PLAIN);
    }
}

/* A function of two layers, on two ranks: the one that sends has no loss. What nobody records, or is detached, sends nothing back. */
static void test_split_layers(void)
{
    HK_SCOPE;
    hk_array *x = values(rank, 5, 3, HK_F64), *message;
    if (!may_send() || rank > 1)
        return;
    hk_attach_grad(x, HK_GRAD_WRITE);
    {
        HK_RECORD;
        if (rank == 0) {
            message = hk_group_send(all, hk_multiply(x, x), 1);
            CHECK(hk_item(hk_group_send(all, hk_detach(x), 1), NULL) == 1);
        } else {
            message = hk_multiply(hk_group_receive(all, hk_shape(5, 3), HK_F64, device, 0), x);
            HK_PAUSE;
            hk_array *its = hk_group_receive(all, hk_shape(5, 3), HK_F64, device, 0);
            CHECK(!hk_wants_grad(its));
        }
    }
    CHECK(hk_ok(hk_backward(message)));
    hk_array *zero = values(0, 5, 3, HK_F64), *one = values(1, 5, 3, HK_F64);
    expect("gradient of a layer", hk_grad(x),
           rank ? hk_multiply(zero, zero) : hk_multiply(hk_multiply(zero, one), 2), HK_F64, PLAIN);
}

/* ---- no axes, no elements, many axes -------------------------------------------------------------------------------- */

static void test_shapes(void)
{
    HK_SCOPE;
    hk_array *scalar = hk_full(hk_shape(), rank + 1, HK_F32, device);
    CHECK(hk_item(hk_group_sum(all, scalar), NULL) == size * (size + 1) / 2);
    hk_group_broadcast(all, &scalar, 1, 1, size - 1);
    CHECK(hk_item(scalar, NULL) == size);
    expect_refused("all_gather", hk_group_all_gather(all, scalar), "x has no axes");
    expect_refused("all_to_all", hk_group_all_to_all(all, scalar), "x has no axes");
    expect_refused("reduce_scatter", hk_group_reduce_scatter(all, scalar), "x has no axes");
    if (size > 1)
        expect_refused("all_to_all",
                       hk_group_all_to_all(all, hk_zeros(hk_shape(size + 1), HK_F32, device)),
                       "ranks must divide it");
    hk_array *none = hk_zeros(hk_shape(4, 0, 3), HK_F32, device);
    CHECK(hk_size(hk_group_all_gather(all, none)) == 0);
    CHECK(hk_dim(hk_group_all_gather(all, none), 0) == 4 * size);
    hk_array *axes = hk_full(hk_shape(2, 1, 2, 1, 2, 1), rank, HK_I32, device);
    CHECK(hk_dim(hk_group_all_gather(all, axes), 0) == 2 * size);
    CHECK(hk_ok(hk_wait_all()));
}

/* ---- what is no call --------------------------------------------------------------------------------------------------- */

static void test_refused(void)
{
    HK_SCOPE;
    hk_array *x = hk_ones(hk_shape(4), HK_F32, device), *y = hk_slice(x, 0, 1, 3);
    hk_array *view = hk_broadcast_to(hk_ones(hk_shape(1), HK_F32, device), hk_shape(4));
    hk_group_all_reduce(all, (hk_array *[]){x, x}, 1, 2, 0);
    expect_refused("the same twice", x, "share memory");
    x = hk_ones(hk_shape(4), HK_F32, device), y = hk_slice(x, 0, 1, 3);
    hk_group_all_reduce(all, (hk_array *[]){x, y}, 1, 2, 0);
    expect_refused("a part of another", x, "share memory");
    hk_group_all_reduce(all, &view, 1, 1, 0);
    expect_refused("a view to read", view, "can only be read");
    x = hk_ones(hk_shape(4), HK_F32, device);
    hk_group_all_reduce(all, &x, 0, 1, 0);
    hk_group_all_reduce(all, &x, 1, -1, 0);
    hk_group_all_reduce(all, NULL, 1, 1, 0);
    hk_group_all_reduce(all, &x, INT_MAX, INT_MAX, 0);
    hk_group_broadcast(all, &x, INT_MAX, 3, 0);
    CHECK(!hk_ok(hk_wait_all()));
    hk_failures_clear();
    CHECK(hk_item(hk_index(x, 0, 3), NULL) == 1);
    hk_group_broadcast(all, &x, 1, 1, size);
    expect_refused("no root", x, "root is");
    for (int i = 0; i < 4; i++) {
        hk_group *group = i % 2 ? all : NULL;
        hk_array *given = i % 2 ? NULL : hk_ones(hk_shape(4), HK_F32, device);
        CHECK(!hk_ok(hk_wait(hk_group_sum(group, given))));
        CHECK(!hk_ok(hk_wait(hk_group_all_gather(group, given))));
        CHECK(!hk_ok(hk_wait(hk_group_reduce_scatter(group, given))));
        CHECK(!hk_ok(hk_wait(hk_group_all_to_all(group, given))));
        if (i % 2 && !may_send())
            continue;
        CHECK(!hk_ok(hk_wait(hk_group_send(group, given, (rank + 1) % size))));
        if (i % 2) /* who receives hears of it */
            expect_refused(
                "a send of nothing",
                hk_group_receive(all, hk_shape(4), HK_F32, device, (rank + size - 1) % size),
                "x is NULL");
    }
    CHECK(!hk_ok(hk_wait(hk_group_receive(NULL, hk_shape(4), HK_F32, device, 0))));
    CHECK(!hk_ok(hk_wait(hk_group_receive(all, hk_shape(4), HK_F32, device, -1))));
    CHECK(!hk_ok(hk_wait(hk_group_receive(all, hk_shape(4), HK_F32, device, rank))));
    CHECK(!hk_ok(hk_wait(hk_group_barrier(NULL))));
    hk_wait_all();
    hk_failures_clear();
    /* All goes on. */
    CHECK(hk_item(hk_group_barrier(all), NULL) == size);
}

int main(void)
{
    if (hk_status_print(hk_world_init(NULL), stderr))
        return 1;
    all = hk_group_world();
    rank = hk_world_rank();
    size = hk_world_size();
    const char *name = getenv("WORLD_DEVICE");
    device = name ? hk_device_named(name) : hk_device_default();
    CHECK(getenv("WORLD_RANKS") ? size == atoi(getenv("WORLD_RANKS")) : size == 1);
    test_dtypes();
    test_gradients();
    test_gradients_of_messages();
    test_split_layers();
    test_shapes();
    test_refused();
    CHECK(hk_ok(hk_wait_all()));
    hk_runtime_deinit();
    return check_result();
}
