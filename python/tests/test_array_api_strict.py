"""Against array-api-strict, a reference of the standard over NumPy: signatures, dtypes, shapes, values, special ones among them. Skipped
where it is missing: Debian has none. The test other_versions gets it from PyPI."""

import inspect
import itertools
import warnings

import numpy as np
import pytest

import hocket as hk

strict = pytest.importorskip("array_api_strict")
NAMES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64 complex64 complex128".split()
REAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, np.inf, -np.inf, np.nan, 1e-40, 1e30, -1e30, np.pi, 7.5, -7.5]
UNARY = """abs acos acosh asin asinh atan atanh bitwise_invert ceil conj cos cosh exp expm1 floor imag isfinite isinf isnan log log10 log1p
log2 logical_not negative positive real reciprocal round sign signbit sin sinh sqrt square tan tanh trunc""".split()
BINARY = """add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign divide equal floor_divide greater
greater_equal hypot less less_equal logaddexp logical_and logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder
subtract""".split()
REDUCTIONS = "sum prod max min mean std var all any argmax argmin count_nonzero".split()
ALONG = "cumulative_sum cumulative_prod sort argsort flip diff".split()
# What the standard leaves open, where NumPy does otherwise: the sign of zero of maximum(0, -0), infinities of complex products,
# quotients and squares, expm1(inf + 0j), sign(-0j).
OPEN = {("maximum", "float"), ("minimum", "float"), *((name, "complex") for name in "multiply divide square reciprocal expm1 sign pow".split())}


@pytest.fixture(autouse=True)
def quietly():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def special(dtype):
    if dtype == "bool":
        return np.array([True, False])
    if dtype.startswith("complex"):
        parts = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan, np.pi / 2]
        return np.array([complex(a, b) for a in parts for b in parts], dtype)
    if dtype.startswith("float"):
        return np.array(REAL, dtype)
    limits = np.iinfo(dtype)
    return np.array([v for v in (0, 1, 2, 3, 5, 7, -1, -2, -7, limits.max, limits.min) if limits.min <= v <= limits.max], dtype)


def close(x, y):
    """Nearly equal reals; of zeros, infinities and NaNs the same, and of the same sign."""
    x, y = x.astype("float64"), y.astype("float64")
    with np.errstate(all="ignore"):
        exact = (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))
        near = np.isfinite(x) & np.isfinite(y) & (y != 0) & (np.abs(x - y) <= 1e-5 + 1e-4 * np.abs(y))
    return exact | near


def compare(name, *inputs, **options):
    """True: the reference takes these, and Hocket's result is the same."""
    theirs = {key: getattr(strict, value.name) if isinstance(value, hk.DType) else value for key, value in options.items()}
    try:
        wanted = getattr(strict, name)(*(strict.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs), **theirs)
    except Exception:  # undefined there
        return False
    got = getattr(hk, name)(*(hk.asarray(x) if isinstance(x, np.ndarray) else x for x in inputs), **options)
    several = isinstance(wanted, (tuple, list))
    assert not several or len(wanted) == len(got)
    for w, g in zip(wanted if several else [wanted], got if several else [got]):
        w, case = w._array, (name, [getattr(x, "dtype", x) for x in inputs], options)
        assert str(w.dtype) == str(g.dtype) and w.shape == g.shape, (case, w.dtype, g.dtype, w.shape, g.shape)
        kind = {"f": "float", "c": "complex"}.get(w.dtype.kind)
        if (name, kind) in OPEN:
            continue
        g = g.numpy()
        same = close(g.real, w.real) & close(g.imag, w.imag) if kind == "complex" else close(g, w) if kind else g == w
        assert np.all(same), (case, [x[~same] if getattr(x, "shape", 0) == w.shape else x for x in inputs], w[~same], g[~same])
    return True


@pytest.mark.parametrize("name", UNARY)
def test_unary(name):
    assert any([compare(name, special(dtype)) for dtype in NAMES])


@pytest.mark.parametrize("name", BINARY)
def test_binary(name):
    done = []
    for one, other in itertools.product(NAMES, NAMES):
        a, b = special(one), special(other)
        if b.dtype.kind in "iu":  # what is defined
            b = b[b != 0] if name in ("floor_divide", "remainder") else b[(b >= 0) & (b < 7)] if name == "pow" or "shift" in name else b
        done.append(compare(name, *map(np.copy, np.meshgrid(a, b, indexing="ij"))))
    assert any(done)


@pytest.mark.parametrize("name", "add subtract multiply equal less maximum where clip".split())
def test_python_numbers(name):
    done = []
    for dtype, number in itertools.product(NAMES, (True, 1, 2.5, 3j)):
        x = np.arange(4).astype(dtype)
        if dtype.startswith("complex") or isinstance(number, complex):
            if name in ("maximum", "clip", "less"):
                continue
        inputs = (x > 1, x, number) if name == "where" else (x, number)
        done.append(compare(name, *inputs))
        if name not in ("where", "clip"):
            done.append(compare(name, number, x))
    assert any(done)


