"""Functions of each element."""

import operator as _operator

from . import _core
from ._core import Array
from ._creation import asarray, beside
from ._dtypes import rank, result_type

_op = _core.operators

# What is the library's own, name for name.
_SAME = (
    "abs acos acosh add angle asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_or "
    "bitwise_right_shift bitwise_xor bitwise_invert ceil conj copysign cos cosh equal erf exp expm1 floor floor_divide greater greater_equal "
    "hypot imag isfinite isinf isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor "
    "maximum minimum multiply negative nextafter not_equal real reciprocal relu remainder round rsqrt sigmoid sign signbit sin sinh "
    "sqrt square subtract tan tanh trunc where"
).split()
globals().update({name: _op[name] for name in _SAME})

__all__ = list(_SAME) + ["clip", "divide", "matmul", "positive", "pow", "power"]


def divide(x1, x2, /):
    """x1 / x2; of integers as float32.

    >>> hk.divide(hk.asarray([1, 3]), 2)
    array([0.5, 1.5], device='cpu:0')
    """
    return _operator.truediv(_first(x1, x2), x2)


def pow(x1, x2, /):
    """x1 to the power of x2.

    >>> hk.pow(hk.asarray([2.0, 3.0]), 2)
    array([4., 9.], device='cpu:0')
    """
    return _operator.pow(_first(x1, x2), x2)


power = pow


def matmul(x1, x2, /):
    """Matrix product over the last two axes; the others are batches, which broadcast.

    >>> hk.matmul(hk.asarray([[1, 2], [3, 4]]), hk.asarray([1, 1]))
    array([3, 7], dtype=int64, device='cpu:0')
    """
    return _operator.matmul(_first(x1, x2), x2)


def _first(x1, x2):
    return x1 if isinstance(x1, Array) or isinstance(x2, Array) else asarray(x1)


def positive(x, /):
    """x itself.

    >>> hk.positive(hk.asarray([1, -2]))
    array([ 1, -2], dtype=int64, device='cpu:0')
    """
    return +x


def _limit(x, bound, name):
    """A bound of clip in x's dtype: None where it bounds nothing."""
    if bound is None or isinstance(bound, (int, float)):
        return bound
    return beside(bound, x)


def _bounds_nothing(x, number, is_low):
    """Python's ints beyond the dtype's range cut nothing off."""
    bits = x.dtype.itemsize * 8
    signed = not x.dtype.name.startswith("u")
    low, high = (-(2 ** (bits - 1)) if signed else 0), 2 ** (bits - signed) - 1
    return number <= low if is_low else number >= high


def clip(x, /, min=None, max=None):
    """x between min and max, numbers or arrays; None: no bound. A bound that is NaN gives NaN.

    >>> hk.clip(hk.asarray([-3, 0, 9]), 0, 5)
    array([0, 0, 5], dtype=int64, device='cpu:0')
    """
    low, high = _limit(x, min, "min"), _limit(x, max, "max")
    numbers = all(bound is None or not isinstance(bound, Array) and bound == bound for bound in (low, high))
    if numbers and rank(x.dtype) == 2:
        return _op["clip"](x, float("-inf") if low is None else low, float("inf") if high is None else high)
    for bound, function, is_low in ((low, _op["maximum"], True), (high, _op["minimum"], False)):
        if bound is None or (type(bound) is int and rank(x.dtype) == 1 and _bounds_nothing(x, bound, is_low)):
            continue
        x = function(x, bound)
    return +x
