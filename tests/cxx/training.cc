/* Gradients, updates, captured steps, random numbers and devices from C++. */
#include "check.h"

#include <cmath>
#include <cstdio>
#include <cstring>
#include <hocket/hocket.hpp>

using floats = std::vector<float>;

static void test_gradients()
{
    hk::array x = {1, 2, 3};
    x.attach_grad();
    hk::array y;
    {
        hk::record tape;
        CHECK(hk::is_recording());
        y = x * x + 2 * x;
        {
            hk::pause none;
            CHECK(!hk::is_recording());
        }
    }
    CHECK(!hk::is_recording());
    CHECK(y.backward().ok());
    const hk::array g = x.grad();
    CHECK(g.to_vector<float>() == (floats{4, 6, 8}));
    CHECK(x.grad().get() == g.get());
    {
        hk::record tape;
        y = x * 3;
    }
    CHECK(y.backward_from({1, 10, 100}).ok());
    CHECK(g.to_vector<float>() == (floats{3, 30, 300}));
    {
        hk::record tape;
        y = x * x.detach();
        hk::array z = x + 1;
        CHECK(hk::backward({y, z}).ok());
    }
    CHECK(g.to_vector<float>() == (floats{2, 3, 4}));
    x.attach_grad(HK_GRAD_NULL);
    CHECK(!x.grad().wait().ok());
    CHECK(g.wait().ok());
}

/* In place: for every handle, and the attachment stays. */
static void test_updates()
{
    hk::array w = {1, 2};
    const hk::array alias = w;
    w.attach_grad();
    const auto loss = [&] {
        hk::record tape;
        return hk::sum(w * w);
    };
    loss().backward();
    w -= 0.25 * w.grad();
    CHECK(alias.to_vector<float>() == (floats{0.5, 1}));
    loss().backward();
    hk::sgd({w}, hk::sgd_options().with_lr(0.5).with_batch(2));
    CHECK(alias.to_vector<float>() == (floats{0.25, 0.5}));

    hk::optimizer adam("adam", {w}, hk::optimizer_options().with_lr(0.1));
    CHECK(adam.status().ok() && adam.lr() == 0.1);
    const hk::optimizer same = adam;
    CHECK(adam.state().size() == 2 && adam.state()[0].first == "coefficients.0");
    CHECK(adam.state()[1].second.shape() == hk::shape({2, 2}));
    for (int step = 0; step < 100; step++) {
        loss().backward();
        adam.step();
    }
    same.set_lr(0.01);
    CHECK(adam.lr() == 0.01);
    CHECK(std::fabs(w[0].item()) < 0.05 && std::fabs(w[1].item()) < 0.05);
    adam.scatter(0, hk::full({2, 2}, 7));
    CHECK(hk::sum(adam.gather(0)).item() == 28);
#if __cplusplus > 201703L
    loss().backward();
    hk::sgd({w}, {.lr = 0.5});
    hk::optimizer momentum("momentum", {w}, {.lr = 0.1, .nesterov = true});
    CHECK(momentum.status().ok());
#endif
    hk::clip_grad_value({w}, 0);
    CHECK(w.grad().to_vector<float>() == (floats{0, 0}));
}

