"""The peer of bench_models: the same models, data, steps and measurements in PyTorch.

bench/models runs it; alone: /usr/bin/python3 bench/models_pytorch.py train resnet18 --batch 32 --steps 3

Fashion-MNIST as a float tensor made once, a batch an index_select of it into a buffer made once, cross
entropy, plain SGD. Options and the line of JSON on stdout are those of build/release/bench/bench_models.

Exit status 3: PyTorch or the data are not there; the reason is on stderr.
"""
import argparse
import json
import os
import statistics
import sys
import time

import lenet_pytorch  # exits with 3 where PyTorch is missing
import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, inputs, channels, halves):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, channels, 3, padding=1, stride=2 if halves else 1)
        self.norm1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(channels)
        self.conv3 = nn.Conv2d(inputs, channels, 1, stride=2) if halves else None

    def forward(self, x):
        y = self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x)), inplace=True)))
        return F.relu(y.add_(self.conv3(x) if self.conv3 else x), inplace=True)


def resnet18():
    layers, inputs = [nn.Conv2d(1, 64, 3, padding=1), nn.BatchNorm2d(64), nn.ReLU(inplace=True)], 64
    for stage, channels in enumerate((64, 128, 256, 512)):
        for block in range(2):
            layers.append(Residual(inputs, channels, stage > 0 and block == 0))
            inputs = channels
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, 10))


def mlp():
    return nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 10))


def lenet():
    return nn.Sequential(nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10))


MODELS = {"mlp": mlp, "lenet": lenet, "resnet18": resnet18}


def load_values(model, folder):
    """Parameters in the order of their modules, which is that of hocket's p0.bin …"""
    for i, param in enumerate(model.parameters()):
        path = os.path.join(folder, f"p{i}.bin")
        with open(path, "rb") as file:
            raw = bytearray(file.read())
        if len(raw) != 4 * param.numel():
            sys.exit(f"{path}: {len(raw)} bytes, not the {4 * param.numel()} of parameter {i}")
        with torch.no_grad():
            param.copy_(torch.frombuffer(raw, dtype=torch.float32).reshape(param.shape))


def build(args):
    torch.manual_seed(1)
    model = MODELS[args.model]()
    if args.init:
        load_values(model, args.init)
    return model.to(memory_format=memory_format(args))


def memory_format(args):
    return torch.channels_last if args.format == "channels_last" else torch.contiguous_format


class Batches:
    """Batches of whole size, over and over, in the order of the files or shuffled."""

    def __init__(self, args):
        self.images, self.labels = lenet_pytorch.load(args.data, "train")
        self.args, self.indices = args, iter(())
        self.x = torch.empty(args.batch, 1, 28, 28).to(memory_format=memory_format(args))
        self.y = torch.empty(args.batch, dtype=torch.int64)

    def next(self):
        index = next(self.indices, None)
        if index is None or len(index) < self.args.batch:
            order = torch.randperm(len(self.labels)) if self.args.shuffle else torch.arange(len(self.labels))
            self.indices = iter(order.split(self.args.batch))
            index = next(self.indices)
        return (torch.index_select(self.images, 0, index, out=self.x),
                torch.index_select(self.labels, 0, index, out=self.y))


def compiled(args, model):
    """What torch.compile makes of it, where that is asked for."""
    if args.compile == "no":
        return model
    from torch._inductor import config
    config.freezing, config.cpp_wrapper = args.freeze == "weights", args.wrapper == "cpp"
    return torch.compile(model, mode=None if args.compile == "default" else args.compile)


def predictor(args, model, x):
    if args.freeze in ("no", "weights"):
        return compiled(args, model)
    traced = torch.jit.trace(model, x)
    return (torch.jit.freeze if args.freeze == "traced" else torch.jit.optimize_for_inference)(traced)


def make_step(args, model, batches, losses):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, **({} if args.update == "default" else {args.update: True}))
    forward = compiled(args, model)

    def step():
        x, y = batches.next()
        loss = F.cross_entropy(forward(x), y)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    return step


def train(args):
    batches, losses = Batches(args), []
    model = build(args).train()
    step = make_step(args, model, batches, losses)
    for _ in range(args.warm_up):
        step()
    begun = last = time.monotonic()
    processor = time.process_time()
    seconds = []
    for _ in range(args.steps):
        step()
        now = time.monotonic()
        seconds.append(now - last)
        last = now
    processor = time.process_time() - processor
    if args.losses:
        model.eval()
        with torch.no_grad():
            final = F.cross_entropy(model(batches.images[:args.batch]), batches.labels[:args.batch])
        with open(args.losses, "w", encoding="ascii") as file:
            file.writelines(f"{float(value):.9g}\n" for value in losses + [final])
    return {"seconds": last - begun, "processor_seconds": processor, "step_seconds": {
        "median": statistics.median(seconds), "min": min(seconds), "max": max(seconds)}}


def infer(args):
    x, _ = Batches(args).next()
    model = build(args).eval()
    with torch.no_grad() if args.mode == "no_grad" else torch.inference_mode():
        model, micros = predictor(args, model, x), []
        for i in range(-args.warm_up, args.steps):
            begun = time.perf_counter()
            model(x)
            if i >= 0:
                micros.append(1e6 * (time.perf_counter() - begun))
    micros.sort()
    return {"us": {"median": statistics.median(micros), "min": micros[0],
                   "p99": micros[(args.steps - 1) * 99 // 100], "max": micros[-1]}}


def status_bytes(name):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name + ":"))


def memory(args):
    batches = Batches(args)
    with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
        file.write("5")  # the high-water mark begins anew
    before = status_bytes("VmRSS")
    step = make_step(args, build(args).train(), batches, [])
    for _ in range(args.steps):
        step()
    return {"before_bytes": before, "resident_bytes": status_bytes("VmHWM") - before}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=["train", "infer", "memory"])
    parser.add_argument("model", choices=sorted(MODELS))
    parser.add_argument("--data", default=os.environ.get("HOCKET_DATA_DIR") or lenet_pytorch.DATA)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--format", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--onednn", choices=["on", "off"], default="on")
    parser.add_argument("--update", choices=["default", "foreach", "fused"], default="default")
    parser.add_argument("--mode", choices=["inference_mode", "no_grad"], default="inference_mode")
    parser.add_argument("--freeze", choices=["no", "traced", "optimized", "weights"], default="no",
                        help="infer: by torch.jit.trace and freeze, optimized for inference besides, or what is compiled")
    parser.add_argument("--compile", default="no", help="by torch.compile, in this mode; no: not")
    parser.add_argument("--wrapper", choices=["python", "cpp"], default="python", help="what calls compiled code")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--warm-up", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.1)
    parser.add_argument("--wait", action="store_true", help="as PyTorch always does")
    parser.add_argument("--shuffle", action="store_true")
    parser.add_argument("--init", help="folder with p0.bin …, float32")
    parser.add_argument("--losses", help="file: the loss of each step, and that of inference, one a line")
    return parser.parse_args()


def main():
    args = arguments()
    torch.set_num_threads(args.threads)
    torch.backends.mkldnn.enabled = args.onednn == "on"
    result = {"train": train, "infer": infer, "memory": memory}[args.part](args)
    print(json.dumps({"part": args.part, "model": args.model, "batch": args.batch, "steps": args.steps,
                      **result}))


if __name__ == "__main__":
    main()
