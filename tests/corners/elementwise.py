"""Functions of each element: references and derivatives in long doubles, with how many units in the last place they may err."""

import numpy as np
from scipy import special

from .values import BOOL, FLOATS, INTEGERS, LONG

ONE, HALF, TWO = LONG(1), LONG(".5"), LONG(2)
PI = LONG("3.14159265358979323846264338327950288")
ROOT2, ROOT_PI = np.sqrt(TWO), np.sqrt(PI)


class Function:
    """reference: of long doubles, or of integers. slopes: its derivatives, by each argument; None where it has none.

    ulps, slope_ulps: of float32 and float64; halves may err by one, of what float32 gives. skip: of arguments, where nothing is said.
    """

    def __init__(self, reference, ulps=1, slopes=None, slope_ulps=4, kinds=FLOATS, integer=None, skip=None, zeros=True, skip_slopes=None,
                 numbers=(), slack=None, steep=None):
        self.slack, self.steep = slack, steep  # what may be added to the error in epsilons: of the value, and of a slope as a share of it
        self.reference, self.ulps, self.slopes, self.slope_ulps = reference, ulps, slopes, slope_ulps
        self.kinds, self.integer, self.skip, self.skip_slopes, self.zeros, self.numbers = kinds, integer, skip, skip_slopes, zeros, numbers


def unary(reference, ulps=1, slope=None, slope_ulps=4, **options):
    return Function(reference, ulps, None if slope is None else (slope,), slope_ulps, **options)


def constant(value):
    return lambda *x: np.full(x[0].shape, LONG(value))


def zero(*x):
    return np.zeros(np.broadcast_shapes(*(each.shape for each in x)), LONG)


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def sigmoid_slope(x):
    e = np.exp(-np.abs(x))
    return e / (1 + e) ** 2


def tanh_slope(x):
    e = np.exp(-2 * np.abs(x))
    return 4 * e / (1 + e) ** 2


def sech2(x):
    return tanh_slope(x)


def softplus(x):
    return np.where(x > 0, x, 0) + np.log1p(np.exp(-np.abs(x)))


def normal(x):
    """The normal distribution function, by its complement on the left: to about 1e-16 of its value."""
    return LONG(HALF) * special.erfc((-x / ROOT2).astype(np.float64)).astype(LONG)


def density(x):
    return np.exp(-x * x / 2) / np.sqrt(2 * PI)


def times(x, y):
    """A product in which 0 counts more than infinity: what a function tends to."""
    return np.where((x == 0) | (y == 0), LONG(0), x * y)


def gelu_tanh(x):
    u = np.sqrt(2 / PI) * (x + LONG("0.044715") * x ** 3)
    return times(x, sigmoid(2 * u))


def gelu_tanh_slope(x):
    near = np.clip(x, -100, 100)
    root = np.sqrt(2 / PI)
    u = 2 * root * (near + LONG("0.044715") * near ** 3)
    return sigmoid(u) + near * sigmoid_slope(u) * 2 * root * (1 + 3 * LONG("0.044715") * near ** 2)


def mish(x):
    return times(x, np.tanh(softplus(x)))


def nan_keeps(reference):
    return lambda x: np.where(np.isnan(x), x, reference(x))


def rounded(x):
    return np.rint(x)


def reciprocal_root(x):
    return 1 / np.sqrt(x)


