"""Python functions as tasks: hk.task."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import hocket as hk


def test_order():
    x, y = hk.arange(6, dtype=hk.float32), hk.zeros(6)
    for _ in range(50):
        x += 1
        hk.task(lambda x, y: np.add(x, y, out=y), reads=[x], updates=[y])
        y *= 2
    expected_x, expected_y = np.arange(6, dtype=np.float32), np.zeros(6, np.float32)
    for _ in range(50):
        expected_x += 1
        expected_y = (expected_y + expected_x) * 2
    assert np.array_equal(np.asarray(y), expected_y)


def test_views():
    x = hk.reshape(hk.arange(12, dtype=hk.int32), (3, 4))
    y = hk.zeros((4, 2), dtype=hk.int32)
    seen = []

    def copy(a, b):
        seen.append((a.shape, a.flags.writeable, b.flags.writeable))
        b[...] = a[1:].T

    assert hk.task(copy, reads=[x], writes=[y])[0] is y
    assert np.array_equal(np.asarray(y), np.arange(12).reshape(3, 4)[1:].T)
    assert seen == [((3, 4), False, True)]
    hk.task(copy, reads=[x.T[:2].T], writes=[y[:2]])  # views with gaps
    assert np.array_equal(np.asarray(y)[:2], np.arange(12).reshape(3, 4)[1:, :2].T)
    empty = hk.zeros((0, 3))
    hk.task(lambda e: seen.append(e.shape), updates=[empty])
    hk.task(lambda s: s.__setitem__((), 7), writes=[x[0, 0]])
    hk.wait()  # nothing else waits for the task on no elements
    assert x[0, 0] == 7 and (0, 3) in seen


def test_others_go_on():
    """What does not need it is done while it waits; so it may wait for them."""
    come = threading.Event()
    x, y = hk.zeros(3), hk.ones(3)
    hk.task(lambda x: (come.wait(60), x.fill(5)), writes=[x], name="waits")
    assert (y + 1).tolist() == [2, 2, 2]
    come.set()
    assert (x + 1).tolist() == [6, 6, 6]


def test_failures():
    x = hk.ones(3)

    def broken(x):
        raise KeyError("no such row: 7")

    hk.task(broken, updates=[x])
    with pytest.raises(hk.Error, match="KeyError: 'no such row: 7'") as caught:
        (x + 1).tolist()
    assert caught.value.operation == "broken" and caught.value.file.endswith("test_tasks.py") and caught.value.line > 0
    hk.task(lambda x: x.fill(1), writes=[x])
    assert x.tolist() == [1, 1, 1]
    kept = []
    hk.task(kept.append, updates=[x])
    with pytest.raises(hk.Error, match="has kept a view"):
        x.tolist()
    assert kept[0].tolist() == [1, 1, 1]  # its memory is still there
    with pytest.raises(TypeError, match="function is int"):
        hk.task(3, updates=[x])
    with pytest.raises(ValueError, match="0 arrays"):
        hk.task(print)
    with pytest.raises(TypeError, match="bfloat16"):
        hk.task(print, reads=[hk.zeros(2, dtype=hk.bfloat16)])
    y = hk.zeros(4)
    hk.task(print, reads=[y[1:]], writes=[y])
    with pytest.raises(hk.Error, match="share memory"):
        y.tolist()
    hk._core._failures_clear()


def test_readers_may_not_write():
    x, y = hk.ones(3), hk.zeros(3)
    hk.task(lambda x, y: x.fill(2), reads=[x], writes=[y])
    with pytest.raises(hk.Error, match="read-only"):
        y.tolist()
    hk._core._failures_clear()


def test_capture_is_refused():
    def step(x):
        hk.task(lambda x: x.fill(1), writes=[x])
        return x + 1

    with pytest.warns(RuntimeWarning, match="its arguments end with the call"):
        captured = hk.capture(step)
        assert [captured(hk.zeros(2)).tolist() for _ in range(3)] == [[2, 2]] * 3


@pytest.mark.parametrize("engine", ["async", "serial"])
def test_at_the_end(engine):
    """What has been issued when the program ends is done while there is an interpreter."""
    program = """
import time, hocket as hk
x = hk.zeros(2)
for i in range(5):
    hk.task(lambda x: (time.sleep(0.05), x.__iadd__(1), print(x[0], flush=True)), updates=[x])
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100,
                            env=dict(os.environ, HOCKET_ENGINE=engine))
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["1.0", "2.0", "3.0", "4.0", "5.0"], result.stderr


# ---- compiled functions

HALF = "void half(void **data, int64_t *sizes, double *args) { for (int64_t i = 0; i < sizes[0]; i++) ((float *)data[0])[i] *= args[0]; }"
SUM = "void sum(float **x, int64_t *sizes, void *args) { for (int64_t i = 0; i < sizes[0]; i++) x[1][0] += x[0][i]; }"


def test_kernel_from_c():
    half = hk.kernel_from_c(HALF, "half")
    x = hk.arange(6, dtype=hk.float32)
    (y,) = half(updates=[x], args=[0.5], priority=1)
    assert y is x and np.array_equal(np.asarray(x), np.arange(6) / 2)
    half(updates=[hk.reshape(x, (2, 3))], args=[4.0])
    assert np.array_equal(np.asarray(x), np.arange(6) * 2)
    total = hk.full((1,), 3, dtype=hk.float32)
    kernel = hk.kernel_from_c(SUM, "sum")
    for _ in range(20):
        kernel(reads=[x], accumulates=[total])
    assert float(total[0]) == 3 + 20 * 30


