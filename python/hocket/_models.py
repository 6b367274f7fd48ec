"""Networks that others made, from files."""

from . import _core

__all__ = ["Model"]


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
