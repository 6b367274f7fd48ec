"""MLP, LeNet and GPT of examples/models/ in MLX, on the CPU, as a program that takes commands of bench_networks: train and infer.

    networks_mlx.py [MODEL [NAME VALUE]...]

A further option: compile, 1: a training step, and an inference, are compiled by mx.compile. Exit status 3: there is no MLX that runs here, or
no NumPy; outside macOS it is the package mlx[cpu].
"""
import sys

try:
    import mlx.core as mx
    import mlx.nn as nn
    import numpy as np
    from mlx.utils import tree_map
except ImportError as error:
    print(f"networks_mlx: {error}", file=sys.stderr)
    sys.exit(3)

from networks_program import TEXTS, obey, options_of, times, wide


def mlp(o):
    units = wide(o, 256)
    return nn.Sequential(lambda x: x.reshape(len(x), -1), nn.Linear(o["channels"] * o["size"] ** 2, units), nn.ReLU(),
                         nn.Linear(units, o["classes"]))


def lenet5(o):
    c6, c16, u120, u84 = (wide(o, n) for n in (6, 16, 120, 84))
    side = (o["size"] // 2 - 4) // 2
    return nn.Sequential(nn.Conv2d(o["channels"], c6, 5, padding=2), mx.sigmoid, nn.AvgPool2d(2, 2), nn.Conv2d(c6, c16, 5), mx.sigmoid,
                         nn.AvgPool2d(2, 2), lambda x: x.reshape(len(x), -1), nn.Linear(c16 * side ** 2, u120), mx.sigmoid,
                         nn.Linear(u120, u84), mx.sigmoid, nn.Linear(u84, o["classes"]))


class Block(nn.Module):
    def __init__(self, features, heads=4):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(features, features) for _ in range(4))
        self.up, self.down = nn.Linear(features, 4 * features), nn.Linear(4 * features, features)
        self.norm, self.mlp_norm, self.heads = nn.LayerNorm(features), nn.LayerNorm(features), heads

    def __call__(self, x):
        n, t, features = x.shape
        y = self.norm(x)
        q, k, v = (layer(y).reshape(n, t, self.heads, -1).transpose(0, 2, 1, 3) for layer in (self.query, self.key, self.value))
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=q.shape[-1] ** -0.5, mask="causal")
        x = x + self.output(y.transpose(0, 2, 1, 3).reshape(n, t, features))
        return x + self.down(nn.gelu(self.up(self.mlp_norm(x))))


class Gpt(nn.Module):
    def __init__(self, o):
        super().__init__()
        features = 4 * wide(o, 32)
        self.embedding, self.places = nn.Embedding(o["classes"], features), mx.zeros((64, features))
        self.blocks = [Block(features) for _ in range(o["depth"] or 4)]
        self.norm, self.output = nn.LayerNorm(features), nn.Linear(features, o["classes"])

    def __call__(self, x):
        x = self.embedding(x) + self.places[:x.shape[1]]
        for block in self.blocks:
            x = block(x)
        x = self.output(self.norm(x))
        return x.reshape(-1, x.shape[-1])


MODELS = {"mlp": mlp, "lenet5": lenet5, "gpt": Gpt}


class Network:
    def __init__(self, model, *words):
        self.name, self.options, self.module = model, options_of(words, {"compile": 0}), None
        if model not in MODELS:
            raise LookupError(f"{model} is not written in MLX")

    def make(self):
        if self.module:
            return
        mx.set_default_device(mx.cpu)
        o, rng = self.options, np.random.default_rng(self.options["seed"])
        self.module = MODELS[self.name](o)
        n, size = o["batch"], o["size"]
        if self.name in TEXTS:
            x, labels = rng.integers(0, o["classes"], (n, size)).astype("int32"), rng.integers(0, o["classes"], n * size)
        else:
            x, labels = rng.random((n, size, size, o["channels"]), "float32"), rng.integers(0, o["classes"], n)
        self.x, self.labels = mx.array(x), mx.array(labels.astype("int32"))
        slopes_of = nn.value_and_grad(self.module, lambda x, y: nn.losses.cross_entropy(self.module(x), y, reduction="mean"))

        def step(x, labels):
            loss, slopes = slopes_of(x, labels)
            self.module.update(tree_map(lambda p, slope: p - o["lr"] * slope, self.module.trainable_parameters(), slopes))
            return loss

        if o["compile"]:
            self.step = mx.compile(step, inputs=self.module.state, outputs=self.module.state)
            self.predict = mx.compile(lambda x: self.module(x), inputs=self.module.state)
        else:
            self.step, self.predict = step, self.module
        mx.eval(self.module.state, self.x, self.labels)

    def train(self, seconds):
        self.make()
        return times(lambda: mx.eval(self.step(self.x, self.labels), self.module.state), float(seconds))

    def infer(self, seconds):
        self.make()
        first = self.x[:1]
        mx.eval(first)
        return times(lambda: np.array(self.predict(first)), float(seconds))

    def set(self, name, value):
        if str(self.options[name]) != value:
            self.options[name], self.module = type(self.options[name])(value), None
        return {}


def facts():
    return {"version": getattr(mx, "__version__", "of no version")}  # nothing is computed: threads do not outlive the fork


if __name__ == "__main__":
    obey(sys.argv[1:], Network, facts)
