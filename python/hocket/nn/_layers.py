"""Layers of the library, and modules of layers."""

import functools as _functools
import inspect as _inspect

from .. import _core
from .._arguments import refuse_zero as _refuse_zero, said as _said
from ._activations import ELU, LeakyReLU, LogSoftmax, Softmax  # noqa: F401  where pickles of before look for them
from ._module import Layer, Module

_op = _core.operators

__all__ = [
    "AdaptiveAvgPool2d", "AdaptiveMaxPool2d", "Attention", "AvgPool1d", "AvgPool2d", "BatchNorm", "Conv1d", "Conv2d", "Conv2dTranspose",
    "Conv3d", "Conv3dTranspose", "Dropout",
    "Embedding", "GRU", "LSTM", "Lambda", "Linear", "MaxPool1d", "MaxPool2d", "RNN", "Residual", "Sequential",
]


def _two(value):
    return (value, value) if hasattr(value, "__index__") else tuple(value)


def _three(value):
    return (value,) * 3 if hasattr(value, "__index__") else tuple(value)


# Arguments that the text of a layer leaves out.
_UNSAID = ("init", "group")


def _sizes_first(zero=(), inputs_at=0):
    """Of an __init__: what follows the positional sizes is by name, and whole numbers are not 0, of which the library takes its default, but
    for `zero`. Floats of 0 are passed on as 0.

    inputs_at: where other libraries want the size of the inputs, which Hocket infers; None: they do not.
    """
    def wrap(init):
        parameters = list(_inspect.signature(init).parameters.values())[1:]
        sizes = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
        others = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
        flags = {p.name for p in parameters if isinstance(p.default, bool)}
        floats = {p.name for p in parameters if isinstance(p.default, float)}
        checked = [name for name in sizes + others if name not in zero and name not in flags | floats]

        @_functools.wraps(init)
        def sized(self, *args, **options):
            kind = type(self).__name__
            if len(args) > len(sizes):
                raise TypeError(_too_many(kind, sizes, others, args, inputs_at))
            given = dict(zip(sizes, args), **options)
            _refuse_zero(kind, **{name: given[name] for name in checked if name in given})
            init(self, *args, **{name: _said(value) if name in floats else value for name, value in options.items()})
            self._text = ", ".join([str(given[name]) for name in sizes if name in given] + [
                f"{p.name}={given[p.name]}" for p in parameters
                if p.name in others and p.name not in _UNSAID and given.get(p.name, p.default) != p.default])
        return sized
    return wrap


def _too_many(kind, sizes, others, args, inputs_at):
    given = ", ".join(map(repr, args))
    text = f"{kind}({given}): " + (f"{', '.join(sizes)} can be given without names" if sizes else "nothing can be given without a name")
    if inputs_at is not None:
        rest = args[:inputs_at] + args[inputs_at + 1:]
        named = [f"{name}={value!r}" for name, value in zip(others, rest[len(sizes):])]
        text += f". Hocket infers the inputs: {kind}({', '.join([*map(repr, rest[:len(sizes)]), *named])})"
    return text + (f"; by name: {', '.join(others)}" if others else "")


class Linear(Layer):
    """(…, in) to (…, features): weight (features, in), bias (features).

    >>> hk.nn.Linear(3)(hk.ones((2, 5))).shape
    (2, 3)
    """

    @_sizes_first()
    def __init__(self, features, *, bias=True, init=None):
        super().__init__("linear", features, bias, init)

def _options(*rows):
    """", stride=2" of those (name, value, default) that are not the default."""
    return "".join(f", {name}={value}" for name, value, usual in rows if value != usual)


class Conv2d(Layer):
    """(n, in, h, w) to (n, channels, h', w'): weight (channels, in / groups, rows, columns), bias (channels). size: of the window.

    >>> hk.nn.Conv2d(6, 5, padding=2)(hk.ones((1, 1, 28, 28))).shape
    (1, 6, 28, 28)
    """

    @_sizes_first(zero=("padding",))
    def __init__(self, channels, size, *, stride=1, padding=0, dilation=1, groups=1, bias=True, init=None):
        super().__init__("conv2d", channels, _two(size), _two(stride), _two(padding), _two(dilation), groups, bias, init)


