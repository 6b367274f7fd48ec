"""Networks: layers, modules of one's own, losses, initial values."""

from . import functional, init
from ._layers import (
    AdaptiveAvgPool1d, AdaptiveAvgPool2d, AdaptiveMaxPool1d, AdaptiveMaxPool2d, Attention, AvgPool1d, AvgPool2d, BatchNorm, Conv1d, Conv2d,
    Conv2dTranspose, Dropout, Embedding, Flatten, GRU, GlobalAvgPool, GlobalMaxPool, GroupNorm, InstanceNorm, LSTM, Lambda, LayerNorm,
    LearnedPositions, Linear, MaxPool1d, MaxPool2d, RMSNorm, RNN, Residual, Sequential, SinusoidalPositions,
)
from ._activations import ELU, GELU, LeakyReLU, LogSoftmax, Mish, ReLU, SiLU, Sigmoid, Softmax, Softplus, Tanh
from ._generate import Cache, generate, positions, sample
from ._module import Layer, Module, Parameter
