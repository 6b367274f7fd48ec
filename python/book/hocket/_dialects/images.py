"""Images as arrays: of files, and parts of them at random places."""

from .. import _core, random as _random
from .._arrays import asarray as _asarray


def pixels(path, mode=None):
    """The image of a file, uint8 (height, width, channels); of a mode such as "RGB", where one is said.

    It is read by Pillow, by which the book's own code reads images, too.
    """
    from PIL import Image
    with Image.open(path) as image:
        image = image if mode is None else image.convert(mode)
        values = memoryview(image.tobytes()).cast("B", (image.height, image.width, len(image.getbands())))
    return _asarray(values, dtype=_core.uint8)


def random_place(shape, wanted):
    """(top, left) of a random place for a part of height x width = wanted in an image whose height and width are shape."""
    places = [have - want + 1 for have, want in zip(shape, wanted)]
    if min(places) < 1:
        raise ValueError(f"the part is to be {tuple(wanted)}, more than the image's height and width {tuple(shape)}")
    return [int(_random.integers(0, count, ())) for count in places]
