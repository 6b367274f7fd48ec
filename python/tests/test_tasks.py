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
