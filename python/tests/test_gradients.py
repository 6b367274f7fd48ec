import gc
import pickle
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


def test_the_same_array_as_two_arguments():
    x = array(2, 3)
    assert hk.grad(lambda a, b: a * a * b)(x, x).tolist() == [8, 18]
    assert hk.grad(lambda a, b: a * a * b, argnums=1)(x, x).tolist() == [4, 9]


def test_gradients_of_gradients():
    x = array(2, 3)
    third = hk.grad(hk.grad(hk.grad(lambda x: x * x * x * x)))
    assert third(x).tolist() == [48, 72]
    mixed = hk.grad(hk.grad(lambda x, y: x * x * y, argnums=0), argnums=1)
    assert mixed(x, array(5, 7)).tolist() == [4, 6]
    x.attach_grad()
    with hk.record():
        penalty = (hk.grad(lambda x: x * x * x)(x) ** 2).sum()
    penalty.backward()
    np.testing.assert_allclose(x.grad.tolist(), [36 * 8, 36 * 27])
    assert hk.grad(lambda x: hk.ones((2,)))(x).tolist() == [0, 0]


def test_gradients_as_arrays_and_kept_tapes():
    x, w = array(1, 2).attach_grad("track"), array(3, 4).attach_grad()
    assert x.grad is None
    with hk.record():
        h = x * w
        y = h * h
    dh, dx = hk.gradients(y, [h, x], keep=True)
    assert dh.tolist() == [6, 16] and dx.tolist() == [18, 64] and w.grad.tolist() == [0, 0]
    assert hk.gradients([y], x, [array(1, 0)], keep=True).tolist() == [18, 0]
    y.backward(keep=True)
    assert w.grad.tolist() == [6, 32]
    hk.backward([y], keep=False)
    with pytest.raises(ValueError, match="again"):
        y.backward()
    with hk.record():
        y = x * x * x
        first = hk.gradients(y, x, create_graph=True)
        second = hk.gradients(first, x)
    assert first.tolist() == [3, 12] and second.tolist() == [6, 12]
    with pytest.raises(TypeError, match="what is differentiated by"):
        hk.gradients(y, [3])


def test_jacobian_vector_products():
    x, y = array(2, 3), array(5, 7)
    value, product = hk.jvp(lambda x, y: x * x * y, (x, y), (array(1, 0), array(1, 10)))
    assert value.tolist() == [20, 63] and product.tolist() == [2 * 2 * 5 + 4, 90]
    (a, b), (da, db) = hk.jvp(lambda x: (x * 3, x * x), [x], [array(1, 1)])
    assert da.tolist() == [3, 3] and db.tolist() == [4, 6] and b.tolist() == [4, 9]
    with pytest.raises(ValueError, match="1 tangents for 2"):
        hk.jvp(lambda x, y: x * y, (x, y), (x,))


# ---- gradients of one's own ---------------------------------------------------------------------------------------


def test_a_function_with_a_gradient_of_its_own():
    calls = []

    @hk.function
    def scaled(x, factor, w):
        """x times factor times w"""
        calls.append(hk.is_recording())
        return x * factor * w

    @scaled.gradient
    def scaled_gradient(dy, x, factor, w):
        calls.append(hk.is_recording())
        return dy * 100, None, dy * x

    x, w = array(1, 2).attach_grad(), array(5, 6).attach_grad()
    assert scaled.__doc__ == "x times factor times w" and scaled(x, 2, w).tolist() == [10, 24]
    with hk.record():
        y = scaled(x * 3, 2, w)
    y.backward(array(1, 10))
    assert y.tolist() == [30, 72] and x.grad.tolist() == [300, 3000] and w.grad.tolist() == [3, 60]
    assert calls == [False] * 3


