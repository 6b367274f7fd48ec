"""Functions of each element as modules."""

from .. import _core
from ._module import Module

_op = _core.operators


class _Activation(Module):
    _options = ()

    def forward(self, x):
        return _op[self._operator](x, *self._options)

    def _describe(self):
        return ", ".join(map(str, self._options))


def _activation(name, operator, text, result):
    text += f"\n\n>>> hk.nn.{name}()(hk.asarray([-1.0, 2.0]))\n{result}"
    return type(name, (_Activation,), {"_operator": operator, "__doc__": text, "__module__": "hocket.nn"})


ReLU = _activation("ReLU", "relu", "max(x, 0)",
                   "array([0., 2.], device='cpu:0')")
Sigmoid = _activation("Sigmoid", "sigmoid", "1 / (1 + exp(-x))",
                      "array([0.26894143, 0.880797  ], device='cpu:0')")
Tanh = _activation("Tanh", "tanh", "tanh(x)",
                   "array([-0.7615942,  0.9640276], device='cpu:0')")
GELU = _activation("GELU", "gelu", "x times the normal distribution's probability below x",
                   "array([-0.15865524,  1.9544997 ], device='cpu:0')")
SiLU = _activation("SiLU", "silu", "x sigmoid(x)",
                   "array([-0.26894143,  1.761594  ], device='cpu:0')")
Softplus = _activation("Softplus", "softplus", "log(1 + exp(x))",
                       "array([0.3132617, 2.126928 ], device='cpu:0')")
Mish = _activation("Mish", "mish", "x tanh(softplus(x))",
                   "array([-0.30340147,  1.943959  ], device='cpu:0')")


class LeakyReLU(_Activation):
    """x, or slope x below 0.

    >>> hk.nn.LeakyReLU()(hk.asarray([-1.0, 2.0]))
    array([-0.01,  2.  ], device='cpu:0')
    """
    _operator = "leaky_relu"

    def __init__(self, slope=0.01):
        self._options = (slope,)


class ELU(_Activation):
    """x, or alpha (exp(x) - 1) below 0.

    >>> hk.nn.ELU()(hk.asarray([-1.0, 2.0]))
    array([-0.63212055,  2.        ], device='cpu:0')
    """
    _operator = "elu"

    def __init__(self, alpha=1.0):
        self._options = (alpha,)


class Softmax(_Activation):
    """exp(x) / sum(exp(x)) along an axis.

    >>> hk.nn.Softmax()(hk.asarray([[0.0, 0.0], [0.0, 2.0]]))
    array([[0.5,        0.5       ],
           [0.11920292, 0.8807971 ]], device='cpu:0')
    """
    _operator = "softmax"

    def __init__(self, axis=-1):
        self._options = (axis,)


class LogSoftmax(Softmax):
    """log(softmax(x)).

    >>> hk.nn.LogSoftmax()(hk.asarray([[0.0, 0.0], [0.0, 2.0]]))
    array([[-0.6931472,  -0.6931472 ],
           [-2.126928,   -0.12692802]], device='cpu:0')
    """
    _operator = "log_softmax"
