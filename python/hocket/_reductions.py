"""Sums and other statistics, searching, sorting, sets."""

import builtins as _b
import collections as _collections

from . import _core
from ._core import Array
from ._creation import arange, asarray, beside, full_like, zeros
from ._dtypes import iinfo, narrow as _narrow, rank, result_type
from ._manipulation import _flat, axes_of, broadcast_shapes, concat, expand_dims, moveaxis, stack

_op = _core.operators
__all__ = []


def _public(function):
    __all__.append(function.__name__)
    return function


def _reduced(name, x, axis, keepdims, *more):
    """axis None: all; (): none."""
    if axis is not None:
        axis = axes_of(axis, x.ndim)
        if not axis:  # each element alone
            return _op["squeeze"](_op[name](_op["expand_dims"](x, -1), (-1,), True, *more), -1)
    return _op[name](x, axis, keepdims, *more)


def _of_dtype(x, dtype):
    """What is gathered: integers wrap around at the end, and need no cast that would refuse some of them."""
    dtype = None if dtype is None else _core._dtype(dtype)
    return x if dtype is None or x.dtype == dtype or rank(x.dtype) == rank(dtype) == 1 else _op["cast"](x, dtype)


@_public
def sum(x, /, axis=None, *, dtype=None, keepdims=False):
    """Sum along axes, or of all; of bools and signed integers int64, of unsigned ones uint64. Of a dtype of integers it wraps around.

    >>> hk.sum(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([ 8., 13.], device='cpu:0')
    """
    return _narrow(_reduced("sum", _of_dtype(x, dtype), axis, keepdims), dtype)


@_public
def prod(x, /, axis=None, *, dtype=None, keepdims=False):
    """Product along axes, or of all; dtypes as of sum.

    >>> hk.prod(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([10., 72.], device='cpu:0')
    """
    return _narrow(_reduced("prod", _of_dtype(x, dtype), axis, keepdims), dtype)


@_public
def mean(x, /, axis=None, *, keepdims=False):
    """Mean along axes, or of all.

    >>> hk.mean(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([2.6666667, 4.3333335], device='cpu:0')
    """
    return _reduced("mean", x, axis, keepdims)


