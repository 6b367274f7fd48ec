"""cuda:i, or gpu(i), is a GPU where there is one; else a simulated accelerator, else a CPU device, which a warning says once."""

import warnings as _warnings

from .. import _core
from .._frames import levels_out as _levels_out

_said = False


def accelerators():
    """What cuda:0, cuda:1, … are: GPUs, else simulated devices, else CPU devices."""
    all_devices = _core.devices()
    for kind in ("cuda", "sim", "cpu"):
        found = [device for device in all_devices if device.kind == kind]
        if found:
            return found
    return all_devices


def _how_to_have_more(found):
    return f"{', '.join(map(str, found))} stand{'s' * (len(found) == 1)} for GPUs; HOCKET_SIM=2 in the environment makes two simulated " \
           f"ones, HOCKET_CPUS=2 two CPU devices"


def say_what_stands_for_gpus():
    """A warning, once, where there is no GPU."""
    global _said
    found = accelerators()
    if found[0].kind != "cuda" and not _said:
        _said = True
        _warnings.warn(f"there is no GPU: {_how_to_have_more(found)}", RuntimeWarning, stacklevel=_levels_out())


def _accelerator(index):
    found = accelerators()
    if index >= len(found):
        raise RuntimeError(f"cuda:{index} is not there: {_how_to_have_more(found)}")
    say_what_stands_for_gpus()
    return found[index]


class Accelerators(list):
    """Those that a program asked for; an index beyond them says how to have more."""

    def __getitem__(self, index):
        try:
            return super().__getitem__(index)
        except IndexError:
            raise IndexError(f"there is no device {index}: {_how_to_have_more(accelerators())}") from None


def advise(error):
    """Adds to an IndexError how to have more devices, where the line that raised it can see a list of all that there are."""
    place = error.__traceback__
    while place is not None and place.tb_next is not None:
        place = place.tb_next
    if place is None or getattr(error, "__notes__", None):
        return
    found = accelerators()
    seen = [*place.tb_frame.f_locals.values(), *place.tb_frame.f_globals.values()]
    if any(type(value) is list and value == found for value in seen):
        error.add_note(_how_to_have_more(found))


def device_of(device):
    """A Device of a name of PyTorch's, a number of a GPU, or a Device; None: the default one."""
    if device is None or isinstance(device, _core.Device):
        return device
    if isinstance(device, int):
        return _accelerator(device)
    kind, _, index = device.partition(":")
    return _accelerator(int(index or 0)) if kind in ("cuda", "gpu") else _core.Device(device)
