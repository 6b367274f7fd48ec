"""Captured steps: the calls of a function are noted once, and then done again for a fraction of what issuing them costs."""

import functools as _functools
import threading as _threading
import warnings as _warnings
import weakref as _weakref

from . import _core, _notebook, optim as _optim
from ._frames import levels_out as _levels_out
from ._grad import _map, is_recording as _is_recording, pause as _pause
from .nn._module import watching as _watching

__all__ = ["capture"]

_copy = _core.operators["copy"]
_Array = _core.Array
_MOST_VARIANTS = 8


_place = _core._place


def _described(value, arrays):
    """A hashable description of an argument, whose Arrays are appended to `arrays`."""
    if isinstance(value, _Array):
        arrays.append(value)
        return _place(value)
    if isinstance(value, (list, tuple)):
        return type(value), tuple(_described(entry, arrays) for entry in value)
    if isinstance(value, dict):
        return dict, tuple((key, _described(entry, arrays)) for key, entry in value.items())
    hash(value)
    return type(value), value


class _Variant:
    """A graph, and what it holds for."""

    def __init__(self, graph, result, conditions, returns):
        self._graph, self._result, self._returns = graph, result, returns
        self._conditions = conditions  # (weak reference to an object, attribute, value)
        self._lock = _threading.Lock()

    def holds(self):
        for of, name, value in self._conditions:
            if getattr(of(), name, None) != value:
                return False
        return True

    def __call__(self, arrays):
        with self._lock:  # nobody else's replay comes between
            self._graph.replay(arrays)
            fresh = [_copy(x) for x in self._returns]
        return _filled(self._result, fresh, arrays)


class _Slot:
    """The place of an array in a result: an argument's, or one that is made anew."""
    __slots__ = ("fresh", "index")

    def __init__(self, fresh, index):
        self.fresh, self.index = fresh, index


def _filled(result, fresh, arguments):
    if type(result) is _Slot:
        return (fresh if result.fresh else arguments)[result.index]
    if isinstance(result, dict):
        return {key: _filled(entry, fresh, arguments) for key, entry in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(_filled(entry, fresh, arguments) for entry in result))
    if isinstance(result, (list, tuple)):
        return type(result)(_filled(entry, fresh, arguments) for entry in result)
    return result


class _Entry:
    """Of one shape of arguments: how often it was called, its variants, and why there are none."""

    def __init__(self):
        self.calls = 0
        self.variants = []
        self.plain = False


class _State(_threading.local):
    capturing = False


_state = _State()


class _Bound:
    """A captured method of an object, which it keeps; what was captured is kept as long as the object."""

    def __init__(self, captured, instance):
        self._captured, self.__self__ = captured, instance

    def __call__(self, *args, **options):
        return self._captured(*args, **options)

    def __getattr__(self, name):
        return getattr(self._captured, name)


class _Captured:
    def __init__(self, function, exact):
        _functools.update_wrapper(self, function)
        self._function, self._exact = function, exact
        self._entries = {}
        self._said = set()
        self._lock = _threading.RLock()
        self._of_objects = _weakref.WeakKeyDictionary()

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        captured = self._of_objects.get(instance)
        if captured is None:
            reference, function = _weakref.ref(instance), self._function

            def method(*args, **options):
                return function(reference(), *args, **options)

            captured = self._of_objects[instance] = _Captured(_functools.wraps(function)(method), self._exact)
        return _Bound(captured, instance)

    def _say(self, why):
        if why not in self._said:
            self._said.add(why)
            name = getattr(self._function, "__qualname__", repr(self._function))
            _warnings.warn(f"{name} is not captured, and called as it is: {why}", RuntimeWarning, stacklevel=_levels_out())

    def __call__(self, *args, **options):
        if _state.capturing:  # a part of what is being noted
            return self._function(*args, **options)
        if _is_recording():
            self._say("a captured step is never on the tape, and this call is within hk.record()")
            return self._function(*args, **options)
        arrays = []
        try:
            key = _described(args, arrays), _described(options, arrays) if options else None
            entry = self._entries.get(key)
        except TypeError:
            self._say("an argument can neither be an Array nor a key")
            return self._function(*args, **options)
        if entry:
            for variant in entry.variants:
                if variant.holds():
                    return variant(arrays)
        return self._call(key, arrays, args, options)

    def _call(self, key, arrays, args, options):
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.calls += 1
            # The first call makes parameters and states, which a replay is not to make again.
            if entry.plain or entry.calls == 1:
                return self._function(*args, **options)
            return self._capture(entry, arrays, args, options)

    def _capture(self, entry, arrays, args, options):
        conditions, told = [], set()

        def depends(of, names):
            if id(of) not in told:
                told.add(id(of))
                conditions.extend((_weakref.ref(of), name, getattr(of, name)) for name in names)

        _core._capture_begin(arrays)
        _state.capturing = True
        _optim._noted.append(depends)
        graph = "the function raised an exception"
        try:
            with _watching(lambda module, result: depends(module, ("training",))):
                result = self._function(*args, **options)
            slots, returns = self._slots(result, arrays)
            result = None
        finally:
            _optim._noted.remove(depends)
            _state.capturing = False
            graph = _core._capture_end(self._exact)
        if isinstance(graph, str):
            entry.plain = True
            self._say(graph)
            variant = None
        else:
            variant = _Variant(graph, slots, conditions, returns)
            if len(entry.variants) == _MOST_VARIANTS:
                del entry.variants[0]
                self._say(f"what it depends on has changed {_MOST_VARIANTS} times; the oldest captures are dropped. "
                          f"A learning rate that changes at each step is best that of an optimizer with a state, such as Momentum")
            entry.variants.append(variant)
        with _pause():
            fresh = [_copy(x) for x in returns]
        return _filled(slots, fresh, arrays)

    @staticmethod
    def _slots(result, arrays):
        """The result with slots for its Arrays, and copies that replays write anew."""
        returns = []
        arguments = {id(x): i for i, x in enumerate(arrays)}

        def slot(x):
            if id(x) in arguments:
                return _Slot(False, arguments[id(x)])
            returns.append(_copy(x))
            return _Slot(True, len(returns) - 1)

        with _pause():
            return _map(slot, result), returns

    def graphs(self):
        """What was captured, as text: a line for each task of a replay."""
        return [variant._graph.text() for entry in self._entries.values() for variant in entry.variants]

    def _repr_html_(self):
        return _notebook.captured(self._function.__name__, self.graphs())


def capture(function=None, *, exact=False):
    """``@hk.capture``: the calls that the function makes are noted, and from then on done again without it.

    Per shapes, dtypes, strides and devices of the Arrays among its arguments, within lists, tuples and dicts too, and per all other
    arguments, which are to be hashable. The first call of each kind runs as it is, the second is noted. Arrays from outside, such as
    parameters, are read and written at each call; results are fresh arrays each time. What Python computes is what it was when it was
    noted, but for the training mode of modules and what optimisers are told: where these change, the step is noted again.

    Where that cannot be, as where the function reads a value, it is called as it is, and a warning says why once. exact: the same bytes
    as those of the calls, at some cost in speed.
    """
    if function is None:
        return lambda function: _Captured(function, exact)
    return _Captured(function, exact)
