#!/usr/bin/env python3
"""Every network of examples/models/: a training step, the inference of one sample, memory; hocket against its peers, taking turns.

    bench/networks.py [--model NAME]... [--sizes book|small]... [--threads N]... [--rounds N] [--python PYTHON] [--peer NAME]...
                      [--search kept|again|none] [--compile all|none|NAME]... [--calibration FILE] [--device NAME] [--batch N]

Peers are PyTorch; JAX, of some networks; ONNX Runtime and OpenVINO, of inference. Each gets the fastest of its settings on this machine:
what may make it faster is tried, one choice after another (peer_settings.py), and kept for the next run. torch.compile takes minutes for
each network, size, number of threads, and of training and inference: --compile. Rounds measure a peer as it comes and by what was found;
its figure is the better median. hocket is as it comes.

Each side is a process of its own for each network, size, number of threads and environment, and has as many cores as threads: what a thread
spends in waiting for another one is no part of the time of one core. Whoever has not its turn is stopped. A figure of a round is its least
time, for the sake of machines that others use too, with one core its processor time, on a GPU its median, and of all rounds their median.
Beside other programs, threads that spin take hundreds of times as long: how much others use is told, and such ratios of several cores say
nothing. Ratios are the peer's through hocket's: above 1 hocket is faster, or takes less.

Memory, beside PyTorch as it comes, is what making the network and three steps take at most (the peak of the resident set), before anything
else but a warm-up. What that freed has gone back to the system, and all pages of libraries are mapped, so that neither side has memory that
does not count, or counts code that it is the first to run. --memory measures nothing else: the median of as many fresh processes as there
are rounds.

With --device all is on that GPU, and PyTorch is the peer: by CUDA graphs, too, and cudnn.benchmark; hocket is measured by what a run with
HOCKET_TUNE=measure has chosen, and by rules alone; a training step is a tenth of ten between two waits; memory is the device's.
"""
import argparse
import atexit
import json
import os
import shutil
import statistics
import sys
import tempfile

import networks_table as table
import peer_settings
from network_peers import KINDS, family, find_peers
from networks_program import TEXTS
from peer_process import Process
from sides import HERE, Refusal, clean_environment, note, others_share, processor

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
WHAT = ("train", "infer")
AS_IT_COMES, BY_SEARCH = "as it comes", "found"


def words_of(options):
    return [str(word) for pair in options.items() for word in pair]


def hocket(command, threads, libraries, device=None, **more):
    """Nothing is set but its number of cores; beside a GPU it has all of them, as its peer has."""
    env = {**clean_environment(), **more, "HOCKET_CORES": str(threads)}
    return Process(command, {**env, "LD_LIBRARY_PATH": libraries} if libraries else env, None if device else threads)


def told(answer, who):
    if "error" in answer:
        note(f"    {who}: {answer['error']}")
    return answer


