"""What Arrays have in the dialect of PyTorch beside what they always have: importing hocket.torch adds it to Array.

size is a number that can be called, as PyTorch's size() is.
"""

import math as _math

from .. import _core, _manipulation, _reductions, random as _random
from .._creation import arange as _arange
from .._elementwise import clip as _clip
from .._grad import pause as _pause
from .._dialects.devices import device_of
from . import _printing

_op = _core.operators
Array = _core.Array

# Functions that are told of each backward pass: what several devices computed is summed then.
after_backward = []


def _method(function):
    setattr(Array, function.__name__, function)
    return function


def _sizes(sizes):
    return tuple(sizes[0]) if len(sizes) == 1 and not isinstance(sizes[0], int) else tuple(sizes)


# ---- gradients -----------------------------------------------------------------------------------------------

_backward = Array.backward


@_method
def backward(self, gradient=None, retain_graph=False, *, dy=None, keep=False):
    """The gradients of the sum of this array, or with gradient of the sum of gradient times it."""
    _backward(self, dy if gradient is None else gradient, retain_graph or keep)
    for function in after_backward:
        function()


@_method
def requires_grad_(self, requires_grad=True):
    """Gradients are added to, as PyTorch's are, until they are set to zeros."""
    return self.attach_grad("add" if requires_grad else "null")


@_method
def detach_(self):
    """From now on a constant: the object becomes another array over the same memory."""
    return self._become(self.detach())


def _set_requires_grad(self, on):
    requires_grad_(self, on)


Array.requires_grad = property(lambda self: self._has_grad(), _set_requires_grad, doc="whether a gradient is attached")


def _set_data(self, value):
    with _pause():
        self.detach()[...] = value


Array.data = property(lambda self: self.detach(), _set_data, doc="the same elements without a gradient")

# ---- writing -------------------------------------------------------------------------------------------------------


def _becomes(self, value):
    with _pause():
        self.detach()[...] = value
    return self


_set_item = Array.__setitem__


def _written(x, key, value):
    """x as it is after x[key] = value, as a new array that gradients go through."""
    if isinstance(key, Array) and key.dtype == _core.bool and key.shape == x.shape and not (isinstance(value, Array) and value.ndim):
        return _op["where"](key, value if isinstance(value, Array) else _op["full_like"](x, value), x)
    places = _arange(x.size, device=x.device).reshape(x.shape)[key]
    value = value if isinstance(value, Array) else _op["full"](places.shape, value, x.dtype, device=x.device)
    value = _core._broadcast_to(value.reshape(value.shape[max(value.ndim - places.ndim, 0):]), places.shape)
    return _op["scatter"](x.reshape(-1), places.reshape(-1), value.reshape(-1), 0).reshape(x.shape)


def _is_followed(x, value):
    """Whether gradients are to go through a write of value into x."""
    return _core.is_recording() and (x._wants_grad() and not x._has_grad() or isinstance(value, Array) and value._wants_grad())


@_method
def __setitem__(self, key, value):
    """While a thread records, what is written is recorded: the object becomes another array, of which only it itself tells."""
    if _is_followed(self, value):
        self._become(_written(self, key, value))
    else:
        _set_item(self, key, value)


@_method
def zero_(self):
    return _becomes(self, 0)


@_method
def fill_(self, value):
    return _becomes(self, value)


@_method
def copy_(self, other, non_blocking=False):
    return _becomes(self, other)


@_method
def normal_(self, mean=0.0, std=1.0):
    return _becomes(self, _random.normal(self.shape, mean, std, dtype=self.dtype, device=self.device))


@_method
def uniform_(self, low=0.0, high=1.0):
    return _becomes(self, _random.uniform(self.shape, low, high, dtype=self.dtype, device=self.device))


# ---- places and dtypes --------------------------------------------------------------------------------------------


