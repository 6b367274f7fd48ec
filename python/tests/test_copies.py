"""What copy.copy, copy.deepcopy and pickle make of each public class: what goes on alike and by itself, or an error that says what to do."""

import copy
import multiprocessing
import pickle
import struct
import zlib

import numpy as np
import pytest

import hocket as hk
from hocket import data, nn, optim, random


def pickled(x):
    return pickle.loads(pickle.dumps(x))


WAYS = [pytest.param(copy.deepcopy, id="deepcopy"), pytest.param(pickled, id="pickle")]
ALL_WAYS = [pytest.param(copy.copy, id="copy"), *WAYS]
X, Y = np.linspace(-1, 1, 12, dtype="float32").reshape(4, 3), np.arange(4.0, dtype="float32").reshape(4, 1)
KINDS = {
    "SGD": lambda net: optim.SGD(net, .1, batch=2, weight_decay=.01), "Momentum": lambda net: optim.Momentum(net, .1, .8, nesterov=True),
    "Adam": lambda net: optim.Adam(net, .1, (.8, .9), 1e-4), "AdamW": lambda net: optim.AdamW(net, .1, weight_decay=.2),
    "RMSprop": lambda net: optim.RMSprop(net, .1, .8),
}
KINDS.update((name, lambda net, kind=kind: kind(net, .5)) for name, kind in vars(optim).items() if hasattr(kind, "_method") and name not in KINDS)


def network():
    hk.seed(3)
    return nn.Sequential(nn.Linear(5), nn.BatchNorm(), nn.Tanh(), nn.Dropout(0.0), nn.Linear(1))


def train(net, step, times=3):
    for _ in range(times):
        with hk.record():
            loss = hk.square(net(hk.asarray(X)) - Y).sum()
        loss.backward()
        step()
    return loss


def values(net):
    return {path: array.tolist() for path, array in net.state().items()}


@hk.capture
def captured(x):
    return x + 1


@hk.function
def doubled(x):
    return x * 2


@doubled.gradient
def doubled_gradient(dy, x):
    return dy * 2


class Net(nn.Module):
    def __init__(self):
        self.scale = nn.Parameter(hk.ones(3))
        self.output = nn.Linear(2)
        self.optimizer = optim.Momentum(self, .1)
        self.again = hk.capture(self.step)

    def forward(self, x):
        return self.output(x * self.scale)

    @hk.capture
    def step(self, x):
        with hk.record():
            loss = self(x).sum()
        loss.backward()
        self.optimizer.step()
        return loss


# ---- optimisers -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
def test_a_training_goes_on_alike_and_by_itself(kind, way):
    net = network()
    opt = KINDS[kind](net)
    train(net, opt.step)
    opt.lr = .05
    other, mine = way((net, opt))
    assert mine.lr == .05 and mine._source is other
    before = values(net)
    train(other, mine.step)
    assert values(net) == before and values(other) != before
    train(net, opt.step)
    assert values(net) == values(other)
    assert {name: x.tolist() for name, x in opt.state().items()} == {name: x.tolist() for name, x in mine.state().items()}


def test_a_shallow_copy_of_an_optimiser_has_the_same_parameters_and_a_state_of_its_own():
    net = network()
    opt = optim.Adam(net, .1)
    train(net, opt.step)
    other = copy.copy(opt)
    before, state = values(net), [x.tolist() for x in opt.state().values()]
    other.lr = .5
    train(net, other.step)
    assert values(net) != before and [x.tolist() for x in opt.state().values()] == state and opt.lr == .1


@pytest.mark.parametrize("way", ALL_WAYS)
def test_an_optimiser_before_the_parameters_are_made(way):
    net = network()
    opt = optim.Adam(net, .1)
    mine = way(opt)
    train(mine._source, mine.step)
    assert len(mine.params) == 6


def test_what_is_set_before_the_first_step_holds():
    net = network()
    opt = optim.Adam(net, .1)
    train(net, opt.step)
    _, mine = pickled((net, opt))
    mine.lr = .5
    train(mine._source, mine.step, 1)
    assert mine.lr == mine._optimizer.get_lr() == .5
    net.to("cpu:0")
    assert copy.copy(opt).lr == .1
    net[0]._layer = net[0]._layer.replicate(net[0].weight.device)
    with pytest.raises(ValueError, match="make the optimizer anew"):
        copy.copy(opt)


@pytest.mark.parametrize("way", WAYS)
def test_a_pickle_of_a_pickle(way):
    net = network()
    opt, averages = optim.Momentum(net, .1), optim.Averages(net, .5)
    train(net, opt.step)
    averages.update()
    other, mine, his = way(pickled((net, opt, averages)))
    assert {name: x.tolist() for name, x in opt.state().items()} == {name: x.tolist() for name, x in mine.state().items()}
    train(other, lambda: (mine.step(), his.update()))
    train(net, lambda: (opt.step(), averages.update()))
    assert values(net) == values(other) and [x.tolist() for x in averages.arrays] == [x.tolist() for x in his.arrays]


