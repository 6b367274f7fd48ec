import gzip
import struct

import numpy as np
import pytest

import hocket as hk
from hocket import data

COUNT = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A data set of MNIST's form: image i is 2 x 3 pixels of 20 i, with the label i % 4."""
    path = tmp_path_factory.mktemp("idx")
    images = np.repeat(np.arange(COUNT, dtype="uint8") * 20, 6).tobytes()
    for part in ("train", "t10k"):
        (path / f"{part}-images-idx3-ubyte").write_bytes(struct.pack(">IIII", 0x803, COUNT, 2, 3) + images)
        labels = struct.pack(">II", 0x801, COUNT) + bytes(i % 4 for i in range(COUNT))
        with gzip.open(path / f"{part}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(labels)
    return path


@pytest.fixture
def set_(folder):
    return data.idx(folder, "test", classes=4)


def test_facts(set_, folder):
    assert len(set_) == COUNT and set_.class_count == 4 and set_.folder == str(folder)
    assert set_.fields == [((1, 2, 3), hk.float32), ((), hk.int64)]
    assert repr(set_) == "DataSet(10 samples of float32(1, 2, 3), int64())"


def test_batches_of_an_epoch(set_):
    loader = data.Loader(set_, 4)
    assert len(loader) == 3
    labels, sizes = [], []
    for images, label in loader:
        assert images.shape == (label.shape[0], 1, 2, 3) and images.dtype == hk.float32
        labels += label.tolist()
        sizes.append(loader.samples)
    assert labels == [i % 4 for i in range(COUNT)] and sizes == [4, 4, 2]
    assert loader.order is None and loader.epoch == 1
    np.testing.assert_allclose(np.array(next(iter(loader))[0].tolist())[3], 60 / 255, rtol=1e-6)
    assert [x.shape[0] for x, _ in data.Loader(set_, 4, drop_last=True)] == [4, 4]


def test_shuffling_is_a_function_of_seed_and_epoch(set_):
    def epochs(seed):
        loader = data.Loader(set_, 5, shuffle=True, seed=seed)
        orders = []
        for _ in range(2):
            pixels = [round(x * 255 / 20) for images, _ in loader for x in np.array(images.tolist())[:, 0, 0, 0]]
            assert loader.order.tolist() == pixels
            orders.append(pixels)
        return orders

    first = epochs(1)
    assert sorted(first[0]) == [*range(COUNT)] and first[0] != first[1]
    assert epochs(1) == first and epochs(2) != first


def test_with_devices_fields_are_lists(set_):
    loader = data.Loader(set_, 5, devices=["cpu:0", "cpu:0"], shares=[1, 3])
    images, labels = next(iter(loader))
    assert [x.shape[0] for x in images] == [1, 4] and labels[1].tolist() == [1, 2, 3, 0]
    assert labels[0].device == "cpu:0"


def test_an_epoch_that_was_left_begins_anew(set_):
    loader = data.Loader(set_, 4)
    first = iter(loader)
    next(first)
    assert next(iter(loader))[1].tolist() == [0, 1, 2, 3]
    with pytest.raises(RuntimeError, match="another epoch"):
        next(first)


def test_a_position_goes_on(set_):
    loader = data.Loader(set_, 3, shuffle=True, seed=4)
    batches = iter(loader)
    for _ in range(2):
        next(batches)
    state = loader.state()
    rest = [labels.tolist() for _, labels in batches]
    other = data.Loader(set_, 3, shuffle=True, seed=9)
    other.load(state)
    assert [labels.tolist() for _, labels in other.rest()] == rest and len(rest) == 2
    with pytest.raises(ValueError):
        data.Loader(set_, 4, shuffle=True).load(state)
    hk._core._failures_clear()


def test_fashion_mnist_where_it_is():
    try:
        test = data.fashion_mnist("test")
    except FileNotFoundError as error:
        pytest.skip(str(error))
    assert len(test) == 10000 and test.fields[0][0] == (1, 28, 28)


def test_a_bar_where_there_is_one(set_, monkeypatch):
    import sys
    import types
    bars = []

    def tqdm(batches, total, desc, leave):
        bars.append((total, desc))
        return batches

    monkeypatch.setitem(sys.modules, "tqdm", types.ModuleType("tqdm"))
    monkeypatch.setitem(sys.modules, "tqdm.auto", types.SimpleNamespace(tqdm=tqdm))
    loader = data.Loader(set_, 4, progress=True)
    assert len(list(loader)) == len(list(loader)) == 3 and bars == [(3, "epoch 0"), (3, "epoch 1")]
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    assert len(list(loader)) == 3


# ---- other sources -----------------------------------------------------------------------------------------------


def test_arrays_are_fields():
    x, y, z = np.arange(12, dtype="float32").reshape(6, 2), np.arange(6), hk.asarray(np.arange(6) > 2)
    set_ = data.arrays(x, y, z)
    assert len(set_) == 6 and [str(dtype) for _, dtype in set_.fields] == ["float32", "int64", "bool"]
    batches = list(data.Loader(set_, 4))
    assert [b.tolist() for b in batches[1]] == [x[4:].tolist(), [4, 5], [True, True]]
    loader = data.Loader((x, y), 3, shuffle=True, seed=1)
    seen = {label: row for rows, labels in loader for row, label in zip(rows.tolist(), labels.tolist())}
    assert seen == {i: x[i].tolist() for i in range(6)}
    (only,) = next(iter(data.Loader(x, 6)))
    assert only.tolist() == x.tolist()
    with pytest.raises(ValueError):
        data.arrays(x, y[:4])
    hk._core._failures_clear()


def test_tables(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a;b;kind\n1;2;0\n3;;1\n5;6;2\n")
    x = data.load_csv(path, delimiter=";", header=True)
    assert x.dtype == hk.float64 and x.shape == (3, 3) and x[2].tolist() == [5, 6, 2]
    rows, target = next(iter(data.Loader(data.csv(path, delimiter=";", header=True), 3)))
    assert rows.shape == (3, 2) and target.tolist() == [[0], [1], [2]]
    _, target = next(iter(data.Loader(data.csv(path, "class", delimiter=";", header=True), 3)))
    assert target.tolist() == [0, 1, 2] and target.dtype == hk.int64
    with pytest.raises(ValueError, match="line 1"):
        data.load_csv(path)
    with pytest.raises(ValueError, match="no single character"):
        data.load_csv(path, delimiter="ab")
    hk._core._failures_clear()


def test_text():
    text = "the cat sat on the mat. the end é"
    characters = data.Vocabulary(text)
    places = characters.encode(text)
    assert places.dtype == hk.int32 and characters.decode(places) == text and characters[0] == "<unk>" and characters["q"] == 0
    words = data.Vocabulary(text, "words", letters_only=True)
    assert words[1] == "the" and words["cat"] > 0 and words.decode(words.encode("the dog sat"), " ") == "the <unk> sat"
    again = data.Vocabulary.of_text(str(characters))
    assert len(again) == len(characters) and again.encode(text).tolist() == places.tolist()
    x, y = next(iter(data.Loader(data.tokens(places, 5, fixed_start=True), 2)))
    assert characters.decode(x[1]) == text[5:10] and characters.decode(y[1]) == text[6:11]
    lanes = [characters.decode(x[0]) for x, _ in data.Loader(data.tokens(places, 4, lanes=2, fixed_start=True), 2)]
    assert text.startswith("".join(lanes)) and len(lanes) > 2
    for wrong in (lambda: data.Vocabulary(text, "lines"), lambda: data.tokens(places, 0), lambda: data.tokens(places, 500),
                  lambda: data.Vocabulary.of_text("nothing of ours")):
        with pytest.raises(ValueError):
            wrong()


def test_cifar(tmp_path):
    record = bytes([3]) + bytes(range(256)) * 12
    (tmp_path / "a.bin").write_bytes(record * 2)
    set_ = data.cifar(tmp_path / "a.bin")
    images, labels = next(iter(data.Loader(set_, 2)))
    assert images.shape == (2, 3, 32, 32) and labels.tolist() == [3, 3]
    assert len(data.cifar([tmp_path / "a.bin"] * 3)) == 6


def test_transforms_follow_from_the_seed(set_):
    changed = set_.transform(data.Resize(8), data.Crop(6, padding=1), data.Flip(), data.Normalize(.5, .25), data.Jitter(.1))
    assert changed.fields[0][0] == (1, 6, 6) and changed.class_count == 4
    first = [x.tolist() for x, _ in data.Loader(changed, 4, seed=3)]
    assert first == [x.tolist() for x, _ in data.Loader(changed, 4, seed=3)] != [x.tolist() for x, _ in data.Loader(changed, 4, seed=4)]
    with pytest.raises(ValueError):
        set_.transform(data.Normalize(0, 0))
    hk._core._failures_clear()


def test_folders_of_images(tmp_path):
    import zlib

    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    for i, kind in enumerate(("cat", "dog")):
        (tmp_path / kind).mkdir()
        rows = (b"\0" + bytes([100 * i, 0, 255]) * 4) * 2
        (tmp_path / kind / "0.png").write_bytes(
            b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 4, 2, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows))
            + chunk(b"IEND", b""))
    try:
        set_ = data.images(tmp_path)
    except NotImplementedError as error:
        pytest.skip(str(error))
    images, labels = next(iter(data.Loader(set_, 2)))
    assert images.shape == (2, 3, 2, 4) and labels.tolist() == [0, 1]
    np.testing.assert_allclose(np.array(images.tolist())[1, :, 1, 3], [100 / 255, 0, 1], rtol=1e-6)
    assert data.images(tmp_path, channels=1, size=5).fields[0][0] == (1, 5, 5)


