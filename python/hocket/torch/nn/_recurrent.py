"""torch.nn.RNN, GRU and LSTM: steps along the first axis, layers upon each other, states of their own shape."""

from ... import _core, nn as _nn
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
        directions = 2 if bidirectional else 1
        self._cells = [self._kind(hidden_size, whole_state=True) for _ in range(num_layers * directions)]
        for number, cell in enumerate(self._cells):
            setattr(self, f"l{number}", cell)
            cell.build((1, 1, input_size if number < directions else hidden_size * directions))
        self.dropout = _Dropout(dropout)

    @property
    def _parameters(self):
        """The parameters by PyTorch's names, such as weight_ih_l0."""
        return {f"{name}_l{number}": array for number, cell in enumerate(self._cells) for name, array in cell._own()}

    @property
    def _flat_weights_names(self):
        return list(self._parameters)

    def _run(self, number, x, state):
        """The states after each step of a layer in one direction, in x's order of steps, and those after its last one."""
        backwards = self.bidirectional and number % 2
        states = self._cells[number](*(part for part in (_op["flip"](x, 1) if backwards else x, state) if part is not None))
        last = states[:, -1]
        return (_op["flip"](states, 1) if backwards else states), last

    def _begin(self, state):
        return [None] * len(self._cells) if state is None else list(state)

    def _end(self, lasts):
        return _op["stack"](lasts, 0)

    def _outputs(self, states):
        return states

    def forward(self, x, state=None):
        x = x if self.batch_first else x.swapaxes(0, 1)
        begin, lasts, directions = self._begin(state), [], 2 if self.bidirectional else 1
        for layer in range(self.num_layers):
            found = [self._run(number, x, begin[number]) for number in range(layer * directions, (layer + 1) * directions)]
            lasts += [last for _, last in found]
            outputs = [self._outputs(states) for states, _ in found]
            x = outputs[0] if directions == 1 else _op["concat"](outputs, 2)
            if layer < self.num_layers - 1:
                x = self.dropout(x)
        return (x if self.batch_first else x.swapaxes(0, 1)), self._end(lasts)


class RNN(_Recurrent):
    _kind = _RNN


class GRU(_Recurrent):
    _kind = _GRU


class LSTM(_Recurrent):
    """A state is a tuple of h and c."""
    _kind = _LSTM

    def _begin(self, state):
        return super()._begin(None if state is None else [_op["concat"]([h, c], 1) for h, c in zip(*state)])

    def _end(self, lasts):
        return tuple(_op["stack"]([part for part in parts], 0) for parts in
                     zip(*((last[:, :self.hidden_size], last[:, self.hidden_size:]) for last in lasts)))

    def _outputs(self, states):
        return states[:, :, :self.hidden_size]
