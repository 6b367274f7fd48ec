# Written by tools/python_stubs.py from the package: do not edit.
import builtins as _b
from typing import Any

from .. import Array, _ArrayLike, _Axes, _DeviceLike, _DTypeLike, _Shape

__all__ = ['elu', 'gelu', 'gelu_tanh', 'hard_sigmoid', 'hard_swish', 'leaky_relu', 'linear', 'log_softmax', 'mish', 'one_hot', 'prelu', 'relu', 'scaled_dot_product_attention', 'sigmoid', 'silu', 'softplus', 'tanh', 'adaptive_avg_pool1d', 'adaptive_avg_pool2d', 'adaptive_max_pool1d', 'adaptive_max_pool2d', 'avg_pool1d', 'avg_pool2d', 'batch_norm', 'binary_cross_entropy', 'binary_cross_entropy_with_logits', 'conv1d', 'conv2d', 'conv2d_transpose', 'conv3d', 'conv3d_transpose', 'cosine_embedding_loss', 'cosine_similarity', 'cross_entropy', 'ctc_loss', 'depth_to_space', 'dropout', 'embedding', 'flatten', 'grid_sample', 'group_norm', 'hinge_loss', 'huber_loss', 'interpolate', 'kl_divergence_loss', 'l1_loss', 'layer_norm', 'length_mask', 'max_pool1d', 'max_pool2d', 'mse_loss', 'nll_loss', 'non_max_suppression', 'rms_norm', 'roi_align', 'sinusoidal_positions', 'softmax', 'space_to_depth', 'triplet_margin_loss']

def adaptive_avg_pool1d(x: _ArrayLike, size: Any) -> Array:
    """x (n, channels, t) to (n, channels, size): the mean of each of as many windows."""
def adaptive_avg_pool2d(x: _ArrayLike, size: Any) -> Array:
    """x (n, channels, h, w) to (n, channels, *size): the mean of each of as many windows. size: a number, or (rows, columns)."""
def adaptive_max_pool1d(x: _ArrayLike, size: Any) -> Array:
    """x (n, channels, t) to (n, channels, size): the largest of each of as many windows."""
def adaptive_max_pool2d(x: _ArrayLike, size: Any) -> Array:
    """x (n, channels, h, w) to (n, channels, *size): the largest of each of as many windows. size: a number, or (rows, columns)."""
