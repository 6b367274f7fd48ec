"""Devices that stand for GPUs: see hocket.torch."""

from .. import _core
from .._arrays import wait as _wait
from .._dialects.devices import accelerators, device_of

__all__ = ["device_count", "get_device_name", "is_available", "synchronize"]


def device_count():
    """How many devices there are for cuda:0, cuda:1, …"""
    return len(accelerators())


def is_available():
    """True: there is always something that stands for a GPU."""
    return True


def synchronize(device=None):
    """Waits for all calls, or for those of a device."""
    if device is None:
        _wait()
    else:
        _core._wait_device(device_of(device))


def get_device_name(device=0):
    """What the device is."""
    found = device_of(device)
    return found.description or str(found)