@pytest.mark.parametrize("name", REDUCTIONS + ALONG)
def test_reductions(name):
    order = np.random.default_rng(0)
    for dtype in NAMES:
        x = order.integers(0, 4, (2, 3, 4)).astype(dtype)
        for axis, keepdims in itertools.product((None, 0, 1, -1, (0, 2)), (False, True)):
            if name in REDUCTIONS:
                compare(name, x, axis=axis, keepdims=keepdims)
            elif axis is not None or name == "flip":
                compare(name, x, axis=axis)
        compare(name, np.zeros((0, 3)).astype(dtype), axis=1)
        if name in REDUCTIONS:
            compare(name, np.array(1).astype(dtype))
        if "sort" in name:
            compare(name, x, descending=True)
        if "cumulative" in name:
            compare(name, x, axis=1, include_initial=True)
        if name in ("sum", "prod", "cumulative_sum", "cumulative_prod") and not dtype.startswith("complex"):
            for to in NAMES:
                compare(name, x, axis=0, dtype=getattr(hk, to))


@pytest.mark.parametrize("dtype", NAMES)
def test_shapes_sets_and_searches(dtype):
    x = np.random.default_rng(1).integers(0, 5, (3, 4)).astype(dtype)
    for name, inputs, options in [
        ("reshape", ((4, 3),), {}), ("permute_dims", ((1, 0),), {}), ("expand_dims", (), {"axis": 1}), ("roll", (2,), {}),
        ("roll", ((1, 2),), {"axis": (0, 1)}), ("tile", ((2, 1, 2),), {}), ("repeat", (2,), {"axis": 1}), ("repeat", (3,), {}),
        ("unstack", (), {"axis": 1}), ("moveaxis", (0, 1), {}), ("tril", (), {"k": 1}), ("triu", (), {"k": -1}), ("unique_values", (), {}),
        ("unique_counts", (), {}), ("unique_inverse", (), {}), ("unique_all", (), {}), ("nonzero", (), {}), ("matrix_transpose", (), {}),
        ("zeros_like", (), {}), ("ones_like", (), {}), ("diff", (), {"n": 2}), ("take", (np.array([1, 0, 2]),), {"axis": 1}),
        ("take_along_axis", (np.array([[0], [1], [2]]),), {"axis": 1}), ("count_nonzero", (), {"axis": (0, 1)}),
    ]:
        assert compare(name, x, *inputs, **options) or (name, dtype) == ("diff", "bool"), name
    compare("clip", x, min=1, max=3), compare("clip", x, min=2), compare("clip", x, max=2)
    compare("searchsorted", np.sort(x[0]), x[1])
    compare("searchsorted", np.sort(x[0]), 2)
    for other in NAMES:
        y = np.random.default_rng(2).integers(0, 5, (3, 4)).astype(other)
        one, two = getattr(strict, dtype), getattr(strict, other)
        if strict.can_cast(one, two):
            assert hk.can_cast(getattr(hk, dtype), getattr(hk, other))
        try:
            wanted = strict.result_type(one, two)
        except TypeError:  # kinds that the standard does not mix
            continue
        assert hk.result_type(getattr(hk, dtype), getattr(hk, other)) == getattr(hk, str(wanted._np_dtype))
        compare("isin", x, y), compare("where", x > 2, x, y)
        if x.dtype.kind == y.dtype.kind:
            compare("matmul", x, y.T.copy()), compare("vecdot", x, y), compare("tensordot", x, y.T.copy(), axes=1)
    for kind in ("bool", "signed integer", "unsigned integer", "integral", "real floating", "complex floating", "numeric", ("bool", "integral")):
        assert hk.isdtype(getattr(hk, dtype), kind) == strict.isdtype(getattr(strict, dtype), kind)


def names_of(namespace):
    return [name for name in namespace.__all__ if inspect.isfunction(getattr(namespace, name)) and "strict_flags" not in name]


MISSING = {"eig", "eigvals"}  # of matrices that are not symmetric


@pytest.mark.parametrize("of", ["", "linalg", "fft"])
def test_signatures(of):
    theirs, ours = (getattr(module, of) if of else module for module in (strict, hk))
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    for name in names_of(theirs):
        if name in MISSING:
            assert not hasattr(ours, name)
            continue
        wanted, has = (inspect.signature(getattr(each, name)).parameters for each in (theirs, ours))
        for parameter in wanted.values():
            if parameter.kind == inspect.Parameter.KEYWORD_ONLY:
                assert parameter.name in has, (name, parameter)
                default = parameter.default
                if default is None or isinstance(default, (bool, int, float, str)):
                    assert has[parameter.name].default == default, (name, parameter)
        first = [[p for p in each.values() if p.kind in positional] for each in (wanted, has)]
        assert len(first[1]) >= len(first[0]), name
        needed = [sum(p.default is p.empty for p in each) for each in first]
        assert needed[1] <= needed[0], name
