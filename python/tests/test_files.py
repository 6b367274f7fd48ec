import collections
import io
import pickle
import sys
import types
import zipfile

import numpy as np
import pytest

import hocket as hk


def arrays():
    source = np.random.default_rng(1)
    return {"layer.weight": hk.asarray(source.normal(size=(3, 4)).astype("float32")), "steps": hk.asarray([7]),
            "mask": hk.asarray(np.array([True, False])), "empty": hk.zeros((0, 3))}


@pytest.mark.parametrize("ending", ["safetensors", "npz"])
def test_dicts(tmp_path, ending):
    saved = arrays()
    path = tmp_path / f"a.{ending}"
    hk.save(path, saved)
    loaded = hk.load(path)
    assert list(loaded) == list(saved)
    for name, x in saved.items():
        assert loaded[name].tolist() == x.tolist() and loaded[name].dtype == x.dtype and loaded[name].shape == x.shape


def test_numpy_reads_and_writes_them(tmp_path):
    saved = arrays()
    hk.save(tmp_path / "a.npz", saved, compress=True)
    with np.load(tmp_path / "a.npz") as file:
        assert set(file) == set(saved) and file["layer.weight"].tolist() == saved["layer.weight"].tolist()
    hk.save(tmp_path / "a.npy", saved["layer.weight"])
    assert np.load(tmp_path / "a.npy").tolist() == saved["layer.weight"].tolist()
    np.save(tmp_path / "b.npy", np.arange(6).reshape(2, 3).T)
    x = hk.load(tmp_path / "b.npy")
    assert x.tolist() == np.arange(6).reshape(2, 3).T.tolist() and x.dtype == hk.int64


def test_metadata_and_devices(tmp_path):
    path = str(tmp_path / "a.safetensors")
    hk.save(path, {"x": hk.ones((2,))}, metadata={"step": "12", "über": "ü"})
    loaded = hk.load(path, device="cpu:0", map=True)
    assert loaded.metadata == {"step": "12", "über": "ü"} and loaded["x"].device == "cpu:0"
    assert hk.load(path).metadata["step"] == "12"


def test_one_array_of_a_file_of_one(tmp_path):
    hk.save(tmp_path / "a.safetensors", {"only": hk.ones((2,))})
    assert list(hk.load(tmp_path / "a.safetensors")) == ["only"]
    hk.save(tmp_path / "b.safetensors", {})
    assert hk.load(tmp_path / "b.safetensors") == {}


def test_what_was_loaded_may_be_written_and_the_file_replaced(tmp_path):
    path = tmp_path / "a.safetensors"
    hk.save(path, {"x": hk.ones((1000, 100))})
    x = hk.load(path)["x"]
    x += 1
    hk.save(path, {"x": x})
    assert float(hk.load(path)["x"][999, 99]) == 2 == float(x[0, 0])


def test_refusals(tmp_path):
    with pytest.raises(FileNotFoundError):
        hk.load(tmp_path / "none.npz")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(ValueError, match="bad.npz"):
        hk.load(tmp_path / "bad.npz")
    with pytest.raises(ValueError):
        hk.save(tmp_path / "a.pickle", {"x": hk.ones((1,))})
    with pytest.raises(TypeError, match="what is saved is to be an Array"):
        hk.save(tmp_path / "a.npz", {"x": 1})
    with pytest.raises(TypeError):
        hk.save(tmp_path / "a.npz", {1: hk.ones((1,))})
    with pytest.raises(TypeError):
        hk.save(tmp_path / "a.safetensors", {"x": hk.ones((1,))}, metadata={"step": 12})
    with pytest.raises(OSError):
        hk.save(tmp_path / "none" / "a.npz", {"x": hk.ones((1,))})
    bad = hk.nn.functional.cross_entropy(hk.ones((1, 2)), hk.asarray([5]))
    with pytest.raises(IndexError, match="label"):
        hk.save(tmp_path / "a.npy", bad)
    assert not (tmp_path / "a.npy").exists()
    hk._core._failures_clear()


