import numpy as np
import pytest

import hocket as hk
from hocket import nn


def array(values):
    return hk.asarray(np.asarray(values, "float32"))


MASKS = ["none", "causal", "bool", "numbers", "learnt", "row"]


def attention_case(masking):
    random = np.random.default_rng(2)
    n, m = 5, 5 if masking == "causal" else 6
    arrays = [hk.asarray(random.standard_normal(shape)) for shape in ((2, n, 3), (2, m, 3), (2, m, 4))]
    mask = None
    if masking == "bool":
        mask = random.random((n, m)) < 0.6
    elif masking in ("numbers", "learnt"):
        mask = random.standard_normal((n, m))
    elif masking == "row":
        mask = np.arange(m) != 2
    if mask is not None and masking != "row":
        mask[1] = mask[:, 2] = False if masking == "bool" else -np.inf  # a query that sees nothing, and a key seen by none
    if masking == "learnt":
        return arrays + [hk.asarray(mask)], lambda q, k, v, mask: nn.functional.scaled_dot_product_attention(q, k, v, mask)
    mask = None if mask is None else hk.asarray(mask)
    return arrays, lambda q, k, v: nn.functional.scaled_dot_product_attention(q, k, v, mask, causal=masking == "causal")


def assert_gradient_by_differences(function, arrays):
    gradients, h = hk.grad(function, argnums=tuple(range(len(arrays))))(*arrays), 1e-5
    for i, x in enumerate(arrays):
        x, found = x.numpy(), gradients[i].numpy()
        for at in list(np.ndindex(x.shape))[::3]:
            if np.isfinite(x[at]):
                ends = []
                for moved in (x.copy(), x.copy()):
                    moved[at] += h if not ends else -h
                    ends.append(float(function(*arrays[:i], hk.asarray(moved), *arrays[i + 1:])))
                assert abs((ends[0] - ends[1]) / (2 * h) - found[at]) < 1e-6, (i, at)
            else:
                assert found[at] == 0


@pytest.mark.parametrize("masking", MASKS)
def test_gradients_of_attention(masking):
    arrays, attention = attention_case(masking)
    assert_gradient_by_differences(lambda *its: hk.sin(attention(*its)).sum(), arrays)


@pytest.mark.parametrize("wanted", [(0,), (1,), (2,), (0, 1, 2)])
@pytest.mark.parametrize("masking", MASKS)
def test_gradients_of_gradients_of_attention(masking, wanted):
    arrays, attention = attention_case(masking)
    weights = [hk.asarray(np.random.default_rng(i).standard_normal(x.shape)) for i, x in enumerate(arrays)]

    def gradients(*its):
        found = hk.grad(lambda *its: hk.sin(attention(*its)).sum(), argnums=(0, 1, 2))(*its)
        total = (found[wanted[0]] * weights[wanted[0]]).sum()
        for i in wanted[1:]:
            total = total + (found[i] * weights[i]).sum()
        return total

    assert_gradient_by_differences(gradients, arrays)


def test_attention_of_what_nobody_sees():
    """NaN in keys and values that no query sees, and in queries that see none, goes nowhere."""
    query, key, value, dy = (np.random.default_rng(i).normal(size=(2, 200, 4)).astype("float32") for i in range(4))
    seen = np.ones((200, 200), bool)
    seen[:, 150] = seen[7] = False
    clean = [array(x) for x in (query, key, value)]
    query[:, 7] = key[:, 150] = np.nan
    value[:, 150] = np.inf
    spoilt = [array(x) for x in (query, key, value)]
    for mask in (hk.asarray(seen), array(np.where(seen, 0, -np.inf))):
        def loss(q, k, v):
            return (nn.functional.scaled_dot_product_attention(q, k, v, mask) * array(dy)).sum()
        assert float(loss(*clean)) == float(loss(*spoilt))
        for a, b in zip(hk.grad(loss, argnums=(0, 1, 2))(*clean), hk.grad(loss, argnums=(0, 1, 2))(*spoilt)):
            assert np.isfinite(b.numpy()).all() and np.array_equal(a.numpy(), b.numpy())
