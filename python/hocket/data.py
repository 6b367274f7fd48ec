"""Data sets, and loaders that shuffle them and prepare batches ahead, on one device or split over several."""

import os as _os

from . import _core
from ._arguments import refuse_zero as _refuse_zero, said as _said

__all__ = [
    "Crop", "DataSet", "Flip", "Jitter", "Loader", "Normalize", "Resize", "Vocabulary", "arrays", "cifar", "csv", "fashion_mnist", "idx",
    "images", "load_csv", "tokens",
]


class DataSet:
    """Samples in host memory; ``len(set)`` of them. Each has fields, such as an image and its label."""

    def __init__(self, handle, made=None):
        self._set = handle
        self._made = made  # (function, its arguments), which give the same samples
        size, self.class_count, self.folder, self.fields = handle.facts()
        self._size = size

    def __len__(self):
        return self._size

    def __getitem__(self, index):
        """The fields of a sample, counted from the end where index is negative: a tuple of Arrays. Of a slice: a list of them."""
        if isinstance(index, slice):
            return [self[i] for i in range(self._size)[index]]
        try:
            at = range(self._size)[index]
        except IndexError:
            raise IndexError(f"sample {index} of a data set of {self._size}") from None
        loader = Loader(self, 1, ahead=-1)
        loader.load({**loader.state(), "batch": at})
        return tuple(field[0] for field in next(loader.rest()))

    def __iter__(self):
        """The samples in their order, as those of set[i]."""
        return (tuple(field[0] for field in batch) for batch in Loader(self, 1))

    def __repr__(self):
        fields = ", ".join(f"{dtype}{shape}" for shape, dtype in self.fields)
        return f"DataSet({self._size} samples of {fields})"

    def __copy__(self):
        return self  # samples never change

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        return self._made or (arrays, _all_of(self))

    def transform(self, *transforms):
        """The same samples, whose images (field 0) go through these as they are loaded: Resize, Crop, Flip, Normalize, Jitter.

        What is drawn follows from the loader's seed, the epoch and the sample alone.
        """
        return DataSet(_core._data_set_transform(self._set, list(transforms)), (_transformed, (self, *transforms)))


def _transformed(set, *transforms):
    return set.transform(*transforms)


def _all_of(set):
    """The fields of all samples, as Arrays."""
    return next(iter(Loader(set, len(set), ahead=-1)))


def idx(folder, part="train", *, classes=10, byte_limit=0):
    """One part, 'train' or 'test', of a data set of labelled images: idx files with the names of MNIST, plain or .gz."""
    if part not in ("train", "test"):
        raise ValueError(f"part is {part!r}; there are 'train' and 'test'")
    _refuse_zero("idx", classes=classes)
    path = None if folder is None else _os.fsdecode(folder)
    again = _idx_again, (path, part, classes, byte_limit)
    return DataSet(_core._data_set_open(path, part == "test", classes, byte_limit), again)


def _idx_again(folder, part, classes, byte_limit):
    return idx(folder, part, classes=classes, byte_limit=byte_limit)


def fashion_mnist(part="train", folder=None):
    """Fashion-MNIST: of the folder, or of the one that HOCKET_DATA_DIR names, else of Debian's package dataset-fashion-mnist."""
    return idx(folder, part)


def arrays(*fields):
    """Field f of sample i is fields[f][i]: Arrays or what has a buffer, such as NumPy's. Values are copied."""
    return DataSet(_core._data_set_arrays([_core._convert(x, None, None) for x in fields]))


def load_csv(path, *, delimiter=",", header=False, byte_limit=0):
    """The numbers of a text file: an Array, float64 (rows, columns). Fields without text are NaN."""
    return _core._csv_load(path, delimiter, header, byte_limit)


def csv(path, targets=1, *, delimiter=",", header=False, byte_limit=0):
    """Of a text file of numbers: the first columns, and the last `targets` of them, float32. targets="class": one class, int64 ()."""
    count = -1 if targets == "class" else targets
    return DataSet(_core._data_set_csv(path, count, delimiter, header, byte_limit), (_csv_again, (path, targets, delimiter, header, byte_limit)))


def _csv_again(path, targets, delimiter, header, byte_limit):
    return csv(path, targets, delimiter=delimiter, header=header, byte_limit=byte_limit)


