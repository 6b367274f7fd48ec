"""What does not count must not count, be it NaN or infinite: masks, padding, ignored labels, coefficients of 0, no samples."""

import numpy as np
import pytest

import hocket as hk
from hocket import nn, optim

F = nn.functional
NAN, INF = float("nan"), float("inf")


def array(values, dtype="float32"):
    return hk.asarray(np.asarray(values, dtype))


def draw(*shape, seed=0, dtype="float32"):
    return np.random.default_rng(seed).normal(size=shape).astype(dtype)


def is_finite(*xs):
    return all(np.isfinite(np.asarray(x)).all() for x in xs)


def run(function, inputs, captured):
    """Result and gradients of the inputs, of the sum of squares."""
    arrays = [array(x, x.dtype) for x in inputs]
    for x in arrays:
        x.attach_grad()

    def step(*arrays):
        with hk.record():
            y = function(*arrays)
            loss = (y * y).sum()
        loss.backward()
        return y

    y = (hk.capture(step) if captured else step)(*arrays)
    if captured:
        y = hk.capture(step)(*arrays)
    return [np.asarray(y)] + [np.asarray(x.grad) for x in arrays]


# ---- attention ------------------------------------------------------------------------------------------------------


def masks(dtype):
    """Of 2 samples, 3 queries and 4 keys: query 1 of sample 0 sees nothing; no query of sample 1 sees key 3."""
    seen = np.ones((2, 3, 4), bool)
    seen[0, 1] = False
    seen[1, :, 3] = False
    return [seen, np.where(seen, 0, -INF).astype(dtype)]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("kind", [0, 1])
def test_a_query_that_sees_no_key(dtype, captured, kind):
    mask = array(masks(dtype)[kind], masks(dtype)[kind].dtype)
    q, k, v = draw(2, 3, 5, dtype=dtype), draw(2, 4, 5, seed=1, dtype=dtype), draw(2, 4, 2, seed=2, dtype=dtype)
    y, dq, dk, dv = run(lambda *x: F.scaled_dot_product_attention(*x, mask), [q, k, v], captured)
    assert (y[0, 1] == 0).all() and (dq[0, 1] == 0).all() and is_finite(y, dq, dk, dv)
    assert (y[1] != 0).all() and (dk[1, 3] == 0).all() and (dv[1, 3] == 0).all()
    # What is not seen may be anything.
    q[0, 1] = k[1, 3] = v[1, 3] = NAN
    for got, wanted in zip(run(lambda *x: F.scaled_dot_product_attention(*x, mask), [q, k, v], captured), (y, dq, dk, dv)):
        np.testing.assert_array_equal(got, wanted)


@pytest.mark.parametrize("mask", [False, [False, True, True, True], [[True] * 4, [False] * 4, [True] * 4]])
def test_masks_of_fewer_axes(mask):
    x = array(draw(2, 3, 5)), array(draw(2, 4, 5, seed=1)), array(draw(2, 4, 2, seed=2))
    whole = np.broadcast_to(np.asarray(mask), (2, 3, 4))
    np.testing.assert_array_equal(np.asarray(F.scaled_dot_product_attention(*x, array(mask, bool))),
                                  np.asarray(F.scaled_dot_product_attention(*x, array(whole, bool))))


def test_second_gradients_of_a_query_that_sees_no_key():
    for mask in masks("float64"):
        q, k, v = (array(draw(*shape, seed=7, dtype="float64"), "float64") for shape in ((2, 3, 5), (2, 4, 5), (2, 4, 2)))
        for x in (q, k, v):
            x.attach_grad()
        with hk.record():
            y = F.scaled_dot_product_attention(q, k, v, array(mask, mask.dtype))
            first = hk.gradients((y * y).sum(), [q, k, v], create_graph=True)
            total = sum(((g * g).sum() for g in first[1:]), (first[0] * first[0]).sum())
        total.backward()
        assert is_finite(q.grad, k.grad, v.grad) and (np.asarray(q.grad)[0, 1] == 0).all()


