"""torch.optim.lr_scheduler: learning rates by epoch. Each is the initial one times a factor, which a class says."""

import math as _math

__all__ = ["CosineAnnealingLR", "ExponentialLR", "LambdaLR", "LRScheduler", "MultiStepLR", "StepLR"]


class LRScheduler:
    """A class of one's own says get_lr(), of self.base_lrs and self.last_epoch."""

    def __init__(self, optimizer, last_epoch=-1):
        self.optimizer, self.last_epoch = optimizer, last_epoch
        self.base_lrs = [group.setdefault("initial_lr", group["lr"]) for group in optimizer.param_groups]
        self.step()

    def get_lr(self):
        return [rate * self._factor(self.last_epoch) for rate in self.base_lrs]

    def step(self):
        """The next epoch's learning rates."""
        self.last_epoch += 1
        self._last_lr = self.get_lr()
        for group, rate in zip(self.optimizer.param_groups, self._last_lr):
            group["lr"] = rate

    def get_last_lr(self):
        return self._last_lr


class LambdaLR(LRScheduler):
    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self._factor = lr_lambda
        super().__init__(optimizer, last_epoch)


class StepLR(LRScheduler):
    """Times gamma after each step_size epochs."""

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self._factor = lambda epoch: gamma ** (epoch // step_size)
        super().__init__(optimizer, last_epoch)


class MultiStepLR(LRScheduler):
    """Times gamma at each of the milestones."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self._factor = lambda epoch: gamma ** sum(epoch >= milestone for milestone in milestones)
        super().__init__(optimizer, last_epoch)


class ExponentialLR(LRScheduler):
    def __init__(self, optimizer, gamma, last_epoch=-1):
        self._factor = lambda epoch: gamma ** epoch
        super().__init__(optimizer, last_epoch)


class CosineAnnealingLR(LRScheduler):
    """From the initial one to eta_min, in T_max epochs."""

    def __init__(self, optimizer, T_max, eta_min=0.0, last_epoch=-1):
        self._T_max, self._eta_min = T_max, eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        part = (1 + _math.cos(_math.pi * self.last_epoch / self._T_max)) / 2
        return [self._eta_min + (rate - self._eta_min) * part for rate in self.base_lrs]
