"""Updates of parameters from their gradients."""

import copy as _copy

from . import _core
from ._arguments import refuse_zero as _refuse_zero, said as _said
from ._creation import asarray as _asarray
from .nn._module import Module as _Module

__all__ = [
    "SGD", "Averages", "Cosine", "EarlyStop", "Optimizer", "Plateau", "Step", "WarmUp", "accumulate_grads", "clip_grad_norm",
    "clip_grad_value", "sgd",
]


def _arrays(params):
    return params.parameters() if isinstance(params, _Module) else params


def sgd(params, lr, batch=1, weight_decay=0.0):
    """Minibatch stochastic gradient descent, in place: p -= lr (p.grad / batch + weight_decay p).

    params: Arrays with attached gradients, or a Module. batch: how many samples the loss was summed over. Does not wait. A captured
    step does what was said when it was captured.
    """
    _refuse_zero("sgd", batch=batch)
    _core._sgd(_arrays(params), lr, batch, weight_decay)


def clip_grad_norm(params, norm):
    """Scales the gradients of all so that their norm together is at most norm. Returns the norm before, an array ()."""
    return _core._clip_grad_norm(_arrays(params), norm)


def clip_grad_value(params, limit):
    """Each element of the gradients to [-limit, limit]."""
    _core._clip_grad_value(_arrays(params), limit)


def accumulate_grads(params):
    """The gradients of all become zeros, and backward passes add to them from then on: before a step of several batches."""
    _core._accumulate_grads(_arrays(params))


# ---- copies and pickles ------------------------------------------------------------------------------------------


def _refuse_lists(of, saved):
    """What was made of a list would be loaded with parameters that no network has."""
    if not isinstance(of._source, _Module):
        name = type(of).__name__
        raise TypeError(f"{name} of a list of parameters is not pickled, since it would come back with other arrays than the network's; "
                        f"make it of the Module, {name}(net), or save its {saved}")


def _shallow(self):
    """Of the same parameters, with a state of its own."""
    new, state = object.__new__(type(self)), self.__getstate__()
    new.__setstate__({**state, "_loaded": _copy.deepcopy(state["_loaded"])})
    return new


def _deep(self, memo):
    new = memo[id(self)] = object.__new__(type(self))
    new.__setstate__(_copy.deepcopy(self.__getstate__(), memo))
    return new


# ---- averages, and when to stop -------------------------------------------------------------------------------------


class Averages:
    """Moving averages of parameters, mostly better than the last ones to evaluate with (Polyak, Juditsky 1992)::

        averages = optim.Averages(net)
        …   opt.step(); averages.update()
        with averages: evaluate(net)
    """

    def __init__(self, params, decay=0.999):
        if not 0 <= decay <= 1:
            raise ValueError(f"decay is {decay}; 0 to 1 would be right")
        self._source = params if isinstance(params, _Module) else list(params)
        self._decay, self._handle, self._loaded = decay, None, None
        if not isinstance(params, _Module) or params._is_made():
            self._averages()

    def _averages(self):
        """Those of a Module whose parameters are still to be made begin when they are first asked for."""
        if self._handle is None:
            params = _arrays(self._source)
            if not params or (self._loaded and len(params) != len(self._loaded)):
                raise ValueError("the Module's parameters are still to be made, by its first call: build(shape) makes it")
            self._handle = _core._averages(params, self._decay)
            for mine, loaded in zip(self._handle.arrays(), self._loaded or ()):
                mine[...] = loaded
            self._loaded = None
        return self._handle

    def update(self):
        """After a step: average = decay average + (1 - decay) parameter. Does not wait."""
        self._averages().update()

    @property
    def arrays(self):
        """That of each parameter, to be saved or overwritten; none before the parameters are made."""
        if self._handle is None and not _arrays(self._source):
            return list(self._loaded or ())
        return self._averages().arrays()

    def swap(self):
        """Parameters and averages change places."""
        self._averages().swap()

    def __getstate__(self):
        arrays = self._loaded if self._handle is None else self._handle.arrays()
        return {**vars(self), "_handle": None, "_loaded": arrays}

    def __reduce_ex__(self, protocol):
        _refuse_lists(self, "arrays")
        return super().__reduce_ex__(protocol)

    __copy__, __deepcopy__ = _shallow, _deep

    def __setstate__(self, state):
        vars(self).update(state)
        if not isinstance(self._source, _Module):
            self._averages()

    def __enter__(self):
        self.swap()
        return self

    def __exit__(self, *exception):
        self.swap()


