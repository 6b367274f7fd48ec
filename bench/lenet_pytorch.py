"""The peer of `hocket train lenet`: the same network, data, batches and updates in PyTorch.

bench/lenet runs it; alone: /usr/bin/python3 bench/lenet_pytorch.py --threads 2 --steps 60

LeNet as the book has it (convolution 20 of 3x3, relu, average pool 2x2; convolution 50 of 5x5, relu,
average pool 2x2; dense 128, relu, dense 10), Fashion-MNIST as a float tensor made once, a batch an
index_select of it into a buffer made once, cross entropy, plain SGD. The time of a run is that of its
steps, batches and completion included; loading, start, compiling and evaluation excluded. One line of JSON on stdout.

Exit status 3: PyTorch or the data are not there; the reason is on stderr.
"""
import argparse
import array
import gzip
import json
import os
import struct
import sys
import time

try:
    import torch
    import torch.nn.functional as F
except ImportError as error:
    print(f"PyTorch is not installed for {sys.executable} ({error}); "
          "on Debian: apt-get install python3-torch", file=sys.stderr)
    sys.exit(3)

DATA = "/usr/share/datasets/fashion-mnist"
# Names and shapes of the parameters, in the order of hocket's p0.bin ... p7.bin.
PARAMS = [("conv1.weight", (20, 1, 3, 3)), ("conv1.bias", (20,)),
          ("conv2.weight", (50, 20, 5, 5)), ("conv2.bias", (50,)),
          ("fc1.weight", (128, 800)), ("fc1.bias", (128,)),
          ("fc2.weight", (10, 128)), ("fc2.bias", (10,))]


def read_idx(folder, name):
    """The bytes of an idx file of unsigned bytes, plain or .gz, in its shape."""
    path = os.path.join(folder, name)
    opener = open
    if not os.path.exists(path):
        path, opener = path + ".gz", gzip.open
    try:
        with opener(path, "rb") as file:
            raw = bytearray(file.read())
    except OSError as error:
        print(f"cannot read the data: {error}; on Debian: apt-get install dataset-fashion-mnist",
              file=sys.stderr)
        sys.exit(3)
    kind, rank = raw[2], raw[3]
    if kind != 8:
        sys.exit(f"{path}: not unsigned bytes")
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return torch.frombuffer(raw, dtype=torch.uint8, offset=4 + 4 * rank).reshape(shape)


def load(folder, part):
    images = read_idx(folder, f"{part}-images-idx3-ubyte").unsqueeze(1).float().div_(255)
    labels = read_idx(folder, f"{part}-labels-idx1-ubyte").long()
    return images, labels


def initial_params(args):
    """Eight leaf tensors: from a folder, else Glorot uniform weights and zero biases from the seed."""
    generator = torch.Generator().manual_seed(args.seed)
    params = []
    for i, (name, shape) in enumerate(PARAMS):
        if args.init:
            path = os.path.join(args.init, f"p{i}.bin")
            with open(path, "rb") as file:
                raw = bytearray(file.read())
            count = torch.Size(shape).numel()
            if len(raw) != 4 * count:
                sys.exit(f"{path}: {len(raw)} bytes, not the {4 * count} of {name}")
            value = torch.frombuffer(raw, dtype=torch.float32).reshape(shape).clone()
        elif len(shape) == 1:
            value = torch.zeros(shape)
        else:
            field = torch.Size(shape[2:]).numel()
            bound = (6 / ((shape[0] + shape[1]) * field)) ** 0.5
            value = torch.rand(shape, generator=generator) * (2 * bound) - bound
        if args.format == "channels_last" and len(shape) == 4:
            value = value.contiguous(memory_format=torch.channels_last)
        params.append(value.requires_grad_())
    return params


def lenet(x, p):
    x = F.avg_pool2d(F.relu(F.conv2d(x, p[0], p[1])), 2, 2)
    x = F.avg_pool2d(F.relu(F.conv2d(x, p[2], p[3])), 2, 2)
    x = F.relu(F.linear(x.flatten(1), p[4], p[5]))
    return F.linear(x, p[6], p[7])


def loss_of(x, y, params):
    return F.cross_entropy(lenet(x, params), y)


