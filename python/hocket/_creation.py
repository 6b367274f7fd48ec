"""Arrays from nothing, from numbers, and from what other libraries hold."""

import builtins as _b

from . import _core
from ._core import Array
from ._dtypes import iinfo, rank, result_type

_op = _core.operators
__all__ = []


def _public(function):
    __all__.append(function.__name__)
    return function


def _copied(x):
    return _op["copy"](x)


def _of_values(obj, dtype, device):
    """Also of lists that hold arrays, and of what has no buffer but DLPack, such as PyTorch's tensors."""
    if hasattr(obj, "__dlpack__") and not hasattr(type(obj), "__array_interface__"):
        return _core._convert(_copied(from_dlpack(obj)), dtype, device)
    try:
        return _core._convert(obj, dtype, device)
    except (TypeError, ValueError, BufferError):
        if hasattr(obj, "__array__") or hasattr(obj, "__array_interface__"):
            return _of_numpy(obj, dtype, device)
        if not isinstance(obj, (list, tuple)) or not any(hasattr(each, "__dlpack__") or isinstance(each, (list, tuple)) for each in obj):
            raise
    parts = [_of_values(each, dtype, device) for each in obj]
    for part in parts:
        if part.shape != parts[0].shape:
            raise ValueError(f"entries of the shapes {parts[0].shape} and {part.shape} do not make one array")
    kind = result_type(*parts)
    return _op["stack"]([part if part.dtype == kind else _op["cast"](part, kind) for part in parts], 0)


def _of_numpy(obj, dtype, device):
    """Of what NumPy can read and a buffer could not say: such as tables of pandas, images of Pillow, numbers in the other order of bytes."""
    import numpy
    values = numpy.asarray(obj)
    if values.ndim > 8:
        raise ValueError(f"there are {values.ndim} axes; an array has at most 8")
    native = values.dtype.newbyteorder("=")
    if native.char not in "?bBhHiIlLqQefdFD":
        raise TypeError(f"elements of NumPy's dtype {native} have no dtype here")
    return _core._convert(values.astype(native, copy=False), dtype, device)


def _has_buffer(obj):
    try:
        memoryview(obj).release()
    except TypeError:
        return False
    return True


def beside(value, x, as_array=_core._operand):
    """An Array of what meets x: Python's numbers, in lists too, are as exact as x's dtype can hold. With _core._value: of what goes into x."""
    if isinstance(value, Array):
        return value
    try:
        return as_array(value, x)
    except (TypeError, ValueError, BufferError):
        return asarray(value, device=x.device)


def _shared(obj, dtype, device):
    if isinstance(obj, (int, float, complex, list, tuple, range)):
        raise ValueError(f"copy=False: {type(obj).__name__} has no memory that an array could share")
    x = obj if isinstance(obj, Array) else _core._adopt_buffer(obj, None) if _has_buffer(obj) else from_dlpack(obj)
    if (dtype is not None and x.dtype != dtype) or (device is not None and x.device != device):
        raise ValueError("copy=False: another dtype or device needs a copy")
    return x


@_public
def asarray(obj, /, *, dtype=None, device=None, copy=None):
    """An array of a number, nested sequences, or anything with a buffer or DLPack, such as NumPy's arrays.

    An Array as asked comes back as it is. Of other objects' memory the elements are copied; with copy=False they are shared, and
    calls on them wait: see python/README.md. A device is a CPU device then.

    >>> hk.asarray([[1, 2], [3, 4]], dtype=hk.float32)
    array([[1., 2.],
           [3., 4.]], device='cpu:0')
    """
    if copy is False:
        return _shared(obj, dtype, device)
    if not isinstance(obj, Array):
        return _of_values(obj, dtype, device)
    x = _core._convert(obj, dtype, device)
    return _copied(obj) if copy and obj.dtype == x.dtype and obj.device == x.device else x


@_public
def array(obj, /, dtype=None, *, device=None, copy=True):
    """As asarray; an Array is copied."""
    return asarray(obj, dtype=dtype, device=device, copy=copy)


