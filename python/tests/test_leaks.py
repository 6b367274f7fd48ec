"""Nothing stays of a call: no object or block of Python's, no byte of C's, of a device or of a loan; refused calls included.

Each call of a family runs some hundred times. Python's count of references is not to be had without a debug build; but a reference too
many keeps its object alive, which is counted here, and objects that live for ever are looked at by themselves. The same tests run under
the address sanitizer, which finds what no longer has an owner."""

import copy
import ctypes
import gc
import os
import pickle
import subprocess
import sys
import tempfile

import numpy as np
import pytest

import hocket as hk
from hocket import data, nn, optim

_core = hk._core
SANITIZED = bool(os.environ.get("HOCKET_PYTHON_SANITIZER"))

# ---- families of calls

# Arrays

X = hk.asarray(np.arange(12.0).reshape(3, 4))
Y = hk.asarray([[1, 2], [3, 4]], dtype="int8")
CALLS = [
    lambda: hk.asarray(np.ones((2, 3)).T), lambda: hk.asarray([[1, 2.5], [3, True]]), lambda: hk.ones(3, device="cpu:0"),
    lambda: X @ X.T, lambda: Y * 2, lambda: 3 - X, lambda: X > Y[0, 0], lambda: hk.where(X > 2, X, 0), lambda: X.__iadd__(1),
    lambda: X.__setitem__(([0, 2], slice(1, None)), 5), lambda: X.__setitem__(X > 3, 0), lambda: X[X > 3], lambda: X[[0, 1], None],
    lambda: X[1:, ::-1, None], lambda: hk.unique_all(Y), lambda: hk.nonzero(X), lambda: hk.linalg.svd(X), lambda: hk.concat([X, X]),
    lambda: hk.meshgrid(Y[0], Y[1]), lambda: X.sum(0), lambda: hk.clip(Y, 1, 2), lambda: hk.einsum("ij,kj->ik", X, X),
    lambda: hk.repeat(Y, hk.asarray([1, 2]), axis=0), lambda: repr(X), lambda: X.tolist(), lambda: X.numpy(), lambda: np.asarray(X),
    lambda: hk.from_dlpack(np.ones(3)), lambda: hk.asarray(np.ones(2), copy=False), lambda: X.__dlpack__(),
    lambda: X.__dlpack__(max_version=(1, 0), copy=True), lambda: bytes(memoryview(Y)), lambda: hk.finfo(X.dtype),
    lambda: hk.result_type(X, Y, 1.0), lambda: X.device, lambda: X.dtype == np.float64, lambda: list(X), lambda: hk.devices(),
    lambda: X.shape, lambda: int(X[0, 0]), lambda: np.ones(4) * X, lambda: X.T.mT, lambda: hk.topk(X, 2), lambda: X + [1, 2, 3, 4],
]
REFUSED = [
    lambda: X @ X, lambda: X[9], lambda: X["a"], lambda: hk.add(X), lambda: hk.add(X, Y, z=1), lambda: hk.zeros("a"),
    lambda: X.__setitem__(0, [1, 2, 3]), lambda: hk.asarray(object()), lambda: hk.asarray([[1], [2, 3]]), lambda: X.__iadd__(hk.ones(7)),
    lambda: hk.zeros(2, device="cpu:77"), lambda: hk.zeros(2, dtype="x"), lambda: _core._adopt_capsule(3, None), lambda: X[9, 9, 9],
    lambda: hk.asarray([10**30]), lambda: X.reshape(7), lambda: hk.take(X, hk.asarray([77])).tolist(), lambda: hk.concat([]),
    lambda: hk.asarray(np.zeros(2, ">i4"), copy=False), lambda: X[[True, False]], lambda: X << 1, lambda: float(X), lambda: hk.zeros((2,) * 9),
]

# Gradients

W = hk.asarray(np.arange(12.0, dtype="float32").reshape(3, 4)).attach_grad()
OWN = hk.function(lambda x: x * x)
OWN.gradient(lambda dy, x: 2 * x * dy)


