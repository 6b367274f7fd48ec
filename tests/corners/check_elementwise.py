"""Checks of functions of each element."""

import itertools

import numpy as np

import hocket as hk

from . import ways
from .compare import problem
from .elementwise import BINARY, TO_ZERO, UNARY
from .values import LONG, SINGLE, corners, layouts, numbers, repeated

_op = hk._core.operators


def _ulps(kind, ulps):
    return ulps if kind.digits > 11 else max(ulps and 1, 0)


def _wanted(function, kind, arguments):
    reference = function.reference
    if not kind.is_float and function.integer:
        reference = function.integer
    if reference.__name__ == "next_number":
        reference = reference(kind)
    with np.errstate(all="ignore"):
        skipped = function.skip(*arguments) if function.skip else np.zeros(arguments[0].shape, bool)
        arguments = [each[~skipped] for each in arguments]
        want = reference(*arguments)
        if kind.is_integer and want.dtype != bool:
            bits = 8 * arguments[0].dtype.itemsize
            want = np.array([int(v) & (2 ** bits - 1) for v in want.ravel()], np.uint64).reshape(want.shape).astype(f"uint{bits}").view(arguments[0].dtype)
    return want, arguments


def _arguments(count, kind):
    values = corners(kind)
    if count == 1:
        return [values]
    pairs = np.array(list(itertools.product(range(len(values)), repeat=2)))
    return [values[pairs[:, 0]], values[pairs[:, 1]]]


def _tell(kind, arguments, place):
    return ", ".join(str(each[place]) for each in arguments)


def _check_values(report, name, function, kind, way, arguments):
    want, arguments = _wanted(function, kind, arguments)
    if not want.size:
        return
    arrays = [kind.array(each) for each in arguments]
    got = ways.ALL[way](lambda *x: _op[name](*x, *function.numbers), arrays)
    result = "bool" if want.dtype == bool else kind.name
    report.check(got.dtype.name == result, f"{name} {kind} {way}", f"the result is of {got.dtype}")
    found = problem(_kind_of_result(want, kind), numbers(got), want, _ulps(kind, function.ulps), function.zeros, _slack(name, function, kind, arguments))
    report.check(found is None, f"{name} {kind} {way}", found and f"of {_tell(kind, arguments, found[1])}: {found[0]}")


def _slack(name, function, kind, arguments):
    least = kind.normal if name in TO_ZERO and kind.is_float else 0
    return least + _eps(kind) * np.nan_to_num(function.slack(*arguments), posinf=0) if function.slack else least


def _eps(kind):
    return kind.eps if kind.digits > 11 else SINGLE.eps


class _Exact:
    is_float = False


def _kind_of_result(want, kind):
    return _Exact if want.dtype == bool or not kind.is_float else kind


def _check_slopes(report, name, function, kind, way, arguments):
    if function.slopes is None or not kind.is_float:
        return
    with np.errstate(all="ignore"):
        skipped = function.skip(*arguments) if function.skip else np.zeros(arguments[0].shape, bool)
        if function.skip_slopes:
            skipped = skipped | function.skip_slopes(*arguments)
        arguments = [each[~skipped] for each in arguments]
        wanted = [slope(*arguments) for slope in function.slopes]
        steep = _eps(kind) * function.steep(*arguments) if function.steep else 0
    arrays = [kind.array(each) for each in arguments]
    got = ways.ALL[way](ways.gradients(lambda *x: _op[name](*x, *function.numbers)), arrays)
    for i, (mine, want) in enumerate(zip(got, wanted)):
        found = problem(kind, numbers(mine), np.asarray(want, LONG), _ulps(kind, function.slope_ulps) * (1 if kind.digits > 11 else 1.5), zeros=False,
                        slack=kind.normal + steep * np.abs(want))
        report.check(found is None, f"gradient of {name}, {'xyz'[i]}, {kind} {way}", found and f"at {_tell(kind, arguments, found[1])}: {found[0]}")


