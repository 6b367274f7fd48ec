"""torchvision, as far as the book's chapters and its library use it: data sets, transforms and files of images, and networks."""

import types as _types

from .. import _core
from .._dialects import images as _images
from . import datasets, models, ops, transforms  # noqa: F401


class _Mode:
    """How many channels read_image gives."""
    UNCHANGED, RGB = None, "RGB"


def _read_image(path, mode=_Mode.UNCHANGED):
    """The image of a file, uint8 (channels, height, width)."""
    return _core.operators["permute_dims"](_images.pixels(path, mode), (2, 0, 1))


io = _types.SimpleNamespace(read_image=_read_image, image=_types.SimpleNamespace(ImageReadMode=_Mode))
