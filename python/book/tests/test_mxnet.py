"""The dialect of MXNet, on two simulated accelerators."""
import warnings

import numpy
import pytest

import hocket as hk

hk.runtime(cpu_devices=1, sim=2)
warnings.simplefilter("ignore")
from hocket.mxnet import autograd, gluon, init, np, npx  # noqa: E402
from hocket.mxnet.gluon import nn, rnn  # noqa: E402


def test_arrays_are_float32_unless_said_otherwise():
    assert np.array([1, 2]).dtype == np.float32 and np.arange(3).dtype == np.float32 and np.zeros(2).shape == (2,)
    assert np.array(numpy.array([1, 2])).dtype == np.int64 and np.array([1, 2], dtype="int32").dtype == np.int32
    x = np.arange(6).reshape(2, 3)
    assert x.asnumpy().tolist() == [[0, 1, 2], [3, 4, 5]] and x[np.array([1.])].tolist() == [[3, 4, 5]]
    assert np.concatenate([x, x], 1).shape == (2, 6) and np.dot(x, x.T).shape == (2, 2) and x.size == 6
    assert np.random.normal(size=(2, 3)).shape == np.random.rand(2, 3).shape == (2, 3)
    assert int(np.random.multinomial(10, [0.5, 0.5], size=4).sum()) == 40


def test_devices():
    x = np.ones((1, 2), ctx=npx.gpu(1))
    assert x.ctx == "sim:1" and x.as_in_ctx(npx.cpu()).ctx == "cpu:0" and npx.num_gpus() == 2
    y = x.copyto(npx.gpu(0))
    (y * 3).copyto(x)
    assert x.tolist() == [[3, 3]] and y.tolist() == [[1, 1]]
    x.wait_to_read()
    npx.waitall()


def test_recording_says_that_modules_train():
    x = np.arange(4)
    x.attach_grad()
    assert not autograd.is_training()
    with autograd.record():
        assert autograd.is_training() and autograd.is_recording()
        y = 2 * np.dot(x, x)
        with autograd.pause():
            assert not autograd.is_training() and not autograd.is_recording()
        with autograd.predict_mode():
            assert not autograd.is_training() and autograd.is_recording()
    y.backward()
    assert x.grad.tolist() == [0, 4, 8, 12] and not autograd.is_recording()
    drop = nn.Dropout(0.5)
    assert drop(x).tolist() == x.tolist()
    with autograd.record():
        assert 0 in drop(np.ones(100)).tolist()


def test_npx():
    x = np.array([[[1, 2], [3, 4], [5, 6]]])
    assert npx.sequence_mask(x, np.array([2]), True, value=-1, axis=1).tolist() == [[[1, 2], [3, 4], [-1, -1]]]
    assert npx.pick(np.array([[1, 2], [3, 4]]), np.array([1, 0])).tolist() == [2, 3]
    assert npx.one_hot(np.array([0, 2]), 3).tolist() == [[1, 0, 0], [0, 0, 1]]
    assert npx.batch_dot(x, x, transpose_b=True).shape == (1, 3, 3)


def test_a_layer_has_a_copy_on_each_device():
    net = nn.Sequential()
    net.add(nn.Dense(3, activation="relu"), nn.BatchNorm(), nn.Dense(2))
    with pytest.raises(RuntimeError, match="has not been initialized"):
        net(np.ones((2, 4)))
    devices = [npx.gpu(0), npx.gpu(1)]
    net.initialize(init.Normal(0.1), ctx=devices)
    parts = gluon.utils.split_and_load(np.random.normal(size=(4, 1, 2, 2)), devices)
    assert [net(part).ctx for part in parts] == devices
    weight = net[0].weight
    assert weight.data(devices[0]).tolist() == weight.data(devices[1]).tolist() and weight.shape == (3, 4)
    with pytest.raises(RuntimeError, match="not there on cpu:0"):
        weight.data()
    with pytest.raises(RuntimeError, match="not initialized on cpu:0"):
        net(np.ones((2, 4)))
    assert set(net.collect_params(".*bias")) == {"0.bias", "2.bias"}


@pytest.mark.parametrize("kind, options", [("sgd", {"learning_rate": 0.2}), ("sgd", {"learning_rate": 0.05, "momentum": 0.9}),
                                           ("adam", {"learning_rate": 0.05})])
def test_several_devices_train_as_one(kind, options):
    losses = []
    X = np.random.normal(size=(16, 3))
    y = (X * np.array([1, -2, 3])).sum(axis=1, keepdims=True)
    start = None
    for devices in ([npx.cpu()], [npx.gpu(0), npx.gpu(1)]):
        net = nn.Dense(1)
        net.initialize(init.Normal(0.1), ctx=devices)
        net(np.ones((1, 3), ctx=devices[0]))
        start = net.weight.data(devices[0]).copy() if start is None else start
        net.weight.set_data(start)
        trainer, loss = gluon.Trainer(net.collect_params(), kind, options), gluon.loss.L2Loss()
        for _ in range(60):
            with autograd.record():
                ls = [loss(net(a), b) for a, b in zip(*(gluon.utils.split_and_load(z, devices) for z in (X, y)))]
            for l in ls:
                l.backward()
            trainer.step(16)
        losses.append(sum(float(l.sum()) for l in ls))
    assert losses[0] < 8 and losses[1] == pytest.approx(losses[0], rel=1e-2, abs=1e-6)


