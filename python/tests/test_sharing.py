"""Memory that Hocket and another library share: values, order, lifetimes."""

import collections.abc
import copy
import gc
import io
import operator
import os
import pickle
import random
import subprocess
import sys
import time

import numpy as np
import pytest

import hocket as hk

_core = hk._core
DTYPES = "float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split()


def shared():
    if _core._shared_count():
        gc.collect()
    return _core._shared_count()


@pytest.fixture(autouse=True)
def nothing_stays_shared():
    before = shared()
    yield
    late = time.monotonic() + 10
    while _core._shared_count() != before and time.monotonic() < late:
        time.sleep(0.01)  # what other threads give back comes by the main thread
    assert shared() == before


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("writes", [False, True])
@pytest.mark.parametrize("way", [np.asarray, np.from_dlpack, memoryview])
def test_a_view_of_hockets_memory(dtype, way, writes):
    if (way, dtype) in ((memoryview, "float16"), (np.from_dlpack, "bool")):
        pytest.skip("memoryview has no half, and older NumPy no bool by DLPack")
    x = hk.asarray(np.arange(6).reshape(2, 3).astype(dtype)).T
    view = way(x.lend() if writes else x)
    if way is np.asarray:
        assert view.flags.writeable == writes  # older NumPy takes all that comes by DLPack for reading
    assert view.tolist() == x.tolist() and view.shape == (3, 2)
    if way is memoryview:
        assert view.readonly != writes
    else:
        assert view.dtype == dtype
        x[0, 1] = 1
        assert view[0, 1] == 1
        if writes and view.flags.writeable:
            view[2, 1] = 0
            assert x[2, 1].item() == 0
        else:
            with pytest.raises(ValueError, match="read-only"):
                view[2, 1] = 0
    assert _core._facts(x)[1]
    del view


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("way", [lambda a: hk.asarray(a, copy=False), hk.from_dlpack])
def test_an_array_over_numpys_memory(dtype, way):
    if (way, dtype) == (hk.from_dlpack, "bool"):
        pytest.skip("older NumPy has no bool by DLPack")
    values = np.arange(12).reshape(3, 4).astype(dtype)
    for part in (values, values.T, values[::2], values[1:, 2:], values[0, :0], values[0, 0, ...]):
        x = way(part)
        assert x.tolist() == part.tolist() and x.dtype == dtype and x.shape == part.shape
    x = way(values)
    x[0, 1] = 0
    assert values[0, 1] == 0
    values[2, 2] = 1
    assert x[2, 2].item() == 1


def test_negative_strides_are_shared():
    values = np.arange(12.0).reshape(3, 4)
    x = hk.asarray(values[::-1, ::-2], copy=False)
    assert x.tolist() == values[::-1, ::-2].tolist()
    x[0, 0] = 100
    assert values[2, 3] == 100


def test_memory_for_reading_is_not_written():
    values = np.arange(3.0)
    values.flags.writeable = False
    x = hk.asarray(values, copy=False)
    for write in (lambda: x.__setitem__(0, 1), lambda: x.__iadd__(1), lambda: x.fill(2), lambda: x.__setitem__([0], 1)):
        with pytest.raises(ValueError, match="read only"):
            write()
    assert x.tolist() == [0, 1, 2]
    assert (x + 1).tolist() == [1, 2, 3]
    with pytest.raises(BufferError, match="from version 1 on"):
        x.__dlpack__(copy=False)
    with pytest.raises(ValueError, match="read only"):
        x.lend()
    assert np.from_dlpack(x).tolist() == [0, 1, 2]  # of a copy
    assert hk.asarray(b"abc", copy=False).tolist() == [97, 98, 99]


def test_broadcast_views_are_not_written():
    x = hk.asarray([1.0, 2.0])
    wide = hk.broadcast_to(x, (3, 2))
    with pytest.raises(ValueError, match="read only"):
        wide[0, 0] = 5
    assert x.tolist() == [1, 2]
    assert np.asarray(wide).tolist() == [[1, 2]] * 3
    assert memoryview(wide).readonly and memoryview(wide).strides == (0, 4)  # no copy
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(wide)[0, 0] = 5  # would be lost


def test_what_cannot_be_shared_says_so():
    for bad in ([1, 2], 1.5, np.array(["a"]), np.zeros(2, ">f4"), np.zeros(2, "clongdouble")):
        with pytest.raises((ValueError, BufferError, TypeError)):
            hk.asarray(bad, copy=False)
    with pytest.raises(ValueError):
        hk.asarray(np.zeros(2), dtype="float32", copy=False)
    odd = np.zeros(9, "u1")[1:].view("f4")
    with pytest.raises(BufferError):
        hk.asarray(odd, copy=False)
    assert hk.asarray(odd).tolist() == [0, 0]
    with pytest.raises(BufferError):
        memoryview(hk.zeros(2, dtype="bfloat16"))
    with pytest.raises(BufferError):
        hk.zeros(2).__dlpack__(stream=1)
    with pytest.raises(BufferError):
        hk.zeros(2).__dlpack__(dl_device=(2, 0))


