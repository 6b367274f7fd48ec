"""Dtypes, the numbers at their corners, and how an array can lie in memory."""

import numpy as np

import hocket as hk

LONG = np.longdouble


class Kind:
    """A dtype: what its numbers are, and how NumPy holds them. Floats are held as long doubles, integers as their own dtype."""

    def __init__(self, name, digits=0, smallest=0, largest=0):
        self.name, self.dtype, self.digits, self.least_exponent = name, getattr(hk, name), digits, smallest
        self.is_float = digits > 0
        self.is_bool = name == "bool"
        self.is_integer = not self.is_float and not self.is_bool
        if self.is_integer:
            self.low, self.high = int(np.iinfo(name).min), int(np.iinfo(name).max)
        if self.is_float:
            self.max = LONG(2) ** largest * (2 - LONG(2) ** (1 - digits))
            self.normal = LONG(2) ** smallest
            self.least = LONG(2) ** (smallest - digits + 1)
            self.eps = LONG(2) ** (1 - digits)

    def __repr__(self):
        return self.name

    def round(self, x):
        """The nearest numbers of the dtype, as long doubles."""
        x = np.asarray(x, LONG)
        with np.errstate(all="ignore"):
            if self.name == "float64":
                return x.astype(np.float64).astype(LONG)
            if self.name == "bfloat16":
                bits = x.astype(np.float32).view(np.uint32)
                rounded = ((bits + (0x7fff + (bits >> 16 & 1)).astype(np.uint32)) & np.uint32(0xffff0000)).view(np.float32)
                return np.where(np.isnan(x), LONG("nan"), rounded.astype(LONG))
            return x.astype(self.name).astype(LONG)

    def ulp(self, x):
        """The distance of neighbours of the dtype at x."""
        with np.errstate(all="ignore"):
            exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 1))[1] - 1
        return np.ldexp(LONG(1), np.maximum(exponent, self.least_exponent) - self.digits + 1)

    def array(self, values, device=None):
        """An Array of such numbers."""
        values = np.asarray(values)
        if self.name == "bfloat16":
            return hk.asarray(np.ascontiguousarray(values, np.float32), device=device).astype(hk.bfloat16)
        return hk.asarray(np.ascontiguousarray(values, self.name), device=device)


FLOATS = [Kind("float64", 53, -1022, 1023), Kind("float32", 24, -126, 127), Kind("float16", 11, -14, 15), Kind("bfloat16", 8, -126, 127)]
INTEGERS = [Kind(name) for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")]
BOOL = Kind("bool")
KINDS = {kind.name: kind for kind in FLOATS + INTEGERS + [BOOL]}
WIDE, SINGLE = FLOATS[:2]


def kind_of(x):
    return KINDS[x.dtype.name]


def numbers(x):
    """The elements of an Array, exactly: of floats as long doubles."""
    kind = KINDS.get(x.dtype.name)
    if kind is None:
        return x.numpy()
    return x.astype(hk.float64).numpy().astype(LONG) if kind.is_float else x.numpy()


def corners(kind):
    """Numbers where rounding, ranges and cases of a function end."""
    if kind.is_bool:
        return np.array([False, True])
    if kind.is_integer:
        found = [kind.low, kind.low + 1, -2, -1, 0, 1, 2, 3, 7, 10, 100, 127, 128, 255, 256, 2**15, 2**31 - 1, 2**31, 2**53 - 1, 2**53, 2**53 + 1,
                 2**62, 2**63, kind.high - 1, kind.high]
        return np.array(sorted({n for n in found if kind.low <= n <= kind.high}), kind.name)
    plain = [0, 1, 2, 3, .5, .1, .25, 1.5, 2.5, 7, 10, 20, 33.3, 88, 89, 104, 300, 709, 745, 1e3, 1e4, 6e4, 65504, 1e8, 1e17, 2.0**53 - 1, 2.0**53,
             2.0**53 + 2, 1e-2, 1e-3, 1e-4, 1e-8, 1e-20, 3.14159265358979, 1.57079632679489, 2.718281828, 9.5, 5.3, .9, .999]
    found = [LONG(x) for x in plain]
    found += [1 + kind.eps, 1 - kind.eps / 2, kind.eps, kind.normal, kind.normal - kind.least, kind.normal * 2, kind.least, 3 * kind.least, kind.max,
              kind.max / 2, np.sqrt(kind.max), np.sqrt(kind.max) * LONG(1.01), np.sqrt(kind.normal), np.cbrt(kind.max), kind.max * (1 - kind.eps)]
    found = kind.round(found)
    found = found[np.isfinite(found)]
    found = np.unique(np.concatenate([found, [LONG(0)]]))
    return np.concatenate([-found[::-1], found, [LONG("inf"), -LONG("inf"), LONG("nan")]])


# Around the sizes of vectors, of blocks of sums, and of pieces.
LENGTHS = [0, 1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 127, 128, 129, 255, 257, 1000, 1023, 1025, 4097]


# ---- layouts: each gives an array of the same elements --------------------------------------------------------------------


def _step(x):
    """Every other element of the last axis of a wider array, whose others are NaN or the largest."""
    wide = hk.stack([x, _unlike(x)], axis=x.ndim)
    return hk.reshape(wide, x.shape[:-1] + (2 * x.shape[-1],))[..., ::2]


def _unlike(x):
    kind = kind_of(x)
    return hk.full(x.shape, float("nan") if kind.is_float else True if kind.is_bool else kind.high, dtype=x.dtype, device=x.device)


def _reversed(x):
    return hk.flip(hk.flip(x, axis=-1) + _zero(x), axis=-1)


def _zero(x):
    """What added to x copies it."""
    kind = kind_of(x)
    return hk.full((), -0.0 if kind.is_float else 0, dtype=x.dtype, device=x.device)


def _transposed(x):
    return hk.asarray(hk.permute_dims(x, tuple(reversed(range(x.ndim)))), copy=True).T if x.ndim == 2 else x


def _offset(x):
    """From the second row of an array on."""
    return hk.concat([_unlike(x[:1]), x], axis=0)[1:]


def layouts(x):
    """(name, array) of each way that x can lie, that there is for its shape."""
    yield "contiguous", x
    if x.ndim and x.size:
        yield "step", _step(x)
        if not kind_of(x).is_bool:
            yield "reversed", _reversed(x)
        yield "offset", _offset(x)
        if x.ndim == 2:
            yield "transposed", _transposed(x)


def repeated(x, count):
    """x once more in each row of a new first axis, at stride 0."""
    return hk.broadcast_to(x, (count,) + x.shape)
