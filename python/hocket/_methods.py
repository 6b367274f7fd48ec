"""What Arrays have beside operators and facts: NumPy's names over the package's functions."""

import re as _re

from . import _core
from . import _creation, _dtypes, _elementwise, _manipulation, _reductions
from ._core import Array

_op = _core.operators


def _method(function):
    setattr(Array, function.__name__, function)
    return function


def _axes(axes):
    return axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes


for _module, _names in (
    (_reductions, "argmax argmin cumsum cumprod cumulative_sum cumulative_prod nonzero take argsort"),
    (_manipulation, "squeeze ravel repeat swapaxes"),
    (_dtypes, "astype"),
    (_elementwise, "clip"),
):
    for _name in _names.split():
        setattr(Array, _name, getattr(_module, _name))


def _reduction(name):
    """Also with what np.sum(x, …) and the like pass on: dtype, out, ddof."""
    plain = getattr(_reductions, name)
    has_dtype, has_correction = name in ("sum", "prod"), name in ("var", "std")

    def method(self, axis=None, dtype=None, out=None, keepdims=False, **options):
        if has_correction and "ddof" in options:
            options["correction"] = options.pop("ddof")
        if has_dtype:
            options["dtype"] = dtype
        elif dtype is not None:
            self = _dtypes.astype(self, dtype, copy=False)
        result = plain(self, axis, keepdims=keepdims, **options)
        if out is None:
            return result
        out[...] = result
        return out

    method.__name__, method.__qualname__, method.__doc__ = name, f"Array.{name}", plain.__doc__
    return method


for _name in "sum prod mean var std max min all any".split():
    setattr(Array, _name, _reduction(_name))

Array.T = property(_core._transpose, doc="axes in reverse order: a view")
Array.mT = property(_manipulation.matrix_transpose, doc="the last two axes exchanged: a view")
Array.itemsize = property(lambda self: self.dtype.itemsize, doc="bytes of an element")
Array.real = property(_elementwise.real, doc="real parts; the array itself where it is real")
Array.imag = property(_elementwise.imag, doc="imaginary parts; zeros of a real array")


@_method
def reshape(self, *shape, copy=None):
    """reshape(2, -1) or reshape((2, -1)): see hocket.reshape."""
    return _manipulation.reshape(self, _axes(shape), copy=copy)


@_method
def transpose(self, *axes):
    """Axes in reverse order, or in the order given: a view."""
    return _manipulation.transpose(self, _axes(axes) if axes and axes[0] is not None else None)


@_method
def flatten(self):
    """The elements in C order along one axis: a copy."""
    return _op["copy"](_manipulation._flat(self))


@_method
def copy(self):
    """The same values in memory of its own."""
    return _op["copy"](self)


@_method
def fill(self, value):
    """Every element becomes the value."""
    self[...] = value


@_method
def dot(self, other):
    """Matrix product; with a number the product."""
    return self * other if isinstance(other, (int, float, complex)) else self @ other


@_method
def conj(self):
    """Complex conjugates; the array itself where it is real."""
    return _op["conj"](self)


@_method
def to_device(self, device, /, *, stream=None):
    """The array on a device: itself where it is there already."""
    if stream is not None:
        raise ValueError("stream is to be None: calls are in order by themselves")
    device = device if isinstance(device, _core.Device) else _core.Device(device)
    return +self if self.device == device else _op["to_device"](self, device=device)


@_method
def numpy(self):
    """The values as a NumPy array, with memory of its own; bfloat16 as float32. Waits for them."""
    import numpy
    x = _op["cast"](self, _core.float32) if self.dtype == _core.bfloat16 else self
    values = numpy.empty(x.shape, x.dtype.name)
    x._copy_to(values)
    return values


@_method
def __array__(self, dtype=None, copy=None):
    _core._raise_interrupt(self)
    if copy is False:
        raise ValueError("copy=False: this array's memory cannot be NumPy's")
    values = self.numpy()
    return values if dtype is None else values.astype(dtype, copy=False)


@_method
def __array_namespace__(self, /, *, api_version=None):
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12", "2025.12"):
        raise ValueError(f"the array API of {api_version} is not known here")
    import hocket
    return hocket


