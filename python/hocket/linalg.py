"""Linear algebra of real and complex numbers: the array API's extension. Matrices lie along the last two axes; the others are batches."""

import collections as _collections

from . import _core
from ._creation import _diagonal, beside as _beside
from ._dtypes import narrow as _narrow
from ._elementwise import matmul  # noqa: F401
from ._manipulation import _promoted, axes_of as _axes_of, matrix_transpose, tensordot, vecdot  # noqa: F401

_op = _core.operators

EigResult = _collections.namedtuple("EigResult", "eigenvalues eigenvectors")
EighResult = _collections.namedtuple("EighResult", "eigenvalues eigenvectors")
QRResult = _collections.namedtuple("QRResult", "Q R")
LUFactors = _collections.namedtuple("LUFactors", "lu pivots")
QRFactors = _collections.namedtuple("QRFactors", "qr tau")
SlogdetResult = _collections.namedtuple("SlogdetResult", "sign logabsdet")
SVDResult = _collections.namedtuple("SVDResult", "U S Vh")

def cholesky(x, /, *, upper=False):
    """The lower triangular matrix l of x = l lᵀ (of complex numbers l conj(l)ᵀ), or the upper one.

    >>> hk.linalg.cholesky(hk.asarray([[4.0, 2.0], [2.0, 5.0]]))
    array([[2., 0.],
           [1., 2.]], device='cpu:0')
    """
    return _op["cholesky"](x, upper)


def addmm(c, a, b, /, *, beta=1, alpha=1):
    """alpha times the product of a and b, added to beta times c, which broadcasts to it.

    >>> hk.linalg.addmm(hk.ones((2,)), hk.ones((2, 3)), hk.ones((3, 2)), alpha=2)
    array([[7., 7.],
           [7., 7.]], device='cpu:0')
    """
    return _op["addmm"](c, a, b, _factor(alpha), _factor(beta))


def _factor(value):
    """What the operators take: their 0 is the default."""
    return value if value else -0.0


def cross(x1, x2, /, *, axis=-1):
    """Cross products of vectors of 3 elements, which lie along an axis.

    >>> hk.linalg.cross(hk.asarray([1, 0, 0]), hk.asarray([0, 1, 0]))
    array([0, 0, 1], dtype=int64, device='cpu:0')
    """
    return _op["cross"](*_promoted((x1, x2)), axis)


def det(x, /):
    """Determinants.

    >>> hk.linalg.det(hk.asarray([[1.0, 2.0], [3.0, 4.0]]))
    array(-2.0, device='cpu:0')
    """
    return _op["det"](x)


def diagonal(x, /, *, offset=0):
    """Diagonals of the last two axes, as a last axis: a view.

    >>> hk.linalg.diagonal(hk.asarray([[1, 2], [3, 4]]))
    array([1, 4], dtype=int64, device='cpu:0')
    """
    return _op["diagonal"](x, _diagonal(offset))


def eig(x, /):
    """Eigenvalues of square matrices of any kind, in no order, and their vectors, the columns of a matrix: complex ones.

    >>> hk.linalg.eig(hk.asarray([[2.0, 0.0], [0.0, 3.0]])).eigenvalues
    array([2.+0.j, 3.+0.j], dtype=complex64, device='cpu:0')
    """
    return EigResult(*_op["eig"](x))


def eigvals(x, /):
    """Eigenvalues of square matrices of any kind, in no order: complex numbers.

    >>> hk.linalg.eigvals(hk.asarray([[0.0, -1.0], [1.0, 0.0]]))
    array([0.+1.j, 0.-1.j], dtype=complex64, device='cpu:0')
    """
    return _op["eigvals"](x)


def eigh(x, /):
    """Eigenvalues of symmetric or Hermitian matrices in rising order, and their vectors, the columns of a matrix.

    >>> hk.linalg.eigh(hk.asarray([[2.0, 1.0], [1.0, 2.0]])).eigenvalues
    array([1., 3.], device='cpu:0')
    """
    return EighResult(*_op["eigh"](x))


def eigvalsh(x, /):
    """Eigenvalues of symmetric or Hermitian matrices in rising order.

    >>> hk.linalg.eigvalsh(hk.asarray([[2.0, 1.0], [1.0, 2.0]]))
    array([1., 3.], device='cpu:0')
    """
    return _op["eigvalsh"](x)


