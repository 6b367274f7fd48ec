"""What the book's chapters ask of the dialect of PyTorch beside test_dialects.py: lazy layers, recorded writes, recurrent layers."""
import numpy as np
import pytest

from hocket import torch

nn, F = torch.nn, torch.nn.functional


def test_lazy_layers_begin_as_they_are_told_and_become_plain_ones():
    layer = nn.LazyLinear(2)
    assert repr(layer.weight) == "<UninitializedParameter>" and layer.weight.requires_grad
    layer.weight.data.fill_(3)
    layer.bias.data.zero_()
    assert layer(torch.ones(1, 4)).tolist() == [[12, 12]] and type(layer) is nn.Linear and layer.weight.shape == (2, 4)
    conv = nn.LazyConv2d(2, kernel_size=3, bias=False)
    nn.init.xavier_uniform_(conv.weight)
    conv(torch.ones(1, 1, 5, 5))
    assert type(conv) is nn.Conv2d and conv.bias is None and float(conv.weight.std()) > 0
    norm = nn.LazyBatchNorm1d()
    norm(torch.ones(2, 3))
    assert type(norm) is nn.BatchNorm1d and norm.weight.tolist() == [1, 1, 1]
    with pytest.raises(ValueError, match="mean is 1"):
        nn.LazyLinear(1).weight.normal_(1, 1)


def test_optimisers_find_parameters_that_are_made_later():
    net = nn.Sequential(nn.Linear(3, 4), nn.LazyLinear(1))
    opt = torch.optim.SGD(net.parameters(), lr=1)
    groups = torch.optim.SGD([{"params": net[1].weight, "weight_decay": 0.5}, {"params": net[1].bias}], lr=0.1)
    net(torch.ones(2, 3)).sum().backward()
    before = net[1].weight.clone()
    opt.step()
    assert len(opt.params) == 4 and (before != net[1].weight).all()
    opt.zero_grad()
    now = net[1].weight.clone()
    groups.step()
    assert np.allclose(net[1].weight.detach().numpy(), now.detach().numpy() * 0.95)


@pytest.mark.parametrize("write", [
    lambda x, v: x.__setitem__(x > 0, v[0, 0]), lambda x, v: x.__setitem__(0, v[1]), lambda x, v: x.__setitem__((slice(None), 1), v[:, 0]),
    lambda x, v: x.__setitem__((slice(None), slice(0, 4, 2)), v[:, :2]), lambda x, v: x.__setitem__(torch.tensor([2, 0]), v[:2]),
    lambda x, v: x.__setitem__((1, 2), v[0, 0]), lambda x, v: x.__setitem__(x < 0, 0.5),
])
def test_writes_are_recorded(write):
    """Gradients through x[key] = v equal finite differences."""
    torch.manual_seed(3)
    a, v = torch.randn(3, 4), torch.randn(3, 4)

    def loss(a, v):
        x = a * 2
        write(x, v)
        return (x ** 3).sum()

    grads = []
    for leaf in (a, v):
        leaf.requires_grad_()
    loss(a, v).backward()
    for leaf in (a, v):
        found = np.zeros((3, 4))
        for i in range(12):
            step = np.zeros((3, 4), "float32")
            step.flat[i] = 1e-2
            with torch.no_grad():
                moved = [(a + step, v) if leaf is a else (a, v + step), (a - step, v) if leaf is a else (a, v - step)]
                found.flat[i] = (float(loss(*moved[0])) - float(loss(*moved[1]))) / 2e-2
        grads.append(np.allclose(leaf.grad.numpy(), found, rtol=2e-2, atol=5e-2))
    assert grads == [True, True]


def test_a_write_is_seen_by_the_object():
    w = torch.ones(3, requires_grad=True)
    x = w * 2
    same = x
    x[0] = 7
    assert same.tolist() == [7, 2, 2]
    y = torch.zeros(2)
    y[1] = w.sum()
    y.sum().backward()
    assert w.grad.tolist() == [1, 1, 1]


