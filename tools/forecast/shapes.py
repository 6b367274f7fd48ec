"""Operands of a recorded call, as its "shapes" tell: "float32(2,3), int64(2,) -> float32(2,)"."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

_ELEMENT_BYTES = {
    "bool": 1, "int8": 1, "uint8": 1, "int16": 2, "uint16": 2, "float16": 2, "bfloat16": 2, "int32": 4, "uint32": 4,
    "float32": 4, "int64": 8, "uint64": 8, "float64": 8, "complex64": 8, "complex128": 16,
}
_OPERAND = re.compile(r"[, ]*(-> )?(([^(, ]*)\(([0-9,]*)\))")
_MOST_ELEMENTS = 1e15
_MOST_SIZE = float(2**64)


class Operand(NamedTuple):
    text: str  # "float32(2,3)"
    is_output: bool
    elements: float
    element_bytes: float

    @property
    def bytes(self) -> float:
        return self.elements * self.element_bytes


def operands(shapes: str) -> Iterator[Operand]:
    """The operands in order. Ends early at what is none: the text comes from a file and may be anything."""
    at, is_output = 0, False
    while match := _OPERAND.match(shapes, at):
        arrow, text, dtype, sizes = match.groups()
        is_output = is_output or bool(arrow)
        elements = 1.0
        for size in sizes.split(","):
            if size:
                elements *= min(float(size), _MOST_SIZE)
        if dtype not in _ELEMENT_BYTES or elements > _MOST_ELEMENTS:
            return
        yield Operand(text, is_output, elements, float(_ELEMENT_BYTES[dtype]))
        at = match.end()


def gradient(shapes: str) -> Operand | None:
    """The gradient that an update reads: its second operand."""
    first_two = [operand for operand, _ in zip(operands(shapes), range(2))]
    return first_two[1] if len(first_two) == 2 and not first_two[1].is_output else None


def makes(shapes: str, operand: Operand) -> bool:
    """Whether the call has an output of the same dtype and shape."""
    return any(other.is_output and other.text == operand.text for other in operands(shapes))
