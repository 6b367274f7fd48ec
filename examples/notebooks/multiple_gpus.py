"""Training on several devices from scratch: the third of the book's experiments. tools/notebooks.py makes multiple_gpus.ipynb of it."""
# %% [markdown]
# # Training on several devices, from scratch
#
# Each device has the parameters and a part of each batch. Gradients are summed over devices before each step, so that losses are those
# of one device.
# %%
import hocket as hk
from hocket import data, nn, optim

hk.runtime(sim=2)
devices = hk.devices()[-2:]


def parameters(device):
    hk.seed(1)
    shapes = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (800, 128), (128,), (128, 10), (10,)]
    return [(hk.random.normal(shape, std=0.05) if len(shape) > 1 else hk.zeros(shape)).to_device(device).attach_grad()
            for shape in shapes]


def lenet(x, p):
    f = nn.functional
    x = f.avg_pool2d(hk.relu(f.conv2d(x, p[0], p[1])), 2)
    x = f.avg_pool2d(hk.relu(f.conv2d(x, p[2], p[3])), 2)
    x = hk.relu(x.reshape(x.shape[0], -1) @ p[4] + p[5])
    return x @ p[6] + p[7]
# %% [markdown]
# `hk.all_reduce` makes arrays, one for each device, their sum, in place.
# %%
parts = [hk.ones((1, 2), device=device) * (i + 1) for i, device in enumerate(devices)]
hk.all_reduce(parts)
parts[0]
# %% [markdown]
# One batch: forward and backward passes of the devices share nothing, so they run side by side. Nothing here says so.
# %%
def batch(images, labels, params):
    with hk.record():
        losses = [nn.functional.cross_entropy(lenet(x, p), y) for x, y, p in zip(images, labels, params)]
    hk.backward(losses)
    for copies in zip(*params):
        hk.all_reduce([w.grad for w in copies])
    for p in params:
        optim.sgd(p, lr=0.2, batch=sum(len(y) for y in labels))
    return losses


def train(devices, batches=8):
    params = [parameters(device) for device in devices]
    loader = data.Loader(data.fashion_mnist("train"), batch=256, shuffle=True, seed=1, devices=devices)
    sums = []
    for number, (images, labels) in enumerate(loader):
        sums.append(batch(images, labels, params))
        if number + 1 == batches:
            break
    return [sum(float(part.sum()) for part in losses) / 256 for losses in sums]


one, two = train(devices[:1]), train(devices)
print("one device ", [f"{loss:.4f}" for loss in one])
print("two devices", [f"{loss:.4f}" for loss in two])
# %% [markdown]
# The timeline of one batch: gradients are summed while the backward pass still runs.
# %%
params = [parameters(device) for device in devices]
images, labels = next(iter(data.Loader(data.fashion_mnist("train"), batch=256, devices=devices)))
batch(images, labels, params)
with hk.trace() as run:
    batch(images, labels, params)
    hk.wait()
run