def test_kernel_refuses():
    half = hk.kernel_from_c(HALF, "half")
    x = hk.zeros((4, 4))
    with pytest.raises(hk.errors.Error, match="array 0 has gaps"):
        half(updates=[x[:, 1]], args=[1.0])
        x.wait()
    with pytest.raises(ValueError, match="refuses the source"):
        hk.kernel_from_c("void f( {", "f")
    with pytest.raises(ValueError, match="no function 'g'"):
        hk.kernel_from_c("void f(void) {}", "g")
    with pytest.raises(TypeError, match="function is str"):
        hk.kernel("half")
    with pytest.raises(ValueError, match="address"):
        hk.kernel(0)


def test_kernel_of_ctypes():
    import ctypes

    signature = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_void_p), ctypes.POINTER(ctypes.c_int64), ctypes.c_void_p)

    def fill(data, sizes, args):
        ctypes.memset(data[0], 0, 4 * sizes[0])

    function = signature(fill)
    x = hk.ones(5)
    hk.kernel(function)(writes=[x])
    assert not np.asarray(x).any()


def test_kernel_of_numba():
    numba = pytest.importorskip("numba")
    types = numba.types

    @numba.cfunc(types.void(types.CPointer(types.voidptr), types.CPointer(types.int64), types.voidptr))
    def double(data, sizes, args):
        x = numba.carray(data[0], sizes[0], dtype=np.float32)
        x *= 2

    x = hk.ones(5)
    hk.kernel(double)(updates=[x])
    assert np.array_equal(np.asarray(x), np.full(5, 2))


# ---- promises


def test_promise():
    x = hk.zeros((2, 3))
    promise = hk.promise(writes=[x[:, 0]], updates=[x[:, 2]])
    y = x + 1
    assert promise.is_open

    def fill():
        promise.view()[:] = [5, 7]
        promise.view(1)[:] += 2
        promise.keep()

    thread = threading.Thread(target=fill)
    thread.start()
    assert np.array_equal(np.asarray(y), [[6, 1, 3], [8, 1, 3]])
    thread.join()
    assert not promise.is_open
    with pytest.raises(ValueError, match="kept or failed before"):
        promise.keep()


WAITING = """
import threading, time
import hocket as hk

def keep(promise):
    time.sleep(0.05)
    promise.view()[:] = 5
    promise.keep()

for look in (lambda x: x + 1, lambda x: x + 0, lambda x: hk.wait() or x, lambda x: x):
    x = hk.zeros(4)
    thread = threading.Thread(target=keep, args=(hk.promise(writes=[x]),))
    thread.start()
    print(float(look(x)[0]))
    thread.join()
"""


@pytest.mark.parametrize("engine", ["async", "serial"])
def test_a_thread_that_waits_lets_others_keep(engine):
    done = subprocess.run([sys.executable, "-c", WAITING], env={**os.environ, "HOCKET_ENGINE": engine}, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["6.0", "5.0", "5.0", "5.0"], done.stderr


def test_promise_fails():
    x = hk.zeros(3)
    hk.promise(writes=[x], name="camera").fail("no frame")
    with pytest.raises(hk.errors.Error, match="camera: no frame"):
        (x + 1).wait()
    y = hk.zeros(3)
    hk.promise(writes=[y])  # and nobody keeps it
    with pytest.raises(hk.errors.Error, match="was forgotten"):
        y.wait()
    with pytest.raises(ValueError, match="not open"):
        hk.promise(updates=[y]).view()
    with pytest.raises(IndexError, match="index is 1"):
        hk.promise(writes=[hk.zeros(3)]).view(1)


def test_await():
    import asyncio

    x = hk.zeros(3)
    promise = hk.promise(writes=[x])

    async def keep():
        promise.view()[:] = 7
        promise.keep()

    async def main():
        y = x * 2
        values = await asyncio.gather(_value(y), keep())
        return values[0]

    async def _value(y):
        return await y

    assert np.array_equal(np.asarray(asyncio.run(main())), np.full(3, 14))


def test_priority():
    with hk.priority(3):
        x = hk.ones(3) + 1
    assert float(x[0]) == 2
    with pytest.raises(ValueError, match="the priority is 256"):
        with hk.priority(256):
            pass


# ---- files beside calls


def test_files(tmp_path):
    x = hk.ones(1000)
    saved = []
    for i in range(5):
        saved.append(hk.save(tmp_path / f"{i}.safetensors", {"x": x}, metadata={"i": str(i)}, wait=False))
        x += 1
    assert [int(bytes) for bytes in saved] == [4000] * 5
    for i in range(5):
        loaded = hk.load(tmp_path / f"{i}.safetensors", wait=False)
        assert loaded.metadata == {"i": str(i)} and np.array_equal(np.asarray(loaded["x"]), np.full(1000, i + 1))
    with pytest.raises(hk.errors.Error, match="No such file"):
        hk.save(tmp_path / "none" / "x.npy", x, wait=False).wait()
    with pytest.raises(KeyError):
        hk.load(tmp_path / "0.safetensors", names="y", wait=False)


def test_files_at_exit(tmp_path):
    path = tmp_path / "last.safetensors"
    program = f"import hocket as hk; hk.save({str(path)!r}, {{'x': hk.ones(1 << 20)}}, wait=False)"
    assert subprocess.run([sys.executable, "-c", program], timeout=60).returncode == 0
    assert float(hk.sum(hk.load(path)["x"])) == 1 << 20
