"""What the book's later chapters use of MXNet: names, how arrays look, learning rates, metrics, images, networks."""
import math

import numpy
import pytest

from hocket import mxnet as mx
from hocket.mxnet import autograd, gluon, init, lr_scheduler, metric, np, npx
from hocket.mxnet.gluon import nn


def test_how_arrays_look():
    assert repr(np.ones(2)) == "array([1., 1.])" and repr(np.array([1, 2], dtype="int32")) == "array([1, 2], dtype=int32)"
    assert repr(np.array([1, 2], dtype=int)) == "array([1, 2], dtype=int64)" and str(np.arange(3)) == "[0. 1. 2.]"


def test_functions():
    assert np.sort(np.array([[3, 1], [2, 0]]), axis=None).tolist() == [0, 1, 2, 3] and np.argsort(np.array([2, 1])).tolist() == [1, 0]
    assert np.diag(np.array([1, 2]), k=1).tolist() == [[0, 1, 0], [0, 0, 2], [0, 0, 0]] and np.diag(np.array([[1, 2], [3, 4]])).tolist() == [1, 4]
    assert float(np.arccos(np.array(1.))) == 0 and np.absolute(np.array([-1])).tolist() == [1] and np.float32([0, 0])[1] == 0
    assert np.mean(np.array([1, 2]), dtype=np.float64).dtype == np.float64 and np.ones(2).astype(int).dtype == np.int64
    assert mx.ndarray.nansum(np.array([1, math.nan])) == 1 and npx.batch_flatten(np.ones((2, 3, 4))).shape == (2, 12)
    assert npx.smooth_l1(np.array([-2, 0.5]), scalar=1).tolist() == [1.5, 0.125] and np.array([2.]).asscalar() == 2
    assert npx.multibox_prior(np.zeros((1, 1, 1, 2)), sizes=[0.5], ratios=[1, 4]).shape == (1, 4, 4)
    assert npx.multibox_prior(np.zeros((1, 1, 2, 2)), sizes=[0.5], ratios=[1])[0, 0].tolist() == [0, 0, 0.5, 0.5]
    assert npx.roi_pooling(np.ones((1, 2, 4, 4)), np.array([[0, 0, 0, 30, 30]]), (2, 2), 0.1).shape == (1, 2, 2, 2)


def test_draws():
    np.random.seed(2)
    drawn = np.random.multivariate_normal(np.zeros(2), np.array([[2, 1], [1, 2]]), size=4000).asnumpy()
    assert numpy.allclose(numpy.cov(drawn.T), [[2, 1], [1, 2]], atol=.25)
    assert float(np.random.poisson(3, size=4000).mean()) == pytest.approx(3, abs=.2)
    assert float(np.random.binomial(10, 0.5, size=(40, 100)).mean()) == pytest.approx(5, abs=.2)


def test_layers():
    layer = nn.Conv2DTranspose(1, kernel_size=2)
    layer.initialize(init.Constant(np.arange(4).reshape(1, 1, 2, 2)))
    assert layer(np.arange(4).reshape(1, 1, 2, 2))[0, 0].tolist() == [[0, 0, 1], [0, 4, 6], [4, 12, 9]]
    for made, shape in ((nn.Conv1D(3, 2), (1, 3, 4)), (nn.MaxPool1D(5), (1, 2, 1)), (nn.GlobalMaxPool1D(), (1, 2, 1)), (nn.GlobalAvgPool1D(), (1, 2, 1))):
        made.initialize()
        assert made(np.ones((1, 2, 5))).shape == shape
    assert nn.LeakyReLU(0.5)(np.array([-2, 2])).tolist() == [-1, 2]


def test_backward_may_keep_what_was_recorded():
    x = np.array([3.])
    x.attach_grad()
    with autograd.record():
        y = x * x
    y.backward(retain_graph=True)
    y.backward(np.array([2.]))
    assert x.grad.tolist() == [12]


def test_learning_rates():
    many = lr_scheduler.MultiFactorScheduler(step=[2, 4], factor=0.5, base_lr=1.0)
    assert [many(i) for i in range(6)] == [1, 1, 1, 0.5, 0.5, 0.25]
    cosine = lr_scheduler.CosineScheduler(4, warmup_steps=2, base_lr=1.0, final_lr=0.0)
    assert [cosine(i) for i in range(6)] == pytest.approx([0, 0.5, 1, 0.5, 0, 0])
    assert lr_scheduler.FactorScheduler(step=2, factor=0.5, base_lr=1.0)(5) == 0.25
    net = nn.Dense(1, use_bias=False)
    net.initialize(init.Constant(0))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"lr_scheduler": lambda updates: [0, 1.0, 0.25][updates]})
    for _ in range(2):
        with autograd.record():
            loss = net(np.ones((1, 1))).sum()
        loss.backward()
        trainer.step(1)
    assert net.weight.data().tolist() == [[-1.25]] and trainer.learning_rate == 0.25
    with pytest.raises(ValueError, match="the lr_scheduler says"):
        trainer.set_learning_rate(1)


