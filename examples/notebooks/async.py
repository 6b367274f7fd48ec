"""Asynchronous computation: the first of the book's experiments. tools/notebooks.py makes async.ipynb of it."""
# %% [markdown]
# # Asynchronous computation
#
# A call returns before its work is done. What looks at a value waits for it, and for no more.
# %%
import time

import hocket as hk


class Timed:
    """Prints how long a block took."""

    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.begin = time.perf_counter()

    def __exit__(self, *exception):
        print(f"{self.what}: {time.perf_counter() - self.begin:.4f} sec")
# %% [markdown]
# Ten products of 1000 × 1000 matrices are issued in no time. The runtime works on, until `hk.wait()` has waited for it.
# %%
with Timed("done"):
    with Timed("issued"):
        for _ in range(10):
            a = hk.random.normal((1000, 1000))
            b = a @ a
    hk.wait()
# %% [markdown]
# What depends on something unfinished is issued, too. Here nothing is looked at, so nothing waits.
# %%
x = hk.ones((1, 2))
y = hk.ones((1, 2))
z = x * y + 2
z
# %% [markdown]
# Printing, `float` and `numpy()` are blockers. A blocker after each call makes the program wait for each.
# %%
with Timed("synchronous"):
    for _ in range(10_000):
        y = x + 1
        y.wait()
with Timed("asynchronous"):
    for _ in range(10_000):
        y = x + 1
    hk.wait()
# %% [markdown]
# A timeline shows what really ran, and when it was issued.
# %%
with hk.trace() as run:
    for _ in range(3):
        a = hk.random.normal((500, 500))
        b = a @ a
    hk.wait()
run
