"""Transforms of images, as torchvision and MXNet have them: of Pillow's images, and of arrays of uint8.

Arrays are (channels, height, width) in PyTorch's dialect, (height, width, channels) in MXNet's: of_layout gives the classes for one of
them. What hocket.data can do while it prepares batches has steps().
"""

from .. import _core, data as _data, random as _random
from .._arrays import asarray as _asarray
from . import images as _images


def _uniform(low, high):
    return float(_random.uniform((), low, high)) if low < high else low


def _range(value, name, center=1.0):
    """(low, high) of a factor: of a number, around the center; else as it is."""
    if isinstance(value, (tuple, list)):
        return tuple(value)
    if value < 0:
        raise ValueError(f"{name} is {value}; it is to be at least 0")
    return max(center - value, 0.0) if center else -value, center + value


class Compose:
    """Transforms one after another; functions, too."""

    def __init__(self, transforms):
        self.transforms = list(transforms)

    def __call__(self, x):
        for transform in self.transforms:
            x = transform(x)
        return x

    def steps(self):
        """The transforms of hocket.data; None where there are not such for all."""
        steps = []
        for part in self.transforms:
            found = part.steps() if hasattr(part, "steps") else None
            if found is None:
                return None
            steps += found
        return steps


class _Picture:
    """What works on Pillow's images says picture(image)."""
    _channels_first = True

    def __call__(self, x):
        if not isinstance(x, _core.Array):
            return self.picture(x)
        return _images.of_picture(self.picture(_images.to_picture(x, self._channels_first)), self._channels_first)

    def steps(self):
        return None

    def _size(self, size):
        """(height, width) of what a program calls a size."""
        if isinstance(size, int):
            return size, size
        return tuple(size) if self._channels_first else tuple(size)[::-1]


class Resize(_Picture):
    """To a size; PyTorch's of one number makes that the shorter side, MXNet's both unless keep_ratio."""

    def __init__(self, size, keep_ratio=None):
        self.size, self._keeps_ratio = size, self._channels_first if keep_ratio is None else keep_ratio

    def picture(self, image):
        if isinstance(self.size, int) and self._keeps_ratio:
            shorter = min(image.size)
            return image.resize([round(side * self.size / shorter) for side in image.size], 2)
        return image.resize(self._size(self.size)[::-1], 2)

    def steps(self):
        size = self._size(self.size)
        return [_data.Resize(*size)] if size != (28, 28) else []


class CenterCrop(_Picture):
    """The part in the middle."""

    def __init__(self, size):
        self.size = self._size(size)

    def picture(self, image):
        height, width = self.size
        left, top = (image.width - width) // 2, (image.height - height) // 2
        return image.crop((left, top, left + width, top + height))


class RandomCrop(_Picture):
    """A part at a random place."""

    def __init__(self, size):
        self.size = self._size(size)

    @staticmethod
    def get_params(img, output_size):
        """(top, left, height, width) of a random place in an image that is (…, height, width)."""
        return *_images.random_place(img.shape[-2:], output_size), *output_size

    def picture(self, image):
        top, left = _images.random_place(image.size[::-1], self.size)
        return image.crop((left, top, left + self.size[1], top + self.size[0]))


class RandomResizedCrop(_Picture):
    """A random part, of an area and a width by height in these ranges, resized."""

    def __init__(self, size, scale=(0.08, 1.0), ratio=(3 / 4, 4 / 3)):
        self.size, self.scale, self.ratio = self._size(size), scale, ratio

    def picture(self, image):
        width, height = image.size
        for _ in range(10):
            area, ratio = width * height * _uniform(*self.scale), _uniform(*self.ratio)
            part = round((area / ratio) ** .5), round((area * ratio) ** .5)
            if 0 < part[0] <= height and 0 < part[1] <= width:
                break
        else:
            part = (min(width, height),) * 2
        top, left = _images.random_place((height, width), part)
        return image.resize(self.size[::-1], 2, (left, top, left + part[1], top + part[0]))


