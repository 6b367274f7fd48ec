/* Functions of C++ as tasks. */
#include "check.h"

#include <hocket/hocket.hpp>

#include <atomic>
#include <memory>

static std::atomic<int> alive{0};

/* Counts itself. */
struct counted {
    counted() noexcept
    {
        alive++;
    }
    counted(const counted &) noexcept
    {
        alive++;
    }
    ~counted()
    {
        alive--;
    }
};

static void test_order()
{
    const hk::array x = hk::arange(0, 8, 1), y = hk::zeros({8});
    for (int step = 1; step <= 20; step++)
        hk::run("add", {hk::reads(x), hk::updates(y)}, [step](const hk::task_call &call) {
            const float *from = call.data<const float>(0);
            float *to = call.data<float>(1);
            for (int64_t i = 0; i < call.view(1).shape.dims[0]; i++)
                to[i] = to[i] * 0.5f + static_cast<float>(step) * from[i];
        });
    float expected = 0;
    for (int step = 1; step <= 20; step++)
        expected = expected * 0.5f + static_cast<float>(step) * 7;
    CHECK(y[7].item() == static_cast<double>(expected));
}

static void test_failures()
{
    const hk::array x = hk::ones({4}), y = hk::ones({4});
    hk::run("thrower", {hk::updates(x)},
            [](const hk::task_call &) { throw std::runtime_error("no more of that"); });
    CHECK_STR(x.wait().message(), "no more of that");
    CHECK_STR(x.wait().operation(), "thrower");
    hk::run("typed", {hk::updates(y)}, [](const hk::task_call &call) {
        if (double *values = call.data<double>(0))
            *values = 1;
    });
    CHECK_STR(y.wait().message(),
              "array 0 is float32, but the function takes float64 without gaps");
    hk::failures_clear();
}

/* What a function captures lives until it has run, or never will. */
static void test_captured()
{
    {
        const hk::array x = hk::ones({4}), bad = hk::ones({4})[9];
        auto shared = std::make_shared<counted>();
        hk::run(
            "waits", {hk::updates(x)},
            [shared](const hk::task_call &call) { *call.data<float>(0) = 3; }, true);
        hk::run("never", {hk::reads(bad), hk::updates(x)},
                [shared](const hk::task_call &) { alive += 100; });
        shared.reset();
        CHECK(!x.wait().ok());
    }
    hk::wait_all();
    CHECK_EQ_I64(alive.load(), 0);
    hk::failures_clear();
}

static void test_promises()
{
    const hk::array x = hk::zeros({4}), y = hk::zeros({4}), z = hk::zeros({4});
    hk::promise kept({hk::writes(x)}), moved(std::move(kept));
    const hk::array sum = x + 1;
    static_cast<float *>(moved.view().data)[2] = 5;
    CHECK(moved.is_open() && !kept.is_open());
    moved.keep();
    CHECK(sum[2].item() == 6 && !moved.is_open());
    {
        const hk::priority first(2);
        const hk::promise forgotten({hk::updates(y)}, "camera");
    }
    CHECK_STR(y.wait().operation(), "camera");
    CHECK_STR(y.wait().message(), "the promise went without having been kept");
    hk::promise({hk::writes(z)}).fail("no frame");
    CHECK_STR((z + 1).wait().message(), "no frame");
    hk::failures_clear();
    const hk::array total = hk::ones({1});
    for (int i = 0; i < 10; i++)
        hk::run("add", {hk::accumulates(total)},
                [](const hk::task_call &call) { *call.data<float>(0) += 2; });
    CHECK(total[0].item() == 21);
}

int main()
{
    test_promises();
    test_order();
    test_failures();
    test_captured();
    return check_result();
}
