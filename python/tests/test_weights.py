"""Modules and the names that PyTorch has for their arrays. What PyTorch itself makes of them: tests/torch/."""
import numpy as np
import pytest

import hocket as hk
from hocket import nn


def net():
    return nn.Sequential(nn.Linear(4), nn.LayerNorm(), nn.Attention(4, 2), nn.LSTM(3, layers=2, bidirectional=True), nn.Linear(2, bias=False),
                         nn.BatchNorm())


def built():
    return net().build((2, 5, 4))


NAMES = ["0.weight", "0.bias", "1.weight", "1.bias", "2.in_proj_weight", "2.in_proj_bias", "2.out_proj.weight", "2.out_proj.bias",
         *(f"3.{name}_l{layer}{way}" for layer in (0, 1) for way in ("", "_reverse") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
         "4.weight", "5.weight", "5.bias", "5.running_mean", "5.running_var"]


def test_names_and_back(tmp_path):
    made = built()
    state = made.state(names="torch")
    assert list(state) == NAMES and state["2.in_proj_weight"].shape == (12, 4)
    assert state["2.in_proj_weight"][4:8].tolist() == made._items[2].state()["key.weight"].tolist()
    made.save(tmp_path / "a.safetensors", names="torch")
    x = hk.asarray(np.random.default_rng(1).normal(size=(2, 5, 4)).astype("float32"))
    expected = made.eval()(x).tolist()
    for other in (built(), net()):
        assert other.load(tmp_path / "a.safetensors", names="torch").eval()(x).tolist() == expected


def test_files_with_more_within():
    state = {f"model.{name}": x for name, x in built().state(names="torch").items()}
    other = built()
    other.load(state | {"step": hk.ones(()), "model.5.num_batches_tracked": hk.asarray(3)}, names="torch")
    assert other.state()["0.weight"].tolist() == state["model.0.weight"].tolist()
    with pytest.raises(ValueError, match="as 'model.…' and as 'ema.…'; prefix= says which"):
        other.load(state | {"ema" + name[5:]: x for name, x in state.items()}, names="torch")
    other.load(state | {"ema" + name[5:]: x for name, x in state.items()}, names="torch", prefix="ema")


def test_what_does_not_fit():
    made, whole = built(), built().state(names="torch")
    before = made.state()["1.gamma"].tolist()
    renamed = {name.replace("5.bias", "5.bais"): x for name, x in whole.items()}
    with pytest.raises(KeyError, match="missing is 5.bias .near is 5.bais.; left over is 5.bais; strict=False"):
        made.load(renamed, names="torch")
    made.load(renamed, names="torch", strict=False)
    with pytest.raises(ValueError, match=r"2.in_proj_weight should be \(12, 4\), and is \(3, 4\) there"):
        made.load(whole | {"2.in_proj_weight": hk.ones((3, 4)), "1.weight": hk.zeros(4)}, names="torch")
    assert made.state()["1.gamma"].tolist() == before
    with pytest.raises(KeyError, match="none of the module's arrays is there"):
        made.load({"x": hk.ones(1)}, names="torch", strict=False)
    with pytest.raises(ValueError, match="names is 'jax'"):
        made.load(whole, names="jax")
    with pytest.raises(ValueError, match="prefix is 'a'"):
        made.load(whole, prefix="a")


def test_names_of_older_files():
    made, whole = built(), built().state(names="torch")
    old = {name.replace("1.weight", "1.gamma").replace("1.bias", "1.beta"): x for name, x in whole.items()} | {"mask": hk.ones(2)}
    made.load(old, names="torch", renames={"1.gamma": "1.weight", "1.beta": "1.bias", "mask": None})
    with pytest.raises(ValueError, match="renames takes 1.gamma and 1.beta both for 1.weight"):
        made.load(old, names="torch", renames={"1.gamma": "1.weight", "1.beta": "1.weight"})


def test_arrays_of_modules_of_ones_own():
    class Scaled(nn.Module):
        def __init__(self):
            self.scale = nn.Parameter(hk.ones(3))
            self.inner = nn.BatchNorm()

        def forward(self, x):
            return self.inner(x) * self.scale

    made = Scaled().build((2, 3))
    assert list(made.state(names="torch")) == ["scale", "inner.weight", "inner.bias", "inner.running_mean", "inner.running_var"]
    made.load({"module.scale": hk.zeros(3)} | {"module." + name: x for name, x in list(made.state("torch").items())[1:]}, names="torch")
    assert made.scale.tolist() == [0, 0, 0]
