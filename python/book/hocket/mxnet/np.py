"""mxnet.np: Hocket's names, with float32 where no dtype is said, and ctx for a device."""

import sys as _sys
from types import ModuleType as _ModuleType

from numpy import (  # noqa: F401
    bool_, float16, float32, float64, int8, int32, int64, set_printoptions, uint8,  # dtypes that are called make numbers of NumPy's
)

from .. import _core, _reductions, data as _data, linalg as _linalg, random as _random
from .._arrays import *  # noqa: F401,F403
from .._arrays import arange as _arange, asarray as _asarray, eye as _eye, full as _full, linspace as _linspace
from .._core import Array as ndarray  # noqa: F401
from .._dialects import draws as _draws
from .._dialects.devices import device_of as _device
from .._manipulation import concat as _concat, stack as _stack
from .._manipulation import einsum, pad, repeat, split, swapaxes, tile, transpose  # noqa: F401
from .._reductions import cumulative_sum as cumsum  # noqa: F401
from .._reductions import unique_all as _unique_all
from ..linalg import diagonal as _diagonal, outer  # noqa: F401
from . import _array  # noqa: F401

_op, _op_mean = _core.operators, _reductions.mean
bool = bool_
absolute, arccos, arcsin, arctan = abs, acos, asin, atan  # noqa: F405


def array(object, dtype=None, ctx=None):
    """An array of these values, float32 unless they are an array or dtype says otherwise; always a copy."""
    dtype = _array.dtype_of(dtype) or (None if hasattr(object, "dtype") else float32)
    return _asarray(object, dtype=dtype, device=_device(ctx), copy=True)


def _made(name):
    def function(shape, dtype=None, ctx=None):
        return _op[name]((shape,) if isinstance(shape, int) else tuple(shape), _array.dtype_of(dtype) or float32, device=_device(ctx))

    function.__name__ = name
    return function


zeros, ones = _made("zeros"), _made("ones")
empty = zeros


def full(shape, fill_value, dtype=None, ctx=None):
    return _full(shape, fill_value, dtype=_array.dtype_of(dtype) or float32, device=_device(ctx))


def arange(start, stop=None, step=1, dtype=None, ctx=None):
    return _arange(start, stop, step, dtype=_array.dtype_of(dtype) or float32, device=_device(ctx))


def linspace(start, stop, num=50, endpoint=True, dtype=None, ctx=None):
    return _linspace(start, stop, num, endpoint=endpoint, dtype=_array.dtype_of(dtype) or float32, device=_device(ctx))


def eye(N, M=None, k=0, dtype=None, ctx=None):
    return _eye(N, M, k=k, dtype=_array.dtype_of(dtype) or float32, device=_device(ctx))


def concatenate(seq, axis=0):
    """Joined along an axis."""
    return _concat(tuple(seq), axis=axis)


def stack(arrays, axis=0):
    """Joined along a new axis."""
    return _stack(tuple(arrays), axis=axis)


def unique(ar, return_index=False, return_inverse=False, return_counts=False):
    """Different elements in rising order; where each comes first, which of them each element is, how often they come, where asked for."""
    found = _unique_all(ar)
    wanted = [part for part, asked in zip(found, (True, return_index, return_inverse, return_counts)) if asked]
    return tuple(wanted) if len(wanted) > 1 else wanted[0]


def genfromtxt(fname, dtype=None, delimiter=","):
    """The numbers of a text file, (rows, columns); float32 unless dtype says otherwise."""
    return _data.load_csv(fname, delimiter=delimiter).astype(_array.dtype_of(dtype) or float32)


def sort(a, axis=-1):
    """In rising order; with axis None of all elements, as one axis."""
    return _reductions.sort(a.reshape(-1)) if axis is None else _reductions.sort(a, axis=axis)


def argsort(a, axis=-1):
    return _reductions.argsort(a.reshape(-1)) if axis is None else _reductions.argsort(a, axis=axis)


def mean(a, axis=None, dtype=None, keepdims=False):
    """The mean; integers as float32."""
    return _op_mean(a.astype(dtype) if dtype is not None else a, axis=axis, keepdims=keepdims)


def diag(v, k=0):
    """A matrix with v on its diagonal; of a matrix its diagonal."""
    if v.ndim != 1:
        return _diagonal(v, offset=k)
    n = v.shape[0]
    inner = _eye(n, n, dtype=v.dtype, device=v.device) * v
    before, after = (k, 0) if k > 0 else (0, -k)
    return pad(inner, ((after, before), (before, after)))


def dot(a, b):
    """Matrix product; with a number the product."""
    return a.dot(b)


class linalg:
    """hocket.linalg, and NumPy's norm."""

    @staticmethod
    def norm(x, ord=2, axis=None, keepdims=False):
        return _linalg.vector_norm(x, axis=axis, ord=ord, keepdims=keepdims)


for _name, _made_by in vars(_linalg).items():
    if not _name.startswith("_") and callable(_made_by):
        setattr(linalg, _name, staticmethod(_made_by))

# ---- random ---------------------------------------------------------------------------------------------------------

random = _ModuleType(__name__ + ".random")


def _shape(size):
    return () if size is None else (size,) if isinstance(size, int) else tuple(size)


def _normal(loc=0.0, scale=1.0, size=None, dtype=None, ctx=None):
    """Normal numbers."""
    return _random.normal(_shape(size), loc, scale, dtype=dtype, device=_device(ctx))


def _uniform(low=0.0, high=1.0, size=None, dtype=None, ctx=None):
    """Uniform in [low, high)."""
    return _random.uniform(_shape(size), low, high, dtype=dtype, device=_device(ctx))


def _randint(low, high=None, size=None, dtype=None, ctx=None):
    """Integers low … high - 1."""
    return _random.integers(low, high, _shape(size), dtype=dtype, device=_device(ctx))


def _multinomial(n, pvals, size=None):
    """How often each outcome came up in n draws, of which each gives outcome i with probability pvals[i]."""
    pvals = _asarray(pvals, dtype=float32)
    drawn = _random.choice(pvals.shape[0], _shape(size) + (n,), weights=pvals, device=pvals.device)
    return _op["sum"](_op["one_hot"](drawn, pvals.shape[0], int64), -2)


def _binomial(n, p, size=None):
    """How many of n draws come up, each with probability p."""
    return _draws.binomial(n, p, _shape(size))


def _poisson(lam=1.0, size=None):
    """Counts of events that come with this mean."""
    return _draws.poisson(lam, _shape(size))


def _multivariate_normal(mean, cov, size=None):
    """Normal numbers with this mean (d,) and covariance (d, d)."""
    return _draws.multivariate_normal(mean, cov, _shape(size))


def _shuffle(x):
    """The entries of the first axis in random order, in place."""
    x[...] = _random.shuffle(x)


for _name, _draw in (("normal", _normal), ("uniform", _uniform), ("randint", _randint), ("multinomial", _multinomial),
                     ("binomial", _binomial), ("poisson", _poisson), ("multivariate_normal", _multivariate_normal),
                     ("shuffle", _shuffle), ("seed", _random.seed), ("choice", _random.choice),
                     ("randn", lambda *size: _normal(size=size)), ("rand", lambda *size: _uniform(size=size))):
    setattr(random, _name, _draw)
_sys.modules[random.__name__] = random
