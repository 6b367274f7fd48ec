"""What layers compute, as functions."""

import math as _math

from .. import _core
from .._arguments import said as _said
from .._operators import cosine_similarity

_op = _core.operators

# What is the library's own, name for name.
_SAME = (
    "elu gelu gelu_tanh hard_sigmoid hard_swish leaky_relu linear log_softmax mish one_hot prelu relu "
    "scaled_dot_product_attention sigmoid silu softplus tanh"
).split()
globals().update({name: _op[name] for name in _SAME})

__all__ = _SAME + [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_max_pool1d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d",
    "batch_norm", "binary_cross_entropy", "binary_cross_entropy_with_logits", "conv1d", "conv2d", "conv2d_transpose",
    "conv3d", "conv3d_transpose", "cosine_embedding_loss", "cosine_similarity", "cross_entropy", "ctc_loss", "depth_to_space", "dropout", "embedding", "flatten", "grid_sample",
    "group_norm", "hinge_loss", "huber_loss", "interpolate", "kl_divergence_loss", "l1_loss", "layer_norm", "length_mask", "max_pool1d", "max_pool2d", "mse_loss", "nll_loss",
    "non_max_suppression", "rms_norm", "roi_align", "sinusoidal_positions", "softmax", "space_to_depth", "triplet_margin_loss",
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


def _ignored(ignore, ignore_index):
    """The label that two arguments name."""
    if ignore is not None and ignore_index is not None and ignore != ignore_index:
        raise ValueError(f"ignore is {ignore!r} and ignore_index {ignore_index!r}; they are two names of one argument")
    return ignore if ignore_index is None else ignore_index


def cross_entropy(logits, labels, reduction="none", *, weight=None, ignore=None, label_smoothing=0.0, axis=-1, ignore_index=None):
    """-log(softmax(logits)[label]) along the axis of classes: logits (n, classes), labels (n,) integers; or of more axes.

    reduction: 'none', the loss of each sample, as ``optim.sgd(…, batch=…)`` wants it; 'mean' or 'sum', an array (). weight: of each
    class. ignore, or ignore_index as PyTorch calls it: a label that counts nothing, also in the mean. Without it none is, -100 neither.

    >>> hk.nn.functional.cross_entropy(hk.asarray([[2.0, 0.0], [0.0, 0.0]]), hk.asarray([0, 1]))
    array([0.12692802, 0.6931472 ], device='cpu:0')
    """
    kind = _reduction(reduction)
    ignore = _ignored(ignore, ignore_index)
    if logits.ndim == 2 and weight is None and ignore is None and label_smoothing == 0 and axis in (-1, 1):
        losses = _op["softmax_cross_entropy"](logits, labels)
        return losses if kind == 2 else _op["sum" if kind else "mean"](losses)
    return _op["cross_entropy_loss"](logits, labels, weight, axis=_axis(axis, logits), reduction=kind, ignores=ignore is not None, ignored=ignore or 0,
                                     label_smoothing=label_smoothing)


def nll_loss(log_probabilities, labels, reduction="mean", *, weight=None, ignore=None, axis=-1, ignore_index=None):
    """Minus log_probabilities at the labels, along the axis of classes. weight, ignore and ignore_index as in cross_entropy.

    >>> hk.nn.functional.nll_loss(hk.log(hk.asarray([[0.25, 0.75], [0.5, 0.5]])), hk.asarray([1, 9]), ignore_index=9)
    array(0.28768206, device='cpu:0')
    """
    ignore = _ignored(ignore, ignore_index)
    return _op["nll_loss"](log_probabilities, labels, weight, axis=_axis(axis, log_probabilities), reduction=_reduction(reduction), ignores=ignore is not None,
                           ignored=ignore or 0)


def ctc_loss(log_probabilities, targets, input_lengths, target_lengths, blank=0, reduction="mean", zero_infinity=False):
    """Of sequences whose labels may stand anywhere (connectionist temporal classification): log_probabilities (steps, n, classes).

    targets (n, labels), input_lengths (n) and target_lengths (n) are integers: of a sample so many steps and labels count. blank: the
    class that is no label. The mean is of losses by their numbers of labels. A target that does not fit into its steps has an infinite
    loss, or 0 with zero_infinity.

    >>> hk.nn.functional.ctc_loss(hk.log(hk.full((2, 1, 2), 0.5)), hk.asarray([[1]]), hk.asarray([2]), hk.asarray([1]))
    array(0.28768206, device='cpu:0')
    """
    return _op["ctc_loss"](log_probabilities, targets, input_lengths, target_lengths, blank=blank, reduction=_reduction(reduction),
                           zero_infinity=zero_infinity)


def kl_divergence_loss(x, target, reduction="mean"):
    """target (log(target) - x), where x holds logarithms of probabilities.

    >>> hk.nn.functional.kl_divergence_loss(hk.log(hk.asarray([0.5, 0.5])), hk.asarray([0.25, 0.75]), 'sum')
    array(0.13081205, device='cpu:0')
    """
    return _op["kl_divergence_loss"](x, target, reduction=_reduction(reduction))


def binary_cross_entropy(x, target, reduction="mean"):
    """-target log(x) - (1 - target) log(1 - x), of probabilities x.

    >>> hk.nn.functional.binary_cross_entropy(hk.asarray([0.25, 0.75]), hk.asarray([0.0, 1.0]))
    array(0.28768206, device='cpu:0')
    """
    return _op["binary_cross_entropy"](x, target, reduction=_reduction(reduction))


def cosine_embedding_loss(x, y, target, margin=0.0, reduction="mean"):
    """Of the cosine between vectors along the last axis: 1 less it where target is 1, else how far it is above margin.

    >>> hk.nn.functional.cosine_embedding_loss(hk.asarray([[1.0, 0.0]]), hk.asarray([[0.0, 1.0]]), hk.asarray([1.0]))
    array(1.0, device='cpu:0')
    """
    return _op["cosine_embedding_loss"](x, y, target, reduction=_reduction(reduction), margin=margin)


def triplet_margin_loss(anchor, positive, negative, margin=1.0, reduction="mean"):
    """By how much less than margin the negative is farther from the anchor than the positive is.

    >>> hk.nn.functional.triplet_margin_loss(hk.asarray([[0.0, 0.0]]), hk.asarray([[0.0, 1.0]]), hk.asarray([[0.75, 0.0]]))
    array(1.25, device='cpu:0')
    """
    return _op["triplet_margin_loss"](anchor, positive, negative, reduction=_reduction(reduction), margin=margin)


def mse_loss(x, target, reduction="mean"):
    """(x - target)².

    >>> hk.nn.functional.mse_loss(hk.asarray([1.0, 2.0]), hk.asarray([0.0, 4.0]))
    array(2.5, device='cpu:0')
    """
    return _op["mse_loss"](x, target, reduction=_reduction(reduction))


def l1_loss(x, target, reduction="mean"):
    """|x - target|.

    >>> hk.nn.functional.l1_loss(hk.asarray([1.0, 2.0]), hk.asarray([0.0, 4.0]))
    array(1.5, device='cpu:0')
    """
    return _op["l1_loss"](x, target, reduction=_reduction(reduction))


def huber_loss(x, target, delta=1.0, reduction="mean"):
    """Quadratic where |x - target| is below delta, else linear.

    >>> hk.nn.functional.huber_loss(hk.asarray([1.0, 2.0]), hk.asarray([0.5, 4.0]), reduction='none')
    array([0.125, 1.5  ], device='cpu:0')
    """
    return _op["huber_loss"](x, target, delta=delta, reduction=_reduction(reduction))


def binary_cross_entropy_with_logits(x, target, reduction="mean"):
    """-target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x)).

    >>> hk.nn.functional.binary_cross_entropy_with_logits(hk.asarray([0.0, 2.0]), hk.asarray([0.0, 1.0]), 'none')
    array([0.6931472,  0.12692809], device='cpu:0')
    """
    return _op["binary_cross_entropy_with_logits"](x, target, reduction=_reduction(reduction))


def hinge_loss(x, target, reduction="mean"):
    """max(0, 1 - target x), where target is 1 or -1.

    >>> hk.nn.functional.hinge_loss(hk.asarray([0.5, 2.0]), hk.asarray([1.0, -1.0]), 'none')
    array([0.5, 3. ], device='cpu:0')
    """
    return _op["hinge_loss"](x, target, reduction=_reduction(reduction))


def softmax(x, axis=-1):
    """exp(x) / sum(exp(x)) along axis.

    >>> hk.nn.functional.softmax(hk.asarray([[0.0, 0.0], [0.0, 2.0]]))
    array([[0.5,        0.5       ],
           [0.11920292, 0.8807971 ]], device='cpu:0')
    """
    return _op["softmax"](x, axis)


def conv2d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x (n, in, h, w), weight (out, in / groups, kh, kw), bias (out): (n, out, h', w').

    >>> hk.nn.functional.conv2d(hk.ones((1, 1, 3, 3)), hk.ones((1, 1, 2, 2)), padding=1)
    array([[[[1., 2., 2., 1.],
             [2., 4., 4., 2.],
             [2., 4., 4., 2.],
             [1., 2., 2., 1.]]]], device='cpu:0')
    """
    return _op["conv2d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv2d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """x (n, in, h, w), weight (in, out / groups, kh, kw), bias (out): (n, out, h', w').

    >>> hk.nn.functional.conv2d_transpose(hk.ones((1, 1, 2, 2)), hk.ones((1, 1, 2, 2)), stride=2)
    array([[[[1., 1., 1., 1.],
             [1., 1., 1., 1.],
             [1., 1., 1., 1.],
             [1., 1., 1., 1.]]]], device='cpu:0')
    """
    return _op["conv2d_transpose"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups,
                                   output_padding=output_padding)


def conv1d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x (n, in, t), weight (out, in / groups, size), bias (out): (n, out, t').

    >>> hk.nn.functional.conv1d(hk.asarray([[[1.0, 2.0, 4.0]]]), hk.asarray([[[-1.0, 1.0]]]))
    array([[[1., 2.]]], device='cpu:0')
    """
    return _op["conv1d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv3d(x, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
    """x (n, in, d, h, w), weight (out, in / groups, kd, kh, kw), bias (out): (n, out, d', h', w').

    >>> hk.nn.functional.conv3d(hk.ones((1, 1, 2, 2, 2)), hk.ones((1, 1, 2, 2, 1)))
    array([[[[[4., 4.]]]]], device='cpu:0')
    """
    return _op["conv3d"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups)


def conv3d_transpose(x, weight, bias=None, stride=1, padding=0, output_padding=0, dilation=1, groups=1):
    """x (n, in, d, h, w), weight (in, out / groups, kd, kh, kw), bias (out): (n, out, d', h', w').

    >>> hk.nn.functional.conv3d_transpose(hk.ones((1, 1, 1, 1, 2)), hk.ones((1, 1, 1, 1, 2)))
    array([[[[[1., 2., 1.]]]]], device='cpu:0')
    """
    return _op["conv3d_transpose"](x, weight, bias, stride=stride, padding=padding, dilation=dilation, groups=groups,
                                   output_padding=output_padding)


def layer_norm(x, gamma=None, beta=None, axes=1, eps=1e-5):
    """Normalised along the last axes together.

    >>> hk.nn.functional.layer_norm(hk.asarray([[1.0, 3.0], [0.0, 10.0]]))
    array([[-0.999995,    0.999995  ],
           [-0.99999976,  0.99999976]], device='cpu:0')
    """
    return _op["layer_norm"](x, gamma, beta, axes=axes, eps=eps)


def rms_norm(x, gamma=None, axes=1, eps=1e-5):
    """x / sqrt(mean of x² + eps) gamma along the last axes.

    >>> hk.nn.functional.rms_norm(hk.asarray([[3.0, 4.0]]))
    array([[0.8485278, 1.1313704]], device='cpu:0')
    """
    return _op["rms_norm"](x, gamma, axes=axes, eps=eps)


def group_norm(x, groups, gamma=None, beta=None, eps=1e-5):
    """Normalised by groups of channels of each sample.

    >>> hk.nn.functional.group_norm(hk.asarray([[1.0, 3.0, 0.0, 10.0]]), 2)
    array([[-0.999995,    0.999995,   -0.99999976,  0.99999976]], device='cpu:0')
    """
    return _op["group_norm"](x, gamma, beta, groups=groups, eps=eps)


def sinusoidal_positions(count, features, *, dtype=None, device=None):
    """Sines and cosines of positions (Vaswani et al. 2017): (count, features).

    >>> hk.nn.functional.sinusoidal_positions(2, 4)
    array([[0.,         1.,         0.,         1.        ],
           [0.84147096, 0.5403023,  0.00999983, 0.99995   ]], device='cpu:0')
    """
    return _core._sinusoidal_positions(count, features, dtype or _core.float32, device)


def length_mask(lengths, count):
    """Of integers (…): bool (…, count), true at the first so many.

    >>> hk.nn.functional.length_mask(hk.asarray([1, 3]), 3)
    array([[ True, False, False],
           [ True,  True,  True]], dtype=bool, device='cpu:0')
    """
    return _core._length_mask(lengths, count)


def max_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False):
    """The largest of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up.

    >>> hk.nn.functional.max_pool2d(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)), 2)
    array([[[[ 5.,  7.],
             [13., 15.]]]], device='cpu:0')
    """
    return _op["max_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding,
                             ceil_mode=ceil_mode)


def avg_pool2d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=False):
    """The mean of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up; count_include_pad: padding counts as
    zeros, else as absent.

    >>> hk.nn.functional.avg_pool2d(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)), 2)
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]], device='cpu:0')
    """
    return _op["avg_pool2d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding,
                             ceil_mode=ceil_mode, count_include_pad=count_include_pad)