def test_refusals(set_, folder, tmp_path):
    with pytest.raises(FileNotFoundError) as caught:
        data.idx(tmp_path)
    assert caught.value.code == "not found"
    with pytest.raises(ValueError, match="part is 'valid'"):
        data.idx(folder, "valid")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"no")
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(b"no")
    with pytest.raises(ValueError):
        data.idx(tmp_path)
    for options in ({"batch": 0}, {"batch": 4, "devices": ["cpu:9"]}, {"batch": 4, "devices": ["cpu:0"], "shares": [1, 2]},
                    {"batch": 4, "devices": ["cpu:0"], "shares": [-1]}):
        with pytest.raises((ValueError, FileNotFoundError)):
            data.Loader(set_, **options)
    hk._core._failures_clear()


# ---- containers, names and texts from outside -------------------------------------------------------------------


def test_a_vocabulary_is_a_container():
    words = data.Vocabulary("b a b a a c", "words")
    assert list(words) == ["<unk>", "a", "b", "c"] == [words[i] for i in range(4)] and [*reversed(words)][0] == "c"
    assert "z" not in words and "c" in words and "<unk>" in words and 1 not in words and "\0" not in words and "\ud800" not in words
    assert words[-1] == "c" and words[1:3] == ["a", "b"] and dict(zip(words, range(4)))["b"] == words["b"]
    for wrong in (4, -5, 10**30):
        with pytest.raises(IndexError, match="vocabulary of 4 tokens"):
            words[wrong]
    with pytest.raises(TypeError):
        words[1.5]


