/* hk::array as a value: counts, braces, views, signs and options. */
#include "check.h"

#include <cmath>
#include <hocket/hocket.hpp>
#include <sstream>

using floats = std::vector<float>;

static void test_counts()
{
    hk::array x = {1, 2, 3}, empty;
    hk_array *handle = x.get();
    CHECK(empty.is_empty() && !x.is_empty());
    hk::array copy = x;
    CHECK(copy.get() == handle);
    hk::array moved = std::move(copy);
    CHECK(moved.get() == handle && copy.is_empty());
    copy = moved;
    moved = hk::array();
    CHECK(copy.get() == handle && moved.is_empty());
    hk::array &same = copy;
    copy = same;
    CHECK(copy.get() == handle);
    copy = std::move(same);
    CHECK(copy.get() == handle);
    copy[0].assign(5);
    CHECK(x.to_vector<float>() == (floats{5, 2, 3}));
    hk_array *given = x.give();
    CHECK(x.is_empty() && given == handle);
    hk_array_release(given);
}

/* Results are their variables', not a scope's. */
static void test_scopes()
{
    hk::array kept;
    {
        HK_SCOPE;
        kept = hk::ones({2}) + 1;
        const hk::array borrowed = hk::array::share(hk_ones(hk_shape(2), HK_F32, hk_device{}));
        kept = kept + borrowed;
    }
    CHECK(kept.to_vector<float>() == (floats{3, 3}));
    CHECK(hk::array::take(hk_zeros(hk_shape(1), HK_F32, hk_device{})).item() == 0);
}

static void test_making()
{
    const hk::array x = hk::ones({2, 3});
    CHECK(x.shape() == hk::shape({2, 3}) && x.dtype() == hk::f32 && x.device() == hk::device());
    CHECK_STR(x.device().name(), "cpu:0");
    CHECK_EQ_I64(hk::zeros({}).ndim(), 0);
    CHECK(hk::full({2}, 7, hk::i64, "cpu:0").to_vector<int64_t>() == (std::vector<int64_t>{7, 7}));
    CHECK(hk::arange(0, 3, 1).to_vector<double>() == (std::vector<double>{0, 1, 2}));
    const hk::array y = hk::from_host<int32_t>({1, 2, 3, 4}, {2, 2});
    CHECK(y.dtype() == hk::i32 && y.dim(-1) == 2 && y.size() == 4 && y.is_contiguous());
    CHECK(hk::from_host(std::vector<double>{1, 2}).dtype() == hk::f64);
    CHECK(!hk::from_host<float>({1, 2, 3}, {2, 2}).wait().ok());
    CHECK(!hk::ones({1, 1, 1, 1, 1, 1, 1, 1, 1}).wait().ok());
    CHECK(y.to_string() == "[[1 2]\n [3 4]] int32 @cpu:0");
    std::ostringstream stream;
    stream << y[0];
    CHECK(stream.str() == "[1 2] int32 @cpu:0");
    hk::array z = hk::zeros({3});
    z.write<float>({1, 2, 3});
    CHECK(z.to_vector<float>() == (floats{1, 2, 3}));
    z.write(std::vector<int32_t>{4, 5, 6});
    CHECK(z.to_vector<float>() == (floats{4, 5, 6}));
    z.write<int32_t>({4, 5});
    CHECK(!z.wait().ok());
}

static void test_views()
{
    const hk::array x = hk::reshape(hk::arange(0, 24, 1), {2, 3, 4});
    CHECK(x[1][2].to_vector<float>() == (floats{20, 21, 22, 23}));
    CHECK_EQ_I64(static_cast<int64_t>(x[1][2][-1].item()), 23);
    CHECK(x.slice({1, {}, {0, hk::to_end, 3}}).to_vector<float>() ==
          (floats{12, 15, 16, 19, 20, 23}));
    CHECK(x.slice({{0, 1}, -1, {1, 3}}).shape() == hk::shape({1, 2}));
    CHECK(x.slice(2, 1, hk::to_end).shape() == hk::shape({2, 3, 3}));
    CHECK(x.transpose().shape() == hk::shape({4, 3, 2}));
    CHECK(x.transpose().contiguous().is_contiguous());
    CHECK(hk::array({1, 2}).broadcast_to({3, 2}).shape() == hk::shape({3, 2}));
    CHECK(x[0].view({2, 2}, {1, 2}, 1).to_vector<float>() == (floats{1, 3, 2, 4}));
    CHECK(!x.view({2, 2}, {1}).wait().ok());
    CHECK(!x.slice({{}, {}, {}, {}}).wait().ok());
    CHECK(!x[2].wait().ok());
    hk::array y = hk::zeros({2, 2});
    y.slice({{}, 0}).assign({1, 2});
    y[1] += 10;
    CHECK(y.to_vector<float>() == (floats{1, 0, 12, 10}));
}

