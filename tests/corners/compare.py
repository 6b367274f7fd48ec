"""Whether results are right: to so many units in the last place of their dtype."""

import numpy as np

from .values import LONG


def problem(kind, got, want, ulps, zeros=True, slack=0):
    """(how wrong the worst element is, in words, and its place), or None.

    got: numbers of the dtype; want: what they are in long doubles, or integers. zeros: the signs of zeros count. slack: what may be added
    to the error, as a number or an array, such as that of a sum whose terms cancel.
    """
    got, want = np.asarray(got), np.asarray(want)
    if got.shape != want.shape:
        return f"shape {got.shape}, not {want.shape}", ()
    if not kind.is_float:
        wrong = got != want
    else:
        got, want = got.astype(LONG), want.astype(LONG)
        with np.errstate(all="ignore"):
            finite = np.isfinite(want)
            allowed = np.where(finite, kind.ulp(want) * LONG(ulps), 0) + slack
            wrong = np.where(finite, ~(np.abs(got - want) <= allowed), got != want)
            # Too large for the dtype, or rounded to that.
            beyond = finite & (np.abs(want) + allowed >= kind.max * (1 + kind.eps / 4)) & np.isinf(got) & (np.sign(got) == np.sign(want))
            wrong &= ~beyond
        wrong = np.where(np.isnan(want), ~np.isnan(got), wrong)
        if zeros:
            wrong |= (want == 0) & (got == 0) & (np.signbit(want) != np.signbit(got)) & (np.asarray(slack) == 0)
    if not wrong.any():
        return None
    place = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{shown(got[place])}, not {shown(want[place])}; {int(wrong.sum())} of {wrong.size} wrong", place


def shown(x):
    return np.format_float_scientific(x, precision=18, trim="-") if isinstance(x, np.longdouble) else str(x)