/* What the library makes between operators is released, too: the address sanitizer looks. */
static void test_compositions()
{
    hk::array x = hk::random_normal({4, 2, 5, 5}), weight = hk::random_normal({3, 2, 3, 3});
    const hk::array gamma = hk::ones({3}), beta = hk::zeros({3});
    const hk::array mean = hk::zeros({3}), variance = hk::ones({3});
    for (const hk::array &wanted : {x, weight, gamma, beta})
        wanted.attach_grad();
    hk::array loss;
    {
        hk::record tape;
        hk::array y = hk::conv2d(x, weight, {}, hk::conv2d_options().with_padding({1, 1}));
        y = hk::batch_norm_train(y, gamma, beta, mean, variance,
                                 hk::batch_norm_train_options().with_momentum(0.5));
        y = hk::max_pool2d(hk::gelu(y), hk::max_pool2d_options().with_kernel({2, 2}));
        y = hk::concat({y, hk::flip(y, 0), hk::pad(y, 0, {0, 1}, HK_PAD_EDGE, 0)}, 0);
        const hk::array rows = hk::linear(hk::reshape(y, {y.dim(0), -1}).slice(1, 0, 6),
                                          hk::ones({4, 6}), hk::ones({4}));
        loss = hk::sum(hk::log_softmax(rows, 1)) + hk::std(y) + hk::var(rows) / 2 +
               hk::logsumexp(hk::where(rows > 0, rows, -1)) + hk::norm(hk::cumulative_sum(y, 0));
    }
    CHECK(loss.backward().ok());
    CHECK(x.grad().wait().ok() && weight.grad().wait().ok() && gamma.grad().wait().ok());
    CHECK(mean[0].item() != 0);
    const hk::array channels = hk::ones({2});
    CHECK(hk::batch_norm_train(x, channels, channels, channels + 0, channels + 0).wait().ok());
    CHECK(hk::clip_grad_norm({x, weight}, 1).item() > 0);
    CHECK(hk::norm(x.grad()).item() <= 1.001);
    CHECK(!hk::clip_grad_norm({x}, -1).wait().ok());
    CHECK(!hk::batch_norm_train(x, gamma, beta, mean, variance).wait().ok());
    const auto bad = hk::batch_norm_train_options().with_momentum(2);
    CHECK(hk::batch_norm_train(x, hk::ones({2}), hk::ones({2}), mean, variance, bad).wait().ok());
    CHECK(!mean.wait().ok());
    CHECK(!hk::var(x, hk::var_options().with_axes({9})).wait().ok());
    {
        const hk::array v({2.0, 3.0});
        v.attach_grad(HK_GRAD_TRACK);
        hk::array cubes;
        {
            hk::record tape;
            cubes = v * v * v;
        }
        const auto keep = hk::gradients_options().with_create_graph(true);
        const hk::array slope = hk::gradient(cubes, v, keep);
        CHECK(hk::jvp({cubes}, {v}, {hk::array({1.0, 2.0})})[0][1].item() == 54);
        CHECK(!hk::jvp({cubes}, {v}, hk::arrays(nullptr, 0))[0].wait().ok());
        CHECK(hk::backward({cubes}, hk::backward_options().with_keep(true)).ok());
        CHECK(slope[1].item() == 27 && hk::gradient(slope, v)[1].item() == 18);
    }
    const auto [spread, centre] =
        hk::var_mean(hk::array({1.0, 3.0}), hk::var_mean_options().with_keepdims(true));
    CHECK(spread[0].item() == 1 && centre[0].item() == 2);
    CHECK(!hk::var_mean(x, hk::var_mean_options().with_axes({9})).mean.wait().ok());
    hk::failures_clear();
}

static void test_captures()
{
    hk::array total = hk::zeros({2}), made;
    hk::array x = {1, 2};
    const hk::graph step = hk::capture({x}, [&] {
        const hk::array within = x * 2;
        total += within;
        made = within + 1;
    });
    CHECK(step.status().ok());
    CHECK(step.facts().calls >= 3 && !step.to_string().empty());
    step.replay({hk::array{10, 20}});
    CHECK(total.to_vector<float>() == (floats{22, 44}));
    CHECK(made.to_vector<float>() == (floats{21, 41}));
    step.replay({hk::ones({3})});
    CHECK(hk::capture(
              {}, [] {}, hk::capture_options().with_exact(true))
              .status()
              .ok());

    bool thrown = false;
    try {
        hk::capture({x}, [] { throw std::runtime_error("stop"); });
    } catch (const std::runtime_error &) {
        thrown = true;
    }
    CHECK(thrown && hk::capture({}, [] {}).status().ok());
    hk::failures_clear();
}

static void test_random()
{
    hk::seed(7);
    const floats first = hk::random_uniform({4}).to_vector<float>();
    const hk::generator stream(7);
    CHECK(hk::random_uniform_from(stream, 0, 1, {4}).to_vector<float>() == first);
    CHECK(hk::random_normal_from({}, 5, 0, {2}, HK_F64).to_vector<double>()[1] == 5);
    CHECK(hk::random_normal({2, 2}).shape() == hk::shape({2, 2}));
    CHECK(hk::random_int(3, 4, {2}).to_vector<int64_t>()[0] == 3);
    CHECK(hk::random_between_from({}, hk_number_of_uint(UINT64_MAX), hk_number_of_uint(UINT64_MAX),
                                  {2}, HK_U64)
              .to_vector<uint64_t>()[0] == UINT64_MAX);
}

