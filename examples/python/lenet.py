"""Trains LeNet on two devices, as in Dive into Deep Learning, "Training on Multiple GPUs".

usage: lenet.py [STEPS]; 20 by default, an epoch of Fashion-MNIST has 235.
"""
import itertools
import sys

import hocket as hk
from hocket import data, nn, optim

BATCH = 256
SHAPES = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (128, 800), (128,), (10, 128), (10,)]


def lenet(x, p):
    x = nn.functional.avg_pool2d(hk.relu(nn.functional.conv2d(x, p[0], p[1])), 2)
    x = nn.functional.avg_pool2d(hk.relu(nn.functional.conv2d(x, p[2], p[3])), 2)
    x = hk.relu(nn.functional.linear(nn.functional.flatten(x), p[4], p[5]))
    return nn.functional.linear(x, p[6], p[7])


def make_params(devices):
    """Draws the parameters once and copies them to every device."""
    first = [nn.init.xavier_uniform()(shape) if len(shape) > 1 else hk.zeros(shape) for shape in SHAPES]
    return [[hk.asarray(x, device=device, copy=True).attach_grad() for x in first] for device in devices]


def train_batch(images, labels, params):
    """One minibatch: nothing here says what runs in parallel, and nothing waits."""
    with hk.record():
        losses = [nn.functional.cross_entropy(lenet(x, p), y) for x, y, p in zip(images, labels, params)]
    hk.backward(losses)
    for ws in zip(*params):
        hk.all_reduce([w.grad for w in ws])
    for p in params:
        optim.sgd(p, lr=.2, batch=BATCH)
    return losses


def main():
    steps = int(sys.argv[1]) if len(sys.argv) > 1 else 20
    hk.runtime(cpu_devices=2)
    devices = hk.devices()[:2]
    hk.seed(1)
    params = make_params(devices)
    loader = data.Loader(data.fashion_mnist("train"), BATCH, shuffle=True, seed=1, devices=devices)
    for step, (images, labels) in enumerate(itertools.islice(loader, steps), 1):
        losses = train_batch(images, labels, params)
        if step % 10 == 0:  # reading a value waits for it
            print(f"step {step:3}: loss {sum(sum(loss.tolist()) for loss in losses) / BATCH:.4f}")
    hk.wait()


if __name__ == "__main__":
    main()
