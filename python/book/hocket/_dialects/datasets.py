"""Data sets of images in well-known files, for both dialects."""

import copy as _copy
import os as _os

from .. import _core, data as _data
from .data import Dataset, joined

_op = _core.operators


def _folder_of(name, archive, root, folder, mark):
    """Where the files of a data set are: the first of a few places that has the one called mark."""
    home = _os.environ.get("MXNET_HOME") or _os.path.join("~", ".mxnet")
    places = [root, root and _os.path.join(root, folder), _os.environ.get("HOCKET_DATA_DIR"), _os.path.join(home, "datasets", folder)]
    places = [_os.path.expanduser(place) for place in places if place]
    for place in places:
        if any(_os.path.exists(_os.path.join(place, file)) for file in (mark, mark + ".gz")):
            return place
    raise FileNotFoundError(f"{name} is not there, and Hocket does not fetch it: put the files of {archive} into one of {', '.join(places)}")


def cifar10(root, train):
    """CIFAR-10: images, uint8 (n, 32, 32, 3), and labels, int32."""
    folder = _folder_of("CIFAR-10", "cifar-10-binary.tar.gz", root, "cifar-10-batches-bin", "test_batch.bin")
    content = b""
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] if train else ["test_batch.bin"]:
        path = _os.path.join(folder, name)
        with open(path, "rb") as file:
            part = file.read()
        if not part or len(part) % 3073:
            raise ValueError(f"{path} has {len(part)} bytes, which is no multiple of 3073: a label, and 3 x 32 x 32 pixels")
        content += part
    rows = _core._convert(memoryview(content).cast("B", (len(content) // 3073, 3073)), _core.uint8, None)
    images = _op["permute_dims"](_op["reshape"](rows[:, 1:], (-1, 3, 32, 32)), (0, 2, 3, 1))
    return _core._contiguous(images), _op["cast"](rows[:, 0], _core.int32)


def mnist(root, train):
    """MNIST: images, uint8 (n, 28, 28, 1), and labels, int32."""
    folder = _folder_of("MNIST", "MNIST (train-images-idx3-ubyte.gz and its sisters)", root, "mnist", "train-images-idx3-ubyte")
    whole = _data.idx(folder, "train" if train else "test")
    images, labels = next(iter(_data.Loader(whole, len(whole))))
    images = _op["cast"](_op["round"](images * 255), _core.uint8)
    return _op["reshape"](images, (-1, 28, 28, 1)), _op["cast"](labels, _core.int32)


def folder_of_images(root):
    """Images of a folder's folders, each of which is a class, in the order of their names: the classes, and (path, class) of each."""
    endings = ".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".webp"
    classes = sorted(entry.name for entry in _os.scandir(root) if entry.is_dir())
    samples = [(_os.path.join(root, name, file), i) for i, name in enumerate(classes)
               for file in sorted(_os.listdir(_os.path.join(root, name))) if file.lower().endswith(endings)]
    if not samples:
        raise FileNotFoundError(f"{root} has no folders of images, which end with {', '.join(endings)}")
    return classes, samples


class FashionMNIST(Dataset):
    """Where hocket.data finds it: neither root nor download is looked at."""

    def __init__(self, root=None, train=True, transform=None, download=False):
        plain = _data.fashion_mnist("train" if train else "test")
        steps = [] if transform is None else transform.steps() if hasattr(transform, "steps") else None
        self._whole = plain.transform(*steps) if steps else plain
        self._transform = transform if steps is None else None
        self._train = train

    @property
    def hocket_set(self):
        """The DataSet of which Hocket can prepare batches, or None."""
        return self._whole if self._transform is None else None

    def transform_first(self, transform):
        """The same with transforms of the images."""
        return FashionMNIST(train=self._train, transform=transform)

    def __len__(self):
        return len(self._whole)

    def __getitem__(self, index):
        if isinstance(index, slice):
            samples = [self[i] for i in range(len(self))[index]]
            return [joined(field) for field in zip(*samples)]
        loader = _data.Loader(self._whole, 1, ahead=-1)
        loader.load({**loader.state(), "batch": range(len(self))[index]})
        image, label = next(iter(loader.rest()))
        return image[0] if self._transform is None else self._transform(image[0]), int(label[0])


class Transformed(Dataset):
    """Of image and label, which a function may change, as MXNet's data sets are."""
    _transform = None

    def transform(self, function):
        """The same with a function of image and label."""
        made = _copy.copy(self)
        made._transform = function
        return made

    def transform_first(self, function):
        """The same with transforms of the images."""
        return self.transform(lambda image, label: (function(image), label))

    def _given(self, image, label):
        return (image, label) if self._transform is None else self._transform(image, label)
