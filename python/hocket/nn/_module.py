"""Modules: Python objects whose attributes are parameters, arrays, modules, or lists and dicts of these."""

import threading as _threading

from .. import _core, _notebook
from .._creation import asarray as _asarray
from .._grad import pause as _pause
from . import _names
from ..errors import Error as _Error

_op = _core.operators


class _Watchers(_threading.local):
    """What is told of each call of a module in this thread: functions of (module, result)."""
    functions = ()


_watchers = _Watchers()


class watching:
    """While the block runs, function(module, result) is called after each call of a module in this thread."""

    def __init__(self, function):
        self._function = function

    def __enter__(self):
        self._before = _watchers.functions
        _watchers.functions += (self._function,)

    def __exit__(self, *exception):
        _watchers.functions = self._before


# ---- attributes ------------------------------------------------------------------------------------------------


def _flat(name, value):
    """(name, Module or Array) of an attribute, those within lists, tuples and dicts with names such as "layers.0"."""
    if isinstance(value, (Module, _core.Array)):
        yield name, value
    elif isinstance(value, (list, tuple)):
        for i, entry in enumerate(value):
            yield from _flat(f"{name}.{i}", entry)
    elif isinstance(value, dict):
        for key, entry in value.items():
            yield from _flat(f"{name}.{key}", entry)


def _mapped(value, module, array):
    """An attribute with module(m) and array(x) in place of the Modules and Arrays in it."""
    if isinstance(value, Module):
        return module(value)
    if isinstance(value, _core.Array):
        return array(value)
    if isinstance(value, dict):
        return {key: _mapped(entry, module, array) for key, entry in value.items()}
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_mapped(entry, module, array) for entry in value)
    return value


def _copied(x, device):
    """A copy of an array on the device, attached where x is."""
    with _pause():
        new = _op["copy"](x.detach()) if device is None or x.device == device else _op["to_device"](x.detach(), device=device)
    return new.attach_grad() if x._has_grad() else new


def _say_where(error, module):
    """Notes at an exception in which module of the tree it came up; called at each level, innermost first."""
    inner = error.__dict__.get("_module")
    name = type(module).__name__
    if inner is not None:
        path, found, kind = inner
        name = next((name for name, child in module._parts() if child is found), None)
        error.__notes__.remove(f"in {path or kind}" + f" ({kind})" * bool(path))
        path, name = ".".join(filter(None, (name, path))), kind
    else:
        path = ""
    error._module = path, module, name
    error.add_note(f"in {path or name}" + f" ({name})" * bool(path))


def Parameter(x):
    """An array that wants a gradient: an attribute that is one is a parameter of its module."""
    return x.attach_grad()


# ---- modules -------------------------------------------------------------------------------------------------------


