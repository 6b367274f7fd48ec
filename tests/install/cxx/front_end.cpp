// A C++ program that uses the C++ headers of an installed hocket.
#include <hocket/hocket.hpp>

#include <cstdio>

static hk::array layer(const hk::array &x)
{
    return hk::relu(x);
}

int main()
{
    const hk::array x = hk::from_host<float>({1, 2, 3, 4}, {2, 2});
    const hk::array y = hk::matmul(x, x) - 1;
    const std::vector<float> wanted = {6, 9, 14, 21};

    const hk::array none = layer(x).slice(0, 0, 9);
    const int line = __LINE__ - 1;
    if (none.wait().line() != line)
        return 1;
    const bool holds = y.to_vector<float>() == wanted;
    std::printf("hocket %s: %s\n", HK_VERSION_STRING, holds ? "ok" : "wrong");
    return holds ? 0 : 1;
}
