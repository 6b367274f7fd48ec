"""torch.nn.functional, as far as the book's chapters use it."""

from ... import _core
from ...nn import functional as _functional
from ...nn.functional import elu, gelu, leaky_relu, linear, mish, relu, sigmoid, silu, softplus, tanh

_op = _core.operators


def cross_entropy(input, target, reduction="mean", weight=None, ignore_index=None, label_smoothing=0.0):
    """input (n, classes), or (n, classes, …) with a target (n, …). A label of -100 counts nothing where ignore_index says so."""
    return _functional.cross_entropy(input, target, reduction, weight=weight, ignore_index=ignore_index, label_smoothing=label_smoothing, axis=1)


def mse_loss(input, target, reduction="mean"):
    return _functional.mse_loss(input, target, reduction)


def l1_loss(input, target, reduction="mean"):
    return _functional.l1_loss(input, target, reduction)


def nll_loss(input, target, reduction="mean", weight=None, ignore_index=None):
    """Of log probabilities (n, classes)."""
    return _functional.nll_loss(input, target, reduction, weight=weight, ignore_index=ignore_index, axis=1)


def smooth_l1_loss(input, target, reduction="mean", beta=1.0):
    """Half the squared error over beta where it is below beta, else the absolute error less beta / 2."""
    return _functional.huber_loss(input, target, beta, reduction) / beta


def cosine_similarity(x1, x2, dim=1):
    return _op["cosine_similarity"](x1, x2, dim)


def _weighted(loss, input, target, weight, reduction):
    if weight is None:
        return loss(input, target, reduction)
    losses = loss(input, target, "none") * weight
    return losses if reduction == "none" else _op[reduction](losses)


def binary_cross_entropy(input, target, weight=None, reduction="mean"):
    """Of probabilities; weight is of each element."""
    return _weighted(_functional.binary_cross_entropy, input, target, weight, reduction)


def binary_cross_entropy_with_logits(input, target, weight=None, reduction="mean"):
    """Of logits; weight is of each element."""
    return _weighted(_functional.binary_cross_entropy_with_logits, input, target, weight, reduction)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _op["conv2d"](input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv3d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    return _op["conv3d"](input, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv_transpose3d(input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1):
    return _functional.conv3d_transpose(input, weight, bias, stride, padding, output_padding, dilation, groups)


def _rows_of(targets, lengths):
    """Labels one after the other as rows, which zeros fill up. Waits for both."""
    labels, rows, begin = targets.tolist(), [], 0
    most = max(lengths, default=0)
    if sum(lengths) != len(labels):
        raise ValueError(f"targets has {len(labels)} labels, but target_lengths adds up to {sum(lengths)}")
    for length in lengths:
        rows.append(labels[begin:begin + length] + [0] * (most - length))
        begin += length
    return _core._convert(rows, _core.int64, targets.device) if most else _op["zeros"]((len(rows), 0), _core.int64, device=targets.device)


def ctc_loss(log_probs, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Of log_probs (T, N, C); targets (N, S), or the labels of all samples one after the other. Lengths: tensors or tuples.

    Its gradient is that of log_probs as such; PyTorch's is that of what log_softmax was taken of, which comes to the same behind that."""
    lengths = [x if hasattr(x, "tolist") else _core._convert(list(x), _core.int64, log_probs.device) for x in (input_lengths, target_lengths)]
    if targets.ndim == 1:
        targets = _rows_of(targets, lengths[1].tolist())
    return _functional.ctc_loss(log_probs, targets, *lengths, blank, reduction, zero_infinity)


_INTERPOLATIONS = {"nearest": "nearest", "nearest-exact": "nearest", "linear": "linear", "bilinear": "linear", "trilinear": "linear",
                   "bicubic": "cubic"}


def interpolate(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    if mode not in _INTERPOLATIONS:
        raise ValueError(f"mode is {mode!r}, but must be one of {', '.join(_INTERPOLATIONS)}")
    if align_corners and mode.startswith("nearest"):
        raise ValueError("align_corners is for the modes linear, bilinear, bicubic and trilinear")
    coordinates = "asymmetric" if mode == "nearest" else "align_corners" if align_corners else "half_pixel"
    if isinstance(scale_factor, (list, tuple)):
        if len(set(scale_factor)) > 1:
            raise ValueError(f"scale_factor is {scale_factor!r}, but must be one number for all axes; size has one for each")
        scale_factor = scale_factor[0]
    return _functional.interpolate(input, size, scale_factor, _INTERPOLATIONS[mode], coordinates)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=False):
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(f"mode is {mode!r}, but must be 'bilinear', 'nearest' or 'bicubic'")
    return _functional.grid_sample(input, grid, mode.removeprefix("bi"), padding_mode, bool(align_corners))


def pixel_shuffle(input, upscale_factor):
    return _functional.depth_to_space(input, upscale_factor)


def pixel_unshuffle(input, downscale_factor):
    return _functional.space_to_depth(input, downscale_factor)


def max_pool2d(input, kernel_size, stride=None, padding=0, *, ceil_mode=False):
    return _functional.max_pool2d(input, kernel_size, stride, padding, ceil_mode)


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    return _functional.avg_pool2d(input, kernel_size, stride, padding, ceil_mode, count_include_pad)


def softmax(input, dim=-1):
    return _op["softmax"](input, dim)


def log_softmax(input, dim=-1):
    return _op["log_softmax"](input, dim)


def dropout(input, p=0.5, training=True):
    return _functional.dropout(input, p, training)


def one_hot(input, num_classes=-1):
    return _op["one_hot"](input, int(input.max()) + 1 if num_classes < 0 else num_classes, _core.int64)
