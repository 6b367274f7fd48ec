"""Captured steps: the calls of a function are noted once, and then done again for a fraction of what issuing them costs."""

import copy as _copy_module
import enum as _enum
import functools as _functools
import inspect as _inspect
import sys as _sys
import threading as _threading
import types as _types
import warnings as _warnings
import weakref as _weakref

from . import _core, _notebook, optim as _optim
from ._creation import zeros as _zeros
from ._frames import levels_out as _levels_out
from ._grad import _map, is_recording as _is_recording, pause as _pause
from .nn._module import Layer as _Layer, watching as _watching

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
    if isinstance(value, (float, complex)):
        return type(value), repr(value)  # -0.0 is equal to 0.0, and NaN to nothing
    return type(value), value


# ---- what a function reads beside its arguments --------------------------------------------------------------


class _Outside:
    """The Arrays that names outside of a function mean: variables of modules and of functions around it, attributes."""

    def __init__(self, function, instance):
        function = _inspect.unwrap(function)
        code = getattr(function, "__code__", None)
        self._globals = getattr(function, "__globals__", {})
        self._names = code.co_names if code else ()
        self._cells = list(zip(code.co_freevars, function.__closure__ or ())) if code else []
        self._objects = {}  # of Modules that were called, and the object of a method: weak references by id
        self._add(instance)

    def _add(self, of):
        if hasattr(of, "__dict__") and hasattr(of, "__weakref__") and id(of) not in self._objects:
            self._objects[id(of)] = _weakref.ref(of)

    def _around(self):
        """(what has the name, the name, value)."""
        yield from ((self._globals, name, self._globals[name]) for name in self._names if name in self._globals)
        yield from ((cell, name, _content(cell)) for name, cell in self._cells)

    def arrays(self):
        """(what has the name, the name, Array), the first a dict, a cell or a weak reference."""
        found = list(self._around())
        for _, _, value in found:
            if not isinstance(value, (type, _types.ModuleType, _types.FunctionType, _Layer)):
                self._add(value)
        for of in [of for of in self._objects.values() if of() is not None]:
            found += [(of, name, value) for name, value in vars(of()).items()]
        return [place for place in found if isinstance(place[2], _Array)]

    def call(self, module, result):
        """Of each call of a Module."""
        if not isinstance(module, _Layer):  # whose arrays stay the same ones
            self._add(module)


def _content(cell):
    try:
        return cell.cell_contents
    except ValueError:  # not set yet, or deleted
        return None


def _meant(of, name):
    """What a place of _Outside.arrays has now."""
    if type(of) is dict:
        return of.get(name)
    if type(of) is _weakref.ref:
        return vars(of()).get(name) if of() is not None else None
    return _content(of)


class _Variant:
    """A graph, and what it holds for."""

    def __init__(self, graph, result, conditions, fresh, returns, outside):
        self._graph, self._result = graph, result
        self.quick = graph.replay_if
        self._fresh, self._returns = fresh, returns  # how many results each replay makes; arrays that it writes, of the others
        self._conditions = conditions  # (weak reference to an object, attribute, value)
        self._outside = outside  # as _Outside.arrays gave them
        self._lock = _threading.Lock()
        # It depends on the shapes of its arguments alone, and each replay makes its one result, or that is a view of an argument.
        is_alone = not (conditions or outside or returns)
        self.is_plain = is_alone and (type(result) is _Slot and result.fresh and fresh == 1 or type(result) is _View and fresh == 0)
        if self.is_plain and type(result) is _View:
            self.quick = _functools.partial(graph.view_if, result.place)

    def holds(self):
        for of, name, value in self._conditions:
            if getattr(of(), name, None) != value:
                return False
        for of, name, array in self._outside:
            if _meant(of, name) is not array:
                return False
        return True

    def __call__(self, arrays):
        if not self._returns:
            return _filled(self._result, self._graph.replay(arrays, self._fresh), arrays)
        with self._lock:  # nobody else's replay comes between
            made = self._graph.replay(arrays, self._fresh)
            made += [_copy(x) for x in self._returns]
        return _filled(self._result, made, arrays)


class _Slot:
    """The place of an array in a result: an argument's, or one that is made anew."""
    __slots__ = ("fresh", "index")

    def __init__(self, fresh, index):
        self.fresh, self.index = fresh, index


class _View:
    """The place of a view of an argument in a result."""
    __slots__ = ("index", "place")

    def __init__(self, index, place):
        self.index, self.place = index, place


def _view_of(x, arrays):
    """A _View, where x is a view of one of the arrays; else None."""
    found = _core._view_place(x, arrays)
    return found and _View(*found)


