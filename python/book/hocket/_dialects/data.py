"""Data sets of arrays, and loaders, as PyTorch and MXNet have them."""

import functools as _functools

from .. import _core, data as _data, random as _random


_op = _core.operators


class Dataset:
    """A data set of one's own says __len__ and __getitem__."""


class Arrays(Dataset):
    """Sample i is a tuple of entry i of each array; that of one alone, in MXNet's, is the entry."""

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


# ---- batches -----------------------------------------------------------------------------------------------------------


def joined(samples):
    """A batch of samples: the same structure with a first axis."""
    first = samples[0]
    if isinstance(first, (tuple, list)):
        return [joined(field) for field in zip(*samples)]
    if isinstance(first, _core.Array):
        return _op["stack"](samples, 0)
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
        source = None if collate or len(dataset) == 0 else _prepared(dataset)
        self._plain = None if source is not None else _Plain(dataset, batch_size, shuffle, drop_last, collate or joined)
        self._new = _functools.partial(_data.Loader, source, batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed)
        self._idle = [] if source is None else [self._new()]
        self._length = len(self._idle[0] if self._plain is None else self._plain)
        self.epoch = 0

    def __len__(self):
        return self._length

    @property
    def _dataset(self):
        """MXNet's name of it."""
        return self.dataset

    def __iter__(self):
        return self._batches() if self._plain is None else iter(self._plain)

    def _batches(self):
        loader = self._idle.pop() if self._idle else self._new()
        loader.epoch, self.epoch = self.epoch, self.epoch + 1
        try:
            yield from map(list, loader)
        finally:
            self._idle.append(loader)
