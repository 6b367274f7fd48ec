"""Modules with the methods that PyTorch's have beside those of hocket.nn."""

from ... import _core, nn as _nn
from .._devices import device_of
from .._tensor import requires_grad_


class _Methods:
    """Beside hocket.nn.Module's: gradients are added to until they are set to zeros, as PyTorch's are."""

    def apply(self, fn):
        """Calls fn of each module of the tree, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def add_module(self, name, module):
        setattr(self, name, module)

    def to(self, device):
        return super().to(device_of(device))

    def cuda(self, index=0):
        return self.to(f"cuda:{index}")

    def replicate(self, device=None):
        return super().replicate(device_of(device))

    def state_dict(self):
        return self.state()

    def load_state_dict(self, arrays, strict=True):
        self.load(arrays, strict)

    def requires_grad_(self, requires_grad=True):
        return self.freeze(not requires_grad)


def _adds(layer):
    """A layer's parameters, once they are there, are attached so that gradients are added."""
    arrays = [array for _, array in layer._own() if array._has_grad()]
    for array in arrays:
        requires_grad_(array)
    return bool(arrays)


class _LayerMethods(_Methods):
    def forward(self, *inputs):
        result = super().forward(*inputs)
        if not self.__dict__.get("_attached"):
            self._attached = _adds(self)
        return result

    def _freeze(self, on):
        super()._freeze(on)
        self._attached = False

    def _move(self, device):
        super()._move(device)
        self._attached = _adds(self)

    def _replica(self, device, made):
        new = super()._replica(device, made)
        new._attached = _adds(new)
        return new

    def __getattr__(self, name):
        return super().__getattr__({"running_mean": "mean", "running_var": "variance"}.get(name, name))


def wrapped(cls):
    """A class of hocket.nn with PyTorch's methods."""
    methods = _LayerMethods if issubclass(cls, _nn.Layer) else _Methods
    return type(cls.__name__, (methods, cls), {"__module__": "hocket.torch.nn"})


def Parameter(data, requires_grad=True):
    """An array that is a parameter of the module of which it is an attribute."""
    return requires_grad_(data, requires_grad)


class Module(_Methods, _nn.Module):
    def __init__(self):
        super().__init__()

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)


class Sequential(_Methods, _nn.Sequential):
    def add_module(self, name, module):
        self.append(module)
        return self

    def __getitem__(self, index):
        return Sequential(*self._items[index]) if isinstance(index, slice) else self._items[index]
