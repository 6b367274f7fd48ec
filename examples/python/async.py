"""Asynchronous computation: calls return at once, and what needs a value waits for it, and for no more."""
import time

import hocket as hk

SIZE, PRODUCTS, ADDITIONS = 1000, 10, 10_000


class Benchmark:
    def __init__(self, what):
        self.what = what

    def __enter__(self):
        self.begin = time.perf_counter()

    def __exit__(self, *exception):
        print(f"{self.what}: {time.perf_counter() - self.begin:.4f} sec")


with Benchmark("done"):
    with Benchmark("issued"):
        for _ in range(PRODUCTS):
            a = hk.random.normal((SIZE, SIZE))
            b = a @ a
    hk.wait()

with Benchmark("wait"):
    b = a @ a
    b.wait()  # for this product, whatever else is under way
with Benchmark("scalar conversion"):
    b = a @ a
    float(b[0, 0])  # a conversion waits too

x = hk.ones((1, 2))
with Benchmark("synchronous"):
    for _ in range(ADDITIONS):
        y = x + 1
        y.wait()
with Benchmark("asynchronous"):
    for _ in range(ADDITIONS):
        y = x + 1
    hk.wait()
print(y)  # looking waits
