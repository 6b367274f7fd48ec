"""mxnet.lr_scheduler: learning rates by how many updates there were."""

import math as _math


class LRScheduler:
    """A class of one's own says __call__(num_update)."""

    def __init__(self, base_lr=0.01, warmup_steps=0, warmup_begin_lr=0.0, warmup_mode="linear"):
        if warmup_mode not in ("linear", "constant"):
            raise ValueError(f"warmup_mode is {warmup_mode!r}; there are 'linear' and 'constant'")
        self.base_lr, self.warmup_steps, self.warmup_begin_lr, self._mode = base_lr, warmup_steps, warmup_begin_lr, warmup_mode
        self.warmup_final_lr = base_lr

    def __call__(self, num_update):
        if num_update < self.warmup_steps:
            part = num_update / self.warmup_steps if self._mode == "linear" else 0
            return self.warmup_begin_lr + (self.warmup_final_lr - self.warmup_begin_lr) * part
        return self._after(num_update)


class FactorScheduler(LRScheduler):
    """Times factor after each step updates, but not below stop_factor_lr."""

    def __init__(self, step, factor=1, stop_factor_lr=1e-8, **options):
        super().__init__(**options)
        self.step, self.factor, self.stop_factor_lr = step, factor, stop_factor_lr

    def _after(self, num_update):
        return max(self.base_lr * self.factor ** (max(num_update - 1, 0) // self.step), self.stop_factor_lr)


class MultiFactorScheduler(LRScheduler):
    """Times factor after each of these numbers of updates."""

    def __init__(self, step, factor=1, **options):
        super().__init__(**options)
        self.step, self.factor = list(step), factor

    def _after(self, num_update):
        return self.base_lr * self.factor ** sum(num_update > step for step in self.step)


class CosineScheduler(LRScheduler):
    """From base_lr to final_lr along a cosine, until max_update."""

    def __init__(self, max_update, base_lr=0.01, final_lr=0, **options):
        super().__init__(base_lr, **options)
        self.max_update, self.final_lr = max_update, final_lr

    def _after(self, num_update):
        part = min(1, (num_update - self.warmup_steps) / (self.max_update - self.warmup_steps))
        return self.final_lr + (self.base_lr - self.final_lr) * (1 + _math.cos(_math.pi * part)) / 2
