"""Groups of parameters with options of their own."""


class Groups:
    """An optimizer for each group of parameters, which step together: options of their own for biases, or for layers that are known already.

    kind: such as hk.optim.AdamW. groups: a dict for each, with its "params" and the options that differ from those for all.
    param_groups: these dicts; what is written to the "lr" of one counts from the next step on.

    >>> net = hk.nn.Linear(2)
    >>> _ = net.build((1, 3))
    >>> opt = hk.optim.Groups(hk.optim.SGD, [{"params": [net.weight], "weight_decay": 0.1}, {"params": [net.bias], "lr": 0.5}], lr=0.1)
    >>> [group["lr"] for group in opt.param_groups]
    [0.1, 0.5]
    """

    def __init__(self, kind, groups, **options):
        self.param_groups = [{**options, **group} for group in groups]
        for group in self.param_groups:
            if "params" not in group:
                raise ValueError(f"a group has {', '.join(group)}, but must have params")
        self._optimizers = [kind(**group) for group in self.param_groups]
        for group, optimizer in zip(self.param_groups, self._optimizers):
            group["lr"] = optimizer.lr
        self.params  # noqa: B018  (refuses what is in two groups)

    @property
    def params(self):
        """The parameters of all groups."""
        found = [p for optimizer in self._optimizers for p in optimizer.params]
        if len({p._identity() for p in found}) < len(found):
            raise ValueError("a parameter is in two groups; it would be updated twice in each step")
        return found

    def step(self):
        """One step of every parameter, from its gradient. Does not wait."""
        for group, optimizer in zip(self.param_groups, self._optimizers):
            if optimizer.lr != group["lr"]:
                optimizer.lr = group["lr"]
            optimizer.step()

    def zero_grad(self):
        """Sets all gradients to zeros: for parameters that are attached in the mode 'add'."""
        for optimizer in self._optimizers:
            optimizer.zero_grad()

    def clip_grad_norm(self, norm):
        """Scales the gradients of all groups so that their norm together is at most norm. Returns the norm before, an array ()."""
        from .optim import clip_grad_norm
        return clip_grad_norm([p for optimizer in self._optimizers for p in optimizer._trained()], norm)

    def state(self):
        """A dict of what they keep, to be saved."""
        return {f"{i}.{name}": array for i, optimizer in enumerate(self._optimizers) for name, array in optimizer.state().items()}

    def load(self, arrays):
        """Goes on from what was saved: a dict like that of state()."""
        for i, (group, optimizer) in enumerate(zip(self.param_groups, self._optimizers)):
            optimizer.load({name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{i}.")})
            group["lr"] = optimizer.lr
