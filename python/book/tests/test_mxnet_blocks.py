"""Blocks of the dialect of MXNet: how parameters begin, are shared and are saved."""
import json
import warnings

import numpy
import pytest

import hocket as hk

hk.runtime(cpu_devices=1, sim=2)
warnings.simplefilter("ignore")
from hocket.mxnet import autograd, gluon, init, np, npx  # noqa: E402
from hocket.mxnet.gluon import nn  # noqa: E402


def mlp(*devices):
    net = nn.Sequential()
    net.add(nn.Dense(4, activation="relu"), nn.Dense(2))
    net.initialize(init.Normal(0.1), ctx=list(devices) or None)
    return net


def test_parameters_begin_anew_where_that_is_forced():
    net = mlp(npx.gpu(0), npx.gpu(1))
    net(np.ones((1, 3), ctx=npx.gpu(0)))
    net.initialize(init.Constant(2))  # they are there already
    assert abs(net[0].weight.data(npx.gpu(0))).max() < 1
    net.initialize(init.Constant(2), ctx=[npx.gpu(0), npx.gpu(1)], force_reinit=True)
    assert net[0].weight.data(npx.gpu(1)).tolist() == [[2] * 3] * 4 and net[0].bias.data(npx.gpu(1)).tolist() == [0] * 4
    net[1].weight.initialize(init.Constant(5), force_reinit=True)
    assert net[1].weight.data(npx.gpu(0)).tolist() == net[1].weight.data(npx.gpu(1)).tolist() == [[5] * 4] * 2
    assert net[0].weight.data(npx.gpu(0)).tolist() == [[2] * 3] * 4


def test_one_parameter_begins_otherwise():
    net = nn.Dense(2)
    net.initialize(init.Constant(1))
    net.bias.initialize(init.Constant(7))
    assert net(np.ones((1, 3))).tolist() == [[10, 10]]


class Stripes(init.Initializer):
    def _init_weight(self, name, data):
        data[:] = np.arange(data.shape[-1])
        data *= data >= 1
        Stripes.seen.append((name, data.shape))


def test_an_initialiser_of_ones_own_begins_the_weights():
    Stripes.seen = []
    net = mlp()
    net.initialize(Stripes(), force_reinit=True)
    assert net(np.ones((1, 3))).shape == (1, 2) and net[0].weight.data().tolist() == [[0, 1, 2]] * 4
    net.initialize(Stripes(), force_reinit=True)
    assert net[0].bias.data().tolist() == [0] * 4 and Stripes.seen == [("weight", (4, 3)), ("weight", (2, 4))] * 2
    with autograd.record():
        l = net(np.ones((1, 3))).sum()
    l.backward()
    assert net[0].weight.grad().shape == (4, 3)


def test_layers_may_share_their_parameters():
    shared = nn.Dense(3)
    net = nn.Sequential()
    net.add(nn.Dense(3), shared, nn.Dense(3, params=shared.params))
    net.initialize(init.Normal(1))
    x = np.ones((1, 3))
    with autograd.record():
        l = net(x).sum()
    l.backward()
    assert net[1].weight is net[2].weight and set(net.collect_params()) == {"0.weight", "0.bias", "1.weight", "1.bias"}
    w, before = net[1].weight.data(), net[1].weight.data().asnumpy().copy()
    hidden = net[0](x)
    wanted = numpy.outer(numpy.ones(3), net[1](hidden).asnumpy()) + numpy.outer(before.sum(0), hidden.asnumpy())
    assert numpy.allclose(w.grad.asnumpy(), wanted, atol=1e-4)
    gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1}).step(1)
    assert numpy.allclose(w.asnumpy(), before - w.grad.asnumpy(), atol=1e-5)
    with pytest.raises(ValueError, match="they are to be another Dense's"):
        nn.Dense(3, params=nn.Dense(3, use_bias=False).params)


def test_constants_do_not_train():
    class Fixed(nn.Block):
        def __init__(self):
            super().__init__()
            self.fixed = self.params.get_constant("fixed", np.array([2, 3]))
            self.dense = nn.Dense(2)

        def forward(self, x):
            return self.dense(x) * self.fixed.data(x.ctx)

    net = Fixed()
    net.initialize(init.Constant(1), ctx=npx.gpu(1))
    with autograd.record():
        l = net(np.ones((1, 2), ctx=npx.gpu(1))).sum()
    l.backward()
    assert net.fixed.grad_req == "null" and net.dense.weight.grad_req == "write" and float(l) == 10
    gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1, "wd": 0.1}).step(1)
    assert net.fixed.data().tolist() == [2, 3] and net.dense.weight.data().tolist() != [[1, 1]] * 2


def test_blocks_by_name_are_parts():
    class Chain(nn.Block):
        def add(self, block):
            self._children[block.name] = block

        def forward(self, x):
            for block in self._children.values():
                x = block(x)
            return x

    net = Chain()
    net.add(nn.Dense(3))
    net.add(nn.Dense(2))
    net.register_child(nn.Dense(1), "last")
    net.initialize()
    names = list(net._children)
    assert net(np.ones((1, 4))).shape == (1, 1) and len(set(names)) == 3 and names[2] == "last"
    assert len(net.collect_params()) == 6 and f"{names[0]}.weight" in net.collect_params()


