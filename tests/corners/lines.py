"""Functions along an axis: references and gradients in long doubles, of rows."""

import numpy as np

import hocket as hk

from .values import BOOL, FLOATS, INTEGERS, LONG

_op = hk._core.operators


class Line:
    """call: of an Array and an axis. reference: of rows; gradient: of rows and of what it is weighed with, likewise.

    ulps: of the result's dtype. slack, gradient_slack: of rows, what may come on top, in epsilons of the dtype that is computed in.
    """

    def __init__(self, call, reference, kinds=FLOATS, ulps=1, slack=None, gradient=None, gradient_slack=None, skip=(), result=None, least=0,
                 skip_gradient=(), skip_wide=()):
        self.skip_gradient, self.skip_wide = skip_gradient, skip_wide  # the second: of float64 alone, as in NumPy
        self.call, self.reference, self.kinds, self.ulps, self.slack = call, reference, kinds, ulps, slack
        self.gradient, self.gradient_slack, self.skip, self.result, self.least = gradient, gradient_slack, skip, result, least


def rows_of(x):
    return x[..., None]


def sum_error(x):
    return 24 * np.abs(x).sum(-1)


def mean_error(x):
    return 24 * np.abs(x / max(x.shape[-1], 1)).sum(-1)


def mean(x):
    return x.sum(-1) / LONG(x.shape[-1])


def from_mean(x):
    """Once more from what is left: the mean itself is rounded."""
    far = x - rows_of(mean(x))
    return far - rows_of(mean(far))


def variance(x):
    return mean(from_mean(x) ** 2)


def variance_gradient(x, w):
    return rows_of(w) * 2 * from_mean(x) / x.shape[-1]


def deviation(x):
    return np.sqrt(variance(x))


def deviation_gradient(x, w):
    root = rows_of(deviation(x))
    return rows_of(w) * np.where(root == 0, 0, from_mean(x) / np.where(root == 0, 1, root) / x.shape[-1])


def norm(x):
    return np.sqrt((x * x).sum(-1))


def norm_gradient(x, w):
    length = rows_of(norm(x))
    return rows_of(w) * np.where(length == 0, 0, x / np.where(length == 0, 1, length))


def logsumexp(x):
    top = rows_of(x.max(-1, initial=-np.inf))
    shift = np.where(np.isfinite(top), top, 0)
    return np.log(np.exp(x - shift).sum(-1)) + shift[..., 0]


def softmax(x):
    top = rows_of(x.max(-1, initial=-np.inf))
    e = np.exp(x - np.where(np.isfinite(top), top, 0))
    return e / rows_of(e.sum(-1))


def logsumexp_gradient(x, w):
    """Of a row of -inf nothing flows."""
    nothing = rows_of((x == -np.inf).all(-1))
    return rows_of(w) * np.where(nothing, 0, softmax(x))


def softmax_gradient(x, w):
    y = softmax(x)
    return y * (w - rows_of((w * y).sum(-1)))


def log_softmax(x):
    top = rows_of(x.max(-1, initial=-np.inf))
    shift = np.where(np.isfinite(top), top, 0)
    return (x - shift) - np.log(rows_of(np.exp(x - shift).sum(-1)))


def steep(x):
    """How much the rounding of a difference to the largest counts in an exponential of it."""
    far = x - rows_of(x.max(-1, initial=-np.inf))
    return 24 + x.shape[-1] / 16 + np.where(np.isfinite(far), np.abs(far), 0)


def log_softmax_gradient(x, w):
    return w - softmax(x) * rows_of(w.sum(-1))


EPS = LONG("1e-5")


def layer_norm(x):
    return from_mean(x) / np.sqrt(rows_of(variance(x)) + EPS)


def layer_norm_gradient(x, w):
    inverse = 1 / np.sqrt(rows_of(variance(x)) + EPS)
    y = layer_norm(x)
    return inverse * (w - rows_of(mean(w)) - y * rows_of(mean(w * y)))


def rms_norm(x):
    return x / np.sqrt(rows_of(mean(x * x)) + EPS)


def rms_norm_gradient(x, w):
    inverse = 1 / np.sqrt(rows_of(mean(x * x)) + EPS)
    return inverse * (w - rms_norm(x) * rows_of(mean(w * rms_norm(x))))


def product_gradient(x, w):
    n = x.shape[-1]
    found = np.empty_like(x)
    for i in range(n):
        found[..., i] = np.delete(x, i, -1).prod(-1)
    return rows_of(w) * found