@_public
def from_dlpack(x, /, *, device=None, copy=None):
    """An array over the memory of x, which has __dlpack__. With copy=True over memory of its own.

    Calls on memory that is shared wait until they are done. Memory for reading gives an array that nothing can write into.

    >>> hk.from_dlpack(hk.arange(3))
    array([0, 1, 2], dtype=int64, device='cpu:0')
    """
    if isinstance(x, Array):
        given = x
    else:
        given = _core._adopt_capsule(_capsule_of(x), None)
    if device is not None and given.device != device:
        if copy is False:
            raise ValueError("copy=False: another device needs a copy")
        return given.to_device(device)
    return _copied(given) if copy else given


_KNOW_VERSIONS = {}  # types that have been asked


def _capsule_of(x):
    if _KNOW_VERSIONS.get(type(x), True):
        try:
            return x.__dlpack__(max_version=(1, 1))
        except TypeError:
            _KNOW_VERSIONS[type(x)] = False
    return x.__dlpack__()


@_public
def empty(shape, *, dtype=None, device=None):
    """As zeros: no memory is read that was never written.

    >>> hk.empty((2, 3)).shape
    (2, 3)
    """
    return zeros(shape, dtype=dtype, device=device)


@_public
def ones(shape, *, dtype=None, device=None):
    """An array of ones; float32 unless dtype says otherwise.

    >>> hk.ones((2, 2))
    array([[1., 1.],
           [1., 1.]], device='cpu:0')
    """
    return _op["ones"](shape, dtype or _core.float32, device=device)


@_public
def zeros(shape, *, dtype=None, device=None):
    """An array of zeros; float32 unless dtype says otherwise.

    >>> hk.zeros(3, dtype=hk.int32)
    array([0, 0, 0], dtype=int32, device='cpu:0')
    """
    return _op["zeros"](shape, dtype or _core.float32, device=device)


@_public
def full(shape, fill_value, *, dtype=None, device=None):
    """An array of one number; its dtype is the number's (bool, int64, float32, complex64) unless dtype says otherwise.

    >>> hk.full((2,), 7)
    array([7, 7], dtype=int64, device='cpu:0')
    """
    fill_value = _plain(fill_value)
    if isinstance(fill_value, (Array, complex)) or (isinstance(fill_value, int) and abs(fill_value) > 2**53):
        return _copied(_core._broadcast_to(asarray(fill_value, dtype=dtype, device=device), shape))
    return _op["full"](shape, fill_value, dtype or result_type(fill_value), device=device)


def _plain(number):
    """A number of NumPy's, or of an array of one, as Python's."""
    if type(number) in (bool, int, float, complex, Array) or not hasattr(number, "item"):
        return number
    return number.item()


def _as(function, x, dtype, device, *more):
    return function(x.shape, *more, dtype=dtype or x.dtype, device=device or x.device)


@_public
def empty_like(x, /, *, dtype=None, device=None):
    """As empty, of x's shape, and of its dtype and device unless others are given.

    >>> hk.empty_like(hk.ones((2, 3))).shape
    (2, 3)
    """
    return _as(zeros, x, dtype, device)


@_public
def ones_like(x, /, *, dtype=None, device=None):
    """As ones, of x's shape, and of its dtype and device unless others are given.

    >>> hk.ones_like(hk.asarray([3, 4]))
    array([1, 1], dtype=int64, device='cpu:0')
    """
    return _as(ones, x, dtype, device)


@_public
def zeros_like(x, /, *, dtype=None, device=None):
    """As zeros, of x's shape, and of its dtype and device unless others are given.

    >>> hk.zeros_like(hk.asarray([3, 4]))
    array([0, 0], dtype=int64, device='cpu:0')
    """
    return _as(zeros, x, dtype, device)


@_public
def full_like(x, /, fill_value, *, dtype=None, device=None):
    """As full, of x's shape, and of its dtype and device unless others are given.

    >>> hk.full_like(hk.asarray([3.0, 4.0]), 2)
    array([2., 2.], device='cpu:0')
    """
    return _as(full, x, dtype, device, fill_value)


