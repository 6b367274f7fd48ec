"""Random arrays: the same numbers for the same seed on every machine, however many devices there are.

Functions draw from a stream of the calling thread, which ``hk.seed`` begins anew; a Generator is a stream of its own, with the same
methods.
"""

from . import _core

__all__ = [
    "Generator", "bernoulli", "categorical", "choice", "exponential", "gamma", "get_state", "integers", "normal", "permutation", "seed",
    "set_state", "shuffle", "uniform",
]


def seed(number):
    """This thread's stream begins anew: the same seed, the same numbers, in any thread."""
    _core._seed(number)


def _before(high):
    return high.__index__() - 1


def _entries(x):
    if x.ndim == 0:
        raise ValueError("choice() of an array without axes: there is nothing to choose from")
    return x.shape[0]


class _Stream:
    _generator = None  # this thread's

    def uniform(self, shape=(), low=0.0, high=1.0, *, dtype=None, device=None):
        """Uniform in [low, high): float32 or float64.

        >>> hk.random.Generator(1).uniform((2,), -1.0, 1.0)
        array([0.11912501, 0.20914757], device='cpu:0')
        """
        return _core._random_uniform(self._generator, low, high, shape, dtype or _core.float32, device)

    def normal(self, shape=(), mean=0.0, std=1.0, *, dtype=None, device=None):
        """Normal: float32 or float64.

        >>> hk.random.Generator(1).normal((2, 2))
        array([[-0.8532285,  -0.6581801 ],
               [-0.51967233, -0.82490355]], device='cpu:0')
        """
        return _core._random_normal(self._generator, mean, std, shape, dtype or _core.float32, device)

    def integers(self, low, high=None, shape=(), *, dtype=None, device=None):
        """Integers low … high - 1, or 0 … low - 1, of any dtype of integers: of its whole range, too.

        >>> hk.random.Generator(1).integers(1, 7, (4,))
        array([4, 4, 5, 6], dtype=int64, device='cpu:0')
        """
        if high is None:
            low, high = 0, low
        return _core._random_integers(self._generator, low, _before(high), shape, dtype or _core.int64, device)

    def bernoulli(self, probability, shape=(), *, dtype=None, device=None):
        """True, or 1 of another dtype, with that probability.

        >>> hk.random.Generator(1).bernoulli(0.5, (8,))
        array([False, False, False, False, False,  True,  True, False], dtype=bool, device='cpu:0')
        """
        return _core._random_bernoulli(self._generator, probability, shape, dtype or _core.bool, device)

    def exponential(self, shape=(), scale=1.0, *, dtype=None, device=None):
        """Exponential with mean scale: float32 or float64.

        >>> hk.random.Generator(1).exponential((2,))
        array([0.81998676, 0.92779106], device='cpu:0')
        """
        return _core._random_exponential(self._generator, scale, shape, dtype or _core.float32, device)

    def gamma(self, concentration, shape=(), scale=1.0, *, dtype=None, device=None):
        """Gamma with that concentration (often called shape) and scale: float32 or float64.

        >>> hk.random.Generator(1).gamma(2.0, (2,))
        array([0.24634075, 1.4124945 ], device='cpu:0')
        """
        return _core._random_gamma(self._generator, concentration, scale, shape, dtype or _core.float32, device)

    def permutation(self, x, *, device=None):
        """0 … x - 1 in random order; of an Array, a copy with the entries of its first axis in random order.

        >>> hk.random.Generator(1).permutation(5)
        array([0, 1, 2, 3, 4], dtype=int64, device='cpu:0')
        """
        return self.shuffle(x) if isinstance(x, _core.Array) else _core._random_permutation(self._generator, x, device)

    def shuffle(self, x):
        """A copy of x with the entries of its first axis in random order; recorded.

        >>> hk.random.Generator(1).shuffle(hk.asarray([10, 20, 30]))
        array([10, 20, 30], dtype=int64, device='cpu:0')
        """
        return _core._random_shuffle(self._generator, x)

    def choice(self, n, shape=(), *, replace=True, weights=None, p=None, device=None):
        """So many of 0 … n - 1 as the shape says; n may be an Array, whose entries along its first axis are chosen.

        weights (n,): each is chosen as likely as its weight is of their sum. p: NumPy's name for weights. replace: whether one may be
        chosen again.

        >>> hk.random.Generator(1).choice(3, (8,), p=[0.5, 0.0, 0.5])
        array([2, 2, 2, 2, 2, 0, 0, 2], dtype=int64, device='cpu:0')
        """
        if weights is not None and p is not None:
            raise TypeError("weights and p are two names of one argument; give one of them")
        if isinstance(n, _core.Array):
            chosen = self.choice(_entries(n), shape, replace=replace, weights=weights, p=p, device=device or n.device)
            return _core.operators["index_select"](n, chosen, 0)
        weights = p if weights is None else weights
        if weights is not None and not isinstance(weights, _core.Array):
            weights = _core._convert(weights, _core.float32, device)
        return _core._random_choice(self._generator, n, shape, replace, weights, device)

    def categorical(self, logits):
        """For each row along the last axis of logits, an index: index i with probability softmax(logits)[i].

        >>> hk.random.Generator(1).categorical(hk.asarray([[0.0, 9.0], [9.0, 0.0]]))
        array([1, 0], dtype=int64, device='cpu:0')
        """
        return _core._random_categorical(self._generator, logits)

    def get_state(self):
        """Where the stream is: a tuple of three ints, for set_state.

        >>> hk.random.Generator(1).get_state()
        (1, 0, 0)
        """
        return _core._stream_state(self._generator)

    def set_state(self, state):
        """Goes on from there."""
        _core._stream_set(self._generator, *state)


class Generator(_Stream):
    """A stream of its own, which gives the numbers that a thread's stream gives after ``hk.seed(seed)``."""

    def __init__(self, seed):
        self._generator = _core._generator(seed)

    def __getstate__(self):
        return {**vars(self), "_generator": self.get_state()}

    def __setstate__(self, state):
        vars(self).update(state, _generator=_core._generator(0))
        self.set_state(state["_generator"])


_thread = _Stream()
for _name in __all__:
    if _name not in ("Generator", "seed"):
        globals()[_name] = getattr(_thread, _name)