class Case:
    """A network at a size: what its sides measured."""

    def __init__(self, name, size, args):
        self.name, self.size, self.args = name, size, args
        classes = 28 if name in TEXTS else 10
        options = {"classes": classes, "lr": 0.001, **SIZES[name][("book", "small").index(size)]}
        if args.batch:
            options["batch"] = args.batch
        if args.device:
            options.update(device=args.device, together=TOGETHER)
        self.batch, self.words = options["batch"], words_of(options)
        self.command = [args.program, name] + self.words
        self.seconds = {}  # (side, variant, what, threads): of each round
        self.found = {}    # (peer, what, threads): a peer_settings.Found
        self.bytes = {}    # side: of the fresh process
        self.others = []   # share of the cores that others used, before each round

    # -- hocket's side

    def our_sides(self):
        """By threads and variant. On a GPU: what was measured before, as PyTorch's cudnn.benchmark measures, and rules alone."""
        libraries = self.args.library_path
        if not self.args.device:
            return {(threads, AS_IT_COMES): hocket(self.command, threads, libraries) for threads in self.args.threads}
        choices = {"XDG_CACHE_HOME": self.args.choices}
        first = hocket(self.command, 2, libraries, self.args.device, HOCKET_TUNE="measure", **choices)
        for what in WHAT:
            told(first.ask(f"{what} 0"), "hocket")
        first.end()
        return {(threads, tune): hocket(self.command, threads, libraries, self.args.device,
                                         **(choices if tune == "measured" else {"HOCKET_TUNE": "off"}))
                for threads in self.args.threads for tune in ("measured", "rules")}

    # -- memory

    def measure_memory(self, peers, rounds):
        """In fresh processes, taking turns, before anything else."""
        values = {}
        for _ in range(rounds):
            ours = hocket(self.command, self.args.threads[0], self.args.library_path, self.args.device)
            values.setdefault("hocket", []).append(told(ours.ask("memory 3"), "hocket").get("bytes"))
            ours.end()
            for peer in peers:
                if peer.name == "pytorch":
                    answer = peer.measure(self, self.args.threads[0], "memory", peer.start, 3)
                    values.setdefault(peer.name, []).append(told(answer, peer.title).get("bytes"))
                    peer.rest()
        self.bytes = {name: statistics.median(all_of) for name, all_of in values.items() if all(all_of)}

    def memory_ratio(self):
        return self.bytes["pytorch"] / self.bytes["hocket"] if {"pytorch", "hocket"} <= set(self.bytes) else None

    # -- times

    def figure(self, answer, threads):
        return answer["seconds" if self.args.device else "processor" if threads == 1 else "min"]

    def find_settings(self, peer, settings, threads, what):
        def time_of(setting):
            answer = peer.measure(self, threads, what, setting, self.args.seconds)
            if "error" in answer:
                raise Refusal(answer["error"])
            return self.figure(answer, threads)
        choices = list(peer.choices(self, threads, what))
        environments = [choice for choice in choices if choice.is_environment()]
        kin = f"networks: {peer.version}, {what}, {family(self)}, {self.size}, {threads} threads"
        case = f"networks: {peer.version}, {what}, {self.name}, {' '.join(self.words)}, {threads} threads"
        try:
            shared = settings.of(kin, self.name, peer.start, environments, time_of)
            found = settings.of(case, self.name, shared.setting, [choice for choice in choices if choice not in environments], time_of)
            self.found[peer.name, what, threads] = peer_settings.Found(found.setting, peer.start, shared.missing + found.missing)
        except Refusal as refusal:
            note(f"    {peer.title}, {self.name}, {what}: left out: {refusal}")

    def measure(self, peers, settings):
        self.measure_memory(peers, 1)
        for threads in self.args.threads:
            for peer in peers:
                for what in WHAT:
                    if peer.has(self, what):
                        self.find_settings(peer, settings, threads, what)
        for peer in peers:
            peer.rest()
        ours = self.our_sides()
        for turn in range(self.args.rounds):
            self.others.append(others_share(0.2))  # nobody has its turn
            for threads in self.args.threads:
                sides = [lambda threads=threads: self.measure_ours(ours, threads)]
                sides += [lambda peer=peer, threads=threads: self.measure_peer(peer, threads) for peer in peers]
                first = turn % len(sides)
                for side in sides[first:] + sides[:first]:
                    side()
        for side in ours.values():
            side.end()
        for peer in peers:
            peer.rest()

    def measure_ours(self, ours, threads):
        for key, side in ours.items():
            for what in WHAT if key[0] == threads else ():
                self.keep("hocket", key[1], what, threads, side.ask(f"{what} {self.args.seconds}"))

    def measure_peer(self, peer, threads):
        for what in WHAT:
            found = self.found.get((peer.name, what, threads))
            if not found:
                continue
            variants = {AS_IT_COMES: peer.start}
            if found.setting != peer.start:
                variants[BY_SEARCH] = found.setting
            for variant, setting in variants.items():
                self.keep(peer.name, variant, what, threads, peer.measure(self, threads, what, setting, self.args.seconds))

    def keep(self, name, variant, what, threads, answer):
        if "seconds" not in told(answer, f"{name}, {what}"):
            return
        values = self.seconds.setdefault((name, variant, what, threads), [])
        if self.args.device:  # nobody else uses it: a round's median, with the least and the most
            values.extend(answer[key] for key in ("min", "seconds", "max"))
        else:
            values.append(self.figure(answer, threads))

    def best(self, name, what, threads):
        """Variant, and the seconds of its rounds: the one of the least median."""
        variants = {key[1]: values for key, values in self.seconds.items() if (key[0], key[2], key[3]) == (name, what, threads)}
        variant = peer_settings.fastest(variants)
        return variant, variants.get(variant)

    def ratio(self, what, threads, names):
        """Of the fastest of these peers."""
        _, ours = self.best("hocket", what, threads)
        theirs = [values for values in (self.best(name, what, threads)[1] for name in names) if values]
        return min(map(statistics.median, theirs)) / statistics.median(ours) if ours and theirs else None

    def setting_text(self, name, what, threads):
        """Which of both is in use, and what was not tried."""
        variant, _ = self.best(name, what, threads)
        found = self.found[name, what, threads]
        if variant == AS_IT_COMES and found.setting != found.start:
            return f"as it comes, which was faster than: {found}"
        return str(found)


