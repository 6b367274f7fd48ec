import copy
import math

import numpy as np
import pytest

import hocket as hk
from hocket import nn, optim


def values(x):
    return np.array(x.tolist())


def parameter(start, grad):
    """A parameter with that gradient."""
    p = hk.asarray(np.asarray(start, "float32")).attach_grad()
    p.grad[...] = hk.asarray(np.asarray(grad, "float32"))
    return p


def test_sgd():
    p = parameter([1, 2], [10, 20])
    optim.sgd([p], lr=.1, batch=2)
    np.testing.assert_allclose(values(p), [.5, 1], rtol=1e-6)
    optim.sgd([p], .1, weight_decay=1)
    np.testing.assert_allclose(values(p), [.5 - 1.05, 1 - 2.1], rtol=1e-5)
    p = parameter([1, 2], [10, 20])
    opt = optim.SGD([p], lr=.1, batch=2)
    opt.step()
    np.testing.assert_allclose(values(p), [.5, 1], rtol=1e-6)
    opt.step(batch=10)
    np.testing.assert_allclose(values(p), [.4, .8], rtol=1e-6)


@pytest.mark.parametrize("nesterov", [False, True])
def test_sgd_with_momentum_is_momentum(nesterov):
    """PyTorch's call; the bytes of the class Momentum, also in a captured step, from a copy and from a saved state."""
    def trained(make):
        p = parameter([1, 2], [10, 20])
        opt = make([p])

        @hk.capture
        def step():
            opt.step()

        for _ in range(4):
            step()
        return p.tolist(), {name: array.tolist() for name, array in opt.state().items()}

    assert trained(lambda p: optim.SGD(p, lr=.1, momentum=.5, nesterov=nesterov, weight_decay=.1, batch=2)) == trained(
        lambda p: optim.Momentum(p, .1, .5, 2, .1, nesterov))
    net = nn.Linear(2).build((1, 3))
    opt = optim.SGD(net, lr=.1, momentum=.9)
    for p in net.parameters():
        p.grad[...] = 1
    opt.step()
    again = optim.SGD(net, lr=.1, momentum=.9)
    again.load(opt.state())
    copied = copy.deepcopy(opt)
    assert {name: array.tolist() for name, array in again.state().items()} == {name: array.tolist() for name, array in copied.state().items()}
    assert isinstance(copied, optim.SGD) and copied.momentum == .9


def test_what_sgd_with_momentum_refuses():
    p = parameter([1], [1])
    with pytest.raises(ValueError, match="momentum 0; Nesterov"):
        optim.SGD([p], nesterov=True)
    opt = optim.SGD([p], momentum=.9)
    with pytest.raises(ValueError, match="batch is 4"):
        opt.step(batch=4)
    opt.momentum = 0
    with pytest.raises(ValueError, match="as the optimizer was made"):
        opt.step()
    plain = optim.SGD([p])
    assert plain.state() == {} and p.tolist() == [1]
    plain.load({})
    with pytest.raises(KeyError):
        plain.load({"state.0": p})
    plain.weight_decay = 1.0  # which is heard
    plain.step()
    np.testing.assert_allclose(values(p), [1 - .01 * 2], rtol=1e-6)


@pytest.mark.parametrize("make, update", [
    (lambda p: optim.Momentum(p, .1, .5), lambda g, s: (s.__setitem__("v", .5 * s.get("v", 0) + g), .1 * s["v"])[1]),
    (lambda p: optim.Adam(p, .1, (.8, .9), 1e-3),
     lambda g, s: (s.update(t=s.get("t", 0) + 1, m=.8 * s.get("m", 0) + .2 * g, v=.9 * s.get("v", 0) + .1 * g * g),
                   .1 * s["m"] / (1 - .8 ** s["t"]) / (np.sqrt(s["v"] / (1 - .9 ** s["t"])) + 1e-3))[1]),
    (lambda p: optim.RMSprop(p, .1, .9, 1e-3),
     lambda g, s: (s.update(v=.9 * s.get("v", 0) + .1 * g * g), .1 * g / (np.sqrt(s["v"]) + 1e-3))[1]),
    (lambda p: optim.Adagrad(p, .1, 1e-3),
     lambda g, s: (s.update(v=s.get("v", 0) + g * g), .1 * g / (np.sqrt(s["v"]) + 1e-3))[1]),
], ids=["momentum", "adam", "rmsprop", "adagrad"])
def test_methods_against_formulas(make, update):
    start, grad, state = np.array([1., -2.]), np.array([.5, 3.]), {}
    p = parameter(start, grad)
    opt = make([p])
    for _ in range(3):
        opt.step()
        start = start - update(grad, state)
    np.testing.assert_allclose(values(p), start, rtol=1e-4)


