/* With HOCKET_CHECK=1: sums of one shape and dtype that have changed places on a rank fail on
 * all ranks, and the record names both lines; called, recorded for gradients, and captured. Run
 * by each launcher with several ranks: see cmake/world_tests.cmake. */
#include "check.h"

#include <hocket/hocket.h>
#include <stdlib.h>

enum { COUNT = 5000 };

static hk_group *all;
static int rank, size;

static hk_array *full(double value)
{
    return hk_full(hk_shape(COUNT), value, HK_F32, (hk_device){NULL});
}

/* x has failed on all ranks by a record that names both lines of this file. */
static void check_lines(hk_array *x, int first, int second)
{
    char one[40], other[40];
    const hk_status *status = hk_wait(x);
    snprintf(one, sizeof one, "(world_checked.c:%d)", first);
    snprintf(other, sizeof other, "(world_checked.c:%d)", second);
    CHECK_EQ_I64(hk_status_code(status), HK_INVALID_ARGUMENT);
    CHECK(strstr(hk_status_message(status), one) && strstr(hk_status_message(status), other));
    CHECK(strstr(hk_status_message(status), "HOCKET_CHECK is set"));
    if (!strstr(hk_status_message(status), one))
        hk_status_print(status, stderr);
}

static void clear(void)
{
    hk_wait_all();
    hk_failures_clear();
}

/* Each gives the line of its call. */

static int sum_a(hk_array *x)
{
    const int line = __LINE__ + 1;
    hk_group_all_reduce(all, &x, 1, 1, 0);
    return line;
}

static int sum_b(hk_array *x)
{
    const int line = __LINE__ + 1;
    hk_group_all_reduce(all, &x, 1, 1, 0);
    return line;
}

static int gather_a(hk_array *x, hk_array **y)
{
    const int line = __LINE__ + 1;
    *y = hk_group_all_gather(all, x);
    return line;
}

static int gather_b(hk_array *x, hk_array **y)
{
    const int line = __LINE__ + 1;
    *y = hk_group_all_gather(all, x);
    return line;
}

static void test_swapped(bool is_odd)
{
    HK_SCOPE;
    hk_array *a = full(1), *b = full(2), *u, *v;
    int first, second;
    if (is_odd) {
        second = sum_b(b);
        first = sum_a(a);
    } else {
        first = sum_a(a);
        second = sum_b(b);
    }
    check_lines(a, first, second);
    check_lines(b, first, second);
    clear();
    if (is_odd) {
        second = gather_b(full(2), &v);
        first = gather_a(full(1), &u);
    } else {
        first = gather_a(full(1), &u);
        second = gather_b(full(2), &v);
    }
    check_lines(u, first, second);
    check_lines(v, first, second);
    clear();
}

/* Lines of a step are those of its capture. */
static void test_captured(bool is_odd)
{
    HK_SCOPE;
    hk_array *a = full(1), *b = full(2);
    hk_capture_begin((hk_array *[]){a, b}, 2);
    int first, second;
    if (is_odd) {
        second = sum_b(b);
        first = sum_a(a);
    } else {
        first = sum_a(a);
        second = sum_b(b);
    }
    hk_graph *step = hk_capture_end(NULL);
    CHECK(hk_ok(hk_graph_status(step)));
    clear();
    hk_array *c = full(3), *d = full(4);
    hk_replay(step, (hk_array *[]){c, d}, 2);
    check_lines(c, first, second);
    check_lines(d, first, second);
    clear();
    hk_graph_release(step);
}

/* What is called in one order works, backward passes among it. */
static void test_right(void)
{
    HK_SCOPE;
    hk_array *a = full(1), *b = full(2), *w = full(3);
    sum_a(a);
    sum_b(b);
    CHECK(hk_item(hk_index(a, 0, 7), NULL) == size && hk_item(hk_index(b, 0, 7), NULL) == 2 * size);
    hk_group_broadcast(all, &a, 1, 1, size - 1);
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *loss = hk_sum(hk_group_all_gather(all, w), NULL);
    hk_record_end();
    hk_backward(loss);
    CHECK(hk_item(hk_index(hk_grad(w), 0, 7), NULL) == size);
    if (rank == 0)
        hk_group_send(all, a, 1);
    if (rank == 1)
        CHECK(hk_ok(hk_wait(hk_group_receive(all, hk_shape(COUNT), HK_F32, (hk_device){NULL}, 0))));
    hk_group_barrier(all);
    CHECK(hk_ok(hk_wait_all()));
}

int main(void)
{
    setenv("HOCKET_CHECK", "1", 1);
    CHECK(hk_ok(hk_world_init(NULL)));
    all = hk_group_world();
    rank = hk_world_rank();
    size = hk_world_size();
    if (size > 1) {
        test_right();
        test_swapped(rank == size - 1);
        test_captured(rank == size - 1);
        test_right();
    }
    return check_result();
}
