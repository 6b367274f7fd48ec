"""Modules with the methods that PyTorch's have beside those of hocket.nn."""

import abc as _abc

from ... import _core, nn as _nn
from ..._dialects import files as _files
from ..._dialects.devices import device_of
from .._tensor import requires_grad_


class _Parameters(list):
    """Those that are there; of which module, so that an optimiser can ask again when lazy layers have made theirs."""

    def __init__(self, module, parameters):
        super().__init__(parameters)
        self.module = module


class _Methods:
    """Beside hocket.nn.Module's: gradients are added to until they are set to zeros, as PyTorch's are."""

    def apply(self, fn):
        """Calls fn of each module of the tree, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def parameters(self):
        return _Parameters(self, super().parameters())

    def named_children(self):
        return [(name, part) for name, part in self._parts() if isinstance(part, _nn.Module)]

    def add_module(self, name, module):
        setattr(self, name, module)

    def register_buffer(self, name, tensor):
        setattr(self, name, tensor)

    def to(self, device):
        return super().to(device_of(device))

    def cuda(self, index=0):
        return self.to(f"cuda:{index}")

    def replicate(self, device=None):
        return super().replicate(device_of(device))

    def _paths(self):
        """{PyTorch's path: the layers' own} of arrays whose names differ, whether they are there yet or not."""
        found = {}
        for path, module in self.named_modules():
            prefix = path + "." if path else ""
            found |= {prefix + name: prefix + own for name, own in getattr(module, "_names", {}).items()}
        return found

    def _counted(self):
        """{path: module} of those that count batches."""
        return {f"{path}.num_batches_tracked" if path else "num_batches_tracked": module for path, module in self.named_modules()
                if hasattr(module, "_batches")}

    def state_dict(self):
        """The arrays of the tree by PyTorch's names."""
        names = {own: name for name, own in self._paths().items()}
        arrays, counted = {names.get(path, path): x for path, x in self.state().items()}, self._counted()
        ends, found = {name.removesuffix("num_batches_tracked"): name for name in counted}, {}
        for path, x in arrays.items():
            found[path] = x
            prefix = path.removesuffix("running_var")
            if prefix != path and prefix in ends:
                found[ends[prefix]] = counted[ends[prefix]].num_batches_tracked
        return found

    def named_parameters(self):
        names = {own: name for name, own in self._paths().items()}
        return [(names.get(path, path), x) for path, x in super().named_parameters()]

    def load_state_dict(self, arrays, strict=True):
        """Of state_dict, or of PyTorch's; counts of batches may be missing, as in files of before they were kept."""
        names, counted = self._paths(), self._counted()
        self.load({names.get(path, path): x for path, x in arrays.items() if path not in counted}, strict)
        for path, module in counted.items():
            if path in arrays:
                module._batches = int(arrays[path])

    def save(self, path):
        """The parameters, as torch.save(module.state_dict(), path) saves them."""
        _files.save(path, self.state_dict())

    def requires_grad_(self, requires_grad=True):
        return self.freeze(not requires_grad)


def _adds(layer, like=None):
    """A layer's parameters, once they are there, are attached so that gradients are added: none that has no gradient in like."""
    constant = set() if like is None else {name for name, array in like if not array._has_grad()}
    arrays = [(name, array) for name, array in layer._own() if array._has_grad()]
    for name, array in arrays:
        requires_grad_(array, name not in constant)
    return bool(arrays)


class UninitializedParameter:
    """A parameter that its layer is still to make: what it is filled with is how it will begin."""

    requires_grad = True

    def __init__(self, layer, name):
        self._layer, self._name = layer, name

    @property
    def made(self):
        """The array, once it is there."""
        return getattr(self._layer, self._name)

    @property
    def data(self):
        return self

    def begin(self, init):
        self._layer._layer.initialize_named(self._name, init)
        return self

    def normal_(self, mean=0.0, std=1.0):
        if mean != 0:
            raise ValueError(f"mean is {mean}; a parameter that is still to be made begins with numbers around 0")
        return self.begin(_nn.init.normal(std))

    def uniform_(self, low=0.0, high=1.0):
        if low != -high:
            raise ValueError(f"the numbers are from {low} to {high}; a parameter that is still to be made begins with numbers around 0")
        return self.begin(_nn.init.uniform(high))

    def fill_(self, value):
        return self.begin(_nn.init.constant(value))

    def zero_(self):
        return self.fill_(0)

    def __repr__(self):
        return "<UninitializedParameter>"