def test_a_layer_of_attention_whose_query_sees_no_key():
    net = nn.Attention(8, 2)
    x = array(draw(2, 3, 8))
    mask = np.ones((2, 1, 3, 3), bool)
    mask[0, 0, 1] = False
    net.build(x.shape)
    with hk.record():
        y = net(x, x, x, array(mask, bool))
        loss = (y * y).sum()
    loss.backward()
    assert is_finite(y, *(p.grad for p in net.parameters()))


# ---- recurrent layers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("layers,both", [(1, False), (2, True)])
@pytest.mark.parametrize("kind", [nn.RNN, nn.LSTM, nn.GRU])
def test_padding_of_sequences(kind, layers, both, dtype):
    lengths = array([3, 5, 1], "int64")
    results = []
    for garbage in (0, NAN, INF):
        hk.seed(3)
        x = draw(3, 5, 4, dtype=dtype)
        for i, n in enumerate((3, 5, 1)):
            x[i, n:] = garbage
        x = array(x, dtype)
        x.attach_grad()
        net = kind(6, layers=layers, bidirectional=both)
        state = kind(6, layers=layers, bidirectional=both, final_state=True)
        with hk.record():
            loss = (net(x, None, lengths) ** 2).sum() + (state(x, None, lengths) ** 2).sum()
        loss.backward()
        grads = [np.asarray(p.grad) for m in (net, state) for p in m.parameters()]
        results.append([np.asarray(loss), np.asarray(x.grad)] + grads)
        assert (results[-1][1][2, 1:] == 0).all()
    for result in results[1:]:
        for got, wanted in zip(result, results[0]):
            np.testing.assert_array_equal(got, wanted)


# ---- losses -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("smoothing", [0, 0.1])
def test_labels_that_are_ignored(dtype, captured, smoothing):
    x = draw(4, 3, dtype=dtype)
    labels = array([0, 2, 1, 2], "int64")

    def loss(x):
        return F.cross_entropy(x, labels, "mean", ignore=2, label_smoothing=smoothing)

    wanted = run(loss, [x], captured)
    x[1] = NAN
    x[3, 0] = INF
    for got, other in zip(run(loss, [x], captured), wanted):
        np.testing.assert_array_equal(got, other)
    assert is_finite(*wanted) and (wanted[1][[1, 3]] == 0).all()


@pytest.mark.parametrize("captured", [False, True])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("loss", [F.cross_entropy, F.nll_loss])
def test_the_mean_of_no_labels_is_nan_and_its_gradient_0(loss, dtype, captured):
    labels = array([2, 2], "int64")
    for x in (draw(2, 3, dtype=dtype), np.full((2, 3), NAN, dtype)):
        for options in ({"ignore": 2}, {"weight": array([1, 1, 0], dtype)}):
            arrays = array(x, dtype)
            arrays.attach_grad()

            def step(x):
                with hk.record():
                    y = loss(x, labels, "mean", **options)
                y.backward()
                return y

            y = (hk.capture(step) if captured else step)(arrays)
            assert np.isnan(float(y)) and (np.asarray(arrays.grad) == 0).all()
    arrays = array(draw(2, 3, dtype=dtype), dtype)
    arrays.attach_grad()
    with hk.record():
        y = loss(arrays, labels, "mean", ignore=2)
        first, = hk.gradients(y, [arrays], create_graph=True)
        total = (first * first).sum()
    total.backward()
    assert (np.asarray(first) == 0).all() and (np.asarray(arrays.grad) == 0).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_classes_that_weigh_nothing(dtype):
    weight = array([1, 0, 2], dtype)
    labels = array([0, 1, 2], "int64")
    x = draw(3, 3, dtype=dtype)

    def loss(x):
        return F.cross_entropy(x, labels, "mean", weight=weight)

    wanted = run(loss, [x], False)
    x[1] = NAN
    for got, other in zip(run(loss, [x], False), wanted):
        np.testing.assert_array_equal(got, other)
    logs = np.asarray([[np.log(0.5), -INF, np.log(0.5)]] * 3, dtype)
    assert float(F.nll_loss(array(logs, dtype), labels, weight=weight)) == pytest.approx(np.log(2))


