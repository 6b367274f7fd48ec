"""Blocks and layers under MXNet's names. A layer has a copy of its parameters on each device that it was initialised on."""

import collections as _collections
import json as _json

from ... import _core, nn as _nn
from ..._dialects import files as _files
from ..._dialects.devices import device_of as _device
from ..._grad import pause as _pause
from .. import autograd as _autograd, init as _init, np as _np, npx as _npx
from .parameter import Parameter, ParameterDict

_op = _core.operators
_named = _collections.Counter()  # how many blocks of a class have a name


def _devices_of(ctx):
    ctx = "cpu" if ctx is None else ctx
    return [_device(each) for each in (ctx if isinstance(ctx, (list, tuple)) else [ctx])]


class _Functions:
    """What hybrid_forward calls F."""
    np, npx = _np, _npx


class Block(_nn.Module):
    """A class of one's own sets attributes and says forward; attributes that are Blocks are its parts."""

    def __init__(self, **unused):
        pass

    def _parts(self):
        named = {name: value for name, value in vars(self).items() if name != "_registered"} | self._children
        parts = [(name, value._layer if isinstance(value, Parameter) else value) for name, value in named.items()]
        return [(name, part) for name, part in parts if isinstance(part, (_nn.Module, _core.Array))]

    @property
    def _children(self):
        """Blocks by name that are parts of it without being attributes."""
        return vars(self).setdefault("_registered", {})

    @property
    def name(self):
        """The class's name and a number: another one for each block."""
        if "_own_name" not in vars(self):
            kind = type(self).__name__.lower()
            self._own_name = f"{kind}{_named[kind]}"
            _named[kind] += 1
        return self._own_name

    def _layers(self):
        """(path, layer) of the tree, each once."""
        return [(path, module) for path, module in self.named_modules() if isinstance(module, _Layer)]

    def initialize(self, init=None, ctx=None, force_reinit=False, verbose=False):
        """How parameters begin, and on which devices; layers make them when they see their first input.

        force_reinit: those that are there begin anew.
        """
        for _, layer in self._layers():
            layer._initialize(init, ctx, force_reinit)

    def collect_params(self, select=None):
        """A ParameterDict of the tree."""
        found, seen = ParameterDict(), set()
        for path, layer in self._layers():
            for name, parameter in layer._parameters.items():
                if id(parameter) not in seen:  # layers may share them
                    found[layer._path(path, name)] = parameter
                    seen.add(id(parameter))
        return found.selected(select)

    @property
    def params(self):
        """Those of the tree; get(name, shape=) and get_constant(name, value) make one of the block's own."""
        return _Parameters(Block.collect_params(self))  # which a block of one's own may say in other words

    def forward(self, *inputs):
        """A class of one's own may say hybrid_forward(F, x, …, weight) in its place: F.np and F.npx have the functions, and parameters
        of the block's own come by their names."""
        if not hasattr(self, "hybrid_forward"):
            return super().forward(*inputs)
        own = {name: part.data(inputs[0].device) for name, part in vars(self).items() if isinstance(part, Parameter)}
        return self.hybrid_forward(_Functions, *inputs, **own)

    def hybridize(self, active=True, **options):
        """Calls are asynchronous anyway; hocket.capture is what replays steps."""

    def apply(self, fn):
        """Calls fn of each block of the tree, children first."""
        for child in self.children():
            child.apply(fn)
        fn(self)
        return self

    def register_child(self, block, name=None):
        self._children[name or str(len(self._children))] = block

    def save_parameters(self, filename):
        """The arrays of all layers, running statistics among them, as one file by their paths."""
        kept = {id(layer._kept): (path, layer) for path, layer in reversed(self._layers())}  # of those that share: the first one
        _files.save(filename, {layer._path(path, name): x for path, layer in kept.values() for name, x in layer._arrays()})

    def load_parameters(self, filename, ctx=None):
        """What save_parameters saved of such a block: on these devices, on those that it is on, or else on the CPU."""
        found = _files.load(filename)
        seen = set()
        for path, layer in self._layers():
            if layer._names and id(layer._kept) not in seen:  # layers may share parameters
                layer._take(path, found, ctx)
            seen.add(id(layer._kept))
        if found:
            raise KeyError(f"the block has nothing called {', '.join(found)}, which {filename} has")

    def export(self, path, epoch=0):
        """The arrays of all layers as PATH-0000.params, which load_parameters reads, and what they belong to as PATH-symbol.json.

        The number is that of the epoch. That description is for a reader; MXNet has another one. Gives the names of both files.
        """
        unmade = next((name for name, layer in self._layers() if layer._names and not layer._is_made()), None)
        if unmade is not None:
            raise RuntimeError(f"{unmade or self.name} has no parameters yet: call the block once before export")
        nodes = [{"op": type(block).__name__, "name": name, "arrays": {name: list(x.shape) for name, x in block._arrays()}}
                 for name, block in self._layers()]
        names = f"{path}-symbol.json", f"{path}-{epoch:04}.params"
        with open(names[0], "w", encoding="utf-8") as file:
            _json.dump({"block": type(self).__name__, "nodes": nodes}, file, indent=2)
            file.write("\n")
        self.save_parameters(names[1])
        return names


