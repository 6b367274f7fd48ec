"""Networks of torchvision and transformers with random weights, and those of examples/models/ with the same: the same results to 1e-4.

By hand, where these libraries are:

    python3 tests/torch/networks.py build/release/tests/published [NAME…]
"""

import os
import re
import subprocess
import sys
import tempfile

import numpy as np
import torch

IMAGES = {"resnet18": 64, "resnet34": 64, "resnet50": 64, "resnet101": 64, "resnet152": 64, "vgg11": 224, "vgg13": 224, "vgg16": 224, "vgg19": 224, "alexnet": 224,
          "densenet121": 64, "densenet169": 64, "densenet201": 64, "googlenet": 64, "mobilenet_v2": 64, "mobilenet_v3_small": 64,
          "mobilenet_v3_large": 64, "efficientnet_b0": 64, "convnext_tiny": 64, "vit_b_16": 224}


def stirred(net):
    """Averages and scales unlike those that networks begin with, and not so wide that results are lost in their size."""
    with torch.no_grad():
        for name, array in net.state_dict().items():
            if name.endswith("running_var"):
                array.copy_(torch.rand(array.shape) + 0.5)
            elif name.endswith("running_mean"):
                array.copy_(torch.randn(array.shape) / 10)
            elif array.is_floating_point() and array.ndim == 1:
                array.add_(torch.randn(array.shape) / 10)
            elif array.is_floating_point() and array.ndim == 2 and array.std() < 0.03:  # some begin with zeros, which show nothing
                array.copy_(torch.randn(array.shape) / 20)
            elif name.endswith("layer_scale"):
                array.fill_(0.5)
    return net.eval()


def as_of_old(name, state):
    """The names that files have which are offered, where the library renames them when it reads them, and what they have besides."""
    if name.startswith("densenet"):
        state = {re.sub(r"(denselayer\d+\.(?:norm|conv))([12])", r"\1.\2", key): x for key, x in state.items()}
    elif name.startswith("vit"):
        state = {key.replace("mlp.0.", "mlp.linear_1.").replace("mlp.3.", "mlp.linear_2."): x for key, x in state.items()}
    elif name == "bert":
        state = {key.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): x for key, x in state.items()}
    elif name == "gpt2":
        state = {key.removeprefix("transformer."): x for key, x in state.items() if key != "lm_head.weight"} | {"h.0.attn.bias": torch.ones(1, 1, 8, 8)}
    elif name == "googlenet":
        state = {**state, "aux1.fc1.weight": torch.ones(2, 2)}
    elif name == "llama":
        state = {**state, "model.layers.0.self_attn.rotary_emb.inv_freq": torch.ones(2)}
    return state


def images(name, side):
    import torchvision
    more = {"aux_logits": False, "init_weights": True} if name == "googlenet" else {}
    net = stirred(getattr(torchvision.models, name)(weights=None, **more))
    x = torch.randn(2, 3, side, side)
    return net, x, net(x), {}


def gpt2():
    import transformers
    net = stirred(transformers.GPT2LMHeadModel(transformers.GPT2Config(n_layer=3, n_embd=64, n_head=4, vocab_size=100, n_positions=32)))
    x = torch.randint(100, (2, 16))
    return net, x, net(x).logits, {"layers": 3, "features": 64, "heads": 4, "vocabulary": 100, "positions": 32}


def bert():
    import transformers
    net = stirred(transformers.BertForMaskedLM(transformers.BertConfig(num_hidden_layers=3, hidden_size=64, num_attention_heads=4, intermediate_size=96,
                                                                       vocab_size=100, max_position_embeddings=32)))
    whole = stirred(transformers.BertModel(net.config))
    whole.load_state_dict(net.bert.state_dict(), strict=False)
    x = torch.randint(100, (2, 16))
    sizes = {"layers": 3, "features": 64, "heads": 4, "hidden": 96, "vocabulary": 100, "positions": 32}
    return whole, x, whole(x).last_hidden_state, sizes


def llama():
    import transformers
    net = stirred(transformers.LlamaForCausalLM(transformers.LlamaConfig(num_hidden_layers=3, hidden_size=64, num_attention_heads=8, num_key_value_heads=2,
                                                                         intermediate_size=96, vocab_size=100, max_position_embeddings=32)))
    x = torch.randint(100, (2, 16))
    return net, x, net(x).logits, {"layers": 3, "features": 64, "heads": 8, "key_heads": 2, "hidden": 96, "vocabulary": 100}


OTHERS = {"gpt2": gpt2, "bert": bert, "llama": llama}


def compare(program, name, folder, old):
    paths = [os.path.join(folder, file) for file in ("net.pth", "x.npy", "y.npy")]
    torch.manual_seed(1)
    with torch.no_grad():
        net, x, expected, options = OTHERS[name]() if name in OTHERS else images(name, IMAGES[name])
    torch.save(as_of_old(name, net.state_dict()) if old else {"state_dict": net.state_dict(), "epoch": 1}, paths[0],
               _use_new_zipfile_serialization=not old)
    np.save(paths[1], x.numpy())
    done = subprocess.run([program, name, *paths, *(f"{key}={value}" for key, value in options.items())], capture_output=True, text=True)
    if done.returncode:
        return f"failed: {done.stderr.strip()}"
    found, expected = np.load(paths[2]), expected.numpy()
    far = np.abs(found - expected).max() / max(1.0, np.abs(expected).max())
    return f"{'the same' if far < 1e-4 else 'DIFFERS'}, by {far:.1e} of {np.abs(expected).max():.2g}"


def main(program, *names):
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name in names or [*IMAGES, *OTHERS]:
            for old in (False, True):
                told = compare(program, name, folder, old)
                wrong += not told.startswith("the same")
                print(f"{name}{', as of old' * old}: {told}", flush=True)
    return wrong > 0


sys.exit(main(*sys.argv[1:]))