def test_what_a_gradient_reads_is_what_it_is_given():
    given = []

    def made(reads):
        @hk.function(reads=reads)
        def exponential(x, more):
            return hk.exp(x), x + more

        @exponential.gradient
        def _(dy, dz, *rest):
            given.append((dz is None, [getattr(each, "shape", each) for each in rest]))
            return dy, None

        return exponential

    x = array(1, 2).attach_grad()
    for reads in ("inputs", "outputs", "both", "neither"):
        with hk.record():
            y, z = made(reads)(x, 7)
        y.backward()
    assert given == [(True, [(2,), 7]), (True, [7, (2,), (2,)]), (True, [(2,), 7, (2,), (2,)]), (True, [7])]
    with pytest.raises(ValueError, match="reads is 'all'"):
        hk.function(reads="all")
    with pytest.raises(TypeError, match="has no gradient yet"):
        hk.function(lambda x: x)(x)


def own(gradient, forward=lambda x: x * 2, **options):
    function = hk.function(forward, **options)
    function.gradient(gradient)
    return function


def test_exceptions_of_a_gradient_travel():
    x = array(1, 2).attach_grad()

    class Wrong(Exception):
        pass

    def wrong(dy, x):
        raise Wrong("in the gradient")

    with hk.record():
        y = own(wrong)(x * x)
    with pytest.raises(Wrong, match="in the gradient") as caught:
        y.backward()
    assert caught.traceback[-1].name == "wrong"
    with pytest.raises(hk.Error, match="raised an exception"):
        x.grad.tolist()
    for gradient, error, match in ((lambda dy, x: (dy, dy), ValueError, "2 arrays for 1"), (lambda dy, x: 3, TypeError, "a gradient"),
                                   (lambda dy, x: array(1, 2, 3), ValueError, None)):
        x = array(1, 2).attach_grad()
        with hk.record():
            y = own(gradient)(x)
        with pytest.raises(error, match=match):
            y.backward()
            x.grad.tolist()
    hk._core._failures_clear()


def test_what_a_gradient_reads_was_overwritten():
    x = array(1, 2)
    w = array(3, 4).attach_grad()
    with hk.record():
        y = own(lambda dy, x, w: (None, dy * x), lambda x, w: x * w)(x, w)
    x[...] = 9
    with pytest.raises(hk.Error, match="overwritten"):
        y.backward()
        w.grad.tolist()
    hk._core._failures_clear()


def test_a_gradient_of_ones_own_in_gradients_of_gradients_and_waiting():
    def gradient(dy, x):
        assert float(hk.asarray([1.0])[0]) == 1  # it may wait
        return 3 * x * x * dy

    cube = own(gradient, lambda x: x * x * x)
    assert hk.grad(hk.grad(cube))(array(2, 3)).tolist() == [12, 18]


def test_gradients_of_ones_own_do_not_leak():
    def once():
        x = array(*range(100)).attach_grad()
        marker = array(1)

        def gradient(dy, x):
            return dy * marker

        function = own(gradient)
        with hk.record():
            y = function(x)
        with hk.record():
            function(x)  # never differentiated
        y.backward()
        return weakref.ref(x), weakref.ref(marker), weakref.ref(gradient)

    refs = [once() for _ in range(20)]
    hk.wait()
    gc.collect()
    assert all(reference() is None for three in refs for reference in three)


