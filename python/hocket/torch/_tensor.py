"""What Arrays have in the dialect of PyTorch beside what they always have: importing hocket.torch adds it to Array.

size stays the number of elements; numel() and shape say what PyTorch's size() does.
"""

import math as _math

from .. import _core, random as _random
from .._grad import pause as _pause
from ._devices import device_of

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


def _set_requires_grad(self, on):
    requires_grad_(self, on)


Array.requires_grad = property(lambda self: self._has_grad(), _set_requires_grad, doc="whether a gradient is attached")
Array.data = property(lambda self: self.detach(), doc="the same elements without a gradient")

# ---- in place ------------------------------------------------------------------------------------------------------


def _becomes(self, value):
    with _pause():
        self.detach()[...] = value
    return self


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
    return x if x.device == device else _op["to_device"](x, device=device)


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
                      ("bool", _core.bool)):
    setattr(Array, _name, lambda self, _dtype=_dtype: to(self, _dtype))

# ---- shapes -----------------------------------------------------------------------------------------------------------


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
def clone(self):
    return _op["copy"](self)


# ---- what is computed ---------------------------------------------------------------------------------------------------


@_method
def mm(self, other):
    return self @ other


Array.matmul = mm


def _reduction(name):
    plain = getattr(Array, name)

    def method(self, dim=None, keepdim=False, *, axis=None, keepdims=False, **options):
        return plain(self, axis=dim if axis is None else axis, keepdims=keepdim or keepdims, **options)

    method.__doc__ = f"{name}(dim, keepdim) or {name}(axis=, keepdims=)"
    return method


for _name in ("sum", "mean", "prod", "argmax", "argmin"):
    setattr(Array, _name, _reduction(_name))


def _function(name, operator=None):
    setattr(Array, name, lambda self, *args: _op[operator or name](self, *args))


for _name in "abs exp log sqrt sin cos tanh sigmoid relu square".split():
    _function(_name)


@_method
def pow(self, exponent):
    return self ** exponent


@_method
def eq(self, other):
    return self == other


@_method
def softmax(self, dim):
    return _op["softmax"](self, dim)
