"""torchvision, as far as the book's chapters use it: Fashion-MNIST, and resizing it."""

import types as _types

from . import data as _data


class _Compose:
    def __init__(self, transforms):
        self.transforms = transforms

    def steps(self):
        return [step for part in self.transforms for step in part.steps()]


class _Resize(_Compose):
    def __init__(self, size):
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def steps(self):
        return [_data.Resize(*self.size)] if self.size != (28, 28) else []


class _ToTensor(_Compose):
    def __init__(self):
        pass

    def steps(self):
        return []


class _FashionMNIST:
    """Where hocket.data finds it: neither root nor download is looked at."""

    def __init__(self, root=None, train=True, transform=None, download=False):
        plain = _data.fashion_mnist("train" if train else "test")
        steps = transform.steps() if transform else []
        self.hocket_set = plain.transform(*steps) if steps else plain

    def __len__(self):
        return len(self.hocket_set)

    def __getitem__(self, index):
        loader = _data.Loader(self.hocket_set, 1, ahead=-1)
        loader.load({**loader.state(), "batch": range(len(self))[index]})
        image, label = next(iter(loader.rest()))
        return image[0], int(label[0])


transforms = _types.SimpleNamespace(Compose=_Compose, Resize=_Resize, ToTensor=_ToTensor)
datasets = _types.SimpleNamespace(FashionMNIST=_FashionMNIST)
