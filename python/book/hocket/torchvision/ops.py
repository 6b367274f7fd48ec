"""torchvision.ops, as far as the book uses it."""

from .._dialects.boxes import roi_pool as _roi_pool


def roi_pool(input, boxes, output_size, spatial_scale=1.0):
    """The largest of each of output_size windows of each region; boxes (k, 5): number of the image, left, top, right, bottom."""
    size = (output_size, output_size) if isinstance(output_size, int) else tuple(output_size)
    return _roi_pool(input, boxes, size, spatial_scale)
