"""A dialect for those who know PyTorch: what *Dive into Deep Learning* uses in its chapters on computational performance and on the
networks before it. Names of Hocket's under PyTorch's, no more: ``from hocket import torch`` in place of ``import torch``.

It differs in this: importing it makes the importing thread record, as hk.record does, and adds methods to Array. cuda:i is a GPU, else
a simulated accelerator, else a CPU device. What is refused raises Hocket's exceptions.
"""

from .. import _core, _manipulation, _reductions, random as _random
from .._arrays import (  # noqa: F401
    abs, acos, allclose, arange as _arange, asarray as _asarray, asin, atan, ceil, clip as clamp, cos, cosh, e, einsum, equal, exp,
    eye as _eye, floor, inf, isnan, linspace as _linspace, log, log1p, log2, log10, logical_and, logical_not, logical_or, logical_xor,
    matmul, maximum, minimum, nan, pi, round, sigmoid, sign, sin, sinh, sqrt, square, tan, tanh, tensordot, tril, triu, where,
)
from .._core import bfloat16, bool, float16, float32, float64, int8, int16, int32, int64, uint8  # noqa: F401
from .._grad import pause as no_grad, record as enable_grad  # noqa: F401
from .._grad import is_recording as is_grad_enabled  # noqa: F401
from ..linalg import det, outer  # noqa: F401
from .._dialects import files as _files
from ..random import seed as manual_seed  # noqa: F401
from . import _pickled, _tensor, cuda  # noqa: F401
from .._dialects.devices import device_of as device  # noqa: F401
from ._printing import Size, set_printoptions  # noqa: F401
from ._tensor import Array as _Array, _sizes

_int = int
half, float, double = float16, float32, float64
short, int, long = int16, int32, int64
_op, _place = _core.operators, _tensor.device_of


def _wanting(x, requires_grad):
    return x.requires_grad_() if requires_grad else x


# ---- making ---------------------------------------------------------------------------------------------------------


def tensor(data, dtype=None, device=None, requires_grad=False):
    """An array of these values, always a copy."""
    return _wanting(_asarray(data, dtype=dtype, device=_place(device), copy=True), requires_grad)


class _Type(type):
    def __instancecheck__(cls, x):
        return isinstance(x, _Array)

    def __call__(cls, *data):
        return zeros(*data) if not data or isinstance(data[0], _int) else tensor(data[0], dtype=float32)


class Tensor(metaclass=_Type):
    """Tensor(values) is an array of float32; every Array is an instance."""


def from_numpy(values):
    """An array of a NumPy array, in the same memory."""
    return _asarray(values, copy=False)


def _made(name, make):
    def function(*sizes, size=None, dtype=None, device=None, requires_grad=False):
        shape = _sizes(sizes) if size is None else tuple(size)
        return _wanting(make(shape, dtype=dtype or float32, device=_place(device)), requires_grad)

    function.__name__ = name
    return function


zeros, ones, empty = _made("zeros", _op["zeros"]), _made("ones", _op["ones"]), _made("empty", _op["zeros"])
rand, randn = _made("rand", _random.uniform), _made("randn", _random.normal)


def full(size, fill_value, dtype=None, device=None, requires_grad=False):
    """All fill_value."""
    from .._arrays import full as plain
    return _wanting(plain(tuple(size), fill_value, dtype=dtype, device=_place(device)), requires_grad)


def normal(mean, std, size=None, dtype=None, device=None, requires_grad=False):
    """Normal numbers: of a size, or of the shape of mean or std, which may be arrays."""
    if size is None:
        size = mean.shape if is_tensor(mean) else std.shape
    if is_tensor(mean) or is_tensor(std):
        return _random.normal(tuple(size), dtype=dtype, device=_place(device)) * std + mean
    return _wanting(_random.normal(tuple(size), mean, std, dtype=dtype, device=_place(device)), requires_grad)


def randint(low, high, size, dtype=None, device=None):
    """Integers low … high - 1."""
    return _random.integers(low, high, tuple(size), dtype=dtype, device=_place(device))


