"""mxnet.ndarray, of which the book uses one function."""

from .. import _core

_op = _core.operators


def nansum(data, axis=None, keepdims=False):
    """The sum, NaNs as zeros."""
    data = _op["where"](_op["isnan"](data), _op["zeros_like"](data), data)
    return data.sum(axis=axis, keepdims=keepdims)
