"""Regions of images and anchor boxes."""

import math as _math

from .. import _core
from .._arrays import asarray as _asarray

_op = _core.operators


def _window(begin, end, number, count, limit):
    """The number-th of count windows of begin … end - 1, within limit."""
    size = (end - begin) / count
    low, high = begin + _math.floor(number * size), begin + _math.ceil((number + 1) * size)
    return min(max(low, 0), limit), min(max(high, 0), limit)


def roi_pool(x, boxes, size, scale):
    """x (n, channels, h, w), boxes (k, 5) of image, left, top, right, bottom: (k, channels, *size). Waits for the boxes.

    Corners times scale are rounded, and belong to the region; of a window without elements the result is 0.
    """
    rows, results = boxes.tolist(), []
    if boxes.ndim != 2 or boxes.shape[1] != 5:
        raise ValueError(f"boxes are (k, 5): image, left, top, right, bottom; they are {tuple(boxes.shape)}")
    for image, *corners in rows:
        if image != int(image) or not 0 <= image < x.shape[0]:
            raise ValueError(f"a box is of the image {image:g}; there are {x.shape[0]}")
        left, top, right, bottom = (_math.floor(corner * scale + 0.5) for corner in corners)
        right, bottom = max(right + 1, left + 1), max(bottom + 1, top + 1)
        parts = []
        for i in range(size[0]):
            for j in range(size[1]):
                (y0, y1), (x0, x1) = _window(top, bottom, i, size[0], x.shape[2]), _window(left, right, j, size[1], x.shape[3])
                window = x[int(image), :, y0:y1, x0:x1]
                parts.append(_op["max"](window, (1, 2)) if y1 > y0 and x1 > x0 else _op["zeros"]((x.shape[1],), x.dtype, device=x.device))
        results.append(_op["stack"](parts, 1).reshape(x.shape[1], *size))
    return _op["stack"](results, 0) if results else _op["zeros"]((0, x.shape[1], *size), x.dtype, device=x.device)


def multibox_prior(x, sizes, ratios):
    """Boxes around each pixel of x (n, channels, h, w): (1, h w boxes, 4) of left, top, right, bottom, as parts of the image.

    Boxes of a pixel: each size with the first ratio of width to height, and the first size with each other ratio.
    """
    height, width = x.shape[2:]
    kinds = [(size, ratios[0]) for size in sizes] + [(sizes[0], ratio) for ratio in ratios[1:]]
    halves = [(size * height / width * ratio ** .5 / 2, size / ratio ** .5 / 2) for size, ratio in kinds]
    found = [[(j + 0.5) / width + sx * w, (i + 0.5) / height + sy * h][axis]
             for i in range(height) for j in range(width) for w, h in halves for sx, sy in ((-1, -1), (1, 1)) for axis in (0, 1)]
    return _asarray(found, dtype=x.dtype, device=x.device).reshape(1, -1, 4)