HybridBlock = Block


class Sequential(Block):
    """One block after another."""

    def __init__(self, **unused):
        self._items = []

    def add(self, *blocks):
        self._items += blocks

    def _parts(self):
        return [(str(i), block) for i, block in enumerate(self._items)]

    def forward(self, x, *args):
        for block in self._items:
            x = block(x, *args)
            args = ()
        return x

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        if not isinstance(index, slice):
            return self._items[index]
        part = Sequential()
        part.add(*self._items[index])
        return part


HybridSequential = Sequential


class Lambda(Block):
    """A function as a block."""

    def __init__(self, function):
        self._function = function

    def forward(self, *args):
        return self._function(*args)


HybridLambda = Lambda

# ---- layers ----------------------------------------------------------------------------------------------------------


class _Kept:
    """What layers that share parameters have together."""

    def __init__(self):
        self.copies = None  # a layer of hocket.nn for each device
        self.init, self.inits = None, {}  # how parameters begin; single ones by their names
        self.inputs = None  # shapes and dtypes that the parameters were made for


class _Layer(Block):
    """Of hocket.nn, made by _make; by device once there are parameters."""
    _names = {}  # MXNet's names of parameters: the layer's
    _init_of_weights = None
    _grad_req = "write"

    def _begin(self, *arguments, activation=None, params=None, **options):
        self._arguments, self._options, self._activation = arguments, options, activation
        if params is None:
            self._kept = _Kept()
            self._parameters = {name: Parameter(self, name) for name in self._names}
            return
        twin = next((p._layer for p in params.values()), None)
        if type(twin) is not type(self) or twin._names != self._names:
            raise ValueError(f"params are those of {'nothing' if twin is None else twin.name}; they are to be another {type(self).__name__}'s")
        self._kept, self._parameters = twin._kept, twin._parameters

    def _parts(self):
        return []

    def _path(self, path, name):
        return f"{path}.{name}" if path else name

    def __getattr__(self, name):
        parameters = vars(self).get("_parameters", {})
        if name in parameters:
            return parameters[name]
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}")

    @property
    def _copies(self):
        """A layer for each device, None for those that are still to be made; None before initialize."""
        return self._kept.copies

    @_copies.setter
    def _copies(self, copies):
        self._kept.copies = copies

    def _first(self):
        """One of the copies that are there, or None."""
        return next((copy for copy in (self._copies or {}).values() if copy), None)

    def _initialize(self, init, ctx, force):
        if self._copies is None or force or not self._is_made():
            inputs = self._kept.inputs if self._is_made() else None
            self._kept.init, self._kept.inits = init or self._kept.init or _init.Uniform(), {}
            self._copies = {device: None for device in _devices_of(ctx)}
            if inputs is not None:
                self._of(self._devices()[0], *(_op["zeros"](shape, dtype) for shape, dtype in inputs))

    def _initialize_one(self, name, init, ctx, force):
        if self._copies is None:
            self._initialize(None, ctx, False)
        if not self._is_made():
            self._kept.inits[name] = init or _init.Uniform()
        elif force:
            copies = list(filter(None, self._copies.values()))
            self._draw(copies[0], name, init or _init.Uniform())
            drawn = getattr(copies[0], self._names[name])
            with _pause():
                for copy in copies[1:]:
                    copy._set_own(self._names[name], drawn.as_in_ctx(getattr(copy, self._names[name]).device))

    def _draw(self, layer, name, init):
        if isinstance(init, _init.Initializer):
            with _pause():
                init._init_weight(name, getattr(layer, self._names[name]))
        else:
            layer.initialize(init, self._names[name])

    def _reset(self, ctx):
        made = self._first()
        self._copies = {device: made and made.replicate(device) for device in _devices_of(ctx)}

    def _arrays(self):
        """(name, array) of what there is to be saved."""
        if not self._names:
            return []
        if not self._is_made():
            raise RuntimeError(f"{type(self).__name__} has no parameters yet: they are made when it is first called")
        return self._first()._own()

    def _take(self, path, arrays, ctx):
        """Its arrays become those of these names, which are taken out of the dict."""
        mine = [key for key in arrays if key == self._path(path, self._own_part(key))]
        absent = {self._path(path, name) for name in self._names.values()} - set(mine)
        if absent:
            raise KeyError(f"what is loaded lacks {', '.join(sorted(absent))}")
        layer = self._made_of({self._own_part(key): arrays.pop(key) for key in mine})
        self._copies = {device: layer.replicate(device) for device in (_devices_of(ctx) if ctx or not self._copies else self._copies)}
        self._kept.init = self._kept.init or _init.Uniform()

    def _own_part(self, key):
        return key.rpartition(".")[2]

    def _made_of(self, arrays):
        """A layer with these parameters."""
        layer = self._make(*self._arguments, **self._options)
        for name, x in arrays.items():
            layer._set_own(name, x)
        return layer

    def _devices(self):
        return list(self._copies or ())

    def _is_made(self):
        return any(self._copies.values()) if self._copies else False

    def _made(self, *inputs):
        """A layer with parameters, for inputs like these, on the first device."""
        layer = self._make(*self._arguments, **self._options)
        if self._names:
            begin = self._init_of_weights or self._kept.init
            if not isinstance(begin, _init.Initializer):
                layer.initialize(begin)
            if "bias" in self._names and self._names["bias"] == "bias":
                layer.initialize(_init.Zero(), "bias")
            first = self._devices()[0]
            with _pause():
                layer.build(*(x.as_in_ctx(first) for x in inputs))
            self._kept.inputs = [(x.shape, x.dtype) for x in inputs]
            self._draw_own(layer, begin)
        return layer

    def _draw_own(self, layer, begin):
        """What initialisers of one's own, and those of single parameters, say."""
        for name, own in self._names.items():
            init = self._kept.inits.get(name, begin if getattr(layer, own).ndim > 1 else None)
            if name in self._kept.inits or isinstance(init, _init.Initializer):
                self._draw(layer, name, init)

    def _of(self, device, *inputs):
        if self._copies is None:
            if self._names:
                raise RuntimeError(f"{type(self).__name__} has not been initialized: initialize() does it")
            self._copies = {}
        if not self._names:
            return self._copies.setdefault(device, None) or self._copies.__setitem__(device, self._made()) or self._copies[device]
        if device not in self._copies:
            raise RuntimeError(f"{type(self).__name__} was not initialized on {device}, but on {', '.join(map(str, self._copies))}")
        if not self._is_made():
            self._copies[self._devices()[0]] = self._attached(self._made(*inputs))
        if self._copies[device] is None:
            self._copies[device] = self._attached(self._first().replicate(device))
        return self._copies[device]

    def _attached(self, layer):
        for parameter in self._parameters.values():
            parameter.attach(layer)
        return layer

    def _array(self, name, device):
        """A parameter's array on a device."""
        devices = self._devices()
        device = device or (devices[0] if len(devices) == 1 else _core.Device("cpu:0"))
        if device not in devices or not self._is_made():
            raise RuntimeError(f"the parameter {name} is not there on {device}: it is made when its layer is first called")
        return getattr(self._of(device), self._names[name])

    def _before(self, x):
        return x

    def forward(self, x, *more):
        x = self._before(x)
        layer = self._of(x.device, x, *more)
        training = _autograd.is_training()
        if layer.training != training:
            layer._set_training(training)
        y = layer(x, *more)
        return y if self._activation is None else _op[self._activation](y)

    def _describe(self):
        return ", ".join(map(str, (*self._arguments, *self._options.values())))