def test_factors_of_single_rates():
    net = nn.Sequential()
    net.add(nn.Dense(1, use_bias=False), nn.Dense(1, use_bias=False))
    net.initialize(init.Constant(1))
    net[1].collect_params().setattr("lr_mult", 3)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})
    with autograd.record():
        loss = net(np.ones((1, 1))).sum()
    loss.backward()
    trainer.step(1)
    assert [float(layer.weight.data()) for layer in net] == pytest.approx([0.9, 0.7])


def test_metrics():
    rmse = metric.RMSE()
    rmse.update([np.array([1, 1])], [np.array([4, 4])])
    assert rmse.get() == ("rmse", 3)
    loss = metric.NegativeLogLikelihood()
    loss.update(np.array([0, 1]), np.array([[0.5, 0.5], [0.5, 0.5]]))
    assert loss.get()[1] == pytest.approx(math.log(2))
    right = metric.Accuracy()
    right.update(np.array([0, 1]), np.array([[2, 1], [2, 1]]))
    assert right.get()[1] == 0.5 and math.isnan(metric.MSE().get()[1])


def test_loaders():
    batches = list(gluon.data.DataLoader(gluon.data.ArrayDataset(np.arange(3)), 2))
    assert [x.tolist() for x in batches] == [[0, 1], [2]]
    rolling = gluon.data.DataLoader(gluon.data.ArrayDataset(np.arange(3), np.arange(3)), 2, last_batch="rollover")
    assert [len(rolling), [x.tolist() for x, _ in rolling], len(rolling), [x.tolist() for x, _ in rolling]] == [1, [[0, 1]], 2, [[2, 0], [1, 2]]]
    x, y = next(iter(gluon.data.DataLoader([(np.ones(2), [1, 2]), (np.zeros(2), [3, 4])], 2)))
    assert x.shape == (2, 2) and y.tolist() == [[1, 2], [3, 4]]


def test_images(tmp_path):
    image = pytest.importorskip("PIL.Image")
    t = gluon.data.vision.transforms
    values = (numpy.arange(4 * 6 * 3) % 256).astype(numpy.uint8).reshape(4, 6, 3)
    x = np.array(values)
    assert (t.RandomFlipLeftRight(1)(x).asnumpy() == values[:, ::-1]).all() and (t.RandomFlipTopBottom(1)(x).asnumpy() == values[::-1]).all()
    assert numpy.allclose(t.ToTensor()(x).asnumpy(), values.transpose(2, 0, 1) / 255) and t.Resize(5)(x).shape == (5, 5, 3)
    assert t.Resize((3, 2))(x).shape == (2, 3, 3) and t.CenterCrop(2)(x).shape == (2, 2, 3) and mx.image.imresize(x, 3, 2).shape == (2, 3, 3)
    for made in (t.RandomBrightness(0.5), t.RandomContrast(0.5), t.RandomSaturation(0.5), t.RandomHue(0.5), t.RandomLighting(0.1),
                 t.RandomColorJitter(brightness=0.4), t.RandomResizedCrop((6, 4))):
        assert made(x).shape == (4, 6, 3) and made(x).dtype == np.uint8
    for name in ("b/1.png", "a/1.png"):
        (tmp_path / name).parent.mkdir()
        image.fromarray(values).save(tmp_path / name)
    folder = gluon.data.vision.ImageFolderDataset(str(tmp_path))
    first, label = folder.transform_first(t.ToTensor())[1]
    assert folder.synsets == ["a", "b"] and label == 1 and first.shape == (3, 4, 6) and folder[0][0].shape == (4, 6, 3)
    (tmp_path / "test_batch.bin").write_bytes((bytes([7]) + bytes(range(256)) * 12) * 2)
    images, labels = gluon.data.vision.CIFAR10(str(tmp_path), train=False)[:]
    assert images.shape == (2, 32, 32, 3) and labels.tolist() == [7, 7]


def test_networks_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("MXNET_HOME", str(tmp_path))
    zoo = gluon.model_zoo.vision
    with pytest.raises(FileNotFoundError, match="the weights of resnet18_v2 are not there"):
        zoo.resnet18_v2(pretrained=True)
    net = zoo.resnet18_v2(classes=3)
    net.initialize()
    y = net(np.ones((1, 3, 32, 32)))
    (tmp_path / "models").mkdir()
    net.save_parameters(str(tmp_path / "models" / "resnet18_v2.safetensors"))
    assert zoo.resnet18_v2(pretrained=True, classes=3)(np.ones((1, 3, 32, 32))).tolist() == y.tolist()
    assert len(net.features) == 13 and len(zoo.vgg11().features) == 25
