"""hocket.linalg beside numpy.linalg."""

import numpy as np
import pytest

import hocket as hk

RANDOM = np.random.RandomState(0)
REAL = RANDOM.randn(2, 3, 3), RANDOM.randn(2, 4, 3)
COMPLEX = tuple(x + 1j * RANDOM.randn(*x.shape) for x in REAL)
KINDS = pytest.mark.parametrize("square, tall", [REAL, COMPLEX], ids=["real", "complex"])


def positive(square):
    return square @ square.conj().transpose(0, 2, 1) + np.eye(3)


def near(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-9)


@KINDS
@pytest.mark.parametrize("name", "det inv pinv matrix_rank slogdet cholesky eigvalsh".split())
def test_of_one_matrix(name, square, tall):
    values = positive(square) if name in ("cholesky", "eigvalsh") else tall if name in ("pinv", "matrix_rank") else square
    got, want = getattr(hk.linalg, name)(hk.asarray(values)), getattr(np.linalg, name)(values)
    if name == "slogdet":
        near(got.sign, want[0])
        near(got.logabsdet, want[1])
    else:
        near(got, want)


@KINDS
def test_factors_give_the_matrix(square, tall):
    x = hk.asarray(tall)
    q, r = hk.linalg.qr(x)
    near(q @ r, tall)
    near(hk.conj(q).mT @ q, np.eye(3)[None] + np.zeros((2, 1, 1)))
    assert hk.linalg.qr(x, mode="complete").Q.shape == (2, 4, 4) and np.allclose(np.tril(r.numpy(), -1), 0)
    u, s, vh = hk.linalg.svd(x, full_matrices=False)
    near((u * s[:, None, :]) @ vh, tall)
    assert s.dtype == hk.float64 and u.dtype == vh.dtype == x.dtype
    near(hk.linalg.svdvals(x), np.linalg.svd(tall, compute_uv=False))
    values, vectors = hk.linalg.eigh(hk.asarray(positive(square)))
    near((vectors * values[:, None, :]) @ hk.conj(vectors).mT, positive(square))
    lower = hk.linalg.cholesky(hk.asarray(positive(square)))
    near(hk.linalg.cholesky(hk.asarray(positive(square)), upper=True), np.conj(lower.numpy()).transpose(0, 2, 1))
    assert hk.linalg.svd(x).U.shape == (2, 4, 4)