def test_capsules():
    x = hk.asarray([1.0, 2.0])
    old, new = x.__dlpack__(), x.__dlpack__(max_version=(1, 0))
    assert '"dltensor"' in repr(old) and '"dltensor_versioned"' in repr(new)
    with pytest.raises(ValueError, match="read only"):
        _core._adopt_capsule(new, None)[0] = 7
    new = x.lend().__dlpack__(max_version=(1, 0))
    y = _core._adopt_capsule(new, None)
    with pytest.raises(BufferError, match="taken before"):
        _core._adopt_capsule(new, None)
    y[0] = 7
    assert x.tolist() == [7, 2]
    z = _core._adopt_capsule(x.__dlpack__(copy=True, max_version=(1, 0)), None)
    z[0] = 9
    assert x.tolist() == [7, 2]
    del old, new
    assert x.__dlpack_device__() == (1, 0)
    half = hk.asarray([1.5], dtype="bfloat16")
    assert _core._adopt_capsule(half.__dlpack__(), None).dtype == hk.bfloat16
    with pytest.raises(BufferError):
        _core._adopt_capsule(5, None)


READERS = {
    "asarray": np.asarray, "memoryview": memoryview, "dlpack": np.from_dlpack, "array": np.array, "frombuffer": np.frombuffer, "numpy": lambda x: x.numpy(),
    "dlpack copy": lambda x: x.__dlpack__(copy=True), "adopted": lambda x: hk.asarray(memoryview(x), copy=False), "sum": lambda x: np.sum(np.asarray(x)),
    "bytes": bytes, "interface": lambda x: x.__array_interface__,
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_gradients_survive_who_reads(read):
    if read is np.from_dlpack and tuple(map(int, np.__version__.split(".")[:2])) < (2, 1):
        pytest.skip("older NumPy does not ask for memory to be read only")
    x = hk.asarray([1.0, 2.0]).attach_grad()
    held = read(x)
    with hk.record():
        y = x * x
        z = (y * y).sum()
        kept = read(y), read(x)
    again = read(y), read(x)
    z.backward()
    assert x.grad.tolist() == [4, 32]
    del held, kept, again


def test_who_may_write_fails_gradients_by_pythons_name():
    x = hk.asarray([1.0, 2.0]).attach_grad()
    with hk.record():
        z = (x * x).sum()
        with pytest.raises(ValueError, match="while recording"):
            x.lend()
    np.asarray(x.lend())[0] = 5
    with pytest.raises(hk.ValueError, match=r"overwritten by lend\(\) at .*test_sharing.py:\d+"):
        z.backward()
    assert x.tolist() == [5, 2]


def test_nothing_else_is_lent_for_writing():
    x = hk.zeros(4, dtype=hk.uint8)
    with pytest.raises(TypeError, match="read-write"):
        io.BytesIO(b"1234").readinto(x)
    assert io.BytesIO(b"1234").readinto(x.lend()) == 4 and bytes(x) == b"1234"
    with pytest.raises(BufferError, match="bfloat16"):
        np.asarray(hk.zeros(2, dtype=hk.bfloat16).lend())
    assert _core._adopt_capsule(hk.ones(2, dtype=hk.bfloat16).lend().__dlpack__(), None).tolist() == [1, 1]
    assert np.frombuffer(x, "u1").flags.writeable is False and hk.asarray(x.lend(), copy=False).tolist() == x.tolist()
    lent = x.lend()
    del x
    assert bytes(memoryview(lent)) == b"1234"


def test_copies_are_not_shared():
    values = np.arange(3.0)
    x = hk.asarray(values)
    values[0] = 9
    assert x.tolist() == [0, 1, 2] and not _core._facts(x)[1]
    y = hk.from_dlpack(values, copy=True)
    values[1] = 9
    assert y.tolist() == [9, 1, 2]
    assert hk.asarray(x) is not None and np.asarray(hk.asarray(x)).tolist() == [0, 1, 2]
    z = hk.asarray(x, copy=True)
    z[0] = 5
    assert x[0].item() == 0
    own = x.numpy()
    own[0] = 77
    assert x[0].item() == 0


def test_arrays_outlive_what_they_came_from():
    x = hk.from_dlpack(np.arange(1000.0))
    gc.collect()
    assert float(x.sum()) == 499500
    view = np.asarray(hk.arange(1000.0))
    gc.collect()
    assert view.sum() == 499500
    part = hk.asarray(np.arange(10.0), copy=False)[2:4]
    gc.collect()
    assert part.tolist() == [2, 3]


@pytest.mark.parametrize("make", [np.asarray, hk.from_dlpack])
@pytest.mark.parametrize("seed", range(20))
def test_any_interleaving_of_writes_is_the_serial_one(make, seed):
    """Neither library waits by hand: calls on shared memory are over when they return."""
    order = random.Random(seed)
    size = 200_000
    if make is np.asarray:
        x = hk.zeros(size, dtype=hk.float64)
        theirs = np.asarray(x.lend())
    else:
        theirs = np.zeros(size)
        x = hk.from_dlpack(theirs)
    serial = np.zeros(size)
    parts = [slice(None), slice(0, size // 2), slice(size // 3, None), slice(None, None, 2)]
    for _ in range(30):
        part, what, number = order.choice(parts), order.randrange(6), order.randint(1, 5)
        if what == 0:
            theirs[part] += number
            serial[part] += number
        elif what == 1:
            x[part] += number
            serial[part] += number
        elif what == 2:
            x[part] = x[part] * 0.5 + number
            serial[part] = serial[part] * 0.5 + number
        elif what == 3:
            theirs[part] = theirs[part][::-1].copy()
            serial[part] = serial[part][::-1].copy()
        elif what == 4:
            y = x[part] * number  # read by Hocket, then written by NumPy
            theirs[part] = -1
            x[part] = y
            serial[part] = serial[part] * number
        else:
            np.multiply(theirs, 0.5, out=theirs)
            serial *= 0.5
    assert np.array_equal(theirs, serial) and np.array_equal(x.numpy(), serial)
    del theirs


INTERLEAVINGS = int(os.environ.get("HOCKET_INTERLEAVINGS", "500"))  # 100000 are run by hand


def numpys(memory):
    return memory


def hockets(memory):
    return hk.asarray(memory, copy=False)


def torchs(memory):
    return pytest.importorskip("torch").from_numpy(memory)


def write(order, one, part, number):
    """A random write: Python's signs are the same for all three."""
    what = order.randrange(5)
    if what == 0:
        one[part] += number
    elif what == 1:
        one[part] = one[part] * 0.5 + number
    elif what == 2:
        one *= 0.5
    elif what == 3:
        one[part] = number
    else:
        one -= one * 0.25


@pytest.mark.parametrize("who", [(numpys, hockets), (numpys, hockets, torchs)], ids=["numpy", "torch"])
def test_many_interleavings(who):
    """Random writes of all into one memory, which is NumPy's or Hocket's: the same as of NumPy alone, one after another."""
    order = random.Random(7)
    for k in range(INTERLEAVINGS // 2):
        size = order.choice((40, 40, 2000, 2000, 30000))
        memory = np.zeros(size) if k % 2 else np.asarray(hk.zeros(size, dtype=hk.float64).lend())
        handles, serial = [each(memory) for each in who], np.zeros(size)
        for _ in range(10):
            begin = order.randrange(size)
            part, number = slice(begin, order.randint(begin, size), order.choice((1, 1, 2))), order.randint(1, 5)
            state = order.getstate()
            write(order, order.choice(handles), part, number)
            order.setstate(state)
            write(order, order.choice([serial] * len(handles)), part, number)
        assert np.array_equal(memory, serial), (k, size)
        assert handles[1].tolist() == serial.tolist()
        del memory, handles


def test_shared_with_torch():
    torch = pytest.importorskip("torch")
    x = hk.arange(5.0)
    t = torch.from_dlpack(x.lend())
    t[0] = 9
    x[1] = 7
    assert t.tolist() == [9, 7, 2, 3, 4] and x.tolist() == t.tolist()
    y = hk.from_dlpack(torch.ones(3))
    assert (y + 1).tolist() == [2, 2, 2]
    assert hk.asarray(torch.ones(2, 2)).shape == (2, 2)
    assert (x.__array__() == t.numpy()).all()


@pytest.mark.parametrize("first, second", [("torch", "hocket"), ("hocket", "torch")])
def test_the_order_of_imports(first, second):
    """The thread-local memory of both has room, whichever is loaded first, in threads too."""
    pytest.importorskip("torch")
    code = f"""
import threading
import {first}
import {second}
import hocket as hk, torch
def work(done):
    x = torch.ones(300, 300) @ torch.ones(300, 300)
    y = hk.from_dlpack(x) @ hk.ones((300, 300))
    with hk.record():
        loss = (hk.ones(3).attach_grad() * 2).sum()
    loss.backward()
    done.append(float(y[0, 0]) == 90000 and float(torch.from_dlpack(y).mean()) == 90000)
done = []
threads = [threading.Thread(target=work, args=(done,)) for _ in range(4)]
[thread.start() for thread in threads], [thread.join() for thread in threads]
work(done)
assert done == [True] * 5, done
"""
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr


def test_arrays_that_are_not_shared_do_not_wait():
    """One loan elsewhere does not make other arrays wait."""
    held = np.asarray(hk.zeros(2))
    big = hk.ones((600, 600))
    product = big @ big
    for _ in range(8):
        product = product @ big
    assert not product.is_ready()
    del held


def test_mixed_expressions_are_arrays():
    x = hk.asarray([1.0, 2.0])
    values = np.array([3.0, 4.0], "float32")
    for got, want in ((x + values, [4, 6]), (values + x, [4, 6]), (values - x, [2, 2]), (np.float32(2) * x, [2, 4]),
                      (np.float64(2) * x, [2, 4]), (x * np.int64(3), [3, 6]), (values @ x, 11), (np.int8(1) + x, [2, 3])):
        assert isinstance(got, hk.Array) and got.tolist() == want and got.dtype == hk.float32
    assert (values == x).tolist() == [False, False]
    values = np.array([3.0, 4.0])
    values[:] = x
    assert values.tolist() == [1, 2]
    assert np.add(values, np.asarray(x)).tolist() == [2, 4]
    with pytest.raises(TypeError, match="values = values \\+ x is an Array"):
        values += x  # NumPy's memory stays NumPy's
    assert float(x[0]) == 1 and int(x[1]) == 2 and [10, 20, 30][hk.asarray(1)] == 20


def test_numpys_functions_of_elements():
    x, values = hk.asarray([1.0, 4.0]), np.array([3.0, 4.0], "float32")
    for got, want in ((np.exp(x), np.exp([1, 4])), (np.sqrt(x), [1, 2]), (np.add(x, 1), [2, 5]), (np.power(x, 2), [1, 16]), (np.arctan2(values, x), None),
                      (np.subtract(values, x), [2, 0]), (np.maximum(values, x), [3, 4]), (np.absolute(-x), [1, 4]), (np.less(values, x), [False, False]),
                      (np.less_equal(3, x), [False, True]), (np.true_divide(1, x), [1, .25]), (np.isnan(x), [False, False])):
        assert isinstance(got, hk.Array)
        np.testing.assert_allclose(got.numpy(), np.arctan2([3, 4], [1, 4]) if want is None else want, rtol=1e-6)
    for got, want in ((np.add.reduce(x), 5), (np.exp2(x), [2, 16]), (np.add(x, 1, dtype="float64"), [2, 5]), (np.add.outer(x, x), [[2, 5], [5, 8]])):  # what has no name here
        assert not isinstance(got, hk.Array) and np.asarray(got).tolist() == want
    assert [each.tolist() for each in np.divmod(x, 3)] == [[0, 1], [1, 1]]
    assert [each.tolist() for each in divmod(values, hk.asarray([4.0, 3.0]))] == [[0, 1], [3, 1]]
    out = hk.zeros(2)
    assert np.multiply(x, 2, out=out) is out and out.tolist() == [2, 8]
    assert np.multiply(values, 2, out=out) is out and out.tolist() == [6, 8]
    with pytest.raises(TypeError):
        np.add(x, "a")
    x.attach_grad()
    with hk.record():
        loss = np.sum(np.square(np.tanh(x)))
    loss.backward()
    assert np.allclose(x.grad.numpy(), 2 * np.tanh([1, 4]) * (1 - np.tanh([1, 4]) ** 2), rtol=1e-4)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "uint8", "bool"])
def test_pandas(dtype):
    pd = pytest.importorskip("pandas")
    values = np.array([1, 0, 1]).astype(dtype)
    x, series = hk.asarray(values), pd.Series(values)
    assert pd.Index(x).tolist() == values.tolist() and pd.Series(x).dtype == dtype and pd.Index(x).dtype == pd.Index(values).dtype
    for got, want in ((series ^ x, series ^ values), (series & x[::-1], series & values[::-1])) if dtype == "bool" else \
            ((series + x, series + values), (x + series, values + series), (series * x[::-1], series * values[::-1])):
        assert type(got) is type(want) and got.equals(want)
    for got, want in ((series == x, series == values),
                      (pd.DataFrame({"a": x}), pd.DataFrame({"a": values})),
                      (pd.DataFrame(hk.ones((2, 3), dtype=dtype)), pd.DataFrame(np.ones((2, 3), dtype))), (series.where(x != 0, 5), series.where(values != 0, 5))):
        assert type(got) is type(want) and got.equals(want)
    frame = pd.DataFrame({"a": values})
    frame["b"] = x
    assert frame["b"].tolist() == values.tolist() and frame["b"].dtype == dtype
    assert pd.concat([series, pd.Series(x)]).tolist() == values.tolist() * 2


def test_pillow():
    Image = pytest.importorskip("PIL.Image")
    values = np.arange(60, dtype="u1").reshape(4, 5, 3)
    x = hk.asarray(values)
    for ours, theirs in ((x, values), (x[:, :, 0], values[:, :, 0]), (x[::-1], values[::-1]), (x.astype(hk.float32)[:, :, 1], values.astype("f4")[:, :, 1]),
                         (hk.permute_dims(x, (1, 0, 2)), values.transpose(1, 0, 2)), (x[:, :, 0] > 9, values[:, :, 0] > 9)):
        assert np.array_equal(np.asarray(Image.fromarray(ours)), np.asarray(Image.fromarray(theirs)))


def test_the_array_interface():
    for x in (hk.arange(6.0).reshape(2, 3), hk.arange(6).reshape(2, 3).T, hk.zeros((0, 2)), hk.asarray(True), hk.broadcast_to(hk.arange(2.0), (3, 2))):
        found = x.__array_interface__
        assert found["version"] == 3 and found["shape"] == x.shape and np.dtype(found["typestr"]) == x.dtype
        holder = type("Holder", (), {"__array_interface__": found})()
        assert np.array_equal(np.asarray(holder), x.numpy()) and not np.asarray(holder).flags.writeable
        assert x.tobytes() == x.numpy().tobytes()
    assert not hasattr(hk.zeros(2, dtype=hk.bfloat16), "__array_interface__")


def test_sequences():
    x = hk.arange(6).reshape(3, 2)
    assert operator.length_hint(x) == 3 and list(map(len, x)) == [2, 2, 2] and operator.indexOf(hk.arange(5), 3) == 3
    assert operator.countOf(hk.asarray([1, 2, 1]), 1) == 2 and [each.tolist() for each in reversed(x)] == [[4, 5], [2, 3], [0, 1]]
    assert isinstance(x, collections.abc.Sized) and isinstance(x, collections.abc.Iterable)


def test_bytes_and_indices():
    x = hk.asarray([[3, 4], [5, 6]], dtype="uint8")
    assert bytes(x) == b"\3\4\5\6" and bytes(x.T) == b"\3\5\4\6" and bytes(x[0, :1]) == b"\3" and bytearray(x[0]) == b"\3\4"
    with pytest.raises(TypeError, match="only an array"):
        [1, 2, 3][x]


@pytest.mark.parametrize("dtype", DTYPES + ["bfloat16"])
def test_pickles_and_copies(dtype):
    x = hk.asarray(np.arange(6).reshape(2, 3) % 2).astype(dtype)[:, ::-1]
    for other in (pickle.loads(pickle.dumps(x)), pickle.loads(pickle.dumps(x, 2)), copy.copy(x), copy.deepcopy([x])[0]):
        assert other.tolist() == x.tolist() and other.dtype == x.dtype and other.device == x.device
        other[0, 0] = 1 - x[0, 0]
        assert other[0, 0].item() != x[0, 0].item()
    assert pickle.loads(pickle.dumps(x.dtype)) is x.dtype and pickle.loads(pickle.dumps(x.device)) == x.device
    with pytest.raises(ValueError):
        _core._from_bytes(b"123", (2,), "float32", None)


def test_shared_memory_at_the_end_of_the_interpreter():
    code = """
import numpy as np, hocket as hk, threading
keep = [hk.from_dlpack(np.arange(1e5)) for _ in range(20)] + [np.asarray(hk.ones(1000)) for _ in range(20)]
caps = [hk.ones(3).__dlpack__() for _ in range(5)]
big = hk.ones((800, 800)); y = big @ big @ big
hk.kept = keep; np.kept = [keep, caps, memoryview(hk.ones(3))]
"""
    for tail in ("", "import os; keep[0] += 1\n", "del keep\n", "import sys; sys.exit(3)\n", "raise SystemError('on purpose')\n"):
        done = subprocess.run([sys.executable, "-X", "dev", "-c", code + tail], capture_output=True, timeout=60)
        assert done.returncode in (0, 1, 3), done.stderr
        assert b"Fatal" not in done.stderr and b"Segm" not in done.stderr
