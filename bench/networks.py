#!/usr/bin/env python3
"""Every network of examples/models/: a training step, the inference of one sample, memory; hocket against PyTorch, taking turns.

    bench/networks.py [--model NAME]... [--sizes book|small]... [--threads N]... [--rounds N] [--compile NAME]... [--python PYTHON]
                      [--device NAME] [--batch N]

Each side is a process of its own for each network and size (hocket's for each number of threads, too; PyTorch's forked from one that
has it loaded), which waits while another one measures; in each round every side measures each of its variants once, for about --seconds. A figure of a round is its least
time, for the sake of machines that others use too, with one core its processor time, on a GPU its median, and of all rounds their median; PyTorch's is that of its fastest
variant: eager, channels_last, and of the networks that --compile
names torch.compile. Ratios are PyTorch's through hocket's: above 1 hocket is faster, or takes less. Memory is what making the
network and three steps take at most (the peak of the resident set), before anything else but a warm-up. What that freed has gone back to the system, and all
pages of libraries are mapped, so that neither side has memory that does not count, or counts code that it is the first to run. --memory measures
nothing else: the median of as many fresh processes as there are rounds.

With --device all is on that GPU: PyTorch has CUDA graphs as further variants, and cudnn.benchmark; hocket is measured by what a run with
HOCKET_TUNE=measure has chosen, and by rules alone; a training step is a tenth of ten between two waits; memory is the device's.
"""
import argparse
import atexit
import json
import math
import os
import shutil
import statistics
import subprocess
import sys
import tempfile

from sides import HERE, Refusal, note, processor

# Of each network: options at the book's size, and at a small one. Batches are such that a step takes about a second at most.
SIZES = {
    "softmax": ({"size": 28, "batch": 256}, {"size": 28, "batch": 32}),
    "mlp": ({"size": 28, "batch": 256}, {"size": 28, "batch": 32}),
    "lenet5": ({"size": 28, "batch": 256}, {"size": 28, "batch": 32}),
    "alexnet": ({"size": 224, "batch": 16}, {"size": 65, "batch": 16, "width": 0.25}),
    "vgg11": ({"size": 224, "batch": 16, "width": 0.25}, {"size": 32, "batch": 16, "width": 0.25}),
    "nin": ({"size": 224, "batch": 16}, {"size": 67, "batch": 16, "width": 0.25}),
    "googlenet": ({"size": 96, "batch": 32}, {"size": 32, "batch": 16, "width": 0.25}),
    "resnet18": ({"size": 96, "batch": 32}, {"size": 32, "batch": 16, "width": 0.25}),
    "densenet": ({"size": 96, "batch": 32}, {"size": 32, "batch": 16, "width": 0.25}),
    "vit": ({"size": 96, "batch": 32}, {"size": 32, "batch": 16, "width": 0.25, "depth": 2}),
    "rnn": ({"size": 32, "batch": 64}, {"size": 16, "batch": 16, "width": 0.25}),
    "gru": ({"size": 32, "batch": 64}, {"size": 16, "batch": 16, "width": 0.25}),
    "lstm": ({"size": 32, "batch": 64}, {"size": 16, "batch": 16, "width": 0.25}),
    "gpt": ({"size": 32, "batch": 64}, {"size": 16, "batch": 16, "width": 0.25, "depth": 2}),
    "seq2seq": ({"size": 16, "batch": 64}, {"size": 8, "batch": 16, "width": 0.25}),
    "transformer": ({"size": 16, "batch": 64}, {"size": 8, "batch": 16, "width": 0.25}),
}
TOGETHER = 10  # training steps between one wait and the next, on a GPU, where nobody waits for each
TEXTS = ("rnn", "gru", "lstm", "gpt", "seq2seq", "transformer")
WHAT = ("train", "infer")


