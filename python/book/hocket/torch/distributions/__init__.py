"""torch.distributions, as far as the book uses it."""

from . import multinomial
from .multinomial import Multinomial
