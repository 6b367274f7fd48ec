"""Data sets of arrays, and loaders, as PyTorch and MXNet have them."""

import functools as _functools

import numpy as _numpy

from .. import _core, data as _data, random as _random
from .._arrays import asarray as _asarray

_op = _core.operators


class Dataset:
    """A data set of one's own says __len__ and __getitem__."""


class Arrays(Dataset):
    """Sample i is a tuple of entry i of each array."""
    alone = False  # whether the entry of one array is a sample itself

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return len(self.tensors[0])

    def __getitem__(self, index):
        return self.tensors[0][index] if self.alone else tuple(x[index] for x in self.tensors)


class ArrayDataset(Arrays):
    """MXNet's: sample i of one array is its entry i. Arrays may be lists."""

    def __init__(self, *arrays):
        super().__init__(*arrays)
        self.alone = len(arrays) == 1


class Subset(Dataset):
    """Some of a data set's samples, by their numbers."""

    def __init__(self, dataset, indices):
        self.dataset, self.indices = dataset, indices

    def __len__(self):
        return len(self.indices)

    def __getitem__(self, index):
        return self.dataset[self.indices[index]]


# ---- batches -----------------------------------------------------------------------------------------------------------


def joined(samples, lists_are_fields=True):
    """A batch of samples: the same structure with a first axis. A list is a structure in PyTorch; in MXNet it is an array."""
    first = samples[0]
    if isinstance(first, tuple) or isinstance(first, list) and lists_are_fields:
        return [joined(field, lists_are_fields) for field in zip(*samples)]
    if isinstance(first, dict):
        return {name: joined([sample[name] for sample in samples], lists_are_fields) for name in first}
    if isinstance(first, _core.Array):
        return _op["stack"](samples, 0)
    return _asarray(samples if isinstance(first, (bool, int, float, complex)) else _numpy.asarray(samples))


class _Plain:
    """Batches of a data set of one's own, made as they are asked for. last: what becomes of samples that do not fill a batch."""

    def __init__(self, dataset, batch, shuffle, last, collate):
        self.dataset, self.batch, self.shuffle, self.last, self.collate = dataset, batch, shuffle, last, collate
        self._over = []  # samples of the epoch before, by their numbers

    def __len__(self):
        return (len(self.dataset) + (self.batch - 1 if self.last == "keep" else len(self._over))) // self.batch

    def __iter__(self):
        count = len(self.dataset)
        order = self._over + (_random.permutation(count).tolist() if self.shuffle and count else list(range(count)))
        batches = [order[at * self.batch:(at + 1) * self.batch] for at in range(len(self))]
        self._over = order[len(batches) * self.batch:] if self.last == "rollover" else []
        return (self.collate([self.dataset[i] for i in numbers]) for numbers in batches)


def _prepared(dataset):
    """The DataSet whose batches Hocket prepares, or None."""
    if isinstance(dataset, Arrays) and all(hasattr(x, "dtype") for x in dataset.tensors):
        return _data.arrays(*dataset.tensors)
    return dataset if isinstance(dataset, _data.DataSet) else getattr(dataset, "hocket_set", None)


class DataLoader:
    """Batches of a data set, prepared ahead where it is one of arrays or of Hocket's. num_workers is not needed.

    collate_fn makes a batch of a list of samples, in place of what joins them along a first axis.
    Each iteration is an epoch of its own, with another order where they are shuffled; several may be under way. epoch: the number of the
    next one; the same number and seed give the same order.
    """

    _lists_are_fields = True

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, num_workers=0, last_batch="keep", seed=0,
                 collate_fn=None, batchify_fn=None):
        self.dataset, self.batch_size = dataset, batch_size
        if last_batch not in ("keep", "discard", "rollover"):
            raise ValueError(f"last_batch is {last_batch!r}; there are 'keep', 'discard' and 'rollover'")
        last_batch = "discard" if drop_last else last_batch
        own = collate_fn or batchify_fn
        collate = own or _functools.partial(joined, lists_are_fields=self._lists_are_fields)
        few = len(dataset) < (batch_size if last_batch == "discard" else 1)  # of which there is no batch
        source = None if own or few or last_batch == "rollover" else _prepared(dataset)
        self._plain = None if source is not None else _Plain(dataset, batch_size, shuffle, last_batch, collate)
        self._new = _functools.partial(_data.Loader, source, batch_size, shuffle=shuffle, drop_last=last_batch == "discard",
                                       seed=seed)
        self._idle = [] if source is None else [self._new()]
        self.epoch = 0

    def __len__(self):
        return len(self._new() if self._plain is None and not self._idle else self._idle[0] if self._plain is None else self._plain)

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
            yield from (batch[0] for batch in loader) if getattr(self.dataset, "alone", False) else map(list, loader)
        finally:
            self._idle.append(loader)
