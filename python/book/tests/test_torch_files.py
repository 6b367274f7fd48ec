"""Files that PyTorch's own torch.save wrote, and hostile ones."""
import io
import pickle
import struct
import zipfile

import numpy as np
import pytest

import hocket
from hocket import torch


def storage(kind, key, count):
    return b"(X\x07\x00\x00\x00storagectorch\n" + kind.encode() + b"\n" + text(key) + text("cpu") + number(count) + b"tQ"


def text(value):
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def number(value):
    return b"J" + struct.pack("<i", value)


def pair(values):
    return b"(" + b"".join(map(number, values)) + b"t"


def tensor(kind, key, count, size, stride, offset=0):
    """The opcodes by which a pickle of PyTorch rebuilds a tensor."""
    return (b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage(kind, key, count) + number(offset) + pair(size) + pair(stride) + b"\x89"
            + b"ccollections\nOrderedDict\n)RtR")


def state(**tensors):
    return b"}(" + b"".join(text(name) + x for name, x in tensors.items()) + b"u"


def file_of(path, body, storages=(), compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02" + body + b".")
        archive.writestr("archive/byteorder", "little")
        for key, content in storages:
            archive.writestr(f"archive/data/{key}", content)
    return path


def test_tensors_of_all_kinds_and_strides(tmp_path):
    x = np.arange(6, dtype=np.float32)
    half = (np.array([1.5, -2], np.float32).view(np.uint32) >> 16).astype(np.uint16)
    body = state(a=tensor("FloatStorage", "0", 6, (3, 2), (1, 3)), b=tensor("LongStorage", "1", 2, (2,), (1,)),
                 c=tensor("BFloat16Storage", "2", 2, (2,), (1,)), d=tensor("FloatStorage", "0", 6, (), (), 4),
                 e=tensor("BoolStorage", "3", 1, (1,), (1,)), f=tensor("FloatStorage", "0", 6, (0, 2), (2, 1)))
    found = torch.load(file_of(tmp_path / "a.pt", body, [("0", x.tobytes()), ("1", np.array([3, -4]).tobytes()), ("2", half.tobytes()),
                                                         ("3", b"\x01")]), map_location="cpu", weights_only=True)
    assert found["a"].tolist() == x.reshape(2, 3).T.tolist() and found["b"].tolist() == [3, -4] and found["b"].dtype == torch.int64
    assert found["c"].dtype == torch.bfloat16 and found["c"].tolist() == [1.5, -2] and found["d"].tolist() == 4
    assert found["e"].tolist() == [True] and found["f"].shape == (0, 2)


def test_a_network_takes_them(tmp_path):
    net = torch.nn.Sequential(torch.nn.LazyLinear(1), torch.nn.BatchNorm1d(1))
    ones = np.ones(2, np.float32).tobytes()
    names = {"0.weight": (1, 2), "0.bias": (1,), "1.weight": (1,), "1.bias": (1,), "1.running_mean": (1,), "1.running_var": (1,)}
    body = b"}(" + b"".join(text(name) + tensor("FloatStorage", "0", 2, size, (2, 1)[-len(size):]) for name, size in names.items())
    body += text("1.num_batches_tracked") + tensor("LongStorage", "1", 1, (), ()) + b"u"
    arrays = torch.load(file_of(tmp_path / "net.pth", body, [("0", ones), ("1", b"\x05" + b"\x00" * 7)]))
    net(torch.ones(3, 2))
    assert list(net.state_dict()) == [*names, "1.num_batches_tracked"]
    assert net.state_dict()["1.num_batches_tracked"].item() == 1
    net.load_state_dict(arrays)
    assert net.state_dict()["1.num_batches_tracked"].item() == 5
    assert [name for name, _ in net.named_parameters()] == list(names)[:4]
    assert net[0](torch.ones(1, 2)).tolist() == [[3]] and net[1].running_var.tolist() == [1]


def test_what_nests(tmp_path):
    body = (b"}(" + text("epoch") + number(3) + text("many") + b"](K\x01G" + struct.pack(">d", 0.5) + b"\x88N(K\x02t" + b"e" + text("state")
            + b"}(K\x00" + tensor("FloatStorage", "0", 4, (2,), (2,)) + b"u" + b"u")
    found = torch.load(file_of(tmp_path / "a.pt", body, [("0", np.arange(4, dtype=np.float32).tobytes())]))
    assert found["epoch"] == 3 and found["many"] == [1, 0.5, True, None, (2,)] and found["state"][0].tolist() == [0, 2]


def test_names_of_recurrent_layers():
    net = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    assert list(net.state_dict())[4:10] == ["weight_ih_l0_reverse", "weight_hh_l0_reverse", "bias_ih_l0_reverse", "bias_hh_l0_reverse", "weight_ih_l1",
                                            "weight_hh_l1"]
    other = torch.nn.LSTM(3, 4, num_layers=2, bidirectional=True)
    other.load_state_dict(net.state_dict())
    x = torch.ones(2, 1, 3)
    assert other(x)[0].tolist() == net(x)[0].tolist()


class Calls:
    """A pickle of it calls a function when it is read."""

    def __init__(self, function, *arguments):
        self.how = function, arguments

    def __reduce__(self):
        return self.how


def called(*arguments):
    raise AssertionError("a pickle called a function")


TOO_MUCH = b"(" + tensor("FloatStorage", "0", 25000, (25000,), (1,)) * 1000 + b"t"
HOSTILE = {
    "calls a function": (pickle.dumps(Calls(called, 1), 2)[2:-1], "called"), "calls the shell": (b"cposix\nsystem\n(X\x04\x00\x00\x00true" b"tR", "posix.system"),
    "builtins": (b"cbuiltins\neval\n(X\x03\x00\x00\x001+1tR", "builtins.eval"), "a module": (b"c__main__\nNet\n)\x81", "__main__.Net"),
    "a class of torch": (b"ctorch.nn.modules.linear\nLinear\n)\x81", "save state_dict"),
    "attributes of a tensor": (state(a=tensor("FloatStorage", "0", 4, (9,), (1,))) + b"}X\x06\x00\x00\x00__defsK\x01sb", "does not lie within"),
    "a size that is copied": (b"ctorch\nSize\n](K\x01K\x02e\x85R", "a size that is no tuple"),
    "a dict that is no list of pairs": (b"ccollections\nOrderedDict\nK\x01\x85R", "no list of pairs"),
    "an extension": (b"\x82\x01", "opcode 0x82"), "nothing": (b"", "more than one value, or none"), "a broken one": (b"}(X\xff\xff\xff\x7f", "it ends"),
    "a long text": (b"\x8d" + b"\xff" * 8, "it ends"), "a far memo": (b"K\x01r\xff\xff\xff\xffj\x00\x00\x00\x01", "far away"),
    "beyond its storage": (tensor("FloatStorage", "0", 4, (5,), (1,)), "does not lie within"),
    "an offset beyond": (tensor("FloatStorage", "0", 4, (2,), (1,), 3), "does not lie within"),
    "a negative offset": (tensor("FloatStorage", "0", 4, (2,), (1,), -1), "offset, sizes, strides"),
    "a negative stride": (tensor("FloatStorage", "0", 4, (2,), (-1,)), "offset, sizes, strides"),
    "a stride of 0": (tensor("FloatStorage", "0", 4, (2 ** 30,), (0,)), "many times the file"),
    "a storage that is short": (tensor("FloatStorage", "0", 400, (4,), (1,)), "less than 400"),
    "a storage that is not there": (tensor("FloatStorage", "9", 4, (4,), (1,)), "data/9"),
    "no storage": (b"ctorch._utils\n_rebuild_tensor_v2\n(K\x01" + number(0) + pair((1,)) + pair((1,)) + b"tR", "without a storage"),
    "one storage often": (TOO_MUCH, "many times the file"), "a strange storage": (b"K\x01Q", "a storage where a tensor"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_give_an_error(tmp_path, name):
    body, told = HOSTILE[name]
    size = 100000 if name == "one storage often" else 16
    path = file_of(tmp_path / "a.pt", body, [("0", b"\0" * size)])
    with pytest.raises(hocket.errors.Error, match="load: .*a.pt") as caught:
        torch.load(path)
    assert told in str(caught.value), caught.value


def test_other_files(tmp_path):
    path = file_of(tmp_path / "bomb.pt", tensor("FloatStorage", "0", 4, (4,), (1,)), [("0", b"\0" * 10 ** 6)], zipfile.ZIP_DEFLATED)
    with pytest.raises(hocket.errors.Error, match="is compressed"):
        torch.load(path)
    path = tmp_path / "cut.pt"
    path.write_bytes(file_of(tmp_path / "whole.pt", state(a=tensor("FloatStorage", "0", 4, (4,), (1,))), [("0", b"\0" * 16)]).read_bytes()[:-40])
    with pytest.raises(Exception, match="cut.pt"):
        torch.load(path)
    held = io.BytesIO()
    pickle.dump(Calls(called), held)
    (tmp_path / "old.pt").write_bytes(held.getvalue())
    with pytest.raises(Exception, match="old.pt"):
        torch.load(tmp_path / "old.pt")
