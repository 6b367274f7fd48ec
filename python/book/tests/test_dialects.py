"""The dialect of PyTorch: cells in the style of its chapters, on two simulated accelerators."""
import inspect
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import hocket as hk

hk.runtime(cpu_devices=1, sim=2)
from hocket import torch  # noqa: E402
import helpers as d2l  # noqa: E402

nn, F = torch.nn, torch.nn.functional


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture(scope="module")
def fashion():
    try:
        return d2l.load_data_fashion_mnist(256)
    except FileNotFoundError as error:
        pytest.skip(str(error))


def test_losses_of_labels_take_pytorchs_arguments():
    """weight, ignore_index and label_smoothing, by the formulas."""
    x, labels = torch.tensor([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]]), torch.tensor([1, -100])
    first = np.log(np.exp([1.0, 2.0, 0.5]).sum()) - np.array([1.0, 2.0, 0.5])
    for loss in (nn.CrossEntropyLoss(ignore_index=-100), lambda x, y: nn.NLLLoss(ignore_index=-100)(F.log_softmax(x, dim=1), y)):
        np.testing.assert_allclose(float(loss(x, labels)), first[1], rtol=1e-5)
    weight = torch.tensor([1.0, 5.0, 1.0])
    got = nn.CrossEntropyLoss(weight, ignore_index=-100, reduction="sum", label_smoothing=0.3)(x, labels)
    np.testing.assert_allclose(float(got), 0.7 * 5 * first[1] + 0.1 * (first * [1, 5, 1]).sum(), rtol=1e-5)
    with pytest.raises(IndexError):
        float(nn.CrossEntropyLoss()(x, labels))
    hk._core._failures_clear()


# ---- arrays ------------------------------------------------------------------------------------------------------


def test_importing_records_and_no_grad_does_not():
    x = torch.ones(2, 3, requires_grad=True)
    y = (x * x).sum()
    y.backward()
    (2 * x).sum().backward()
    assert x.grad.tolist() == [[4.0] * 3] * 2 and x.requires_grad and not y.requires_grad
    x.grad.zero_()
    with torch.no_grad():
        z = x * 2
        x -= 0.5
    assert x.grad.sum() == 0 and x.tolist() == [[0.5] * 3] * 2
    with pytest.raises(ValueError):
        z.sum().backward()


def test_making():
    assert torch.arange(4).dtype == torch.int64 and torch.arange(0, 1, 0.25).tolist() == [0, .25, .5, .75]
    assert torch.zeros((2, 3)).shape == torch.zeros(2, 3).shape == torch.rand(size=(2, 3)).shape == (2, 3)
    assert torch.tensor([1, 2]).dtype == torch.int64 and torch.tensor([1., 2]).dtype == torch.float32
    assert torch.normal(0, 1, (2, 2)).shape == (2, 2) and int(torch.randint(0, 3, (100,)).max()) == 2
    x = np.ones(3)
    y = torch.tensor(x)
    x[0] = 5
    assert y.tolist() == [1, 1, 1]


def test_methods():
    x = torch.arange(6).reshape(2, 3).type(torch.float32)
    assert x.sum(dim=1).tolist() == x.sum(axis=1).tolist() == x.sum(1).tolist() == [3, 12]
    assert x.sum(1, keepdim=True).shape == (2, 1) and x.mean().item() == 2.5 and x.argmax(dim=1).tolist() == [2, 2]
    assert x.view(3, 2).shape == x.reshape(-1, 2).shape == x.t().shape == (3, 2) and x.numel() == 6 and x.dim() == 2
    assert x.unsqueeze(0).shape == (1, 2, 3) and torch.cat([x, x], 0).shape == (4, 3) and x.T.mm(x).shape == (3, 3)
    assert x.long().dtype == torch.int64 and x.exp().log().tolist()[1][2] == pytest.approx(5)
    x[:] = x + 1
    x[0, :] += 1
    assert x.tolist() == [[2, 3, 4], [4, 5, 6]] and x.clone().zero_().sum() == 0 and float(x.sum()) == 24


def test_devices_that_stand_for_gpus():
    with pytest.warns(RuntimeWarning, match="there is no GPU: sim:0, sim:1 stand for GPUs") as caught:
        torch.device("cuda:1")
        torch.device("cuda:0")
        x = torch.zeros(2, device="cuda:0")
    assert len(caught) == 1 and caught[0].filename == __file__
    assert x.device == "sim:0" and x.cpu().device == "cpu:0" and x.cuda(1).device == "sim:1" and x.to(d2l.try_gpu(5)).device == "cpu:0"
    assert [str(device) for device in d2l.try_all_gpus()] == ["sim:0", "sim:1"] and torch.cuda.is_available()
    with pytest.raises(RuntimeError, match="cuda:7 is not there"):
        torch.device("cuda:7")
    assert "simulated" in torch.cuda.get_device_name(0)


