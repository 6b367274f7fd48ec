"""Initial values of parameters: ``nn.Linear(10, init=nn.init.normal(0.01))``, ``net.initialize(nn.init.xavier_uniform())``."""

from .. import _core
from .._arguments import said as _said

__all__ = ["Init", "constant", "fan_in", "he_normal", "he_uniform", "normal", "orthogonal", "uniform", "xavier_normal", "xavier_uniform"]


class Init(tuple):
    """A kind of initial values. Called with a shape it draws an array, from this thread's stream."""
    __slots__ = ()

    def __call__(self, shape, *, dtype=None, device=None):
        return _core._init_draw(tuple(self), shape, dtype or _core.float32, device)

    def __repr__(self):
        return f"nn.init.{self[0]}({self[1] if self[2] == 0 else self[2]:g})"


def constant(value):
    """All `value`."""
    return Init(("constant", float(value), 0.0))


def uniform(limit=0.07):
    """Uniform in [-limit, limit)."""
    return Init(("uniform", float(limit), 0.0))


def normal(std=0.01):
    """Normal with mean 0."""
    return Init(("normal", float(std), 0.0))


def fan_in():
    """Uniform in ±1 / sqrt(in): what layers do by themselves."""
    return Init(("fan_in", 0.0, 1.0))


def _by_gain(kind, gain):
    return Init((kind, 0.0, _said(float(gain))))


def xavier_uniform(gain=1.0):
    """Uniform in ±gain sqrt(6 / (in + out)): Glorot, Bengio 2010."""
    return _by_gain("xavier_uniform", gain)


def xavier_normal(gain=1.0):
    """Standard deviation gain sqrt(2 / (in + out))."""
    return _by_gain("xavier_normal", gain)


def he_uniform(gain=1.0):
    """Uniform in ±gain sqrt(6 / in): He et al. 2015."""
    return _by_gain("he_uniform", gain)


def he_normal(gain=1.0):
    """Standard deviation gain sqrt(2 / in)."""
    return _by_gain("he_normal", gain)


def orthogonal(gain=1.0):
    """gain times orthonormal rows, or columns, of (first axis, all the rest): Saxe et al. 2014."""
    return _by_gain("orthogonal", gain)
