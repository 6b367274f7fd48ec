"""What *Dive into Deep Learning* calls d2l, as far as its chapters on linear regression, perceptrons, LeNet and computational
performance use it, over hocket.torch: ``from hocket import torch, d2l`` in place of two import lines. Curves are printed, not drawn.
"""

import collections as _collections
import inspect as _inspect
import time as _time

from .. import _core, data as _data, torch
from ..torch import nn
from .._dialects.devices import accelerators as _accelerators

# ---- devices and time ---------------------------------------------------------------------------------------


def cpu():
    """The CPU device."""
    return torch.device("cpu")


def gpu(i=0):
    """cuda:i, or what stands for it."""
    return torch.device(f"cuda:{i}")


def num_gpus():
    """How many devices stand for GPUs."""
    return torch.cuda.device_count()


def try_gpu(i=0):
    """gpu(i) where there is one, else cpu()."""
    return gpu(i) if num_gpus() >= i + 1 else cpu()


def try_all_gpus():
    """All devices that stand for GPUs."""
    return list(_accelerators())


class Timer:
    """Times of several runs."""

    def __init__(self):
        self.times = []
        self.start()

    def start(self):
        self._begin = _time.perf_counter()

    def stop(self):
        self.times.append(_time.perf_counter() - self._begin)
        return self.times[-1]

    def sum(self):
        return sum(self.times)

    def avg(self):
        return sum(self.times) / len(self.times)


class Benchmark:
    """Prints how long a block took."""

    def __init__(self, description="Done"):
        self.description = description

    def __enter__(self):
        self.timer = Timer()
        return self

    def __exit__(self, *exception):
        print(f"{self.description}: {self.timer.stop():.4f} sec")


class Accumulator:
    """Sums of n quantities."""

    def __init__(self, n):
        self.data = [0.0] * n

    def add(self, *values):
        self.data = [total + float(value) for total, value in zip(self.data, values)]

    def __getitem__(self, i):
        return self.data[i]


class Animator:
    """Prints points of curves as they come."""

    def __init__(self, xlabel=None, ylabel=None, legend=None, xlim=None, ylim=None, **unused):
        self.xlabel, self.legend = xlabel or "x", legend or []
        self.points = []

    def add(self, x, y):
        values = [float(value) if value is not None else None for value in (y if isinstance(y, (list, tuple)) else [y])]
        self.points.append((x, values))
        names = list(self.legend) + [f"y{i}" for i in range(len(self.legend), len(values))]
        print(f"{self.xlabel} {x:g}: " + ", ".join(f"{name} {value:.4f}" for name, value in zip(names, values) if value is not None))


# ---- data -------------------------------------------------------------------------------------------------------


def load_array(arrays, batch_size, is_train=True):
    """A loader of these arrays, which shuffles for training."""
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*arrays), batch_size, shuffle=is_train)


def load_data_fashion_mnist(batch_size, resize=None):
    """Loaders of the training and of the test part of Fashion-MNIST."""
    return tuple(torch.utils.data.DataLoader(_fashion_mnist(part, resize), batch_size, shuffle=part == "train") for part in ("train", "test"))


def _fashion_mnist(part, resize):
    set_ = _data.fashion_mnist(part)
    if resize is None:
        return set_
    return set_.transform(_data.Resize(*((resize, resize) if isinstance(resize, int) else resize)))


def synthetic_data(w, b, num_examples):
    """y = X w + b + noise."""
    X = torch.normal(0, 1, (num_examples, len(w)))
    y = X @ w.reshape(-1, 1) + b
    return X, y + torch.normal(0, 0.01, y.shape)


# ---- from scratch -----------------------------------------------------------------------------------------------------


def linreg(X, w, b):
    """The linear model."""
    return torch.matmul(X, w) + b


def squared_loss(y_hat, y):
    """Half the squared error of each sample."""
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params, lr, batch_size):
    """A step of minibatch stochastic gradient descent; gradients are zeros afterwards."""
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def accuracy(y_hat, y):
    """How many predictions are right."""
    right = y_hat.argmax(axis=1) if y_hat.ndim > 1 and y_hat.shape[1] > 1 else y_hat
    return float((right.type(y.dtype) == y).type(torch.int64).sum())


