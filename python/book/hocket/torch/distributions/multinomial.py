"""How often each of several outcomes comes up in so many draws."""

from ... import _core, random as _random

_op = _core.operators


class Multinomial:
    """total_count draws, of which each gives outcome i with probability probs[i]."""

    def __init__(self, total_count=1, probs=None):
        self.total_count, self.probs = total_count, probs

    def sample(self, sample_shape=()):
        """Counts of the outcomes: the shape of samples, then one for each outcome."""
        kinds = self.probs.shape[0]
        drawn = _random.choice(kinds, tuple(sample_shape) + (self.total_count,), weights=self.probs, device=self.probs.device)
        return _op["sum"](_op["one_hot"](drawn, kinds, _core.float32), -2)
