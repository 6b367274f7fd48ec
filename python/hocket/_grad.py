"""Recording and gradients."""

from contextlib import ContextDecorator as _ContextDecorator

from . import _core

__all__ = ["record", "pause", "is_recording", "backward", "grad", "value_and_grad"]

is_recording = _core.is_recording


class _Recording(_ContextDecorator):
    __slots__ = ("_before",)
    _on = True

    def _recreate_cm(self):
        return type(self)()

    def __enter__(self):
        self._before = _core._recording(self._on)
        return self

    def __exit__(self, *exception):
        _core._recording(self._before)


class record(_Recording):
    """``with hk.record():`` notes the calls of this thread, so that gradients can follow from them."""


class pause(_Recording):
    """``with hk.pause():`` within a recording: nothing is noted."""
    _on = False


def backward(losses, dy=None):
    """Computes the gradients of the sum of all these arrays, on any devices, in one pass. Does not wait.

    losses: an Array or a sequence of them. dy: of one Array, what to begin with in place of ones.
    """
    if isinstance(losses, _core.Array):
        losses.backward(dy)
    elif dy is not None:
        for loss, from_ in zip(losses, dy, strict=True):
            loss.backward(from_)
    else:
        _core._backward(losses)


# ---- functions of functions --------------------------------------------------------------------------------


def _map(function, value):
    """The same structure of lists, tuples and dicts, with function(x) for each Array."""
    if isinstance(value, _core.Array):
        return function(value)
    if isinstance(value, dict):
        return {key: _map(function, entry) for key, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_map(function, entry) for entry in value))
    if isinstance(value, (list, tuple)):
        return type(value)(_map(function, entry) for entry in value)
    return value


def _leaf(x):
    return x.detach().attach_grad()


def value_and_grad(function, argnums=0):
    """A function that gives (the result of function, its gradient by an argument).

    The gradient is that of the sum of the result, which is an Array, or a tuple whose first entry is one. argnums: which argument, or a
    tuple of several; each an Array, or lists, tuples and dicts of Arrays, of whose shape the gradient is then.
    """
    several = not isinstance(argnums, int)

    def differentiated(*args, **options):
        leaves = {i: _map(_leaf, args[i]) for i in (argnums if several else (argnums,))}
        args = [leaves.get(i, arg) for i, arg in enumerate(args)]
        with record():
            result = function(*args, **options)
        loss = result[0] if isinstance(result, tuple) else result
        loss.backward()
        grads = tuple(_map(lambda x: x.grad, leaf) for leaf in leaves.values())
        return _map(lambda x: x.detach(), result), grads if several else grads[0]

    return differentiated


def grad(function, argnums=0):
    """A function that gives the gradient of function by an argument: see value_and_grad."""
    both = value_and_grad(function, argnums)

    def differentiated(*args, **options):
        return both(*args, **options)[1]

    return differentiated