class RandomHorizontalFlip(_Picture):
    _way = 0

    def __init__(self, p=0.5):
        self.p = p

    def picture(self, image):
        return image.transpose(self._way) if _uniform(0, 1) < self.p else image


class RandomVerticalFlip(RandomHorizontalFlip):
    _way = 1


class ColorJitter(_Picture):
    """Random factors of brightness, contrast and saturation, and a random shift of the hue, as a part of the circle."""

    def __init__(self, brightness=0, contrast=0, saturation=0, hue=0):
        factors = {"Brightness": brightness, "Contrast": contrast, "Color": saturation}
        self._factors = {name: _range(value, name.lower()) for name, value in factors.items() if value}
        self._hue = _range(hue, "hue", 0.0)

    def picture(self, image):
        from PIL import Image, ImageEnhance
        for name, (low, high) in self._factors.items():
            image = getattr(ImageEnhance, name)(image).enhance(_uniform(low, high))
        if self._hue == (0, 0) or image.mode in ("L", "1"):
            return image
        shift = int(_uniform(*self._hue) * 255)
        hue, saturation, value = image.convert("HSV").split()
        return Image.merge("HSV", (hue.point([(i + shift) % 256 for i in range(256)]), saturation, value)).convert(image.mode)


class RandomLighting(_Picture):
    """Adds to all pixels a random step along the main axes of natural images' colours."""
    _axes = ((0.5675, 0.7192, 0.4009), (-0.5808, -0.0045, -0.8140), (-0.5836, -0.6948, 0.4203))  # column i belongs to length i
    _lengths = 55.46, 4.794, 1.148

    def __init__(self, alpha):
        self.alpha = alpha

    def picture(self, image):
        from PIL import Image
        steps = [float(_random.normal((), 0, self.alpha)) * length for length in self._lengths]
        shifts = [sum(part * step for part, step in zip(row, steps)) for row in self._axes]
        tables = [[min(max(round(i + shift), 0), 255) for i in range(256)] for shift in shifts]
        return Image.merge(image.mode, [part.point(table) for part, table in zip(image.split(), tables)])


class ToTensor:
    """An image as floats from 0 to 1, (channels, height, width); arrays of floats are that already."""
    _channels_first = True

    def __call__(self, x):
        if isinstance(x, _core.Array) and x.dtype != _core.uint8:
            return x
        if not isinstance(x, _core.Array):
            x = _images.of_picture(x, False) if hasattr(x, "getbands") else _asarray(x, copy=True)
            x = x if x.ndim == 3 else x[..., None]
        elif self._channels_first:
            raise ValueError(f"ToTensor takes images of Pillow or NumPy, but was given a tensor of {x.dtype}, {tuple(x.shape)}")
        x = _core.operators["permute_dims"](x, (2, 0, 1))
        return x if x.dtype != _core.uint8 else _core.operators["cast"](x, _core.float32) / 255

    def steps(self):
        return []


class Normalize:
    """(x - mean) / std of each channel; called, of an image (…, channels, height, width)."""

    def __init__(self, mean, std):
        self.mean, self.std = ([float(value)] if isinstance(value, (int, float)) else [float(each) for each in value] for value in (mean, std))

    def steps(self):
        return [_data.Normalize(self.mean, self.std)]

    def __call__(self, image):
        mean, std = (_core._convert(value, image.dtype, image.device).reshape(-1, 1, 1) for value in (self.mean, self.std))
        return (image - mean) / std


class ToPILImage:
    """An image of Pillow of an array: of uint8, or of floats from 0 to 1, (channels, height, width)."""

    def __call__(self, x):
        return _images.to_picture(x if x.dtype == _core.uint8 else _core.operators["cast"](x * 255, _core.uint8), True)


def of_layout(channels_first):
    """The classes for arrays of this layout, by their names."""
    classes = [cls for cls in globals().values() if isinstance(cls, type) and not cls.__name__.startswith("_")]
    return {cls.__name__: type(cls.__name__, (cls,), {"_channels_first": channels_first, "__doc__": cls.__doc__}) for cls in classes}
