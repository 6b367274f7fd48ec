"""Data sets and loaders under MXNet's names."""

from ...._dialects.data import Arrays as ArrayDataset, DataLoader, Dataset
from . import vision
