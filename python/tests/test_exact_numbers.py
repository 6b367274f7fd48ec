"""Numbers that float32, doubles or int64 do not hold: exact wherever they meet an array."""

import math
import operator

import numpy as np
import pytest

import hocket as hk

INTEGERS = "int8 int16 int32 int64 uint8 uint16 uint32 uint64".split()
KEYS = {
    "ellipsis": ...,
    "int": 1,
    "slice": slice(0, 2),
    "mask": np.array([True, False, True]),
    "list": [0, 2],
    "places": np.array([2, 0]),
    "tuple": (np.array([1]),),
}
VALUES = {
    "float64": [0.1, np.float64(0.7), 2**53 + 1, 1e300, np.float32(0.1)],
    "float32": [0.1, np.float64(0.7), 1 / 3],
    "float16": [0.1, np.float64(0.7)],
    "complex128": [16777217j, 0.1 + 0.2j, np.complex128(0.1j), 0.1, np.complex64(1.5j)],
    "complex64": [0.5 + 0.25j, 0.1],
    "uint64": [2**63 + 1, 2**64 - 1, np.uint64(2**63 + 5), 2**53 + 1],
    "int64": [2**62 + 1, -(2**63), np.int64(2**53 + 1), 16777217.0, float(2**53)],
    "int32": [16777217.0, 2**31 - 1, np.int32(-(2**31))],
}
CASES = [(dtype, value) for dtype, values in VALUES.items() for value in values]


def name(case):
    return str(case)


def same(got, want):
    got = np.asarray(got)
    return got.dtype == want.dtype and got.shape == want.shape and got.tobytes() == want.tobytes()


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("dtype, value", CASES, ids=name)
def test_what_is_written_is_exact(dtype, value, key):
    want = np.zeros(3, dtype)
    want[key] = value
    x = hk.zeros(3, dtype=dtype)
    x[hk.asarray(key) if isinstance(key, np.ndarray) else key] = value
    assert same(x, want)
    x = hk.zeros(3, dtype=dtype)
    size = want[key].size
    if not isinstance(key, int):
        x[hk.asarray(key) if isinstance(key, np.ndarray) else key] = [value] * size  # lists of numbers
        assert same(x, want)
    rows = hk.zeros((2, 3), dtype=dtype)
    rows[:, hk.asarray([0, 2])] = value
    assert same(rows[:, 0], np.array([value] * 2).astype(dtype))


@pytest.mark.parametrize("dtype, value", [(dtype, value) for dtype, value in CASES if not (dtype[0] in "ui" and isinstance(value, float))], ids=name)
def test_functions_take_the_number_exactly(dtype, value):
    wide = np.array(value).astype(dtype)
    x, zeros = hk.zeros(3, dtype=dtype), np.zeros(3, dtype)
    mask = np.array([True, False, True])
    assert same(hk.full((3,), value, dtype=dtype), np.full(3, wide))
    assert same(hk.full_like(x, value), np.full(3, wide))
    assert same(hk.where(hk.asarray(mask), x, value), np.where(mask, zeros, wide))
    assert same(hk.where(hk.asarray(mask), value, x), np.where(mask, wide, zeros))
    assert same(hk.pad(x, 1, constant_values=value), np.pad(zeros, 1, constant_values=wide))
    filled = hk.zeros(3, dtype=dtype)
    filled.fill(value)
    assert same(filled, np.full(3, wide))
    assert same(x + value, zeros + wide)
    assert same(hk.add(x, value), zeros + wide)
    assert same(hk.add(x=value, y=x), zeros + wide)
    assert same(hk.concat([x, [value]]).astype(dtype), np.append(zeros, wide))
    assert dtype == "float16" or hk.array_equal(hk.full((1,), value, dtype=dtype), [value])
    assert value in hk.full((2,), value, dtype=dtype)
    assert same(hk.isin(hk.full((2,), value, dtype=dtype), value), np.array([True, True]))
    assert same(hk.isin(value, hk.full((2,), value, dtype=dtype)), np.array(True))
    assert same(hk.diff(x, append=[value]).astype(dtype), np.diff(zeros, append=wide))
    if not dtype.startswith("complex"):
        assert same(hk.maximum(x, value), np.maximum(zeros, wide)) and same(hk.minimum(value, x), np.minimum(wide, zeros))
        assert same(hk.clip(x, value, None), np.maximum(zeros, wide)) and same(hk.clip(x, None, value), np.minimum(zeros, wide))
        line = np.array([wide - wide, wide]) if wide > 0 else np.array([wide, wide - wide])
        for side in ("left", "right"):
            assert int(hk.searchsorted(hk.asarray(line), value, side=side)) == np.searchsorted(line, wide, side)


SIGNS = [operator.lt, operator.le, operator.eq, operator.ne, operator.ge, operator.gt]
FUNCTIONS = dict(zip(SIGNS, (hk.less, hk.less_equal, hk.equal, hk.not_equal, hk.greater_equal, hk.greater)))
BEYOND = [300, -1, 200, -129, 255, 256, 2**15, 2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 2**63 - 1, 2**64, 2**64 - 1, 2**70, -(2**70),
          0.5, -0.5, 127.5, 16777217.0, 2.0**53, 2.0**63, 2.0**64, -(2.0**63), 1e300, -1e300, math.inf, -math.inf, math.nan, True]


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("number", BEYOND, ids=str)
def test_integers_are_compared_with_any_number(dtype, number):
    info = np.iinfo(dtype)
    whole = [int(info.min), 0, 1, 127, min(16777217, int(info.max)), int(info.max)]
    x = hk.asarray(whole, dtype=dtype)
    for sign in SIGNS:
        want = [sign(each, number) for each in whole]  # Python's are exact
        assert sign(x, number).tolist() == want and FUNCTIONS[sign](x, number).tolist() == want
        want = [sign(number, each) for each in whole]
        assert sign(number, x).tolist() == want and FUNCTIONS[sign](number, x).tolist() == want
        captured = hk.capture(lambda x: sign(x, number))
        assert [captured(x).tolist() for _ in range(3)] == [[sign(each, number) for each in whole]] * 3
    out = hk.zeros(len(whole), dtype=hk.bool)
    assert hk.less(x, number, out=out) is out and out.tolist() == [each < number for each in whole]


