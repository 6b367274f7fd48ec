"""Training on several devices by modules: the fourth of the book's experiments. tools/notebooks.py makes its notebook."""
# %% [markdown]
# # Training on several devices, with modules
#
# A residual network, replicas of it on each device, and an optimiser for each.
# %%
import hocket as hk
from hocket import data, nn, optim

hk.runtime(sim=2)
devices = hk.devices()[-2:]


def block(channels, stride=1):
    body = nn.Sequential(nn.Conv2d(channels, 3, stride=stride, padding=1), nn.BatchNorm(), nn.ReLU(), nn.Conv2d(channels, 3, padding=1),
                         nn.BatchNorm())
    return nn.Sequential(nn.Residual(body, nn.Conv2d(channels, 1, stride=stride) if stride > 1 else None), nn.ReLU())


def resnet():
    return nn.Sequential(nn.Conv2d(16, 3, padding=1), nn.BatchNorm(), nn.ReLU(), block(16), block(32, 2), block(64, 2),
                         nn.GlobalAvgPool(), nn.Flatten(), nn.Linear(10))


hk.seed(1)
net = resnet().build((1, 1, 28, 28))
net
# %%
nets = net.replicas(devices)
optimizers = [optim.SGD(replica, lr=0.1) for replica in nets]


def batch(images, labels):
    with hk.record():
        losses = [nn.functional.cross_entropy(replica(x), y) for replica, x, y in zip(nets, images, labels)]
    hk.backward(losses)
    for copies in zip(*(replica.parameters() for replica in nets)):
        hk.all_reduce([w.grad for w in copies])
    for optimizer in optimizers:
        optimizer.step(batch=sum(len(y) for y in labels))
    return sum(float(loss.sum()) for loss in losses) / sum(len(y) for y in labels)


loader = data.Loader(data.fashion_mnist("train"), batch=64, shuffle=True, seed=1, devices=devices)
losses = []
for images, labels in loader:
    losses.append(batch(images, labels))
    if len(losses) == 6:
        break
print([f"{loss:.2f}" for loss in losses])
# %% [markdown]
# The replicas stay alike: each step had the same gradients.
# %%
first, second = (replica.parameters()[0].to_device("cpu:0") for replica in nets)
hk.array_equal(first, second)
