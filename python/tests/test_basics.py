import math

import numpy as np
import pytest

import hocket as hk


def test_sum_of_an_array_and_a_number():
    x = hk.ones((2, 3))
    y = x + 1
    assert y.tolist() == [[2.0] * 3] * 2
    assert y.shape == (2, 3) and y.dtype == hk.float32 and y.device == "cpu:0"


def test_a_refused_call_raises_there_and_names_the_line():
    x = hk.ones((2, 3))
    with pytest.raises(ValueError) as caught:
        x @ x
    assert caught.value.operation == "matmul"
    assert caught.value.file == __file__
    assert caught.value.line == test_a_refused_call_raises_there_and_names_the_line.__code__.co_firstlineno + 3
    assert any("issued at" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("name", "add subtract multiply truediv floordiv mod pow".split())
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_signs_with_numbers_on_either_side(name, dtype):
    import operator
    sign = getattr(operator, {"multiply": "mul", "subtract": "sub"}.get(name, name))
    values = np.array([1, 2, 3], dtype)
    x = hk.asarray(values)
    for got, want in ((sign(x, 2), sign(values, 2)), (sign(2, x), sign(2, values))):
        np.testing.assert_allclose(got.tolist(), want, rtol=1e-6)


@pytest.mark.parametrize("key", [0, -1, slice(1, 3), slice(None, None, -1), (..., 1), (None, 0), (slice(3, 0, -2), 1)])
def test_views(key):
    values = np.arange(20.0).reshape(4, 5)
    assert hk.asarray(values)[key].tolist() == values[key].tolist()


def test_integers_divided_by_zero():
    for function in (lambda x: x // 0, lambda x: x % hk.asarray([1, 0])):
        with pytest.raises(ZeroDivisionError, match="division by zero at element"):
            function(hk.asarray([1, 2])).tolist()
    assert issubclass(hk.ZeroDivisionError, hk.errors.Error)
    assert (hk.asarray([1., 2.]) // 0).tolist() == [float("inf")] * 2


def test_numpy_functions_pass_their_keywords_on():
    values = np.arange(6, dtype="float32").reshape(2, 3)
    x = hk.asarray(values)
    for name in ("sum", "prod", "mean", "var", "std", "max", "min", "all", "any"):
        function = getattr(np, name)
        assert np.allclose(function(x), function(values)) and isinstance(function(x), hk.Array)
        assert np.allclose(function(x, axis=1, keepdims=True), function(values, axis=1, keepdims=True))
    assert np.mean(x, dtype="float64").dtype == "float64" and np.sum(x, dtype="int64").dtype == "int64"
    assert np.isclose(float(np.var(x, ddof=1)), values.var(ddof=1))
    out = hk.zeros((3,))
    assert np.sum(x, axis=0, out=out) is out and out.tolist() == [3, 5, 7]


def test_arrays_of_what_others_hold():
    class Elsewhere:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3)

    assert hk.asarray(Elsewhere()).tolist() == [0, 1, 2]
    assert hk.asarray(np.arange(3, dtype=">i4")).tolist() == [0, 1, 2]
    assert hk.asarray([np.ones(1), np.ones(1)]).shape == (2, 1)
    assert hk.asarray([hk.ones(1), hk.ones(1)]).shape == (2, 1)


@pytest.mark.parametrize("value, kind, text", [
    ([[1, 2], [3]], ValueError, r"entries of the shapes \(2,\) and \(1,\)"),
    ([hk.ones(2), hk.ones(3)], ValueError, r"entries of the shapes \(2,\) and \(3,\)"),
    (2**70, OverflowError, f"the number {2**70} is out of the range of int64"),
    (np.array(["a"]), TypeError, "NumPy's dtype <U1 have no dtype here"),
    (np.array([object()]), TypeError, "NumPy's dtype object"),
    (np.zeros(1, dtype="M8[D]"), TypeError, "NumPy's dtype datetime64"),
    (np.zeros((1,) * 9), ValueError, "9 axes; an array has at most 8"),
])
def test_what_makes_no_array_says_why(value, kind, text):
    with pytest.raises(kind, match=text):
        hk.asarray(value)


def test_what_python_asks_of_sequences_and_numbers():
    assert [int(x) for x in reversed(hk.arange(3))] == [2, 1, 0]
    assert math.trunc(hk.asarray(-2.6)) == -2
    assert round(hk.asarray(2.6)) == 3 and round(hk.arange(3), 1).tolist() == [0, 1, 2]
    assert round(hk.asarray([1.25, 2.0]), 1).tolist() == hk.asarray([1.2, 2.0]).tolist()
    with pytest.raises(TypeError, match=r"is for a number, and the array has the shape \(2,\)"):
        f"{hk.ones(2):.3f}"