class EarlyStop:
    """Says when to stop: ``if stop(loss): break``. is_best: the last value was the best one, so that this is the time to save.

    patience: how many values without a better one are borne. least: by how much one must be less to be better.

    >>> [hk.optim.EarlyStop(patience=1)(loss) for loss in (3.0, 2.0)]
    [False, False]
    """

    def __init__(self, patience=10, least=0.0):
        self.patience, self.least = patience, least
        self.best, self.is_best, self._seen, self._waiting = 0.0, False, 0, 0

    def __call__(self, value):
        stop, self.is_best, self.best, self._seen, self._waiting = _core._early_stop(
            self.patience, self.least, self.best, self._seen, self._waiting, float(value))
        return stop


# ---- optimisers -----------------------------------------------------------------------------------------------------


def _check_names(kept, loaded):
    if set(kept) != set(loaded):
        raise KeyError(f"what is loaded has {', '.join(loaded) or 'nothing'}, and the optimizer {', '.join(kept) or 'nothing'}")


class Optimizer:
    """What updates parameters: Arrays with attached gradients, or those of a Module. What is frozen since stays as it is.

    Of a Module whose parameters are still to be made, which its first call does, they are asked for at the first step.
    """

    def __init__(self, params, lr):
        self._source = params if isinstance(params, _Module) else None
        self._params = self._paths = self._loaded = None
        self._lr = lr
        if not self._source:
            params = list(params)
            if not params:
                raise ValueError("there are no parameters; those of a Module are made at its first call: give the Module itself, or "
                                 "call net.build(shape) before")
            self._begin(params)
        elif params._is_made() and params.parameters():
            self._begin()

    def _begin(self, params=None):
        if params is None and self._paths is not None:
            self._resume(self._found())
            return
        params = params or self._source.parameters()
        if not params:
            raise ValueError("the Module has no parameters that want gradients; they are made at its first call")
        for p in params:
            if not isinstance(p, _core.Array) or not p._has_grad():
                raise ValueError(f"a parameter has no gradient: attach_grad() gives it one; it is {p!r:.60}")
        if len({p._identity() for p in params}) < len(params):
            raise ValueError("a parameter is given twice; it would be updated twice in each step")
        self._params = params
        self._create()

    def _found(self):
        """The parameters of before, where this came from a pickle or is a copy."""
        state = self._source.state()
        return [state[path] for path in self._paths]

    def _create(self):
        pass

    # ---- copies and pickles

    def __getstate__(self):
        state = {**vars(self), "_loaded": self._kept()}
        if self._source and self._params:
            path_of = {array._identity(): path for path, array in self._source.state().items()}
            if any(p._identity() not in path_of for p in self._params):
                raise ValueError("the Module has other parameters now, as to() makes them: make the optimizer anew")
            state["_paths"] = [path_of[p._identity()] for p in self._params]
            state["_params"] = None
        return state

    def _kept(self):
        return None

    def __setstate__(self, state):
        vars(self).update(state, _params=None)
        if not self._source:
            self._resume(state["_params"])

    def _resume(self, params):
        """Begins with what may be frozen by now."""
        frozen = [p for p in params if not p._has_grad()]
        for p in frozen:
            p.attach_grad()
        self._begin(params)
        for p in frozen:
            p.attach_grad("null")

    def __reduce_ex__(self, protocol):
        _refuse_lists(self, "state()")
        return super().__reduce_ex__(protocol)

    __copy__, __deepcopy__ = _shallow, _deep

    @property
    def params(self):
        """The parameters; none before they are made."""
        if self._params is None and self._source._is_made() and self._source.parameters():
            self._begin()
        return list(self._params or ())

    def _trained(self):
        """Those that have a gradient: all but the frozen ones."""
        return [p for p in self.params if p._has_grad()]

    @property
    def lr(self):
        """The learning rate, from the next step on."""
        return self._lr

    @lr.setter
    def lr(self, value):
        self._lr = value

    def state(self):
        """A dict of what it keeps, to be saved."""
        return {}

    def load(self, arrays):
        """Goes on from what was saved: a dict like that of state()."""
        state = self.state()
        _check_names(state, arrays)
        arrays = {name: _asarray(array) for name, array in arrays.items()}
        for name, array in state.items():  # before the first is written
            if array.shape != arrays[name].shape:
                raise ValueError(f"{name} has the shape {array.shape}, and what is loaded {arrays[name].shape}")
        for name, array in state.items():
            array[...] = arrays[name]

    def zero_grad(self):
        """Sets all gradients to zeros: for parameters that are attached in the mode 'add'."""
        for p in self._trained():
            p.grad[...] = 0

    def clip_grad_norm(self, norm):
        return clip_grad_norm(self._trained(), norm)


# Functions of (object, names of attributes): told of what a step took from an object, by captures.
_noted = []