/* The real data set is the example's. */
static void test_refused_data()
{
    CHECK(hk::data_set(HK_DATA_TEST, "/nowhere").status().code() == HK_NOT_FOUND);
    const auto options = hk::loader_options().with_batch_size(2).with_devices(hk::devices());
    const hk::loader loader({}, options.with_shares({1}));
    CHECK(!loader.status().ok());
    std::vector<hk::array> images, labels;
    CHECK(loader.next(images, labels) && !images[0].wait().ok() && !labels[0].wait().ok());
    CHECK(!loader.next(images, labels) && images.empty() && labels.empty());
    const auto slices = hk::split_and_load(hk::zeros({2}), hk::devices(), {2});
    CHECK(!slices[0].wait().ok() && !slices[1].wait().ok());
    CHECK(hk::split_and_load(hk::zeros({2}), {}).empty());
    hk::failures_clear();
}

static void test_devices()
{
    CHECK_EQ_I64(static_cast<int64_t>(hk::devices().size()), 2);
    const hk::device second("cpu:1");
    const hk::array x = hk::ones({2, 2}, HK_F32, second);
    CHECK(x.device() == second && (1 + x * 2 - 1).device() == second);
    CHECK(second != hk::device() && second.cores() >= 1 && second.status().ok());
    CHECK_STR(second.kind(), "cpu");
    CHECK(!hk::device("cpu:9").status().ok());
    CHECK(second.wait().ok() && second.memory().used_bytes > 0);
    const std::vector<hk::array> slices = hk::split_and_load(hk::arange(0, 3, 1), hk::devices());
    CHECK(slices[0].size() == 2 && slices[1].device() == second);
    hk::array a = {1, 2}, b = hk::to_device(a, "cpu:1");
    hk::all_reduce({a, b}, HK_ALL_REDUCE_CENTRAL);
    CHECK(b.to_vector<float>() == (floats{2, 4}));
}

static void test_splits()
{
    const std::vector<hk::device> both = hk::devices();
    hk::array x = {1, 2}, other = hk::to_device(hk::array{3, 4}, both[1]);
    x.attach_grad();
    hk::array y;
    {
        hk::record tape;
        const std::vector<hk::array> parts = hk::devices_share(x, both);
        CHECK(parts[1].device() == both[1]);
        y = hk::devices_join({parts[0] * 2, parts[1] * other});
    }
    CHECK(y.to_vector<float>() == (floats{5, 12}) && y.device() == both[0]);
    CHECK(y.backward().ok());
    CHECK(x.grad().to_vector<float>() == (floats{5, 6}));
    CHECK(hk::devices_sum({x, other})[1].to_vector<float>() == (floats{4, 6}));
    CHECK(hk::devices_all_gather({x, other})[0].to_vector<float>() == (floats{1, 2, 3, 4}));
    CHECK(hk::devices_reduce_scatter({x, other})[1].to_vector<float>() == (floats{6}));
    other.attach_grad();
    other.assign(x);
    const hk::optimizer momentum = hk::optimizer::sharded("momentum", {x, other}, 2, nullptr,
                                                          hk::optimizer_options().with_lr(1));
    CHECK(momentum.status().ok());
    momentum.step(); /* of the gradient of x, and zeros of the other one */
    CHECK(x.to_vector<float>() == (floats{-4, -4}) && other.to_vector<float>() == (floats{-4, -4}));
    CHECK(!hk::optimizer::sharded("momentum", {x}, 2).status().ok());
    CHECK(hk::group().join(hk::group().share(x)).to_vector<float>() == (floats{-4, -4}));
}

