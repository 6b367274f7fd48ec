/* A C program that uses an installed hocket. */
#include <hocket/hocket.h>
#include <stdio.h>

int main(void)
{
    HK_SCOPE;
    const float values[] = {1, 2, 3, 4};
    hk_array *x = hk_from_host(values, hk_shape(2, 2), HK_F32, hk_device_default());
    hk_array *y = hk_matmul(x, x);

    float product[4] = {0};
    const hk_status *status = hk_to_host(y, product, sizeof product);
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    printf("hocket %s: %g %g %g %g\n", HK_VERSION_STRING, (double)product[0], (double)product[1],
           (double)product[2], (double)product[3]);
    return product[0] == 7 && product[1] == 10 && product[2] == 15 && product[3] == 22 ? 0 : 1;
}