def _capsule(x, writes, stream, max_version, dl_device, copy):
    if stream is not None and stream != -1:
        raise BufferError("stream is to be None: the memory is the host's")
    is_versioned = bool(max_version and max_version[0] >= 1)
    copied = bool(copy)
    if x.__dlpack_device__()[0] != 1:
        if dl_device is None or tuple(dl_device) != (1, 0) or copy is False:
            raise BufferError(f"memory of {x.device} cannot be shared; to_device('cpu:0') copies it")
        x, copied = x.to_device("cpu:0"), True
    elif dl_device is not None and tuple(dl_device) != (1, 0):
        raise BufferError(f"the memory is the host's, not that of a device {tuple(dl_device)}")
    elif copied:
        x = _op["copy"](x)
    elif _core._facts(x)[0] and not is_versioned:
        if copy is False:
            raise BufferError("copy=False: the array is read only, which DLPack says from version 1 on")
        x, copied = _op["copy"](x), True
    return _core._dlpack(x, is_versioned, copied, writes or copied or not is_versioned)


@_method
def __dlpack__(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
    """A DLPack capsule over the array's own memory, where that can be, for reading: calls on it wait from then on. x.lend() has one for writing.

    What asks for a version before 1, which knows no memory for reading, is taken to write.
    """
    return _capsule(self, False, stream, max_version, dl_device, copy)


def _lent_capsule(self, /, *, stream=None, max_version=None, dl_device=None, copy=None):
    return _capsule(self._array, True, stream, max_version, dl_device, copy)


def _lent_array(self, dtype=None, copy=None):
    """NumPy asks for it where there was no buffer."""
    _core._raise_interrupt(self)
    raise BufferError(f"{self._array.dtype} on {self._array.device} has no buffer for writing")


_core.Lent.__dlpack__, _core.Lent.__array__ = _lent_capsule, _lent_array
_core.Lent.__dlpack_device__ = lambda self: self._array.__dlpack_device__()


@_method
def __iter__(self):
    if self.ndim == 0:
        raise TypeError("an array without axes has no entries")
    return (self[i] for i in range(self.shape[0]))


@_method
def __reversed__(self):
    return iter(self[::-1]) if self.ndim else iter(self)


@_method
def __trunc__(self):
    return int(self)


@_method
def __round__(self, digits=None):
    if digits is None and self.ndim == 0:
        return round(self.item())
    if _dtypes.isdtype(self.dtype, ("bool", "integral")) and (digits or 0) >= 0:
        return _op["copy"](self)
    scale = 10.0 ** (digits or 0)
    return _op["round"](self * scale) / scale if digits else _op["round"](self)


@_method
def __contains__(self, value):
    return bool((self == value).any())


@_method
def __complex__(self):
    return complex(self.item())


@_method
def __repr__(self):
    """As NumPy's: array([1., 2.], device='cpu:0'), with the dtype where it is not float32. Waits for the values."""
    text = str(self).rsplit(" @", 1)[0].removesuffix(f" {self.dtype}")
    ends = r"(?:(?<=[j\])])|(?<=\.\.\.))" if "complex" in self.dtype.name else r"(?<=[^\s\[])"  # of words; parts may lie apart
    text = _re.sub(ends + r"(?=\s+[^\s\]])", ",", text).replace("\n", "\n      ")
    dtype = "" if self.dtype == _core.float32 else f", dtype={self.dtype}"
    return f"array({text}{dtype}, device='{self.device}')"


@_method
def __format__(self, spec):
    if spec and self.ndim and spec[-1] not in "s<>^0123456789":
        raise TypeError(f"the format {spec!r} is for a number, and the array has the shape {self.shape}")
    return format(self.item() if spec and self.ndim == 0 else str(self), spec)


@_method
def __divmod__(self, other):
    return self // other, self % other


@_method
def __rdivmod__(self, other):
    return other // self, other % self


# ---- NumPy's ufuncs: np.exp(x), and values + x, whose left side is NumPy's

_SIGNS = {  # those of a sign: the method of an Array on the left, and of one on the right alone
    "add": "add", "subtract": "sub", "multiply": "mul", "divide": "truediv", "true_divide": "truediv", "floor_divide": "floordiv", "remainder": "mod",
    "power": "pow", "matmul": "matmul", "bitwise_and": "and", "bitwise_or": "or", "bitwise_xor": "xor", "left_shift": "lshift",
    "right_shift": "rshift", "divmod": "divmod",
}
_SIGNS = {name: (f"__{sign}__", f"__r{sign}__") for name, sign in _SIGNS.items()} | {
    "equal": ("__eq__", "__eq__"), "not_equal": ("__ne__", "__ne__"), "less": ("__lt__", "__gt__"), "less_equal": ("__le__", "__ge__"),
    "greater": ("__gt__", "__lt__"), "greater_equal": ("__ge__", "__le__"),
}
_OTHER_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2",
    "arctanh": "atanh", "invert": "bitwise_invert", "rint": "round", "conjugate": "conj",
}