def evaluate_accuracy(net, data_iter):
    """The share of right answers on a data set."""
    return evaluate_accuracy_gpu(net, data_iter)


def evaluate_accuracy_gpu(net, data_iter, device=None):
    """The same, on the device of the net's parameters unless another one is named."""
    if isinstance(net, torch.nn.Module) or hasattr(net, "eval"):
        net.eval()
        device = device or next(iter(net.parameters())).device
    metric = Accumulator(2)
    with torch.no_grad():
        for X, y in data_iter:
            if device is not None:
                X, y = X.to(device), y.to(device)
            metric.add(accuracy(net(X), y), y.numel())
    return metric[0] / metric[1]


def split_batch(X, y, devices):
    """Slices of both on each device."""
    return nn.parallel.scatter(X, devices), nn.parallel.scatter(y, devices)


class Residual(nn.Module):
    """The residual block of ResNet."""

    def __init__(self, input_channels, num_channels, use_1x1conv=False, strides=1):
        super().__init__()
        self.conv1 = nn.Conv2d(input_channels, num_channels, kernel_size=3, padding=1, stride=strides)
        self.conv2 = nn.Conv2d(num_channels, num_channels, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2d(input_channels, num_channels, kernel_size=1, stride=strides) if use_1x1conv else None
        self.bn1 = nn.BatchNorm2d(num_channels)
        self.bn2 = nn.BatchNorm2d(num_channels)

    def forward(self, X):
        Y = torch.relu(self.bn1(self.conv1(X)))
        Y = self.bn2(self.conv2(Y))
        return torch.relu(Y + (self.conv3(X) if self.conv3 is not None else X))


# ---- the book's classes ------------------------------------------------------------------------------------------------


def add_to_class(Class):
    """A decorator: the function becomes a method of a class that is there already."""

    def decorate(function):
        setattr(Class, function.__name__, function)

    return decorate


class HyperParameters:
    """save_hyperparameters() in __init__ makes attributes of its arguments."""

    def save_hyperparameters(self, ignore=()):
        frame = _inspect.currentframe().f_back
        names, _, _, values = _inspect.getargvalues(frame)
        self.hparams = {name: values[name] for name in names if name not in {*ignore, "self"} and not name.startswith("_")}
        for name, value in self.hparams.items():
            setattr(self, name, value)


class Module(nn.Module, HyperParameters):
    """A model with its loss and its optimiser: for Trainer."""

    def __init__(self, plot_train_per_epoch=2, plot_valid_per_epoch=1):
        super().__init__()
        self.save_hyperparameters()
        self.history = _collections.defaultdict(list)

    def loss(self, y_hat, y):
        raise NotImplementedError

    def forward(self, X):
        return self.net(X)

    def layer_summary(self, X_shape):
        X = torch.randn(*X_shape)
        for layer in self.net:
            X = layer(X)
            print(type(layer).__name__, "output shape:\t", X.shape)

    def apply_init(self, inputs, init=None):
        with torch.no_grad():
            self.forward(*inputs)
        if init is not None:
            self.net.apply(init)

    def plot(self, key, value, train):
        """Keeps the value; Trainer prints means of each epoch."""
        self.history["train_" * train + "val_" * (not train) + key].append(value.detach())

    def training_step(self, batch):
        loss = self.loss(self(*batch[:-1]), batch[-1])
        self.plot("loss", loss, train=True)
        return loss

    def validation_step(self, batch):
        self.plot("loss", self.loss(self(*batch[:-1]), batch[-1]), train=False)

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=self.lr)


class DataModule(HyperParameters):
    """Where a Trainer gets its batches from."""

    def __init__(self, root="", num_workers=0):
        self.save_hyperparameters()

    def get_dataloader(self, train):
        raise NotImplementedError

    def train_dataloader(self):
        return self.get_dataloader(train=True)

    def val_dataloader(self):
        return self.get_dataloader(train=False)

    def get_tensorloader(self, tensors, train, indices=slice(0, None)):
        return load_array([x[indices] for x in tensors], self.batch_size, train)


