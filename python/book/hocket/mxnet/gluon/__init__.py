"""mxnet.gluon, as far as the book's chapters use it."""

from . import data, loss, model_zoo, nn, parameter, rnn, utils
from .nn import Block, HybridBlock
from .parameter import Parameter, ParameterDict
from .trainer import Trainer
