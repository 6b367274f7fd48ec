"""Optimisers under PyTorch's names."""

from .. import optim as _optim

__all__ = ["Optimizer", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"]


class Optimizer:
    """Groups of parameters with options of their own: one optimiser each, made at the first step, when lazy layers have theirs."""

    def __init__(self, kind, params, **options):
        self._kind, self._options, self._source, self._made = kind, options, params, None

    def _groups(self):
        whole = getattr(self._source, "module", None)
        if whole is not None:
            return [{"params": whole.parameters()}]
        params = self._source = list(self._source)
        return params if params and isinstance(params[0], dict) else [{"params": params}]

    def _optimizers(self):
        if self._made is None:
            groups = [{**self._options, **group} for group in self._groups()]
            for group in groups:
                params = group.pop("params")
                params = [params] if hasattr(params, "requires_grad") else list(params)
                group["params"] = [getattr(p, "made", p) for p in params]
            self._made = [self._kind(**group) for group in groups]
        return self._made

    def zero_grad(self, set_to_none=True):
        for optimizer in self._optimizers():
            for p in optimizer.params:
                p.grad.zero_()

    def step(self):
        for optimizer in self._optimizers():
            optimizer.step()

    @property
    def lr(self):
        return self._optimizers()[0].lr

    @lr.setter
    def lr(self, value):
        for optimizer in self._optimizers():
            optimizer.lr = value

    @property
    def params(self):
        return [p for optimizer in self._optimizers() for p in optimizer.params]

    def state(self):
        """A dict of what they keep, to be saved."""
        return {f"{i}.{name}": array for i, optimizer in enumerate(self._optimizers()) for name, array in optimizer.state().items()}


def _sgd(params, lr, momentum, weight_decay, nesterov):
    if momentum == 0:
        return _optim.SGD(params, lr, weight_decay=weight_decay)
    return _optim.Momentum(params, lr, momentum, weight_decay=weight_decay, nesterov=nesterov)


class SGD(Optimizer):
    """Stochastic gradient descent."""

    def __init__(self, params, lr=0.001, momentum=0.0, weight_decay=0.0, nesterov=False):
        super().__init__(_sgd, params, lr=lr, momentum=momentum, weight_decay=weight_decay, nesterov=nesterov)


def _adam(params, lr, betas, eps, weight_decay):
    return _optim.Adam(params, lr, betas, eps, weight_decay=weight_decay)


class Adam(Optimizer):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(_adam, params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def _adamw(params, lr, betas, eps, weight_decay):
    return _optim.AdamW(params, lr, betas, eps, weight_decay=weight_decay)


class AdamW(Optimizer):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(_adamw, params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay)


def _rmsprop(params, lr, alpha, eps, weight_decay):
    return _optim.RMSprop(params, lr, alpha, eps, weight_decay=weight_decay)


class RMSprop(Optimizer):
    def __init__(self, params, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0.0):
        super().__init__(_rmsprop, params, lr=lr, alpha=alpha, eps=eps, weight_decay=weight_decay)


def _adagrad(params, lr, eps, weight_decay):
    return _optim.Adagrad(params, lr, eps, weight_decay=weight_decay)


class Adagrad(Optimizer):
    def __init__(self, params, lr=0.01, weight_decay=0.0, eps=1e-10):
        super().__init__(_adagrad, params, lr=lr, eps=eps, weight_decay=weight_decay)


def _adadelta(params, lr, rho, eps, weight_decay):
    return _optim.Adadelta(params, lr, rho, eps, weight_decay=weight_decay)


class Adadelta(Optimizer):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
        super().__init__(_adadelta, params, lr=lr, rho=rho, eps=eps, weight_decay=weight_decay)