def _check_second(report, name, function, kind, way):
    """Second derivatives in float64, against differences of the references' first ones."""
    if function.slopes is None or len(function.slopes) != 1:
        return
    x = np.array([-3.7, -2.2, -1.3, -.8, -.45, -.2, -.01, .013, .21, .5, .77, .96, 1.2, 1.9, 2.6, 4.1, 8.3, 15], LONG)
    with np.errstate(all="ignore"):
        h = LONG(2) ** -20
        want = (function.slopes[0](x + h) - function.slopes[0](x - h)) / (2 * h)
        bent = np.abs(function.slopes[0](x + 1024 * h) + function.slopes[0](x - 1024 * h) - 2 * function.slopes[0](x)) > .1
        skipped = ~np.isfinite(want) | bent
        if function.skip:
            skipped |= function.skip(x)
    x, want = x[~skipped], want[~skipped]
    if not x.size:
        return
    def second(y):
        y = y.detach().attach_grad("track")
        with hk.record():
            result = _op[name](y, *function.numbers)
            (slope,) = hk.gradients([result], [y], [hk.ones_like(result)], create_graph=True)
        return hk.gradients([slope], [y], [hk.ones_like(slope)])[0] if slope._wants_grad() else hk.zeros_like(y)

    got = numbers(ways.ALL[way](second, [kind.array(x)]))
    tolerance = 1e-7 if kind.name == "float64" else 2e-4
    wrong = ~(np.abs(got - want) <= tolerance * (np.abs(want) + 1))
    place = int(np.argmax(wrong))
    report.check(not wrong.any(), f"second gradient of {name} {kind} {way}", f"at {x[place]}: {got[place]}, not {want[place]}")


def _check_layouts(report, name, function, count, kind, arguments):
    """The same bytes wherever the elements lie, and where lines are shared."""
    size = len(arguments[0]) // 5 * 5
    arrays = [kind.array(each[:size].reshape(5, -1)) for each in arguments]
    want = numbers(_op[name](*arrays, *function.numbers))
    forms = [dict(layouts(x)) for x in arrays]
    for form in forms[0]:
        for other in (form, "contiguous")[:count]:
            got = numbers(_op[name](forms[0][form], *(each[other] for each in forms[1:]), *function.numbers))
            report.check(_same(got, want), f"{name} {kind} {form}", "another value than that of contiguous elements")
    if count == 1:
        row = kind.array(arguments[0])
        got = numbers(_op[name](repeated(row, 3), *function.numbers))
        report.check(_same(got[2], numbers(_op[name](row, *function.numbers))), f"{name} {kind} stride 0", "another value than that of one row")


def _same(a, b):
    if a.dtype.kind == "f":
        return a.shape == b.shape and bool(np.all(((a == b) & (np.signbit(a) == np.signbit(b))) | (np.isnan(a) & np.isnan(b))))
    return np.array_equal(a, b)


def cases():
    """(name, function of a report) of each case."""
    for table, count in ((UNARY, 1), (BINARY, 2)):
        for name, function in table.items():
            for kind in function.kinds:
                for way in ways.ALL:
                    yield f"{name} {kind} {way}", _case(name, function, kind, way, count)
                yield f"{name} {kind} layouts", _layout_case(name, function, kind, count)


def _case(name, function, kind, way, count):
    def run(report):
        arguments = _arguments(count, kind)
        _check_values(report, name, function, kind, way, arguments)
        _check_slopes(report, name, function, kind, way, arguments)
        if kind.name in ("float64", "float32"):
            _check_second(report, name, function, kind, way)
    return run


def _layout_case(name, function, kind, count):
    def run(report):
        _, arguments = _wanted(function, kind, _arguments(count, kind))
        _check_layouts(report, name, function, count, kind, arguments)
    return run


COVERED = set(UNARY) | set(BINARY)
