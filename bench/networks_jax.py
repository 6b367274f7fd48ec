"""MLP, LeNet and GPT of examples/models/ in JAX, as a program that takes commands of bench_networks: train and infer.

    networks_jax.py [MODEL [NAME VALUE]...]

A training step is one jitted function, which takes the memory of the parameters for the new ones; inference is another. A further
option: format, contiguous or channels_last. Exit status 3: there is no JAX, or no NumPy.
"""
import functools
import sys

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as error:
    print(f"networks_jax: {error}", file=sys.stderr)
    sys.exit(3)

from networks_program import TEXTS, obey, options_of, times, wide


class Draw:
    """Initial values, of any kind: times do not depend on them."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def __call__(self, *shape):
        return self.rng.uniform(-0.05, 0.05, shape).astype("float32")

    def linear(self, inputs, outputs):
        return {"w": self(inputs, outputs), "b": self(outputs)}

    def norm(self, features):
        return {"g": np.ones(features, "float32"), "b": np.zeros(features, "float32")}


def linear(x, p):
    return x @ p["w"] + p["b"]


def norm(x, p):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * p["g"] + p["b"]


# ---- each: its parameters, and what it makes of inputs ---------------------------------------------------

def mlp_parameters(o, draw):
    units = wide(o, 256)
    return [draw.linear(o["channels"] * o["size"] ** 2, units), draw.linear(units, o["classes"])]


def mlp(p, x, o):
    return linear(jax.nn.relu(linear(x.reshape(len(x), -1), p[0])), p[1])


def lenet5_parameters(o, draw):
    c6, c16, u120, u84 = (wide(o, n) for n in (6, 16, 120, 84))
    side = (o["size"] // 2 - 4) // 2
    filters = (lambda n, c: draw(5, 5, c, n)) if o["format"] == "channels_last" else (lambda n, c: draw(n, c, 5, 5))
    return [{"w": filters(c6, o["channels"]), "b": draw(c6)}, {"w": filters(c16, c6), "b": draw(c16)},
            draw.linear(c16 * side ** 2, u120), draw.linear(u120, u84), draw.linear(u84, o["classes"])]


def lenet5(p, x, o):
    is_last = o["format"] == "channels_last"
    layout = ("NHWC", "HWIO", "NHWC") if is_last else ("NCHW", "OIHW", "NCHW")
    window = (1, 2, 2, 1) if is_last else (1, 1, 2, 2)
    for layer, padding in ((p[0], 2), (p[1], 0)):
        x = jax.lax.conv_general_dilated(x, layer["w"], (1, 1), [(padding, padding)] * 2, dimension_numbers=layout)
        x = jax.nn.sigmoid(x + (layer["b"] if is_last else layer["b"][:, None, None]))
        x = jax.lax.reduce_window(x, 0.0, jax.lax.add, window, window, "VALID") * 0.25
    x = x.reshape(len(x), -1)
    return linear(jax.nn.sigmoid(linear(jax.nn.sigmoid(linear(x, p[2])), p[3])), p[4])


def gpt_parameters(o, draw):
    f = 4 * wide(o, 32)
    blocks = [{"norm": draw.norm(f), "query": draw.linear(f, f), "key": draw.linear(f, f), "value": draw.linear(f, f),
               "output": draw.linear(f, f), "mlp_norm": draw.norm(f), "up": draw.linear(f, 4 * f), "down": draw.linear(4 * f, f)}
              for _ in range(o["depth"] or 4)]
    return {"embedding": draw(o["classes"], f), "places": draw(64, f), "blocks": blocks, "norm": draw.norm(f),
            "output": draw.linear(f, o["classes"])}


def attention(p, x, heads=4):
    n, t, features = x.shape
    q, k, v = (linear(x, p[name]).reshape(n, t, heads, features // heads) for name in ("query", "key", "value"))
    y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
    return linear(y.reshape(n, t, features), p["output"])


def gpt(p, x, o):
    x = p["embedding"][x] + p["places"][:x.shape[1]]
    for block in p["blocks"]:
        x = x + attention(block, norm(x, block["norm"]))
        x = x + linear(jax.nn.gelu(linear(norm(x, block["mlp_norm"]), block["up"]), approximate=False), block["down"])
    return linear(norm(x, p["norm"]), p["output"]).reshape(-1, o["classes"])


MODELS = {"mlp": (mlp_parameters, mlp), "lenet5": (lenet5_parameters, lenet5), "gpt": (gpt_parameters, gpt)}


# ---- the program -----------------------------------------------------------------------------------------

class Network:
    def __init__(self, model, *words):
        self.name, self.options, self.params = model, options_of(words, {"format": "contiguous"}), None
        if model not in MODELS:
            raise LookupError(f"{model} is not written in JAX")

    def make(self):
        if self.params is not None:
            return
        o, draw = self.options, Draw(self.options["seed"])
        parameters, forward = MODELS[self.name]
        self.params = jax.tree.map(jnp.asarray, parameters(o, draw))
        n, size = o["batch"], o["size"]
        if self.name in TEXTS:
            x, labels = draw.rng.integers(0, o["classes"], (n, size)), draw.rng.integers(0, o["classes"], n * size)
        else:
            channels = o["channels"]
            shape = (n, size, size, channels) if o["format"] == "channels_last" else (n, channels, size, size)
            x, labels = draw.rng.random(shape, "float32"), draw.rng.integers(0, o["classes"], n)
        self.x, self.labels = jnp.asarray(x.astype("int32") if self.name in TEXTS else x), jnp.asarray(labels.astype("int32"))

        def loss_of(params, x, labels):
            scores = jax.nn.log_softmax(forward(params, x, o))
            return -jnp.take_along_axis(scores, labels[:, None], 1).mean()

        @functools.partial(jax.jit, donate_argnums=0)
        def step(params, x, labels):
            loss, slopes = jax.value_and_grad(loss_of)(params, x, labels)
            return loss, jax.tree.map(lambda p, slope: p - o["lr"] * slope, params, slopes)

        self.step, self.predict = step, jax.jit(lambda params, x: forward(params, x, o))

    def train(self, seconds):
        self.make()

        def step():
            loss, self.params = self.step(self.params, self.x, self.labels)
            jax.block_until_ready((loss, self.params))

        return times(step, float(seconds))

    def infer(self, seconds):
        self.make()
        first = self.x[:1]
        return times(lambda: np.asarray(self.predict(self.params, first)), float(seconds))

    def set(self, name, value):
        if str(self.options[name]) != value:
            self.options[name], self.params = type(self.options[name])(value), None
        return {}


def facts():
    return {"version": jax.__version__}


if __name__ == "__main__":
    obey(sys.argv[1:], Network, facts)
