"""JSON from outside: parsing, and reading members of objects with every value checked."""

from __future__ import annotations

import json
from typing import Any, Callable, NoReturn

from errors import BadFile, printable, shortened

_MISSING = object()


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f'the key "{shortened(twice, 40)}" stands twice in an object')
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


DECODER = json.JSONDecoder(object_pairs_hook=_object_of, parse_constant=_refuse_constant)


def why_no_json(error: Exception) -> str:
    """What a failure of DECODER says, without its position."""
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg[0].lower()}{error.msg[1:]}, in column {error.colno}"
    if isinstance(error, RecursionError):
        return "lists or objects lie too deep in each other"
    return printable(str(error))


def decode_utf8(data: bytes) -> str:
    """The text of a file."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadFile(f"line {line}: no JSON: byte {error.start} is no UTF-8") from None


def shown(value: Any) -> str:
    """A value as it stands in the file, shortened for a message."""
    try:
        return shortened(json.dumps(value, ensure_ascii=False, separators=(",", ":")), 43)
    except (ValueError, RecursionError):  # a number of thousands of digits, thousands of lists in each other
        return "something else"


class Members:
    """The members of an object. What is not as expected raises BadFile, which says where: `where()` is put before
    it."""

    __slots__ = ("values", "where")

    def __init__(self, values: dict[str, Any], where: Callable[[], str]):
        self.values = values
        self.where = where

    def __contains__(self, key: str) -> bool:
        return key in self.values

    def fail(self, message: str) -> NoReturn:
        raise BadFile(printable(self.where() + message))

    def fail_value(self, key: str, expected: str, value: Any = _MISSING) -> NoReturn:
        """Says that the member, or `value` in it, is not what was expected."""
        value = self.values.get(key, _MISSING) if value is _MISSING else value
        if value is _MISSING:
            self.fail(f'"{key}" is missing; expected {expected}')
        self.fail(f'"{key}" is {shown(value)}; expected {expected}')

    def check_keys(self, known: tuple[str, ...]) -> None:
        """Refuses members that are not among the known ones."""
        for key in self.values:
            if key not in known:
                self.fail(f'there is no key "{shortened(key, 40)}"; expected one of {", ".join(known)}')

    def integer(self, key: str, low: int, high: int) -> int:
        value = self.values.get(key)
        if type(value) is int and low <= value <= high:
            return value
        self.fail_value(key, f"a whole number from {low} to {high}")

    def number(self, key: str, low: float, high: float, default: float | None = None) -> float:
        """`default`: where the member is missing; None: it must be there."""
        value = self.values.get(key, _MISSING)
        if value is _MISSING and default is not None:
            return default
        if type(value) in (int, float) and low <= value <= high:
            return float(value)
        self.fail_value(key, f"a number from {low:g} to {high:g}")

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if type(value) is str and "\0" not in value:
            if value.isascii() or not any("\ud800" <= c <= "\udfff" for c in value):
                return value
        self.fail_value(key, "a text")

    def flag(self, key: str) -> bool:
        """False where the member is missing."""
        value = self.values.get(key, False)
        if type(value) is not bool:
            self.fail_value(key, "true or false")
        return value