@_method
def to(self, *what, device=None, dtype=None, non_blocking=False):
    """to(device), to(dtype), to(other): calls are asynchronous anyway."""
    for each in what:
        if isinstance(each, Array):
            device, dtype = each.device, each.dtype
        elif isinstance(each, _core.DType):
            dtype = each
        else:
            device = each
    x = self if dtype is None or dtype == self.dtype else _op["cast"](self, dtype)
    if device is None:
        return x
    device = device_of(device)
    return x if x.device == device else _core._to_pageable(x, device)


@_method
def cpu(self):
    return to(self, "cpu")


@_method
def cuda(self, index=0):
    return to(self, f"cuda:{index}")


@_method
def type(self, dtype):
    return to(self, dtype)


for _name, _dtype in (("float", _core.float32), ("double", _core.float64), ("long", _core.int64), ("int", _core.int32),
                      ("bool", _core.bool), ("half", _core.float16)):
    setattr(Array, _name, lambda self, _dtype=_dtype: to(self, _dtype))

# ---- how they look ------------------------------------------------------------------------------------------------

_plain_shape = Array.shape
Array.shape = property(lambda self: _printing.Size(_plain_shape.__get__(self)), doc="a torch.Size, which is a tuple")
Array.__repr__ = Array.__str__ = _printing.text

# ---- shapes -----------------------------------------------------------------------------------------------------------


class _Size(int):
    """How many elements; size() is the shape, size(i) one of its numbers."""

    def __new__(cls, x):
        self = super().__new__(cls, _math.prod(x.shape))
        self._shape = x.shape
        return self

    def __call__(self, dim=None):
        return self._shape if dim is None else self._shape[dim]


Array.size = property(_Size, doc="how many elements; size() is the shape, size(i) one of its numbers")


@_method
def view(self, *sizes):
    return self.reshape(_sizes(sizes))


@_method
def numel(self):
    return _math.prod(self.shape)


@_method
def dim(self):
    return self.ndim


@_method
def t(self):
    return self.T


@_method
def unsqueeze(self, dim):
    return _op["expand_dims"](self, dim)


@_method
def squeeze(self, dim=None, *, axis=None):
    """Without axes of size 1, or without that one if its size is 1."""
    axis = dim if axis is None else axis
    if isinstance(axis, int) and self.shape[axis] != 1:
        return +self
    return _manipulation.squeeze(self, axis)


@_method
def clone(self):
    return _op["copy"](self)


@_method
def flatten(self, start_dim=0, end_dim=-1):
    """These axes as one."""
    begin, end = start_dim % self.ndim, end_dim % self.ndim
    return self.reshape(self.shape[:begin] + (-1,) + self.shape[end + 1:])


@_method
def permute(self, *dims):
    return _op["permute_dims"](self, _sizes(dims))


_transpose = Array.transpose


@_method
def transpose(self, *axes):
    """transpose(dim0, dim1): the two exchanged; of all axes, or of none, as NumPy's."""
    return self.swapaxes(*axes) if len(axes) == 2 else _transpose(self, *axes)


@_method
def expand(self, *sizes):
    sizes = _sizes(sizes)
    own = (1,) * (len(sizes) - self.ndim) + self.shape
    return _core._broadcast_to(self, tuple(mine if size == -1 else size for size, mine in zip(sizes, own)))


@_method
def repeat(self, *repeats, axis=None):
    """As many copies along each axis; with axis= as NumPy's."""
    return _manipulation.tile(self, _sizes(repeats)) if axis is None else _manipulation.repeat(self, repeats[0], axis=axis)


@_method
def repeat_interleave(self, repeats, dim=None):
    return _manipulation.repeat(self, repeats, axis=dim)


@_method
def split(self, size, dim=0):
    return tuple(_manipulation.split(self, range(size, self.shape[dim], size), dim))


@_method
def masked_fill(self, mask, value):
    return _op["where"](mask, _op["full_like"](self, value), self)


@_method
def is_contiguous(self):
    return _core._contiguous(self) is self


@_method
def contiguous(self):
    return self


# ---- what is computed ---------------------------------------------------------------------------------------------------