class Conv2dTranspose(Layer):
    """The other way round: weight (in, channels / groups, rows, columns), bias (channels).

    >>> hk.nn.Conv2dTranspose(6, 4, stride=2, padding=1)(hk.ones((1, 3, 8, 8))).shape
    (1, 6, 16, 16)
    """

    @_sizes_first(zero=("padding", "output_padding"))
    def __init__(self, channels, size, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1, bias=True, init=None):
        super().__init__("conv2d_transpose", channels, _two(size), _two(stride), _two(padding), _two(output_padding), _two(dilation),
                         groups, bias, init)


class Conv3d(Layer):
    """(n, in, d, h, w) to (n, channels, d', h', w'): weight (channels, in / groups, slices, rows, columns), bias (channels).

    >>> hk.nn.Conv3d(6, 3, padding=1)(hk.ones((1, 2, 4, 8, 8))).shape
    (1, 6, 4, 8, 8)
    """

    @_sizes_first(zero=("padding",))
    def __init__(self, channels, size, *, stride=1, padding=0, dilation=1, groups=1, bias=True, init=None):
        super().__init__("conv3d", channels, _three(size), _three(stride), _three(padding), _three(dilation), groups, bias, init)


class Conv3dTranspose(Layer):
    """The other way round: weight (in, channels / groups, slices, rows, columns), bias (channels).

    >>> hk.nn.Conv3dTranspose(6, 2, stride=2)(hk.ones((1, 3, 4, 8, 8))).shape
    (1, 6, 8, 16, 16)
    """

    @_sizes_first(zero=("padding", "output_padding"))
    def __init__(self, channels, size, *, stride=1, padding=0, output_padding=0, dilation=1, groups=1, bias=True, init=None):
        super().__init__("conv3d_transpose", channels, _three(size), _three(stride), _three(padding), _three(output_padding),
                         _three(dilation), groups, bias, init)


class Conv1d(Layer):
    """(n, in, t) to (n, channels, t'): weight (channels, in / groups, size), bias (channels).

    >>> hk.nn.Conv1d(6, 3, padding=1)(hk.ones((1, 2, 10))).shape
    (1, 6, 10)
    """

    @_sizes_first(zero=("padding",))
    def __init__(self, channels, size, *, stride=1, padding=0, dilation=1, groups=1, bias=True, init=None):
        super().__init__("conv1d", channels, size, stride, padding, dilation, groups, bias, init)


class _Pool(Layer):
    _has_arrays = False

    def __init__(self, size, stride=None, padding=0):
        _refuse_zero(type(self).__name__, size=size, stride=stride)
        super().__init__(self._kind, size, stride or 0, padding)
        self._text = f"{size}" + _options(("stride", stride or size, size), ("padding", padding, 0))


class _Pool2d(_Pool):
    def __init__(self, size, stride=None, padding=0, ceil_mode=False, **modes):
        _refuse_zero(type(self).__name__, size=size, stride=stride)
        modes = {name: True for name, value in {"ceil_mode": ceil_mode, **modes}.items() if value}
        plain = not modes and all(isinstance(value, int) or value is None for value in (size, stride, padding))
        super().__init__(*((size, stride, padding) if plain else (1,)))
        self._window = None
        if not plain:
            self._window = {"kernel": _two(size), "stride": _two(stride or size), "padding": _two(padding), **modes}
            self._text = f"{size}" + _options(("stride", stride or size, size), ("padding", padding, 0), *((name, True, False) for name in modes))

    def forward(self, x):
        return super().forward(x) if self._window is None else _op[self._kind](x, **self._window)


class MaxPool2d(_Pool2d):
    """The largest of each window; size, stride, padding: numbers, or (rows, columns). stride: size unless it says otherwise. ceil_mode: sizes
    are rounded up.

    >>> hk.nn.MaxPool2d(2)(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)))
    array([[[[ 5.,  7.],
             [13., 15.]]]], device='cpu:0')
    """
    _kind = "max_pool2d"


class AvgPool2d(_Pool2d):
    """The mean of each window; size, stride, padding: numbers, or (rows, columns). stride: size unless it says otherwise. ceil_mode: sizes
    are rounded up. count_include_pad: padding counts as zeros, else as absent.

    >>> hk.nn.AvgPool2d(2)(hk.reshape(hk.arange(16.0), (1, 1, 4, 4)))
    array([[[[ 2.5,  4.5],
             [10.5, 12.5]]]], device='cpu:0')
    """
    _kind = "avg_pool2d"

    def __init__(self, size, stride=None, padding=0, ceil_mode=False, count_include_pad=False):
        super().__init__(size, stride, padding, ceil_mode, count_include_pad=count_include_pad and any(_two(padding)))