KINDS = [kind for kind in vars(optim).values() if hasattr(kind, "_method")]


def test_kinds():
    assert optim.SGD in KINDS and optim.AdamW in KINDS and {kind.__name__ for kind in KINDS} <= set(optim.__all__)


@pytest.mark.parametrize("kind", KINDS)
def test_each_goes_downhill_and_lr_is_heard(kind):
    p = parameter([1, 2], [10, 20])
    opt = kind([p])
    opt.step()
    after = values(p)
    assert (after < [1, 2]).all()
    opt.lr = 0
    assert opt.lr == 0
    if kind is not optim.AdamW:
        opt.step()
        assert values(p).tolist() == after.tolist()


def test_a_module_may_be_given_before_its_parameters_are_made():
    net = nn.Linear(2)
    opt = optim.Adam(net, lr=.1)
    with pytest.raises(ValueError, match="no parameters"):
        opt.step()
    x = hk.ones((3, 4))
    with hk.record():
        loss = net(x)
    loss.backward()
    before = values(net.weight)
    opt.lr = .01
    opt.step()
    np.testing.assert_allclose(before - values(net.weight), .01, rtol=1e-3)
    with pytest.raises(ValueError, match="net.build"):
        optim.Adam(nn.Linear(2).parameters())


def test_state_goes_on():
    def train(opt, p, steps):
        for i in range(steps):
            p.grad[...] = i + 1
            opt.step()

    p = parameter([1., 2.], [0, 0])
    opt = optim.Adam([p], lr=.1)
    train(opt, p, 3)
    opt.lr = .05
    kept = {name: hk._core.operators["copy"](x) for name, x in opt.state().items()}
    q = parameter(values(p), [0, 0])
    train(opt, p, 2)
    other = optim.Adam([q], lr=.7)
    other.load(kept)
    assert other.lr == .05
    train(other, q, 2)
    assert values(p).tolist() == values(q).tolist()
    with pytest.raises(KeyError):
        other.load({})


def test_clipping():
    p, q = parameter([0, 0], [3, 0]), parameter([0], [4])
    assert float(optim.clip_grad_norm([p, q], 1)) == 5
    np.testing.assert_allclose([*values(p.grad), *values(q.grad)], [.6, 0, .8], rtol=1e-6)
    optim.clip_grad_value([p, q], .7)
    np.testing.assert_allclose([*values(p.grad), *values(q.grad)], [.6, 0, .7], rtol=1e-6)


def test_learning_rates():
    assert [optim.Step(1, 2, .5)(i) for i in range(5)] == [1, 1, .5, .5, .25]
    cosine = optim.Cosine(1, 10, .2)
    assert cosine(0) == 1 and math.isclose(cosine(5), .6) and cosine(10) == cosine(50) == .2
    assert optim.WarmUp(1, 4)(0) == .25 and optim.WarmUp(1, 4)(9) == 1
    plateau = optim.Plateau(1, .1, patience=1)
    assert [round(plateau(loss), 6) for loss in (3, 2, 2, 2, 1)] == [1, 1, 1, .1, .1]


def test_averages_of_parameters():
    p = parameter([1.], [1.])
    averages = optim.Averages([p], decay=.5)
    optim.sgd([p], 1)
    averages.update()
    assert p.tolist() == [0] and averages.arrays[0].tolist() == [.5]
    with averages:
        assert p.tolist() == [.5]
    assert p.tolist() == [0]
    with pytest.raises(ValueError):
        optim.Averages([p], decay=2)


