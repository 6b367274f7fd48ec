"""A network that is trained through a function of one's own, with its gradient: x + sin(x)**2, which Numba compiles, or the C compiler.

usage: numba_network.py [numba|c]. Exit status 77: there is no Numba.
"""
import sys

import hocket as hk
from hocket import nn, optim

C = """
void forward(float **data, const int64_t *sizes, const void *args)
{
    for (int64_t i = 0; i < sizes[0]; i++)
        data[1][i] = data[0][i] + sinf(data[0][i]) * sinf(data[0][i]);
}

void backward(float **data, const int64_t *sizes, const void *args) /* dy, x, dx */
{
    for (int64_t i = 0; i < sizes[0]; i++)
        data[2][i] = data[0][i] * (1 + sinf(2 * data[1][i]));
}
"""


def compiled_by_numba():
    try:
        import numba
        import numpy as np
    except ImportError:
        print("there is no Numba: pip install numba; or: numba_network.py c", file=sys.stderr)
        sys.exit(77)
    types = numba.types
    kernel = numba.cfunc(types.void(types.CPointer(types.voidptr), types.CPointer(types.int64), types.voidptr))

    @kernel
    def forward(data, sizes, args):
        x, y = numba.carray(data[0], sizes[0], np.float32), numba.carray(data[1], sizes[1], np.float32)
        for i in range(x.size):
            y[i] = x[i] + np.sin(x[i]) ** 2

    @kernel
    def backward(data, sizes, args):
        dy, x = numba.carray(data[0], sizes[0], np.float32), numba.carray(data[1], sizes[1], np.float32)
        dx = numba.carray(data[2], sizes[2], np.float32)
        for i in range(x.size):
            dx[i] = dy[i] * (1 + np.sin(2 * x[i]))

    return hk.kernel(forward, name="snake"), hk.kernel(backward, name="snake gradient")


def compiled_by_cc():
    return hk.kernel_from_c(C, "forward"), hk.kernel_from_c(C, "backward")


forward, backward = compiled_by_cc() if sys.argv[1:] == ["c"] else compiled_by_numba()


@hk.function
def snake(x):
    return forward(reads=[x], writes=[hk.empty_like(x)])[0]  # a task: returns at once


@snake.gradient
def snake_gradient(dy, x):
    return backward(reads=[dy, x], writes=[hk.empty_like(x)])[0]


def slope_error(count=1000):
    """How far the gradient is from that of the same in Hocket's operators."""
    x = hk.linspace(-4, 4, count, dtype=hk.float32)
    x.attach_grad()
    slopes = []
    for function in (snake, lambda x: x + hk.square(hk.sin(x))):
        with hk.record():
            y = function(x)
        y.backward()
        slopes.append(hk.asarray(x.grad, copy=True))
    return float(hk.max(hk.abs(slopes[0] - slopes[1])))


hk.seed(1)
x = hk.linspace(-3, 3, 512, dtype=hk.float32).reshape((512, 1))
target = hk.sin(3 * x) + x / 2
net = nn.Sequential(nn.Linear(32), nn.Lambda(snake), nn.Linear(32), nn.Lambda(snake), nn.Linear(1))
net.build((1, 1))
opt = optim.Adam(net, lr=0.004)
losses = []
for step in range(401):
    with hk.record():
        loss = hk.mean(hk.square(net(x) - target))
    loss.backward()
    opt.step()
    if step % 100 == 0:
        losses.append(float(loss))
        print(f"step {step}: loss {losses[-1]:.5f}")
error = slope_error()
print(f"the gradient differs by {error:.1e} at most")
sys.exit(0 if losses[-1] < losses[0] / 20 and error < 1e-5 else 1)