def inv(x, /):
    """Inverse matrices.

    >>> hk.linalg.inv(hk.asarray([[2.0, 0.0], [0.0, 4.0]]))
    array([[ 0.5,   0.  ],
           [-0.,    0.25]], device='cpu:0')
    """
    return _op["inv"](x)


def lu_factor(x, /):
    """Packed factors with partial pivoting: L without its diagonal of ones, and U; row i was swapped with row pivots[i].

    >>> hk.linalg.lu_factor(hk.asarray([[1.0, 2.0], [4.0, 4.0]])).pivots
    array([1, 1], dtype=int32, device='cpu:0')
    """
    return LUFactors(*_op["lu_factor"](x))


def lu_solve(lu, pivots, b, /, *, adjoint=False):
    """Solves x y = b for the matrices x of which lu_factor made lu and pivots; adjoint: for their adjoints.

    >>> hk.linalg.lu_solve(*hk.linalg.lu_factor(hk.asarray([[2.0, 0.0], [0.0, 4.0]])), hk.asarray([2.0, 4.0]))
    array([1., 1.], device='cpu:0')
    """
    return _op["lu_solve"](lu, pivots, b, adjoint, adjoint)


_NORMS = ("fro", "nuc", 2, -2, 1, -1, float("inf"), float("-inf"))  # in the order of hk_norm_order


def matrix_norm(x, /, *, keepdims=False, ord="fro"):
    """Norms of matrices: "fro", "nuc", 1, 2, inf and their opposites.

    >>> hk.linalg.matrix_norm(hk.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array(5.0, device='cpu:0')
    """
    if ord not in _NORMS:
        raise ValueError(f"ord is {ord!r}, but may be one of {_NORMS}")
    return _op["matrix_norm"](x, _NORMS.index(ord), keepdims)


def matrix_power(x, n, /):
    """Square matrices to an integer power.

    >>> hk.linalg.matrix_power(hk.asarray([[1.0, 1.0], [0.0, 1.0]]), 3)
    array([[1., 3.],
           [0., 1.]], device='cpu:0')
    """
    return _op["matrix_power"](x, n)


def matrix_rank(x, /, *, rtol=None):
    """Ranks of matrices: how many singular values are more than rtol times the largest. rtol: a number, or an array with one for each matrix.

    >>> hk.linalg.matrix_rank(hk.ones((3, 3)))
    array(1, dtype=int64, device='cpu:0')
    """
    if _is_default_or_positive(rtol):
        return _op["matrix_rank"](x, rtol)
    return _op["sum"](_are_large(_op["svdvals"](x), rtol), (-1,), False)


def _is_default_or_positive(rtol):
    """What the operators take: their 0 is the default."""
    return rtol is None or isinstance(rtol, (int, float)) and rtol != 0


def _are_large(values, rtol):
    """Of singular values, in falling order."""
    rtol = _beside(rtol, values)
    if not bool((rtol >= 0).all()):
        raise ValueError(f"rtol is {rtol.tolist()}, but must be 0 or more")
    return values > values[..., :1] * _op["expand_dims"](rtol, -1)


def outer(x1, x2, /):
    """Products of each element of one vector with each of the other.

    >>> hk.linalg.outer(hk.asarray([1, 2]), hk.asarray([3, 4]))
    array([[3, 4],
           [6, 8]], dtype=int64, device='cpu:0')
    """
    return _op["outer"](*_promoted((x1, x2)))


def pinv(x, /, *, rtol=None):
    """Pseudo-inverses, by singular values of more than rtol times the largest. rtol: a number, or an array with one for each matrix.

    >>> hk.linalg.pinv(hk.asarray([[2.0], [0.0]]))
    array([[0.5, 0. ]], device='cpu:0')
    """
    if _is_default_or_positive(rtol):
        return _op["pinv"](x, rtol)
    u, values, vh = svd(x, full_matrices=False)
    large = _are_large(values, rtol)
    inverse = _op["where"](large, 1 / _op["where"](large, values, 1), 0)
    return (_op["conj"](matrix_transpose(vh)) * _op["expand_dims"](inverse, -2)) @ _op["conj"](matrix_transpose(u))