@pytest.mark.parametrize("kind, gates", [(nn.RNN, 1), (nn.GRU, 3), (nn.LSTM, 4)])
@pytest.mark.parametrize("bidirectional", [False, True])
def test_recurrent_layers(kind, gates, bidirectional):
    layer = kind(3, 4, num_layers=2, bidirectional=bidirectional)
    ways = 2 if bidirectional else 1
    x = torch.randn(5, 2, 3)
    y, state = layer(x)
    h = state[0] if kind is nn.LSTM else state
    assert y.shape == (5, 2, 4 * ways) and h.shape == (2 * ways, 2, 4)
    assert np.allclose(y[-1, :, :4].detach().numpy(), h[-ways].detach().numpy())
    again, _ = layer(x, tuple(part * 0 for part in state) if kind is nn.LSTM else h * 0)
    assert np.allclose(again.detach().numpy(), y.detach().numpy())
    assert layer._parameters["weight_ih_l0"].shape == (4 * gates, 3) and "weight_hh_l1" in layer._flat_weights_names
    y.sum().backward()
    assert len(layer.parameters()) == len(layer._flat_weights_names) and all(float(p.grad.abs().sum()) > 0 for p in layer.parameters())


def test_sizes_shapes_and_reductions():
    x = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    assert x.size == 6 and x.size() == (2, 3) and x.size(1) == 3
    assert x.transpose(0, 1).shape == x.permute(1, 0).shape == (3, 2) and x.repeat(2, 1).shape == (4, 3)
    assert x.repeat_interleave(2, 0).shape == (4, 3) and x.expand(4, 2, 3).shape == (4, 2, 3) and x.unsqueeze(0).squeeze(0).shape == (2, 3)
    assert x.squeeze(0).shape == (2, 3) and [part.shape for part in x.split(2, dim=1)] == [(2, 2), (2, 1)]
    values, places = torch.max(x, 1)
    assert values.tolist() == [2, 5] and places.tolist() == [2, 2] and torch.max(x, x.flip(0) if hasattr(x, "flip") else x).shape == (2, 3)
    assert torch.nonzero(x > 3).tolist() == [[1, 1], [1, 2]] and torch.bmm(x[None], x.T[None]).shape == (1, 2, 2)
    assert torch.meshgrid(torch.arange(2), torch.arange(3))[0].shape == (2, 3) and torch.pow(2, x)[1, 2] == 32
    assert isinstance(torch.Tensor([[1, 2]]), torch.Tensor) and torch.Tensor([1]).dtype == torch.float32 and not isinstance(1, torch.Tensor)
    assert torch.autograd.grad((x.requires_grad_() ** 2).sum(), x)[0].tolist() == (2 * x).tolist()
    counts = torch.distributions.multinomial.Multinomial(10, torch.ones(4) / 4).sample((3,))
    assert counts.shape == (3, 4) and counts.sum(1).tolist() == [10] * 3


def test_cross_entropy_has_classes_on_axis_1():
    x, y = torch.randn(2, 5, 3), torch.tensor([[0, 1, 2], [4, 3, 2]])
    losses = nn.CrossEntropyLoss(reduction="none")(x, y)
    wanted = -F.log_softmax(x, 1)[0, 1, 1]
    assert losses.shape == (2, 3) and float(losses[0, 1]) == pytest.approx(float(wanted), rel=1e-5)


def test_every_part_is_a_module():
    classes = [value for value in vars(nn).values() if isinstance(value, type) and hasattr(value, "forward")]
    assert len(classes) > 20 and all(issubclass(cls, nn.Module) for cls in classes)
    parts = nn.Sequential(nn.Linear(2, 3), nn.ReLU()), nn.LazyLinear(2), nn.Tanh(), nn.Dropout(0.5), nn.GRU(2, 3)
    assert all(isinstance(part, nn.Module) for part in parts)
    assert not isinstance(torch.ones(2), nn.Module) and not isinstance(parts[0], nn.Linear)


def test_arrays_lists_and_dicts_in_files_of_any_name(tmp_path):
    x, path = torch.arange(3), tmp_path / "weights"
    torch.save(x, path)
    assert torch.load(path).tolist() == [0, 1, 2] and torch.load(path).dtype == torch.int64
    torch.save([x, x * 2.5], str(path))
    assert [y.tolist() for y in torch.load(path, map_location="cpu:0")] == [[0, 1, 2], [0, 2.5, 5]]
    torch.save({"a": x}, path)
    assert list(torch.load(path)) == ["a"]
    torch.save({"a": x}, tmp_path / "b.npz")
    assert torch.load(tmp_path / "b.npz")["a"].tolist() == [0, 1, 2]
    net, other = (nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(1)) for _ in range(2))
    y = net(torch.ones(2, 3))
    torch.save(net.state_dict(), path)
    other.load_state_dict(torch.load(path))
    assert other.eval()(torch.ones(2, 3)).tolist() == y.tolist()
