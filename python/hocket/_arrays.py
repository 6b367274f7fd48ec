"""The array API standard's names over the operators of the library."""

from . import _core

_op = _core.operators

# What is the library's own, name for name.
_SAME = (
    "abs acos acosh add asin asinh atan atan2 atanh bitwise_and bitwise_left_shift bitwise_invert bitwise_or "
    "bitwise_right_shift bitwise_xor ceil copysign cos cosh equal erf exp expm1 floor greater greater_equal hypot isfinite isinf "
    "isnan less less_equal log log1p log2 log10 logaddexp logical_and logical_not logical_or logical_xor maximum minimum multiply "
    "negative nextafter not_equal reciprocal relu round rsqrt sigmoid sign signbit sin sinh sqrt square subtract tan tanh trunc "
    "where"
).split()
globals().update({name: _op[name] for name in _SAME})

__all__ = list(_SAME)


def _public(function):
    __all__.append(function.__name__)
    return function


@_public
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of a number, nested sequences, or anything with a buffer, such as NumPy's arrays."""
    return _core._convert(obj, dtype, device)


@_public
def wait(*arrays):
    """Waits for these arrays, or without any for all calls issued so far. Raises what failed first."""
    if not arrays:
        try:
            _core._wait_all()
        finally:
            _core._failures_clear()
    for x in arrays:
        x.wait()


@_public
def ones(shape, *, dtype=None, device=None):
    """An array of ones; float32 unless dtype says otherwise."""
    return _op["ones"](shape, dtype or _core.float32, device=device)


@_public
def zeros(shape, *, dtype=None, device=None):
    """An array of zeros; float32 unless dtype says otherwise."""
    return _op["zeros"](shape, dtype or _core.float32, device=device)
