"""What *Dive into Deep Learning* calls d2l: ``from hocket.d2l import torch as d2l``, or ``from hocket import torch, d2l``."""

import importlib as _importlib


def __getattr__(name):
    """A name of hocket.d2l.torch, which is imported by the first of them."""
    if name.startswith("__"):
        raise AttributeError(name)
    return getattr(_importlib.import_module(".torch", __name__), name)