def recorded():
    with hk.record():
        loss = (W * W).mean() + hk.log(W + 1).sum()
    loss.backward()


def never_differentiated():
    with hk.record():
        return W * 2 + OWN(W)


def differentiated_twice():
    with hk.record():
        y = (W * W * W).sum()
        (first,) = hk.gradients([y], [W], create_graph=True)
        again = first.sum()
    again.backward()


def recorded_with_an_error():
    with hk.record():
        (W * 2) @ W


def a_gradient_that_fails():
    function = hk.function(lambda x: x * x)
    function.gradient(lambda dy, x: 1 // 0)
    with hk.record():
        y = function(W)
    y.backward()
    W.grad.tolist()


GRADIENTS = [recorded, never_differentiated, differentiated_twice, lambda: hk.grad(lambda x: (x * x).sum())(W),
             lambda: hk.value_and_grad(lambda x: OWN(x).sum())(W), lambda: hk.jvp(lambda x: x * x, (W,), (W,)),
             lambda: hk.ones(3).attach_grad(), lambda: W.grad]
GRADIENTS_REFUSED = [recorded_with_an_error, a_gradient_that_fails, lambda: hk.ones(3).backward(), lambda: hk.grad(lambda x: 3)(W),
                     lambda: hk.gradients([hk.ones(())], [W]), lambda: hk.asarray([1, 2]).attach_grad()]

# Modules, optimisers, captured steps


class Net(nn.Module):
    def __init__(self):
        self.body = nn.Sequential(nn.Linear(4), nn.ReLU(), nn.Dropout(0.5), nn.Linear(2))

    def forward(self, x):
        return self.body(x)


SMALL = hk.ones((3, 4))
NET = Net().build((1, 4))
IMAGE = hk.ones((1, 2, 6, 6))
CONVOLUTIONS = nn.Sequential(nn.Conv2d(3, 3), nn.BatchNorm(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(2)).build((1, 2, 6, 6))
RECURRENT = nn.LSTM(4).build((5, 1, 3))
OPTIMIZERS = [kind(NET) for kind in (optim.SGD, optim.Momentum, optim.Adam, optim.RMSprop)]


def train(optimizer):
    with hk.record():
        loss = NET(SMALL).sum()
    loss.backward()
    optimizer.step()


def train_anew():
    net = Net()
    with hk.record():
        loss = net(SMALL).sum()
    loss.backward()
    optim.Adam(net).step()


def capture():
    step = hk.capture(lambda x: hk.tanh(x) @ x.T + 1)
    for _ in range(3):
        step(SMALL)


def capture_of_what_fails():
    step = hk.capture(lambda x: x @ x)
    step(SMALL)


STEP = hk.capture(lambda x: hk.tanh(x) @ x.T + 1)
TRAINING = [*(lambda each=each: train(each) for each in OPTIMIZERS), train_anew, lambda: CONVOLUTIONS(IMAGE),
            lambda: RECURRENT(hk.ones((5, 1, 3))), NET.state, lambda: NET.load(NET.state()), lambda: repr(NET),
            lambda: list(NET.parameters()), lambda: OPTIMIZERS[2].state(), lambda: nn.functional.cross_entropy(SMALL, hk.asarray([0, 1, 2])),
            lambda: optim.clip_grad_norm(NET, 1.0), capture, lambda: STEP(SMALL)]
TRAINING_REFUSED = [lambda: NET(hk.ones((3, 5))), lambda: Net()(hk.ones(())), lambda: nn.Linear(-1), lambda: nn.Linear("a"),
                    lambda: optim.SGD([]), lambda: optim.SGD([3]), lambda: NET.load({}), lambda: NET.load({"a": SMALL}), capture_of_what_fails,
                    lambda: nn.Conv2d(3, 9)(IMAGE), lambda: optim.Adam(NET, lr="a")]

# Files, data, random numbers, complex numbers, other devices

SET = data.arrays(hk.asarray(np.arange(24.0, dtype="float32").reshape(12, 2)), hk.asarray(np.arange(12)))
FOLDER = []  # where files go


def path(name):
    return os.path.join(FOLDER[0], name)


def written(name, value):
    hk.save(path(name), value)
    return hk.load(path(name))


def torn():
    hk.save(path("torn.npz"), {"a": X})
    with open(path("torn.npz"), "r+b") as file:
        file.truncate(60)
    hk.load(path("torn.npz"))


def traced():
    with hk.trace() as trace:
        X @ X.T
    return trace.text(), trace.summary()


@hk.capture
def STEP_OF_NAME(x):
    return x + 1


Z = hk.asarray([[1 + 2j, 3], [4j, 5]])
GENERATOR = hk.random.Generator(3)
REST = [lambda: written("a.npz", {"a": X, "b": Y}), lambda: written("a.safetensors", {"a": W}), lambda: written("a.npy", X),
        lambda: list(data.Loader(SET, 5)), lambda: next(iter(data.Loader(SET, 5, shuffle=True, seed=1))), lambda: SET.fields, traced,
        lambda: hk.random.normal((3, 2)), lambda: hk.random.permutation(5), lambda: GENERATOR.uniform((2,)), hk.random.get_state,
        lambda: hk.random.choice(5, (2,)), lambda: Z * 2j, lambda: abs(Z), lambda: Z @ Z, lambda: Z.tolist(), lambda: complex(Z[0, 0]),
        lambda: hk.fft.fft(X), lambda: hk.fft.irfft(hk.fft.rfft(X)), lambda: hk.linalg.inv(hk.eye(3)), lambda: hk.linalg.qr(X),
        lambda: hk.split_and_load(X, ["cpu:0"]), lambda: hk.all_reduce([hk.ones(3)]), hk.stats, lambda: X._repr_html_(),
        lambda: X.to_device("cpu:0"), lambda: hk.__array_namespace_info__().dtypes(), lambda: hk.pad(X, 1), lambda: hk.isin(Y, Y), lambda: np.exp(X), lambda: np.ones(4) + X, lambda: bytes(X),
        *(lambda each=each: (copy.copy(each), copy.deepcopy(each), pickle.loads(pickle.dumps(each))) for each in (
            hk.add, STEP_OF_NAME, SET, data.Loader(SET, 5), GENERATOR, NET, OPTIMIZERS[2], data.Vocabulary("a b"), X, hk.int8))]
REST_REFUSED = [torn, lambda: hk.load(path("absent.npz")), lambda: hk.save(path("a/b/c.npz"), {"a": X}), lambda: hk.save(path("a.npz"), 3),
                lambda: hk.save(path("a.txt"), X), lambda: data.Loader(SET, 0), lambda: data.arrays(X, hk.ones(5)), lambda: SET.absent,
                lambda: hk.random.normal(-1), lambda: hk.random.choice(2, (3,), replace=False), lambda: hk.random.set_state("a"),
                lambda: float(Z[0, 0]), lambda: Z < Z, lambda: hk.fft.fft(X, n=-1), lambda: hk.linalg.inv(X),
                lambda: hk.linalg.cholesky(-hk.eye(2)).tolist(), lambda: hk.all_reduce(3), lambda: data.idx("/nowhere"), lambda: np.exp(X, out=np.ones(12)), lambda: np.add(X, "a"),
                lambda: pickle.dumps(optim.Adam(NET.parameters())), lambda: _core._operator("absent")]


# ---- how they are watched


class Heap(ctypes.Structure):
    """struct mallinfo2 of glibc"""
    _fields_ = [(name, ctypes.c_size_t) for name in "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost".split()]


_heap = getattr(ctypes.CDLL(None), "mallinfo2", None)
if _heap:
    _heap.restype = Heap


def c_bytes():
    """Bytes that C's heap has given out, or 0 where it does not tell."""
    if not _heap or SANITIZED:
        return 0
    now = _heap()
    return now.uordblks + now.hblkhd


def refused(call, number):
    def quietly():
        try:
            call()
        except Exception:
            return
        raise AssertionError(f"refusal {number} was none")
    return quietly


ROUND, BLOCKS, BYTES = 100, 50, 2000  # less than a block or a small struct for each call


def growth_of(call):
    """By how many blocks of Python's and bytes of C's a round grows them, and of how many rounds that was the least."""
    blocks = bytes_ = sys.maxsize
    rounds = 0
    while rounds < 50 and (blocks >= BLOCKS or bytes_ >= BYTES):  # free lists and caches grow for a while, beside other programs for long
        before = sys.getallocatedblocks(), c_bytes()
        for _ in range(ROUND):
            call()
        hk._core._failures_clear()
        hk._core._wait_all()
        gc.collect()
        if rounds:  # the first one frees what others left
            blocks = min(blocks, sys.getallocatedblocks() - before[0])
            bytes_ = min(bytes_, c_bytes() - before[1])
        rounds += 1
    return blocks, bytes_


def held():
    """What the library knows of: loans, and what lies on devices. Its blocks for handles are of C's heap."""
    hk._core._failures_clear()
    hk.wait()
    gc.collect()
    stats = _core._stats()
    return {"loans": _core._shared_count(), **{name: d["used_bytes"] for name, d in stats["devices"].items()}}


FAMILIES = {"arrays": (CALLS, REFUSED), "gradients": (GRADIENTS, GRADIENTS_REFUSED), "training": (TRAINING, TRAINING_REFUSED),
            "rest": (REST, REST_REFUSED)}


@pytest.fixture
def folder():
    """Of memory where there is such: what is saved is on disk whole, which takes its time."""
    with tempfile.TemporaryDirectory(dir="/dev/shm" if os.path.isdir("/dev/shm") else None) as path:
        FOLDER[:] = [path]
        yield path


@pytest.mark.parametrize("family", FAMILIES)
def test_nothing_leaks(family, folder):
    calls, refusals = FAMILIES[family]
    permanent = [hk.float32, hk.Array, hk.DType, None, True, ()]
    permanent = [each for each in permanent if sys.getrefcount(each) < 2**30]  # some have no count in later Pythons
    calls = calls + [refused(call, i) for i, call in enumerate(refusals)]
    for call in calls:
        for _ in range(3):
            call()
    gc.collect()
    gc.freeze()  # what is there already need not be looked at again
    try:
        before = held()
        for number, call in enumerate(calls):
            for _ in range(10):
                call()
            blocks, bytes_ = growth_of(call)
            assert blocks < BLOCKS and bytes_ < BYTES, (family, number, blocks, bytes_)
        assert held() == before
        counts = [sys.getrefcount(each) for each in permanent]
        for call in calls:
            for _ in range(10):
                call()
        held()
        grown = [sys.getrefcount(each) - count for each, count in zip(permanent, counts)]
        assert max(grown) < 50, grown
    finally:
        gc.unfreeze()


@pytest.mark.skipif(SANITIZED, reason="C's heap is the sanitizer's, and so is Python's")
def test_a_leak_is_seen():
    keep = ctypes.pythonapi.Py_IncRef
    keep.argtypes = [ctypes.py_object]
    assert growth_of(lambda: keep(object()))[0] >= BLOCKS
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    assert not _heap or growth_of(lambda: libc.malloc(24))[1] >= BYTES
    before = held()
    keep(hk.ones(1000))
    assert held() != before


@pytest.mark.skipif(not SANITIZED, reason="of the sanitizer")
def test_the_sanitizer_sees_a_leak():
    """It would not be told, should what is left out (sanitized/) leave out too much."""
    code = "import hocket as hk, ctypes; x = hk.ones(1); ctypes.pythonapi.Py_IncRef(ctypes.py_object(x)); del x"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "_PyObject_New" in done.stderr and "hki_block_take" in done.stderr, done.stderr