def test_comparisons_are_numpys():
    x, values = hk.asarray([0, 200], dtype="uint8"), np.array([0, 200], "uint8")
    for number in (300, -1, 200):
        for sign in SIGNS:
            assert same(sign(x, number), sign(values, number)) and same(sign(number, x), sign(number, values))
    with pytest.raises(OverflowError, match="300 is out of the range of uint8"):
        x + 300
    with pytest.raises(hk.UnsupportedError, match="have no order"):
        hk.less(x, 1j)


@pytest.mark.parametrize("arguments", [
    (2**53, 2**53 + 5), (2**62, 2**62 + 3), (2**53 + 5, 2**53, -2), (-(2**63), -(2**63) + 4), (2**63 - 4, 2**63), (-(2**63), 2**63, 2**62),
    (2**63 - 1, -(2**63) - 1, -(2**61)), (0, 2**62 + 1, 2**60), (5, 2**60, 2**58 + 1), (2**53, 2**53), (2**62, 2**61), (-(2**63), 2**63 - 1, 2**63 - 1),
], ids=str)
def test_arange_counts_exactly(arguments):
    assert hk.arange(*arguments).tolist() == list(range(*arguments))
    assert hk.arange(*arguments).dtype == hk.int64
    assert hk.arange(*arguments, dtype=hk.float64).tolist() == [float(each) for each in range(*arguments)]


@pytest.mark.parametrize("arguments", [
    (2**63, 2**63 + 5), (2**64 - 3, 2**64), (2**64 - 1, 2**63, -(2**61)), (0, 2**64, 2**62), (2**63 + 3, 2**63 - 4, -2), (0, 2**64, 2**63),
    (2**64 - 1, 2**64), (2**53, 2**53 + 3),
], ids=str)
def test_arange_of_uint64(arguments):
    x = hk.arange(*arguments, dtype=hk.uint64)
    assert x.dtype == hk.uint64 and x.tolist() == list(range(*arguments))


def test_arange_refuses_what_does_not_fit():
    for dtype, arguments in (("int64", (2**63 - 1, 2**63 + 2)), ("uint64", (-1, 2**63)), ("int32", (2**53, 2**53 + 2)), ("int64", (2**70, 2**70 + 2)),
                             ("int8", (0, 200)), ("uint64", (2**64, 2**64 + 1))):
        with pytest.raises((OverflowError, ValueError)):
            hk.arange(*arguments, dtype=dtype)
    assert hk.arange(2**70, 2**70 + 2**20, 2**18, dtype=hk.float64).tolist() == [2.0**70 + i * 2**18 for i in range(4)]
    assert hk.arange(0, 2**60, 2**58, dtype=hk.float32).tolist() == [0, 2**58, 2**59, 2**59 + 2**58]


def test_diagonals_far_away():
    for k in (2**60, -(2**60), 2**63 - 1, -(2**63), 2**80, -(2**80)):
        values = np.ones((2, 3), "float32")
        assert same(hk.eye(2, 3, k=k), np.eye(2, 3, k=k, dtype="float32"))
        assert same(hk.tril(hk.asarray(values), k=k), values * (k > 0)) and same(hk.triu(hk.asarray(values), k=k), values * (k < 0))


def test_random_integers_of_whole_ranges():
    for dtype in INTEGERS:
        low, high = hk.iinfo(dtype).min, hk.iinfo(dtype).max
        x = hk.random.Generator(3).integers(low, high + 1, (2000,), dtype=dtype)
        assert x.dtype == dtype and int(x.min()) < low + (high - low) // 16 and int(x.max()) > high - (high - low) // 16
        assert hk.random.integers(high, high + 1, (2,), dtype=dtype).tolist() == [high] * 2
        with pytest.raises((ValueError, OverflowError), match=f"{dtype} holds|no dtype holds both|out of the range of all integers"):
            hk.random.integers(low, high + 2, (2,), dtype=dtype)
    assert set(hk.random.integers(2**63, 2**63 + 2, (100,), dtype="uint64").tolist()) == {2**63, 2**63 + 1}
    with pytest.raises(ValueError, match="must be less|not more"):
        hk.random.integers(5, 5)
    with pytest.raises(TypeError):
        hk.random.integers(0.5, 2)


def test_lists_of_large_numbers():
    assert hk.asarray([2**70, 1], dtype=hk.float64).tolist() == [2.0**70, 1]
    assert hk.asarray([2**64 - 1], dtype=hk.uint64).tolist() == [2**64 - 1]
    x = hk.asarray([0.5], dtype=hk.float64)
    assert (x + [0.1]).tolist() == [0.6] and ([0.1] * x).tolist() == [0.05] and (x + [0.1]).dtype == hk.float64
    assert (hk.asarray([0.5]) + [0.1]).dtype == hk.float32 and (hk.asarray([1]) + [0.5]).dtype == hk.float32
