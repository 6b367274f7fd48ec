#!/usr/bin/env python3
"""Writes the stubs below python/hocket/ from the package as it is built: names, signatures and first lines of text. Modules whose
functions are all in their source need none.

python_stubs.py          writes them; the package is to be on PYTHONPATH
python_stubs.py --check  fails where a file is not as it would be written
"""

import collections
import inspect
import pathlib
import sys
import types

import hocket

PACKAGE = pathlib.Path(__file__).resolve().parent.parent / "python" / "hocket"

HEAD = '''# Written by tools/python_stubs.py from the package: do not edit.
import builtins as _b
import sys
from collections.abc import Callable as _Callable, Generator as _Generator, Iterator as _Iterator, Sequence as _Sequence
from types import ModuleType as _ModuleType
from typing import Any, TypeVar as _TypeVar, final as _final

import numpy as _np

from . import (
    data as data, errors as errors, fft as fft, linalg as linalg, nn as nn, optim as optim, random as random, world as world,
)
from .errors import (
    DeviceError as DeviceError, Error as Error, IndexError as IndexError, MemoryError as MemoryError,
    UnsupportedError as UnsupportedError, ValueError as ValueError, ZeroDivisionError as ZeroDivisionError,
)

_Function = _TypeVar("_Function", bound=_Callable[..., Any])
_Number = int | float | complex
_ArrayLike = Array | _Number | _np.ndarray | _Sequence[Any]
_DTypeLike = DType | str | type | _np.dtype[Any]
_DeviceLike = Device | str
_Axes = int | _Sequence[int] | None
_Shape = int | _Sequence[int]
'''

# Of the modules beside: the same names.
HEAD_OF_MODULE = """# Written by tools/python_stubs.py from the package: do not edit.
import builtins as _b
from typing import Any

from {up} import Array, _ArrayLike, _Axes, _DeviceLike, _DTypeLike, _Shape

__all__ = {names}

"""

PARAMETERS = {
    "dtype": "_DTypeLike | None", "device": "_DeviceLike | None", "axis": "_Axes", "axes": "Any", "keepdims": "_b.bool", "shape": "_Shape",
    "copy": "_b.bool | None", "descending": "_b.bool", "stable": "_b.bool", "correction": "float", "k": "int", "n": "int", "indexing": "str",
    "side": "str", "out": "Array | None", "subscripts": "str", "mode": "str", "invert": "_b.bool", "include_initial": "_b.bool",
    "equal_nan": "_b.bool", "rtol": "float", "atol": "float", "endpoint": "_b.bool", "num": "int", "arrays": "Any", "obj": "Any",
    "shapes": "_Shape",
}
ARRAYS = {"x", "x1", "x2", "y", "condition", "indices", "a", "b", "self", "other", "value", "fill_value"}
RESULTS = {
    "allclose": "_b.bool", "array_equal": "_b.bool", "can_cast": "_b.bool", "isdtype": "_b.bool", "result_type": "DType", "wait": "None",
    "broadcast_shapes": "tuple[int, ...]", "broadcast_arrays": "tuple[Array, ...]", "meshgrid": "tuple[Array, ...]", "split": "list[Array]",
    "unstack": "tuple[Array, ...]", "nonzero": "tuple[Array, ...]", "topk": "tuple[Array, Array]", "cumulative_max": "tuple[Array, Array]", "cumulative_min": "tuple[Array, Array]", "var_mean": "tuple[Array, Array]", "unique_all": "Any",
    "unique_counts": "Any", "unique_inverse": "Any", "__array_namespace_info__": "Any", "devices": "list[Device]",
    "tolist": "Any", "item": "Any", "numpy": "_np.ndarray", "__array__": "_np.ndarray", "is_ready": "_b.bool", "fill": "None",
    "__array_namespace__": "_ModuleType", "__dlpack__": "Any", "__dlpack_device__": "tuple[int, int]", "__iter__": "_Iterator[Array]",
    "__contains__": "_b.bool", "__complex__": "complex", "__format__": "str", "__repr__": "str", "__await__": "_Generator[Any, Any, Array]", "__divmod__": "tuple[Array, Array]",
    "__rdivmod__": "tuple[Array, Array]", "__reduce__": "Any", "__reversed__": "_Iterator[Array]", "__round__": "Any", "__trunc__": "int", "__bytes__": "bytes", "tobytes": "bytes", "lend": "Any",
}
# What the slots of the extension's types are, which tell no signature.
ARRAY_SLOTS = """
    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: _ArrayLike, /) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> _b.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = ..., **options: Any) -> Any: ...
    def __pow__(self, other: _ArrayLike, mod: None = ..., /) -> Array: ...
    def __rpow__(self, other: _ArrayLike, mod: None = ..., /) -> Array: ...
    def __ipow__(self, other: _ArrayLike, /) -> Array: ...  # type: ignore[misc]
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
""" + "".join(
    f"    def __{name}__(self, other: _ArrayLike, /) -> Array: ...{comment}\n"
    for name, comment in [(name, "") for base in "add sub mul truediv floordiv mod matmul and or xor lshift rshift".split()
                          for name in (base, "r" + base, "i" + base)]
    + [(name, "  # type: ignore[override]" if name in ("eq", "ne") else "") for name in "lt le eq ne gt ge".split()])


