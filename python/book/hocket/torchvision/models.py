"""torchvision.models, as far as the book uses it: under the names of parameters that its files of weights have."""

import glob as _glob
import os as _os

from ..torch import load as _load, nn as _nn


def _weights(name):
    """The arrays of a file of weights, which is not fetched."""
    home = _os.environ.get("TORCH_HOME") or _os.path.join(_os.path.expanduser("~"), ".cache", "torch")
    folder = _os.path.join(home, "hub", "checkpoints")
    found = sorted(_glob.glob(_os.path.join(_glob.escape(folder), name + "-*.pth")) + _glob.glob(_os.path.join(_glob.escape(folder), name + ".*")))
    if not found:
        raise FileNotFoundError(f"the weights of {name} are not there, and Hocket does not fetch them: put {name}-….pth of "
                                f"download.pytorch.org/models into {folder}, which TORCH_HOME can change")
    return _load(found[0])


def _made(name, make, pretrained, weights, num_classes):
    net = make(num_classes)
    if pretrained or weights:
        net.load_state_dict(_weights(name))
    return net


class _Block(_nn.Module):
    """Two convolutions, and what came in added."""

    def __init__(self, inputs, channels, stride):
        super().__init__()
        self.conv1 = _nn.Conv2d(inputs, channels, 3, stride, 1, bias=False)
        self.bn1 = _nn.BatchNorm2d(channels)
        self.relu = _nn.ReLU(inplace=True)
        self.conv2 = _nn.Conv2d(channels, channels, 3, 1, 1, bias=False)
        self.bn2 = _nn.BatchNorm2d(channels)
        self.downsample = None
        if stride != 1 or inputs != channels:
            self.downsample = _nn.Sequential(_nn.Conv2d(inputs, channels, 1, stride, bias=False), _nn.BatchNorm2d(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        return self.relu(y + (x if self.downsample is None else self.downsample(x)))


class ResNet(_nn.Module):
    """Of blocks of two convolutions (He et al. 2016)."""

    def __init__(self, blocks, num_classes=1000):
        super().__init__()
        self.conv1 = _nn.Conv2d(3, 64, 7, 2, 3, bias=False)
        self.bn1 = _nn.BatchNorm2d(64)
        self.relu = _nn.ReLU(inplace=True)
        self.maxpool = _nn.MaxPool2d(3, 2, 1)
        inputs = 64
        for i, count in enumerate(blocks):
            channels = 64 << i
            parts = [_Block(inputs if j == 0 else channels, channels, 2 if i and j == 0 else 1) for j in range(count)]
            setattr(self, f"layer{i + 1}", _nn.Sequential(*parts))
            inputs = channels
        self.avgpool = _nn.AdaptiveAvgPool2d((1, 1))
        self.fc = _nn.Linear(512, num_classes)

    def forward(self, x):
        x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(self.avgpool(x).flatten(1))


class VGG(_nn.Module):
    """Blocks of convolutions of 3 × 3 (Simonyan, Zisserman 2014)."""

    def __init__(self, counts, num_classes=1000):
        super().__init__()
        layers, inputs = [], 3
        for count, channels in zip(counts, (64, 128, 256, 512, 512)):
            for _ in range(count):
                layers += [_nn.Conv2d(inputs, channels, 3, padding=1), _nn.ReLU(inplace=True)]
                inputs = channels
            layers.append(_nn.MaxPool2d(2, 2))
        self.features = _nn.Sequential(*layers)
        self.avgpool = _nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = _nn.Sequential(_nn.Linear(512 * 49, 4096), _nn.ReLU(inplace=True), _nn.Dropout(0.5), _nn.Linear(4096, 4096),
                                         _nn.ReLU(inplace=True), _nn.Dropout(0.5), _nn.Linear(4096, num_classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


def resnet18(pretrained=False, *, weights=None, num_classes=1000):
    """pretrained, or any weights: those of a file in the folder of PyTorch's hub."""
    return _made("resnet18", lambda classes: ResNet((2, 2, 2, 2), classes), pretrained, weights, num_classes)


def resnet34(pretrained=False, *, weights=None, num_classes=1000):
    return _made("resnet34", lambda classes: ResNet((3, 4, 6, 3), classes), pretrained, weights, num_classes)


def vgg11(pretrained=False, *, weights=None, num_classes=1000):
    return _made("vgg11", lambda classes: VGG((1, 1, 2, 2, 2), classes), pretrained, weights, num_classes)


def vgg16(pretrained=False, *, weights=None, num_classes=1000):
    return _made("vgg16", lambda classes: VGG((2, 2, 3, 3, 3), classes), pretrained, weights, num_classes)


def vgg19(pretrained=False, *, weights=None, num_classes=1000):
    return _made("vgg19", lambda classes: VGG((2, 2, 4, 4, 4), classes), pretrained, weights, num_classes)
