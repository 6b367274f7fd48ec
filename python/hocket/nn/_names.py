"""The arrays of modules under the names that PyTorch has for the same layers."""

import difflib as _difflib

from .. import _core
from .._creation import asarray as _asarray

_op = _core.operators


def _known(names):
    if names != "torch":
        raise ValueError(f"names is {names!r}; 'torch', or None for the module's own, would be right")


def _rows(module):
    """(PyTorch's name, module, its own name, part, parts); own name "": of what PyTorch alone has. Also of layers that were not called yet."""
    for path, part in module.named_modules():
        prefix = path + "." if path else ""
        layer = getattr(part, "_layer", None)
        for own, name, at, of in layer.names() if layer else [(name, name, 0, 1) for name, _ in part._own()]:
            yield prefix + name, part, own, at, of


def state(module, names):
    """By name; parts of one array are put together, in a new one."""
    _known(names)
    found, parts = {}, {}
    for name, part, own, at, of in _rows(module):
        array = dict(part._own()).get(own)
        if array is not None and of == 1:
            found[name] = array
        elif array is not None:
            found.setdefault(name)
            parts.setdefault(name, {})[at] = array
    return {name: array if name not in parts else _op["concat"]([parts[name][i] for i in sorted(parts[name])], 0) for name, array in found.items()}


# ---- loading --------------------------------------------------------------------------------------------------------


class File:
    """The arrays of a file by name, each read when it is asked for."""

    def __init__(self, path):
        self._archive = _core._open_archive(path, None, False, 0)
        self._known = dict.fromkeys(self._archive.facts()[0])

    def __contains__(self, name):
        return name in self._known

    def __iter__(self):
        return iter(self._known)

    def __getitem__(self, name):
        return self._archive.get(name)


def _prefix(names, arrays):
    """What stands before the names in arrays, so that most of them fit."""
    first = names[:4]
    found = list(dict.fromkeys([""] + [given[:-len(name)] for name in first for given in arrays if given.endswith("." + name)]))[:64]
    fits = {prefix: sum(prefix + name in arrays for name in names) for prefix in found}
    best = [prefix for prefix in found if fits[prefix] == max(fits.values())]
    if "" in best:
        return ""
    if len(best) > 1:
        raise ValueError(f"the module's arrays are there as {best[0] + '…'!r} and as {best[1] + '…'!r}; prefix= says which")
    return best[0]


def _listed(names, most=5):
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _check_names(missing, left, prefix):
    told = []
    if missing:
        near = {name: _difflib.get_close_matches(name, left, 1) for name in missing[:5]}
        told.append("missing is " + _listed([name + (f" (near is {near[name][0]})" if near.get(name) else "") for name in missing]))
    if left:
        told.append("left over is " + _listed(left))
    if told:
        raise KeyError("; ".join(told) + f"; names are behind {prefix!r} there" * bool(prefix) + "; strict=False passes that over")


def _check_shapes(rows, arrays, prefix):
    wrong = []
    for name, part, own, at, of in rows:
        array, given = dict(part._own()).get(own), arrays.get(prefix + name)
        if array is None or given is None or at:
            continue
        shape = (array.shape[0] * of, *array.shape[1:]) if of > 1 else array.shape
        if shape != given.shape:
            wrong.append(f"{name} should be {shape}, and is {given.shape} there")
    if wrong:
        raise ValueError(_listed(wrong))


def _renamed(given, renames):
    """{the name that is taken: what it is in arrays}."""
    found = {}
    for original in given:
        name = original
        for old, new in renames.items():
            if new is None and old in name:
                break
            name = name.replace(old, new or "")
        else:
            if name in found:
                raise ValueError(f"renames takes {found[name]} and {original} both for {name}")
            found[name] = original
    return found


def load(module, given, strict, names, prefix, renames):
    """Of what does not fit none is written."""
    _known(names)
    arrays = _renamed(given, renames or {})
    rows = list(_rows(module))
    wanted = list(dict.fromkeys(name for name, _, own, _, _ in rows if own))
    if prefix is None:
        prefix = _prefix(wanted, arrays)
    elif prefix and not prefix.endswith("."):
        prefix += "."
    passed = {prefix + name for name, _, _, _, _ in rows}
    missing = [name for name in wanted if prefix + name not in arrays]
    left = [name[len(prefix):] for name in arrays if name.startswith(prefix) and name not in passed]
    if strict:
        _check_names(missing, left, prefix)
    elif len(missing) == len(wanted):
        raise KeyError(f"none of the module's arrays is there, not {_listed(missing)}; there are {_listed(list(arrays))}")
    arrays = {prefix + name: _asarray(given[arrays[prefix + name]]) for name in wanted if prefix + name in arrays}
    _check_shapes(rows, arrays, prefix)
    for name, part, own, at, of in rows:
        x = arrays.get(prefix + name) if own else None
        if x is not None:
            count = x.shape[0] // of if of > 1 else 0
            part._set_own(own, x[at * count:(at + 1) * count] if of > 1 else x)
