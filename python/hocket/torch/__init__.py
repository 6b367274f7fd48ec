"""A dialect for those who know PyTorch: what *Dive into Deep Learning* uses in its chapters on computational performance and on the
networks before it. Names of Hocket's under PyTorch's, no more: ``from hocket import torch`` in place of ``import torch``.

It differs in this: importing it makes the importing thread record, as hk.record does, and adds methods to Array. cuda:i is a GPU, else
a simulated accelerator, else a CPU device. What is refused raises Hocket's exceptions.
"""

import sys as _sys
from types import ModuleType as _ModuleType

from .. import _core, _files, random as _random
from .._arrays import (  # noqa: F401
    abs, cos, equal, exp, log, logical_and, logical_or, logical_xor, matmul, maximum, minimum, sigmoid, sign, sin, sqrt, square, tan,
    tanh, where,
)
from .._grad import pause as no_grad, record as enable_grad  # noqa: F401
from .._grad import is_recording as is_grad_enabled  # noqa: F401
from ..random import seed as manual_seed  # noqa: F401
from . import _tensor, cuda  # noqa: F401
from ._devices import device_of as device  # noqa: F401
from ._tensor import Array as Tensor, _sizes  # noqa: F401

bfloat16, float16, float32, float64 = _core.bfloat16, _core.float16, _core.float32, _core.float64
half, float, double = float16, float32, float64
int8, int16, int32, int64, uint8, bool = _core.int8, _core.int16, _core.int32, _core.int64, _core.uint8, _core.bool
short, int, long = int16, int32, int64
_op = _core.operators


def _wanting(x, requires_grad):
    return x.requires_grad_() if requires_grad else x


def tensor(data, dtype=None, device=None, requires_grad=False):
    """An array of these values, always a copy."""
    from .._arrays import asarray
    return _wanting(asarray(data, dtype=dtype, device=_tensor.device_of(device), copy=True), requires_grad)


def _made(name):
    def function(*sizes, size=None, dtype=None, device=None, requires_grad=False):
        shape = _sizes(sizes) if size is None else tuple(size)
        return _wanting(_op[name](shape, dtype or float32, device=_tensor.device_of(device)), requires_grad)

    function.__name__ = name
    return function


def _drawn(name, draw):
    def function(*sizes, size=None, dtype=None, device=None, requires_grad=False):
        shape = _sizes(sizes) if size is None else tuple(size)
        return _wanting(draw(shape, dtype=dtype, device=_tensor.device_of(device)), requires_grad)

    function.__name__ = name
    return function


zeros, ones = _made("zeros"), _made("ones")
rand, randn = _drawn("rand", _random.uniform), _drawn("randn", _random.normal)


def normal(mean, std, size, dtype=None, device=None, requires_grad=False):
    """Normal numbers."""
    return _wanting(_random.normal(tuple(size), mean, std, dtype=dtype, device=_tensor.device_of(device)), requires_grad)


def randint(low, high, size, dtype=None, device=None):
    """Integers low … high - 1."""
    return _random.integers(low, high, tuple(size), dtype=dtype, device=_tensor.device_of(device))


def arange(start, end=None, step=1, dtype=None, device=None, requires_grad=False):
    """start, start + step, … below end; integers where all three are."""
    from .._arrays import arange as plain
    return _wanting(plain(start, end, step, dtype=dtype, device=_tensor.device_of(device)), requires_grad)


def zeros_like(x, requires_grad=False):
    return _wanting(_op["zeros_like"](x), requires_grad)


def ones_like(x, requires_grad=False):
    return _wanting(_op["ones_like"](x), requires_grad)


def cat(tensors, dim=0):
    return _op["concat"](tensors, dim)


def stack(tensors, dim=0):
    return _op["stack"](tensors, dim)


def mm(a, b):
    return a @ b


def relu(x):
    return _op["relu"](x)


def pow(x, exponent):
    return x ** exponent


def reshape(x, shape):
    return x.reshape(tuple(shape))


def transpose(x, dim0, dim1):
    return x.swapaxes(dim0, dim1)


def sum(x, dim=None, keepdim=False):
    return x.sum(dim, keepdim)


def mean(x, dim=None, keepdim=False):
    return x.mean(dim, keepdim)


def argmax(x, dim=None, keepdim=False):
    return x.argmax(dim, keepdim)


def softmax(x, dim):
    return _op["softmax"](x, dim)


def numel(x):
    return x.numel()


def is_tensor(x):
    return isinstance(x, Tensor)


def save(arrays, path):
    """Arrays, or a dict of them such as state_dict(), by the path's ending: see hk.save."""
    _files.save(path, arrays)


def load(path):
    """What save saved."""
    return _files.load(path)


def get_num_threads():
    """Cores of the default device."""
    return _core.Device("cpu:0").cores


from . import data as _data, nn, optim  # noqa: E402

utils = _ModuleType(__name__ + ".utils")
utils.data = _data
_sys.modules[utils.__name__] = utils
_sys.modules[utils.__name__ + ".data"] = _data

_core._recording(True)
