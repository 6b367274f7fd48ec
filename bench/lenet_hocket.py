"""`hocket train lenet` from Python: the same network, data, batches, updates and figures, in a captured step.

bench/python_lenet runs it; alone: PYTHONPATH=build/release/python /usr/bin/python3 bench/lenet_hocket.py --steps 60

The time of a run is that of its steps, batches and completion included; loading, start and evaluation excluded. One line of JSON on
stdout. Exit status 3: the package or the data are not there; the reason is on stderr.
"""
import argparse
import itertools
import json
import math
import os
import sys
import time

try:
    import hocket as hk
    from hocket import data, nn, optim
except ImportError as error:
    print(f"{sys.executable} does not find hocket ({error}); make python, and PYTHONPATH=build/release/python", file=sys.stderr)
    sys.exit(3)

SHAPES = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (128, 800), (128,), (10, 128), (10,)]
LOOK_BACK, READ_STEPS = 20, 5  # as the command does


def lenet(x, p):
    x = nn.functional.avg_pool2d(nn.functional.relu(nn.functional.conv2d(x, p[0], p[1])), 2)
    x = nn.functional.avg_pool2d(nn.functional.relu(nn.functional.conv2d(x, p[2], p[3])), 2)
    x = nn.functional.relu(nn.functional.linear(nn.functional.flatten(x), p[4], p[5]))
    return nn.functional.linear(x, p[6], p[7])


def make_params(devices, seed):
    """As the command draws them."""
    hk.seed(seed)
    zeros = hk._core.operators["zeros"]

    def drawn(shape):
        if len(shape) == 1:
            return zeros(shape, hk.float32, device=devices[0])
        bound = math.sqrt(6 / ((shape[0] + shape[1]) * math.prod(shape[2:])))  # Glorot's
        return hk.random.uniform(shape, -bound, bound, device=devices[0])

    first = [drawn(shape) for shape in SHAPES]
    to_device = hk._core.operators["to_device"]
    return [[(x if d == 0 else to_device(x, device=device)).attach_grad() for x in first] for d, device in enumerate(devices)]


def step_of(params, lr):
    total, argmax = hk._core.operators["sum"], hk._core.operators["argmax"]

    def step(images, labels):
        with hk.record():
            scores = [lenet(x, p) for x, p in zip(images, params)]
            losses = [nn.functional.cross_entropy(s, y) for s, y in zip(scores, labels)]
        hk.backward(losses)
        for ws in zip(*params):
            hk.all_reduce([w.grad for w in ws])
        for p in params:
            optim.sgd(p, lr=lr, batch=sum(x.shape[0] for x in images))
        return [total(loss) for loss in losses], [total(argmax(s, 1) == y) for s, y in zip(scores, labels)]

    return step


def run(args, loader, step):
    """An epoch: (samples, sum of the losses, right answers, each step's mean loss)."""
    waiting, losses, samples, hits = [], [], 0, 0

    def read(count):
        nonlocal hits
        waiting[count - 1][0][-1].wait()
        for loss, right, size in waiting[:count]:
            losses.append(sum(float(x) for x in loss) / size)
            hits += sum(int(x) for x in right)
        del waiting[:count]

    batches = iter(loader) if args.steps is None else itertools.islice(loader, args.steps)
    for images, labels in batches:
        size = loader.samples
        waiting.append((*step(images, labels), size))
        samples += size
        if len(waiting) > LOOK_BACK:
            read(READ_STEPS)
    read(len(waiting))
    hk.wait()
    return samples, hits, losses


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--devices", default="cpu:0")
    parser.add_argument("--data", default=None)
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="end after so many steps of each epoch")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-capture", action="store_true", help="call the step, instead of replaying it")
    parser.add_argument("--loss-log", help="file: the loss of each step, one a line")
    args = parser.parse_args()
    names = args.devices.split(",")
    hk.runtime(cpu_devices=sum(name.startswith("cpu") for name in names), sim=sum(name.startswith("sim") for name in names))
    devices = [hk.Device(name) for name in names]
    try:
        loader = data.Loader(data.fashion_mnist("train", args.data), args.batch_size, shuffle=True, seed=args.seed, devices=devices)
    except FileNotFoundError as error:
        print(error, file=sys.stderr)
        sys.exit(3)
    step = step_of(make_params(devices, args.seed), args.lr)
    step = step if args.no_capture else hk.capture(step)
    log = open(args.loss_log, "w", encoding="ascii") if args.loss_log else None
    for epoch in range(args.epochs):
        begin = time.monotonic()
        samples, hits, losses = run(args, loader, step)
        seconds = time.monotonic() - begin
        if log:
            log.writelines(f"{loss:.9g}\n" for loss in losses)
        print(json.dumps({"epoch": epoch + 1, "samples": samples, "seconds": seconds, "loss": sum(losses) / len(losses),
                          "train_accuracy": hits / samples}), flush=True)


if __name__ == "__main__":
    main()
