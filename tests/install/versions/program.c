/* A program that was compiled with the headers of another version, in which structs of options
 * end earlier or later. What lies behind the struct in this program is no number, so that
 * reading too far shows. */
#include <hocket/hocket.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int near(double value, double wanted)
{
    return fabs(value - wanted) < 1e-6;
}

int main(void)
{
    HK_SCOPE;
    struct {
        hk_var_options its;
        double behind[8];
    } var = {.behind = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};
    struct {
        hk_sgd_options its;
        double behind[8];
    } sgd = {.behind = {NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN}};
    const float values[] = {1, 3}, two = 2;
    hk_array *x = hk_from_host(values, hk_shape(2), HK_F32, hk_device_default());
    var.its.keepdims = true;
    hk_array *y = hk_var(x, &var.its);
    if (!near(hk_item(y, NULL), 1) || hk_ndim(y) != 1)
        return 1;
    hk_array *w = hk_ones(hk_shape(), HK_F32, hk_device_default());
    hk_attach_grad(w, HK_GRAD_WRITE);
    hk_write(hk_grad(w), &two, sizeof two);
    sgd.its.lr = 0.25;
    hk_sgd(&w, 1, &sgd.its);
    if (!near(hk_item(w, NULL), 0.5))
        return 2;
#ifdef VERSION_IS_newer
    const hk_status *status = NULL;
    var.its.later = 1;
    hk_item(hk_var(x, &var.its), &status);
    if (hk_ok(status) || !strstr(hk_status_message(status), "newer version"))
        return 3;
    hk_failures_clear();
    sgd.its.later = 1;
    hk_sgd(&w, 1, &sgd.its); /* said on stderr */
#endif
    return hk_ok(hk_wait_all()) ? 0 : 4;
}
