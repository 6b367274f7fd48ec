"""Data sets of images: arrays of uint8, (height, width, channels), and labels."""

from ....._dialects import datasets as _datasets, images as _images


class FashionMNIST(_datasets.FashionMNIST):
    """Where hocket.data finds it: root is not looked at."""

    def __init__(self, root=None, train=True, transform=None):
        super().__init__(root, train, transform)


class _Arrays(_datasets.Transformed):
    def __init__(self, root=None, train=True, transform=None):
        self._data, self._label = type(self)._read(root, train)
        self._transform = transform

    def __len__(self):
        return self._label.shape[0]

    def __getitem__(self, index):
        """A sample, or all of a slice."""
        return self._given(self._data[index], self._label[index])


class CIFAR10(_Arrays):
    """Of the files of cifar-10-binary.tar.gz in root, or in ~/.mxnet/datasets/cifar-10-batches-bin."""
    _read = staticmethod(_datasets.cifar10)


class MNIST(_Arrays):
    """Of its four files in root, or in ~/.mxnet/datasets/mnist."""
    _read = staticmethod(_datasets.mnist)


class ImageFolderDataset(_datasets.Transformed):
    """Images of a folder's folders, each of which is a class; flag 0: grey ones."""

    def __init__(self, root, flag=1, transform=None):
        self.synsets, self.items = _datasets.folder_of_images(root)
        self._mode, self._transform = "RGB" if flag else "L", transform

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        path, label = self.items[index]
        return self._given(_images.pixels(path, self._mode), label)