class Side:
    """A process for one network, and what it is to be told before it measures a variant."""

    def __init__(self, command, threads, libraries=None, **more):
        env = {**os.environ, **more, "OMP_NUM_THREADS": str(threads), "HOCKET_CORES": str(threads),
               "OMP_WAIT_POLICY": "passive"}  # on machines that others use too, waiting threads had better not spin
        if libraries:
            env["LD_LIBRARY_PATH"] = libraries
        for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):  # a setting of some machines, which slows newer ones
            env.pop(variable, None)
        self.process = subprocess.Popen(command, env=env, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, *words):
        try:
            self.process.stdin.write(" ".join(map(str, words)) + "\n")
            self.process.stdin.flush()
            line = self.process.stdout.readline()
        except BrokenPipeError:
            line = ""
        answer = json.loads(line) if line else {"error": "the process ended"}
        if "error" in answer:
            note(f"  {' '.join(map(str, words))}: {answer['error']}")
        return answer

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def words_of(options):
    return [str(word) for pair in options.items() for word in pair]


class Case:
    """A network at a size: its sides, and what they measured."""

    def __init__(self, name, size, args):
        self.name, self.size, self.args = name, size, args
        classes = 28 if name in TEXTS else 10
        options = {"classes": classes, "lr": 0.001, **SIZES[name][("book", "small").index(size)]}
        if args.batch:
            options["batch"] = args.batch
        if args.device:
            options.update(device=args.device, together=TOGETHER)
        self.batch = options["batch"]
        self.ours = [args.program, name] + words_of(options)
        self.options = words_of(options)
        self.seconds = {}  # (side, variant, what, threads): of each round
        self.bytes = {}    # side: of the fresh process

    def variants(self):
        """Of PyTorch: name, and the settings to be told."""
        yield "eager", {"format": "contiguous", "compile": 0, "graph": 0}
        if self.args.device:
            yield "graph", {"format": "contiguous", "compile": 0, "graph": 1}
        if self.name not in TEXTS + ("softmax", "mlp"):
            yield "channels_last", {"format": "channels_last", "compile": 0, "graph": 0}
            if self.args.device:
                yield "channels_last, graph", {"format": "channels_last", "compile": 0, "graph": 1}
        if self.name in self.args.compile:
            yield "compile", {"format": "contiguous", "compile": 1, "graph": 0}

    def our_sides(self):
        """By threads and variant. On a GPU: what was measured before, as PyTorch's cudnn.benchmark measures, and rules alone."""
        libraries = self.args.library_path
        if not self.args.device:
            return {(threads, ""): Side(self.ours, threads, libraries) for threads in self.args.threads}
        choices = {"XDG_CACHE_HOME": self.args.choices}
        first = Side(self.ours, 2, libraries, HOCKET_TUNE="measure", **choices)
        for what in WHAT:
            first.ask(what, 0)
        first.end()
        return {(threads, tune): Side(self.ours, threads, libraries, **(choices if tune == "measured" else {"HOCKET_TUNE": "off"}))
                for threads in self.args.threads for tune in ("measured", "rules")}

    def measure_memory(self, peer):
        """Alone, in fresh processes, taking turns."""
        values = {"hocket": [], "torch": []}
        for _ in range(self.args.rounds):
            ours = Side(self.ours, self.args.threads[0], self.args.library_path)
            peer.ask("child", self.name, *self.options)
            for name, side in (("hocket", ours), ("torch", peer)):
                values[name].append(side.ask("memory", 3).get("bytes"))
            ours.end()
            peer.ask("end")
        self.bytes = {name: statistics.median(all_of) for name, all_of in values.items() if all(all_of)}
        note(f"{self.name}, {self.size}: memory {self.memory_ratio() or 0:.2f}, bytes {values}")

    def measure(self, peer):
        ours = self.our_sides()
        peer.ask("child", self.name, *self.options)
        for name, side in (("hocket", next(iter(ours.values()))), ("torch", peer)):
            self.bytes[name] = side.ask("memory", 3).get("bytes")  # before anything else
        for turn in range(self.args.rounds):
            for threads in self.args.threads:
                if turn % 2:
                    self.measure_peer(peer, threads)
                for key, side in ours.items():
                    if key[0] == threads:
                        self.keep(side, "hocket", key[1], threads)
                if not turn % 2:
                    self.measure_peer(peer, threads)
        for side in ours.values():
            side.end()
        peer.ask("end")

    def measure_peer(self, peer, threads):
        peer.ask("set", "threads", threads)
        for variant, settings in self.variants():
            for name, value in settings.items():
                peer.ask("set", name, value)
            self.keep(peer, "torch", variant, threads)

    def keep(self, side, name, variant, threads):
        for what in WHAT:
            answer = side.ask(what, self.args.seconds)
            if "seconds" not in answer:
                continue
            values = self.seconds.setdefault((name, variant, what, threads), [])
            if self.args.device:  # nobody else uses it: a round's median, with the least and the most
                values.extend(answer[key] for key in ("min", "seconds", "max"))
            else:
                values.append(answer["processor" if threads == 1 else "min"])

    def best(self, name, what, threads):
        """Variant, and the seconds of its rounds: the one of the least median."""
        found = {key[1]: values for key, values in self.seconds.items()
                 if (key[0], key[2], key[3]) == (name, what, threads)}
        variant = min(found, key=lambda key: statistics.median(found[key]), default=None)
        return variant, found.get(variant)

    def ratio(self, what, threads):
        (_, ours), (_, theirs) = self.best("hocket", what, threads), self.best("torch", what, threads)
        return statistics.median(theirs) / statistics.median(ours) if ours and theirs else None

    def by_rules(self, what, threads):
        """What nothing was measured for takes, where that is another variant."""
        values = self.seconds.get(("hocket", "rules", what, threads))
        return f"  (hocket by rules {milliseconds(values)})" if values else ""

    def memory_ratio(self):
        return self.bytes["torch"] / self.bytes["hocket"] if self.bytes.get("hocket") and self.bytes.get("torch") else None


