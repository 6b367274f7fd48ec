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


def test_writes_in_place_keep_the_object_and_are_recorded():
    x = torch.tensor([1.0, -2, 3])
    view, same = x[1:], x
    assert x.mul_(2).add_(torch.ones(3)).sub_(0.5).div_(0.5).clamp_(-4, 10) is same
    assert x.tolist() == [5, -4, 10] and view.tolist() == [-4, 10]
    p = torch.tensor([1.0, 2], requires_grad=True)
    y = p * 3
    z = y + 0
    z.mul_(y).add_(1)
    assert z.tolist() == [10, 37]
    z.sum().backward()
    assert p.grad.tolist() == [18, 36]  # 9 p² + 1
    with pytest.raises(RuntimeError, match="sub_: a parameter's own elements .* torch.no_grad"):
        p.sub_(1)
    with torch.no_grad():
        p.sub_(0.1 * p.grad)
    p.data.add_(1)
    assert np.allclose(p.tolist(), [0.2, -0.6], atol=1e-6) and p.requires_grad


def test_functions_that_detection_and_pretraining_use():
    x = torch.tensor([[3.0, 1], [3, 2]])
    assert x.clamp(min=2).tolist() == [[3, 2], [3, 2]] and x.clamp(max=1.5).tolist() == [[1.5, 1], [1.5, 1.5]]
    assert x.sub(1).div(2).tolist() == [[1, 0], [1, 0.5]]
    assert x.unique().tolist() == [1, 2, 3]
    values, counts = torch.unique(x, return_counts=True)
    assert values.tolist() == [1, 2, 3] and counts.tolist() == [1, 1, 2]
    assert x.unique(return_inverse=True)[1].tolist() == [[2, 0], [2, 1]]
    assert torch.flatten(torch.ones(2, 3, 4), start_dim=1).shape == (2, 12) and torch.flatten(torch.ones(2, 3)).shape == (6,)


@pytest.mark.parametrize("reduction, joined", [("none", np.asarray), ("mean", np.mean), ("sum", np.sum)])
def test_binary_cross_entropy(reduction, joined):
    x, y, w = np.array([[0.5, -2], [3, 0]], "float32"), np.array([[1, 0], [0, 1]], "float32"), np.array([[1, 2], [3, 0]], "float32")
    p = 1 / (1 + np.exp(-x))
    losses = -y * np.log(p) - (1 - y) * np.log(1 - p)
    logits, targets = torch.tensor(x), torch.tensor(y)
    for weight in (None, w):
        wanted = joined(losses if weight is None else losses * weight)
        weight = weight if weight is None else torch.tensor(weight)
        assert np.allclose(F.binary_cross_entropy_with_logits(logits, targets, weight=weight, reduction=reduction).numpy(), wanted, 1e-5)
        assert np.allclose(nn.BCEWithLogitsLoss(weight, reduction)(logits, targets).numpy(), wanted, 1e-5)
        assert np.allclose(nn.BCELoss(weight, reduction)(torch.tensor(p), targets).numpy(), wanted, 1e-5)


def test_epochs_of_a_loader_may_be_under_way_together():
    """A loss over all batches is computed within an epoch, as the book's chapter on optimisation does."""
    Set, Loader = torch.utils.data.TensorDataset, torch.utils.data.DataLoader
    loader = Loader(Set(torch.arange(40), torch.arange(40) * 2), batch_size=10, shuffle=True)
    seen = []
    for x, y in loader:
        seen += x.tolist()
        assert sorted(sum((batch[0].tolist() for batch in loader), [])) == list(range(40))
        assert y.tolist() == (x * 2).tolist()
    assert sorted(seen) == list(range(40)) and len(loader) == 4
    first = [next(iter(loader))[0].tolist() for _ in range(3)]
    assert first[0] != first[1] != first[2] != first[0]


def test_a_loader_joins_samples_as_it_is_told():
    class Words(torch.utils.data.Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return "ab"[i % 2] * i, i

    loader = torch.utils.data.DataLoader(Words(), 2, collate_fn=lambda samples: ([word for word, _ in samples], len(samples)))
    assert list(loader) == [(["", "b"], 2), (["aa", "bbb"], 2), (["aaaa"], 1)]
    sums = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4)), 2, collate_fn=lambda rows: sum(x for x, in rows))
    assert [int(x) for x in sums] == [1, 5]


def test_modules_of_several_arguments_are_split_over_devices():
    devices = [torch.device("cuda:0"), torch.device("cuda:0")]

    class Pairs(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(torch.ones(1))

        def forward(self, pair, scale, nothing=None):
            assert nothing is None
            return [pair[0] * self.w, (pair[1] * scale, None)]

    net = nn.DataParallel(Pairs(), device_ids=devices)
    a, b, scale = torch.arange(6).float(), torch.ones(6, 2), torch.arange(6).float().reshape(6, 1)
    one, (other, none) = net([a, b], scale, None)
    assert one.tolist() == a.tolist() and other.tolist() == (b * scale).tolist() and none is None
    assert [part[1] for part in nn.parallel.scatter((a, "text"), devices)] == ["text", "text"]


def test_images_of_files(tmp_path):
    image = pytest.importorskip("PIL.Image")
    from hocket import torchvision
    pixels = np.arange(2 * 3 * 3, dtype="uint8").reshape(2, 3, 3) * 5
    image.fromarray(pixels).save(tmp_path / "three.png")
    image.fromarray(pixels[:, :, 0]).save(tmp_path / "grey.png")
    x = torchvision.io.read_image(tmp_path / "three.png")
    assert x.dtype == torch.uint8 and x.tolist() == pixels.transpose(2, 0, 1).tolist()
    assert torchvision.io.read_image(str(tmp_path / "grey.png")).shape == (1, 2, 3)
    assert torchvision.io.read_image(tmp_path / "grey.png", torchvision.io.image.ImageReadMode.RGB).shape == (3, 2, 3)


def test_cut_and_normalised_images():
    from hocket.torchvision import transforms
    x = torch.arange(2 * 4 * 5).reshape(2, 4, 5).float()
    for _ in range(20):
        top, left, height, width = transforms.RandomCrop.get_params(x, (3, 2))
        assert 0 <= top <= 1 and 0 <= left <= 3 and (height, width) == (3, 2)
        part = transforms.functional.crop(x, top, left, height, width)
        assert part.tolist() == x.numpy()[:, top:top + 3, left:left + 2].tolist()
    with pytest.raises(ValueError, match=r"\(5, 2\), more than the image's height and width \(4, 5\)"):
        transforms.RandomCrop.get_params(x, (5, 2))
    y = transforms.Normalize([1, 20], [2, 10])(x)
    assert np.allclose(y.numpy(), (x.numpy() - [[[1]], [[20]]]) / [[[2]], [[10]]])