_INTERPOLATIONS = ("nearest", "linear", "cubic")  # in the order of hk_interpolation
_COORDINATES = ("half_pixel", "align_corners", "asymmetric")  # in the order of hk_coordinates


def interpolate(x, size=None, scale=None, mode="nearest", coordinates="half_pixel"):
    """x (n, channels, height, width), or of one or three axes behind the channels, in another size, or scale times as large.

    mode: 'nearest', 'linear' or 'cubic' along each axis. coordinates: where element i of m of the result lies among n of x: 'half_pixel',
    (i + 0.5) n / m - 0.5; 'align_corners', i (n - 1) / (m - 1); 'asymmetric', i n / m, as PyTorch's 'nearest' does.

    >>> hk.nn.functional.interpolate(hk.asarray([[[1.0, 2.0, 4.0]]]), 6, mode="linear")
    array([[[1.  , 1.25, 1.75, 2.5 , 3.5 , 4.  ]]], device='cpu:0')
    """
    for name, value, known in (("mode", mode, _INTERPOLATIONS), ("coordinates", coordinates, _COORDINATES)):
        if value not in known:
            raise ValueError(f"{name} is {value!r}, but must be one of {', '.join(known)}")
    if (size is None) == (scale is None):
        raise ValueError("interpolate() needs size or scale, and only one of them")
    options = {"scale": scale} if size is None else {"size": (size,) * (x.ndim - 2) if isinstance(size, int) else tuple(size)}
    return _op["interpolate"](x, mode=_INTERPOLATIONS.index(mode), coordinates=_COORDINATES.index(coordinates), **options)


