"""mxnet.npx: what networks need beside mxnet.np."""

from .. import _core, _reductions
from .._arrays import wait as waitall  # noqa: F401
from .._dialects import boxes as _boxes, files as _files
from .._dialects.devices import accelerators as _accelerators, device_of as _device
from ..nn import functional as _functional

_op = _core.operators
relu, sigmoid, leaky_relu = _op["relu"], _op["sigmoid"], _op["leaky_relu"]


def set_np():
    """Arrays are NumPy's anyway."""


reset_np = set_np


def cpu(index=0):
    """The CPU device."""
    return _core.Device(f"cpu:{index}")


def gpu(index=0):
    """A GPU, or what stands for it."""
    return _device(f"gpu:{index}")


def num_gpus():
    """How many devices stand for GPUs."""
    return len(_accelerators())


def softmax(data, axis=-1):
    return _op["softmax"](data, axis)


def log_softmax(data, axis=-1):
    return _op["log_softmax"](data, axis)


def one_hot(data, depth):
    """float32; indices of any dtype."""
    return _op["one_hot"](data.astype(_core.int64), depth, _core.float32)


def pick(data, index, axis=-1, keepdims=False):
    """One entry along the axis for each of the others."""
    found = _reductions.take_along_axis(data, _op["expand_dims"](index.astype(_core.int64), axis), axis=axis)
    return found if keepdims else _op["squeeze"](found, axis)


def topk(data, k=1, axis=-1, ret_typ="indices"):
    values, indices = _reductions.topk(data, k, axis)
    return {"indices": indices, "value": values, "both": (values, indices)}[ret_typ]


def batch_dot(a, b, transpose_a=False, transpose_b=False):
    """Matrix products of a batch."""
    return (a.mT if transpose_a else a) @ (b.mT if transpose_b else b)


def sequence_mask(data, sequence_length=None, use_sequence_length=False, value=0.0, axis=0):
    """value behind the first so many steps of each sequence; steps are along the axis, sequences along the other of the first two."""
    if not use_sequence_length:
        return data
    mask = _core._length_mask(sequence_length.astype(_core.int64), data.shape[axis])
    mask = mask if axis == 1 else mask.mT
    mask = _op["reshape"](mask, mask.shape + (1,) * (data.ndim - 2))
    return _op["where"](mask, data, _op["full_like"](data, value))


def convolution(data, weight, bias=None, kernel=None, num_filter=None, stride=(1, 1), pad=(0, 0), dilate=(1, 1), num_group=1):
    return _functional.conv2d(data, weight, bias, stride, pad, dilate, num_group)


def pooling(data, kernel, pool_type="max", stride=None, pad=(0, 0), count_include_pad=True):
    if pool_type == "max":
        return _functional.max_pool2d(data, kernel, stride, pad)
    return {"avg": _functional.avg_pool2d}[pool_type](data, kernel, stride, pad, count_include_pad=count_include_pad)


def batch_flatten(data):
    """(n, …) to (n, all the rest)."""
    return _op["reshape"](data, (data.shape[0], -1))


def smooth_l1(data, scalar=1.0):
    """Half the square of scalar times data where that is below 1 / scalar², else the distance from 0 less 0.5 / scalar²."""
    size, square = _op["abs"](data), scalar ** 2
    return _op["where"](size < 1 / square, _op["square"](data) * (square / 2), size - 0.5 / square)


def roi_pooling(data, rois, pooled_size, spatial_scale):
    """The largest of each of pooled_size windows of each region; rois (k, 5): number of the image, left, top, right, bottom."""
    return _boxes.roi_pool(data, rois, tuple(pooled_size), spatial_scale)


def multibox_prior(data, sizes=(1,), ratios=(1,)):
    """Anchor boxes around each pixel of data (n, channels, h, w): (1, boxes, 4) of left, top, right, bottom."""
    return _boxes.multibox_prior(data, list(sizes), list(ratios))


def save(file, arr):
    """An array, a list of them or a dict of them, as a file of safetensors; of .npz or .npy by that ending."""
    _files.save(file, arr)


def load(file):
    """What save saved: an array, a list or a dict."""
    return _files.load(file)