def _filled(result, fresh, arguments):
    if type(result) is _Slot:
        return (fresh if result.fresh else arguments)[result.index]
    if type(result) is _View:
        return _core._view_at(result.place, arguments[result.index])
    if isinstance(result, dict):
        return {key: _filled(entry, fresh, arguments) for key, entry in result.items()}
    if isinstance(result, tuple) and hasattr(result, "_fields"):
        return type(result)(*(_filled(entry, fresh, arguments) for entry in result))
    if isinstance(result, (list, tuple)):
        return type(result)(_filled(entry, fresh, arguments) for entry in result)
    return result


class _Entry:
    """Of one shape of arguments: how often it was called, what it gave, its variants, and why there are none."""

    def __init__(self):
        self.calls = 0
        self.results = []  # as _fresh_places has them
        self.variants = []
        self.plain = False


_NEVER_CHANGE = (type(None), bool, int, float, complex, str, bytes, type, slice, range, _enum.Enum, _core.DType, _core.Device, type(...))


def _changing(result):
    """Something in a result that a replay could only give again as it was, which may have changed since; None where there is nothing."""
    if isinstance(result, (_Array, *_NEVER_CHANGE)):
        return None
    if isinstance(result, dict):
        result = tuple(result.values())
    elif not isinstance(result, (list, tuple)):
        return result
    return next((found for found in map(_changing, result) if found is not None), None)


def _fresh_places(result, arrays):
    """(shape, dtype, device) of each Array of a result that is no argument, and no view of one."""
    found, arguments = [], {id(x) for x in arrays}

    def look(x):
        if id(x) not in arguments and not _view_of(x, arrays):
            found.append((x.shape, x.dtype, x.device))

    _map(look, result)
    return found


class _State(_threading.local):
    capturing = False


_state = _State()


def _named(module, path):
    """What a name such as "Net.step" means in a module; None where it means nothing."""
    found = _sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found


class _Bound:
    """A captured method of an object, which it keeps; what was captured is kept as long as the object."""

    def __init__(self, captured, instance):
        self._captured, self.__self__ = captured, instance

    def __call__(self, *args, **options):
        return self._captured(*args, **options)

    def __getattr__(self, name):
        return getattr(self._captured, name)

    def __deepcopy__(self, memo):
        return getattr(_copy_module.deepcopy(self.__self__, memo), self._captured._function.__name__)

    def __reduce__(self):
        return getattr, (self.__self__, self._captured._function.__name__)


