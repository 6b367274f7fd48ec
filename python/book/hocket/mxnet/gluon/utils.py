"""Batches split over devices."""

from ..._dialects.devices import device_of as _device
from ..._runs import split_and_load as _split


def split_and_load(data, ctx_list, even_split=True):
    """Slices of the first axis, one on each device, as a list: of one size, or, with even_split=False, nearly."""
    size, count = len(data), len(ctx_list)
    if even_split and size % count:
        raise ValueError(f"{size} samples cannot be split evenly into {count} slices; give another batch size, or even_split=False")
    return _split(data, [_device(ctx) for ctx in ctx_list], [size // count + (i < size % count) for i in range(count)])
