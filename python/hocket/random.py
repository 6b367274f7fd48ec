"""Random arrays: the same numbers for the same seed on every machine, however many devices there are.

Functions draw from a stream of the calling thread, which ``hk.seed`` begins anew; a Generator is a stream of its own.
"""

from . import _core

__all__ = ["Generator", "get_state", "integers", "normal", "seed", "set_state", "uniform"]


def seed(number):
    """This thread's stream begins anew: the same seed, the same numbers, in any thread."""
    _core._seed(number)


def _uniform(generator, shape, low, high, dtype, device):
    return _core._random_uniform(generator, low, high, shape, dtype or _core.float32, device)


def _normal(generator, shape, mean, std, dtype, device):
    return _core._random_normal(generator, mean, std, shape, dtype or _core.float32, device)


def _integers(generator, low, high, shape, dtype, device):
    if high is None:
        low, high = 0, low
    return _core._random_integers(generator, low, high, shape, dtype or _core.int64, device)


def uniform(shape=(), low=0.0, high=1.0, *, dtype=None, device=None):
    """Uniform in [low, high): float32 or float64."""
    return _uniform(None, shape, low, high, dtype, device)


def normal(shape=(), mean=0.0, std=1.0, *, dtype=None, device=None):
    """Normal: float32 or float64."""
    return _normal(None, shape, mean, std, dtype, device)


def integers(low, high=None, shape=(), *, dtype=None, device=None):
    """Integers low … high - 1, or 0 … low - 1: int64, int32 or uint8."""
    return _integers(None, low, high, shape, dtype, device)


def get_state():
    """Where this thread's stream is: a tuple of three ints, for set_state."""
    return _core._stream_state(None)


def set_state(state):
    """This thread's stream goes on from there."""
    _core._stream_set(None, *state)


class Generator:
    """A stream of its own, which gives the numbers that a thread's stream gives after ``hk.seed(seed)``."""

    def __init__(self, seed):
        self._generator = _core._generator(seed)

    def uniform(self, shape=(), low=0.0, high=1.0, *, dtype=None, device=None):
        return _uniform(self._generator, shape, low, high, dtype, device)

    def normal(self, shape=(), mean=0.0, std=1.0, *, dtype=None, device=None):
        return _normal(self._generator, shape, mean, std, dtype, device)

    def integers(self, low, high=None, shape=(), *, dtype=None, device=None):
        return _integers(self._generator, low, high, shape, dtype, device)

    def get_state(self):
        return _core._stream_state(self._generator)

    def set_state(self, state):
        _core._stream_set(self._generator, *state)