def randperm(n, device=None):
    """0 … n - 1 in random order."""
    return _random.permutation(n, device=_place(device))


def bernoulli(input):
    """1 with the probability that each element says, else 0."""
    return (_random.uniform(input.shape, device=input.device) < input).type(input.dtype)


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):
    """start, start + step, … below end; integers where all three are."""
    return _wanting(_arange(start, end, step, dtype=dtype, device=_place(device)), requires_grad)


def linspace(start, end, steps, dtype=None, device=None, requires_grad=False):
    """So many numbers from start to end."""
    return _wanting(_linspace(start, end, steps, dtype=dtype, device=_place(device)), requires_grad)


def eye(n, m=None, dtype=None, device=None):
    """Ones on the diagonal."""
    return _eye(n, m, dtype=dtype, device=_place(device))


def zeros_like(x, dtype=None, device=None, requires_grad=False):
    return _wanting(_op["zeros_like"](x).to(dtype=dtype, device=device), requires_grad)


def ones_like(x, dtype=None, device=None, requires_grad=False):
    return _wanting(_op["ones_like"](x).to(dtype=dtype, device=device), requires_grad)


def rand_like(x):
    return _random.uniform(x.shape, dtype=x.dtype, device=x.device)


def randn_like(x):
    return _random.normal(x.shape, dtype=x.dtype, device=x.device)


# ---- shapes ---------------------------------------------------------------------------------------------------------


def cat(tensors, dim=0, axis=None):
    """Joined along an axis."""
    return _manipulation.concat(tuple(tensors), axis=dim if axis is None else axis)


concat = cat


def stack(tensors, dim=0, axis=None):
    """Joined along a new axis."""
    return _manipulation.stack(tuple(tensors), axis=dim if axis is None else axis)


def meshgrid(*tensors, indexing="ij"):
    return _reordered(tensors, indexing)


def _reordered(tensors, indexing):
    from .._arrays import meshgrid as plain
    return tuple(plain(*(tensors[0] if len(tensors) == 1 else tensors), indexing=indexing))


def reshape(x, shape):
    return x.reshape(tuple(shape))


def transpose(x, dim0, dim1):
    return x.swapaxes(dim0, dim1)


swapaxes = transpose


def unsqueeze(x, dim):
    return x.unsqueeze(dim)


def squeeze(x, dim=None):
    return x.squeeze(dim)


def flatten(x, start_dim=0, end_dim=-1):
    return x.flatten(start_dim, end_dim)


def permute(x, dims):
    return x.permute(dims)


def repeat_interleave(x, repeats, dim=None):
    return x.repeat_interleave(repeats, dim)


def split(x, size, dim=0):
    return x.split(size, dim)


def flip(x, dims):
    return _manipulation.flip(x, axis=tuple(dims))


def nonzero(x):
    """Rows of indices of the elements that are not zero."""
    return stack(_reductions.nonzero(x), 1)


# ---- what is computed ------------------------------------------------------------------------------------------------


def mm(a, b):
    return a @ b


bmm = mv = mm


def dot(a, b):
    return a @ b


def relu(x):
    return _op["relu"](x)


def pow(x, exponent):
    return (x if is_tensor(x) else tensor(x, dtype=exponent.dtype, device=exponent.device)) ** exponent


def norm(x, p=2, dim=None, keepdim=False):
    return x.norm(p, dim, keepdim)


def _reduced(name):
    def function(x, dim=None, keepdim=False, axis=None, dtype=None):
        return getattr(x if dtype is None else x.to(dtype), name)(dim, keepdim, axis=axis)

    function.__name__ = name
    return function


def nansum(x, dim=None, keepdim=False):
    return x.nansum(dim, keepdim)


sum, mean, prod, argmax, argmin = (_reduced(_name) for _name in "sum mean prod argmax argmin".split())


def var(x, dim=None, unbiased=True, keepdim=False):
    return _op["var"](x, dim, keepdims=keepdim, correction=unbiased)


