"""Checks of arguments that the C library would take for others."""

import numbers as _numbers


def said(value):
    """A float as the library takes it: of 0 it takes its default, of -0.0 it takes 0 (HK_ZERO of hocket/base.h)."""
    return value or -0.0


def refuse_zero(function, **given):
    """Of 0 the library takes its default: whoever says 0 means something else."""
    for name, value in given.items():
        numbers = value if type(value) in (tuple, list) else (value,)
        if any(isinstance(number, _numbers.Real) and not isinstance(number, bool) and number == 0 for number in numbers):
            raise ValueError(f"{function}: {name} is {value!r}, but must not be 0")
