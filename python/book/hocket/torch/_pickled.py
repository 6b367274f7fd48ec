"""Files that PyTorch's own torch.save wrote: a zip of a pickle, and of the bytes of each storage.

A pickle may call whatever it names. This one may name what rebuilds tensors, and nothing else; of Python's reader only the version in
Python is used, whose memory is bounded by the file's.
"""

import collections as _collections
import os as _os
import pickle as _pickle
import zipfile as _zipfile

import numpy as _numpy

from .. import _core
from .._arrays import asarray as _asarray

_STORAGES = {"FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
             "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8", "ByteStorage": "uint8",
             "BoolStorage": "bool", "ComplexFloatStorage": "complex64", "ComplexDoubleStorage": "complex128"}
_ON_DISK = {"bfloat16": "uint16"}


class _Maker:
    """What the pickle may call; it can set no attribute of it."""
    __slots__ = ("_make",)

    def __init__(self, make):
        object.__setattr__(self, "_make", make)

    def __setattr__(self, name, value):
        raise ValueError("it sets an attribute of a function")

    def __call__(self, *arguments):
        return self._make(*arguments)


def _tensor(storage, offset, size, stride, *_):
    """The array of a storage, a tuple of its values; all its elements lie within it."""
    values = storage[0] if type(storage) is tuple and storage else None
    if not isinstance(values, _numpy.ndarray) or type(size) is not tuple or type(stride) is not tuple or len(size) != len(stride) or not all(
            type(number) is int and number >= 0 for number in (offset, *size, *stride)):
        raise ValueError("a tensor has no storage, sizes and strides")
    count = 1
    for each in size:
        count *= each
    last = offset + sum((each - 1) * step for each, step in zip(size, stride))
    if count and (last >= values.size or count > values.size):
        raise ValueError(f"a tensor of {size} does not lie within its storage of {values.size} elements")
    if not count:
        return _asarray(_numpy.zeros(size, values.dtype))
    view = _numpy.lib.stride_tricks.as_strided(values[offset:], size, [step * values.itemsize for step in stride])
    if values.dtype.metadata and values.dtype.metadata["is"] == "bfloat16":
        wide = (_numpy.ascontiguousarray(view).astype(_numpy.uint32) << 16).view(_numpy.float32)
        return _core.operators["cast"](_asarray(wide), _core.bfloat16)
    return _asarray(_numpy.ascontiguousarray(view).reshape(size), copy=True)


def _size(sizes):
    if type(sizes) is not tuple:
        raise ValueError("a size is no tuple")
    return sizes


def _dict():
    """The entries follow. One made of a list would be a copy of it each time that the pickle asks."""
    return _collections.OrderedDict()


def _parameter(data, *_):
    if not isinstance(data, _core.Array):
        raise ValueError("a parameter has no tensor")
    return data


class _Reader(_pickle._Unpickler):
    def __init__(self, file, archive, prefix, file_bytes):
        super().__init__(file)
        self._archive, self._prefix, self._storages = archive, prefix, {}
        self._left = 8 * file_bytes  # a pickle may ask for one storage again and again

    def _tensor(self, *arguments):
        x = _tensor(*arguments)
        self._left -= x.nbytes
        if self._left < 0:
            raise ValueError("its tensors are many times as large as the file")
        return x

    def find_class(self, module, name):
        made = {("torch._utils", "_rebuild_tensor_v2"): self._tensor, ("torch._utils", "_rebuild_parameter"): _parameter,
                ("collections", "OrderedDict"): _dict, ("torch", "Size"): _size}.get((module, name))
        if made is not None:
            return _Maker(made)
        if module == "torch" and name in _STORAGES:
            return _STORAGES[name]
        raise ValueError(f"it holds a {module}.{name}; Hocket reads tensors, numbers, texts, and lists and dicts of them: "
                         f"save state_dict() in place of a module")

    def get_extension(self, code):
        raise ValueError("it has an extension code")

    def persistent_load(self, pid):
        kind, dtype, key, _, count = pid
        if kind != "storage" or dtype not in _STORAGES.values() or type(count) is not int or type(key) is not str:
            raise ValueError(f"a storage is {pid!r:.80}")
        if key not in self._storages:
            plain = _numpy.dtype(_ON_DISK.get(dtype, dtype))
            content = _content(self._archive, f"{self._prefix}data/{key}")
            if len(content) < count * plain.itemsize:
                raise ValueError(f"the storage {key} has {len(content)} bytes, less than {count} elements of {dtype}")
            self._storages[key] = (_numpy.frombuffer(content, _numpy.dtype(plain, metadata={"is": dtype}), count),)
        return self._storages[key]


def _content(archive, name):
    info = archive.getinfo(name)
    if info.compress_type != _zipfile.ZIP_STORED:
        raise ValueError(f"{name} is compressed, which torch.save does not do")
    return archive.read(info)


def is_one(path):
    """Whether a file is a zip with a pickle in it."""
    if not _zipfile.is_zipfile(path):
        return False
    with _zipfile.ZipFile(path) as archive:
        return any(name.endswith("/data.pkl") for name in archive.namelist())


def load(path):
    """What torch.save saved, tensors as Arrays; a ValueError says what is wrong with a file."""
    try:
        with _zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            prefix = names[0][:-len("data.pkl")]
            if prefix + "byteorder" in archive.namelist() and _content(archive, prefix + "byteorder") != b"little":
                raise ValueError("its numbers are big-endian")
            with archive.open(names[0]) as file:
                _content(archive, names[0])
                return _Reader(file, archive, prefix, _os.path.getsize(path)).load()
    except OSError:
        raise
    except Exception as error:  # whatever a broken pickle makes Python's reader raise
        raise ValueError(f"load: {path} is no file of tensors: {error}") from None
