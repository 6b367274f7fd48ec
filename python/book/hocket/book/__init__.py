"""*Dive into Deep Learning* with its cells unchanged: ``%load_ext hocket.book`` in a notebook, or ``python -m hocket.book FILE``.

From then on ``import torch``, ``torchvision`` and ``mxnet`` give Hocket's dialects, and ``import d2l`` the book's own library upon them.
"""

import importlib as _importlib
import importlib.abc as _abc
import importlib.machinery as _machinery
import importlib.util as _util
import sys as _sys
from functools import wraps as _wraps

from .._dialects.devices import Accelerators as _Accelerators, advise as _advise, say_what_stands_for_gpus as _say_what_stands_for_gpus
from .editions import absent as _absent
from .newer import MENDS as _MENDS

__all__ = ["DIALECTS", "install", "load_ipython_extension"]

DIALECTS = ("torch", "torchvision", "mxnet")
D2L = "the book's own library is not installed: pip install --no-deps d2l==1.0.3; " \
      "pip install matplotlib matplotlib-inline ipython pandas requests scipy pillow"


class _Dialects(_abc.MetaPathFinder, _abc.Loader):
    """Before all others: torch.nn is the module hocket.torch.nn, and so on."""

    def find_spec(self, fullname, path=None, target=None):
        top = fullname.partition(".")[0]
        if top in DIALECTS and ("hocket." + fullname in _sys.modules or _util.find_spec("hocket." + fullname)):
            return _machinery.ModuleSpec(fullname, self)
        if fullname in _MENDS:
            return _mended(_machinery.PathFinder.find_spec(fullname, path), _MENDS[fullname])
        return _d2l(fullname, path) if top == "d2l" else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        _sys.modules[module.__name__] = _importlib.import_module("hocket." + module.__name__)


def _mended(spec, mend):
    """The spec of a module that is given to mend once it has run."""
    if spec is not None:
        plain = spec.loader.exec_module

        def exec_module(module):
            plain(module)
            mend(module)

        spec.loader.exec_module = exec_module
    return spec


def _d2l(fullname, path):
    """The spec of d2l, whose modules say which edition has the names that they have not, and how to have more devices."""
    spec = _machinery.PathFinder.find_spec(fullname, path)
    if spec is None and fullname == "d2l":
        raise ModuleNotFoundError(D2L, name="d2l")
    if spec is not None and fullname != "d2l":
        plain = spec.loader.exec_module

        def exec_module(module):
            module.__getattr__ = _absent(module)
            plain(module)
            if hasattr(module, "try_all_gpus"):
                devices = module.try_all_gpus
                module.try_all_gpus = _wraps(devices)(lambda: _Accelerators(devices()))

        spec.loader.exec_module = exec_module
    return spec


_finder = _Dialects()


def install():
    """From now on imports of torch, torchvision and mxnet give Hocket's dialects; it may be called again.

    >>> install()
    """
    for name in DIALECTS:
        module = _sys.modules.get(name)
        if module is not None and module is not _sys.modules.get("hocket." + name):
            raise ImportError(f"{name} was imported before hocket.book: restart, and load hocket.book first", name=name)
    if _finder not in _sys.meta_path:
        _sys.meta_path.insert(0, _finder)
        for name in _MENDS.keys() & _sys.modules.keys():
            _MENDS[name](_sys.modules[name])


def _index_error(shell, kind, error, traceback, tb_offset=None):
    """An exception of a cell, which may be for want of devices."""
    _advise(error)
    shell.showtraceback((kind, error, traceback), tb_offset=tb_offset)


def load_ipython_extension(ipython):
    """What %load_ext calls."""
    install()
    ipython.set_custom_exc((IndexError,), _index_error)
    _say_what_stands_for_gpus()
