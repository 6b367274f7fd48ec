"""How many of so many draws come up."""

from ..._dialects.draws import binomial as _binomial


class Binomial:
    """total_count draws, each of which comes up with probability probs."""

    def __init__(self, total_count=1, probs=None):
        self.total_count, self.probs = total_count, probs

    def sample(self, sample_shape=()):
        return _binomial(self.total_count, self.probs, sample_shape)
