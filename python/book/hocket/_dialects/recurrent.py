"""Recurrent layers upon each other, with the states of each: what PyTorch and MXNet have as one layer."""

from .. import _core

_op = _core.operators


class Stack:
    """Cells are layers that give their states after each step: directions of the first layer, then those of the second, …"""

    def __init__(self, cells, layers, directions, features, dropout):
        self.cells, self.layers, self.directions, self.features, self.dropout = cells, layers, directions, features, dropout

    def _run(self, number, x, state):
        """The states after each step, in x's order, and those after the cell's last one."""
        backwards = number % self.directions
        states = self.cells[number](*(part for part in (_op["flip"](x, 1) if backwards else x, state) if part is not None))
        last = states[:, -1]
        return (_op["flip"](states, 1) if backwards else states), last

    def __call__(self, x, begin):
        """x (n, t, f), begin: a state (n, s) of each cell, or None. What the last layer gives, and the last state of each cell."""
        begin, lasts = [None] * len(self.cells) if begin is None else list(begin), []
        for layer in range(self.layers):
            numbers = range(layer * self.directions, (layer + 1) * self.directions)
            found = [self._run(number, x, begin[number]) for number in numbers]
            lasts += [last for _, last in found]
            outputs = [states[:, :, :self.features] for states, _ in found]
            x = outputs[0] if self.directions == 1 else _op["concat"](outputs, 2)
            if layer < self.layers - 1:
                x = self.dropout(x)
        return x, lasts


def joined_state(h, c):
    """States of LSTM cells, h beside c, of arrays (cells, n, features)."""
    return [_op["concat"]([one, other], 1) for one, other in zip(h, c)]


def parted_state(lasts, features):
    """h and c, each (cells, n, features)."""
    return tuple(_op["stack"]([last[:, begin:begin + features] for last in lasts], 0) for begin in (0, features))
