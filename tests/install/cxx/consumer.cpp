// A C++ program that uses an installed hocket.
#include <hocket/hocket.h>

#include <cstdio>
#include <vector>

static hk_array *layer(hk_array *x)
{
    return hk_relu(x);
}

int main()
{
    HK_SCOPE;
    const std::vector<float> values = {1, 2, 3, 4};
    hk_array *x = hk_from_host(values.data(), hk_shape(2, 2), HK_F32, hk_device_default());
    hk_array *y = hk_matmul(x, x);

    std::vector<float> product(4);
    const hk_status *status = hk_to_host(y, product.data(), product.size() * sizeof(float));
    if (!hk_ok(status))
        return hk_status_print(status, stderr);
    const std::vector<float> wanted = {7, 10, 15, 22};

    hk_array *none = hk_slice(layer(x), 0, 0, 9);
    const int line = __LINE__ - 1;
    if (hk_status_line(hk_wait(none)) != line)
        return 1;
    std::printf("hocket %s: %s\n", HK_VERSION_STRING, product == wanted ? "ok" : "wrong");
    return product == wanted ? 0 : 1;
}