def cumulative_product_gradient(x, w):
    found = np.zeros_like(x)
    for i in range(x.shape[-1]):
        without = x.copy()
        without[..., i] = 1
        found[..., i] = (w * np.cumprod(without, -1))[..., i:].sum(-1)
    return found


def extreme_gradient(pick):
    def gradient(x, w):
        at = x == rows_of(pick(x, -1))
        return rows_of(w) * at / rows_of(at.sum(-1))
    return gradient


def sort_gradient(x, w):
    order = np.argsort(x, axis=-1, kind="stable")
    found = np.empty_like(w)
    np.put_along_axis(found, order, w, -1)
    return found


def integer_mean(x):
    return np.array([LONG(int(sum(int(v) for v in row))) / max(len(row), 1) if len(row) else LONG("nan") for row in x], LONG)


def exact_variance(x):
    return variance(x.astype(LONG))


def largest_error(y):
    return rows_of(np.abs(np.where(np.isfinite(y), y, 0)).max(-1, initial=0)) + 0 * y


def by_axes(name, **options):
    return lambda x, axis: _op[name](x, (axis,), **options)


def by_axis(name, *more):
    return lambda x, axis: _op[name](x, axis, *more)


def far_mean(x):
    """What a mean that is rounded to float64 adds, of float64: halves and float32 hold fewer digits than 1e-7 of it."""
    exact = np.where(np.isfinite(x), np.abs(x), 0)
    is_wide = (exact != exact.astype(np.float32)).any()
    return exact.max(-1, initial=0, keepdims=True) * (4 if is_wide else 0) + 0 * x


UNDEFINED = ("nan", "inf", "infinite")  # sets of rows: no gradient is checked there

LINES = {
    "sum": Line(by_axes("sum"), lambda x: x.sum(-1), slack=sum_error, gradient=lambda x, w: rows_of(w) + 0 * x, skip=("largest", "huge")),
    "mean": Line(by_axes("mean"), mean, slack=mean_error, gradient=lambda x, w: rows_of(w) / x.shape[-1] + 0 * x),
    "max": Line(by_axes("max"), lambda x: x.max(-1), FLOATS + INTEGERS, 0, gradient=extreme_gradient(np.max), least=1),
    "min": Line(by_axes("min"), lambda x: x.min(-1), FLOATS + INTEGERS, 0, gradient=extreme_gradient(np.min), least=1),
    "prod": Line(by_axes("prod"), lambda x: x.prod(-1), ulps=2, slack=lambda x: 2 * x.shape[-1] * np.abs(x.prod(-1)), gradient=product_gradient,
                 gradient_slack=lambda x, g: 2 * x.shape[-1] * np.abs(g), skip=("largest", "huge", "tiny", "least", "offset", "wide")),
    "norm": Line(by_axes("norm"), norm, FLOATS[:2], 4, slack=lambda x: 24 * norm(x), gradient=norm_gradient,
                 gradient_slack=lambda x, g: 16 * largest_error(g), skip_gradient=("largest", "huge", "least")),
    "count_nonzero": Line(by_axes("count_nonzero"), lambda x: (x != 0).sum(-1), FLOATS + INTEGERS + [BOOL], result="int64"),
    "any": Line(by_axes("any"), lambda x: (x != 0).any(-1), FLOATS + INTEGERS + [BOOL], result="bool"),
    "all": Line(by_axes("all"), lambda x: (x != 0).all(-1), FLOATS + INTEGERS + [BOOL], result="bool"),
    "var": Line(by_axes("var"), variance, ulps=64, gradient=variance_gradient, gradient_slack=lambda x, g: 24 * largest_error(g) + far_mean(x), least=1,
                skip_wide=("huge", "tiny", "largest")),
    "std": Line(by_axes("std"), deviation, ulps=16, gradient=deviation_gradient, gradient_slack=lambda x, g: 512 * largest_error(g) + far_mean(x) / (rows_of(deviation(x)) + LONG("1e-30")), least=1,
                skip_wide=("huge", "tiny", "largest")),
    "logsumexp": Line(by_axes("logsumexp"), logsumexp, FLOATS[:2], 2, slack=lambda x: 4 + 0 * x.sum(-1), gradient=logsumexp_gradient,
                      gradient_slack=lambda x, g: steep(x) * np.abs(g)),
    "cumulative_sum": Line(by_axis("cumulative_sum"), lambda x: np.cumsum(x, -1), slack=lambda x: 1.5 * x.shape[-1] * np.cumsum(np.abs(x), -1),
                           gradient=lambda x, w: np.cumsum(w[..., ::-1], -1)[..., ::-1] + 0 * x, skip=("largest", "huge")),
    "cumulative_prod": Line(by_axis("cumulative_prod"), lambda x: np.cumprod(x, -1), slack=lambda x: 2 * x.shape[-1] * np.abs(np.cumprod(x, -1)),
                            gradient=cumulative_product_gradient,
                            gradient_slack=lambda x, g: 4 * x.shape[-1] * largest_error(g) * max(1, x.shape[-1]),
                            skip=("largest", "huge", "tiny", "least", "offset", "wide")),
    "sort": Line(by_axis("sort", False), lambda x: np.sort(x, -1), FLOATS + INTEGERS, 0, gradient=sort_gradient),
    "argsort": Line(by_axis("argsort", False), lambda x: np.argsort(x, -1, kind="stable"), FLOATS + INTEGERS, result="int64"),
    "argmax": Line(by_axis("argmax"), lambda x: np.argmax(x, -1), FLOATS + INTEGERS, result="int64", least=1),
    "argmin": Line(by_axis("argmin"), lambda x: np.argmin(x, -1), FLOATS + INTEGERS, result="int64", least=1),
    "softmax": Line(by_axis("softmax"), softmax, FLOATS[:2], 8, slack=lambda x: steep(x) * softmax(x), gradient=softmax_gradient,
                    gradient_slack=lambda x, g: 24 * largest_error(softmax(x)), skip=("inf",)),
    "log_softmax": Line(by_axis("log_softmax"), log_softmax, FLOATS[:2], 4, slack=lambda x: 24 + x.shape[-1] / 16 + 0 * x, gradient=log_softmax_gradient,
                        gradient_slack=lambda x, g: 64 + 0 * g, skip=("inf",)),
    "layer_norm": Line(by_axes("layer_norm"), layer_norm, FLOATS[:2], 8, slack=lambda x: 8 * largest_error(layer_norm(x)), gradient=layer_norm_gradient,
                       gradient_slack=lambda x, g: 256 / np.sqrt(rows_of(variance(x)) + EPS) + 0 * g, least=1, skip_gradient=("largest", "huge")),
    "rms_norm": Line(by_axes("rms_norm"), rms_norm, FLOATS[:2], 8, slack=lambda x: 8 * largest_error(rms_norm(x)), gradient=rms_norm_gradient,
                     gradient_slack=lambda x, g: 256 / np.sqrt(rows_of(mean(x * x)) + EPS) + 0 * g, least=1, skip_gradient=("largest", "huge")),
    "mean of integers": Line(by_axes("mean"), integer_mean, INTEGERS, 1, slack=lambda x: 2 * np.abs(integer_mean(x)), result="float64"),
    "var of integers": Line(by_axes("var"), exact_variance, INTEGERS, 256, result="float64", least=1),
}
for _name in ("layer_norm", "rms_norm"):
    _call = _op[_name]
    LINES[_name].call = (lambda call: lambda x, axis: call(hk.moveaxis(x, axis, -1), axes=1, eps=1e-5))(_call)
    LINES[_name].axis_last = True


