"""Every function of the namespace against NumPy: random shapes, dtypes and views, from one seed."""

import operator
import os
import random
import warnings

import numpy as np
import pytest

import hocket as hk

CASES = int(os.environ.get("HOCKET_CROSS_CHECK_CASES", "10000"))
FLOATS = ["float32", "float64"]
INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
NUMBERS = FLOATS + INTS
ALL = NUMBERS + ["bool"]
SHAPES = [(), (1,), (5,), (0,), (3, 4), (1, 4), (3, 1), (2, 3, 4), (2, 0, 3), (2, 1, 3, 2), (33,), (7, 65)]


class Case:
    """Draws what a case needs; remembers it, for the message."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.numpy = np.random.RandomState(seed % 2**32)
        self.drawn = []

    def pick(self, choices):
        found = self.random.choice(choices)
        self.drawn.append(found)
        return found

    def values(self, shape, dtype, low=None, high=None):
        if dtype == "bool":
            return np.asarray(self.numpy.rand(*shape) < 0.5)
        if dtype in FLOATS:
            low, high = (-3 if low is None else low), (3 if high is None else high)
            return np.asarray(self.numpy.uniform(low, high, shape)).astype(dtype)
        low, high = (0 if dtype[0] == "u" else -9) if low is None else low, 9 if high is None else high
        return np.asarray(self.numpy.randint(low, high + 1, shape)).astype(dtype)

    def array(self, dtypes=ALL, shapes=SHAPES, **limits):
        """(Hocket's, NumPy's): contiguous, or a view: transposed, stepped, reversed."""
        dtype, shape = self.pick(dtypes), self.pick(shapes)
        values = self.values(shape, dtype, **limits)
        return self.viewed(hk.asarray(values), values)

    def viewed(self, x, values):
        how = self.pick(["plain"] * 3 + ["transposed", "stepped", "reversed"])
        if values.ndim and how == "transposed":
            return x.T, values.T
        if values.ndim and values.shape[0] > 1 and how == "stepped":
            return x[::2], values[::2]
        if values.ndim and how == "reversed":
            return x[..., ::-1], values[..., ::-1]
        return x, values

    def like(self, values, dtype, **limits):
        other = self.values(values.shape, str(dtype), **limits)
        if values.ndim and self.pick([False, False, True]):
            axis = self.random.randrange(values.ndim)
            other = other[(slice(None),) * axis + (slice(0, 1),)]
        return hk.asarray(other), other

    def axis(self, ndim):
        return self.random.randrange(-ndim, ndim)

    def axes(self, ndim):
        kind = self.pick(["all", "one", "some"])
        if kind == "all" or ndim == 0:
            return None
        return self.axis(ndim) if kind == "one" else tuple(self.random.sample(range(ndim), self.random.randint(1, ndim)))


def same(got, want, dtype=True, loose=False):
    """Shapes, dtypes and elements; NumPy's default floats for integers are float64, Hocket's float32."""
    if isinstance(want, (tuple, list)):
        assert len(got) == len(want)
        for mine, theirs in zip(got, want):
            same(mine, theirs, dtype, loose)
        return
    want = np.asarray(want)
    assert isinstance(got, hk.Array), type(got)
    assert got.shape == want.shape, (got.shape, want.shape)
    if dtype:
        assert got.dtype == want.dtype.name, (got.dtype, want.dtype)
    values = got.numpy()
    if values.dtype.kind == "f":
        tolerance = 2e-4 if loose else 3e-6 if values.dtype.itemsize == 4 or want.dtype == np.float32 else 1e-12
        np.testing.assert_allclose(values, want.astype(values.dtype), rtol=tolerance, atol=tolerance)
    else:
        np.testing.assert_array_equal(values, want)


# ---- groups: each function takes a case and checks one call

UNARY = {  # name: (NumPy's, dtypes, limits)
    **{name: (getattr(np, name), FLOATS, {}) for name in
       "exp expm1 sin cos tan sinh cosh tanh rint".split() if hasattr(hk, name)},
    **{name: (getattr(np, name), FLOATS, {"low": 0.1, "high": 4}) for name in "log log2 log10 log1p sqrt reciprocal".split()},
    **{name: (getattr(np, theirs), FLOATS, {"low": -0.9, "high": 0.9}) for name, theirs in
       dict(asin="arcsin", acos="arccos", atan="arctan", atanh="arctanh", asinh="arcsinh").items()},
    "acosh": (np.arccosh, FLOATS, {"low": 1.1, "high": 4}),
    **{name: (getattr(np, name), NUMBERS, {}) for name in "abs negative sign square positive".split()},
    **{name: (lambda v, f=getattr(np, name): f(v).astype(v.dtype), NUMBERS, {}) for name in "ceil floor trunc".split()},
    "round": (np.round, NUMBERS, {}),
    **{name: (getattr(np, name), NUMBERS, {}) for name in "isnan isinf isfinite".split()},
    "signbit": (np.signbit, FLOATS, {}),
    "logical_not": (np.logical_not, ALL, {}),
    "bitwise_invert": (np.invert, INTS + ["bool"], {}),
}


def unary(case):
    name = case.pick(sorted(UNARY))
    function, dtypes, limits = UNARY[name]
    x, values = case.array(dtypes, **limits)
    same(getattr(hk, name)(x), function(values))


BINARY = {
    **{name: (getattr(np, name), NUMBERS, {}) for name in "add subtract multiply maximum minimum".split()},
    **{name: (getattr(np, name), ALL, {}) for name in
       "equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor".split()},
    **{name: (getattr(np, name), INTS + ["bool"], {}) for name in "bitwise_and bitwise_or bitwise_xor".split()},
    **{"bitwise_" + name: (getattr(np, name), INTS, {"low": 0, "high": 5}) for name in "left_shift right_shift".split()},
    **{name: (getattr(np, name), FLOATS, {}) for name in "hypot copysign nextafter logaddexp".split()},
    "atan2": (np.arctan2, FLOATS, {}),
    **{name: (getattr(np, name), NUMBERS, {"low": 1, "high": 5}) for name in "floor_divide remainder power".split()},
    "divide": (np.divide, FLOATS, {"low": 0.5, "high": 5}),
    "pow": (np.power, NUMBERS, {"low": 1, "high": 3}),
}


def binary(case):
    name = case.pick(sorted(BINARY))
    function, dtypes, limits = BINARY[name]
    x, values = case.array(dtypes, **limits)
    y, others = case.like(values, values.dtype, **limits)
    if name == "nextafter":
        return np.testing.assert_array_equal(hk.nextafter(x, y).numpy(), function(values, others))
    same(getattr(hk, name)(x, y), function(values, others), loose=name in ("pow", "power", "remainder"))


def promoted(case):
    """Two dtypes of one kind."""
    kind = case.pick([FLOATS, [d for d in INTS if d != "uint64"], [d for d in INTS if d[0] == "u"]])
    x, values = case.array(kind)
    y, others = case.like(values, case.pick(kind))
    name = case.pick(["add", "multiply", "less", "maximum"])
    same(getattr(hk, name)(x, y), getattr(np, name)(values, others))


SIGNS = "add sub mul truediv floordiv mod pow eq ne lt le gt ge".split()


def number_beside(case):
    """Python's numbers take the array's dtype."""
    name = case.pick(SIGNS)
    sign = getattr(operator, name)
    x, values = case.array(NUMBERS, low=1, high=4)
    number = case.pick([1, 2, 3]) if values.dtype.kind in "iu" else case.pick([1, 2, 0.5, 2.5])
    other = np.asarray(number, values.dtype)
    if case.pick([True, False]):
        got, want = sign(x, number), sign(values, other)
    else:
        got, want = sign(number, x), sign(other, values)
    integers = values.dtype.kind in "iu" and name == "truediv"
    same(got, want.astype("float32") if integers else want, loose=name in ("pow", "mod"))


def in_place(case):
    name = case.pick("iadd isub imul ifloordiv imod".split())
    x, values = case.array(NUMBERS, low=1, high=4)
    values = values.copy()
    other = case.pick([None, 1, 2])
    if other is None:
        y, other = case.like(values, values.dtype, low=1, high=4)
        y, other = hk.asarray(other), other
    else:
        y = other
    view = x
    x = getattr(operator, name)(x, y)
    assert x is view
    same(view, getattr(operator, name)(values, np.asarray(other, values.dtype)), loose=True)


REDUCTIONS = "sum prod mean var std max min all any count_nonzero argmax argmin".split()


def reductions(case):
    name = case.pick(REDUCTIONS)
    dtypes = FLOATS if name in ("mean", "var", "std") else NUMBERS if name in ("max", "min", "prod") else ALL
    x, values = case.array(dtypes, shapes=[s for s in SHAPES if 0 not in s])
    if name == "prod":
        x, values = x[..., :3] if x.ndim else x, values[..., :3] if values.ndim else values
    axis, keepdims = case.axes(values.ndim), case.pick([True, False])
    if name.startswith("arg"):
        axis = axis if not isinstance(axis, tuple) else axis[0]
        want = getattr(np, name)(values, axis=axis)
        if keepdims:
            want = want.reshape([1] * values.ndim) if axis is None else np.expand_dims(want, axis)
        got = getattr(x, name)(axis) if not keepdims else getattr(hk, name)(x, axis=axis, keepdims=True)
        return same(got, np.asarray(want))
    if name == "count_nonzero":
        want = np.count_nonzero(values, axis=axis, keepdims=keepdims)
    else:
        want = getattr(np, name)(values, axis=axis, keepdims=keepdims)
    function = getattr(hk, name)
    same(function(x, axis=axis, keepdims=keepdims), want, loose=True, dtype=name != "count_nonzero")


def empty_reductions(case):
    name = case.pick(["sum", "prod", "all", "any"])
    x, values = case.array(ALL, shapes=[s for s in SHAPES if 0 in s])
    axis = case.axes(values.ndim)
    same(getattr(hk, name)(x, axis=axis), getattr(np, name)(values, axis=axis))


def cumulative(case):
    name = case.pick(["sum", "prod"])
    x, values = case.array(NUMBERS, shapes=[s for s in SHAPES if len(s)], low=1, high=2)
    axis = case.axis(values.ndim)
    initial = case.pick([False, True])
    want = getattr(np, "cum" + name)(values, axis=axis)
    if initial:
        edge = list(want.shape)
        edge[axis] = 1
        want = np.concatenate([np.full(edge, 0 if name == "sum" else 1, want.dtype), want], axis=axis)
    with np.errstate(all="ignore"):
        got = getattr(hk, "cumulative_" + name)(x, axis=axis, include_initial=initial)
        if values.dtype.kind == "f" and name == "prod":
            return same(got, np.asarray(want), loose=True)
        same(got, want, loose=True)


def manipulation(case):
    x, values = case.array()
    ndim = values.ndim
    name = case.pick("expand flip permute reshape roll stack concat moveaxis repeat tile broadcast squeeze unstack flat split".split())
    if name == "expand":
        axis = case.random.randrange(-ndim - 1, ndim + 1)
        return same(hk.expand_dims(x, axis=axis), np.expand_dims(values, axis))
    if name == "reshape":
        return same(hk.reshape(x, (-1,) if values.size else (0, 3)), values.reshape((-1,) if values.size else (0, 3)))
    if name == "broadcast":
        return same(hk.broadcast_to(x, (2,) + values.shape), np.broadcast_to(values, (2,) + values.shape))
    if name == "stack":
        return same(hk.stack([x, x], axis=-1), np.stack([values, values], axis=-1))
    if name == "flat":
        return same(hk.concat([x, x], axis=None), np.concatenate([values, values], axis=None))
    if name == "tile":
        times = tuple(case.random.randint(1, 2) for _ in range(case.random.randint(0, 5)))
        return same(hk.tile(x, times), np.tile(values, times))
    if name == "roll" and case.pick([True, False]):
        return same(hk.roll(x, 3), np.roll(values, 3))
    if name == "repeat" and case.pick([True, False]):
        return same(hk.repeat(x, 2), np.repeat(values, 2))
    if ndim == 0:
        return same(x.T, values.T)
    axis = case.axis(ndim)
    if name == "flip":
        axes = case.axes(ndim)
        return same(hk.flip(x, axis=axes), np.flip(values, axes))
    if name == "permute":
        order = case.random.sample(range(ndim), ndim)
        return same(hk.permute_dims(x, tuple(order)), values.transpose(order))
    if name == "roll":
        return same(hk.roll(x, -2, axis=axis), np.roll(values, -2, axis))
    if name == "concat":
        return same(hk.concat([x, x, x], axis=axis), np.concatenate([values] * 3, axis))
    if name == "moveaxis":
        to = case.axis(ndim)
        return same(hk.moveaxis(x, axis, to), np.moveaxis(values, axis, to))
    if name == "repeat":
        counts = case.numpy.randint(0, 3, values.shape[axis])
        return same(hk.repeat(x, hk.asarray(counts), axis=axis), np.repeat(values, counts, axis))
    if name == "squeeze":
        return same(hk.squeeze(hk.expand_dims(x, axis=axis), axis if axis >= 0 else axis), values) if values.shape[axis] != 1 or True else None
    if name == "unstack":
        return same(hk.unstack(x, axis=axis), [np.take(values, i, axis) for i in range(values.shape[axis])])
    return same(hk.split(x, [1], axis=axis), np.split(values, [1], axis))


def order(case):
    name = case.pick(["sort", "argsort", "searchsorted", "unique", "nonzero", "isin", "take", "take_along", "diff", "where", "clip"])
    x, values = case.array()
    if name == "where":
        condition, mask = case.like(values, "bool")
        y, others = case.like(values, values.dtype)
        return same(hk.where(condition, x, y), np.where(mask, values, others))
    if name == "clip":
        x, values = case.array(NUMBERS)
        return same(hk.clip(x, 1, 3), np.clip(values, np.asarray(1, values.dtype), np.asarray(3, values.dtype)))
    if name == "unique":
        found = hk.unique_all(x)
        want = np.unique(values, return_index=True, return_inverse=True, return_counts=True)
        return same(tuple(found), (want[0], want[1], want[2].reshape(values.shape), want[3]))
    if name == "isin":
        return same(hk.isin(x, hk.asarray(values.reshape(-1)[:2])), np.isin(values, values.reshape(-1)[:2]))
    if values.ndim == 0:
        return same(hk.searchsorted(hk.asarray(np.arange(5, dtype=values.dtype)), x),
                    np.searchsorted(np.arange(5, dtype=values.dtype), values)) if values.dtype != bool else None
    if name == "nonzero":
        return same(hk.nonzero(x), np.nonzero(values))
    axis = case.axis(values.ndim)
    if name in ("sort", "argsort"):
        descending = case.pick([False, True])
        function = getattr(hk, name)
        if not descending:
            kind = "stable"
            return same(function(x, axis=axis), getattr(np, name)(values, axis=axis, kind=kind))
        if name == "sort":
            return same(function(x, axis=axis, descending=True), np.flip(np.sort(values, axis), axis))
        return same(hk.take_along_axis(x, function(x, axis=axis, descending=True), axis=axis), np.flip(np.sort(values, axis), axis))
    if name == "diff" and values.dtype.kind != "b":
        n = case.pick([1, 1, 2])
        return same(hk.diff(x, axis=axis, n=n), np.diff(values, n, axis))
    if values.shape[axis] == 0:
        return None
    places = case.numpy.randint(-values.shape[axis], values.shape[axis], 4)
    if name == "take_along":
        indices = np.argsort(values, axis)
        return same(hk.take_along_axis(x, hk.asarray(indices), axis=axis), np.take_along_axis(values, indices, axis))
    return same(hk.take(x, hk.asarray(places), axis=axis), np.take(values, places, axis))


def draw_key(case, shape):
    """Parts for some axes: ints, slices, None, ..., arrays of integers, masks of one axis or more."""
    parts, axis, dots = [], 0, False
    arrays = case.random.choice([(2, 3), (3,), (1, 3), ()])
    while axis < len(shape):
        kind = case.random.choice(["int", "slice", "slice", "none", "dots", "array", "array", "mask", "list", "end"])
        size = shape[axis]
        if kind == "end":
            break
        if kind == "none":
            parts.append(None)
            continue
        if kind == "dots":
            if not dots:
                parts.append(Ellipsis)
                dots, axis = True, axis + case.random.randint(0, len(shape) - axis)
            continue
        if kind == "slice" or size == 0:
            step = case.random.choice([None, 1, 2, -1, -2])
            parts.append(slice(case.random.choice([None, 1, -3]), case.random.choice([None, 2, -1]), step))
        elif kind == "int":
            parts.append(case.random.randrange(-size, size))
        elif kind == "mask":
            # three are true, or none, so that it goes with the other arrays
            if any(not isinstance(p, (int, slice, type(None), type(Ellipsis))) for p in parts) or arrays != (3,):
                parts.append(slice(None))
            else:
                mask = np.zeros(size, bool)
                mask[: min(3, size)] = True
                if size < 3:
                    parts.append(slice(None))
                else:
                    case.numpy.shuffle(mask)
                    parts.append(mask)
        elif kind == "list" and arrays == (3,):
            parts.append([case.random.randrange(-size, size) for _ in range(3)])
        else:
            parts.append(case.numpy.randint(-size, size, arrays))
        axis += 1
    key = tuple(parts)
    case.drawn.append(key)
    return key


def mine(key):
    return tuple(hk.asarray(part) if isinstance(part, np.ndarray) else part for part in key)


def goes(values, key, call):
    """What NumPy refuses is refused, and what has more than 8 axes is left out."""
    try:
        return values[key].ndim <= 8 and values.ndim + sum(part is None for part in key) <= 8
    except IndexError:
        with pytest.raises(IndexError):
            call()
        return False


def indexing_get(case):
    x, values = case.array(ALL, [s for s in SHAPES if len(s)])
    key = draw_key(case, values.shape)
    if goes(values, key, lambda: x[mine(key)].wait()):
        same(x[mine(key)], values[key])


def indexing_set(case):
    x, values = case.array(ALL, [s for s in SHAPES if len(s)])
    values = values.copy()
    key = draw_key(case, values.shape)
    if not goes(values, key, lambda: x.__setitem__(mine(key), 1)):
        return
    shape = values[key].shape
    if case.pick([True, False]):
        new = case.values((), str(values.dtype))
    else:
        new = case.values(shape[-case.random.randint(0, len(shape)):] if shape else (), str(values.dtype))
    values[key] = new
    x[mine(key)] = hk.asarray(new) if case.pick([True, False]) else new
    same(x, values)


def masks(case):
    x, values = case.array(ALL, [s for s in SHAPES if len(s)])
    mask = case.numpy.rand(*values.shape[: case.random.randint(1, values.ndim)]) < 0.4
    same(x[hk.asarray(mask)], values[mask])
    values = values.copy()
    new = case.values(values[mask].shape if case.pick([True, False]) else (), str(values.dtype))
    values[mask] = new
    x[hk.asarray(mask)] = hk.asarray(new)
    same(x, values)


def counting(case):
    values = case.numpy.randint(0, 9, case.random.randint(0, 20))
    least = case.pick([0, 4, 12])
    same(hk.bincount(hk.asarray(values), minlength=least), np.bincount(values, minlength=least))
    x, values = case.array(NUMBERS)
    y, others = case.array([str(values.dtype)])
    same(hk.isin(x, y, invert=case.pick([False, True])), np.isin(values, others, invert=case.drawn[-1]))


def creation(case):
    dtype = case.pick(ALL)
    shape = case.pick(SHAPES)
    name = case.pick("zeros ones full eye arange linspace tril triu meshgrid like list".split())
    if name in ("zeros", "ones"):
        return same(getattr(hk, name)(shape, dtype=dtype), getattr(np, name)(shape, dtype=dtype))
    if name == "full":
        return same(hk.full(shape, 3, dtype=dtype), np.full(shape, 3, dtype=dtype))
    if name == "eye":
        rows, columns, k = case.random.randint(0, 4), case.random.randint(0, 4), case.random.randint(-2, 2)
        return same(hk.eye(rows, columns, k=k, dtype=dtype), np.eye(rows, columns, k=k, dtype=dtype))
    if name == "arange":
        begin, end, step = case.random.randint(-5, 5), case.random.randint(-5, 9), case.pick([1, 2, -1, -3])
        return same(hk.arange(begin, end, step), np.arange(begin, end, step))
    if name == "linspace":
        count, endpoint = case.random.randint(0, 7), case.pick([True, False])
        return same(hk.linspace(-2, 5, count, endpoint=endpoint, dtype="float64"), np.linspace(-2, 5, count, endpoint=endpoint))
    if name in ("tril", "triu"):
        x, values = case.array(shapes=[s for s in SHAPES if len(s) >= 2])
        return same(getattr(hk, name)(x, k=-1), getattr(np, name)(values, k=-1)) if values.ndim >= 2 else None
    if name == "meshgrid":
        parts = [np.arange(n) for n in (2, 3, 4)[: case.random.randint(1, 3)]]
        how = case.pick(["xy", "ij"])
        return same(hk.meshgrid(*map(hk.asarray, parts), indexing=how), np.meshgrid(*parts, indexing=how))
    x, values = case.array()
    if name == "like":
        return same(hk.ones_like(x, dtype=dtype), np.ones_like(values, dtype=dtype))
    values = case.values(shape, case.pick(["float64", "int64", "bool"]))
    return same(hk.asarray(values.tolist(), dtype=dtype), np.asarray(values.tolist(), dtype=np.float64).astype(dtype)) \
        if values.dtype != bool and dtype[0] not in "ub" else same(hk.asarray(values, dtype=values.dtype), values)


def casts(case):
    x, values = case.array(low=0, high=5)
    to = case.pick(ALL)
    same(x.astype(to), values.astype(to))


def products(case):
    dtype = case.pick(NUMBERS)
    m, k, n = (case.random.randint(1, 4) for _ in range(3))
    a = case.values(case.pick([(k,), (m, k), (2, m, k)]), dtype, low=0, high=3)
    b = case.values(case.pick([(k,), (k, n), (1, k, n)]), dtype, low=0, high=3)
    how = case.pick(["matmul", "sign", "tensordot", "vecdot"])
    if how == "tensordot":
        b = case.values((k, n), dtype, low=0, high=3)
        return same(hk.tensordot(hk.asarray(a), hk.asarray(b), axes=1), np.tensordot(a, b, 1), loose=True)
    if how == "vecdot":
        other = case.values(a.shape, dtype, low=0, high=3)
        return same(hk.vecdot(hk.asarray(a), hk.asarray(other)), (a * other).sum(-1).astype(dtype), loose=True)
    x, y = hk.asarray(a), hk.asarray(b)
    same(hk.matmul(x, y) if how == "matmul" else x @ y, a @ b, loose=True)


def mixed_with_numpy(case):
    x, values = case.array(NUMBERS)
    _, others = case.like(values, values.dtype)
    name = case.pick(["add", "sub", "mul", "eq", "lt"])
    sign = getattr(operator, name)
    same(sign(x, others), sign(values, others))
    same(sign(others, x), sign(others, values))


GROUPS = [unary, binary, promoted, number_beside, in_place, reductions, empty_reductions, cumulative, manipulation, order,
          indexing_get, indexing_set, masks, counting, creation, casts, products, mixed_with_numpy]


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group.__name__)
def test_against_numpy(group):
    for number in range(-(-CASES // len(GROUPS))):
        case = Case(hash((GROUPS.index(group), number)) & 0xFFFFFFFF)
        try:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                group(case)
        except Exception as error:
            raise AssertionError(f"{group.__name__}, case {number}: {case.drawn}") from error
