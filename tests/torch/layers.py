"""Layers of PyTorch, and their weights in Hocket's: the same results. By hand, where both are there:

    PYTHONPATH=build/release/python python3 tests/torch/layers.py
"""

import os
import sys
import tempfile

import numpy as np
import torch

import hocket as hk

CASES = {
    "Linear": (lambda: torch.nn.Linear(5, 3), lambda: hk.nn.Linear(3), (2, 5)),
    "Linear without bias": (lambda: torch.nn.Linear(5, 3, bias=False), lambda: hk.nn.Linear(3, bias=False), (2, 5)),
    "Conv1d": (lambda: torch.nn.Conv1d(4, 6, 3, padding=1, groups=2), lambda: hk.nn.Conv1d(6, 3, padding=1, groups=2), (2, 4, 7)),
    "Conv2d": (lambda: torch.nn.Conv2d(4, 6, 3, stride=2, padding=1), lambda: hk.nn.Conv2d(6, 3, stride=2, padding=1), (2, 4, 9, 8)),
    "Conv2d of groups": (lambda: torch.nn.Conv2d(4, 4, 3, groups=4, bias=False), lambda: hk.nn.Conv2d(4, 3, groups=4, bias=False), (2, 4, 9, 8)),
    "ConvTranspose2d": (lambda: torch.nn.ConvTranspose2d(4, 6, 3, stride=2, output_padding=1, groups=2),
                        lambda: hk.nn.Conv2dTranspose(6, 3, stride=2, output_padding=1, groups=2), (2, 4, 5, 5)),
    "BatchNorm2d": (lambda: torch.nn.BatchNorm2d(4), lambda: hk.nn.BatchNorm(), (2, 4, 3, 3)),
    "LayerNorm": (lambda: torch.nn.LayerNorm((4, 3)), lambda: hk.nn.LayerNorm(axes=2), (2, 4, 3)),
    "RMSNorm": (lambda: torch.nn.RMSNorm(4, eps=1e-5), lambda: hk.nn.RMSNorm(), (2, 4)),
    "GroupNorm": (lambda: torch.nn.GroupNorm(2, 4), lambda: hk.nn.GroupNorm(2), (2, 4, 3)),
    "InstanceNorm2d": (lambda: torch.nn.InstanceNorm2d(4, affine=True), lambda: hk.nn.InstanceNorm(), (2, 4, 3, 3)),
    "Embedding": (lambda: torch.nn.Embedding(9, 4), lambda: hk.nn.Embedding(9, 4), None),
    "MultiheadAttention": (lambda: torch.nn.MultiheadAttention(8, 2, batch_first=True), lambda: hk.nn.Attention(8, 2), (2, 5, 8)),
    "RNN": (lambda: torch.nn.RNN(3, 4, batch_first=True), lambda: hk.nn.RNN(4), (2, 5, 3)),
    "GRU": (lambda: torch.nn.GRU(3, 4, batch_first=True), lambda: hk.nn.GRU(4), (2, 5, 3)),
    "LSTM": (lambda: torch.nn.LSTM(3, 4, batch_first=True), lambda: hk.nn.LSTM(4), (2, 5, 3)),
    "LSTM of layers": (lambda: torch.nn.LSTM(3, 4, num_layers=3, bidirectional=True, batch_first=True),
                       lambda: hk.nn.LSTM(4, layers=3, bidirectional=True), (2, 5, 3)),
    "Sequential": (lambda: torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(36, 2)),
                   lambda: hk.nn.Sequential(hk.nn.Conv2d(4, 3), hk.nn.BatchNorm(), hk.nn.ReLU(), hk.nn.Flatten(), hk.nn.Linear(2)), (2, 3, 5, 5)),
}


def stirred(net):
    """Weights unlike those that both begin with."""
    with torch.no_grad():
        for array in net.state_dict().values():
            if array.is_floating_point():
                array.copy_(torch.rand(array.shape) + 0.1)
    return net.eval()


def results(theirs, ours, shape):
    x = torch.randint(9, (2, 5)) if shape is None else torch.randn(shape)
    with torch.no_grad():
        want = theirs(*((x, x, x) if isinstance(theirs, torch.nn.MultiheadAttention) else (x,)))
    want = want[0] if isinstance(want, tuple) else want
    return want.numpy(), np.asarray(ours.eval()(hk.asarray(x.numpy())))


def main():
    wrong = 0
    folder = tempfile.mkdtemp()
    torch.manual_seed(1)
    for name, (theirs, ours, shape) in CASES.items():
        try:
            for before in (False, True):
                net, mine = stirred(theirs()), ours()
                path = os.path.join(folder, "net.pth")
                torch.save({"model": net.state_dict(), "epoch": 3}, path)
                if not before:
                    mine.build(hk.zeros(shape) if shape else hk.zeros((2, 5), dtype=hk.int64))
                mine.load(path, names="torch")
                want, got = results(net, mine, shape)
                np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            back = stirred(theirs())
            mine.save(os.path.join(folder, "back.safetensors"), names="torch")
            from safetensors.torch import load_file
            back.load_state_dict(load_file(os.path.join(folder, "back.safetensors")))
            want, got = results(back, mine, shape)
            np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
            print(f"{name}: the same")
        except Exception as error:
            wrong += 1
            print(f"{name}: {type(error).__name__}: {error}")
    return wrong > 0


sys.exit(main())
