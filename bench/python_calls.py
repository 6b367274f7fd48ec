#!/usr/bin/env python3
"""Nanoseconds for one call from Python: Hocket, NumPy and, where they are installed, PyTorch and MLX, in turns. The least of many short runs of
each, without the loop around it.

PYTHONPATH=build/release/python taskset -c 0 bench/python_calls.py [ROUNDS]
"""

import sys
import time

import numpy as np

import hocket as hk

CALLS = 1000


def sides():
    yield "hocket", hk.asarray(np.ones(2, "float32")), hk.asarray(np.ones((2, 2), "float32")), hk.wait
    yield "numpy", np.ones(2, "float32"), np.ones((2, 2), "float32"), lambda: None
    try:
        import torch
        yield "torch", torch.ones(2), torch.ones(2, 2), lambda: None
    except ImportError:
        pass
    try:
        import mlx.core as mx
        mx.set_default_device(mx.cpu)
        yield "mlx", mx.ones((2,)), mx.ones((2, 2)), lambda: None  # which notes what is to be done, and does it when somebody looks
    except ImportError:
        pass


def add(x, square):
    for _ in range(CALLS):
        x + 1


def index(x, square):
    for _ in range(CALLS):
        x[0]


def shape(x, square):
    for _ in range(CALLS):
        x.shape


def product(x, square):
    for _ in range(CALLS):
        square @ square


def nothing(x, square):
    for _ in range(CALLS):
        pass


def timed(function, x, square, wait):
    start = time.perf_counter_ns()
    function(x, square)
    wait()
    return (time.perf_counter_ns() - start) / CALLS


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    everyone = list(sides())
    print(f"{'call':10} " + " ".join(f"{side[0]:>8}" for side in everyone) + "   ns")
    for name, function in (("x + 1", add), ("x[i]", index), ("x.shape", shape), ("2x2 @ 2x2", product)):
        found = {side[0]: [] for side in everyone}
        loops = []
        for _ in range(rounds):
            loops.append(timed(nothing, None, None, lambda: None))
            for side, x, square, wait in everyone:
                found[side].append(timed(function, x, square, wait))
        print(f"{name:10} " + " ".join(f"{min(times) - min(loops):8.0f}" for times in found.values()))


if __name__ == "__main__":
    main()
