"""Dtypes: what they hold, what they give together, casts."""

import builtins as _b

from . import _core
from ._core import Array, DType

_op = _core.operators
__all__ = ["astype", "can_cast", "finfo", "iinfo", "isdtype", "result_type"]

_SIGNED = ("int8", "int16", "int32", "int64")
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_FLOATS = ("float16", "bfloat16", "float32", "float64")
_COMPLEX = ("complex64", "complex128")
_NAMES = ("bool",) + _SIGNED + _UNSIGNED + _FLOATS + _COMPLEX
_KINDS = {
    "bool": ("bool",),
    "signed integer": _SIGNED,
    "unsigned integer": _UNSIGNED,
    "integral": _SIGNED + _UNSIGNED,
    "real floating": _FLOATS,
    "complex floating": _COMPLEX,
    "numeric": _SIGNED + _UNSIGNED + _FLOATS + _COMPLEX,
}


def rank(dtype):
    """0: bool, 1: integers, 2: floats, 3: complex numbers."""
    return 3 if dtype.name in _COMPLEX else 2 if dtype.name in _FLOATS else 0 if dtype.name == "bool" else 1


def narrow(x, dtype):
    """A result as dtype, to which integers wrap around; None: as it is."""
    if dtype is None:
        return x
    dtype = _core._dtype(dtype)
    if x.dtype == dtype:
        return x
    return _core.operators["wrap" if rank(x.dtype) == rank(dtype) == 1 else "cast"](x, dtype)


def dtype_of(given):
    """The dtype of an Array, of a dtype or of a name of one."""
    return given.dtype if isinstance(given, Array) else _core._dtype(given)


def isdtype(dtype, kind):
    """Whether dtype is of a kind, such as "integral", or is a dtype; of a tuple, whether one of them holds.

    >>> hk.isdtype(hk.int8, "integral")
    True
    """
    dtype = _core._dtype(dtype)
    if isinstance(kind, tuple):
        return _b.any(isdtype(dtype, each) for each in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtype.name in _KINDS[kind]
    return dtype == _core._dtype(kind)


def _two(a, b):
    both = _core._promote(a, b)
    if both is not None:
        return both
    if rank(a) == rank(b):
        raise TypeError(f"no dtype holds both {a} and {b}")
    return a if rank(a) > rank(b) else b


_PYTHON = {_b.bool: _core.bool, int: _core.int64, float: _core.float32, complex: _core.complex64}


def result_type(*arrays_and_dtypes):
    """The dtype that these give together. Python's numbers take that of the others, if it is of a kind to hold them.

    Of different kinds the higher one counts: bool, integers, floats, complex numbers.

    >>> hk.result_type(hk.int8, hk.uint8)
    hocket.int16
    """
    numbers = [each for each in arrays_and_dtypes if type(each) in _PYTHON]
    dtypes = [dtype_of(each) for each in arrays_and_dtypes if type(each) not in _PYTHON]
    if not arrays_and_dtypes:
        raise ValueError("result_type() needs an array or a dtype")
    result = dtypes[0] if dtypes else None
    for each in dtypes[1:]:
        result = _two(result, each)
    for number in numbers:
        alone = _PYTHON[type(number)]
        if alone == _core.complex64 and result == _core.float64:
            alone = _core.complex128
        if result is None or rank(alone) > rank(result):
            result = alone
    return result


def can_cast(from_, to, /):
    """Whether every value of from_, an array or a dtype, has a place in the dtype to.

    >>> hk.can_cast(hk.int8, hk.int16), hk.can_cast(hk.float32, hk.int64)
    (True, False)
    """
    a, b = dtype_of(from_), _core._dtype(to)
    if rank(a) == rank(b) or rank(a) == 2 and rank(b) == 3:
        return _core._promote(a, b) == b
    if rank(a) > rank(b):
        return False
    if rank(a) == 0 or rank(b) == 1:
        return True
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53, "complex64": 24, "complex128": 53}[b.name]
    return a.itemsize * 8 - (a.name in _SIGNED) <= digits or digits == 53


def astype(x, dtype, /, *, copy=True, device=None):
    """x as another dtype. Floats are rounded towards 0 for integers; a value that the dtype does not have fails the result.

    Complex numbers become complex ones or bool alone: real() and imag() give their parts.

    >>> hk.astype(hk.asarray([1.7, -1.7]), hk.int32)
    array([ 1, -1], dtype=int32, device='cpu:0')
    """
    dtype = _core._dtype(dtype)
    if device is not None:
        x = x.to_device(device)
    if x.dtype != dtype:
        return _op["cast"](x, dtype)
    return _op["copy"](x) if copy else x


class finfo:
    """Limits of a dtype of floats, or of the parts of complex numbers: bits, eps, max, min, smallest_normal, dtype."""

    _LIMITS = {  # bits of the exponent and of the fraction
        "float16": (5, 10), "bfloat16": (8, 7), "float32": (8, 23), "float64": (11, 52),
    }

    def __init__(self, type, /):
        self.dtype = dtype_of(type)
        if rank(self.dtype) == 3:
            self.dtype = _core.float32 if self.dtype == _core.complex64 else _core.float64
        if self.dtype.name not in _FLOATS:
            raise ValueError(f"{self.dtype} is no dtype of floats")
        exponent, fraction = self._LIMITS[self.dtype.name]
        top = 2 ** (exponent - 1) - 1
        self.bits = 1 + exponent + fraction
        self.eps = 2.0**-fraction
        self.max = (2 - self.eps) * 2.0**top
        self.min = -self.max
        self.smallest_normal = self.tiny = 2.0 ** (1 - top)

    def __repr__(self):
        return f"finfo(bits={self.bits}, eps={self.eps}, max={self.max}, min={self.min}, smallest_normal={self.smallest_normal}, dtype={self.dtype})"


class iinfo:
    """Limits of a dtype of integers: bits, max, min, dtype."""

    def __init__(self, type, /):
        self.dtype = dtype_of(type)
        if rank(self.dtype) != 1:
            raise ValueError(f"{self.dtype} is no dtype of integers")
        self.bits = self.dtype.itemsize * 8
        signed = self.dtype.name in _SIGNED
        self.min = -(2 ** (self.bits - 1)) if signed else 0
        self.max = 2 ** (self.bits - signed) - 1

    def __repr__(self):
        return f"iinfo(bits={self.bits}, max={self.max}, min={self.min}, dtype={self.dtype})"


class _Info:
    """What the array API's functions of inspection tell."""

    def capabilities(self):
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": 8}

    def default_device(self):
        return _core.devices()[0]

    def default_dtypes(self, *, device=None):
        return {"real floating": _core.float32, "complex floating": _core.complex64, "integral": _core.int64, "indexing": _core.int64}

    def devices(self):
        return tuple(_core.devices())

    def dtypes(self, *, device=None, kind=None):
        kinds = kind if isinstance(kind, tuple) else (kind,)
        names = [name for name in _NAMES if name not in ("float16", "bfloat16")]
        return {name: getattr(_core, name) for name in names
                if kind is None or _b.any(name in _KINDS[each] for each in kinds)}
