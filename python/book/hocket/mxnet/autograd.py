"""mxnet.autograd: a recording also says that modules train."""

import threading as _threading

from .. import _core
from .._grad import backward, gradients as _gradients

__all__ = ["backward", "grad", "is_recording", "is_training", "pause", "predict_mode", "record", "train_mode"]

is_recording = _core.is_recording


class _Mode(_threading.local):
    training = False


_mode = _Mode()


def is_training():
    """Whether layers such as dropout behave as they do while training."""
    return _mode.training


class _Scope:
    _records, _trains = None, None

    def __init__(self, train_mode=None):
        self._training = self._trains if train_mode is None else train_mode

    def __enter__(self):
        self._before = _mode.training, _core.is_recording()
        if self._records is not None:
            _core._recording(self._records)
        if self._training is not None:
            _mode.training = self._training
        return self

    def __exit__(self, *exception):
        _mode.training, recording = self._before
        _core._recording(recording)


class record(_Scope):
    """``with autograd.record():`` notes the calls of this thread; modules train in it."""
    _records, _trains = True, True


class pause(_Scope):
    """Within a recording: nothing is noted, and modules do not train."""
    _records, _trains = False, False


class train_mode(_Scope):
    """Modules train; whether calls are noted stays."""
    _trains = True


class predict_mode(_Scope):
    """Modules do not train; whether calls are noted stays."""
    _trains = False


def grad(heads, variables, head_grads=None, retain_graph=False, create_graph=False):
    """The gradients of the sum of heads by each of the variables."""
    return _gradients(heads, variables, head_grads, keep=retain_graph or create_graph, create_graph=create_graph)