@pytest.mark.parametrize("way", WAYS)
def test_an_optimiser_of_what_is_frozen_since(way):
    net = network()
    opt = optim.Momentum(net, .1)
    train(net, opt.step)
    net[0].freeze()
    other, mine = way((net, opt))
    first = other[0].weight.tolist()
    train(other, mine.step), train(net, opt.step)
    assert other[0].weight.tolist() == first and values(net) == values(other)
    for each in (net, other):
        each[0].freeze(False)
    train(other, mine.step), train(net, opt.step)
    assert other[0].weight.tolist() != first and values(net) == values(other)


@pytest.mark.parametrize("make", [optim.SGD, optim.Adam])
def test_an_optimiser_of_a_list(make):
    net = network().build((4, 3))
    opt = make(net.parameters(), .1)
    with pytest.raises(TypeError, match=f"{make.__name__}\\(net\\), or save its state"):
        pickle.dumps(opt)
    for order in ((net, opt), (opt, net)):
        found = copy.deepcopy(order)
        other, mine = found if order[0] is net else found[::-1]
        before = values(net)
        train(other, mine.step)
        assert values(net) == before != values(other)  # the copy updates the copy


@pytest.mark.parametrize("way", WAYS)
def test_averages(way):
    net = network().build((4, 3))
    averages = optim.Averages(net, .5)
    train(net, optim.SGD(net, .01).step)
    averages.update()
    other, mine = way((net, averages))
    other(hk.asarray(X))
    with mine:
        swapped = values(other)
    with averages:
        assert [values(net)[path] for path, _ in net.named_parameters()] == [swapped[path] for path, _ in net.named_parameters()]
    with pytest.raises(TypeError, match="or save its arrays"):
        pickle.dumps(optim.Averages(net.parameters()))
    assert [x.tolist() for x in copy.deepcopy(optim.Averages(net.parameters(), .5)).arrays] == [x.tolist() for x in net.parameters()]


def test_averages_of_a_module_whose_parameters_are_to_be_made():
    net = network()
    averages = optim.Averages(net)
    train(net, optim.SGD(net, .1).step)
    averages.update()
    assert len(averages.arrays) == 6
    with pytest.raises(ValueError, match="decay is 2"):
        optim.Averages(network(), decay=2)


def test_an_optimiser_waits_for_the_layers_of_a_module_with_parameters_of_its_own():
    net = Net()
    net.optimizer = opt = optim.Momentum(net, .1)
    net.step(hk.ones((2, 3)))
    assert len(opt.params) == 3


def test_a_parameter_is_given_once():
    net = network().build((4, 3))
    with pytest.raises(ValueError, match="given twice"):
        optim.SGD(net.parameters() + [net[0].weight])


@pytest.mark.parametrize("way", ALL_WAYS)
def test_schedules(way):
    for make in (lambda: optim.Step(.1, 2), lambda: optim.Cosine(.1, 5), lambda: optim.WarmUp(.1, 5), lambda: optim.Plateau(.1, .5, 1),
                 lambda: optim.EarlyStop(2)):
        schedule = make()
        schedule(1), schedule(2)
        other = way(schedule)
        assert [other(i) for i in (3, 4, 5)] == [schedule(i) for i in (3, 4, 5)]


# ---- modules ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", WAYS)
def test_a_module_that_has_its_optimiser_and_a_captured_method(way):
    net = Net()
    x = hk.ones((2, 3))
    for _ in range(4):
        net.step(x), net.again(x)
    other = way(net)
    before = values(net)
    mine = [(other.step(x).item(), other.again(x).item()) for _ in range(4)]
    assert values(net) == before and other.optimizer._source is other
    assert mine == [(net.step(x).item(), net.again(x).item()) for _ in range(4)] and values(net) == values(other)


def test_a_deep_copy_keeps_what_is_shared():
    net = network().build((4, 3))
    layer, twice, weight = copy.deepcopy((net[0], nn.Sequential(net[0], net[0]), net[0].weight))
    assert twice[0] is layer is twice[1] and weight._has_grad()
    weight[...] = 7
    assert layer.weight.tolist() == [[7] * 3] * 5 and net[0].weight.tolist() != [[7] * 3] * 5
    p = hk.ones(2).attach_grad()
    assert copy.deepcopy(p)._has_grad() and copy.deepcopy([p, p[:]])[0].tolist() == [1, 1]


def test_a_network_with_functions_in_it():
    net = nn.Sequential(hk.relu, nn.Lambda(captured), doubled)
    assert pickled(net)(hk.asarray([-1.0, 1.0])).tolist() == [2, 4]


