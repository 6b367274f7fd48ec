"""What programs have in common that take the commands of bench_networks: options, turns, times. Standard library only.

A program gives a class, made of a model's name and options, with train(seconds), infer(seconds), set(name, value) and what else it can.
Beside the commands that are its methods there are `hello`, which tells versions; `new MODEL [NAME VALUE]...`, which begins anew; and
`child MODEL [NAME VALUE]...`, which does so in a process of its own, until `end`: one that has the libraries loaded, and has done nothing
with them.
"""
import json
import os
import statistics
import sys
import time

from sides import die_with_parent

LONG_SECONDS = 5  # of a first call that has compiled something: it may do so once more
PAIRS = ("seq2seq", "transformer")
TEXTS = ("rnn", "gru", "lstm", "gpt", *PAIRS)

OPTIONS = {"classes": 10, "width": 0.0, "depth": 0, "batch": 16, "channels": 1, "size": 28, "optimizer": "sgd", "lr": 0.01,
           "momentum": 0.0, "nesterov": 0, "decay": 0.0, "evaluate": 0, "seed": 1, "threads": 2, "dtype": "float32", "device": "cpu",
           "together": 1}


def options_of(words, more):
    """Words are names and values; more: options of this program alone. Others are hocket's."""
    options = {**OPTIONS, **more}
    for name, value in zip(words[::2], words[1::2]):
        if name in options:
            options[name] = type(options[name])(value)
    return options


def wide(options, channels):
    return max(1, int(channels * (options["width"] or 1) + 0.5))


def times(call, seconds, each=1):
    """Of as many calls as fit, after two, or three where the first took long; a call does `each` of what is timed."""
    begun = time.perf_counter()
    call()
    for _ in range(2 if time.perf_counter() - begun > LONG_SECONDS else 1):
        call()
    values, begun, processor = [], time.perf_counter(), time.process_time()
    while not values or (time.perf_counter() - begun < seconds and len(values) < 100000):
        at = time.perf_counter()
        call()
        values.append((time.perf_counter() - at) / each)
    processor = (time.process_time() - processor) / len(values) / each
    return {"seconds": statistics.median(values), "min": min(values), "max": max(values), "processor": processor,
            "count": len(values)}


def child(words, kind, facts):
    process = os.fork()
    if process:
        os.waitpid(process, 0)
        return
    die_with_parent()
    print("{}", flush=True)
    obey(words, kind, facts)
    os._exit(0)


def obey(words, kind, facts):
    """Commands until `end`. kind: the class; facts: what `hello` tells."""
    network = kind(*words) if words else None
    for line in iter(sys.stdin.readline, ""):
        name, *arguments = line.split()
        try:
            if name == "end":
                return
            if name == "hello":
                answer = facts()
            elif name == "child":
                child(arguments, kind, facts)
                answer = {}  # to `end`
            elif name == "new":
                network, answer = kind(*arguments), {}
            else:
                answer = getattr(network, name)(*arguments)
        except Exception as error:  # of any kind: what this side cannot do
            answer = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
        print(json.dumps(answer), flush=True)