# ---- the table -----------------------------------------------------------------------------------------

def milliseconds(values):
    if not values:
        return "-"
    middle, low, high = (1e3 * f(values) for f in (statistics.median, min, max))
    return f"{middle:.4g} [{low:.3g} {high:.3g}]"


def print_part(cases, what, threads):
    title = {"train": "training step", "infer": "inference of one sample"}[what]
    where = cases[0].args.device or f"{threads} core{'s'[:threads - 1]}" + ", processor time" * (threads == 1)
    print(f"\n{title}, {where}, ms: median [min max] of the rounds")
    print(f"  {'':22} {'hocket':>26} {'PyTorch':>26} {'ratio':>6}  fastest")
    for case in cases:
        variant, theirs = case.best("torch", what, threads)
        ratio = case.ratio(what, threads)
        name = f"{case.name}, {case.size}" + (f", {case.batch}" if what == "train" else "")
        print(f"  {name:22} {milliseconds(case.best('hocket', what, threads)[1]):>26} {milliseconds(theirs):>26} "
              f"{f'{ratio:.2f}' if ratio else '-':>6}  {variant or ''}" + case.by_rules(what, threads))


def print_memory(cases):
    print("\nmemory of three steps, MiB at most")
    for case in cases:
        ours, theirs = (f"{case.bytes[side] / 2 ** 20:.2f}" if case.bytes.get(side) else "-" for side in ("hocket", "torch"))
        ratio = case.memory_ratio()
        print(f"  {f'{case.name}, {case.size}, {case.batch}':22} {ours:>26} {theirs:>26} {f'{ratio:.2f}' if ratio else '-':>6}")


