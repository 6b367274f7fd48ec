"""Linear algebra of real and complex numbers: the array API's extension. Matrices lie along the last two axes; the others are batches."""

import collections as _collections

from . import _core
from ._elementwise import matmul  # noqa: F401
from ._manipulation import axes_of as _axes_of, matrix_transpose, tensordot, vecdot  # noqa: F401

_op = _core.operators

EigResult = _collections.namedtuple("EigResult", "eigenvalues eigenvectors")
EighResult = _collections.namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = _collections.namedtuple("QRResult", "Q R")
SlogdetResult = _collections.namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = _collections.namedtuple("SVDResult", "U S Vh")

def cholesky(x, /, *, upper=False):
    """The lower triangular matrix l of x = l lᵀ (of complex numbers l conj(l)ᵀ), or the upper one."""
    return _op["cholesky"](x, upper)


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of 3 elements, which lie along an axis."""
    return _op["cross"](x1, x2, axis)


def det(x, /):
    """Determinants."""
    return _op["det"](x)


def diagonal(x, /, *, offset=0):
    """Diagonals of the last two axes, as a last axis: a view."""
    return _op["diagonal"](x, offset)


def eig(x, /):
    """Eigenvalues of square matrices of any kind, in no order, and their vectors, the columns of a matrix: complex ones."""
    return EigResult(*_op["eig"](x))


def eigvals(x, /):
    """Eigenvalues of square matrices of any kind, in no order: complex numbers."""
    return _op["eigvals"](x)


def eigh(x, /):
    """Eigenvalues of symmetric or Hermitian matrices in rising order, and their vectors, the columns of a matrix."""
    return EighResult(*_op["eigh"](x))


def eigvalsh(x, /):
    """Eigenvalues of symmetric or Hermitian matrices in rising order."""
    return _op["eigvalsh"](x)


def inv(x, /):
    """Inverse matrices."""
    return _op["inv"](x)


_NORMS = ("fro", "nuc", 2, -2, 1, -1, float("inf"), float("-inf"))  # in the order of hk_norm_order


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices: "fro", "nuc", 1, 2, inf and their opposites."""
    if ord not in _NORMS:
        raise ValueError(f"ord is {ord!r}, but may be one of {_NORMS}")
    return _op["matrix_norm"](x, _NORMS.index(ord), keepdims)


def matrix_power(x, n, /):
    """Square matrices to an integer power."""
    return _op["matrix_power"](x, n)


def matrix_rank(x, /, *, rtol=None):
    """Ranks of matrices: how many singular values are more than rtol times the largest."""
    return _op["matrix_rank"](x, rtol)


def outer(x1, x2, /):
    """Products of each element of one vector with each of the other."""
    return _op["outer"](x1, x2)


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses, by singular values of more than rtol times the largest."""
    return _op["pinv"](x, rtol)


def qr(x, /, *, mode="reduced"):
    """x = Q R, Q with orthonormal columns and R upper triangular; "complete": Q square."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode is {mode!r}, but may be 'reduced' or 'complete'")
    return QRResult(*_op["qr"](x, mode == "complete"))


def slogdet(x, /):
    """Signs of determinants and logarithms of their absolute values."""
    return SlogdetResult(*_op["slogdet"](x))


def solve(x1, x2, /):
    """What x1 is multiplied with to give x2: matrices, or one vector."""
    return _op["solve"](x1, x2)


def svd(x, /, *, full_matrices=True):
    """x = U diag(S) Vh, S in falling order."""
    return SVDResult(*_op["svd"](x, full_matrices))


def svdvals(x, /):
    """Singular values in falling order."""
    return _op["svdvals"](x)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals."""
    if dtype is not None:
        x = x.astype(dtype)
    y = _op["matrix_trace"](x, offset)
    return y if dtype is None else y.astype(dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The ord-norm of vectors along axes, or of all elements."""
    axes = tuple(range(x.ndim)) if axis is None else _axes_of(axis, x.ndim)
    return _op["vector_norm"](x, float(ord), axes, keepdims)
