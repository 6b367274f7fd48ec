# Written by tools/python_stubs.py from the package: do not edit.
import builtins as _b
import sys
from collections.abc import Callable as _Callable, Generator as _Generator, Iterator as _Iterator, Sequence as _Sequence
from types import ModuleType as _ModuleType
from typing import Any, TypeVar as _TypeVar, final as _final

import numpy as _np

from . import (
    data as data, errors as errors, fft as fft, linalg as linalg, nn as nn, optim as optim, random as random, world as world,
)
from .errors import (
    DeviceError as DeviceError, Error as Error, IndexError as IndexError, MemoryError as MemoryError,
    UnsupportedError as UnsupportedError, ValueError as ValueError, ZeroDivisionError as ZeroDivisionError,
)

_Function = _TypeVar("_Function", bound=_Callable[..., Any])
_Number = int | float | complex
_ArrayLike = Array | _Number | _np.ndarray | _Sequence[Any]
_DTypeLike = DType | str | type | _np.dtype[Any]
_DeviceLike = Device | str
_Axes = int | _Sequence[int] | None
_Shape = int | _Sequence[int]

@_final
class Array:
    """An array: n-dimensional, of one dtype, on one device. Its values may still be on their way: looking at them waits."""
    @property
    def T(self) -> Array: ...
    @property
    def __array_interface__(self) -> dict[str, Any]: ...
    @property
    def device(self) -> Device: ...
    @property
    def dtype(self) -> DType: ...
    @property
    def grad(self) -> Array | None: ...
    @property
    def imag(self) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def mT(self) -> Array: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def ndim(self) -> int: ...
    @property
    def real(self) -> Array: ...
    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def size(self) -> int: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    def __array__(self, dtype: _DTypeLike | None = ..., copy: _b.bool | None = ...) -> _np.ndarray: ...
    def __array_namespace__(self, /, *, api_version: Any = ...) -> _ModuleType: ...
    def __await__(self) -> _Generator[Any, Any, Array]:
        """``await x`` is ``x.wait()`` that lets other coroutines run meanwhile."""
    def __bytes__(self) -> bytes:
        """The elements in memory, in C order. Waits."""
    def __complex__(self) -> complex: ...
    def __contains__(self, value: _ArrayLike) -> _b.bool: ...
    def __copy__(self) -> Array: ...
    def __deepcopy__(self, memo: Any) -> Array: ...
    def __divmod__(self, other: _ArrayLike) -> tuple[Array, Array]: ...
    def __dlpack__(self, /, *, stream: Any = ..., max_version: Any = ..., dl_device: Any = ..., copy: _b.bool | None = ...) -> Any:
        """A DLPack capsule over the array's own memory, where that can be, for reading: calls on it wait from then on. x.lend() has one for writing."""
    def __dlpack_device__(self, /) -> tuple[int, int]:
        """DLPack's kind of device, and its number."""
    def __format__(self, spec: Any) -> str: ...
    def __iter__(self) -> _Iterator[Array]: ...
    def __rdivmod__(self, other: _ArrayLike) -> tuple[Array, Array]: ...
    def __reduce__(self) -> Any: ...
    def __repr__(self) -> str:
        """As NumPy's: array([1., 2.], device='cpu:0'), with the dtype where it is not float32. Waits for the values."""
    def __reversed__(self) -> _Iterator[Array]: ...
    def __round__(self, digits: Any = ...) -> Any: ...
    def __trunc__(self) -> int: ...
    def all(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Whether all elements along axes, or at all, are true or not 0."""
    def any(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Whether any element along axes, or at all, is true or not 0."""
    def argmax(self, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
        """Index of the largest element along an axis, or of all: of the first of several."""
    def argmin(self, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
        """Index of the smallest element along an axis, or of all: of the first of several."""
    def argsort(self, /, axis: _Axes = ..., *, descending: _b.bool = ..., stable: _b.bool = ...) -> Array:
        """Indices along an axis that put its elements in order; equal ones stay in theirs."""
    def astype(self, dtype: _DTypeLike | None, /, *, copy: _b.bool | None = ..., device: _DeviceLike | None = ...) -> Array:
        """x as another dtype. Floats are rounded towards 0 for integers; a value that the dtype does not have fails the result."""
    def attach_grad(self, /, mode: str = ...) -> Array:
        """Wants the gradient of this array of floats, zeros at first. mode: 'write', each backward pass that reaches it overwrites its gradient; 'add', each adds to it; 'track', the array is recorded for hk.gradients, without a gradient of its own; 'null', ends the attachment. Returns the array."""
    def backward(self, /, dy: Any = ..., keep: Any = ...) -> Array:
        """Computes the gradients of the sum of this array, or with dy of the sum of dy times it, for every attached array that it was computed from. keep: the tape stays, for a further pass over it. Does not wait."""
    def clip(self, /, min: Any = ..., max: Any = ...) -> Array:
        """x between min and max, numbers or arrays; None: no bound. A bound that is NaN gives NaN."""
    def conj(self) -> Array:
        """Complex conjugates; the array itself where it is real."""
    def copy(self) -> Array:
        """The same values in memory of its own."""
    def cumprod(self, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
        """Products of all elements up to each along an axis; with include_initial a 1 comes first."""
    def cumsum(self, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
        """Sums of all elements up to each along an axis; with include_initial a 0 comes first."""
    def cumulative_prod(self, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
        """Products of all elements up to each along an axis; with include_initial a 1 comes first."""
    def cumulative_sum(self, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
        """Sums of all elements up to each along an axis; with include_initial a 0 comes first."""
    def detach(self, /) -> Array:
        """A view that no gradient flows through."""
    def dot(self, other: _ArrayLike) -> Array:
        """Matrix product; with a number the product."""
    def fill(self, value: _ArrayLike) -> None:
        """Every element becomes the value."""
    def flatten(self) -> Array:
        """The elements in C order along one axis: a copy."""
    def is_ready(self, /) -> _b.bool:
        """Whether wait() would not block."""
    def item(self, /) -> Any:
        """The only element, as a Python number. Waits for it."""
    def lend(self, /) -> Any:
        """The array's own memory for other libraries to write into, by the buffer protocol and DLPack: np.asarray(x.lend())[0] = 5. Calls on it wait from then on; gradients that are to read the array fail. np.asarray(x) is for reading."""
    def max(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Largest element along axes, or of all; NaN where one is."""
    def mean(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Mean along axes, or of all."""
    def min(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Smallest element along axes, or of all; NaN where one is."""
    def nonzero(self, /) -> tuple[Array, ...]:
        """Indices along each axis of the elements that are not 0, in C order. Waits for x."""
    def numpy(self) -> _np.ndarray:
        """The values as a NumPy array, with memory of its own; bfloat16 as float32. Waits for them."""
    def prod(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Product along axes, or of all; dtypes as of sum."""
    def ravel(self, /) -> Array:
        """The elements in C order along one axis."""
    def repeat(self, repeats: Any, /, *, axis: _Axes = ...) -> Array:
        """Each entry of an axis several times in a row: as often for all, or as an array of integers says."""
    def reshape(self, *shape: Any, copy: _b.bool | None = ...) -> Array:
        """reshape(2, -1) or reshape((2, -1)): see hocket.reshape."""
    def squeeze(self, /, axis: _Axes = ...) -> Array:
        """x without these axes, of size 1; without any given, all of size 1."""
    def std(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Standard deviation along axes, or of all: the square root of var."""
    def sum(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Sum along axes, or of all; of bools and signed integers int64, of unsigned ones uint64. Of a dtype of integers it wraps around."""
    def swapaxes(self, axis1: Any, axis2: Any, /) -> Array:
        """x with two axes exchanged: a view."""
    def take(self, indices: _ArrayLike, /, *, axis: _Axes = ...) -> Array:
        """The entries of an axis, or elements of the flat array, that indices names."""
    def to_device(self, device: _DeviceLike | None, /, *, stream: Any = ...) -> Array:
        """The array on a device: itself where it is there already."""
    def tobytes(self) -> bytes:
        """The elements as bytes, in C order. Waits."""
    def tolist(self, /) -> Any:
        """The elements as nested lists; of an array () the number. Waits for them."""
    def transpose(self, *axes: Any) -> Array:
        """Axes in reverse order, or in the order given: a view."""
    def var(self, axis: _Axes = ..., dtype: _DTypeLike | None = ..., out: Array | None = ..., keepdims: _b.bool = ..., **options: Any) -> Array:
        """Variance along axes, or of all: squared distances from the mean, over how many they are less correction."""
    def wait(self, /) -> None:
        """Waits for the values; raises what made them fail. Returns the array."""

    def __getitem__(self, key: Any, /) -> Array: ...
    def __setitem__(self, key: Any, value: _ArrayLike, /) -> None: ...
    def __len__(self) -> int: ...
    def __bool__(self) -> _b.bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __hash__(self) -> int: ...
    if sys.version_info >= (3, 12):
        def __buffer__(self, flags: int, /) -> memoryview: ...
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, out: Any = ..., **options: Any) -> Any: ...
    def __pow__(self, other: _ArrayLike, mod: None = ..., /) -> Array: ...
    def __rpow__(self, other: _ArrayLike, mod: None = ..., /) -> Array: ...
    def __ipow__(self, other: _ArrayLike, /) -> Array: ...  # type: ignore[misc]
    def __neg__(self) -> Array: ...
    def __pos__(self) -> Array: ...
    def __abs__(self) -> Array: ...
    def __invert__(self) -> Array: ...
    def __add__(self, other: _ArrayLike, /) -> Array: ...
    def __radd__(self, other: _ArrayLike, /) -> Array: ...
    def __iadd__(self, other: _ArrayLike, /) -> Array: ...
    def __sub__(self, other: _ArrayLike, /) -> Array: ...
    def __rsub__(self, other: _ArrayLike, /) -> Array: ...
    def __isub__(self, other: _ArrayLike, /) -> Array: ...
    def __mul__(self, other: _ArrayLike, /) -> Array: ...
    def __rmul__(self, other: _ArrayLike, /) -> Array: ...
    def __imul__(self, other: _ArrayLike, /) -> Array: ...
    def __truediv__(self, other: _ArrayLike, /) -> Array: ...
    def __rtruediv__(self, other: _ArrayLike, /) -> Array: ...
    def __itruediv__(self, other: _ArrayLike, /) -> Array: ...
    def __floordiv__(self, other: _ArrayLike, /) -> Array: ...
    def __rfloordiv__(self, other: _ArrayLike, /) -> Array: ...
    def __ifloordiv__(self, other: _ArrayLike, /) -> Array: ...
    def __mod__(self, other: _ArrayLike, /) -> Array: ...
    def __rmod__(self, other: _ArrayLike, /) -> Array: ...
    def __imod__(self, other: _ArrayLike, /) -> Array: ...
    def __matmul__(self, other: _ArrayLike, /) -> Array: ...
    def __rmatmul__(self, other: _ArrayLike, /) -> Array: ...
    def __imatmul__(self, other: _ArrayLike, /) -> Array: ...
    def __and__(self, other: _ArrayLike, /) -> Array: ...
    def __rand__(self, other: _ArrayLike, /) -> Array: ...
    def __iand__(self, other: _ArrayLike, /) -> Array: ...
    def __or__(self, other: _ArrayLike, /) -> Array: ...
    def __ror__(self, other: _ArrayLike, /) -> Array: ...
    def __ior__(self, other: _ArrayLike, /) -> Array: ...
    def __xor__(self, other: _ArrayLike, /) -> Array: ...
    def __rxor__(self, other: _ArrayLike, /) -> Array: ...
    def __ixor__(self, other: _ArrayLike, /) -> Array: ...
    def __lshift__(self, other: _ArrayLike, /) -> Array: ...
    def __rlshift__(self, other: _ArrayLike, /) -> Array: ...
    def __ilshift__(self, other: _ArrayLike, /) -> Array: ...
    def __rshift__(self, other: _ArrayLike, /) -> Array: ...
    def __rrshift__(self, other: _ArrayLike, /) -> Array: ...
    def __irshift__(self, other: _ArrayLike, /) -> Array: ...
    def __lt__(self, other: _ArrayLike, /) -> Array: ...
    def __le__(self, other: _ArrayLike, /) -> Array: ...
    def __eq__(self, other: _ArrayLike, /) -> Array: ...  # type: ignore[override]
    def __ne__(self, other: _ArrayLike, /) -> Array: ...  # type: ignore[override]
    def __gt__(self, other: _ArrayLike, /) -> Array: ...
    def __ge__(self, other: _ArrayLike, /) -> Array: ...

@_final
class DType:
    """An element type. Equal to its name, and to NumPy's and PyTorch's dtype of that name."""
    @property
    def __numpy_dtype__(self) -> Any: ...
    @property
    def dtype(self) -> Any: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def name(self) -> str: ...

@_final
class Device:
    """A device, such as 'cpu:0', 'sim:1' or 'cuda:0'. Equal to its name."""
    def __new__(cls, name: str) -> Device: ...
    @property
    def cores(self) -> int: ...
    @property
    def description(self) -> str: ...
    @property
    def index(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def type(self) -> str: ...

class finfo:
    """Limits of a dtype of floats, or of the parts of complex numbers: bits, eps, max, min, smallest_normal, dtype."""
    def __init__(self, type: _DTypeLike | Array, /) -> None: ...
    dtype: DType
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
class iinfo:
    """Limits of a dtype of integers: bits, max, min, dtype."""
    def __init__(self, type: _DTypeLike | Array, /) -> None: ...
    dtype: DType
    bits: int
    max: int
    min: int

__array_api_version__: str
bfloat16: DType
bool: DType
complex128: DType
complex64: DType
e: float
float16: DType
float32: DType
float64: DType
inf: float
int16: DType
int32: DType
int64: DType
int8: DType
nan: float
newaxis: None
pi: float
uint16: DType
uint32: DType
uint64: DType
uint8: DType

class Kernel:
    """A compiled function as a task: see hk.kernel."""
    def __call__(self, *, reads: Any = ..., writes: Any = ..., updates: Any = ..., accumulates: Any = ..., args: Any = ..., priority: Any = ...) -> Any: ...
    def __init__(self, address: Any, name: Any, owner: Any = ...) -> None: ...
class Model:
    """A network from a file (ONNX), which is called like a function::"""
    def __call__(self, *inputs: Any, **named: Any) -> Any: ...
    def __init__(self, path: Any, device: _DeviceLike | None = ..., format: Any = ..., trainable: Any = ...) -> None: ...
    def parameters(self) -> Any:
        """Of a trainable network: its Arrays by their names in the file. Writing one changes what the network computes."""
class Promise:
    """Arrays that something else will fill: see hk.promise."""
    def __init__(self, handle: Any) -> None: ...
    def fail(self, message: Any) -> Any:
        """The Arrays fail by this message, and everything that reads them."""
    @property
    def is_open(self) -> Any: ...
    def keep(self) -> Any:
        """The Arrays are as they are to be: what waits for them goes on. Any thread may call it, once."""
    def view(self, index: Any = ...) -> Any:
        """The memory of an Array, writes first, as a NumPy array (a memoryview where there is no NumPy). It is not to be used after keep."""
class Tokenizer:
    """What turns texts into the ids that a network reads, from a tokenizer.json of Hugging Face: byte-level BPE or WordPiece::"""
    def __init__(self, path: Any) -> None: ...
    def decode(self, ids: Any, special: Any = ...) -> Any:
        """The text of ids, a list or an Array with one axis. Special tokens are left out unless ``special``."""
    def encode(self, text: Any, pair: Any = ..., special: Any = ..., special_as_text: Any = ..., most: Any = ...) -> Any:
        """The ids of a text, or of two, as a list of ints."""
    def encode_batch(self, texts: Any, special: Any = ..., special_as_text: Any = ..., most: Any = ..., least: Any = ..., pad_left: Any = ...) -> Any:
        """The ids of many texts, or of pairs (text, text), as a named tuple of Arrays (texts, tokens): ids, mask and types; and lengths, of how many tokens are no padding."""
    def id(self, token: Any) -> Any:
        """The id of a token, as ``"[SEP]"``, or None."""
    def is_special(self, id: Any) -> Any:
        """Whether decoding leaves it out."""
    @property
    def size(self) -> Any: ...
    def token(self, id: Any) -> Any:
        """The token of that id as the file has it, or None."""
class function:
    """A function of Arrays with a gradient of its own."""
    def __call__(self, *args: Any, **options: Any) -> Any: ...
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __init__(self, forward: Any = ..., *, reads: Any = ...) -> None: ...
    def gradient(self, backward: Any) -> Any:
        """Decorates the function that gives the gradient."""
class pause:
    """``with hk.pause():`` within a recording: nothing is noted."""
    def __call__(self, func: _Function) -> _Function: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...
class priority:
    """Calls that this thread issues within it, Hocket's own too, have this priority: of what is ready, the highest goes first."""
    def __enter__(self) -> Any: ...
    def __exit__(self, *_: Any) -> None: ...
    def __init__(self, value: Any) -> None: ...
class record:
    """``with hk.record():`` notes the calls of this thread, so that gradients can follow from them."""
    def __call__(self, func: _Function) -> _Function: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...
class trace:
    """``with hk.trace("run.html"):`` records what really ran, where and when, and writes it: .html, .svg, .json (Chrome, Perfetto), .dot or .txt. Without a path nothing is written."""
    def __deepcopy__(self, memo: Any) -> Any: ...
    def __enter__(self) -> Any: ...
    def __exit__(self, *exception: Any) -> None: ...
    def __init__(self, path: Any = ..., memory_bytes: Any = ...) -> None: ...
    def graph(self) -> Any:
        """What waited for what: an object that shows itself in a notebook; str() of it is for graphviz."""
    def overlap_ns(self, a: Any, b: Any) -> Any:
        """How long calls of operation a ran while calls of b did; either may be a list such as 'conv2d*,@copy'."""
    def summary(self) -> Any:
        """Times in nanoseconds and counts, as a dict."""
    def svg(self) -> Any:
        """The picture."""
    def text(self) -> Any:
        """The summary for people."""
    def write(self, path: Any) -> Any:
        """Writes the recording once more, whole or not at all."""

def __array_namespace_info__() -> Any:
    """What can be asked of this namespace: devices, dtypes, defaults."""
def abs(x: _ArrayLike) -> Array:
    """Absolute value. The gradient at 0 is 0."""
def acos(x: _ArrayLike) -> Array:
    """Arc cosine, from 0 to pi; NaN outside of [-1, 1]."""
def acosh(x: _ArrayLike) -> Array:
    """Inverse hyperbolic cosine; NaN below 1."""
def add(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Sum."""
def all(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Whether all elements along axes, or at all, are true or not 0."""
def all_reduce(arrays: Any) -> Any:
    """Replaces each of these arrays, one for each device, by their sum, in place. Does not wait."""
def allclose(x1: _ArrayLike, x2: _ArrayLike, rtol: float = ..., atol: float = ..., equal_nan: _b.bool = ...) -> _b.bool:
    """Whether isclose holds everywhere, as Python's bool. Waits."""
def angle(x: _ArrayLike) -> Array:
    """Angles of complex numbers, from -pi to pi, as float32 or float64: atan2 of both parts."""
def any(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Whether any element along axes, or at all, is true or not 0."""
def arange(start: Any, /, stop: Any = ..., step: Any = ..., *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """start, start + step, … up to stop, which is not included: int64 of ints, else float32."""
def argmax(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Index of the largest element along an axis, or of all: of the first of several."""
def argmin(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Index of the smallest element along an axis, or of all: of the first of several."""
def argsort(x: _ArrayLike, /, axis: _Axes = ..., *, descending: _b.bool = ..., stable: _b.bool = ...) -> Array:
    """Indices along an axis that put its elements in order; equal ones stay in theirs."""
def array(obj: Any, /, dtype: _DTypeLike | None = ..., *, device: _DeviceLike | None = ..., copy: _b.bool | None = ...) -> Array:
    """As asarray; an Array is copied."""
def array_equal(x1: _ArrayLike, x2: _ArrayLike) -> _b.bool:
    """Whether shapes and elements are equal, as Python's bool. Waits."""
def asarray(obj: Any, /, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ..., copy: _b.bool | None = ...) -> Array:
    """An array of a number, nested sequences, or anything with a buffer or DLPack, such as NumPy's arrays."""
def asin(x: _ArrayLike) -> Array:
    """Arc sine, from -pi / 2 to pi / 2; NaN outside of [-1, 1]."""
def asinh(x: _ArrayLike) -> Array:
    """Inverse hyperbolic sine."""
def astype(x: _ArrayLike, dtype: _DTypeLike | None, /, *, copy: _b.bool | None = ..., device: _DeviceLike | None = ...) -> Array:
    """x as another dtype. Floats are rounded towards 0 for integers; a value that the dtype does not have fails the result."""
def atan(x: _ArrayLike) -> Array:
    """Arc tangent, from -pi / 2 to pi / 2."""
def atan2(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Angle of the point (y, x), from -pi to pi: of x / y, in the quadrant that the signs tell. The gradient at (0, 0) is 0."""
def atanh(x: _ArrayLike) -> Array:
    """Inverse hyperbolic tangent; NaN outside of [-1, 1]."""
def backward(losses: Any, dy: Any = ..., *, keep: Any = ...) -> Any:
    """Computes the gradients of the sum of all these arrays, on any devices, in one pass. Does not wait."""
def bincount(x: _ArrayLike, /, weights: Any = ..., minlength: Any = ...) -> Array:
    """How often each of 0, 1, … occurs in x; with weights their sums. Waits for x."""
def bitwise_and(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Bits that are set in both."""
def bitwise_invert(x: _ArrayLike) -> Array:
    """Bits that are not set; the other truth value for bool."""
def bitwise_left_shift(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Bits moved up by y places, those above lost; 0 where there are no more. A negative y fails the result."""
def bitwise_or(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Bits that are set in one of them."""
def bitwise_right_shift(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Bits moved down by y places, filled with the sign: x over 2 ** y, rounded down. A negative y fails the result."""
def bitwise_xor(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Bits that are set in just one of them."""
def broadcast_arrays(*arrays: Any) -> tuple[Array, ...]:
    """Views of one shape, to which all are stretched."""
def broadcast_shapes(*shapes: _Shape) -> tuple[int, ...]:
    """The shape that arrays of these shapes have together."""
def broadcast_to(x: _ArrayLike, /, shape: _Shape) -> Array:
    """x stretched to the shape: a view, read only."""
def can_cast(from_: Any, to: Any, /) -> _b.bool:
    """Whether every value of from_, an array or a dtype, has a place in the dtype to."""
def capture(function: Any = ..., *, exact: Any = ...) -> Any:
    """``@hk.capture``: the calls that the function makes are noted, and from then on done again without it."""
def ceil(x: _ArrayLike) -> Array:
    """Rounded up to a whole number; integers stay."""
def clip(x: _ArrayLike, /, min: Any = ..., max: Any = ...) -> Array:
    """x between min and max, numbers or arrays; None: no bound. A bound that is NaN gives NaN."""
def complex_of(real: Any, imag: Any) -> Array:
    """Complex numbers of these parts, which are broadcast: complex64 of float32, complex128 where one is float64."""
def concat(arrays: Any, /, *, axis: _Axes = ...) -> Array:
    """Arrays one behind the other along an axis; with None flat."""
def concatenate(arrays: Any, /, *, axis: _Axes = ...) -> Array:
    """Arrays one behind the other along an axis; with None flat."""
def conj(x: _ArrayLike) -> Array:
    """Complex conjugates: imaginary parts with the other sign; a view of x where it is real."""
def copy(x: _ArrayLike) -> Array:
    """The same values in new memory, C order."""
def copysign(x: _ArrayLike, y: _ArrayLike) -> Array:
    """x with the sign of y, also of its zeros and NaNs."""
def cos(x: _ArrayLike) -> Array:
    """Cosine."""
def cosh(x: _ArrayLike) -> Array:
    """Hyperbolic cosine."""
def cosine_similarity(x: _ArrayLike, y: _ArrayLike, axis: _Axes = ...) -> Array:
    """Cosine of the angle between vectors of x and y along an axis, which goes: -1 to 1. Norms below 1e-8 count as that."""
def count_nonzero(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """How many elements along axes, or of all, are not 0."""
def cumprod(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
    """Products of all elements up to each along an axis; with include_initial a 1 comes first."""
def cumsum(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
    """Sums of all elements up to each along an axis; with include_initial a 0 comes first."""
def cumulative_max(x: _ArrayLike, /, axis: _Axes = ...) -> tuple[Array, Array]:
    """The largest of all elements up to each along an axis, and where it is; of equal ones the last."""
def cumulative_min(x: _ArrayLike, /, axis: _Axes = ...) -> tuple[Array, Array]:
    """The smallest of all elements up to each along an axis, and where it is; of equal ones the last."""
def cumulative_prod(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
    """Products of all elements up to each along an axis; with include_initial a 1 comes first."""
def cumulative_sum(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., include_initial: _b.bool = ...) -> Array:
    """Sums of all elements up to each along an axis; with include_initial a 0 comes first."""
def devices() -> list[Device]:
    """The devices of this process, as a list."""
def diff(x: _ArrayLike, /, *, axis: _Axes = ..., n: int = ..., prepend: Any = ..., append: Any = ...) -> Array:
    """What each element along an axis is more than the one before; n times."""
def divide(x1: _ArrayLike, x2: _ArrayLike, /) -> Array:
    """x1 / x2; of integers as float32."""
def einsum(subscripts: str, /, *arrays: Any) -> Array:
    """Sums of products by Einstein's convention: einsum("ij,jk->ik", x, y) is a matrix product."""
def empty(shape: _Shape, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """As zeros: no memory is read that was never written."""
def empty_like(x: _ArrayLike, /, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """As empty, of x's shape, and of its dtype and device unless others are given."""
def equal(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x and y are equal, as bool."""
def erf(x: _ArrayLike) -> Array:
    """Error function."""
def exp(x: _ArrayLike) -> Array:
    """Exponential function."""
def expand_dims(x: _ArrayLike, /, axis: _Axes = ...) -> Array:
    """x with axes of size 1, at these places in the result."""
def expm1(x: _ArrayLike) -> Array:
    """Exponential function less 1, precise near 0."""
def export(function: Any, inputs: Any, path: Any, *, input_names: Any = ..., output_names: Any = ..., batch: Any = ..., format: Any = ...) -> Any:
    """Writes what a Module, or another function of Arrays, makes of inputs like these as a file that others read (ONNX)::"""
def eye(n_rows: Any, n_cols: Any = ..., /, *, k: int = ..., dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """A matrix of ones on diagonal k, and of zeros elsewhere."""
def flip(x: _ArrayLike, /, *, axis: _Axes = ...) -> Array:
    """x with the order along these axes, or all, reversed: a view."""
def floor(x: _ArrayLike) -> Array:
    """Rounded down to a whole number; integers stay."""
def floor_divide(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Quotient rounded down. An integer divisor of 0 fails the result; no gradient flows."""
def from_dlpack(x: _ArrayLike, /, *, device: _DeviceLike | None = ..., copy: _b.bool | None = ...) -> Array:
    """An array over the memory of x, which has __dlpack__. With copy=True over memory of its own."""
def full(shape: _Shape, fill_value: _ArrayLike, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """An array of one number; its dtype is the number's (bool, int64, float32, complex64) unless dtype says otherwise."""
def full_like(x: _ArrayLike, /, fill_value: _ArrayLike, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """As full, of x's shape, and of its dtype and device unless others are given."""
def grad(function: Any, argnums: Any = ...) -> Any:
    """A function that gives the gradient of function by an argument: see value_and_grad."""
def gradients(ys: Any, xs: Any, dy: Any = ..., *, keep: Any = ..., create_graph: Any = ...) -> Any:
    """The gradients of the sum of ys by each of xs, as new arrays: of one Array xs an Array, else a list. Does not wait."""
def greater(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x is greater than y, as bool."""
def greater_equal(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x is at least y, as bool."""
def histogram(x: _ArrayLike, bins: Any, low: Any, high: Any) -> Array:
    """How many elements of x lie in each of so many bins of one width from low to high: int64 (bins,)."""
def hypot(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Length of the hypotenuse, without overflow on the way. The gradient at 0 is 0."""
def imag(x: _ArrayLike) -> Array:
    """Imaginary parts of complex numbers, as float32 or float64; zeros where x is real."""
def is_recording() -> Any:
    """Whether calls of this thread are noted for gradients."""
def isclose(x1: _ArrayLike, x2: _ArrayLike, rtol: float = ..., atol: float = ..., equal_nan: _b.bool = ...) -> Array:
    """Whether |x1 - x2| <= atol + rtol |x2|, element by element."""
def isdtype(dtype: _DTypeLike | None, kind: Any) -> _b.bool:
    """Whether dtype is of a kind, such as "integral", or is a dtype; of a tuple, whether one of them holds."""
def isfinite(x: _ArrayLike) -> Array:
    """Whether x is a finite number, as bool."""
def isin(x1: _ArrayLike, x2: _ArrayLike, /, *, invert: _b.bool = ...) -> Array:
    """Whether each element of x1 is one of x2. Of complex numbers it waits."""
def isinf(x: _ArrayLike) -> Array:
    """Whether x is infinite, as bool."""
def isnan(x: _ArrayLike) -> Array:
    """Whether x is NaN, as bool."""
def jvp(function: Any, args: Any, tangents: Any) -> Any:
    """(the result of function, how it changes to first order where its arguments move along the tangents): Jacobian-vector products."""
def kernel(function: Any, *, name: Any = ...) -> Any:
    """A compiled function that can be called on Arrays, as a task on a core: without the GIL, at the same time as others."""
def kernel_from_c(source: Any, name: Any, *, compiler: Any = ..., options: Any = ...) -> Any:
    """hk.kernel of a function in C, which is compiled now: see there. source: C that defines ``name``; <stdint.h> and <math.h> are included."""
def kron(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Kronecker product: each element of x times all of y, as blocks. The one with fewer axes, 4 at most, has axes of size 1 in front."""
def less(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x is less than y, as bool."""
def less_equal(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x is at most y, as bool."""
def linspace(start: Any, stop: Any, /, num: int, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ..., endpoint: _b.bool = ...) -> Array:
    """num numbers from start to stop at even distances; float32, or complex64 of complex ones, unless dtype says otherwise."""
def load(path: Any, *, names: Any = ..., device: _DeviceLike | None = ..., map: Any = ..., format: Any = ..., wait: Any = ...) -> Any:
    """Loads a file of save, NumPy's or PyTorch's: a dict of Arrays with .metadata; of an npy file the Array."""
def load_checkpoint(path: Any, **parts: Any) -> Any:
    """What save_checkpoint saved: loads those of the given parts that have load(), and the random stream; gives the others as a dict."""
def log(x: _ArrayLike) -> Array:
    """Natural logarithm: -inf for 0, NaN below."""
def log10(x: _ArrayLike) -> Array:
    """Logarithm to base 10: -inf for 0, NaN below."""
def log1p(x: _ArrayLike) -> Array:
    """Natural logarithm of 1 + x, precise near 0."""
def log2(x: _ArrayLike) -> Array:
    """Logarithm to base 2: -inf for 0, NaN below."""
def logaddexp(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Logarithm of the sum of exponentials, without overflow on the way. Where both are -inf the gradient is 0."""
def logical_and(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether both hold, as bool."""
def logical_not(x: _ArrayLike) -> Array:
    """Whether x does not hold, as bool."""
def logical_or(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether one of them holds, as bool."""
def logical_xor(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether just one of them holds, as bool."""
def logsumexp(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Logarithm of the sum of exponentials along axes, or of all."""
def matmul(x1: _ArrayLike, x2: _ArrayLike, /) -> Array:
    """Matrix product over the last two axes; the others are batches, which broadcast."""
def matrix_transpose(x: _ArrayLike, /) -> Array:
    """x with its last two axes exchanged: a view."""
def max(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Largest element along axes, or of all; NaN where one is."""
def maximum(x: _ArrayLike, y: _ArrayLike) -> Array:
    """The larger one; NaN if either is. Where both are equal, each gets half of the gradient."""
def mean(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Mean along axes, or of all."""
def median(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """The element in the middle of those in order, or the mean of the two that are, along axes or of all."""
def meshgrid(*arrays: Any, indexing: str = ...) -> tuple[Array, ...]:
    """Grids of coordinates: a tuple of views of one shape, read only."""
def min(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """Smallest element along axes, or of all; NaN where one is."""
def minimum(x: _ArrayLike, y: _ArrayLike) -> Array:
    """The smaller one; NaN if either is. Where both are equal, each gets half of the gradient."""
def moveaxis(x: _ArrayLike, source: Any, destination: Any, /) -> Array:
    """x with these axes at those places: a view."""
def multiply(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Product."""
def nanmedian(x: _ArrayLike, /, axis: _Axes = ..., *, keepdims: _b.bool = ...) -> Array:
    """median of the elements that are no NaN; NaN where all are."""
def nanquantile(x: _ArrayLike, q: Any, /, axis: _Axes = ..., *, method: Any = ..., keepdims: _b.bool = ...) -> Array:
    """quantile of the elements that are no NaN; NaN where all are."""
def negative(x: _ArrayLike) -> Array:
    """The opposite."""
def nextafter(x: _ArrayLike, y: _ArrayLike) -> Array:
    """The number of the dtype that is next to x in the direction of y; y where they are equal."""
def nonzero(x: _ArrayLike, /) -> tuple[Array, ...]:
    """Indices along each axis of the elements that are not 0, in C order. Waits for x."""
def not_equal(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Whether x and y differ, as bool."""
def ones(shape: _Shape, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """An array of ones; float32 unless dtype says otherwise."""
def ones_like(x: _ArrayLike, /, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """As ones, of x's shape, and of its dtype and device unless others are given."""
def pad(x: _ArrayLike, pad_width: Any, mode: str = ..., constant_values: Any = ...) -> Array:
    """x with entries added at both ends of its axes: pad_width is a number, a pair, or a pair for each axis."""
def permute_dims(x: _ArrayLike, /, axes: Any) -> Array:
    """x with its axes in this order: a view."""
def pin(x: _ArrayLike) -> Array:
    """The same values in page-locked memory of the host, C order: accelerators copy from and to it at full speed, from other memory by way of a buffer. A view of x where it is pinned already, on an accelerator, and where there are no accelerators."""
def positive(x: _ArrayLike, /) -> Array:
    """x itself."""
def pow(x1: _ArrayLike, x2: _ArrayLike, /) -> Array:
    """x1 to the power of x2."""
def power(x1: _ArrayLike, x2: _ArrayLike, /) -> Array:
    """x1 to the power of x2."""
def prod(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., keepdims: _b.bool = ...) -> Array:
    """Product along axes, or of all; dtypes as of sum."""
def promise(*, writes: Any = ..., updates: Any = ..., name: Any = ...) -> Any:
    """A Promise to fill Arrays: calls that use them may be issued at once, and run when it has been kept, by whatever thread."""
def quantile(x: _ArrayLike, q: Any, /, axis: _Axes = ..., *, method: Any = ..., keepdims: _b.bool = ...) -> Array:
    """What lies at place q (n - 1) of n elements in order, along axes or of all; q is a number from 0 to 1, or a list of such."""
def ravel(x: _ArrayLike, /) -> Array:
    """The elements in C order along one axis."""
def real(x: _ArrayLike) -> Array:
    """Real parts of complex numbers, as float32 or float64; a view of x where it is real."""
def reciprocal(x: _ArrayLike) -> Array:
    """Reciprocal."""
def relu(x: _ArrayLike) -> Array:
    """Rectified linear unit; NaN for NaN. The gradient at 0 is 0."""
def remainder(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Remainder, of the divisor's sign. An integer divisor of 0 fails the result; of floats it gives NaN."""
def repeat(x: _ArrayLike, repeats: Any, /, *, axis: _Axes = ...) -> Array:
    """Each entry of an axis several times in a row: as often for all, or as an array of integers says."""
def reshape(x: _ArrayLike, /, shape: _Shape, *, copy: _b.bool | None = ...) -> Array:
    """The elements in C order under another shape, of which one size may be -1: a view where that can be."""
def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that these give together. Python's numbers take that of the others, if it is of a kind to hold them."""
def roll(x: _ArrayLike, /, shift: Any, *, axis: _Axes = ...) -> Array:
    """x shifted along axes, or flat: what falls off the end comes in at the front."""
def round(x: _ArrayLike) -> Array:
    """Rounded to the nearest whole number, halves to the even one; integers stay."""
def rsqrt(x: _ArrayLike) -> Array:
    """Reciprocal square root: infinite for 0, NaN below."""
def runtime(*, cpu_devices: Any = ..., cpu_cores: Any = ..., engine: Any = ..., run_ahead_calls: Any = ..., run_ahead_bytes: Any = ..., inline_ns: Any = ..., memory_bytes: Any = ..., sim: Any = ..., cuda: Any = ..., cuda_memory_bytes: Any = ..., cuda_tf32: Any = ..., cuda_own_sums: Any = ..., flush_subnormals: Any = ...) -> Any:
    """Starts the runtime, before the first call that needs it. Zeros mean the defaults; each has an environment variable."""
def save(path: Any, arrays: Any, *, metadata: Any = ..., compress: Any = ..., format: Any = ..., wait: Any = ...) -> Any:
    """Saves arrays as one file; waits until it is on disk, whole."""
def save_checkpoint(path: Any, **parts: Any) -> Any:
    """Saves a training as one file, .safetensors, from which load_checkpoint goes on."""
def scatter(x: _ArrayLike, indices: _ArrayLike, updates: Any, axis: _Axes = ...) -> Array:
    """x, but at the entry along axis that each element of indices names, as in take_along_axis, the same element of updates."""
def scatter_add(x: _ArrayLike, indices: _ArrayLike, updates: Any, axis: _Axes = ...) -> Array:
    """x, and to the entry along axis that each element of indices names, as in take_along_axis, the same element of updates added."""
def searchsorted(x1: _ArrayLike, x2: _ArrayLike, /, *, side: str = ..., sorter: Any = ...) -> Array:
    """Where each element of x2 goes into x1, sorted, to keep its order; "right": behind those that are equal."""
def seed(number: Any) -> Any:
    """This thread's stream begins anew: the same seed, the same numbers, in any thread."""
def sigmoid(x: _ArrayLike) -> Array:
    """Logistic function."""
def sign(x: _ArrayLike) -> Array:
    """-1, 0 or 1; NaN for NaN."""
def signbit(x: _ArrayLike) -> Array:
    """Whether the sign of x is -, as bool; also of -0 and of NaN."""
def sin(x: _ArrayLike) -> Array:
    """Sine."""
def sinh(x: _ArrayLike) -> Array:
    """Hyperbolic sine."""
def sliding_window(x: _ArrayLike, size: Any, axis: _Axes = ..., step: Any = ...) -> Array:
    """Windows of so many entries along an axis, step entries apart: the axis counts them, and a last axis has the entries of each."""
def sort(x: _ArrayLike, /, axis: _Axes = ..., *, descending: _b.bool = ..., stable: _b.bool = ...) -> Array:
    """Elements in order along an axis; NaNs count as the largest."""
def split(x: _ArrayLike, indices_or_sections: Any, axis: _Axes = ...) -> list[Array]:
    """Views of parts along an axis: so many of one size, or cut in front of these indices."""
def split_and_load(x: _ArrayLike, devices: Any, shares: Any = ...) -> Any:
    """Slices of the first axis of x, one on each device, as a list. shares: their sizes; else whole runs of 16 samples, where there are enough for all devices, so that sums over the batch have the same bytes on 1, 2, 4 or 8. So they may differ: sum losses, or weigh means by them."""
def sqrt(x: _ArrayLike) -> Array:
    """Square root; NaN below 0."""
def square(x: _ArrayLike) -> Array:
    """Square."""
def squeeze(x: _ArrayLike, /, axis: _Axes = ...) -> Array:
    """x without these axes, of size 1; without any given, all of size 1."""
def stack(arrays: Any, /, *, axis: _Axes = ...) -> Array:
    """Arrays of one shape beside each other, along a new axis."""
def stats() -> Any:
    """Counters since the runtime began, as a dict: calls issued, waits for room, bytes, calls that met subnormal numbers; memory of each device."""
def std(x: _ArrayLike, /, axis: _Axes = ..., *, correction: float = ..., keepdims: _b.bool = ...) -> Array:
    """Standard deviation along axes, or of all: the square root of var."""
def subtract(x: _ArrayLike, y: _ArrayLike) -> Array:
    """Difference."""
def sum(x: _ArrayLike, /, axis: _Axes = ..., *, dtype: _DTypeLike | None = ..., keepdims: _b.bool = ...) -> Array:
    """Sum along axes, or of all; of bools and signed integers int64, of unsigned ones uint64. Of a dtype of integers it wraps around."""
def swapaxes(x: _ArrayLike, axis1: Any, axis2: Any, /) -> Array:
    """x with two axes exchanged: a view."""
def take(x: _ArrayLike, indices: _ArrayLike, /, *, axis: _Axes = ...) -> Array:
    """The entries of an axis, or elements of the flat array, that indices names."""
def take_along_axis(x: _ArrayLike, indices: _ArrayLike, /, *, axis: _Axes = ...) -> Array:
    """For each element of indices the entry of x along the axis that it names; the other axes broadcast."""
def tan(x: _ArrayLike) -> Array:
    """Tangent."""
def tanh(x: _ArrayLike) -> Array:
    """Hyperbolic tangent."""
def task(function: Any, *, reads: Any = ..., writes: Any = ..., updates: Any = ..., name: Any = ...) -> Any:
    """Has function(*views) called when all calls before this one that it depends on are done; returns writes + updates, a list, at once."""
def tensordot(x1: _ArrayLike, x2: _ArrayLike, /, *, axes: Any = ...) -> Array:
    """Sums of products over pairs of axes: the last and the first so many, or those that two lists name."""
def tile(x: _ArrayLike, repetitions: Any, /) -> Array:
    """x so many times along each axis."""
def topk(x: _ArrayLike, k: int, /, axis: _Axes = ..., *, largest: Any = ...) -> tuple[Array, Array]:
    """The k largest or smallest elements along an axis, in that order, and their indices."""
def transpose(x: _ArrayLike, /, axes: Any = ...) -> Array:
    """x with its axes in reverse, or in the order given: a view."""
def tril(x: _ArrayLike, /, *, k: int = ...) -> Array:
    """x with zeros above diagonal k of the last two axes."""
def triu(x: _ArrayLike, /, *, k: int = ...) -> Array:
    """x with zeros below diagonal k of the last two axes."""
def trunc(x: _ArrayLike) -> Array:
    """Rounded towards 0 to a whole number; integers stay."""
def unique(x: _ArrayLike, /) -> Array:
    """Different elements in rising order; each NaN counts. Waits for x."""
def unique_all(x: _ArrayLike, /) -> Any:
    """Different elements in rising order, where each comes first, which of them each element is, and how often they come. Waits for x."""
def unique_counts(x: _ArrayLike, /) -> Any:
    """Different elements in rising order, and how often they come. Waits for x."""
def unique_inverse(x: _ArrayLike, /) -> Any:
    """Different elements in rising order, and which of them each element is. Waits for x."""
def unique_values(x: _ArrayLike, /) -> Array:
    """Different elements in rising order; each NaN counts. Waits for x."""
def unstack(x: _ArrayLike, /, *, axis: _Axes = ...) -> tuple[Array, ...]:
    """The entries of an axis, as a tuple of views."""
def value_and_grad(function: Any, argnums: Any = ...) -> Any:
    """A function that gives (the result of function, its gradient by an argument)."""
def var(x: _ArrayLike, /, axis: _Axes = ..., *, correction: float = ..., keepdims: _b.bool = ...) -> Array:
    """Variance along axes, or of all: squared distances from the mean, over how many they are less correction."""
def var_mean(x: _ArrayLike, /, axis: _Axes = ..., *, correction: float = ..., keepdims: _b.bool = ...) -> tuple[Array, Array]:
    """Variance and mean along axes, or of all: a tuple of what var and mean give, for one mean computed."""
def vecdot(x1: _ArrayLike, x2: _ArrayLike, /, *, axis: _Axes = ...) -> Array:
    """Dot products of vectors along an axis; the other axes broadcast."""
def wait(*arrays: Any) -> None:
    """Waits for these arrays, or without any for all calls issued so far. Raises what failed first."""
def where(condition: _ArrayLike, x: _ArrayLike, y: _ArrayLike) -> Array:
    """Elements of x where condition, a bool array, holds, of y elsewhere."""
def wrap(x: _ArrayLike, dtype: _DTypeLike | None) -> Array:
    """Integers as another dtype of integers, to which they wrap around: the low bits stay, where hk_cast refuses what the dtype does not have."""
def zeros(shape: _Shape, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """An array of zeros; float32 unless dtype says otherwise."""
def zeros_like(x: _ArrayLike, /, *, dtype: _DTypeLike | None = ..., device: _DeviceLike | None = ...) -> Array:
    """As zeros, of x's shape, and of its dtype and device unless others are given."""
