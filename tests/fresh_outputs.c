/* hk_recover accepts old bytes, and a result that never was computed has none: not even where a later write
 * made the memory around it real. */
#include "check.h"

#include <hocket/hocket.h>

int main(void)
{
    enum { N = 64 };
    HK_SCOPE;
    hk_device device = hk_device_default();
    int32_t ones[N], zeros[N] = {0};
    float seven = 7, out[N];
    for (int i = 0; i < N; i++)
        ones[i] = 1;
    hk_array *quotient = hk_divide(hk_from_host(ones, hk_shape(N), HK_I32, device),
                                   hk_from_host(zeros, hk_shape(N), HK_I32, device));
    hk_array *y = hk_negative(hk_cast(quotient, HK_F32)); /* its kernel never starts */
    hk_write(hk_slice(y, 0, 0, 1), &seven, sizeof seven);
    hk_recover(y);
    CHECK(!hk_ok(hk_wait(y)));
    CHECK_STR(hk_status_operation(hk_wait(y)), "divide");
    CHECK(hk_ok(hk_to_host(hk_slice(y, 0, 0, 1), out, sizeof seven)) && out[0] == 7);

    hk_array *x = hk_ones(hk_shape(N), HK_F32, device); /* but these bytes stand */
    hk_add_into(x, x, y);
    CHECK(!hk_ok(hk_wait(x)));
    hk_recover(x);
    CHECK(hk_ok(hk_to_host(x, out, sizeof out)) && out[N - 1] == 1);
    return check_result();
}