@pytest.mark.parametrize("environment, wanted", [({}, "cpu:0 1"), ({"HOCKET_CPUS": "2"}, "cpu:0 2"), ({"HOCKET_SIM": "2"}, "sim:0 2")])
def test_what_stands_for_gpus_follows_from_the_environment(environment, wanted):
    code = "from hocket import torch; print(torch.device('cuda'), torch.cuda.device_count())"
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, env=os.environ | environment)
    assert done.stdout.strip() == wanted, done.stderr


# ---- asynchronous computation -----------------------------------------------------------------------------------


def test_cells_of_asynchronous_computation():
    device = d2l.try_gpu()
    a = torch.randn(size=(200, 200), device=device)
    b = torch.mm(a, a)
    for _ in range(3):
        a = torch.randn(size=(200, 200), device=device)
        b = torch.mm(a, a)
    torch.cuda.synchronize(device)
    x = torch.ones((1, 2), device=device)
    y = torch.ones((1, 2), device=device)
    z = x * y + 2
    assert z.tolist() == [[3, 3]] and b.device == device


def test_cells_of_automatic_parallelism():
    devices = d2l.try_all_gpus()

    def run(x):
        return [x.mm(x) for _ in range(4)]

    x_gpu1 = torch.rand(size=(100, 100), device=devices[0])
    x_gpu2 = torch.rand(size=(100, 100), device=devices[1])
    run(x_gpu1)
    run(x_gpu2)
    torch.cuda.synchronize(devices[0])
    torch.cuda.synchronize(devices[1])

    def copy_to_cpu(x, non_blocking=False):
        return [y.to("cpu", non_blocking=non_blocking) for y in x]

    y = run(x_gpu1)
    y_cpu = copy_to_cpu(y, True)
    torch.cuda.synchronize()
    assert y_cpu[0].device == "cpu:0" and y_cpu[3].tolist() == y[3].cpu().tolist()


# ---- several devices, from scratch ------------------------------------------------------------------------------------


def lenet_params():
    scale = 0.05
    shapes = [(20, 1, 3, 3), 20, (50, 20, 5, 5), 50, (800, 128), 128, (128, 10), 10]
    return [torch.zeros(shape) if isinstance(shape, int) else torch.randn(size=shape) * scale for shape in shapes]


def lenet(X, params):
    h1_conv = F.conv2d(input=X, weight=params[0], bias=params[1])
    h1 = F.avg_pool2d(input=F.relu(h1_conv), kernel_size=(2, 2), stride=(2, 2))
    h2_conv = F.conv2d(input=h1, weight=params[2], bias=params[3])
    h2 = F.avg_pool2d(input=F.relu(h2_conv), kernel_size=(2, 2), stride=(2, 2))
    h2 = h2.reshape(h2.shape[0], -1)
    h3 = F.relu(torch.mm(h2, params[4]) + params[5])
    return torch.mm(h3, params[6]) + params[7]


def get_params(params, device):
    new_params = [p.to(device) for p in params]
    for p in new_params:
        p.requires_grad_()
    return new_params


def allreduce(data):
    for i in range(1, len(data)):
        data[0][:] += data[i].to(data[0].device)
    for i in range(1, len(data)):
        data[i][:] = data[0].to(data[i].device)


def test_cells_of_several_devices_from_scratch(fashion):
    loss = nn.CrossEntropyLoss(reduction="none")
    params = lenet_params()
    new_params = get_params(params, d2l.try_gpu(0))
    assert new_params[1].grad.tolist() == [0] * 20 and new_params[1].device == "sim:0"

    data = [torch.ones((1, 2), device=d2l.try_gpu(i)) * (i + 1) for i in range(2)]
    allreduce(data)
    assert data[0].tolist() == data[1].tolist() == [[3, 3]]

    devices = [torch.device("cuda:0"), torch.device("cuda:1")]
    split = nn.parallel.scatter(torch.arange(20).reshape(4, 5), devices)
    assert [str(x.device) for x in split] == ["sim:0", "sim:1"] and split[1].tolist() == [[10, 11, 12, 13, 14], [15, 16, 17, 18, 19]]

    def train_batch(X, y, device_params, devices, lr):
        X_shards, y_shards = d2l.split_batch(X, y, devices)
        ls = [loss(lenet(X_shard, device_W), y_shard).sum()
              for X_shard, y_shard, device_W in zip(X_shards, y_shards, device_params)]
        for l in ls:
            l.backward()
        with torch.no_grad():
            for i in range(len(device_params[0])):
                allreduce([device_params[c][i].grad for c in range(len(devices))])
        for param in device_params:
            d2l.sgd(param, lr, X.shape[0])
        return ls

    def train(num_gpus, batches):
        devices = [d2l.try_gpu(i) for i in range(num_gpus)]
        device_params = [get_params(params, device) for device in devices]
        losses = []
        for (X, y), _ in zip(fashion[0], range(batches)):
            ls = train_batch(X, y, device_params, devices, 0.2)
            losses.append(sum(float(l) for l in ls) / X.shape[0])
        torch.cuda.synchronize()
        return losses, device_params

    fashion[0].epoch = 0
    alone, _ = train(1, 6)
    fashion[0].epoch = 0
    together, device_params = train(2, 6)
    np.testing.assert_allclose(together, alone, rtol=1e-4)
    assert alone[-1] < alone[0] and device_params[0][0].tolist() == device_params[1][0].tolist()
    small = ([(X[:64], y[:64])] for X, y in fashion[1])
    assert 0 <= d2l.accuracy_of(lambda x: lenet(x, device_params[0]), next(small), devices[0]) <= 1


