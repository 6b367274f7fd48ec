"""Recording and gradients."""

import functools as _functools
from contextlib import ContextDecorator as _ContextDecorator

from . import _core
from ._creation import asarray as _asarray
from ._dtypes import isdtype as _isdtype

__all__ = ["record", "pause", "is_recording", "backward", "function", "grad", "gradients", "jvp", "value_and_grad"]

is_recording = _core.is_recording


class _Recording(_ContextDecorator):
    __slots__ = ("_before",)
    _on = True

    def _recreate_cm(self):
        return type(self)()

    def __enter__(self):
        self._before = _core._recording(self._on), getattr(self, "_before", None)  # it may be entered within itself
        return self

    def __exit__(self, *exception):
        before, self._before = self._before
        _core._recording(before)


class record(_Recording):
    """``with hk.record():`` notes the calls of this thread, so that gradients can follow from them."""


class pause(_Recording):
    """``with hk.pause():`` within a recording: nothing is noted."""
    _on = False


def _several(value):
    return [value] if isinstance(value, _core.Array) else value


def backward(losses, dy=None, *, keep=False):
    """Computes the gradients of the sum of all these arrays, on any devices, in one pass. Does not wait.

    Gradients of gradients are by gradients(…, create_graph=True), grad, or value_and_grad within hk.record().

    losses: an Array or a sequence of them. dy: what to begin with in place of ones, one for each. keep: the tape stays, for a further
    pass over it.
    """
    losses = _several(losses)
    _core._backward(losses, None if dy is None else _several(dy), keep)


def gradients(ys, xs, dy=None, *, keep=False, create_graph=False):
    """The gradients of the sum of ys by each of xs, as new arrays: of one Array xs an Array, else a list. Does not wait.

    xs are attached ('track' is enough), or came from recorded calls; what is attached keeps the gradient that it has. create_graph: the
    pass is recorded, so that gradients can be differentiated, and the tape stays.
    """
    found = _core._gradients(_several(ys), _several(xs), None if dy is None else _several(dy), keep, create_graph)
    return found[0] if isinstance(xs, _core.Array) else found


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


def _as_array(value):
    """An argument to differentiate by: numbers and what others hold as Arrays, those within lists, tuples and dicts, too."""
    if isinstance(value, dict):
        return {key: _as_array(entry) for key, entry in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(_as_array, value))
    if isinstance(value, (list, tuple)):
        return type(value)(map(_as_array, value))
    return _asarray(value) if isinstance(value, (float, complex)) or hasattr(value, "__array__") else value


def _leaf(x):
    """An array of the same values that stands for x alone: on the tape where x is, so that gradients of gradients go through it."""
    if not _isdtype(x.dtype, ("real floating", "complex floating")):
        raise TypeError(f"there is no gradient by an array of {x.dtype}; those of floats and complex numbers have one")
    with record():
        leaf = _core.operators["reshape"](x, x.shape)
    return leaf if leaf._wants_grad() else x.detach().attach_grad("track")


def _collected(value, arrays):
    _map(arrays.append, value)
    return arrays


def value_and_grad(function, argnums=0):
    """A function that gives (the result of function, its gradient by an argument).

    The gradient is that of the sum of the result, which is an Array, or a tuple whose first entry is one. argnums: which argument, or a
    tuple of several; each an Array, or lists, tuples and dicts of Arrays, of whose shape the gradient is then. Within hk.record(), or
    within a function that is differentiated itself, the gradient is recorded, too.

    >>> [x.tolist() for x in hk.value_and_grad(lambda x: (x ** 2).sum())(hk.asarray([1.0, 3.0]))]
    [10.0, [2.0, 6.0]]
    """
    several = not isinstance(argnums, int)

    def differentiated(*args, **options):
        nested = is_recording()
        if any(not -len(args) <= i < len(args) for i in (argnums if several else (argnums,))):
            raise TypeError(f"argnums is {argnums}, but there are {len(args)} arguments without names")
        leaves = [_map(_leaf, _as_array(args[i])) for i in (argnums if several else (argnums,))]
        args = list(args)
        for i, leaf in zip(argnums if several else (argnums,), leaves):
            args[i] = leaf
        with record():
            result = function(*args, **options)
            loss = result[0] if isinstance(result, tuple) else result
            if not isinstance(loss, _core.Array):
                raise TypeError(f"what is differentiated is to give an Array, not {loss!r:.60}")
            xs = _collected(leaves, [])
            if not loss._wants_grad():  # of none of them
                found = [_core.operators["zeros_like"](x) for x in xs]
            else:
                found = _core._gradients([loss], xs, None, False, nested)
        found = iter(found)
        grads = tuple(_map(lambda x: next(found), leaf) for leaf in leaves)
        return result if nested else _map(lambda x: x.detach(), result), grads if several else grads[0]

    return differentiated


