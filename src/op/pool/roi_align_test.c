/* roi_align where conformance does not look: values of another implementation, largest shares, and what is refused. */
#include "check.h"
#include "op/operator_fixture.h"

#include <math.h>

static hk_device device;

static hk_array *images(void)
{
    return hk_reshape(hk_arange(0, 32, 1, HK_F32, device), hk_shape(1, 2, 4, 4));
}

static hk_array *region(float left, float top, float right, float bottom)
{
    return hk_from_host((const float[]){left, top, right, bottom}, hk_shape(1, 4), HK_F32, device);
}

static hk_array *first_image(void)
{
    return hk_zeros(hk_shape(1), HK_I64, device);
}

static bool holds(hk_array *y, const double *values)
{
    double *got = read_doubles(y);
    bool same = true;
    for (int i = 0; i < 8; i++)
        same = same && fabs(got[i] - values[i]) < 1e-5;
    free(got);
    return same;
}

static void test_values(void)
{
    HK_SCOPE;
    hk_array *it = region(0.5f, 0.25f, 3.25f, 2.5f);
    const double halves[] = {1.9375, 3.3125, 6.4375, 7.8125, 17.9375, 19.3125, 22.4375, 23.8125};
    const double wholes[] = {4.4375, 5.8125, 8.9375, 10.3125, 20.4375, 21.8125, 24.9375, 26.3125};
    CHECK(
        holds(hk_roi_align(images(), it, first_image(),
                           &(hk_roi_align_options){.size = {2, 2}, .samples = 2, .aligned = true}),
              halves));
    CHECK(holds(hk_roi_align(images(), it, first_image(),
                             &(hk_roi_align_options){.size = {2, 2}, .scale = 1}),
                wholes));
}

/* 70 places a side are more than are looked at at once. */
static void test_many_places(void)
{
    HK_SCOPE;
    hk_array *whole = region(0, 0, 3, 3);
    const hk_roi_align_options options = {.samples = 70};
    hk_array *mean = hk_roi_align(images(), whole, first_image(), &options);
    CHECK(fabs(hk_item(hk_index(hk_reshape(mean, hk_shape(2)), 0, 0), NULL) - 7.5) < 1e-5);
    const hk_roi_align_options largest = {.samples = 70, .largest = true};
    hk_array *y = hk_roi_align(images(), whole, first_image(), &largest);
    const double most = hk_item(hk_index(hk_reshape(y, hk_shape(2)), 0, 0), NULL);
    CHECK(most > 14 && most < 15); /* the last element's share, next to it */
}

static void test_largest_has_no_gradient(void)
{
    HK_SCOPE;
    hk_array *x = images();
    hk_attach_grad(x, HK_GRAD_WRITE);
    hk_record_begin();
    hk_array *y = hk_sum(hk_roi_align(x, region(0, 0, 3, 3), first_image(),
                                      &(hk_roi_align_options){.largest = true}),
                         NULL);
    hk_record_end();
    hk_backward(y);
    CHECK(
        fails_with(hk_grad(x), HK_UNSUPPORTED, "the largest share of an element has no gradient"));
    hk_failures_clear();
}

static void test_refusals(void)
{
    HK_SCOPE;
    hk_array *x = images(), *it = region(0, 0, 3, 3), *at = first_image();
    CHECK(is_refused(hk_roi_align(hk_index(x, 0, 0), it, at, NULL), "needs 4 axes"));
    CHECK(is_refused(hk_roi_align(x, hk_reshape(it, hk_shape(2, 2)), at, NULL),
                     "rois is float32(2,2), but must be float32(regions, 4)"));
    CHECK(is_refused(hk_roi_align(x, it, hk_cast(at, HK_F32), NULL), "batch is float32(1,)"));
    CHECK(fails_with(hk_roi_align(x, it, at, &(hk_roi_align_options){.samples = -1}),
                     HK_OUT_OF_RANGE, "samples is -1"));
    CHECK(fails_with(hk_roi_align(x, it, at, &(hk_roi_align_options){.size = {1, -2}}),
                     HK_OUT_OF_RANGE, "size[1] is -2"));
    CHECK(fails_with(hk_roi_align(x, it, hk_ones(hk_shape(1), HK_I64, device), NULL),
                     HK_OUT_OF_RANGE, "batch[0] is 1, but x has 1 samples"));
    CHECK(fails_with(hk_roi_align(x, region(0, 0, NAN, 1), at, NULL), HK_BAD_DATA,
                     "rois[0], (0, 0, nan, 1), is not finite"));
    CHECK(fails_with(hk_roi_align(x, region(0, 0, 1, 1e6f), at, NULL), HK_BAD_DATA,
                     "is too large for a number of places by size"));
    hk_failures_clear();
}

int main(void)
{
    device = hk_device_default();
    test_values();
    test_many_places();
    test_largest_has_no_gradient();
    test_refusals();
    return check_result();
}
