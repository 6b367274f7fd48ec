"""What *Dive into Deep Learning* calls d2l: ``from hocket.d2l import torch as d2l``, or ``from hocket import torch, d2l``."""

import sys as _sys

from .torch import *  # noqa: F401,F403

torch = _sys.modules[__name__ + ".torch"]  # and not hocket.torch, which that module calls torch
