"""What the array API standard (2024.12, 2025.12) says beside special cases: promotion, inspection, creation, statistics of nothing, sets,
indexing, errors. Expected values are the standard's; NumPy counts where the standard says the same."""

import itertools
import math
import operator

import numpy as np
import pytest

import hocket as hk

SIGNED, UNSIGNED = ["int8", "int16", "int32", "int64"], ["uint8", "uint16", "uint32", "uint64"]
FLOATS, COMPLEX = ["float32", "float64"], ["complex64", "complex128"]
ALL = ["bool", *SIGNED, *UNSIGNED, *FLOATS, *COMPLEX]
KINDS = {
    "bool": ["bool"], "signed integer": SIGNED, "unsigned integer": UNSIGNED, "integral": SIGNED + UNSIGNED, "real floating": FLOATS,
    "complex floating": COMPLEX, "numeric": SIGNED + UNSIGNED + FLOATS + COMPLEX,
}
ARITHMETIC = [operator.add, operator.sub, operator.mul]


def dtype(name):
    return getattr(hk, name)


def kind_of(name):
    return next(kind for kind in ("bool", "signed integer", "unsigned integer", "real floating", "complex floating") if name in KINDS[kind])


# ---- promotion


def promoted(a, b):
    """The standard's tables; None where they have nothing, since kinds are mixed."""
    if a == b:
        return a
    kinds = {kind_of(a), kind_of(b)}
    bits = {name: int(name.lstrip("uintfloacmpex")) for name in (a, b) if name != "bool"}
    if len(kinds) == 1:
        return max((a, b), key=bits.get)
    if kinds == {"signed integer", "unsigned integer"}:
        signed, unsigned = sorted((a, b))
        wide = max(bits[signed], 2 * bits[unsigned])
        return f"int{wide}" if wide <= 64 else None
    if kinds == {"real floating", "complex floating"}:
        real, other = sorted((a, b), key=lambda name: name.startswith("complex"))
        return "complex128" if real == "float64" else other
    return None


