"""The rows of bench_layers.c in PyTorch, on one core: python bench/layers_pytorch.py [rounds]"""

import os
import statistics
import sys
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})  # before PyTorch counts its cores

import torch  # noqa: E402
import torch.nn.functional as F  # noqa: E402


def convolution(n, channels, size, kernel, stride, groups):
    def run(x, weight):
        return F.conv2d(x, weight, None, stride, kernel // 2, 1, groups)

    return run, [(n, channels, size, size), (channels, channels // groups, kernel, kernel)]


def layer_norm(x, gamma, beta):
    return F.layer_norm(x, (768,), gamma, beta)


def composed_norm(x, gamma, beta):
    x = x - x.mean(-1, keepdim=True)
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * gamma + beta


def group_norm(x, gamma, beta):
    return F.group_norm(x, 8, gamma, beta)


def cross_entropy(x):
    return F.cross_entropy(x, x.detach().argmax(1), label_smoothing=0.1)


ROWS = {
    "depthwise 3x3, 64 of 56x56": convolution(32, 64, 56, 3, 1, 64),
    "depthwise 3x3, 128 of 28x28": convolution(32, 128, 28, 3, 1, 128),
    "depthwise 3x3, 512 of 7x7": convolution(32, 512, 7, 3, 1, 512),
    "depthwise 3x3 s2, 128 of 56x56": convolution(32, 128, 56, 3, 2, 128),
    "depthwise 5x5, 128 of 28x28": convolution(32, 128, 28, 5, 1, 128),
    "32 groups 3x3, 128 of 28x28": convolution(16, 128, 28, 3, 1, 32),
    "2 groups 3x3, 128 of 28x28": convolution(16, 128, 28, 3, 1, 2),
    "layer norm 4096x768": (layer_norm, [(4096, 768), (768,), (768,)]),
    "the same, of other operators": (composed_norm, [(4096, 768), (768,), (768,)]),
    "group norm 8, 64 of 56x56": (group_norm, [(32, 64, 56, 56), (64,), (64,)]),
    "cross entropy 4096x1000": (cross_entropy, [(4096, 1000)]),
}


def once(run, shapes):
    inputs = [torch.randn(shape, requires_grad=True) for shape in shapes]
    begin = time.process_time()
    y = run(*inputs)
    between = time.process_time()
    y.sum().backward()
    return between - begin, time.process_time() - between


def spread(values):
    low, middle, high = (1e3 * v for v in (min(values), statistics.median(values), max(values)))
    return f" {middle:8.2f} ({low:7.2f} .. {high:7.2f})"


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 9
    times = {name: [] for name in ROWS}
    for _ in range(rounds):
        for name, row in ROWS.items():
            times[name].append(once(*row))
    print(f"{'ms':32} {'forward':>30} {'backward':>30}")
    for name, each in times.items():
        print(f"{name:32}", *(spread(part) for part in zip(*each)), sep="")


main()
