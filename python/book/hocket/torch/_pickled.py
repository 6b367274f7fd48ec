"""Files that PyTorch's own torch.save wrote, read by the library: what nests in them, as Python has it."""

import json as _json
import os as _os

from .. import _core, _files

_FORMAT = 4  # HK_FORMAT_TORCH
_KINDS = {"tuple": tuple, "set": set, "bytes": bytes}


def is_one(path):
    """Whether a file begins as those do; what has an ending of Hocket's own files is one of these."""
    if _os.path.splitext(_os.fsdecode(path))[1][1:] in _files.FORMATS:
        return False
    with open(path, "rb") as file:
        return file.read(4) in (b"PK\x03\x04", b"\x80\x02\x8a\x0a")


def _made(value, get):
    """Of hk_archive_structure's JSON."""
    if isinstance(value, list):
        return [_made(part, get) for part in value]
    if not isinstance(value, dict):
        return value
    (kind, held), = value.items()
    if kind == "array":
        return get(held)
    if kind == "dict":
        return {key: _made(part, get) for key, part in held}
    return _KINDS[kind](_made(part, get) for part in held)


def load(path, device=None):
    """What torch.save saved, tensors as Arrays; the library's errors say what is wrong with a file."""
    archive = _core._open_archive(path, device, False, _FORMAT)
    return _made(_json.loads(archive.structure()), archive.get)
