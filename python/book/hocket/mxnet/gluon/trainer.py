"""Steps of the parameters of a network on all its devices."""

from ... import optim as _optim
from ..._runs import all_reduce as _all_reduce
from .parameter import ParameterDict


def _sgd(params, lr, batch, wd, momentum=0.0):
    if momentum == 0:
        return _optim.SGD(params, lr, batch, wd)
    return _optim.Momentum(params, lr, momentum, batch, wd)


_KINDS = {
    "sgd": _sgd,
    "adam": lambda params, lr, batch, wd, beta1=0.9, beta2=0.999, epsilon=1e-8: _optim.Adam(params, lr, (beta1, beta2), epsilon, batch, wd),
    "rmsprop": lambda params, lr, batch, wd, gamma1=0.9, epsilon=1e-8: _optim.RMSprop(params, lr, gamma1, epsilon, batch, wd),
    "adagrad": lambda params, lr, batch, wd, epsilon=1e-7: _optim.Adagrad(params, lr, epsilon, batch, wd),
    "adadelta": lambda params, lr, batch, wd, rho=0.9, epsilon=1e-5: _optim.Adadelta(params, lr, rho, epsilon, batch, wd),
}
_RATES = {"sgd": 0.01, "adam": 0.001, "rmsprop": 0.001, "adagrad": 0.01, "adadelta": 1.0}


class Trainer:
    """Sums the gradients over devices, and updates the parameters of each."""

    def __init__(self, params, optimizer, optimizer_params=None):
        if optimizer not in _KINDS:
            raise ValueError(f"there is no optimizer {optimizer!r}; there are {', '.join(_KINDS)}")
        self._params = list(params.values() if isinstance(params, (dict, ParameterDict)) else params)
        self._kind, self._options = optimizer, dict(optimizer_params or {})
        self._scheduler = self._options.pop("lr_scheduler", None)  # of how many steps there were
        self._lr = self._options.pop("learning_rate", getattr(self._scheduler, "base_lr", _RATES[optimizer]))
        self._steps = 0
        self._wd = self._options.pop("wd", 0.0)
        self._batch, self._made, self._of = None, None, None

    @property
    def learning_rate(self):
        return self._lr if self._scheduler is None else self._scheduler(self._steps)

    def set_learning_rate(self, lr):
        if self._scheduler is not None:
            raise ValueError("the lr_scheduler says the learning rate")
        self._lr = lr

    def _begin(self, arrays, batch):
        """An optimiser for each device, weight decay and factor of the learning rate."""
        groups = {}
        for p, copies in arrays:
            for x in copies:
                groups.setdefault((x.device, p.wd_mult, p.lr_mult), []).append(x)
        self._made = [(mult, _KINDS[self._kind](group, self.learning_rate * mult, batch, self._wd * decay, **self._options))
                      for (_, decay, mult), group in groups.items()]
        self._batch, self._of = batch, [p.copies() for p, _ in arrays]

    def step(self, batch_size, ignore_stale_grad=False):
        """One step, of gradients that are sums over so many samples on all devices together. Does not wait."""
        arrays = [(p, p.list_data()) for p in self._params if p.is_made() and p.grad_req != "null"]
        if self._made is None or [p.copies() for p, _ in arrays] != self._of:
            self._begin(arrays, batch_size)
        for _, copies in arrays:
            if len(copies) > 1:
                _all_reduce([x.grad for x in copies])
            if batch_size != self._batch:
                for x in copies:
                    x.grad[...] = x.grad * (self._batch / batch_size)
        self._steps += 1
        rate = self.learning_rate
        for mult, optimizer in self._made:
            optimizer.lr = rate * mult
            optimizer.step()
