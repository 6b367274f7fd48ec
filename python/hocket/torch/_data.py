"""torch.utils.data: data sets of arrays, and loaders of them."""

from .. import _core, data as _data, random as _random

__all__ = ["DataLoader", "Dataset", "TensorDataset"]


class Dataset:
    """A data set of one's own says __len__ and __getitem__."""


class TensorDataset(Dataset):
    """Sample i is a tuple of entry i of each array."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return self.tensors[0].shape[0]

    def __getitem__(self, index):
        return tuple(x[index] for x in self.tensors)


def _joined(samples):
    """A batch of samples: the same structure with a first axis."""
    first = samples[0]
    if isinstance(first, (tuple, list)):
        return [_joined(field) for field in zip(*samples)]
    if isinstance(first, _core.Array):
        return _core.operators["stack"](samples, 0)
    return _core._convert(samples, None, None)


class _Plain:
    """Batches of a data set of one's own, made as they are asked for."""

    def __init__(self, dataset, batch, shuffle, drop_last):
        self.dataset, self.batch, self.shuffle, self.drop_last = dataset, batch, shuffle, drop_last

    def __len__(self):
        return (len(self.dataset) + (0 if self.drop_last else self.batch - 1)) // self.batch

    def __iter__(self):
        count = len(self.dataset)
        order = _random.permutation(count).tolist() if self.shuffle else range(count)
        return (_joined([self.dataset[i] for i in order[at * self.batch:(at + 1) * self.batch]]) for at in range(len(self)))


class DataLoader:
    """Batches of a data set, prepared ahead where it is one of arrays or of Hocket's. num_workers is not needed."""

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, num_workers=0, seed=0):
        self.dataset, self.batch_size = dataset, batch_size
        source = dataset.tensors if isinstance(dataset, TensorDataset) else getattr(dataset, "hocket_set", dataset)
        self._loader = (_data.Loader(source, batch_size, shuffle=shuffle, drop_last=drop_last, seed=seed)
                        if isinstance(source, (tuple, _data.DataSet)) else _Plain(dataset, batch_size, shuffle, drop_last))

    def __len__(self):
        return len(self._loader)

    def __iter__(self):
        return (list(batch) for batch in self._loader)
