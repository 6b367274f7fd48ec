"""Data sets and loaders under MXNet's names."""

from ...._dialects.data import ArrayDataset, DataLoader as _DataLoader, Dataset
from . import vision


class DataLoader(_DataLoader):
    __doc__ = _DataLoader.__doc__
    _lists_are_fields = False
