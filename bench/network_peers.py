"""The peers of bench/networks.py: which there are, what each can do, its processes and its settings."""
import os
import sys

import peer_settings as choices
from networks_program import TEXTS
from peer_process import Process
from sides import HERE, Refusal, note

MOST_PROCESSES = 24  # of a peer that wait for the next setting like theirs
MOST_CHILDREN = 6    # of a peer that hold a network


class Kind:
    """A peer as it is written down. program: file and arguments; start: its setting as it comes; choices_of: of a Peer, a Case, threads and
    what is measured; models: those it has, or all."""

    def __init__(self, name, title, program, start, choices_of, what=("train", "infer"), models=None):
        self.name, self.title, self.program, self.start, self.choices_of = name, title, program, start, choices_of
        self.what, self.models = what, models


def has_images(case):
    return case.name not in (*TEXTS, "softmax", "mlp")


def family(case):
    """Networks whose processes like the same environment."""
    return {"softmax": "layers", "mlp": "layers", "vit": "attention", "gpt": "attention", "transformer": "attention"}.get(
        case.name, "recurrence" if case.name in TEXTS else "convolutions")


WRITTEN = ("mlp", "lenet5", "gpt")
KINDS = (
    Kind("pytorch", "PyTorch", ["networks_pytorch.py"], choices.PYTORCH,
         lambda peer, case, threads, what: choices.pytorch_choices(threads, what, has_images(case), peer.facts["has_mkl"], case.args.device)),
    Kind("jax", "JAX", ["networks_jax.py"], choices.JAX, lambda peer, case, threads, what: choices.jax_choices(has_images(case)),
         models=WRITTEN),
    Kind("mlx", "MLX", ["networks_mlx.py"], choices.MLX, lambda peer, case, threads, what: choices.mlx_choices(), models=WRITTEN),
    Kind("onnxruntime", "ONNX Runtime", ["networks_frozen.py", "onnxruntime"], choices.ONNXRUNTIME,
         lambda peer, case, threads, what: choices.onnxruntime_choices(threads), ("infer",)),
    Kind("openvino", "OpenVINO", ["networks_frozen.py", "openvino"], choices.OPENVINO,
         lambda peer, case, threads, what: choices.openvino_choices(), ("infer",)),
)


class Server:
    """A process of a peer in one environment. It has the libraries loaded; a child of it holds a network."""

    def __init__(self, peer, threads, env):
        self.process = Process([peer.python, os.path.join(HERE, peer.program[0]), *peer.program[1:]], env,
                               None if peer.device else threads)
        self.words, self.told = None, {}

    def ask(self, *words):
        return self.process.ask(" ".join(map(str, words)))

    def hold(self, words):
        """A child with this network; a fresh one, unless it is there."""
        if self.words != words:
            self.drop()
            answer = self.ask("child", *words)
            if "error" in answer:
                return answer
            self.words = words
        return {}

    def drop(self):
        if self.words:
            self.ask("end")
        self.words, self.told = None, {}

    def tell(self, setting):
        for name, value in setting.items():
            if self.told.get(name) != value:
                answer = self.ask("set", name, value)
                if "error" in answer:
                    return answer
                self.told[name] = value
        return {}


class Peer:
    """A kind that is there."""

    def __init__(self, kind, python, device=None):
        self.device = device  # a GPU, beside which cores are not counted
        self.kind, self.python, self.program = kind, python, kind.program
        self.name, self.title, self.start = kind.name, kind.title, kind.start
        self.servers = {}  # by threads, environment and, where something is compiled, all of the setting; the last used last
        self.facts = self.server(1, kind.start, "").ask("hello")
        if "error" in self.facts:
            raise Refusal(f"{kind.title} is not there for {python}: {self.facts['error']}")
        self.version = f"{kind.title} {self.facts['version']}"

    def has(self, case, what):
        return what in self.kind.what and (self.kind.models is None or case.name in self.kind.models)

    def choices(self, case, threads, what):
        return self.kind.choices_of(self, case, threads, what)

    def server(self, threads, setting, what):
        told = {name: value for name, value in setting.items() if name != "env"}
        # Compiled code is made once for each setting, and needs its process to itself.
        own = [what, told] if told.get("compile") not in (None, 0, "no") else None
        key = repr((threads, sorted(setting["env"].items()), own))
        server = self.servers.pop(key, None)
        if server is None or server.process.has_ended:
            server = Server(self, threads, choices.environment(threads, setting))
        self.servers[key] = server
        for old in list(self.servers)[:-MOST_PROCESSES]:
            self.servers.pop(old).process.end()
        for holder in [holder for holder in self.servers.values() if holder.words and holder is not server][:-MOST_CHILDREN]:
            holder.drop()
        return server

    def measure(self, case, threads, what, setting, seconds):
        """What its program answers."""
        server = self.server(threads, setting, what)
        answer = server.hold([case.name, *case.words, "threads", str(threads)])
        if "error" not in answer:
            answer = server.tell({name: value for name, value in setting.items() if name != "env"})
        return answer if "error" in answer else server.ask(what, seconds)

    def rest(self):
        """Networks are dropped, and what was compiled."""
        for key, server in list(self.servers.items()):
            server.drop()
            if server.process.has_ended or not key.endswith("None)"):
                self.servers.pop(key).process.end()

    def end(self):
        for server in self.servers.values():
            server.process.end()
        self.servers = {}


def find_peers(names, python, device=None):
    """Those that are there; of the others it says so."""
    peers = []
    for kind in KINDS:
        if names and kind.name not in names:
            continue
        try:
            peers.append(Peer(kind, python, device))
        except Refusal as refusal:
            print(f"left out: {refusal}", flush=True)
    if not peers:
        note(f"no peer is there; --python says which Python has them (this is {sys.executable})")
    return peers
