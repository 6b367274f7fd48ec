"""torchvision.datasets, as far as the book uses it: images of Pillow, unless a transform makes something else of them."""

from .._dialects import datasets as _datasets, images as _images
from .._dialects.data import Dataset as _Dataset
from .._dialects.datasets import FashionMNIST  # noqa: F401


class _Pictures(_Dataset):
    """download is not looked at: what is not there is not fetched."""

    def __init__(self, root, train=True, transform=None, download=False):
        self.data, self.targets = type(self)._read(root, train)
        self._labels, self.transform = self.targets.tolist(), transform

    def __len__(self):
        return len(self._labels)

    def __getitem__(self, index):
        image = _images.to_picture(self.data[index], False)
        return image if self.transform is None else self.transform(image), self._labels[index]


class CIFAR10(_Pictures):
    """Of the files of cifar-10-binary.tar.gz in root, or in its folder cifar-10-batches-bin."""
    _read = staticmethod(_datasets.cifar10)
    classes = ["airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"]


class MNIST(_Pictures):
    """Of its four files in root, or in its folder mnist."""
    _read = staticmethod(_datasets.mnist)


class ImageFolder(_Dataset):
    """Images of a folder's folders, each of which is a class."""

    def __init__(self, root, transform=None):
        self.classes, self.samples = _datasets.folder_of_images(root)
        self.class_to_idx = {name: i for i, name in enumerate(self.classes)}
        self.imgs, self.targets, self.transform = self.samples, [label for _, label in self.samples], transform

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, index):
        path, label = self.samples[index]
        image = _images.picture_of(path, "RGB")
        return image if self.transform is None else self.transform(image), label