def test_a_format_may_be_said_in_place_of_the_ending(tmp_path):
    for format in ("safetensors", "npz"):
        hk.save(tmp_path / "weights", {"x": hk.ones((2,))}, format=format)
        assert hk.load(tmp_path / "weights", format=format)["x"].tolist() == [1, 1]
    with pytest.raises(ValueError, match="the ending .safetensors"):
        hk.load(tmp_path / "weights")
    with pytest.raises(ValueError, match="format is 'pickle'; None"):
        hk.save(tmp_path / "weights", {}, format="pickle")


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def test_a_checkpoint_goes_on_bit_for_bit(tmp_path):
    from hocket import data, nn, optim
    source = np.random.default_rng(1)
    rows, labels = source.normal(size=(40, 6)).astype("float32"), source.integers(0, 3, 40)
    path = tmp_path / "run.safetensors"

    def parts():
        net = nn.Sequential(nn.Linear(8), nn.BatchNorm(), nn.Dropout(.3), nn.Linear(3))
        return net, optim.Adam(net, lr=.05), data.Loader((rows, labels), 4, shuffle=True, seed=2)

    def train(net, opt, batches):
        losses = []
        for x, y in batches:
            with hk.record():
                loss = nn.functional.cross_entropy(net(x), y, reduction="mean")
            loss.backward()
            opt.step()
            losses.append(float(loss))
            yield losses

    hk.seed(3)
    net, opt, loader = parts()
    training = train(net, opt, loader)
    for _ in range(4):
        next(training)
    opt.lr = .02
    hk.save_checkpoint(path, net=net, opt=opt, loader=loader, step=4, mean=hk.ones((2,)), history={"losses": [1, 2]})
    wanted = [*training][-1][4:]

    hk.seed(9)
    net, opt, loader = parts()
    rest = hk.load_checkpoint(path, net=net, opt=opt, loader=loader)
    assert rest.pop("mean").tolist() == [1, 1] and rest == {"step": 4, "history": {"losses": [1, 2]}} and opt.lr == .02
    assert [*train(net, opt, loader.rest())][-1] == wanted and len(wanted) == 6


def test_what_is_no_checkpoint(tmp_path):
    hk.save(tmp_path / "a.safetensors", {"x": hk.ones((1,))})
    with pytest.raises(KeyError, match="is no checkpoint"):
        hk.load_checkpoint(tmp_path / "a.safetensors")
    hk.save_checkpoint(tmp_path / "a.safetensors", step=1)
    with pytest.raises(KeyError, match="no part called net"):
        hk.load_checkpoint(tmp_path / "a.safetensors", net=hk.nn.Linear(1))


def test_what_others_hold_is_saved_too(tmp_path):
    hk.save(tmp_path / "a.npz", {"numpy": np.arange(3), "hocket": hk.ones(2)})
    assert {name: x.tolist() for name, x in hk.load(tmp_path / "a.npz").items()} == {"numpy": [0, 1, 2], "hocket": [1, 1]}
    hk.save(tmp_path / "a.npy", np.arange(3))
    assert hk.load(tmp_path / "a.npy").tolist() == [0, 1, 2]
    with pytest.raises(TypeError, match="names, which are texts; 1 is none"):
        hk.save(tmp_path / "b.npz", {1: hk.ones(1)})
    with pytest.raises(TypeError, match="a is a dict; names such as 'a.x'"):
        hk.save(tmp_path / "b.npz", {"a": {"x": hk.ones(1)}})


def test_names_that_c_would_cut_are_refused(tmp_path):
    x = hk.ones(1)
    for path in (tmp_path / "a.npz", tmp_path / "a.safetensors"):
        with pytest.raises(ValueError, match=r"the name of an array is 'a\\x00b', which has the character 0"):
            hk.save(path, {"a\0b": x})
        with pytest.raises(ValueError, match="half of a letter"):
            hk.save(path, {"a\ud800": x})
        assert not path.exists()
    for metadata in ({"a\0b": "c"}, {"a": "b\0c"}):
        with pytest.raises(ValueError, match="metadata is .* which has the character 0"):
            hk.save(tmp_path / "a.safetensors", {"x": x}, metadata=metadata)