# ---- several devices, concisely -------------------------------------------------------------------------------------------


def resnet(num_classes, in_channels=1):
    def resnet_block(in_channels, out_channels, num_residuals, first_block=False):
        blk = []
        for i in range(num_residuals):
            if i == 0 and not first_block:
                blk.append(d2l.Residual(in_channels, out_channels, use_1x1conv=True, strides=2))
            else:
                blk.append(d2l.Residual(out_channels, out_channels))
        return nn.Sequential(*blk)

    net = nn.Sequential(nn.Conv2d(in_channels, 4, kernel_size=3, stride=1, padding=1), nn.BatchNorm2d(4), nn.ReLU())
    net.add_module("resnet_block1", resnet_block(4, 4, 2, first_block=True))
    net.add_module("resnet_block2", resnet_block(4, 8, 2))
    net.add_module("global_avg_pool", nn.AdaptiveAvgPool2d((1, 1)))
    net.add_module("fc", nn.Sequential(nn.Flatten(), nn.Linear(8, num_classes)))
    return net


def test_cells_of_several_devices_concisely(fashion):
    def init_weights(m):
        if type(m) in [nn.Linear, nn.Conv2d]:
            nn.init.normal_(m.weight, std=0.05)

    def train(num_gpus, lr=0.1):
        torch.manual_seed(5)
        net = resnet(10)
        devices = [d2l.try_gpu(i) for i in range(num_gpus)]
        net.apply(init_weights)
        net = nn.DataParallel(net, device_ids=devices)
        trainer = torch.optim.SGD(net.parameters(), lr)
        loss = nn.CrossEntropyLoss()
        losses = []
        fashion[0].epoch = 0
        for (X, y), _ in zip(fashion[0], range(4)):
            net.train()
            trainer.zero_grad()
            X, y = X[:32, :, ::2, ::2].to(devices[0]), y[:32].to(devices[0])
            l = loss(net(X), y)
            l.backward()
            trainer.step()
            losses.append(float(l))
        return losses, net

    two, net = train(2)
    one, _ = train(1)
    assert two[0] == pytest.approx(one[0], rel=.05) and len(net.parameters()) == len(resnet(10).parameters())  # batch norm of parts
    net.eval()
    assert d2l.accuracy_of(net, [(X[:16], y[:16]) for (X, y), _ in zip(fashion[1], range(1))], "cuda:0") <= 1


def test_data_parallel_sums_gradients_exactly():
    net = nn.Sequential(nn.Linear(5, 4), nn.ReLU(), nn.Linear(4, 3))
    twin = net.replicate("cuda:0")
    both = nn.DataParallel(net, device_ids=[0, 1])
    loss = nn.CrossEntropyLoss(reduction="none")
    trainers = [torch.optim.SGD(model.parameters(), .1) for model in (both, twin)]
    for _ in range(3):
        X, y = torch.randn(8, 5, device="cuda:0"), torch.randint(0, 3, (8,), device="cuda:0")
        for model, trainer in zip((both, twin), trainers):
            trainer.zero_grad()
            loss(model(X), y).sum().backward()
            trainer.step()
    for mine, its in zip(both.parameters(), twin.parameters()):
        np.testing.assert_allclose(mine.cpu().tolist(), its.cpu().tolist(), rtol=1e-5, atol=1e-6)


