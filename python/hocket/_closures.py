"""Optimizers that evaluate a loss several times in a step."""

import contextlib as _contextlib
import math as _math

from . import _core
from ._grad import pause as _pause, record as _record
from .optim import Optimizer as _Optimizer

_op = _core.operators
_CURVED = 1e-10  # least product of a step with the change of its gradient that says something of curvature
_FALL, _SLOPE = 1e-4, 0.9  # the strong Wolfe conditions: of the expected fall, and of the slope, what a step must bring
_SEARCHES = 25


def _dot(x, y):
    return float(_op["vecdot"](x, y))


def _most(x):
    return float(_op["max"](_op["abs"](x)))


class _Point:
    """At a distance t along a line: the loss, its slope, and its gradient."""

    def __init__(self, t, loss, slope, gradient):
        self.t, self.loss, self.slope, self.gradient = t, loss, slope, gradient


def _between(a, b):
    """Where the cubic of two points' losses and slopes is least, within the inner four fifths between them; else in the middle."""
    low, high = min(a.t, b.t), max(a.t, b.t)
    margin = 0.1 * (high - low)
    middle = (low + high) / 2
    if a.t == b.t or not all(map(_math.isfinite, (a.loss, b.loss, a.slope, b.slope))):
        return middle
    bend = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    under = bend * bend - a.slope * b.slope
    if under < 0:
        return middle
    root = _math.copysign(_math.sqrt(under), b.t - a.t)
    divisor = b.slope - a.slope + 2 * root
    if divisor == 0:
        return middle
    return min(max(b.t - (b.t - a.t) * (b.slope + root - bend) / divisor, low + margin), high - margin)


def _search(evaluate, start, t, least):
    """A point that the strong Wolfe conditions hold for, else the best that was found, and how many were looked at (Nocedal, Wright 2006,
    algorithms 3.5 and 3.6). least: how far apart points are at least."""

    def is_high(point):
        return not point.loss <= start.loss + _FALL * point.t * start.slope

    low, high, count = start, None, 0
    while high is None:
        point = evaluate(t)
        count += 1
        if is_high(point) or (count > 1 and point.loss >= low.loss):
            high = point
        elif abs(point.slope) <= -_SLOPE * start.slope or count == _SEARCHES:
            return point, count
        elif point.slope >= 0:
            low, high = point, low
        else:
            rise = point.slope - low.slope  # as far as the slope would go on, to where it would be 0
            ahead = point.t - point.slope * (point.t - low.t) / rise if rise > 0 else _math.inf
            t, low = min(max(ahead, point.t + 0.01 * (point.t - low.t)), 10 * point.t), point
    while count < _SEARCHES and abs(high.t - low.t) * -start.slope > least:
        point = evaluate(_between(low, high))
        count += 1
        if is_high(point) or point.loss >= low.loss:
            high = point
            continue
        if abs(point.slope) <= -_SLOPE * start.slope:
            return point, count
        if point.slope * (high.t - low.t) >= 0:
            high = low
        low = point
    return low, count