@pytest.mark.parametrize("a, b", [*itertools.product(ALL, ALL)])
def test_promotion(a, b):
    wanted = promoted(a, b)
    x, y = (hk.asarray([1, 0], dtype=name) for name in (a, b))
    if wanted is None:
        if {a, b} & {"uint64"} and kind_of(a) != kind_of(b) and "int" in a and "int" in b:
            for refused in (lambda: hk.result_type(x, y), lambda: x + y):
                with pytest.raises((TypeError, ValueError)):
                    refused()
        return
    assert hk.result_type(dtype(a), dtype(b)) == dtype(wanted) == hk.result_type(x, dtype(b)) == hk.result_type(x, y, dtype(a))
    results = [hk.concat([x, y]), hk.stack([x, y]), hk.where(hk.asarray([True, False]), x, y)]
    if wanted != "bool":
        results += [sign(x, y) for sign in ARITHMETIC] + [hk.add(x, y), x ** hk.ones_like(y), hk.matmul(x, y), hk.vecdot(x, y)]
    if wanted in SIGNED + UNSIGNED + ["bool"]:
        results += [x & y, x | y, x ^ y]
    if wanted in KINDS["integral"]:
        results += [x << y, x >> y, x // hk.ones_like(y), x % hk.ones_like(y)]
    if wanted in FLOATS + COMPLEX:
        results.append(x / hk.ones_like(y))
    for result in results:
        assert result.dtype == dtype(wanted)
    for comparison in (operator.eq, operator.ne, *([] if wanted in COMPLEX else [operator.lt, operator.le, operator.gt, operator.ge])):
        assert comparison(x, y).dtype == hk.bool
    if wanted == a and wanted != "bool":  # in place the left one's dtype stays
        for sign in (operator.iadd, operator.isub, operator.imul):
            z = hk.asarray([1, 0], dtype=a)
            assert sign(z, y) is z and z.dtype == dtype(a)


@pytest.mark.parametrize("name", ALL)
def test_pythons_numbers_take_the_dtype(name):
    x = hk.asarray([1, 0], dtype=name)
    kinds = {"bool": [True], "signed integer": [2], "unsigned integer": [2], "real floating": [2, 2.5, math.inf, math.nan],
             "complex floating": [2, 2.5, 1j, complex(math.nan, math.inf)]}[kind_of(name)]
    for value in kinds:
        signs = [operator.and_, operator.or_, operator.xor] if name == "bool" else ARITHMETIC + [hk.add, hk.subtract, hk.multiply]
        for sign in signs:
            assert sign(x, value).dtype == x.dtype == sign(value, x).dtype
        assert hk.result_type(x, value) == x.dtype == hk.result_type(value, dtype(name))
        assert (x == value).dtype == hk.bool == hk.not_equal(value, x).dtype
        assert hk.where(x != 0, x, value).dtype == x.dtype == hk.where(x != 0, value, x).dtype
        z = hk.asarray([1, 0], dtype=name)
        z[0] = value
        z[...] = value
        assert z.dtype == x.dtype
    if "int" in name:
        limits = hk.iinfo(x.dtype)
        assert (x * 0 + limits.max).tolist() == [limits.max] * 2 and (x * 0 + limits.min).tolist() == [limits.min] * 2
        for value in (limits.max + 1, limits.min - 1):
            with pytest.raises(OverflowError):
                x + value


# ---- dtypes and inspection


def test_kinds_of_dtypes():
    for kind, names in KINDS.items():
        assert [name for name in ALL if hk.isdtype(dtype(name), kind)] == [name for name in ALL if name in names]
    for name, other in itertools.product(ALL, ALL):
        assert hk.isdtype(dtype(name), dtype(other)) == (name == other)
    assert hk.isdtype(hk.int8, ("real floating", hk.int8)) and not hk.isdtype(hk.int8, ("real floating", hk.int16, "bool"))
    with pytest.raises((ValueError, TypeError)):
        hk.isdtype(hk.int8, "integers")


@pytest.mark.parametrize("a, b", [*itertools.product(ALL, ALL)])
def test_can_cast(a, b):
    if promoted(a, b) is not None:
        assert hk.can_cast(dtype(a), dtype(b)) == (promoted(a, b) == b) == hk.can_cast(hk.zeros(1, dtype=a), dtype(b))


def test_limits():
    for name in FLOATS + COMPLEX:
        mine, theirs = hk.finfo(dtype(name)), np.finfo(name)
        real = {"complex64": "float32", "complex128": "float64"}.get(name, name)
        assert mine.dtype == dtype(real) and type(mine.bits) is int
        for field in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(mine, field)) is float and getattr(mine, field) == float(getattr(theirs, field))
    for name in SIGNED + UNSIGNED:
        mine, theirs = hk.iinfo(dtype(name)), np.iinfo(name)
        assert (mine.bits, mine.min, mine.max, mine.dtype) == (theirs.bits, theirs.min, theirs.max, dtype(name))
        assert hk.iinfo(hk.zeros(1, dtype=name)).max == mine.max


def test_inspection():
    info = hk.__array_namespace_info__()
    capabilities = info.capabilities()
    assert capabilities["boolean indexing"] is True and capabilities["data-dependent shapes"] is True and capabilities["max dimensions"] == 8
    assert info.default_device() in info.devices() and hk.zeros(1, device=info.default_device()).device == info.default_device()
    assert set(info.default_dtypes()) == {"real floating", "complex floating", "integral", "indexing"}
    for device in [None, *info.devices()]:
        assert info.default_dtypes(device=device) == info.default_dtypes()
        assert info.dtypes(device=device) == {name: dtype(name) for name in ALL}
        for kind, names in KINDS.items():
            assert info.dtypes(device=device, kind=kind) == {name: dtype(name) for name in names}
        assert set(info.dtypes(device=device, kind=("bool", "real floating"))) == {"bool", *FLOATS} and info.dtypes(kind=()) == {}
    with pytest.raises((ValueError, KeyError)):
        info.dtypes(kind="integers")
    x = hk.ones(1)
    assert x.__array_namespace__() is hk and x.device in info.devices() and x.to_device(x.device).tolist() == [1]
    with pytest.raises((ValueError, hk.Error)):
        x.to_device("nowhere")
    assert (hk.e, hk.pi, hk.inf, hk.newaxis) == (math.e, math.pi, math.inf, None) and math.isnan(hk.nan)