static void test_memory()
{
    float held[] = {1, 2, 3};
    {
        const hk::array x = hk::from_memory(held, {3}) + 1;
        const hk::loan lent(x, HK_BORROW_WRITE);
        CHECK(lent.status().ok() && lent.strides() == hk::shape({1}));
        lent.data<float>()[1] = 7;
        CHECK(!lent.data<double>());
    }
    const hk::array y = hk::from_memory(held, {3});
    y += 1;
    CHECK(y.wait().ok() && held[2] == 4);
    const hk::loan none(hk::array(), HK_BORROW_READ);
    CHECK(!none.status().ok() && !none.data<float>());
}

static void test_signs()
{
    const hk::array x = {1, 2, 4}, y = {4, 2, 1};
    CHECK((x + y).to_vector<float>() == (floats{5, 4, 5}));
    CHECK((x - 1).to_vector<float>() == (floats{0, 1, 3}));
    CHECK((1 - x).to_vector<float>() == (floats{0, -1, -3}));
    CHECK((2 * x / y - -x).to_vector<float>() == (floats{1.5f, 4, 12}));
    CHECK((4 / x).to_vector<float>() == (floats{4, 2, 1}));
    CHECK((x % 2).to_vector<float>() == (floats{1, 0, 0}));
    CHECK(((x > 1) & (2 >= y)).to_vector<float>() == (floats{0, 1, 1}));
    CHECK((~(x < y) | (x <= 1)).to_vector<float>() == (floats{1, 1, 1}));
    CHECK((hk::equal(x, 2) ^ hk::not_equal(2, y)).to_vector<float>() == (floats{1, 1, 1}));
    CHECK(hk::maximum(x, 2).to_vector<float>() == (floats{2, 2, 4}));
    CHECK(hk::maximum(2, x).to_vector<float>() == (floats{2, 2, 4}));
    CHECK(hk::power(2, x).to_vector<float>() == (floats{2, 4, 16}));
    CHECK(hk::where(x > 1, x, 0).to_vector<float>() == (floats{0, 2, 4}));
    hk::array z = x + 0;
    const hk::array second = z;
    z += y;
    z *= 2;
    z -= 1;
    z /= hk::array{3, 1, 1};
    CHECK(second.to_vector<float>() == (floats{3, 7, 9}));

    const hk::array counts = hk::from_host<int64_t>({1, 2});
    CHECK((3 - counts).dtype() == hk::i64);
    CHECK((counts > 1).dtype() == hk::boolean);
    CHECK(!(counts + 0.5).wait().ok());
    CHECK(!(0.5 - counts).wait().ok());
}

static void test_options()
{
    const hk::array x = hk::reshape(hk::arange(0, 6, 1), {2, 3});
    CHECK(hk::sum(x).item() == 15);
    CHECK(hk::sum(x, hk::sum_options().with_axes({0})).to_vector<float>() == (floats{3, 5, 7}));
    const auto kept = hk::mean_options().with_axes({-1}).with_keepdims(true);
    CHECK(hk::mean(x, kept).shape() == hk::shape({2, 1}));
    CHECK(std::fabs(hk::std(x).item() - 1.7078) < 1e-3);
    const hk::array small = {{-1e-4F, 1e-4F}};
    CHECK(std::fabs(hk::max(hk::rms_norm(small, {}, hk::rms_norm_options().with_eps(0))).item() -
                    1) < 1e-5);
    CHECK(hk::max(hk::rms_norm(small, {}, hk::rms_norm_options())).item() < 0.1);
    const hk::array logits = hk::reshape(hk::arange(0, 6, 1), {2, 3});
    const hk::array classes = hk::cast(hk::array{1, 0, 0}, HK_I32);
    const auto first = hk::cross_entropy_loss_options().with_axis(0);
    CHECK(hk::cross_entropy_loss(logits, classes, {}, first).shape() == hk::shape({}));
    const hk::array image = hk::ones({1, 1, 4, 4}), weight = hk::ones({1, 1, 3, 3});
    CHECK(hk::conv2d(image, weight).shape() == hk::shape({1, 1, 2, 2}));
    CHECK(hk::conv2d(image, weight, hk::ones({1})).to_vector<float>() == (floats{10, 10, 10, 10}));
    const auto half = hk::max_pool2d_options().with_kernel({2, 2}).with_stride({2, 2});
    CHECK(hk::max_pool2d(image, half).shape() == hk::shape({1, 1, 2, 2}));
    CHECK(hk::pad(x, 0, {1, 1}, HK_PAD_CONSTANT, 0).shape() == hk::shape({4, 3}));
#if __cplusplus > 201703L
    CHECK(hk::sum(x, {.axes = {0}}).to_vector<float>() == (floats{3, 5, 7}));
    CHECK(hk::mean(x, {.axes = {-1}, .keepdims = true}).shape() == hk::shape({2, 1}));
    CHECK(hk::conv2d(image, weight, {}, {.stride = {2, 2}, .padding = {1, 1}}).shape() ==
          hk::shape({1, 1, 2, 2}));
#endif
}

