"""Transforms of images: arrays of uint8, (height, width, channels)."""

from ....._dialects import transforms as _transforms

globals().update(_transforms.of_layout(False))
_ColorJitter = globals()["ColorJitter"]
RandomFlipLeftRight, RandomFlipTopBottom = globals()["RandomHorizontalFlip"], globals()["RandomVerticalFlip"]
RandomColorJitter = _ColorJitter


def RandomBrightness(brightness):
    return _ColorJitter(brightness=brightness)


def RandomContrast(contrast):
    return _ColorJitter(contrast=contrast)


def RandomSaturation(saturation):
    return _ColorJitter(saturation=saturation)


def RandomHue(hue):
    return _ColorJitter(hue=hue)
