/* The C++ layer takes no memory of its own: calls, views, lists, options and lines cost what they cost in C. */
#include "check.h"

#include <cstdlib>
#include <hocket/hocket.hpp>
#include <new>

static int taken;

void *operator new(std::size_t bytes)
{
    taken++;
    if (void *memory = std::malloc(bytes ? bytes : 1))
        return memory;
    throw std::bad_alloc();
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}

static hk::array calls(const hk::array &x, const hk::array &w)
{
    hk::array y = 2 * x + hk::maximum(x, 0) - x[0] / 3;
    y = hk::concat({y, x.slice({{0, 1}, {}})}, 0);
    y += 1;
    y.slice(0, 0, 1).assign(2);
    {
        hk::record tape;
        y = hk::sum(hk::matmul(y, w), hk::sum_options().with_axes({0}).with_keepdims(true));
    }
    y.backward();
    hk::sgd({w}, hk::sgd_options().with_lr(0.1));
    return hk::from_host<float>({1, 2, 3, 4}, {2, 2}, y.device()) + w.grad();
}

int main()
{
    const hk::array x = hk::ones({2, 2}), w = hk::ones({2, 2});
    w.attach_grad();
    taken = 0;
    const hk::graph step = hk::capture({x}, [&] { hk::add_into(w, w, x); });
    step.replay({x});
    const hk::array y = calls(x, w);
    const hk::status failed = hk::matmul(y, y[0][0]).wait();
    CHECK(!failed.ok() && *failed.message() && y.wait().ok() && y[0][0].item() > 0);
    CHECK_EQ_I64(taken, 0);

    /* What gives a vector or text takes it for that. */
    CHECK_EQ_I64(static_cast<int64_t>(y.to_vector<float>().size()), 4);
    CHECK_EQ_I64(taken, 1);
    return check_result();
}