# ---- single arrays, and files that change -------------------------------------------------------------------------


def test_single_arrays_of_a_file_that_has_others(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(3), words=np.array(["a", "bc"]), y=np.ones(2), things=np.array([{}], dtype=object))
    with pytest.raises(NotImplementedError, match='"words" has dtype <U2.*"things" has dtype .O.*there are \'x\', \'y\''):
        hk.load(tmp_path / "a.npz")
    loaded = hk.load(tmp_path / "a.npz", names=["y", "x"])
    assert list(loaded) == ["y", "x"] and loaded["x"].tolist() == [0, 1, 2]
    assert list(hk.load(tmp_path / "a.npz", names="x")) == ["x"] and hk.load(tmp_path / "a.npz", names=()) == {}
    with pytest.raises(NotImplementedError, match='array "words" has dtype <U2'):
        hk.load(tmp_path / "a.npz", names=["x", "words"])
    with pytest.raises(KeyError, match="has no array 'z'; there are 'x', 'words', 'y', 'things'"):
        hk.load(tmp_path / "a.npz", names=["z"])
    header = b'{"a":{"dtype":"F4_NEW","shape":[2],"data_offsets":[0,1]},"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},"__metadata__":{"k":"v"}}'
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\1\7")
    with pytest.raises(NotImplementedError, match="F4_NEW.*there is 'b'"):
        hk.load(tmp_path / "a.safetensors")
    loaded = hk.load(tmp_path / "a.safetensors", names=["b"])
    assert loaded["b"].tolist() == [7] and loaded.metadata == {"k": "v"}
    import zipfile
    with zipfile.ZipFile(tmp_path / "a.npz", "a") as file:
        file.writestr("note.txt", "hello")
    assert hk.load(tmp_path / "a.npz", names=["x"])["x"].tolist() == [0, 1, 2]
    hk._core._failures_clear()


def test_what_was_loaded_is_its_own(tmp_path):
    for ending in ("safetensors", "npy"):
        path = tmp_path / f"a.{ending}"
        hk.save(path, {"x": hk.ones((1000, 100))})
        loaded = hk.load(path)
        x = loaded if ending == "npy" else loaded["x"]
        with open(path, "r+b") as file:
            file.seek(0, 2)
            end = file.tell()
            file.seek(end - 4000)
            file.write(bytes(4000))
        assert float(x[-1, -1]) == 1
        with open(path, "r+b") as file:
            file.truncate(100)
        assert float(hk.sum(x)) == 100000


def test_a_mapped_file_takes_no_memory(tmp_path):
    path = tmp_path / "a.npy"
    hk.save(path, hk.ones((1000, 100)))
    before = hk.stats()["devices"]["cpu:0"]["used_bytes"]
    x = hk.load(path, map=True)
    assert hk.stats()["devices"]["cpu:0"]["used_bytes"] == before and float(hk.sum(x)) == 100000


def test_an_interrupt_leaves_a_whole_file(tmp_path):
    import signal
    path = tmp_path / "a.safetensors"
    x, generation, interrupted = hk.ones((300, 1000)), 0, 0
    hk.save(path, {"x": x}, metadata={"generation": "0"})

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for i in range(100):
            try:
                signal.setitimer(signal.ITIMER_REAL, .0002 * (i % 25 + 1))
                while True:
                    hk.save(path, {"x": x * 1}, metadata={"generation": str(generation + 1)})
                    generation += 1
            except KeyboardInterrupt:
                interrupted += 1
            found = hk.load(path)
            assert int(found.metadata["generation"]) in (generation, generation + 1) and float(hk.sum(found["x"])) == 300000
            generation = int(found.metadata["generation"])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert interrupted == 100 and [*tmp_path.iterdir()] == [path]


