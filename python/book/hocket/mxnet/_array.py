"""What Arrays have in the dialect of MXNet beside what they always have: importing hocket.mxnet adds it to Array."""

import numpy as _numpy

from .. import _core, _manipulation
from .._dialects.devices import device_of

_op = _core.operators
Array = _core.Array


def _method(function):
    setattr(Array, function.__name__, function)
    return function


def dtype_of(dtype):
    """Hocket's name of a dtype that NumPy knows, such as int; None stays None."""
    return dtype if dtype is None or isinstance(dtype, _core.DType) else _numpy.dtype(dtype).name


_astype, _backward = Array.astype, Array.backward


@_method
def astype(self, dtype, copy=True):
    """The values as another dtype, which may be one of NumPy's or int, float, bool."""
    return _astype(self, dtype_of(dtype), copy=copy)


@_method
def backward(self, out_grad=None, retain_graph=False, train_mode=True, *, dy=None, keep=False):
    """The gradients of the sum of this array, or with out_grad of the sum of out_grad times it."""
    _backward(self, dy if out_grad is None else out_grad, retain_graph or keep)


Array.ctx = Array.context = property(lambda self: self.device, doc="where it is")


@_method
def asnumpy(self):
    """The values as a NumPy array. Waits for them."""
    return self.detach().numpy()


@_method
def as_nd_ndarray(self):
    """Itself: there is one kind of arrays."""
    return self


Array.as_np_ndarray = as_nd_ndarray


@_method
def asscalar(self):
    """The number of an array of one element. Waits for it."""
    return self.item()


@_method
def wait_to_read(self):
    """Waits for the values."""
    self.wait()


@_method
def as_in_ctx(self, ctx):
    """The array on a device: itself where it is there already."""
    ctx = device_of(ctx)
    return self if self.device == ctx else _core._to_pageable(self, ctx)


Array.as_in_context = as_in_ctx


@_method
def copyto(self, other):
    """A copy on a device; or the values go into another array."""
    if isinstance(other, Array):
        other[...] = self.as_in_ctx(other.device)
        return other
    other = device_of(other)
    return _op["copy"](self) if self.device == other else _core._to_pageable(self, other)


_mean = Array.mean


@_method
def mean(self, axis=None, dtype=None, keepdims=False):
    """The mean, of numbers of a dtype where one is said."""
    return _mean(self if dtype is None else self.astype(dtype), axis=axis, keepdims=keepdims)


_CPU = "cpu:0"


def _text(self):
    """As MXNet prints it: as NumPy, without the dtype of float32. Waits for the values."""
    text = repr(self.asnumpy())
    if self.dtype == _core.float32 and "dtype=" in text:
        text = text[:text.rindex(",")] + ")"
    elif self.dtype not in (_core.float32, _core.bool) and "dtype=" not in text:
        text = f"{text[:-1]}, dtype={self.dtype})"
    return text if self.device == _CPU else f"{text[:-1]}, ctx={self.device})"


Array.__repr__ = _text
Array.__str__ = lambda self: str(self.asnumpy()) + ("" if self.device == _CPU else f" @{self.device}")

_get_item = Array.__getitem__


def _index(part):
    return _op["cast"](part, _core.int64) if isinstance(part, Array) and part.dtype.name.startswith("float") else part


@_method
def __getitem__(self, key):
    """Arrays of floats are indices, too."""
    return _get_item(self, tuple(map(_index, key)) if isinstance(key, tuple) else _index(key))


@_method
def expand_dims(self, axis):
    return _op["expand_dims"](self, axis)


def _function(name):
    setattr(Array, name, lambda self, *args: _op[name](self, *args))


for _name in "abs exp log sqrt sin cos tanh sigmoid relu square sign".split():
    _function(_name)


@_method
def slice_axis(self, axis, begin, end):
    """The entries from begin to end along an axis."""
    return _get_item(self, (slice(None),) * (axis % self.ndim) + (slice(begin, end),))


@_method
def tile(self, reps):
    return _manipulation.tile(self, reps)