def std(x, dim=None, unbiased=True, keepdim=False):
    return x.std(dim, unbiased, keepdim)


def _extreme(name, of_two, index):
    def function(x, dim=None, keepdim=False):
        if is_tensor(dim):
            return of_two(x, dim)
        plain = getattr(_reductions, name)
        if dim is None:
            return plain(x)
        return plain(x, dim, keepdims=keepdim), getattr(_reductions, index)(x, dim, keepdims=keepdim)

    function.__name__ = name
    return function


max, min = _extreme("max", maximum, "argmax"), _extreme("min", minimum, "argmin")


def cumsum(x, dim):
    return _reductions.cumulative_sum(x, axis=dim)


def cummax(x, dim):
    """Values and indices."""
    return _reductions.cumulative_max(x, dim)


def cummin(x, dim):
    """Values and indices."""
    return _reductions.cumulative_min(x, dim)


def quantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _reductions.quantile(x, q, dim, method=interpolation, keepdims=keepdim)


def nanquantile(x, q, dim=None, keepdim=False, *, interpolation="linear"):
    return _reductions.nanquantile(x, q, dim, method=interpolation, keepdims=keepdim)


def nanmedian(x, dim=None, keepdim=False):
    """The lower one of two in the middle, of those that are no NaN; with dim also where it is."""
    if dim is None:
        return nanmedian(x.reshape(-1), 0)[0]
    sorted_, axis = sort(x, dim), dim % x.ndim  # NaNs are the last ones
    at = _op["maximum"](((x == x).to(int64).sum(axis, keepdim=True) - 1) // 2, 0)
    found = [_reductions.take_along_axis(each, at, axis=axis) for each in sorted_]
    return tuple(found) if keepdim else tuple(_op["squeeze"](each, axis) for each in found)


def median(x, dim=None, keepdim=False):
    """The lower one of two in the middle, NaN where there is one; with dim also where it is."""
    if dim is None:
        return median(x.reshape(-1), 0)[0]
    values, order = sort(x, dim)
    size, axis = x.shape[dim], dim % x.ndim
    at = [tuple(slice(None) if i != axis else slice(j, j + 1) for i in range(x.ndim)) for j in ((size - 1) // 2, size - 1)]
    is_nan = values[at[1]] != values[at[1]]  # NaNs are the last ones
    found = [_op["where"](is_nan, each[at[1]], each[at[0]]) for each in (values, order)]
    return tuple(found) if keepdim else tuple(_op["squeeze"](each, axis) for each in found)


def argsort(x, dim=-1, descending=False):
    return _reductions.argsort(x, dim, descending=descending)


def sort(x, dim=-1, descending=False):
    """Sorted values, and their indices."""
    order = argsort(x, dim, descending)
    return _reductions.take_along_axis(x, order, axis=dim), order


def topk(x, k, dim=-1):
    return _reductions.topk(x, k, dim)


def unique(x, return_inverse=False, return_counts=False):
    return x.unique(return_inverse, return_counts)


def softmax(x, dim):
    return _op["softmax"](x, dim)


def numel(x):
    return x.numel()


def is_tensor(x):
    return isinstance(x, Tensor)


# ---- the rest ---------------------------------------------------------------------------------------------------------


def save(obj, f):
    """An array, a list of them, or a dict of them such as state_dict(), as a file of safetensors; of .npz or .npy by that ending."""
    _files.save(f, obj)


def load(f, map_location=None, weights_only=True):
    """What save saved: an array, a list or a dict; or what PyTorch itself saved of tensors. On the device, where one is said.

    Of PyTorch's files only tensors, numbers, texts, and lists and dicts of them are read: never objects of other classes.
    """
    device = _place(map_location)
    return _pickled.load(f, device) if _pickled.is_one(f) else _files.load(f, device)


def get_num_threads():
    """Cores of the default device."""
    return _core.Device("cpu:0").cores


from . import autograd, distributions, jit, linalg, nn, optim, utils  # noqa: E402,F401

_core._recording(True)