_SAMPLINGS = ("linear", "nearest", "cubic")  # in the order of hk_sampling
_BEYOND = ("zeros", "border", "reflection")  # in the order of hk_beyond


def grid_sample(x, grid, mode="linear", beyond="zeros", align_corners=False):
    """Elements of images x (n, channels, height, width) at places that grid (n, rows, columns, 2) names: (n, channels, rows, columns).

    grid[..., 0] is where across, from -1, the left edge, to 1, the right one, grid[..., 1] where down; with align_corners these are the
    middles of the elements there. mode: 'linear', 'nearest' or 'cubic'; beyond, what is outside: 'zeros', 'border' or 'reflection'.

    >>> hk.nn.functional.grid_sample(hk.asarray([[[[1.0, 2.0, 4.0]]]]), hk.asarray([[[[0.0, 0.0], [0.5, 0.0]]]]))
    array([[[[2. , 3.5]]]], device='cpu:0')
    """
    for name, value, known in (("mode", mode, _SAMPLINGS), ("beyond", beyond, _BEYOND)):
        if value not in known:
            raise ValueError(f"{name} is {value!r}, but must be one of {', '.join(known)}")
    return _op["grid_sample"](x, grid, mode=_SAMPLINGS.index(mode), beyond=_BEYOND.index(beyond), align_corners=align_corners)


