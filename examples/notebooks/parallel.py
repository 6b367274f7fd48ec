"""Automatic parallelism: the second of the book's experiments. tools/notebooks.py makes parallel.ipynb of it."""
# %% [markdown]
# # Automatic parallelism
#
# Two simulated accelerators: real results, with their own memory, queues and links. Programs for GPUs differ in the names alone.
# %%
import time

import hocket as hk

hk.runtime(sim={"count": 2, "flops": 2e9})
a, b = hk.devices()[-2:]
a, b
# %%
def work(x):
    return [x @ x for _ in range(20)]


def seconds(function):
    begin = time.perf_counter()
    function()
    hk.wait()
    return time.perf_counter() - begin


x = hk.random.uniform((200, 200), device=a)
y = hk.random.uniform((200, 200), device=b)
seconds(lambda: (work(x), work(y)));
# %% [markdown]
# What shares nothing runs side by side: both take the time of one.
# %%
one, other = seconds(lambda: work(x)), seconds(lambda: work(y))
both = seconds(lambda: (work(x), work(y)))
print(f"one {one:.3f}, the other {other:.3f}, both {both:.3f} sec")
# %% [markdown]
# Copies run beside computing: a result is copied while the next one is computed.
# %%
def copies(results):
    return [result.to_device("cpu:0") for result in results]


with hk.trace() as run:
    total = seconds(lambda: copies(work(x)))
print(f"with copies {total:.3f} sec; copied beside products {run.overlap_ns('@copy', 'matmul') / 1e6:.1f} ms")
run