class LBFGS(_Optimizer):
    """Quasi-Newton steps from the last gradients (L-BFGS; Nocedal 1980), for losses without noise, such as those of all samples.

    step(closure) takes up to max_iter iterations, as long as gradient and steps are above the tolerances, and calls closure for each, up to
    max_eval times, by default 5 / 4 of max_iter. It computes the loss, calls backward(), and returns the loss::

        def closure():
            opt.zero_grad()
            with hk.record():
                loss = …
            loss.backward()
            return loss

        loss = opt.step(closure)    # what it was before the step

    line_search: 'strong_wolfe', which looks for the length of each iteration's step, or None: it is lr. All parameters are of one dtype, on one
    device. history: how many gradients are kept. Waits for losses.
    """

    def __init__(self, params, lr=1.0, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history=100, line_search=None):
        if line_search not in (None, "strong_wolfe"):
            raise ValueError(f"line_search is {line_search!r}; there are None and 'strong_wolfe'")
        if max_iter < 1 or history < 1 or lr <= 0:
            raise ValueError(f"max_iter is {max_iter}, history {history} and lr {lr}; all must be above 0")
        self.max_iter, self.max_eval = max_iter, max_iter * 5 // 4 if max_eval is None else max_eval
        self.tolerance_grad, self.tolerance_change = tolerance_grad, tolerance_change
        self.history, self.line_search = history, line_search
        self._moves, self._changes = [], []  # steps, and by how much gradients changed in them
        self._last = None  # the gradient before the last step, and this step
        super().__init__(params, lr)

    def _gradient(self):
        return _op["concat"]([p.grad.reshape(-1) for p in self._trained()], 0)

    def _flat(self):
        return _op["concat"]([p.reshape(-1) for p in self._trained()], 0)

    def _set(self, flat):
        at = 0
        for p in self._trained():
            p[...] = flat[at:at + p.size].reshape(p.shape)
            at += p.size

    def _remember(self, gradient):
        """What the last step says of curvature, now that the gradient behind it is known."""
        before, move = self._last
        change = gradient - before
        if _dot(change, move) > _CURVED:
            self._moves, self._changes = [*self._moves, move][-self.history:], [*self._changes, change][-self.history:]

    def _direction(self, gradient):
        """Minus the gradient, times an inverse of the second derivatives that all remembered steps fit to."""
        direction, pairs = -gradient, []
        for move, change in zip(reversed(self._moves), reversed(self._changes)):
            product = _dot(change, move)
            share = _dot(move, direction) / product
            direction = direction - change * share
            pairs.append((move, change, product, share))
        if pairs:
            _, change, product, _ = pairs[0]
            direction = direction * (product / _dot(change, change))
        for move, change, product, share in reversed(pairs):
            direction = direction + move * (share - _dot(change, direction) / product)
        return direction

    def _iterate(self, evaluate, loss, gradient, is_last):
        """One iteration: loss and gradient behind it, None where they are not known, how long it was and how often it looked; None: it
        would not fall."""
        if self._last:
            self._remember(gradient)
        direction = self._direction(gradient)
        slope = _dot(gradient, direction)
        if not slope < -self.tolerance_change:
            return None
        t = self.lr if self._last else self.lr * min(1.0, 1.0 / float(_op["sum"](_op["abs"](gradient))))
        origin = self._flat()

        def look(t):
            self._set(origin + direction * t)
            loss, behind = evaluate()
            return _Point(t, loss, _dot(behind, direction), behind)

        found, count = None, 0
        if self.line_search:
            found, count = _search(look, _Point(0.0, loss, slope, gradient), t, self.tolerance_change)
            t = found.t
        elif not is_last:
            found, count = look(t), 1
        self._set(origin + direction * t)
        self._last = gradient, direction * t
        return (found.loss if found else None), (found.gradient if found else None), t * _most(direction), count

    def step(self, closure):
        """Up to max_iter iterations. Returns what closure returned at first."""
        if self._params is None:
            self._begin()

        if not _core.is_recording():
            return self._steps(closure, _contextlib.nullcontext)
        with _pause():
            return self._steps(closure, _record)

    def _steps(self, closure, mode):
        """step, while nothing is recorded but by closure, in a mode that it may count on."""

        def evaluate():
            with mode():
                loss = closure()
            return float(loss), self._gradient()

        with mode():
            first = closure()
        loss, gradient, evaluations = float(first), self._gradient(), 1
        for iteration in range(1, self.max_iter + 1):
            if _most(gradient) <= self.tolerance_grad:
                break
            found = self._iterate(evaluate, loss, gradient, iteration == self.max_iter)
            if not found or found[0] is None:
                break
            before, (loss, gradient, length, count) = loss, found
            evaluations += count
            if evaluations >= self.max_eval or length <= self.tolerance_change or abs(loss - before) < self.tolerance_change:
                break
        return first

    def state(self):
        """A dict of what it keeps, to be saved: the remembered steps and changes of gradients, and the last one."""
        kept = {f"move.{i}": x for i, x in enumerate(self._moves)}
        kept.update((f"change.{i}", x) for i, x in enumerate(self._changes))
        if self._last:
            kept["gradient"], kept["step"] = self._last
        return kept

    def load(self, arrays):
        """Goes on from what was saved: a dict like that of state()."""
        count = sum(name.startswith("move.") for name in arrays)
        names = [f"{kind}.{i}" for kind in ("move", "change") for i in range(count)] + ["gradient", "step"] * ("step" in arrays)
        if set(names) != set(arrays):
            raise KeyError(f"what is loaded has {', '.join(arrays)}, but should have {', '.join(names)}")
        arrays = {name: _op["copy"](_core._convert(array, None, None)) for name, array in arrays.items()}
        self._moves, self._changes = ([arrays[f"{kind}.{i}"] for i in range(count)] for kind in ("move", "change"))
        self._last = (arrays["gradient"], arrays["step"]) if "step" in arrays else None

    def _kept(self):
        return None
