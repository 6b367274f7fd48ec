"""Files of named arrays."""

import json as _json
import os as _os

from . import _core
from . import errors as _errors
from ._creation import asarray as _asarray

__all__ = ["save", "load", "Loaded", "save_checkpoint", "load_checkpoint"]


class Loaded(dict):
    """A dict of Arrays by name; ``metadata`` is a dict of the texts that were saved with them."""
    metadata = {}


FORMATS = "safetensors", "npy", "npz"  # in the order of hk_file_format
_READ = *FORMATS, "torch", "shards"


def _format(name, known=FORMATS):
    if name is not None and name not in known:
        raise ValueError(f"format is {name!r}; None (by the path's ending), {', '.join(map(repr, known))} would be right")
    return 0 if name is None else known.index(name) + 1


def save(path, arrays, *, metadata=None, compress=False, format=None, wait=True):
    """Saves arrays as one file; waits until it is on disk, whole.

    arrays: a dict by name of Arrays, NumPy's or others with dtypes; of npy one. metadata: a dict of texts, which safetensors alone keeps. compress: npz.
    format: "safetensors", "npy" or "npz"; None: what the path's ending says. wait=False: returns at once, and what is saved are the values of
    this moment, whatever is done to the arrays meanwhile; the result is an int64 Array without axes, how many bytes were saved, whose
    ``wait()`` raises what kept the file from being written. The end of the process waits for it.
    """
    if not isinstance(arrays, dict):
        arrays = {"array": arrays}
    for name, array in arrays.items():
        if not isinstance(name, str):
            raise TypeError(f"arrays are saved by names, which are texts; {name!r} is none")
        if isinstance(array, dict):
            raise TypeError(f"{name} is a dict; names such as {name + '.x'!r} would keep its arrays")
    arrays = {name: _asarray(array) if hasattr(array, "__array__") else array for name, array in arrays.items()}
    return _core._save(path, arrays, dict(metadata or {}), compress, _format(format), wait)


def load(path, *, names=None, device=None, map=False, format=None, wait=True):
    """Loads a file of save, NumPy's or PyTorch's: a dict of Arrays with .metadata; of an npy file the Array.

    format: "safetensors", "npy", "npz"; "torch" (what torch.save wrote: .pt, .pth, .bin; names are the keys on the way, "model.0.weight", and
    numbers and texts are metadata); "shards" (several files by an index, .index.json); None: what the path's ending says.
    names: of the arrays to load; None: all, which raises what keeps one of them from being loaded, and says which others there are.
    map: large arrays of CPU devices are the file's pages, so that loading takes no time. The file must not be changed in place or cut short
    while they live, which changes values or kills the process; without map it is read.
    wait=False: returns when it is known what the file has; arrays (of npz files apart) are read while other calls go on, and what is wrong with
    one then fails it.
    """
    archive = _core._open_archive(path, device, map, _format(format, _READ))
    known, metadata = archive.facts()
    get = archive.get if wait else archive.get_async
    if names is None and known == [""]:
        return get("")
    loaded = Loaded(_some(get, path, known, names) if names is not None else _all(get, known))
    loaded.metadata = metadata
    return loaded


def _some(get, path, known, names):
    names = [names] if isinstance(names, str) else list(names)
    missing = [name for name in names if name not in known]
    if missing:
        raise KeyError(f"{_os.fsdecode(path)!r} has no array {missing[0]!r}; there {_listed(known)}")
    return {name: get(name) for name in names}


def _all(get, known):
    arrays, failures = {}, []
    for name in known:
        try:
            arrays[name] = get(name)
        except _errors.Error as error:
            failures.append(error)
    if not failures:
        return arrays
    error, *more = failures
    error.args = "; ".join([str(error)] + [f"nor can this be had: {other}" for other in more[:3]] + ["and others"] * (len(more) > 3)
                           + ([f"names=[…] loads others: there {_listed(arrays)}"] if arrays else [])),
    raise error


def _listed(names, most=20):
    names = list(names)
    told = ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")
    return ("is " if len(names) == 1 else "are ") + (told or "none")


# ---- checkpoints ----------------------------------------------------------------------------------------------------


def save_checkpoint(path, **parts):
    """Saves a training as one file, .safetensors, from which load_checkpoint goes on.

    parts: by names of one's own, modules, optimisers and loaders (what has state() and load()), Arrays, and values for JSON, such as
    the number of steps. The random stream of the calling thread is saved too. An optimiser's learning rate is, its other options are not.

    Where ranks share an optimiser's state (``group=``), all of them call this: the first one saves, and all raise what keeps it from that.
    Any number of ranks loads the file. Else one rank saves.
    """
    group = next((group for part in parts.values() if (group := getattr(part, "_group", None))), None)
    arrays, texts = {}, {"hocket.stream": _json.dumps(_core._stream_state(None))}
    for name, part in parts.items():
        if isinstance(part, _core.Array):
            arrays[f"{name}."] = part
            continue
        state = part.state() if hasattr(part, "state") else part
        if isinstance(state, dict) and hasattr(part, "state"):
            arrays |= {f"{name}.{key}": x for key, x in state.items() if isinstance(x, _core.Array)}
            state = {key: x for key, x in state.items() if not isinstance(x, _core.Array)}
        texts[name] = _json.dumps(state)
    if group:
        _save_by_first(group, path, arrays, texts)
    else:
        save(path, arrays, metadata=texts)


def _save_by_first(group, path, arrays, texts):
    failure, said = None, b""
    if group.rank == 0:
        try:
            save(path, arrays, metadata=texts)
        except Exception as error:
            failure, said = error, f"{getattr(error, 'code', '')}\n{error}".encode(errors="backslashreplace")
    box = _asarray(bytearray(said[:1000].ljust(1000, b"\0")))
    group.broadcast([box])
    said = bytes(box.tolist()).rstrip(b"\0").decode(errors="ignore")  # the last letter may be cut
    if failure:
        raise failure
    if said:
        code, message = said.split("\n", 1)
        raise _errors._CLASSES.get(code, _errors.Error)(f"rank 0: {message}")


def _part(arrays, name):
    return {key[len(name) + 1:]: x for key, x in arrays.items() if key.startswith(name + ".")}


def load_checkpoint(path, **parts):
    """What save_checkpoint saved: loads those of the given parts that have load(), and the random stream; gives the others as a dict.

    Loaders go on from where they were: ``for batch in loader.rest()``.
    """
    arrays = load(path)
    texts = {key: _json.loads(text) for key, text in arrays.metadata.items()}
    missing = parts.keys() - texts.keys()
    if "hocket.stream" not in texts or missing:
        raise KeyError(f"{path} is no checkpoint" if "hocket.stream" not in texts else f"{path} has no part called {', '.join(missing)}")
    _core._stream_set(None, *texts.pop("hocket.stream"))
    for name, part in parts.items():
        part.load(_part(arrays, name) | texts.pop(name))
    rest = {name: value for name, value in texts.items() if not _part(arrays, name)}
    return rest | {key[:-1]: x for key, x in arrays.items() if key.endswith(".")}
