"""The networks of examples/models/ in PyTorch, as a program that takes the commands of bench_networks.

    networks_pytorch.py [MODEL [NAME VALUE]...]

Options and commands are those of bench_networks, whose head explains them, and of networks_program.py. Further options are what
peer_settings.py may choose, and threads; dtype, float32 or float64. `set SETTING VALUE` changes one.

    format     contiguous or channels_last              update    default, foreach or fused
    onednn     on or off                                mode      inference_mode or no_grad
    freeze     of inference: no; traced, by torch.jit.trace and freeze; optimized, for inference besides; weights, of what is compiled
    compile    no, or a mode of torch.compile           compiled  model; of training also model_and_loss
    wrapper    python or cpp: what calls compiled code  graph     1: a step, or an inference, is a CUDA graph

Works with PyTorch 1.13 and newer. Exit status 3: there is no PyTorch, or no NumPy.
"""
import ctypes
import gc
import logging
import sys
import warnings

try:
    import numpy as np
    import torch
    import torch.nn.functional as F
    from torch import nn
except ImportError as error:
    print(f"networks_pytorch: {error}", file=sys.stderr)
    sys.exit(3)

from networks_program import PAIRS, obey, options_of, times
from networks_pytorch_models import IMAGES, TEXTS, attend
from peer_settings import PYTORCH

TOLD = {name: value for name, value in PYTORCH.items() if name != "env"}  # options that are settings

# Of hocket's name and options; what is left out is alike.
OPTIMIZERS = {
    "sgd": lambda p, o: torch.optim.SGD(p, o["lr"], weight_decay=o["decay"]),
    "momentum": lambda p, o: torch.optim.SGD(p, o["lr"], o["momentum"] or 0.9, weight_decay=o["decay"],
                                             nesterov=bool(o["nesterov"])),
    "adam": lambda p, o: torch.optim.Adam(p, o["lr"], weight_decay=o["decay"]),
    "adamw": lambda p, o: torch.optim.AdamW(p, o["lr"], weight_decay=o["decay"]),
    "rmsprop": lambda p, o: torch.optim.RMSprop(p, o["lr"], weight_decay=o["decay"]),
    "adagrad": lambda p, o: torch.optim.Adagrad(p, o["lr"], weight_decay=o["decay"]),
    "adadelta": lambda p, o: torch.optim.Adadelta(p, o["lr"], weight_decay=o["decay"]),
}


# ---- the program ---------------------------------------------------------------------------------------

