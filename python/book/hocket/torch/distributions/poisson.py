"""How many events come where so many are expected."""

from ..._dialects.draws import poisson as _poisson


class Poisson:
    def __init__(self, rate):
        self.rate = rate

    def sample(self, sample_shape=()):
        return _poisson(float(self.rate), sample_shape)
