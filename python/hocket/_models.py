"""Networks that others made, from files."""

from . import _core
from .nn._module import Module as _Module

__all__ = ["Model", "export"]


class Model:
    """A network from a file (ONNX), which is called like a function::

        model = hk.Model("resnet18.onnx")
        logits = model(images)

    The first call with inputs of some shapes makes the network's calls one by one, the second notes them, later ones replay what was noted.
    With ``trainable`` its parameters are Arrays that may be written, and trained: calls within record() are made one by one. Otherwise they are
    constants, what depends on them alone is computed once, and batch norms become part of weights, as rounding shows.
    """

    def __init__(self, path, device=None, format=None, trainable=False):
        self._handle = _core._model_load(path, device, format, trainable)
        self.inputs = _core._model_values(self._handle, False)
        self.outputs = _core._model_values(self._handle, True)

    def __call__(self, *inputs, **named):
        """Inputs in the file's order, or by name. Returns an Array, or a tuple of as many as there are outputs."""
        names = [name for name, _, _ in self.inputs[len(inputs):]]
        for name in named:
            if name not in names:
                raise TypeError(f"there is no input {name}, or it is given twice; the inputs are {', '.join(n for n, _, _ in self.inputs)}")
        missing = [name for name in names if name not in named]
        if missing:
            raise TypeError(f"inputs are missing: {', '.join(missing)}")
        results = _core._model_run(self._handle, [*inputs, *(named[name] for name in names)])
        return results[0] if len(results) == 1 else tuple(results)

    def parameters(self):
        """Of a trainable network: its Arrays by their names in the file. Writing one changes what the network computes."""
        return _core._model_parameters(self._handle)

    def __str__(self):
        return _core._model_text(self._handle)

    def __repr__(self):
        return f"<Model with {len(self.inputs)} inputs, {len(self.outputs)} outputs>"


def _names(names, what):
    if names is None:
        return None
    names = (names,) if isinstance(names, str) else tuple(names)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"{what} has {name!r}; expected names")
    return names


def export(function, inputs, path, *, input_names=None, output_names=None, batch=None, format=None):
    """Writes what a Module, or another function of Arrays, makes of inputs like these as a file that others read (ONNX)::

        >>> net = hk.nn.Sequential(hk.nn.Linear(4), hk.nn.ReLU(), hk.nn.Linear(2))
        >>> hk.export(net, hk.ones((1, 8)), "net.onnx", batch="batch")
        >>> hk.Model("net.onnx").inputs
        [('input', hocket.float32, ('batch', 8))]

    ``inputs`` is an Array, or several; the function gives an Array, or several. It is called, twice or three times, and what it calls is noted.
    A Module is in evaluation mode meanwhile; its arrays are named by their paths. Other Arrays that the calls read become constants, with their
    values now. ``batch`` is a name of axis 0 of all inputs, which is free then; otherwise all sizes are those of the inputs. Names of inputs and
    outputs are "input" and "output", of several "input_0" and so on, unless they are given. What others have no form of is an error, which names
    the call and its line.
    """
    inputs = [inputs] if isinstance(inputs, _core.Array) else list(inputs)
    input_names, output_names = _names(input_names, "input_names"), _names(output_names, "output_names")
    if input_names is not None and len(input_names) != len(inputs):
        raise ValueError(f"input_names has {len(input_names)} names for {len(inputs)} inputs")
    if not isinstance(function, _Module):
        _core._model_export(path, _Outputs(function, output_names), inputs, input_names, output_names, batch, format, [], ())
        return
    function.build(*inputs)
    training = [(module, module.training) for module in function.modules()]
    try:
        for module, _ in training:
            module._set_training(False)
        arrays = function.state()
        _core._model_export(path, _Outputs(function, output_names), inputs, input_names, output_names, batch, format,
                            list(arrays.values()), tuple(arrays))
    finally:
        for module, on in training:
            module._set_training(on)


class _Outputs:
    """The function, which must give as many Arrays as there are names."""

    def __init__(self, function, names):
        self._function, self._names = function, names

    def __call__(self, *inputs):
        result = self._function(*inputs)
        count = len(result) if isinstance(result, (tuple, list)) else 1
        if self._names is not None and count != len(self._names):
            raise ValueError(f"output_names has {len(self._names)} names for {count} outputs")
        return result
