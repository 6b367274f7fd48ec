"""torch.nn.init: values of parameters that are there, in place."""

from ... import nn as _nn
from .._tensor import _becomes
from ._module import UninitializedParameter

__all__ = ["constant_", "kaiming_normal_", "kaiming_uniform_", "normal_", "ones_", "uniform_", "xavier_normal_", "xavier_uniform_",
           "zeros_"]


def normal_(tensor, mean=0.0, std=1.0):
    return tensor.normal_(mean, std)


def uniform_(tensor, a=0.0, b=1.0):
    return tensor.uniform_(a, b)


def constant_(tensor, val):
    return tensor.fill_(val)


def zeros_(tensor):
    return tensor.zero_()


def ones_(tensor):
    return tensor.fill_(1)


def _drawn(tensor, init):
    if isinstance(tensor, UninitializedParameter):
        return tensor.begin(init)
    return _becomes(tensor, init(tensor.shape, dtype=tensor.dtype, device=tensor.device))


def xavier_uniform_(tensor, gain=1.0):
    return _drawn(tensor, _nn.init.xavier_uniform(gain))


def xavier_normal_(tensor, gain=1.0):
    return _drawn(tensor, _nn.init.xavier_normal(gain))


def kaiming_uniform_(tensor, a=0.0, nonlinearity="leaky_relu"):
    return _drawn(tensor, _nn.init.he_uniform((1 / (1 + a * a)) ** .5))


def kaiming_normal_(tensor, a=0.0, nonlinearity="leaky_relu"):
    return _drawn(tensor, _nn.init.he_normal((1 / (1 + a * a)) ** .5))