static void test_data()
{
    const hk::data_set set = hk::data_set::of_arrays(
        {hk::reshape(hk::arange(0, 8, 1), {2, 1, 2, 2}), hk::array{3, 4}, hk::array{5, 6}});
    CHECK(set.status().ok() && set.size() == 2 && set.field_count() == 3);
    hk_transform flip = {};
    flip.kind = HK_TRANSFORM_FLIP;
    flip.probability = 1;
    const hk::data_set flipped = set.transform({flip});
    const hk::loader loader(flipped,
                            hk::loader_options().with_batch_size(2).with_devices(hk::devices()));
    std::vector<hk::array> fields;
    const hk_loader_position at = loader.position();
    CHECK(loader.next_fields(fields, 3) && fields.size() == 6);
    CHECK(fields[1].to_vector<float>() == (floats{5, 4, 7, 6}));
    CHECK(fields[4].to_vector<float>() == (floats{5}) && fields[5].device() == hk::device("cpu:1"));
    CHECK(loader.seek(at).ok() && loader.next_fields(fields, 1) && fields.size() == 2);
    CHECK(!loader.next_fields(fields, 1) && fields.empty());
    CHECK(!set.transform({}).status().ok());
    CHECK(!hk::data_set::take(hk_data_set_of_csv("/nowhere", 1, nullptr)).status().ok());
}

static void test_tables()
{
    std::FILE *file = std::fopen("table.csv", "w");
    CHECK(file && std::fputs("a;b;kind\n1;2;0\n3;;1\n", file) >= 0 && std::fclose(file) == 0);
    const hk::csv_options options = hk::csv_options().with_delimiter(';').with_has_header(true);
    const hk::array table = hk::csv_load("table.csv", options);
    CHECK(table.dim(0) == 2 && table.dim(1) == 3 && table.dtype() == HK_F64);
    CHECK(table[0].to_vector<double>() == (std::vector<double>{1, 2, 0}));
    const hk::data_set set = hk::data_set::of_csv("table.csv", -1, options);
    CHECK(set.status().ok() && set.size() == 2 && set.field_count() == 2);
    const hk::status wrong = hk::csv_load("table.csv").wait();
    CHECK(wrong.code() == HK_BAD_DATA && std::strstr(wrong.file(), "training.cc"));
    CHECK(hk::data_set::of_csv("/nowhere", 1).status().code() == HK_NOT_FOUND);
}

/* Of one rank; tests/world.c has several. */
static void test_world()
{
    CHECK(hk::world_init(hk::world_options().with_mode("off")).ok());
    const hk::group all;
    CHECK(all.status().ok() && all.rank() == 0 && all.size() == 1 && hk::world_size() == 1);
    hk::array x{1, 2}, y = hk::to_device(x, "cpu:1");
    all.all_reduce({x, y}, 2);
    CHECK(y.to_vector<float>() == (floats{2, 4}));
    all.broadcast({x});
    CHECK(all.sum(x).to_vector<float>() == (floats{2, 4}));
    CHECK(all.all_gather(x).shape() == hk::shape{2} && all.all_to_all(x).shape() == hk::shape{2});
    CHECK(all.reduce_scatter(x).shape() == hk::shape{2} && all.barrier().item() == 1);
    CHECK(all.split(0).status().ok() && !all.split(-1).status().ok());
    hk::owners owners(all);
    const hk::array mine = owners.zeros(0, {2});
    if (owners.here({hk::updates(mine)}))
        all.broadcast({mine});
    CHECK(owners.at(0, {hk::reads(mine)}) && mine.to_vector<float>() == (floats{0, 0}));
    hk::owners moved(std::move(owners));
    CHECK(moved.here({hk::writes(mine)}));
    CHECK(hk::wait_all().ok());
    for (int i = 0; i < 10; i++) { /* of one leak a pointer may still lie about */
        all.all_reduce({x, y, x}, 2);
        all.broadcast({x}, 1);
    }
    CHECK(!all.send(x, 0).wait().ok() && !hk::wait_all().ok());
    hk::failures_clear();
}

int main()
{
    CHECK(hk::runtime_init(hk::runtime_options().with_cpu_devices(2)).ok());
    test_gradients();
    test_updates();
    test_compositions();
    test_captures();
    test_random();
    test_devices();
    test_data();
    test_tables();
    test_refused_data();
    test_world();
    test_splits();
    CHECK(hk::wait_all().ok());
    return check_result();
}