def grad(function, argnums=0):
    """A function that gives the gradient of function by an argument: see value_and_grad.

    >>> hk.grad(lambda x: (x ** 2).sum())(hk.asarray([1.0, 3.0]))
    array([2., 6.], device='cpu:0')
    """
    both = value_and_grad(function, argnums)

    def differentiated(*args, **options):
        return both(*args, **options)[1]

    return differentiated


def jvp(function, args, tangents):
    """(the result of function, how it changes to first order where its arguments move along the tangents): Jacobian-vector products.

    args: a sequence of Arrays, tangents: as many of their shapes. The result is an Array, or a tuple of Arrays.

    >>> [x.tolist() for x in hk.jvp(lambda x: x ** 2, [hk.asarray([1.0, 3.0])], [hk.asarray([1.0, 1.0])])]
    [[1.0, 9.0], [2.0, 6.0]]
    """
    leaves = [_leaf(_as_array(x)) for x in args]
    with record():
        result = function(*leaves)
    results = [result] if isinstance(result, _core.Array) else list(result)
    products = _core._jvp(results, leaves, tangents)
    if isinstance(result, _core.Array):
        return result.detach(), products[0]
    return tuple(y.detach() for y in results), tuple(products)


# ---- gradients of one's own ----------------------------------------------------------------------------------------


class function:
    """A function of Arrays with a gradient of its own.

    ::

        @hk.function
        def clipped(x):
            return hk.clip(x, -1, 1)

        @clipped.gradient
        def clipped_gradient(dy, x):
            return dy

    The function is not recorded. Its gradient is called with dy for each result (None where none reached it), then the arguments, then
    the results; it gives the gradient of each argument, None where none flows. reads says which Arrays among these it is given, and
    the others are left out: 'inputs', 'outputs', 'both' or 'neither'. What is read is kept, and where it was overwritten before the
    backward pass the gradient is failed.
    """

    def __init__(self, forward=None, *, reads="inputs"):
        if reads not in ("inputs", "outputs", "both", "neither"):
            raise ValueError(f"reads is {reads!r}; there are 'inputs', 'outputs', 'both' and 'neither'")
        self._reads, self._backward = reads, None
        self._forward = forward
        if forward is not None:
            _functools.update_wrapper(self, forward)

    def __deepcopy__(self, memo):
        return self  # as functions are

    def __reduce__(self):
        return self.__qualname__  # by name, as functions are

    def gradient(self, backward):
        """Decorates the function that gives the gradient."""
        self._backward = backward
        return backward

    def __call__(self, *args, **options):
        if self._forward is None:  # @hk.function(reads=…)
            return function(args[0], reads=self._reads)
        if self._backward is None:
            raise TypeError(f"{self._forward.__name__} has no gradient yet: @{self._forward.__name__}.gradient says it")
        with pause():
            result = self._forward(*args, **options)
        several = isinstance(result, (tuple, list))
        arrays = [arg for arg in args if isinstance(arg, _core.Array)]
        others = [None if isinstance(arg, _core.Array) else arg for arg in args]
        is_array = [isinstance(arg, _core.Array) for arg in args]
        reads, backward = self._reads, self._backward
        reads_inputs, reads_outputs = reads in ("inputs", "both"), reads in ("outputs", "both")

        def call(dys, inputs, outputs):
            inputs = iter(inputs)
            given = [next(inputs) if array else other for array, other in zip(is_array, others) if reads_inputs or not array]
            grads = backward(*dys, *given, *(outputs if reads_outputs else ()), **options)
            grads = grads if isinstance(grads, (tuple, list)) else (grads,)
            if len(grads) != len(is_array):
                raise ValueError(f"the gradient gave {len(grads)} arrays for {len(is_array)} arguments")
            return [grad for grad, array in zip(grads, is_array) if array]

        found = _core._function(arrays, result if several else [result], call, reads_inputs, reads_outputs)
        return type(result)(found) if several else found[0]