_known = {}  # by ufunc: (methods of a sign or None, function or None)


def _known_of(ufunc):
    name = ufunc.__name__
    name = _OTHER_NAMES.get(name, name)
    signs = tuple(getattr(Array, method) for method in _SIGNS[name]) if name in _SIGNS else None
    _known[ufunc] = found = signs, getattr(_elementwise, name) if name in _elementwise.__all__ else None
    return found


@_method
def __array_ufunc__(self, ufunc, method, *inputs, out=None, **options):
    """What has a name here is done here; the others are done by NumPy, on the values."""
    if method == "__call__" and not options:
        signs, function = _known.get(ufunc) or _known_of(ufunc)
        if out is None and signs:
            first, second = inputs
            return signs[0](first, second) if isinstance(first, Array) else signs[1](second, first)
        if out is None and function:
            return function(*inputs)
    return _by_values(ufunc, method, inputs, out, options)


def _by_values(ufunc, method, inputs, out, options):
    if out is not None and not all(isinstance(x, Array) for x in out):
        raise TypeError(f"np.{ufunc.__name__} of an Array writes into no memory of NumPy's: values = values + x is an Array, "
                        f"values += np.asarray(x) is NumPy's")
    if out is not None and any(isinstance(x, Array) for x in inputs):
        result = getattr(ufunc, method)(*inputs, **options)
    else:
        import numpy
        result = getattr(ufunc, method)(*(numpy.asarray(x) if isinstance(x, Array) else x for x in inputs), **options)
    if out is None:
        return result
    for mine, each in zip(out, result if isinstance(result, tuple) else (result,)):
        mine[...] = each
    return out[0] if len(out) == 1 else out


_TYPES = {
    "bool": "|b1", "int8": "|i1", "uint8": "|u1", "int16": "<i2", "uint16": "<u2", "int32": "<i4", "uint32": "<u4", "int64": "<i8", "uint64": "<u8",
    "float16": "<f2", "float32": "<f4", "float64": "<f8", "complex64": "<c8", "complex128": "<c16",
}


def _array_interface(self):
    """NumPy's protocol, of which Pillow knows no other: over the array's own memory, for reading. Of one that is not contiguous a copy's."""
    _core._raise_interrupt(self)
    if self.dtype.name not in _TYPES:
        raise AttributeError(f"{self.dtype} has no place in NumPy's __array_interface__")
    is_own = self.device.kind == "cpu" and _core._facts(self)[2]
    x = self if is_own else _op["copy"](self.to_device("cpu:0"))
    strides = tuple(each * self.itemsize for each in x.strides)  # who sees some asks for tobytes(), as Pillow does
    return {"version": 3, "shape": x.shape, "typestr": _TYPES[self.dtype.name], "strides": strides, "data": memoryview(x)}


def _await(self):
    """``await x`` is ``x.wait()`` that lets other coroutines run meanwhile."""
    from asyncio import get_running_loop

    return (yield from get_running_loop().run_in_executor(None, self.wait).__await__())


Array.__await__ = _await
Array.__array_interface__ = property(_array_interface)


@_method
def tobytes(self):
    """The elements as bytes, in C order. Waits."""
    return bytes(self)


@_method
def __bytes__(self):
    """The elements in memory, in C order. Waits."""
    values = bytearray(self.nbytes)
    self._copy_to(values)
    return bytes(values)


@_method
def __copy__(self):
    return _op["copy"](self)


@_method
def __deepcopy__(self, memo):
    key = "hocket.Array", self._identity()  # another Array of that handle is to become the same copy
    if key not in memo:
        if self._has_grad():
            new = _op["copy"](self.detach()).attach_grad()
        else:
            new = _op["copy"](self)
        memo[key] = new, self
    return memo[key][0]


def _unpickled(values, shape, dtype, device, wants_grad=False):
    x = _core._from_bytes(values, shape, dtype, device)
    return x.attach_grad() if wants_grad else x


@_method
def __reduce__(self):
    values = bytearray(self.nbytes)
    self._copy_to(values)
    return _unpickled, (values, self.shape, self.dtype, self.device, self._has_grad())
