import copy
import gc
import pickle
import weakref

import numpy as np
import pytest

import hocket as hk
from hocket import nn, optim


def array(values, dtype="float32"):
    return hk.asarray(np.asarray(values, dtype))


def values(x):
    return np.array(x.tolist())


def draw(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


class Net(nn.Module):
    def __init__(self):
        self.layers = [nn.Linear(4), nn.Linear(3)]
        self.heads = {"a": nn.Linear(2, bias=False)}
        self.scale = nn.Parameter(hk.ones((2,)))
        self.offset = hk.zeros((2,))

    def forward(self, x):
        for layer in self.layers:
            x = hk.relu(layer(x))
        return self.heads["a"](x) * self.scale + self.offset


NAMES = ["scale", "offset", "layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias", "heads.a.weight"]


# ---- the tree --------------------------------------------------------------------------------------------------


def test_names_follow_from_attributes():
    net = Net()
    assert [name for name, _ in net.named_parameters()] == ["scale"]
    net.build((1, 5))
    assert list(net.state()) == NAMES
    assert [name for name, _ in net.named_parameters()] == [name for name in NAMES if name != "offset"]
    assert [path for path, _ in net.named_modules()] == ["", "layers.0", "layers.1", "heads.a"]
    assert net.layers[0].weight.shape == (4, 5)
    with pytest.raises(AttributeError, match="no attribute 'weights'"):
        net.layers[0].weights


def test_a_module_in_two_places_is_one():
    shared = nn.Linear(3)
    net = nn.Sequential(shared, hk.relu, shared).build((1, 3))
    assert list(net.state()) == ["0.weight", "0.bias"]
    copy_ = net.replicate()
    assert copy_[0] is copy_[2] and copy_[0] is not shared


def test_gradients_reach_every_parameter():
    net = Net().build((1, 5))
    with hk.record():
        y = net(array(draw(6, 5)))
    y.backward()
    for name, p in net.named_parameters():
        assert np.abs(values(p.grad)).sum() > 0, name


def test_sequential_is_a_list():
    net = nn.Sequential(nn.Linear(4), hk.relu).append(nn.Linear(2))
    assert len(net) == 3 and isinstance(net[1], nn.Lambda) and len(net[:2]) == 2 and [*net][2] is net[2]
    x = array(draw(3, 5))
    y = net(x)
    np.testing.assert_allclose(values(net[2](hk.relu(net[0](x)))), values(y))


def test_state_is_saved_and_loaded_before_the_first_call(tmp_path):
    net = Net().build((1, 5))
    net.save(tmp_path / "net.safetensors", {"epoch": "3"})
    other = Net().load(tmp_path / "net.safetensors")
    x = array(draw(2, 5))
    assert values(other(x)).tolist() == values(net(x)).tolist()
    assert other.scale._has_grad() and other.layers[1].weight._has_grad()
    assert hk.load(tmp_path / "net.safetensors").metadata == {"epoch": "3"}
    third = Net().build((1, 5)).load(net.state())
    assert values(third(x)).tolist() == values(net(x)).tolist()


def test_what_does_not_fit_is_not_loaded():
    net = Net().build((1, 5))
    state = net.state()
    with pytest.raises(KeyError, match="scale of the module"):
        Net().load({name: x for name, x in state.items() if name != "scale"})
    with pytest.raises(KeyError, match="nothing called other.weight"):
        Net().load(state | {"other.weight": state["scale"]})
    Net().load({"scale": state["scale"], "other": state["scale"]}, strict=False)
    with pytest.raises(ValueError, match="scale has the shape"):
        Net().load(state | {"scale": hk.ones((3,))})
    with pytest.raises(ValueError):
        net.load(state | {"layers.0.weight": hk.ones((3, 3))})
    hk._core._failures_clear()


def test_a_parameter_is_set_by_its_name():
    layer = nn.Linear(2)
    layer.weight = array([[1, 2], [3, 4]])
    layer.bias = array([0, 1])
    assert layer(array([[1, 1]])).tolist() == [[3, 8]]
    assert layer.weight._has_grad()


def test_training_and_evaluation():
    net = nn.Sequential(nn.Linear(8), nn.Dropout(0.5), nn.BatchNorm())
    x = array(draw(16, 4))
    assert net.training
    net(x)
    moved = values(net[2].mean)
    assert np.abs(moved).sum() > 0
    assert net.eval() is net and not any(module.training for module in net.modules())
    assert net(x).tolist() == net(x).tolist()
    assert values(net[2].mean).tolist() == moved.tolist()
    net.train()
    assert net(x).tolist() != net(x).tolist()
    assert values(net[2].mean).tolist() != moved.tolist()


def test_build_changes_no_moving_average():
    net = nn.Sequential(nn.BatchNorm()).build((8, 3))
    assert net.training and values(net[0].mean).tolist() == [0] * 3


def test_freezing():
    net = Net().build((1, 5))
    net.layers[0].freeze()
    names = [name for name, _ in net.named_parameters()]
    assert "layers.0.weight" not in names and "layers.1.weight" in names
    net.freeze()
    assert net.parameters() == [] and list(net.state()) == NAMES
    net.freeze(False)
    assert [name for name, _ in net.named_parameters()] == [name for name in NAMES if name != "offset"]


def test_initial_values():
    hk.seed(1)
    net = nn.Sequential(nn.Linear(200, init=nn.init.constant(2)), nn.Linear(100)).build((1, 50))
    assert values(net[0].weight).min() == 2
    net.initialize(nn.init.normal(0.01))
    assert abs(values(net[0].weight).std() - .01) < .001 and abs(values(net[1].weight).std() - .01) < .001
    limit = (6 / 300) ** .5
    net.initialize(nn.init.xavier_uniform())
    assert .9 * limit < values(net[1].weight).max() <= limit
    x = nn.init.he_normal()((1000, 50))
    assert abs(values(x).std() - (2 / 50) ** .5) < .01
    net.initialize(nn.init.orthogonal()).initialize(nn.init.constant(3), name="bias")
    w = values(net[1].weight)
    np.testing.assert_allclose(w @ w.T, np.eye(100), atol=1e-4)
    assert values(net[0].bias).min() == 3
    assert repr(nn.init.normal(.5)) == "nn.init.normal(0.5)"


def test_replicas_are_copies_that_begin_alike():
    net = Net()
    x = array(draw(2, 5))
    first, second = net.replicas(["cpu:0", "cpu:0"])
    assert first(x).tolist() == second(x).tolist()
    first.scale[...] = 3
    first.layers[0].weight[...] = 0
    assert second.scale.tolist() == [1, 1] and second.scale._has_grad() and values(second.layers[0].weight).any()
    third = copy.deepcopy(second)
    assert third(x).tolist() == second(x).tolist() and third.layers[0] is not second.layers[0]


def test_text():
    net = nn.Sequential(nn.Conv2d(6, 5, padding=2), nn.ReLU(), nn.Flatten(), nn.Linear(10))
    assert repr(net).splitlines()[1] == "  (0): Conv2d(6, 5, padding=2)"
    lines = net.summary((1, 1, 8, 8)).splitlines()
    assert lines[1].split() == ["-", "Sequential", "(1,", "10)"]
    assert lines[2].split() == ["0", "Conv2d", "(1,", "6,", "8,", "8)", "156"]
    assert lines[-1].split() == ["sum", str(156 + 3850)]


def test_an_error_says_in_which_module():
    class Outer(nn.Module):
        def __init__(self):
            self.body = nn.Sequential(nn.Linear(4), nn.Linear(3))

        def forward(self, x):
            return self.body(x)

    net = Outer().build((1, 5))
    with pytest.raises(ValueError) as caught:
        net(hk.ones((1, 7)))
    assert "in body.0 (Linear)" in caught.value.__notes__
    assert caught.value.file == __file__
    with pytest.raises(ValueError) as caught:
        net.body[1](hk.ones((1, 7)))
    assert "in Linear" in caught.value.__notes__
    hk._core._failures_clear()


def test_modules_and_parameters_do_not_leak():
    def once():
        net = Net().build((1, 5))
        with hk.record():
            y = net(hk.ones((2, 5)))
        y.backward()
        optim.Adam(net).step()
        return weakref.ref(net), weakref.ref(net.layers[0])

    gc.disable()
    try:
        refs = [once() for _ in range(3)]
        hk.wait()
        used = hk.stats()["devices"]["cpu:0"]["used_bytes"]
        for _ in range(30):
            refs += once()
        hk.wait()
        assert hk.stats()["devices"]["cpu:0"]["used_bytes"] <= used
    finally:
        gc.enable()
    assert all(ref() is None for ref in refs[3:])


# ---- layers against formulas --------------------------------------------------------------------------------------


def test_linear():
    x = draw(3, 4)
    layer = nn.Linear(2).build((1, 4))
    np.testing.assert_allclose(values(layer(array(x))), x @ values(layer.weight).T + values(layer.bias), rtol=1e-5)
    assert list(nn.Linear(2, bias=False).build((1, 4)).state()) == ["weight"]


def test_convolution_and_pools():
    x = draw(2, 3, 6, 6)
    layer = nn.Conv2d(4, 3, stride=2, padding=1).build((1, 3, 6, 6))
    y = nn.functional.conv2d(array(x), layer.weight, layer.bias, stride=2, padding=1)
    assert y.shape == (2, 4, 3, 3) and layer(array(x)).tolist() == y.tolist()
    padded, w = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))), values(layer.weight)
    np.testing.assert_allclose(values(y)[1, 2, 1, 2], (padded[1, :, 2:5, 4:7] * w[2]).sum() + values(layer.bias)[2], rtol=1e-4)
    blocks = x.reshape(2, 3, 3, 2, 3, 2)
    np.testing.assert_allclose(values(nn.MaxPool2d(2)(array(x))), blocks.max((3, 5)))
    np.testing.assert_allclose(values(nn.AvgPool2d(2)(array(x))), blocks.mean((3, 5)), rtol=1e-5, atol=1e-6)
    assert nn.MaxPool2d(3, stride=1, padding=1)(array(x)).shape == x.shape
    np.testing.assert_allclose(values(nn.functional.max_pool2d(array(x), 2)), blocks.max((3, 5)))
    np.testing.assert_allclose(values(nn.GlobalAvgPool()(array(x))).reshape(2, 3), x.mean((2, 3)), rtol=1e-4, atol=1e-6)
    assert nn.Flatten()(array(x)).shape == (2, 108)


