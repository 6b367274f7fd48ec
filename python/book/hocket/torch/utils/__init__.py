"""torch.utils, as far as the book uses it."""

from . import data
