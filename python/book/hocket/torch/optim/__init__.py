"""Optimisers under PyTorch's names."""

from ... import optim as _optim

__all__ = ["Optimizer", "SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "LBFGS", "lr_scheduler"]


class Optimizer:
    """Groups of parameters with options of their own: one optimiser each, made at the first step, when lazy layers have theirs.

    param_groups: a dict for each group; what is written to its "lr" counts from the next step on.
    """

    def __init__(self, kind, params, **options):
        self._kind, self._made = kind, None
        self._whole = getattr(params, "module", None)  # which may make parameters later
        groups = list(params)
        groups = groups if groups and isinstance(groups[0], dict) else [{"params": groups}]
        self.param_groups = [{**options, **group} for group in groups]
        for group in self.param_groups:
            params = group["params"]
            group["params"] = [params] if hasattr(params, "requires_grad") else list(params)

    def _optimizers(self):
        if self._made is None:
            for group in self.param_groups:
                params = group["params"] if self._whole is None else self._whole.parameters()
                group["params"] = [getattr(p, "made", p) for p in params]
            self._made = [self._kind(**{name: value for name, value in group.items() if name != "initial_lr"}) for group in self.param_groups]
        for group, optimizer in zip(self.param_groups, self._made):
            if optimizer.lr != group["lr"]:
                optimizer.lr = group["lr"]
        return self._made

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            if p.grad is not None:
                p.grad.zero_()

    def step(self, closure=None):
        """closure: computes the loss anew and calls backward(); its result is returned."""
        loss = closure() if closure else None
        for optimizer in self._optimizers():
            optimizer.step()
        return loss

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


def _lbfgs(params, lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn):
    return _optim.LBFGS(params, lr, max_iter, max_eval, tolerance_grad, tolerance_change, history_size, line_search_fn)


class LBFGS(Optimizer):
    def __init__(self, params, lr=1.0, max_iter=20, max_eval=None, tolerance_grad=1e-7, tolerance_change=1e-9, history_size=100,
                 line_search_fn=None):
        super().__init__(_lbfgs, params, lr=lr, max_iter=max_iter, max_eval=max_eval, tolerance_grad=tolerance_grad,
                         tolerance_change=tolerance_change, history_size=history_size, line_search_fn=line_search_fn)
        if len(self.param_groups) > 1:
            raise ValueError(f"LBFGS has one group of parameters, not {len(self.param_groups)}")

    def step(self, closure):
        return self._optimizers()[0].step(closure)


from . import lr_scheduler  # noqa: E402