def test_a_data_set_is_a_sequence(set_):
    assert [int(label) for _, label in set_] == [i % 4 for i in range(COUNT)] and len(list(set_)) == COUNT
    image, label = set_[-1]
    assert image.shape == (1, 2, 3) and int(label) == 9 % 4 and image.tolist() == set_[9][0].tolist()
    assert [int(label) for _, label in set_[2:4]] == [2, 3]
    for wrong in (COUNT, -COUNT - 1):
        with pytest.raises(IndexError, match="data set of 10"):
            set_[wrong]
    pairs = data.arrays(np.arange(3), np.arange(3) * 2)
    assert [(int(a), int(b)) for a, b in pairs] == [(0, 0), (1, 2), (2, 4)]
    changed = set_.transform(data.Flip(), data.Jitter(.5))
    assert [x.tolist() for x, _ in changed] == [changed[i][0].tolist() for i in range(COUNT)]


def test_texts_that_are_no_utf8(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("1,caf\xe9\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r'line 1, column 2: no number.*"caf\\xe9"'):
        data.load_csv(path)
    for letters in ("é" * 60, "x" + "é" * 60, "€" * 60, "x" + "€" * 60, "xx" + "€" * 60, "\U0001f600" * 60):
        path.write_text(f"1,{letters}\n")
        with pytest.raises(ValueError, match="no number") as caught:
            data.csv(path)
        quoted = str(caught.value).split('"')[1]
        assert quoted.endswith("...") and letters.startswith(quoted[:-3]) and len(quoted) > 9
    path.write_bytes(b"1,\x1b[31m\n")
    with pytest.raises(ValueError, match=r"\\x1b\[31m"):
        data.load_csv(path)
    latin = "caf\xe9 caf\xe9".encode("latin-1")
    characters = data.Vocabulary(latin)
    assert len(characters) == 6 and list(characters)[-1] == " " and "\udce9" in characters
    assert characters.decode(characters.encode(latin)).encode("utf-8", "surrogateescape") == latin
    hk._core._failures_clear()


def test_files_of_any_name(tmp_path, folder):
    import os
    name = os.fsencode(tmp_path) + b"/caf\xe9 \xff"
    os.mkdir(name)
    path = os.fsdecode(name)
    with open(name + b"/t.csv", "w") as file:
        file.write("1,2\n")
    for way in (name + b"/t.csv", path + "/t.csv"):
        assert data.load_csv(way).tolist() == [[1, 2]] and len(data.csv(way)) == 1
    with open(name + b"/c.bin", "wb") as file:
        file.write(bytes(3073))
    assert len(data.cifar(name + b"/c.bin")) == 1 == len(data.cifar([path + "/c.bin"]))
    for kind in ("train", "t10k"):
        for end in ("images-idx3-ubyte", "labels-idx1-ubyte.gz"):
            os.link(folder / f"{kind}-{end}", path + f"/{kind}-{end}")
    assert data.idx(path, classes=4).folder == path == data.idx(name, classes=4).folder
    for wrong in (lambda: data.load_csv(path + "/none"), lambda: data.idx(path + "/none"), lambda: data.cifar(path + "/none"),
                  lambda: data.images(path + "/none"), lambda: hk.load(path + "/none.npz")):
        with pytest.raises(FileNotFoundError, match=r"caf\\xe9 \\xff/none"):
            wrong()
    for wrong in (data.load_csv, data.idx, data.cifar, data.images, hk.load, lambda path: hk.save(path, {"x": hk.ones(1)})):
        with pytest.raises(ValueError, match="null"):
            wrong("a\0.npz")
    hk.save(path + "/x.npz", {"x": hk.ones(1)})
    hk.save(name + b"/y.npz", {"x": hk.ones(1)})
    assert hk.load(name + b"/x.npz")["x"].tolist() == [1] == hk.load(path + "/y.npz")["x"].tolist()
    with hk.trace(path + "/run.json"):
        hk.ones(2) + 1
    with hk.trace(name + b"/run.svg"):
        hk.ones(2) + 1
    assert {"run.json", "run.svg"} <= {*os.listdir(path)}
    hk._core._failures_clear()


def test_a_name_with_a_zero_is_refused(tmp_path):
    (tmp_path / "t.csv").write_text("1,2\n")
    for wrong in (lambda: hk.ones(1, dtype="float32\0x"), lambda: hk.ones(1, device="cpu:0\0x"), lambda: hk.Device("cpu:0\0x"),
                  lambda: data.load_csv(tmp_path / "t.csv", delimiter="\0"), lambda: data.Vocabulary.of_text(str(data.Vocabulary("a")) + "\0b"),
                  lambda: hk.einsum("i,i\0", hk.ones(1), hk.ones(1))):
        with pytest.raises((ValueError, TypeError)):
            wrong()
    with pytest.raises(FileNotFoundError, match="no device"):
        hk.ones(1, device="é" * 200)
    hk._core._failures_clear()


def test_messages_say_a_thing_once(tmp_path):
    for look in (lambda path: data.load_csv(path), hk.load, data.cifar):
        with pytest.raises(FileNotFoundError) as caught:
            look(tmp_path / "none.npz")
        assert "not found" not in str(caught.value) and caught.value.code == "not found"
    with pytest.raises(FileNotFoundError, match="part of this path is no folder"):
        (tmp_path / "file").write_text("")
        data.load_csv(tmp_path / "file" / "none")
    hk._core._failures_clear()


def test_batches_are_split_between_runs():
    def rows(count, batch, devices, **options):
        loader = data.Loader([np.zeros((count, 1), "float32")], batch, devices=["cpu:0"] * devices, **options)
        return [[x.shape[0] for x in fields[0]] for fields in loader]

    assert rows(160, 128, 4) == [[32, 32, 32, 32], [8, 8, 8, 8]]
    assert rows(96, 96, 4) == [[32, 16, 32, 16]] and rows(96, 96, 3) == [[32, 32, 32]]
    assert rows(160, 128, 4, whole_runs=True) == [[32, 32, 32, 32], [16, 0, 16, 0]]
    assert rows(10, 8, 2, whole_runs=True) == [[4, 4], [1, 1]]
    assert rows(96, 96, 2, shares=[1, 1]) == [[48, 48]]
    assert [x.shape[0] for x in hk.split_and_load(np.zeros((40, 1)), ["cpu:0"] * 2)] == [32, 8]