@pytest.mark.parametrize("captured", [False, True])
def test_losses_that_are_left_out_have_no_gradient(captured):
    labels = array([0, 1, 2], "int64")
    counts = array([True, False, True], bool)
    for loss in (F.cross_entropy, lambda x, y: F.cross_entropy(x, y, label_smoothing=0.1)):
        x = draw(3, 3)
        x[1] = NAN
        y, dx = run(lambda x: hk.where(counts, loss(x, labels), 0.0), [x], captured)
        assert is_finite(y, dx) and (dx[1] == 0).all() and (dx[[0, 2]] != 0).all()


def test_dropout_of_what_is_not_finite():
    hk.seed(1)
    x = np.full(1000, INF, "float32")
    x[::2] = 1
    layer = nn.Dropout(0.5)
    y, dx = run(layer, [x], False)
    assert not np.isnan(y).any() and set(y) == {0, 2, INF}
    assert (dx[y == 0] == 0).all()


def test_padding_of_an_embedding():
    net = nn.Embedding(4, 3, padding=0)
    net(array([[0]], "int64"))
    net.weight[0] = NAN
    with hk.record():
        y = net(array([[0, 1], [2, 0]], "int64"))
        loss = (y * y).sum()
    loss.backward()
    assert is_finite(y, net.weight.grad) and (np.asarray(net.weight.grad)[0] == 0).all()


# ---- updates --------------------------------------------------------------------------------------------------------


OPTIMISERS = [lambda p, kind=kind, **o: kind(p, weight_decay=0, **o) for kind in vars(optim).values() if hasattr(kind, "_method")]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("make", OPTIMISERS)
def test_an_infinite_weight_without_decay_stays_infinite(make, dtype):
    w = array([INF, -INF, 1], dtype)
    w.attach_grad()
    opt = make([w], lr=0.1)
    for _ in range(2):
        with hk.record():
            loss = (hk.where(array([True, True, True], bool), w, 0.0) * array([1, 2, 3], dtype)).sum()
        loss.backward()
        opt.step()
    got = np.asarray(w)
    assert got[0] == INF and got[1] == -INF and np.isfinite(got[2]) and got[2] < 1


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sgd_of_an_infinite_weight(dtype):
    w = array([INF, 1], dtype)
    w.attach_grad()
    with hk.record():
        loss = (w * 2).sum()
    loss.backward()
    optim.sgd([w], lr=0.5)
    assert np.asarray(w).tolist() == [INF, 0]
    with hk.record():
        loss = (w * array([INF, INF], dtype)).sum()
    loss.backward()
    optim.sgd([w], lr=0.0)
    assert np.asarray(w).tolist() == [INF, 0]


# ---- halves -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype,wanted", [("float16", 5000), ("bfloat16", 4992)])
@pytest.mark.parametrize("captured", [False, True])
def test_gradients_of_halves_add_up_as_floats(dtype, wanted, captured):
    x = hk.ones((3,), dtype=getattr(hk, dtype))
    x.attach_grad()

    def step(x):
        with hk.record():
            terms = [x * 1 for _ in range(5000)]
            loss = sum((t[0] for t in terms[:2500]), hk.zeros((), dtype=x.dtype)) * 0
            for t in terms:
                loss = loss + t.sum()
        loss.backward()
        return loss

    (hk.capture(step) if captured else step)(x)
    assert x.grad.tolist() == [wanted] * 3
    with hk.record():
        loss = sum((x[i % 3] for i in range(9000)), hk.zeros((), dtype=x.dtype))
    loss.backward()
    assert x.grad.tolist() == [3000 if dtype == "float16" else 3008] * 3


@pytest.mark.parametrize("dtype,wanted", [("float16", 5000), ("bfloat16", 4992)])
def test_sums_at_places_of_halves(dtype, wanted):
    table = hk.zeros((3, 2), dtype=getattr(hk, dtype))
    table.attach_grad()
    places = hk.ones((5000,), dtype=hk.int64)
    with hk.record():
        loss = hk.take(table, places, axis=0).sum()
    loss.backward()
    assert table.grad.tolist() == [[0, 0], [wanted, wanted], [0, 0]]