def test_parameters_in_files(tmp_path):
    class Scaled(nn.Block):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=(2,))
            self.body = nn.Sequential()
            self.body.add(nn.Dense(3), nn.BatchNorm(), nn.Dense(2))

        def forward(self, x):
            return self.body(x) * self.scale.data(x.ctx)

    net, path, x = Scaled(), tmp_path / "net.params", np.random.normal(size=(8, 4))
    net.initialize()
    with pytest.raises(RuntimeError, match="no parameters yet"):
        net.save_parameters(path)
    with autograd.record():
        net(x)
    y = net(x)
    net.save_parameters(path)
    for other, devices in ((Scaled(), None), (Scaled(), [npx.gpu(0), npx.gpu(1)])):
        other.load_parameters(path, ctx=devices)
        for device in devices or [npx.cpu()]:
            assert other(x.as_in_ctx(device)).tolist() == y.tolist()
    net.load_parameters(path)
    with autograd.record():
        l = net(x).sum()
    l.backward()
    assert net.scale.grad().shape == (2,) and net.body[0].weight.grad().shape == (3, 4)
    npx.save(path, npx.load(path) | {"more": x})
    with pytest.raises(KeyError, match="nothing called more, which"):
        net.load_parameters(path)
    deeper = Scaled()
    deeper.body.add(nn.Dense(2))
    with pytest.raises(KeyError, match=r"lacks body\.3\.bias, body\.3\.weight"):
        deeper.load_parameters(path)


def test_files_of_arrays_lists_and_dicts(tmp_path):
    path = str(tmp_path / "values")
    npx.save(path, np.arange(3))
    assert npx.load(path).tolist() == [0, 1, 2]
    npx.save(path, [np.arange(2), np.ones(1)])
    a, b = npx.load(path)
    assert a.tolist() == [0, 1] and b.tolist() == [1]
    npx.save(path, {"x": a})
    assert npx.load(path)["x"].tolist() == [0, 1]


def test_what_does_not_train_begins_as_it_is_told():
    """set_data before the first call, and grad_req, as where vectors of words are given."""
    devices, vectors = [npx.gpu(0), npx.gpu(1)], np.arange(12).reshape(4, 3)
    net = nn.Sequential()
    net.add(nn.Embedding(4, 3), nn.Dense(2))
    net.initialize(init.Normal(0.1), ctx=devices)
    net[0].weight.set_data(vectors)
    net[0].collect_params().setattr("grad_req", "null")
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.5})
    words = [np.array([[0, 2], [1, 3]], ctx=device) for device in devices]
    with autograd.record():
        losses = [net(x).sum() for x in words]
    for loss in losses:
        loss.backward()
    before = net[1].weight.data(devices[1]).asnumpy().copy()
    trainer.step(4)
    for device in devices:
        assert net[0].weight.data(device).tolist() == vectors.tolist()
        assert (net[1].weight.data(device).asnumpy() != before).all()
    assert net[0].weight.grad_req == "null" and net[1].weight.grad_req == "write"
    net[0].weight.grad_req = "write"
    with autograd.record():
        losses = [net(x).sum() for x in words]
    for loss in losses:
        loss.backward()
    trainer.step(4)
    assert (net[0].weight.data(devices[1]) != vectors.as_in_ctx(devices[1])).any()
    with pytest.raises(ValueError, match="grad_req is 'often'; there are"):
        net[0].weight.grad_req = "often"
    other = nn.Embedding(4, 3)
    other.initialize()
    other.weight.set_data(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"weight is \(4, 3\), and what it is to begin with \(2, 2\)"):
        other(np.zeros((1, 1)))


def test_blocks_that_say_hybrid_forward():
    class Scaled(nn.HybridBlock):
        def __init__(self):
            super().__init__()
            self.inner = nn.Dense(2, use_bias=False)
            self.scale = self.params.get("scale", shape=(2,), init=init.Constant(3))

        def hybrid_forward(self, F, x, scale):
            return F.npx.relu(self.inner(x)) * F.np.abs(scale)

    net = Scaled()
    net.initialize(init.One())
    net.scale.initialize(init.Constant(-3), force_reinit=True)
    net.hybridize()
    assert net(np.ones((1, 4))).tolist() == [[12, 12]]
    with pytest.raises(NotImplementedError, match="Block has no forward"):
        nn.Block()(np.ones(1))


def test_a_block_is_exported(tmp_path):
    net = mlp()
    with pytest.raises(RuntimeError, match="0 has no parameters yet: call the block once before export"):
        net.export(str(tmp_path / "mlp"))
    net.hybridize()
    given = np.ones((2, 3))
    told = net(given).tolist()
    described, kept = net.export(str(tmp_path / "mlp"), epoch=3)
    assert kept.endswith("mlp-0003.params")
    with open(described, encoding="utf-8") as file:
        nodes = json.load(file)["nodes"]
    assert nodes[0] == {"op": "Dense", "name": "0", "arrays": {"weight": [4, 3], "bias": [4]}} and nodes[1]["arrays"]["weight"] == [2, 4]
    other = mlp()
    other.load_parameters(kept)
    assert other(given).tolist() == told
