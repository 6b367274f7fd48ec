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