def compiled_loss(x, y, params, args):
    """Compiled for batches like this one; both passes are, once they have run."""
    from torch._inductor import config
    config.cpp_wrapper = args.wrapper == "cpp"
    compiled = torch.compile(loss_of, dynamic=False, mode=None if args.compile == "default" else args.compile)
    for _ in range(3):
        compiled(x, y, params).backward()
    for param in params:
        param.grad = None
    return compiled


def epoch_orders(args, count):
    """Yields the order of each epoch. A file holds whole epochs; it starts again at its end."""
    if args.order:
        with open(args.order, "rb") as file:
            raw = bytearray(file.read())
        size = count * 8
        if len(raw) % size:  # a part of one epoch: a run of that many samples
            size = len(raw)
        epoch = 0
        while True:
            at = epoch * size % len(raw)
            yield torch.frombuffer(raw, dtype=torch.int64, offset=at, count=size // 8)
            epoch += 1
    generator = torch.Generator().manual_seed(args.seed + 1)
    while True:
        yield torch.randperm(count, generator=generator)


def accuracy(images, labels, params, batch):
    hits = 0
    with torch.no_grad():
        for x, y in zip(images.split(batch), labels.split(batch)):
            hits += int((lenet(x, params).argmax(1) == y).sum())
    return hits / len(labels)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default=os.environ.get("HOCKET_DATA_DIR") or DATA)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--format", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--onednn", choices=["on", "off"], default="on")
    parser.add_argument("--update", choices=["default", "foreach", "fused"], default="default")
    parser.add_argument("--compile", default="no", help="the network and its loss by torch.compile, in this mode; no: neither")
    parser.add_argument("--wrapper", choices=["python", "cpp"], default="python", help="what calls compiled code")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--steps", type=int, help="end after so many steps in all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--init", help="folder with p0.bin ... p7.bin, float32")
    parser.add_argument("--order", help="file of int64 sample indices")
    parser.add_argument("--loss-log", help="file: the loss of each step, one a line")
    parser.add_argument("--evaluate", action="store_true", help="test accuracy after each epoch")
    return parser.parse_args()


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.backends.mkldnn.enabled = args.onednn == "on"
    images, labels = load(args.data, "train")
    params = initial_params(args)
    optimizer = torch.optim.SGD(params, lr=args.lr, **({} if args.update == "default" else {args.update: True}))
    count, batch = len(labels), args.batch_size
    x_buffer = torch.empty(batch, *images.shape[1:])
    y_buffer = torch.empty(batch, dtype=torch.int64)
    logged = torch.zeros(args.steps) if args.loss_log and args.steps else None
    total = torch.zeros(())
    steps = samples = 0
    limit = args.steps or 1 << 62
    epoch_seconds, accuracies = [], []
    test = load(args.data, "t10k") if args.evaluate else None
    loss_fn = loss_of if args.compile == "no" else compiled_loss(images[:batch].clone(), labels[:batch].clone(), params, args)

    start = time.monotonic()
    for epoch, order in enumerate(epoch_orders(args, count)):
        if (epoch >= args.epochs and not args.steps) or steps >= limit:
            break
        begun = time.monotonic()
        for index in order.split(batch):
            x = torch.index_select(images, 0, index, out=x_buffer[:len(index)])
            y = torch.index_select(labels, 0, index, out=y_buffer[:len(index)])
            loss = loss_fn(x, y, params)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            if logged is not None:
                logged[steps] = loss.detach()
            steps += 1
            samples += len(index)
            if steps >= limit:
                break
        epoch_seconds.append(time.monotonic() - begun)
        if test:
            accuracies.append(accuracy(*test, params, 1000))
    mean_loss = float(total) / max(steps, 1)
    seconds = time.monotonic() - start

    result = {"seconds": seconds, "steps": steps, "samples": samples, "train_samples": count,
              "epoch_seconds": epoch_seconds, "loss": mean_loss, "torch": torch.__version__,
              "threads": torch.get_num_threads(), "format": args.format, "onednn": args.onednn}
    if test:
        result["test_accuracies"] = accuracies
    if logged is not None:
        with open(args.loss_log, "w", encoding="ascii") as file:
            file.writelines(f"{value:.9g}\n" for value in array.array("d", logged.tolist()))
    print(json.dumps(result))


if __name__ == "__main__":
    main()
