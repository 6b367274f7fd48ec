"""Operators of the library that the array API standard has no name for."""

from . import _core
from ._manipulation import axes_of

_op = _core.operators

# What is the library's own, name for name.
_SAME = ("complex_of", "copy", "kron", "pin", "wrap")
globals().update({name: _op[name] for name in _SAME})

__all__ = [*_SAME, "cosine_similarity", "histogram", "scatter", "scatter_add", "sliding_window", "var_mean"]


def cosine_similarity(x, y, axis=-1):
    """Cosine of the angle between vectors of x and y along an axis, which goes: -1 to 1. Norms below 1e-8 count as that.

    Shapes: one for both; the result's is that without the axis. Dtypes: floats.

    >>> hk.cosine_similarity(hk.asarray([[1.0, 0.0], [1.0, 1.0]]), hk.asarray([[0.0, 2.0], [3.0, 3.0]]))
    array([0., 1.], device='cpu:0')
    """
    return _op["cosine_similarity"](x, y, axis)


def histogram(x, bins, low, high):
    """How many elements of x lie in each of so many bins of one width from low to high: int64 (bins,).

    A bin has its lower edge, the last one both; what lies outside, NaN included, is not counted. ``hk.linspace(low, high, bins + 1)`` gives
    the edges, which NumPy's function returns beside the counts.

    >>> hk.histogram(hk.asarray([0.1, 0.2, 0.6, 1.0, 7.0]), 4, 0.0, 1.0)
    array([2, 0, 1, 1], dtype=int64, device='cpu:0')
    """
    return _op["histogram"](x, bins, low, high)


def scatter(x, indices, updates, axis=-1):
    """x, but at the entry along axis that each element of indices names, as in take_along_axis, the same element of updates.

    updates has the shape of indices and the dtype of x. Where several elements name one entry the last one stays.

    >>> hk.scatter(hk.zeros(4), hk.asarray([1, 3]), hk.asarray([5.0, 6.0]))
    array([0., 5., 0., 6.], device='cpu:0')
    """
    return _op["scatter"](x, indices, updates, axis)


def scatter_add(x, indices, updates, axis=-1):
    """x, and to the entry along axis that each element of indices names, as in take_along_axis, the same element of updates added.

    updates has the shape of indices and the dtype of x. Where several elements name one entry all are added.

    >>> hk.scatter_add(hk.zeros(4), hk.asarray([1, 3, 1]), hk.asarray([5.0, 6.0, 0.5]))
    array([0.,  5.5, 0.,  6. ], device='cpu:0')
    """
    return _op["scatter_add"](x, indices, updates, axis)


def sliding_window(x, size, axis=-1, step=1):
    """Windows of so many entries along an axis, step entries apart: the axis counts them, and a last axis has the entries of each.

    A view, which may be written where windows do not overlap.

    >>> hk.sliding_window(hk.arange(5), 3)
    array([[0, 1, 2],
           [1, 2, 3],
           [2, 3, 4]], dtype=int64, device='cpu:0')
    """
    return _op["sliding_window"](x, axis, size, step)


def var_mean(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Variance and mean along axes, or of all: a tuple of what var and mean give, for one mean computed.

    >>> hk.var_mean(hk.asarray([1.0, 2.0, 3.0, 6.0]))
    (array(3.5, device='cpu:0'), array(3.0, device='cpu:0'))
    """
    if axis is not None:
        axis = axes_of(axis, x.ndim)
        if not axis:  # each element alone
            both = _op["var_mean"](_op["expand_dims"](x, -1), (-1,), True, correction)
            return tuple(_op["squeeze"](each, -1) for each in both)
    return _op["var_mean"](x, axis, keepdims, correction)