@_public
def var(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Variance along axes, or of all: squared distances from the mean, over how many they are less correction.

    >>> hk.var(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([2.8888888, 1.5555555], device='cpu:0')
    """
    return _reduced("var", x, axis, keepdims, correction)


@_public
def std(x, /, axis=None, *, correction=0.0, keepdims=False):
    """Standard deviation along axes, or of all: the square root of var.

    >>> hk.std(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([1.6996732, 1.2472191], device='cpu:0')
    """
    return _reduced("std", x, axis, keepdims, correction)


@_public
def max(x, /, axis=None, *, keepdims=False):
    """Largest element along axes, or of all; NaN where one is.

    >>> hk.max(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([5., 6.], device='cpu:0')
    """
    return _reduced("max", x, axis, keepdims)


@_public
def min(x, /, axis=None, *, keepdims=False):
    """Smallest element along axes, or of all; NaN where one is.

    >>> hk.min(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([1., 3.], device='cpu:0')
    """
    return _reduced("min", x, axis, keepdims)


@_public
def all(x, /, axis=None, *, keepdims=False):
    """Whether all elements along axes, or at all, are true or not 0.

    >>> hk.all(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([ True,  True], dtype=bool, device='cpu:0')
    """
    return _reduced("all", x, axis, keepdims)


@_public
def any(x, /, axis=None, *, keepdims=False):
    """Whether any element along axes, or at all, is true or not 0.

    >>> hk.any(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([ True,  True], dtype=bool, device='cpu:0')
    """
    return _reduced("any", x, axis, keepdims)


@_public
def count_nonzero(x, /, axis=None, *, keepdims=False):
    """How many elements along axes, or of all, are not 0.

    >>> hk.count_nonzero(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([3, 3], dtype=int64, device='cpu:0')
    """
    return _reduced("count_nonzero", x, axis, keepdims)


@_public
def logsumexp(x, /, axis=None, *, keepdims=False):
    """Logarithm of the sum of exponentials along axes, or of all.

    >>> hk.logsumexp(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([5.065884, 6.169846], device='cpu:0')
    """
    return _reduced("logsumexp", x, axis, keepdims)


def _along_one(name, x, axis):
    """x and the axis, which may be left out where there is but one."""
    if axis is None:
        if x.ndim > 1:
            raise ValueError(f"{name}() needs an axis: x has {x.ndim}")
        axis = 0
    if x.ndim == 0:
        x = _op["reshape"](x, (1,))
    (axis,) = axes_of(axis, x.ndim)
    return x, axis


def _cumulative(name, x, axis, dtype, include_initial, initial):
    x, axis = _along_one(name, x, axis)
    y = _narrow(_op[name](_of_dtype(x, dtype), axis), dtype)
    if not include_initial:
        return y
    first = full_like(y[(slice(None),) * axis + (slice(0, 1),)], initial) if y.shape[axis] else \
        full_like(zeros(y.shape[:axis] + (1,) + y.shape[axis + 1:], dtype=y.dtype, device=y.device), initial)
    return concat([first, y], axis=axis)


@_public
def cumulative_sum(x, /, axis=None, *, dtype=None, include_initial=False):
    """Sums of all elements up to each along an axis; with include_initial a 0 comes first.

    >>> hk.cumulative_sum(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([[ 1.,  6.,  8.],
           [ 4.,  7., 13.]], device='cpu:0')
    """
    return _cumulative("cumulative_sum", x, axis, dtype, include_initial, 0)


@_public
def cumulative_prod(x, /, axis=None, *, dtype=None, include_initial=False):
    """Products of all elements up to each along an axis; with include_initial a 1 comes first.

    >>> hk.cumulative_prod(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([[ 1.,  5., 10.],
           [ 4., 12., 72.]], device='cpu:0')
    """
    return _cumulative("cumulative_prod", x, axis, dtype, include_initial, 1)


@_public
def cumulative_max(x, /, axis=None):
    """The largest of all elements up to each along an axis, and where it is; of equal ones the last.

    >>> [x.tolist() for x in hk.cumulative_max(hk.asarray([3, 1, 4, 1, 5]))]
    [[3, 3, 4, 4, 5], [0, 0, 2, 2, 4]]
    """
    return _op["cumulative_max"](*_along_one("cumulative_max", x, axis))


@_public
def cumulative_min(x, /, axis=None):
    """The smallest of all elements up to each along an axis, and where it is; of equal ones the last.

    >>> [x.tolist() for x in hk.cumulative_min(hk.asarray([3, 1, 4, 1, 5]))]
    [[3, 1, 1, 1, 1], [0, 1, 1, 3, 3]]
    """
    return _op["cumulative_min"](*_along_one("cumulative_min", x, axis))


cumsum, cumprod = cumulative_sum, cumulative_prod
__all__ += ["cumsum", "cumprod"]


@_public
def diff(x, /, *, axis=-1, n=1, prepend=None, append=None):
    """What each element along an axis is more than the one before; n times.

    >>> hk.diff(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([[ 4., -3.],
           [-1.,  3.]], device='cpu:0')
    """
    if n < 0:
        raise ValueError(f"n is {n}, but must not be negative")
    parts = [beside(each, x) for each in (prepend, x, append) if each is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    for _ in range(n):
        if x.dtype == _core.bool:
            x = _op["not_equal"](*_neighbours(x, axis))
        else:
            x = _op["diff"](x, axis) if x.shape[axis] > 1 else x[_along(x, axis, slice(0, 0))]
    return x


def _along(x, axis, part):
    (axis,) = axes_of(axis, x.ndim)
    return (slice(None),) * axis + (part,)


def _neighbours(x, axis):
    return x[_along(x, axis, slice(1, None))], x[_along(x, axis, slice(None, -1))]


# ---- searching


def _index_of(x, axis, keepdims, search):
    if axis is None:
        found = search(_flat(x), 0)
        return _op["reshape"](found, (1,) * x.ndim) if keepdims else found
    found = search(x, axis)
    return _op["expand_dims"](found, axes_of(axis, x.ndim)[0]) if keepdims else found


@_public
def argmax(x, /, axis=None, *, keepdims=False):
    """Index of the largest element along an axis, or of all: of the first of several.

    >>> hk.argmax(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return _index_of(x, axis, keepdims, _op["argmax"])


@_public
def argmin(x, /, axis=None, *, keepdims=False):
    """Index of the smallest element along an axis, or of all: of the first of several.

    >>> hk.argmin(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([0, 1], dtype=int64, device='cpu:0')
    """
    return _index_of(x, axis, keepdims, _op["argmin"])


@_public
def nonzero(x, /):
    """Indices along each axis of the elements that are not 0, in C order. Waits for x.

    >>> [x.tolist() for x in hk.nonzero(hk.asarray([0, 3, 0, 4]))]
    [[1, 3]]
    """
    return _core._nonzero(x)


def _beside(array, other):
    return beside(other, array) if isinstance(array, Array) else asarray(other)


def _both(x1, x2):
    x1 = _beside(x2, x1)
    return x1, _beside(x1, x2)


def _is_between(number, dtype):
    """Whether the number may lie between the integers of the dtype, or beyond them."""
    if rank(dtype) != 1 or type(number) not in (int, float):
        return False
    return type(number) is float or not iinfo(dtype).min <= number <= iinfo(dtype).max


@_public
def searchsorted(x1, x2, /, *, side="left", sorter=None):
    """Where each element of x2 goes into x1, sorted, to keep its order; "right": behind those that are equal.

    >>> hk.searchsorted(hk.asarray([1, 3, 5]), hk.asarray([0, 3, 9]))
    array([0, 1, 3], dtype=int64, device='cpu:0')
    """
    if side not in ("left", "right"):
        raise ValueError(f"side is {side!r}, but may be 'left' or 'right'")
    if isinstance(x1, Array) and x1.ndim == 1 and _is_between(x2, x1.dtype):
        if x2 != x2:  # NaN is behind all
            side, x2 = "right", float("inf")
        return _op["sum"](_op["less_equal" if side == "right" else "less"](x1, x2))
    x2 = _beside(x1, x2)
    if sorter is not None:
        x1 = _op["index_select"](x1, sorter, 0)
    dtype = result_type(x1, x2)
    return _op["searchsorted"](_of_dtype(x1, dtype), _of_dtype(x2, dtype), side == "right")


@_public
def take(x, indices, /, *, axis=None):
    """The entries of an axis, or elements of the flat array, that indices names.

    >>> hk.take(hk.asarray([5, 6, 7]), hk.asarray([2, 0]))
    array([7, 5], dtype=int64, device='cpu:0')
    """
    indices = indices if isinstance(indices, Array) else asarray(indices)
    if axis is None:
        x, axis = _flat(x), 0
    return _op["index_select"](x, indices, axis)


@_public
def take_along_axis(x, indices, /, *, axis=-1):
    """For each element of indices the entry of x along the axis that it names; the other axes broadcast.

    >>> hk.take_along_axis(hk.asarray([[5, 6], [7, 8]]), hk.asarray([[1], [0]]), axis=1)
    array([[6],
           [7]], dtype=int64, device='cpu:0')
    """
    (axis,) = axes_of(axis, x.ndim)
    if x.ndim != indices.ndim:
        raise ValueError(f"indices has {indices.ndim} axes, x {x.ndim}")
    rest, other = (each.shape[:axis] + (1,) + each.shape[axis + 1:] for each in (x, indices))
    if rest == other:
        return _op["take_along_axis"](x, indices, axis)
    rest = broadcast_shapes(rest, other)
    wide = [_core._broadcast_to(each, rest[:axis] + (each.shape[axis],) + rest[axis + 1:]) for each in (x, indices)]
    return _op["take_along_axis"](*wide, axis)


# ---- sorting


@_public
def sort(x, /, axis=-1, *, descending=False, stable=True):
    """Elements in order along an axis; NaNs count as the largest.

    >>> hk.sort(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([[1., 2., 5.],
           [3., 4., 6.]], device='cpu:0')
    """
    return _op["sort"](x, axis, descending)


@_public
def argsort(x, /, axis=-1, *, descending=False, stable=True):
    """Indices along an axis that put its elements in order; equal ones stay in theirs.

    >>> hk.argsort(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), axis=1)
    array([[0, 2, 1],
           [1, 0, 2]], dtype=int64, device='cpu:0')
    """
    return _op["argsort"](x, axis, descending)


_METHODS = ("linear", "lower", "higher", "midpoint", "nearest")  # in the order of hk_quantile_method


@_public
def quantile(x, q, /, axis=None, *, method="linear", keepdims=False):
    """What lies at place q (n - 1) of n elements in order, along axes or of all; q is a number from 0 to 1, or a list of such.

    Between two elements method says what it is: linear, lower, higher, midpoint or nearest. NaN where an element is. The results for a list
    of q lie along a first axis.

    >>> hk.quantile(hk.asarray([[1.0, 5.0, 2.0], [4.0, 3.0, 6.0]]), 0.25, axis=1)
    array([1.5, 3.5], device='cpu:0')
    """
    return _quantile("quantile", x, q, axis, method, keepdims)


def _quantile(name, x, q, axis, method, keepdims):
    if method not in _METHODS:
        raise ValueError(f"method is {method!r}, but must be one of {', '.join(_METHODS)}")
    if hasattr(q, "tolist"):
        q = q.tolist()
    if isinstance(q, (list, tuple)):
        if not q:
            raise ValueError("q is empty, but must have a number")
        return stack([_quantile(name, x, each, axis, method, keepdims) for each in q])
    return _reduced(name, x, axis, keepdims, float(q), _METHODS.index(method))


@_public
def median(x, /, axis=None, *, keepdims=False):
    """The element in the middle of those in order, or the mean of the two that are, along axes or of all.

    >>> hk.median(hk.asarray([[1.0, 5.0, 2.0, 9.0], [4.0, 3.0, 6.0, 1.0]]), axis=1)
    array([3.5, 3.5], device='cpu:0')
    """
    return _reduced("median", x, axis, keepdims)


@_public
def nanquantile(x, q, /, axis=None, *, method="linear", keepdims=False):
    """quantile of the elements that are no NaN; NaN where all are.

    >>> hk.nanquantile(hk.asarray([[1.0, hk.nan, 2.0], [4.0, 3.0, 6.0]]), 0.5, axis=1)
    array([1.5, 4. ], device='cpu:0')
    """
    return _quantile("nanquantile", x, q, axis, method, keepdims)


@_public
def nanmedian(x, /, axis=None, *, keepdims=False):
    """median of the elements that are no NaN; NaN where all are.

    >>> hk.nanmedian(hk.asarray([[1.0, hk.nan, 2.0, 9.0], [4.0, hk.nan, hk.nan, 1.0]]), axis=1)
    array([2. , 2.5], device='cpu:0')
    """
    return _reduced("nanmedian", x, axis, keepdims)


@_public
def topk(x, k, /, axis=-1, *, largest=True):
    """The k largest or smallest elements along an axis, in that order, and their indices.

    >>> [x.tolist() for x in hk.topk(hk.asarray([3, 9, 5]), 2)]
    [[9, 5], [1, 2]]
    """
    return _op["topk"](x, k, axis, largest)


# ---- sets

unique_all_result = _collections.namedtuple("unique_all_result", "values indices inverse_indices counts")
unique_counts_result = _collections.namedtuple("unique_counts_result", "values counts")
unique_inverse_result = _collections.namedtuple("unique_inverse_result", "values inverse_indices")


def _unique_complex(x):
    """As unique_all, by the order of real parts, then of imaginary ones."""
    x = _flat(x)
    order = _op["argsort"](x.imag, 0, False)
    order = order[_op["argsort"](x.real[order], 0, False)]
    ordered = x[order]
    begins = concat([_op["ones"]((_b.min(x.size, 1),), _core.bool, device=x.device), ordered[1:] != ordered[:-1]])
    (places,) = nonzero(begins)
    ends = concat([places[1:], full_like(places[:1], x.size)])
    inverse = _op["scatter"](zeros(x.shape, dtype=_core.int64, device=x.device), order, cumulative_sum(begins) - 1, 0)
    return ordered[places], order[places], inverse, ends - places


def _unique(x, name, *parts):
    if not x.dtype.name.startswith("complex"):
        return getattr(_core, name)(x)
    found = _unique_complex(x)
    found = found[:2] + (_op["reshape"](found[2], x.shape), found[3])
    return found[parts[0]] if len(parts) == 1 else [found[part] for part in parts]


@_public
def unique_all(x, /):
    """Different elements in rising order, where each comes first, which of them each element is, and how often they come. Waits for x.

    Complex numbers are in the order of their real parts, then of imaginary ones; so in the functions below.

    >>> hk.unique_all(hk.asarray([3, 1, 3])).counts
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return unique_all_result(*_unique(x, "_unique_all", 0, 1, 2, 3))


@_public
def unique_counts(x, /):
    """Different elements in rising order, and how often they come. Waits for x.

    >>> hk.unique_counts(hk.asarray([3, 1, 3])).counts
    array([1, 2], dtype=int64, device='cpu:0')
    """
    return unique_counts_result(*_unique(x, "_unique_counts", 0, 3))


@_public
def unique_inverse(x, /):
    """Different elements in rising order, and which of them each element is. Waits for x.

    >>> hk.unique_inverse(hk.asarray([3, 1, 3])).inverse_indices
    array([1, 0, 1], dtype=int64, device='cpu:0')
    """
    return unique_inverse_result(*_unique(x, "_unique_inverse", 0, 2))


@_public
def unique_values(x, /):
    """Different elements in rising order; each NaN counts. Waits for x.

    >>> hk.unique_values(hk.asarray([3, 1, 3]))
    array([1, 3], dtype=int64, device='cpu:0')
    """
    return _unique(x, "_unique_values", 0)


@_public
def bincount(x, /, weights=None, minlength=0):
    """How often each of 0, 1, … occurs in x; with weights their sums. Waits for x.

    >>> hk.bincount(hk.asarray([0, 2, 2]))
    array([1, 0, 2], dtype=int64, device='cpu:0')
    """
    return _core._bincount(x, weights, minlength)


unique = unique_values
__all__.append("unique")


@_public
def isin(x1, x2, /, *, invert=False):
    """Whether each element of x1 is one of x2. Of complex numbers it waits.

    >>> hk.isin(hk.asarray([1, 2, 3]), hk.asarray([3, 1]))
    array([ True, False,  True], dtype=bool, device='cpu:0')
    """
    for one, other in ((x1, x2), (x2, x1)):
        if type(other) in (bool, int, float, complex) and isinstance(one, Array):
            found = _op["equal"](one, other)
            found = found if one is x1 else any(found)
            return _op["logical_not"](found) if invert else found
    x1, x2 = _both(x1, x2)
    dtype = result_type(x1, x2)
    x1, x2 = _of_dtype(x1, dtype), _of_dtype(x2, dtype)
    if rank(dtype) == 3:  # they have no order: of the places among all different ones
        places = unique_inverse(_op["concat"]([_op["reshape"](x, (-1,)) for x in (x1, x2)], axis=0)).inverse_indices
        x1, x2 = _op["reshape"](places[:x1.size], x1.shape), places[x1.size:]
    found = _op["isin"](x1, x2)
    return _op["logical_not"](found) if invert else found


# ---- comparing


@_public
def isclose(x1, x2, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether |x1 - x2| <= atol + rtol |x2|, element by element.

    >>> hk.isclose(hk.asarray([1.0, 2.0]), hk.asarray([1.0, 2.1]))
    array([ True, False], dtype=bool, device='cpu:0')
    """
    x1, x2 = _both(x1, x2)
    near = (_op["abs"](x1 - x2) <= atol + rtol * _op["abs"](x2)) & _op["isfinite"](x1 * 1.0) & _op["isfinite"](x2 * 1.0)
    near = near | (x1 == x2)
    return near | ((x1 != x1) & (x2 != x2)) if equal_nan else near


@_public
def allclose(x1, x2, rtol=1e-05, atol=1e-08, equal_nan=False):
    """Whether isclose holds everywhere, as Python's bool. Waits.

    >>> hk.allclose(hk.ones(2), hk.ones(2) + 1e-7)
    True
    """
    return _b.bool(all(isclose(x1, x2, rtol, atol, equal_nan)))


@_public
def array_equal(x1, x2):
    """Whether shapes and elements are equal, as Python's bool. Waits.

    >>> hk.array_equal(hk.ones(2), hk.ones(2))
    True
    """
    x1, x2 = _both(x1, x2)
    return x1.shape == x2.shape and _b.bool(all(x1 == x2))