def cifar(paths, classes=10):
    """The binary version of CIFAR-10, or with classes=100 of CIFAR-100, of these files."""
    _refuse_zero("cifar", classes=classes)
    paths = [paths] if isinstance(paths, (str, bytes, _os.PathLike)) else paths
    paths = tuple(_os.fspath(path) for path in paths)
    return DataSet(_core._data_set_cifar(paths, classes), (cifar, (paths, classes)))


def images(folder, *, channels=3, size=None):
    """A folder in which each class has a folder of PNG and JPEG files. size: (height, width) or a number, to which they are resized."""
    _refuse_zero("images", channels=channels, size=size)
    height, width = (size, size) if isinstance(size, int) else size or (0, 0)
    return DataSet(_core._data_set_images(folder, channels, height, width), (_images_again, (folder, channels, size)))


def _images_again(folder, channels, size):
    return images(folder, channels=channels, size=size)


# ---- text ------------------------------------------------------------------------------------------------------------


class Vocabulary:
    """Tokens of a text, with places from 0: first "<unk>", for all that is no other one, then by how often they came.

    kind: 'characters' or 'words'. letters_only: a text is what is left of it as small ASCII letters and blanks. least_count: tokens
    that come less often are left out. most_tokens: so many at most.
    """

    def __init__(self, text, kind="characters", *, letters_only=False, least_count=0, most_tokens=0):
        if kind not in ("characters", "words"):
            raise ValueError(f"kind is {kind!r}; there are 'characters' and 'words'")
        self._vocabulary = _core._vocabulary(_text(text), kind == "words", letters_only, least_count, most_tokens)

    @classmethod
    def of_text(cls, text):
        """Of what str(vocabulary) gave."""
        self = object.__new__(cls)
        self._vocabulary = _core._vocabulary_of_text(text)
        return self

    def __len__(self):
        return self._vocabulary.facts()[0]

    def __str__(self):
        return self._vocabulary.facts()[1]

    def __repr__(self):
        return f"Vocabulary({len(self)} tokens)"

    def __getitem__(self, place):
        """The token at a place, from the end where that is negative; of a slice a list. Of a token its place: 0 where it is none."""
        if isinstance(place, str):
            return self._vocabulary.place(_text(place))
        if isinstance(place, slice):
            return [self._vocabulary.token(i) for i in range(len(self))[place]]
        try:
            return self._vocabulary.token(range(len(self))[place])
        except IndexError:
            raise IndexError(f"place {place} in a vocabulary of {len(self)} tokens") from None

    def __iter__(self):
        """The tokens by place."""
        return map(self._vocabulary.token, range(len(self)))

    def __contains__(self, token):
        return isinstance(token, str) and (token == self._vocabulary.token(0) or self[token] > 0)

    def __reduce__(self):
        return Vocabulary.of_text, (str(self),)

    def encode(self, text):
        """The places of a text's tokens, an int32 array."""
        return self._vocabulary.encode(_text(text))

    def decode(self, places, between=""):
        """The tokens at these places, an Array or a sequence, as one text."""
        return between.join(self._vocabulary.token(int(i)) for i in (places.tolist() if isinstance(places, _core.Array) else places))


def _text(text):
    """Bytes: those of files that are no UTF-8 as they were, halves of letters as such."""
    return _encoded(text) if isinstance(text, str) else bytes(text)


def _encoded(text):
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def tokens(array, steps, *, lanes=0, fixed_start=False):
    """Pieces of a text for language models: int32 (steps,), and the tokens that follow each.

    lanes: 0, pieces one after another, for a loader that shuffles; else the batch of one that does not, whose rows go on where
    those of the batch before ended. fixed_start: pieces begin at the first token, and not anew in each epoch.
    """
    kept = _core.operators["copy"](array)  # which nobody writes to
    return DataSet(_core._data_set_tokens(array, steps, lanes, fixed_start), (_tokens_again, (kept, steps, lanes, fixed_start)))


def _tokens_again(array, steps, lanes, fixed_start):
    return tokens(array, steps, lanes=lanes, fixed_start=fixed_start)


# ---- transforms of images, for DataSet.transform ------------------------------------------------------------------


def _transform(kind, height=0, width=0, padding=0, probability=0.0, mean=(), std=(), jitter=(0.0, 0.0, 0.0)):
    return kind, height, width, padding, probability, tuple(mean), tuple(std), *jitter


def Resize(height, width=None):
    """To height x width, bilinear."""
    return _transform(0, height, height if width is None else width)