static void test_lists()
{
    const hk::array x = {1, 2}, y = {3};
    CHECK(hk::concat({x, y, x}, 0).to_vector<float>() == (floats{1, 2, 3, 1, 2}));
    const std::vector<hk::array> rows = {x, x};
    CHECK(hk::stack(rows, 0).shape() == hk::shape({2, 2}));
    const hk::array pair[] = {x, y};
    CHECK_EQ_I64(hk::concat(pair, 0).size(), 3);
    CHECK_EQ_I64(hk::concat(std::array<hk::array, 2>{y, y}, 0).size(), 2);
    CHECK(!hk::concat({}, 0).wait().ok());
    CHECK(!hk::concat({x, {}}, 0).wait().ok());
}

static void test_linear_algebra()
{
    const hk::array x = hk::eye(2, 2, 0, HK_F32) * 2, y = {3, 4};
    CHECK(hk::einsum("ij,j->i", {x, y}).to_vector<float>() == (floats{6, 8}));
    CHECK(hk::solve(x, y).to_vector<float>() == (floats{1.5f, 2}));
    const auto [values, vectors] = hk::eigh(x);
    CHECK(values.to_vector<float>() == (floats{2, 2}) && vectors.shape() == hk::shape({2, 2}));
    CHECK(hk::matrix_norm(x, hk::matrix_norm_options().with_ord(HK_NORM_INF)).item() == 2);
}

static void test_choices()
{
    const hk::array x = {3, 0, 3, 1};
    CHECK(hk::mask_select(x, hk::greater(x, 0.5f)).to_vector<float>() == (floats{3, 3, 1}));
    hk::mask_assign(x, hk::equal(x, 3.0f), hk::array{2});
    CHECK(x.to_vector<float>() == (floats{2, 0, 2, 1}));
    const auto [values, counts] = hk::unique_counts(x);
    CHECK(values.to_vector<float>() == (floats{0, 1, 2}));
    CHECK(counts.to_vector<int64_t>() == (std::vector<int64_t>{1, 1, 2}));
    CHECK(hk::unique_all(x).inverse.to_vector<int64_t>() == (std::vector<int64_t>{2, 0, 2, 1}));
    CHECK(hk::nonzero(x)[0].to_vector<int64_t>() == (std::vector<int64_t>{0, 2, 3}));
    CHECK_EQ_I64(hk::bincount(hk::cast(x, HK_I32)).size(), 3);
    CHECK(!hk::nonzero({})[0].wait().ok());
}

static void test_draws()
{
    const hk::generator stream(3);
    const hk_generator_state begun = stream.state();
    const hk::array order = hk::random_permutation(6, {}, stream);
    stream.set_state(begun);
    CHECK(stream.state().position == begun.position);
    CHECK(hk::shuffle(hk::arange(0, 6, 1, HK_I64), stream).to_vector<int64_t>() ==
          order.to_vector<int64_t>());
    CHECK(hk::random_bernoulli(1, {2}, HK_F32).to_vector<float>() == (floats{1, 1}));
    CHECK(hk::random_choice(4, {2}, false, hk::array{0, 1, 0, 0}).wait().ok() == false);
    CHECK(hk::random_categorical(hk::array{0, 90}).item() == 1);
    CHECK(hk::random_gamma(2, {3}).shape() == hk::random_exponential({3}).shape());
}

static void test_complex()
{
    using number = std::complex<double>;
    const hk::array x = hk::complex_of(hk::array{1, 2}, hk::array{3, 4}), y = hk::fft(x, 0, -1, 0);
    CHECK(x.dtype() == hk::c64 && y.to_vector<number>()[1] == number(-1, -1));
    CHECK((x * x)[0].item_complex() == number(-8, 6));
    CHECK(hk::imag(x).to_vector<float>() == (floats{3, 4}));
}

int main()
{
    test_counts();
    test_scopes();
    test_making();
    test_views();
    test_memory();
    test_signs();
    test_options();
    test_lists();
    test_linear_algebra();
    test_choices();
    test_draws();
    test_complex();
    CHECK(!hk::wait_all().ok()); /* what was refused above */
    return check_result();
}
