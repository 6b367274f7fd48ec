#!/usr/bin/env python3
"""Nanoseconds for one call from Python: Hocket, NumPy and, where it is installed, PyTorch, in turns. Median, least and most.

PYTHONPATH=build/release/python bench/python_calls.py [ROUNDS]
"""

import statistics
import sys
import time

import numpy as np

import hocket as hk

CALLS = 20_000


def sides():
    yield "hocket", hk.asarray(np.ones(2, "float32")), hk.asarray(np.ones((2, 2), "float32")), hk.wait
    yield "numpy", np.ones(2, "float32"), np.ones((2, 2), "float32"), lambda: None
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
    yield "torch", torch.ones(2), torch.ones(2, 2), lambda: None


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
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    everyone = list(sides())
    print(f"{'call':10} {'library':8} {'median':>8} {'least':>8} {'most':>8}   ns")
    for name, function in (("x + 1", add), ("x[i]", index), ("x.shape", shape), ("2x2 @ 2x2", product)):
        found = {side[0]: [] for side in everyone}
        for _ in range(rounds):
            for side, x, square, wait in everyone:
                found[side].append(timed(function, x, square, wait) - timed(nothing, x, square, lambda: None))
        for side, times in found.items():
            print(f"{name:10} {side:8} {statistics.median(times):8.0f} {min(times):8.0f} {max(times):8.0f}")


if __name__ == "__main__":
    main()
