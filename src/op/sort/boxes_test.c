/* Boxes that are kept: of one list and of many, and what is refused. */
#include "check.h"

#include "op/operator_fixture.h"

#include <math.h>
#include <string.h>

enum { COUNT = 5 };

static hk_device device;

/* The second is most of the first, the fourth touches the third, the last is nothing. */
static const float corners[COUNT][4] = {
    {0, 0, 2, 2}, {2, 2, 0.25f, 0}, {4, 4, 6, 5}, {6, 4, 7, 5}, {1, 1, 1, 1}};

static hk_array *boxes(void)
{
    return hk_from_host(corners, hk_shape(COUNT, 4), HK_F32, device);
}

static hk_array *scores(const float *values)
{
    return hk_from_host(values, hk_shape(COUNT), HK_F32, device);
}

/* Its shape, and its elements in C order. */
static bool holds(hk_array *x, hk_dims shape, const int64_t *values)
{
    int64_t got[64];
    const hk_dims has = hk_dims_get(x);
    return has.ndim == shape.ndim &&
           memcmp(has.dims, shape.dims, sizeof *shape.dims * (size_t)shape.ndim) == 0 &&
           hk_ok(hk_to_host(x, got, (size_t)hk_size(x) * sizeof *got)) &&
           memcmp(got, values, (size_t)hk_size(x) * sizeof *got) == 0;
}

static void test_one_list(void)
{
    HK_SCOPE;
    hk_array *by = scores((const float[]){0.5f, 0.75f, 0.25f, NAN, 0.25f});
    CHECK(holds(hk_non_max_suppression(boxes(), by, 0.5, NULL), hk_shape(4),
                (const int64_t[]){1, 2, 4, 3}));
    CHECK(holds(hk_non_max_suppression(boxes(), by, 0.9, NULL), hk_shape(5),
                (const int64_t[]){1, 0, 2, 4, 3}));
    CHECK(
        holds(hk_non_max_suppression(boxes(), by, 0, &(hk_non_max_suppression_options){.most = 2}),
              hk_shape(2), (const int64_t[]){1, 2}));
    CHECK(holds(hk_non_max_suppression(boxes(), by, 0.9,
                                       &(hk_non_max_suppression_options){.least_score = 0.25}),
                hk_shape(2), (const int64_t[]){1, 0}));
    hk_array *low = scores((const float[]){0, -1, 1, -1, -1});
    CHECK(holds(hk_non_max_suppression(boxes(), low, 0.9,
                                       &(hk_non_max_suppression_options){.least_score = HK_ZERO}),
                hk_shape(1), (const int64_t[]){2}));
    hk_array *none = hk_slice(boxes(), 0, 0, 0);
    CHECK(hk_size(hk_non_max_suppression(none, hk_slice(by, 0, 0, 0), 0.5, NULL)) == 0);
    /* of middles and sizes the second box is in the first */
    hk_array *centred =
        hk_from_host((const float[]){1, 1, 2, 2, 1, 1, 2, 1.5f}, hk_shape(2, 4), HK_F32, device);
    hk_array *two = hk_slice(by, 0, 0, 2);
    CHECK(holds(hk_non_max_suppression(centred, two, 0.5,
                                       &(hk_non_max_suppression_options){.is_centered = true}),
                hk_shape(1), (const int64_t[]){1}));
}

static void test_samples_and_classes(void)
{
    HK_SCOPE;
    hk_array *by = scores((const float[]){0.5f, 0.75f, 0.25f, 0.125f, 0});
    hk_array *of = hk_stack((hk_array *[]){by, hk_negative(by)}, 2, 0);
    hk_array *y = hk_non_max_suppression(hk_broadcast_to(boxes(), hk_shape(2, COUNT, 4)),
                                         hk_broadcast_to(of, hk_shape(2, 2, COUNT)), 0.5,
                                         &(hk_non_max_suppression_options){.most = 2});
    CHECK(holds(y, hk_shape(8, 3), (const int64_t[]){0, 0, 1, 0, 0, 2, 0, 1, 4, 0, 1, 3,
                                                     1, 0, 1, 1, 0, 2, 1, 1, 4, 1, 1, 3}));
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *by = scores((const float[]){0, 0, 0, 0, 0});
    CHECK(is_refused(hk_non_max_suppression(by, by, 0.5, NULL),
                     "boxes is float32(5,) and scores float32(5,): they must be (count,4)"));
    CHECK(is_refused(hk_non_max_suppression(boxes(), hk_slice(by, 0, 1, 5), 0.5, NULL),
                     "scores float32(4,)"));
    CHECK(is_refused(hk_non_max_suppression(boxes(), hk_cast(by, HK_I32), 0.5, NULL),
                     "must be of floats"));
    CHECK(is_refused(hk_non_max_suppression(boxes(), NULL, 0.5, NULL), "scores is NULL"));
    CHECK(fails_with(hk_non_max_suppression(boxes(), by, 1.5, NULL), HK_OUT_OF_RANGE,
                     "overlap is 1.5"));
    CHECK(fails_with(
        hk_non_max_suppression(boxes(), by, 0.5, &(hk_non_max_suppression_options){.most = -3}),
        HK_OUT_OF_RANGE, "most is -3"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_one_list();
    test_samples_and_classes();
    test_refusals();
    return check_result();
}
