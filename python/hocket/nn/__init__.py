"""Networks: layers, modules of one's own, losses, initial values."""

from . import functional, init
from ._layers import *
from ._activations import ELU, GELU, LeakyReLU, LogSoftmax, Mish, ReLU, SiLU, Sigmoid, Softmax, Softplus, Tanh
from ._generate import Cache, generate, positions, sample
from ._module import Layer, Module, Parameter