def avg_pool1d(x: _ArrayLike, kernel: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> Array:
    """The mean of each window of x (n, channels, t); arguments as of avg_pool2d."""
def avg_pool2d(x: _ArrayLike, kernel: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ..., count_include_pad: Any = ...) -> Array:
    """The mean of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up; count_include_pad: padding counts as zeros, else as absent."""
def batch_norm(x: _ArrayLike, gamma: Any, beta: Any, mean: Any, variance: Any, training: Any = ..., momentum: Any = ..., eps: Any = ...) -> Array:
    """Normalised by mean and variance; while training by the batch's, of which these then are the moving averages, in place."""
def binary_cross_entropy(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """-target log(x) - (1 - target) log(1 - x), of probabilities x."""
def binary_cross_entropy_with_logits(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """-target log(sigmoid(x)) - (1 - target) log(1 - sigmoid(x))."""
def conv1d(x: _ArrayLike, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Array:
    """x (n, in, t), weight (out, in / groups, size), bias (out): (n, out, t')."""
def conv2d(x: _ArrayLike, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Array:
    """x (n, in, h, w), weight (out, in / groups, kh, kw), bias (out): (n, out, h', w')."""
def conv2d_transpose(x: _ArrayLike, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Array:
    """x (n, in, h, w), weight (in, out / groups, kh, kw), bias (out): (n, out, h', w')."""
def conv3d(x: _ArrayLike, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Array:
    """x (n, in, d, h, w), weight (out, in / groups, kd, kh, kw), bias (out): (n, out, d', h', w')."""
def conv3d_transpose(x: _ArrayLike, weight: Any, bias: Any = ..., stride: Any = ..., padding: Any = ..., output_padding: Any = ..., dilation: Any = ..., groups: Any = ...) -> Array:
    """x (n, in, d, h, w), weight (in, out / groups, kd, kh, kw), bias (out): (n, out, d', h', w')."""
def cosine_embedding_loss(x: _ArrayLike, y: _ArrayLike, target: Any, margin: Any = ..., reduction: Any = ...) -> Array:
    """Of the cosine between vectors along the last axis: 1 less it where target is 1, else how far it is above margin."""
def cosine_similarity(x: _ArrayLike, y: _ArrayLike, axis: _Axes = ...) -> Array:
    """Cosine of the angle between vectors of x and y along an axis, which goes: -1 to 1. Norms below 1e-8 count as that."""
def cross_entropy(logits: Any, labels: Any, reduction: Any = ..., *, weight: Any = ..., ignore: Any = ..., label_smoothing: Any = ..., axis: _Axes = ..., ignore_index: Any = ...) -> Array:
    """-log(softmax(logits)[label]) along the axis of classes: logits (n, classes), labels (n,) integers; or of more axes."""
def ctc_loss(log_probabilities: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: Any = ..., reduction: Any = ..., zero_infinity: Any = ...) -> Array:
    """Of sequences whose labels may stand anywhere (connectionist temporal classification): log_probabilities (steps, n, classes)."""
def depth_to_space(x: _ArrayLike, block: Any, crd: Any = ...) -> Array:
    """Channels become squares of an image: x (n, c * block * block, h, w) gives (n, c, h * block, w * block)."""
def dropout(x: _ArrayLike, p: Any = ..., training: Any = ...) -> Array:
    """While training each element is 0 with probability p, the others x / (1 - p)."""
def elu(x: _ArrayLike, value: _ArrayLike) -> Array:
    """Exponential linear unit; value is what it tends to below, usually 1, with the other sign."""
def embedding(indices: _ArrayLike, weight: Any) -> Array:
    """Rows of weight by integer indices."""
def flatten(x: _ArrayLike) -> Array:
    """(n, …) to (n, all the rest)."""
def gelu(x: _ArrayLike) -> Array:
    """Gaussian error linear unit: x times the normal distribution function."""
def gelu_tanh(x: _ArrayLike) -> Array:
    """An approximation of hk_gelu by tanh."""
def grid_sample(x: _ArrayLike, grid: Any, mode: str = ..., beyond: Any = ..., align_corners: Any = ...) -> Array:
    """Elements of images x (n, channels, height, width) at places that grid (n, rows, columns, 2) names: (n, channels, rows, columns)."""
def group_norm(x: _ArrayLike, groups: Any, gamma: Any = ..., beta: Any = ..., eps: Any = ...) -> Array:
    """Normalised by groups of channels of each sample."""
def hard_sigmoid(x: _ArrayLike) -> Array:
    """A sigmoid of three lines."""
def hard_swish(x: _ArrayLike) -> Array:
    """x times hk_hard_sigmoid of it."""
def hinge_loss(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """max(0, 1 - target x), where target is 1 or -1."""
def huber_loss(x: _ArrayLike, target: Any, delta: Any = ..., reduction: Any = ...) -> Array:
    """Quadratic where |x - target| is below delta, else linear."""
def interpolate(x: _ArrayLike, size: Any = ..., scale: Any = ..., mode: str = ..., coordinates: Any = ...) -> Array:
    """x (n, channels, height, width), or of one or three axes behind the channels, in another size, or scale times as large."""
def kl_divergence_loss(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """target (log(target) - x), where x holds logarithms of probabilities."""
def l1_loss(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """|x - target|."""
def layer_norm(x: _ArrayLike, gamma: Any = ..., beta: Any = ..., axes: Any = ..., eps: Any = ...) -> Array:
    """Normalised along the last axes together."""
def leaky_relu(x: _ArrayLike, value: _ArrayLike) -> Array:
    """Rectified linear unit with a slope, value, below 0, usually 0.01."""
def length_mask(lengths: Any, count: Any) -> Array:
    """Of integers (…): bool (…, count), true at the first so many."""
def linear(x: _ArrayLike, weight: Any, bias: Any = ...) -> Array:
    """Fully connected layer: x (...,inputs) times the transpose of weight (outputs,inputs), plus bias (outputs): (...,outputs), of the dtype of all three. Of halves x and weight, bias and result are float32; see matmul."""
def log_softmax(x: _ArrayLike, axis: _Axes) -> Array:
    """Logarithm of softmax, right also where softmax is 0 to rounding."""
def max_pool1d(x: _ArrayLike, kernel: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ...) -> Array:
    """The largest of each window of x (n, channels, t); arguments as of max_pool2d."""
def max_pool2d(x: _ArrayLike, kernel: Any, stride: Any = ..., padding: Any = ..., ceil_mode: Any = ...) -> Array:
    """The largest of each window; stride: kernel unless it says otherwise; ceil_mode: sizes are rounded up."""
def mish(x: _ArrayLike) -> Array:
    """Mish."""
def mse_loss(x: _ArrayLike, target: Any, reduction: Any = ...) -> Array:
    """(x - target)²."""
def nll_loss(log_probabilities: Any, labels: Any, reduction: Any = ..., *, weight: Any = ..., ignore: Any = ..., axis: _Axes = ..., ignore_index: Any = ...) -> Array:
    """Minus log_probabilities at the labels, along the axis of classes. weight, ignore and ignore_index as in cross_entropy."""
def non_max_suppression(boxes: Any, scores: Any, overlap: Any, most: Any = ..., least_score: Any = ..., centered: Any = ...) -> Array:
    """Which boxes to keep, from the highest score down: each that shares no more than overlap with any that is kept. Waits for both."""
def one_hot(x: _ArrayLike, classes: Any, dtype: _DTypeLike | None) -> Array:
    """A new last axis with 1 at the place that each integer of x names, and 0 elsewhere: all zeros where x is negative or not below classes."""
def prelu(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Rectified linear unit with a slope y below 0, broadcast to x as any input is."""
def relu(x: _ArrayLike) -> Array:
    """Rectified linear unit; NaN for NaN. The gradient at 0 is 0."""
def rms_norm(x: _ArrayLike, gamma: Any = ..., axes: Any = ..., eps: Any = ...) -> Array:
    """x / sqrt(mean of x² + eps) gamma along the last axes."""
def roi_align(x: _ArrayLike, rois: Any, batch: Any, size: Any = ..., scale: Any = ..., samples: Any = ..., aligned: Any = ..., largest: Any = ...) -> Array:
    """Regions of images x (n, channels, height, width) as images of one size: (regions, channels, size)."""
def scaled_dot_product_attention(query: Any, key: Any, value: _ArrayLike, mask: Any = ..., causal: Any = ..., scale: Any = ...) -> Array:
    """Attention (Vaswani et al. 2017) of queries (…,n,d) to keys (…,m,d) with values (…,m,e): (…,n,e). mask broadcasts to (…,n,m): bool, true where a query sees a key, or numbers that are added to the scores, -inf where it does not. A query that sees no key gives 0. What no query sees does not count, be it NaN."""
def sigmoid(x: _ArrayLike) -> Array:
    """Logistic function."""
def silu(x: _ArrayLike) -> Array:
    """Sigmoid linear unit."""
def sinusoidal_positions(count: Any, features: Any, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Sines and cosines of positions (Vaswani et al. 2017): (count, features)."""
def softmax(x: _ArrayLike, axis: _Axes = ...) -> Array:
    """exp(x) / sum(exp(x)) along axis."""
def softplus(x: _ArrayLike) -> Array:
    """Softplus, a smooth form of hk_relu."""
def space_to_depth(x: _ArrayLike, block: Any, crd: Any = ...) -> Array:
    """Squares of an image become channels: what depth_to_space turns back."""
def tanh(x: _ArrayLike) -> Array:
    """Hyperbolic tangent."""
def triplet_margin_loss(anchor: Any, positive: Any, negative: Any, margin: Any = ..., reduction: Any = ...) -> Array:
    """By how much less than margin the negative is farther from the anchor than the positive is."""
