"""The special cases of the array API standard's elementwise functions, by the table array_api/special-cases.txt: of arrays, of Python's numbers
on either side, of single elements, and by the signs of operators."""

import itertools
import operator
import os

import numpy as np
import pytest

import hocket as hk

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "array_api", "special-cases.txt")
NAN = float("nan")
REALS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 3.0, -3.0, 1.5, -1.5, 2.5, -2.5, 7.0, -7.0, 0.3, -0.3, 1e-40, -1e-40, 1e-30, -1e-30, 8388609.0,
         -8388609.0, 1e30, -1e30, 3.4e38, -3.4e38, np.inf, -np.inf, NAN, -NAN]
SIGNS = {"add": operator.add, "subtract": operator.sub, "multiply": operator.mul, "divide": operator.truediv, "floor_divide": operator.floordiv,
         "remainder": operator.mod, "pow": operator.pow, "equal": operator.eq, "not_equal": operator.ne, "less": operator.lt,
         "less_equal": operator.le, "greater": operator.gt, "greater_equal": operator.ge, "abs": operator.abs}


# ---- the table's words


def whole(x):
    return np.isfinite(x) & (x == np.trunc(x))


HOLDS = {
    "nan": np.isnan, "nan+": lambda x: np.isnan(x) & ~np.signbit(x), "nan-": lambda x: np.isnan(x) & np.signbit(x),
    "+0": lambda x: (x == 0) & ~np.signbit(x), "-0": lambda x: (x == 0) & np.signbit(x), "zero": lambda x: x == 0,
    "+inf": np.isposinf, "-inf": np.isneginf, "inf": np.isinf, "1": lambda x: x == 1, "-1": lambda x: x == -1,
    ">0": lambda x: x > 0, "<0": lambda x: x < 0, ">1": lambda x: x > 1, "<1": lambda x: x < 1, "<-1": lambda x: x < -1,
    "finite": np.isfinite, "nonzero": lambda x: np.isfinite(x) & (x != 0), "positive": lambda x: np.isfinite(x) & (x > 0),
    "negative": lambda x: np.isfinite(x) & (x < 0), "number": lambda x: ~np.isnan(x), "any": lambda x: np.ones(x.shape, bool),
    "plus": lambda x: ~np.signbit(x) & ~np.isnan(x), "minus": lambda x: np.signbit(x) & ~np.isnan(x),
    "whole": whole, "odd": lambda x: whole(x) & (np.fmod(x, 2) != 0), "half": lambda x: np.fmod(np.abs(x), 1) == 0.5,
    "big": lambda x: np.abs(x) > 1, "small": lambda x: np.abs(x) < 1, "one": lambda x: np.abs(x) == 1,
}


def holds(words, x, first):
    found = np.ones(x.shape, bool)
    for word in words.split("&"):
        with np.errstate(invalid="ignore"):
            value = x == -first if word == "-x1" else HOLDS[word.lstrip("!")](x)
        found &= ~value if word[0] == "!" else value
    return found


def number(word):
    """Such as -0, inf or -3pi/4."""
    words = word.lstrip("+-")
    size = (float(words.split("pi")[0] or 1) * np.pi / float(words.partition("/")[2] or 1)) if "pi" in words else float(words)
    return -size if word[0] == "-" else size


def near(got, wanted, epsilon):
    """Infinities and zeros exactly, their signs too."""
    exact = (got == wanted) & (np.signbit(got) == np.signbit(wanted))
    with np.errstate(all="ignore"):
        return exact | (np.isnan(got) & np.isnan(wanted)) | (wanted != 0) & np.isfinite(wanted) & (np.abs(got - wanted) <= epsilon * np.abs(wanted))


