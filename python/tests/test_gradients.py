import gc
import threading
import weakref

import numpy as np
import pytest

import hocket as hk

mean = hk._core.operators["mean"]


def array(*values):
    return hk.asarray(np.array(values, "float32"))


def test_a_gradient_and_its_modes():
    x = array(1, 2, 3).attach_grad()
    assert x.grad.tolist() == [0, 0, 0]
    for _ in range(2):
        with hk.record():
            y = x * x
        y.backward()
        assert x.grad.tolist() == [2, 4, 6]
    x.attach_grad(mode="add")
    for factor in (1, 2):
        with hk.record():
            y = x * x
        y.backward()
        assert x.grad.tolist() == [2 * factor, 4 * factor, 6 * factor]
    x.attach_grad("null")
    assert x.grad is None
    with pytest.raises(ValueError, match="mode is 'sum'"):
        x.attach_grad("sum")


def test_an_array_of_integers_has_no_gradient():
    x = hk.asarray([1, 2])
    with pytest.raises(ValueError, match="int64"):
        x.attach_grad()
    assert x.grad is None


def test_backward_from_dy_and_of_several():
    x = array(1, 2).attach_grad()
    with hk.record():
        y = x * 3
    y.backward(array(1, 10))
    assert x.grad.tolist() == [3, 30]
    with hk.record():
        a, b = x * 3, x * x
    hk.backward([a, b])
    assert x.grad.tolist() == [5, 7]
    with hk.record():
        a = x * 2
    hk.backward([a], [array(1, 2)])
    assert x.grad.tolist() == [2, 4]


def test_what_was_not_recorded_has_no_gradient():
    x = array(1, 2).attach_grad()
    with pytest.raises(ValueError) as caught:
        (x * 2).backward()
    assert caught.value.file == __file__
    with pytest.raises(TypeError, match="a loss is to be an Array"):
        hk.backward([1])


def test_recording_is_a_state_of_the_thread_and_nests():
    assert not hk.is_recording()
    with hk.record():
        assert hk.is_recording()
        with hk.pause():
            assert not hk.is_recording()
            with hk.record():
                assert hk.is_recording()
        assert hk.is_recording()
        seen = []
        thread = threading.Thread(target=lambda: seen.append(hk.is_recording()))
        thread.start()
        thread.join()
        assert seen == [False]
    assert not hk.is_recording()
    with pytest.raises(KeyError):
        with hk.record():
            raise KeyError
    assert not hk.is_recording()


def test_record_as_a_decorator_that_calls_itself():
    @hk.record()
    def depth(n):
        assert hk.is_recording()
        return 0 if n == 0 else 1 + depth(n - 1)

    assert depth(3) == 3
    assert not hk.is_recording()


def test_detach_and_pause_keep_gradients_away():
    x = array(2, 3).attach_grad()
    with hk.record():
        y = x * x.detach()
        with hk.pause():
            z = x * 5
    hk.backward([y])
    assert x.grad.tolist() == [2, 3]
    with pytest.raises(ValueError):
        z.backward()


def test_overwriting_what_backward_reads_fails_the_gradient():
    x = array(1, 2).attach_grad()
    w = array(1, 2)
    with hk.record():
        y = x * w
    w[...] = 5
    with pytest.raises(hk.Error, match="overwritten"):
        y.backward()
    with pytest.raises(hk.Error, match="overwritten"):
        x.grad.tolist()
    hk._core._failures_clear()


def test_grad_of_a_function():
    def f(x, scale):
        return scale * x * x

    x = array(1, 2)
    assert hk.grad(f)(x, 3).tolist() == [6, 12]
    value, grad = hk.value_and_grad(f)(x, 3)
    assert value.tolist() == [3, 12] and grad.tolist() == [6, 12]
    assert x.grad is None
    both = hk.grad(f, argnums=(0, 1))(x, array(1, 1))
    assert [g.tolist() for g in both] == [[2, 4], [1, 4]]


def test_grad_by_a_structure_and_of_what_does_not_matter():
    def loss(params, x):
        return mean(x * params["w"] + params["b"][0]), "more"

    params = {"w": array(1, 2), "b": [array(0, 0)], "unused": array(1, 1)}
    (value, more), grads = hk.value_and_grad(loss)(params, array(4, 6))
    assert more == "more" and float(value) == 8
    assert grads["w"].tolist() == [2, 3] and grads["b"][0].tolist() == [.5, .5] and grads["unused"].tolist() == [0, 0]


def test_tapes_and_gradients_do_not_leak():
    def once():
        x = array(*range(1000)).attach_grad()
        with hk.record():
            y = mean(x * x)
        y.backward()
        return weakref.ref(x), weakref.ref(y)

    gc.disable()
    try:
        refs = [once() for _ in range(3)]
        hk.wait()
        used = hk.stats()["devices"]["cpu:0"]["used_bytes"]
        for _ in range(50):
            refs += once()
        hk.wait()
        assert hk.stats()["devices"]["cpu:0"]["used_bytes"] <= used
    finally:
        gc.enable()
    assert all(ref() is None for ref in refs[3:])


# ---- random numbers ------------------------------------------------------------------------------------------


def test_seeds_repeat_and_states_go_on():
    hk.seed(7)
    first = hk.random.uniform((4,)).tolist()
    state = hk.random.get_state()
    second = hk.random.normal((3,)).tolist()
    hk.seed(7)
    assert hk.random.uniform((4,)).tolist() == first
    hk.random.set_state(state)
    assert hk.random.normal((3,)).tolist() == second
    generator = hk.random.Generator(7)
    assert generator.uniform((4,)).tolist() == first
    state = generator.get_state()
    again = generator.integers(10, shape=(5,)).tolist()
    generator.set_state(state)
    assert generator.integers(0, 10, (5,)).tolist() == again


def test_ranges_and_dtypes():
    x = hk.random.uniform((1000,), -2, 3, dtype=hk.float64)
    values = np.array(x.tolist())
    assert x.dtype == hk.float64 and values.min() >= -2 and values.max() < 3 and values.std() > 1
    values = np.array(hk.random.normal((2000,), 5, 0.1).tolist())
    assert abs(values.mean() - 5) < .02 and abs(values.std() - .1) < .02
    x = hk.random.integers(-3, 3, (500,), dtype="int32")
    assert set(x.tolist()) == set(range(-3, 3)) and x.dtype == hk.int32
    assert hk.random.normal().shape == ()


@pytest.mark.parametrize("call", [
    lambda: hk.random.uniform((2,), 1, 0), lambda: hk.random.integers(3, 3, (2,)), lambda: hk.random.normal((2,), 0, -1),
    lambda: hk.random.normal((2,), dtype=hk.int32), lambda: hk.random.uniform((-1,)), lambda: hk.seed("x"), lambda: hk.seed(-1),
    lambda: hk.random.Generator(2.5),
])
def test_what_cannot_be_drawn_is_refused(call):
    with pytest.raises((ValueError, TypeError, OverflowError)):
        call()