def test_recurrent_layers_of_several_layers_and_directions():
    x = np.random.normal(size=(5, 2, 3))
    for kind, count in ((rnn.RNN, 1), (rnn.GRU, 1), (rnn.LSTM, 2)):
        for bidirectional in (False, True):
            layer = kind(4, 2, bidirectional=bidirectional)
            layer.initialize()
            states = layer.begin_state(2)
            y, after = layer(x, states)
            ways = 2 if bidirectional else 1
            assert y.shape == (5, 2, 4 * ways) and len(after) == count and after[0].shape == (2 * ways, 2, 4)
            assert numpy.allclose(layer(x).asnumpy(), y.asnumpy())
            assert numpy.allclose(y.asnumpy()[-1, :, :4], after[0].asnumpy()[-ways])
            if not bidirectional:  # the second half goes on from the states of the first
                half, middle = layer(x[:3], states)
                rest, end = layer(x[3:], middle)
                assert numpy.allclose(rest.asnumpy(), y.asnumpy()[3:], atol=1e-6)


def test_losses_are_of_each_sample():
    pred, label = np.random.normal(size=(4, 3, 5)), np.array([[0, 1, 2]] * 4)
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    assert loss(pred, label).shape == (4,)
    weights = np.array([[[1], [0], [0]]] * 4)
    assert numpy.allclose(loss(pred, label, weights).asnumpy() * 3, -npx.log_softmax(pred).asnumpy()[:, 0, 0], atol=1e-5)
    assert gluon.loss.L2Loss()(np.array([[2.], [4.]]), np.array([[0.], [0.]])).tolist() == [2, 8]


def test_parameters_of_a_blocks_own():
    class Scale(nn.Block):
        def __init__(self):
            super().__init__()
            self.scale = self.params.get("scale", shape=(2,), init=init.One())

        def forward(self, x):
            return x * self.scale.data()

    net = nn.Sequential()
    net.add(Scale(), nn.Dense(1))
    net.initialize()
    with autograd.record():
        l = net(np.ones((3, 2))).sum()
    l.backward()
    assert "0.scale" in net.collect_params() and net[0].scale.grad().shape == (2,)
    gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 1, "wd": 0.1}).step(1)
    assert net[0].scale.data().tolist() != [1, 1]


def test_data_loaders():
    data = gluon.data.ArrayDataset(np.arange(10), np.arange(10) * 2)
    batches = list(gluon.data.DataLoader(data, 4))
    assert [X.shape for X, _ in batches] == [(4,), (4,), (2,)] and batches[1][1].tolist() == [8, 10, 12, 14]

    class Squares(gluon.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return np.array([i]), i * i

    (X, y), = gluon.data.DataLoader(Squares(), 5)
    assert X.shape == (5, 1) and y.tolist() == [0, 1, 4, 9, 16]


def test_arrays_of_floats_are_indices_beside_others():
    y = np.array([0, 2])
    assert y.dtype == hk.float32
    table = np.array([[0.1, 0.3, 0.6], [0.3, 0.2, 0.5]])
    assert numpy.allclose(table[[0, 1], y].tolist(), [0.1, 0.5]) and numpy.allclose(table[range(len(table)), y].tolist(), [0.1, 0.5])


def test_a_block_may_say_its_parameters_as_a_list():
    class Scratch(nn.Block):
        def collect_params(self):
            return [hk.ones(2)]

    block = Scratch()
    assert len(block.collect_params()) == 1 and len(block.params) == 0


def test_functions_of_files_and_of_different_elements(tmp_path):
    (tmp_path / "table").write_text("1\t2.5\n3\t4\n")
    table = np.genfromtxt(str(tmp_path / "table"), dtype=numpy.float32, delimiter="\t")
    assert table.tolist() == [[1, 2.5], [3, 4]] and table.dtype == np.float32
    x = np.array([3, 1, 3, 2])
    assert np.unique(x).tolist() == [1, 2, 3]
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [1, 2, 3] and counts.tolist() == [1, 1, 2]
    for found, wanted in zip(np.unique(x, True, True, True), numpy.unique(x.asnumpy(), True, True, True)):
        assert found.tolist() == wanted.tolist()


def test_a_loader_makes_batches_of_what_has_no_common_shape():
    words = gluon.data.ArrayDataset([[1], [2, 3], [4, 5, 6]], [7, 8, 9])
    loader = gluon.data.DataLoader(words, 2, batchify_fn=lambda rows: [sum(len(word) for word, _ in rows), rows[-1][1]])
    assert list(loader) == [[3, 8], [3, 9]]


def test_images_and_their_parts(tmp_path):
    from hocket.mxnet import image
    pillow = pytest.importorskip("PIL.Image")
    pixels = numpy.arange(2 * 3 * 3, dtype="uint8").reshape(2, 3, 3) * 5
    pillow.fromarray(pixels).save(tmp_path / "a.png")
    x = image.imread(str(tmp_path / "a.png"))
    assert x.tolist() == pixels.tolist()
    for _ in range(10):
        part, place = image.random_crop(x, (2, 1))
        assert part.shape == (1, 2, 3) and place[2:] == (2, 1)
        assert part.tolist() == image.fixed_crop(x, *place).tolist() == pixels[place[1]:place[1] + 1, place[0]:place[0] + 2].tolist()
    with pytest.raises(ValueError, match=r"\(3, 2\), more than the image's height and width \(2, 3\)"):
        image.random_crop(x, (2, 3))