def first_line(thing):
    told = inspect.getdoc(thing) if getattr(thing, "__name__", None) not in ("__init__", "__call__") else None  # else it is Python's own
    text = (told or "").strip().split("\n\n")[0].replace("\n", " ").replace("\\", "\\\\").replace('"""', "'''")
    return text


def parameter(one, of_array):
    if one.name == "self":
        return "self"
    stars = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
    kind = "_ArrayLike" if one.name in ARRAYS else PARAMETERS.get(one.name, "Any")
    if of_array and one.name in ("axes", "shape") and stars:
        kind = "Any"
    default = "" if one.default is one.empty else " = ..."
    return f"{stars}{one.name}: {kind}{default}"


def arguments(function, of_array=False):
    try:
        given = list(inspect.signature(function).parameters.values())
    except (ValueError, TypeError):
        return "*args: Any, **kwargs: Any"
    parts, slash, star = [], False, False
    if of_array and given and given[0].name == "x":
        given[0] = given[0].replace(name="self")
    for i, one in enumerate(given):
        if one.kind is one.VAR_POSITIONAL:
            star = True
        if one.kind is one.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(parameter(one, of_array))
        if one.kind is one.POSITIONAL_ONLY and (i + 1 == len(given) or given[i + 1].kind is not one.POSITIONAL_ONLY):
            parts.append("/")
            slash = True
    return ", ".join(parts)


def kind_of(value):
    return "None" if value is None else "_b.bool" if value is True or value is False else type(value).__name__


def written(name, function, indent="", result=None, of_array=False):
    result = result or RESULTS.get(name, "Array")
    given = arguments(function, of_array)
    if of_array and not given.startswith("self"):
        given = "self" + (", " + given if given else "")
    text = first_line(function)
    body = f'\n{indent}    """{text}"""\n' if text else " ...\n"
    return f"{indent}def {name}({given}) -> {result}:{body}"


def properties(cls, kinds):
    for name, member in sorted(vars(cls).items()):
        if isinstance(member, (types.GetSetDescriptorType, property)) and (not name.startswith("__") or name in kinds):
            yield f"    @property\n    def {name}(self) -> {kinds.get(name, 'Any')}: ...\n"


def array_class():
    kinds = {"shape": "tuple[int, ...]", "strides": "tuple[int, ...]", "dtype": "DType", "device": "Device", "ndim": "int", "size": "int",
             "nbytes": "int", "itemsize": "int", "T": "Array", "mT": "Array", "real": "Array", "grad": "Array | None",
             "__array_interface__": "dict[str, Any]"}
    lines = [f'@_final\nclass Array:\n    """{first_line(hocket.Array)}"""\n', *properties(hocket.Array, kinds)]
    known = {"__copy__", "__deepcopy__"}
    for name, member in sorted(vars(hocket.Array).items()):
        method = callable(member) and (not name.startswith("_") or name in RESULTS or name in known)
        if method and not isinstance(member, types.WrapperDescriptorType):
            lines.append(written(name, member, "    ", of_array=True))
    return "".join(lines) + ARRAY_SLOTS