class MaxPool1d(_Pool):
    """The largest of each window of sequences (n, channels, t).

    >>> hk.nn.MaxPool1d(2)(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]))
    array([[[5., 3.]]], device='cpu:0')
    """
    _kind = "max_pool1d"


class AvgPool1d(_Pool):
    """The mean of each window of sequences (n, channels, t).

    >>> hk.nn.AvgPool1d(2)(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]))
    array([[[3.,  2.5]]], device='cpu:0')
    """
    _kind = "avg_pool1d"


class _Adaptive(Layer):
    _has_arrays = False

    def __init__(self, size):
        _refuse_zero(type(self).__name__, size=size)
        super().__init__(self._kind, *_two(size))
        self._text = f"{size}"


class AdaptiveAvgPool2d(_Adaptive):
    """(n, channels, h, w) to (n, channels, *size): the mean of each of as many windows.

    >>> hk.nn.AdaptiveAvgPool2d((1, 2))(hk.ones((1, 3, 6, 6))).shape
    (1, 3, 1, 2)
    """
    _kind = "adaptive_avg_pool2d"


class AdaptiveMaxPool2d(_Adaptive):
    """(n, channels, h, w) to (n, channels, *size): the largest of each of as many windows.

    >>> hk.nn.AdaptiveMaxPool2d(2)(hk.ones((1, 3, 6, 6))).shape
    (1, 3, 2, 2)
    """
    _kind = "adaptive_max_pool2d"


class BatchNorm(Layer):
    """Normalises each channel: by the batch while training, else by moving averages. gamma, beta; buffers mean, variance.

    group: ranks (hk.world) over whose batches together it does so.

    >>> hk.nn.BatchNorm()(hk.ones((4, 3, 2, 2))).shape
    (4, 3, 2, 2)
    """

    _buffers = ("mean", "variance")

    @_sizes_first()
    def __init__(self, *, eps=1e-5, momentum=0.1, group=None):
        if group is None:
            super().__init__("batch_norm", eps, momentum)
        else:
            super().__init__("batch_norm_over", group._handle, eps, momentum)


class Dropout(Layer):
    """While training each element is 0 with probability p, the others x / (1 - p) (Srivastava et al. 2014).

    >>> hk.nn.Dropout(0.5).eval()(hk.ones(3))
    array([1., 1., 1.], device='cpu:0')
    """
    _has_arrays = False

    def __init__(self, p=0.5):
        super().__init__("dropout", p)
        self.p = p

    def _describe(self):
        return f"{self.p:g}"


class Embedding(Layer):
    """Rows of weight (count, features) by integer indices (…): (…, features). padding: an index that stands for nothing.

    >>> hk.nn.Embedding(10, 4)(hk.asarray([[1, 2, 9]])).shape
    (1, 3, 4)
    """

    @_sizes_first(zero=("padding",), inputs_at=None)
    def __init__(self, count, features, *, padding=None):
        super().__init__("embedding", count, features, -1 if padding is None else padding)


class Attention(Layer):
    """Attention with several heads, which divide features. Inputs: x (n, t, f); or query, key, value and perhaps a mask.

    Gives (n, t, features). causal: positions see none behind them.

    >>> hk.nn.Attention(8, 2)(hk.ones((1, 5, 8))).shape
    (1, 5, 8)
    """

    _takes_more = True

    @_sizes_first(inputs_at=None)
    def __init__(self, features, heads, *, causal=False):
        super().__init__("attention", features, heads, causal)

class _Recurrent(Layer):
    _takes_more = True

    @_sizes_first(zero=("dropout",))
    def __init__(self, features, *, layers=1, bidirectional=False, dropout=0.0, whole_state=False, final_state=False):
        if whole_state and (layers != 1 or bidirectional or final_state):
            raise ValueError("whole_state is for one layer in one direction; final_state gives the last states of several")
        if layers == 1 and not bidirectional and not final_state:
            super().__init__("recurrent", self._kind, features, whole_state)
        else:
            super().__init__("recurrent_stack", self._kind, features, layers, bidirectional, final_state, dropout)