@_method
def mm(self, other):
    return self @ other


Array.matmul = Array.bmm = Array.mv = mm


def _reduction(name):
    plain = getattr(Array, name)

    def method(self, dim=None, keepdim=False, *, axis=None, keepdims=False, **options):
        return plain(self, axis=dim if axis is None else axis, keepdims=keepdim or keepdims, **options)

    method.__doc__ = f"{name}(dim, keepdim) or {name}(axis=, keepdims=)"
    return method


for _name in ("sum", "mean", "prod", "argmax", "argmin"):
    setattr(Array, _name, _reduction(_name))


@_method
def norm(self, p=2, dim=None, keepdim=False):
    from ..linalg import vector_norm
    return vector_norm(self, axis=dim, ord=p, keepdims=keepdim)


@_method
def std(self, dim=None, unbiased=True, keepdim=False, *, axis=None, keepdims=False, correction=None):
    return _op["std"](self, dim if axis is None else axis, keepdims=keepdim or keepdims,
                      correction=unbiased if correction is None else correction)


def _function(name, operator=None):
    setattr(Array, name, lambda self, *args: _op[operator or name](self, *args))


for _name in "abs acos ceil cos det exp floor isnan log log2 relu sigmoid sign sin sqrt square tan tanh tril triu".split():
    _function(_name)


@_method
def pow(self, exponent):
    return self ** exponent


@_method
def mul(self, other):
    return self * other


@_method
def add(self, other):
    return self + other


@_method
def sub(self, other):
    return self - other


@_method
def div(self, other):
    return self / other


@_method
def clamp(self, min=None, max=None):
    return _clip(self, min, max)


@_method
def cumsum(self, dim=None, dtype=None, *, axis=None):
    return _reductions.cumulative_sum(self if dtype is None else to(self, dtype), axis=dim if axis is None else axis)


@_method
def nansum(self, dim=None, keepdim=False):
    """The sum, NaNs as zeros."""
    return _op["where"](_op["isnan"](self), _op["zeros_like"](self), self).sum(dim, keepdim)


@_method
def var(self, dim=None, unbiased=True, keepdim=False, *, axis=None, correction=None):
    return _op["var"](self, dim if axis is None else axis, keepdims=keepdim, correction=unbiased if correction is None else correction)


def _extreme(name):
    plain, index = getattr(Array, name), getattr(_reductions, "arg" + name)

    def method(self, dim=None, keepdim=False, *, axis=None, keepdims=False):
        if dim is None:
            return plain(self, axis=axis, keepdims=keepdim or keepdims)
        return plain(self, axis=dim, keepdims=keepdim), index(self, dim, keepdims=keepdim)

    method.__doc__ = f"{name}(dim, keepdim) gives values and indices; {name}() and {name}(axis=) values alone"
    setattr(Array, name, method)


_extreme("max")
_extreme("min")


@_method
def eq(self, other):
    return self == other


@_method
def softmax(self, dim):
    return _op["softmax"](self, dim)


@_method
def unique(self, return_inverse=False, return_counts=False):
    """Different elements in rising order; which of them each element is, and how often they come, where asked for."""
    found = _reductions.unique_all(self)
    wanted = (found.values,) + (found.inverse_indices,) * return_inverse + (found.counts,) * return_counts
    return wanted if len(wanted) > 1 else found.values


# ---- in place -------------------------------------------------------------------------------------------------------------


def _in_place(name):
    plain = getattr(Array, name)

    def method(self, *args, **options):
        if self._has_grad() and _core.is_recording():
            raise RuntimeError(f"{name}_: a parameter's own elements are not written while the thread records; torch.no_grad() pauses it")
        value = plain(self, *args, **options)
        return self._become(value) if _is_followed(self, value) else _becomes(self, value)

    method.__doc__ = f"{name}, written into this array"
    setattr(Array, name + "_", method)


for _name in "add sub mul div pow clamp abs exp sqrt relu sigmoid tanh".split():
    _in_place(_name)
