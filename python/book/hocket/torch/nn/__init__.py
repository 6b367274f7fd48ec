"""torch.nn, as far as the book's chapters use it: hocket.nn under PyTorch's names and sizes."""

from ... import _core, nn as _nn
from . import functional, init, parallel
from ._module import Module, ModuleList, Parameter, Sequential, UninitializedParameter, wrapped
from ._recurrent import GRU, LSTM, RNN
from .parallel import DataParallel

_op = _core.operators
Sigmoid, Tanh, GELU, SiLU = (wrapped(getattr(_nn, _name)) for _name in "Sigmoid Tanh GELU SiLU".split())
_Linear, _Conv2d, _BatchNorm, _MaxPool2d, _AvgPool2d, _Dropout, _Adaptive, _Embedding, _LayerNorm, _Softmax, _AdaptiveMax = (
    wrapped(getattr(_nn, _name)) for _name in
    "Linear Conv2d BatchNorm MaxPool2d AvgPool2d Dropout AdaptiveAvgPool2d Embedding LayerNorm Softmax AdaptiveMaxPool2d".split())
_Conv1d, _Conv3d, _ConvTranspose3d, _ConvTranspose2d, _AdaptiveAvgPool1d, _AdaptiveMaxPool1d, _MaxPool1d, _ReLU, _LeakyReLU = (wrapped(getattr(_nn, _name)) for _name in
    "Conv1d Conv3d Conv3dTranspose Conv2dTranspose AdaptiveAvgPool1d AdaptiveMaxPool1d MaxPool1d ReLU LeakyReLU".split())


class ReLU(_ReLU):
    def __init__(self, inplace=False):
        super().__init__()


class LeakyReLU(_LeakyReLU):
    def __init__(self, negative_slope=0.01, inplace=False):
        super().__init__(negative_slope)


class Linear(_Linear):
    def __init__(self, in_features, out_features, bias=True):
        super().__init__(out_features, bias=bias)
        self._has_bias, self.in_features, self.out_features = bias, in_features, out_features
        self.build((1, in_features))


class LazyLinear(Linear):
    """Becomes a Linear at its first call."""
    _lazy, _becomes = ("weight", "bias"), Linear

    def __init__(self, out_features, bias=True):
        _Linear.__init__(self, out_features, bias=bias)
        self._has_bias = bias


class Conv2d(_Conv2d):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self._has_bias = bias
        rows, columns = (kernel_size, kernel_size) if isinstance(kernel_size, int) else kernel_size
        reach = dilation if isinstance(dilation, int) else max(dilation)
        self.build((1, in_channels, rows * reach, columns * reach))


class LazyConv2d(Conv2d):
    """Becomes a Conv2d at its first call."""
    _lazy, _becomes = ("weight", "bias"), Conv2d

    def __init__(self, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        _Conv2d.__init__(self, out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self._has_bias = bias


class ConvTranspose2d(_ConvTranspose2d):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1):
        super().__init__(out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation,
                         groups=groups, bias=bias)
        self._has_bias = bias
        size = 2 * (padding if isinstance(padding, int) else max(padding)) + 2  # large enough for any padding
        self.build((1, in_channels, size, size))


class Conv1d(_Conv1d):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self._has_bias = bias
        self.build((1, in_channels, kernel_size * dilation))


def _triple(value):
    return (value,) * 3 if isinstance(value, int) else tuple(value)


class Conv3d(_Conv3d):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, dilation=1, groups=1, bias=True):
        super().__init__(out_channels, kernel_size, stride=stride, padding=padding, dilation=dilation, groups=groups, bias=bias)
        self._has_bias = bias
        self.build((1, in_channels, *(size * each for size, each in zip(_triple(kernel_size), _triple(dilation)))))


class ConvTranspose3d(_ConvTranspose3d):
    def __init__(self, in_channels, out_channels, kernel_size, stride=1, padding=0, output_padding=0, groups=1, bias=True, dilation=1):
        super().__init__(out_channels, kernel_size, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation,
                         groups=groups, bias=bias)
        self._has_bias = bias
        self.build((1, in_channels, *(2 * each + 2 for each in _triple(padding))))  # large enough for any padding


class _Norm(_BatchNorm):
    _names = {**_BatchNorm._names, "weight": "gamma", "bias": "beta"}
    _batches = 0

    def forward(self, input):
        result = super().forward(input)
        self._batches += self.training
        return result

    @property
    def num_batches_tracked(self):
        """Of batches that it was trained on, how many; a replay of a captured step counts none."""
        return _core._convert(self._batches, _core.int64, None)


class BatchNorm2d(_Norm):
    def __init__(self, num_features, eps=1e-5, momentum=0.1):
        super().__init__(eps=eps, momentum=momentum)
        self.build((2, num_features))


class BatchNorm1d(BatchNorm2d):
    pass


class LazyBatchNorm2d(BatchNorm2d):
    """Becomes a BatchNorm2d at its first call."""
    _lazy, _becomes = ("weight", "bias"), BatchNorm2d

    def __init__(self, eps=1e-5, momentum=0.1):
        _Norm.__init__(self, eps=eps, momentum=momentum)


