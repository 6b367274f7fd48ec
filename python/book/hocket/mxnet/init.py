"""mxnet.init: how parameters begin."""

from .._arrays import asarray as _asarray
from ..nn import init as _init


class Initializer:
    """A class of one's own says _init_weight(name, data), which writes into data; weights alone are begun so."""

    def _init_weight(self, name, data):
        raise NotImplementedError(f"{type(self).__name__} has no _init_weight")


def Normal(sigma=0.01):
    return _init.normal(sigma)


def Uniform(scale=0.07):
    return _init.uniform(scale)


def Xavier(rnd_type="uniform", factor_type="avg", magnitude=3):
    """As much as sqrt(magnitude / factor); the factor is the mean of inputs and outputs, or one of them."""
    draw = {("uniform", "avg"): (_init.xavier_uniform, 3), ("gaussian", "avg"): (_init.xavier_normal, 1),
            ("uniform", "in"): (_init.he_uniform, 6), ("gaussian", "in"): (_init.he_normal, 2)}
    if (rnd_type, factor_type) not in draw:
        raise ValueError(f"there is no Xavier of {rnd_type!r} numbers by {factor_type!r}")
    make, usual = draw[rnd_type, factor_type]
    return make((magnitude / usual) ** .5)


def Constant(value):
    """A number, or an array of the parameter's shape."""
    return _Given(value) if hasattr(value, "shape") and value.shape else _init.constant(float(value))


def Zero():
    return _init.constant(0)


def One():
    return _init.constant(1)


class _Given(Initializer):
    """Begins with these values, as set_data says of a parameter that is still to be made."""

    def __init__(self, values):
        self._values = values

    def _init_weight(self, name, data):
        if self._values.shape != data.shape:
            raise ValueError(f"{name} is {tuple(data.shape)}, and what it is to begin with {tuple(self._values.shape)}")
        data[...] = _asarray(self._values, dtype=data.dtype, device=data.device)
