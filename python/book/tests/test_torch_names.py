"""What the book's later chapters use of PyTorch: names, how arrays look, learning rates, images, networks."""
import math

import numpy as np
import pytest

from hocket import torch, torchvision

nn, F = torch.nn, torch.nn.functional


@pytest.mark.parametrize("x, wanted", [
    (lambda: torch.arange(6).reshape(2, 3), "tensor([[0, 1, 2],\n        [3, 4, 5]])"),
    (lambda: torch.ones(2), "tensor([1., 1.])"), (lambda: torch.tensor(2.5), "tensor(2.5000)"),
    (lambda: torch.tensor([1e-6, 1]), "tensor([1.0000e-06, 1.0000e+00])"), (lambda: torch.zeros(0, 3), "tensor([], size=(0, 3))"),
    (lambda: torch.tensor([True, False]), "tensor([ True, False])"), (lambda: torch.tensor([1, 20], dtype=torch.int32),
                                                                     "tensor([ 1, 20], dtype=torch.int32)"),
    (lambda: torch.tensor([math.nan, -1.5]), "tensor([    nan, -1.5000])"), (lambda: torch.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
    (lambda: torch.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
    (lambda: torch.ones(1, 1, 1), "tensor([[[1.]]])"), (lambda: torch.zeros(2, 1, 1), "tensor([[[0.]],\n\n        [[0.]]])"),
])
def test_how_arrays_look(x, wanted):
    assert repr(x()) == str(x()) == wanted


def test_shapes_and_digits():
    shape = torch.ones(2, 3).shape
    assert repr(shape) == "torch.Size([2, 3])" and shape == (2, 3) and repr(shape[1:]) == "torch.Size([3])" and shape.numel() == 6
    torch.set_printoptions(precision=2)
    try:
        assert repr(torch.tensor([0.125, 1])) == "tensor([0.12, 1.00])"
    finally:
        torch.set_printoptions(precision=4)


def test_functions():
    x = torch.tensor([1., 2, 4])
    assert torch.log2(x).tolist() == [0, 1, 2] and torch.pi == math.pi and torch.cumsum(x, dim=0).tolist() == x.cumsum(dim=0).tolist() == [1, 3, 7]
    assert float(torch.acos(torch.tensor(1.))) == 0 and torch.nansum(torch.tensor([1, math.nan])) == 1
    assert torch.det(torch.tensor([[1., -1], [2, 3]])) == pytest.approx(5) and torch.linalg.norm(torch.tensor([3., 4])) == 5
    assert torch.linalg.eigvals(torch.tensor([[2., 1], [2, 3]], dtype=torch.float64)).real.tolist() == pytest.approx([1, 4])
    values, places = torch.tensor([[1., 5], [7, 2]]).max(1)
    assert values.tolist() == [5, 7] and places.tolist() == [1, 0]
    assert float(F.cosine_similarity(x, 2 * x, dim=0)) == pytest.approx(1) and nn.LeakyReLU(0.2)(torch.tensor([-1., 1])).tolist() == pytest.approx([-0.2, 1])
    assert torch.jit.script(torch.exp) is torch.exp


def test_draws():
    torch.manual_seed(1)
    counts = torch.distributions.binomial.Binomial(10, 0.3).sample((4000,))
    events = torch.distributions.poisson.Poisson(5.0).sample((4000,))
    assert float(counts.mean()) == pytest.approx(3, abs=.15) and float(counts.var()) == pytest.approx(2.1, abs=.3)
    assert float(events.mean()) == pytest.approx(5, abs=.2) and float(events.var()) == pytest.approx(5, abs=.6)
    with pytest.raises(ValueError, match="from 0 to 1, not 2"):
        torch.distributions.Binomial(1, 2).sample()


def test_layers_and_losses():
    x, kernel = torch.arange(4, dtype=torch.float32).reshape(1, 1, 2, 2), torch.arange(4, dtype=torch.float32).reshape(1, 1, 2, 2)
    layer = nn.ConvTranspose2d(1, 1, kernel_size=2, bias=False)
    layer.weight.data = kernel
    assert layer(x)[0, 0].tolist() == [[0, 0, 1], [0, 4, 6], [4, 12, 9]]
    assert nn.ConvTranspose2d(21, 21, 64, padding=16, stride=32)(torch.ones(1, 21, 1, 1)).shape == (1, 21, 32, 32)
    assert nn.Conv1d(2, 3, 2)(torch.ones(1, 2, 5)).shape == (1, 3, 4) and nn.MaxPool1d(2)(torch.ones(1, 1, 4)).shape == (1, 1, 2)
    assert nn.AdaptiveAvgPool1d(1)(torch.arange(4.).reshape(1, 1, 4)).tolist() == [[[1.5]]]
    assert nn.AdaptiveMaxPool1d(1)(torch.arange(4.).reshape(1, 1, 4)).tolist() == [[[3]]]
    assert nn.Flatten(start_dim=2)(torch.ones(2, 3, 4, 5)).shape == (2, 3, 20)
    assert float(nn.NLLLoss()(torch.log(torch.tensor([[0.5, 0.5], [0.25, 0.75]])), torch.tensor([0, 0]))) == pytest.approx(math.log(8) / 2)
    assert nn.SmoothL1Loss(reduction="none")(torch.tensor([0.5, 3]), torch.zeros(2)).tolist() == [0.125, 2.5]
    net = nn.Sequential(nn.Linear(2, 2))
    net.add_module("last", nn.Linear(2, 1))
    assert net.last.weight.shape == (1, 2) and list(net.state_dict()) == ["0.weight", "0.bias", "last.weight", "last.bias"]
    named = nn.Sequential()
    named.features, named.output = nn.Linear(2, 3), nn.Linear(3, 1)
    assert named(torch.ones(1, 2)).shape == (1, 1) and len(named.parameters()) == 4
    named.output = nn.Linear(3, 5)
    assert named(torch.ones(1, 2)).shape == (1, 5) and named.output is named[1]
    parts = nn.ModuleList([nn.Linear(1, 1)])
    parts.append(nn.Linear(1, 2))
    assert len(parts.parameters()) == 4 and parts[1].out_features == 2


def test_arrays_that_are_no_parameters_are_not_saved():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.weight = torch.ones(2), nn.Parameter(torch.ones(1))
            self.register_buffer("counts", torch.zeros(1))

    net = Net()
    assert list(net.state_dict()) == ["weight", "counts"]
    net.weight.requires_grad = False
    assert list(net.state_dict()) == ["weight", "counts"] and not net.parameters()


def test_learning_rates():
    w = torch.ones(1, requires_grad=True)
    trainer = torch.optim.SGD([w], lr=1.0)
    steps = torch.optim.lr_scheduler.MultiStepLR(trainer, milestones=[1, 3], gamma=0.5)
    rates = []
    for _ in range(4):
        rates += steps.get_last_lr()
        w.grad.zero_()
        w.sum().backward()
        trainer.step()
        steps.step()
    assert rates == [1, 0.5, 0.5, 0.25] and float(w) == pytest.approx(1 - 2.25)
    for scheduler, wanted in ((torch.optim.lr_scheduler.StepLR, [1, 1, 0.1]), (torch.optim.lr_scheduler.ExponentialLR, [1, 0.5, 0.25])):
        trainer = torch.optim.Adam([{"params": w}, {"params": torch.ones(1, requires_grad=True), "lr": 2.0}], lr=1.0)
        made = scheduler(trainer, 2 if scheduler.__name__ == "StepLR" else 0.5)
        found = []
        for _ in range(3):
            found.append(made.get_last_lr())
            made.step()
        assert np.allclose(found, [[rate, 2 * rate] for rate in wanted])
    trainer.param_groups[0]["lr"] = 0.125
    assert trainer._optimizers()[0].lr == 0.125
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(torch.optim.SGD([w], lr=1.0), T_max=2)
    cosine.step()
    assert cosine.get_last_lr() == pytest.approx([0.5])


@pytest.mark.parametrize("count", [1, 3])
def test_values_for_what_a_mask_selects_are_recorded(count):
    x, mask = torch.ones(4, requires_grad=True), torch.tensor([True, False, True, True])
    values = (torch.arange(3, dtype=torch.float32) + 1)[:count].requires_grad_()
    y = x * 2
    y[mask] = values
    (y * torch.arange(4)).sum().backward()
    assert y.tolist() == ([1, 2, 2, 3] if count == 3 else [1, 2, 1, 1])
    assert x.grad.tolist() == [0, 2, 0, 0] and values.grad.tolist() == ([0, 2, 3] if count == 3 else [5])


def test_loaders_of_few_samples():
    loader = torch.utils.data.DataLoader
    assert len(loader([], 2)) == 0 and list(loader([], 2)) == []
    empty = torch.utils.data.TensorDataset(torch.ones(0, 2))
    assert len(loader(empty, 2)) == 0 and list(loader(empty, 2, shuffle=True)) == []
    assert list(loader(torch.utils.data.TensorDataset(torch.ones(3)), 4, drop_last=True)) == []
    (x,), = loader(torch.utils.data.TensorDataset(torch.arange(3)), 3)
    assert x.tolist() == [0, 1, 2]
    x, y = next(iter(loader(torch.utils.data.Subset([(torch.ones(2), 1), (torch.zeros(2), 5)], [1]), 1)))
    assert x.tolist() == [[0, 0]] and y.tolist() == [5]
    with pytest.raises(ValueError, match="last_batch is 'some'"):
        loader([1], last_batch="some")


def test_regions():
    x = torch.arange(16, dtype=torch.float32).reshape(1, 1, 4, 4)
    rois = torch.tensor([[0, 0, 0, 20, 20], [0, 0, 10, 30, 30]], dtype=torch.float32)
    assert torchvision.ops.roi_pool(x, rois, output_size=(2, 2), spatial_scale=0.1).tolist() == [[[[5, 6], [9, 10]]], [[[9, 11], [13, 15]]]]
    with pytest.raises(ValueError, match="a box is of the image 3"):
        torchvision.ops.roi_pool(x, torch.tensor([[3., 0, 0, 1, 1]]), 1)


def test_networks_by_name(tmp_path, monkeypatch):
    net = torchvision.models.resnet18(num_classes=3).eval()
    assert net(torch.zeros(1, 3, 64, 64)).shape == (1, 3)
    names = list(net.state_dict())
    assert len(names) == 122 and {"layer2.0.downsample.0.weight", "bn1.running_mean", "fc.bias"} <= set(names)
    assert sum(p.numel() for p in torchvision.models.resnet18().parameters()) == 11689512
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="the weights of resnet18 are not there.*download.pytorch.org"):
        torchvision.models.resnet18(pretrained=True)
    folder = tmp_path / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(net.state_dict(), folder / "resnet18-abc.pth")
    assert torchvision.models.resnet18(pretrained=True, num_classes=3).fc.weight.tolist() == net.fc.weight.tolist()
    assert len(torchvision.models.vgg11(num_classes=2).features) == 21


# ---- images --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def picture():
    image = pytest.importorskip("PIL.Image")
    return image.fromarray((np.arange(4 * 6 * 3) % 256).astype(np.uint8).reshape(4, 6, 3))


def test_transforms_of_pictures(picture):
    t = torchvision.transforms
    values = np.asarray(picture)
    assert np.allclose(t.ToTensor()(picture).numpy(), values.transpose(2, 0, 1) / 255)
    assert (np.asarray(t.ToPILImage()(t.ToTensor()(picture))) == values).all()
    assert (np.asarray(t.RandomHorizontalFlip(1)(picture)) == values[:, ::-1]).all() and t.RandomHorizontalFlip(0)(picture) is picture
    assert (np.asarray(t.RandomVerticalFlip(1)(picture)) == values[::-1]).all()
    assert (np.asarray(t.CenterCrop(2)(picture)) == values[1:3, 2:4]).all()
    assert t.Resize(2)(picture).size == (3, 2) and t.Resize((3, 5))(picture).size == (5, 3)
    assert t.RandomResizedCrop(3, scale=(0.5, 1), ratio=(1, 1))(picture).size == (3, 3) and t.RandomCrop((2, 3))(picture).size == (3, 2)
    assert np.abs(np.asarray(t.ColorJitter()(picture)).astype(int) - values).max() == 0
    assert t.ColorJitter(0.5, 0.5, 0.5, 0.5)(picture).size == (6, 4)
    both = t.Compose([t.ToTensor(), lambda x: x * 2, t.Normalize([1, 1, 1], [2, 2, 2])])
    assert np.allclose(both(picture).numpy(), values.transpose(2, 0, 1) / 255 - 0.5)
    flipped = t.RandomHorizontalFlip(1)(torch.tensor(values.transpose(2, 0, 1)))
    assert (flipped.numpy() == values.transpose(2, 0, 1)[:, :, ::-1]).all()
    with pytest.raises(ValueError, match="uint8"):
        t.RandomHorizontalFlip(1)(torch.ones(3, 4, 4))


def test_images_in_folders(picture, tmp_path):
    for name in ("b/1.png", "a/2.png", "a/1.png", "a/no.txt"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("") if name.endswith("txt") else picture.save(path)
    found = torchvision.datasets.ImageFolder(str(tmp_path), transform=torchvision.transforms.ToTensor())
    assert found.classes == ["a", "b"] and len(found) == 3 and found.targets == [0, 0, 1] and found[-1][0].shape == (3, 4, 6)
    with pytest.raises(FileNotFoundError, match="no folders of images"):
        torchvision.datasets.ImageFolder(str(tmp_path / "a"))


def test_digits_and_small_pictures_of_files(tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "none"))
    with pytest.raises(FileNotFoundError, match="CIFAR-10 is not there.*cifar-10-binary.tar.gz"):
        torchvision.datasets.CIFAR10(str(tmp_path))
    row = bytes([7]) + bytes(range(256)) * 12
    (tmp_path / "test_batch.bin").write_bytes(row * 2)
    images = torchvision.datasets.CIFAR10(str(tmp_path), train=False)
    assert len(images) == 2 and images[0][1] == 7 and images[1][0].getpixel((1, 0)) == (1, 1, 1)
    (tmp_path / "test_batch.bin").write_bytes(row[:-1])
    with pytest.raises(ValueError, match="3072 bytes, which is no multiple of 3073"):
        torchvision.datasets.CIFAR10(str(tmp_path), train=False)
    (tmp_path / "t10k-images-idx3-ubyte").write_bytes(bytes.fromhex("00000803 00000001 0000001c 0000001c") + bytes(range(196)) * 4)
    (tmp_path / "t10k-labels-idx1-ubyte").write_bytes(bytes.fromhex("00000801 00000001") + b"\x03")
    (tmp_path / "train-images-idx3-ubyte").write_bytes(b"")
    digits = torchvision.datasets.MNIST(str(tmp_path), train=False)
    assert digits[0][1] == 3 and digits[0][0].getpixel((5, 0)) == 5 and digits.data.shape == (1, 28, 28, 1)


def test_images_of_another_size_and_elements_in_the_middle():
    x = torch.tensor([[[[1., 2], [3, 4]]]])
    assert nn.Upsample(scale_factor=2)(x)[0, 0, 0].tolist() == [1, 1, 2, 2]
    assert F.interpolate(x, scale_factor=2, mode="bilinear")[0, 0, 0].tolist() == [1, 1.25, 1.75, 2]
    assert F.interpolate(x, size=(2, 3), mode="bilinear", align_corners=True)[0, 0, 0].tolist() == [1, 1.5, 2]
    assert nn.PixelUnshuffle(2)(x).shape == (1, 4, 1, 1) and nn.PixelShuffle(2)(nn.PixelUnshuffle(2)(x)).tolist() == x.tolist()
    with pytest.raises(ValueError, match="mode is 'area'"):
        F.interpolate(x, scale_factor=2, mode="area")
    y = torch.tensor([[3., 1, 4, 1], [5, 9, 2, math.nan]])
    assert torch.median(y[0]).tolist() == 1 and math.isnan(torch.median(y)) and torch.quantile(y[0], 0.5) == 2
    values, places = torch.median(y, 1)
    assert values[0] == 1 and math.isnan(values[1]) and places.tolist() == [3, 3]
    values, places = torch.cummax(y[0], 0)
    assert values.tolist() == [3, 3, 4, 4] and places.tolist() == [0, 0, 2, 2]
    assert torch.cummin(y[0], 0)[1].tolist() == [0, 1, 1, 3]


def test_volumes_sequences_and_boxes():
    x = torch.arange(16.).reshape(1, 1, 2, 2, 4)
    layer = nn.Conv3d(1, 1, 2, bias=False)
    layer.weight.data = torch.ones(1, 1, 2, 2, 2)
    assert layer(x).flatten().tolist() == [52, 60, 68] and F.conv3d(x, layer.weight).flatten().tolist() == [52, 60, 68]
    assert nn.ConvTranspose3d(4, 2, 3, stride=2, padding=1, output_padding=1)(torch.ones(1, 4, 2, 3, 4)).shape == (1, 2, 4, 6, 8)
    assert F.conv_transpose3d(torch.ones(1, 1, 1, 1, 2), torch.ones(1, 1, 1, 1, 2)).flatten().tolist() == [1, 2, 1]
    scores = F.log_softmax(2 * torch.sin(torch.arange(24.).reshape(4, 2, 3)), 2)
    for targets in (torch.tensor([[1, 2], [1, 1]]), torch.tensor([1, 2, 1, 1])):
        losses = nn.CTCLoss(reduction="none")(scores, targets, (4, 4), torch.tensor([2, 2]))
        assert losses.tolist() == pytest.approx([1.1655531, 3.1879399], rel=1e-5)
    with pytest.raises(ValueError, match="targets has 4 labels, but target_lengths adds up to 3"):
        F.ctc_loss(scores, torch.tensor([1, 2, 1, 1]), (4, 4), (2, 1))
    y = torch.tensor([[1., math.nan, 4, 2], [math.nan] * 4])
    values, places = torch.nanmedian(y, 1)
    assert values[0] == 2 and places[0] == 3 and math.isnan(values[1]) and float(torch.nanmedian(y)) == 2
    assert float(torch.nanquantile(y, 0.75)) == 3
    boxes = torch.tensor([[0., 0, 2, 2], [0, 0, 2, 1.5], [3, 3, 4, 4]])
    ops = torchvision.ops
    assert ops.nms(boxes, torch.tensor([.5, .75, .25]), .5).tolist() == [1, 2]
    assert ops.batched_nms(boxes, torch.tensor([.5, .75, .25]), torch.tensor([0, 1, 0]), .5).tolist() == [1, 0, 2]
    assert ops.box_iou(boxes, boxes)[0].tolist() == [1, .75, 0]
    image, region = torch.arange(16.).reshape(1, 1, 4, 4), torch.tensor([[0, .5, .25, 3.25, 2.5]])
    for its in (region, [region[:, 1:]]):
        assert ops.roi_align(image, its, 2, 1.0, 2, True).flatten().tolist() == pytest.approx([1.9375, 3.3125, 6.4375, 7.8125])


def test_lbfgs():
    x = torch.tensor([-1.2, 1.0, 0.5, 2.0], dtype=torch.float64, requires_grad=True)
    opt = torch.optim.LBFGS([x], lr=0.01, max_iter=4, history_size=5)

    def closure():
        opt.zero_grad()
        loss = (100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2).sum()
        loss.backward()
        return loss

    losses = [float(opt.step(closure)) for _ in range(6)]
    assert losses == pytest.approx([355.7, 223.198154813, 170.060903972, 123.103140980, 93.161663163, 71.860915726])
