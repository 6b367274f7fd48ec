"""Batches split over devices."""

from ..._dialects.devices import device_of as _device
from ..._runs import split_and_load as _split


def split_and_load(data, ctx_list, even_split=True):
    """Slices of the first axis, one on each device, as a list."""
    return _split(data, [_device(ctx) for ctx in ctx_list])