class _Held(_nn.Module):
    def __init__(self, value, wants_gradient=True):
        self.value = value.attach_grad() if wants_gradient else value


class _Own(_Layer):
    """What holds a parameter of a block's own."""

    def __init__(self, name, shape, init):
        self._names, self._shape, self._init_of_weights = {name: "value"}, shape, init
        self._begin()

    def _path(self, path, name):
        return path

    def _made(self, *inputs):
        begin, shape, device = self._init_of_weights or self._kept.init, self._shape, self._devices()[0]
        if not isinstance(begin, _init.Initializer):
            return _Held(begin(shape, device=device))
        layer = _Held(_op["zeros"](shape, _core.float32, device=device))
        self._draw(layer, *self._names, begin)
        return layer

    def _made_of(self, arrays):
        value, = arrays.values()
        return _Held(_op["copy"](value), self._grad_req != "null")

    def _own_part(self, key):
        return "value"

    def _arrays(self):
        self._of(self._devices()[0] if self._copies else None)
        return super()._arrays()

    def _array(self, name, device):
        if self._copies is not None:
            self._of(self._devices()[0])
        return super()._array(name, device)


class _Constant(_Own):
    """What holds an array of a block's own that does not train."""
    _grad_req = "null"

    def __init__(self, name, value):
        self._value = value
        super().__init__(name, value.shape, None)

    def _made(self, *inputs):
        return _Held(self._value.copyto(self._devices()[0]), False)


