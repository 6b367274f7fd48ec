"""What layers compute, as functions."""

from .. import _core

_op = _core.operators

# What is the library's own, name for name.
_SAME = (
    "elu gelu gelu_tanh hard_sigmoid hard_swish leaky_relu linear log_softmax mish one_hot prelu relu "
    "scaled_dot_product_attention sigmoid silu softplus tanh"
).split()
globals().update({name: _op[name] for name in _SAME})

__all__ = _SAME + [
    "avg_pool2d", "batch_norm", "binary_cross_entropy_with_logits", "conv2d", "cross_entropy", "dropout", "embedding", "flatten",
    "hinge_loss", "huber_loss", "l1_loss", "max_pool2d", "mse_loss", "softmax",
]

_REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}


def _reduction(name):
    try:
        return _REDUCTIONS[name]
    except KeyError:
        raise ValueError(f"reduction is {name!r}; there are 'mean', 'sum' and 'none'") from None


def cross_entropy(logits, labels, reduction="none"):
    """-log(softmax(logits)[label]) of each row: logits (n, classes), labels (n,) integers.

    reduction: 'none', the loss of each sample, as ``optim.sgd(…, batch=…)`` wants it; 'mean' or 'sum', an array ().
    """
    kind = _reduction(reduction)
    losses = _op["softmax_cross_entropy"](logits, labels)
    return losses if kind == 2 else _op["sum" if kind else "mean"](losses)


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


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1):
    """x (n, in, h, w), weight (out, in, kh, kw), bias (out): (n, out, h', w')."""
    return _op["conv2d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation)


def max_pool2d(x, kernel, stride=None, padding=0):
    """The largest of each window; stride: kernel unless it says otherwise."""
    return _op["max_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding)


def avg_pool2d(x, kernel, stride=None, padding=0):
    """The mean of each window; stride: kernel unless it says otherwise."""
    return _op["avg_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding)


def batch_norm(x, gamma, beta, mean, variance, training=False, momentum=0.1, eps=1e-5):
    """Normalised by mean and variance; while training by the batch's, of which these then are the moving averages, in place."""
    if training:
        return _core._batch_norm_train(x, gamma, beta, mean, variance, eps, momentum)
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
    return _op["reshape"](x, (x.shape[0], -1))
