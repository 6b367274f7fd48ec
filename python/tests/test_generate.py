"""Generation: caches beside whole passes, sampling, and what generate() does with them."""

import numpy as np
import pytest

import hocket as hk
from hocket import nn


class Positions(nn.Module):
    """Positions of one's own, by hk.nn.positions()."""

    def __init__(self):
        self.table = nn.Embedding(32, 8)

    def forward(self, x):
        at = nn.positions()
        return x + (self.table(hk.arange(x.shape[1])) if at is None else self.table(at).reshape((x.shape[0], 1, 8)))


def network(places):
    hk.seed(4)
    return nn.Sequential(nn.Embedding(11, 8), places, nn.Residual(nn.Attention(8, 2, causal=True)), nn.Dropout(0.5),
                         nn.Residual(nn.Attention(8, 2, causal=True)), nn.Linear(11)).initialize(nn.init.normal(0.5)).eval()


@pytest.mark.parametrize("places", [Positions, lambda: nn.LearnedPositions(32), nn.SinusoidalPositions])
def test_a_cached_step_is_as_the_whole(places):
    net = network(places())
    tokens = np.arange(24).reshape(2, 12) * 5 % 11
    whole = np.asarray(net(hk.asarray(tokens)))
    lengths = [4, 2]
    cache = nn.Cache(12)
    first = np.asarray(cache(net, hk.asarray(tokens[:, :4]), hk.asarray(lengths)))
    for row, length in enumerate(lengths):
        assert np.abs(first[row, :length] - whole[row, :length]).max() < 1e-5
    for step in range(8):
        logits = np.asarray(cache(net, hk.asarray([[tokens[row, lengths[row] + step]] for row in range(2)])))
        for row, length in enumerate(lengths):
            assert np.abs(logits[row, 0] - whole[row, length + step]).max() < 1e-5
    with pytest.raises(hk.IndexError):
        cache(net, hk.asarray([[1], [1]])).tolist()
    hk.nn.positions() is None


def test_likeliest_tokens_are_those_of_whole_passes():
    net = network(nn.LearnedPositions(32))
    made = nn.generate(net, [[1, 2, 3], [4, 0, 0]], 9, lengths=[3, 1], temperature=0).tolist()
    for prompt, row in (([1, 2, 3], made[0]), ([4], made[1])):
        for token in row:
            assert token == int(net(hk.asarray([prompt]))[0, -1].argmax())
            prompt = prompt + [token]


def test_seeds_and_steps():
    net = network(nn.SinusoidalPositions())
    one = nn.generate(net, [[1, 2]], 10, top_k=5, generator=hk.random.Generator(3)).tolist()
    assert one == nn.generate(net, [[1, 2]], 10, top_k=5, generator=hk.random.Generator(3)).tolist()
    hk.seed(3)
    steps = []
    net.train()
    assert one == nn.generate(net, [[1, 2]], 10, top_k=5, each=steps.append).tolist()
    assert net.training and [[token] for token in one[0]] == steps
    few = nn.generate(net, [[1, 2]], 10, temperature=0, each=lambda tokens: False).tolist()
    assert few[0][1:] == [-1] * 9 and few[0][0] >= 0


def test_sample():
    logits = hk.asarray([0.0, 1.0, 2.0, 3.0])
    hk.seed(1)
    rows = hk.broadcast_to(logits, (3000, 4))
    counts = np.bincount(nn.sample(rows), minlength=4) / 3000
    assert np.abs(counts - np.exp([0, 1, 2, 3]) / np.exp([0, 1, 2, 3]).sum()).max() < 0.04
    assert set(nn.sample(rows, top_k=2).tolist()) == {2, 3}
    assert set(nn.sample(rows, top_p=0.6).tolist()) == {3}
    assert nn.sample(logits, temperature=0).tolist() == 3
    for wrong in ({"temperature": -1}, {"top_k": -1}, {"top_p": 1.5}):
        with pytest.raises(hk.IndexError):
            nn.sample(rows, **wrong)


def test_what_has_no_cache_refuses():
    with pytest.raises(hk.UnsupportedError, match="needs all of them"):
        nn.Cache(4)(nn.GRU(3), hk.zeros((1, 2, 3)))
    with pytest.raises(hk.UnsupportedError, match="needs all of them"):
        nn.Cache(4)(nn.Attention(4, 2), hk.zeros((1, 2, 4)))
    with pytest.raises(hk.ValueError, match="capacity"):
        nn.Cache(0)
    cache = nn.Cache(4)
    with pytest.raises(hk.IndexError, match="room for 4"):
        cache(nn.Linear(2), hk.zeros((1, 5, 3)))
    assert cache(nn.Linear(2), hk.zeros((1, 2, 3))).shape == (1, 2, 2)
    with pytest.raises(hk.ValueError, match="without lengths"):
        cache(nn.Linear(2), hk.zeros((1, 2, 3)))
    cache.clear()
    assert cache(nn.Linear(2), hk.zeros((4, 2, 3))).shape == (4, 2, 2)
