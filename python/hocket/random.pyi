# Written by tools/python_stubs.py from the package: do not edit.
import builtins as _b
from typing import Any

from . import Array, _ArrayLike, _Axes, _DeviceLike, _DTypeLike, _Shape

__all__ = ['Generator', 'bernoulli', 'categorical', 'choice', 'exponential', 'gamma', 'get_state', 'integers', 'normal', 'permutation', 'seed', 'set_state', 'shuffle', 'uniform']

class Generator:
    """A stream of its own, which gives the numbers that a thread's stream gives after ``hk.seed(seed)``."""
    def __init__(self, seed: Any) -> None: ...
    def bernoulli(self, probability: Any, shape: _Shape = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """True, or 1 of another dtype, with that probability."""
    def categorical(self, logits: Any) -> Array:
        """For each row along the last axis of logits, an index: index i with probability softmax(logits)[i]."""
    def choice(self, n: int, shape: _Shape = ..., *, replace: Any = ..., weights: Any = ..., p: Any = ..., device: _DeviceLike | None = ...) -> Array:
        """So many of 0 … n - 1 as the shape says; n may be an Array, whose entries along its first axis are chosen."""
    def exponential(self, shape: _Shape = ..., scale: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """Exponential with mean scale: float32 or float64."""
    def gamma(self, concentration: Any, shape: _Shape = ..., scale: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """Gamma with that concentration (often called shape) and scale: float32 or float64."""
    def get_state(self) -> tuple[int, int, int]:
        """Where the stream is: a tuple of three ints, for set_state."""
    def integers(self, low: Any, high: Any = ..., shape: _Shape = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """Integers low … high - 1, or 0 … low - 1, of any dtype of integers: of its whole range, too."""
    def normal(self, shape: _Shape = ..., mean: Any = ..., std: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """Normal: float32 or float64."""
    def permutation(self, x: Any, *, device: _DeviceLike | None = ...) -> Array:
        """0 … x - 1 in random order; of an Array, a copy with the entries of its first axis in random order."""
    def set_state(self, state: Any) -> None:
        """Goes on from there."""
    def shuffle(self, x: Any) -> Array:
        """A copy of x with the entries of its first axis in random order; recorded."""
    def uniform(self, shape: _Shape = ..., low: Any = ..., high: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
        """Uniform in [low, high): float32 or float64."""
def bernoulli(probability: Any, shape: _Shape = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """True, or 1 of another dtype, with that probability."""
def categorical(logits: Any) -> Array:
    """For each row along the last axis of logits, an index: index i with probability softmax(logits)[i]."""
def choice(n: int, shape: _Shape = ..., *, replace: Any = ..., weights: Any = ..., p: Any = ..., device: _DeviceLike | None = ...) -> Array:
    """So many of 0 … n - 1 as the shape says; n may be an Array, whose entries along its first axis are chosen."""
def exponential(shape: _Shape = ..., scale: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Exponential with mean scale: float32 or float64."""
def gamma(concentration: Any, shape: _Shape = ..., scale: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Gamma with that concentration (often called shape) and scale: float32 or float64."""
def get_state() -> tuple[int, int, int]:
    """Where the stream is: a tuple of three ints, for set_state."""
def integers(low: Any, high: Any = ..., shape: _Shape = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Integers low … high - 1, or 0 … low - 1, of any dtype of integers: of its whole range, too."""
def normal(shape: _Shape = ..., mean: Any = ..., std: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Normal: float32 or float64."""
def permutation(x: _ArrayLike, *, device: _DeviceLike | None = ...) -> Array:
    """0 … x - 1 in random order; of an Array, a copy with the entries of its first axis in random order."""
def seed(number: Any) -> None:
    """This thread's stream begins anew: the same seed, the same numbers, in any thread."""
def set_state(state: Any) -> None:
    """Goes on from there."""
def shuffle(x: _ArrayLike) -> Array:
    """A copy of x with the entries of its first axis in random order; recorded."""
def uniform(shape: _Shape = ..., low: Any = ..., high: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """Uniform in [low, high): float32 or float64."""
