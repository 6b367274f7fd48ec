"""Networks that are known by name."""

from . import vision