class RNN(_Recurrent):
    """Steps along axis 1 of x (n, t, f), with tanh. More inputs: the states to begin with (n, s), or None; and lengths (n,).

    Gives h after each step, (n, t, features), of both directions twice as many; with whole_state the states after each step, with
    final_state the last ones. s: features of each layer and direction. dropout: of what goes from layer to layer.

    >>> hk.nn.RNN(4)(hk.ones((2, 7, 3))).shape
    (2, 7, 4)
    """
    _kind = 0


class GRU(_Recurrent):
    """Like RNN, with gates (Cho et al. 2014).

    >>> hk.nn.GRU(4, layers=2, bidirectional=True)(hk.ones((2, 7, 3))).shape
    (2, 7, 8)
    """
    _kind = 1


class LSTM(_Recurrent):
    """Like RNN (Hochreiter, Schmidhuber 1997). A state is 2 features, h and then c.

    >>> hk.nn.LSTM(4)(hk.ones((2, 7, 3))).shape
    (2, 7, 4)
    """
    _kind = 2


# ---- layers, written by tools/opgen from src/nn/layers.def

__all__ += [
    "AdaptiveAvgPool1d", "AdaptiveMaxPool1d", "GlobalAvgPool", "GlobalMaxPool", "Flatten",
    "LayerNorm", "RMSNorm", "GroupNorm", "InstanceNorm", "SinusoidalPositions",
    "LearnedPositions",
]


class AdaptiveAvgPool1d(Layer):
    """(n, channels, t) to (n, channels, size): the mean of each of as many windows.

    >>> hk.nn.AdaptiveAvgPool1d(2)(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]))
    array([[[3.,  2.5]]], device='cpu:0')
    """
    _has_arrays = False

    @_sizes_first((), 1)
    def __init__(self, size):
        super().__init__("adaptive_avg_pool1d", size)


class AdaptiveMaxPool1d(Layer):
    """(n, channels, t) to (n, channels, size): the largest of each of as many windows.

    >>> hk.nn.AdaptiveMaxPool1d(2)(hk.asarray([[[1.0, 5.0, 2.0, 3.0]]]))
    array([[[5., 3.]]], device='cpu:0')
    """
    _has_arrays = False

    @_sizes_first((), 1)
    def __init__(self, size):
        super().__init__("adaptive_max_pool1d", size)


class GlobalAvgPool(Layer):
    """The mean over all axes but the first two, which remain.

    >>> hk.nn.GlobalAvgPool()(hk.ones((1, 3, 6, 6))).shape
    (1, 3)
    """
    _has_arrays = False

    @_sizes_first((), 0)
    def __init__(self):
        super().__init__("global_avg_pool")


class GlobalMaxPool(Layer):
    """The largest over all axes but the first two, which remain.

    >>> hk.nn.GlobalMaxPool()(hk.ones((1, 3, 6, 6))).shape
    (1, 3)
    """
    _has_arrays = False

    @_sizes_first((), 0)
    def __init__(self):
        super().__init__("global_max_pool")


class Flatten(Layer):
    """(n, …) to (n, all the rest).

    >>> hk.nn.Flatten()(hk.ones((2, 3, 4))).shape
    (2, 12)
    """
    _has_arrays = False

    @_sizes_first((), 0)
    def __init__(self):
        super().__init__("flatten")


class LayerNorm(Layer):
    """(x - mean) / sqrt(variance + eps) * gamma + beta over the last axis, or the last `axes`
    together (Ba et al. 2016). gamma, beta.

    >>> hk.nn.LayerNorm()(hk.asarray([[1.0, 3.0], [0.0, 10.0]]))
    array([[-0.999995,    0.999995  ],
           [-0.99999976,  0.99999976]], device='cpu:0')
    """

    @_sizes_first((), 0)
    def __init__(self, *, axes=1, eps=1e-5):
        super().__init__("layer_norm", axes, eps)


class RMSNorm(Layer):
    """x / sqrt(mean of x^2 + eps) * gamma over the last axis (Zhang, Sennrich 2019). gamma
    (features), ones.

    >>> hk.nn.RMSNorm()(hk.asarray([[3.0, 4.0]]))
    array([[0.8485278, 1.1313704]], device='cpu:0')
    """

    @_sizes_first((), 0)
    def __init__(self, *, eps=1e-5):
        super().__init__("rms_norm", eps)


