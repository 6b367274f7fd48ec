"""torch.nn.RNN, GRU and LSTM: steps along the first axis, layers upon each other, states of their own shape."""

from ... import _core, nn as _nn
from ..._dialects.recurrent import Stack, joined_state, parted_state
from ._module import Module, wrapped

_op = _core.operators
_RNN, _GRU, _LSTM, _Dropout = (wrapped(cls) for cls in (_nn.RNN, _nn.GRU, _nn.LSTM, _nn.Dropout))


class _Recurrent(Module):
    """x (t, n, input_size), or (n, t, input_size) with batch_first; a state (layers and directions, n, hidden_size).

    Gives what the last layer gave after each step, and the states after the last one.
    """

    def __init__(self, input_size, hidden_size, num_layers=1, dropout=0.0, bidirectional=False, batch_first=False):
        super().__init__()
        self.hidden_size, self.num_layers, self.bidirectional, self.batch_first = hidden_size, num_layers, bidirectional, batch_first
        self._directions = 2 if bidirectional else 1
        self.dropout = _Dropout(dropout)
        for number in range(num_layers * self._directions):
            cell = self._kind(hidden_size, whole_state=True)
            cell.build((1, 1, input_size if number < self._directions else hidden_size * self._directions))
            setattr(self, f"l{number}", cell)
        weights = "weight_ih", "weight_hh", "bias_ih", "bias_hh"
        self._names = {f"{name}_l{number // self._directions}" + "_reverse" * (number % self._directions): f"l{number}.{name}"
                       for number in range(num_layers * self._directions) for name in weights}

    @property
    def _cells(self):
        return [getattr(self, f"l{number}") for number in range(self.num_layers * self._directions)]

    @property
    def _parameters(self):
        """The parameters by PyTorch's names, such as weight_ih_l0."""
        arrays = {f"l{number}.{name}": array for number, cell in enumerate(self._cells) for name, array in cell._own()}
        return {name: arrays[own] for name, own in self._names.items()}

    @property
    def _flat_weights_names(self):
        return list(self._parameters)

    def flatten_parameters(self):
        """Does nothing: how parameters lie in memory is the library's business."""

    def _begin(self, state):
        return state

    def _end(self, lasts):
        return _op["stack"](lasts, 0)

    def forward(self, x, state=None):
        stack = Stack(self._cells, self.num_layers, self._directions, self.hidden_size, self.dropout)
        x, lasts = stack(x if self.batch_first else x.swapaxes(0, 1), None if state is None else self._begin(state))
        return (x if self.batch_first else x.swapaxes(0, 1)), self._end(lasts)


class RNN(_Recurrent):
    _kind = _RNN


class GRU(_Recurrent):
    _kind = _GRU


class LSTM(_Recurrent):
    """A state is a tuple of h and c."""
    _kind = _LSTM

    def _begin(self, state):
        return joined_state(*state)

    def _end(self, lasts):
        return parted_state(lasts, self.hidden_size)