# ---- creation


def test_ranges():
    for start, stop, step in itertools.product((-3, 0, 2, 0.5), (None, -2, 0, 5, 2.5), (-2, -1, 1, 3, 0.5)):
        given = (start, step) if stop is None else (start, stop, step)
        x = hk.arange(start, step=step) if stop is None else hk.arange(*given)
        begin, end = (0, start) if stop is None else (start, stop)
        size = max(0, math.ceil((end - begin) / step))
        assert x.shape == (size,) and np.allclose(x.tolist(), [begin + i * step for i in range(size)])
        assert x.dtype == (hk.float32 if any(type(v) is float for v in (begin, end, step)) else hk.int64)
    for name in SIGNED + UNSIGNED + FLOATS:
        assert hk.arange(1, 6, 2, dtype=dtype(name)).dtype == dtype(name) and hk.arange(3, dtype=dtype(name)).tolist() == [0, 1, 2]


@pytest.mark.parametrize("name", [None, *FLOATS, *COMPLEX])
def test_linspace(name):
    for start, stop, num, endpoint in itertools.product((-1, 0.0, 3), (2, -4.5), (0, 1, 2, 7), (True, False)):
        x = hk.linspace(start, stop, num, dtype=None if name is None else dtype(name), endpoint=endpoint)
        assert x.shape == (num,) and x.dtype == dtype(name or "float32")
        wanted = np.linspace(start, stop, num, endpoint=endpoint)
        assert np.allclose(x.numpy(), wanted, rtol=1e-6)
        if num:
            assert x[0].item() == start
        if num > 1 and endpoint:
            assert x[-1].item() == stop
    if name in (None, *COMPLEX):
        z = hk.linspace(0, 1 + 2j, 3, dtype=None if name is None else dtype(name))
        assert z.tolist() == [0, 0.5 + 1j, 1 + 2j] and z.dtype == dtype(name or "complex64")


@pytest.mark.parametrize("name", [None, *ALL])
def test_filled_arrays(name):
    given = {} if name is None else {"dtype": dtype(name)}
    for shape in ((), 3, (0,), (2, 3), (2, 0, 1)):
        whole = (shape,) if isinstance(shape, int) else shape
        for function, value in ((hk.zeros, 0), (hk.ones, 1), (hk.empty, None)):
            x = function(shape, **given)
            assert x.shape == whole and x.dtype == dtype(name or "float32") and x.size == math.prod(whole) and x.ndim == len(whole)
            assert value is None or np.array_equal(x.numpy(), np.full(whole, value))
    for n_rows, n_cols, k in itertools.product((0, 1, 3), (None, 0, 2, 4), (-3, -1, 0, 1, 5)):
        assert np.array_equal(hk.eye(n_rows, n_cols, k=k, **given).numpy(), np.eye(n_rows, n_cols, k))
    x = hk.ones((2, 3), **given)
    for like, value in ((hk.zeros_like, 0), (hk.ones_like, 1), (hk.empty_like, None)):
        assert like(x).shape == (2, 3) and like(x).dtype == x.dtype and like(x, dtype=hk.int16).dtype == hk.int16
        assert value is None or np.array_equal(like(x).numpy(), np.full((2, 3), value))
    assert hk.full_like(x, True if name == "bool" else 1).dtype == x.dtype
    for k in range(-3, 4):
        square = hk.asarray(np.arange(24).reshape(2, 3, 4) % 2 + 1).astype(dtype(name or "float32"))
        assert np.array_equal(hk.tril(square, k=k).numpy(), np.tril(square.numpy(), k))
        assert np.array_equal(hk.triu(square, k=k).numpy(), np.triu(square.numpy(), k))