@KINDS
def test_products_and_norms(square, tall):
    x, y = hk.asarray(tall), hk.asarray(square)
    near(hk.linalg.solve(y, hk.asarray(square[:, :, :2])), np.linalg.solve(square, square[:, :, :2]))
    near(hk.linalg.matrix_power(y, 3), np.linalg.matrix_power(square, 3))
    near(hk.linalg.cross(x, x[:, ::-1]), np.cross(tall, tall[:, ::-1]))
    near(hk.linalg.outer(x[0, 0], x[0, 1]), np.outer(tall[0, 0], tall[0, 1]))
    near(hk.linalg.trace(y), np.trace(square, axis1=1, axis2=2))
    near(hk.linalg.diagonal(y, offset=1), np.diagonal(square, 1, 1, 2))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        near(hk.linalg.matrix_norm(x, ord=order), np.linalg.norm(tall, order, (1, 2)))
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        near(hk.linalg.vector_norm(x, ord=order, axis=1), np.linalg.norm(tall, order, 1))
    near(hk.linalg.vector_norm(x), np.linalg.norm(tall.reshape(-1)))
    near(hk.einsum("bij,bik->bjk", x, x), np.einsum("bij,bik->bjk", tall, tall))
    near(hk.pad(x[0], ((1, 0), (2, 1)), mode="edge"), np.pad(tall[0], ((1, 0), (2, 1)), mode="edge"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_eigenvalues_of_any_matrix(dtype):
    order = np.random.default_rng(4)
    x = order.normal(size=(2, 3, 5, 5))
    x = (x + (1j * order.normal(size=x.shape) if dtype.startswith("complex") else 0)).astype(dtype)
    values, vectors = hk.linalg.eig(hk.asarray(x))
    wide = dtype in ("float64", "complex128")
    assert values.dtype == vectors.dtype == (hk.complex128 if wide else hk.complex64)
    rest = x @ vectors.numpy() - vectors.numpy() * values.numpy()[..., None, :]
    assert np.abs(rest).max() < (1e-12 if wide else 1e-4)
    for found in (values, hk.linalg.eigvals(hk.asarray(x))):
        wanted = np.linalg.eigvals(x)
        assert all(np.abs(w - found.numpy()[place]).min() < (1e-10 if wide else 1e-3) for place in np.ndindex(2, 3) for w in wanted[place])
    assert hk.linalg.eig(hk.zeros((2, 0, 0))).eigenvectors.shape == (2, 0, 0)


@pytest.mark.parametrize("kind", ["values", "vectors", "both"])
@pytest.mark.parametrize("is_complex", [False, True])
def test_gradients_of_eigenvalues_of_any_matrix(kind, is_complex):
    """Finite differences: of vectors, too, whose length and angle are said."""
    order = np.random.default_rng(7)
    a = order.normal(size=(4, 4)) + (1j * order.normal(size=(4, 4)) if is_complex else 0)
    by_values, by_vectors = (hk.asarray(order.normal(size=shape) + 1j * order.normal(size=shape)) for shape in (4, (4, 4)))

    def loss(x):
        values, vectors = hk.linalg.eig(x)
        y = {"values": lambda: hk.linalg.eigvals(x) * values * by_values, "vectors": lambda: vectors * by_vectors,
             "both": lambda: vectors * vectors * by_vectors * hk.expand_dims(values, -2)}[kind]()
        return hk.sum(hk.real(y))

    x = hk.asarray(a).attach_grad()
    with hk.record():
        y = loss(x)
    y.backward()
    wanted, step = np.zeros_like(a), 1e-6
    for place in np.ndindex(4, 4):
        for way in (1, 1j) if is_complex else (1,):
            d = np.zeros_like(a)
            d[place] = step * way
            wanted[place] += way * (float(loss(hk.asarray(a + d))) - float(loss(hk.asarray(a - d)))) / (2 * step)
    assert np.abs(x.grad.numpy() - wanted).max() < 1e-6 * max(1, np.abs(wanted).max())


def test_mixed_dtypes_promote():
    a, b = np.array([[2.0, 1.0], [1.0, 3.0]], "f4"), np.array([[1.0, 2.0], [0.5, 3.0]])
    for left, right in ((a, b), (b, a), (a, b[0]), (a, b.astype("c16")), (b.astype("c8"), a)):
        got, want = hk.linalg.solve(hk.asarray(left), hk.asarray(right)), np.linalg.solve(left, right)
        assert got.dtype == hk.result_type(left.dtype.name, right.dtype.name)
        np.testing.assert_allclose(np.asarray(got), want, rtol=1e-5)
    for function in (hk.linalg.outer, hk.linalg.cross):
        got = function(hk.asarray([1, 2, 3], dtype=hk.int32), hk.asarray([1.0, 0.5, 2.0], dtype=hk.float64))
        assert got.dtype == hk.float64 and got.tolist() == getattr(np, function.__name__)([1, 2, 3], [1, 0.5, 2]).tolist()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex128"])
def test_rtol_of_each_matrix(dtype):
    x = np.stack([np.diag([4.0, 2.0, 0.1]), np.diag([4.0, 2.0, 0.1])[::-1] * (1j if dtype == "complex128" else 1), np.zeros((3, 3))]).astype(dtype)
    rtol = np.array([0.6, 0.01, 0.1])
    np.testing.assert_allclose(np.asarray(hk.linalg.pinv(hk.asarray(x), rtol=hk.asarray(rtol))), np.linalg.pinv(x, rcond=rtol), atol=1e-5)
    assert hk.linalg.matrix_rank(hk.asarray(x), rtol=hk.asarray(rtol)).tolist() == [1, 3, 0]
    for zero in (0, 0.0, hk.asarray(0.0)):
        assert hk.linalg.matrix_rank(hk.asarray(np.diag([1, 1e-30]).astype(dtype)), rtol=zero).item() == 2
    assert hk.linalg.matrix_rank(hk.asarray(x), rtol=rtol.tolist()).tolist() == [1, 3, 0]
    assert hk.linalg.pinv(hk.zeros((0, 2, 3)), rtol=hk.zeros(0)).shape == (0, 3, 2) and hk.linalg.matrix_rank(hk.zeros((0, 2, 3)), rtol=hk.zeros(0)).shape == (0,)
    with pytest.raises(ValueError, match="must be 0 or more"):
        hk.linalg.pinv(hk.asarray(x), rtol=hk.asarray([0.1, -1, 0]))


def test_vector_norm_of_no_axes():
    x = hk.asarray([[3.0, -4.0], [0.0, 1e30]])
    for order in (1, 2, 3, 0.5, float("inf"), float("-inf"), -1):
        assert hk.linalg.vector_norm(x, axis=(), ord=order).tolist() == abs(x).tolist()
    assert hk.linalg.vector_norm(x, axis=(), ord=0, keepdims=True).tolist() == [[1, 1], [0, 1]]
    z = hk.linalg.vector_norm(x.astype(hk.complex64) * 1j, axis=())
    assert z.dtype == hk.float32 and z.tolist() == abs(x).tolist()
    assert hk.linalg.vector_norm(hk.asarray(-3.0), axis=()).item() == 3


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_zeros_below_r_have_no_sign(dtype):
    for shape in ((2, 2), (3, 2), (2, 3), (4, 4)):
        for x in (-np.ones(shape, dtype), np.random.default_rng(3).normal(size=shape).astype(dtype)):
            r = np.asarray(hk.linalg.qr(hk.asarray(x)).R)
            assert r.tobytes() == np.triu(r).tobytes()


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
def test_pieces_of_lapack(dtype):
    r = np.random.default_rng(1)

    def draw(*shape):
        x = r.normal(size=shape)
        return (x + 1j * r.normal(size=shape) if dtype.startswith("c") else x).astype(dtype)

    near = lambda x, y: np.allclose(np.asarray(x), y, atol=1e-4 if dtype in ("float32", "complex64") else 1e-12)
    a, b, c = draw(5, 5) + 4 * np.eye(5, dtype=dtype), draw(5, 3), draw(5, 5)
    x, y, z = hk.asarray(a), hk.asarray(b), hk.asarray(c)
    assert near(hk.linalg.solve_triangular(x, y), np.linalg.solve(np.tril(a), b))
    assert near(hk.linalg.solve_triangular(x, y.mT, upper=True, left=False), np.linalg.solve(np.triu(a).T, b).T)
    assert near(hk.linalg.solve_triangular(x, y, unitriangular=True), np.linalg.solve(np.tril(a, -1) + np.eye(5), b))
    assert near(hk.linalg.addmm(z, x, z, alpha=-2, beta=0.5), -2 * a @ c + 0.5 * c)
    assert near(hk.linalg.addmm(z, x, z, beta=0), a @ c) and near(hk.linalg.addmm(z, x, z, alpha=0), c)
    product = np.tril(b @ b.conj().T) + np.triu(c, 1)
    assert near(hk.linalg.syrk(z, y, beta=0), product)
    factors = hk.linalg.lu_factor(x)
    assert factors.pivots.dtype == hk.int32 and near(hk.linalg.lu_solve(*factors, y), np.linalg.solve(a, b))
    assert near(hk.linalg.lu_solve(*factors, y, adjoint=True), np.linalg.solve(a.conj().T, b))
    factors = hk.linalg.qr_factor(x)
    assert near(hk.linalg.qr_multiply(*factors, hk.triu(factors.qr)), a)
    assert near(hk.linalg.qr_multiply(*factors, x, adjoint=True), np.triu(np.asarray(factors.qr)))


def test_zero_on_a_diagonal_fails():
    with pytest.raises(ValueError, match="t is singular: element 1 of its diagonal is 0"):
        np.asarray(hk.linalg.solve_triangular(hk.asarray([[1.0, 0.0], [1.0, 0.0]]), hk.ones((2,))))
