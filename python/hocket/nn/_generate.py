"""Generation: networks that write on, token by token."""

from .. import _core
from .._creation import arange as _arange, asarray as _asarray, full as _full
from .._grad import pause as _pause
from .._manipulation import concat as _concat

__all__ = ["Cache", "generate", "positions", "sample"]


class Cache:
    """What attention layers keep of the tokens so far, at most ``capacity`` of each row, so that a step looks at the new ones alone.

    The first call takes prompts (n, t), with ``lengths`` where they are shorter than t; later ones a token of each row, (n, 1). Each gives
    what the network gives for all tokens so far, at the new positions, as rounding shows.

    ::

        cache = nn.Cache(256)
        logits = cache(net, prompts, lengths)
        logits = cache(net, nn.sample(logits[:, -1]).reshape((-1, 1)))

    >>> hk.nn.Cache(8)(hk.nn.Attention(4, 2, causal=True), hk.ones((1, 3, 4))).shape
    (1, 3, 4)
    """

    def __init__(self, capacity):
        self._cache = _core._cache(capacity)

    def __call__(self, net, tokens, lengths=None):
        with _pause():
            tokens = self._cache.enter(_asarray(tokens), None if lengths is None else _asarray(lengths))
            try:
                return net(tokens)
            finally:
                self._cache.leave()

    def clear(self):
        """The next call is a first one again."""
        self._cache.clear()


def positions():
    """Inside of a network's forward: where the tokens of this call are in their rows, an Array (n,), for positions of one's own.

    None: there is no Cache, or it is its first call, whose tokens are at 0, 1 and so on.

    >>> hk.nn.positions() is None
    True
    """
    return _core._cache_positions()


def sample(logits, temperature=1.0, top_k=0, top_p=0.0, generator=None):
    """For each row of logits (…, classes) an index, drawn by what they say.

    Logits are divided by ``temperature``; 0: the largest. ``top_k``: among so many of the largest. ``top_p``: among the largest, as few as have
    that probability together. ``generator``: a hocket.random.Generator; None: this thread's stream.

    >>> hk.nn.sample(hk.asarray([[0.0, 9.0, 1.0]]), temperature=0)
    Array([1], dtype=int64)
    """
    return _core._sample(_asarray(logits), temperature, top_k, top_p, None if generator is None else generator._generator)


def generate(net, prompts, most, lengths=None, temperature=1.0, top_k=0, top_p=0.0, generator=None, each=None):
    """What a network, which gives logits (n, t, classes) for tokens (n, t), writes behind prompts (n, t): an Array (n, most).

    ``lengths``: how many tokens of each row are no padding. ``each`` is called with the tokens of each step, a list, as soon as they are there,
    and ends it by False; what was not made is -1. Else nothing waits. The other arguments are those of sample(). The module does not train
    meanwhile. The first step reads the prompts, the second is captured, and replayed for the others.

    >>> hk.nn.generate(hk.nn.Sequential(hk.nn.Embedding(9, 4), hk.nn.Linear(9)), [[1, 2], [3, 0]], 5, lengths=[2, 1]).shape
    (2, 5)
    """
    from .._capture import capture

    prompts = _asarray(prompts)
    if most < 1:
        raise ValueError(f"most is {most}, but must be at least 1")
    rows, width = prompts.shape
    cache = Cache(width + most - 1)

    def draw(logits):
        return sample(logits, temperature, top_k, top_p, generator).reshape((rows, 1))

    @capture
    def step(tokens):
        return draw(cache(net, tokens)[:, -1])

    modes = [(module, module.training) for module in net.modules()] if hasattr(net, "modules") else []
    for module, _ in modes:
        module._set_training(False)
    try:
        logits = cache(net, prompts, lengths)
        if lengths is None:
            logits = logits[:, -1]
        else:
            ends = _asarray(lengths, device=logits.device).astype("int64") - 1
            ends = ends + _arange(rows, dtype="int64", device=logits.device) * width
            logits = _core.operators["index_select"](logits.reshape((rows * width, logits.shape[2])), ends, 0)
        made = [draw(logits)]
        while len(made) < most and (each is None or each(made[-1].reshape((rows,)).tolist()) is not False):
            made.append(step(made[-1]))
        if each is not None and len(made) == most:
            each(made[-1].reshape((rows,)).tolist())
    finally:
        for module, training in modes:
            module._set_training(training)
    if len(made) < most:
        made.append(_full((rows, most - len(made)), -1, dtype="int64", device=made[0].device))
    return _concat(made, axis=1)
