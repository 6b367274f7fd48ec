"""torchvision, as far as the book's chapters and its library use it: Fashion-MNIST, images of files, and transforms of them."""

import types as _types

from . import _core, random as _random
from ._arrays import asarray as _asarray
from ._dialects import data as _data


class _Mode:
    """How many channels read_image gives."""
    UNCHANGED, RGB = None, "RGB"


def _read_image(path, mode=_Mode.UNCHANGED):
    """The image of a file, uint8 (channels, height, width). It is read by Pillow, as the book's own code reads images."""
    from PIL import Image
    with Image.open(path) as image:
        image = image if mode is None else image.convert(mode)
        pixels = memoryview(image.tobytes()).cast("B", (image.height, image.width, len(image.getbands())))
    return _core.operators["permute_dims"](_asarray(pixels, dtype=_core.uint8), (2, 0, 1))


class _RandomCrop:
    @staticmethod
    def get_params(img, output_size):
        """(top, left, height, width) of a random place in an image that is (…, height, width)."""
        places = [have - want + 1 for have, want in zip(img.shape[-2:], output_size)]
        if min(places) < 1:
            raise ValueError(f"RandomCrop: output_size is {tuple(output_size)}, more than the image's {tuple(img.shape[-2:])}")
        return *(int(_random.integers(0, count, ())) for count in places), *output_size


def _crop(img, top, left, height, width):
    return img[..., top:top + height, left:left + width]


transforms = _types.SimpleNamespace(
    Compose=_data.Compose, Resize=_data.Resize, ToTensor=_data.ToTensor, Normalize=_data.Normalize, RandomCrop=_RandomCrop,
    functional=_types.SimpleNamespace(crop=_crop))
datasets = _types.SimpleNamespace(FashionMNIST=_data.FashionMNIST)
io = _types.SimpleNamespace(read_image=_read_image, image=_types.SimpleNamespace(ImageReadMode=_Mode))