class _PartMethods(_Methods):
    """Those of what the library itself has, which isinstance(part, nn.Module) takes for modules too."""


class _LayerMethods(_PartMethods):
    _names = {"running_mean": "mean", "running_var": "variance"}
    _lazy = ()  # names of the parameters that are still to be made
    _becomes = None  # the class of a lazy layer that has made them

    def forward(self, *inputs):
        result = super().forward(*inputs)
        if not self.__dict__.get("_attached"):
            self._attached = _adds(self)
            if self._becomes:
                self.__class__ = self._becomes
        return result

    def _freeze(self, on):
        super()._freeze(on)
        self._attached = False

    def _move(self, device):
        before = self._own()
        super()._move(device)
        self._attached = _adds(self, before)

    def _replica(self, device, made):
        new = super()._replica(device, made)
        new._attached = _adds(new, self._own())
        return new

    def __getattr__(self, name):
        own = self._names.get(name, name)
        if name == "bias" and not self.__dict__.get("_has_bias", True):
            return None
        if name in self._lazy and not any(mine == own for mine, _ in self._own()):
            return UninitializedParameter(self, own)
        return super().__getattr__(own)


def wrapped(cls):
    """A class of hocket.nn with PyTorch's methods."""
    methods = _LayerMethods if issubclass(cls, _nn.Layer) else _PartMethods
    return type(cls.__name__, (methods, cls), {"__module__": "hocket.torch.nn"})


def Parameter(data, requires_grad=True):
    """An array that is a parameter of the module of which it is an attribute."""
    return requires_grad_(data, requires_grad)


class Module(_Methods, _nn.Module, metaclass=_abc.ABCMeta):
    def __init__(self):
        super().__init__()

    def __setattr__(self, name, value):
        if isinstance(value, _core.Array) and value._has_grad():
            self._named.add(name)
        object.__setattr__(self, name, value)

    def register_buffer(self, name, tensor):
        self._named.add(name)
        object.__setattr__(self, name, tensor)

    @property
    def _named(self):
        """The names of attributes that are its parameters and buffers: other arrays are none, as in PyTorch."""
        return self.__dict__.setdefault("_names_of_arrays", set())

    def _parts(self):
        """Attributes themselves, as in PyTorch: no lists or dicts of them."""
        named = self._named
        return [(name, value) for name, value in list(vars(self).items())
                if isinstance(value, _nn.Module) or isinstance(value, _core.Array) and name in named]


Module.register(_PartMethods)


class Sequential(_PartMethods, _nn.Sequential):
    """One after another, named "0", "1", … unless add_module, or a dict, says a name."""

    def __init__(self, *modules):
        self._said = {}  # names by numbers
        if len(modules) == 1 and isinstance(modules[0], dict):
            super().__init__()
            for name, module in modules[0].items():
                self.add_module(name, module)
        else:
            super().__init__(*modules)

    def add_module(self, name, module):
        self._said[len(self)] = name
        self.append(module)
        return self

    def _parts(self):
        return [(self._said.get(i, str(i)), part) for i, part in enumerate(self._items)]

    def __setattr__(self, name, value):
        """A module that becomes an attribute is a part, the last one unless its name is there."""
        if not isinstance(value, _nn.Module):
            return object.__setattr__(self, name, value)
        for number, part in enumerate(self._parts()):
            if part[0] == name:
                self._items[number] = value
                return None
        self.add_module(name, value)

    def __getattr__(self, name):
        for number, said in self.__dict__.get("_said", {}).items():
            if said == name:
                return self._items[number]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    def __setitem__(self, index, module):
        self._items[index] = module

    def __getitem__(self, index):
        return Sequential(*self._items[index]) if isinstance(index, slice) else self._items[index]


class ModuleList(Sequential):
    """Modules by number, which is all that it does."""

    def __init__(self, modules=()):
        super().__init__(*modules)

    def forward(self, *inputs):
        raise NotImplementedError("a ModuleList is called by the module that has it")
