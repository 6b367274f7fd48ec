import gc
import warnings
import weakref

import numpy as np
import pytest

import hocket as hk
from hocket import nn, optim

op = hk._core.operators


def array(*values):
    return hk.asarray(np.array(values, "float32"))


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def counted(function, **options):
    """The function captured, and a list that grows whenever Python runs it."""
    runs = []

    def noted(*args, **named):
        runs.append(1)
        return function(*args, **named)

    return hk.capture(noted, **options), runs


def test_results_follow_arguments_and_are_fresh_each_time():
    step, runs = counted(lambda x, y: (x * y + 1, {"sum": op["sum"](x)}))
    results = [step(array(i, i), array(1, 2)) for i in range(6)]
    assert len(runs) == 2
    for i, (product, rest) in enumerate(results):
        assert product.tolist() == [i + 1, 2 * i + 1] and float(rest["sum"]) == 2 * i


def test_results_stay_while_calls_are_in_flight():
    step, runs = counted(lambda x: op["matmul"](x, x))
    ones = op["ones"]((200, 200), hk.float32)
    results = [step(ones * i) for i in range(20)]
    assert [float(y[0, 0]) for y in results] == [200 * i * i for i in range(20)] and len(runs) == 2


def test_a_captured_call_is_one_task_that_makes_its_result():
    step, runs = counted(lambda x, y: x + y)
    x = op["ones"]((1000, 100), hk.float32)
    kept = [step(x, x * i) for i in range(4)]
    assert len(runs) == 2
    assert [float(y[999, 99]) for y in kept] == [1, 2, 3, 4]
    (text,) = step.graphs()
    assert len(text.splitlines()) == 1 and "-> bound 2" in text


def test_other_arguments_than_the_last_ones():
    step, runs = counted(lambda x, *more, factor=1: x * factor + len(more))
    x, long = array(1, 2), array(1, 2, 3)
    for _ in range(4):
        assert step(x).tolist() == [1, 2] and step(x, array(0)).tolist() == [2, 3]
        assert step(long).tolist() == [1, 2, 3] and step(x, factor=2).tolist() == [2, 4]
        assert step(x, 7).tolist() == [2, 3] and step(hk.astype(x, hk.float64)).dtype == hk.float64
        assert step(hk.broadcast_to(array(3), (2,))).tolist() == [3, 3]
    assert len(runs) == 14, runs
    outer, _ = counted(lambda x: step(step(x)))
    for _ in range(4):
        assert outer(x).tolist() == [1, 2]
    x.attach_grad()
    with pytest.warns(RuntimeWarning, match="never on the tape"), hk.record():
        loss = op["sum"](step(x))
    loss.backward()
    assert x.grad.tolist() == [1, 1]


def test_results_of_other_shapes_than_at_first():
    sizes = iter([2, 3, 3, 3])
    step, runs = counted(lambda x: (x + 1, op["ones"]((next(sizes),), hk.float32)))
    results = [step(array(i, i)) for i in range(5)]
    assert len(runs) == 2 and [len(y) for _, y in results] == [2, 3, 3, 3, 3]
    assert [x.tolist() for x, _ in results] == [[i + 1, i + 1] for i in range(5)]


def test_results_that_are_arguments_views_of_them_or_from_outside():
    w = array(5, 6)
    step, _ = counted(lambda x: (x, x[1:], w, w + x))
    for i in range(4):
        x = array(i, i + 1)
        same, view, outer, total = step(x)
        assert same is x and view.tolist() == [i + 1] and outer.tolist() == [5, 6] and total.tolist() == [5 + i, 7 + i]


def test_views_of_arguments_are_views_each_time():
    step, runs = counted(lambda x: x[1:, ::2])
    for i in range(6):
        x = hk.arange(12, dtype=hk.float32).reshape((3, 4)) + i
        view = step(x)
        assert view.tolist() == [[4 + i, 6 + i], [8 + i, 10 + i]]
        view[0, 0] = -1
        x[2, 2] = -2
        assert x.tolist()[1][0] == -1 and view.tolist()[1][1] == -2
        del x
        assert view.tolist() == [[-1, 6 + i], [8 + i, -2]]
    assert len(runs) == 2 and step.graphs() == [""]


def test_views_among_other_results():
    def parts(x, pair):
        x[0] = pair[1] + 1
        return {"row": x[1], "turned": pair[0].T, "sum": x + 1, "flat": (x + 1).reshape((-1,)), "sum's": (x * 2)[0]}

    step, runs = counted(parts)
    for i in range(6):
        x, left = hk.zeros((2, 2)) + i, hk.asarray(np.arange(6, dtype="float32").reshape(2, 3))
        found = step(x, (left, array(i)))
        assert x.tolist() == [[i + 1] * 2, [i] * 2] and found["sum"].tolist() == [[i + 2] * 2, [i + 1] * 2]
        assert found["flat"].tolist() == [i + 2, i + 2, i + 1, i + 1] and found["sum's"].tolist() == [2 * i + 2] * 2
        x[1] = 9
        left[0, 1] = 8
        assert found["row"].tolist() == [9, 9] and found["turned"].tolist() == [[0, 3], [8, 4], [2, 5]]
        assert found["sum"].tolist() == [[i + 2] * 2, [i + 1] * 2]
    assert len(runs) == 2