def test_dtypes_of_what_is_filled():
    for value, name in ((True, "bool"), (2, "int64"), (2.5, "float32"), (2j, "complex64")):
        assert hk.full((2,), value).dtype == dtype(name) == hk.asarray([value, value]).dtype == hk.asarray(value).dtype
    assert hk.asarray([1, 2.5]).dtype == hk.float32 and hk.asarray([1, 2.5, 1j]).dtype == hk.complex64
    assert hk.asarray([[], []]).shape == (2, 0)
    with pytest.raises(OverflowError):
        hk.asarray([2**70])
    x = hk.ones(3)
    assert hk.asarray(x, copy=False).tolist() == [1] * 3
    y = hk.asarray(x, copy=True)
    y[0] = 5
    assert x.tolist() == [1] * 3
    with pytest.raises(ValueError):
        hk.asarray(x, dtype=hk.int8, copy=False)
    with pytest.raises(ValueError):
        hk.asarray([1, 2], copy=False)


# ---- statistics and searches


@pytest.mark.parametrize("name", SIGNED + UNSIGNED + FLOATS + COMPLEX)
def test_dtypes_and_values_of_sums(name):
    x = hk.asarray([[1, 2, 3], [3, 1, 1]], dtype=name)
    wide = "int64" if name in SIGNED else "uint64" if name in UNSIGNED else name
    for function in (hk.sum, hk.prod, hk.cumulative_sum, hk.cumulative_prod):
        axis = {"axis": 1}
        assert function(x, **axis).dtype == dtype(wide) and function(x, dtype=x.dtype, **axis).dtype == x.dtype
    empty = hk.zeros((0, 2), dtype=name)
    assert hk.sum(empty).item() == 0 and hk.prod(empty).item() == 1
    assert hk.sum(empty, axis=0).tolist() == [0, 0] and hk.prod(empty, axis=0, keepdims=True).tolist() == [[1, 1]]
    assert hk.sum(empty, axis=1).shape == (0,) and hk.sum(x, axis=()).tolist() == x.tolist()
    assert hk.cumulative_sum(x, axis=1, include_initial=True).tolist() == [[0, 1, 3, 6], [0, 3, 4, 5]]
    assert hk.cumulative_prod(x, axis=1, include_initial=True).tolist() == [[1, 1, 2, 6], [1, 3, 3, 3]]
    assert hk.cumulative_sum(hk.zeros(0, dtype=name), include_initial=True).tolist() == [0]


@pytest.mark.parametrize("name", FLOATS)
def test_statistics_of_nans_and_of_nothing(name):
    nan = math.nan
    x = hk.asarray([[1, nan, 3], [1, 2, 3]], dtype=name)
    for function in (hk.sum, hk.prod, hk.mean, hk.max, hk.min, hk.std, hk.var):
        got = function(x, axis=1)
        assert got.dtype == x.dtype and hk.isnan(got).tolist() == [True, False] and math.isnan(function(x).item())
    empty = hk.zeros((0, 2), dtype=name)
    assert hk.isnan(hk.mean(empty, axis=0)).tolist() == [True, True] and math.isnan(hk.mean(empty).item())
    one = hk.ones((1, 2), dtype=name)
    for function in (hk.std, hk.var):
        assert function(one, axis=0).tolist() == [0, 0] and hk.isnan(function(one, axis=0, correction=1)).tolist() == [True, True]
        assert hk.isnan(function(one, axis=0, correction=2.5)).tolist() == [True, True] and hk.isnan(function(empty, axis=0)).all()
        assert np.allclose(function(x[1], correction=1).item(), getattr(np, function.__name__)([1, 2, 3], ddof=1))
        assert np.allclose(function(x[1], correction=0.5).item(), getattr(np, function.__name__)([1, 2, 3], ddof=0.5))
    for function in (hk.max, hk.min):
        with pytest.raises(ValueError):
            function(empty, axis=0)
        assert function(empty, axis=1).shape == (0,)
    assert hk.all(hk.asarray([nan, 1], dtype=name)).item() and hk.any(hk.asarray([nan, 0], dtype=name)).item()
    assert hk.all(empty).item() and not hk.any(empty).item() and hk.all(empty, axis=0).tolist() == [True, True]
    for function in (hk.all, hk.any):
        assert function(hk.asarray([math.inf, -0.0], dtype=name)).dtype == hk.bool


