"""Checks of the tables in others.py."""

import numpy as np

from . import ways
from .compare import problem
from .others import TABLE
from .values import KINDS, SINGLE, numbers


def _check(report, case, way, call, arrays, want, ulps, slack, kind):
    if isinstance(want, type):
        try:
            got = numbers(ways.ALL[way](call, arrays))
        except want:
            report.check(True, case, "")
        else:
            report.check(False, case, f"gives {got} where it is to raise {want.__name__}")
        return
    kind, want = want if isinstance(want, tuple) else (kind, want)
    got = ways.ALL[way](call, arrays)
    if report.check(got.dtype.name in _possible(case, kind), case, f"the result is of {got.dtype}, not {kind}"):
        eps = (kind.eps if kind.digits > 11 else SINGLE.eps) if kind.is_float else 0
        found = problem(KINDS[got.dtype.name], numbers(got), np.asarray(want), ulps, zeros=False, slack=slack * eps)
        report.check(found is None, case, found and f"at {found[1]}: {found[0]}")


def _possible(case, kind):
    """Products of halves are of float32."""
    return (kind.name, "bool", "float32") if case.startswith("products") and kind.is_float else (kind.name, "bool")


def cases():
    for name, (function, kinds, possible) in TABLE.items():
        for kind in kinds:
            for way in possible:
                yield f"{name} {kind} {way}", _case(name, function, kind, way)


def _case(name, function, kind, way):
    def run(report):
        for what, call, arrays, want, ulps, slack in function(kind, np.random.default_rng(1)):
            case = f"{name} {kind} {way}: {what}"
            try:
                _check(report, case, way, call, arrays, want, ulps, slack, kind)
            except Exception as error:  # noqa: BLE001: whatever a call raises is what is looked for
                report.check(False, case, f"{type(error).__name__}: {error}")
    return run
