"""Keys that are more than ints, slices, ... and None: arrays of indices and masks, as in NumPy.

A mask is the indices of what it has. Ints beside arrays are indices that broadcast. The axes of several arrays of indices become those
of their broadcast shape: at the place of the first one, or in front where other parts stand between them.
"""

from . import _core
from ._core import Array
from ._creation import arange, asarray, beside, zeros
from ._manipulation import _flat, broadcast_shapes
from ._reductions import nonzero

_op = _core.operators


def _is_int(part):
    return isinstance(part, int) and not isinstance(part, bool)


def _part(part, device):
    """What a key may hold: an int, a slice, ..., None, or an Array of integers or bools."""
    if part is None or part is Ellipsis or isinstance(part, slice) or _is_int(part):
        return part
    if not isinstance(part, Array):
        if not hasattr(part, "ndim") and hasattr(part, "__index__") and not isinstance(part, bool):
            return part.__index__()
        empty = isinstance(part, (list, tuple)) and not part
        part = asarray(part, dtype=_core.int64 if empty else None, device=device)
    if part.dtype.name in ("float32", "float64", "float16", "bfloat16"):
        raise _index_error(f"an array of {part.dtype} is no index")
    return part.to_device(device)


def _index_error(text):
    from . import errors
    return errors.IndexError(text)


def _axes_named(part):
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, Array) and part.dtype == _core.bool else 1


def _parts(x, key):
    """One part for each axis of x, and None for new ones."""
    parts = [_part(each, x.device) for each in (key if isinstance(key, tuple) else (key,))]
    dots = [i for i, each in enumerate(parts) if each is Ellipsis]
    if len(dots) > 1:
        raise _index_error(f"the key has {len(dots)} '...'; one is allowed")
    missing = x.ndim - sum(_axes_named(each) for each in parts)
    if missing < 0:
        raise _index_error(f"the key has {x.ndim - missing} indices; the array has {x.ndim} axes")
    at = dots[0] if dots else len(parts)
    parts[at:at + len(dots)] = [Ellipsis] * len(dots) + [slice(None)] * missing
    return parts


def _fitting(x, mask, axis):
    """The mask, for the axes of x from `axis` on. Each of its sizes is x's, or 0: then it names nothing."""
    shape = x.shape[axis:axis + mask.ndim]
    if mask.shape == shape:
        return mask
    if len(shape) < mask.ndim or any(size not in (0, wanted) for size, wanted in zip(mask.shape, shape)):
        raise _index_error(f"the mask is of shape {mask.shape}, the axes that it is for of {shape}")
    return zeros(shape, dtype=_core.bool, device=mask.device)


class _Key:
    """view: x after ints beside no arrays, slices and new axes. indices: of arrays, by axis of view. place: where the axes of their
    broadcast shape go; None: in front, since they are apart."""

    def __init__(self, x, key):
        basic, self.indices, places, axis, out = [], {}, [], 0, 0
        parts = _parts(x, key)
        ints = []
        for number, part in enumerate(parts):
            if isinstance(part, Array) and part.dtype == _core.bool:
                if part.ndim == 0:  # a new axis of one entry, or of none
                    basic.append(None)
                    found = (arange(1 if bool(part) else 0, device=x.device),)
                else:
                    found = nonzero(_fitting(x, part, axis))
                    basic += [slice(None)] * part.ndim
                    axis += part.ndim
                for each in found:
                    self.indices[out] = each
                    out += 1
                places.append(number)
            elif part is Ellipsis:  # stands between other parts even where it is no axis
                continue
            elif isinstance(part, Array):
                self.indices[out] = part
                basic.append(slice(None))
                places.append(number)
                axis, out = axis + 1, out + 1
            elif _is_int(part):
                basic.append(part)
                ints.append((number, out))
                places.append(number)
                axis += 1
            else:
                basic.append(part)
                out += 1
                axis += part is not None
        together = places == list(range(places[0], places[0] + len(places)))
        first = min([at for number, at in ints if number == places[0]] + list(self.indices))
        self.view = x[tuple(basic)]
        self.place = first if together else 0
        self.shape = broadcast_shapes(*(each.shape for each in self.indices.values()))
        self.axes = list(self.indices)
        self.rest = [i for i in range(self.view.ndim) if i not in self.indices]

    def result_shape(self):
        rest = [self.view.shape[i] for i in self.rest]
        return tuple(rest[:self.place]) + self.shape + tuple(rest[self.place:])

    def rows(self):
        """The indices as one list over the flattened axes: each is checked against its own axis."""
        flat = None
        for axis, index in self.indices.items():
            index = _core._broadcast_to(index, self.shape) if index.shape != self.shape else index
            size = self.view.shape[axis]
            if len(self.axes) > 1:
                index = _op["index_select"](arange(size, device=self.view.device), _flat(index), 0)
                flat = index if flat is None else flat * size + index
            else:
                flat = _flat(index)
        return flat

    def in_front(self):
        """The view with the indexed axes in front: a view."""
        return self.view if self.axes == list(range(len(self.axes))) else \
            _op["permute_dims"](self.view, self.axes + self.rest)

    def arranged(self, x):
        """x, whose axes are those of shape and then the rest, as the result has them."""
        count = len(self.shape)
        order = list(range(count, count + self.place)) + list(range(count)) + list(range(count + self.place, x.ndim))
        return x if order == list(range(x.ndim)) else _op["permute_dims"](x, order)

    def arranged_back(self, x):
        count = len(self.shape)
        order = list(range(self.place, self.place + count)) + list(range(self.place)) + list(range(self.place + count, x.ndim))
        return x if order == list(range(x.ndim)) else _op["permute_dims"](x, order)