UNARY = {
    "negative": unary(np.negative, 0, constant(-1), 0, kinds=FLOATS + INTEGERS),
    "exp": unary(np.exp, 1, np.exp),
    "log": unary(np.log, 1, lambda x: 1 / x, skip_slopes=lambda x: x < 0),
    "sqrt": unary(np.sqrt, .5, lambda x: HALF / np.sqrt(x), skip_slopes=lambda x: x == 0),
    "abs": unary(np.abs, 0, nan_keeps(np.sign), 0, kinds=FLOATS + INTEGERS, zeros=False),
    "square": unary(np.square, .5, lambda x: 2 * x, 1, kinds=FLOATS + INTEGERS),
    "sigmoid": unary(sigmoid, 2, sigmoid_slope),
    "tanh": unary(np.tanh, 2, tanh_slope),
    "relu": unary(lambda x: np.where(x < 0, x.dtype.type(0), x), 0, lambda x: np.where(x > 0, ONE, 0), 0, kinds=FLOATS + INTEGERS, zeros=False,
                  skip_slopes=np.isnan),
    "reciprocal": unary(lambda x: 1 / x, .5, lambda x: -1 / (x * x)),
    "rsqrt": unary(reciprocal_root, 2, lambda x: -HALF / (x * np.sqrt(x)), skip_slopes=lambda x: x == 0),
    "expm1": unary(np.expm1, 2, np.exp),
    "log1p": unary(np.log1p, 2, lambda x: 1 / (1 + x), skip_slopes=lambda x: x < -1),
    "log2": unary(np.log2, 2, lambda x: 1 / (x * np.log(TWO)), skip_slopes=lambda x: x < 0),
    "log10": unary(np.log10, 2, lambda x: 1 / (x * np.log(LONG(10))), skip_slopes=lambda x: x < 0),
    "sin": unary(np.sin, 2, np.cos),
    "cos": unary(np.cos, 2, lambda x: -np.sin(x)),
    "tan": unary(np.tan, 3, lambda x: 1 + np.tan(x) ** 2, 8),
    "asin": unary(np.arcsin, 2, lambda x: 1 / np.sqrt((1 - x) * (1 + x)), skip_slopes=lambda x: np.abs(x) > 1),
    "acos": unary(np.arccos, 2, lambda x: -1 / np.sqrt((1 - x) * (1 + x)), skip_slopes=lambda x: np.abs(x) > 1),
    "atan": unary(np.arctan, 2, lambda x: 1 / (1 + x * x)),
    "sinh": unary(np.sinh, 2, np.cosh),
    "cosh": unary(np.cosh, 2, np.sinh),
    "asinh": unary(np.arcsinh, 2, lambda x: 1 / np.hypot(x, ONE)),
    "acosh": unary(np.arccosh, 2, lambda x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)), skip_slopes=lambda x: x < 1),
    "atanh": unary(np.arctanh, 2, lambda x: 1 / ((1 - x) * (1 + x)), skip_slopes=lambda x: np.abs(x) > 1),
    "erf": unary(lambda x: special.erf(x.astype(np.float64)).astype(LONG), 3, lambda x: 2 / ROOT_PI * np.exp(-x * x), 16),
    "ceil": unary(np.ceil, 0, zero, 0, kinds=FLOATS + INTEGERS, integer=lambda x: x, skip_slopes=np.isnan),
    "floor": unary(np.floor, 0, zero, 0, kinds=FLOATS + INTEGERS, integer=lambda x: x, skip_slopes=np.isnan),
    "trunc": unary(np.trunc, 0, zero, 0, kinds=FLOATS + INTEGERS, integer=lambda x: x, skip_slopes=np.isnan),
    "round": unary(rounded, 0, zero, 0, kinds=FLOATS + INTEGERS, integer=lambda x: x, skip_slopes=np.isnan),
    "sign": unary(np.sign, 0, zero, 0, kinds=FLOATS + INTEGERS, zeros=False, skip_slopes=np.isnan),
    "gelu": unary(lambda x: times(x, normal(x)), 6, lambda x: normal(x) + times(x, density(x)), 16,
                  zeros=False, skip=lambda x: (x < -5), skip_slopes=lambda x: (x < -4) | (np.abs(x + LONG("0.75179")) < .3) | np.isinf(x)),
    "gelu_tanh": unary(gelu_tanh, 8, gelu_tanh_slope, 24, zeros=False, skip=lambda x: x < -4,
                       skip_slopes=lambda x: (x < -3) | (np.abs(x + LONG("0.7524")) < .3)),
    "silu": unary(lambda x: times(x, sigmoid(x)), 3, lambda x: sigmoid(x) + times(x, sigmoid_slope(x)), 8, zeros=False,
                  skip_slopes=lambda x: np.abs(x + LONG("1.2784645")) < .3),
    "softplus": unary(softplus, 3, sigmoid),
    "mish": unary(mish, 6, lambda x: np.tanh(softplus(x)) + times(x, times(sech2(softplus(x)), sigmoid(x))), 16, zeros=False,
                  skip_slopes=lambda x: np.abs(x + LONG("1.1924")) < .3),
    "hard_sigmoid": unary(lambda x: np.clip(x / 6 + HALF, 0, 1), 2, lambda x: np.where(np.abs(x) < 3, ONE / 6, 0), 1,
                          skip_slopes=lambda x: (np.abs(x) == 3) | np.isnan(x)),
    "hard_swish": unary(lambda x: np.where(x >= 3, x, times(x, np.clip(x / 6 + HALF, 0, 1))), 3, zeros=False, slope=
lambda x: np.where(x >= 3, ONE, np.where(x <= -3, 0, x / 3 + HALF)), slope_ulps=4,
                        skip_slopes=lambda x: np.isin(x, [LONG(3), LONG(-3), LONG(-1.5)]) | np.isnan(x) | (np.abs(x + 1.5) < .1)),
    "isnan": unary(np.isnan), "isinf": unary(np.isinf), "isfinite": unary(np.isfinite),
    "signbit": unary(np.signbit, skip=np.isnan),
    "logical_not": unary(np.logical_not, kinds=FLOATS + INTEGERS + [BOOL]),
    "bitwise_invert": unary(np.invert, kinds=INTEGERS + [BOOL]),
    "elu": unary(lambda x: np.where(x > 0, x, np.expm1(x)), 3, lambda x: np.where(x > 0, ONE, np.exp(x)), 4,
                 skip_slopes=lambda x: (x == 0) | np.isnan(x), numbers=(1,)),
    "leaky_relu": unary(lambda x: np.where(x > 0, x, x / 4), 2, lambda x: np.where(x > 0, ONE, LONG(.25)), 2,
                        skip_slopes=lambda x: (x == 0) | np.isnan(x), numbers=(.25,)),
}