def roi_align(x, rois, batch, size=1, scale=1.0, samples=0, aligned=False, largest=False):
    """Regions of images x (n, channels, height, width) as images of one size: (regions, channels, size).

    rois (regions, 4): left, top, right and bottom of each, times scale; batch (regions), integers: of which image it is. A region is cut
    into parts, each of which is the mean of samples times samples places in it; 0 is as many as there are elements. aligned: the middle of
    an element is at half a number, not at a whole one. largest: not the mean but the largest share of an element, without a gradient.

    >>> hk.nn.functional.roi_align(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)), hk.asarray([[0.0, 0.0, 2.0, 2.0]]), hk.asarray([0]), 2)
    array([[[[2.5, 3.5],
             [6.5, 7.5]]]], device='cpu:0')
    """
    return _op["roi_align"](x, rois, batch, size=size, scale=scale, samples=samples, aligned=aligned, largest=largest)


def non_max_suppression(boxes, scores, overlap, most=None, least_score=None, centered=False):
    """Which boxes to keep, from the highest score down: each that shares no more than overlap with any that is kept. Waits for both.

    boxes (count, 4): two opposite corners of each, or with centered its middle and its sizes; scores (count): indices (kept). Or boxes
    (n, count, 4), scores (n, classes, count): (kept, 3), image, class and box of each. The overlap of two boxes is the area that both have
    by the area that either has. most: of each class of each image. Boxes of least_score or less are left out.

    >>> hk.nn.functional.non_max_suppression(hk.asarray([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.5]]), hk.asarray([0.5, 0.75]), 0.5)
    array([1], dtype=int64, device='cpu:0')
    """
    return _core._non_max_suppression(boxes, scores, overlap, -1 if most is None else most, least_score, centered)