def sum_up(cases, threads):
    """Lines of geometric means, and the least."""
    rows = [(f"{what}, {n} core{'s'[:n - 1]}", lambda case, what=what, n=n: case.ratio(what, n)) for what in WHAT for n in threads]
    rows.append(("memory", lambda case: case.memory_ratio()))
    print(f"\n{'PyTorch / hocket':24} {'mean':>6} {'least':>6}  below 1")
    for title, ratio_of in rows:
        for size in ("book", "small"):
            ratios = {f"{case.name}": ratio_of(case) for case in cases if case.size == size and ratio_of(case)}
            if not ratios:
                continue
            mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
            slower = ", ".join(f"{name} {ratio:.2f}" for name, ratio in ratios.items() if ratio < 1)
            print(f"{title + ', ' + size:24} {mean:6.2f} {min(ratios.values()):6.2f}  {slower}")


def run(args):
    """Measures, prints, and returns the cases."""
    if not os.access(args.program, os.X_OK):
        raise Refusal(f"{args.program} is not there; build it with `make bench`")
    cases = []
    args.choices = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, args.choices, True)
    peer = Side([args.python, os.path.join(HERE, "networks_pytorch.py")], max(args.threads))
    try:
        for name in args.model or SIZES:
            for size in args.sizes or ("book", "small"):
                case = Case(name, size, args)
                cases.append(case)
                if args.memory:
                    case.measure_memory(peer)
                    continue
                case.measure(peer)
                note(f"{name}, {size}: " + ", ".join(
                    f"{what} {n} {case.ratio(what, n) or 0:.2f} ({case.best('torch', what, n)[0]}; {milliseconds(case.best('hocket', what, n)[1])}"
                    f" and {milliseconds(case.best('torch', what, n)[1])} ms)" for what in WHAT for n in args.threads)
                    + f", memory {case.memory_ratio() or 0:.2f}")
    except KeyboardInterrupt:
        note("interrupted: what is done follows")
    peer.end()
    for what in WHAT if not args.memory else ():
        for threads in args.threads:
            print_part(cases, what, threads)
    print_memory(cases)
    sum_up(cases, args.threads)
    return cases


def add_arguments(parser):
    parser.add_argument("--model", action="append", choices=SIZES, help="this one; may be repeated")
    parser.add_argument("--sizes", action="append", choices=["book", "small"], help="these; may be repeated")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of turns (default 3)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of a variant's measurement (default 0.3)")
    parser.add_argument("--compile", action="append", default=[], choices=SIZES,
                        help="try torch.compile for this one, which takes up to minutes; may be repeated")
    parser.add_argument("--batch", type=int, help="samples of a batch, in place of each network's own")
    parser.add_argument("--device", help="such as cuda:0: all on that, PyTorch also by CUDA graphs, memory the device's (default: the CPU)")
    parser.add_argument("--memory", action="store_true", help="memory alone")
    parser.add_argument("--threads", type=int, action="append", help="cores (default 2 and 1); may be repeated")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    parser.add_argument("--program", default=os.path.join(os.path.dirname(HERE), "build", "release", "bench", "bench_networks"))
    parser.add_argument("--python", default="/usr/bin/python3", help="the Python that has PyTorch")
    parser.add_argument("--library-path", help="LD_LIBRARY_PATH of that program, not of PyTorch")
    parser.add_argument("--json", help="write the figures there, too")
    args = parser.parse_args()
    args.threads = args.threads or ([2] if args.device else [2, 1])
    print(f"{processor()}; load average {os.getloadavg()[0]:.2f} at the start", flush=True)
    cases = run(args)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump([{"name": case.name, "size": case.size, "batch": case.batch, "bytes": case.bytes,
                        "seconds": [{"side": key[0], "variant": key[1], "what": key[2], "threads": key[3], "values": values}
                                    for key, values in case.seconds.items()]} for case in cases], file, indent=1)


if __name__ == "__main__":
    try:
        main()
    except Refusal as refusal:
        print(f"networks: {refusal}", file=sys.stderr)
        sys.exit(2)
