"""A dialect for those who know MXNet: what *Dive into Deep Learning* uses in its chapters, as names over Hocket's.

``from hocket.mxnet import …`` in place of ``from mxnet import …``. Importing it adds methods to Array. gpu(i) is a GPU, else a simulated
accelerator, else a CPU device.
"""

import sys as _sys
from types import SimpleNamespace as _Names

from .._dialects import images as _images
from . import np, npx
from . import autograd, gluon, init, lr_scheduler, metric, ndarray
from .npx import cpu, gpu, num_gpus, waitall

context = _Names(cpu=cpu, gpu=gpu, num_gpus=num_gpus)


def _random_crop(src, size):
    """A random part of an image (height, width, channels), size its (width, height); and where it was, for fixed_crop."""
    top, left = _images.random_place(src.shape[:2], size[::-1])
    place = left, top, *size
    return _fixed_crop(src, *place), place


def _fixed_crop(src, x0, y0, w, h):
    return src[y0:y0 + h, x0:x0 + w]


def _imresize(src, w, h):
    """An image of uint8 (height, width, channels) of another width and height."""
    return _images.of_picture(_images.to_picture(src, False).resize((w, h), 2), False)


image = _Names(imread=lambda filename: _images.pixels(filename, "RGB"), imresize=_imresize, random_crop=_random_crop, fixed_crop=_fixed_crop)
numpy, numpy_extension, nd = np, npx, ndarray
for _name in ("numpy", "numpy_extension"):
    _sys.modules[f"{__name__}.{_name}"] = globals()[_name]
np.__path__ = []  # so that mxnet.numpy.random can be imported by its path
_sys.modules[f"{__name__}.numpy.random"] = np.random