def Crop(height, width=None, padding=0):
    """height x width at a random place, of the image with zeros on each side."""
    return _transform(1, height, height if width is None else width, padding)


def Flip(probability=0.5):
    """Left to right."""
    return _transform(2, probability=_said(probability))


def Normalize(mean, std):
    """(x - mean) / std, of each channel."""
    mean, std = ((value,) if isinstance(value, (int, float)) else value for value in (mean, std))
    return _transform(3, mean=mean, std=std)


def Jitter(brightness=0.0, contrast=0.0, saturation=0.0):
    """Brightness, contrast and saturation, each by a factor in [1 - value, 1 + value)."""
    return _transform(4, jitter=(brightness, contrast, saturation))


class Loader:
    """Gives the batches of one epoch after another: each ``for`` over it is one epoch.

    A batch is a tuple of the fields, such as (images, labels), on the default device. With devices a field is a list, with the slice of
    each device. Images are float32 (rows, channels, height, width) with values 0 to 1, labels int64 (rows,).

    set: a DataSet, or arrays, one for each field. batch: samples, on all devices together. shuffle: a new order each epoch, which seed decides. drop_last: leaves out a last batch
    that is not a full one. shares: how much each device gets in proportion; None: whole runs of
    16 samples where 1, 2, 4, 8, … devices can have one each, so that any of those numbers gives the same sums, else even parts.
    whole_runs: in a last batch that is too small for that, too; then some devices get no samples. ahead: batches prepared ahead, 0: two, -1: none.
    progress: shows a bar, where tqdm is installed. group: ranks (hk.world) that share each batch; batch, order and shares are
    those of all, and only this rank's slices are read.
    """

    def __init__(self, set, batch, *, shuffle=False, seed=0, devices=None, drop_last=False, shares=None, ahead=0, progress=False,
                 group=None, whole_runs=False):
        self.set = set = set if isinstance(set, DataSet) else arrays(*(set if isinstance(set, (list, tuple)) else [set]))
        self.batch = batch
        self.devices = devices
        self.progress = progress
        self.epoch = 0
        self._turn = 0
        count = 1 if devices is None else len(devices)
        slices = (0, 0) if group is None else (count * group.size, count * group.rank)
        self._options = {"shuffle": shuffle, "seed": seed, "drop_last": drop_last, "shares": shares, "ahead": ahead, "group": group,
                         "whole_runs": whole_runs}
        self._loader = _core._loader(set._set, batch, shuffle, drop_last, seed, ahead, devices, shares, *slices, whole_runs)
        self._length = self._loader.facts()[0]

    def __len__(self):
        return self._length

    def __reduce__(self):
        options = {**self._options, "devices": self.devices, "progress": self.progress}
        return _loader_again, (type(self), self.set, self.batch, options, self.state())

    @property
    def samples(self):
        """How many samples the last batch had, on all devices together."""
        return self._loader.samples()

    @property
    def order(self):
        """The samples of the set in the order of the epoch that began last, an int64 array; None where they are not shuffled."""
        return self._loader.order(len(self.set))

    def __iter__(self):
        self._loader.start_epoch(self.epoch)
        return self._batches()

    def _batches(self):
        batches = self._rest()
        if not self.progress:
            return batches
        try:
            from tqdm.auto import tqdm
        except ImportError:
            return batches
        return tqdm(batches, total=self._length, desc=f"epoch {self.epoch}", leave=False)

    def _rest(self):
        self._turn += 1
        turn, fields, single = self._turn, len(self.set.fields), self.devices is None
        next_batch = self._loader.next
        while self._turn == turn:
            batch = next_batch(fields)
            if batch is None:
                self.epoch += 1
                return
            yield tuple(field[0] for field in batch) if single else tuple(batch)
        raise RuntimeError("another epoch of this loader has begun; the batches of this one are gone")

    def state(self):
        """Where it is, and what decides which samples come next: a dict of numbers, for load."""
        return self._loader.position()

    def load(self, position):
        """Goes on from there: ``for batch in loader.rest()``."""
        names = ("epoch", "batch", "seed", "sample_count", "batch_size", "shuffle", "drop_last")
        self._loader.seek(tuple(position[name] for name in names))
        self.epoch = position["epoch"]

    def rest(self):
        """The batches that are left of the epoch that load has gone to."""
        return self._batches()


def _loader_again(kind, set, batch, options, position):
    loader = kind(set, batch, **options)
    loader.load(position)
    return loader