def run(args):
    """Measures, prints, and returns the cases."""
    if not os.access(args.program, os.X_OK):
        raise Refusal(f"{args.program} is not there; build it with `make bench`")
    cases = []
    args.choices = tempfile.mkdtemp()
    atexit.register(shutil.rmtree, args.choices, True)
    peers = find_peers(["pytorch"] if args.device or args.memory else args.peer, args.python, args.device)
    gpu = args.device and next((peer.facts["gpu"] for peer in peers), None)
    settings = peer_settings.Settings(args, f"{args.device}, {gpu}" if args.device else None)
    print("peers: " + ", ".join(peer.version for peer in peers) + f"; their settings are kept in {settings.kept.path}", flush=True)
    try:
        for name in args.model or SIZES:
            for size in args.sizes or ("book", "small"):
                case = Case(name, size, args)
                if args.memory:
                    case.measure_memory(peers, args.rounds)
                else:
                    case.measure(peers, settings)
                cases.append(case)
                note(table.in_short(case, peers))
    except KeyboardInterrupt:
        note("interrupted: what is done follows")
    for peer in peers:
        peer.end()
    if cases:
        for what in WHAT if not args.memory else ():
            for threads in args.threads:
                table.print_part(cases, peers, what, threads)
        table.print_memory(cases)
        table.print_others(cases)
        table.sum_up(cases, peers, args.threads)
    return cases


def as_json(cases):
    return [{"name": case.name, "size": case.size, "batch": case.batch, "bytes": case.bytes, "others": case.others,
             "settings": [{"side": key[0], "what": key[1], "threads": key[2], "setting": found.setting, "not_tried": found.missing}
                          for key, found in case.found.items()],
             "seconds": [{"side": key[0], "variant": key[1], "what": key[2], "threads": key[3], "values": values}
                         for key, values in case.seconds.items()]} for case in cases]


def add_arguments(parser):
    parser.add_argument("--model", action="append", choices=SIZES, help="this one; may be repeated")
    parser.add_argument("--sizes", action="append", choices=["book", "small"], help="these; may be repeated")
    parser.add_argument("--peer", action="append", choices=[kind.name for kind in KINDS], help="this one; may be repeated (default: all)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of turns (default 3)")
    parser.add_argument("--seconds", type=float, default=0.3, help="of one measurement (default 0.3)")
    parser.add_argument("--batch", type=int, help="samples of a batch, in place of each network's own")
    parser.add_argument("--device", help="such as cuda:0: all on that, PyTorch also by CUDA graphs, memory the device's (default: the CPU)")
    parser.add_argument("--memory", action="store_true", help="memory alone")
    parser.add_argument("--threads", type=int, action="append", help="cores (default 2 and 1); may be repeated")
    parser.add_argument("--program", default=os.path.join(os.path.dirname(HERE), "build", "release", "bench", "bench_networks"))
    parser.add_argument("--python", default="/usr/bin/python3", help="the Python that has the peers")
    parser.add_argument("--library-path", help="LD_LIBRARY_PATH of that program, not of peers")
    parser.add_argument("--json", help="write the figures there, too")
    peer_settings.add_arguments(parser)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_arguments(parser)
    args = parser.parse_args()
    peer_settings.finish_arguments(args, parser, SIZES)
    args.threads = args.threads or ([2] if args.device else [2, 1])
    print(f"{processor()}; load average {os.getloadavg()[0]:.2f} at the start", flush=True)
    cases = run(args)
    if args.json:
        with open(args.json, "w", encoding="utf-8") as file:
            json.dump(as_json(cases), file, indent=1)


if __name__ == "__main__":
    try:
        main()
    except Refusal as refusal:
        print(f"networks: {refusal}", file=sys.stderr)
        sys.exit(2)
