"""Recurrent layers: steps along the first axis."""

from ... import _core, nn as _nn
from ..._dialects.devices import device_of as _device
from ..._dialects.recurrent import Stack, joined_state, parted_state
from .nn import Block, Dropout, _Layer

_op = _core.operators


class _Cell(_Layer):
    _names = {name: name for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}

    def __init__(self, make, features):
        self._make = make
        self._begin(features, whole_state=True)


class _Recurrent(Block):
    """x (t, n, f), or with layout "NTC" (n, t, f). With states it gives the outputs and the list of states, else the outputs."""
    _states = 1

    def __init__(self, hidden_size, num_layers=1, layout="TNC", dropout=0, bidirectional=False, input_size=0):
        self._size, self._count, self._layout, self._directions = hidden_size, num_layers, layout, 2 if bidirectional else 1
        self.dropout = Dropout(dropout)
        for number in range(num_layers * self._directions):
            setattr(self, f"l{number}", _Cell(self._kind, hidden_size))

    def begin_state(self, batch_size=0, ctx=None):
        """States of zeros."""
        shape = (self._count * self._directions, batch_size, self._size)
        return [_op["zeros"](shape, _core.float32, device=_device(ctx)) for _ in range(self._states)]

    def _begin_of(self, states):
        return states[0]

    def _end_of(self, lasts):
        return [_op["stack"](lasts, 0)]

    def forward(self, x, states=None):
        cells = [getattr(self, f"l{number}") for number in range(self._count * self._directions)]
        stack = Stack(cells, self._count, self._directions, self._size, self.dropout)
        states = [states] if isinstance(states, _core.Array) else states
        y, lasts = stack(x.swapaxes(0, 1) if self._layout == "TNC" else x, None if states is None else self._begin_of(states))
        y = y.swapaxes(0, 1) if self._layout == "TNC" else y
        return y if states is None else (y, self._end_of(lasts))


class RNN(_Recurrent):
    """With tanh."""
    _kind = staticmethod(_nn.RNN)


class GRU(_Recurrent):
    _kind = staticmethod(_nn.GRU)


class LSTM(_Recurrent):
    """States are h and c."""
    _kind, _states = staticmethod(_nn.LSTM), 2

    def _begin_of(self, states):
        return joined_state(*states)

    def _end_of(self, lasts):
        return list(parted_state(lasts, self._size))
