"""torchvision, as far as the book's chapters use it: Fashion-MNIST, and resizing it."""

import types as _types

from ._dialects import data as _data

transforms = _types.SimpleNamespace(Compose=_data.Compose, Resize=_data.Resize, ToTensor=_data.ToTensor)
datasets = _types.SimpleNamespace(FashionMNIST=_data.FashionMNIST)
