"""Values and gradients at the corners of dtypes, against NumPy in float64 and wider."""

import numpy as np
import pytest

import hocket as hk
from hocket.nn import functional as F

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
inf, nan = np.inf, np.nan


def of(values, dtype):
    return hk.astype(hk.asarray(np.asarray(values, dtype=np.float64)), getattr(hk, dtype))


def wide(x):
    return np.asarray(hk.astype(x, hk.float64))


def gradients(function, *inputs, dtype="float32"):
    inputs = [of(x, dtype) for x in inputs]
    for x in inputs:
        x.attach_grad()
    with hk.record():
        y = function(*inputs)
    y.backward()
    return [wide(x.grad) for x in inputs]


def close(got, expected, tolerance):
    np.testing.assert_allclose(got if isinstance(got, np.ndarray) else wide(got), expected, rtol=tolerance)


# ---- means ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_means_of_integers_do_not_wrap_around(dtype, axis):
    most = np.iinfo(dtype).max
    x = np.random.default_rng(0).integers(most // 2, most, (700, 9), dtype=dtype)
    captured = hk.capture(lambda x: hk.mean(x, axis=axis))
    for given in (x, x.T.copy(), x.T):
        for mean in (lambda x: hk.mean(x, axis=axis), captured, captured):
            close(mean(hk.asarray(given)), np.asarray(given.astype(np.longdouble).mean(axis=axis), dtype=np.float64), 1e-14)
        close(hk.var(hk.asarray(given), axis=axis), np.asarray(given.astype(np.longdouble).var(axis=axis), dtype=np.float64), 1e-9)
    assert float(hk.mean(hk.asarray(np.array([most, 1], dtype=dtype)))) == most // 2 + 1


@pytest.mark.parametrize("shape, axis", [((2,), None), ((64, 3), 0), ((3, 300), 1), ((9000,), 0), ((4, 4, 4), (0, 2)), ((100000,), None)])
@pytest.mark.parametrize("dtype, value", [("float32", 3e38), ("float16", 6e4), ("bfloat16", 3e38), ("float64", 1.7e308)])
def test_means_of_what_cannot_be_summed(dtype, value, shape, axis):
    x = of(np.full(shape, value), dtype)
    close(hk.mean(x, axis=axis), wide(x).max(), 1e-15 if dtype == "float64" else 1e-7)
    assert np.all(wide(hk.mean(of(np.full(shape, inf), dtype), axis=axis)) == inf)


def test_means_with_infinities_and_both_signs():
    assert float(hk.mean(of([3e38, 3e38, -3e38, -3e38] * 20, "float32"))) == 0
    assert float(hk.mean(of([inf, 1], "float32"))) == inf
    assert np.isnan(float(hk.mean(of([inf, -inf], "float32"))))


@pytest.mark.parametrize("kernel", [2, 3, (1, 4)])
@pytest.mark.parametrize("dtype, value", [("float32", 3e38), ("float64", 1.7e308)])
def test_average_pooling_of_what_cannot_be_summed(dtype, value, kernel):
    x = np.full((2, 3, 12, 12), 1.0)
    x[1, 1] = value
    close(F.avg_pool2d(of(x, dtype), kernel)[1, 1, 0, 0], value, 1e-7)
    close(F.avg_pool2d(of(x, dtype), kernel)[1, 0, 0, 0], 1, 0)
    assert float(F.avg_pool2d(of(np.full((1, 1, 12, 12), inf), dtype), kernel)[0, 0, 0, 0]) == inf


@pytest.mark.parametrize("kernel", [2, 4, (1, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_average_pooling_of_subnormals(dtype, kernel):
    least = np.finfo(dtype).smallest_subnormal
    x = np.full((2, 3, 12, 36), least, dtype=dtype)
    assert np.all(np.asarray(F.avg_pool2d(hk.asarray(x), kernel)) == least)


# ---- deviations and norms --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape, axis", [((2,), None), ((4, 64), 1), ((65, 3), 0), ((5000,), 0), ((100, 2), None)])
@pytest.mark.parametrize("dtype, value, tolerance", [("float32", 1e30, 1e-6), ("float32", 1e-30, 1e-6), ("float16", 300, 1e-3), ("float16", 1e-4, 2e-3), ("bfloat16", 1e30, 1e-2)])
def test_deviations_are_rounded_after_the_root(dtype, value, tolerance, shape, axis):
    n = int(np.prod(shape))
    given = value * np.where(np.arange(n) % 4 < 2, 1.0, -1.0).reshape(shape) * np.where(np.arange(n) % 2, 1, 0.5).reshape(shape)
    x = wide(of(given, dtype))
    deviation = x.std(axis=axis, keepdims=True)
    slope = (x - x.mean(axis=axis, keepdims=True)) / deviation / (n // deviation.size)
    close(hk.std(of(given, dtype), axis=axis), x.std(axis=axis), tolerance)
    close(gradients(lambda x: hk.std(x, axis=axis).sum(), given, dtype=dtype)[0], slope, 4 * tolerance)


def test_the_gradient_of_no_deviation_is_0():
    assert np.all(gradients(hk.std, [3.0, 3, 3])[0] == 0)


@pytest.mark.parametrize("value", [1e30, 1e-30])
def test_norms_of_large_and_small_numbers(value):
    x = np.full(4, value)
    close(hk.linalg.vector_norm(of(x, "float32")), 2 * value, 1e-6)
    close(gradients(hk.linalg.vector_norm, x)[0], 0.5, 1e-6)
    for p in (3, -2):
        close(hk.linalg.vector_norm(of(x, "float32"), ord=p), value * 4 ** (1 / p), 1e-5)
        close(gradients(lambda x: hk.linalg.vector_norm(x, ord=p), x)[0], 4 ** (1 / p) / 4, 1e-5)
    close(hk.linalg.matrix_norm(of(x.reshape(2, 2), "float32")), 2 * value, 1e-6)
    close(hk.linalg.vector_norm(of(np.full(4, value**6.5), "float64")), 2 * value**6.5, 1e-12)


def test_norms_of_none_and_infinite_ones():
    assert float(hk.linalg.vector_norm(of(np.zeros(3), "float32"), ord=3)) == 0
    assert float(hk.linalg.vector_norm(of([inf, 1], "float32"), ord=3)) == inf
    assert float(hk.linalg.vector_norm(of([], "float32"), ord=3)) == 0


def test_cosines_of_large_vectors():
    cosine = hk._core.operators["cosine_similarity"]
    for value in (1e20, 1, 1e-3):
        close(cosine(of(np.full((3, 5), value), "float32"), of(np.full((3, 5), value), "float32"), 1), 1, 1e-6)
    x, y = gradients(lambda x, y: cosine(x, y, 0), [1e20, 0], [1e20, 1e20])
    close(x * 1e20, [0, 0.5**0.5], 1e-5)
    close(y * 1e20, [0.5**1.5, -(0.5**1.5)], 1e-5)


# ---- far from 0 ------------------------------------------------------------------------------------------------------


def normalized(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


@pytest.mark.parametrize("count", [16, 100, 1000])
@pytest.mark.parametrize("offset", [0, 1000, 10000, -1e5])
def test_norms_far_from_0(offset, count):
    given = (offset + np.arange(count) / 1000).astype(np.float32)
    x, g = given.astype(np.float64), np.random.default_rng(1).normal(size=count).astype(np.float32)
    y = normalized(x)
    slope = (g - g.mean() - y * (g * y).mean()) / np.sqrt(x.var() + 1e-5)
    columns, ones = np.repeat(given[:, None], 3, 1), np.ones(3, np.float32)

    def batch_norm(x):
        return F.batch_norm(x, hk.asarray(ones), hk.asarray(0 * ones), hk.asarray(0 * ones), hk.asarray(ones), training=True)

    def near(got, expected):
        difference = (got if isinstance(got, np.ndarray) else wide(got)) - expected
        assert np.abs(difference).max() <= 1e-6 * max(1, np.abs(expected).max())

    row, weights = hk.asarray(given)[None], hk.asarray(g)
    near(F.layer_norm(row)[0], y)
    near(hk.capture(F.layer_norm)(row)[0], y)
    near(F.group_norm(hk.asarray(columns.T.copy()[None]), 3)[0, 1], y)
    near(batch_norm(hk.asarray(columns))[:, 0], y)
    near(gradients(lambda x: (F.layer_norm(x[None]) * weights).sum(), given)[0], slope)
    near(gradients(lambda w: (F.layer_norm(row, w) * weights).sum(), np.ones(count))[0], g * y)
    near(gradients(lambda x: (batch_norm(x) * weights[:, None]).sum(), columns)[0][:, 0], slope)
    for axis, array in ((1, columns.T.copy()), (0, columns)):
        close(hk.var(hk.asarray(array), axis=axis), x.var(), 2e-6)
        close(hk.std(hk.asarray(array), axis=axis), x.std(), 2e-6)
        got = gradients(lambda x: hk.var(x, axis=axis).sum(), array)[0]
        near(got * count, np.repeat(2 * (x - x.mean())[:, None], 3, 1) if axis == 0 else np.repeat(2 * (x - x.mean())[None], 3, 0))
    close(hk.var(hk.asarray(columns)), x.var(), 2e-6)


def test_running_statistics_far_from_0():
    x = (10000 + np.arange(48).reshape(16, 3) / 1000).astype(np.float32)
    mean, variance, ones = hk.zeros(3), hk.ones(3), hk.ones(3)
    F.batch_norm(hk.asarray(x), ones, hk.zeros(3), mean, variance, training=True, momentum=1.0)
    close(mean, x.astype(np.float64).mean(0), 1e-7)
    close(variance, x.astype(np.float64).var(0, ddof=1), 1e-6)


# ---- gradients by inputs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype, value", [("float32", 1e8), ("float32", 6e4), ("float16", -1000), ("float64", 1e17), ("bfloat16", 3), ("float32", inf)])
def test_logaddexp_of_equal_numbers_shares_its_gradient(dtype, value):
    assert [float(g[0]) for g in gradients(hk.logaddexp, [value], [value], dtype=dtype)] == [0.5, 0.5]


def test_logaddexp_at_infinity():
    x, y = gradients(hk.logaddexp, [inf, -inf, 1, 0, -inf], [1, 2, inf, -inf, -inf])
    assert x.tolist() == [1, 0, 0, 1, 0] and y.tolist() == [0, 1, 1, 0, 0]


@pytest.mark.parametrize("dtype, tolerance", [("float16", 1e-3), ("bfloat16", 1e-2), ("float32", 1e-6), ("float64", 1e-14)])
def test_slopes_where_values_are_near_their_limits(dtype, tolerance):
    x = np.array([0, 0.5, -3, 4, -5])
    close(gradients(hk.tanh, x, dtype=dtype)[0], np.cosh(x) ** -2.0, tolerance)
    close(gradients(hk.sigmoid, x, dtype=dtype)[0], np.cosh(x / 2) ** -2.0 / 4, tolerance)
    x = np.array([0.5, 1.375, -1.5])
    close(gradients(hk.tan, x, dtype=dtype)[0], np.cos(x) ** -2.0, 4 * tolerance)
    x = np.array([0.75, 3, 40])
    close(gradients(hk.reciprocal, x, dtype=dtype)[0], -(x**-2.0), 2 * tolerance)
    close(gradients(hk.rsqrt, x, dtype=dtype)[0], -(x**-1.5) / 2, 2 * tolerance)
    if dtype in ("float32", "float64"):
        x = np.array([8, -17, 40])
        close(gradients(hk.tanh, x, dtype=dtype)[0], np.cosh(x) ** -2.0, tolerance)
        close(gradients(hk.sigmoid, 2 * x, dtype=dtype)[0], np.cosh(x) ** -2.0 / 4, tolerance)
        x = np.array([3, -6, 9])
        close(gradients(hk._core.operators["erf"], x, dtype=dtype)[0], 2 / np.sqrt(np.pi) * np.exp(-(x**2.0)), tolerance)


def test_captured_slopes_are_the_same():
    x = of([0, 0.5, 8, -17, 40], "float32")
    for function in (hk.tanh, hk.sigmoid):
        def slope(x):
            x.attach_grad()
            with hk.record():
                y = (function(x * 1.0) * 2.0).sum()
            y.backward()
            return x.grad
        expected = wide(slope(x))
        captured = hk.capture(slope)
        assert np.array_equal(wide(captured(x)), expected) and np.array_equal(wide(captured(x)), expected)


def test_gradients_of_powers_at_corners():
    x, y = gradients(lambda x, y: x**y, [0, 0, 0, 0, -2, inf, 0, 2], [0, 1, 2, -1, 3, 0, 0.5, 3])
    assert x.tolist() == [0, 1, 0, -inf, 12, 0, inf, 12]
    assert y[:4].tolist() == [0, 0, 0, -inf] and np.isnan(y[4]) and y[6] == 0
    for power, expected in ((0, 0), (1, 1), (2, 0), (3, 0)):
        assert float(gradients(lambda x: x ** float(power), [0.0])[0][0]) == expected


def test_other_slopes_at_0_and_infinity():
    for dtype in ("float32", "float64"):
        for function in (hk.hypot, hk.atan2):
            assert [g.tolist() for g in gradients(function, [0.0], [0.0], dtype=dtype)] == [[0], [0]]
        large = 3e38 if dtype == "float32" else 1.7e308
        close(gradients(hk.hypot, [large, inf, 3e-30], [large, 1, 4e-30], dtype=dtype)[0], [0.5**0.5, 1, 0.6], 1e-6)
        close(gradients(hk.atan2, [3e25], [4e25], dtype=dtype)[0], 4 / 25 * 1e-25, 1e-6)
    assert gradients(hk.sqrt, [0.0])[0][0] == inf and gradients(hk.abs, [0.0, -0.0])[0].tolist() == [0, 0]
    assert gradients(hk.prod, [0.0, 2, 3])[0].tolist() == [6, 0, 0] and gradients(hk.prod, [0.0, 0, 3])[0].tolist() == [0, 0, 0]
    assert gradients(hk.cumulative_prod, [0.0, 2, 3])[0].tolist() == [9, 0, 0]


def test_logsumexp_of_nothing_has_no_gradient():
    logsumexp = hk._core.operators["logsumexp"]
    assert gradients(logsumexp, [-inf, -inf])[0].tolist() == [0, 0]
    rows = gradients(lambda x: logsumexp(x, 1).sum(), [[-inf, -inf], [0, 0], [0, -inf]])[0]
    assert rows.tolist() == [[0, 0], [0.5, 0.5], [1, 0]]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_gradients_of_halves_by_places(dtype):
    x = [3.0, 1, 2, 3]
    expected = {"max": [0.5, 0, 0, 0.5], "min": [0, 1, 0, 0], "prod": [6, 18, 9, 6], "cumulative_prod": [10, 27, 12, 6], "cumulative_sum": [4, 3, 2, 1]}
    for name, slopes in expected.items():
        assert gradients(getattr(hk, name), x, dtype=dtype)[0].tolist() == slopes
    weights = of([1, 2, 3, 4], dtype)
    assert gradients(lambda x: (hk.sort(x) * weights).sum(), x, dtype=dtype)[0].tolist() == [3, 1, 2, 4]
    assert gradients(lambda x: (hk.topk(x, 2)[0] * weights[:2]).sum(), [3.0, 1, 2, 4], dtype=dtype)[0].tolist() == [2, 0, 0, 1]


# ---- numbers next to each other --------------------------------------------------------------------------------------


def test_nextafter_of_halves():
    x, y = [1.0, 0, -0.0, 1, -1, nan, inf], [2.0, 1, -1, -5, -1, 1, 0]
    expected = {"float16": [1 + 2**-10, 2**-24, -(2**-24), 1 - 2**-11, -1, nan, 65504],
                "bfloat16": [1 + 2**-7, 2**-133, -(2**-133), 1 - 2**-8, -1, nan, 255 * 2.0**120]}
    for dtype, values in expected.items():
        np.testing.assert_array_equal(wide(hk.nextafter(of(x, dtype), of(y, dtype))), values)
        captured = hk.capture(lambda x, y: hk.nextafter(x, y) * 1.0)
        for _ in range(2):
            np.testing.assert_array_equal(wide(captured(of(x, dtype), of(y, dtype))), values)


# ---- integers --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_wrap_around_in_their_dtype(dtype):
    info, t, own = np.iinfo(dtype), getattr(np, dtype), getattr(hk, dtype)
    rng = np.random.default_rng(0)
    a, b = (rng.integers(info.min, info.max, (6, 40), dtype=dtype, endpoint=True) for _ in range(2))
    x, y = hk.asarray(a), hk.asarray(b)
    with np.errstate(all="ignore"):
        cases = {
            "sum of two": (x + y, a + b), "product": (x * y, a * b), "square": (hk.square(x), a * a), "power": (x**3, a * a * a),
            "number": (x * 100, a * t(100)), "negative": (-x, t(0) - a),
            "matrix product": (x @ y.T, a @ b.T), "with a vector": (x @ y[0], a @ b[0]), "of vectors": (x[0] @ y[1], a[0] @ b[1]),
            "stack": (x.reshape(2, 3, 40) @ y.reshape(2, 40, 3), a.reshape(2, 3, 40) @ b.reshape(2, 40, 3)),
            "vecdot": (hk.vecdot(x, y), (a * b).sum(-1, dtype=dtype)), "tensordot": (hk.tensordot(x, y, axes=2), (a * b).sum(dtype=dtype)),
            "einsum": (hk.einsum("ij,kj->ik", x, y), a @ b.T), "outer": (hk.linalg.outer(x[0], y[0]), np.outer(a[0], b[0])),
            "sum": (hk.sum(x, dtype=own), a.sum(dtype=dtype)), "along": (hk.sum(x, axis=0, dtype=own), a.sum(axis=0, dtype=dtype)),
            "prod": (hk.prod(x, axis=0, dtype=own), a.prod(axis=0, dtype=dtype)),
            "cumulative": (hk.cumulative_sum(x, axis=1, dtype=own), a.cumsum(axis=1, dtype=dtype)),
            "cumulative product": (hk.cumulative_prod(x, axis=0, dtype=own), a.cumprod(axis=0, dtype=dtype)),
            "trace": (hk.linalg.trace(x[:, :6], dtype=own), np.trace(a[:, :6], dtype=dtype)),
        }
        captured = hk.capture(lambda x, y: (x * y + x) @ y.T)
        for _ in range(2):
            cases["captured"] = (captured(x, y), (a * b + a) @ b.T)
    for name, (got, expected) in cases.items():
        got = np.asarray(got)
        assert got.dtype == dtype and np.array_equal(got, expected), name
    for value in (info.max * 2.0, info.min - 1.5e4 * 2.0 ** info.bits, nan):
        with pytest.raises(hk.Error, match=dtype):
            np.asarray(hk.astype(hk.asarray(np.array([value])), own))
    hk._core._failures_clear()


def test_wrap():
    wrap = hk._core.operators["wrap"]
    rng = np.random.default_rng(2)
    for given in INTEGERS:
        info = np.iinfo(given)
        a = np.concatenate([rng.integers(info.min, info.max, 50, dtype=given, endpoint=True), np.array([info.min, info.max, 0], dtype=given)])
        for wanted in INTEGERS:
            assert np.array_equal(np.asarray(wrap(hk.asarray(a), getattr(hk, wanted))), a.astype(wanted))
    with pytest.raises(ValueError, match="dtype is float32, but must be one of integers"):
        wrap(hk.asarray([1]), hk.float32)
    hk._core._failures_clear()


def test_slopes_beside_what_is_constant():
    """std of what is constant, under a logarithm; the second slope of x ** 0 at 0."""
    x = hk.asarray([2.0, 2.0, 2.0])
    assert hk.grad(lambda x: hk.log(hk.std(x)))(x).tolist() == [0, 0, 0]
    first = hk.grad(lambda x: (x ** hk.asarray([0.0, 0.0])).sum())
    assert hk.grad(lambda x: first(x).sum())(hk.asarray([0.0, 2.0])).tolist() == [0, 0]


def test_a_nan_in_a_mask_is_seen():
    x = hk.ones((2, 3))
    y = F.scaled_dot_product_attention(x, x, x, hk.asarray([[float("nan")] * 2, [0.0, 0.0]]))
    assert np.isnan(y.numpy()[0]).all() and np.allclose(y.numpy()[1], 1)


@pytest.mark.parametrize("dtype", [hk.float32, hk.float64])
def test_a_nan_is_seen_by_the_norm_of_its_row(dtype):
    x = np.ones((2, 40))
    x[0, 3] = np.nan
    for norm in (lambda x: F.rms_norm(x), lambda x: F.layer_norm(x)):
        y = norm(hk.asarray(x, dtype=dtype)).numpy()
        assert np.isnan(y[0]).all() and not np.isnan(y[1]).any()
    if dtype == hk.float64:
        assert np.allclose(F.rms_norm(hk.asarray([[1e200, -1e200]], dtype=dtype)).numpy(), [[1, -1]])


@pytest.mark.parametrize("dtype", ["uint8", hk.int16, "float64"])
def test_results_told_a_dtype_by_name(dtype):
    x = hk.asarray([200, 100])
    for call in (hk.sum, hk.prod, hk.cumulative_sum, hk.cumulative_prod):
        assert call(x, dtype=dtype).dtype == (getattr(hk, dtype) if isinstance(dtype, str) else dtype)
    assert int(hk.sum(x, dtype="uint8")) == 300 - 256


@pytest.mark.parametrize("dtype", [hk.float32, hk.float64, hk.float16])
@pytest.mark.parametrize("name", ["gelu", "gelu_tanh", "silu", "mish"])
def test_slopes_far_out_are_finite(dtype, name):
    x = hk.asarray([1e20 if dtype != hk.float16 else 6e4, -1e20 if dtype != hk.float16 else -6e4], dtype=dtype)
    first = hk.grad(lambda x: getattr(F, name)(x).sum())
    assert first(x).tolist() == [1, 0]
    assert float(np.abs(hk.grad(lambda x: first(x).sum())(x).numpy()).max()) < 1e-200


@pytest.mark.parametrize("size", [1e30, 1e-30])
def test_clipping_by_the_norm_of_large_and_small_gradients(size):
    p = hk.zeros(2).attach_grad()
    with hk.record():
        loss = (p * hk.asarray([3 * size, 4 * size], dtype=hk.float32)).sum()
    loss.backward()
    assert abs(float(hk.optim.clip_grad_norm([p], 1.0)) / size - 5) < 1e-5
    assert np.allclose(p.grad.numpy() / size, [3, 4]) if size < 1 else np.allclose(p.grad.numpy(), [.6, .8])


def test_one_slope_of_clip_at_its_bounds():
    slopes = [hk.grad(lambda x: hk.clip(x, 0, 1).sum())(hk.asarray([0.0, .5, 1.0], dtype=dtype)).tolist() for dtype in (hk.float32, hk.float64, hk.float16)]
    assert slopes[0] == slopes[1] == slopes[2]


def test_an_array_of_one_entry_is_no_count():
    assert bytearray(hk.asarray([3], dtype=hk.uint8)) == b"\x03" and [10, 20][hk.asarray(1)] == 20


def test_a_write_into_lent_memory_fails_gradients_in_both_engines():
    x = hk.asarray([1.0, 2.0]).attach_grad()
    with hk.record():
        y = hk.exp(x)
        z = (y * y).sum()
    np.asarray(y.lend())[0] = 5
    with pytest.raises(hk.Error, match="overwritten by lend"):
        z.backward()
        x.grad.numpy()
    hk._core._failures_clear()


def test_flags_may_be_0_and_numpys_zeros_are_zeros():
    net = hk.nn.Linear(4, bias=0)
    assert net(hk.ones((2, 3))).shape == (2, 4) and len(net.parameters()) == 1
    for call in (lambda: hk.nn.Conv2d(3, 3, groups=np.int64(0)), lambda: hk.nn.MaxPool1d(2, np.int64(0))):
        with pytest.raises(ValueError, match="must not be 0"):
            call()
    assert hk.nn.Conv2d(3, np.int64(3))(hk.ones((1, 1, 4, 4))).shape == (1, 3, 2, 2)


@pytest.mark.parametrize("mean", [70, 5000, 1e6])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_variances_far_from_0(dtype, mean):
    """Each shape, whole too, is cut in another way; the most distant means of doubles are those of times."""
    random = np.random.default_rng(5)
    mean *= 1000 if dtype == "float64" else 1
    for shape, axis in (((3000, 65), 0), ((65, 3000), 1), ((100000,), 0), ((400, 300), None)):
        given = (mean + random.standard_normal(shape)).astype(dtype)
        x = given.astype(np.longdouble)
        expected = np.asarray(x.var(axis), dtype=np.float64)
        close(hk.var(hk.asarray(given), axis=axis), expected, 2e-7 if dtype == "float32" else 1e-13)
        close(hk.var(hk.asarray(np.full(shape, mean + 0.1, dtype=dtype)), axis=axis), np.zeros_like(expected), 0)