class GroupNorm(Layer):
    """Of (n, channels, …): normalises groups of channels, with all their positions, of each sample
    (Wu, He 2018). gamma (channels), ones, beta, zeros.

    >>> hk.nn.GroupNorm(2)(hk.asarray([[1.0, 3.0, 0.0, 10.0]]))
    array([[-0.999995,    0.999995,   -0.99999976,  0.99999976]], device='cpu:0')
    """

    @_sizes_first((), 1)
    def __init__(self, groups, *, eps=1e-5):
        super().__init__("group_norm", groups, eps)


class InstanceNorm(Layer):
    """Of (n, channels, t, …): normalises each channel of each sample (Ulyanov et al. 2016). gamma
    (channels), ones, beta, zeros.

    >>> hk.nn.InstanceNorm()(hk.asarray([[[1.0, 3.0], [0.0, 10.0]]]))
    array([[[-0.999995,    0.999995  ],
            [-0.99999976,  0.99999976]]], device='cpu:0')
    """

    @_sizes_first((), 0)
    def __init__(self, *, eps=1e-5):
        super().__init__("instance_norm", eps)


class SinusoidalPositions(Layer):
    """x (n, t, f) plus sines and cosines of the position, as of hk_sinusoidal_positions (Vaswani et
    al. 2017).

    >>> hk.nn.SinusoidalPositions()(hk.zeros((1, 2, 4)))
    array([[[0.,         1.,         0.,         1.        ],
            [0.84147096, 0.5403023,  0.00999983, 0.99995   ]]], device='cpu:0')
    """
    _has_arrays = False

    @_sizes_first((), 0)
    def __init__(self):
        super().__init__("sinusoidal_positions")


class LearnedPositions(Layer):
    """x (n, t, f), t at most count, plus the first t rows of weight (count, f), normal with
    deviation 0.02 at first.

    >>> hk.nn.LearnedPositions(8)(hk.zeros((1, 2, 4))).shape
    (1, 2, 4)
    """

    @_sizes_first((), 1)
    def __init__(self, count):
        super().__init__("learned_positions", count)


# ---- modules of modules ---------------------------------------------------------------------------------------------


class Lambda(Module):
    """A function as a module.

    >>> hk.nn.Lambda(hk.square)(hk.asarray([2.0, 3.0]))
    array([4., 9.], device='cpu:0')
    """

    def __init__(self, function):
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)

    def _describe(self):
        return getattr(self.function, "__name__", repr(self.function))


class Sequential(Module):
    """One after another; parts are modules or functions, such as hk.relu. They are named "0", "1", …

    >>> hk.nn.Sequential(hk.nn.Linear(8), hk.nn.ReLU(), hk.nn.Linear(3))(hk.ones((2, 5))).shape
    (2, 3)
    """

    def __init__(self, *parts):
        self._items = []
        for part in parts:
            self.append(part)

    def forward(self, x):
        for part in self._items:
            x = part(x)
        return x

    def _parts(self):
        return [(str(i), part) for i, part in enumerate(self._items)]

    def append(self, part):
        if isinstance(part, type) and issubclass(part, Module):
            raise TypeError(f"a part is the class {part.__name__}; {part.__name__}(…) makes a module")
        if not callable(part):
            raise TypeError(f"a part is to be a module or a function, not {part!r:.60}")
        self._items.append(part if isinstance(part, Module) else Lambda(part))
        return self

    def __len__(self):
        return len(self._items)

    def __iter__(self):
        return iter(self._items)

    def __getitem__(self, index):
        return Sequential(*self._items[index]) if isinstance(index, slice) else self._items[index]


class Residual(Module):
    """x + body(x), or shortcut(x) + body(x): He et al. 2016.

    >>> hk.nn.Residual(hk.nn.ReLU())(hk.asarray([-1.0, 2.0]))
    array([-1.,  4.], device='cpu:0')
    """

    def __init__(self, body, shortcut=None):
        self.body = body
        self.shortcut = shortcut

    def forward(self, x):
        return self.body(x) + (x if self.shortcut is None else self.shortcut(x))
