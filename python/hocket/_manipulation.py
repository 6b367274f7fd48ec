"""Other shapes and orders of the same elements; joining and repeating."""

import builtins as _b
import math as _math

from . import _core
from ._core import Array
from ._creation import _plain, arange, asarray, beside, full, zeros
from ._dtypes import narrow as _narrow, result_type

_op = _core.operators
__all__ = []


def _public(function):
    __all__.append(function.__name__)
    return function


def axes_of(axis, ndim, name="axis"):
    """A tuple of axes from the front; raises where one is out of range or comes twice."""
    given = axis if isinstance(axis, (tuple, list)) else (axis,)
    found = []
    for each in given:
        number = each.__index__()
        if not -ndim <= number < ndim:
            right = f"must be from {-ndim} to {ndim - 1}" if ndim else "there are no axes"
            raise _errors().IndexError(f"{name} is {number}, but {right}")
        found.append(number % ndim)
    if len(set(found)) != len(found):
        raise ValueError(f"{name} {tuple(given)} names an axis twice")
    return tuple(found)


def _errors():
    from . import errors
    return errors


def _flat(x):
    return x if x.ndim == 1 else _op["reshape"](x, (-1,)) if x.size else _op["reshape"](x, (0,))


def _promoted(arrays):
    arrays = list(arrays)
    if not arrays:
        raise ValueError("at least one array is needed")
    first = next((each for each in arrays if isinstance(each, Array)), None)
    arrays = [asarray(each) if first is None else beside(each, first) for each in arrays]
    if len({each.dtype for each in arrays}) == 1:
        return arrays
    dtype = result_type(*arrays)
    return [each if each.dtype == dtype else _op["cast"](each, dtype) for each in arrays]


@_public
def broadcast_shapes(*shapes):
    """The shape that arrays of these shapes have together.

    >>> hk.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    result = []
    for shape in shapes:
        shape = (shape,) if isinstance(shape, int) else tuple(shape)
        result = [1] * (len(shape) - len(result)) + result
        for i in range(1, len(shape) + 1):
            if shape[-i] != 1:
                if result[-i] not in (1, shape[-i]):
                    raise ValueError(f"the shapes {shapes} do not broadcast")
                result[-i] = shape[-i]
    return tuple(result)


@_public
def broadcast_to(x, /, shape):
    """x stretched to the shape: a view, read only.

    >>> hk.broadcast_to(hk.asarray([1, 2]), (2, 2))
    array([[1, 2],
           [1, 2]], dtype=int64, device='cpu:0')
    """
    return _core._broadcast_to(x, shape)


@_public
def broadcast_arrays(*arrays):
    """Views of one shape, to which all are stretched.

    >>> [x.shape for x in hk.broadcast_arrays(hk.ones((2, 1)), hk.ones(3))]
    [(2, 3), (2, 3)]
    """
    shape = broadcast_shapes(*(x.shape for x in arrays))
    return tuple(_core._broadcast_to(x, shape) for x in arrays)


@_public
def concat(arrays, /, *, axis=0):
    """Arrays one behind the other along an axis; with None flat.

    >>> hk.concat([hk.asarray([1, 2]), hk.asarray([3])])
    array([1, 2, 3], dtype=int64, device='cpu:0')
    """
    arrays = _promoted(arrays)
    if axis is None:
        arrays, axis = [_flat(x) for x in arrays], 0
    return _op["concat"](arrays, axis)


concatenate = concat
__all__.append("concatenate")


@_public
def stack(arrays, /, *, axis=0):
    """Arrays of one shape beside each other, along a new axis.

    >>> hk.stack([hk.asarray([1, 2]), hk.asarray([3, 4])], axis=1)
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    return _op["stack"](_promoted(arrays), axis)


