"""torchvision, as far as the book's chapters and its library use it: Fashion-MNIST, images of files, and transforms of them."""

import types as _types

from .. import _core
from .._dialects import data as _data, images as _images


class _Mode:
    """How many channels read_image gives."""
    UNCHANGED, RGB = None, "RGB"


def _read_image(path, mode=_Mode.UNCHANGED):
    """The image of a file, uint8 (channels, height, width)."""
    return _core.operators["permute_dims"](_images.pixels(path, mode), (2, 0, 1))


class _RandomCrop:
    @staticmethod
    def get_params(img, output_size):
        """(top, left, height, width) of a random place in an image that is (…, height, width)."""
        return *_images.random_place(img.shape[-2:], output_size), *output_size


def _crop(img, top, left, height, width):
    return img[..., top:top + height, left:left + width]


transforms = _types.SimpleNamespace(
    Compose=_data.Compose, Resize=_data.Resize, ToTensor=_data.ToTensor, Normalize=_data.Normalize, RandomCrop=_RandomCrop,
    functional=_types.SimpleNamespace(crop=_crop))
datasets = _types.SimpleNamespace(FashionMNIST=_data.FashionMNIST)
io = _types.SimpleNamespace(read_image=_read_image, image=_types.SimpleNamespace(ImageReadMode=_Mode))
