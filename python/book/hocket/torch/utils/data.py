"""torch.utils.data, as far as the book uses it."""

from ..._dialects.data import Arrays as TensorDataset, DataLoader, Dataset, Subset  # noqa: F401
