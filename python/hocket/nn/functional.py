"""What layers compute, as functions."""

import math as _math

from .. import _core
from .._arguments import said as _said

_op = _core.operators

# What is the library's own, name for name.
_SAME = (
    "elu gelu gelu_tanh hard_sigmoid hard_swish leaky_relu linear log_softmax mish one_hot prelu relu "
    "scaled_dot_product_attention sigmoid silu softplus tanh"
).split()
globals().update({name: _op[name] for name in _SAME})

__all__ = _SAME + [
    "avg_pool2d", "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv2d_transpose",
    "cosine_embedding_loss", "cross_entropy", "dropout", "embedding", "flatten", "group_norm", "hinge_loss", "huber_loss",
    "kl_divergence_loss", "l1_loss", "layer_norm", "length_mask", "max_pool2d", "mse_loss", "nll_loss", "rms_norm",
    "sinusoidal_positions", "softmax", "triplet_margin_loss",
]

_REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}


def _reduction(name):
    try:
        return _REDUCTIONS[name]
    except KeyError:
        raise ValueError(f"reduction is {name!r}; there are 'mean', 'sum' and 'none'") from None


def _axis(axis, x):
    """The library's 0 is the default, 1; this is its HK_FIRST_AXIS."""
    return axis if axis else -1 << 63


def cross_entropy(logits, labels, reduction="none", *, weight=None, ignore=None, label_smoothing=0.0, axis=-1):
    """-log(softmax(logits)[label]) along the axis of classes: logits (n, classes), labels (n,) integers; or of more axes.

    reduction: 'none', the loss of each sample, as ``optim.sgd(…, batch=…)`` wants it; 'mean' or 'sum', an array (). weight: of each
    class. ignore: a label that counts nothing.
    """
    kind = _reduction(reduction)
    if logits.ndim == 2 and weight is None and ignore is None and label_smoothing == 0 and axis in (-1, 1):
        losses = _op["softmax_cross_entropy"](logits, labels)
        return losses if kind == 2 else _op["sum" if kind else "mean"](losses)
    return _op["cross_entropy_loss"](logits, labels, weight, axis=_axis(axis, logits), reduction=kind, ignores=ignore is not None, ignored=ignore or 0,
                                     label_smoothing=label_smoothing)


def nll_loss(log_probabilities, labels, reduction="mean", *, weight=None, ignore=None, axis=-1):
    """Minus log_probabilities at the labels, along the axis of classes."""
    return _op["nll_loss"](log_probabilities, labels, weight, axis=_axis(axis, log_probabilities), reduction=_reduction(reduction), ignores=ignore is not None,
                           ignored=ignore or 0)


def kl_divergence_loss(x, target, reduction="mean"):
    """target (log(target) - x), where x holds logarithms of probabilities."""
    return _op["kl_divergence_loss"](x, target, reduction=_reduction(reduction))


def binary_cross_entropy(x, target, reduction="mean"):
    """-target log(x) - (1 - target) log(1 - x), of probabilities x."""
    return _op["binary_cross_entropy"](x, target, reduction=_reduction(reduction))


def cosine_embedding_loss(x, y, target, margin=0.0, reduction="mean"):
    """Of the cosine between vectors along the last axis: 1 less it where target is 1, else how far it is above margin."""
    return _op["cosine_embedding_loss"](x, y, target, reduction=_reduction(reduction), margin=margin)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, reduction="mean"):
    """By how much less than margin the negative is farther from the anchor than the positive is."""
    return _op["triplet_margin_loss"](anchor, positive, negative, reduction=_reduction(reduction), margin=margin)


def mse_loss(x, target, reduction="mean"):
    """(x - target)²."""
    return _op["mse_loss"](x, target, reduction=_reduction(reduction))


def l1_loss(x, target, reduction="mean"):
    """|x - target|."""
    return _op["l1_loss"](x, target, reduction=_reduction(reduction))


def huber_loss(x, target, delta=1.0, reduction="mean"):
    """Quadratic where |x - target| is below delta, else linear."""
    return _op["huber_loss"](x, target, delta=delta, reduction=_reduction(reduction))


def binary_cross_entropy_with_logits(x, target, reduction="mean"):
    """-target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x))."""
    return _op["binary_cross_entropy_with_logits"](x, target, reduction=_reduction(reduction))


def hinge_loss(x, target, reduction="mean"):
    """max(0, 1 - target x), where target is 1 or -1."""
    return _op["hinge_loss"](x, target, reduction=_reduction(reduction))


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) along axis."""
    return _op["softmax"](x, axis)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x (n, in, h, w), weight (out, in / groups, kh, kw), bias (out): (n, out, h', w')."""
    return _op["conv2d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv2d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """x (n, in, h, w), weight (in, out / groups, kh, kw), bias (out): (n, out, h', w')."""
    return _op["conv2d_transpose"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups,
                                   output_padding=output_padding)


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x (n, in, t), weight (out, in / groups, size), bias (out): (n, out, t')."""
    return _op["conv1d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def layer_norm(x, gamma=None, beta=None, axes=1, eps=1e-5):
    """Normalised along the last axes together."""
    return _op["layer_norm"](x, gamma, beta, axes=axes, eps=eps)


def rms_norm(x, gamma=None, axes=1, eps=1e-5):
    """x / sqrt(mean of x² + eps) gamma along the last axes."""
    return _op["rms_norm"](x, gamma, axes=axes, eps=eps)


def group_norm(x, groups, gamma=None, beta=None, eps=1e-5):
    """Normalised by groups of channels of each sample."""
    return _op["group_norm"](x, gamma, beta, groups=groups, eps=eps)


def sinusoidal_positions(count, features, *, dtype=None, device=None):
    """Sines and cosines of positions (Vaswani et al. 2017): (count, features)."""
    return _core._sinusoidal_positions(count, features, dtype or _core.float32, device)


def length_mask(lengths, count):
    """Of integers (…): bool (…, count), true at the first so many."""
    return _core._length_mask(lengths, count)


def max_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False):
    """The largest of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up."""
    return _op["max_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding,
                             ceil_mode=ceil_mode)


def avg_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=False):
    """The mean of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up; count_include_pad: padding counts as
    zeros, else as absent."""
    return _op["avg_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding,
                             ceil_mode=ceil_mode, count_include_pad=count_include_pad)


def batch_norm(x, gamma, beta, mean, variance, training=False, momentum=0.1, eps=1e-5):
    """Normalised by mean and variance; while training by the batch's, of which these then are the moving averages, in place."""
    if training:
        return _core._batch_norm_train(x, gamma, beta, mean, variance, _said(eps), _said(momentum))
    return _op["batch_norm"](x, gamma, beta, mean, variance, eps=eps)


def dropout(x, p=0.5, training=True):
    """While training each element is 0 with probability p, the others x / (1 - p)."""
    return _core._layer("dropout", (p,)).forward(x) if training else x


def embedding(indices, weight):
    """Rows of weight by integer indices."""
    rows = _op["index_select"](weight, _op["reshape"](indices, (-1,)), 0)
    return _op["reshape"](rows, (*indices.shape, weight.shape[1]))


def flatten(x):
    """(n, …) to (n, all the rest)."""
    return _op["reshape"](x, (x.shape[0], _math.prod(x.shape[1:])))
