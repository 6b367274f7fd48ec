"""LeNet on a GPU in PyTorch: the peer of `hocket train lenet --devices cuda:0` in bench/gpu.

Network, parameters and updates are those of lenet_pytorch.py. All images are put on the GPU first, and a batch is an
index_select there into a buffer. --mode says how a step runs:

eager    calls, one after another
compile  torch.compile of forward pass and loss
graph    the step, backward pass and update included, captured once as a CUDA graph and replayed

kernels  no LeNet: single operators on large arrays, as bench_gpu has them
issue    no LeNet: additions of 1024 elements one after another, as bench_gpu has them, as calls and as a CUDA graph

The time is that of whole batches, first steps (warm-up, compiling, capturing) excluded. One line of JSON on stdout.
Exit status 3: PyTorch, a GPU or the data are not there; the reason is on stderr.
"""
import argparse
import json
import os
import sys
import time

from lenet_pytorch import DATA, F, initial_params, lenet, load, torch


class Step:
    """A training step on the batch in x and y."""

    def __init__(self, mode, params, x, y, rate):
        self.params, self.x, self.y, self.graph = params, x, y, None
        self.optimizer = torch.optim.SGD(params, lr=rate, foreach=True)
        self.total = torch.zeros((), device=x.device)
        self.loss_of = torch.compile(self.forward) if mode == "compile" else self.forward

    def forward(self):
        return F.cross_entropy(lenet(self.x, self.params), self.y)

    def eager(self):
        loss = self.loss_of()
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        self.total += loss.detach()

    def capture(self):
        """Gradients keep their memory from then on."""
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph):
            self.eager()
        self.graph = graph

    def __call__(self):
        if self.graph:
            self.graph.replay()
        else:
            self.eager()


def issue(device, repeat, calls=100, rounds=100):
    """Nanoseconds of an addition, by what it is and until when; a list for each."""
    x, one = torch.zeros(1024, device=device), torch.ones(1024, device=device)

    def add_often():
        y = x
        for _ in range(calls - 1):
            y = y + one
        torch.add(y, one, out=x)

    graph = torch.cuda.CUDAGraph()
    add_often()
    with torch.cuda.graph(graph):
        add_often()
    times = {}
    for i in range(-3, repeat):
        for name, run in (("a call", add_often), ("a call of a replay", graph.replay)):
            torch.cuda.synchronize()
            start = time.monotonic()
            for _ in range(rounds):
                run()
            issued = time.monotonic() - start
            torch.cuda.synchronize()
            done = time.monotonic() - start
            for until, seconds in (("issued", issued), ("done", done)):
                if i >= 0:
                    times.setdefault(f"issue: {name}, until {until}", []).append(seconds * 1e9 / rounds / calls)
    return times


def kernels(device, repeat, scale, calls=20):
    """Microseconds of a call of what bench_gpu calls kernels, by name, of the same shapes; a list for each."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True

    def make(*shape):
        return torch.randn(*shape, device=device)

    size, side = scale << 20, scale * 256
    rows, width = (64, 14) if scale < 16 else (1024 * scale, 56)  # as in bench_gpu.c
    x, y, out = make(size), make(size), make(size)
    lines, images, weight = make(rows, 1024), make(4 * scale, 64, width, width), make(64, 64, 3, 3)
    gamma, beta, a, b = make(64), make(64), make(side, side), make(side, side)
    scale_of, shift_of, places = make(1024), make(1024), torch.randint(0, rows, (rows,), device=device)
    runs = {"copy": lambda: out.copy_(x), "add": lambda: torch.add(x, y, out=out), "sum": x.sum,
            "softmax": lambda: F.softmax(lines, 1),
            "batch norm": lambda: F.batch_norm(images, None, None, gamma, beta, training=True),
            "product": lambda: a @ b, "convolution": lambda: F.conv2d(images, weight, padding=1),
            "layer norm": lambda: F.layer_norm(lines, (1024,), scale_of, shift_of),
            "cumulative sum": lambda: torch.cumsum(lines, 1), "sort": lambda: torch.sort(lines, 1).values,
            "gather": lambda: torch.index_select(lines, 0, places)}
    times = {}
    with torch.no_grad():
        for name, run in runs.items():
            for i in range(-3, repeat):
                torch.cuda.synchronize()
                start = time.monotonic()
                for _ in range(calls):
                    run()
                torch.cuda.synchronize()
                if i >= 0:
                    times.setdefault(f"kernel: {name}", []).append((time.monotonic() - start) * 1e6 / calls)
    return times


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mode", choices=["eager", "compile", "graph", "issue", "kernels"], default="eager")
    parser.add_argument("--scale", type=int, default=16, help="of --mode kernels, as bench_gpu tells it")
    parser.add_argument("--data", default=os.environ.get("HOCKET_DATA_DIR") or DATA)
    parser.add_argument("--format", choices=["contiguous", "channels_last"], default="contiguous")
    parser.add_argument("--batch-size", type=int, default=256)
    parser.add_argument("--lr", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--warm-up", type=int, default=12, help="steps that are not timed")
    parser.add_argument("--repeat", type=int, default=15, help="of --mode issue and kernels")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.init = None
    return args


def main():
    args = arguments()
    if not torch.cuda.is_available():
        print(f"PyTorch {torch.__version__} has no GPU here", file=sys.stderr)
        sys.exit(3)
    device = torch.device("cuda:0")
    if args.mode == "issue":
        print(json.dumps({"times": issue(device, args.repeat), "torch": torch.__version__,
                          "device": torch.cuda.get_device_name(device)}))
        return
    if args.mode == "kernels":
        print(json.dumps({"times": kernels(device, args.repeat, args.scale), "torch": torch.__version__,
                          "device": torch.cuda.get_device_name(device)}))
        return
    # float32 is multiplied as float32 on both sides.
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    torch.backends.cudnn.benchmark = True
    images, labels = (part.to(device) for part in load(args.data, "train"))
    params = [p.detach().to(device).requires_grad_() for p in initial_params(args)]
    batch, count = args.batch_size, len(labels)
    x = torch.empty(batch, *images.shape[1:], device=device)
    y = torch.empty(batch, dtype=torch.int64, device=device)
    step = Step(args.mode, params, x, y, args.lr)

    def fill(index):
        torch.index_select(images, 0, index, out=x)
        torch.index_select(labels, 0, index, out=y)

    side = torch.cuda.Stream()  # what is captured afterwards must not have begun in the default stream
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        fill(torch.arange(batch, device=device))
        for _ in range(max(args.warm_up, 1)):
            step()
    torch.cuda.current_stream().wait_stream(side)
    if args.mode == "graph":
        step.capture()
    step()
    step.total.zero_()
    torch.cuda.synchronize()
    steps, start = 0, time.monotonic()
    for _ in range(args.epochs):
        for index in torch.randperm(count, device=device).split(batch):
            if len(index) == batch:  # graphs are of one size
                fill(index)
                step()
                steps += 1
    loss = float(step.total) / steps
    seconds = time.monotonic() - start
    print(json.dumps({"seconds": seconds, "steps": steps, "samples": steps * batch, "loss": loss,
                      "mode": args.mode, "torch": torch.__version__,
                      "device": torch.cuda.get_device_name(device)}))


if __name__ == "__main__":
    main()
