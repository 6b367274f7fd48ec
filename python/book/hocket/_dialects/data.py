"""Data sets of arrays and of Fashion-MNIST, and loaders of them, as PyTorch and MXNet have them."""

import functools as _functools

from .. import _core, data as _data, random as _random


class Dataset:
    """A data set of one's own says __len__ and __getitem__."""


class Arrays(Dataset):
    """Sample i is a tuple of entry i of each array."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, index):
        return tuple(x[index] for x in self.tensors)


class Subset(Dataset):
    """Some of a data set's samples, by their numbers."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]


# ---- images ----------------------------------------------------------------------------------------------------------


class Compose:
    """Transforms one after another."""

    def __init__(self, transforms):
        self.transforms = transforms

    def steps(self):
        """The transforms of hocket.data."""
        return [step for part in self.transforms for step in part.steps()]


class Resize(Compose):
    def __init__(self, size):
        self.size = (size, size) if isinstance(size, int) else tuple(size)

    def steps(self):
        return [_data.Resize(*self.size)] if self.size != (28, 28) else []


class ToTensor(Compose):
    """Images are arrays already."""

    def __init__(self):
        pass

    def steps(self):
        return []


class Normalize(Compose):
    """(x - mean) / std of each channel; called, of an image (…, channels, height, width)."""

    def __init__(self, mean, std):
        self.mean, self.std = ([value] if isinstance(value, (int, float)) else list(value) for value in (mean, std))

    def steps(self):
        return [_data.Normalize(self.mean, self.std)]

    def __call__(self, image):
        mean, std = (_core._convert(value, image.dtype, image.device).reshape(-1, 1, 1) for value in (self.mean, self.std))
        return (image - mean) / std


class FashionMNIST(Dataset):
    """Where hocket.data finds it: neither root nor download is looked at."""

    def __init__(self, root=None, train=True, transform=None, download=False):
        plain = _data.fashion_mnist("train" if train else "test")
        steps = transform.steps() if transform else []
        self.hocket_set = plain.transform(*steps) if steps else plain
        self._train = train

    def transform_first(self, transform):
        """The same with transforms of the images."""
        return FashionMNIST(train=self._train, transform=transform)

    def __len__(self):
        return len(self.hocket_set)

    def __getitem__(self, index):
        if isinstance(index, slice):
            samples = [self[i] for i in range(len(self))[index]]
            return [joined(field) for field in zip(*samples)]
        loader = _data.Loader(self.hocket_set, 1, ahead=-1)
        loader.load({**loader.state(), "batch": range(len(self))[index]})
        image, label = next(iter(loader.rest()))
        return image[0], int(label[0])


# ---- batches -----------------------------------------------------------------------------------------------------------


def joined(samples):
    """A batch of samples: the same structure with a first axis."""
    first = samples[0]
    if isinstance(first, (tuple, list)):
        return [joined(field) for field in zip(*samples)]
    if isinstance(first, _core.Array):
        return _core.operators["stack"](samples, 0)
    return _core._convert(samples, None, None)


class _Plain:
    """Batches of a data set of one's own, made as they are asked for."""

    def __init__(self, dataset, batch, shuffle, drop_last, collate):
        self.dataset, self.batch, self.shuffle, self.drop_last, self.collate = dataset, batch, shuffle, drop_last, collate

    def __len__(self):
        return (len(self.dataset) + (0 if self.drop_last else self.batch - 1)) // self.batch

    def __iter__(self):
        count = len(self.dataset)
        order = _random.permutation(count).tolist() if self.shuffle else range(count)
        return (self.collate([self.dataset[i] for i in order[at * self.batch:(at + 1) * self.batch]]) for at in range(len(self)))


def _prepared(dataset):
    """The DataSet whose batches Hocket prepares, or None."""
    if isinstance(dataset, Arrays):
        return _data.arrays(*dataset.tensors)
    return dataset if isinstance(dataset, _data.DataSet) else getattr(dataset, "hocket_set", None)


class DataLoader:
    """Batches of a data set, prepared ahead where it is one of arrays or of Hocket's. num_workers is not needed.

    collate_fn makes a batch of a list of samples, in place of what joins them along a first axis.
    Each iteration is an epoch of its own, with another order where they are shuffled; several may be under way. epoch: the number of the
    next one; the same number and seed give the same order.
    """

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, num_workers=0, last_batch="keep", seed=0,
                 collate_fn=None, batchify_fn=None):
        self.dataset, self.batch_size = dataset, batch_size
        drop_last = drop_last or last_batch == "discard"
        collate = collate_fn or batchify_fn
        source = None if collate else _prepared(dataset)
        self._plain = None if source else _Plain(dataset, batch_size, shuffle, drop_last, collate or joined)
        self._new = _functools.partial(_data.Loader, source, batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed)
        self._idle = [] if self._plain else [self._new()]
        self._length = len(self._plain or self._idle[0])
        self.epoch = 0

    def __len__(self):
        return self._length

    def __iter__(self):
        return iter(self._plain) if self._plain else self._batches()

    def _batches(self):
        loader = self._idle.pop() if self._idle else self._new()
        loader.epoch, self.epoch = self.epoch, self.epoch + 1
        try:
            yield from map(list, loader)
        finally:
            self._idle.append(loader)