def test_convolutions_in_groups_of_sequences_and_transposed():
    x = draw(2, 4, 6, 5)
    layer = nn.Conv2d(6, (3, 2), groups=2, bias=False)
    assert layer(array(x)).shape == (2, 6, 4, 4) and layer.weight.shape == (6, 2, 3, 2)
    assert repr(layer) == "Conv2d(6, (3, 2), groups=2, bias=False)"
    layer = nn.Conv2dTranspose(3, 4, stride=2, padding=1)
    assert layer(array(x)).shape == (2, 3, 12, 10) and layer.weight.shape == (4, 3, 4, 4)
    layer, x = nn.Conv1d(3, 2, stride=2), draw(2, 4, 7)
    y = values(layer(array(x)))
    w = values(layer.weight)
    assert y.shape == (2, 3, 3)
    np.testing.assert_allclose(y[1, 2, 1], (x[1, :, 2:4] * w[2]).sum() + values(layer.bias)[2], rtol=1e-4)


def test_pools_of_sequences_and_to_a_size():
    x = draw(2, 3, 6)
    np.testing.assert_allclose(values(nn.MaxPool1d(2)(array(x))), x.reshape(2, 3, 3, 2).max(3))
    np.testing.assert_allclose(values(nn.AvgPool1d(3, stride=1)(array(x)))[..., 0], x[..., :3].mean(2), rtol=1e-4, atol=1e-6)
    x = draw(2, 3, 4, 6)
    line = x[:, :, 0]
    np.testing.assert_allclose(values(nn.AdaptiveAvgPool1d(3)(array(line))), line.reshape(2, 3, 3, -1).mean(3), rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(values(nn.AdaptiveMaxPool1d(3)(array(line))), line.reshape(2, 3, 3, -1).max(3), rtol=1e-6)
    np.testing.assert_allclose(values(nn.AdaptiveAvgPool2d((2, 3))(array(x))), x.reshape(2, 3, 2, 2, 3, 2).mean((3, 5)), rtol=1e-4,
                               atol=1e-6)
    np.testing.assert_allclose(values(nn.AdaptiveMaxPool2d(2)(array(x))), x.reshape(2, 3, 2, 2, 2, 3).max((3, 5)))
    np.testing.assert_allclose(values(nn.GlobalMaxPool()(array(x))).reshape(2, 3), x.max((2, 3)))


def test_norms_of_groups_and_several_axes():
    def normalised(x, axes):
        return (x - x.mean(axes, keepdims=True)) / np.sqrt(x.var(axes, keepdims=True) + 1e-5)

    x = draw(2, 4, 5)
    for layer, wanted in ((nn.LayerNorm(axes=2), normalised(x, (1, 2))), (nn.InstanceNorm(), normalised(x, (2,))),
                          (nn.GroupNorm(2), normalised(x.reshape(2, 2, 10), (2,)).reshape(2, 4, 5)),
                          (nn.RMSNorm(), x / np.sqrt((x * x).mean(2, keepdims=True) + 1e-5))):
        np.testing.assert_allclose(values(layer(array(x))), wanted, rtol=1e-3, atol=1e-5)
        assert set(layer.state()) <= {"gamma", "beta"}


def test_norms():
    x = draw(8, 5)
    y = values(nn.BatchNorm()(array(x)))
    np.testing.assert_allclose(y, (x - x.mean(0)) / np.sqrt(x.var(0) + 1e-5), rtol=1e-3, atol=1e-5)
    y = values(nn.LayerNorm()(array(x)))
    np.testing.assert_allclose(y, (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5), rtol=1e-3, atol=1e-5)
    mean, variance, one, zero = hk.zeros((5,)), hk.ones((5,)), hk.ones((5,)), hk.zeros((5,))
    nn.functional.batch_norm(array(x), one, zero, mean, variance, training=True)
    np.testing.assert_allclose(values(mean), x.mean(0) * .1, rtol=1e-4, atol=1e-6)
    y = nn.functional.batch_norm(array(x), one, zero, zero, one)
    np.testing.assert_allclose(values(y), x, rtol=1e-4)


def test_dropout():
    hk.seed(3)
    x = hk.ones((1000,))
    for y in (nn.Dropout(0.25)(x), nn.functional.dropout(x, 0.25)):
        kept = values(y)
        assert set(np.round(kept, 4)) == {0, 1.3333} and .7 < (kept > 0).mean() < .8
    assert nn.functional.dropout(x, 0.25, training=False) is x


def test_embedding_and_attention():
    layer = nn.Embedding(5, 3).build(hk.asarray([0]))
    index = hk.asarray([[1, 4], [0, 1]])
    np.testing.assert_allclose(values(layer(index)), values(layer.weight)[[[1, 4], [0, 1]]])
    np.testing.assert_allclose(values(nn.functional.embedding(index, layer.weight)), values(layer(index)))
    x = array(draw(2, 4, 6))
    layer = nn.Attention(8, 2, causal=True)
    assert layer(x).shape == (2, 4, 8)
    assert "query.weight" in layer.state()
    other = array(np.concatenate([draw(2, 4, 6)[:, :3], draw(2, 1, 6, seed=9)], 1))
    np.testing.assert_allclose(values(layer(x))[:, :3], values(layer(other))[:, :3], rtol=1e-5)
    query, key = array(draw(2, 3, 6)), array(draw(2, 5, 6, seed=1))
    assert nn.Attention(8, 2)(query, key, key).shape == (2, 3, 8)


@pytest.mark.parametrize("kind, states", [(nn.RNN, 1), (nn.GRU, 1), (nn.LSTM, 2)])
def test_recurrent_layers(kind, states):
    x = draw(2, 5, 3)
    layer = kind(4, whole_state=True)
    y = layer(array(x))
    assert y.shape == (2, 5, 4 * states)
    half = layer(array(x[:, :2]))
    rest = layer(array(x[:, 2:]), half[:, 1])
    np.testing.assert_allclose(values(rest), values(y)[:, 2:], rtol=1e-5, atol=1e-6)
    assert kind(4)(array(x)).shape == (2, 5, 4)


def test_residual():
    x = array(draw(2, 4))
    body = nn.Linear(4)
    np.testing.assert_allclose(values(nn.Residual(body)(x)), values(x) + values(body(x)), rtol=1e-6)
    net = nn.Residual(nn.Linear(3), nn.Linear(3)).build((1, 4))
    assert list(net.state()) == ["body.weight", "body.bias", "shortcut.weight", "shortcut.bias"]


@pytest.mark.parametrize("module, formula", [
    (nn.ReLU(), lambda x: np.maximum(x, 0)), (nn.Sigmoid(), lambda x: 1 / (1 + np.exp(-x))), (nn.Tanh(), np.tanh),
    (nn.SiLU(), lambda x: x / (1 + np.exp(-x))), (nn.Softplus(), lambda x: np.log1p(np.exp(x))),
    (nn.LeakyReLU(.2), lambda x: np.where(x > 0, x, .2 * x)), (nn.ELU(2.), lambda x: np.where(x > 0, x, 2 * np.expm1(x))),
    (nn.Softmax(), lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    (nn.LogSoftmax(0), lambda x: x - np.log(np.exp(x).sum(0))),
], ids=lambda value: type(value).__name__)
def test_activations(module, formula):
    x = draw(3, 4)
    np.testing.assert_allclose(values(module(array(x))), formula(x), rtol=1e-4, atol=1e-6)


# ---- losses ---------------------------------------------------------------------------------------------------------


def test_cross_entropy():
    x, labels = draw(4, 3), np.array([0, 2, 1, 1])
    each = np.log(np.exp(x).sum(1)) - x[range(4), labels]
    f = nn.functional.cross_entropy
    np.testing.assert_allclose(values(f(array(x), hk.asarray(labels))), each, rtol=1e-5)
    np.testing.assert_allclose(float(f(array(x), hk.asarray(labels), "mean")), each.mean(), rtol=1e-5)
    np.testing.assert_allclose(float(f(array(x), hk.asarray(labels), reduction="sum")), each.sum(), rtol=1e-5)
    with pytest.raises(ValueError, match="reduction is 'avg'"):
        f(array(x), hk.asarray(labels), "avg")
    with pytest.raises(IndexError):
        f(array(x), hk.asarray([0, 1, 2, 17])).tolist()
    hk._core._failures_clear()


def test_cross_entropy_in_full():
    x, labels, f = draw(4, 3), np.array([0, 2, 1, 1]), nn.functional.cross_entropy
    logs = x - np.log(np.exp(x).sum(1, keepdims=True))
    each = -logs[range(4), labels]
    weight = np.array([1, 2, 3], "float32")
    got = f(array(x), hk.asarray(labels), "mean", weight=array(weight))
    np.testing.assert_allclose(float(got), (each * weight[labels]).sum() / weight[labels].sum(), rtol=1e-5)
    np.testing.assert_allclose(float(f(array(x), hk.asarray(labels), "sum", ignore=1)), each[:2].sum(), rtol=1e-5)
    # PyTorch's name, and the index that is no class; what is ignored does not count in the mean.
    marked = hk.asarray(np.where(labels == 1, -100, labels))
    for loss, given in ((f, array(x)), (nn.functional.nll_loss, array(logs))):
        np.testing.assert_allclose(float(loss(given, marked, "mean", ignore_index=-100)), each[:2].mean(), rtol=1e-5)
        assert float(loss(given, hk.asarray(labels), "sum", ignore=1, ignore_index=1)) == float(loss(given, hk.asarray(labels), "sum", ignore=1))
        with pytest.raises(ValueError, match="ignore is 1 and ignore_index 2"):
            loss(given, marked, ignore=1, ignore_index=2)
    with pytest.raises(IndexError):
        f(array(x), marked).tolist()
    hk._core._failures_clear()
    got = f(array(x), hk.asarray(labels), label_smoothing=.3)
    np.testing.assert_allclose(values(got), .7 * each - .1 * logs.sum(1), rtol=1e-5)
    y = draw(2, 3, 4)
    got = f(array(y), hk.asarray([[0, 1, 2, 0]] * 2), axis=1)
    logs = y - np.log(np.exp(y).sum(1, keepdims=True))
    np.testing.assert_allclose(values(got)[1], [-logs[1, c, i] for i, c in enumerate([0, 1, 2, 0])], rtol=1e-4)
    np.testing.assert_allclose(float(nn.functional.nll_loss(array(logs[:, :, 0]), hk.asarray([1, 2]))), -(logs[0, 1, 0] + logs[1, 2, 0]) / 2,
                               rtol=1e-5)


def test_losses_of_distributions_and_vectors():
    p = np.array([[.2, .8], [.5, .5]], "float32")
    q = np.array([[.4, .6], [.1, .9]], "float32")
    F = nn.functional
    np.testing.assert_allclose(float(F.kl_divergence_loss(array(np.log(q)), array(p), "sum")), (p * np.log(p / q)).sum(), rtol=1e-4)
    np.testing.assert_allclose(values(F.binary_cross_entropy(array(q), array(p), "none")), -p * np.log(q) - (1 - p) * np.log(1 - q),
                               rtol=1e-4)
    a, b, c = (draw(3, 5, seed=i) for i in range(3))
    cosine = (a * b).sum(1) / np.sqrt((a * a).sum(1) * (b * b).sum(1))
    np.testing.assert_allclose(values(F.cosine_embedding_loss(array(a), array(b), array([1, -1, 1]), .1, "none")),
                               [1 - cosine[0], max(0, cosine[1] - .1), 1 - cosine[2]], rtol=1e-4, atol=1e-6)
    far = np.linalg.norm(a - b + 1e-6, axis=1) - np.linalg.norm(a - c + 1e-6, axis=1)
    np.testing.assert_allclose(values(F.triplet_margin_loss(array(a), array(b), array(c), 2, "none")), np.maximum(0, far + 2), rtol=1e-4)


def test_positions_masks_and_padding():
    x = draw(2, 4, 6)
    table = values(nn.functional.sinusoidal_positions(4, 6))
    np.testing.assert_allclose(table[2, :2], [np.sin(2), np.cos(2)], rtol=1e-5)
    np.testing.assert_allclose(values(nn.SinusoidalPositions()(array(x))), x + table, rtol=1e-5)
    layer = nn.LearnedPositions(9)
    np.testing.assert_allclose(values(layer(array(x))), x + values(layer.weight)[:4], rtol=1e-4, atol=1e-6)
    assert nn.functional.length_mask(hk.asarray([1, 3]), 3).tolist() == [[True, False, False], [True] * 3]
    assert values(nn.Embedding(5, 3, padding=1)(hk.asarray([1, 2])))[0].tolist() == [0, 0, 0]


def test_stacks_of_recurrent_layers():
    x = array(draw(2, 5, 3))
    assert nn.GRU(4, layers=2, bidirectional=True)(x).shape == (2, 5, 8)
    layer = nn.LSTM(4, layers=3, dropout=.2, final_state=True)
    assert layer(x).shape == (2, 24) and repr(layer) == "LSTM(4, layers=3, dropout=0.2, final_state=True)"
    y = values(nn.RNN(4)(x, None, hk.asarray([5, 2])))
    assert not y[1, 2:].any() and y[1, :2].all()
    with pytest.raises(ValueError, match="whole_state"):
        nn.RNN(4, layers=2, whole_state=True)


@pytest.mark.parametrize("name, formula", [
    ("mse_loss", lambda x, y: (x - y) ** 2), ("l1_loss", lambda x, y: abs(x - y)),
    ("huber_loss", lambda x, y: np.where(abs(x - y) < 1, .5 * (x - y) ** 2, abs(x - y) - .5)),
    ("binary_cross_entropy_with_logits", lambda x, y: np.log1p(np.exp(x)) - x * y),
    ("hinge_loss", lambda x, y: np.maximum(0, 1 - x * y)),
])
def test_losses(name, formula):
    x, y = draw(3, 4), np.sign(draw(3, 4, seed=1))
    y = (y + 1) / 2 if name.startswith("binary") else y
    loss = getattr(nn.functional, name)
    each = formula(x, y)
    np.testing.assert_allclose(float(loss(array(x), array(y))), each.mean(), rtol=1e-4)
    np.testing.assert_allclose(float(loss(array(x), array(y), reduction="sum")), each.sum(), rtol=1e-4)
    np.testing.assert_allclose(values(loss(array(x), array(y), reduction="none")), each, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("make", [
    lambda: nn.Linear(-1), lambda: nn.Linear("x"), lambda: nn.Conv2d(3, -1), lambda: nn.Dropout(1.5), lambda: nn.Attention(7, 2),
    lambda: nn.Linear(3, init=("bad", 0, 0)), lambda: nn.Linear(3, init=7), lambda: nn.Embedding(0, 3),
])
def test_layers_that_cannot_be_are_refused(make):
    with pytest.raises((ValueError, TypeError)):
        make()
    hk._core._failures_clear()


def test_pooling_of_windows_that_are_no_squares():
    x = hk.random.normal((2, 3, 6, 7))
    for cls in (nn.MaxPool2d, nn.AvgPool2d):
        assert hk.array_equal(cls((2, 2))(x), cls(2)(x))
        assert cls((2, 3), stride=(2, 3), padding=(0, 1))(x).shape == (2, 3, 3, 3)
        assert cls((1, 7))(x).shape == (2, 3, 6, 1) and repr(cls((2, 3), 1)) == f"{cls.__name__}((2, 3), stride=1)"
    assert hk.array_equal(nn.MaxPool2d((6, 1))(x)[:, :, 0], hk.max(x, axis=2))
    y = x.copy().attach_grad()
    with hk.record():
        nn.AvgPool2d((6, 7))(y).sum().backward()
    assert np.allclose(y.grad.numpy(), 1 / 42)


def test_layers_that_make_arrays_on_the_way_release_them():
    tokens, x = hk.asarray([[1, 2], [3, 4]]), hk.ones((2, 3, 4))
    calls = {
        "dropout": lambda layer=nn.Dropout(0.5): layer(x),
        "embedding": lambda layer=nn.Embedding(5, 4): layer(tokens),
        "gru": lambda layer=nn.GRU(4): layer(x),
        "positions": lambda: nn.functional.sinusoidal_positions(4, 6),
        "mask": lambda: nn.functional.length_mask(hk.asarray([1, 2]), 3),
        "draw": lambda: nn.init.orthogonal()((4, 6)),
    }
    for name, call in calls.items():
        used = []
        for _ in range(4):
            with hk.record():
                call()
            hk.wait()
            gc.collect()
            used.append(hk.stats()["devices"]["cpu:0"]["used_bytes"])
        assert used[1] >= used[3], name


class Odd(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Conv2d(3, 3), nn.BatchNorm(), nn.ReLU(), nn.MaxPool2d(2, ceil_mode=True), nn.Flatten())
        self.heads = {"a": nn.Linear(2), "b": [nn.Dropout(.5), nn.Linear(1, bias=False)]}
        self.scale, self.offset = nn.Parameter(hk.ones(2)), hk.zeros(2)

    def forward(self, x):
        return self.heads["a"](self.body(x)) * self.scale + self.offset


def test_pickles():
    net, x = Odd(), hk.random.normal((2, 1, 8, 8))
    net.heads["b"][1].initialize(nn.init.constant(3))
    net(x)
    net.body.freeze()
    net.eval()
    other = pickle.loads(pickle.dumps(net))
    assert other(x).tolist() == net(x).tolist() and not other.training
    assert [name for name, _ in other.named_parameters()] == [name for name, _ in net.named_parameters()]
    assert "scale" in dict(other.named_parameters()) and "offset" in other.state()
    assert other.heads["b"][1](hk.ones((1, 2))).tolist() == [[6]]  # not made yet when it was pickled
    other.body.freeze(False)
    assert "body.0.weight" in dict(other.named_parameters())


def made():
    net = nn.Sequential(nn.Conv2d(4, 3), nn.BatchNorm(), nn.Flatten(), nn.Linear(3))
    net(array(draw(5, 2, 6, 6)))
    return net


@pytest.mark.parametrize("again", [lambda net, path: pickle.loads(pickle.dumps(net)), lambda net, path: copy.deepcopy(net),
                                   lambda net, path: made_of(net).load(net.state()), lambda net, path: made_of(net).load(path),
                                   lambda net, path: made_of(net).load({name: x.astype("float16") for name, x in net.state().items()})])
def test_parameters_are_there_before_the_first_call(again, tmp_path):
    net, x = made(), array(draw(5, 2, 6, 6))
    with hk.record():
        net(x)  # which moves the averages of batch norm
    net.save(tmp_path / "net.safetensors")
    other = again(net, tmp_path / "net.safetensors")
    assert [(name, p.shape) for name, p in other.named_parameters()] == [(name, p.shape) for name, p in net.named_parameters()]
    assert not any(name.endswith(("mean", "variance")) for name, _ in other.named_parameters())
    np.testing.assert_allclose(values(other[1].mean), values(net[1].mean), rtol=1e-3)
    # An optimiser of them goes on with the same arrays.
    opt, before = optim.SGD(other.parameters(), lr=.1), values(other[3].weight)
    with hk.record():
        loss = (other(x) ** 2).sum()
    loss.backward()
    opt.step()
    assert [p is q or p._identity() == q._identity() for p, q in zip(opt.params, other.parameters())] == [True] * 6
    assert (values(other[3].weight) != before).any()


def made_of(net):
    return nn.Sequential(nn.Conv2d(4, 3), nn.BatchNorm(), nn.Flatten(), nn.Linear(3))


def test_parameters_that_were_asked_for_do_not_move():
    net = nn.Linear(2).load({"weight": np.ones((2, 3)), "bias": np.ones(2)})
    assert net(hk.ones((1, 3))).dtype == hk.float32  # nobody has asked
    net = nn.Linear(2).load({"weight": np.ones((2, 3)), "bias": np.ones(2)})
    assert len(net.parameters()) == 2
    with pytest.raises(hk.Error, match="weight is float64.2,3. on cpu:0 and has a gradient, but this first call needs float32"):
        net(hk.ones((1, 3)))
    frozen = nn.Linear(2).freeze().load({"weight": hk.ones((2, 3)), "bias": hk.ones(2)})
    assert frozen.parameters() == [] and len(frozen.freeze(False).parameters()) == 2


def line():
    return array([1, 2, 3])


def image():
    return array(draw(2, 3, 8, 8))


@pytest.mark.parametrize("call,name", [
    (lambda: nn.functional.conv2d(image(), hk.ones((4, 3, 3, 3)), stride=0), "stride"),
    (lambda: nn.functional.conv2d(image(), hk.ones((4, 3, 3, 3)), dilation=(1, 0)), "dilation"),
    (lambda: nn.functional.conv2d(image(), hk.ones((4, 3, 3, 3)), groups=0), "groups"),
    (lambda: nn.functional.max_pool2d(image(), 0), "kernel"), (lambda: nn.functional.avg_pool2d(image(), 2, 0), "stride"),
    (lambda: nn.functional.layer_norm(image(), axes=0), "axes"),
    (lambda: nn.Conv2d(4, 3, stride=0), "stride"), (lambda: nn.Conv2d(4, 0), "size"),
    (lambda: nn.Conv1d(4, 3, groups=0), "groups"), (lambda: nn.Conv2dTranspose(4, 3, dilation=0), "dilation"),
    (lambda: nn.MaxPool2d(0), "size"), (lambda: nn.AvgPool1d(2, 0), "stride"), (lambda: nn.AdaptiveAvgPool2d((0, 1)), "size"),
    (lambda: nn.LayerNorm(axes=0), "axes"), (lambda: nn.GroupNorm(0), "groups"),
    (lambda: nn.LSTM(3, layers=0), "layers"), (lambda: optim.SGD([line()], batch=0), "batch"), (lambda: optim.sgd([line()], .1, batch=0), "batch"),
    (lambda: optim.Adam([line()], batch=0), "batch"), (lambda: hk.data.cifar([], classes=0), "classes"),
])
def test_a_zero_that_is_said_is_not_taken_for_the_default(call, name):
    with pytest.raises(ValueError, match=name + r" is (0|0\.0|\(1, 0\)|\(0, 1\)), but must not be 0"):
        call()


def test_zeros_that_are_values():
    small = hk.asarray([[-1e-4, 1e-4]])
    for norm in (nn.functional.layer_norm, nn.functional.rms_norm):
        np.testing.assert_allclose(norm(small, eps=0).numpy(), [[-1, 1]], rtol=1e-5)
    for layer in (nn.LayerNorm(eps=0), nn.RMSNorm(eps=0.0)):
        np.testing.assert_allclose(layer(small).numpy(), [[-1, 1]], rtol=1e-5)
    mean, variance = hk.zeros(1), hk.ones(1)
    np.testing.assert_allclose(nn.functional.batch_norm(small.T, hk.ones(1), hk.zeros(1), mean, variance, True, momentum=0, eps=0).numpy(), [[-1], [1]], rtol=1e-5)
    assert mean.tolist() == [0] and variance.tolist() == [1]
    assert nn.functional.triplet_margin_loss(line(), line(), line(), margin=0.0).tolist() == 0
    assert nn.init.he_normal(0)((2, 3)).tolist() == [[0] * 3] * 2
    with pytest.raises(hk.Error, match="delta is 0, but"):
        nn.functional.huber_loss(line(), line(), delta=0)
    assert nn.functional.conv2d(image(), hk.ones((4, 3, 3, 3)), padding=0).shape == (2, 4, 6, 6)
    assert nn.Dropout(0)(line()) is not None and nn.LSTM(3, dropout=0) is not None and nn.Embedding(3, 2, padding=0) is not None
    assert nn.init.normal(0)((2,)).tolist() == [0, 0] and hk.data.Flip(0) is not None
    x, labels = draw(3, 2), hk.asarray([0, 2])
    for loss in (nn.functional.cross_entropy, nn.functional.nll_loss):
        assert values(loss(array(x), labels, "none", axis=0)).tolist() == values(loss(array(x.T), labels, "none")).tolist()


@pytest.mark.parametrize("make,right", [
    (lambda: nn.Linear(784, 256), "Linear(256)"), (lambda: nn.Conv2d(3, 8, 3), "Conv2d(8, 3)"), (lambda: nn.Conv1d(3, 8, 3), "Conv1d(8, 3)"),
    (lambda: nn.Conv2dTranspose(3, 8, 3), "Conv2dTranspose(8, 3)"), (lambda: nn.Conv2d(3, 8, 3, 2), "Conv2d(8, 3, stride=2)"),
    (lambda: nn.BatchNorm(64), "BatchNorm()"), (lambda: nn.LayerNorm(64), "LayerNorm()"), (lambda: nn.GroupNorm(4, 64), "GroupNorm(4)"),
    (lambda: nn.RMSNorm(64), "RMSNorm()"), (lambda: nn.InstanceNorm(64), "InstanceNorm()"), (lambda: nn.LSTM(10, 20), "LSTM(20)"),
    (lambda: nn.GRU(10, 20, 2), "GRU(20, layers=2)"), (lambda: nn.RNN(10, 20), "RNN(20)"),
])
def test_sizes_of_inputs_are_not_said(make, right):
    with pytest.raises(TypeError) as error:
        make()
    assert f"Hocket infers the inputs: {right}" in str(error.value)


def test_what_follows_the_sizes_is_by_name():
    with pytest.raises(TypeError, match="count, features can be given without names; by name: padding"):
        nn.Embedding(3, 4, 0)
    with pytest.raises(TypeError, match="by name: causal"):
        nn.Attention(8, 2, True)
    assert nn.Conv2d(size=3, channels=4).build((1, 2, 5, 5)).weight.shape == (4, 2, 3, 3)


@pytest.mark.parametrize("call,name", [
    (lambda: nn.functional.cross_entropy(hk.ones((2, 3)), hk.asarray([0, 7])), "cross_entropy: label"),
    (lambda: nn.functional.cross_entropy(hk.ones((2, 3)), hk.asarray([0, 7]), "mean", ignore=1), "cross_entropy: label"),
    (lambda: nn.functional.cross_entropy(hk.ones((2, 3)), hk.asarray([0, 7, 1]), "mean"), "cross_entropy: labels"),
    (lambda: nn.functional.cross_entropy(hk.ones((2, 3)), hk.ones((2,)), ignore=1), "cross_entropy: labels"),
    (lambda: nn.functional.nll_loss(hk.ones((2, 3)), hk.asarray([0, 7])), "nll_loss: label"),
    (lambda: hk.take(hk.ones(3), hk.asarray([5])), "take: indices"),
    (lambda: hk.take_along_axis(hk.ones(3), hk.asarray([5]), axis=0), "take_along_axis: indices"),
    (lambda: nn.Embedding(3, 2)(hk.asarray([5])), "take: indices"),
])
def test_errors_name_what_was_called(call, name):
    with pytest.raises(hk.Error, match=f"^{name}"):
        print(call())
    capture = hk.capture(call)
    with pytest.raises(hk.Error, match=f"^{name}"):
        print(capture())
        print(capture())


def test_averages_come_back_with_their_module():
    net = made()
    averages = optim.Averages(net, .5)
    net[3].bias[...] = 7
    averages.update()
    net_, averages_ = pickle.loads(pickle.dumps((net, averages)))
    assert [x.tolist() for x in averages_.arrays] == [x.tolist() for x in averages.arrays]
    with averages_:
        assert net_[3].bias.tolist() == averages.arrays[-1].tolist()
    fresh = optim.Averages(made_of(net))
    assert fresh.arrays == []
    with pytest.raises(ValueError, match="still to be made"):
        fresh.update()


def test_a_module_among_its_own_parts():
    net = Odd()
    net.me = net
    assert repr(net).endswith("(me): Odd(…)\n)") and len(net.modules()) == 10


def test_what_does_not_fit_is_not_loaded_at_all():
    net = nn.Sequential(nn.Linear(3), nn.Linear(2)).build((1, 4))
    state = {name: np.zeros(array.shape, "float32") for name, array in net.state().items()}
    before = net.state()["0.weight"].tolist()
    with pytest.raises(ValueError, match=r"1.bias has the shape \(2,\), and what is loaded \(7,\)"):
        net.load({**state, "1.bias": hk.ones(7)})
    assert net.state()["0.weight"].tolist() == before
    assert net.load(state)(hk.ones((1, 4))).tolist() == [[0, 0]]  # of NumPy's arrays


def test_layers_take_what_others_hold_and_count_their_inputs():
    layer = nn.Linear(2)
    assert layer(np.ones((1, 3), "float32")).shape == layer([[1.0, 2.0, 3.0]]).shape == (1, 2)
    layer.weight = np.ones((2, 3), "float32")
    layer.bias = [0.0, 1.0]
    assert layer(hk.ones((1, 3))).tolist() == [[3, 4]] and isinstance(layer.weight, hk.Array)
    for inputs in ((), (None,), (hk.ones((1, 3)), hk.ones(3))):
        with pytest.raises(TypeError, match="Linear takes an Array, not"):
            layer(*inputs)
    with pytest.raises(TypeError, match=r"class ReLU; ReLU\(…\) makes"):
        nn.Sequential(nn.Linear(2), nn.ReLU)
    with pytest.raises(TypeError, match="a module or a function, not 3"):
        nn.Sequential(3)
