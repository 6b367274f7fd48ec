"""hocket.linalg beside numpy.linalg."""

import numpy as np
import pytest

import hocket as hk

RANDOM = np.random.RandomState(0)
SQUARE = RANDOM.randn(2, 3, 3)
TALL = RANDOM.randn(2, 4, 3)
POSITIVE = SQUARE @ SQUARE.transpose(0, 2, 1) + np.eye(3)


def near(got, want):
    np.testing.assert_allclose(np.asarray(got), want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", "det inv pinv matrix_rank slogdet cholesky eigvalsh".split())
def test_of_one_matrix(name):
    values = POSITIVE if name in ("cholesky", "eigvalsh") else SQUARE
    got, want = getattr(hk.linalg, name)(hk.asarray(values)), getattr(np.linalg, name)(values)
    if name == "slogdet":
        near(got.sign, want[0])
        near(got.logabsdet, want[1])
    else:
        near(got, want)


def test_factors_give_the_matrix():
    x = hk.asarray(TALL)
    q, r = hk.linalg.qr(x)
    near(q @ r, TALL)
    u, s, vh = hk.linalg.svd(x, full_matrices=False)
    near((u * s[:, None, :]) @ vh, TALL)
    near(hk.linalg.svdvals(x), np.linalg.svd(TALL, compute_uv=False))
    values, vectors = hk.linalg.eigh(hk.asarray(POSITIVE))
    near((vectors * values[:, None, :]) @ hk.matrix_transpose(vectors), POSITIVE)
    assert hk.linalg.svd(x).U.shape == (2, 4, 4)


def test_products_and_norms():
    x, y = hk.asarray(TALL), hk.asarray(SQUARE)
    near(hk.linalg.solve(y, hk.asarray(SQUARE[:, :, :2])), np.linalg.solve(SQUARE, SQUARE[:, :, :2]))
    near(hk.linalg.matrix_power(y, 3), np.linalg.matrix_power(SQUARE, 3))
    near(hk.linalg.cross(x, x[:, ::-1]), np.cross(TALL, TALL[:, ::-1]))
    near(hk.linalg.outer(x[0, 0], x[0, 1]), np.outer(TALL[0, 0], TALL[0, 1]))
    near(hk.linalg.trace(y), np.trace(SQUARE, axis1=1, axis2=2))
    near(hk.linalg.diagonal(y, offset=1), np.diagonal(SQUARE, 1, 1, 2))
    for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf):
        near(hk.linalg.matrix_norm(x, ord=order), np.linalg.norm(TALL, order, (1, 2)))
    for order in (1, 2, 3, np.inf, -np.inf, 0):
        near(hk.linalg.vector_norm(x, ord=order, axis=1), np.linalg.norm(TALL, order, 1))
    near(hk.linalg.vector_norm(x), np.linalg.norm(TALL.reshape(-1)))
    near(hk.einsum("bij,bik->bjk", x, x), np.einsum("bij,bik->bjk", TALL, TALL))
    near(hk.pad(x[0], ((1, 0), (2, 1)), mode="edge"), np.pad(TALL[0], ((1, 0), (2, 1)), mode="edge"))


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