@_public
def unstack(x, /, *, axis=0):
    """The entries of an axis, as a tuple of views.

    >>> [x.tolist() for x in hk.unstack(hk.asarray([[1, 2], [3, 4]]))]
    [[1, 2], [3, 4]]
    """
    moved = moveaxis(x, axis, 0)
    return tuple(moved[i] for i in range(moved.shape[0]))


@_public
def split(x, indices_or_sections, axis=0):
    """Views of parts along an axis: so many of one size, or cut in front of these indices.

    >>> [x.tolist() for x in hk.split(hk.arange(6), 3)]
    [[0, 1], [2, 3], [4, 5]]
    """
    (axis,) = axes_of(axis, x.ndim)
    size = x.shape[axis]
    if isinstance(indices_or_sections, int):
        count = indices_or_sections
        if count <= 0 or size % count:
            raise ValueError(f"axis {axis} of {size} entries has no {count} parts of one size")
        cuts = list(range(0, size + 1, size // count)) if size else [0] * (count + 1)
    else:
        cuts = [0, *(_b.min(_b.max(each if each >= 0 else each + size, 0), size) for each in indices_or_sections), size]
    key = (slice(None),) * axis
    return [x[key + (slice(begin, end),)] for begin, end in zip(cuts, cuts[1:])]


@_public
def expand_dims(x, /, axis=0):
    """x with axes of size 1, at these places in the result.

    >>> hk.expand_dims(hk.asarray([1, 2]), axis=0)
    array([[1, 2]], dtype=int64, device='cpu:0')
    """
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    for each in sorted(axes_of(tuple(axes), x.ndim + len(axes))):
        x = _op["expand_dims"](x, each)
    return x


@_public
def squeeze(x, /, axis=None):
    """x without these axes, of size 1; without any given, all of size 1.

    >>> hk.squeeze(hk.ones((1, 2)), axis=0)
    array([1., 1.], device='cpu:0')
    """
    axes = [i for i, size in enumerate(x.shape) if size == 1] if axis is None else axes_of(axis, x.ndim)
    for each in axes:
        if x.shape[each] != 1:
            raise ValueError(f"axis {each} has {x.shape[each]} entries; squeeze() removes axes of one")
    for each in sorted(axes, reverse=True):
        x = _op["squeeze"](x, each)
    return +x


@_public
def flip(x, /, *, axis=None):
    """x with the order along these axes, or all, reversed: a view.

    >>> hk.flip(hk.asarray([1, 2, 3]))
    array([3, 2, 1], dtype=int64, device='cpu:0')
    """
    for each in range(x.ndim) if axis is None else axes_of(axis, x.ndim):
        x = _op["flip"](x, each)
    return +x


@_public
def permute_dims(x, /, axes):
    """x with its axes in this order: a view.

    >>> hk.permute_dims(hk.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return _op["permute_dims"](x, axes)


@_public
def transpose(x, /, axes=None):
    """x with its axes in reverse, or in the order given: a view.

    >>> hk.transpose(hk.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    return _core._transpose(x) if axes is None else permute_dims(x, axes)


@_public
def matrix_transpose(x, /):
    """x with its last two axes exchanged: a view.

    >>> hk.matrix_transpose(hk.asarray([[1, 2], [3, 4]]))
    array([[1, 3],
           [2, 4]], dtype=int64, device='cpu:0')
    """
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose() needs two axes; x has {x.ndim}")
    return _op["swapaxes"](x, -1, -2)


@_public
def swapaxes(x, axis1, axis2, /):
    """x with two axes exchanged: a view.

    >>> hk.swapaxes(hk.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    return _op["swapaxes"](x, axis1, axis2)


@_public
def moveaxis(x, source, destination, /):
    """x with these axes at those places: a view.

    >>> hk.moveaxis(hk.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    sources, places = axes_of(source, x.ndim, "source"), axes_of(destination, x.ndim, "destination")
    if len(sources) != len(places):
        raise ValueError("source and destination name different numbers of axes")
    order = [axis for axis in range(x.ndim) if axis not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return _op["permute_dims"](x, order)


@_public
def reshape(x, /, shape, *, copy=None):
    """The elements in C order under another shape, of which one size may be -1: a view where that can be.

    >>> hk.reshape(hk.arange(6), (2, -1))
    array([[0, 1, 2],
           [3, 4, 5]], dtype=int64, device='cpu:0')
    """
    y = _op["reshape"](x, shape)
    if copy is False and not _core._facts(x)[2] and x.size:
        raise ValueError("copy=False: the array is not contiguous, so that another shape needs a copy")
    return _op["copy"](y) if copy and _core._facts(x)[2] else y


@_public
def ravel(x, /):
    """The elements in C order along one axis.

    >>> hk.ravel(hk.asarray([[1, 2], [3, 4]]))
    array([1, 2, 3, 4], dtype=int64, device='cpu:0')
    """
    return _flat(x)


@_public
def roll(x, /, shift, *, axis=None):
    """x shifted along axes, or flat: what falls off the end comes in at the front.

    >>> hk.roll(hk.asarray([1, 2, 3]), 1)
    array([3, 1, 2], dtype=int64, device='cpu:0')
    """
    if axis is None:
        shift = sum(shift) if isinstance(shift, (tuple, list)) else shift
        return _op["reshape"](_op["roll"](_flat(x), shift, 0), x.shape) if x.size else +x
    axes = axis if isinstance(axis, (tuple, list)) else (axis,)
    shifts = shift if isinstance(shift, (tuple, list)) else (shift,) * len(axes)
    if len(shifts) != len(axes):
        raise ValueError("shift and axis have different numbers of entries")
    for each, by in zip(axes, shifts):
        x = _op["roll"](x, by, each)
    return x


@_public
def repeat(x, repeats, /, *, axis=None):
    """Each entry of an axis several times in a row: as often for all, or as an array of integers says.

    >>> hk.repeat(hk.asarray([1, 2]), 2)
    array([1, 1, 2, 2], dtype=int64, device='cpu:0')
    """
    if axis is None:
        x, axis = _flat(x), 0
    if isinstance(repeats, int):
        return _op["repeat"](x, repeats, axis)
    (axis,) = axes_of(axis, x.ndim)
    repeats = _core._broadcast_to(asarray(repeats), (x.shape[axis],)).astype(_core.int64)
    if repeats.size and int(_op["min"](repeats)) < 0:
        raise ValueError("repeats has negative entries")
    total = int(_op["sum"](repeats)) if repeats.size else 0
    if total == 0:
        return zeros(x.shape[:axis] + (0,) + x.shape[axis + 1:], dtype=x.dtype, device=x.device)
    ends = _op["cumulative_sum"](repeats, 0)
    return _op["index_select"](x, _op["searchsorted"](ends, arange(total, device=x.device), True), axis)


@_public
def tile(x, repetitions, /):
    """x so many times along each axis.

    >>> hk.tile(hk.asarray([1, 2]), 2)
    array([1, 2, 1, 2], dtype=int64, device='cpu:0')
    """
    repetitions = (repetitions,) if isinstance(repetitions, int) else tuple(repetitions)
    missing = len(repetitions) - x.ndim
    if missing > 0:
        x = _op["reshape"](x, (1,) * missing + x.shape)
    for axis, count in enumerate((1,) * -missing + repetitions):
        if count != 1:
            x = _op["tile"](x, count, axis)
    return +x


@_public
def tensordot(x1, x2, /, *, axes=2):
    """Sums of products over pairs of axes: the last and the first so many, or those that two lists name.

    >>> hk.tensordot(hk.ones((2, 3)), hk.ones((3, 4)), axes=1).shape
    (2, 4)
    """
    x1, x2 = _promoted((x1, x2))
    if isinstance(axes, int):
        count = axes
    else:
        first, second = axes_of(axes[0], x1.ndim), axes_of(axes[1], x2.ndim)
        if len(first) != len(second):
            raise ValueError("axes names different numbers of axes")
        x1 = _op["permute_dims"](x1, [i for i in range(x1.ndim) if i not in first] + list(first))
        x2 = _op["permute_dims"](x2, list(second) + [i for i in range(x2.ndim) if i not in second])
        count = len(first)
    if x1.dtype.name in ("float32", "float64", "int32", "int64", "complex64", "complex128"):
        return _op["tensordot"](x1, x2, count)
    if x1.dtype.name in ("float16", "bfloat16"):
        return _op["cast"](_op["tensordot"](_op["cast"](x1, _core.float32), _op["cast"](x2, _core.float32), count), x1.dtype)
    if x1.dtype.name == "bool":
        return _op["cast"](_op["tensordot"](_op["cast"](x1, _core.int64), _op["cast"](x2, _core.int64), count), x1.dtype)
    return _op["wrap"](_op["tensordot"](_op["wrap"](x1, _core.int64), _op["wrap"](x2, _core.int64), count), x1.dtype)


@_public
def vecdot(x1, x2, /, *, axis=-1):
    """Dot products of vectors along an axis; the other axes broadcast.

    >>> hk.vecdot(hk.asarray([[1, 2], [3, 4]]), hk.asarray([1, 1]))
    array([3, 7], dtype=int64, device='cpu:0')
    """
    x1, x2 = _promoted((x1, x2))
    if not -_b.min(x1.ndim, x2.ndim) <= axis < 0 and axis != 0 and not axis < _b.min(x1.ndim, x2.ndim):
        raise ValueError(f"axis is {axis}, which not both have")
    if axis != -1:
        x1, x2 = moveaxis(x1, axis, -1), moveaxis(x2, axis, -1)
    result = _op["vecdot"](x1, x2)
    return _narrow(result, x1.dtype)


@_public
def einsum(subscripts, /, *arrays):
    """Sums of products by Einstein's convention: einsum("ij,jk->ik", x, y) is a matrix product.

    >>> hk.einsum("ij,j->i", hk.asarray([[1, 2], [3, 4]]), hk.asarray([1, 1]))
    array([3, 7], dtype=int64, device='cpu:0')
    """
    return _core._einsum(subscripts, tuple(_promoted(arrays)))


@_public
def pad(x, pad_width, mode="constant", constant_values=0):
    """x with entries added at both ends of its axes: pad_width is a number, a pair, or a pair for each axis.

    >>> hk.pad(hk.asarray([1, 2]), 1)
    array([0, 1, 2, 0], dtype=int64, device='cpu:0')
    """
    modes = ("constant", "edge", "reflect", "wrap")  # in the order of hk_pad_mode
    if mode not in modes:
        raise ValueError(f"mode is {mode!r}, but may be one of {modes}")
    if isinstance(pad_width, int):
        pad_width = (pad_width, pad_width)
    pairs = [tuple(pad_width)] * x.ndim if isinstance(pad_width[0], int) else [tuple(pair) for pair in pad_width]
    if len(pairs) != x.ndim:
        raise ValueError(f"pad_width has {len(pairs)} pairs; x has {x.ndim} axes")
    value = _plain(constant_values)
    is_double = not isinstance(value, (Array, complex)) and not (isinstance(value, int) and abs(value) > 2**53)
    for axis, pair in enumerate(pairs):
        if pair == (0, 0):
            continue
        if is_double or mode != "constant":
            x = _op["pad"](x, axis, pair, modes.index(mode), value if is_double else 0)
        else:
            x = _between(x, axis, pair, value)
    return +x


def _between(x, axis, pair, value):
    """x between entries of a value that no double is."""
    for count in pair:
        if count < 0:
            raise ValueError(f"pad_width has {count}, but must not be negative")
    ends = [full(x.shape[:axis] + (count,) + x.shape[axis + 1:], value, dtype=x.dtype, device=x.device) for count in pair]
    return _op["concat"]([ends[0], x, ends[1]], axis)