def test_early_stopping():
    stop, told = optim.EarlyStop(patience=1), []
    for loss in (3, 2, 2.5, 2.4):
        told.append((stop(loss), stop.is_best))
    assert told == [(False, True), (False, True), (False, False), (True, False)] and stop.best == 2


def test_gradients_of_several_batches():
    net = nn.Linear(1, bias=False).build((1, 1))
    optim.accumulate_grads(net)
    for x in (1., 2.):
        with hk.record():
            y = net(hk.asarray([[x]]))
        y.backward()
    assert net.weight.grad.tolist() == [[3]]


def test_refusals():
    p = parameter([1], [1])
    with pytest.raises(ValueError):
        optim.Adam([p], lr=-1)
    with pytest.raises(ValueError):
        optim.Adam([hk.ones((2,))])
    with pytest.raises(TypeError, match="a parameter is to be an Array"):
        optim.sgd([1], .1)
    with pytest.raises(TypeError):
        optim.sgd([p], "x")
    hk._core._failures_clear()


@pytest.mark.parametrize("make", [optim.SGD, optim.Momentum, optim.Adam])
def test_what_is_frozen_stays_as_it_is(make):
    net = nn.Sequential(nn.Linear(3), nn.Linear(2)).build((1, 4))
    opt = make(net, lr=.1)

    def step():
        with hk.record():
            loss = (net(hk.ones((1, 4))) ** 2).sum()
        loss.backward()
        opt.clip_grad_norm(1e3)
        opt.step()
        opt.zero_grad()
        return [net.state()[f"{i}.weight"].tolist() for i in range(2)]

    first = net.children()[0]
    before = step()
    first.freeze()
    frozen = step()
    assert frozen[0] == before[0] and frozen[1] != before[1]
    first.freeze(False)
    assert step()[0] != frozen[0]