class Trainer(HyperParameters):
    """Trains a Module on a DataModule, on one device, or with num_gpus on several."""

    def __init__(self, max_epochs, num_gpus=0, gradient_clip_val=0):
        self.save_hyperparameters()
        self.gpus = [gpu(i) for i in range(min(num_gpus, globals()["num_gpus"]()))]

    def prepare_data(self, data):
        self.train_dataloader = data.train_dataloader()
        self.val_dataloader = data.val_dataloader()

    def prepare_model(self, model):
        model.trainer = None  # the trainer keeps the model, and not the other way round
        if self.gpus:
            model.to(self.gpus[0])
        self.model = model

    def prepare_batch(self, batch):
        return [x.to(self.gpus[0]) for x in batch] if self.gpus else batch

    def fit(self, model, data):
        self.prepare_data(data)
        self.prepare_model(model)
        self.optim = model.configure_optimizers()
        for self.epoch in range(self.max_epochs):
            self.fit_epoch()
            self._tell()

    def _tell(self):
        means = {key: sum(float(value) for value in values) / len(values) for key, values in self.model.history.items() if values}
        self.model.history.clear()
        self.means = means
        print(f"epoch {self.epoch + 1}: " + ", ".join(f"{key} {value:.4f}" for key, value in means.items()))

    def clip_gradients(self, grad_clip_val, model):
        from .. import optim
        optim.clip_grad_norm(model, grad_clip_val)

    def fit_epoch(self):
        self.model.train()
        for batch in self.train_dataloader:
            loss = self.model.training_step(self.prepare_batch(batch))
            self.optim.zero_grad()
            loss.backward()
            if self.gradient_clip_val > 0:
                self.clip_gradients(self.gradient_clip_val, self.model)
            self.optim.step()
        if self.val_dataloader is None:
            return
        self.model.eval()
        with torch.no_grad():
            for batch in self.val_dataloader:
                self.model.validation_step(self.prepare_batch(batch))


class SyntheticRegressionData(DataModule):
    """Samples of a line with noise."""

    def __init__(self, w, b, noise=0.01, num_train=1000, num_val=1000, batch_size=32):
        super().__init__()
        self.save_hyperparameters()
        self.X = torch.randn(num_train + num_val, len(w))
        self.y = torch.matmul(self.X, w.reshape(-1, 1)) + b + torch.randn(num_train + num_val, 1) * noise

    def get_dataloader(self, train):
        return self.get_tensorloader((self.X, self.y), train, slice(0, self.num_train) if train else slice(self.num_train, None))


class LinearRegression(Module):
    """One layer and the squared error."""

    def __init__(self, lr):
        super().__init__()
        self.save_hyperparameters()
        self.net = nn.LazyLinear(1)

    def loss(self, y_hat, y):
        return nn.functional.mse_loss(y_hat, y)

    def get_w_b(self):
        return self.net.weight.data, self.net.bias.data


class Classifier(Module):
    """Cross entropy and accuracy."""

    def validation_step(self, batch):
        y_hat = self(*batch[:-1])
        self.plot("loss", self.loss(y_hat, batch[-1]), train=False)
        self.plot("acc", self.accuracy(y_hat, batch[-1]), train=False)

    def accuracy(self, y_hat, y, averaged=True):
        right = (y_hat.reshape(-1, y_hat.shape[-1]).argmax(axis=1) == y.reshape(-1)).type(torch.float32)
        return right.mean() if averaged else right

    def loss(self, y_hat, y, averaged=True):
        return nn.functional.cross_entropy(y_hat.reshape(-1, y_hat.shape[-1]), y.reshape(-1), reduction="mean" if averaged else "none")


class FashionMNIST(DataModule):
    """Batches of Fashion-MNIST."""

    def __init__(self, batch_size=64, resize=None):
        super().__init__()
        self.save_hyperparameters()
        self.train, self.val = (_fashion_mnist(part, resize) for part in ("train", "test"))

    def text_labels(self, indices):
        labels = ["t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "ankle boot"]
        return [labels[int(i)] for i in indices]

    def get_dataloader(self, train):
        return torch.utils.data.DataLoader(self.train if train else self.val, self.batch_size, shuffle=train)


def init_cnn(module):
    """Glorot's values for the weights of linear and convolutional layers."""
    if isinstance(module, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(module.weight)