def is_one(word, got, x, epsilon):
    """Whether each element is what a word of a result means. x: the inputs."""
    if word in ("nan", "nan+", "nan-"):
        return HOLDS[word](got)
    if word in ("true", "false"):
        return got == (word == "true")
    if word in "+-":
        return ~np.isnan(got) & (np.signbit(got) == (word == "-"))
    if word == "python":
        return near(got, np.array([a % b for a, b in zip(*(each.tolist() for each in x))]), epsilon)
    if word == "even":
        return near(got, np.copysign([round(v) for v in x[0].tolist()], x[0]), 0)
    sizes = {"x1": x[0], "a": x[0], "x2": x[-1], "b": x[-1], "-x2": -x[-1], "|x1|": np.abs(x[0]), "|a|": np.abs(x[0]), "|x2|": np.abs(x[-1]),
             "|b|": np.abs(x[-1]), "-|x1|": -np.abs(x[0])}
    if word in sizes:
        return near(got, sizes[word].astype(got.dtype), 0)
    if word[0] == "?":
        return near(np.abs(got), np.abs(np.full(got.shape, number(word[1:]), got.dtype)), epsilon)
    return near(got, np.full(got.shape, number(word), got.dtype), epsilon)


def is_result(words, got, x, epsilon):
    return np.logical_or.reduce([is_one(word, got, x, epsilon) for word in words.split(",")])


def parts_of(result, x, epsilon, got):
    """Of complex results, whether both parts are right."""
    if result.endswith(("*cis(b)", "*cis(b)-1")):
        with np.errstate(all="ignore"):
            size = np.inf if result.startswith("inf") else 0.0
            real, imag = size * np.cos(x[1]), size * np.sin(x[1])
            return near(got.real, real - result.endswith("-1"), epsilon) & near(got.imag, imag, epsilon)
    real, imag = result.split()
    return is_result(real, got.real, x, epsilon) & is_result(imag, got.imag, x, epsilon)


