"""Networks: layers, modules of one's own, losses, initial values."""

from . import functional, init
from ._layers import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, Attention, AvgPool1d, AvgPool2d, BatchNorm, Conv1d, Conv2d, Conv2dTranspose,
    Dropout, ELU, Embedding, Flatten, GELU, GRU, GlobalAvgPool, GlobalMaxPool, GroupNorm, InstanceNorm, LSTM, Lambda,
    LayerNorm, LearnedPositions, LeakyReLU, Linear, LogSoftmax, MaxPool1d, MaxPool2d, Mish, RMSNorm, RNN, ReLU, Residual, Sequential, SiLU,
    Sigmoid, SinusoidalPositions, Softmax, Softplus, Tanh,
)
from ._module import Layer, Module, Parameter