def _rest_shape(key):
    return tuple(key.view.shape[i] for i in key.rest)


def _count(shape):
    count = 1
    for size in shape:
        count *= size
    return count


def get(x, key):
    if isinstance(key, Array) and key.dtype == _core.bool and key.ndim and key.device == x.device:
        return _core._mask_select(x, _fitting(x, key, 0))
    key = _Key(x, key)
    if len(key.axes) == 1:
        (axis,) = key.axes
        found = _op["index_select"](key.view, key.indices[axis], axis)
        return found if key.place == axis else _op["permute_dims"](found, _moved(found.ndim, axis, len(key.shape), key.place))
    front = key.in_front()
    rest = _rest_shape(key)
    table = _op["reshape"](front, (_count(front.shape[:len(key.axes)]),) + rest)
    found = _op["reshape"](_op["index_select"](table, key.rows(), 0), key.shape + rest)
    return key.arranged(found)


def _moved(ndim, axis, count, place):
    """The order that brings `count` axes from `axis` to `place`."""
    block = list(range(axis, axis + count))
    others = [i for i in range(ndim) if i not in block]
    return others[:place] + block + others[place:]


def _check_bounds(index, size, axis):
    """Waits for the index: what is out of range is to raise before anything is written."""
    low, high = int(_op["min"](index)), int(_op["max"](index))
    if low < -size or high >= size:
        raise _index_error(f"index {high if high >= size else low} is out of range for an axis of {size} entries")


def _operand(x, value):
    return value.to_device(x.device) if isinstance(value, Array) else beside(value, x, _core._value)


def _by_mask(x, mask, value):
    """True: done, without a wait. A mask of leading axes, and a value that does not depend on which elements it has."""
    rest = x.shape[mask.ndim:]
    if value.ndim > len(rest):
        return False
    mask = _fitting(x, mask, 0)
    _core._broadcast_to(value, rest)  # raises where it does not go
    _core._mask_assign(x, mask, value)
    return True


def set(x, key, value):
    value = _operand(x, value)
    if isinstance(key, Array) and key.dtype == _core.bool and key.ndim and _by_mask(x, key.to_device(x.device), value):
        return
    key = _Key(x, key)
    wanted = key.result_shape()
    if value.ndim > len(wanted):
        value = _op["reshape"](value, value.shape[value.ndim - len(wanted):])
    value = key.arranged_back(_core._broadcast_to(value, wanted))
    if _count(wanted) == 0:
        return
    front, rest = key.in_front(), _rest_shape(key)
    for axis, index in key.indices.items():
        _check_bounds(index, key.view.shape[axis], axis)
    rows = key.rows()
    count = _count(front.shape[:len(key.axes)])
    value = _op["reshape"](value, (rows.size,) + rest)
    value = value if value.dtype == x.dtype else _op["cast"](value, x.dtype)
    _core._assign(front, _op["reshape"](_scattered(_op["reshape"](front, (count,) + rest), rows, value), front.shape))


def _scattered(table, rows, values):
    """table with the rows replaced: by the last value for each."""
    wide = _core._broadcast_to(_op["reshape"](rows, (rows.size,) + (1,) * (table.ndim - 1)), values.shape)
    return _op["scatter"](table, wide, values, 0)