def test_searches():
    x = hk.asarray([[3, 1, 3], [0, 0, 5]])
    assert hk.argmax(x).item() == 5 and hk.argmin(x).item() == 3 and hk.argmax(x, axis=1).tolist() == [0, 2]
    assert hk.argmin(x, axis=1, keepdims=True).tolist() == [[1], [0]] and hk.argmax(x, axis=0).dtype == hk.int64
    assert [each.tolist() for each in hk.nonzero(x)] == [[0, 0, 0, 1], [0, 1, 2, 2]] and hk.nonzero(x)[0].dtype == hk.int64
    with pytest.raises((ValueError, IndexError)):
        hk.nonzero(hk.asarray(3))
    assert hk.count_nonzero(hk.asarray([math.nan, -0.0, 1.0])).item() == 2 and hk.count_nonzero(x, axis=1, keepdims=True).tolist() == [[3], [1]]
    assert hk.where(hk.asarray(True), 1.0, hk.zeros(2)).tolist() == [1, 1]
    for side in ("left", "right"):
        order = hk.asarray([3, 0, 2, 1])
        edges = hk.asarray([4, 1, 3, 2])
        assert hk.searchsorted(edges, hk.asarray([0, 2, 3, 9]), side=side, sorter=hk.argsort(edges)).tolist() == np.searchsorted(
            [1, 2, 3, 4], [0, 2, 3, 9], side).tolist()
        assert hk.searchsorted(hk.arange(4), order, side=side).tolist() == np.searchsorted(np.arange(4), [3, 0, 2, 1], side).tolist()


@pytest.mark.parametrize("name", FLOATS + COMPLEX)
def test_sets_of_nans_and_zeros(name):
    """NaNs are all distinct; zeros of both signs are the same."""
    x = hk.asarray([0.0, math.nan, -0.0, 1.0, math.nan, 0.0], dtype=name)
    values, indices, inverse, counts = hk.unique_all(x)
    assert values.size == 4 and hk.isnan(values).sum().item() == 2 and sorted(counts.tolist()) == [1, 1, 1, 3]
    again = hk.take(values, hk.reshape(inverse, (-1,)))
    assert ((again == x) | hk.isnan(again) & hk.isnan(x)).all() and hk.take(x, indices).size == 4 and inverse.shape == x.shape
    assert hk.unique_values(x).size == 4 and hk.unique_counts(x).counts.sum().item() == 6 and hk.unique_inverse(x).values.size == 4
    assert hk.isin(x, hk.asarray([math.nan, -0.0], dtype=name)).tolist() == [True, False, True, False, False, True]
    assert hk.isin(x, hk.asarray([1.0], dtype=name), invert=True).tolist() == [True, True, True, False, True, True]


@pytest.mark.parametrize("name", SIGNED + UNSIGNED + FLOATS)
def test_sorts_are_stable(name):
    values = np.array([2, 1, 2, 0, 1, 2, 0, 1] * 5)
    x = hk.asarray(values, dtype=name)
    assert hk.argsort(x).tolist() == np.argsort(values, kind="stable").tolist() and hk.sort(x).tolist() == sorted(values.tolist())
    assert hk.argsort(x, descending=True).tolist() == np.argsort(-values, kind="stable").tolist()
    assert hk.sort(x, descending=True, stable=False).tolist() == sorted(values.tolist(), reverse=True)


# ---- indexing