def table():
    """(is it of complex numbers, function, what holds for the inputs, result)"""
    with open(TABLE, encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                names, rule = line.strip().split(": ", 1)
                conditions, result = rule.split(" = ")
                is_complex = names.startswith("complex ")
                for name in names.removeprefix("complex ").split():
                    yield is_complex, name, tuple(conditions.split()), result


RULES = list(table())


# ---- what functions give for all of it


def one_by_one(function, *columns):
    return np.array([function(*(hk.asarray(v) for v in row)).numpy() for row in zip(*columns)])


def ways(name, inputs):
    """(how, result for each row of the inputs) of each way to call it."""
    function, arrays = getattr(hk, name), [hk.asarray(x) for x in inputs]
    yield "arrays", function(*arrays).numpy()
    yield "views", function(*(hk.asarray(np.repeat(x, 2))[::2] for x in inputs)).numpy()
    order = np.random.default_rng(0).permutation(inputs[0].size)[:200]
    single = np.zeros(inputs[0].shape, arrays and function(*arrays).numpy().dtype)
    single[order] = one_by_one(function, *(x[order] for x in inputs))
    yield "one by one", (single, order)
    if name in SIGNS:
        yield "signs", SIGNS[name](*arrays).numpy()
    if len(inputs) == 2:
        for call, how in ((function, "numbers"), (SIGNS.get(name), "numbers and signs")):
            if call:
                values = np.unique(inputs[0].view(f"u{inputs[0].itemsize}")).view(inputs[0].dtype)  # NaNs of both signs, too
                for at, side in ((1, "right"), (0, "left")):
                    found = np.zeros(inputs[0].shape, function(*arrays).numpy().dtype)
                    for value in values:
                        rows = inputs[at].view(f"u{value.itemsize}") == value.view(f"u{value.itemsize}")
                        others = hk.asarray(inputs[1 - at][rows])
                        found[rows] = (call(others, float(value)) if at else call(float(value), others)).numpy()
                    yield f"{how} on the {side}", found


def grid(dtype, count):
    with np.errstate(all="ignore"):
        values = np.array(REALS).astype(dtype)
        if dtype == "float64":
            values = np.concatenate([values, np.array([1e300, -1e300, 5e-324, -5e-324])])
    return [column.ravel().copy() for column in np.meshgrid(*[values] * count, indexing="ij")]


def check(rules, got, x, rows, epsilon, case):
    wrong = []
    for conditions, result in rules:
        which = np.logical_and.reduce([holds(words, each, x[0]) for words, each in zip(conditions, x)])[rows]
        assert which.any() or len(which) < len(x[0]), (case, conditions)
        taken = [each[rows][which] for each in x]
        good = (parts_of(result, taken, epsilon, got[which]) if np.iscomplexobj(got) else is_result(result, got[which], taken, epsilon))
        wrong += [(*case, conditions, result, tuple(each[i] for each in taken), got[which][i]) for i in np.flatnonzero(~good)[:3]]
    return wrong


def rules_of(is_complex):
    found = {}
    for complex_rule, name, conditions, result in RULES:
        if complex_rule == is_complex:
            found.setdefault((name, len(conditions)), []).append((conditions, result))
    return [pytest.param(name, count, rules, id=name) for (name, count), rules in found.items()]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name, count, rules", rules_of(False))
def test_real_numbers(name, count, rules, dtype):
    x, wrong = grid(dtype, count), []
    for how, got in ways(name, x):
        got, rows = got if isinstance(got, tuple) else (got, slice(None))
        wrong += check(rules, got[rows], x, rows, 1e-6 if dtype == "float32" else 1e-14, (name, how))
    assert not wrong, "\n".join(map(str, wrong[:20]))


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name, count, rules", rules_of(True))
def test_complex_numbers(name, count, rules, dtype):
    x, wrong = grid("float32" if dtype == "complex64" else "float64", 2), []
    z = np.empty(x[0].shape, dtype)
    z.real, z.imag = x
    for how, got in ways(name, [z]):
        got, rows = got if isinstance(got, tuple) else (got, slice(None))
        wrong += check(rules, got[rows], x, rows, 1e-6 if dtype == "complex64" else 1e-14, (name, how))
    assert not wrong, "\n".join(map(str, wrong[:20]))


# ---- what the standard says of one function by another


def complex_grid(dtype):
    x = grid("float32" if dtype == "complex64" else "float64", 2)
    z = np.empty(x[0].shape, dtype)
    z.real, z.imag = x
    return z[np.isnan(z.real) | (np.abs(z.real) > 1e-35) | (z.real == 0)]


def turned(z):
    """z times j, as the exact swap of parts that the standard means."""
    w = np.empty_like(z)
    w.real, w.imag = -z.imag, z.real
    return w


def same_but_for_signs_of_nothing(got, wanted, epsilon):
    """Alike; where the other part is a NaN or infinite the standard leaves signs open."""
    def parts(a, b, other):
        return near(a, b, epsilon) | near(np.abs(a), np.abs(b), epsilon) & ~np.isfinite(other)
    return parts(got.real, wanted.real, wanted.imag) & parts(got.imag, wanted.imag, wanted.real)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name, other", [("asin", "asinh"), ("atan", "atanh"), ("sin", "sinh"), ("tan", "tanh"), ("cos", "cosh")])
def test_functions_that_are_others_turned(name, other, dtype):
    z = complex_grid(dtype)
    got, wanted = getattr(hk, name)(hk.asarray(z)).numpy(), getattr(hk, other)(hk.asarray(turned(z))).numpy()
    if name != "cos":
        wanted = -turned(wanted)
    good = same_but_for_signs_of_nothing(got, wanted, 1e-5 if dtype == "complex64" else 1e-13)
    assert good.all(), [(z[i], got[i], wanted[i]) for i in np.flatnonzero(~good)[:5]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
@pytest.mark.parametrize("name", "acos acosh asin asinh atan atanh cosh exp expm1 log log1p log2 log10 sinh sqrt tanh sin cos tan".split())
def test_conjugates(name, dtype):
    z = complex_grid(dtype)
    function = getattr(hk, name)
    got, wanted = function(hk.asarray(z.conj())).numpy(), function(hk.asarray(z)).numpy().conj()
    good = same_but_for_signs_of_nothing(got, wanted, 1e-6)
    assert good.all(), [(z[i], got[i], wanted[i]) for i in np.flatnonzero(~good)[:5]]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name, sign", [("sinh", -1), ("tanh", -1), ("asinh", -1), ("atanh", -1), ("cosh", 1)])
def test_odd_and_even_functions(name, sign, dtype):
    z = complex_grid(dtype) if "complex" in dtype else grid(dtype, 1)[0]
    function = getattr(hk, name)
    got, wanted = function(hk.asarray(-z)).numpy(), function(hk.asarray(z)).numpy()
    wanted = -wanted if sign < 0 else wanted
    good = same_but_for_signs_of_nothing(got, wanted, 1e-6) if "complex" in dtype else near(got, wanted, 0)
    assert good.all(), [(z[i], got[i], wanted[i]) for i in np.flatnonzero(~good)[:5]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_logarithms_of_other_bases(dtype):
    z = complex_grid(dtype)
    z = z[(z.imag == 0) | ~(np.abs(z.imag) < 1e-35)]  # what is not subnormal
    natural = hk.log(hk.asarray(z)).numpy().astype("complex128")
    for name, base in (("log2", 2), ("log10", 10)):
        got = getattr(hk, name)(hk.asarray(z)).numpy()
        good = near(got.real, (natural.real / np.log(base)), 2e-6) & near(got.imag, (natural.imag / np.log(base)), 2e-6)
        assert good.all(), [(z[i], got[i]) for i in np.flatnonzero(~good)[:5]]


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_complex_numbers_part_by_part(dtype):
    z = complex_grid(dtype)[::3]
    x = hk.asarray(z)
    for got, wanted in ((hk.real(x), z.real), (hk.imag(x), z.imag), (hk.real(hk.conj(x)), z.real), (hk.imag(hk.conj(x)), -z.imag),
                        (hk.real(-x), -z.real), (hk.imag(-x), -z.imag), (hk.real(hk.positive(x)), z.real)):
        assert np.array_equal(got.numpy().view(f"u{wanted.itemsize}"), np.ascontiguousarray(wanted).view(f"u{wanted.itemsize}"))
    for part in (np.real, np.imag):
        assert near(part(hk.round(x).numpy()), np.rint(part(z)), 0).all()
    a, b = (hk.asarray(each.ravel().copy()) for each in np.meshgrid(z[::2], z[::3]))
    one, other = a.numpy(), b.numpy()
    equal = (one.real == other.real) & (one.imag == other.imag)
    assert np.array_equal((a == b).numpy(), equal) and np.array_equal((a != b).numpy(), ~equal)
    for function in (np.add, np.subtract):
        got = getattr(hk, function.__name__)(a, b).numpy()
        with np.errstate(all="ignore"):
            assert near(got.real, function(one.real, other.real), 0).all() and near(got.imag, function(one.imag, other.imag), 0).all()
    nothing = hk.asarray(np.array([complex(NAN, NAN)], dtype))
    for got in (nothing * nothing, nothing / nothing):
        assert np.isnan(got.numpy().real) and np.isnan(got.numpy().imag)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_hypot_does_not_overflow(dtype):
    big, small = (3e38, 1e-42) if dtype == "float32" else (1.2e308, 5e-320)
    x = hk.asarray(np.array([big, small, 3, -3], dtype) / np.array([2, 1, 1, 1], dtype))
    assert near(hk.hypot(x, x).numpy(), (np.sqrt(2) * np.abs(x.numpy().astype("longdouble"))).astype(dtype), 1e-2).all()
    a, b = (hk.asarray(each) for each in grid(dtype, 2))
    for other in (hk.hypot(b, a), hk.hypot(a, -b), hk.hypot(-a, b), hk.hypot(-a, -b)):
        assert near(hk.hypot(a, b).numpy(), other.numpy(), 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clip_of_nans(dtype):
    x, low, high = (column.astype(dtype) for column in map(np.ravel, np.meshgrid([1.0, NAN, -3, np.inf], [-1.0, NAN, -np.inf], [2.0, NAN, np.inf])))
    got = hk.clip(*(hk.asarray(each) for each in (x, low, high))).numpy()
    assert np.array_equal(np.isnan(got), np.isnan(x) | np.isnan(low) | np.isnan(high))
    for a, b in itertools.product((-1.0, NAN, None), (2.0, NAN, None)):
        got = hk.clip(hk.asarray(x), a, b).numpy()
        assert np.array_equal(np.isnan(got), np.isnan(x) | any(v is not None and np.isnan(v) for v in (a, b)))


def test_how_many_there_are():
    """Said in docs/ARRAY_API.md, which this holds to."""
    assert len(RULES) == len(set(RULES))
    with open(os.path.join(os.path.dirname(TABLE), "..", "..", "..", "docs", "ARRAY_API.md"), encoding="utf-8") as file:
        assert f"{len(RULES)} special cases" in file.read()
