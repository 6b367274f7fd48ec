"""Files of named arrays."""

from . import _core

__all__ = ["save", "load", "Loaded"]


class Loaded(dict):
    """A dict of Arrays by name; ``metadata`` is a dict of the texts that were saved with them."""
    metadata = {}


def save(path, arrays, *, metadata=None, compress=False):
    """Saves arrays as one file, by its ending .safetensors, .npz or .npy; waits until it is on disk, whole.

    arrays: a dict of Arrays by name; of npy one Array. metadata: a dict of texts, which safetensors alone keeps. compress: npz.
    """
    if isinstance(arrays, _core.Array):
        arrays = {"array": arrays}
    _core._save(path, dict(arrays), dict(metadata or {}), compress)


def load(path, *, device=None, copy=False):
    """Loads a file of save, or NumPy's: a dict of Arrays with .metadata; of an npy file the Array.

    Large arrays of CPU devices are mapped, so the file must not be changed in place while they live; copy: nothing is mapped.
    """
    arrays, metadata = _core._load(path, device, copy)
    if list(arrays) == [""]:
        return arrays[""]
    loaded = Loaded(arrays)
    loaded.metadata = metadata
    return loaded