@pytest.mark.parametrize("size", range(5))
def test_all_slices(size):
    values = np.arange(size)
    x, bounds = hk.asarray(values), [None, *range(-6, 7)]
    for start, stop, step in itertools.product(bounds, bounds, (None, -3, -2, -1, 1, 2, 3)):
        key = slice(start, stop, step)
        assert x[key].tolist() == values[key].tolist(), key


KEYS = [(), ..., (...,), None, (None, ...), (..., None), (0,), (-1, ...), (0, 1), (0, 1, -1), (slice(1, None), 2), (slice(None, None, -2), None, 0),
        (None, 1, slice(0, 2), None, slice(None, None, 2)), (0, ..., slice(None, 1)), (..., 0), (slice(0, 0), ...), (0, 1, 2, ...)]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_keys_and_assignments(key):
    values = np.arange(24).reshape(2, 3, 4)
    x = hk.asarray(values)
    wanted = values[key]
    assert x[key].tolist() == wanted.tolist() and x[key].shape == wanted.shape
    for new in (7, np.full(wanted.shape, 8), np.arange(100, 100 + (wanted.shape[-1] if wanted.ndim else 1)).reshape(wanted.shape[-1:])):
        x[key] = hk.asarray(new) if isinstance(new, np.ndarray) else new
        values[key] = new
        assert x.tolist() == values.tolist()
    x[key] += 1
    values[key] += 1
    assert x.tolist() == values.tolist()


def test_masks_and_integer_arrays():
    values = np.arange(12).reshape(3, 4)
    x = hk.asarray(values)
    for mask in (values % 2 == 0, values < 0, values >= 0):
        assert x[hk.asarray(mask)].tolist() == values[mask].tolist()
        y, other = hk.asarray(values), values.copy()
        y[hk.asarray(mask)] = -1
        other[mask] = -1
        assert y.tolist() == other.tolist()
    rows, columns = np.array([0, 2, -1]), np.array([[1], [-2]])
    for name in SIGNED + UNSIGNED:
        i, j = hk.asarray(abs(rows), dtype=name), hk.asarray(abs(columns), dtype=name)
        assert x[i, j].tolist() == values[abs(rows), abs(columns)].tolist() and x[i, 1].tolist() == values[abs(rows), 1].tolist()
    assert x[hk.asarray(rows), hk.asarray(columns)].tolist() == values[rows, columns].tolist()
    zero = hk.asarray(5)
    assert zero[hk.asarray(True)].tolist() == [5] and zero[hk.asarray(False)].tolist() == [] and zero[()].item() == 5


OUT_OF_BOUNDS = [
    lambda x: x[3], lambda x: x[-4], lambda x: x[0, 4], lambda x: x[..., -5], lambda x: x[0, 0, 0], lambda x: x.__setitem__(3, 0),
    lambda x: x[hk.asarray([0, 3])], lambda x: x[hk.asarray([True, False])], lambda x: x[hk.ones((3, 4, 1), dtype=hk.bool)],
    lambda x: hk.take(x, hk.asarray([4]), axis=1), lambda x: hk.take_along_axis(x, hk.asarray([[4]]), axis=1), lambda x: hk.asarray(1)[0],
] + [lambda x, name=name, axis=axis: getattr(hk, name)(x, axis=axis) for axis in (2, -3) for name in
     """sum prod max min mean std var all any argmax argmin count_nonzero sort argsort flip cumulative_sum cumulative_prod diff squeeze unstack
     """.split()] + [
    lambda x: hk.concat([x, x], axis=2), lambda x: hk.stack([x, x], axis=3), lambda x: hk.expand_dims(x, axis=4), lambda x: hk.roll(x, 1, axis=2),
    lambda x: hk.permute_dims(x, (0, 2)), lambda x: hk.moveaxis(x, 0, 2), lambda x: hk.repeat(x, 2, axis=2), lambda x: hk.sum(x, axis=(0, 2)),
    lambda x: hk.take(x, hk.asarray([0]), axis=2), lambda x: hk.vecdot(x, x, axis=-3),
]


