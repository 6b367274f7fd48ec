"""torchvision.ops, as far as the book uses it, and what detectors have."""

from .. import _core
from ..nn import functional as _functional
from .._dialects.boxes import roi_pool as _roi_pool

_op = _core.operators


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """The largest of each of output_size windows of each region; boxes (k, 5): number of the image, left, top, right, bottom."""
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    return _roi_pool(input, boxes, size, spatial_scale)


def roi_align(input, boxes, output_size, spatial_scale=1.0, sampling_ratio=-1, aligned=False):
    """The mean of places in each of output_size parts of each region; boxes (k, 5), or of each image its own, (k, 4), in a list."""
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    if isinstance(boxes, (list, tuple)):
        images = _core._convert([i for i, each in enumerate(boxes) for _ in range(each.shape[0])], _core.int64, input.device)
        boxes = _op["concat"](list(boxes), 0)
    else:
        images, boxes = _op["cast"](boxes[:, 0], _core.int64), boxes[:, 1:]
    return _functional.roi_align(input, boxes, images, size, spatial_scale, max(sampling_ratio, 0), aligned)


def nms(boxes, scores, iou_threshold):
    """Indices of boxes (k, 4) to keep, from the highest score down. Waits for both."""
    return _functional.non_max_suppression(boxes, scores, iou_threshold)


def batched_nms(boxes, scores, idxs, iou_threshold):
    """The same of each kind of boxes that idxs (k) names by itself: those of different kinds are moved apart. Waits for all."""
    if boxes.shape[0] == 0:
        return nms(boxes, scores, iou_threshold)
    apart = _op["cast"](idxs, boxes.dtype) * (boxes.max() - boxes.min() + 1)
    return nms(boxes + apart.reshape(-1, 1), scores, iou_threshold)


def box_iou(boxes1, boxes2):
    """Of each of (n, 4) with each of (m, 4), the area that both have by the area that either has: (n, m)."""
    low = _op["maximum"](boxes1[:, :2].reshape(-1, 1, 2), boxes2[:, :2])
    high = _op["minimum"](boxes1[:, 2:].reshape(-1, 1, 2), boxes2[:, 2:])
    both = _op["prod"](_op["relu"](high - low), (2,))
    areas = [_op["prod"](boxes[:, 2:] - boxes[:, :2], (1,)) for boxes in (boxes1, boxes2)]
    return both / (areas[0].reshape(-1, 1) + areas[1] - both)
