"""Batches split over devices."""

import weakref as _weakref

from ... import _core
from ..._grad import pause as _pause
from ..._runs import all_reduce as _all_reduce, split_and_load as _split
from .. import _tensor
from ..._dialects.devices import accelerators, device_of
from ._module import Module

_op = _core.operators
_waiting = _weakref.WeakSet()  # modules whose replicas have computed something that is not differentiated yet


def scatter(inputs, target_gpus):
    """One slice of the first axis for each device: of an array, or of each in a list or tuple; what is none goes to all of them."""
    devices = [device_of(device) for device in target_gpus]
    if isinstance(inputs, (tuple, list)):
        return tuple(type(inputs)(parts) for parts in zip(*(scatter(x, devices) for x in inputs)))
    return tuple(_split(inputs, devices)) if isinstance(inputs, _core.Array) else (inputs,) * len(devices)


def _rows(inputs):
    """How many rows the first array among a device's inputs has."""
    for x in inputs:
        if isinstance(x, _core.Array):
            return x.shape[0]
        if isinstance(x, (tuple, list)):
            return _rows(x)
    return 1


def _gathered(results, device):
    """What the devices gave, on one device, with the structure that each gave."""
    if isinstance(results[0], (tuple, list)):
        return type(results[0])(_gathered(parts, device) for parts in zip(*results))
    if results[0] is None:
        return None
    return _op["concat"]([y if y.device == device else _op["to_device"](y, device=device) for y in results], 0)


class DataParallel(Module):
    """Splits a batch over devices: the module stands on the first, replicas on the others, and their gradients are summed."""

    def __init__(self, module, device_ids=None):
        super().__init__()
        self.device_ids = [device_of(device) for device in (accelerators() if device_ids is None else device_ids)]
        self.module = module.to(self.device_ids[0])
        self._held = _Replicas()

    def forward(self, *inputs):
        replicas = self._held.of(self.module, self.device_ids)
        parts = [part for part in scatter(inputs, self.device_ids) if _rows(part) > 0]
        results = [module(*part) for module, part in zip(replicas, parts)]
        if _core.is_recording():
            _waiting.add(self)
        return _gathered(results, self.device_ids[0])

    def _sum_gradients(self):
        own = self.module.parameters()
        others = [module.parameters() for module in self._held.replicas]
        for grads in zip(own, *others):
            _all_reduce([p.grad for p in grads])


class _Replicas:
    """Those of the devices behind the first; no part of the tree."""

    def __init__(self):
        self.replicas = []

    def of(self, module, devices):
        if len(self.replicas) < len(devices) - 1:
            module_is_made = bool(module.parameters())
            self.replicas = [module.replicate(device) for device in devices[1:]]
            if not module_is_made:
                return [module, *self.replicas]
        with _pause():
            for replica in self.replicas:
                replica.train(module.training)
                theirs = replica.state()
                for path, mine in module.state().items():
                    its = theirs[path]
                    if mine._has_grad():
                        its[...] = mine
                        its.attach_grad("write")  # each pass anew: it is added to the module's
                    elif its._has_grad():
                        its.requires_grad = False  # what the module has frozen since, or before it was copied
        return [module, *self.replicas]


def _sum_all():
    while _waiting:
        _waiting.pop()._sum_gradients()


_tensor.after_backward.append(_sum_all)