# What ends in 0 where it is below the smallest normal number.
TO_ZERO = {"sigmoid", "silu", "mish", "gelu", "gelu_tanh"}


def integer_divide(x, y):
    """Towards zero."""
    quotient = np.abs(x.astype(object)) // np.abs(y.astype(object))
    return np.where((x < 0) != (y < 0), -quotient, quotient)


def integer_power(x, y):
    bits = 8 * x.dtype.itemsize
    found = [pow(int(a), int(b), 2 ** bits) for a, b in zip(x.ravel(), y.ravel())]
    return np.array(found, np.uint64).reshape(x.shape)


def floor_divide(x, y):
    return np.floor_divide(x, y)


def power_by_x(x, y):
    return np.where(y == 0, LONG(0), y * np.power(x, y - 1))


def power_by_y(x, y):
    value = np.power(x, y)
    return np.where((value == 0) | (x == 0), LONG(0), value * np.log(x))  # at 0 by decision


def logaddexp(x, y):
    return np.where(x == y, x + np.log(TWO), np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y))))


def share(x, y):
    """How much of e ** x + e ** y is e ** x."""
    return np.where(x == y, HALF, sigmoid(x - y))


def next_number(kind):
    """The neighbour of x towards y, of the dtype."""

    def reference(x, y):
        up = (y > x) == (x >= 0)
        at_power = (np.frexp(np.where(np.isfinite(x), np.abs(x), 1))[0] == .5) & (np.abs(x) > kind.normal)
        size = np.where(~up & at_power, kind.ulp(x) / 2, kind.ulp(x))
        moved = x + np.where(y > x, size, -size)
        moved = np.where(x == 0, np.where(y > 0, kind.least, -kind.least), moved)
        moved = np.where(np.isinf(x), np.sign(x) * kind.max, moved)
        moved = np.where(np.abs(moved) > kind.max, np.sign(moved) * LONG("inf"), moved)
        moved = np.where((moved == 0), np.copysign(moved, x), moved)
        return np.where(np.isnan(x) | np.isnan(y), LONG("nan"), np.where(x == y, y, moved))

    return reference


def has_nan(x, y):
    return np.isnan(x) | np.isnan(y)


def larger(x, y):
    return np.where(has_nan(x, y), LONG("nan"), np.where(x > y, ONE, np.where(x == y, HALF, 0)))