def test_gradients_of_ones_own_in_threads():
    def gradient(dy, x):
        float(x.sum())
        return dy * x

    function, wrong = own(gradient), []

    def work(value):
        for _ in range(30):
            x = array(value, value).attach_grad()
            with hk.record():
                y = function(x)
            y.backward()
            if x.grad.tolist() != [value, value]:
                wrong.append(value)

    threads = [threading.Thread(target=work, args=(float(i),)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


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


def test_what_is_made_of_these():
    hk.seed(2)
    assert .2 < np.mean(hk.random.bernoulli(.3, (1000,)).tolist()) < .4 and hk.random.bernoulli(.3).dtype == hk.bool
    assert .8 < np.mean(hk.random.exponential((2000,)).tolist()) < 1.2
    assert 5 < np.mean(hk.random.gamma(3, (2000,), 2).tolist()) < 7
    assert sorted(hk.random.permutation(9).tolist()) == [*range(9)]
    x = hk.asarray(np.arange(12).reshape(6, 2))
    assert sorted(hk.random.permutation(x).tolist()) == x.tolist() == sorted(hk.random.Generator(3).shuffle(x).tolist())
    assert sorted(hk.random.choice(5, (5,), replace=False).tolist()) == [*range(5)]
    assert set(hk.random.choice(3, (50,), weights=[0, 1, 1]).tolist()) == {1, 2}
    assert hk.random.categorical(array(-50, 50, -50)).tolist() == 1
    hk.seed(4)
    first = hk.random.choice(100, (7,)).tolist()
    assert hk.random.Generator(4).choice(100, (7,)).tolist() == first


@pytest.mark.parametrize("call", [
    lambda: hk.random.bernoulli(2, (2,)), lambda: hk.random.gamma(0), lambda: hk.random.choice(3, (4,), replace=False),
    lambda: hk.random.uniform((2,), 1, 0), lambda: hk.random.integers(3, 3, (2,)), lambda: hk.random.normal((2,), 0, -1),
    lambda: hk.random.normal((2,), dtype=hk.int32), lambda: hk.random.uniform((-1,)), lambda: hk.seed("x"), lambda: hk.seed(-1),
    lambda: hk.random.Generator(2.5),
])
def test_what_cannot_be_drawn_is_refused(call):
    with pytest.raises((ValueError, TypeError, OverflowError, IndexError)):
        call()


def test_one_recording_within_itself():
    recording = hk.record()
    with recording:
        with recording:
            pass
        assert hk.is_recording()
    assert not hk.is_recording()


@pytest.mark.parametrize("key", [0, slice(None), Ellipsis, [1], np.array([True, False])])
def test_writes_that_would_lose_a_gradient_raise_and_write_nothing(key):
    x, plain = hk.ones(2).attach_grad(), hk.zeros(2)
    with hk.record():
        y = x * 2
        for target in (x, y, y[:]):
            with pytest.raises(ValueError, match="while recording, an array that wants a gradient"):
                target[key] = 5
        with pytest.raises(ValueError, match="gradient would be lost"):
            plain[key] = x[:1]
        plain[key] = 3
    assert x.tolist() == [1, 1] and y.tolist() == [2, 2] and 3 in plain.tolist()
    y.backward()
    assert x.grad.tolist() == [2, 2]


def test_messages_say_pythons_names():
    x = hk.ones(2).attach_grad()
    with hk.record():
        y = x.sum()
    y.backward()
    with pytest.raises(ValueError, match=r"hk.backward\(\[…\]\)\), or keep the tape \(keep=True\)"):
        y.backward()
    with pytest.raises(ValueError, match=r"recording \(hk.record\(\)\)"):
        hk.ones(2).backward()


def test_a_pickled_array_wants_its_gradient():
    assert pickle.loads(pickle.dumps(hk.ones(2).attach_grad()))._has_grad()
    assert not pickle.loads(pickle.dumps(hk.ones(2)))._has_grad()


def test_grad_by_numbers_and_refusals():
    assert hk.grad(lambda x: x * x)(3.0).tolist() == 6
    assert hk.grad(lambda x: (x * x).sum())(np.array([1.0, 2.0])).tolist() == [2, 4]
    assert hk.grad(lambda p: p["a"][0] * 2)({"a": [1.0]})["a"][0].tolist() == 2
    for function, argument, text in ((lambda x: x.sum(), hk.arange(3), "no gradient by an array of int64"),
                                     (lambda x: None, hk.ones(1), "is to give an Array, not None")):
        with pytest.raises(TypeError, match=text):
            hk.grad(function)(argument)
    with pytest.raises(TypeError, match="argnums is 1, but there are 1"):
        hk.grad(lambda x: x, argnums=1)(hk.ones(1))