class _Stateful(Optimizer):
    """group: ranks (hk.world), each of which keeps a part of the state (ZeRO-1, Rajbhandari et al. 2020). A step then sums gradients over
    all of them, which the program does not do."""

    def __init__(self, params, lr, batch=1, weight_decay=0.0, momentum=0.0, beta1=0.0, beta2=0.0, rho=0.0, epsilon=0.0,
                 nesterov=False, group=None):
        _refuse_zero(type(self).__name__, batch=batch)
        self._optimizer = None
        self._group = group
        self._options = (batch, weight_decay, momentum, beta1, beta2, rho, epsilon, nesterov, group and group._handle)
        super().__init__(params, lr)

    def _create(self):
        self._optimizer = _core._optimizer(self._method, self._params, _said(self._lr), *self._options)
        if self._loaded is not None:
            arrays, lr, self._loaded = self._loaded, self._lr, None
            self.load(arrays)
            self.lr = lr  # which may have been set since

    @Optimizer.lr.setter
    def lr(self, value):
        self._lr = value
        if self._optimizer:
            self._optimizer.set_lr(value)

    def step(self):
        """One step of every parameter, from its gradient. Does not wait."""
        if self._optimizer is None:
            self._begin()
        self._optimizer.step()

    def state(self):
        """A dict of what it keeps, to be saved. Where the state is in parts, they are put together: all ranks call this. What is loaded
        may come from any number of ranks, and from an optimizer without."""
        if self._optimizer is None:
            if self._loaded is not None:
                return dict(self._loaded)
            self._begin()
        arrays = self._optimizer.arrays()
        if self._group:
            arrays = {name: array for name, array in arrays.items() if name.startswith("coefficients.")}
            arrays.update((f"state.{i}", self._optimizer.gather(i)) for i in range(len(self._params)))
        return arrays

    def load(self, arrays):
        if self._optimizer is None and not self._source._is_made():
            self._loaded = dict(arrays)  # for when the parameters are made
            return self._load_lr(arrays)
        if self._optimizer is None:
            self._begin()
        if self._group:
            self._load_parts(arrays)
        else:
            super().load(arrays)
        self._load_lr(arrays)

    def _load_lr(self, arrays):
        for name, array in arrays.items():
            if name.startswith("coefficients."):
                self.lr = float(_asarray(array).tolist()[0])

    def _kept(self):
        return self._loaded if self._optimizer is None else self._optimizer.arrays()

    def __getstate__(self):
        if self._group:
            raise TypeError("an optimizer whose state is in parts, on the ranks of a group, is neither copied nor pickled; save its state(), "
                            "which puts them together")
        return {**super().__getstate__(), "_optimizer": None}

    def _load_parts(self, arrays):
        own = {name: array for name, array in self._optimizer.arrays().items() if name.startswith("coefficients.")}
        # A rank that has no part of the state has no coefficients.
        _check_names(["coefficients.0"] + [f"state.{i}" for i in range(len(self._params))], arrays)
        for name, array in own.items():
            array[...] = _asarray(arrays[name])
        for i in range(len(self._params)):
            self._optimizer.scatter(i, _asarray(arrays[f"state.{i}"]))


class SGD(_Stateful):
    """p -= lr (p.grad / batch + weight_decay p); with momentum that of Momentum: v = momentum v + g; p -= lr v, or Nesterov's."""
    _method = "momentum"

    def __init__(self, params, lr=0.01, batch=1, weight_decay=0.0, momentum=0.0, nesterov=False):
        if nesterov and momentum == 0:
            raise ValueError("nesterov is True and momentum 0; Nesterov's step needs a momentum, such as 0.9")
        self.batch, self.weight_decay, self.momentum = batch, weight_decay, momentum
        super().__init__(params, lr, batch, weight_decay, momentum=momentum, nesterov=nesterov)

    def _create(self):
        if self.momentum != 0:
            super()._create()

    def step(self, batch=None):
        """One step. batch: how many samples the loss was summed over, where it is not what it was made with; not with momentum."""
        if self._params is None:
            self._begin()
        batch = self.batch if batch is None else batch
        _refuse_zero("step", batch=batch)
        if self.momentum != self._options[2] or self.momentum != 0 and (batch, self.weight_decay) != self._options[:2]:
            raise ValueError(f"step(): batch is {batch}, weight_decay {self.weight_decay} and momentum {self.momentum}, which with momentum "
                             f"must be as the optimizer was made: {', '.join(map(str, self._options[:3]))}")
        if self.momentum != 0:
            super().step()
            return
        _core._sgd(self._trained(), self._lr, batch, self.weight_decay)
        for told in _noted:
            told(self, ("_lr", "weight_decay", "batch"))

    def state(self):
        """A dict of what it keeps, to be saved: nothing without momentum."""
        return super().state() if self.momentum != 0 else {}

    def load(self, arrays):
        """Goes on from what was saved: a dict like that of state()."""
        if self.momentum != 0:
            super().load(arrays)
        else:
            _check_names({}, arrays)

    def _kept(self):
        return super()._kept() if self.momentum != 0 else None