def qr(x, /, *, mode="reduced"):
    """x = Q R, Q with orthonormal columns and R upper triangular; "complete": Q square.

    >>> [x.shape for x in hk.linalg.qr(hk.ones((3, 2)))]
    [(3, 2), (2, 2)]
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"mode is {mode!r}, but may be 'reduced' or 'complete'")
    return QRResult(*_op["qr"](x, mode == "complete"))


def qr_factor(x, /):
    """Packed factors by reflections: R, and below it the reflections whose product is Q, with their factors tau.

    >>> hk.linalg.qr_factor(hk.ones((3, 2))).tau.shape
    (2,)
    """
    return QRFactors(*_op["qr_factor"](x))


def qr_multiply(qr, tau, b, /, *, left=True, adjoint=False):
    """Q b, or b Q where left is false, for the square Q of the factors that qr_factor made; adjoint: for the adjoint of Q.

    >>> hk.linalg.qr_multiply(*hk.linalg.qr_factor(hk.eye(2)), hk.asarray([1.0, 2.0]))
    array([1., 2.], device='cpu:0')
    """
    return _op["qr_multiply"](qr, tau, b, adjoint, not left)


def slogdet(x, /):
    """Signs of determinants and logarithms of their absolute values.

    >>> hk.linalg.slogdet(hk.asarray([[0.0, 1.0], [1.0, 0.0]])).sign
    array(-1.0, device='cpu:0')
    """
    return SlogdetResult(*_op["slogdet"](x))


def solve(x1, x2, /):
    """What x1 is multiplied with to give x2: matrices, or one vector.

    >>> hk.linalg.solve(hk.asarray([[2.0, 0.0], [0.0, 4.0]]), hk.asarray([2.0, 2.0]))
    array([1.,  0.5], device='cpu:0')
    """
    return _op["solve"](*_promoted((x1, x2)))


def solve_triangular(t, b, /, *, upper=False, left=True, unitriangular=False):
    """Solves t y = b, or y t = b where left is false, for triangular matrices t, of which the other triangle is not read.

    >>> hk.linalg.solve_triangular(hk.asarray([[2.0, 0.0], [1.0, 4.0]]), hk.asarray([2.0, 5.0]))
    array([1., 1.], device='cpu:0')
    """
    return _op["solve_triangular"](t, b, upper, unitriangular, False, False, not left)


def svd(x, /, *, full_matrices=True):
    """x = U diag(S) Vh, S in falling order.

    >>> [x.shape for x in hk.linalg.svd(hk.ones((3, 2)))]
    [(3, 3), (2,), (2, 2)]
    """
    return SVDResult(*_op["svd"](x, full_matrices))


def svdvals(x, /):
    """Singular values in falling order.

    >>> hk.linalg.svdvals(hk.asarray([[3.0, 0.0], [0.0, 4.0]]))
    array([4., 3.], device='cpu:0')
    """
    return _op["svdvals"](x)


def syrk(c, a, /, *, beta=1, alpha=1, upper=False):
    """c, of which one triangle becomes alpha times the product of a and its adjoint, added to beta times that triangle.

    >>> hk.linalg.syrk(hk.zeros((2, 2)), hk.ones((2, 3)))
    array([[3., 0.],
           [3., 3.]], device='cpu:0')
    """
    return _op["syrk"](c, a, _factor(alpha), _factor(beta), upper)


def trace(x, /, *, offset=0, dtype=None):
    """Sums of diagonals.

    >>> hk.linalg.trace(hk.asarray([[1, 2], [3, 4]]))
    array(5, dtype=int64, device='cpu:0')
    """
    if dtype is not None:
        x = x.astype(dtype)
    return _narrow(_op["matrix_trace"](x, _diagonal(offset)), dtype)


def vector_norm(x, /, *, axis=None, keepdims=False, ord=2):
    """The ord-norm of vectors along axes, or of all elements; of each element alone where axis is ().

    >>> hk.linalg.vector_norm(hk.asarray([3.0, 4.0]))
    array(5.0, device='cpu:0')
    """
    axes = tuple(range(x.ndim)) if axis is None else _axes_of(axis, x.ndim)
    if not axes and x.ndim:
        return _op["cast"](x != 0, _op["abs"](x).dtype) if ord == 0 else _op["abs"](x)
    return _op["vector_norm"](x, ord=float(ord), axes=axes, keepdims=keepdims)
