"""Files of an array, a list of arrays or a dict of them, under paths of any ending."""

import os as _os

from .. import _core, _files

_KEY = "hocket.holds"  # the text in a file that says whether it holds an array, a list or a dict


def _format(path):
    """None where the path's ending says the format; else that of the library's own files."""
    return None if _os.path.splitext(_os.fsdecode(path))[1][1:] in _files.FORMATS else "safetensors"


def save(path, value):
    """One Array, a list or tuple of them, or a dict of them by text."""
    kind = "array" if isinstance(value, _core.Array) else "list" if isinstance(value, (list, tuple)) else "dict"
    arrays = {"array": value} if kind == "array" else {str(i): x for i, x in enumerate(value)} if kind == "list" else dict(value)
    keeps_texts = _format(path) or _os.fsdecode(path).endswith(".safetensors")
    _files.save(path, arrays, metadata={_KEY: kind} if keeps_texts else None, format=_format(path))


def load(path, device=None):
    """What save saved; of files without texts (.npz) a dict, of .npy the array."""
    found = _files.load(path, device=device, format=_format(path))
    if isinstance(found, _core.Array):
        return found
    kind = found.metadata.get(_KEY, "dict")
    return found["array"] if kind == "array" else [found[str(i)] for i in range(len(found))] if kind == "list" else found