def valley(x):
    """Rosenbrock's, whose floor is bent."""
    return (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()


def closure_of(opt, x, counts):
    def closure():
        counts.append(1)
        with hk.record():
            loss = valley(x)
        loss.backward()
        return loss
    return closure


@pytest.mark.parametrize("line_search, lr, least", [("strong_wolfe", 1, 1e-8), (None, .2, 1.0)])
def test_lbfgs_follows_a_valley(line_search, lr, least):
    x, counts = hk.asarray([-1.2, 1.0], dtype=hk.float64).attach_grad(), []
    opt = optim.LBFGS([x], lr=lr, max_iter=30, history=5, line_search=line_search)
    closure = closure_of(opt, x, counts)
    losses = [float(opt.step(closure)) for _ in range(4)]
    assert losses[0] == pytest.approx(24.2) and float(valley(x)) < least
    assert len(counts) <= 4 * 37 + 25 and len(opt.state()) <= 12
    if line_search:
        np.testing.assert_allclose(values(x), [1, 1], rtol=1e-4)


def test_lbfgs_goes_on_from_what_was_saved():
    ends = []
    for saves in (False, True):
        x, counts = hk.asarray([-1.2, 1.0, .5], dtype=hk.float64).attach_grad(), []
        opt = optim.LBFGS([x], lr=.1, max_iter=3, history=4)
        for i in range(4):
            if saves and i == 2:
                kept = {name: array.tolist() for name, array in opt.state().items()}
                opt = optim.LBFGS([x], lr=.1, max_iter=3, history=4)
                opt.load({name: hk.asarray(array, dtype=hk.float64) for name, array in kept.items()})
            opt.step(closure_of(opt, x, counts))
        ends.append(x.tolist())
    assert ends[0] == ends[1]
    with pytest.raises(KeyError, match="should have move.0, change.0"):
        opt.load({"move.0": np.ones(3)})
    for bad, text in ((dict(line_search="x"), "line_search is 'x'"), (dict(max_iter=0), "max_iter is 0"), (dict(lr=0), "lr 0")):
        with pytest.raises(ValueError, match=text):
            optim.LBFGS([x], **bad)


def test_lbfgs_of_several_parameters_ends_where_there_is_no_slope():
    a, b = hk.asarray([1.0, 2.0]).attach_grad(), hk.asarray([[3.0]]).attach_grad()
    opt = optim.LBFGS([a, b], line_search="strong_wolfe")

    def closure():
        with hk.record():
            loss = (a ** 2).sum() + (b ** 2 * 10).sum()
        loss.backward()
        return loss

    opt.step(closure)
    np.testing.assert_allclose([*a.tolist(), *b.tolist()[0]], 0, atol=1e-4)
    assert float(opt.step(closure)) < 1e-6


def test_groups_have_options_of_their_own():
    weight, bias = parameter([1, 2], [10, -20]), parameter([3, 4], [1, 1])
    opt = optim.Groups(optim.AdamW, [{"params": [weight]}, {"params": [bias], "lr": .5, "weight_decay": 0.0}], lr=.1, weight_decay=.5)
    assert [group["lr"] for group in opt.param_groups] == [.1, .5] and len(opt.params) == 2
    opt.step()
    np.testing.assert_allclose(values(weight), np.array([1, 2]) * (1 - .05) - [.1, -.1], rtol=1e-5)
    np.testing.assert_allclose(values(bias), [2.5, 3.5], rtol=1e-5)
    kept = opt.state()
    assert {"0.state.0", "1.state.0"} <= set(kept)
    opt.param_groups[1]["lr"] = 0.0
    opt.step()
    np.testing.assert_allclose(values(bias), [2.5, 3.5], rtol=1e-5)
    opt.load(kept)
    assert opt.param_groups[1]["lr"] == 0.0  # the state is a view, which has what was set since
    with pytest.raises(ValueError, match="in two groups"):
        optim.Groups(optim.SGD, [{"params": [weight]}, {"params": [weight]}])
    with pytest.raises(ValueError, match="must have params"):
        optim.Groups(optim.SGD, [{"lr": 1}])


def test_a_parameter_is_given_once():
    p = hk.ones(2).attach_grad()
    with pytest.raises(ValueError, match="given twice"):
        optim.Adam([p, p])


def test_what_does_not_fit_an_optimiser_is_not_loaded_at_all():
    p = hk.ones(2).attach_grad()
    opt = optim.Adam([p], lr=.5)
    before = {name: x.tolist() for name, x in opt.state().items()}
    wrong = {name: np.ones(x.shape) for name, x in opt.state().items()} | {"state.0": np.ones((2, 3))}
    with pytest.raises(ValueError, match=r"state.0 has the shape \(2, 2\), and what is loaded \(2, 3\)"):
        opt.load(wrong)
    assert {name: x.tolist() for name, x in opt.state().items()} == before
    opt.load({name: x.tolist() for name, x in opt.state().items()} | {"coefficients.0": [.25, 0.0]})
    assert opt.lr == .25


def test_what_is_0_is_no_default():
    for make in (lambda p: optim.Adam([p], lr=.1, betas=(0, .5)), lambda p: optim.RMSprop([p], lr=.1, rho=0),
                 lambda p: optim.Momentum([p], lr=.1, momentum=0), lambda p: optim.Adam([p], lr=0)):
        p = parameter([1, 2], [10, -20])
        opt = make(p)
        opt.step()
        p.grad[...] = hk.asarray(np.array([3, 4], "float32"))
        before = values(p)
        opt.step()
        if isinstance(opt, optim.Momentum):
            step = [.3, .4]
        elif isinstance(opt, optim.RMSprop):
            step = [.1, .1]
        elif opt.lr == 0:
            step = [0, 0]
        else:
            seen = (.5 * .5 * np.array([100, 400]) + .5 * np.array([9, 16])) / .75
            step = .1 * np.array([3, 4]) / np.sqrt(seen)
        np.testing.assert_allclose(before - values(p), step, rtol=1e-4)
