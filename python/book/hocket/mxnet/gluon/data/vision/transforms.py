"""Transforms of images."""

from ....._dialects.data import Compose, Resize, ToTensor  # noqa: F401
