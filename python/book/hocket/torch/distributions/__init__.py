"""torch.distributions, as far as the book uses it."""

from . import binomial, multinomial, poisson
from .binomial import Binomial
from .multinomial import Multinomial
from .poisson import Poisson
