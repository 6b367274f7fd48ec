"""torch.utils.data: data sets of arrays, and loaders of them."""

from .. import data as _data

__all__ = ["DataLoader", "TensorDataset"]


class TensorDataset:
    """Sample i is a tuple of entry i of each array."""

    def __init__(self, *tensors):
        self.tensors = tensors

    def __len__(self):
        return self.tensors[0].shape[0]

    def __getitem__(self, index):
        return tuple(x[index] for x in self.tensors)


class DataLoader(_data.Loader):
    """Batches of a TensorDataset or of a hocket.data.DataSet, prepared ahead. num_workers is not needed."""

    def __init__(self, dataset, batch_size=1, shuffle=False, drop_last=False, num_workers=0, seed=0):
        self.dataset = dataset
        super().__init__(dataset.tensors if isinstance(dataset, TensorDataset) else dataset, batch_size, shuffle=shuffle,
                         drop_last=drop_last, seed=seed)

    def __iter__(self):
        return (list(batch) for batch in super(DataLoader, self).__iter__())