BINARY = {
    "add": Function(np.add, .5, (constant(1), constant(1)), 0, FLOATS + INTEGERS),
    "subtract": Function(np.subtract, .5, (constant(1), constant(-1)), 0, FLOATS + INTEGERS),
    "multiply": Function(np.multiply, .5, (lambda x, y: y, lambda x, y: x), 0, FLOATS + INTEGERS),
    "divide": Function(np.divide, .5, (lambda x, y: 1 / y, lambda x, y: -x / y / y), 3, FLOATS + INTEGERS, integer=integer_divide,
                       skip=lambda x, y: (y == 0) if x.dtype.kind in "iu" else y != y,
                       skip_slopes=lambda x, y: ~(np.abs(np.log2(np.abs(y))) < 500) | ~(np.abs(np.log2(np.abs(x))) < 500)),
    "maximum": Function(np.maximum, 0, (larger, lambda x, y: larger(y, x)), 0, FLOATS + INTEGERS, zeros=False, skip_slopes=has_nan),
    "minimum": Function(np.minimum, 0, (lambda x, y: larger(y, x), larger), 0, FLOATS + INTEGERS, zeros=False, skip_slopes=has_nan),
    "power": Function(np.power, 2, (power_by_x, power_by_y), 8, FLOATS + INTEGERS, integer=integer_power,
                      skip=lambda x, y: (y < 0) if x.dtype.kind in "iu" else y != y,
                      skip_slopes=lambda x, y: (x < 0) | ((x != 0) & (np.abs(x) < LONG("1.2e-38"))) | ~np.isfinite(x) | ~np.isfinite(y) |
                      ((x == 0) & (y < 1) & (y != 0)) | (np.abs(y) > 3e4), steep=lambda x, y: np.abs((np.abs(y) + 1) * np.log(np.abs(np.where(x == 0, 1, x))))),
    "remainder": Function(np.remainder, 1, kinds=FLOATS + INTEGERS, zeros=False,
                          skip=lambda x, y: (y == 0) if x.dtype.kind in "iu" else np.isinf(y) | (np.abs(x) > np.abs(y) * LONG(1e15))),
    "floor_divide": Function(floor_divide, 0, kinds=FLOATS + INTEGERS, zeros=False,
                             skip=lambda x, y: (y == 0) if x.dtype.kind in "iu" else
                             (y == 0) | ~np.isfinite(x) | ~np.isfinite(y) | (np.abs(x) > np.abs(y) * LONG(2) ** 8)),
    "atan2": Function(np.arctan2, 2, (lambda x, y: y / np.hypot(x, y) / np.hypot(x, y), lambda x, y: -x / np.hypot(x, y) / np.hypot(x, y)), 6,
                      skip_slopes=lambda x, y: ~np.isfinite(x) | ~np.isfinite(y) | ((x == 0) & (y == 0))),
    "hypot": Function(np.hypot, 1, (lambda x, y: np.where(x == 0, x, x / np.hypot(x, y)), lambda x, y: np.where(y == 0, y, y / np.hypot(x, y))), 4,
                      zeros=False, skip_slopes=lambda x, y: ~np.isfinite(x) | ~np.isfinite(y) | ((x == 0) & (y == 0))),
    "copysign": Function(np.copysign, 0, skip=lambda x, y: np.isnan(x) | np.isnan(y)),
    "nextafter": Function(next_number, 0),
    "logaddexp": Function(logaddexp, 8, (share, lambda x, y: share(y, x)), 6, skip_slopes=lambda x, y: ~np.isfinite(x) | ~np.isfinite(y),
                          slack=lambda x, y: 16 * np.minimum(np.abs(x), np.abs(y)), steep=lambda x, y: np.abs(x - y)),
    "prelu": Function(lambda x, y: np.where(x >= 0, x, y * x), .5, zeros=False),
    "equal": Function(np.equal, kinds=FLOATS + INTEGERS + [BOOL]), "not_equal": Function(np.not_equal, kinds=FLOATS + INTEGERS + [BOOL]),
    "less": Function(np.less, kinds=FLOATS + INTEGERS), "less_equal": Function(np.less_equal, kinds=FLOATS + INTEGERS),
    "greater": Function(np.greater, kinds=FLOATS + INTEGERS), "greater_equal": Function(np.greater_equal, kinds=FLOATS + INTEGERS),
    "logical_and": Function(np.logical_and, kinds=FLOATS + INTEGERS + [BOOL]), "logical_or": Function(np.logical_or, kinds=FLOATS + INTEGERS + [BOOL]),
    "logical_xor": Function(np.logical_xor, kinds=FLOATS + INTEGERS + [BOOL]),
    "bitwise_and": Function(np.bitwise_and, kinds=INTEGERS + [BOOL]), "bitwise_or": Function(np.bitwise_or, kinds=INTEGERS + [BOOL]),
    "bitwise_xor": Function(np.bitwise_xor, kinds=INTEGERS + [BOOL]),
    "bitwise_left_shift": Function(np.left_shift, kinds=INTEGERS, skip=lambda x, y: (y < 0) | (y >= 8 * x.dtype.itemsize)),
    "bitwise_right_shift": Function(np.right_shift, kinds=INTEGERS, skip=lambda x, y: (y < 0) | (y >= 8 * x.dtype.itemsize)),
}