class Network:
    def __init__(self, model="mlp", *words):
        self.name, self.module = model, None
        self.options = options = options_of(words, TOLD)
        self.is_language = model in TEXTS
        self.called, self.graphs = {}, {}
        self.device = torch.device(options["device"])
        if self.device.type == "cuda":  # float32 is float32
            torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = False
            torch.backends.cudnn.benchmark = True
        self.arrange()

    def make(self):
        if self.module:
            return
        torch.manual_seed(self.options["seed"])
        o = self.options
        self.module = (TEXTS if self.is_language else IMAGES)[self.name](o).to(self.device, getattr(torch, o["dtype"]))
        self.module.train(not o["evaluate"])
        n, size = o["batch"], o["size"]
        if self.is_language:
            self.inputs = [torch.randint(o["classes"], (n, size)) for _ in range(1 + (self.name in PAIRS))]
            self.labels = torch.randint(o["classes"], (n * size,))
        else:
            self.inputs = [torch.rand(n, o["channels"], size, size, dtype=getattr(torch, o["dtype"]))]
            self.labels = torch.randint(o["classes"], (n,))
        self.inputs, self.labels = [x.to(self.device) for x in self.inputs], self.labels.to(self.device)
        self.arrange()

    def arrange(self):
        """As the settings have it."""
        o = self.options
        torch.set_num_threads(o["threads"])
        torch.backends.mkldnn.enabled = o["onednn"] == "on"
        if not self.module:
            return
        self.called, self.graphs = {}, {}
        if not self.is_language:
            memory = torch.channels_last if o["format"] == "channels_last" else torch.contiguous_format
            self.module.to(memory_format=memory)
            self.inputs = [x.to(memory_format=memory) for x in self.inputs]
        self.optimizer = OPTIMIZERS[o["optimizer"]](self.module.parameters(), o)
        for group in self.optimizer.param_groups:
            if o["update"] != "default":
                group[o["update"]] = True
                group["foreach" if o["update"] == "fused" else "fused"] = False

    def compiled(self, function):
        from torch._inductor import config
        o = self.options
        config.freezing = o["freeze"] == "weights"
        config.cpp_wrapper = o["wrapper"] == "cpp"
        return torch.compile(function, mode=None if o["compile"] == "default" else o["compile"])

    def loss_of_module(self, *inputs_and_labels):
        *inputs, labels = inputs_and_labels
        return F.cross_entropy(self.module(*inputs).flatten(0, -2), labels)

    def callable(self, name, function):
        """The function, or what torch.compile makes of it."""
        if self.options["compile"] == "no":
            return function
        if name not in self.called:
            self.called[name] = self.compiled(function)
        return self.called[name]

    def loss(self, inputs, labels):
        if self.options["compiled"] == "model_and_loss":
            return self.callable("loss", self.loss_of_module)(*inputs, labels)
        return F.cross_entropy(self.callable("train", self.module)(*inputs).flatten(0, -2), labels)

    def step(self, inputs, labels):
        loss = self.loss(inputs, labels)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def predictor(self, inputs):
        """What predicts for inputs like these."""
        if self.options["freeze"] not in ("traced", "optimized"):
            return self.callable("infer", self.module)
        if "frozen" not in self.called:
            traced = torch.jit.trace(self.module, inputs)
            self.called["frozen"] = (torch.jit.freeze if self.options["freeze"] == "traced" else torch.jit.optimize_for_inference)(traced)
        return self.called["frozen"]

    def wait(self):
        if self.device.type == "cuda":
            torch.cuda.synchronize(self.device)

    def memory(self, steps):
        if self.device.type == "cuda":
            self.make()
            for _ in range(int(steps)):
                self.step(self.inputs, self.labels)
            return {"bytes": torch.cuda.max_memory_allocated(self.device)}
        warm_up()
        settle_memory()
        with open("/proc/self/clear_refs", "w", encoding="ascii") as file:
            file.write("5")  # the high-water mark begins anew
        before = status_bytes("VmRSS")
        self.make()
        for _ in range(int(steps)):
            self.step(self.inputs, self.labels)
        return {"bytes": status_bytes("VmHWM") - before}

    def replay(self, name, call):
        """The call, or the CUDA graph that it once became."""
        if not self.options["graph"]:
            return call
        if name not in self.graphs:
            self.graphs[name] = captured(call)
        return self.graphs[name]

    def train(self, seconds):
        self.make()
        step, together = lambda: self.step(self.inputs, self.labels), self.options["together"]
        step = self.replay("train", step)

        def steps():
            for _ in range(together):
                step()
            self.wait()

        return times(steps, float(seconds), together)

    def infer(self, seconds):
        self.make()
        self.module.eval()
        with torch.no_grad() if self.options["mode"] == "no_grad" else torch.inference_mode():
            first = [x[:1] for x in self.inputs]
            predictor = self.predictor(tuple(first))
            predict = self.replay("infer", lambda: predictor(*first))
            answer = times(lambda: predict().cpu(), float(seconds))
        self.module.train(not self.options["evaluate"])
        return answer

    def save(self, path):
        self.make()
        np.savez(path, **{f"p{i}": p.detach().numpy() for i, p in enumerate(self.module.parameters())})
        return {}

    def load(self, path):
        self.make()
        with np.load(path) as arrays, torch.no_grad():
            params = list(self.module.parameters())
            if len(params) != len(arrays.files):
                raise ValueError(f"{len(arrays.files)} arrays for {len(params)} parameters")
            for i, p in enumerate(params):
                values = arrays[f"p{i}"]
                if values.shape != tuple(p.shape):
                    raise ValueError(f"p{i} is {values.shape}, and not {tuple(p.shape)}")
                p.copy_(torch.from_numpy(values))
        return {}

    def curve(self, path, steps):
        self.make()
        with np.load(path) as arrays:
            names = ["x", "w"] if self.name in PAIRS else ["x"]
            dtype = torch.int64 if self.is_language else getattr(torch, self.options["dtype"])
            xs = [torch.from_numpy(arrays[name]).to(dtype) for name in names]
            ys = torch.from_numpy(arrays["y"]).to(torch.int64)
        losses = [float(self.step([x[i % len(ys)] for x in xs], ys[i % len(ys)])) for i in range(int(steps))]
        self.module.eval()
        with torch.no_grad():
            scores = self.module(*(x[0] for x in xs))
            losses.append(float(F.cross_entropy(scores.flatten(0, -2), ys[0])))
        self.module.train(not self.options["evaluate"])
        return {"losses": losses}

    def set(self, name, value):
        self.options[name] = type(self.options[name])(value)
        self.arrange()
        return {}


def status_bytes(name):
    with open("/proc/self/status", encoding="ascii") as file:
        return next(1024 * int(line.split()[1]) for line in file if line.startswith(name + ":"))


def settle_memory():
    """What was freed goes to the system, and all pages of files are mapped; see resident.h."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.malloc_trim(0)
    with open("/proc/self/maps", encoding="utf-8") as file:
        for line in file:
            addresses, rights, _, _, inode = line.split()[:5]
            begin, end = (int(address, 16) for address in addresses.split("-"))
            if inode != "0" and rights[0] == "r":
                libc.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), 22)  # MADV_POPULATE_READ


def warm_up():
    """A step of what there is, small: its libraries are loaded then."""
    layers = nn.Sequential(nn.Conv2d(1, 2, 3, padding=1), nn.BatchNorm2d(2), nn.ReLU(), nn.MaxPool2d(2))
    x = layers(torch.zeros(2, 1, 8, 8))
    y, _ = nn.GRU(16, 4)(x.flatten(2))
    loss = F.cross_entropy(nn.Linear(4, 2)(attend(y, y, y)).flatten(0, -2), torch.zeros(4, dtype=torch.int64))
    loss.backward()
    torch.optim.SGD(layers.parameters(), 0.1).step()


def captured(call):
    """What replays a call as a CUDA graph, and returns the tensors that it writes."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = call()

    def replay():
        graph.replay()
        return result

    return replay


def facts():
    gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"version": torch.__version__, "has_mkl": torch.backends.mkl.is_available(), "gpu": gpu}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of what there is besides, and of what is not
    logging.disable(logging.WARNING)
    obey(sys.argv[1:], Network, facts)