def test_data_parallel_of_frozen_parts():
    """What wants no gradients is in no replica's sums: before the first call, and after it."""
    net = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 5), nn.Linear(5, 2))
    for p in net[0].parameters():
        p.requires_grad = False
    both = nn.DataParallel(net, device_ids=[0, 1])
    for frozen in (1, 2):
        kept = [p.tolist() for part in net[:frozen] for p in part.state().values()]
        trainer = torch.optim.SGD([p for p in both.parameters() if p.requires_grad], .1)
        assert len(trainer.params) == 6 - 2 * frozen
        X = torch.randn(8, 3, device="cuda:0")
        trainer.zero_grad()
        both(X).sum().backward()
        expected = 8.0
        assert net[2].bias.grad.tolist() == [expected] * 2
        trainer.step()
        assert [p.tolist() for part in net[:frozen] for p in part.state().values()] == kept
        for p in net[1].parameters():
            p.requires_grad = False


def test_gradients_are_added_until_they_are_zeroed():
    for layer in (nn.Linear(3, 2), nn.LazyLinear(2)):
        x = torch.ones(1, 3)
        layer(x)
        for _ in range(2):
            layer(x).sum().backward()
        assert layer.bias.grad.tolist() == [2, 2]
        torch.optim.Adam(layer.parameters()).zero_grad()
        assert layer.bias.grad.tolist() == [0, 0]


# ---- linear regression, perceptrons, LeNet ----------------------------------------------------------------------------------


def test_cells_of_linear_regression_from_scratch():
    true_w, true_b = torch.tensor([2, -3.4]), 4.2
    features, labels = d2l.synthetic_data(true_w, true_b, 500)
    w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
    b = torch.zeros(1, requires_grad=True)
    for _ in range(3):
        for X, y in d2l.load_array((features, labels), 10):
            l = (X @ w + b - y) ** 2 / 2
            l.sum().backward()
            d2l.sgd([w, b], 0.05, 10)
    assert abs(true_w - w.reshape(true_w.shape)).max() < .02 and abs(true_b - float(b)) < .02


def test_cells_of_linear_regression_concisely():
    features, labels = d2l.synthetic_data(torch.tensor([2, -3.4]), 4.2, 500)
    net = nn.Sequential(nn.Linear(2, 1))
    net[0].weight.data.normal_(0, 0.01)
    net[0].bias.data.fill_(0)
    loss, trainer = nn.MSELoss(), torch.optim.SGD(net.parameters(), lr=0.03)
    for epoch in range(3):
        for X, y in d2l.load_array((features, labels), 10):
            l = loss(net(X), y)
            trainer.zero_grad()
            l.backward()
            trainer.step()
    assert float(loss(net(features), labels)) < 1e-3
    assert np.allclose(net[0].weight.data.tolist(), [[2, -3.4]], atol=.02)


def test_names_are_documented():
    for module in (torch, nn.parallel, torch.cuda):
        assert inspect.getdoc(module), module


def test_pools_that_round_sizes_up():
    import hocket.torch as torch
    from hocket.torch import nn
    from hocket.torch.nn import functional as F
    x = torch.arange(25, dtype=torch.float32).reshape(1, 1, 5, 5)
    up = [[6, 8, 9], [16, 18, 19], [21, 23, 24]]
    for y in (nn.MaxPool2d(2, ceil_mode=True)(x), F.max_pool2d(x, 2, ceil_mode=True), nn.MaxPool2d((2, 2), ceil_mode=True)(x)):
        assert y[0, 0].tolist() == up
    assert nn.MaxPool2d(2)(x).shape == (1, 1, 2, 2) and "ceil_mode" in repr(nn.MaxPool2d(2, ceil_mode=True))
    for y in (nn.AvgPool2d(2, ceil_mode=True)(x), F.avg_pool2d(x, 2, ceil_mode=True)):
        assert y[0, 0].tolist() == [[3, 5, 6.5], [13, 15, 16.5], [20.5, 22.5, 24]]


def test_means_of_windows_count_padding_as_the_originals_do():
    import hocket.torch as torch
    from hocket.mxnet import np, npx
    from hocket.mxnet.gluon import nn as gluon
    from hocket.torch import nn
    from hocket.torch.nn import functional as F
    x, counted = torch.ones(1, 1, 4, 4), [[4 / 9, 6 / 9], [6 / 9, 1]]
    pool = gluon.AvgPool2D(3, 2, 1)
    pool.initialize()
    for y in (nn.AvgPool2d(3, 2, 1)(x), F.avg_pool2d(x, 3, 2, 1), pool(np.ones((1, 1, 4, 4))),
              npx.pooling(np.ones((1, 1, 4, 4)), (3, 3), "avg", (2, 2), (1, 1))):
        np_y = y.numpy() if hasattr(y, "numpy") else y.asnumpy()
        assert abs(np_y[0, 0] - counted).max() < 1e-6
    for y in (nn.AvgPool2d(3, 2, 1, count_include_pad=False)(x), F.avg_pool2d(x, 3, 2, 1, count_include_pad=False)):
        assert y[0, 0].tolist() == [[1, 1], [1, 1]]
