"""Checks of functions along an axis."""

import numpy as np

from . import ways
from .compare import problem
from .lines import LINES, UNDEFINED, sets
from .values import KINDS, LENGTHS, LONG, SINGLE, layouts, numbers


def _eps(kind):
    """Halves are computed in float32."""
    return kind.eps if kind.digits > 11 else SINGLE.eps


def _slack(kind, error):
    return 0 if error is None else np.where(np.isfinite(error), error, 0) * _eps(kind) if kind.is_float else 0


def _forms(line, rows, result, kind, random):
    """(name, Array, axis, what turns a result into rows)."""
    x = kind.array(rows)
    along = np.asarray(result).ndim == 2
    yield "rows", x, -1, lambda y: y
    yield "columns", kind.array(rows.T), 0, (lambda y: y.T) if along and not hasattr(line, "axis_last") else lambda y: y
    for name, form in layouts(x):
        if name != "contiguous":
            yield name, form, -1, lambda y: y


def _check(report, name, line, kind, n, way, random):
    for set_name, rows in sets(kind, n, random):
        if set_name in line.skip or n < line.least or (kind.name == "float64" and set_name in line.skip_wide):
            continue
        with np.errstate(all="ignore"):
            want = np.asarray(line.reference(rows))
            slack = _slack(KINDS[line.result] if line.result else kind, line.slack(rows) if line.slack else None)
        kind_of_result = KINDS[line.result] if line.result else kind
        for form, x, axis, back in _forms(line, rows, want, kind, random) if way == "called" else [("rows", kind.array(rows), -1, lambda y: y)]:
            case = f"{name} {kind} {way} {set_name} {form}"
            got = ways.ALL[way](lambda y: line.call(y, axis), [x])
            if not report.check(got.dtype.name == kind_of_result.name, case, f"the result is of {got.dtype}, not {kind_of_result}"):
                continue
            found = problem(kind_of_result, back(numbers(got)), want, line.ulps if kind_of_result.digits > 11 else min(line.ulps, 1), zeros=False,
                            slack=slack)
            report.check(found is None, case, found and f"{n} numbers, row {found[1]}: {found[0]}")
        if line.gradient and kind.is_float and n and set_name not in UNDEFINED + line.skip_gradient + ("-inf",):
            _check_gradient(report, name, line, kind, way, set_name, rows, want, random)
        elif line.gradient and kind.is_float and set_name == "infinite" and name == "logsumexp":
            _check_gradient(report, name, line, kind, way, set_name, rows, want, random)


def _check_gradient(report, name, line, kind, way, set_name, rows, want, random):
    weights = kind.round(random.integers(1, 5, want.shape).astype(LONG) / 2)
    with np.errstate(all="ignore"):
        slope = line.gradient(rows, weights)
        slack = _slack(kind, (line.gradient_slack or (lambda x, g: 24 * np.abs(g)))(rows, slope))
    dy = kind.array(weights)

    got = ways.ALL[way](lambda x, dy: ways.gradients(lambda y: line.call(y, -1), dy)(x)[0], [kind.array(rows), dy])
    found = problem(kind, numbers(got), slope, 4 if kind.digits > 11 else 2, zeros=False, slack=slack + kind.normal)
    report.check(found is None, f"gradient of {name} {kind} {way} {set_name}", found and f"{rows.shape[-1]} numbers, at {found[1]}: {found[0]}")


def cases():
    for name, line in LINES.items():
        for kind in line.kinds:
            for way in ways.ALL:
                for n in LENGTHS:
                    if n > 1100 and name in ("prod", "cumulative_prod"):
                        continue
                    yield f"{name} {kind} {way} of {n}", _case(name, line, kind, n, way)


def _case(name, line, kind, n, way):
    return lambda report: _check(report, name, line, kind, n, way, np.random.default_rng(n))


COVERED = {name for name in LINES if " " not in name}
