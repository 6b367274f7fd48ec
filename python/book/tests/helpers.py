"""What the chapters' cells call of the book's library, in a few lines, for tests that do without it."""

from hocket import data, torch
from hocket._dialects.devices import accelerators
from hocket.torch import nn


def try_gpu(i=0):
    return torch.device(f"cuda:{i}") if torch.cuda.device_count() > i else torch.device("cpu")


def try_all_gpus():
    return list(accelerators())


def load_array(arrays, batch_size):
    return torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*arrays), batch_size, shuffle=True)


def load_data_fashion_mnist(batch_size):
    return [torch.utils.data.DataLoader(data.fashion_mnist(part), batch_size, shuffle=part == "train") for part in ("train", "test")]


def split_batch(X, y, devices):
    return nn.parallel.scatter(X, devices), nn.parallel.scatter(y, devices)


def synthetic_data(w, b, count):
    X = torch.normal(0, 1, (count, len(w)))
    y = X @ w.reshape(-1, 1) + b
    return X, y + torch.normal(0, 0.01, y.shape)


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


def accuracy_of(net, batches, device):
    right = count = 0
    with torch.no_grad():
        for X, y in batches:
            right += float((net(X.to(device)).argmax(axis=1) == y.to(device)).sum())
            count += len(y)
    return right / count


class Residual(nn.Module):
    def __init__(self, inputs, channels, use_1x1conv=False, strides=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, kernel_size=3, padding=1, stride=strides)
        self.conv2 = nn.Conv2d(channels, channels, kernel_size=3, padding=1)
        self.conv3 = nn.Conv2d(inputs, channels, kernel_size=1, stride=strides) if use_1x1conv else None
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, X):
        Y = self.bn2(self.conv2(torch.relu(self.bn1(self.conv1(X)))))
        return torch.relu(Y + (self.conv3(X) if self.conv3 is not None else X))
