"""Functions that the array API standard has no name for, beside NumPy's; and what is drawn from a few."""

import numpy as np
import pytest

import hocket as hk
from hocket import nn


def values(x):
    return np.array(x.tolist())


def draw(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("float32")


def test_counts_are_numpys():
    x = draw(3, 40)
    for bins, low, high in ((10, -2.0, 2.0), (1, 0.0, 1.0), (7, -0.5, 3.0)):
        assert hk.histogram(hk.asarray(x), bins, low, high).tolist() == np.histogram(x, bins, (low, high))[0].tolist()
    with pytest.raises(IndexError, match="bins is 0"):
        hk.histogram(hk.asarray(x), 0, 0.0, 1.0)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_what_is_scattered(axis):
    x, updates = draw(3, 4), draw(3, 4) + 1
    indices = np.array([[0, 2, 1, 0], [0, 2, 2, 1], [2, 0, 1, 1]])
    arrays = [hk.asarray(each) for each in (x, indices, updates)]
    last, added = x.copy(), x.copy()
    for place in np.ndindex(3, 4):
        to = list(place)
        to[axis] = indices[place]
        last[tuple(to)] = updates[place]
        added[tuple(to)] += updates[place]
    assert hk.scatter(*arrays, axis=axis).tolist() == last.tolist()
    np.testing.assert_allclose(values(hk.scatter_add(*arrays, axis)), added, rtol=1e-6)
    if axis == -1:
        assert hk.scatter(*arrays).tolist() == last.tolist()


def test_statistics_and_cosines():
    x, y = draw(2, 3, 4), draw(2, 3, 4) * 2 - 1
    for axis in (None, 1, (0, 2), (), -1):
        for keepdims in (False, True):
            variance, mean = hk.var_mean(hk.asarray(x), axis, correction=0.5 if axis == 1 else 0, keepdims=keepdims)
            want = hk.var(hk.asarray(x), axis, correction=0.5 if axis == 1 else 0, keepdims=keepdims)
            assert variance.tolist() == want.tolist() and mean.tolist() == hk.mean(hk.asarray(x), axis, keepdims=keepdims).tolist()
    for axis in (0, 1, -1):
        want = (x * y).sum(axis) / np.linalg.norm(x, axis=axis) / np.linalg.norm(y, axis=axis)
        np.testing.assert_allclose(values(hk.cosine_similarity(hk.asarray(x), hk.asarray(y), axis)), want, rtol=1e-5, atol=1e-6)
    assert nn.functional.cosine_similarity is hk.cosine_similarity


def test_windows_and_parts():
    x = draw(3, 7)
    windows = hk.sliding_window(hk.asarray(x), 3, 1, 2)
    assert windows.tolist() == np.lib.stride_tricks.sliding_window_view(x, 3, axis=1)[:, ::2].tolist()
    assert hk.sliding_window(hk.asarray(x), 2, axis=0).shape == (2, 7, 2)
    assert hk.kron(hk.asarray(x), hk.asarray(x[:2])).tolist() == np.kron(x, x[:2]).tolist()
    assert hk.complex_of(hk.asarray(x), 1.0).tolist() == (x + 1j).tolist()
    assert hk.wrap(hk.asarray([300, -1]), "uint8").tolist() == [44, 255]
    a = hk.asarray([1.0])
    b = hk.copy(a)
    b[0] = 2.0
    assert a.tolist() == [1] and hk.pin(a).tolist() == [1]


def test_pooling_of_sequences_is_that_of_the_layers():
    x, f = hk.asarray(draw(2, 3, 9)), nn.functional
    assert f.max_pool1d(x, 2, 3, 1).tolist() == nn.MaxPool1d(2, 3, 1)(x).tolist()
    assert f.avg_pool1d(x, 3).tolist() == nn.AvgPool1d(3)(x).tolist()
    assert f.adaptive_avg_pool1d(x, 4).tolist() == nn.AdaptiveAvgPool1d(4)(x).tolist()
    assert f.adaptive_max_pool1d(x, 4).tolist() == nn.AdaptiveMaxPool1d(4)(x).tolist()
    x = hk.reshape(x, (2, 3, 3, 3))
    assert f.adaptive_avg_pool2d(x, (2, 1)).tolist() == nn.AdaptiveAvgPool2d((2, 1))(x).tolist()
    assert f.adaptive_max_pool2d(x, 2).tolist() == nn.AdaptiveMaxPool2d(2)(x).tolist()
    with pytest.raises(ValueError):
        f.adaptive_avg_pool1d(x, 0)


# ---- random choices


def test_choice_by_probabilities():
    stream = lambda: hk.random.Generator(3)  # noqa: E731
    p = [0.1, 0.0, 0.6, 0.3]
    drawn = stream().choice(4, (4000,), p=p)
    assert drawn.tolist() == stream().choice(4, (4000,), weights=p).tolist() == stream().choice(4, (4000,), p=np.array(p)).tolist()
    np.testing.assert_allclose(np.bincount(values(drawn), minlength=4) / 4000, p, atol=0.04)
    assert sorted(stream().choice(4, (3,), replace=False, p=p).tolist()) == [0, 2, 3]
    assert sorted(stream().choice(5, (5,), replace=False).tolist()) == [0, 1, 2, 3, 4]
    hk.seed(3)
    assert hk.random.choice(4, (9,), p=p).tolist() == stream().choice(4, (9,), p=p).tolist()


def test_choice_of_entries():
    x = hk.asarray([[1, 2], [3, 4], [5, 6]])
    chosen = hk.random.Generator(3).choice(x, (4,), p=[0.5, 0.5, 0.0])
    indices = hk.random.Generator(3).choice(3, (4,), p=[0.5, 0.5, 0.0])
    assert chosen.tolist() == values(x)[values(indices)].tolist()
    assert hk.random.Generator(3).choice(x).tolist() in x.tolist()


@pytest.mark.parametrize("call, message", [
    (lambda: hk.random.choice(3, (2,), weights=[1.0, 1.0, 1.0], p=[1.0, 0.0, 0.0]), "two names of one argument"),
    (lambda: hk.random.choice(hk.asarray(3)), "without axes"),
    (lambda: hk.random.choice(3, (2,), p=[0.5, 0.5]), "weights"),
    (lambda: hk.random.choice(3, (4,), replace=False), "n is 3"),
    (lambda: hk.random.choice(3, (2,), p=[-1.0, 1.0, 1.0]).tolist(), "weight"),
])
def test_choices_that_are_refused(call, message):
    with pytest.raises((ValueError, TypeError, IndexError), match=message):
        call()
    hk._core._failures_clear()


@pytest.mark.parametrize("method", ["linear", "lower", "higher", "midpoint", "nearest"])
def test_quantiles_are_numpys(method):
    x = draw(3, 4, 5)
    for axis in (None, 1, (0, 2), -1):
        for q in (0.0, 0.3, 0.5, 1.0, [0.1, 0.9]):
            want = np.quantile(x, q, axis=axis, method=method, keepdims=axis == 1)
            got = hk.quantile(hk.asarray(x), q, axis, method=method, keepdims=axis == 1)
            assert got.shape == want.shape
            np.testing.assert_allclose(values(got), want, rtol=1e-5, atol=1e-6)
    ints = np.arange(10)
    np.testing.assert_allclose(values(hk.quantile(hk.asarray(ints), 0.33, method=method)), np.quantile(ints, 0.33, method=method))


def test_medians_are_numpys():
    x = draw(4, 5)
    for axis in (None, 0, 1, (0, 1), ()):
        np.testing.assert_allclose(values(hk.median(hk.asarray(x), axis)), x if axis == () else np.median(x, axis), rtol=1e-6)
    x[1, 2] = np.nan
    x[2, :] = np.inf
    np.testing.assert_array_equal(values(hk.median(hk.asarray(x), 1)), np.median(x, 1).astype("float32"))
    for bad, error in ((dict(q=1.5), "q is 1.5"), (dict(q=float("nan")), "q is"), (dict(q=0.5, axis=3), "axis"), (dict(q=0.5, method="x"), "method")):
        with pytest.raises((ValueError, IndexError), match=error):
            hk.quantile(hk.asarray(x), bad.pop("q"), **bad).wait()
    with pytest.raises(ValueError, match="no elements"):
        hk.median(hk.zeros((0, 3)), 0).wait()
    for axis in (None, 0, 1, (0, 1)):
        np.testing.assert_array_equal(values(hk.nanmedian(hk.asarray(x), axis)), np.nanmedian(x, axis).astype("float32"))
    x[2, :], x[3, :], x[0, 1:4] = range(5), np.nan, np.nan
    for q in (0, 0.3, 0.5, 1):
        for method in ("linear", "lower", "higher", "midpoint", "nearest"):
            wanted = [np.quantile(line, q, method=method) if len(line) else np.nan for line in (row[~np.isnan(row)] for row in x)]
            np.testing.assert_allclose(values(hk.nanquantile(hk.asarray(x), q, 1, method=method)), wanted, rtol=1e-6)
    y = hk.asarray([np.nan, 3.0, 1.0, 2.0, 8.0])
    y.attach_grad()
    with hk.record():
        m = hk.nanmedian(y)
    m.backward()
    assert m.tolist() == 2.5 and y.grad.tolist() == [0, 0.5, 0, 0.5, 0]
    y = hk.asarray([3.0, 1.0, 2.0, 8.0])
    y.attach_grad()
    with hk.record():
        m = hk.median(y)
    m.backward()
    assert y.grad.tolist() == [0.5, 0, 0.5, 0]


def test_cumulative_extremes_are_numpys():
    x = draw(3, 4, 5)
    x[0, 2, 1] = np.nan
    for axis in (0, 1, -1):
        for ours, theirs in ((hk.cumulative_max, np.maximum), (hk.cumulative_min, np.minimum)):
            got, indices = ours(hk.asarray(x), axis)
            np.testing.assert_array_equal(values(got), theirs.accumulate(x, axis))
            np.testing.assert_array_equal(values(hk.take_along_axis(hk.asarray(x), indices, axis=axis)), theirs.accumulate(x, axis))


def test_images_of_another_size():
    x = hk.asarray(draw(2, 3, 4, 5))
    for mode in ("nearest", "linear", "cubic"):
        for coordinates in ("half_pixel", "align_corners", "asymmetric"):
            same = nn.functional.interpolate(x, scale=1, mode=mode, coordinates=coordinates)
            np.testing.assert_allclose(values(same), values(x), rtol=1e-6)
            assert nn.functional.interpolate(x, (7, 3), mode=mode, coordinates=coordinates).shape == (2, 3, 7, 3)
    twice = nn.functional.interpolate(x, scale=2)
    assert twice.tolist() == values(x).repeat(2, axis=2).repeat(2, axis=3).tolist()
    for bad, error in ((dict(size=(2, 3, 4)), "size has 3"), (dict(scale=-1.0), "scale is -1"), (dict(size=0), "makes 0"), (dict(), "size or scale")):
        with pytest.raises((ValueError, IndexError), match=error):
            nn.functional.interpolate(x, **bad).wait()
    step = hk.capture(lambda x: nn.functional.interpolate(x, (6, 9), mode="cubic"))
    for _ in range(3):
        assert step(x).tolist() == nn.functional.interpolate(x, (6, 9), mode="cubic").tolist()


def test_squares_and_channels():
    x = hk.asarray(draw(2, 8, 3, 2))
    for crd in (False, True):
        y = nn.functional.depth_to_space(x, 2, crd)
        parts = values(x).reshape((2, 2, 2, 2, 3, 2))
        order = (0, 1, 4, 2, 5, 3) if crd else (0, 3, 4, 1, 5, 2)
        assert y.tolist() == parts.transpose(order).reshape((2, 2, 6, 4)).tolist()
        assert nn.functional.space_to_depth(y, 2, crd).tolist() == x.tolist()
    with pytest.raises(ValueError, match="number of channels must be a multiple of 9"):
        nn.functional.depth_to_space(x, 3).wait()
    for empty in ((1, 8, 0, 0), (0, 0, 2 ** 40, 1)):
        with pytest.raises(IndexError, match="block is"):
            y = nn.functional.space_to_depth(hk.zeros(empty), 2 ** 31 - 1) if empty[0] else nn.functional.depth_to_space(hk.zeros(empty), 2 ** 31 - 1)
            y.wait()


def test_elements_at_places_of_a_grid():
    x = draw(2, 3, 4, 5)
    rows, columns = np.meshgrid(np.linspace(-1, 1, 4), np.linspace(-1, 1, 5), indexing="ij")
    grid = hk.asarray(np.broadcast_to(np.stack([columns, rows], -1), (2, 4, 5, 2)).astype("float32"))
    for mode in ("linear", "nearest", "cubic"):
        for beyond in ("zeros", "border", "reflection"):
            same = nn.functional.grid_sample(hk.asarray(x), grid, mode, beyond, align_corners=True)
            np.testing.assert_allclose(values(same), x, rtol=1e-4, atol=1e-5)
            far = values(nn.functional.grid_sample(hk.asarray(x), grid * 0 + np.inf, mode, beyond))
            assert np.isfinite(far).all() and (far == 0).all() == (beyond == "zeros")
    none = values(nn.functional.grid_sample(hk.asarray(x), grid * np.nan))
    assert np.isnan(none).all()
    for bad, error in (((x[0], grid), "x is"), ((x, grid[:1]), "grid is"), ((x, hk.astype(grid, hk.float64)), "grid is float64"), ((x, grid, "x"), "mode")):
        with pytest.raises((ValueError, TypeError), match=error):
            nn.functional.grid_sample(hk.asarray(bad[0]), *bad[1:]).wait()
    step = hk.capture(lambda x, grid: nn.functional.grid_sample(x, grid, "cubic"))
    for _ in range(3):
        assert step(hk.asarray(x), grid).tolist() == nn.functional.grid_sample(hk.asarray(x), grid, "cubic").tolist()