class LazyBatchNorm1d(LazyBatchNorm2d):
    _becomes = BatchNorm1d


class MaxPool1d(_MaxPool1d):
    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__(kernel_size, stride, padding)


class MaxPool2d(_MaxPool2d):
    def __init__(self, kernel_size, stride=None, padding=0, *, ceil_mode=False):
        super().__init__(kernel_size, stride, padding, ceil_mode)


class AvgPool2d(_AvgPool2d):
    def __init__(self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
        super().__init__(kernel_size, stride, padding, ceil_mode, count_include_pad)


class AdaptiveAvgPool2d(_Adaptive):
    def __init__(self, output_size):
        super().__init__(output_size)


class AdaptiveMaxPool2d(_AdaptiveMax):
    def __init__(self, output_size):
        super().__init__(output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPool1d):
    def __init__(self, output_size):
        super().__init__(output_size)


class AdaptiveMaxPool1d(_AdaptiveMaxPool1d):
    def __init__(self, output_size):
        super().__init__(output_size)


class Flatten(Module):
    """The axes from start_dim to end_dim as one."""

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)


class Dropout(_Dropout):
    pass


class Upsample(Module):
    """functional.interpolate as a layer."""

    def __init__(self, size=None, scale_factor=None, mode="nearest", align_corners=None):
        super().__init__()
        self.size, self.scale_factor, self.mode, self.align_corners = size, scale_factor, mode, align_corners

    def forward(self, input):
        return functional.interpolate(input, self.size, self.scale_factor, self.mode, self.align_corners)


class PixelShuffle(Module):
    """Channels become squares of so many rows and columns."""

    def __init__(self, upscale_factor):
        super().__init__()
        self.upscale_factor = upscale_factor

    def forward(self, input):
        return functional.pixel_shuffle(input, self.upscale_factor)


class PixelUnshuffle(Module):
    """Squares of so many rows and columns become channels."""

    def __init__(self, downscale_factor):
        super().__init__()
        self.downscale_factor = downscale_factor

    def forward(self, input):
        return functional.pixel_unshuffle(input, self.downscale_factor)


class Identity(Module):
    def forward(self, input):
        return input


class Softmax(_Softmax):
    def __init__(self, dim=-1):
        super().__init__(dim)


class Embedding(_Embedding):
    def __init__(self, num_embeddings, embedding_dim):
        super().__init__(num_embeddings, embedding_dim)
        self.build(_core._convert([0], None, None))


class LayerNorm(_LayerNorm):
    _names = {"weight": "gamma", "bias": "beta"}

    def __init__(self, normalized_shape, eps=1e-5):
        sizes = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
        super().__init__(eps=eps, axes=len(sizes))
        self.build((1, *sizes))


class _Loss(Module):
    def __init__(self, reduction="mean"):
        super().__init__()
        self.reduction = reduction


class NLLLoss(_Loss):
    """Of log probabilities (n, classes)."""

    def __init__(self, weight=None, *, ignore_index=None, reduction="mean"):
        super().__init__(reduction)
        self._weight, self.ignore_index = weight, ignore_index

    def forward(self, input, target):
        return functional.nll_loss(input, target, self.reduction, self._weight, self.ignore_index)


class CrossEntropyLoss(NLLLoss):
    """Of logits (n, classes). ignore_index: a label that counts nothing; without it none is, -100 neither."""

    def __init__(self, weight=None, *, ignore_index=None, reduction="mean", label_smoothing=0.0):
        super().__init__(weight, ignore_index=ignore_index, reduction=reduction)
        self.label_smoothing = label_smoothing

    def forward(self, input, target):
        return functional.cross_entropy(input, target, self.reduction, self._weight, self.ignore_index, self.label_smoothing)


class SmoothL1Loss(_Loss):
    def forward(self, input, target):
        return functional.smooth_l1_loss(input, target, self.reduction)


class MSELoss(_Loss):
    def forward(self, input, target):
        return functional.mse_loss(input, target, self.reduction)


class L1Loss(_Loss):
    def forward(self, input, target):
        return functional.l1_loss(input, target, self.reduction)


class BCELoss(Module):
    def __init__(self, weight=None, reduction="mean"):
        super().__init__()
        self.reduction, self._weight = reduction, weight

    def forward(self, input, target):
        return functional.binary_cross_entropy(input, target, self._weight, self.reduction)


class BCEWithLogitsLoss(BCELoss):
    def forward(self, input, target):
        return functional.binary_cross_entropy_with_logits(input, target, self._weight, self.reduction)


class CTCLoss(_Loss):
    def __init__(self, blank=0, reduction="mean", zero_infinity=False):
        super().__init__(reduction)
        self.blank, self.zero_infinity = blank, zero_infinity

    def forward(self, log_probs, targets, input_lengths, target_lengths):
        return functional.ctc_loss(log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity)