class Module:
    """A part of a network. A class of one's own sets attributes and says what ``forward`` computes from its inputs::

        class Net(nn.Module):
            def __init__(self):
                self.hidden = nn.Linear(256)
                self.output = nn.Linear(10)

            def forward(self, x):
                return self.output(hk.relu(self.hidden(x)))

    Attributes that are modules, or arrays, or lists, tuples and dicts of them, are its parts. Arrays that have a gradient attached
    are parameters; others are saved with it. Layers make their parameters at their first call, when shapes are known.
    """

    training = True
    frozen = False

    def forward(self, *inputs):
        raise NotImplementedError(f"{type(self).__name__} has no forward")

    def __call__(self, *inputs, **options):
        try:
            result = self.forward(*inputs, **options)
        except _Error as error:
            _say_where(error, self)
            raise
        for function in _watchers.functions:
            function(self, result)
        return result

    # -- the tree

    def _parts(self):
        """(name, Module or Array) of what it is made of."""
        for name, value in vars(self).items():
            yield from _flat(name, value)

    def _own(self):
        """(name, Array) of arrays of its own."""
        return [(name, part) for name, part in self._parts() if isinstance(part, _core.Array)]

    def _set_own(self, name, x):
        """The array of that name becomes the values of x."""
        for mine, array in self._own():
            if mine == name:
                if array.shape != x.shape:
                    raise ValueError(f"{name} has the shape {array.shape}, and what is loaded {x.shape}")
                with _pause():
                    array[...] = x
                return
        raise KeyError(name)

    def _is_made(self):
        """Whether all layers of the tree are."""
        return all(module._is_made() for module in self.modules() if isinstance(module, Layer))

    def children(self):
        """The modules among its parts."""
        return [part for _, part in self._parts() if isinstance(part, Module)]

    def named_modules(self, prefix=""):
        """(path, Module) of the tree, each module once: ("", self) first."""
        return self._walk(prefix, set())

    def _walk(self, prefix, seen):
        if id(self) in seen:
            return
        seen.add(id(self))
        yield prefix, self
        for name, part in self._parts():
            if isinstance(part, Module):
                yield from part._walk(f"{prefix}.{name}" if prefix else name, seen)

    def modules(self):
        """All modules of the tree, each once."""
        return [module for _, module in self.named_modules()]

    def state(self, names=None):
        """A dict of all arrays of the tree by path, such as "encoder.0.weight". They are its own, not copies.

        names: "torch", for the names that PyTorch has for the same layers; those of which it makes one, such as attention's, are put together.

        >>> list(hk.nn.BatchNorm().build((2, 3)).state(names="torch"))
        ['weight', 'bias', 'running_mean', 'running_var']
        """
        if names is not None:
            return _names.state(self, names)
        arrays = {}
        for path, module in self.named_modules():
            for name, array in module._own():
                arrays[f"{path}.{name}" if path else name] = array
        return arrays

    def _attach_given(self):
        pass

    def named_parameters(self):
        """(path, Array) of the arrays that want gradients. None of a layer before its first call, but what was loaded: see build."""
        for module in self.modules():
            module._attach_given()
        return [(path, array) for path, array in self.state().items() if array._has_grad()]

    def parameters(self):
        """The arrays that want gradients."""
        return [array for _, array in self.named_parameters()]

    def load(self, arrays, strict=True, *, names=None, prefix=None, renames=None):
        """The arrays become those of a dict like that of state(), or of a file, as hk.load reads it. Returns the module.

        Of what does not fit none is written. Values may be whatever asarray takes, such as NumPy's arrays and PyTorch's tensors.

        strict: every array that is there has to be given, and nothing else.
        names: "torch", where they are by the names that PyTorch has for the same layers, as in its files. Layers that have not been called yet
        take them too. prefix: what stands before the names, "state_dict"; None: what makes most of them fit. renames: a dict of parts of names
        that stand there for others, or of which None is made. One error tells what is missing, what is left over, and which shapes differ.
        """
        if names is not None:
            _names.load(self, arrays if isinstance(arrays, dict) else _names.File(arrays), strict, names, prefix, renames)
            return self
        if not isinstance(arrays, dict):
            from .._files import load
            arrays = load(arrays)
        if prefix is not None or renames is not None:
            raise ValueError(f"prefix is {prefix!r} and renames {renames!r}, which are for names='torch'; name the arrays as state() does")
        arrays = {path: _asarray(array) for path, array in arrays.items()}
        state = self.state()
        missing = [path for path in state if path not in arrays]
        if missing and strict:
            raise KeyError(f"{', '.join(missing)} of the module is not among what is loaded")
        owners = sorted(self.named_modules(), key=lambda entry: -len(entry[0]))
        for path, array in arrays.items():  # before the first is written
            if path in state and state[path].shape != array.shape:
                raise ValueError(f"{path} has the shape {state[path].shape}, and what is loaded {array.shape}")
        for path, array in arrays.items():
            self._load_one(owners, path, array, strict)
        return self

    @staticmethod
    def _load_one(owners, path, array, strict):
        for prefix, module in owners:
            if prefix and not path.startswith(prefix + "."):
                continue
            try:
                module._set_own(path[len(prefix) + 1:] if prefix else path, array)
                return
            except (KeyError, FileNotFoundError):
                pass
        if strict:
            raise KeyError(f"the module has nothing called {path}")

    def save(self, path, metadata=None, *, names=None):
        """Saves its arrays as one file: see hk.save; names: see state."""
        from .._files import save
        save(path, self.state(names), metadata=metadata)

    # -- states

    def _set_training(self, on):
        self.training = on

    def train(self, on=True):
        """Whether it trains, as it does at first: concerns dropout and batch norm. Returns the module."""
        for module in self.modules():
            module._set_training(on)
        return self

    def eval(self):
        """The same as train(False)."""
        return self.train(False)

    def _freeze(self, on):
        self.frozen = on
        mine = self.__dict__.setdefault("_frozen", set())
        for name, array in self._own():
            if on and array._has_grad():
                mine.add(name)
                array.attach_grad("null")
            elif not on and name in mine:
                mine.discard(name)
                array.attach_grad()

    def freeze(self, on=True):
        """No gradients for the parameters of the tree; or gradients again. Returns the module."""
        for module in self.modules():
            module._freeze(on)
        return self

    def zero_grad(self):
        """Sets all gradients to zeros: for parameters that are attached in the mode 'add'."""
        with _pause():
            for array in self.parameters():
                array.grad[...] = 0

    def initialize(self, init, name=None):
        """How parameters of layers with two axes or more begin; those that are there are drawn anew. Returns the module.

        name: those of that name, such as "bias", whatever axes they have.
        """
        for module in self.modules():
            if isinstance(module, Layer):
                module._begins(name, init)
                module._made = [*module._made, (name, init)]
        return self

    def build(self, *inputs):
        """Makes the parameters: calls the module once, for arrays or for zeros of shapes. Returns the module."""
        training = [(module, module.training) for module in self.modules()]
        self.eval()
        try:
            with _pause():
                self(*(x if isinstance(x, _core.Array) else _op["zeros"](x, _core.float32) for x in inputs))
        finally:
            for module, on in training:
                module._set_training(on)
        return self

    # -- devices

    def replicate(self, device=None):
        """A tree like this one, with copies of its arrays on the device; None: where each is. The caller sums the gradients."""
        return self._replica(device, {})

    def _replica(self, device, made):
        if id(self) not in made:
            made[id(self)] = new = object.__new__(type(self))
            for name, value in vars(self).items():
                vars(new)[name] = _mapped(value, lambda module: module._replica(device, made), lambda x: _copied(x, device))
        return made[id(self)]

    def replicas(self, devices):
        """A replica on each of the devices."""
        return [self.replicate(device) for device in devices]

    def _move(self, device):
        for name, value in list(vars(self).items()):
            if any(isinstance(part, _core.Array) for _, part in _flat(name, value)):
                vars(self)[name] = _mapped(value, lambda module: module, lambda x: x if x.device == device else _copied(x, device))

    def to(self, device):
        """Moves the arrays of the tree to the device, as new arrays: make optimisers after it. Returns the module."""
        for module in self.modules():
            module._move(device)
        return self

    # -- text

    def _describe(self):
        return ""

    def __repr__(self):
        return self._text_of(())

    def _text_of(self, around):
        """around: the modules that it is within, of which one may be among its parts."""
        if any(module is self for module in around):
            return f"{type(self).__name__}(…)"
        parts = [f"  ({name}): " + (part._text_of((*around, self)) if type(part).__repr__ is Module.__repr__ else repr(part))
                 .replace("\n", "\n  ") for name, part in self._parts() if isinstance(part, Module)]
        inner = self._describe() if not parts else "\n" + "\n".join(parts) + "\n"
        return f"{type(self).__name__}({inner})"

    def _repr_html_(self):
        return _notebook.module(self)

    def summary(self, *inputs):
        """A table as text: path, kind, shape of the result, how many parameters. With inputs (arrays or shapes) it is called with them."""
        shapes = {}
        if inputs:
            with watching(lambda module, result: shapes.__setitem__(id(module), getattr(result, "shape", ""))):
                self.build(*inputs)
        rows, total = [("module", "kind", "result", "parameters")], 0
        for path, module in self.named_modules():
            count = sum(array.size for _, array in module._own() if array._has_grad())
            total += count
            rows.append((path or "-", type(module).__name__, str(shapes.get(id(module), "")), str(count or "")))
        rows.append(("sum", "", "", str(total)))
        widths = [max(len(row[i]) for row in rows) for i in range(4)]
        return "\n".join(f"{a:{widths[0]}}  {b:{widths[1]}}  {c:{widths[2]}}  {d:>{widths[3]}}" for a, b, c, d in rows)