# ---- methods, written by tools/opgen from src/op/update/update.def

__all__ += ["Momentum", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"]


class Momentum(_Stateful):
    """v = momentum v + g; p -= lr v (Polyak 1964), or Nesterov's."""
    _method = "momentum"

    def __init__(self, params, lr=0.01, momentum=0.9, batch=1, weight_decay=0.0, nesterov=False, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, momentum=_said(momentum), nesterov=nesterov, group=group)


class Adam(_Stateful):
    """p -= lr m / (sqrt(v) + epsilon) (Kingma, Ba 2015)."""
    _method = "adam"

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), epsilon=1e-8, batch=1, weight_decay=0.0, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, beta1=_said(betas[0]), beta2=_said(betas[1]), epsilon=_said(epsilon), group=group)


class AdamW(Adam):
    """Adam with the weight decay apart (Loshchilov, Hutter 2019)."""
    _method = "adamw"

    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), epsilon=1e-8, batch=1, weight_decay=0.01, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, beta1=_said(betas[0]), beta2=_said(betas[1]), epsilon=_said(epsilon), group=group)


class RMSprop(_Stateful):
    """p -= lr g / (sqrt(v) + epsilon) (Hinton 2012)."""
    _method = "rmsprop"

    def __init__(self, params, lr=0.01, rho=0.99, epsilon=1e-8, batch=1, weight_decay=0.0, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, rho=_said(rho), epsilon=_said(epsilon), group=group)


class Adagrad(_Stateful):
    """v += g^2; p -= lr g / (sqrt(v) + epsilon) (Duchi et al. 2011)."""
    _method = "adagrad"

    def __init__(self, params, lr=0.01, epsilon=1e-10, batch=1, weight_decay=0.0, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, epsilon=_said(epsilon), group=group)


class Adadelta(_Stateful):
    """p -= lr sqrt(u + epsilon) / sqrt(v + epsilon) g (Zeiler 2012)."""
    _method = "adadelta"

    def __init__(self, params, lr=1.0, rho=0.9, epsilon=1e-6, batch=1, weight_decay=0.0, group=None):
        _Stateful.__init__(self, params, lr, batch, weight_decay, rho=_said(rho), epsilon=_said(epsilon), group=group)


# ---- learning rates by step: opt.lr = schedule(step) --------------------------------------------------------------


class Step:
    """lr times factor for each `every` steps.

    >>> hk.optim.Step(0.1, 10)(25)
    0.0010000000000000002
    """

    def __init__(self, lr, every, factor=0.1):
        self.lr, self.every, self.factor = lr, every, factor

    def __call__(self, step):
        return _core._lr_step(self.lr, step, self.every, self.factor)


class Cosine:
    """From lr to last along half a cosine in `steps` steps, last after them (Loshchilov, Hutter 2017).

    >>> hk.optim.Cosine(0.1, 100)(50)
    0.05
    """

    def __init__(self, lr, steps, last=0.0):
        self.lr, self.steps, self.last = lr, steps, last

    def __call__(self, step):
        return _core._lr_cosine(self.lr, step, self.steps, self.last)


class WarmUp:
    """A straight line from lr / steps at step 0 to lr at step steps - 1, lr after it.

    >>> hk.optim.WarmUp(0.1, 10)(4)
    0.05
    """

    def __init__(self, lr, steps):
        self.lr, self.steps = lr, steps

    def __call__(self, step):
        return _core._lr_warm_up(self.lr, step, self.steps)


class Plateau:
    """lr times factor whenever `patience` values (losses) in a row have brought no smaller one: opt.lr = plateau(loss).

    >>> hk.optim.Plateau(0.1, patience=2)(3.5)
    0.1
    """

    def __init__(self, lr, factor=0.1, patience=10):
        self.lr, self.factor, self.patience = lr, factor, patience
        self.best, self._seen, self._waiting = 0.0, 0, 0

    def __call__(self, value):
        self.lr, self.best, self._seen, self._waiting = _core._lr_plateau(
            self.factor, self.patience, self.best, self._seen, self._waiting, self.lr, float(value))
        return self.lr


# ---- of several optimizers, or several looks at a loss --------------------------------------------------------------

from ._closures import LBFGS  # noqa: E402
from ._groups import Groups  # noqa: E402

__all__ += ["Groups", "LBFGS"]