def test_views_that_are_read_only_or_of_parts_of_one_array():
    step, _ = counted(lambda x: hk.broadcast_to(x, (2, 3)))
    for i in range(4):
        view = step(array(i, 1, 2))
        assert view.tolist() == [[i, 1, 2]] * 2
        with pytest.raises(ValueError, match="read only"):
            view[0] = 1
    both, _ = counted(lambda x, y: (x[1:], y[:1]))
    for i in range(4):
        base = array(0, 1, 2, 3)
        x, y = (base[:2], base[2:]) if i % 2 else (array(4, 5), array(6, 7))
        views = both(x, y)
        assert [v.tolist() for v in views] == ([[1], [2]] if i % 2 else [[5], [6]])
        views[0][0] = views[1][0] = 9
        assert x.tolist()[1] == y.tolist()[0] == 9


def test_in_place_changes_of_arguments_and_of_what_is_outside():
    total = array(0, 0)

    def add(x):
        total[...] = total + x
        x[...] = x * 2
        return x

    step, runs = counted(add)
    for i in range(5):
        x = array(i, 1)
        assert step(x) is x and x.tolist() == [2 * i, 2]
    assert total.tolist() == [10, 5] and len(runs) == 2


def test_a_kind_of_arguments_is_a_capture_of_its_own():
    step, runs = counted(lambda x, factor=1, *, more=(): x * factor + sum(more))
    for _ in range(4):
        assert step(array(1, 2)).tolist() == [1, 2]
        assert step(array(1, 2, 3)).tolist() == [1, 2, 3]
        assert step(array(1, 2), 3).tolist() == [3, 6]
        assert step(array(1, 2), 3, more=(1, 2)).tolist() == [6, 9]
        assert step(array(1, 2), True).tolist() == [1, 2]
        assert step(op["cast"](array(1, 2), hk.float64)).dtype == hk.float64
    assert len(runs) == 12 and len(step.graphs()) == 6


def test_lists_and_dicts_of_arrays():
    step, runs = counted(lambda images, options: [x + options["b"] for x in images])
    for i in range(4):
        first, second = step([array(1), array(i)], {"b": array(10)})
        assert first.tolist() == [11] and second.tolist() == [10 + i]
    assert len(runs) == 2


def training(captured):
    hk.seed(3)
    net = nn.Sequential(nn.Linear(16), hk.relu, nn.Linear(3))
    opt = optim.Adam(net, lr=.01)

    def step(x, y):
        with hk.record():
            loss = nn.functional.cross_entropy(net(x), y, reduction="mean")
        loss.backward()
        opt.step()
        return loss

    step = hk.capture(step, exact=True) if captured else step
    source = np.random.default_rng(1)
    losses = []
    for i in range(12):
        if i == 8:
            opt.lr = .001
        x, y = source.normal(size=(8, 5)).astype("float32"), source.integers(0, 3, 8)
        losses.append(step(hk.asarray(x), hk.asarray(y)))
    return [float(loss) for loss in losses], [p.tolist() for p in net.parameters()]


def test_a_training_step_has_the_bytes_of_plain_calls():
    assert training(True) == training(False)


def test_training_mode_and_learning_rates_of_sgd_are_heard():
    net = nn.Sequential(nn.BatchNorm())
    step, runs = counted(net)
    x = array([1, 2], [3, 6], [5, 7])
    for _ in range(3):
        assert abs(float(step(x)[0, 0]) + 1.2247) < 1e-3
    net.eval()
    seen = [step(x).tolist() for _ in range(2)]
    assert seen[0] == seen[1] and seen[0][0][0] > -.5
    net.train()
    assert abs(float(step(x)[0, 0]) + 1.2247) < 1e-3
    assert len(runs) == 3

    p = array(0).attach_grad()
    opt = optim.SGD([p], lr=1)

    def down():
        with hk.record():
            y = p * 1
        y.backward()
        opt.step()

    step, runs = counted(down)
    for lr in (1, 1, 1, .5, .5, 1):
        opt.lr = lr
        step()
    assert p.tolist() == [-5] and len(runs) == 3