# ---- PyTorch's files, by Python's own pickler ------------------------------------------------------------------------


@pytest.fixture
def torch_like(monkeypatch):
    """Modules of PyTorch's names, with as much in them as its pickles name."""
    package, utils = types.ModuleType("torch"), types.ModuleType("torch._utils")

    def _rebuild_tensor_v2():
        raise AssertionError("a pickle called a function")

    _rebuild_tensor_v2.__module__, _rebuild_tensor_v2.__qualname__ = "torch._utils", "_rebuild_tensor_v2"
    utils._rebuild_tensor_v2 = _rebuild_tensor_v2
    for name in ("FloatStorage", "LongStorage"):
        setattr(package, name, type(name, (), {"__module__": "torch"}))
    package._utils = utils
    monkeypatch.setitem(sys.modules, "torch", package)
    monkeypatch.setitem(sys.modules, "torch._utils", utils)
    return package


class _Tensor:
    """A view of the values, which may be shared."""

    def __init__(self, torch, values, shape, strides, offset=0):
        self.torch, self.values, self.facts = torch, values, (offset, shape, strides)

    def __reduce__(self):
        return self.torch._utils._rebuild_tensor_v2, (_Storage(self), *self.facts, False, collections.OrderedDict())


class _Storage:
    def __init__(self, tensor):
        self.tensor = tensor


def _torch_save(torch, path, value, protocol):
    kept, body = {}, io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, part):
            if not isinstance(part, _Storage):
                return None
            values = part.tensor.values
            kept.setdefault(id(values), (str(len(kept)), values))
            kind = torch.LongStorage if values.dtype == np.int64 else torch.FloatStorage
            return "storage", kind, kept[id(values)][0], "cpu", values.size

    Pickler(body, protocol).dump(value)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("net/data.pkl", body.getvalue())
        archive.writestr("net/byteorder", "little")
        for key, values in kept.values():
            archive.writestr(f"net/data/{key}", values.tobytes())


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_files_of_pytorch(tmp_path, torch_like, protocol):
    values = np.arange(6, dtype=np.float32)
    state = collections.OrderedDict({"weight": _Tensor(torch_like, values, (3, 2), (1, 3)), "bias": _Tensor(torch_like, values, (2,), (1,), 4),
                                     "seen": _Tensor(torch_like, np.array([7]), (), ())})
    whole = {"model": state, "again": state, "epoch": 3, "rates": [0.1, 1e-300, float("inf"), -(2 ** 70)], "name": "ü" * 300, "flags": (True, None),
             "kinds": {1, 2}, 4: {"x": -5}}
    path = tmp_path / "net.pt"
    _torch_save(torch_like, path, whole, protocol)
    loaded = hk.load(path)
    assert list(loaded) == ["model.weight", "model.bias", "model.seen", "again.weight", "again.bias", "again.seen"]
    assert loaded["model.weight"].tolist() == values.reshape(2, 3).T.tolist() and loaded["again.bias"].tolist() == [4, 5]
    assert loaded["model.seen"].dtype == hk.int64 and loaded["model.seen"].item() == 7
    assert loaded.metadata | {"kinds.0": "1", "kinds.1": "2"} == {
        "epoch": "3", "rates.0": "0.1", "rates.1": "1e-300", "rates.2": "Infinity", "rates.3": str(-(2 ** 70)), "name": "ü" * 300, "flags.0": "true",
        "kinds.0": "1", "kinds.1": "2", "4.x": "-5"}
    part = hk.load(path, names=["model.bias"])
    assert list(part) == ["model.bias"]


def test_objects_are_not_made(tmp_path, torch_like):
    path = tmp_path / "net.pt"
    _torch_save(torch_like, path, {"x": io.BytesIO}, 2)
    with pytest.raises(NotImplementedError, match="holds a _io.BytesIO, of which nothing is made here"):
        hk.load(path)
    with pytest.raises(ValueError, match="format is 'torch'"):
        hk.save(path, {"x": hk.ones(1)}, format="torch")