@pytest.mark.parametrize("way", ALL_WAYS)
def test_loaders_of_the_dialects(way):
    from hocket._dialects.data import Arrays, DataLoader
    for samples in (Arrays(hk.asarray(X), hk.asarray(Y)), [1, 2, 3]):
        loader = DataLoader(samples, 2)
        assert [str(batch) for batch in way(loader)] == [str(batch) for batch in loader]


# ---- data and random numbers ------------------------------------------------------------------------------------------


def batches(loader):
    return [[field.tolist() for field in batch] for batch in loader]


def grey_pixel():
    """A PNG file."""
    parts = (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)), (b"IDAT", zlib.compress(b"\0\x80")), (b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + b"".join(struct.pack(">I", len(what)) + kind + what + struct.pack(">I", zlib.crc32(kind + what))
                                           for kind, what in parts)


def sets(folder):
    (folder / "some.csv").write_text("1,2,0\n3,4,1\n5,6,0\n")
    for name in ("cat", "dog"):
        (folder / "images" / name).mkdir(parents=True)
        (folder / "images" / name / "a.png").write_bytes(grey_pixel())
    (folder / "cifar").write_bytes(bytes(range(256)) * 12 + bytes(1))
    yield data.arrays(X, np.arange(4), X > 0, X.astype("float64"))
    yield data.csv(folder / "some.csv", "class")
    yield data.images(folder / "images", channels=1, size=2)
    yield data.images(folder / "images", channels=1, size=2).transform(data.Normalize(.5, .5), data.Flip())
    yield data.cifar(folder / "cifar")
    text = hk.arange(40)
    yield data.tokens(text, 4)
    yield data.tokens(text, 4, lanes=2, fixed_start=True)
    text += 1


@pytest.mark.parametrize("way", ALL_WAYS)
def test_data_sets_and_loaders(way, tmp_path):
    for samples in sets(tmp_path):
        other = way(samples)
        assert len(other) == len(samples) and other.fields == samples.fields and other.class_count == samples.class_count
        loader = data.Loader(samples, 2, shuffle=not samples.__reduce__()[0].__name__.startswith("tokens"), seed=4)
        batches(loader)
        rest = iter(loader)
        next(rest, None)
        mine = way(loader)
        assert batches(mine.rest()) == batches(rest) and batches(mine) == batches(loader) and mine.epoch == 3


@pytest.mark.parametrize("way", ALL_WAYS)
def test_vocabularies(way):
    for text in ("hello world hello", b"a\xff \xff b", "x\\y\nz"):
        for kind in ("words", "characters"):
            vocabulary = data.Vocabulary(text, kind)
            assert str(way(vocabulary)) == str(vocabulary) and way(vocabulary).encode(text).tolist() == vocabulary.encode(text).tolist()


@pytest.mark.parametrize("way", ALL_WAYS)
def test_generators(way):
    generator = random.Generator(7)
    generator.normal((3,))
    other = way(generator)
    assert other.uniform((4,)).tolist() == generator.uniform((4,)).tolist()
    generator.uniform()
    assert other.get_state() != generator.get_state()


# ---- functions, errors, the rest --------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ALL_WAYS)
def test_functions_are_pickled_by_name(way):
    assert way(captured) is captured and way(doubled) is doubled
    for function in (hk.add, hk.exp, hk.sum, nn.functional.cross_entropy, hk.linalg.qr):
        again = way(function)
        assert again == function and again.__doc__ == function.__doc__
    assert way(hk.add)(hk.ones(2), 1).tolist() == [2, 2]


def test_what_cannot_be_pickled_says_so(tmp_path):
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(hk.capture(lambda x: x))
    group = hk.world.group()
    assert copy.deepcopy(group) is group is copy.copy(group)
    with pytest.raises(TypeError, match="the other one makes its own"):
        pickle.dumps(data.Loader([X], 2, group=group))
    with pytest.raises(TypeError, match="save its state"):
        copy.deepcopy(optim.Adam(network().build((4, 3)), group=group))
    with hk.trace() as run:
        hk.ones(2) + 1
    assert copy.deepcopy(run) is run
    with pytest.raises(TypeError, match=r"write\(path\) keeps it"):
        pickle.dumps(run)


@pytest.mark.parametrize("way", ALL_WAYS)
def test_errors_arrive_with_all_they_say(way):
    with pytest.raises(ValueError) as caught:
        nn.Sequential(nn.Linear(2)).build((1, 3))(hk.ones((2, 5)))
    error = way(caught.value)
    assert type(error) is hk.ValueError and str(error) == str(caught.value) and error.line == caught.value.line and error.line
    assert error.__notes__ == caught.value.__notes__ and len(pickle.dumps(error)) < 2000


def fails(number):
    return hk.ones(number) @ hk.ones(number + 1)


def test_other_processes_take_functions_and_give_errors():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert [x.tolist() for x in pool.map(hk.square, [hk.ones(2) * 3, hk.ones(1)])] == [[9, 9], [1]]
        with pytest.raises(hk.ValueError, match="matmul"):
            pool.map(fails, [2])
