"""Images as arrays, of files and of Pillow; parts of them at random places."""

from .. import _core, random as _random
from .._arrays import asarray as _asarray


def picture_of(path, mode=None):
    """Pillow's image of a file; of a mode such as "RGB", where one is said."""
    from PIL import Image
    with Image.open(path) as image:
        image.load()
        return image if mode is None else image.convert(mode)


def pixels(path, mode=None):
    """The image of a file, uint8 (height, width, channels)."""
    return of_picture(picture_of(path, mode), False)


def random_place(shape, wanted):
    """(top, left) of a random place for a part of height x width = wanted in an image whose height and width are shape."""
    places = [have - want + 1 for have, want in zip(shape, wanted)]
    if min(places) < 1:
        raise ValueError(f"the part is to be {tuple(wanted)}, more than the image's height and width {tuple(shape)}")
    return [int(_random.integers(0, count, ())) for count in places]


def to_picture(x, channels_first):
    """Pillow's image of an array of uint8. Waits for its values."""
    from PIL import Image
    if x.dtype != _core.uint8 or x.ndim not in (2, 3):
        raise ValueError(f"an image is an array of uint8 with two or three axes, not {x.dtype}, {tuple(x.shape)}")
    x = _core.operators["permute_dims"](x, (1, 2, 0)) if channels_first and x.ndim == 3 else x
    channels = 1 if x.ndim == 2 else x.shape[2]
    modes = {1: "L", 3: "RGB", 4: "RGBA"}
    if channels not in modes:
        raise ValueError(f"an image has 1, 3 or 4 channels, not {channels}")
    return Image.frombytes(modes[channels], (x.shape[1], x.shape[0]), bytes(memoryview(_core._contiguous(x))))


def of_picture(image, channels_first):
    """The array of uint8 of an image of Pillow, with an axis of channels."""
    values = memoryview(image.tobytes()).cast("B", (image.height, image.width, len(image.getbands())))
    x = _asarray(values, dtype=_core.uint8)
    return _core.operators["permute_dims"](x, (2, 0, 1)) if channels_first else x