class _Parameters(ParameterDict):
    def get_constant(self, name, value):
        return _Constant(name, value)._parameters[name]

    def get(self, name, shape=None, init=None, **unused):
        found = [p for path, p in self.items() if path.split(".")[-1] == name]
        return found[0] if shape is None and found else _Own(name, shape, init)._parameters[name]


class Dense(_Layer):
    """(n, …) flattened, or with flatten=False (…, in), to units."""
    _make = staticmethod(_nn.Linear)

    def __init__(self, units, activation=None, use_bias=True, flatten=True, in_units=0, weight_initializer=None, params=None):
        self._names = {"weight": "weight"} | ({"bias": "bias"} if use_bias else {})
        self._flatten, self._init_of_weights = flatten, weight_initializer
        self._begin(units, bias=use_bias, activation=activation, params=params)

    def _before(self, x):
        return x.reshape(x.shape[0], -1) if self._flatten and x.ndim != 2 else x


class Conv2D(_Layer):
    _make = staticmethod(_nn.Conv2d)

    def __init__(self, channels, kernel_size, strides=1, padding=0, dilation=1, groups=1, activation=None, use_bias=True, in_channels=0,
                 weight_initializer=None, params=None):
        self._names = {"weight": "weight"} | ({"bias": "bias"} if use_bias else {})
        self._init_of_weights = weight_initializer
        self._begin(channels, kernel_size, stride=strides, padding=padding, dilation=dilation, groups=groups, bias=use_bias,
                    activation=activation, params=params)