def sets(kind, n, random):
    """(name, rows) of each set of rows of n numbers."""
    if kind.is_bool:
        yield "mixed", random.integers(0, 2, (3, n)).astype(bool)
        return
    if kind.is_integer:
        yield "mixed", random.integers(max(kind.low, -100), min(kind.high, 100), (3, n)).astype(kind.name)
        yield "largest", np.full((2, n), kind.high, kind.name)
        yield "lowest", np.full((2, n), kind.low, kind.name)
        return
    usual = random.normal(size=(3, n)).astype(LONG)
    yield "usual", kind.round(usual)
    yield "ties", kind.round(random.integers(-2, 3, (3, n)).astype(LONG))
    yield "largest", np.array([[kind.max] * n, [-kind.max] * n], LONG)
    yield "huge", kind.round(usual * kind.max / 8)
    yield "tiny", kind.round(usual * kind.normal * 1024)
    yield "least", np.full((2, n), kind.least, LONG)
    yield "offset", kind.round(np.array([[1000], [10000]], LONG) + np.arange(n, dtype=LONG) / 1000)
    yield "wide", kind.round(usual * LONG(10) ** random.integers(-4, 4, (3, n)))
    yield "zeros", np.zeros((2, n), LONG)
    yield "negative zeros", np.zeros((2, n), LONG) * -1
    if n:
        for name, number in (("nan", "nan"), ("inf", "inf"), ("-inf", "-inf")):
            rows = kind.round(usual)
            rows[:, random.integers(n)] = LONG(number)
            yield name, rows
        yield "infinite", np.full((2, n), LONG("-inf"))
