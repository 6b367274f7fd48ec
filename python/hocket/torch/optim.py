"""Optimisers under PyTorch's names."""

from .. import _core, optim as _optim

__all__ = ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta"]


class _Steps:
    """zero_grad, as PyTorch's optimisers have it; parameters may come from a generator."""

    def zero_grad(self, set_to_none=True):
        for p in self.params:
            p.grad.zero_()


class _Plain(_Steps, _optim.SGD):
    pass


class _Momentum(_Steps, _optim.Momentum):
    pass


def SGD(params, lr=0.001, momentum=0.0, weight_decay=0.0, nesterov=False):
    """Stochastic gradient descent."""
    if momentum == 0:
        return _Plain(params, lr, weight_decay=weight_decay)
    return _Momentum(params, lr, momentum, weight_decay=weight_decay, nesterov=nesterov)


class Adam(_Steps, _optim.Adam):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr, betas, eps, weight_decay=weight_decay)


class AdamW(_Steps, _optim.AdamW):
    def __init__(self, params, lr=0.001, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.01):
        super().__init__(params, lr, betas, eps, weight_decay=weight_decay)


class RMSprop(_Steps, _optim.RMSprop):
    def __init__(self, params, lr=0.01, alpha=0.99, eps=1e-8, weight_decay=0.0):
        super().__init__(params, lr, alpha, eps, weight_decay=weight_decay)


class Adagrad(_Steps, _optim.Adagrad):
    def __init__(self, params, lr=0.01, weight_decay=0.0, eps=1e-10):
        super().__init__(params, lr, eps, weight_decay=weight_decay)


class Adadelta(_Steps, _optim.Adadelta):
    def __init__(self, params, lr=1.0, rho=0.9, eps=1e-6, weight_decay=0.0):
        super().__init__(params, lr, rho, eps, weight_decay=weight_decay)