class Conv2DTranspose(_Layer):
    _make = staticmethod(_nn.Conv2dTranspose)

    def __init__(self, channels, kernel_size, strides=1, padding=0, output_padding=0, dilation=1, groups=1, activation=None, use_bias=True,
                 in_channels=0, weight_initializer=None, params=None):
        self._names = {"weight": "weight"} | ({"bias": "bias"} if use_bias else {})
        self._init_of_weights = weight_initializer
        self._begin(channels, kernel_size, stride=strides, padding=padding, output_padding=output_padding, dilation=dilation, groups=groups,
                    bias=use_bias, activation=activation, params=params)


class Conv1D(Conv2D):
    _make = staticmethod(_nn.Conv1d)


class MaxPool1D(_Layer):
    _make = staticmethod(_nn.MaxPool1d)

    def __init__(self, pool_size=2, strides=None, padding=0):
        self._begin(pool_size, strides, padding)


class GlobalAvgPool1D(_Layer):
    _make = staticmethod(_nn.AdaptiveAvgPool1d)

    def __init__(self):
        self._begin(1)


class GlobalMaxPool1D(GlobalAvgPool1D):
    _make = staticmethod(_nn.AdaptiveMaxPool1d)


class MaxPool2D(_Layer):
    _make = staticmethod(_nn.MaxPool2d)

    def __init__(self, pool_size=2, strides=None, padding=0):
        self._begin(pool_size, strides, padding)


class AvgPool2D(_Layer):
    _make = staticmethod(_nn.AvgPool2d)

    def __init__(self, pool_size=2, strides=None, padding=0, ceil_mode=False, count_include_pad=True):
        self._begin(pool_size, strides, padding, ceil_mode, count_include_pad)


class GlobalAvgPool2D(_Layer):
    _make = staticmethod(_nn.AdaptiveAvgPool2d)

    def __init__(self):
        self._begin((1, 1))


class GlobalMaxPool2D(GlobalAvgPool2D):
    _make = staticmethod(_nn.AdaptiveMaxPool2d)


class BatchNorm(_Layer):
    _make, _names = staticmethod(_nn.BatchNorm), {"gamma": "gamma", "beta": "beta"}

    def __init__(self, axis=1, momentum=0.9, epsilon=1e-5, **unused):
        self._begin(eps=epsilon, momentum=1 - momentum)


class LayerNorm(_Layer):
    _make, _names = staticmethod(_nn.LayerNorm), {"gamma": "gamma", "beta": "beta"}

    def __init__(self, axis=-1, epsilon=1e-5, **unused):
        self._begin(eps=epsilon)


class Dropout(_Layer):
    _make = staticmethod(_nn.Dropout)

    def __init__(self, rate):
        self._begin(rate)


class Embedding(_Layer):
    _make, _names = staticmethod(_nn.Embedding), {"weight": "weight"}

    def __init__(self, input_dim, output_dim, params=None):
        self._begin(input_dim, output_dim, params=params)

    def _before(self, x):
        return x if x.dtype in (_core.int32, _core.int64) else _op["cast"](x, _core.int64)


class Flatten(_Layer):
    _make = staticmethod(_nn.Flatten)

    def __init__(self):
        self._begin()


class LeakyReLU(Block):
    """x, or alpha x below 0."""

    def __init__(self, alpha):
        self._alpha = alpha

    def forward(self, x):
        return _op["leaky_relu"](x, self._alpha)


class Activation(Block):
    """A function by its name."""

    def __init__(self, activation):
        self._name = activation

    def forward(self, x):
        return _op[self._name](x)