def depth_to_space(x, block, crd=True):
    """Channels become squares of an image: x (n, c * block * block, h, w) gives (n, c, h * block, w * block).

    crd: the channels of a square lie together, as in PyTorch's pixel_shuffle; without it c apart, as in ONNX's mode DCR.

    >>> hk.nn.functional.depth_to_space(hk.asarray([1.0, 2.0, 3.0, 4.0]).reshape((1, 4, 1, 1)), 2)
    array([[[[1., 2.],
             [3., 4.]]]], device='cpu:0')
    """
    return _op["depth_to_space"](x, block, crd)


def space_to_depth(x, block, crd=True):
    """Squares of an image become channels: what depth_to_space turns back.

    >>> hk.nn.functional.space_to_depth(hk.asarray([[[[1.0, 2.0], [3.0, 4.0]]]]), 2).shape
    (1, 4, 1, 1)
    """
    return _op["space_to_depth"](x, block, crd)


def max_pool1d(x, kernel, stride=None, padding=0, ceil_mode=False):
    """The largest of each window of x (n, channels, t); arguments as of max_pool2d.

    >>> hk.nn.functional.max_pool1d(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[5., 3.]]], device='cpu:0')
    """
    return _op["max_pool1d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding, ceil_mode=ceil_mode)


def avg_pool1d(x, kernel, stride=None, padding=0, ceil_mode=False, count_include_pad=False):
    """The mean of each window of x (n, channels, t); arguments as of avg_pool2d.

    >>> hk.nn.functional.avg_pool1d(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[3.,  2.5]]], device='cpu:0')
    """
    return _op["avg_pool1d"](x, kernel=kernel, stride=kernel if stride is None else stride, padding=padding, ceil_mode=ceil_mode,
                             count_include_pad=count_include_pad)


def adaptive_avg_pool1d(x, size):
    """x (n, channels, t) to (n, channels, size): the mean of each of as many windows.

    >>> hk.nn.functional.adaptive_avg_pool1d(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[3.,  2.5]]], device='cpu:0')
    """
    return _op["adaptive_avg_pool1d"](x, size)


def adaptive_avg_pool2d(x, size):
    """x (n, channels, h, w) to (n, channels, *size): the mean of each of as many windows. size: a number, or (rows, columns).

    >>> hk.nn.functional.adaptive_avg_pool2d(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)), (1, 2))
    array([[[[6.5, 8.5]]]], device='cpu:0')
    """
    return _op["adaptive_avg_pool2d"](x, size)


def adaptive_max_pool1d(x, size):
    """x (n, channels, t) to (n, channels, size): the largest of each of as many windows.

    >>> hk.nn.functional.adaptive_max_pool1d(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]), 2)
    array([[[5., 3.]]], device='cpu:0')
    """
    return _op["adaptive_max_pool1d"](x, size)


def adaptive_max_pool2d(x, size):
    """x (n, channels, h, w) to (n, channels, *size): the largest of each of as many windows. size: a number, or (rows, columns).

    >>> hk.nn.functional.adaptive_max_pool2d(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)), (1, 2))
    array([[[[13., 15.]]]], device='cpu:0')
    """
    return _op["adaptive_max_pool2d"](x, size)


def batch_norm(x, gamma, beta, mean, variance, training=False, momentum=0.1, eps=1e-5):
    """Normalised by mean and variance; while training by the batch's, of which these then are the moving averages, in place.

    >>> hk.nn.functional.batch_norm(hk.asarray([[1.0, 4.0]]), hk.ones(2), hk.zeros(2), hk.asarray([1.0, 2.0]), hk.asarray([1.0, 4.0]))
    array([[0.,         0.99999875]], device='cpu:0')
    """
    if training:
        return _core._batch_norm_train(x, gamma, beta, mean, variance, _said(eps), _said(momentum))
    return _op["batch_norm"](x, gamma, beta, mean, variance, eps=eps)


def dropout(x, p=0.5, training=True):
    """While training each element is 0 with probability p, the others x / (1 - p).

    >>> hk.nn.functional.dropout(hk.ones(3), training=False)
    array([1., 1., 1.], device='cpu:0')
    """
    return _core._layer("dropout", (p,)).forward(x) if training else x


def embedding(indices, weight):
    """Rows of weight by integer indices.

    >>> hk.nn.functional.embedding(hk.asarray([2, 0]), hk.asarray([[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]]))
    array([[4., 5.],
           [0., 1.]], device='cpu:0')
    """
    rows = _op["index_select"](weight, _op["reshape"](indices, (-1,)), 0)
    return _op["reshape"](rows, (*indices.shape, weight.shape[1]))


def flatten(x):
    """(n, …) to (n, all the rest).

    >>> hk.nn.functional.flatten(hk.ones((2, 2, 2)))
    array([[1., 1., 1., 1.],
           [1., 1., 1., 1.]], device='cpu:0')
    """
    return _op["reshape"](x, (x.shape[0], _math.prod(x.shape[1:])))