class _Captured(_core.Quick):
    def __init__(self, function, exact, instance=None):
        _functools.update_wrapper(self, function)
        self._function, self._exact = function, exact
        self._outside = _Outside(function, instance)
        unwrapped = _inspect.unwrap(function)
        self._is_suspended = any(kind(unwrapped) for kind in (
            _inspect.isgeneratorfunction, _inspect.iscoroutinefunction, _inspect.isasyncgenfunction))
        self._entries = {}
        self._quick = None  # of _core.Quick: replays the last variant, where that is plain and its arguments were Arrays
        self._said = set()
        self._lock = _threading.RLock()
        self._of_objects = _weakref.WeakKeyDictionary()

    def __get__(self, instance, owner=None):
        if instance is None:
            return self
        try:
            captured = self._of_objects.get(instance)
        except TypeError:
            self._say(f"a {type(instance).__name__} has no hash or no weak references, by which captures of its methods are kept")
            return self._function.__get__(instance, owner)
        if captured is None:
            reference, function = _weakref.ref(instance), self._function

            def method(*args, **options):
                return function(reference(), *args, **options)

            captured = self._of_objects[instance] = _Captured(_functools.wraps(function)(method), self._exact, instance)
        return _Bound(captured, instance)

    def __copy__(self):
        return self

    def __deepcopy__(self, memo):
        if not isinstance(self._function, (_types.MethodType, _Bound)):
            return self  # as functions are
        return _Captured(_copy_module.deepcopy(self._function, memo), self._exact)

    def __reduce__(self):
        """By name, as functions are; what has no name of its own is captured anew."""
        name = getattr(self, "__qualname__", "")
        if _named(self.__module__, name) is self:
            return name
        return _Captured, (self._function, self._exact)

    def _say(self, why):
        if why not in self._said:
            self._said.add(why)
            name = getattr(self._function, "__qualname__", repr(self._function))
            _warnings.warn(f"{name} is not captured, and called as it is: {why}", RuntimeWarning, stacklevel=_levels_out())

    def _called(self, *args, **options):
        if _state.capturing:  # a part of what is being noted
            return self._function(*args, **options)
        if _is_recording():
            self._say("a captured step is never on the tape, and this call is within hk.record()")
            return self._function(*args, **options)
        if self._is_suspended:
            self._say("a generator or a coroutine runs after its call has returned")
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
                    plain = variant.is_plain and not options and all(type(x) is _Array for x in args)
                    self._quick = variant.quick if plain else None
                    return variant(arrays)
        return self._call(key, arrays, args, options)

    def _call(self, key, arrays, args, options):
        with self._lock:
            entry = self._entries.setdefault(key, _Entry())
            entry.calls += 1
            # The first call makes parameters and states, which a replay is not to make again.
            if entry.plain:
                return self._function(*args, **options)
            if entry.calls == 1:
                with _watching(self._outside.call):
                    result = self._function(*args, **options)
                entry.results = _fresh_places(result, arrays)
                return result
            return self._capture(entry, arrays, args, options)

    def _capture(self, entry, arrays, args, options):
        conditions, told, outside = [], set(), self._outside.arrays()
        # Results lie in arrays that each replay makes. On GPUs recordings keep to addresses: there they are copied.
        room = [_zeros(shape, dtype=dtype, device=device) for shape, dtype, device in entry.results if device.kind != "cuda"]

        def depends(of, names):
            if id(of) not in told:
                told.add(id(of))
                conditions.extend((_weakref.ref(of), name, getattr(of, name)) for name in names)

        _core._capture_begin(arrays + room)
        _state.capturing = True
        _optim._noted.append(depends)
        graph = "the function raised an exception"
        try:
            with _watching(lambda module, result: depends(module, ("training", "frozen"))):
                result = self._function(*args, **options)
            changing = _changing(result)
            slots, returns = self._slots(result, arrays, room)
            entry.results = _fresh_places(result, arrays)
            result = None
        finally:
            _optim._noted.remove(depends)
            _state.capturing = False
            graph = _core._capture_end(self._exact)
        if changing is not None:
            graph = (f"it gives a {type(changing).__name__}, which a replay cannot make anew; "
                     f"it can Arrays, numbers, text, and lists, tuples and dicts of these")
        elif rebound := [name for of, name, array in outside if _meant(of, name) is not array]:
            graph = (f"it makes {rebound[0]} another array, which a replay would not do; "
                     f"write into the one that is there: {rebound[0]}[...] = ...")
        if isinstance(graph, str):
            entry.plain = True
            self._say(graph)
            variant = None
        else:
            variant = _Variant(graph, slots, conditions, len(room), returns, outside)
            if len(entry.variants) == _MOST_VARIANTS:
                del entry.variants[0]
                self._say(f"what it depends on has changed {_MOST_VARIANTS} times; the oldest captures are dropped. "
                          f"A learning rate that changes at each step is best that of an optimizer with a state, such as Momentum")
            entry.variants.append(variant)
        with _pause():
            made = room + [_copy(x) for x in returns]
        return _filled(slots, made, arrays)

    @staticmethod
    def _slots(result, arrays, room):
        """The result with slots for its Arrays, which are copied into the room that there is; and copies of the others. Views of arguments are
        neither."""
        returns = []
        arguments = {id(x): i for i, x in enumerate(arrays)}
        left = dict(enumerate(room))

        def slot(x):
            if id(x) in arguments:
                return _Slot(False, arguments[id(x)])
            if view := _view_of(x, arrays):
                return view
            for index, place in left.items():
                if (place.shape, place.dtype, place.device) == (x.shape, x.dtype, x.device):
                    _core._copy_into(x, left.pop(index))
                    return _Slot(True, index)
            returns.append(_copy(x))
            return _Slot(True, len(room) + len(returns) - 1)

        with _pause():
            slots = _map(slot, result)
            for place in left.values():  # each replay is to write all of it
                _core._copy_into(_zeros(place.shape, dtype=place.dtype, device=place.device), place)
        return slots, returns

    def graphs(self):
        """What was captured, as text: a line for each task of a replay."""
        return [variant._graph.text() for entry in self._entries.values() for variant in entry.variants]

    def _repr_html_(self):
        return _notebook.captured(self._function.__name__, self.graphs())


def capture(function=None, *, exact=False):
    """``@hk.capture``: the calls that the function makes are noted, and from then on done again without it.

    Per shapes, dtypes, strides and devices of the Arrays among its arguments, within lists, tuples and dicts too, and per all other
    arguments, which are to be hashable. The first call of each kind runs as it is, the second is noted. Arrays from outside, such as
    parameters, are read and written at each call; results are fresh arrays each time, but for arguments and views of them, which they
    are again. What Python computes is what it was when it was
    noted, but for the training mode of modules and what optimisers are told: where these change, the step is noted again.

    Where that cannot be, as where the function reads a value, it is called as it is, and a warning says why once. exact: the same bytes
    as those of the calls, at some cost in speed.
    """
    if function is None:
        return lambda function: _Captured(function, exact)
    return _Captured(function, exact)