def test_random_numbers_are_new_at_each_call():
    drop = nn.Dropout(.5)
    step, runs = counted(lambda x: (drop(x), hk.random.uniform((4,))))
    hk.seed(1)
    results = [step(hk.ones((100,))) for _ in range(5)]
    hk.seed(1)
    for dropped, numbers in results:
        assert drop(hk.ones((100,))).tolist() == dropped.tolist() and hk.random.uniform((4,)).tolist() == numbers.tolist()
    assert len(runs) == 2


def test_what_cannot_be_captured_is_called_and_said_once():
    step, runs = counted(lambda x: x * float(op["sum"](x)))
    assert step(array(1, 2)).tolist() == [3, 6]
    with pytest.warns(RuntimeWarning, match="is not captured, and called as it is") as caught:
        assert step(array(1, 3)).tolist() == [4, 12]
    assert caught[0].filename == __file__
    assert step(array(1, 4)).tolist() == [5, 20] and len(runs) == 3


def test_within_a_recording_it_is_called():
    step, _ = counted(lambda x: x * x)
    x = array(1, 2).attach_grad()
    for _ in range(3):
        step(x)
    with pytest.warns(RuntimeWarning, match="never on the tape"):
        with hk.record():
            y = step(x)
    y.backward()
    assert x.grad.tolist() == [2, 4]


def test_arguments_that_are_no_key():
    step, runs = counted(lambda x, y: x * y.max())
    for _ in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert step(array(1, 2), np.array([3.])).tolist() == [3, 6]
    assert len(runs) == 3


def test_an_exception_ends_the_capture():
    wrong = []

    def maybe(x):
        if wrong:
            raise KeyError("wrong")
        return x + 1

    step, runs = counted(maybe)
    step(array(1))
    wrong.append(1)
    with pytest.raises(KeyError):
        step(array(1))
    wrong.clear()
    for i in range(4):
        assert step(array(i)).tolist() == [i + 1]
    assert len(runs) == 3


def test_a_failed_argument_fails_the_result_alone():
    step, _ = counted(lambda x: x + 1)
    labels = hk.asarray([7])
    for _ in range(3):
        step(array(1))
    bad = nn.functional.cross_entropy(array([1, 2]), labels)
    with pytest.raises(IndexError) as caught:
        step(bad).tolist()
    assert caught.value.line == test_a_failed_argument_fails_the_result_alone.__code__.co_firstlineno + 5
    assert step(array(2)).tolist() == [3]
    hk._core._failures_clear()


def test_captured_functions_within_captured_functions():
    inner, _ = counted(lambda x: x * 2)
    outer, runs = counted(lambda x: inner(x) + 1)
    for i in range(5):
        assert inner(array(i)).tolist() == [2 * i] and outer(array(i)).tolist() == [2 * i + 1]
    assert len(runs) == 2


def test_methods_are_captured_for_each_object_and_let_it_go():
    class Scaled:
        def __init__(self, factor):
            self.factor = factor
            self.runs = 0

        @hk.capture
        def times(self, x):
            """x times the factor"""
            self.runs += 1
            return x * self.factor

    a, b = Scaled(2), Scaled(3)
    for i in range(4):
        assert a.times(array(i)).tolist() == [2 * i] and b.times(array(i)).tolist() == [3 * i]
    assert a.runs == b.runs == 2 and Scaled.times.__doc__ == "x times the factor"
    reference = weakref.ref(a)
    del a
    gc.collect()
    assert reference() is None


def test_captures_do_not_leak():
    def once():
        net = nn.Linear(50)
        step = hk.capture(lambda x: net(x))
        for _ in range(4):
            step(hk.ones((20, 50)))
        return weakref.ref(net)

    refs = [once() for _ in range(3)]
    hk.wait()
    gc.collect()
    used = hk.stats()["devices"]["cpu:0"]["used_bytes"]
    refs += [once() for _ in range(20)]
    hk.wait()
    gc.collect()
    assert hk.stats()["devices"]["cpu:0"]["used_bytes"] <= used
    assert all(ref() is None for ref in refs)


def test_a_capture_in_several_threads():
    import threading
    step, _ = counted(lambda x: op["matmul"](x, x) + 1)
    for _ in range(3):
        step(op["ones"]((50, 50), hk.float32))
    wrong = []

    def work(value):
        for _ in range(100):
            y = step(op["full"]((50, 50), value, hk.float32))
            if float(y[0, 0]) != 50 * value * value + 1:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_numbers_that_are_equal_and_yet_others():
    step, _ = counted(lambda x, k: x * k)
    for k in (0.0, 0.0, 0.0, -0.0):
        assert str(step(array(1), k).tolist()) == str([k])


def test_generators_and_coroutines_are_called():
    @hk.capture
    def halves(x):
        yield x / 2

    for i in range(3):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            assert [y.tolist() for y in halves(array(i))] == [[i / 2]]
    with pytest.warns(RuntimeWarning, match="after its call has returned"):
        list(hk.capture(lambda x: (yield x))(array(1)))


