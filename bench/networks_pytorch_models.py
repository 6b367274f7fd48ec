"""The networks of examples/models/ in PyTorch. Parameters are made in the order in which hocket makes them, so that they go by number."""
import torch
import torch.nn.functional as F
from torch import nn

from networks_program import wide


# ---- what several of them are made of ------------------------------------------------------------------

def relu():
    return nn.ReLU(inplace=True)


def conv_relu(inputs, channels, size, stride=1, padding=0):
    return [nn.Conv2d(inputs, channels, size, stride, padding), relu()]


class Side(nn.Module):
    """What branches make of one input, side by side."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x):
        return torch.cat([branch(x) for branch in self.branches], 1)


class Residual(nn.Module):
    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut

    def forward(self, x):
        return self.body(x) + (self.shortcut(x) if self.shortcut else x)


class Attention(nn.Module):
    def __init__(self, features, heads, causal):
        super().__init__()
        self.query, self.key, self.value, self.output = (nn.Linear(features, features) for _ in range(4))
        self.heads, self.causal = heads, causal

    def forward(self, x):
        n, t, features = x.shape
        q, k, v = (layer(x).view(n, t, self.heads, -1).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        return self.output(attend(q, k, v, self.causal).transpose(1, 2).reshape(n, t, features))


def attend(q, k, v, causal=False):
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    if causal:
        scores = scores.masked_fill(torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    return scores.softmax(-1) @ v


def transformer_block(features, heads, causal):
    attention = nn.Sequential(nn.LayerNorm(features), Attention(features, heads, causal))
    mlp = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, 4 * features), nn.GELU(),
                        nn.Linear(4 * features, features))
    return nn.Sequential(Residual(attention), Residual(mlp))


# ---- images --------------------------------------------------------------------------------------------

def softmax(o):
    return nn.Sequential(nn.Flatten(), nn.Linear(o["channels"] * o["size"] ** 2, o["classes"]))


def mlp(o):
    units = wide(o, 256)
    return nn.Sequential(nn.Flatten(), nn.Linear(o["channels"] * o["size"] ** 2, units), relu(),
                         nn.Linear(units, o["classes"]))


def lenet5(o):
    c6, c16, u120, u84 = (wide(o, n) for n in (6, 16, 120, 84))
    side = (o["size"] // 2 - 4) // 2
    return nn.Sequential(nn.Conv2d(o["channels"], c6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2),
                         nn.Conv2d(c6, c16, 5), nn.Sigmoid(), nn.AvgPool2d(2), nn.Flatten(),
                         nn.Linear(c16 * side ** 2, u120), nn.Sigmoid(), nn.Linear(u120, u84), nn.Sigmoid(),
                         nn.Linear(u84, o["classes"]))


def dense_end(o, layers):
    """Behind convolutions: two wide layers with dropout, and the classes."""
    units = wide(o, 4096)
    with torch.no_grad():
        inputs = nn.Sequential(*layers)(torch.zeros(1, o["channels"], o["size"], o["size"])).numel()
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(inputs, units), relu(), nn.Dropout(0.5),
                         nn.Linear(units, units), relu(), nn.Dropout(0.5), nn.Linear(units, o["classes"]))


def alexnet(o):
    c96, c256, c384 = (wide(o, n) for n in (96, 256, 384))
    return dense_end(o, [*conv_relu(o["channels"], c96, 11, 4, 1), nn.MaxPool2d(3, 2),
                         *conv_relu(c96, c256, 5, 1, 2), nn.MaxPool2d(3, 2), *conv_relu(c256, c384, 3, 1, 1),
                         *conv_relu(c384, c384, 3, 1, 1), *conv_relu(c384, c256, 3, 1, 1), nn.MaxPool2d(3, 2)])


def vgg11(o):
    layers, inputs = [], o["channels"]
    for convolutions, channels in ((1, 64), (1, 128), (2, 256), (2, 512), (2, 512)):
        for _ in range(convolutions):
            layers += conv_relu(inputs, wide(o, channels), 3, 1, 1)
            inputs = wide(o, channels)
        layers.append(nn.MaxPool2d(2))
    return dense_end(o, layers)


def nin(o):
    def block(inputs, channels, size, stride, padding):
        return [*conv_relu(inputs, channels, size, stride, padding), *conv_relu(channels, channels, 1),
                *conv_relu(channels, channels, 1)]
    c96, c256, c384 = (wide(o, n) for n in (96, 256, 384))
    return nn.Sequential(*block(o["channels"], c96, 11, 4, 0), nn.MaxPool2d(3, 2), *block(c96, c256, 5, 1, 2),
                         nn.MaxPool2d(3, 2), *block(c256, c384, 3, 1, 1), nn.MaxPool2d(3, 2), nn.Dropout(0.5),
                         *block(c384, o["classes"], 3, 1, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten())


def googlenet(o):
    stem = [*conv_relu(o["channels"], wide(o, 64), 7, 2, 3), nn.MaxPool2d(3, 2, 1),
            *conv_relu(wide(o, 64), wide(o, 64), 1), *conv_relu(wide(o, 64), wide(o, 192), 3, 1, 1),
            nn.MaxPool2d(3, 2, 1)]
    inputs, layers = wide(o, 192), []
    for row in ((64, 96, 128, 16, 32, 32), (128, 128, 192, 32, 96, 64), None, (192, 96, 208, 16, 48, 64),
                (160, 112, 224, 24, 64, 64), (128, 128, 256, 24, 64, 64), (112, 144, 288, 32, 64, 64),
                (256, 160, 320, 32, 128, 128), None, (256, 160, 320, 32, 128, 128),
                (384, 192, 384, 48, 128, 128)):
        if not row:
            layers.append(nn.MaxPool2d(3, 2, 1))
            continue
        one, before_three, three, before_five, five, pool = (wide(o, n) for n in row)
        layers.append(Side(
            nn.Sequential(*conv_relu(inputs, one, 1)),
            nn.Sequential(*conv_relu(inputs, before_three, 1), *conv_relu(before_three, three, 3, 1, 1)),
            nn.Sequential(*conv_relu(inputs, before_five, 1), *conv_relu(before_five, five, 5, 1, 2)),
            nn.Sequential(nn.MaxPool2d(3, 1, 1), *conv_relu(inputs, pool, 1))))
        inputs = one + three + five + pool
    return nn.Sequential(*stem, *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, o["classes"]))


def resnet18(o):
    def conv_norm(inputs, channels, size, stride):
        return [nn.Conv2d(inputs, channels, size, stride, size // 2, bias=False), nn.BatchNorm2d(channels)]

    def block(inputs, channels, stride):
        body = nn.Sequential(*conv_norm(inputs, channels, 3, stride), relu(), *conv_norm(channels, channels, 3, 1))
        shortcut = nn.Sequential(*conv_norm(inputs, channels, 1, stride)) if stride > 1 else None
        return [Residual(body, shortcut), relu()]
    layers = [*conv_norm(o["channels"], wide(o, 64), 7, 2), relu(), nn.MaxPool2d(3, 2, 1)]
    inputs = wide(o, 64)
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        layers += [*block(inputs, wide(o, channels), stride), *block(wide(o, channels), wide(o, channels), 1)]
        inputs = wide(o, channels)
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(inputs, o["classes"]))


def densenet(o):
    def norm_relu_conv(inputs, channels, size):
        return nn.Sequential(nn.BatchNorm2d(inputs), relu(), nn.Conv2d(inputs, channels, size, padding=size // 2))
    begin, growth = wide(o, 64), wide(o, 32)
    layers = [nn.Conv2d(o["channels"], begin, 7, 2, 3), nn.BatchNorm2d(begin), relu(), nn.MaxPool2d(3, 2, 1)]
    inputs, last = begin, begin
    for block in range(4):
        for _ in range(4):
            # The identity comes first, and what is behind must not write into it.
            body = norm_relu_conv(inputs, growth, 3)
            layers.append(Side(nn.Identity(), body))
            inputs += growth
        if block < 3:
            last = (last + 4 * growth) // 2
            layers += [norm_relu_conv(inputs, last, 1), nn.AvgPool2d(2)]
            inputs = last
    return nn.Sequential(*layers, nn.BatchNorm2d(inputs), relu(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                         nn.Linear(inputs, o["classes"]))


class Patches(nn.Module):
    def __init__(self, o, features):
        super().__init__()
        self.first = nn.Parameter(torch.zeros(1, 1, features))
        self.positions = nn.Parameter(torch.zeros(1 + (o["size"] // 16) ** 2, features))
        self.patches = nn.Conv2d(o["channels"], features, 16, 16)

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        return torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions


class First(nn.Module):
    def forward(self, x):
        return x[:, 0]


def vit(o):
    features = 3 * wide(o, 64)
    blocks = [transformer_block(features, 3, False) for _ in range(o["depth"] or 12)]
    return nn.Sequential(Patches(o, features), *blocks, nn.LayerNorm(features), First(),
                         nn.Linear(features, o["classes"]))


# ---- texts ---------------------------------------------------------------------------------------------

class Language(nn.Module):
    def __init__(self, o, kind):
        super().__init__()
        units = wide(o, 256)
        self.embedding = nn.Embedding(o["classes"], wide(o, 64))
        self.recurrent = kind(wide(o, 64), units, batch_first=True)
        self.output = nn.Linear(units, o["classes"])

    def forward(self, x):
        return self.output(self.recurrent(self.embedding(x))[0])


class Places(nn.Module):
    def __init__(self, steps, features):
        super().__init__()
        self.places = nn.Parameter(torch.zeros(steps, features))

    def forward(self, x):
        return x + self.places[:x.shape[1]]


def gpt(o):
    features = 4 * wide(o, 32)
    blocks = [transformer_block(features, 4, True) for _ in range(o["depth"] or 4)]
    return nn.Sequential(nn.Embedding(o["classes"], features), Places(64, features), *blocks,
                         nn.LayerNorm(features), nn.Linear(features, o["classes"]))


class Seq2Seq(nn.Module):
    def __init__(self, o):
        super().__init__()
        units, inputs = wide(o, 256), wide(o, 64)
        self.embedding = nn.Embedding(o["classes"], inputs)
        self.encoder = nn.GRU(inputs, units, batch_first=True)
        self.decoder = nn.GRU(inputs, units, batch_first=True)
        self.output = nn.Sequential(nn.Linear(2 * units, units), nn.Tanh(), nn.Linear(units, o["classes"]))

    def forward(self, source, written):
        read, last = self.encoder(self.embedding(source))
        states, _ = self.decoder(self.embedding(written), last)
        return self.output(torch.cat([states, attend(states, read, read)], 2))


class CrossAttention(Attention):
    """Of what is written to what was read."""

    def forward(self, x, y):
        n, t, features = x.shape
        q, k, v = (layer(z).view(n, z.shape[1], self.heads, -1).transpose(1, 2)
                   for layer, z in ((self.query, x), (self.key, y), (self.value, y)))
        return self.output(attend(q, k, v).transpose(1, 2).reshape(n, t, features))


class TransformerBlock(nn.Module):
    """Of an encoder, or of a decoder, which looks at what was read, too."""

    def __init__(self, features, is_decoder):
        super().__init__()
        self.attention, self.norm = Attention(features, 4, is_decoder), nn.LayerNorm(features)
        self.look = CrossAttention(features, 4, False) if is_decoder else None
        self.look_norm = nn.LayerNorm(features) if is_decoder else None
        self.mlp = nn.Sequential(nn.Linear(features, 4 * features), relu(), nn.Linear(4 * features, features))
        self.mlp_norm = nn.LayerNorm(features)

    def forward(self, x, read=None):
        x = self.norm(x + self.attention(x))
        if self.look:
            x = self.look_norm(x + self.look(x, read))
        return self.mlp_norm(x + self.mlp(x))


def sinusoids(count, features):
    at = torch.arange(count, dtype=torch.float64)[:, None]
    angles = at / 10000 ** (torch.arange(0, features, 2, dtype=torch.float64) / features)
    return torch.stack([angles.sin(), angles.cos()], 2).flatten(1)[:, :features]


class Transformer(nn.Module):
    def __init__(self, o):
        super().__init__()
        features, depth = 4 * wide(o, 64), o["depth"] or 2
        self.embedding = nn.Embedding(o["classes"], features)
        self.encoder = nn.Sequential(*(TransformerBlock(features, False) for _ in range(depth)))
        self.decoder = nn.ModuleList(TransformerBlock(features, True) for _ in range(depth))
        self.output = nn.Linear(features, o["classes"])
        self.register_buffer("positions", sinusoids(64, features).to(torch.get_default_dtype()))

    def embed(self, tokens):
        return self.embedding(tokens) + self.positions[:tokens.shape[1]]

    def forward(self, source, written):
        read, x = self.encoder(self.embed(source)), self.embed(written)
        for block in self.decoder:
            x = block(x, read)
        return self.output(x)


IMAGES = {"softmax": softmax, "mlp": mlp, "lenet5": lenet5, "alexnet": alexnet, "vgg11": vgg11, "nin": nin,
          "googlenet": googlenet, "resnet18": resnet18, "densenet": densenet, "vit": vit}
TEXTS = {"rnn": lambda o: Language(o, nn.RNN), "gru": lambda o: Language(o, nn.GRU),
         "lstm": lambda o: Language(o, nn.LSTM), "gpt": gpt, "seq2seq": Seq2Seq,
         "transformer": Transformer}
