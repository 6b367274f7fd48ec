"""Random numbers of distributions that are made of others."""

from .. import _core, random as _random
from .._arrays import asarray as _asarray

_op = _core.operators


def binomial(n, p, shape):
    """How many of n draws come up, each with probability p: float32 counts. p may be an array, of the shape or one that is broadcast."""
    if isinstance(p, _core.Array):
        shape = tuple(shape) + tuple(p.shape)
        p = p[..., None]
    elif not 0 <= p <= 1:
        raise ValueError(f"a probability is from 0 to 1, not {p}")
    drawn = _random.uniform(tuple(shape) + (int(n),)) < p
    return _op["sum"](_op["cast"](drawn, _core.float32), -1)


def poisson(rate, shape):
    """Counts of events that come with this mean: how many exponential times fit into 1, as float32."""
    if not rate >= 0:
        raise ValueError(f"a rate is at least 0, not {rate}")
    count = int(rate + 12 * rate ** .5 + 24)  # beyond which no count comes up in float32
    times = _op["cumulative_sum"](_random.exponential(tuple(shape) + (count,)), -1)
    return _op["sum"](_op["cast"](times < rate, _core.float32), -1)


def multivariate_normal(mean, cov, shape):
    """Normal numbers with this mean (d,) and covariance (d, d): (*shape, d)."""
    mean, cov = (_asarray(x, dtype=_core.float64) for x in (mean, cov))
    values, vectors = _op["eigh"](cov)
    root = vectors * _op["sqrt"](_op["relu"](values))
    return _random.normal(tuple(shape) + (mean.shape[0],), dtype=_core.float64) @ root.T + mean
