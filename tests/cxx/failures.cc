/* Failures travel with hk::array, name the line of the call, and are thrown only where that was asked for. */
#include "check.h"

#include <hocket/hocket.hpp>

static int line_of(const hk::array &x)
{
    const hk::status record = x.wait();
    CHECK(!record.ok());
    CHECK_STR(record.file(), __FILE__);
    return record.line();
}

#define NAMES_THIS_LINE(call) CHECK_EQ_I64(line_of(call), __LINE__)

/* Statements that fail the array x. */
#define FAILS(x, statement)                                                                        \
    do {                                                                                           \
        statement;                                                                                 \
        CHECK_EQ_I64(line_of(x), __LINE__);                                                        \
    } while (0)

static hk::array layer(const hk::array &x)
{
    return hk::relu(x + 1);
}

static hk::array matrix(int64_t rows)
{
    return layer(hk::ones({rows, 3}));
}

/* Whatever the arguments call. */
static void test_results()
{
    const hk::array one = hk::ones({1}, HK_I64);
    NAMES_THIS_LINE(hk::matmul(layer(matrix(2)), matrix(4)));
    NAMES_THIS_LINE(hk::add(matrix(2), matrix(4)));
    NAMES_THIS_LINE(hk::add(one, 0.5));
    NAMES_THIS_LINE(hk::subtract(0.5, one));
    NAMES_THIS_LINE(layer(matrix(2)) + layer(matrix(4)));
    NAMES_THIS_LINE(one + 0.5);
    NAMES_THIS_LINE(0.5 - one);
    NAMES_THIS_LINE(~layer(matrix(2)));
    NAMES_THIS_LINE(matrix(2) < matrix(4));
    NAMES_THIS_LINE(hk::sum(matrix(2), hk::sum_options().with_axes({7})));
    NAMES_THIS_LINE(hk::reshape(matrix(2), {5, 5}));
    NAMES_THIS_LINE(hk::concat({matrix(2), matrix(4)}, 1));
    NAMES_THIS_LINE(hk::full({2}, 0.5, HK_I32));
    NAMES_THIS_LINE(hk::from_host<float>({1, 2}, {3}));
    NAMES_THIS_LINE(hk::random_int(3, 2, {1}));
    NAMES_THIS_LINE(hk::ones({1}, HK_F32, "nowhere:0"));
    NAMES_THIS_LINE(matrix(2)[9]);
    NAMES_THIS_LINE(matrix(2)[0][9]);
    NAMES_THIS_LINE(matrix(2).slice(0, 0, 9));
    NAMES_THIS_LINE(matrix(2).slice({0, {0, 9}}));
    NAMES_THIS_LINE(matrix(2).slice({{}, {0, 9, 2}}));
    NAMES_THIS_LINE(matrix(2).broadcast_to({5}));
    NAMES_THIS_LINE(matrix(2).grad());
    NAMES_THIS_LINE(hk::clip_grad_norm({matrix(2)}, 1));
    NAMES_THIS_LINE(hk::split_and_load(matrix(2), {"cpu:0"}, {1, 7})[0]);
    NAMES_THIS_LINE(hk::array() + 1);
    NAMES_THIS_LINE(hk::relu({}));

    /* The one that failed is named, whoever uses it. */
    const hk::array slice = matrix(2).slice(0, 0, 9);
    const int line = __LINE__ - 1;
    CHECK_EQ_I64(line_of(layer(slice) + 1), line);
}

static void test_in_place()
{
    hk::array x = matrix(2), y = matrix(2), z = matrix(2), w = matrix(2), p = matrix(2);
    FAILS(x, hk::add_into(x, layer(x), matrix(4)));
    FAILS(y, y += matrix(4));
    FAILS(z, z.assign(layer(matrix(4))));
    FAILS(w, w.write<float>({1, 2}));
    FAILS(p, hk::sgd({p}, hk::sgd_options().with_lr(-1)));
    p = matrix(2);
    FAILS(p, hk::optimizer("none", {p}).step());
    hk::array both[] = {matrix(2), matrix(4)};
    FAILS(both[0], hk::all_reduce(both));
    hk::array healed = matrix(2);
    healed += matrix(4);
    healed.recover();
    CHECK(healed.item() != 0 && healed.to_vector<float>()[0] == 2);
}

static void test_statuses()
{
    float values[2];
    CHECK_EQ_I64(matrix(2).to_host(values, 2).line(), __LINE__);
    CHECK_EQ_I64(layer(matrix(2)).backward().line(), __LINE__);
    CHECK_EQ_I64(hk::backward({matrix(2), matrix(2)}).line(), __LINE__);
    CHECK_EQ_I64(hk::data_set(HK_DATA_TRAIN, "/nowhere").status().line(), __LINE__);
    CHECK_EQ_I64(hk::loader({}, hk::loader_options().with_ahead(-7)).status().line(), __LINE__);
    CHECK(!hk::optimizer("none", {matrix(2)}).status().ok());
    CHECK(!hk::status().ok() && !hk::array().to_host(values, 2).ok());

    /* A status is kept, whatever the thread asks for after it. */
    const hk::status kept = hk::matmul(matrix(2), matrix(2)).wait();
    const hk::status copy = kept;
    CHECK(matrix(2).wait().ok());
    CHECK(!copy && copy.code() == HK_INVALID_ARGUMENT);
    CHECK_STR(kept.operation(), "matmul");
    CHECK_STR(copy.inputs(), "float32(2,3), float32(2,3)");
}

static void test_errors()
{
    const hk::array good = matrix(1), bad = hk::matmul(matrix(2), matrix(2));
    const int line = __LINE__ - 1;
    CHECK(hk::check(good).get() == good.get() && good.value().get() == good.get());
    int caught = 0;
    try {
        bad.value();
    } catch (const std::runtime_error &error) {
        caught++;
        const std::string text = error.what(),
                          place = std::string(__FILE__) + ":" + std::to_string(line);
        CHECK(text.find("matmul failed") == 0 && text.find(place) != std::string::npos);
    }
    try {
        hk::check(bad);
    } catch (const hk::error &error) {
        caught++;
        CHECK_EQ_I64(error.status().line(), line);
    }
    try {
        bad.to_vector<float>();
    } catch (const hk::error &) {
        caught++;
    }
    try {
        hk::check(hk::runtime_init()); /* runs already */
    } catch (const hk::error &) {
        caught++;
    }
    CHECK_EQ_I64(caught, 4);
}

/* The snapshot, and forgetting it. */
static void test_snapshot()
{
    CHECK(hk::wait_all().count() > 1);
    hk::failures_clear();
    CHECK(hk::wait_all().ok());
}

int main()
{
    test_results();
    test_in_place();
    test_statuses();
    test_errors();
    test_snapshot();
    return check_result();
}
