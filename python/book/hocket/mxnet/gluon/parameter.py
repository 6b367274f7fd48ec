"""Parameters of layers, which may be on several devices."""

import re as _re

from ..._dialects.devices import device_of as _device
from ..._grad import pause as _pause
from .. import init as _init


class Parameter:
    """One of a layer, by its name; there once the layer has been called, or when its sizes were said."""

    def __init__(self, layer, name):
        self._layer, self.name = layer, name
        self.lr_mult = self.wd_mult = 1.0
        self._said = None  # the grad_req that was set

    @property
    def grad_req(self):
        """"null" of what does not train, else "write"."""
        return self._said or self._layer._grad_req

    @grad_req.setter
    def grad_req(self, value):
        if value not in ("null", "write", "add"):
            raise ValueError(f"grad_req is {value!r}; there are 'null', 'write' and 'add'")
        self._said = value
        for layer in self.copies() if self.is_made() else []:
            self.attach(layer)

    def attach(self, layer):
        """A copy of its layer gets gradients, or none, where grad_req has been set."""
        if self._said:
            getattr(layer, self._layer._names[self.name]).attach_grad(self._said)

    def initialize(self, init=None, ctx=None, force_reinit=False):
        """How it begins; force_reinit: drawn anew where it is there already. Devices are those of its layer, unless it has none."""
        self._layer._initialize_one(self.name, init, ctx, force_reinit)

    def list_ctx(self):
        """The devices that it is on."""
        return list(self._layer._devices())

    def list_data(self):
        return [self.data(device) for device in self.list_ctx()]

    def data(self, ctx=None):
        """The array on a device; on the only one, unless it is said which."""
        return self._layer._array(self.name, _device(ctx))

    def grad(self, ctx=None):
        return self.data(ctx).grad

    def list_grad(self):
        return [x.grad for x in self.list_data()]

    @property
    def shape(self):
        return self._layer._array(self.name, self.list_ctx()[0]).shape

    def copies(self):
        """The layers that hold it."""
        return [self._layer._of(device) for device in self.list_ctx()]

    def is_made(self):
        return self._layer._is_made()

    def set_data(self, data):
        """The values on every device; of what is still to be made, how it will begin."""
        if not self.is_made():
            return self.initialize(_init._Given(data))
        with _pause():
            for x in self.list_data():
                x.detach()[...] = data.as_in_ctx(x.device)

    def zero_grad(self):
        for grad in self.list_grad():
            grad[...] = 0

    def reset_ctx(self, ctx):
        self._layer._reset(ctx)

    def __repr__(self):
        return f"Parameter {self.name} (shape={self.shape if self.is_made() else None})"


class ParameterDict(dict):
    """Parameters by their paths, such as "net.0.weight"."""

    def selected(self, pattern):
        return self if pattern is None else ParameterDict({name: p for name, p in self.items() if _re.match(pattern, name)})

    def setattr(self, name, value):
        """The attribute of all of them."""
        for p in self.values():
            setattr(p, name, value)

    def reset_ctx(self, ctx):
        """They move to these devices."""
        for p in self.values():
            p.reset_ctx(ctx)

    def zero_grad(self):
        for p in self.values():
            p.zero_grad()
