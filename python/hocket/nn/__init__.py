"""Networks: layers, modules of one's own, losses, initial values."""

from . import functional, init
from ._layers import (
    ELU, GELU, GRU, LSTM, RNN, Attention, AvgPool2d, BatchNorm, Conv2d, Dropout, Embedding, Flatten, GlobalAvgPool, Lambda, LayerNorm,
    LeakyReLU, Linear, LogSoftmax, MaxPool2d, Mish, ReLU, Residual, Sequential, Sigmoid, SiLU, Softmax, Softplus, Tanh,
)
from ._module import Layer, Module, Parameter