class Layer(Module):
    """A layer of the library. Its parameters are made at its first call; ``layer.weight`` is the one of that name."""

    _takes_more = False  # inputs than one
    _has_arrays = True
    _buffers = ()  # names of arrays that are no parameters
    _text = ""  # of its arguments

    def __init__(self, kind, *arguments):
        self._layer = _core._layer(kind, arguments)
        self._made = [("", kind, arguments)]  # and (name, init) of what initialize said since

    def _describe(self):
        return self._text

    def _is_made(self):
        """Whether all of its parameters can be asked for."""
        given = [name for name, _ in self._layer.given()]
        return not self._has_arrays or self.frozen or any(array._has_grad() and name not in given for name, array in self._own())

    def _attach_given(self):
        """What was loaded before the first call, but moving averages, are parameters."""
        if not self.frozen:
            for name, array in self._layer.given():
                if name not in self._buffers and not array._has_grad() and array.dtype in (_core.float32, _core.float64):
                    array.attach_grad()

    def __deepcopy__(self, memo):
        new = memo[id(self)] = self._replica(None, {})
        for (_, mine), (_, array) in zip(self._own(), new._own()):
            memo["hocket.Array", mine._identity()] = array, mine
        return new

    def __getstate__(self):
        return {**vars(self), "_layer": self._own()}

    def __setstate__(self, state):
        _, kind, arguments = state["_made"][0]
        vars(self).update(state, _layer=_core._layer(kind, arguments))
        for name, init in self._made[1:]:
            self._begins(name, init)
        for name, array in state["_layer"]:
            self._layer.set(name, array)
        self._set_training(self.training)
        if self.frozen:
            self._freeze(True)

    def _begins(self, name, init):
        if name is None:
            self._layer.initialize(init)
        else:
            self._layer.initialize_named(name, init)

    def forward(self, *inputs):
        if len(inputs) != 1 and (not inputs or not self._takes_more) or inputs[0] is None:
            raise TypeError(f"{type(self).__name__} takes an Array, not {'None' if len(inputs) == 1 else f'{len(inputs)} inputs'}")
        try:
            return self._layer.forward(*inputs)
        except TypeError:
            return self._layer.forward(*(x if x is None or isinstance(x, _core.Array) else _asarray(x) for x in inputs))

    def __getattr__(self, name):
        if "_layer" in vars(self):
            for mine, array in self._own():
                if mine == name:
                    return array
        raise AttributeError(f"{type(self).__name__} has no attribute {name!r}; parameters are made at the first call")

    def __setattr__(self, name, value):
        if isinstance(value, _core.Array):
            self._layer.set(name, value)
        elif hasattr(value, "__array__") or (isinstance(value, (list, tuple, float)) and any(name == mine for mine, _ in self._own())):
            self._layer.set(name, _asarray(value))
        else:
            object.__setattr__(self, name, value)

    def _own(self):
        return [(name, array) for name, array, _ in self._layer.entries()]

    def _set_own(self, name, x):
        self._layer.set(name, x.astype(_core.float32) if x.dtype in (_core.float16, _core.bfloat16) else x)

    def _set_training(self, on):
        self.training = on
        self._layer.set_training(on)

    def _freeze(self, on):
        self.frozen = on
        self._layer.freeze(on)

    def _replica(self, device, made):
        if id(self) not in made:
            made[id(self)] = new = object.__new__(type(self))
            vars(new).update(vars(self))
            if device is None:
                device = next((array.device for _, array in self._own()), None)
            new._layer = self._layer.replicate(device)
        return made[id(self)]

    def _move(self, device):
        if any(array.device != device for _, array in self._own()):
            self._layer = self._layer.replicate(device)