def other_classes():
    dtype = f'@_final\nclass DType:\n    """{first_line(hocket.DType)}"""\n' + "".join(
        properties(hocket.DType, {"name": "str", "itemsize": "int", "kind": "str", "__numpy_dtype__": "Any"}))
    device = f'@_final\nclass Device:\n    """{first_line(hocket.Device)}"""\n    def __new__(cls, name: str) -> Device: ...\n' + "".join(
        properties(hocket.Device, {"kind": "str", "type": "str", "index": "int", "cores": "int", "description": "str"}))
    limits = "".join(
        f'class {cls.__name__}:\n    """{first_line(cls)}"""\n    def __init__(self, type: _DTypeLike | Array, /) -> None: ...\n'
        + "".join(f"    {name}: {kind}\n" for name, kind in fields)
        for cls, fields in ((hocket.finfo, [("dtype", "DType"), ("bits", "int")] + [(n, "float") for n in ("eps", "max", "min", "smallest_normal")]),
                            (hocket.iinfo, [("dtype", "DType")] + [(n, "int") for n in ("bits", "max", "min")])))
    return dtype + "\n" + device + "\n" + limits


SPECIAL = "__init__", "__enter__", "__exit__", "__call__", "__deepcopy__"


def class_of(cls, results=None):
    """A class that Python says: its methods and properties, inherited ones too. results: what methods return, else anything."""
    results = {"__init__": "None", "__exit__": "None"} | (results or {})
    members = {name: member for base in reversed(cls.__mro__[:-1]) for name, member in vars(base).items()}
    body = []
    for name, member in sorted(members.items()):
        if name == "__call__" and "func" in inspect.signature(member).parameters:  # of a context that is a decorator
            body.append("    def __call__(self, func: _Function) -> _Function: ...\n")
        elif isinstance(member, property):
            body.append(f"    @property\n    def {name}(self) -> Any: ...\n")
        elif inspect.isfunction(member) and (not name.startswith("_") or name in SPECIAL):
            body.append(written(name, member, "    ", results.get(name, "Any")).replace("_ArrayLike", "Any"))
    return f'class {cls.__name__}:\n    """{first_line(cls)}"""\n' + "".join(body)


def module_of(module, up):
    """A module whose functions are made when it is loaded."""
    things = [(name, getattr(module, name)) for name in sorted(module.__all__)]
    results = collections.defaultdict(lambda: "Array", get_state="tuple[int, int, int]", set_state="None", seed="None")
    parts = [class_of(thing, dict.fromkeys(dir(thing), "Array") | results | {"__init__": "None"}) if isinstance(thing, type) else
             written(name, thing, "", results[name]) for name, thing in things]
    return HEAD_OF_MODULE.format(up=up, names=module.__all__) + "".join(parts)


def whole():
    names = sorted(name for name in vars(hocket) if not name.startswith("_") or name in ("__array_namespace_info__", "__array_api_version__"))
    classes, functions, values = [], [], []
    for name in names:
        thing = getattr(hocket, name)
        if isinstance(thing, types.ModuleType) or name in ("Array", "DType", "Device", "finfo", "iinfo") or name in hocket.errors.__dict__:
            continue
        if isinstance(thing, hocket.DType):
            values.append(f"{name}: DType\n")
        elif isinstance(thing, type):
            classes.append(class_of(thing))
        elif callable(thing):
            array_function = name in hocket._arrays.__all__ or name in hocket._core.operators
            functions.append(written(name, thing, result=None if array_function or name in RESULTS else "Any"))
        else:
            values.append(f"{name}: {kind_of(thing)}\n")
    return "\n".join([HEAD, array_class(), other_classes(), "".join(values), "".join(classes), "".join(functions)])


if __name__ == "__main__":
    texts = {"__init__.pyi": whole(), "random.pyi": module_of(hocket.random, "."), "nn/functional.pyi": module_of(hocket.nn.functional, "..")}
    for name, text in texts.items():
        target = PACKAGE / name
        if sys.argv[1:] == ["--check"]:
            if not target.exists() or target.read_text() != text:
                sys.exit(f"{target} is not fresh: run tools/python_stubs.py")
        else:
            target.write_text(text)