@pytest.mark.parametrize("number", range(len(OUT_OF_BOUNDS)))
def test_out_of_bounds(number):
    x = hk.asarray(np.arange(12).reshape(3, 4))
    with pytest.raises((IndexError, ValueError)):
        result = OUT_OF_BOUNDS[number](x)
        result.tolist()


@pytest.mark.parametrize("call", [
    lambda x: x + hk.ones((4, 3)), lambda x: hk.broadcast_to(x, (4,)), lambda x: hk.broadcast_arrays(x, hk.ones(3)), lambda x: hk.reshape(x, (5, -1)),
    lambda x: hk.reshape(x, (-1, -1)), lambda x: hk.squeeze(x, axis=0), lambda x: hk.concat([x, hk.ones((3, 3))]), lambda x: hk.matmul(x, x),
    lambda x: hk.stack([x, hk.ones(3)]), lambda x: hk.matmul(x, hk.asarray(1.0)), lambda x: hk.permute_dims(x, (0, 0)), lambda x: hk.sum(x, axis=(0, 0)),
    lambda x: hk.tensordot(x, x, axes=1), lambda x: hk.vecdot(x, hk.ones((3, 3))), lambda x: x.__setitem__(0, hk.ones(3)),
    lambda x: hk.matrix_transpose(x[0]), lambda x: hk.ones((-1, 2)), lambda x: hk.searchsorted(x[0], x[0], side="middle"),
    lambda x: hk.meshgrid(x[0], x[0], indexing="yx"), lambda x: float(x), lambda x: bool(x), lambda x: int(x[:, 0])],
    ids=range(22))
def test_what_does_not_fit_is_refused(call):
    with pytest.raises((ValueError, TypeError, IndexError)):
        result = call(hk.asarray(np.arange(12.0).reshape(3, 4)))
        [each.tolist() for each in (result if isinstance(result, (tuple, list)) else [result])]


def test_views_and_reshapes():
    x = hk.asarray(np.arange(6).reshape(2, 3))
    with pytest.raises(ValueError):
        hk.reshape(x.T, (6,), copy=False)
    y = hk.reshape(x, (6,), copy=True)
    y[0] = 9
    assert x[0, 0].item() == 0 and hk.reshape(x, (3, 2), copy=False).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert x.T.tolist() == x.mT.tolist() == [[0, 3], [1, 4], [2, 5]] and hk.squeeze(x[None], axis=(0,)).shape == (2, 3)
    assert hk.roll(x, (1, -1), axis=(0, 1)).tolist() == np.roll(x.numpy(), (1, -1), (0, 1)).tolist()
    assert hk.repeat(x, hk.asarray([0, 2, 1]), axis=1).tolist() == np.repeat(x.numpy(), [0, 2, 1], 1).tolist()
    assert hk.concat([x, x[:0]], axis=None).tolist() == list(range(6)) and hk.diff(x, axis=0, prepend=x[:1]).shape == (2, 3)
    assert hk.tile(x, (2,)).tolist() == np.tile(x.numpy(), 2).tolist() and hk.unstack(x, axis=-1)[2].tolist() == [2, 5]


# ---- what Python asks of an array


def test_conversions():
    for name in ALL:
        one = hk.asarray(1, dtype=name)
        assert bool(one) is True and complex(one) == 1
        if name not in COMPLEX:
            assert float(one) == 1.0 and int(one) == 1
        if "int" in name:
            assert operator.index(one) == 1 and [5, 6][one] == 6
        else:
            with pytest.raises(TypeError):
                operator.index(one)
    for wrong in (lambda: int(hk.asarray(math.inf)), lambda: int(hk.asarray(math.nan))):
        with pytest.raises((OverflowError, ValueError)):
            wrong()
    with pytest.raises(TypeError):
        float(hk.asarray(1j))
    assert bool(hk.asarray(math.nan)) and not bool(hk.asarray(-0.0)) and bool(hk.asarray(1j))
