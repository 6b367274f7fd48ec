"""Networks of images, as far as the book uses them: features, and an output."""

import os as _os

from .. import nn as _nn


def _made(name, make, pretrained, ctx, classes):
    net = make(classes)
    if pretrained:
        home = _os.environ.get("MXNET_HOME") or _os.path.join(_os.path.expanduser("~"), ".mxnet")
        path = _os.path.join(home, "models", name + ".safetensors")
        if not _os.path.exists(path):
            raise FileNotFoundError(f"the weights of {name} are not there, and Hocket does not fetch them: {path} is to be a file "
                                    f"that save_parameters wrote")
        net.load_parameters(path, ctx)
    return net


class _Block(_nn.HybridBlock):
    """Norm and activation before each of two convolutions, and what came in added (He et al. 2016)."""

    def __init__(self, channels, stride, grows):
        super().__init__()
        self.bn1, self.bn2 = _nn.BatchNorm(), _nn.BatchNorm()
        self.conv1 = _nn.Conv2D(channels, 3, stride, 1, use_bias=False)
        self.conv2 = _nn.Conv2D(channels, 3, 1, 1, use_bias=False)
        self.downsample = _nn.Conv2D(channels, 1, stride, use_bias=False) if grows else None
        self.relu = _nn.Activation("relu")

    def forward(self, x):
        y = self.relu(self.bn1(x))
        came = x if self.downsample is None else self.downsample(y)
        return self.conv2(self.relu(self.bn2(self.conv1(y)))) + came


class _Net(_nn.HybridBlock):
    def __init__(self, features, output):
        super().__init__()
        self.features, self.output = features, output

    def forward(self, x):
        return self.output(self.features(x))


def _resnet(counts, classes):
    features = _nn.HybridSequential()
    features.add(_nn.BatchNorm(), _nn.Conv2D(64, 7, 2, 3, use_bias=False), _nn.BatchNorm(), _nn.Activation("relu"),
                 _nn.MaxPool2D(3, 2, 1))
    for i, count in enumerate(counts):
        stage = _nn.HybridSequential()
        for j in range(count):
            stage.add(_Block(64 << i, 2 if i and j == 0 else 1, i > 0 and j == 0))
        features.add(stage)
    features.add(_nn.BatchNorm(), _nn.Activation("relu"), _nn.GlobalAvgPool2D(), _nn.Flatten())
    return _Net(features, _nn.Dense(classes, in_units=512))


def _vgg(counts, classes):
    features = _nn.HybridSequential()
    for count, channels in zip(counts, (64, 128, 256, 512, 512)):
        for _ in range(count):
            features.add(_nn.Conv2D(channels, 3, padding=1), _nn.Activation("relu"))
        features.add(_nn.MaxPool2D(strides=2))
    features.add(_nn.Dense(4096, "relu"), _nn.Dropout(0.5), _nn.Dense(4096, "relu"), _nn.Dropout(0.5))
    return _Net(features, _nn.Dense(classes, in_units=4096))


def resnet18_v2(pretrained=False, ctx=None, classes=1000):
    """pretrained: of the file resnet18_v2.safetensors in ~/.mxnet/models, which MXNET_HOME can change."""
    return _made("resnet18_v2", lambda classes: _resnet((2, 2, 2, 2), classes), pretrained, ctx, classes)


def resnet34_v2(pretrained=False, ctx=None, classes=1000):
    return _made("resnet34_v2", lambda classes: _resnet((3, 4, 6, 3), classes), pretrained, ctx, classes)


def vgg11(pretrained=False, ctx=None, classes=1000):
    return _made("vgg11", lambda classes: _vgg((1, 1, 2, 2, 2), classes), pretrained, ctx, classes)


def vgg16(pretrained=False, ctx=None, classes=1000):
    return _made("vgg16", lambda classes: _vgg((2, 2, 3, 3, 3), classes), pretrained, ctx, classes)


def vgg19(pretrained=False, ctx=None, classes=1000):
    return _made("vgg19", lambda classes: _vgg((2, 2, 4, 4, 4), classes), pretrained, ctx, classes)