def test_results_that_cannot_be_made_anew():
    class Pair:
        def __init__(self, x):
            self.x = x

    step, runs = counted(Pair)
    with pytest.warns(RuntimeWarning, match="gives a Pair"):
        results = [step(array(i)).x for i in range(4)]
    assert [x.tolist() for x in results] == [[0], [1], [2], [3]] and len(runs) == 4
    step, runs = counted(lambda x: (x + 1, None, "text", {"shape": x.shape, "dtype": x.dtype}))
    assert [step(array(1))[3]["shape"] for _ in range(4)] == [(1,)] * 4 and len(runs) == 2


def test_names_that_come_to_mean_other_arrays():
    class Counter(nn.Module):
        def __init__(self):
            self.count = hk.zeros(())

        def forward(self, x):
            self.count = self.count + x.sum()
            return self.count

    counter = [Counter()]  # not to be found but by its calls
    step = hk.capture(lambda x: counter[0](x))
    with pytest.warns(RuntimeWarning, match=r"makes count another array.*count\[...\] ="):
        assert [float(step(array(1))) for _ in range(5)] == [1, 2, 3, 4, 5]

    total = hk.zeros(())

    @hk.capture
    def add(x):
        nonlocal total
        total = total + x.sum()
        return total

    with pytest.warns(RuntimeWarning, match="makes total another array"):
        assert [float(add(array(1))) for _ in range(5)] == [1, 2, 3, 4, 5]


def test_names_that_mean_other_arrays_at_the_next_call():
    class Holder:
        pass

    weight, holder = array(2), Holder()
    holder.weight = array(3)
    runs = []

    @hk.capture
    def scaled(x):
        runs.append(1)
        return x * weight * holder.weight

    assert [scaled(array(1)).tolist() for _ in range(3)] == [[6]] * 3
    weight = array(5)
    assert [scaled(array(1)).tolist() for _ in range(3)] == [[15]] * 3
    holder.weight = array(7)
    assert [scaled(array(1)).tolist() for _ in range(3)] == [[35]] * 3 and len(runs) == 4


def test_freezing_is_heard():
    net = nn.Sequential(nn.Linear(2), nn.Linear(1))
    opt = optim.Adam(net, lr=.1)

    @hk.capture
    def step(x):
        with hk.record():
            loss = (net(x) ** 2).sum()
        loss.backward()
        opt.step()
        return loss

    x = array([1, 2])
    for _ in range(3):
        step(x)
    for frozen in (True, False):
        next(iter(net.children())).freeze(frozen)
        before = [net.state()[name].tolist() for name in ("0.weight", "1.weight")]
        for _ in range(3):
            step(x)
        after = [net.state()[name].tolist() for name in ("0.weight", "1.weight")]
        assert (before[0] == after[0]) == frozen and before[1] != after[1]


def test_methods_of_objects_that_cannot_be_kept():
    class Narrow:
        __slots__ = ("w",)

        @hk.capture
        def scaled(self, x):
            return x * self.w

    narrow = Narrow()
    narrow.w = array(2)
    with pytest.warns(RuntimeWarning, match="a Narrow has no hash or no weak references"):
        assert [narrow.scaled(array(3)).tolist() for _ in range(3)] == [[6]] * 3


VIEWS = {
    "reversed": lambda x: x[::-1],
    "both": lambda x: x[::-1, ::-2],
    "flip": hk.flip,
    "transposed": lambda x: x.T,
    "turned": lambda x: x.T[::-1],
    "steps": lambda x: x[::2, 1::2],
    "broadcast": lambda x: hk.broadcast_to(x[0, ::-1], (2, x.shape[1])),
    "element": lambda x: x[1, 2],
    "empty": lambda x: x[:, 2:2][::-1],
    "axes": lambda x: x[None, ::-1, :, None],
    "several": lambda x: (x[::-1], x.T, x[:, ::-1] + 1),
    "computed": lambda x: (x * 2)[::-1],
}


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_any_view_is_a_result(view, exact):
    x = hk.arange(12.0).reshape(3, 4)
    for base in (x, x[::-1], x.T, x[:, ::-1], x[1:, 1:], hk.broadcast_to(x[0], (3, 4))):
        captured = hk.capture(view, exact=exact)
        for _ in range(4):
            got, want = captured(base), view(base)
            pairs = zip(got, want) if isinstance(got, tuple) else [(got, want)]
            assert all(a.shape == b.shape and a.tolist() == b.tolist() for a, b in pairs)
    captured = hk.capture(lambda x: x[::-1])
    for _ in range(3):
        captured(x)[0] = -1  # views share the memory, as uncaptured ones do
        assert x[-1].tolist() == [-1] * 4
