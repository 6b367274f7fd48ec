"""How arrays, and their sizes, look in PyTorch."""

import math as _math

from .. import _core
from .._grad import pause as _pause

_PLAIN = _core.float32, _core.int64, _core.bool, _core.complex64
_precision, _width, _edge, _threshold = 4, 80, 3, 1000


def set_printoptions(precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None):
    """How many digits, elements at all, elements at each end, and characters in a line there are."""
    global _precision, _width, _edge, _threshold
    _precision, _threshold = _precision if precision is None else precision, _threshold if threshold is None else threshold
    _edge, _width = _edge if edgeitems is None else edgeitems, _width if linewidth is None else linewidth


class Size(tuple):
    """A shape: a tuple that says so."""
    __slots__ = ()

    def __repr__(self):
        return f"torch.Size([{', '.join(map(str, self))}])"

    __str__ = __repr__

    def __getitem__(self, index):
        part = tuple.__getitem__(self, index)
        return Size(part) if isinstance(index, slice) else part

    def __add__(self, other):
        return Size(tuple.__add__(self, tuple(other)))

    def numel(self):
        """How many elements there are."""
        return _math.prod(self)


def _number_format(numbers):
    """A function that gives the text of one of these floats: PyTorch's rules for all together."""
    sizes = [abs(x) for x in numbers if _math.isfinite(x) and x != 0]
    whole = all(not _math.isfinite(x) or x == int(x) for x in numbers)
    large, small = max(sizes, default=0), min(sizes, default=1)
    if sizes and (large / small > 1000 or large > 1e8 or (not whole and small < 1e-4)):
        return lambda x: f"{x:.{_precision}e}"
    return (lambda x: f"{x:.0f}." if _math.isfinite(x) else str(x)) if whole else lambda x: f"{x:.{_precision}f}"


def _texts(numbers):
    """Those of numbers, all of one width."""
    if not numbers:
        return []
    if isinstance(numbers[0], complex):
        parts = _number_format([part for z in numbers for part in (z.real, z.imag)])
        texts = [f"{parts(z.real)}{'-' if _math.copysign(1, z.imag) < 0 else '+'}{parts(abs(z.imag))}j" for z in numbers]
    else:
        texts = list(map(_number_format(numbers) if isinstance(numbers[0], float) else str, numbers))
    width = max(map(len, texts))
    return [text.rjust(width) for text in texts]


def _ends(x):
    """The array's first and last entries along each axis that is long."""
    for axis in range(x.ndim):
        if x.shape[axis] > 2 * _edge:
            x = _core.operators["concat"]([_part(x, axis, slice(0, _edge)), _part(x, axis, slice(x.shape[axis] - _edge, None))], axis)
    return x


def _part(x, axis, places):
    return x[(slice(None),) * axis + (places,)]


def _lines(texts, shape, whole, indent):
    """The text of a block: texts are those of its elements, shape that of what is shown, whole that of the array."""
    count = len(texts) // shape[0] if shape[0] else 0
    parts = [texts[i * count:(i + 1) * count] for i in range(shape[0])]
    if len(shape) == 1:
        row = [part[0] for part in parts]
        if whole[0] > shape[0]:
            row[_edge:_edge] = [" ..."]
        in_line = max(1, (_width - indent) // (len(row[0]) + 2)) if row else 1
        rows = [row[i:i + in_line] for i in range(0, len(row), in_line)]
        return "[" + (",\n" + " " * (indent + 1)).join(", ".join(part) for part in rows) + "]"
    blocks = [_lines(part, shape[1:], whole[1:], indent + 1) for part in parts]
    if whole[0] > shape[0]:
        blocks[_edge:_edge] = ["..."]
    return "[" + ("," + "\n" * (len(shape) - 1) + " " * (indent + 1)).join(blocks) + "]"


def text(x):
    """Waits for the values."""
    with _pause():
        plain = x.detach()
        shown = _ends(plain) if _math.prod(x.shape) > _threshold else plain
        values = shown.tolist()
    numbers = [values]
    for _ in shown.shape:
        numbers = [part for block in numbers for part in block]
    said = [] if x.dtype in _PLAIN and 0 not in x.shape else [f"dtype=torch.{x.dtype}"]
    if 0 in x.shape:
        said = ([f"size={tuple(x.shape)}"] if x.ndim > 1 else []) + [part for part in said if x.dtype != _core.float32]
        body = "[]"
    else:
        texts = _texts(numbers)
        body = _lines(texts, shown.shape, tuple(x.shape), len("tensor(")) if x.ndim else texts[0]
    if x.device.kind != "cpu":
        said.insert(0, f"device='{x.device}'")
    said += ["requires_grad=True"] if x._has_grad() else ["grad_fn=<Recorded>"] if x._wants_grad() else []
    return f"tensor({', '.join([body, *said])})"