@_public
def arange(start, /, stop=None, step=1, *, dtype=None, device=None):
    """start, start + step, … up to stop, which is not included: int64 of ints, else float32.

    >>> hk.arange(2, 8, 2)
    array([2, 4, 6], dtype=int64, device='cpu:0')
    """
    if stop is None:
        start, stop = 0, start
    start, stop, step = (each.item() if isinstance(each, Array) else _plain(each) for each in (start, stop, step))
    is_whole = all(isinstance(each, int) for each in (start, stop, step))
    if dtype is None:
        dtype = _core.int64 if is_whole else _core.float32
    if step == 0:
        raise ValueError("arange(): step is 0")
    if step > 0 and stop <= start or step < 0 and stop >= start:
        return zeros((0,), dtype=dtype, device=device)
    if is_whole and _b.max(abs(start), abs(stop), abs(step)) > 2**53:
        return _whole_range(start, stop, step, _core._dtype(dtype), device)
    return _op["arange"](start, stop, step, dtype, device=device)


def _whole_range(start, stop, step, dtype, device):
    """Of integers that doubles round."""
    count = -((start - stop) // step)
    last = start + (count - 1) * step
    low, high = _b.min(start, last), _b.max(start, last)
    if rank(dtype) != 1 and not (-(2**63) <= low and high < 2**63):
        return _op["arange"](start, stop, step, dtype, device=device)
    if rank(dtype) == 1 and not (iinfo(dtype).min <= low and high <= iinfo(dtype).max):
        raise OverflowError(f"arange(): {dtype} does not have all of {start} … {last}")
    if count < 3:
        return asarray([start, last][:count], dtype=dtype, device=device)
    if high < 2**63:
        return _op["sequence"](start, step, count, dtype, device=device)
    whole = _op["sequence"](0, 1, count, dtype, device=device) * abs(step) + low
    return whole if step > 0 else _copied(_op["flip"](whole, 0))


@_public
def linspace(start, stop, /, num, *, dtype=None, device=None, endpoint=True):
    """num numbers from start to stop at even distances; float32, or complex64 of complex ones, unless dtype says otherwise.

    >>> hk.linspace(0, 1, 5)
    array([0.,   0.25, 0.5,  0.75, 1.  ], device='cpu:0')
    """
    if isinstance(start, complex) or isinstance(stop, complex):
        wanted = _core._dtype(dtype or _core.complex64)
        parts = [linspace(*ends, num, dtype=_core.float64, device=device, endpoint=endpoint)
                 for ends in ((start.real, stop.real), (start.imag, stop.imag))]
        return _op["cast"](_op["complex_of"](*parts), wanted)
    wanted = _core._dtype(dtype or _core.float32)
    made = _op["linspace"](start, stop, num, endpoint, wanted if rank(wanted) == 2 else _core.float64, device=device)
    return made if made.dtype == wanted else _op["cast"](made, wanted)


def _diagonal(k):
    """Beyond a matrix all diagonals are the same."""
    return _b.min(_b.max(k.__index__(), -(2**63)), 2**63 - 1)


@_public
def eye(n_rows, n_cols=None, /, *, k=0, dtype=None, device=None):
    """A matrix of ones on diagonal k, and of zeros elsewhere.

    >>> hk.eye(2, 3, k=1)
    array([[0., 1., 0.],
           [0., 0., 1.]], device='cpu:0')
    """
    return _op["eye"](n_rows, n_rows if n_cols is None else n_cols, _diagonal(k), dtype or _core.float32, device=device)


@_public
def tril(x, /, *, k=0):
    """x with zeros above diagonal k of the last two axes.

    >>> hk.tril(hk.ones((2, 3)))
    array([[1., 0., 0.],
           [1., 1., 0.]], device='cpu:0')
    """
    return _op["tril"](x, _diagonal(k))


@_public
def triu(x, /, *, k=0):
    """x with zeros below diagonal k of the last two axes.

    >>> hk.triu(hk.ones((2, 3)))
    array([[1., 1., 1.],
           [0., 1., 1.]], device='cpu:0')
    """
    return _op["triu"](x, _diagonal(k))


@_public
def meshgrid(*arrays, indexing="xy"):
    """Grids of coordinates: a tuple of views of one shape, read only.

    >>> [x.shape for x in hk.meshgrid(hk.arange(3), hk.arange(2))]
    [(2, 3), (2, 3)]
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f"indexing is {indexing!r}, but may be 'xy' or 'ij'")
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = 1, 0
    sizes = [arrays[i].size for i in order]
    grids = []
    for i, x in enumerate(arrays):
        shape = [1] * len(arrays)
        shape[order.index(i)] = x.size
        grids.append(_core._broadcast_to(_op["reshape"](x, shape), sizes))
    return tuple(grids)
